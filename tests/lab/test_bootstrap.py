# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""scripts/bootstrap leaves no service enabled, and no policy of its own behind.

What it installs on which release, and says elsewhere: test_bootstrap_hosts.py.
"""

import subprocess
from pathlib import Path

import pytest

BOOTSTRAP = Path(__file__).resolve().parents[2] / "scripts/bootstrap"


def bash(text, *arguments):
    """Run @text with the functions of scripts/bootstrap."""
    return subprocess.run(["bash", "-c", f'source "{BOOTSTRAP}"\n{text}', "test", *arguments],
                          text=True, check=False, stdout=subprocess.PIPE, timeout=5)


def program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


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
    (folder / name).symlink_to(unit)


UNITS = "/lib/systemd/system"
OWNERS = """#!/bin/sh
case $2 in
*/ibacm.*) echo "ibacm: /lib/systemd/system/x" ;;
*/opensm.service) echo "opensm, other: /lib/systemd/system/x" ;;
*/nginx.service) echo "nginx: /lib/systemd/system/x" ;;
*/ssh.service) echo "openssh-server: /lib/systemd/system/x" ;;
*) exit 1 ;;
esac
"""


def test_what_packages_have_enabled_is_disabled(tmp_path):
    """Of packages that this run has installed; nothing that somebody else does meanwhile."""
    program(tmp_path / "bin/dpkg-query", OWNERS)
    folder = tmp_path / "units"
    before = {"multi-user.target.wants/ssh.service": f"{UNITS}/ssh.service"}
    go = {"rdma-hw.target.wants/ibacm.service": f"{UNITS}/ibacm.service",
          "sockets.target.wants/ibacm.socket": f"{UNITS}/ibacm.socket",
          "multi-user.target.wants/opensm.service": f"{UNITS}/opensm.service"}
    stay = {"multi-user.target.wants/nginx.service": f"{UNITS}/nginx.service",
            "multi-user.target.wants/mine.service": "/etc/systemd/system/mine.service",
            "masked.service": "/dev/null"}
    for name, unit in before.items():
        link(folder, name, unit)
    links = bash('enabled "$1"', folder).stdout
    for name, unit in (go | stay).items():
        link(folder, name, unit)
    script = f'PATH={tmp_path}/bin:$PATH installed=(libibverbs1 ibacm opensm); disable_new "$1" "$2"'
    assert bash(script, folder, links.rstrip("\n")).returncode == 0
    left = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink()}
    assert left == set(before | stay)


def test_machine_without_systemd(tmp_path):
    done = bash('before=$(enabled "$1"); disable_new "$1" "$before"; echo done', tmp_path / "none")
    assert done.stdout == "done\n"


def test_check_names_packages_and_kernels(tmp_path):
    fake = tmp_path / "debian-kernel"
    fake.write_text('#!/bin/sh\necho "6.1  6.1.0-50-amd64  /boot/vmlinuz"\n'
                    '[ "$*" = "list 6.1" ] || { echo "6.12  not here"; exit 1; }\n')
    fake.chmod(0o755)
    (tmp_path / "bootstrap").symlink_to(BOOTSTRAP)
    script = f'BASH_ARGV0={tmp_path}/bootstrap; absent=($1); kernels=(6.1 6.12); check'
    done = bash(script, "opensm sparse")
    assert done.stdout == "opensm\nsparse\nDebian's kernel 6.12 (scripts/debian-kernel get 6.12)\n"
    assert done.returncode == 1
    done = bash(script.replace(" 6.12", ""), "")
    assert (done.returncode, done.stdout) == (0, "")
    fake.write_text("#!/bin/sh\nexit 2\n")     # it did not come to say anything
    assert bash(script, "").returncode == 1


@pytest.mark.parametrize(("apt", "kernels", "status"), [(0, 0, 0), (0, 2, 1), (100, 0, 1)])
def test_kernels_beside_packages(tmp_path, apt, kernels, status):
    """It fails if either fails, and leaves neither a process nor a service."""
    (tmp_path / "bootstrap").symlink_to(BOOTSTRAP)
    # The download waits for the packages, and far too long if they cannot be had.
    program(tmp_path / "debian-kernel", f"""#!/bin/bash
        echo $$ > {tmp_path}/pid
        for _ in {{1..999}}; do [[ ! -e {tmp_path}/installed ]] || break; sleep 0.01; done
        exit {kernels}""")
    program(tmp_path / "bin/apt-get", f"""#!/bin/bash
        [[ " $* " != *" -s "* ]] || {{ echo 'Inst opensm (3 Debian [amd64])'; exit 0; }}
        [[ " $* " == *" install "* ]] || exit 0
        until [[ -s {tmp_path}/pid ]]; do sleep 0.01; done
        ln -s /lib/systemd/system/opensm.service {tmp_path}/units
        [[ {apt} != 0 ]] || touch {tmp_path}/installed
        exit {apt}""")
    program(tmp_path / "bin/dpkg-query", f"""#!/bin/bash
        [[ $1 != -S ]] || {{ echo 'opensm: /lib/systemd/system/opensm.service'; exit; }}
        printf 'ii  kmod\\nii  python3\\n'
        [[ ! -e {tmp_path}/installed ]] || echo 'ii  opensm'""")
    program(tmp_path / "bin/apt-cache", "#!/bin/sh\nprintf 'opensm:\\n  Candidate: 3\\n'")
    (tmp_path / "units").mkdir()
    done = bash(f"""BASH_ARGV0={tmp_path}/bootstrap PATH={tmp_path}/bin:$PATH
        policy={tmp_path}/policy units={tmp_path}/units entries=(opensm) kernels=(6.1)
        enabled_before=$(enabled "$units") installed=()
        trap finish EXIT
        hold_services "$policy"
        install_all 9< /dev/null""")
    assert done.returncode == status
    assert not list((tmp_path / "units").iterdir()) and not (tmp_path / "policy").exists()
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
