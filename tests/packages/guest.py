# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A virtual machine with a Debian of its own on a disk, init and all.

The disk keeps what is written until the machine ends, also when it reboots; the
image does not change.
"""

import base64
import socket
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "scripts"))
from lablib import debian_suite, machine, qemu  # noqa: E402

BOOT_SECONDS = 180
COMMAND_SECONDS = 600  # to purge a DKMS package takes minutes of emulation


class Done:
    """What has become of a command."""

    def __init__(self, command, status, text):
        self.command = command
        self.status = status
        self.text = text

    def __str__(self):
        return f"# {self.command}\n{self.text}" + \
            (f"  (exit status {self.status})\n" if self.status else "")


class Guest:
    """A machine that runs. All it says is printed, with the time it took."""

    def __init__(self, folder, release, name, *, init=None):
        self._folder = Path(folder)
        self._disk = self._folder / f"disk-{name}"
        self._release = release
        self._init = init
        self.console = self._folder / f"console-{name}"
        self.console.unlink(missing_ok=True)
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw",
                        "-b", self._folder / "image", self._disk], check=True)
        self._start()

    def _start(self):
        self._ours, theirs = socket.socketpair()
        self._rest = b""
        boot = self._folder / "root" / "boot"
        words = "root=/dev/vda rw console=ttyS0 loglevel=5 panic=-1 mitigations=off " \
            "random.trust_cpu=on no5lvl" + (f" init={self._init}" if self._init else "")
        # A new QEMU for each boot: after a reset, emulation is several times slower.
        self.process = subprocess.Popen(
            [*machine.of(debian_suite.HERE).command("tcg,thread=multi"),
             "-smp", "1", "-m", "1024", "-nodefaults", "-display", "none", "-no-user-config",
             "-no-reboot", "-kernel", boot / f"vmlinuz-{self._release}",
             "-initrd", boot / f"initrd.img-{self._release}", "-append", words,
             "-chardev", f"file,id=console,path={self.console},append=on",
             "-serial", "chardev:console",
             "-drive", f"file={self._disk},format=qcow2,if=virtio,cache=unsafe",
             "-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,fd={theirs.fileno()}",
             "-device", "virtserialport,chardev=agent,name=openipoib.packages",
             "-device", "virtio-rng-pci"],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, preexec_fn=qemu.die_with_parent)
        theirs.close()
        begin = time.monotonic()
        line = self._line(BOOT_SECONDS)
        assert line == "ready", line
        print(f"booted in {time.monotonic() - begin:.0f} s")

    def end(self):
        self.process.kill()
        self.process.wait()
        self._ours.close()
        self._disk.unlink()

    def _line(self, seconds):
        """The next line from the guest's agent."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            self._ours.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self._ours.recv(65536)
            except TimeoutError:
                raise AssertionError(f"nothing from the guest for {seconds} s; its console ends:\n"
                                     + self.console_end()) from None
            assert data, f"QEMU has ended; the guest's console ends:\n{self.console_end()}"
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def console_end(self):
        text = self.console.read_text(errors="replace")
        return "\n".join(text.splitlines()[-40:])

    def reboot(self, command):
        """Have it reboot by this command, and wait until it is back."""
        print(f"# {command}")
        begin = time.monotonic()
        self._send(command)
        self.process.wait(BOOT_SECONDS)
        print(f"down in {time.monotonic() - begin:.0f} s")
        self._ours.close()
        self._start()

    def _send(self, command):
        self._ours.sendall(base64.b64encode(command.encode()) + b"\n")

    def _execute(self, command):
        self._send(command)
        status, text = self._line(COMMAND_SECONDS).split(" ")
        return Done(command, int(status), base64.b64decode(text).decode(errors="replace"))

    def run(self, command, status=0):
        """Run a shell command that must end with this status (None: any)."""
        begin = time.monotonic()
        done = self._execute(command)
        print(f"{done}  [{time.monotonic() - begin:.1f} s]")
        assert status in (None, done.status), f"status {done.status}, not {status}:\n{done}"
        return done

    def read(self, command):
        """What a shell command that succeeds says, without the newline at its end."""
        return self.run(command).text.rstrip("\n")

    def wait(self, condition, seconds):
        """Wait until a shell condition holds; the seconds it took, as the guest counts them."""
        script = f"""
            begin=${{EPOCHREALTIME/./}}
            until {condition}; do
                [ $(((${{EPOCHREALTIME/./}} - begin) / 1000000)) -lt {seconds} ] || exit 1
                sleep 0.1
            done 2> /dev/null
            echo $(((${{EPOCHREALTIME/./}} - begin) / 1000))"""
        done = self._execute(script)
        assert done.status == 0, f"not within {seconds} s: {condition}"
        taken = int(done.text.split()[-1]) / 1000
        print(f"# after {taken:.2f} s: {condition}")
        return taken
