# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The lab with real guests: commands, and the end of everything however it comes.

One host is enough for all of it, with the kernel's own driver.
"""

import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.guests

LAB = Path(__file__).resolve().parents[2] / "scripts" / "lab"
UP = ("up", "-q", "--hosts", "1", "--driver", "intree")
SPLAT = """\
------------[ cut here ]------------
WARNING: CPU: 0 PID: 1 at net/core/dev.c:10 a_function+0x1/0x2
Call Trace:
 a_caller+0x3/0x4
---[ end trace 0000000000000000 ]---"""


class Lab:
    """scripts/lab, with a state folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = dict(os.environ, OPENIPOIB_LAB_DIR=str(folder))

    def __call__(self, *argv, timeout=120, **options):
        options = {"stdin": subprocess.DEVNULL} | options
        return subprocess.run([LAB, *argv], env=self.environment, capture_output=True, text=True,
                              timeout=timeout, check=False, **options)

    def start(self, *argv, **options):
        return subprocess.Popen([LAB, *argv], env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def run(self, *argv, **options):
        return self("exec", "h1", "--", *argv, **options)

    def pids(self):
        return json.loads((self.folder / "pids.json").read_text())

    def left(self):
        """Processes, and the folder, that belong to this lab."""
        found = [str(self.folder)] if self.folder.exists() else []
        for process in Path("/proc").iterdir():
            try:
                if str(self.folder).encode() in (process / "cmdline").read_bytes():
                    found.append(process.name)
            except OSError:
                continue
        return found


def until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path / "guests")
    yield lab
    lab("down")
    assert lab.left() == []


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A lab for the tests that leave it as it was."""
    lab = Lab(tmp_path_factory.mktemp("lab") / "guests")
    done = lab(*UP)
    assert done.returncode == 0, done.stderr
    yield lab
    done = lab("down")
    assert (done.returncode, done.stderr) == (0, "")
    assert lab.left() == []


def test_streams_and_status(running):
    done = running.run("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")


@pytest.mark.parametrize(("command", "status"), [
    (["true"], 0), (["/no/such/command"], 127), (["sh", "-c", "kill -TERM $$"], 143)])
def test_status(running, command, status):
    assert running.run(*command).returncode == status


def test_arguments_arrive_as_they_are(running):
    words = ["a b", "", "$HOME", "*", "--", "-x", "é\n"]
    assert running.run("printf", "%s|", *words).stdout == "".join(w + "|" for w in words)


def test_five_megabytes_each_way(running, tmp_path):
    data = os.urandom(5_000_000)
    (tmp_path / "data").write_bytes(data)
    with open(tmp_path / "data", "rb") as file, open(tmp_path / "back", "wb") as back:
        subprocess.run([LAB, "exec", "h1", "--", "cat"], env=running.environment, stdin=file,
                       stdout=back, timeout=60, check=True)
    assert hashlib.sha256((tmp_path / "back").read_bytes()).digest() == \
        hashlib.sha256(data).digest()


def test_twenty_at_once(running):
    started = [running.start("exec", "h1", "--", "sh", "-c", f"seq 5000 | tail -1; exit {n}")
               for n in range(20)]
    for number, process in enumerate(started):
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (number, "5000\n")


def test_command_dies_with_its_caller(running):
    caller = running.start("exec", "h1", "--", "sh", "-c", "echo $$; exec sleep 1000")
    pid = caller.stdout.readline().strip()
    caller.kill()
    caller.communicate(timeout=10)
    until(lambda: running.run("test", "-d", f"/proc/{pid}").returncode, 15, "sleep is gone")


def test_interrupt_is_passed_on(running):
    caller = running.start("exec", "h1", "--", "sh", "-c", "trap 'echo got; exit 3' INT; "
                           "echo ready; while :; do sleep 0.1; done")
    assert caller.stdout.readline() == "ready\n"
    caller.send_signal(signal.SIGINT)
    out, _ = caller.communicate(timeout=20)
    assert (caller.returncode, out) == (3, "got\n")


@pytest.mark.timeout(60)
def test_shell_on_a_terminal(running):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([LAB, "shell", "h1"], env=running.environment | {"TERM": "vt100"},
                               stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, b"echo $TERM on $(hostname); tty; exit 5\r")
    seen = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        seen += data
    os.close(ours)
    assert process.wait(30) == 5
    assert b"vt100 on h1" in seen and b"/dev/pts/" in seen


def test_up_twice(running):
    done = running(*UP)
    assert done.returncode == 1
    assert "already up" in done.stderr
    assert running.run("true").returncode == 0


def test_wrong_names(running):
    assert running("exec", "h9", "--", "true").returncode == 255
    assert running("cable", "h1:7", "down").returncode == 1
    assert running("logs", "h9").returncode == 1


def test_status_document(running):
    done = running("status", "-j")
    document = json.loads(done.stdout)
    assert (done.returncode, document["healthy"], document["phase"]) == (0, True, "up")
    host, = document["hosts"]
    assert (host["name"], host["state"], host["driver"], host["splats"]) == \
        ("h1", "up", "intree", [])
    assert host["ports"][0]["ipv4"] == "10.10.0.1/24"
    assert "h1  up" in running("status").stdout


def test_host_root_is_read_only(running):
    mark = "/etc/openipoib-lab-was-here"
    assert running.run("touch", mark).returncode == 0
    assert running.run("test", "-e", mark).returncode == 0
    assert not Path(mark).exists()


def test_no_lab(lab):
    assert lab("status").returncode == 3
    assert lab("down").returncode == 3
    assert lab("exec", "h1", "--", "true").returncode == 255


def carriers(lab, host):
    done = lab("exec", host, "--", "sh", "-c", "cat /sys/class/net/ib[01]/carrier")
    return done.stdout.split()


def test_two_cables_are_two_subnets(lab):
    """Each cable has its own subnet manager: one pulled, the other goes on."""
    done = lab("up", "-q", "--ports", "2", "--topology", "b2b", "--driver", "intree", timeout=180)
    assert done.returncode == 0, done.stderr
    assert lab("cable", "h2:ib1", "down").returncode == 0
    for host in ("h1", "h2"):
        until(lambda host=host: carriers(lab, host) == ["1", "0"], 20, f"ib1 of {host} is down")
    assert lab.run("ping", "-c", "1", "-W", "5", "10.10.0.2").returncode == 0
    assert json.loads(lab("status", "-j").stdout)["cables"] == [
        {"ends": ["h1:0", "h2:0"], "up": True}, {"ends": ["h1:1", "h2:1"], "up": False}]
    assert lab("cable", "h1:1", "up").returncode == 0
    until(lambda: lab.run("ping", "-c", "1", "-W", "1", "10.10.1.2").returncode == 0, 60,
          "port 1 is back")
    assert lab("down").returncode == 0


def test_fabric_killed(lab):
    assert lab(*UP, "--ports", "2").returncode == 0
    os.kill(json.loads(lab("status", "-j").stdout)["fabric"]["pid"], signal.SIGKILL)
    until(lambda: lab("status").returncode == 2, 10, "the fabric is dead")
    until(lambda: carriers(lab, "h1") == ["0", "0"], 20, "no carrier")
    done = lab("down")
    assert (done.returncode, done.stderr) == \
        (2, "the fabric had died: ibfabric was killed by signal 9\n")


def test_topology_error_is_shown(lab, tmp_path):
    file = tmp_path / "mine"
    file.write_text('Switch 4 "sw"\n[1] "h1"(1]\nCa 1 "h1"\n')
    done = lab(*UP, "--topology", str(file))
    assert done.returncode == 2
    assert f"{file}:2:9: " in done.stderr
    assert lab.left() == []


def test_splat_is_reported(lab):
    assert lab(*UP).returncode == 0
    script = "while read -r line; do echo \"<4>$line\" > /dev/kmsg; done"
    process = subprocess.run([LAB, "exec", "h1", "--", "sh", "-c", script],
                             env=lab.environment, input=SPLAT + "\n", text=True, check=False)
    assert process.returncode == 0
    done = lab("status", "-j")
    assert done.returncode == 2
    assert json.loads(done.stdout)["hosts"][0]["splats"] == ["warn"]
    assert "a_function" in lab("logs", "h1").stdout
    done = lab("down")
    assert done.returncode == 2
    assert "a_function" in done.stderr and "a_caller" in done.stderr


def test_daemon_killed(lab):
    assert lab(*UP).returncode == 0
    daemon, guest = lab.pids()
    os.kill(daemon, signal.SIGKILL)
    until(lambda: str(guest) not in lab.left(), 10, "the guest dies with the daemon")
    assert lab.run("true").returncode == 255
    assert lab("status").returncode == 3
    assert lab("down").returncode == 0
    assert lab.left() == []


def test_up_after_a_crash(lab):
    assert lab(*UP).returncode == 0
    os.kill(lab.pids()[0], signal.SIGKILL)
    until(lambda: lab("status").returncode == 3, 10, "no daemon")
    done = lab(*UP)
    assert done.returncode == 0, done.stderr


def test_guest_killed(lab):
    assert lab(*UP).returncode == 0
    waiting = lab.start("exec", "h1", "--", "sleep", "1000")
    os.kill(lab.pids()[1], signal.SIGKILL)
    _, err = waiting.communicate(timeout=20)
    assert waiting.returncode == 255
    assert "dead" in err
    assert lab("status").returncode == 2
    done = lab("down")
    assert done.returncode == 2
    assert "killed by signal 9" in done.stderr


def test_panic(lab):
    assert lab(*UP).returncode == 0
    assert lab.run("sh", "-c", "echo c > /proc/sysrq-trigger").returncode == 255
    done = lab("down")
    assert done.returncode == 2
    assert "Kernel panic" in done.stderr


def test_up_fails_fast_and_says_why(lab):
    start = time.monotonic()
    done = lab(*UP, "--append", "rdinit=/no/such/init", timeout=90)
    assert done.returncode == 2
    assert re.search("Kernel panic|No working init", done.stderr)
    assert time.monotonic() - start < 60
    assert lab.left() == []


def test_up_interrupted(lab):
    process = lab.start(*UP)
    until(lambda: (lab.folder / "pids.json").exists() and len(lab.pids()) == 2, 60, "guest starts")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 2
    assert lab.left() == []


def test_up_killed(lab):
    process = lab.start(*UP)
    until(lambda: (lab.folder / "pids.json").exists() and len(lab.pids()) == 2, 60, "guest starts")
    process.kill()
    process.communicate(timeout=10)
    assert lab("down").returncode in (0, 2)
    assert lab.left() == []
