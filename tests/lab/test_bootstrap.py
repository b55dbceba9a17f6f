# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""scripts/bootstrap leaves no service enabled, and no policy of its own behind."""

import subprocess
from pathlib import Path

BOOTSTRAP = Path(__file__).resolve().parents[2] / "scripts/bootstrap"


def bash(text, *arguments):
    """Run @text with the functions of scripts/bootstrap."""
    return subprocess.run(["bash", "-c", f'source "{BOOTSTRAP}"\n{text}', "test", *arguments],
                          text=True, check=False, stdout=subprocess.PIPE)


def test_policy_goes_with_the_installation(tmp_path):
    policy = tmp_path / "policy-rc.d"
    bash('hold_services "$1"', policy)
    assert subprocess.run([policy], check=False).returncode == 101
    bash('release_services "$1"', policy)
    assert not policy.exists()


def test_policy_of_a_killed_run_goes_with_the_next(tmp_path):
    policy = tmp_path / "policy-rc.d"
    bash('hold_services "$1"; kill -KILL $$', policy)
    assert policy.exists()
    bash('hold_services "$1"; release_services "$1"', policy)
    assert not policy.exists()


def test_policy_of_the_administrator_stays(tmp_path):
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    assert bash('hold_services "$1"; release_services "$1"', policy).returncode == 0
    assert policy.read_text() == "#!/bin/sh\nexit 101\n"


def link(folder, name, unit):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(f"/lib/systemd/system/{unit}")


def test_what_packages_have_enabled_is_disabled(tmp_path):
    stay, go = {"multi-user.target.wants/ssh.service": "ssh.service",
                "rdma-hw.target.wants/iwpmd.service": "iwpmd.service"}, \
               {"rdma-hw.target.wants/ibacm.service": "ibacm.service",
                "sockets.target.wants/ibacm.socket": "ibacm.socket",
                "multi-user.target.wants/opensm.service": "opensm.service"}
    own = {"getty.target.wants/getty@tty1.service": "getty@.service",
           "sysinit.target.wants/systemd-pstore.service": "systemd-pstore.service"}
    for name, unit in stay.items():
        link(tmp_path, name, unit)
    before = bash('enabled "$1"', tmp_path).stdout
    for name, unit in (go | own).items():
        link(tmp_path, name, unit)
    assert bash('disable_new "$1" "$2"', tmp_path, before.rstrip("\n")).returncode == 0
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_symlink()}
    assert left == set(stay | own)


def test_machine_without_systemd(tmp_path):
    done = bash('before=$(enabled "$1"); disable_new "$1" "$before"; echo done', tmp_path / "none")
    assert done.stdout == "done\n"


def test_check_names_packages_and_kernels(tmp_path):
    fake = tmp_path / "debian-kernel"
    fake.write_text('#!/bin/sh\n[ "$*" = "list 6.1" ]\n')
    fake.chmod(0o755)
    (tmp_path / "bootstrap").symlink_to(BOOTSTRAP)
    script = f'BASH_ARGV0={tmp_path}/bootstrap; absent=($1); kernels=(6.1 6.12); check'
    done = bash(script, "opensm sparse")
    assert done.stdout == "opensm\nsparse\nDebian's kernel 6.12 (scripts/debian-kernel get 6.12)\n"
    assert done.returncode == 1
    assert bash(script.replace(" 6.12", ""), "").stdout == ""
