# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The lab's status as text for people."""

from .debian_suite import HERE
from .place import PROGRAM


def _host(host):
    # A lab that an earlier version has started does not say it.
    processor = host.get("processor", HERE)
    processor = "" if processor == HERE else f"{processor}, "
    hca = "" if host.get("hca", "sib") == "sib" else f"HCA {host['hca']}, "
    dma = "" if host.get("dma", "virtual") == "virtual" else f"DMA {host['dma']}, "
    head = f"{host['name']}  {host['state']}, {processor}driver {host['driver']}, {hca}{dma}pid {host['pid']}"
    if host["reason"]:
        head += f": {host['reason']}"
    lines = [head]
    for port in host["ports"]:
        lines.append(f"    port {port['port']}: {port['netdev']} on {port['ibdev']} on "
                     f"{port['lower']}  {port['ipv4']}  {port['ipv6']}")
    if host["splats"]:
        lines.append(f"    kernel splats: {', '.join(host['splats'])} "
                     f"(see: {PROGRAM} logs {host['name']})")
    return lines


def text(document):
    """Render the document of `lab status -j`."""
    lines = [f"lab {document['phase']} for {document['seconds']:.0f} s, kernel "
             f"{document['kernel']}, IB MTU {document['ib_mtu']}"]
    for host in document["hosts"]:
        lines += _host(host)
    fabric = document["fabric"]
    if fabric:
        lines.append(f"fabric  {fabric['state']}, pid {fabric['pid']}"
                     + (f": {fabric['reason']}" if fabric["reason"] else ""))
    for cable in document["cables"]:
        ends = [*cable["ends"], *(["the fabric"] if len(cable["ends"]) == 1 else [])]
        lines.append(f"cable {' to '.join(ends)}: "
                     f"{'plugged' if cable['up'] else 'pulled'}")
    return "\n".join(lines)
