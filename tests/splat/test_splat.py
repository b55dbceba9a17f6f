# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The splat scanner, on logs captured from kernels that splatted."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/splat.py"
LOGS = Path(__file__).resolve().parent / "logs"
sys.path.insert(0, str(SCRIPT.parent))
import splat  # noqa: E402

FOUND = {
    "kasan": ["kasan"],
    "kcsan": ["kcsan"],
    "lockdep-circular": ["lockdep"],
    "lockdep-others": ["lockdep"] * 10,
    "kmemleak-summary": ["kmemleak"],
    "kmemleak-objects": None,           # one an object
    "warn": ["warn"],
    "refcount": ["refcount"],
    "odebug": ["odebug"],
    "bug": ["list-corruption", "bug", "panic"],
    "oops": ["oops", "oops"],
    "general-protection": ["general-protection"],
    "ubsan": ["ubsan"],
    "atomic-sleep": ["atomic-sleep", "atomic-sleep"],
    "soft-lockup": ["soft-lockup"],
    "hung-task": ["hung-task"],
    "rcu-stall": ["rcu-stall", "rcu-stall"],
    "netdev-refcount": ["netdev-refcount", "netdev-refcount"],
    "suspicious-rcu": ["suspicious-rcu"],
    "bad-page": ["bad-page"],
    "page-alloc": ["page-alloc"],
    "panic": ["panic"],
    "stack-trace": ["stack-trace"],
    "slab": ["slab", "slab"],
    "prefixes": ["warn"] * 5,
    "dma": ["dma", "dma"],
}
# kcsan-kernel: races of the kernel's own, one of them far below what a module of ours calls;
# kcsan-marked: what the kernel reads plainly, a module of ours changes as it should;
# kcsan-callee: what a module of ours calls counts for the process that it has interrupted;
# kcsan-unknown: nobody knows what changed that the kernel reads plainly
CLEAN = ("clean-boot", "injected", "talk", "maple-tree", "maple-tree-two", "kcsan-kernel",
         "kcsan-marked", "kcsan-callee", "kcsan-unknown")


def text(name):
    return (LOGS / f"{name}.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(n for n, kinds in FOUND.items() if kinds))
def test_found(name):
    assert [s.kind for s in splat.scan(text(name))] == FOUND[name]


def test_each_leaked_object_is_found():
    found = splat.scan(text("kmemleak-objects"))
    assert len(found) == text("kmemleak-objects").count("unreferenced object")
    assert found and {s.kind for s in found} == {"kmemleak"}


@pytest.mark.parametrize("name", CLEAN)
def test_clean(name):
    assert splat.scan(text(name)) == []


def test_every_log_is_used():
    assert {p.stem for p in LOGS.glob("*.log")} == set(FOUND) | set(CLEAN)


def test_line_and_excerpt():
    found = splat.scan(text("warn"))[0]
    lines = text("warn").splitlines()
    assert found.line == lines.index(next(l for l in lines if "cut here" in l)) + 1
    assert found.headline.startswith("WARNING: CPU: 1 PID: 873")
    assert "nldev_dellink" in found.excerpt
    assert "end trace" in found.excerpt


def test_data_races_are_whole_and_end_where_they_end():
    log = text("kcsan")
    [found] = splat.scan(log)
    assert "dql_completed" in found.headline
    assert "write to 0xffff888000b4c0c0" in found.excerpt and "Reported by" in found.excerpt
    assert [s.kind for s in splat.scan(log + text("kcsan-kernel") + log)] == ["kcsan"] * 2
    assert [s.kind for s in splat.scan(text("kcsan-kernel") + text("oops"))] == ["oops"] * 2


def test_a_data_race_of_unknown_origin_counts_when_the_access_is_ours():
    log = text("kcsan-unknown")
    assert [s.kind for s in splat.scan(re.sub(r"( netif_schedule_queue\+\S+)$", r"\1 [ib_ipoib]", log,
                                              flags=re.MULTILINE))] == ["kcsan"]


@pytest.mark.parametrize("module", ["sib", "ib_ipoib", "planted_race", "sib_link_kunit"])
@pytest.mark.parametrize("frame", ["virtqueue_get_buf_ctx_split", "vring_interrupt"])
def test_a_data_race_counts_when_a_module_of_ours_makes_an_access(module, frame):
    log = text("kcsan-kernel")
    assert [s.kind for s in splat.scan(re.sub(rf"( {frame}\+\S+)", rf"\1 [{module}]", log))]
    assert not splat.scan(re.sub(rf"( {frame}\+\S+)", r"\1 [ib_core]", log))


def test_a_data_race_counts_when_the_plain_access_is_ours():
    log = text("kcsan-marked")
    assert [s.kind for s in splat.scan(log.replace("read-write (marked)", "read-write"))] == ["kcsan"]
    assert [s.kind for s in splat.scan(log.replace("(marked)", "(reordered)"))] == ["kcsan"]
    assert not splat.scan(log.replace("(marked)", "(marked, reordered)"))
    assert not splat.scan(text("kcsan").replace("write to", "write (marked) to"))


def test_a_data_race_counts_when_ours_call_what_makes_both_accesses():
    log = text("kcsan-callee")
    assert [s.kind for s in splat.scan(re.sub(r"( futex_wait\+\S+)", r"\1 [sib]", log))] == ["kcsan"]
    assert [s.kind for s in splat.scan(re.sub(r"( skb_copy_bits\+\S+)", r"\1 [sib]", log))] == ["kcsan"]


def test_known_lines_are_found_without_the_allow_list():
    assert [s.kind for s in splat.scan(text("maple-tree-two"), ())] == ["suspicious-rcu"] * 2


@pytest.mark.parametrize("old, new", [
    ("maple_tree.c:860", "maple_tree.c:861"),       # another line
    ("lib/maple_tree.c", "lib/other_tree.c"),       # another file
    ("fork_handler", "some_handler"),               # another caller
    ("suspicious RCU usage", "inconsistent lock state"),
])
def test_the_allow_list_covers_nothing_else(old, new):
    log = text("maple-tree")
    assert old in log
    assert splat.scan(log.replace(old, new)) != []


def test_a_known_splat_does_not_hide_the_next():
    log = text("maple-tree") + text("kasan")
    assert [s.kind for s in splat.scan(log)] == ["kasan"]


def test_every_allowed_line_says_why():
    assert all(len(a.why) > 40 and a.trace and a.line for a in splat.ALLOW)


def test_lines_as_an_iterable():
    assert [s.kind for s in splat.scan(iter(text("warn").splitlines(keepends=True)))] == ["warn"]


def run(*arguments, given=""):
    return subprocess.run([str(SCRIPT), *arguments], input=given, capture_output=True, text=True,
                          check=False)


def test_command():
    clean = run(str(LOGS / "clean-boot.log"))
    assert (clean.returncode, clean.stdout) == (0, "")
    bad = run(str(LOGS / "clean-boot.log"), str(LOGS / "kasan.log"))
    assert bad.returncode == 1
    assert "kasan.log:" in bad.stdout and "BUG: KASAN" in bad.stdout


def test_command_reads_standard_input():
    assert run("-", given=text("oops")).returncode == 1
    assert run("--no-allow", "-", given=text("maple-tree")).returncode == 1
    assert run("-", given=text("maple-tree")).returncode == 0


def test_command_says_what_it_cannot_read():
    missing = run("/nonexistent/log")
    assert missing.returncode == 2
    assert "/nonexistent/log" in missing.stderr
    assert run().returncode == 2


def test_list_of_known_lines():
    listed = run("--list-allow")
    assert listed.returncode == 0
    assert "lib/maple_tree.c:860" in listed.stdout
