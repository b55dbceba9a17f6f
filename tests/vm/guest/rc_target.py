# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Connected queue pairs to be shot at, and two bystanders.

usage: rc_target.py DEVICE LID
The targets are connected to QP 0x1234 of the port LID, at PSN 0. Reads lines:
  renew     all targets again, each in the state of its name; prints their numbers,
            and address and keys of the memory they offer
  counters  prints those of the device
  check     prints the targets' states, whether memory that nobody may write is as
            it was, and whether the bystanders, connected to each other, still work
"""

import json
import sys
import time
from pathlib import Path

import verbs_enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PEER_QPN = 0x1234
MTU = 1024
RECEIVE = 2048
OPEN = 4096             # bytes that the peer may use
ALL_RIGHTS = e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
# Names of targets, and in which state they are; several are RTS, for fuzzing.
STATES = {"reset": "reset", "init": "init", "rtr": "rtr", "error": "error",
          **{f"rts{number}": "rts" for number in range(8)}, "uc": "rts"}
NAMES = {e.IBV_QPS_RESET: "reset", e.IBV_QPS_INIT: "init", e.IBV_QPS_RTR: "rtr",
         e.IBV_QPS_RTS: "rts", e.IBV_QPS_ERR: "error"}


class Memory:
    """Guard, open bytes, guard: one region with rights over the open part only."""

    def __init__(self, pd):
        self.whole = MR(pd, 3 * OPEN, e.IBV_ACCESS_LOCAL_WRITE)
        self.guard = bytes(range(256)) * (OPEN // 256)
        self.whole.write(self.guard * 3, 3 * OPEN)
        self.address = self.whole.buf + OPEN
        self.open = MR(pd, OPEN, e.IBV_ACCESS_LOCAL_WRITE | ALL_RIGHTS, address=self.address)

    def intact(self):
        data = self.whole.read(3 * OPEN, 0)
        return data[:OPEN] == self.guard and data[2 * OPEN:] == self.guard


def make(pd, cq, uc=False):
    return QP(pd, QPInitAttr(qp_type=e.IBV_QPT_UC if uc else e.IBV_QPT_RC, scq=cq, rcq=cq,
                             cap=QPCap(max_send_wr=4, max_recv_wr=8), sq_sig_all=1))


def bring(qp, state, lid, peer_qpn):
    """Take a QP in RESET to a state."""
    if state == "reset":
        return
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ALL_RIGHTS
    attr.path_mtu = e.IBV_MTU_1024
    attr.dest_qp_num = peer_qpn
    attr.rq_psn = attr.sq_psn = 0
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
    attr.min_rnr_timer = 12
    attr.timeout = 14
    attr.retry_cnt = attr.rnr_retry = 7
    attr.ah_attr = AHAttr(port_num=1, dlid=lid)
    qp.to_init(attr)
    if state in ("rtr", "rts"):
        qp.to_rtr(attr)
    if state == "rts":
        qp.to_rts(attr)
    if state == "error":
        qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)


class Bystanders:
    """Two QPs of the same port, connected to each other."""

    def __init__(self, context, lid):
        self.pd = PD(context)
        self.cq = CQ(context, 8)
        self.mr = MR(self.pd, 4 * RECEIVE, e.IBV_ACCESS_LOCAL_WRITE)
        self.qps = [make(self.pd, self.cq), make(self.pd, self.cq)]
        for qp, peer in zip(self.qps, reversed(self.qps), strict=True):
            bring(qp, "rts", lid, peer.qp_num)
        self.turn = 0

    def work(self):
        """Whether a message each way arrives as it was sent."""
        self.turn += 1
        for number, qp in enumerate(self.qps):
            at = self.mr.buf + number * RECEIVE
            qp.post_recv(RecvWR(1, 1, [SGE(at + 2 * RECEIVE, RECEIVE, self.mr.lkey)]))
            self.mr.write(bytes([self.turn % 256, number]) * (RECEIVE // 2), RECEIVE,
                          number * RECEIVE)
        for number, qp in enumerate(self.qps):
            qp.post_send(SendWR(2, num_sge=1, sg=[
                SGE(self.mr.buf + number * RECEIVE, RECEIVE, self.mr.lkey)]))
        left, end = 4, time.monotonic() + 20
        while left and time.monotonic() < end:
            found, completions = self.cq.poll(left)
            if any(c.status != e.IBV_WC_SUCCESS for c in completions or []):
                return False
            left -= found
        data = self.mr.read(4 * RECEIVE, 0)
        return left == 0 and data[:RECEIVE] == data[3 * RECEIVE:] and \
            data[RECEIVE:2 * RECEIVE] == data[2 * RECEIVE:3 * RECEIVE]


class Targets:
    """The queue pairs to be shot at, by name."""

    def __init__(self, context, lid):
        self.context, self.lid = context, lid
        self.pd = PD(context)
        self.memory = Memory(self.pd)
        self.landing = MR(self.pd, RECEIVE, e.IBV_ACCESS_LOCAL_WRITE)
        self.cq, self.qps = None, {}

    def renew(self):
        for qp in self.qps.values():
            qp.close()
        if self.cq:
            self.cq.close()
        self.cq = CQ(self.context, 256)
        self.qps = {name: make(self.pd, self.cq, name == "uc") for name in STATES}
        for name, qp in self.qps.items():
            bring(qp, STATES[name], self.lid, PEER_QPN)
            if STATES[name] in ("rtr", "rts"):
                for _ in range(8):
                    qp.post_recv(RecvWR(1, 1, [SGE(self.landing.buf, RECEIVE,
                                                   self.landing.lkey)]))
        memory = self.memory
        return {"qpns": {name: qp.qp_num for name, qp in self.qps.items()}, "mtu": MTU,
                "address": memory.address, "length": OPEN, "rkey": memory.open.rkey,
                "closed_rkey": memory.whole.rkey}

    def states(self):
        return {name: NAMES[qp.query(e.IBV_QP_STATE)[0].qp_state]
                for name, qp in self.qps.items()}


def counters(device):
    folder = Path("/sys/class/infiniband") / device / "ports/1/hw_counters"
    return {path.name: int(path.read_text()) for path in folder.iterdir()
            if path.name.startswith(("link_rx", "rc_rx", "rx_"))}


def main():
    context = Context(name=sys.argv[1])
    targets = Targets(context, int(sys.argv[2]))
    bystanders = Bystanders(context, context.query_port(1).lid)
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "renew":
            answer = targets.renew()
        elif line.strip() == "counters":
            answer = counters(sys.argv[1])
        else:
            answer = {"states": targets.states(), "intact": targets.memory.intact(),
                      "bystanders": bystanders.work()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
