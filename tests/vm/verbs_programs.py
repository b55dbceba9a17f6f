# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The distribution's programs for verbs and RDMA CM: a table of what is run.

Commands are words with places to fill in: {device} the own HCA, {server} the
IPv4 address of the server's IPoIB interface, {client} of the client's, {tcp} the
address at which the server's TCP sockets are found, {file} a file to send.
"""

import re
from dataclasses import dataclass

# What no program says that has worked.
TROUBLE = re.compile(r"fail|mismatch|invalid|couldn't|unable|not supported|error(?!s? ?[:=] ?0)",
                     re.IGNORECASE)


@dataclass(frozen=True)
class Program:
    """A program with its options, run once.

    server, client: the commands; no server: the client is all there is
    ready:   "tcp PORT", "udp PORT" or "cm PORT" that the server listens on, or "says TEXT"
    says:    what the client must print, a regular expression
    refuses: both ends must end with an error, but for an endless server, and the client print this
    smoke:   belongs to the few that are run every time
    endless: the server does not end by itself
    newer:   (text of its usage, the Program to be run in its place where `COMMAND -h` says that)
    """

    server: str
    client: str
    ready: str = ""
    says: str = ""
    refuses: str = ""
    smoke: bool = False
    endless: bool = False
    newer: tuple = ()

    @property
    def name(self):
        """The command as the table shows it."""
        return re.sub(r" (-[adbsC] )?{\w+}\S*| -F", "", self.client)


def pingpong(command, **more):
    return Program(f"{command} -d {{device}}", f"{command} -d {{device}} {{tcp}}", "tcp 18515",
                   says="" if "refuses" in more else r"iters in", **more)


def perftest(command, says=r"#bytes.*\n +\d+ ", **more):
    return Program(f"{command} -F -d {{device}}", f"{command} -F -d {{device}} {{tcp}}",
                   "tcp 18515", says="" if "refuses" in more else says, **more)


def perftest_cm(command):
    return Program(f"{command} -F -d {{device}}", f"{command} -F -d {{device}} {{server}}",
                   "cm 18515", says=r"#bytes.*\n +\d+ ")


def cm(server, client, port=7471, **more):
    return Program(server, client, f"cm {port}", **more)


DEVICE = [Program("", "ibv_devinfo -v -d {device}", says=r"state:\s+PORT_ACTIVE", smoke=True),
          Program("", "ibv_devices", says=r"sib")]

PINGPONG = [
    pingpong("ibv_rc_pingpong -c -n 100", smoke=True),
    pingpong("ibv_rc_pingpong -c -n 300 -e", smoke=True),
    pingpong("ibv_rc_pingpong -c -n 20 -s 1048576 -m 4096 -e"),
    pingpong("ibv_rc_pingpong -c -n 100 -g 0 -e"),
    pingpong("ibv_uc_pingpong -c -n 100"),
    pingpong("ibv_uc_pingpong -c -n 300 -e", smoke=True),
    pingpong("ibv_ud_pingpong -c -n 100"),
    pingpong("ibv_ud_pingpong -c -n 300 -e", smoke=True),
    pingpong("ibv_srq_pingpong -c -n 100"),
    pingpong("ibv_srq_pingpong -c -n 100 -q 16 -e", smoke=True),
    pingpong("ibv_rc_pingpong -o", refuses="ODP"),
    pingpong("ibv_xsrq_pingpong", refuses="XRC"),
]

SEND = [
    perftest("ib_send_bw -n 100", smoke=True),
    perftest("ib_send_bw -n 100 -e"),
    perftest("ib_send_bw -n 50 -b"),
    perftest("ib_send_bw -n 10 -a -e"),
    perftest("ib_send_bw -n 10 -a -b"),
    perftest("ib_send_bw -n 30 -q 16 -s 4096"),
    perftest("ib_send_bw -n 30 -q 16 -s 4096 --use-srq -e"),
    perftest("ib_send_bw -n 200 -I 512 -s 512"),
    perftest("ib_send_bw -n 96 -l 8"),
    perftest("ib_send_bw -n 50 -m 256"),
    perftest("ib_send_bw -n 50 -x 0"),
    perftest("ib_send_bw -n 100 -c UC"),
    perftest("ib_send_bw -n 100 -c UD -s 2048"),
    perftest("ib_send_bw -n 100 -c UD -s 4096 -e -q 4"),
    perftest("ib_send_bw --odp", refuses="Send is not supported for RC|On-Demand Paging"),
    perftest("ib_send_bw -c XRC", refuses="XRC|xrc"),
    perftest_cm("ib_send_bw -n 100 -R"),
    perftest_cm("ib_send_bw -n 100 -c UD -s 1024 -R"),
]

RDMA = [
    perftest("ib_write_bw -n 100", smoke=True),
    perftest("ib_write_bw -n 10 -a"),
    perftest("ib_write_bw -n 50 -b -q 8"),
    perftest("ib_write_bw -n 100 -c UC"),
    perftest("ib_read_bw -n 100", smoke=True),
    perftest("ib_read_bw -n 10 -a"),
    perftest("ib_read_bw -n 50 -b -q 8 -e"),
    perftest("ib_read_bw -n 50 -o 1"),
    perftest("ib_atomic_bw -n 100 -A CMP_AND_SWAP", smoke=True),
    perftest("ib_atomic_bw -n 100 -A FETCH_AND_ADD -e"),
    perftest("ib_atomic_bw -n 50 -b -q 4"),
    perftest_cm("ib_write_bw -n 100 -R"),
    perftest_cm("ib_read_bw -n 100 -R"),
]

LATENCY = [
    perftest("ib_send_lat -n 50", smoke=True),
    perftest("ib_send_lat -n 200 -e"),
    perftest("ib_send_lat -n 10 -a -e"),
    perftest("ib_send_lat -n 50 -c UC"),
    perftest("ib_send_lat -n 50 -c UD"),
    perftest("ib_send_lat -n 200 -e -I 64 -s 64"),
    perftest("ib_write_lat -n 50"),
    perftest("ib_write_lat -n 10 -a"),
    perftest("ib_write_lat -n 50 -c UC"),
    perftest("ib_read_lat -n 50"),
    perftest("ib_read_lat -n 10 -a -e"),
    perftest("ib_atomic_lat -n 50"),
    perftest("ib_atomic_lat -n 100 -e -A CMP_AND_SWAP"),
    perftest_cm("ib_send_lat -n 50 -R"),
]

# rdma-core 65 and later: the server listens by TCP as well, and both ends end by themselves.
CMTIME_OF_PEERS = Program("cmtime -L -b {server} -C {server} -c 50",
                          "cmtime -b {client} -C {server} -c 50", "tcp 7471",
                          says="disconnect", smoke=True)

CM = [
    cm("rping -s -a {server} -C 50 -V -S 4000", "rping -c -a {server} -C 50 -V -S 4000",
       7174, smoke=True),
    cm("rping -s -a {server} -C 20 -V -S 65000", "rping -c -a {server} -C 20 -V -S 65000", 7174),
    cm("rping -s -q -a {server} -C 20 -V", "rping -c -q -a {server} -C 20 -V", 7174),
    cm("ucmatose -c 20 -C 20 -S 2000", "ucmatose -s {server} -c 20 -C 20 -S 2000",
       says="return status 0", smoke=True),
    cm("ucmatose -P ib -c 5", "ucmatose -s {server} -P ib -c 5", says="return status 0"),
    cm("udaddy -c 10 -C 20 -S 1000", "udaddy -s {server} -c 10 -C 20 -S 1000", 7174,
       says="return status 0", smoke=True),
    Program("stdbuf -oL mckey -m 239.7.7.7 -b {server} -C 20",
            "mckey -s -m 239.7.7.7 -b {client} -C 20", "says receiving data transfers",
            says="return status 0", smoke=True),
    cm("cmtime -c 50", "cmtime -s {server} -c 50", says="disconnect", smoke=True, endless=True,
       newer=("controller", CMTIME_OF_PEERS)),
    cm("rstream -T v -I 10 -C 10 -S 65536", "rstream -s {server} -T v -I 10 -C 10 -S 65536",
       says=r"64k", smoke=True),
    cm("rstream -T v -S all -I 20", "rstream -s {server} -T v -S all -I 20", says=r"\d+m"),
    # Not with -T a: that takes the end of a connection for a failure, even if what
    # it waits for has come, on any HCA.
    cm("rstream -T v -T n -I 20 -C 10 -S 4000", "rstream -s {server} -T v -T n -I 20 -C 10 -S 4000",
       says=r"3\.9k"),
    cm("riostream -T v -I 10 -C 10 -S 65536", "riostream -s {server} -T v -I 10 -C 10 -S 65536",
       says="64k", smoke=True),
    cm("riostream -T v -S all -I 20", "riostream -s {server} -T v -S all -I 20", says=r"\d+m"),
    Program("udpong -b {server} -T e -C 50", "udpong -s {server} -T e -C 50", "udp 7174",
            says="97k", endless=True),
    cm("rcopy", "rcopy {file} {server}:/run/rcopied", 7427, says="300000 bytes in", endless=True),
    cm("rdma_server -s {server}", "rdma_client -s {server}", says="rdma_client: end 0"),
    cm("rdma_xserver -c r", "rdma_xclient -s {server} -c r", says="rdma_xclient: end 0"),
    cm("rdma_xserver -c x", "rdma_xclient -s {server} -c x", refuses="^rdma_create_ep: ", endless=True),
]

FAMILIES = {"device": DEVICE, "pingpong": PINGPONG, "send": SEND, "rdma": RDMA,
            "latency": LATENCY, "cm": CM}

# What checks every byte that arrives.
VALIDATED = [program for program in PINGPONG + CM
             if not program.refuses and re.search(r"-c -n| -V| -T v", program.client)]
