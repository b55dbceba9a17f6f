# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Trees of calls from insn-plugin: which instructions are a module's.

A module's own text is easy. "With what it calls" is all that runs between the call of
one of its functions and the return, but for what it hands to somebody else: the HCA's
driver, and the network stack, which gets received packets.
"""

import bisect
from collections import Counter, defaultdict
from dataclasses import dataclass

KERNEL = "vmlinux"
HCA, STACK, REST = "HCA", "stack", "rest"
HCA_MODULES = {"sib", "ib_core"}
# Where a driver hands packets over.
HANDS_OVER = {"napi_gro_receive", "napi_gro_frags", "napi_gro_flush", "netif_receive_skb",
              "netif_receive_skb_list", "netif_receive_skb_list_internal", "netif_rx",
              "gro_normal_list", "gro_normal_list.part.0", "__netif_receive_skb_list",
              "gro_receive_skb"}
INTERRUPTS = ("asm_sysvec_", "asm_exc_", "asm_common_interrupt", "asm_spurious_interrupt",
              "asm_load_gs_index")
SWITCH = "__switch_to_asm"


class Symbols:
    """Addresses of functions, from the text of /proc/kallsyms."""

    def __init__(self, kallsyms):
        found = []
        for line in kallsyms.splitlines():
            address, kind, name, *module = line.split()
            if kind in "tTwW" and int(address, 16):
                found.append((int(address, 16), name,
                              module[0].strip("[]") if module else KERNEL))
        if not found:
            raise ValueError("kallsyms shows no addresses")
        self._symbols = sorted(found)
        self._addresses = [entry[0] for entry in self._symbols]

    def of(self, address):
        """(name, module) of the function at an address."""
        index = bisect.bisect_right(self._addresses, address) - 1
        return self._symbols[index][1:] if index >= 0 else ("?", KERNEL)

    def entries(self):
        """What insn-plugin wants to know."""
        lines = []
        for address, name, module in self._symbols:
            if module == KERNEL and name.startswith(INTERRUPTS):
                lines.append(f"interrupt {address:x}\n")
            elif module == KERNEL and name == SWITCH:
                lines.append(f"switch {address:x}\n")
        return "".join(lines)


@dataclass
class Cost:
    """What something took: instructions, and octets that string instructions moved."""

    insns: int = 0
    copied: int = 0
    zeroed: int = 0

    def add(self, insns, copied, zeroed):
        self.insns += insns
        self.copied += copied
        self.zeroed += zeroed


class Window:
    """What was counted between two marks."""

    def __init__(self):
        self.nodes = {}     # number -> (parent, entry)
        self.counts = []    # (node, address, insns, copied, zeroed)

    def total(self):
        """Instructions of the kernel."""
        return sum(count[2] for count in self.counts)


def windows(text):
    """All windows of a plugin's output."""
    found = []
    for line in text.splitlines():
        kind, *words = line.split()
        if kind == "window":
            found.append(Window())
        elif kind == "node":
            found[-1].nodes[int(words[0])] = (int(words[1]), int(words[2], 16))
        elif kind == "count":
            found[-1].counts.append((int(words[0]), int(words[1], 16), *map(int, words[2:])))
        else:
            raise ValueError(f"insn-plugin wrote: {line}")
    return found


class Profile:
    """A window's costs, by whose they are."""

    def __init__(self, window, symbols, module):
        self.total = Cost()
        self.own = Cost()           # the module's text
        self.inclusive = Cost()     # with what it calls
        self.functions = defaultdict(Cost)      # of the inclusive ones
        self._symbols = symbols
        self._module = module
        self._nodes = window.nodes
        self._owners = {0: REST}
        for node, address, *cost in window.counts:
            self._count(node, address, cost)

    def _rule(self, address, caller):
        """Whose the function at an address is, called by somebody's."""
        name, module = self._symbols.of(address)
        if module == self._module:
            return module
        if module in HCA_MODULES:
            return HCA
        if name in HANDS_OVER:
            return STACK
        return caller

    def _owner(self, node):
        path = []
        while node not in self._owners:
            path.append(node)
            node = self._nodes[node][0]
        owner = self._owners[node]
        for node in reversed(path):
            owner = self._owners[node] = self._rule(self._nodes[node][1], owner)
        return owner

    def _count(self, node, address, cost):
        self.total.add(*cost)
        name, module = self._symbols.of(address)
        if module == self._module:
            self.own.add(*cost)
        # A function may have been reached by a jump from the node's.
        if self._rule(address, self._owner(node)) == self._module:
            self.inclusive.add(*cost)
            self.functions[name, module].add(*cost)

    def top(self, number):
        """The dearest functions: (name, module), instructions."""
        return Counter({key: cost.insns for key, cost in self.functions.items()}
                       ).most_common(number)
