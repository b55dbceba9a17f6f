# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Runs rdma-core's own test suite, as its Debian packages bring it, on a device.

usage: pyverbs_suite.py DEVICE
Prints one JSON object a line: {"test", "result": "passed|failed|skipped", "why"}.
"""

import gzip
import importlib.util
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

PACKAGED = Path("/usr/share/doc/rdma-core/tests")


def unpack(folder):
    """A copy of the suite that can be imported: some of its files are compressed."""
    for source in PACKAGED.iterdir():
        if source.suffix == ".gz":
            (folder / source.stem).write_bytes(gzip.decompress(source.read_bytes()))
        elif source.suffix == ".py":
            (folder / source.name).write_bytes(source.read_bytes())


class Result(unittest.TestResult):
    """Prints each result as it comes."""

    def report(self, test, result, why=""):
        print(json.dumps({"test": test.id(), "result": result, "why": why}), flush=True)

    def addSuccess(self, test):
        self.report(test, "passed")

    def addSkip(self, test, reason):
        self.report(test, "skipped", reason)

    def addFailure(self, test, err):
        self.report(test, "failed", self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.report(subtest, "failed", self._exc_info_to_string(err, test))


def main():
    with tempfile.TemporaryDirectory(dir="/run") as name:
        folder = Path(name) / "tests"
        folder.mkdir()
        unpack(folder)
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        from args_parser import parser
        sys.argv[1:] = ["--dev", sys.argv[1]]
        parser.parse_args()
        spec = importlib.util.spec_from_file_location("tests", folder / "__init__.py")
        suite = importlib.util.module_from_spec(spec)
        sys.modules["tests"] = suite
        spec.loader.exec_module(suite)
        unittest.TestLoader().loadTestsFromModule(suite).run(Result())


if __name__ == "__main__":
    main()
