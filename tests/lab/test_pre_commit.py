# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The hook that git runs before a commit: it is installed, checks what is staged, and goes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
PARTS = ("pre-commit", "install-hooks", "checklib/__init__.py", "checklib/tree.py", "testlib/__init__.py",
         "testlib/changes.py", "testlib/kinds.py")
# In place of the real one: writes down what it was asked, and finds the word BAD in any file.
CHECK = """\
#!/bin/sh
cd "$(dirname "$0")/.."
echo "$@" > {asked}
git rev-parse --show-toplevel >> {asked} 2> /dev/null
[ -d build/tools ] || exit 3
! grep -n BAD file.py || exit 2
"""
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1",
       "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x", "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x"}


class Checkout:
    def __init__(self, top):
        self.top = top
        self.asked = top.parent / "asked"
        self.hook = top / ".git/hooks/pre-commit"

    def run(self, *words):
        """Exit status, and all that was said."""
        done = subprocess.run(words, cwd=self.top, env={**os.environ, **GIT}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def write(self, text, name="file.py"):
        (self.top / name).write_text(text, encoding="utf-8")

    def commit(self, *words):
        self.asked.unlink(missing_ok=True)
        return self.run("git", "commit", "-qm", "x", *words)


@pytest.fixture(name="checkout")
def checkout_with_hook(tmp_path):
    top = tmp_path / "top"
    for name in PARTS:
        (top / "scripts" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SCRIPTS / name, top / "scripts" / name)
    checkout = Checkout(top)
    checkout.write(CHECK.format(asked=checkout.asked), "scripts/check")
    (top / "scripts/check").chmod(0o755)
    checkout.write("/build/\n", ".gitignore")
    checkout.write("one\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        assert checkout.run("git", *words)[0] == 0
    assert checkout.run("scripts/install-hooks") == (0, "installed: .git/hooks/pre-commit\n")
    return checkout


def test_what_is_staged_is_checked(checkout):
    checkout.write("BAD\n")
    assert checkout.commit()[0] == 1 and not checkout.asked.exists()     # nothing is staged
    checkout.run("git", "add", "file.py")
    status, said = checkout.commit()
    assert status == 1 and said == "1:BAD\n"
    checks = checkout.asked.read_text(encoding="utf-8").splitlines()
    assert checks == ["licence-lines whitespace spelling file-sizes reuse python"]   # and no repository


def test_what_is_not_staged_neither_hides_a_fault_nor_makes_one(checkout):
    checkout.write("BAD\n")
    checkout.run("git", "add", "file.py")
    checkout.write("good\n")
    assert checkout.commit()[0] == 1
    checkout.run("git", "add", "file.py")
    checkout.write("BAD again\n")
    assert checkout.commit() == (0, "")
    assert checkout.run("git", "show", "HEAD:file.py") == (0, "good\n")


def test_a_commit_that_deletes(checkout):
    checkout.run("git", "rm", "-q", "file.py")
    assert checkout.commit() == (0, "") and not checkout.asked.exists()


def test_without_the_hook(checkout):
    checkout.write("BAD\n")
    assert checkout.commit("-a", "--no-verify") == (0, "") and not checkout.asked.exists()


def test_the_kinds_of_what_is_staged(checkout):
    for name in ("a.sh", "a.cc"):
        checkout.write("", name)
    checkout.run("git", "add", ".")
    assert checkout.commit() == (0, "")
    assert checkout.asked.read_text(encoding="utf-8").split()[5:] == ["shell", "cxx-format"]


def test_from_a_folder_below(checkout):
    checkout.write("two\n")
    (checkout.top / "below").mkdir()
    assert checkout.run("git", "-C", "below", "commit", "-qam", "x") == (0, "")
    assert checkout.asked.exists()


def test_installed_twice_and_removed(checkout):
    assert checkout.run("scripts/install-hooks")[0] == 0
    assert checkout.run("scripts/install-hooks", "--remove") == (0, "") and not checkout.hook.exists()
    assert checkout.run("scripts/install-hooks", "--remove") == (0, "")


def test_the_hook_of_somebody_else(checkout):
    checkout.hook.write_text("#!/bin/sh\n", encoding="utf-8")
    for words in ([], ["--remove"]):
        status, said = checkout.run("scripts/install-hooks", *words)
        assert status == 1 and "left as it is" in said
    assert checkout.hook.read_text(encoding="utf-8") == "#!/bin/sh\n"


def test_usage(checkout):
    assert checkout.run("scripts/install-hooks", "--nonsense")[0] == 1
