# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Seeds of mad_fuzz.cc: a subnet manager that sets up a switch and an adapter, and what
others send. An input is a first octet (0 switch, 1 adapter), one for each port (1: it
is active from the start), and steps."""

from seeds import number

PORTS = 4
PERMISSIVE = 0xFFFF
GET, SET, TRAP, REPRESS = 1, 2, 5, 7
METHODS = (GET, SET, TRAP, REPRESS, 0x81)  # those of mad() there
CLASSES = {"directed": 0, "lid": 1, "perf": 2, "cm": 3}
OWN, MANAGER, GROUP = 1, 2, 0xC000  # LIDs
NODE_DESC, NODE_INFO, SWITCH_INFO, GUID_INFO, PORT_INFO = 0x10, 0x11, 0x12, 0x14, 0x15
PKEYS, SL_TO_VL, ARBITRATION, LINEAR, MULTICAST = 0x16, 0x17, 0x18, 0x19, 0x1B
VENDOR_PORT_INFO = 0xFF90
CLASS_PORT_INFO, COUNTERS, COUNTERS_EXTENDED = 0x01, 0x12, 0x1D


def mad(kind, method, attribute, modifier=0, data=b"", data_at=64, key=0, transaction=0,
        path=None):
    """A MAD as mad() reads it: a choice, then the octets, of which it sets some.

    @path: ports of a directed route, from the node on; None: it ends at the node
    """
    choice = METHODS.index(method)
    while (path is not None) != (choice >> 5 & 1) or (attribute > 0xFF) != (choice >> 4 & 1):
        choice += len(METHODS)
    octets = bytearray(256)
    octets[8:16] = number(8, transaction)
    octets[16:18] = number(2, attribute)
    octets[20:24] = number(4, modifier)
    octets[24:32] = number(8, key)
    octets[32:36] = number(2, PERMISSIVE, PERMISSIVE)
    if path is not None:
        octets[6:8] = 1, 1 + len(path)
        octets[128:130 + len(path)] = 0, 0, *path
    octets[data_at:data_at + len(data)] = data
    return bytes([choice << 2 | CLASSES[kind]]) + bytes(octets)


def packet(octets, port=1, held=False):
    """Something comes in by a port. @held: nothing that waits is taken afterwards."""
    return bytes([port - 1 | held << 7]) + octets


def smp(method, attribute, modifier=0, data=b"", port=1, **more):
    """An SMP by directed route."""
    return packet(b"\x02" + number(2, 0, 0) + mad("directed", method, attribute, modifier, data,
                                                  **more), port)


def smp_by_lid(method, attribute, modifier=0, data=b"", lid=OWN, **more):
    return packet(b"\x82" + number(2, lid, MANAGER) + mad("lid", method, attribute, modifier, data,
                                                          **more))


def perf(method, attribute, data=b"", port=1):
    return packet(b"\x03" + number(2, OWN, MANAGER) + mad("perf", method, attribute, 0, data), port)


def datagram(lid, size, port=1, held=False):
    """A UD packet with a payload of zeroes."""
    return packet(b"\x05" + number(2, lid, MANAGER, size) + bytes(size), port, held)


def raw(octets, port=1):
    return packet(b"\0" + number(2, len(octets)) + octets, port)


def passes(milliseconds):
    """Time: the lowest bits of the number must be those of this step."""
    return bytes([milliseconds & ~0x1C | 0x1C])


def flaps(port):
    return bytes([port - 1 | 0x18])


def cable_error(port, which):
    return bytes([port - 1 | 0x14 | which << 5])


def port_info(lid=0, state=0, phys=0, key=0, protection=0, lease=0, partitions=0, life=31, errors=0):
    """PortInfo as a subnet manager sets it."""
    octets = bytearray(64)
    octets[0:8] = number(8, key)
    octets[8:16] = number(8, 0xFE80000000000000)
    octets[16:20] = number(2, lid, MANAGER if lid else 0)
    octets[26:28] = number(2, lease)
    octets[32:37] = state, phys << 4, protection << 6, 0, 5 << 4
    octets[42:44] = life, 4 << 4 | partitions << 2
    octets[51] = 0x80  # register again
    octets[53] = errors * 0x11
    return bytes(octets)


def linear():
    """The manager by port 1, the node itself, LIDs 10 to 13 by the ports 1 to 4."""
    octets = bytearray(b"\xFF" * 64)
    octets[OWN], octets[MANAGER] = 0, 1
    octets[10:10 + PORTS] = range(1, 1 + PORTS)
    return bytes(octets)


def activated(port, **more):
    """A port that is INIT, through ARMED to ACTIVE."""
    return b"".join(smp(SET, PORT_INFO, port, port_info(state=state, **more)) for state in (3, 4))


SWITCH, ADAPTER = b"\0", b"\1"
IDLE, ACTIVE = bytes(PORTS), b"\1" * PORTS
NAMED = smp(SET, PORT_INFO, 0, port_info(lid=OWN))
ROUTED = (NAMED + smp(SET, SWITCH_INFO, 0, bytes(6) + number(2, 63))
          + smp(SET, LINEAR, 0, linear()) + smp(SET, MULTICAST, 0, number(2, 0x1E) * 32))


def _read_all():
    plain = (NODE_DESC, NODE_INFO, SWITCH_INFO, GUID_INFO, PORT_INFO, PKEYS, SL_TO_VL, LINEAR,
             MULTICAST, VENDOR_PORT_INFO, 0x77)
    return (b"".join(smp(GET, attribute) for attribute in plain)
            + smp(GET, ARBITRATION, 1 << 16) + smp(GET, VENDOR_PORT_INFO, 1))


def _write_all(port):
    """Tables; @port: as their modifiers have it."""
    keys = number(2, 0xFFFF, 0x8001, 0x7002) + bytes(58)
    return (smp(SET, GUID_INFO, 0, number(8, 1, 2, 3)) + smp(SET, PKEYS, port << 16, keys)
            + smp(SET, SL_TO_VL, port, bytes(range(8))) + smp(SET, SL_TO_VL, port << 8 | 2, bytes(8))
            + smp(SET, ARBITRATION, 1 << 16 | port, bytes(range(64)))
            + smp(SET, NODE_INFO) + smp(SET, NODE_DESC))


def _counters():
    everything = number(2, 0xFFFF)
    return (perf(GET, CLASS_PORT_INFO) + perf(GET, COUNTERS, b"\0\1") + perf(GET, COUNTERS, b"\0\xFF")
            + perf(SET, COUNTERS, b"\0\1" + everything) + perf(GET, COUNTERS_EXTENDED, b"\0\2")
            + perf(SET, COUNTERS_EXTENDED, b"\0\xFF" + everything) + perf(GET, COUNTERS, b"\0\x09"))


def _locked():
    """The M_Key, its lease, and a trap for who does not know it, which only who does represses."""
    secret = port_info(lid=OWN, key=77, protection=2, lease=1)
    return (smp(SET, PORT_INFO, 0, secret) + smp(GET, NODE_INFO, key=77) + smp(GET, NODE_INFO)
            + smp(SET, PORT_INFO, 0, secret, key=1) + passes(0xFC) * 6
            + smp(REPRESS, 2, transaction=1) + smp(REPRESS, 2, transaction=1, key=77)
            + smp(GET, PORT_INFO))


def _troubles():
    """Traps 129 to 131, and 128 for a port that changes."""
    return b"".join(cable_error(port, which) for port in (1, 3) for which in range(4)) + \
        flaps(2) + passes(0xFC) * 5


def inputs():
    return {
        "switch-read": SWITCH + IDLE + _read_all(),
        "switch-write": SWITCH + IDLE + _write_all(1),
        "switch-ports": SWITCH + IDLE + NAMED + activated(1) + activated(2)
        + smp(SET, PORT_INFO, 3, port_info(phys=3)) + smp(SET, PORT_INFO, 2, port_info(phys=2, state=1))
        + smp(SET, PORT_INFO, 9, port_info()),
        "switch-by-lid": SWITCH + ACTIVE + ROUTED + smp_by_lid(GET, NODE_INFO)
        + smp_by_lid(SET, LINEAR, 0, linear()) + smp_by_lid(GET, PORT_INFO, lid=11)
        + smp_by_lid(GET, PORT_INFO, lid=40),
        "switch-passes-on": SWITCH + ACTIVE + smp(GET, NODE_INFO, path=[3])
        + smp(GET, NODE_INFO, path=[2, 1]) + smp(GET, NODE_INFO, path=[9]) + smp(GET, NODE_INFO, path=[]),
        "switch-forwards": SWITCH + ACTIVE + ROUTED + datagram(11, 64) + datagram(12, 256, port=2)
        + datagram(GROUP, 100, port=3) + datagram(GROUP + 99, 4) + datagram(10, 8) + datagram(40, 8)
        + datagram(11, 500, port=3, held=True) + flaps(2),
        "switch-late": SWITCH + ACTIVE + ROUTED + activated(2, life=1)
        + datagram(11, 64, held=True) + bytes([0x9C]) * 3 + passes(0xFC),
        "switch-raw": SWITCH + ACTIVE + ROUTED
        + raw(b"\0\0" + number(2, 11, 6, 9) + bytes(16)) + raw(b"\0\1" + number(2, 11, 3, 9) + bytes(4)),
        "switch-partitions": SWITCH + ACTIVE + ROUTED + smp(SET, PORT_INFO, 1, port_info(partitions=3))
        + smp(SET, PKEYS, 1 << 16, number(2, 0x8001)) + datagram(11, 64) + datagram(10, 64, port=2)
        + passes(0xFC) * 3,
        "switch-counters": SWITCH + ACTIVE + ROUTED + _counters(),
        "switch-locked": SWITCH + ACTIVE + ROUTED + _locked(),
        "switch-troubles": SWITCH + ACTIVE + ROUTED + _troubles(),
        "adapter-read": ADAPTER + IDLE + _read_all(),
        "adapter-write": ADAPTER + IDLE + NAMED + _write_all(0),
        "adapter-by-lid": ADAPTER + ACTIVE + NAMED + smp_by_lid(GET, NODE_INFO) + datagram(OWN, 64)
        + datagram(GROUP, 64) + datagram(40, 64),
        "adapter-counters": ADAPTER + ACTIVE + NAMED + _counters(),
        "adapter-locked": ADAPTER + ACTIVE + NAMED + _locked(),
        "adapter-troubles": ADAPTER + ACTIVE + NAMED + _troubles(),
    }
