# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What an object of the kernel modules is made of: a source and all it includes of ours.

An include that leads to no file of this project is the kernel's. Which of two branches
of an #if is taken is not looked at, so that rather too much is found than too little.
"""

import os
import re
from pathlib import Path

from .tree import TOP

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.*)$", re.MULTILINE)
_GIVEN = re.compile(r'"([^"]+)"|<([^>]+)>')
_FLAG = re.compile(r"(?<!\S)(-I|-iquote|-isystem|-include|-imacros)\s*(\S+)")
_KBUILD_INCLUDE = re.compile(r"^-?s?include\s+(.*)$", re.MULTILINE)
# What all Kbuild files read, or what decides which of them are read
_COMMON = ("Kbuild", "VERSION")


class Project:
    """The sources under drivers/ as they are now. All names are relative to the top."""

    def __init__(self, top=TOP):
        self._top = Path(top)
        self._includes = {}     # (name, folders) -> names
        self._kbuilds = {}      # folder -> (names of the Kbuild files, folders, forced names)

    def inputs(self, name):
        """All that the object of a .c file is made of, by the flags of its Kbuild."""
        kbuilds, folders, forced = self.kbuild(os.path.dirname(name))
        return self.closure([name, *forced], folders) | kbuilds | set(_COMMON) | self.probes()

    def probes(self):
        """What decides how the kernel is said to spell things."""
        folder = self._top / "drivers/compat"
        found = [folder / "probe", folder / "Kbuild.probe", *folder.glob("probes/*.c")]
        return {str(path.relative_to(self._top)) for path in found if path.exists()}

    def closure(self, names, folders):
        """These files and all that they include, with the folders of -I."""
        seen, todo = set(), [os.path.normpath(name) for name in names]
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += self.included(name, folders)
        return seen

    def kbuild(self, folder):
        """The Kbuild of a folder: its files, the folders of -I, what -include names."""
        if folder not in self._kbuilds:
            self._kbuilds[folder] = self._read_kbuild(folder)
        return self._kbuilds[folder]

    def _read_kbuild(self, folder):
        files, folders, forced, todo = set(), [], [], [f"{folder}/Kbuild"]
        while todo:
            name = todo.pop()
            files.add(name)
            text = re.sub(r"#.*", "", (self._top / name).read_text())
            for flag, value in _FLAG.findall(text):
                found = forced if flag in ("-include", "-imacros") else folders
                found.append(_place(value, folder, name))
            todo += [_place(value.strip(), folder, name)
                     for value in _KBUILD_INCLUDE.findall(text)]
        return files, tuple(folders), forced

    def included(self, name, folders):
        """Files of ours that a file includes itself, with the folders of -I."""
        known = (name, folders)
        if known not in self._includes:
            text = (self._top / name).read_text(errors="replace")
            self._includes[known] = [file for given in _INCLUDE.findall(text)
                                     for file in self._find(given, os.path.dirname(name), folders)]
        return self._includes[known]

    def _find(self, given, own_folder, folders):
        words = _GIVEN.match(given)
        if not words:
            # A macro names it: it may be any.
            return sorted(str(path.relative_to(self._top))
                          for path in (self._top / "drivers").rglob("*.h"))
        places = [own_folder, *folders] if words[1] else folders
        names = [os.path.normpath(os.path.join(place, words[1] or words[2])) for place in places]
        return [name for name in names if (self._top / name).is_file()][:1]


def _place(value, folder, name):
    """A path of a Kbuild file, relative to the top. They all begin with $(src)."""
    if not re.fullmatch(r"\$\(src\)(/[^$]*)?", value):
        raise RuntimeError(f"{name}: '{value}': only paths that begin with $(src) are understood here")
    return os.path.normpath(value.replace("$(src)", folder, 1))
