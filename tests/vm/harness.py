# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What the VM tests share: a lab driven through its command line, conditions
with deadlines, and snapshots of a host's network state."""

import contextlib
import json
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
LAB = TOP / "scripts" / "lab"
GUEST = Path(__file__).resolve().parent / "guest"
HOSTS = ("h1", "h2")
MARK = "openipoib-test: "
PREEMPT_SLOWNESS = 3

sys.path.insert(0, str(TOP / "scripts"))
import splat  # noqa: E402
from lablib import client  # noqa: E402
from lablib.kernel import TEST_KERNELS, slowness  # noqa: E402
from lablib.state import LabError  # noqa: E402

_stretch = 1


def stretched(seconds):
    """A deadline for a stock kernel, as long as the lab that is up needs it.

    Everything here that takes a deadline or a timeout applies this itself.
    """
    return seconds * _stretch


def set_stretch(factor):
    """Stretch all deadlines from now on by this factor."""
    global _stretch
    _stretch = factor


def pace():
    """ping's option for long echoes, few of which fit its socket: one after the other."""
    return f"-i{stretched(0.02):.2f}"


def other(host):
    return "h2" if host == "h1" else "h1"


def is_full(request):
    """Whether repeated things are repeated in full, or a few times."""
    return request.config.getoption("--full")


def ipv4(host, port=0):
    return f"10.10.{port}.{host[1:]}"


def ipv6(host, port=0):
    return f"fd10::{host[1:]}" if port == 0 else f"fd10:{port}::{host[1:]}"


def until(condition, deadline, what, interval=0.1):
    """Wait until @condition() is true; its value is returned.

    @what: the condition in words, or a callable that says what is seen instead.
    """
    deadline = stretched(deadline)
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            text = what() if callable(what) else what
            raise AssertionError(f"not within {deadline} s: {text}")
        time.sleep(interval)


@dataclass(frozen=True)
class Config:
    """What makes one lab differ from another."""

    kernel: str
    h1: str = "ours"
    h2: str = "ours"
    ib_mtu: int = 4096
    ports: int = 1
    topology: str = ""
    cpus: int = 0  # of each host; 0: as many as it takes
    preempt: bool = False  # the kernel may be preempted
    processor: str = ""  # of h2, by Debian's name of it, if not this machine's kind
    hca: str = ""  # what the HCAs are like
    dma: str = ""  # how they reach memory

    @property
    def slowness(self):
        """By how much deadlines are stretched."""
        return max(slowness(self.kernel), PREEMPT_SLOWNESS if self.preempt else 1)

    def __str__(self):
        drivers = self.h1 if self.h1 == self.h2 else f"{self.h1}+{self.h2}"
        ports = f"-{self.ports}ports" if self.ports > 1 else ""
        topology = f"-{self.topology}" if self.topology else ""
        preempt = "-preempt" if self.preempt else ""
        processor = f"-{self.processor}" if self.processor else ""
        cpus = f"-{self.cpus}cpus" if self.cpus else ""
        hca = f"-{self.hca}" if self.hca else ""
        dma = f"-{self.dma}" if self.dma else ""
        return f"{self.kernel}-{drivers}-{self.ib_mtu}{ports}{topology}{preempt}{processor}{cpus}{hca}{dma}"

    def arguments(self):
        cpus = self.cpus or (2 if self.kernel in TEST_KERNELS else 1)
        return ["--kernel", self.kernel, "--driver", f"h1={self.h1}", "--driver", f"h2={self.h2}",
                "--ib-mtu", str(self.ib_mtu), "--cpus", str(cpus), "--ports", str(self.ports),
                *(["--topology", self.topology] if self.topology else []),
                *(["--append", "preempt=full"] if self.preempt else []),
                *(["--hca", self.hca] if self.hca else []),
                *(["--dma", self.dma] if self.dma else []),
                *(["--kernel", f"h2={self.kernel}:{self.processor}"] if self.processor else [])]


class Result:
    """A finished command of a guest."""

    def __init__(self, host, argv, status, out, err):
        self.host, self.argv, self.status, self.out, self.err = host, argv, status, out, err

    def __str__(self):
        return (f"{self.host}: {shlex.join(self.argv)}: status {self.status}\n"
                f"{self.out}{self.err}")


class Background:
    """A command running in a guest; ended with the `with` block."""

    def __init__(self, host, argv, reach=None):
        self.host, self.argv = host, argv
        reach = [LAB, "exec", host, "--"] if reach is None else reach
        self.process = subprocess.Popen([*reach, *argv], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self._end()

    def _end(self):
        """End it, and what it has started; what it printed."""
        self.process.terminate()
        try:
            return self.process.communicate(timeout=stretched(15))
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()

    def said(self):
        """End it, if it has not ended; its Result."""
        out, err = self._end()
        return Result(self.host, self.argv, self.process.returncode, out, err)

    def line(self, timeout=30):
        """The next line the command prints."""
        with self._watchdog(timeout):
            text = self.process.stdout.readline()
        assert text, f"{self.host}: {shlex.join(self.argv)} ended early: {self.finish(10)}"
        return text.rstrip("\n")

    def tell(self, text):
        """Write a line to the command's standard input."""
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    @contextlib.contextmanager
    def _watchdog(self, timeout):
        import threading
        timer = threading.Timer(stretched(timeout), self.process.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def finish(self, timeout=60):
        """Wait for the end; its Result."""
        timeout = stretched(timeout)
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            out, err = self._end()
            raise AssertionError(f"{self.host}: {shlex.join(self.argv)}: "
                                 f"not done within {timeout} s\n{out}{err}") from None
        return Result(self.host, self.argv, self.process.returncode, out, err)

    def stop(self, timeout=30):
        """Send SIGINT and wait for the end; its Result."""
        import signal
        self.process.send_signal(signal.SIGINT)
        return self.finish(timeout)


def build_seconds(boot_log):
    """Of what `lab up` has printed: how long it has built modules before it booted hosts."""
    times = re.findall(r"^\[ *([\d.]+) s\] (modules for|booting)", boot_log, re.MULTILINE)
    found = {what: float(seconds) for seconds, what in times}
    return found.get("booting", 0.0) - found.get("modules for", 0.0)


def _said(*words):
    """What `lab` says to these words."""
    done = subprocess.run([LAB, *words], text=True, capture_output=True, timeout=stretched(30),
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Lab:
    """A lab that is up.

    build_seconds, boot_seconds: what it took to build the modules, and the rest until all
    hosts were reached
    """

    def __init__(self, config):
        self.config = config
        self.consoles = {}
        self.scanned = {}
        self.state = None  # snapshot after the last test
        set_stretch(config.slowness)
        start = time.monotonic()
        done = subprocess.run([LAB, "up", *config.arguments()], text=True, capture_output=True,
                              timeout=stretched(400), check=False)
        if done.returncode:
            raise RuntimeError(f"lab up {' '.join(config.arguments())}: status "
                               f"{done.returncode}\n{done.stdout}\n{done.stderr}")
        self.boot_log = done.stdout
        self.build_seconds = build_seconds(done.stdout)
        self.boot_seconds = time.monotonic() - start - self.build_seconds
        self.consoles = {h["name"]: Path(h["console"]) for h in self.status()["hosts"]}
        self.scanned = dict.fromkeys(HOSTS, 0)
        self.has_kmemleak = self.ok("h1", "test", "-e", "/sys/kernel/debug/kmemleak")

    def down(self):
        """End the lab. Returns its exit status and what it said."""
        done = subprocess.run([LAB, "down"], text=True, capture_output=True,
                              timeout=stretched(60), check=False)
        return done.returncode, done.stdout + done.stderr

    def status(self):
        done = subprocess.run([LAB, "status", "-j"], text=True, capture_output=True,
                              timeout=stretched(60), check=False)
        return json.loads(done.stdout)

    def background(self, host, *argv):
        return Background(host, [str(a) for a in argv])

    def run(self, host, *argv, timeout=60, check=True):
        """Run a command in a guest; a Result. With @check it must succeed."""
        argv = [str(a) for a in argv]
        try:
            # What `lab exec` does, without a process for each of thousands.
            status, out, err = client.capture(host, argv, stretched(timeout))
        except client.TimedOut as error:
            raise AssertionError(str(error)) from None
        except LabError as error:
            status, out, err = client.NOT_REACHED, "", f"lab: {error}\n"
        result = Result(host, argv, status, out, err)
        assert not check or result.status == 0, str(result)
        return result

    def out(self, host, *argv, **options):
        return self.run(host, *argv, **options).out

    def ok(self, host, *argv, **options):
        return self.run(host, *argv, check=False, **options).status == 0

    def sh(self, host, script, **options):
        return self.run(host, "sh", "-c", script, **options)

    def json(self, host, *argv):
        return json.loads(self.out(host, *argv) or "[]")

    def helper(self, host, name, *argv, **options):
        """Run a script of tests/vm/guest in a guest."""
        return self.run(host, "/usr/bin/python3", GUEST / name, *argv, **options)

    def helper_background(self, host, name, *argv):
        return self.background(host, "/usr/bin/python3", "-u", GUEST / name, *argv)

    def read(self, host, path):
        return self.out(host, "cat", path).strip()

    def cable(self, port, action):
        _said("cable", port, action)

    def fault(self, *words):
        """Let something go wrong in the switches; what `lab fault` says."""
        return _said("fault", *words)

    def topo(self):
        """The switches, and what they are cabled to, as `lab topo` says."""
        return _said("topo")

    def ping(self, host, target, *options, timeout=60, check=True):
        """One ping run. Returns (transmitted, received)."""
        result = self.run(host, "ping", "-q", *options, target, timeout=timeout, check=False)
        match = re.search(r"(\d+) packets transmitted, (\d+) received", result.out)
        assert match, str(result)
        sent, received = int(match[1]), int(match[2])
        assert not check or sent == received, str(result)
        return sent, received

    def wait(self, host, condition, deadline, what, first="", then=""):
        """Wait in the guest until a shell condition holds: one round trip.

        @first, @then: shell text to run before and after, with its separator.
        """
        script = f"{first}until {condition}; do sleep 0.05; done{then}"
        seconds = stretched(deadline)
        result = self.run(host, "timeout", str(seconds), "sh", "-c", script, check=False,
                          timeout=deadline + 20)
        assert result.status == 0, f"{host}: not within {seconds} s: {what}\n{result.err[-500:]}"

    def reachable(self, host, *targets, deadline=30, first=""):
        """Wait until all addresses answer."""
        # An echo every 0.1 s until one is answered: the first often goes to an address
        # that has just changed.
        pings = " && ".join(f"ping -q -c1 -i0.1 -w1 {target} > /dev/null" for target in targets)
        self.wait(host, pings, deadline, f"{' and '.join(targets)} answer", first=first)

    def carrier(self, host, netdev="ib0"):
        return self.out(host, "cat", f"/sys/class/net/{netdev}/carrier", check=False).strip() == "1"

    def port_state(self, host, device="sib0"):
        return self.out(host, "cat", f"/sys/class/infiniband/{device}/ports/1/state",
                        check=False).strip()

    def hw_counters(self, host, device="sib0"):
        folder = f"/sys/class/infiniband/{device}/ports/1/hw_counters"
        lines = self.sh(host, f"cd {folder} && grep -H . *").out.splitlines()
        return {name: int(value) for name, _, value in (line.partition(":") for line in lines)
                if value.isdigit()}

    def net_stats(self, host, netdev="ib0"):
        return self.json(host, "ip", "-j", "-s", "link", "show", netdev)[0]["stats64"]

    def address(self, host):
        """Wait for ib0 and set it up with the lab's addresses, as `lab up` does."""
        self.wait(host, "test -d /sys/class/net/ib0", 20, "there is an ib0",
                  then=" && ip link set ib0 up && "
                       f"ip addr replace {ipv4(host)}/24 dev ib0 && "
                       f"ip addr replace {ipv6(host)}/64 dev ib0 nodad")

    # Splats and the kernel log

    def begin(self, name, deadline=40):
        """Mark the start of a test in both kernel logs; both hosts must reach each other."""
        line = shlex.quote(f"{MARK}start {name}")
        on_hosts(lambda host: self.reachable(host, ipv4(other(host)), deadline=deadline,
                                             first=f"echo {line} > /dev/kmsg; "))

    def splats(self):
        """Splats on the consoles since the last call, as text."""
        found = []
        for host, path in self.consoles.items():
            text = path.read_bytes().decode(errors="replace") if path.exists() else ""
            new = text[self.scanned.get(host, 0):]
            self.scanned[host] = len(text)
            found += [f"{host}: {item.kind}: {item.excerpt}" for item in splat.scan(new)]
        return found

    def leaks(self, settle=False):
        """What kmemleak finds in both guests, as text; nothing on kernels without it.

        An object counts when it is five seconds old and did not change between
        two scans. @settle: wait for those five seconds first.
        """
        if not self.has_kmemleak:
            return []
        wait = "sleep 6; echo scan > kmemleak; " if settle else ""
        script = f"cd /sys/kernel/debug && {wait}echo scan > kmemleak; cat kmemleak"
        logs = on_hosts(lambda host: self.sh(host, script, timeout=120).out)
        return [f"{host}: {item.kind}: {item.excerpt}" for host, log in logs.items()
                for item in splat.scan(log)]

    def logged(self, host):
        """A host's kernel log since the last test began."""
        return since_mark(self.out(host, "dmesg"))

    def dmesg_splats(self):
        """Splats in both kernel ring buffers since the last test began, as text."""
        logs = on_hosts(lambda host: self.out(host, "dmesg"))
        return [text for host, log in logs.items() for text in splats_since_mark(host, log)]


def since_mark(log):
    """A kernel log after its last mark; all of it if there is none."""
    return log.rpartition(f"{MARK}start ")[2]


def splats_since_mark(host, log):
    """Splats in a kernel log after its last mark, as text."""
    return [f"{host}: {item.kind}: {item.excerpt}" for item in splat.scan(since_mark(log))]


# One command that prints everything of a host's state, with few processes: a
# round trip costs more than what it runs, and to start a program costs most.
STATE_SCRIPT = """\
printf 'addr show\nmaddr show\nroute show\n' | ip -j -d -batch -
ip -j -6 route show
printf 'link show\ndev show\nres show\n' | rdma -j -b -"""
SEPARATOR = "--- openipoib"


def documents(text):
    """The JSON documents that stand one after another in @text."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        document, at = decoder.raw_decode(text, at)
        found.append(document)
    return found


def parse_state(text):
    """What STATE_SCRIPT printed, reduced to what a test must leave as it was."""
    (link_list, group_list, routes4, routes6, rdma_list, device_list,
     resource_list) = documents(text)
    links = {
        link["ifname"]: {
            "flags": sorted(link["flags"]), "mtu": link["mtu"], "operstate": link["operstate"],
            # Flags and QPN of an IPoIB address change when the driver restarts.
            "address": link.get("address", "")[12 if link["link_type"] == "infiniband" else 0:],
            "kind": link.get("linkinfo", {}).get("info_kind"), "txqlen": link.get("txqlen")}
        for link in link_list}
    addresses = {
        entry["ifname"]: sorted(f"{a['local']}/{a['prefixlen']} {a['scope']}"
                                for a in entry["addr_info"] if "local" in a)
        for entry in link_list}
    groups = {entry["ifname"]: sorted(json.dumps(m, sort_keys=True) for m in entry["maddr"])
              for entry in group_list if entry["ifname"].startswith("ib")}
    rdma = {link["ifname"]: {k: link.get(k) for k in ("state", "physical_state", "netdev", "lid")}
            for link in rdma_list}
    devices = {dev["ifname"]: {k: dev.get(k) for k in ("node_type", "node_guid", "sys_image_guid")}
               for dev in device_list}
    # A process that has merely opened a device holds nothing of a driver: a context is not counted.
    resources = {res["ifname"]: {k: v for k, v in res.items() if k not in ("ifindex", "ctx")}
                 for res in resource_list}
    routes = sorted(f"{r['dst']} {r.get('dev')}" for r in routes4 + routes6)
    return {"links": links, "addresses": addresses, "groups": groups, "rdma": rdma,
            "devices": devices, "resources": resources, "routes": routes}


def series(lab, host):
    """The version of a host's kernel, as (6, 17)."""
    return tuple(map(int, lab.out(host, "uname", "-r").split("-")[0].split(".")[:2]))


def on_hosts(function, hosts=HOSTS):
    """Call @function(host) for the hosts at once; the results by host."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(hosts, pool.map(function, hosts), strict=True))


def snapshot(lab, hosts=HOSTS):
    """The network state of each host."""
    return on_hosts(lambda host: parse_state(lab.sh(host, STATE_SCRIPT).out), hosts)


def snapshot_and_splats(lab):
    """The network state of each host, and splats in their kernel logs as text."""
    texts = on_hosts(lambda host: lab.sh(host, f"dmesg; echo '{SEPARATOR}'\n{STATE_SCRIPT}").out)
    states, found = {}, []
    for host, text in texts.items():
        log, _, rest = text.partition(SEPARATOR)
        states[host] = parse_state(rest)
        found += splats_since_mark(host, log)
    return states, found


def difference(before, after, path=""):
    """The differing leaves of two snapshots, a line each."""
    if isinstance(before, dict) and isinstance(after, dict):
        lines = []
        for key in sorted(before.keys() | after.keys()):
            lines += difference(before.get(key), after.get(key), f"{path}/{key}")
        return lines
    return [] if before == after else [f"{path}: was {before}, is {after}"]
