#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Datagrams with a P_Key, whatever the subnet manager thinks of it.

wrong_pkey.py HCA P_KEY LID COUNT: send so many there. A P_Key that is not in the
table of the HCA's port is first written to its last entry, by a directed route of no
hops, as a subnet manager would.
"""
import ctypes
import sys
from pathlib import Path

from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

sys.path.append(str(Path(__file__).resolve().parents[2] / "vm/guest"))
import verbs_enums as enums  # noqa: E402

SMP_CLASSES = (ctypes.c_int * 2)(0x01, 0x81)
ATTRIBUTE = 0x16    # P_KeyTable
BLOCK = 32          # entries
SELF_PATH_SIZE = 512    # more than an ib_portid_t has; all zeros: this port
TIMEOUT_MS = 2000
Q_KEY = 0x11111111
SIZE = 64


def write(hca, pkey):
    """Put it into the last entry of the first block; all other entries stay."""
    mad = ctypes.CDLL("libibmad.so.5")
    mad.mad_rpc_open_port.restype = ctypes.c_void_p
    mad.smp_query_via.restype = mad.smp_set_via.restype = ctypes.c_void_p
    port = ctypes.c_void_p(mad.mad_rpc_open_port(hca.encode(), 1, SMP_CLASSES, len(SMP_CLASSES)))
    here = ctypes.create_string_buffer(SELF_PATH_SIZE)
    table = ctypes.create_string_buffer(BLOCK * 2)
    if not mad.smp_query_via(table, here, ATTRIBUTE, 0, TIMEOUT_MS, port):
        sys.exit("no answer to Get(P_KeyTable)")
    table[BLOCK * 2 - 2:] = pkey.to_bytes(2, "big")
    if not mad.smp_set_via(table, here, ATTRIBUTE, 0, TIMEOUT_MS, port):
        sys.exit("no answer to Set(P_KeyTable)")
    mad.mad_rpc_close_port(port)


def index_of(context, pkey):
    for index in range(context.query_device().max_pkeys):
        if int.from_bytes(context.query_pkey(1, index).to_bytes(2, "little"), "big") == pkey:
            return index
    return None


def send(context, index, lid, count):
    domain = PD(context)
    queue = CQ(context, count)
    region = MR(domain, SIZE, enums.IBV_ACCESS_LOCAL_WRITE)
    attributes = QPAttr(port_num=1)
    attributes.pkey_index = index
    attributes.qkey = Q_KEY
    pair = QP(domain, QPInitAttr(qp_type=enums.IBV_QPT_UD, scq=queue, rcq=queue,
                                 cap=QPCap(max_send_wr=count)), attributes)
    way = AH(domain, attr=AHAttr(port_num=1, dlid=lid))
    for _ in range(count):
        request = SendWR(sg=[SGE(region.buf, SIZE, region.lkey)], num_sge=1)
        request.set_wr_ud(way, 1 << 20, Q_KEY)
        pair.post_send(request)
    done = 0
    while done < count:
        number, completions = queue.poll(count)
        if any(one.status != enums.IBV_WC_SUCCESS for one in completions):
            sys.exit("a datagram was not sent")
        done += number


def main():
    hca, pkey, lid, count = sys.argv[1], *(int(word, 0) for word in sys.argv[2:])
    context = Context(name=hca)
    if index_of(context, pkey) is None:
        write(hca, pkey)
    index = None
    while index is None:    # the kernel notices
        index = index_of(context, pkey)
    send(context, index, lid, count)


if __name__ == "__main__":
    main()
