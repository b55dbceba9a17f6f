# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A virtual machine with a Debian of its own on a disk, init and all.

Its disks keep what is written until the machine ends, also when it reboots; the
image does not change. One without a disk has its root elsewhere.
"""

import base64
import socket
import subprocess
import sys
import time
import zlib
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "scripts"))
from lablib import debian_suite, machine, qemu  # noqa: E402

BOOT_SECONDS = 300
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

    def __init__(self, folder, release, name, *, init=None, words="root=/dev/vda rw", initrd=None,
                 disks=1, cable=None):
        """words: where its root is; initrd: another file than the image's; cable: an end of a
        cable, as lablib.qemu.cable() makes them: its eth0."""
        self._folder = Path(folder)
        boot = self._folder / "root" / "boot"
        self._kernel = boot / f"vmlinuz-{release}"
        self._initrd = initrd or boot / f"initrd.img-{release}"
        self._words = words + (f" init={init}" if init else "")
        self._cable = cable
        self._mac = "52:54:00:" + zlib.crc32(name.encode()).to_bytes(4).hex(":", 1)[:8]
        self._disks = [self._folder / f"disk-{name}-{number}" for number in range(disks)]
        self.console = self._folder / f"console-{name}"
        self.console.write_bytes(b"")
        for disk in self._disks:
            subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw",
                            "-b", self._folder / "image", disk], check=True)
        self._start()

    def _devices(self, agent):
        """QEMU's words for what the machine has; agent: the descriptor of that one's socket."""
        words = ["-chardev", f"file,id=console,path={self.console},append=on",
                 "-serial", "chardev:console",
                 "-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,fd={agent}",
                 "-device", "virtserialport,chardev=agent,name=openipoib.packages",
                 "-device", "virtio-rng-pci"]
        for disk in self._disks:
            words += ["-drive", f"file={disk},format=qcow2,if=virtio,cache=unsafe"]
        if self._cable:
            words += ["-netdev", f"dgram,id=cable,local.type=fd,local.str={self._cable.fileno()}",
                      "-device", f"virtio-net-pci,netdev=cable,mac={self._mac},event_idx=off,romfile="]
        return words

    def _start(self):
        self._ours, theirs = socket.socketpair()
        self._rest = b""
        # A new QEMU for each boot: after a reset, emulation is several times slower.
        self.process = subprocess.Popen(
            [*machine.of(debian_suite.HERE).command("tcg,thread=multi"),
             "-smp", "1", "-m", "1024", "-nodefaults", "-display", "none", "-no-user-config",
             "-no-reboot", "-kernel", self._kernel, "-initrd", self._initrd, "-append",
             f"{self._words} console=ttyS0 loglevel=5 panic=-1 mitigations=off "
             "random.trust_cpu=on no5lvl net.ifnames=0", *self._devices(theirs.fileno())],
            pass_fds=[end.fileno() for end in (theirs, self._cable) if end],
            stdin=subprocess.DEVNULL, preexec_fn=qemu.die_with_parent)
        theirs.close()

    def ready(self):
        """Wait until it has booted."""
        begin = time.monotonic()
        line = self._line(BOOT_SECONDS)
        assert line == "ready", line
        print(f"booted in {time.monotonic() - begin:.0f} s")

    def end(self):
        self.process.kill()
        self.process.wait()
        self._ours.close()
        for disk in self._disks:
            disk.unlink()

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

    def says(self, text, seconds):
        """Wait until its console has said this."""
        deadline = time.monotonic() + seconds
        while text not in self.console.read_text(errors="replace"):
            assert time.monotonic() < deadline and self.process.poll() is None, \
                f"never said: {text}; the console ends:\n{self.console_end()}"
            time.sleep(0.5)
        print(f"the console says: {text}")

    def console_end(self):
        text = self.console.read_text(errors="replace")
        return "\n".join(text.splitlines()[-40:])

    def off(self, command):
        """Have it end by this command."""
        print(f"# {command}")
        begin = time.monotonic()
        self._send(command)
        self.process.wait(BOOT_SECONDS)
        print(f"down in {time.monotonic() - begin:.0f} s")
        self._ours.close()

    def reboot(self, command):
        """Have it reboot by this command, and wait until it is back."""
        self.off(command)
        self._start()
        self.ready()

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
