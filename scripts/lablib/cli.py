# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The command line of the lab."""

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from . import client, state
from .error import LabError
from .place import PROGRAM, WORK
from .state import NoLab

USAGE, BAD = 1, 2
END_SECONDS = 10    # for a lab to end by itself

DESCRIPTION = """\
Virtual hosts on a software InfiniBand fabric, for demos, tests and people.

Each host h1, h2, … is a virtual machine with a stock Debian kernel on this
machine's root file system (read-only; what it writes goes to memory and is
gone with it), so every tool installed here is there; with the kernel of another
processor, on packages of Debian's for that. Its only network is its
cables: port 0 is eth1 below, sib0 as InfiniBand device and ib0 as IP
interface (port 1: eth2, sib1, ib1, and so on). h1 runs OpenSM for each subnet.
"""

EPILOG = f"""\
addresses of host hN, port P: ib<P> has 10.10.<P>.N/24 and fd10:<P>::N/64
(port 0: fd10::N/64).

examples:
  {PROGRAM} up --kernel 6.12
  {PROGRAM} up --hosts 3 --ports 2
  {PROGRAM} exec h1 -- ping -c 3 10.10.0.2
  {PROGRAM} exec h1 -- ibnetdiscover
  {PROGRAM} cable h1:0 down
  {PROGRAM} fault link sw1:3 down --for 5s    (of a lab with switches)
  {PROGRAM} exec h1 -- lab-sm stop          (also start, status, log)
  {PROGRAM} shell h2
  {PROGRAM} down

exit status: 0 all well; 1 usage, or a lab is already up; 2 failed or degraded
(up: not reached; status and down: a kernel splat or a dead guest); 3 no lab.
exec and shell: the command's own, 128+n if signal n ended it, 255 if it could
not be run.

files: state in /run/openipoib-lab, logs in {WORK}/logs/lab (kept after down).
"""


class Parser(argparse.ArgumentParser):
    """argparse with the exit status of the other tools here."""

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def parser():
    formatter = argparse.RawDescriptionHelpFormatter
    top = Parser(prog=Path(PROGRAM).name, description=DESCRIPTION, epilog=EPILOG, formatter_class=formatter)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start hosts; returns when all can ping h1")
    up.add_argument("--hosts", type=int, default=2, metavar="N", help="hosts h1 to hN (default 2)")
    up.add_argument("--ports", type=int, default=1, metavar="N",
                    help="InfiniBand ports, and cables, per host: 1 to 8 (default 1)")
    up.add_argument("--topology", metavar="b2b|leaves|FILE",
                    help="b2b: port P of h1 to port P of h2, a subnet each (default for two "
                         "hosts with one port); leaves: all ports in one subnet of two "
                         "switches; FILE: in a subnet as ibnetdiscover prints it")
    up.add_argument("--listen", metavar="[ADDRESS]:PORT",
                    help="other labs may join this one's subnet there, over UDP; with --key")
    up.add_argument("--join", metavar="ADDRESS:PORT",
                    help="join the subnet of a lab that was started with --listen, on this "
                         "machine or another; its h1 has the subnet manager; with --key")
    up.add_argument("--key", metavar="FILE",
                    help="64 hexadecimal digits that labs of one subnet share "
                         "(openssl rand -hex 32), in a file for nobody else")
    up.add_argument("--first", type=int, metavar="N",
                    help="number of the first host (default 1, with --join 9): labs of one "
                         "subnet have different hosts")
    up.add_argument("--kernel", action="append", default=[], metavar="[HOST=]K",
                    help="of all hosts or of one; may be repeated: "
                         "6.1, 6.12 or 7.3, Debian's, or the newest of a suite of Debian's (sid), "
                         "fetched if there is none (default: what this release of Debian has, or "
                         "else 6.1), and with :arm64 or :s390x behind it for that "
                         "processor, which is emulated, on packages of Debian's (6.1:s390x); "
                         "a release; FILE.deb, the package of an image, with "
                         "those of its modules and headers beside it; test, debug or race "
                         "(scripts/test-kernel); or the path of a kernel build tree")
    up.add_argument("--driver", action="append", default=[], metavar="[HOST=]ours|intree",
                    help="ib_ipoib of all hosts or of one (default ours); may be repeated")
    up.add_argument("--hca", action="append", default=[], metavar="[HOST=]PROFILE",
                    help="what the HCAs of all hosts or of one are like: mlx4, mlx5, mlx5-enhanced, "
                         "rdmavt, omnipath, mthca, hostile, or sib (default); may be repeated")
    up.add_argument("--dma", action="append", default=[], metavar="[HOST=]mapped|virtual",
                    help="how the HCAs of all hosts or of one reach memory: as it is mapped for "
                         "them, or by the kernel's addresses (virtual, default); may be repeated")
    up.add_argument("--ib-mtu", type=int, choices=(2048, 4096),
                    help="MTU of the InfiniBand partition (default 4096, or what all HCAs have; "
                         "IP gets 4 less)")
    up.add_argument("--accel", choices=("auto", "tcg", "kvm"), default="auto",
                    help="auto (default): hardware virtualisation only if a probe boots with it")
    up.add_argument("--cpus", type=int, default=1, metavar="N",
                    help="CPUs per host (default 1: fastest on two cores; 2 finds more races)")
    up.add_argument("--cpu", default="", metavar="MODEL", help=argparse.SUPPRESS)
    up.add_argument("--memory", type=int, default=1536, metavar="MIB",
                    help="memory per host (default 1536)")
    up.add_argument("--plugin", default="", metavar="FILE[,NAME=VALUE...]",
                    help="a TCG plugin for the hosts' QEMU (implies --accel tcg)")
    up.add_argument("--append", default="", metavar="WORDS",
                    help="more words for the kernels' command line")
    up.add_argument("--keep", action="store_true", help="if it fails, leave the guests running")
    up.add_argument("-q", "--quiet", action="store_true", help="no progress")
    run = commands.add_parser("exec", help="run a command in a host",
                              usage="lab exec HOST -- CMD ARG...")
    run.add_argument("host", metavar="HOST")
    run.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD ARG...")
    shell = commands.add_parser("shell", help="a shell in a host, on a terminal of its own")
    shell.add_argument("host", metavar="HOST")
    pull = commands.add_parser("cable", help="pull or plug a cable, at both its ends")
    pull.add_argument("port", metavar="HOST:PORT", help="h1:0; or by name: h1:ib0, h1:sib0")
    pull.add_argument("action", choices=("down", "up"))
    fault = commands.add_parser("fault", add_help=False, usage="lab fault WHAT WHERE ...",
                                help="what ibfabric-ctl fault does: lab fault link sw1:3 down")
    fault.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD")
    topo = commands.add_parser("topo", help="switches, and what they are cabled to")
    topo.add_argument("--dot", action="store_true", help="for Graphviz")
    status = commands.add_parser("status", help="hosts, ports, cables, splats")
    status.add_argument("-j", "--json", action="store_true", help="as JSON")
    logs = commands.add_parser("logs", help="the console of a host, also of the last lab")
    logs.add_argument("host", metavar="HOST")
    commands.add_parser("down", help="end the lab and remove every trace, also after a crash")
    return top


def cmd_up(arguments):
    from . import bringup, plan
    progress = bringup.Progress(arguments.quiet)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    document, kernels = plan.make(arguments, progress)
    lock_fd = state.create()
    try:
        bringup.up(document, kernels, progress)
    except BaseException as error:
        if isinstance(error, LabError):
            print(f"lab: {error}\n{bringup.explain(document)}", file=sys.stderr)
        else:
            print(f"lab: stopped by {type(error).__name__}", file=sys.stderr)
        if arguments.keep and client.is_up():
            print("lab: the guests are left running (--keep)", file=sys.stderr)
        else:
            doomed = state.pids()
            _end_daemon()
            state.sweep(doomed, lock_fd)
        if isinstance(error, (LabError, KeyboardInterrupt)):
            return getattr(error, "code", BAD)
        raise
    progress(f"up: {', '.join(h['name'] for h in document['hosts'])}")
    return 0


def cmd_exec(arguments):
    argv = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if not argv:
        print("usage: lab exec HOST -- CMD ARG...", file=sys.stderr)
        return USAGE
    return _in_guest(arguments.host, argv, False)


def cmd_shell(arguments):
    return _in_guest(arguments.host, ["bash", "-l"], os.isatty(0) and os.isatty(1))


def _in_guest(host, argv, terminal):
    try:
        return client.run(host, argv, terminal)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return client.NOT_REACHED


def cmd_cable(arguments):
    from . import plan
    hosts = client.ask("status")["hosts"]
    end = plan.port_name(arguments.port, hosts)
    client.ask("cable", end=end, up=arguments.action == "up")
    return 0


def _fabric_ctl(*words):
    """Run ibfabric-ctl on the lab's fabric; its exit status."""
    from . import fabric, place
    if not client.ask("status")["fabric"]:
        raise LabError("the cables of this lab are back to back: there are no switches", USAGE)
    return subprocess.run([place.BIN / "ibfabric-ctl", "--socket", fabric.control_path(),
                           *words], check=False).returncode


def cmd_fault(arguments):
    return _fabric_ctl("fault", *arguments.words)


def cmd_topo(arguments):
    return _fabric_ctl("topology", *(["--dot"] if arguments.dot else []))


def _splats(consoles):
    from . import splats
    return {host: splats.of_console(console) for host, console in consoles.items()}


def cmd_status(arguments):
    from . import report
    document = client.ask("status")
    about = state.read("lab.json") or {}
    document |= {key: about.get(key) for key in ("kernel", "ib_mtu")}
    found = _splats({host["name"]: host["console"] for host in document["hosts"]})
    for host in document["hosts"]:
        host["splats"] = [item.kind for item in found[host["name"]]]
    document["healthy"] = document["phase"] == "up" and all(
        host["state"] == "up" and not host["splats"] for host in document["hosts"])
    if document["fabric"]:
        document["healthy"] &= document["fabric"]["state"] == "up"
    print(json.dumps(document, indent=2) if arguments.json else report.text(document))
    return 0 if document["healthy"] else BAD


def cmd_logs(arguments):
    about = state.read("lab.json") or {}
    default = state.logs() / f"{arguments.host}.console"
    path = Path(about.get("consoles", {}).get(arguments.host, default))
    if not path.exists():
        raise LabError(f"no console of a host '{arguments.host}'", USAGE)
    sys.stdout.flush()
    with path.open("rb") as file:
        while data := file.read(65536):
            sys.stdout.buffer.write(data)
    return 0


def _end_daemon():
    """Ask the daemon to end, if it answers. Returns the guests that were dead."""
    try:
        return client.ask("down", timeout=20)["dead"]
    except LabError:
        return {}


def cmd_down(_arguments):
    from . import splats
    if not state.exists():
        raise NoLab()
    about = state.read("lab.json") or {"consoles": {}}
    doomed = state.pids()
    dead = _end_daemon()
    state.wait_gone(doomed, END_SECONDS)    # it ends what it has started
    state.sweep(doomed)
    status = 0
    for host, found in _splats(about["consoles"]).items():
        if found:
            print(splats.report(host, found), file=sys.stderr)
            status = BAD
    for host, reason in dead.items():
        print(f"{host} had died: {reason}", file=sys.stderr)
        status = BAD
    return status


def main():
    arguments = parser().parse_args()
    try:
        return globals()[f"cmd_{arguments.command}"](arguments)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("lab: stopped", file=sys.stderr)
        return BAD
    except OSError as error:  # such as a full disk
        if not isinstance(error, BrokenPipeError):
            print(f"lab: {error}", file=sys.stderr)
            return BAD
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BAD
