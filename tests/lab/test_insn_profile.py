# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What `make bench-insn` makes of a tree of calls."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import insn_profile  # noqa: E402

KALLSYMS = """\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T entry_SYSCALL_64
ffffffff81001000 T kfree
ffffffff81002000 T napi_gro_receive
ffffffff81003000 t asm_common_interrupt
ffffffff81004000 T __switch_to_asm
ffffffffc0000000 t rx_poll\t[ib_ipoib]
ffffffffc0001000 t sib_poll_cq\t[sib]
"""

# A system call; the driver's poll calls kfree, the HCA, and the stack, which frees, too.
WINDOW = """\
window 100
node 0 0 0
node 1 0 ffffffff81000000
node 2 1 ffffffffc0000000
node 3 2 ffffffff81001000
node 4 2 ffffffffc0001000
node 5 4 ffffffff81001000
node 6 2 ffffffff81002000
node 7 6 ffffffff81001000
count 1 ffffffff81000010 1 0 0
count 2 ffffffffc0000020 20 0 0
count 3 ffffffff81001000 300 0 4096
count 4 ffffffffc0001000 4000 8 0
count 5 ffffffff81001000 50000 0 0
count 6 ffffffff81002000 600000 0 0
count 7 ffffffff81001000 7000000 0 0
"""


@pytest.fixture
def symbols():
    return insn_profile.Symbols(KALLSYMS)


def profile(text, symbols):
    window, = insn_profile.windows(text)
    return insn_profile.Profile(window, symbols, "ib_ipoib")


def test_an_address_is_of_the_function_before_it(symbols):
    assert symbols.of(0xffffffff81001fff) == ("kfree", "vmlinux")
    assert symbols.of(0xffffffffc0000004) == ("rx_poll", "ib_ipoib")


def test_hidden_addresses_are_an_error():
    with pytest.raises(ValueError, match="no addresses"):
        insn_profile.Symbols("0000000000000000 T kfree\n")


def test_the_plugin_hears_of_interrupts_and_switches(symbols):
    assert symbols.entries() == "interrupt ffffffff81003000\nswitch ffffffff81004000\n"


def test_text_is_apart_from_what_it_calls(symbols):
    found = profile(WINDOW, symbols)
    assert found.total.insns == 7654321
    assert found.own.insns == 20
    assert found.inclusive.insns == 320
    assert found.inclusive.zeroed == 4096
    assert found.inclusive.copied == 0


def test_a_jump_into_the_stack_leaves_the_driver(symbols):
    jumped = WINDOW + "count 2 ffffffff81002000 5 0 0\n"
    assert profile(jumped, symbols).inclusive.insns == 320


def test_dearest_functions_come_first(symbols):
    assert profile(WINDOW, symbols).top(2) == [(("kfree", "vmlinux"), 300),
                                               (("rx_poll", "ib_ipoib"), 20)]


def test_each_window_is_one_of_its_own():
    assert len(insn_profile.windows(WINDOW + WINDOW)) == 2


def test_other_words_are_an_error():
    with pytest.raises(ValueError, match="insn-plugin wrote: flood"):
        insn_profile.windows("flood 1\n")
