# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What scripts/bootstrap wants on each release of Debian, and what it says elsewhere."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lablib import host as hosts

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
FIRST = ["clang-16", "clang-tidy-16", "libclang-rt-16-dev", "linux-source-6.1"]
RELEASES = {
    "bookworm": [*FIRST, "clang", "clang-19", "libclang-rt-19-dev", "clang-tidy-19"],
    "trixie": ["clang", "clang-19", "libclang-rt-19-dev", "clang-tidy-19", "clang-22", "linux-source-6.12"],
    "later": ["clang", "clang-tidy", "libclang-rt-dev", "clang-19"],
}
WANTED = {
    "bookworm": FIRST,
    "trixie": ["clang-19", "clang-tidy-19", "libclang-rt-19-dev"],
    "later": ["clang", "clang-tidy", "libclang-rt-dev"],
}
SYSTEMS = {
    "debian": "ID=debian\n", "ubuntu": "ID=ubuntu\nID_LIKE=debian\n",
    "mint": 'ID=mint\nID_LIKE="ubuntu debian"\n', "fedora": "ID=fedora\n",
    "rhel": 'ID="rhel"\nID_LIKE="fedora"\n', "other": "ID=arch\n",
    "opensuse": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n'}


class Host:
    """A machine in a folder: what is installed, what apt has, and a bootstrap that believes it."""

    def __init__(self, folder, system):
        self._bin, self._scripts = folder / "bin", folder / "scripts"
        self._bin.mkdir()
        shutil.copytree(SCRIPTS / "bootstraplib", self._scripts / "bootstraplib")
        shutil.copy(SCRIPTS / "bootstrap", self._scripts)
        (folder / "os-release").write_text(SYSTEMS[system])
        part = self._scripts / "bootstraplib/elsewhere.sh"
        part.write_text(part.read_text().replace("=/etc/os-release", f"={folder}/os-release"))
        # Of this machine only what has nothing to do with packages.
        for name in ("awk", "bash", "cat", "comm", "dirname", "realpath", "sed", "sort", "tr"):
            (self._bin / name).symlink_to(shutil.which(name))
        self.program("id", "echo 1000")
        self.kernels(0)

    def kernels(self, status, said=()):
        """debian-kernel notes what it is told, says these lines, and ends with @status."""
        program = self._scripts / "debian-kernel"
        lines = "".join(f"echo '{line}'\n" for line in said)
        program.write_text(f'#!/bin/sh\necho "$@" >>{self._scripts.parent}/told\n{lines}exit {status}\n')
        program.chmod(0o755)

    def program(self, name, text):
        (self._bin / name).write_text(f"#!/bin/bash\n{text}\n")
        (self._bin / name).chmod(0o755)

    def debian(self, packages, installed=()):
        """apt has @packages, and of these are @installed."""
        self.program("apt-get", "exit 1")
        self.program("dpkg-query", "".join(f"echo 'ii  {name}'\n" for name in installed))
        known = "|".join(map(re.escape, packages)) or "none"
        self.program("apt-cache", f"""for name in "${{@:2}}"; do
            if [[ $name =~ ^({known})$ ]]; then version=1; else version='(none)'; fi
            printf '%s:\\n  Installed: x\\n  Candidate: %s\\n' "$name" "$version"
        done""")

    def run(self, *words):
        return subprocess.run([self._scripts / "bootstrap", *words], text=True, check=False,
                              capture_output=True, env={"PATH": str(self._bin)}, timeout=5)


@pytest.fixture(name="host")
def make_host(tmp_path):
    return lambda system: Host(tmp_path, system)


def versioned(text):
    """The packages whose names differ between releases."""
    return [name for name in text.split() if re.match("clang|libclang|linux-source", name)
            and name != "clang-format"]


@pytest.mark.parametrize("release", RELEASES)
def test_names_of_each_release(host, release):
    debian = host("debian")
    debian.debian(RELEASES[release])
    done = debian.run("--list", "test")
    assert sorted(versioned(done.stdout)) == sorted(WANTED[release])
    assert done.returncode == 0


def test_compiler_and_its_library_are_of_one_version(host):
    debian = host("debian")
    debian.debian(["clang-16", "clang-19", "libclang-rt-19-dev"], ["clang-16"])
    assert {"clang-19", "libclang-rt-19-dev"} <= set(debian.run("--list", "test").stdout.split())


def test_what_is_installed_need_not_be_served(host):
    debian = host("debian")
    debian.debian(RELEASES["trixie"], FIRST)
    assert not versioned(debian.run("--check", "test").stdout)


def test_before_the_first_update_it_names_the_first(host):
    debian = host("debian")
    debian.debian([])
    assert sorted(versioned(debian.run("--list", "test").stdout)) == sorted(FIRST[:3])


def test_what_cannot_be_had_is_named():
    script = f"""source {SCRIPTS}/bootstrap
        had=([make]=apt); entries=(make "a-1,b-1|a-2" "c|"); check_available"""
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert "no package here of this name:\n  a-1 and b-1, or a-2\n" in done.stderr
    assert "Debian 12, 13 and sid" in done.stderr


@pytest.mark.parametrize("groups, kernels", [
    (["run"], ["own"]), (["test"], ["6.1", "6.12"]), ([], ["own", "6.1", "6.12"]), (["packages"], [])])
def test_kernels_are_left_to_debian_kernel(host, tmp_path, groups, kernels):
    debian = host("debian")
    debian.debian([])
    names = ["of this release" if name == "own" else name for name in kernels]
    assert re.findall("Debian's kernel (.*) [(]", debian.run("--list", *groups).stderr) == names
    # Of the two names for one kernel it says one.
    debian.kernels(1, ["6.1    not here", "6.12   6.12.95   /boot/vmlinuz-6.12.95"])
    done = debian.run("--check", *groups)
    assert done.returncode == 1
    assert ("Debian's kernel 6.1 (scripts/debian-kernel get 6.1)\n" in done.stdout) == bool(kernels)
    assert "6.12" not in done.stdout.replace("linux-source-6.12", "")
    if kernels:
        assert (tmp_path / "told").read_text().split() == ["list", *kernels]


def test_own_kernel_that_is_a_suite_s(host):
    """By the name of the suite, debian-kernel would get its headers alone."""
    debian = host("debian")
    debian.debian([])
    debian.kernels(1, ["forky   not here"])
    assert "Debian's kernel of this release (scripts/debian-kernel get own)\n" in \
        debian.run("--check", "run").stdout


def test_kernels_where_no_package_is_missing(host, tmp_path):
    debian = host("debian")
    debian.debian([], debian.run("--list", "run").stdout.split())
    assert debian.run("run").returncode == 0
    assert (tmp_path / "told").read_text() == "get own\n"


@pytest.mark.parametrize("system", ["ubuntu", "mint"])
def test_ubuntu(host, system):
    ubuntu = host(system)
    ubuntu.debian(["opensm", "kmod"], ["kmod"])
    done = ubuntu.run("run")
    assert done.returncode == 1
    assert "  apt-get install --no-install-recommends busybox-static dpkg ethtool" in done.stderr
    assert " opensm " in done.stderr and " kmod" not in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(("system", "command"), [
    ("fedora", "dnf install infiniband-diags iproute"), ("rhel", "dnf install infiniband-diags iproute"),
    ("opensuse", "zypper install infiniband-diags iproute2")])
def test_rpm(host, system, command):
    """Those that rpm does not know are named, each once, with the command."""
    machine = host(system)
    machine.program("rpm", '[[ $3 != iproute* && $3 != infiniband-diags ]]')
    done = machine.run("run")
    assert done.returncode == 1
    assert done.stderr.endswith(f"As root:\n  {command}\n"), done.stderr
    assert not done.stdout
    machine.program("rpm", "")
    done = machine.run("--check", "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def with_every_package(host, system):
    """A machine of @system on which no package is missing."""
    machine = host(system)
    machine.debian([], machine.run("--list").stdout.split())
    machine.program("rpm", "")
    return machine


@pytest.mark.parametrize("groups", [["run", "build"], []])      # of make demo, of make lab-up
@pytest.mark.parametrize("system", ["ubuntu", "mint", "fedora", "rhel", "opensuse"])
def test_no_kernel_is_fetched_where_there_are_none_of_debians(host, tmp_path, system, groups):
    """It says what the lab can be given, and is done: make goes on to the lab."""
    machine = with_every_package(host, system)
    machine.kernels(1)
    done = machine.run(*groups)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert not (tmp_path / "told").exists()
    assert "kernels are fetched on Debian alone" in done.stderr
    for kernel in ("RELEASE", "uname -r", "FILE.deb", "build tree"):
        assert kernel in done.stderr


def test_where_no_kernel_is_needed_it_says_nothing_of_them(host):
    assert not with_every_package(host, "fedora").run("build", "packages").stderr


def test_unknown_host(host):
    done = host("other").run("build")
    assert done.returncode == 1
    assert "no apt-get here" in done.stderr and "  libfmt-dev\n" in done.stderr


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_lab_sees_the_same_distribution(tmp_path, monkeypatch, system):
    """Installed, it does not have these scripts."""
    (tmp_path / "os-release").write_text(SYSTEMS[system])
    script = f"source {SCRIPTS}/bootstrap; os_release={tmp_path}/os-release; host"
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True)
    about = dict(line.split("=") for line in SYSTEMS[system].replace('"', "").splitlines())
    monkeypatch.setattr(hosts.platform, "freedesktop_os_release", lambda: about)
    assert hosts.name() == done.stdout.strip()


@pytest.mark.parametrize("system", ["fedora", "opensuse"])
def test_packages_of_the_lab_s_programs_have_one_name(system):
    for package in hosts.PROGRAMS.values():
        script = f"""source {SCRIPTS}/bootstrap
            [[ " ${{run[*]}} " = *" {package} "* ]] && names_on {system} {package}"""
        done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=False)
        assert done.stdout.split() == [package]


@pytest.mark.parametrize("system", ["fedora", "opensuse"])
def test_every_package_has_a_name_elsewhere(system):
    script = f"""source {SCRIPTS}/bootstrap
        for group in run build test features packages; do
            declare -n members=$group
            names_on {system} "${{members[@]}}"
        done"""
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True)
    assert "make\n" in done.stdout and "?" not in done.stdout
