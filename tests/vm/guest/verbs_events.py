# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Asynchronous events of queue pairs and shared receive queues, and draining.

usage: verbs_events.py DEVICE DEVICE
The first sends, the second receives into a shared receive queue. The events of a
device come in order, so an event that came twice would be seen in place of the
next. Prints one JSON object; ends with a message when something is not as it must
be, and by SIGALRM when something does not come.
"""

import json
import signal
import sys

import verbs_enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

LIMIT_SECONDS = 60
SIZE = 8192
LIMIT = 3       # of the shared receive queue


def check(condition, what):
    if not condition:
        raise SystemExit(f"verbs_events.py: {what}")


class End:
    """A device, with what its queue pairs share."""

    def __init__(self, name):
        self.context = Context(name=name)
        self.lid = self.context.query_port(1).lid
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 64)
        self.mr = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)

    def sge(self):
        return SGE(self.mr.buf, SIZE, self.mr.lkey)

    def create(self, srq=None):
        return QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, srq=srq,
                                      cap=QPCap(max_send_wr=16, max_recv_wr=0 if srq else 16),
                                      sq_sig_all=1))

    def event(self, expected):
        """Take the next event, which has to be of this type."""
        event = self.context.get_async_event()
        seen = event.event_type
        event.ack()
        check(seen == expected, f"event {seen}, not {expected}")

    def completions(self, number):
        """Wait for so many, all of them good."""
        while number:
            found, entries = self.cq.poll(number)
            for entry in entries or []:
                check(entry.status == e.IBV_WC_SUCCESS, f"completion status {entry.status}")
            number -= found

    def nothing_completed(self, when):
        check(self.cq.poll(1)[0] == 0, f"a completion {when}")


def connect(qp, lid, peer_qpn):
    attr = QPAttr(port_num=1)
    attr.path_mtu = e.IBV_MTU_1024
    attr.dest_qp_num = peer_qpn
    attr.rq_psn = attr.sq_psn = 0xFFFFF0
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer = 1
    attr.timeout = 14
    attr.retry_cnt = attr.rnr_retry = 7
    attr.ah_attr = AHAttr(port_num=1, dlid=lid)
    qp.to_init(attr)
    qp.to_rtr(attr)
    qp.to_rts(attr)


def connected(sender, receiver, srq):
    """A queue pair that sends, and one that receives from the shared queue."""
    pair = sender.create(), receiver.create(srq)
    connect(pair[0], receiver.lid, pair[1].qp_num)
    connect(pair[1], sender.lid, pair[0].qp_num)
    return pair


def send(sender, qp, number=1):
    for _ in range(number):
        qp.post_send(SendWR(1, num_sge=1, sg=[sender.sge()]))


def set_state(qp, state, notify=False):
    attr, mask = QPAttr(qp_state=state), e.IBV_QP_STATE
    if notify:
        attr.en_sqd_async_notify = 1
        mask |= e.IBV_QP_EN_SQD_ASYNC_NOTIFY
    qp.modify(attr, mask)


def limit_is_told_once(sender, receiver, srq, qp):
    receives = LIMIT + 3
    for _ in range(receives):
        srq.post_recv(RecvWR(2, 1, [receiver.sge()]))
    srq.modify(SrqAttr(srq_limit=LIMIT), e.IBV_SRQ_LIMIT)
    check(srq.query().srq_limit == LIMIT, "the limit is not what was set")
    send(sender, qp, receives)
    sender.completions(receives)
    receiver.completions(receives)
    receiver.event(e.IBV_EVENT_SRQ_LIMIT_REACHED)
    check(srq.query().srq_limit == 0, "the limit is still armed")


def queue_is_drained(sender, receiver, srq, qp, other):
    """Nothing is sent in SQD, everything after it; another queue pair goes on."""
    before, after = 6, 2
    for _ in range(before + after + 1):
        srq.post_recv(RecvWR(2, 1, [receiver.sge()]))
    send(sender, qp, before)
    set_state(qp, e.IBV_QPS_SQD, notify=True)
    sender.event(e.IBV_EVENT_SQ_DRAINED)
    check(qp.query(e.IBV_QP_STATE)[0].qp_state == e.IBV_QPS_SQD, "not in SQD")
    begun = 0
    while sender.cq.poll(1)[0]:
        begun += 1
    receiver.completions(begun)
    send(sender, qp, after)
    send(sender, other)         # what came before it on the link would be seen first
    sender.completions(1)
    receiver.completions(1)
    sender.nothing_completed("of a send in SQD")
    receiver.nothing_completed("of a receive in SQD")
    set_state(qp, e.IBV_QPS_RTS)
    sender.completions(before + after - begun)
    receiver.completions(before + after - begun)
    return begun


def last_request_is_told(sender, receiver, srq, dying, other):
    """The shared queue keeps its requests, and others go on with them."""
    srq.post_recv(RecvWR(2, 1, [receiver.sge()]))
    set_state(dying, e.IBV_QPS_ERR)
    receiver.event(e.IBV_EVENT_QP_LAST_WQE_REACHED)
    receiver.nothing_completed("of a queue pair in error that held no request")
    send(sender, other)
    sender.completions(1)
    receiver.completions(1)


def main():
    signal.alarm(LIMIT_SECONDS)
    sender, receiver = (End(name) for name in sys.argv[1:3])
    srq = SRQ(receiver.pd, SrqInitAttr(SrqAttr(max_wr=32, max_sge=1)))
    qp, dying = connected(sender, receiver, srq)
    other, living = connected(sender, receiver, srq)
    limit_is_told_once(sender, receiver, srq, qp)
    begun = queue_is_drained(sender, receiver, srq, qp, other)
    last_request_is_told(sender, receiver, srq, dying, other)
    for made in (qp, dying, other, living, srq):
        made.close()
    print(json.dumps({"begun before SQD": begun}))


if __name__ == "__main__":
    main()
