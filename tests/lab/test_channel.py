# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Frames survive any cutting of the stream, and nonsense is refused."""

import pytest

from lablib import channel as ch

FRAMES = [(0, ch.HELLO, b"{}"), (7, ch.STDIN, b""), (2**32 - 1, ch.STDOUT, b"x" * 70000)]


@pytest.mark.parametrize("step", [1, 8, 9, 10, 4096, 1 << 20])
def test_frames_in_pieces(step):
    stream = b"".join(ch.frame(*item) for item in FRAMES)
    parser = ch.Parser()
    seen = []
    for start in range(0, len(stream), step):
        seen += parser.feed(stream[start:start + step])
    assert seen == FRAMES


def test_oversized_frame_is_refused():
    header = ch.HEADER.pack(1, ch.STDOUT, ch.MAX_FRAME + 1)
    with pytest.raises(ch.ProtocolError):
        list(ch.Parser().feed(header))


def test_credit():
    (channel, kind, payload), = ch.Parser().feed(ch.credit(3, ch.STDERR, 4711))
    assert (channel, kind) == (3, ch.CREDIT)
    assert ch.CREDIT_BODY.unpack(payload) == (ch.STDERR, 4711)
