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
import signal
import sys
import time
import zlib
from pathlib import Path

from . import folders
from .error import LabError
from .folders import LOCK, MARK
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
    if "OPENIPOIB_LAB_DIR" not in os.environ:
        return WORK / "logs/lab"
    # Two folders may have the same name.
    return WORK / "logs" / f"lab-{folder().name}-{zlib.crc32(os.fsencode(folder().absolute())):08x}"


def socket_path():
    return folder() / "control"


def _lock(there, flags=0):
    """Take the lock of the state folder; its descriptor, or None if another has it."""
    flags |= os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        fd = os.open(LOCK, flags, 0o600, dir_fd=there.fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        try:
            if os.path.samestat(os.fstat(fd), os.stat(LOCK, dir_fd=there.fd)):
                return fd
        except FileNotFoundError:
            pass
        os.close(fd)  # `lab down` removed that file meanwhile


def create():
    """Make the state folder and take its lock, which is returned as a descriptor.

    What a lab that crashed has left is cleaned up. A folder with anything else in it
    is refused.
    """
    with folders.opened(folder(), make=True) as there:
        there.is_labs()  # or empty
        fd = _lock(there, os.O_CREAT)
        if fd is None:
            raise LabError(f"a lab is already up{_since()}; "
                           f"take it down first: {PROGRAM} down", code=1)
        try:
            os.pwrite(fd, MARK, 0)
            if foreign := there.foreign():
                raise LabError(f"{there.path} has files that are not the lab's: "
                               f"{', '.join(foreign)}", code=1)
            kill(pids())
            there.remove_written()
            write("pids.json", [os.getpid()])
        except BaseException:
            os.close(fd)
            raise
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
    """Whether a lab is up or has left something; what is no lab's folder is refused."""
    with folders.opened(folder()) as there:
        return there is not None and there.is_labs()


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
    with folders.opened(folder()) as there:
        if there is None or not there.is_labs():
            return  # another `lab down` was faster
        doomed = pids() if doomed is None else doomed
        kill(doomed)
        fd = lock_fd if lock_fd is not None else _late_lock(there, doomed)
        if fd is None:
            return
        if left := there.end():
            print(f"lab: {there.path} is left, for what is not the lab's: {', '.join(left)}",
                  file=sys.stderr)
        os.close(fd)


def _late_lock(there, doomed):
    """The lock of a lab whose processes are being killed; None if another lab has it."""
    # A process loses its name before it loses its locks.
    end = time.monotonic() + 5
    with contextlib.suppress(FileNotFoundError):  # removed by another `lab down`
        while time.monotonic() < end and set(pids()) <= set(doomed):
            fd = _lock(there)
            if fd is not None:
                return fd
            time.sleep(0.01)
    return None
