# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A layer over the root of a release: what a command there changes, with the checkout.

A layer is a folder with upper/ and work/ of an overlay, and merged/, on which it is
mounted, in a mount namespace of the command's own: nobody else sees it there, and nothing
is to be unmounted. It is used by one command at a time.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lablib import debian
from lablib.error import LabError
from lablib.place import HERE

from . import root

CHECKOUT = "root/openipoib"
ENTER = HERE / "distrolib/enter"
# Each in a new namespace; the network is the machine's. With the process that was
# started, all that the command has started ends.
UNSHARE = ("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child",
           "--uts", "--ipc", "--")
PASSED_ON = ("TERM", "http_proxy", "https_proxy", "no_proxy")
PREFIX = ".layer-"


@contextlib.contextmanager
def claimed(folder):
    """A layer in @folder, made unless it is there, for this process alone."""
    for name in ("upper", "work", "merged"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"another command uses the layer {folder}", 1) from None
        yield folder


@contextlib.contextmanager
def fresh():
    """A layer that goes afterwards."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=root.DISTROS) as folder, \
            claimed(Path(folder)) as layer:
        yield layer


def _differing(top):
    """The files of the checkout @top that are not as they were committed, or were not."""
    lists = (["diff", "--name-only", "--no-renames", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
    return [name for words in lists
            for name in debian.run(["git", "-C", top, *words, "-z"]).split("\0")[:-1]]


def copy_checkout(top, layer):
    """Put the checkout @top, as it is in git or will be, into @layer.

    What is as it was keeps its time there, and what was built there stays.
    """
    target = layer / "upper" / CHECKOUT
    target.parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=layer) as folder:
        clone = Path(folder, "clone")
        debian.run(["git", "clone", "-q", "--no-hardlinks", top, clone])
        for name in _differing(top):
            (clone / name).unlink(missing_ok=True)
            if os.path.lexists(Path(top, name)):
                (clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(top, name), clone / name, follow_symlinks=False)
        debian.run(["rsync", "-rlp", "--checksum", "--delete", "--exclude=/build",
                    f"{clone}/", f"{target}/"])


def _environment():
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {"HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"} | passed


def run(suite, lower, layer, command):
    """Run @command in @layer over the root @lower; its exit status."""
    words = [*UNSHARE, ENTER, suite, lower, layer, root.archives(suite), f"/{CHECKOUT}", *command]
    process = subprocess.Popen([str(word) for word in words], env=_environment())
    try:
        status = process.wait()
    except BaseException:
        process.kill()      # unshare lets no other signal end it
        process.wait()
        raise
    return status if status >= 0 else 128 - status
