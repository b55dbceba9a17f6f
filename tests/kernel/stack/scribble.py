#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A process that writes what it likes into the queues it has mapped.

scribble.py HCA ROUNDS: each kind of nonsense once, with what must come of it, then
random values under datagrams, so many times. At last the HCA is deleted, and what is
mapped of it written again. Ends with a message when something is not as it must be,
and by SIGALRM when something does not come.
"""
import ctypes
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

sys.path.append(str(Path(__file__).resolve().parents[2] / "vm/guest"))
import verbs_enums as e  # noqa: E402

LIMIT_SECONDS = 120
Q_KEY = 0x11111111
SIZE = 64
ROOM = SIZE + 40    # with the GRH
DEPTH = 8
FIRST = 8           # offset of the first request in a receive queue
NUM_SGE = FIRST + 8
REQUEST = "=QB7xQII"
NONSENSE = DEPTH + 1, 0x7FFFFFFF, 0xFFFFFFFF


def check(condition, what):
    if not condition:
        raise SystemExit(f"scribble.py: {what}")


def mappings():
    """Start, end and offset of what this process has mapped of HCAs."""
    found = set()
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            words = line.split()
            if "/uverbs" in words[-1]:
                start, end = (int(word, 16) for word in words[0].split("-"))
                found.add((start, end, int(words[2], 16)))
    return found


class Queue:
    """The memory of an object that make() makes."""

    def __init__(self, make):
        before = mappings()
        self.object = make()
        new = mappings() - before
        check(len(new) == 1, f"{len(new)} mappings more")
        (self.start, self.end, self.offset), = new
        self.head = ctypes.c_uint32.from_address(self.start)
        self.tail = ctypes.c_uint32.from_address(self.start + 4)

    def fill(self, region):
        """A request of one entry in each place, that the kernel may take."""
        stride = struct.calcsize(REQUEST)
        for place in range(DEPTH + 1):
            struct.pack_into(REQUEST, (ctypes.c_char * stride).from_address(
                self.start + FIRST + stride * place), 0, place, 1, region.buf, ROOM, region.lkey)

    def scribble(self):
        """One word; mostly an index, and mostly one that could be."""
        at = random.choice((0, 4, 0, 4, NUM_SGE, random.randrange(0, self.end - self.start, 4)))
        value = random.choice((random.randrange(DEPTH + 2), random.getrandbits(32)))
        ctypes.c_uint32.from_address(self.start + at).value = value


class World:
    """An HCA with what it takes to send datagrams to oneself."""

    def __init__(self, hca):
        self.context = Context(name=hca)
        self.pd = PD(self.context)
        self.mr = MR(self.pd, ROOM, e.IBV_ACCESS_LOCAL_WRITE)
        self.way = AH(self.pd, attr=AHAttr(port_num=1, dlid=self.context.query_port(1).lid))
        self.send_cq = CQ(self.context, 2 * DEPTH)
        self.cq = Queue(lambda: CQ(self.context, DEPTH))

    def attributes(self):
        attributes = QPAttr(port_num=1)
        attributes.qkey = Q_KEY
        return attributes

    def pair(self, srq=None):
        init = QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.send_cq, rcq=self.cq.object, srq=srq,
                          cap=QPCap(max_send_wr=DEPTH, max_recv_wr=0 if srq else DEPTH))
        return QP(self.pd, init, self.attributes())

    def shared(self):
        return SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=DEPTH, max_sge=1)))

    def request(self):
        return RecvWR(1, 1, [SGE(self.mr.buf, ROOM, self.mr.lkey)])

    def send(self, sender, receiver):
        """A datagram; it has arrived, or has been dropped, when this returns."""
        request = SendWR(sg=[SGE(self.mr.buf, SIZE, self.mr.lkey)], num_sge=1)
        request.set_wr_ud(self.way, receiver.qp_num, Q_KEY)
        sender.post_send(request)
        self.completion(self.send_cq)

    def completion(self, queue, status=e.IBV_WC_SUCCESS):
        found, entries = queue.poll(1)
        while not found:
            time.sleep(0.001)
            found, entries = queue.poll(1)
        check(entries[0].status == status, f"completion status {entries[0].status}, not {status}")

    def event(self, expected):
        event = self.context.get_async_event()
        seen = event.event_type
        event.ack()
        check(seen == expected, f"event {seen}, not {expected}")


def state(pair):
    return pair.query(e.IBV_QP_STATE)[0].qp_state


def refused(fd, size, offset, flags=mmap.MAP_SHARED):
    try:
        mmap.mmap(fd, size, flags=flags, offset=offset)
    except OSError:
        return True
    return False


def only_ones_own(world, hca):
    """A queue is mapped as a whole, shared, and by the context that it is of."""
    cq, page, fd = world.cq, mmap.PAGESIZE, world.context.cmd_fd
    size = cq.end - cq.start
    check(not refused(fd, size, cq.offset), "a CQ cannot be mapped again")
    check(refused(fd, size + page, cq.offset), "a CQ is mapped with a page too many")
    check(refused(fd, size, cq.offset + 1000 * page), "what is not there is mapped")
    check(refused(fd, size, cq.offset, mmap.MAP_PRIVATE), "a CQ is mapped privately")
    stranger = Context(name=hca)
    check(refused(stranger.cmd_fd, size, cq.offset), "a stranger's CQ is mapped")
    stranger.close()


def bad_tail(world, sender):
    """The CQ overflows, once; with a tail that makes sense it goes on."""
    receiver = Queue(world.pair)
    tail = world.cq.tail.value
    for number, value in enumerate(NONSENSE):
        receiver.object.post_recv(world.request())
        world.cq.tail.value = value
        world.send(sender, receiver.object)
        if not number:
            world.event(e.IBV_EVENT_CQ_ERR)
    world.cq.tail.value = tail
    check(world.cq.object.poll(1)[0] == 0, "a completion where there was no room")
    receiver.object.post_recv(world.request())
    world.send(sender, receiver.object)
    world.completion(world.cq.object)
    receiver.object.close()


def bad_head(world, sender):
    for value in NONSENSE:
        receiver = Queue(world.pair)
        receiver.head.value = value
        world.send(sender, receiver.object)
        world.event(e.IBV_EVENT_QP_FATAL)
        check(state(receiver.object) == e.IBV_QPS_ERR, "the queue pair is not in error")
        receiver.object.close()


def bad_list(world, sender):
    """More scatter entries than there is room for; a reset makes it good again."""
    receiver = Queue(world.pair)
    receiver.object.post_recv(world.request())
    ctypes.c_uint8.from_address(receiver.start + NUM_SGE).value = 255
    world.send(sender, receiver.object)
    world.event(e.IBV_EVENT_QP_FATAL)
    receiver.object.modify(QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
    receiver.object.to_rts(world.attributes())
    receiver.object.post_recv(world.request())
    world.send(sender, receiver.object)
    world.completion(world.cq.object)
    receiver.object.close()


def bad_shared_queue(world, sender):
    shared = Queue(world.shared)
    pairs = [world.pair(shared.object) for _ in range(2)]
    shared.head.value = NONSENSE[-1]
    for number, pair in enumerate(pairs):
        world.send(sender, pair)
        if not number:
            world.event(e.IBV_EVENT_SRQ_ERR)
        world.event(e.IBV_EVENT_QP_FATAL)
        world.event(e.IBV_EVENT_QP_LAST_WQE_REACHED)
        check(state(pair) == e.IBV_QPS_ERR, "the queue pair is not in error")
        pair.close()
    shared.object.close()


def late_requests(world):
    """What is posted to a queue pair in error is flushed, though no system call tells of it."""
    receiver = world.pair()
    receiver.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
    for _ in range(3 * DEPTH):
        receiver.post_recv(world.request())
        world.completion(world.cq.object, e.IBV_WC_WR_FLUSH_ERR)
    receiver.close()


def resized(world, sender):
    """A CQ is moved with what is in it."""
    receiver = world.pair()
    for _ in range(3):
        receiver.post_recv(world.request())
    world.send(sender, receiver)
    world.send(sender, receiver)
    world.cq.object.resize(2 * DEPTH)
    world.send(sender, receiver)
    for _ in range(3):
        world.completion(world.cq.object)
    receiver.close()


def datagram_to_one_of_many(world, sender, queue, shared):
    """It is received by a queue, and by a queue pair that shares another, or breaks them."""
    queue.scribble()
    shared.scribble()
    world.cq.scribble()
    world.send(sender, queue.object)
    try:
        pair = world.pair(shared.object)
    except PyverbsRDMAError:
        return True     # what it shares was broken before it was ready
    world.send(sender, pair)
    broken = state(pair) == e.IBV_QPS_ERR
    pair.close()
    return broken or state(queue.object) == e.IBV_QPS_ERR


def anything(world, sender, rounds):
    """Random values in queues of all kinds, under traffic; what breaks is made again."""
    queue, shared, broken = None, None, 0
    for _ in range(rounds):
        if not queue:
            queue, shared = Queue(world.pair), Queue(world.shared)
            queue.fill(world.mr)
            shared.fill(world.mr)
        if datagram_to_one_of_many(world, sender, queue, shared):
            broken += 1
            queue.object.close()
            shared.object.close()
            queue = shared = None
    check(broken, "nothing is broken")
    print(f"{rounds} rounds, {broken} times something broke", flush=True)
    return [left for left in (queue, shared) if left]


def gone(world, hca, queues):
    """The HCA goes; what was mapped of it is memory like any other."""
    size = world.cq.end - world.cq.start
    subprocess.run(["rdma", "link", "delete", hca], check=True)
    for queue in queues:
        for _ in range(1000):
            queue.scribble()
    check(refused(world.context.cmd_fd, size, world.cq.offset), "a CQ of an HCA that has gone is mapped")
    try:
        CQ(world.context, DEPTH)
    except PyverbsRDMAError:
        return
    raise SystemExit("scribble.py: a CQ of an HCA that has gone")


def main():
    signal.alarm(LIMIT_SECONDS)
    random.seed(4711)
    hca, rounds = sys.argv[1], int(sys.argv[2])
    world = World(hca)
    sender = world.pair()
    only_ones_own(world, hca)
    late_requests(world)
    for check_one in bad_tail, bad_head, bad_list, bad_shared_queue, resized:
        print(check_one.__name__, flush=True)
        check_one(world, sender)
    world.cq = Queue(lambda: CQ(world.context, DEPTH))
    left = anything(world, sender, rounds)
    gone(world, hca, [world.cq, *left])
    print("done", flush=True)
    os._exit(0)     # Python would destroy what has gone


if __name__ == "__main__":
    main()
