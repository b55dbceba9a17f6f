#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""An ordinary user's process that asks an HCA for what no program should.

hostile.py CASE HCA [ARGUMENT...]: runs as nobody. A case that something else is to
happen in says "ready", and goes on when its input ends. Ends with a message when
something is not as it must be, and by SIGALRM when something does not come.
"""
import os
import resource
import signal
import struct
import sys
import time
from pathlib import Path

from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

sys.path.append(str(Path(__file__).resolve().parents[2] / "vm/guest"))
import verbs_enums as e  # noqa: E402

LIMIT_SECONDS = 300
NOBODY = 65534
ALL_RIGHTS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | \
    e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
Q_KEY = 0x11111111
MEMLOCK = 4 << 20
ANSWERS = 16            # READ and atomic requests that a QP serves at a time
LONG_READ = 1 << 20
BEHIND = 300            # requests behind one that fails
FLOOD = 2500            # datagrams to the port itself


def check(condition, what):
    if not condition:
        raise SystemExit(f"hostile.py: {what}")


def ready_until_told():
    print("ready", flush=True)
    sys.stdin.read()


def refused(make):
    """The errno with which something is refused, or 0."""
    try:
        make()
    except PyverbsRDMAError as error:
        return error.error_code
    return 0


class World:
    """An open HCA and memory."""

    def __init__(self, hca, size=4096, depth=64):
        self.context = Context(name=hca)
        self.lid = self.context.query_port(1).lid
        self.pd = PD(self.context)
        self.mr = MR(self.pd, size, ALL_RIGHTS)
        self.cq = CQ(self.context, depth)

    def connected(self, **caps):
        cap = QPCap(max_send_wr=32, max_recv_wr=1, **caps)
        return QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap,
                                      sq_sig_all=1))

    def datagram(self, depth):
        attributes = QPAttr(port_num=1)
        attributes.qkey = Q_KEY
        cap = QPCap(max_send_wr=depth, max_recv_wr=1)
        return QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.cq, rcq=self.cq, cap=cap,
                                      sq_sig_all=0), attributes)

    def request(self, opcode, size=8, offset=64):
        """One for the beginning of the memory, from or to another part of it."""
        request = SendWR(opcode=opcode, num_sge=1,
                         sg=[SGE(self.mr.buf + offset, size, self.mr.lkey)])
        if opcode == e.IBV_WR_ATOMIC_FETCH_AND_ADD:
            request.set_wr_atomic(self.mr.rkey, self.mr.buf, 1, 0)
        elif opcode == e.IBV_WR_RDMA_READ:
            request.set_wr_rdma(self.mr.rkey, self.mr.buf)
        return request

    def completion(self):
        found, entries = self.cq.poll(1)
        while not found:
            time.sleep(0.001)
            found, entries = self.cq.poll(1)
        return entries[0].status


def connect(pair, lid, peer, retry_cnt=7):
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ALL_RIGHTS
    attr.path_mtu = e.IBV_MTU_1024
    attr.dest_qp_num = peer
    attr.max_rd_atomic = attr.max_dest_rd_atomic = ANSWERS
    attr.min_rnr_timer = 12
    attr.timeout = 14       # 67 ms
    attr.retry_cnt = retry_cnt
    attr.rnr_retry = 7
    attr.ah_attr = AHAttr(port_num=1, dlid=lid)
    pair.to_rts(attr)


def limit_answers(pair, number):
    """Change how many requests it serves, which a QP may in SQD."""
    attr = QPAttr(qp_state=e.IBV_QPS_SQD)
    pair.modify(attr, e.IBV_QP_STATE)
    attr.max_dest_rd_atomic = number
    pair.modify(attr, e.IBV_QP_MAX_DEST_RD_ATOMIC)


def answers(hca):
    """The number of requests served goes down and up while some are held and under way."""
    world = World(hca, 2 * LONG_READ)
    one, other = world.connected(), world.connected()
    connect(one, world.lid, other.qp_num)
    connect(other, world.lid, one.qp_num)
    total = 0
    for limit, count in ((ANSWERS, 3), (1, 3 * ANSWERS), (ANSWERS, 3), (2, 3 * ANSWERS)):
        limit_answers(other, limit)
        for _ in range(count):
            one.post_send(world.request(e.IBV_WR_ATOMIC_FETCH_AND_ADD))
            check(world.completion() == e.IBV_WC_SUCCESS, "an atomic request has failed")
            total += 1
    added, = struct.unpack("Q", world.mr.read(8, 0))
    check(added == total, f"{total} times 1 is {added}")
    for limit in (0, ANSWERS) * 5:
        world.mr.write(bytes(8), 8, LONG_READ)
        one.post_send(world.request(e.IBV_WR_RDMA_READ, LONG_READ, LONG_READ))
        while world.mr.read(8, LONG_READ) == bytes(8):
            pass    # until the first of it is there
        limit_answers(other, limit)
        check(world.completion() == e.IBV_WC_SUCCESS, "a READ under way has failed")
        limit_answers(other, ANSWERS)


def nobody_there(hca):
    """What its peer, on the same port, does not answer ends in time."""
    world = World(hca)
    one, other = world.connected(), world.connected()
    connect(one, world.lid, other.qp_num, retry_cnt=1)
    other.close()
    one.post_send(world.request(e.IBV_WR_SEND))
    status = world.completion()
    check(status == e.IBV_WC_RETRY_EXC_ERR, f"status {status}")


def cable_without_sm(hca, peer):
    """What the port may not send, since no subnet manager has made it active, ends in time."""
    world, far = World(hca), World(peer)
    one, other = world.connected(), far.connected()
    connect(one, far.lid, other.qp_num, retry_cnt=1)
    connect(other, world.lid, one.qp_num)
    one.post_send(world.request(e.IBV_WR_ATOMIC_FETCH_AND_ADD))
    # of a key that its peer does not know: the connection is there, and now it ends
    check(world.completion() == e.IBV_WC_REM_ACCESS_ERR, "the peer has not answered")
    one, other = world.connected(), far.connected()
    connect(one, far.lid, other.qp_num, retry_cnt=1)
    connect(other, world.lid, one.qp_num)
    ready_until_told()
    one.post_send(world.request(e.IBV_WR_SEND))
    status = world.completion()
    check(status == e.IBV_WC_RETRY_EXC_ERR, f"status {status}")


def flood(hca):
    """Datagrams to the port itself, faster than they are received, do not pile up."""
    world = World(hca, 4096, FLOOD + 1)
    pair = world.datagram(FLOOD)
    way = AH(world.pd, attr=AHAttr(port_num=1, dlid=world.lid))
    counters = Path("/sys/class/infiniband") / hca / "ports/1/hw_counters"
    requests = []
    for number in range(FLOOD):
        request = SendWR(number, num_sge=1, sg=[SGE(world.mr.buf, 2048, world.mr.lkey)],
                         send_flags=e.IBV_SEND_SIGNALED if number == FLOOD - 1 else 0)
        request.set_wr_ud(way, pair.qp_num, Q_KEY)
        if requests:
            requests[-1].next_wr = request
        requests.append(request)
    full = counters / "tx_loop_full"
    before = int(full.read_text())
    # In SQD they gather, and then there are more than one run receives.
    pair.modify(QPAttr(qp_state=e.IBV_QPS_SQD), e.IBV_QP_STATE)
    pair.post_send(requests[0])
    pair.modify(QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE)
    check(world.completion() == e.IBV_WC_SUCCESS, "the last datagram has failed")
    check(int(full.read_text()) > before, "none of them had to wait")


def behind_an_error(hca):
    """Requests behind one that fails are flushed, all of them, before the QP sends again."""
    world = World(hca, 4096, 2 * BEHIND)
    pair = world.datagram(2 * BEHIND)
    way = AH(world.pd, attr=AHAttr(port_num=1, dlid=world.lid))
    requests = []
    for number in range(BEHIND):
        request = SendWR(number, num_sge=1, send_flags=e.IBV_SEND_SIGNALED,
                         sg=[SGE(world.mr.buf, 64, 0 if not number else world.mr.lkey)])
        request.set_wr_ud(way, pair.qp_num, Q_KEY)
        if requests:
            requests[-1].next_wr = request
        requests.append(request)
    pair.post_send(requests[0])
    statuses = [world.completion()]
    pair.modify(QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE)
    pair.post_send(requests[-1])
    statuses += [world.completion() for _ in range(BEHIND)]
    wanted = [e.IBV_WC_LOC_PROT_ERR, *[e.IBV_WC_WR_FLUSH_ERR] * (BEHIND - 1), e.IBV_WC_SUCCESS]
    check(statuses == wanted, f"statuses {statuses}")


def memory(hca):
    """The queues of a process count as memory that it has locked."""
    world = World(hca)
    cap = QPCap(max_send_wr=16384, max_recv_wr=16384, max_send_sge=32, max_recv_sge=32)
    init = QPInitAttr(qp_type=e.IBV_QPT_UD, scq=world.cq, rcq=world.cq, cap=cap)
    check(refused(lambda: QP(world.pd, init)), "a QP larger than what may be locked")
    check(refused(lambda: CQ(world.context, 200000)), "a CQ larger than what may be locked")
    check(refused(lambda: world.cq.resize(200000)), "a CQ is made larger than what may be locked")
    held = []
    while not refused(lambda: held.append(CQ(world.context, 4095))):
        check(len(held) < 1000, "queues are not counted")
    check(len(held) >= MEMLOCK // (4096 * 56) // 2, f"only {len(held)} queues")
    for queue in held:
        queue.close()
    for _ in range(3 * len(held)):      # what is given back can be had again
        CQ(world.context, 4095).close()


CASES = {case.__name__.replace("_", "-"): case for case in (
    answers, nobody_there, cable_without_sm, flood, behind_an_error, memory)}


def main():
    signal.alarm(LIMIT_SECONDS)
    case, arguments = sys.argv[1], sys.argv[2:]
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (MEMLOCK, MEMLOCK))
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    CASES[case](*arguments)
    print(f"{case}: done", flush=True)
    os._exit(0)     # what is open goes with the process, as of one that is killed


if __name__ == "__main__":
    main()
