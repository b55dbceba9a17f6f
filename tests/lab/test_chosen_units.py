# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Which unit tests a change reaches: of C++, of the kernel's C, of Python."""

import pytest

from testlib import kernel_units
from testlib.graph import Reach, reached
from testlib.python_units import PythonUnits, names_path
from testlib.units import Units

CXX = {
    "lib/io/file.hpp": "#include <vector>\n",
    "lib/io/file.cc": '#include "io/file.hpp"\n',
    "ha/core/pair.hpp": '#pragma once\n#include "io/file.hpp"\n',
    "ha/core/pair.cc": '#include "ha/core/pair.hpp"\n#include "ha/core/plan.hpp"\n',
    "ha/core/pair_steps.cc": '#include "io/file.hpp"\n#include "ha/core/pair.hpp"\n',
    "ha/core/plan.hpp": "",
    "ha/main.cc": '#include "ha/core/pair.hpp"\n',
    "tests/unit/world.hpp": '#include "ha/core/pair.hpp"\n',
    "tests/unit/pair_test.cc": '#include "world.hpp"\nTEST_F(PairTest, moves) {}\nTEST(Pair, x) {}\n',
    "tests/unit/file_test.cc": '#include "io/file.hpp"\nTEST_P(\n    FilesTest, reads) {}\n',
    "tests/fuzz/file_fuzz.cc": '#include "io/file.hpp"\n',
}
KERNEL = {
    "drivers/ipoib/one.c": '#include "one.h"\n',
    "drivers/ipoib/one.h": "",
    "drivers/ipoib/two.c": "",
    "drivers/sib/three.c": "",
    "drivers/compat/compat.h": "#include <linux/version.h>\n",
    "tests/kunit/ipoib_gid_kunit.c": '#include <kunit/test.h>\n#include "one.c"\n',
    "tests/kunit/ipoib_tx_kunit.c": '#include "ipoib_world.h"\n#include "two.c"\n',
    "tests/kunit/ipoib_world.h": '#include "one.h"\n',
    "tests/kunit/sib_wire_kunit.c": '#include "three.c"\n',
}
PYTHON = {
    "scripts/program": "from partslib import cli\n",
    "scripts/partslib/__init__.py": "",
    "scripts/partslib/cli.py": "from . import plan\nfrom .error import LabError\n",
    "scripts/partslib/plan.py": "import os\n",
    "scripts/partslib/error.py": "",
    "scripts/partslib/deep.py": "def f():\n    from .plan import X\n",
    "scripts/service/a.rules": "",
    "drivers/ipoib/one.c": "",
    "tests/lab/conftest.py": "",
    "tests/lab/test_parts.py": "from partslib import plan\nimport partslib.error\n",
    "tests/lab/test_program.py": 'LAB = TOP / "scripts/program"\n',
    "tests/lab/test_deep.py": "from partslib.deep import f\n",
    "tests/lab/test_rule.py": 'F = TOP / "scripts/service"\nG = "drivers/ipoib"\n',
    "tests/lab/test_broken.py": "import (\n",
    "tests/lab/test_guests.py": "from partslib import plan\n",
}


@pytest.fixture(name="make")
def make_tree(tmp_path):
    def make(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path
    return make


def test_the_nearest_comes_first():
    made_of = {"far": ["x", "far"], "x": ["deep"], "near": ["deep"], "none": []}
    found = reached(["far", "near", "none"], lambda name: made_of.get(name, []), ["deep", "other"])
    assert list(found.items()) == [("near", Reach(1, "deep")), ("far", Reach(2, "deep"))]
    assert [str(reach) for reach in found.values()] == ["deep", "deep, 2 steps away"]


@pytest.mark.parametrize("changed, tests", [
    ("lib/io/file.hpp", ["file_test.cc", "pair_test.cc"]),
    ("lib/io/file.cc", ["file_test.cc", "pair_test.cc"]),
    ("ha/core/pair.cc", ["pair_test.cc"]),
    ("ha/core/pair_steps.cc", ["pair_test.cc"]),    # behind the header of its folder
    ("ha/core/plan.hpp", ["pair_test.cc"]),         # of what is behind a header
    ("tests/unit/file_test.cc", ["file_test.cc"]),
    ("ha/main.cc", []),
    ("tests/fuzz/file_fuzz.cc", []),
    ("ha/gone.hpp", []),
])
def test_units_of_cxx(make, changed, tests):
    units = Units(make(CXX), list(CXX))
    assert list(units.reached([changed])) == [f"tests/unit/{name}" for name in tests]


def test_suites_of_a_test_file(make):
    units = Units(make(CXX), list(CXX))
    assert units.filter(["tests/unit/pair_test.cc"]) == "Pair.*:*/Pair.*:PairTest.*:*/PairTest.*"
    assert units.filter(["tests/unit/file_test.cc"]) == "FilesTest.*:*/FilesTest.*"


def test_every_unit_test_is_reached_by_itself():
    units = Units.here()
    tests = units.reached([name for name in units._sources if name.endswith("_test.cc")])
    assert len(tests) > 50 and all(units.filter([test]) for test in tests)


@pytest.mark.parametrize("changed, suites", [
    ("drivers/ipoib/one.c", ["ipoib_gid_kunit"]),
    ("drivers/ipoib/one.h", ["ipoib_gid_kunit", "ipoib_tx_kunit"]),
    ("tests/kunit/ipoib_world.h", ["ipoib_tx_kunit"]),
    ("tests/kunit/sib_wire_kunit.c", ["sib_wire_kunit"]),
    ("drivers/compat/compat.h", ["ipoib_gid_kunit", "ipoib_tx_kunit", "sib_wire_kunit"]),
    ("drivers/ipoib/gone.c", []),
])
def test_kernel_units(make, changed, suites):
    assert list(kernel_units.suites([changed], make(KERNEL))) == suites


@pytest.mark.parametrize("changed, tests", [
    ("scripts/partslib/plan.py", ["parts", "deep", "program"]),
    ("scripts/partslib/error.py", ["parts", "program"]),
    ("scripts/program", ["program"]),
    ("scripts/service/a.rules", ["rule"]),
    ("drivers/ipoib/one.c", []),        # the folder is named for another reason
    ("tests/lab/test_rule.py", ["rule"]),
    ("tests/lab/conftest.py", ["broken", "deep", "parts", "program", "rule"]),
])
def test_units_of_python(make, changed, tests):
    units = PythonUnits(make(PYTHON), list(PYTHON), ["scripts/program"])
    assert list(units.reached([changed])) == [f"tests/lab/test_{name}.py" for name in tests]


def test_a_path_in_a_text():
    assert names_path('run("scripts/program")', "scripts/program")
    assert names_path("scripts/program.", "scripts/program")
    assert not names_path("scripts/programs", "scripts/program")
    assert not names_path("scripts/program/x", "scripts/program")
    assert not names_path("my-scripts/program", "scripts/program")
