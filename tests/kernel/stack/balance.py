#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Whether what ibfabric and its hosts have counted adds up; for soak.py.

At a port, `unaccounted` is what it has sent and its peer has not got, and no counter
tells why:

    PortXmitPkts + Duplicated - fault - under_way - (peer's PortRcvPkts + corrupted)

It stays zero on a link within ibfabric. On a cable to a real host the sum of both
directions counts, as the switch's port has the faults of both; it stays as it is as
long as the link is up, and rises when the link goes down with packets in it. A switch
that is switched off forgets its counters: forget() must be told before it comes back.
"""
import json
import subprocess
import time
from pathlib import Path

SETTLE_SECONDS = 60
POLL_SECONDS = 0.5
LEFT = ("fault", "under_way")   # drops of packets that left by a port, or came by a cable
# Counter: the reasons it is the sum of
SUMS = {"PortRcvSwitchRelayErrors": ("unknown_lid", "looping", "virtual_lane"),
        "PortXmitConstraintErrors": ("pkey_outbound", "raw_outbound"),
        "PortRcvConstraintErrors": ("pkey_inbound", "raw_inbound"),
        "PortXmitDiscards": ("too_long", "port_down", "lifetime", "no_room"),
        "VL15Dropped": ("overflow",)}
# What perfquery prints: the counter, and its largest value
PERFQUERY = {"SymbolErrorCounter": ("SymbolErrorCounter", 0xFFFF),
             "LinkDownedCounter": ("LinkDownedCounter", 0xFF),
             "PortRcvErrors": ("PortRcvErrors", 0xFFFF),
             "PortRcvSwitchRelayErrors": ("PortRcvSwitchRelayErrors", 0xFFFF),
             "PortXmitDiscards": ("PortXmitDiscards", 0xFFFF),
             "PortXmitConstraintErrors": ("PortXmitConstraintErrors", 0xFF),
             "PortRcvConstraintErrors": ("PortRcvConstraintErrors", 0xFF),
             "VL15Dropped": ("VL15Dropped", 0xFFFF)}


class Host:
    """A real one: its HCA is sibN."""

    def __init__(self, name):
        self.port = Path(f"/sys/class/infiniband/sib{name[1:]}/ports/1")

    def read(self, counter):
        return int((self.port / counter).read_text(encoding="ascii"))

    def packets(self):
        return self.read("counters/port_xmit_packets") - self.read("counters/port_rcv_packets")

    def downs(self):
        return self.read("hw_counters/link_down")


class Balance:
    """What has been counted up to now."""

    def __init__(self, ctl):
        self.ctl = ctl
        self.links, self.cables = {}, {}
        self.lids = {}
        self.exact = 0          # cables that stayed up between two checks
        self.checks = 0
        self._find_links(json.loads(ctl("status", "-j")))
        self.base = dict.fromkeys(self.links, 0)
        self.before = self._read()
        self.sums, self.downs = {}, {}
        for at in self.cables:
            self.sums[at], self.downs[at] = self._cable(at, self.before)

    def _find_links(self, status):
        real = {node["name"] for node in status["nodes"] if node["elsewhere"]}
        for node in status["nodes"]:
            for port in node.get("ports", ()):
                at, peer = f"{node['name']}:{port['port']}", port.get("peer")
                if peer and peer.split(":")[0] in real:
                    self.cables[at] = Host(peer.split(":")[0])
                elif peer:
                    self.links[at] = peer
            if node["kind"] == "switch":
                self.lids[node["name"]] = node["lid"]

    def _read(self):
        return {port["at"]: {**dict.fromkeys((*LEFT, "corrupted", "malformed"), 0),
                             **port["counters"], **port["drops"]}
                for port in json.loads(self.ctl("counters", "-j"))}

    @staticmethod
    def _left(port):
        return port["PortXmitPkts"] + port["Duplicated"] - sum(port[name] for name in LEFT)

    @staticmethod
    def _came(port):
        return port["PortRcvPkts"] + port["corrupted"]

    def _cable(self, at, seen):
        host, port = self.cables[at], seen[at]
        return (self._left(port) - self._came(port) + host.packets(),
                (host.downs(), port["LinkDownedCounter"]))

    def _unaccounted(self, at, seen):
        return self._left(seen[at]) - self._came(seen[self.links[at]])

    def forget(self, switch):
        """It comes back with all counters at zero; its links are down until then."""
        seen = self._read()
        for at in seen:
            if at.split(":")[0] == switch:
                seen[at] = dict.fromkeys(seen[at], 0)
        for at, peer in self.links.items():
            if switch in (at.split(":")[0], peer.split(":")[0]):
                self.base[at] = self._unaccounted(at, seen)
        for at in self.cables:
            if at.split(":")[0] == switch:
                self.sums[at], self.downs[at] = self._cable(at, seen)
        self.before = seen

    def _wrong(self, seen, sums):
        for at, port in seen.items():
            yield from (f"{at}: {name} was {self.before[at][name]} and is {port[name]}"
                        for name in port if port[name] < self.before[at].get(name, 0))
            for way in ("Xmit", "Rcv"):
                if (port[f"PortUnicast{way}Pkts"] + port[f"PortMulticast{way}Pkts"]
                        != port[f"Port{way}Pkts"]):
                    yield f"{at}: unicast and multicast are not all of Port{way}Pkts"
            yield from (f"{at}: {name} is not the sum of its reasons" for name, reasons in SUMS.items()
                        if port[name] != sum(port.get(reason, 0) for reason in reasons))
            if port["malformed"]:
                yield f"{at}: {port['malformed']} malformed packets"
        for at, peer in self.links.items():
            if missing := self._unaccounted(at, seen) - self.base[at]:
                yield f"{at} to {peer}: {missing} packets are unaccounted for"
        for at, (total, downs) in sums.items():
            if downs == self.downs[at] and total != self.sums[at]:
                yield f"{at}, a cable: {total - self.sums[at]} packets are unaccounted for"
            elif total < self.sums[at]:
                yield f"{at}, a cable: {self.sums[at] - total} packets came from nowhere"

    def check(self):
        """What does not add up within a minute, line by line. Nothing may be late by a fault."""
        end = time.monotonic() + SETTLE_SECONDS
        while True:
            seen = self._read()
            sums = {at: self._cable(at, seen) for at in self.cables}
            wrong = list(self._wrong(seen, sums))
            if not wrong or time.monotonic() > end:
                break
            time.sleep(POLL_SECONDS)
        self.checks += len(sums)
        self.exact += sum(downs == self.downs[at] for at, (_, downs) in sums.items())
        for at, (total, downs) in sums.items():
            self.sums[at], self.downs[at] = total, downs
        self.before = seen
        return wrong

    def perfquery(self):
        """What performance management says other than ibfabric-ctl, line by line."""
        before, said = self._read(), {}
        for at in (at for at in before if at.split(":")[0] in self.lids):
            switch, number = at.split(":")
            text = subprocess.run(["perfquery", "-C", "sib0", str(self.lids[switch]), number],
                                  stdout=subprocess.PIPE, text=True, check=True).stdout
            said[at] = dict(line.replace(".", "").split(":") for line in text.splitlines()[1:])
        after = self._read()
        for at, values in said.items():
            yield from (f"{at}: perfquery has {values[name]} for {counter}, not {before[at][counter]}"
                        for name, (counter, most) in PERFQUERY.items()
                        if not min(before[at][counter], most) <= int(values[name], 0)
                        <= min(after[at][counter], most))
