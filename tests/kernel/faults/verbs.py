# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Verbs of user space whose allocations fail in turn: objects of an HCA.

An object is made in the context of a process, so all it leaves behind after a
failure would go with the process: that it leaves nothing is told by the counts of
the HCA's restrack before and after.
"""

import atexit
import json
import subprocess
import sys
from pathlib import Path

from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr

from .operations import Operation

sys.path.append(str(Path(__file__).resolve().parents[2] / "vm/guest"))
import verbs_enums as enums  # noqa: E402

DEPTH = 32
LENGTH = 65536


class Object(Operation):
    """Make an object of a kind, by a context of its own; undone, it is destroyed."""

    def __init__(self, kind, hca):
        self.hca, self.object = hca, None
        self.context = Context(name=hca)
        atexit.register(self.context.close)     # with all of it, while Python still can
        self.pd = PD(self.context)
        self.channel = CompChannel(self.context)
        self.cq = CQ(self.context, DEPTH)
        self.make = getattr(self, kind)
        self.before = self.counts()

    def counts(self):
        """Objects of the HCA by kind, of all processes."""
        shown = subprocess.run(["rdma", "-j", "resource", "show", self.hca], check=True,
                               stdout=subprocess.PIPE).stdout
        return {kind: count for kind, count in json.loads(shown)[0].items() if isinstance(count, int)}

    def new_pd(self):
        return PD(self.context)

    def new_cq(self):
        return CQ(self.context, DEPTH, None, self.channel)

    def new_mr(self):
        return MR(self.pd, LENGTH, enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_REMOTE_READ)

    def new_srq(self):
        return SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=DEPTH)))

    def queue_pair(self, transport):
        limits = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=2, max_recv_sge=2)
        return QP(self.pd, QPInitAttr(qp_type=transport, scq=self.cq, rcq=self.cq, cap=limits))

    def new_ud(self):
        return self.queue_pair(enums.IBV_QPT_UD)

    def new_rc(self):
        return self.queue_pair(enums.IBV_QPT_RC)

    def do(self):
        try:
            self.object = self.make()
        except PyverbsRDMAError as error:
            raise OSError(error.error_code, str(error)) from error

    def done(self):
        if not self.object and self.counts() != self.before:
            raise SystemExit(f"left behind: {self.counts()}, there was {self.before}")
        return bool(self.object)

    def undo(self):
        self.object.close()
        self.object = None


KINDS = {kind: lambda hca, make=f"new_{kind}": Object(make, hca)
         for kind in ("pd", "cq", "mr", "srq", "ud", "rc")}
