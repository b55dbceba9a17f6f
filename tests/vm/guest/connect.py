# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Connects and disconnects reliable QPs that retry nothing.

usage: connect.py COUNT DEVICE DEVICE
Each connection has retry_count 0 and rnr_retry 0, carries a message of its own
each way, and is taken down. Any completion with an error, and any wrong byte, is
the end. Prints one JSON object.
"""

import json
import sys
import time

import verbs_enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

LIMIT_SECONDS = 30
SIZE = 20000  # several packets at any MTU


class End:
    """One of the two devices, with what its connections share."""

    def __init__(self, name):
        self.context = Context(name=name)
        self.port = self.context.query_port(1)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        self.mr = MR(self.pd, 2 * SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        self.qp = None

    def create(self):
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                                         cap=QPCap(max_send_wr=2, max_recv_wr=2), sq_sig_all=1))

    def connect(self, peer, psn):
        attr = QPAttr(port_num=1)
        self.qp.to_init(attr)
        self.qp.post_recv(RecvWR(1, 1, [SGE(self.mr.buf + SIZE, SIZE, self.mr.lkey)]))
        attr.path_mtu = e.IBV_MTU_4096
        attr.dest_qp_num = peer.qp.qp_num
        attr.rq_psn = attr.sq_psn = psn
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer = 12
        attr.timeout = 14
        attr.retry_cnt = attr.rnr_retry = 0
        attr.ah_attr = AHAttr(port_num=1, dlid=peer.port.lid)
        self.qp.to_rtr(attr)
        self.qp.to_rts(attr)

    def send(self, data):
        self.mr.write(data, SIZE)
        self.qp.post_send(SendWR(2, num_sge=1, sg=[SGE(self.mr.buf, SIZE, self.mr.lkey)]))

    def finish(self, expected):
        """Wait for the completions of one send and one receive, check what came."""
        left, end = 2, time.monotonic() + LIMIT_SECONDS
        while left:
            number, completions = self.cq.poll(left)
            for completion in completions or []:
                if completion.status != e.IBV_WC_SUCCESS:
                    raise SystemExit(f"connect.py: completion status {completion.status} of "
                                     f"request {completion.wr_id}")
            left -= number
            if time.monotonic() > end:
                raise SystemExit(f"connect.py: {left} completions are missing")
        if self.mr.read(SIZE, SIZE) != expected:
            raise SystemExit("connect.py: wrong data")


def main():
    count, ends = int(sys.argv[1]), [End(name) for name in sys.argv[2:4]]
    for number in range(count):
        for end in ends:
            end.create()
        for end, peer in zip(ends, reversed(ends), strict=True):
            end.connect(peer, number * 7919 % (1 << 24))
        data = [number.to_bytes(4, "big") * (SIZE // 4),
                (~number & 0xFFFFFFFF).to_bytes(4, "big") * (SIZE // 4)]
        for end, text in zip(ends, data, strict=True):
            end.send(text)
        for end, text in zip(ends, reversed(data), strict=True):
            end.finish(text)
        for end in ends:
            end.qp.close()
    print(json.dumps({"connections": count}))


if __name__ == "__main__":
    main()
