# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Where a lab keeps its state, and who owns it.

One lab per state folder. The daemon holds a lock on the file `lock` in it for
as long as it lives (taken by `lab up` and inherited), so a lab is up exactly
when the lock is held; nothing depends on process ids staying unique.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import time
from pathlib import Path

from .error import LabError
from .place import PROGRAM, WORK

BUILD = WORK / "lab"


class NoLab(LabError):
    """There is no lab to talk to."""

    def __init__(self, message=f"no lab is up (start one: {PROGRAM} up)"):
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
    return WORK / "logs" / (f"lab-{folder().name}" if other else "lab")


def socket_path():
    return folder() / "control"


def _lock():
    """Take the lock of the state folder; its descriptor, or None if another has it."""
    while True:
        fd = os.open(folder() / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        try:
            if os.path.samestat(os.fstat(fd), os.stat(folder() / "lock")):
                return fd
        except FileNotFoundError:
            pass
        os.close(fd)  # `lab down` removed that file meanwhile


def create():
    """Make the state folder and take its lock, which is returned as a descriptor.

    What a lab that crashed has left is cleaned up.
    """
    folder().mkdir(parents=True, mode=0o700, exist_ok=True)
    if folder().stat().st_uid != os.getuid():
        raise LabError(f"{folder()} belongs to another user", code=1)
    fd = _lock()
    if fd is None:
        raise LabError(f"a lab is already up{_since()}; "
                       f"take it down first: {PROGRAM} down", code=1)
    kill(pids())
    for path in folder().iterdir():
        if path.name != "lock":
            path.unlink()
    write("pids.json", [os.getpid()])
    return fd


def _since():
    about = read("lab.json")
    if not about:
        return ""
    hosts = ", ".join(about["hosts"])
    return f" ({hosts} on {about['kernel']}, for {int(time.time() - about['started'])} s)"


@contextlib.contextmanager
def building():
    """Only one lab of a checkout at a time makes what guests boot."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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


def pids():
    """The processes that this lab has left or is running, other than this one."""
    return [pid for pid in (read("pids.json") or []) if pid != os.getpid() and _is_ours(pid)]


def wait_gone(doomed, seconds):
    """Wait until none of the processes @doomed runs; returns those that still do."""
    deadline = time.monotonic() + seconds
    left = [pid for pid in doomed if _is_ours(pid)]
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [pid for pid in left if _is_ours(pid)]
    return left


def kill(doomed):
    """Kill processes of a lab and wait until they are gone.

    The guests die with the daemon (PR_SET_PDEATHSIG), so there is something to
    kill only if the daemon itself hangs or a guest is on its way out.
    """
    for pid in doomed:
        if _is_ours(pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    left = wait_gone(doomed, 10)
    if left:
        raise LabError(f"processes {left} of the lab do not die")


def sweep(doomed=None, lock_fd=None):
    """Kill what a lab has left running and remove its state.

    @doomed: its processes (default: those that the folder names)
    @lock_fd: its lock, if the caller has it; otherwise nothing is removed if
              another lab has come up meanwhile
    """
    doomed = pids() if doomed is None else doomed
    kill(doomed)
    fd = lock_fd
    # A process loses its name before it loses its locks.
    end = time.monotonic() + 5
    while fd is None and time.monotonic() < end and set(pids()) <= set(doomed):
        fd = _lock()
        if fd is None:
            time.sleep(0.01)
    if fd is not None:
        shutil.rmtree(folder(), ignore_errors=True)
        os.close(fd)
