# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What the targets begin with: inputs of which each is right, or nearly.

Text is in files. Inputs that the targets read as bytes are made by <target>_seeds.py,
whose inputs() returns them by name.
"""

import importlib

SHARED = {"conf": ("../conf/old", "../conf/broken")}


def number(size, *values):
    """Values as big-endian numbers of so many octets."""
    return b"".join(value.to_bytes(size, "big") for value in values)


def folders(name, sources, scratch):
    """The folders of a target's seeds; those that are made are put below @scratch."""
    found = [sources / folder for folder in SHARED.get(name, (f"seeds/{name}",))]
    if (sources / f"{name}_seeds.py").exists():
        made = scratch / name
        made.mkdir(parents=True)
        for title, data in importlib.import_module(f"{name}_seeds").inputs().items():
            (made / title).write_bytes(data)
        found.append(made)
    return [folder for folder in found if folder.is_dir()]
