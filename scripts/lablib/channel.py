# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Frames that carry many commands over one byte stream.

The same frames run between a client and the daemon (unix socket) and between
the daemon and the agent in a guest (virtio serial port). A frame is a header
(channel, kind, length; network byte order) and a payload. The channel names
the command a frame belongs to; the daemon translates channel numbers and looks
into nothing else.

Flow control is end to end: a sender of STDIN, STDOUT or STDERR may have at most
WINDOW bytes on the way per stream, and the receiver gives CREDIT for what it
has passed on. A reader that stalls therefore stalls its own command only, and
what the daemon holds for it is bounded.

The agent imports this module in the guest: keep it small and free of imports.
"""

import struct

HEADER = struct.Struct("!IBI")
CREDIT_BODY = struct.Struct("!BI")
WINSIZE_BODY = struct.Struct("!HH")
WINDOW = 256 * 1024
MAX_FRAME = 1 << 20

# Frame kinds.
REQUEST = 1   # client to daemon, JSON: what is wanted; the first frame
REPLY = 2     # daemon to client, JSON: the answer
OPEN = 3      # to the agent, JSON: argv, env, cwd, tty, rows, cols
STDIN = 4     # data to the command; empty: end of file
STDOUT = 5    # data from the command
STDERR = 6    # data from the command
CREDIT = 7    # stream (a kind) and number of bytes
SIGNAL = 8    # one byte: signal for the command's process group
WINSIZE = 9   # rows and columns of the terminal
EXIT = 10     # from the agent, JSON: status or signal; or error
CLOSE = 11    # to the agent: nobody waits for this command any more
HELLO = 12    # from the agent on channel 0, JSON: the guest is ready


class ProtocolError(Exception):
    """A peer sent something that is not a frame."""


def frame(channel, kind, payload=b""):
    """One frame as bytes."""
    return HEADER.pack(channel, kind, len(payload)) + payload


def credit(channel, stream, count):
    """The frame that returns @count bytes of window for @stream."""
    return frame(channel, CREDIT, CREDIT_BODY.pack(stream, count))


class Parser:
    """Cuts a byte stream into frames."""

    def __init__(self):
        self._data = bytearray()

    def feed(self, data):
        """Take @data and yield each complete frame as (channel, kind, payload)."""
        self._data += data
        while len(self._data) >= HEADER.size:
            channel, kind, length = HEADER.unpack_from(self._data)
            if length > MAX_FRAME:
                raise ProtocolError(f"frame of {length} bytes")
            end = HEADER.size + length
            if len(self._data) < end:
                return
            payload = bytes(self._data[HEADER.size:end])
            del self._data[:end]
            yield channel, kind, payload
