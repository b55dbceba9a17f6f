# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The machines that QEMU emulates, one for each processor, by Debian's names of those."""

import shutil
from dataclasses import dataclass

from . import newer_qemu
from .debian_suite import HERE
from .error import LabError
from .place import IS_INSTALLED


@dataclass(frozen=True)
class Machine:
    """What QEMU emulates.

    program: of QEMU
    options: of which machine it is
    cpu:     model of the processor
    console: what the kernel calls the first serial line
    bus:     of the virtio devices, as QEMU's names of those end
    driver:  the kernel's module for that bus; nothing if no kernel has it as one
    words:   more for the kernel's command line
    since:   version of QEMU from which on it emulates that
    wrong:   instructions that QEMU emulates wrongly before a version, as the name of the
             processor's feature and that version: such a QEMU's processor is one without them
    """

    program: str
    options: tuple[str, ...]
    cpu: str
    console: str
    bus: str
    driver: str
    words: str = ""
    since: tuple[int, int] = (0, 0)
    wrong: tuple[tuple[str, tuple[int, int]], ...] = ()

    def start(self, progress=lambda line: None):
        """QEMU, as its command line starts; where this machine's is too old, a newer one is fetched.

        Raises LabError if that cannot be had.
        """
        return newer_qemu.words(self.program, self.since, progress) if any(self.since) else [self.program]

    def command(self, accel, cpu=""):
        """The start of the command line; @cpu: another model than the usual one. LabError: as start()."""
        model = cpu or self.cpu
        if self.wrong and accel.startswith("tcg"):
            version = newer_qemu.version(self.program)
            model += "".join(f",{feature}=off" for feature, since in self.wrong if version < since)
        return [*self.start(), *self.options, "-accel", accel, "-cpu", model]


# cx16: CMPXCHG16B takes an operand of the comparison before it for flags if that has not been
# evaluated yet. The kernel's allocators use it: EFLAGS get bits of an address, TF and IOPL among
# them, and an exception follows somewhere else ("WARNING ... exc_debug", "Oops: double fault").
MACHINES = {
    "amd64": Machine("qemu-system-x86_64", ("-M", "q35", "-bios", "qboot.rom"), "max,la57=off",
                     "ttyS0", "pci", "virtio_pci", "mitigations=off nokaslr no5lvl",
                     wrong=(("cx16", (8, 0)),)),
    "arm64": Machine("qemu-system-aarch64", ("-M", "virt"), "cortex-a57",
                     "ttyAMA0", "pci", "virtio_pci"),
    "s390x": Machine("qemu-system-s390x", ("-M", "s390-ccw-virtio"), "qemu",
                     "ttysclp0", "ccw", "", since=(8, 2)),
}


def of(processor):
    """The machine that has @processor; LabError if there is none, or no QEMU for it here."""
    machine = MACHINES.get(processor)
    if machine is None:
        raise LabError(f"no machine with the processor {processor}: there are {', '.join(MACHINES)}", 1)
    if not shutil.which(machine.program):
        group = "run" if processor == HERE else "features"
        cure = "" if IS_INSTALLED else f" (scripts/bootstrap {group})"
        raise LabError(f"no {machine.program}, which emulates {processor}{cure}", 1)
    return machine
