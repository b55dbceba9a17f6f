# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Seeds of peer_fuzz.cc: who asks a peer for its addresses and pings them, and a port that
comes and goes. An input is steps."""

from seeds import number

ARP, IPV4, IPV6, OTHER = range(4)
REPAIRED, UNICAST = 4, 8  # bits of a datagram's choice
INDEX4, INDEX6 = 2, 10  # of the addresses below, among those of the peer: its queue pair
OWN4, OTHER4, FOREIGN4 = (bytes([10, 0, 0, last]) for last in (3, 99, 77))
OWN6, OTHER6 = (number(8, 0xFD << 56, last) for last in (3, 0x99))
ALL_NODES = b"\xFF\2" + bytes(13) + b"\1"
HARDWARE = bytes(20)


def datagram(kind, payload, index=None):
    """To the queue pair of an address, or to all."""
    to = 0 if index is None else UNICAST | index << 4
    return bytes([5, kind | REPAIRED | to]) + number(2, len(payload)) + payload


def arp(operation, target):
    return (number(2, 32, 0x0800) + b"\x14\4" + number(2, operation) + HARDWARE + OTHER4 + HARDWARE
            + target)


def ipv4(payload, protocol=1, fragment=0, target=OWN4):
    return (b"\x45\0" + number(2, 0, 1, fragment) + bytes([64, protocol, 0, 0]) + OTHER4 + target
            + payload)


def ipv6(payload, source=OTHER6, target=OWN6):
    return b"\x60" + bytes(6) + b"\xFF" + source + target + payload


def echo(kind):
    return bytes([kind, 0, 0, 0]) + number(2, 1, 2) + b"payload!"


def solicitation(target=OWN6, option=b"\1\3" + bytes(22)):
    return b"\x87" + bytes(7) + target + option


def port(lid=7, active=True):
    return bytes([1 | active << 4 | (lid == 7) << 5]) + (b"" if lid == 7 else number(2, lid))


GRANTED = b"\x12" + bytes(18)
REFUSED = b"\x42" + bytes(66)
TIME = b"\xF0"


def inputs():
    return {
        "arp": datagram(ARP, arp(1, OWN4)) + datagram(ARP, arp(1, OWN4), INDEX4)
        + datagram(ARP, arp(1, FOREIGN4)) + datagram(ARP, arp(2, OWN4)) + datagram(ARP, b"\0\x20"),
        "ping": datagram(IPV4, ipv4(echo(8)), INDEX4) + datagram(IPV4, ipv4(echo(8)))
        + datagram(IPV4, ipv4(echo(0)), INDEX4) + datagram(IPV4, ipv4(echo(8), protocol=17), INDEX4)
        + datagram(IPV4, ipv4(echo(8), fragment=0x2000), INDEX4)
        + datagram(IPV4, ipv4(echo(8), target=FOREIGN4), INDEX4),
        "ping6": datagram(IPV6, ipv6(echo(128)), INDEX6) + datagram(IPV6, ipv6(echo(128)), INDEX4)
        + datagram(IPV6, ipv6(echo(129)), INDEX6),
        "solicitation": datagram(IPV6, ipv6(solicitation()), INDEX6)
        + datagram(IPV6, ipv6(solicitation(), target=ALL_NODES))
        + datagram(IPV6, ipv6(solicitation(option=b""), source=bytes(16), target=ALL_NODES))
        + datagram(IPV6, ipv6(solicitation(option=b"\1\0"), target=ALL_NODES))
        + datagram(IPV6, ipv6(solicitation(target=OTHER6)), INDEX6),
        "port": port(active=False) + port() + GRANTED + port(lid=9) + REFUSED + TIME + GRANTED + TIME * 3
        + port(lid=0) + datagram(ARP, arp(1, OWN4)),
        "other": datagram(OTHER, b"what") + b"\3" + number(2, 12) + bytes(12),
    }
