# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Runs what verbs_programs.py lists, between two hosts or within one."""

import contextlib
import re
import time
from dataclasses import dataclass

from harness import GUEST, ipv4, stretched, until
from verbs_programs import TROUBLE

SECONDS = 60
FILE = "/run/sent"


@dataclass(frozen=True)
class Place:
    """Where a server and its client run, and under which addresses.

    hosts:  of the server and the client
    prefix: words before a client that uses the client's IPoIB interface
    """

    name: str
    hosts: tuple
    devices: tuple
    addresses: tuple
    tcp: str
    prefix: tuple = ()

    def words(self, command, end):
        """A command of the table with its places filled in, for one @end: 0 server, 1 client."""
        return [word.format(device=self.devices[end], server=self.addresses[0],
                            client=self.addresses[1], tcp=self.tcp, file=FILE)
                for word in command.split()]


PAIR = Place("two hosts", ("h1", "h2"), ("sib0", "sib0"), (ipv4("h1"), ipv4("h2")), ipv4("h1"))
VETH = Place("one host", ("h1", "h1"), ("sib8", "sib9"), ("10.11.0.1", "10.11.0.2"), "127.0.0.1",
             ("ip", "netns", "exec", "n1"))


@contextlib.contextmanager
def at(lab, place):
    """Have a place ready."""
    if place is PAIR:
        yield place
        return
    script = GUEST / "veth.sh"
    lab.run("h1", script, "up", timeout=120)
    try:
        yield place
    finally:
        lab.run("h1", script, "down")


def _listens(lab, host, ready):
    kind, _, port = ready.partition(" ")
    seen = {"tcp": f"ss -Hltn 'sport = {port}' | grep -q .",
            "udp": f"ss -Hlun 'sport = {port}' | grep -q .",
            "cm": f"rdma resource show cm_id | grep -q 'LISTEN.*:{port} '"}[kind]
    return lab.ok(host, "sh", "-c", seen)


def _wait_ready(lab, place, program, server):
    """Wait until the server listens, or has ended because it refuses."""
    kind, _, text = program.ready.partition(" ")
    if kind == "says":
        while text not in server.line():
            pass
        return
    until(lambda: server.process.poll() is not None
          or _listens(lab, place.hosts[0], program.ready), 20,
          f"{program.server} is ready")


def _client(lab, place, program):
    words = place.words(program.client, 1)
    if "{tcp}" not in program.client:
        words = [*place.prefix, *words]
    return lab.run(place.hosts[1], "timeout", stretched(SECONDS), *words, check=False,
                   timeout=SECONDS + 20)


def _has_refused(done):
    """It has ended with an error of its own: it was there, had the time, and no signal ended it."""
    return done.status > 0 and not 124 <= done.status < 192


def judge(program, client, server):
    """Assert that a program did what the table says."""
    both = f"{client}\n{server or ''}"
    said = client.out + client.err
    if program.refuses:
        assert _has_refused(client), both
        assert re.search(program.refuses, said, re.MULTILINE), both
        assert program.endless or server is None or _has_refused(server), both
        return
    assert client.status == 0, both
    assert re.search(program.says, said), both
    if server is None:
        return
    assert program.endless or server.status == 0, both
    assert not TROUBLE.search(said + server.out + server.err), both


def _of_this_release(lab, place, program):
    """The program, or the one in its place where the hosts' release has other options."""
    if not program.newer:
        return program
    text, newer = program.newer
    usage = lab.run(place.hosts[1], program.client.split()[0], "-h", check=False)
    return newer if text in usage.out + usage.err else program


def run(lab, place, program):
    """Run a program once; AssertionError if it did not do what it must."""
    program = _of_this_release(lab, place, program)
    if not program.server:
        judge(program, _client(lab, place, program), None)
        return
    # Its own time limit ends a server, too, that nobody could connect to.
    words = ["timeout", "-k", "2", stretched(SECONDS), *place.words(program.server, 0)]
    with lab.background(place.hosts[0], *words) as server:
        _wait_ready(lab, place, program, server)
        client = _client(lab, place, program)
        done = server.stop() if program.endless else server.finish(20)
    judge(program, client, done)


def note(record_property, lab, name, place, seen="passed"):
    """Have the table of trials say what was seen; for a test that has come that far."""
    record_property("trial", (name, f"{lab.config.kernel}, {place.name}", seen))


def run_all(lab, place, programs, record_property, circumstances=""):
    """Run programs one after another, note each result, and fail if one has failed."""
    where = ", ".join(filter(None, (lab.config.kernel, place.name, circumstances)))
    failed = []
    lab.run(place.hosts[1], "sh", "-c", f"head -c 300000 /dev/urandom > {FILE}")
    for program in programs:
        start = time.monotonic()
        try:
            run(lab, place, program)
            result = "refused" if program.refuses else "passed"
        except AssertionError as error:
            failed.append(f"{program.name}: {error}")
            result = "FAILED"
        record_property("program", (program.name, where, result,
                                    round(time.monotonic() - start, 1)))
    assert not failed, "\n\n".join(failed)
