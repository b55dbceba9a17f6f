# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Kernel splats in the guests' consoles, found by scripts/splat.py."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import splat  # noqa: E402


def of_console(path):
    """The splats in a console log; none if there is no log yet."""
    try:
        text = Path(path).read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return []
    return splat.scan(text.splitlines())


def report(host, found):
    """@found as text for people."""
    blocks = []
    for item in found:
        excerpt = item.excerpt if isinstance(item.excerpt, str) else "\n".join(item.excerpt)
        indented = "\n".join("  " + line for line in excerpt.splitlines())
        blocks.append(f"{host}: kernel splat ({item.kind}), console line {item.line}:\n"
                      f"{indented}")
    return "\n".join(blocks)
