# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The runner of the fuzz targets: functions that were not reached, corpora, seeds."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]

import corpus  # noqa: E402
import reach  # noqa: E402
import seeds  # noqa: E402
from checklib import junit  # noqa: E402

RUN = HERE / "run"
TARGETS = sorted(path.name.removesuffix("_fuzz.cc") for path in HERE.glob("*_fuzz.cc"))
NM = """\
                 U abort
0000000000400000 R __executable_start
0000000000401000 T openipoib::Sma::answer(std::span<unsigned char, 8ul>, unsigned char)
0000000000401100 t openipoib::(anonymous namespace)::outbound(int)
0000000000401200 T openipoib::Sma::answer(int)
0000000000401300 W openipoib::render[abi:cxx11](int (*)(char), int)
0000000000401300 W openipoib::alias(int)
0000000000402000 d openipoib::table
"""


def test_symbols_have_their_names_and_where_they_are_in_the_program():
    assert reach.symbols(NM) == {
        0x1000: {"openipoib::Sma::answer"}, 0x1100: {"openipoib::outbound"},
        0x1200: {"openipoib::Sma::answer"}, 0x1300: {"openipoib::render", "openipoib::alias"}}


def test_what_was_not_executed_is_missing():
    functions = reach.symbols(NM)
    names = ["openipoib::render", "openipoib::Sma::answer", "openipoib::outbound"]
    assert reach.missing(names, functions, []) == names
    assert reach.missing(names, functions, [0x1200, 0x1300, 0x5555]) == ["openipoib::outbound"]
    assert reach.missing(names, functions, [0x1000, 0x1300, 0x1100]) == []


@pytest.mark.parametrize("name", ("openipoib::gone", "answer", "openipoib::table"))
def test_a_name_that_is_not_in_the_program_is_an_error(name):
    with pytest.raises(reach.Unknown, match=f"not in the program: {name}"):
        reach.missing([name], reach.symbols(NM), [0x1000])


def test_a_list_has_names_and_comments(tmp_path):
    path = tmp_path / "x.reach"
    with pytest.raises(reach.Unknown, match="there is no x.reach"):
        reach.wanted(path)
    path.write_text("# nothing\n\n")
    with pytest.raises(reach.Unknown, match="x.reach names no function"):
        reach.wanted(path)
    path.write_text("# two\na::b  # why\n\n  c\n")
    assert reach.wanted(path) == ["a::b", "c"]


def test_a_run_that_says_nothing_is_an_error(tmp_path):
    with pytest.raises(reach.Unknown, match="has not said"):
        reach.check("/bin/true", ["main"], tmp_path / "none")


@pytest.mark.parametrize("target", TARGETS)
def test_each_target_has_a_list(target):
    names = reach.wanted(HERE / f"{target}.reach")
    assert len(names) >= 5 and len(set(names)) == len(names)


def run(*arguments, cache):
    return subprocess.run([RUN, *arguments], env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(cache)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


@pytest.mark.timeout(300)
def test_a_target_that_misses_a_function_fails(tmp_path):
    """The whole way, with a target that was planted: its corpus is kept, too."""
    xml = tmp_path / "fuzz.xml"
    options = ["--sources", HERE / "planted", "--junit", xml]
    for more in ("--seeds",), ("--seconds", "1"):
        done = run(*options, *more, cache=tmp_path)
        assert done.returncode == 2, done.stdout
        missed = "1 of 2 functions not reached: openipoib::planted::missed"
        assert f"failed: planted: {missed}\n" in done.stdout
        case, = junit.read(xml)
        assert (case.name, case.result) == ("fuzz.planted", junit.FAILED)
        assert case.reason == missed
    assert list((tmp_path / "openipoib/fuzz/planted").iterdir())


@pytest.mark.timeout(300)
def test_a_target_that_misses_nothing_passes(tmp_path):
    for path in (HERE / "planted").iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    names = tmp_path / "planted.reach"
    names.write_text("openipoib::planted::hit\n")
    done = run("--sources", tmp_path, "--seeds", cache=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "all 1 functions reached" in done.stdout
    names.write_text("openipoib::planted::hit\nopenipoib::planted::renamed\n")
    done = run("--sources", tmp_path, "--seeds", cache=tmp_path)
    assert done.returncode == 2
    assert "not in the program: openipoib::planted::renamed" in done.stdout


def test_usage(tmp_path):
    done = run("nonsense", cache=tmp_path)
    assert done.returncode == 1 and "no target nonsense" in done.stdout
    assert run("--nonsense", cache=tmp_path).returncode == 1


def test_each_target_has_seeds_that_fit(tmp_path):
    for target in TARGETS:
        found = [path for folder in seeds.folders(target, HERE, tmp_path)
                 for path in folder.iterdir()]
        assert found, target
        assert all(path.stat().st_size <= 4096 for path in found), "longer than -max_len"


MERGE = """\
#!/bin/sh
failed=${1#-artifact_prefix=}
test "$2" = -merge=1 || exit 1
cp "$4"/9* "$3"
! test -e "$4/0" || cp "$4/0" "${failed}999"
"""


@pytest.fixture
def target(tmp_path, monkeypatch):
    """A program that merges, and 20 inputs, of which the last are the newest."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(corpus, "MOST", 10)
    program = tmp_path / "merge"
    program.write_text(MERGE)
    program.chmod(0o755)
    with corpus.of("x", [program]) as folder:
        assert folder == tmp_path / "cache/openipoib/fuzz/x"
    for number in range(90, 110):
        (folder / str(number)).touch()
    return program, folder


def names(folder):
    return sorted((path.name for path in folder.iterdir()), key=int)


def test_a_corpus_that_is_too_large_is_merged(target):
    program, folder = target
    with corpus.of("x", [program]):
        assert names(folder) == [str(number) for number in range(90, 100)]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["x", "x.left", "x.lock"]
    for number in range(100, 110):  # twice as many as were left: all right
        (folder / str(number)).touch()
    with corpus.of("x", [program]):
        assert len(names(folder)) == 20


def test_an_input_that_fails_outlives_a_merge(target):
    """libFuzzer itself leaves it out, and its status is 0."""
    program, folder = target
    (folder / "0").write_text("what fails now")
    with corpus.of("x", [program]):
        assert names(folder) == [*(str(number) for number in range(90, 100)), "999"]
        assert (folder / "999").read_text() == "what fails now"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["x", "x.left", "x.lock"]


def test_without_a_merge_the_older_half_is_forgotten(target):
    program, folder = target
    program.write_text("#!/bin/sh\nexit 1\n")
    with corpus.of("x", [program]):
        assert len(names(folder)) == 10
    assert sorted(path.name for path in folder.parent.iterdir()) == ["x", "x.lock"]


def test_a_corpus_in_use_is_left_as_it_is(target, monkeypatch):
    program, folder = target
    monkeypatch.setattr(corpus, "MOST", 100)
    with corpus.of("x", [program]):
        monkeypatch.setattr(corpus, "MOST", 10)
        with corpus.of("x", [program]):
            assert len(names(folder)) == 20
