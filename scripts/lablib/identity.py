# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What tells a lab from all others: its hosts' addresses, and so the GUIDs of their adapters.

They stay the same for a state folder of a machine, and labs whose fabrics are cabled
together have none in common.
"""

import hashlib
import os
from pathlib import Path

from . import state

MACHINE = Path("/etc/machine-id")


def _machine():
    """What tells this machine from others; anything if nothing does."""
    try:
        return MACHINE.read_bytes().strip() or os.urandom(16)
    except OSError:
        return os.urandom(16)


def prefix():
    """The first four bytes of the addresses of this lab: local ones."""
    place = os.path.realpath(state.folder()).encode(errors="surrogateescape")
    lab = hashlib.sha256(b"openipoib-lab\0" + _machine() + b"\0" + place).digest()
    return f"52:{lab[0]:02x}:{lab[1]:02x}:{lab[2]:02x}"


def mac(lab, number, port):
    """The MAC of a cable's end at host @number of a @lab; its last byte is the port."""
    return f"{lab}:{number:02x}:{port:02x}"
