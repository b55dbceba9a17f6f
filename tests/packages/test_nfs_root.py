# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A machine without a disk: its root is another's, by NFS over IPoIB.

Its initramfs, of initramfs-tools or of dracut, has the modules and what modprobe.d says, and no
openib; in the root, that is started as ever.
"""

import pytest

from conftest import OFED_LINES
from guest import TOP
from lablib import qemu
from lablib.initramfs import Archive

SERVER, CLIENT = "10.9.0.1", "10.9.0.2"
ROOT = "/srv/root"
CONF = "/etc/infiniband/openib.conf"
NETWORK = "/etc/systemd/network/10-root.network"
LEFT_ALONE = "[Match]\\nName=ib0\\n\\n[Link]\\nUnmanaged=yes"    # docs/diskless.md
UNPLUGGED = 15      # seconds: longer than a port believes in a cable that says nothing
RULE = "usr/lib/modprobe.d/openib.conf"
IF_THERE = "[ ! -x /usr/sbin/openib ] || "
ADDRESS = f"{CLIENT}:::255.255.255.0:client:ib0"
WORDS = {"initramfs-tools": f"root=/dev/nfs nfsroot={SERVER}:{ROOT},tcp ip={ADDRESS}:off rw",
         "dracut": f"root=nfs4:{SERVER}:{ROOT}:rw ip={ADDRESS}:none rd.neednet=1 "
                   "rd.net.timeout.carrier=60"}
# What each of them says when the interface does not appear
IN_VAIN = {"initramfs-tools": "Network device did not appear in time",
           "dracut": "Warning: Could not boot"}


@pytest.fixture(scope="module")
def cable():
    ends = qemu.cable()
    yield ends
    for end in ends:
        end.close()


def export(guest):
    """The second disk is the root of who has none: the packages are installed, and it is exported."""
    guest.run(f"mkdir {ROOT} && mount /dev/vdb {ROOT}")
    guest.run(f"chroot {ROOT} sh -c 'dpkg -i /var/cache/openipoib/openipoib-tools_*.deb && "
              "systemctl disable openipoib-cable'")
    text = "\\n".join(OFED_LINES)
    guest.run(f"cd {ROOT}/etc && rm systemd/network/ib0.network && : > fstab && "
              f"printf '%b\\n' '{text}' > ./{CONF.removeprefix('/etc')} && "
              f"printf '%b\\n' '{LEFT_ALONE}' > ./{NETWORK.removeprefix('/etc')}")
    guest.run("systemctl start nfs-server")
    guest.run(f"exportfs -o rw,async,no_root_squash,no_subtree_check,fsid=1 {CLIENT}:{ROOT}")


@pytest.fixture(scope="module")
def server(start, cable, folder):
    """The subnet manager, and the root."""
    if not (folder / "nfs-root").exists():
        pytest.skip("packaging/test-deb makes the initramfs of Debian 12 alone")
    guest = start("-server", disks=2, cable=cable[0])
    guest.ready()
    guest.run("systemctl is-system-running --wait", None)
    guest.run("rdma link delete sib0; rdma link delete sib1; ip link set eth0 mtu 9000 up; "
              "rdma link add sib0 type sib netdev eth0; modprobe -a ib_ipoib ib_umad")
    guid = guest.read("cat /sys/class/infiniband/sib0/ports/1/gids/0").replace(":", "")[16:]
    guest.run(f"opensm -B -g 0x{guid} > /dev/null 2>&1")
    export(guest)
    guest.wait(f"ip -4 -br addr show dev ib0 | grep -qF {SERVER}", 30)
    return guest


def with_the_fault(folder, initrd):
    """A copy whose rule of modprobe needs openib."""
    rule = (TOP / "scripts/service/modprobe.conf.in").read_text().replace("@SBINDIR@", "/usr/sbin")
    assert IF_THERE in rule
    later = Archive()       # of two files of a name the kernel takes the later
    later.file(RULE, rule.replace(IF_THERE, "").encode())
    first = initrd.read_bytes()
    faulty = folder / f"initrd-faulty-{initrd.name}"
    faulty.write_bytes(first + b"\0" * (-len(first) % 4) + later.bytes())
    return faulty


@pytest.fixture(params=WORDS)
def maker(request):
    """The program that has made the initramfs."""
    return request.param


@pytest.fixture
def initrd(folder, release, maker):
    return folder / "nfs-root" / release / maker


def test_without_the_cure_no_network(server, start, cable, folder, maker, initrd):
    """What the next test would find: modprobe's rule as it was, which asks openib in any case."""
    assert server
    client = start(f"-faulty-{maker}", may_panic=True, words=f"{WORDS[maker]} rd.retry=30", disks=0,
                   cable=cable[1], initrd=with_the_fault(folder, initrd))
    client.says(IN_VAIN[maker], 300)
    client.end()


def test_root_over_ipoib(server, start, cable, maker, initrd):
    """It boots; openib sets ib0 up under its root, does not take it away, and lets it be turned off."""
    assert server
    client = start(f"-{maker}", words=WORDS[maker], disks=0, cable=cable[1], initrd=initrd)
    client.ready()
    client.run("systemctl is-system-running --wait; systemctl --failed", None)
    client.run("systemctl is-active multi-user.target openibd")
    assert client.read("findmnt -no SOURCE /") == f"{SERVER}:{ROOT}"
    client.run("findmnt -no FSTYPE,OPTIONS /; journalctl -b -o short-monotonic -u openibd")
    kept = "cd /sys/class/net/ib0; cat ifindex mode mtu; ip -4 -o addr show dev ib0"
    before = client.read(kept).splitlines()
    assert before[1:3] == ["connected", "65520"] and f" {CLIENT}/24 " in before[3]
    client.run("openib start")
    for command in ("openib stop", "openib restart", "/etc/init.d/openibd stop"):
        assert f"not stopped: / is mounted over ib0, from {SERVER}" in client.run(command, 7).text
    client.run("systemctl restart openibd && openib status")
    assert client.read(kept).splitlines() == before
    changes = int(client.read("cat /sys/class/net/ib0/carrier_changes"))
    server.run(f"ip link set eth0 down; sleep {UNPLUGGED}; ip link set eth0 up")
    client.run("date > /var/tmp/written && sync")
    assert int(client.read("cat /sys/class/net/ib0/carrier_changes")) > changes
    assert server.read(f"cat {ROOT}/var/tmp/written") == client.read("cat /var/tmp/written")
    client.off("systemctl poweroff")
