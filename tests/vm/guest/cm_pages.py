# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Pages that connected mode has allocated and holds; runs in a guest.

usage: cm_pages.py start|held|stop
Start traces from now on the allocations of pages and their callers. Held prints the
octets of the pages that functions of connected mode, or what they have called, have
allocated since, and that are not free again. Page pools allocate in bulk, which only
their own events show.
"""

import re
import subprocess
import sys
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
TAKEN = ("kmem/mm_page_alloc", "page_pool/page_pool_state_hold")
GIVEN = ("kmem/mm_page_free", "page_pool/page_pool_state_release")
BUFFER_KIB = 65536
PAGE = 4096
# Those of the second name are static ones of our driver.
FUNCTION = re.compile(r" => (?:ipoib_cm_\w+|rxq_\w+)\+\S+ \[ib_ipoib\]")
ENTRIES = re.compile(r"# entries-in-buffer/entries-written: (\d+)/(\d+)")
EVENT = re.compile(r" (mm_page_(?:alloc|free)|page_pool_state_(?:hold|release)): "
                   r".*?pfn=(\w+)(?: order=(\d+))?")


def put(name, value):
    (TRACING / name).write_text(f"{value}\n")


def trace_events(enable):
    for event in TAKEN + GIVEN:
        put(f"events/{event}/enable", int(enable))


def start():
    if not (TRACING / "trace").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=True)
    put("tracing_on", 0)
    put("buffer_size_kb", BUFFER_KIB)
    put("options/stacktrace", 1)
    put("options/sym-offset", 1)
    trace_events(True)
    put("trace", "")
    put("tracing_on", 1)


def held():
    """Octets; the trace is complete, or it is an error."""
    pages = {}
    last = None
    with open(TRACING / "trace", encoding="ascii", errors="replace") as trace:
        for line in trace:
            if line.startswith(" =>"):
                if last and FUNCTION.match(line):
                    pages[last[0]] = last[1]
                    last = None
            elif event := EVENT.search(line):
                pfn = int(event[2], 16)
                last = None
                if event[1].endswith(("alloc", "hold")):
                    last = (pfn, PAGE << int(event[3] or 0))
                else:
                    pages.pop(pfn, None)
            elif (entries := ENTRIES.match(line)) and entries[1] != entries[2]:
                sys.exit(f"cm_pages.py: the trace has lost events: {line.strip()}")
    return sum(pages.values())


def main():
    match sys.argv[1:]:
        case ["start"]:
            start()
        case ["held"]:
            put("tracing_on", 0)
            try:
                print(held())
            finally:
                put("tracing_on", 1)
        case ["stop"]:
            trace_events(False)
            put("options/stacktrace", 0)
            put("trace", "")
        case _:
            sys.exit(__doc__)


main()
