# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which counters of the receiver a case of ib-frames makes grow, and which not.

Counters are a dict: those of the HCA's port by name, statistics of its
interface as "ib0 NAME".
"""

# What grows all the time on a healthy link with a subnet manager, and what an
# end that answers late (emulated hosts may) makes grow: retransmission.
LIVELY = {"link_tx_data", "link_rx_data", "link_tx_ack", "link_rx_ack", "link_tx_hello",
          "link_rx_hello", "lifespan", "link_window_full", "tx_loop", "tx_loop_full", "link_retransmit",
          "link_rto", "link_rx_dup", "link_rx_reorder", "link_gap_sent", "link_gap_rcvd",
          "ib0 rx_bytes", "ib0 tx_bytes", "ib0 tx_packets"}
# Consequences that a case may have besides its own counter.
ALLOWED = {"count-too-high": {"rx_lid"}, "frame-session": {"link_rx_loop"}}


def grown(before, after):
    return {name: after[name] - before[name] for name in after
            if name not in LIVELY and after[name] != before[name]}


def _exact(case):
    names = case["counters"].split()
    exact = dict.fromkeys((f"ib0 {name}" for name in case["ib0"].split()), case["sent"])
    exact["ib0 rx_packets"] = exact.get("ib0 rx_packets", 0) + case["probes"]
    if len(names) == 1:
        exact[names[0]] = case["sent"]
    return names, exact


def missing(case, changes):
    """What has not been counted yet, in words, or nothing.

    case: what ib-frames says when it has sent it
    """
    names, exact = _exact(case)
    total = sum(changes.get(name, 0) for name in names)
    if total >= (case["sent"] if names else 0) and all(
            changes.get(name, 0) == number for name, number in exact.items()):
        return ""
    return f"{case['case']}: {case['sent']} sent, counted {changes}, wanted {exact}"


def excess(case, changes):
    """What has been counted besides, in words, or nothing."""
    names, exact = _exact(case)
    allowed = set(names) | exact.keys() | ALLOWED.get(case["case"], set())
    others = {name: number for name, number in changes.items() if name not in allowed}
    return f"{case['case']}: also counted {others}" if others else ""
