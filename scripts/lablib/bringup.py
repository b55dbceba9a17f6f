# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""`lab up`: from a plan to hosts that ping each other."""

import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from . import accel, client, daemon, fabric, initramfs, layer, place, splats, state
from . import root as root_of_guests
from .debian_suite import HERE
from .plan import IB_MTU_CODES
from .error import LabError

# Deadlines for a stock kernel and a processor for each host; a plan's slowness stretches
# them.
BOOT_SECONDS = 90
DEVICES_SECONDS = 60
SM_SECONDS = 20
CARRIER_SECONDS = 40
PING_SECONDS = 30
SCRIPT = "/usr/lib/openipoib-lab/bringup.sh"


class Progress:
    """Prints what is being done, with the seconds since the start."""

    def __init__(self, quiet=False):
        self.start = time.monotonic()
        self.quiet = quiet

    def __call__(self, message):
        if not self.quiet:
            print(f"[{time.monotonic() - self.start:6.1f} s] {message}", flush=True)


def _shared_modules(kernel):
    """The folder that guests get the kernel's own modules from, unless their root has them."""
    if kernel.modules is None or kernel.is_installed:
        return None
    # Resolved: build/kernels/<name> may come to mean another kernel while guests run.
    folder = (kernel.modules / "kernel").resolve()
    return str(folder) if folder.is_dir() else None


def _prepare(hosts, kernel, wish, progress):
    """Build what these hosts boot with @kernel: modules, layers, initramfs."""
    with ThreadPoolExecutor() as pool:
        image = initramfs.build(kernel, progress)
        chosen = pool.submit(accel.choose, wish, kernel, image)
        progress(f"modules for {kernel.release}")
        modules = layer.build_modules(kernel)
        progress("layers over the root file system")
        drivers = {host["driver"] for host in hosts}
        layers = dict(zip(drivers, pool.map(lambda d: layer.build(kernel, d, modules), drivers),
                          strict=True))
        root = root_of_guests.provide(kernel.processor, progress)
        accelerator, why = chosen.result()
    for host in hosts:
        host |= {"image": str(kernel.image), "initramfs": str(image), "root": str(root),
                 "layer": str(layers[host["driver"]]), "modules": _shared_modules(kernel),
                 # Of this machine's root they are there anyway.
                 "sources": None if kernel.processor == HERE else str(place.SOURCES),
                 "accel": accelerator}
    progress(f"emulation: {accelerator} ({why})")


def prepare(plan, kernels, progress):
    """Build what the guests boot; @kernels: of each host, by name."""
    with state.building():
        for kernel in dict.fromkeys(kernels.values()):
            hosts = [host for host in plan["hosts"] if kernels[host["name"]] == kernel]
            _prepare(hosts, kernel, plan["options"]["accel"], progress)
        if plan["topology"] is not None:
            progress("ibfabric")
            place.provide(fabric.PROGRAMS)
            plan["options"]["ibfabric"] = str(place.BIN / "ibfabric")


def _managed_ports(plan):
    """The ports of h1 that need a subnet manager: one for each subnet."""
    ports = plan["hosts"][0]["ports"]
    return ports if plan["topology"] is None else ports[:1]


def _each_host(plan, work):
    """Run @work(host) for all hosts at once; the first failure is raised."""
    pool = ThreadPoolExecutor()
    try:
        done, _ = wait([pool.submit(work, host) for host in plan["hosts"]],
                       return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
    finally:
        # Threads that still wait for a guest end with the daemon.
        pool.shutdown(wait=False, cancel_futures=True)


def _run(host, argv, seconds, progress, what):
    """A step in a guest: its output is the reason if it fails."""
    status, out, err = client.capture(host["name"], argv, seconds)
    if status:
        raise LabError(f"{host['name']}: {(err or out).strip() or f'{what}: status {status}'}")
    if progress:
        progress(f"{host['name']}: {what}")


def _boot(plan, progress):
    slowness = plan["slowness"]
    boot = BOOT_SECONDS * slowness
    carrier = CARRIER_SECONDS * slowness if plan["cables"] else 0

    def work(host):
        client.ask("wait", boot + 5, host=host["name"], seconds=boot)
        progress(f"{host['name']}: booted")
        _run(host, [SCRIPT, "devices", str(host["number"]), str(plan["ports"]),
                    str(IB_MTU_CODES[plan["ib_mtu"]]), host["ports"][0]["mac"]],
             DEVICES_SECONDS * slowness, progress,
             f"{', '.join(p['ibdev'] for p in host['ports'])} ready, driver {host['driver']}")
        if host["number"] == 1:
            for port in _managed_ports(plan):
                _run(host, ["lab-sm", "start", str(port["port"])], SM_SECONDS * slowness, progress,
                     f"OpenSM started on {port['ibdev']}")
        _run(host, [SCRIPT, "address", str(host["number"]), str(plan["ports"]), str(carrier)],
             carrier + 20 * slowness, progress,
             ", ".join(f"{p['netdev']} {p['ipv4']} {p['ipv6']}" for p in host["ports"]))
    _each_host(plan, work)


def _reach(plan, progress):
    seconds = PING_SECONDS * plan["slowness"]

    def work(host):
        _run(host, [SCRIPT, "reach", str(plan["ports"]), str(seconds)],
             2 * plan["ports"] * seconds + 10, progress, "reaches h1 by IPv4 and IPv6")
    if plan["cables"]:
        _each_host(plan, work)


def explain(plan):
    """What the logs say about a failure: splats, ends of consoles, OpenSM's log."""
    lines = []
    for host in plan["hosts"]:
        found = splats.of_console(host["console"])
        if found:
            lines.append(splats.report(host["name"], found))
        try:
            text = Path(host["console"]).read_bytes().decode(errors="replace")
        except FileNotFoundError:
            continue
        lines.append(f"--- end of {host['name']}'s console ({host['console']})")
        lines += ["  " + line for line in text.splitlines()[-12:]]
    for port in _managed_ports(plan):
        try:
            log = f"/run/lab/opensm-{port['port']}/log"
            status, out, _ = client.capture("h1", ["tail", "-n", "12", log], 10)
        except LabError:
            continue
        if status:
            continue  # it was not started
        lines.append(f"--- end of OpenSM's log for {port['ibdev']}")
        lines += ["  " + line for line in out.splitlines()]
    return "\n".join(lines)


def up(plan, kernels, progress):
    """Bring the lab up. Raises LabError with the reason if it cannot."""
    state.logs().mkdir(parents=True, exist_ok=True)
    for host in plan["hosts"]:
        Path(host["console"]).unlink(missing_ok=True)
    prepare(plan, kernels, progress)
    state.write("lab.json", {"hosts": [h["name"] for h in plan["hosts"]],
                             "consoles": {h["name"]: h["console"] for h in plan["hosts"]},
                             "kernel": plan["kernel"], "ib_mtu": plan["ib_mtu"],
                             "started": plan["started"]})
    if plan["topology"] is not None:
        (state.folder() / "topology").write_text(plan["topology"])
    options = plan["options"]
    progress(f"booting {' and '.join(h['name'] for h in plan['hosts'])}: {plan['kernel']}, "
             f"{options['cpus']} CPU, {options['memory']} MiB each")
    daemon.start(plan)
    _boot(plan, progress)
    _reach(plan, progress)
    for host in plan["hosts"]:
        found = splats.of_console(host["console"])
        if found:
            raise LabError(f"{host['name']}: {len(found)} kernel splat(s) while coming up")
    client.ask("phase", phase="up")
