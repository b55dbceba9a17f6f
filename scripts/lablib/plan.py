# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What a lab is to be: hosts, ports, cables, addresses, from the user's options."""

import ipaddress
import math
import os
import time
from pathlib import Path

from . import fabric
from . import kernel as kernels
from . import machine, place, state
from .debian_suite import HERE
from .identity import mac, prefix
from .layer import DRIVERS
from .error import LabError

IB_MTU_CODES = {2048: 4, 4096: 5}  # as PortInfo and partitions.conf count
MAX_HOSTS = 16
# What sib knows to be like (drivers/sib/profile.c)
HCAS = ("sib", "mlx4", "mlx5", "mlx5-enhanced", "rdmavt", "omnipath", "mthca", "hostile")
DMAS = ("virtual", "mapped")  # how they reach memory (drivers/sib/dma_dev.c)
MTU_2048 = ("mthca",)     # of those, what has no longer packets
MAX_PORTS = 8
TAKEN = ("/dev/", "/proc/", "/run/", "/sys/")     # hosts mount something of their own there
FIRST_JOINED = 9  # number of the first host of a lab that joins another
BACK_TO_BACK = "b2b"
LEAVES = "leaves"


def ipv4(number, port):
    return str(ipaddress.IPv4Interface(f"10.10.{port}.{number}/24"))


def ipv6(number, port):
    middle = f":{port}" if port else ""
    return str(ipaddress.IPv6Interface(f"fd10{middle}::{number}/64"))


def _port(lab, number, port):
    return {"port": port, "netdev": f"ib{port}", "ibdev": f"sib{port}", "lower": f"eth{port + 1}",
            "mac": mac(lab, number, port), "ipv4": ipv4(number, port), "ipv6": ipv6(number, port)}


def per_host(option, names, choices, default):
    """What each host gets of choices like ['ours', 'h2=intree']: one for it comes first."""
    result, own = dict.fromkeys(names, default), {}
    for choice in choices:
        host, sign, value = choice.partition("=")
        if not sign or "/" in host:     # a path may have a = in it
            result = dict.fromkeys(names, choice)
        elif host in result:
            own[host] = value
        else:
            raise LabError(f"{option} {choice}: no host '{host}' "
                           f"(there are: {', '.join(names)})", 1)
    return result | own


def hcas(names, choices):
    """What each host's HCAs are like."""
    result = per_host("--hca", names, choices, HCAS[0])
    for hca in result.values():
        if hca not in HCAS:
            raise LabError(f"--hca: '{hca}' is no profile: one of {', '.join(HCAS)}", 1)
    return result


def dmas(names, choices):
    """How each host's HCAs reach memory."""
    result = per_host("--dma", names, choices, DMAS[0])
    for dma in result.values():
        if dma not in DMAS:
            raise LabError(f"--dma: '{dma}': one of {', '.join(DMAS)}", 1)
    return result


def ib_mtu(wish, chosen):
    """The MTU of the partition: no port may have less."""
    short = [hca for hca in chosen if hca in MTU_2048]
    if wish == 4096 and short:
        raise LabError(f"--ib-mtu 4096: --hca {short[0]} has 2048 at most", 1)
    return wish or (2048 if short else 4096)


def _parameters(hca, dma):
    """Words of a kernel's command line: modprobe takes parameters of modules from there."""
    return " ".join(([f"sib.profile={hca}"] if hca != HCAS[0] else [])
                    + ([f"sib.dma={dma}"] if dma != DMAS[0] else []))


def drivers(names, choices):
    """Each host's driver."""
    result = per_host("--driver", names, choices, "ours")
    for driver in result.values():
        if driver not in DRIVERS:
            raise LabError(f"--driver: '{driver}' is no driver: one of {', '.join(DRIVERS)}", 1)
    return result


def _kernels(names, choices, progress):
    """Each host's kernel, and what the user calls it."""
    called = per_host("--kernel", names, choices, "")
    if "" in called.values():
        own = kernels.own()
        called = {name: word or own for name, word in called.items()}
    found = {}
    for word in dict.fromkeys(called.values()):
        _, sign, processor = word.partition(":")
        if sign and "/" not in word:
            machine.of(processor).start(progress)       # before anything is downloaded for it
        found[word] = kernels.provide(word, progress)
        machine.of(found[word].processor).start(progress)
    return {name: found[word] for name, word in called.items()}, called


def _check_foreign(hosts, accel):
    """Refuse what hosts of another processor cannot have."""
    foreign = [host["name"] for host in hosts if host["processor"] != HERE]
    if not foreign:
        return
    if accel == "kvm" and len(foreign) == len(hosts):
        raise LabError(f"--accel kvm: no host has the processor of this machine, {HERE}", 1)
    # They mount it at the same place, which their command line names.
    path = str(place.SOURCES)
    if len(path.split()) > 1 or path.startswith(TAKEN):
        raise LabError(f"{', '.join(foreign)}: hosts of another processor want the sources, {path}, in a "
                       f"path without white space, and not below {', '.join(TAKEN)}", 1)


def port_name(name, hosts):
    """A port as the user names it (h1:0, h1:ib0, h1:sib0, h1:eth1) as h1:0."""
    host, _, port = name.partition(":")
    for entry in hosts:
        for known in entry["ports"]:
            aliases = (str(known["port"]), known["netdev"], known["ibdev"], known["lower"])
            if entry["name"] == host and port in aliases:
                return f"{host}:{known['port']}"
    ports = [f"{entry['name']}:{known['port']}" for entry in hosts for known in entry["ports"]]
    raise LabError(f"no port '{name}' (there are: {', '.join(ports)})", 1)


def topology(wish, names, ports, far=0):
    """The text of a lab's topology, or None if its cables are back to back.

    @far: cables to other labs
    """
    if far and wish not in (None, LEAVES):
        raise LabError(f"--topology {wish}: labs are joined by leaves", 1)
    if wish is None:
        wish = LEAVES if far or len(names) > 2 or ports > 1 else BACK_TO_BACK
    if wish == LEAVES:
        return fabric.topology(names, ports, far)
    if wish != BACK_TO_BACK:
        try:
            return Path(wish).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise LabError(f"--topology {wish}: {error}", 1) from None
    if len(names) > 2:
        raise LabError("--topology b2b: 1 or 2 hosts", 1)
    return None


def _cables(names, ports, is_fabric):
    """Between hosts, or between a host and the fabric; each {"ends": …, "up": bool}."""
    if is_fabric:
        ends = [[f"{name}:{port}"] for name in names for port in range(ports)]
    else:
        ends = [[f"{name}:{port}" for name in names] for port in range(ports)
                if len(names) == 2]
    return [{"ends": entry, "up": True} for entry in ends]


def crowding(processors):
    """How many times longer guests with so many processors may take than alone on this machine.

    It has fewer, perhaps, or other work for them: the number of runnable processes says that.
    """
    wanted = processors + os.getloadavg()[0]
    return max(1, math.ceil(wanted / len(os.sched_getaffinity(0))))


def host_names(arguments):
    """The names of a lab's hosts; those of a lab that joins another are not the other's."""
    first = arguments.first or (FIRST_JOINED if arguments.join else 1)
    if not 1 <= first or first + arguments.hosts - 1 > MAX_HOSTS:
        raise LabError(f"--hosts: h{first} to h{MAX_HOSTS} at most", 1)
    if arguments.join and first == 1:
        raise LabError("--first: h1 is in the lab that is joined", 1)
    return [f"h{number}" for number in range(first, first + arguments.hosts)]


def far(arguments, names):
    """The cables to other labs and their key, or None."""
    wanted = [f"udp:{arguments.listen}"] if arguments.listen else []
    wanted += [f"udp:={arguments.join}"] if arguments.join else []
    if not wanted and not arguments.key:
        return None
    if not wanted or not arguments.key:
        raise LabError("--key FILE and --listen or --join are for each other", 1)
    return {"key": os.path.abspath(arguments.key),
            "cables": [{"at": fabric.far_port(names, arguments.ports, number), "cable": cable}
                       for number, cable in enumerate(wanted)]}


def make(arguments, progress):
    """The plan of a lab: a document that the daemon gets and `status` shows; and its hosts' kernels.

    What bringup.prepare() makes for each host is filled in later.
    """
    if not 1 <= arguments.hosts <= MAX_HOSTS:
        raise LabError(f"--hosts: 1 to {MAX_HOSTS}", 1)
    if not 1 <= arguments.ports <= MAX_PORTS:
        raise LabError(f"--ports: 1 to {MAX_PORTS}", 1)
    if arguments.plugin and arguments.accel == "kvm":
        raise LabError("--plugin: not with --accel kvm", 1)
    names = host_names(arguments)
    joined = far(arguments, names)
    driver = drivers(names, arguments.driver)
    hca = hcas(names, arguments.hca)
    dma = dmas(names, arguments.dma)
    lab = prefix()
    wired = topology(arguments.topology, names, arguments.ports,
                     len(joined["cables"]) if joined else 0)
    kernel, called = _kernels(names, arguments.kernel, progress)
    hosts = [{"name": name, "number": int(name[1:]), "driver": driver[name],
              "kernel": kernel[name].release, "processor": kernel[name].processor,
              "cpu": arguments.cpu if kernel[name].processor == HERE else "",
              "hca": hca[name], "dma": dma[name],
              "append": " ".join(filter(None, (kernels.words(called[name]),
                                               _parameters(hca[name], dma[name]),
                                               arguments.append))),
              "console": str(state.logs() / f"{name}.console"),
              "ports": [_port(lab, int(name[1:]), port) for port in range(arguments.ports)]}
             for name in names]
    _check_foreign(hosts, arguments.accel)
    return {"hosts": hosts, "ports": arguments.ports,
            "cables": _cables(names, arguments.ports, wired is not None),
            "far": joined, "topology": wired, "topology_name": arguments.topology or "",
            "kernel": " and ".join(dict.fromkeys(one.release for one in kernel.values())),
            "slowness": (max(map(kernels.slowness, called.values()))
                         * crowding(arguments.hosts * arguments.cpus)),
            "ib_mtu": ib_mtu(arguments.ib_mtu, hca.values()), "started": time.time(),
            "options": {"accel": "tcg" if arguments.plugin else arguments.accel,
                        "cpus": arguments.cpus, "memory": arguments.memory,
                        "plugin": arguments.plugin, "folder": str(state.folder())}}, kernel
