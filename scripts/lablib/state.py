# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Where a lab keeps its state, and who owns it.

One lab per state folder. The daemon holds a lock on the file `lock` in it for
as long as it lives (taken by `lab up` and inherited), so a lab is up exactly
when the lock is held; nothing depends on process ids staying unique.
"""

import errno
import fcntl
import json
import os
import shutil
import signal
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build" / "lab"


class LabError(Exception):
    """Something the user is to be told; `code` is the exit status."""

    def __init__(self, message, code=2):
        super().__init__(message)
        self.code = code


class NoLab(LabError):
    """There is no lab to talk to."""

    def __init__(self, message="no lab is up (start one: scripts/lab up)"):
        super().__init__(message, code=3)


def folder():
    """The state folder: the same from every shell of a user."""
    if "OPENIPOIB_LAB_DIR" in os.environ:
        return Path(os.environ["OPENIPOIB_LAB_DIR"])
    if os.getuid() == 0:
        return Path("/run/openipoib-lab")
    return Path(os.environ.get("XDG_RUNTIME_DIR", "/tmp")) / f"openipoib-lab-{os.getuid()}"


def logs():
    """Where consoles and the daemon's log go: kept after the lab's end."""
    other = "OPENIPOIB_LAB_DIR" in os.environ
    return TOP / "build" / "logs" / (f"lab-{folder().name}" if other else "lab")


def socket_path():
    return folder() / "control"


def create():
    """Make the state folder and take its lock. Returns the lock's descriptor."""
    folder().mkdir(parents=True, mode=0o700, exist_ok=True)
    fd = os.open(folder() / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if error.errno != errno.EWOULDBLOCK:
            raise
        raise LabError(f"a lab is already up{_since()}; "
                       "take it down first: scripts/lab down", code=1) from None
    write("pids.json", [os.getpid()])
    return fd


def _since():
    about = read("lab.json")
    if not about:
        return ""
    hosts = ", ".join(about["hosts"])
    return f" ({hosts} on {about['kernel']}, for {int(time.time() - about['started'])} s)"


def is_held():
    """Whether a daemon (or a `lab up`) holds the lock."""
    try:
        fd = os.open(folder() / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def exists():
    return folder().is_dir()


def write(name, document):
    """Write a JSON document into the state folder, whole or not at all."""
    path = folder() / name
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(document, indent=1))
    temporary.rename(path)


def read(name):
    try:
        return json.loads((folder() / name).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def _is_ours(pid):
    """Whether @pid is a process of this lab, not a later user of its number.

    A QEMU names the folder on its command line; the daemon and a `lab up` that
    has not started it yet hold the lock open.
    """
    process = Path(f"/proc/{pid}")
    try:
        if os.fsencode(str(folder())) in (process / "cmdline").read_bytes():
            return True
        return any(fd.readlink() == folder() / "lock" for fd in (process / "fd").iterdir())
    except OSError:
        return False


def wait_gone(pids, seconds):
    """Wait until none of @pids runs; returns those that still do."""
    deadline = time.monotonic() + seconds
    left = [pid for pid in pids if _is_ours(pid)]
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [pid for pid in left if _is_ours(pid)]
    return left


def sweep():
    """Kill what a lab left running and remove its state.

    The guests die with the daemon (PR_SET_PDEATHSIG), so there is something to
    kill only if the daemon itself hangs or a guest is on its way out.
    """
    pids = [pid for pid in (read("pids.json") or []) if _is_ours(pid)]
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    left = wait_gone(pids, 10)
    if left:
        raise LabError(f"processes {left} of the lab do not die")
    shutil.rmtree(folder(), ignore_errors=True)
