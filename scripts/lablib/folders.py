# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which folders may hold a lab's state, and what in one of them is the lab's.

The folder's name comes from the environment and its contents are removed, as
root more often than not. So a folder is a lab's only if its file `lock`, the first
that a lab writes, has the mark in it and belongs to this user. What else is
removed are files and sockets of this user with names that the lab gives.
"""

import contextlib
import os
import pwd
import re
import stat

from .error import LabError

LOCK = "lock"
MARK = b"This folder is the state of an openipoib lab; `lab down` removes it.\n"
WRITTEN = re.compile(r"lock|control|fabric|notify|topology|(lab|pids)\.(json|new)|h\d+\.pid")


def refuse(message):
    raise LabError(message, code=1)


def _homes():
    """The home folders of this user, by the environment and by the system."""
    homes = [os.environ.get("HOME")]
    with contextlib.suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    return {os.path.realpath(home) for home in homes if home}


def check_name(path):
    """Refuse a folder that can be no lab's, whatever is in it."""
    if not path.is_absolute():
        given = os.environ.get("OPENIPOIB_LAB_DIR", path)
        refuse(f"OPENIPOIB_LAB_DIR must be the whole path of a folder, not '{given}'")
    if path.is_symlink():
        refuse(f"{path} is a symbolic link: name the folder of the lab itself")
    real = os.path.realpath(path)
    for home in _homes():
        if real == home:
            refuse(f"{path} is a home folder: a lab needs a folder of its own")
        if os.path.commonpath((real, home)) == real:
            refuse(f"{path}: a home folder is in it; a lab needs a folder of its own")


class Folder:
    """A state folder that is open: what is done in it is done there, whatever its name
    comes to mean meanwhile. `fd` is its descriptor."""

    def __init__(self, path, fd):
        self.path = path
        self.fd = fd

    def _is_written(self, name):
        """Whether the lab has written what is here under this name."""
        try:
            about = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return True  # and has removed it: a process of it that ends
        return (WRITTEN.fullmatch(name) is not None and about.st_uid == os.getuid()
                and (stat.S_ISREG(about.st_mode) or stat.S_ISSOCK(about.st_mode)))

    def foreign(self):
        """Names of what is here and not the lab's."""
        return [name for name in sorted(os.listdir(self.fd)) if not self._is_written(name)]

    def mark(self):
        """What the file `lock` says; None if there is none that the lab has written."""
        try:
            if not self._is_written(LOCK):
                return None
            fd = os.open(LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.fd)
        except FileNotFoundError:
            return None
        with open(fd, "rb") as file:
            return file.read(len(MARK) + 1)

    def is_labs(self):
        """Whether a lab is here, or has crashed here.

        One that crashed before its mark was written leaves its lock, which is empty,
        and nothing else. An empty folder is nobody's: a lab may take it.
        """
        names = os.listdir(self.fd)
        mark = self.mark()
        if mark == MARK or (mark == b"" and names == [LOCK]):
            return True
        if names:
            refuse(f"{self.path} is not the folder of a lab: there are files in it, and its "
                   f"file '{LOCK}' does not say that it is one; nothing has been removed")
        return False

    def remove_written(self):
        """Remove what the lab has written, but not its lock."""
        for name in os.listdir(self.fd):
            if name != LOCK and self._is_written(name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self.fd)

    def end(self):
        """Remove the lock, too, and the folder if it is then empty. Returns what is left."""
        self.remove_written()
        left = self.foreign()
        os.unlink(LOCK, dir_fd=self.fd)
        if not left:
            with contextlib.suppress(OSError):  # another lab comes up in it
                self.path.rmdir()
        return left


@contextlib.contextmanager
def opened(path, make=False):
    """The state folder, which is made if @make; None if it does not exist."""
    check_name(path)
    try:
        if make:
            path.mkdir(parents=True, mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    except (FileExistsError, NotADirectoryError):
        refuse(f"{path} is not a folder")
    try:
        if os.fstat(fd).st_uid != os.getuid():
            refuse(f"{path} belongs to another user")
        yield Folder(path, fd)
    finally:
        os.close(fd)
