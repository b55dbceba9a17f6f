#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Random faults in a fabric of ibfabric, for hours of its time; see soak.sh.

soak.py HOURS SEED CTL...: CTL is ibfabric-ctl and how it finds its socket. Now and then
all faults are cleared: all hosts have to ping each other, and all that was counted to
add up. Exit status 0 if they did.
"""
import random
import subprocess
import sys
import time
from itertools import permutations

from balance import Balance

HOSTS = (0, 1, 2)
SWITCHES = ("s1", "s2", "s3", "s4")
BETWEEN = ("s1:5", "s1:6", "s1:7", "s2:6", "s2:7", "s3:7")   # links of switches, by one end
AT_HOSTS = ("h0:1", "h1:1", "h2:1", "s2:2", "s3:2", "s4:2")  # and those of hosts
SHORTEST_SECONDS, LONGEST_SECONDS = 0.5, 120     # of a fault
MEAN_PAUSE_SECONDS = 45
FAULTS_A_CHECK = 40
RECOVERY_SECONDS = 300
PACKETS = ("mad", "smp", "gmp", "ud", "ud,rc", "mad,ud,rc,other")
# Kind: how often
WEIGHTS = {"link": 6, "port": 3, "switch": 2, "stuck": 3, "cut": 2, "drop": 4, "duplicate": 3,
           "corrupt": 3, "reorder": 3, "delay": 3, "rate": 2}


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


class Soak:
    def __init__(self, chance, ctl):
        self.chance = chance
        self.ctl = lambda *words: run(*ctl, *words)
        self.balance = Balance(self.ctl)
        self.counts = dict.fromkeys(WEIGHTS, 0)
        self.pings = 0
        self.slowest = 0.0

    def words(self, kind):
        """Of a random fault of this kind."""
        chance = self.chance
        if kind == "stuck":
            return [chance.choice(SWITCHES)]
        if kind == "cut":
            return chance.sample((*SWITCHES, "h0", "h1", "h2"), chance.randint(1, 3))
        place = chance.choice((*BETWEEN, *AT_HOSTS))
        if kind in ("link", "port"):
            return [place, "down"]
        if kind == "rate":
            return [place, f"{chance.choice((64, 1000, 10000))}kbit"]
        amount = (f"{chance.randint(1, 500)}ms" if kind == "delay"
                  else f"{chance.choice((1, 5, 20, 50))}%")
        # Hosts believe what comes by a cable: corrupted MADs would set them up wrongly.
        packets = ("ud,rc" if kind == "corrupt" and place in AT_HOSTS
                   else chance.choice((*PACKETS, None)))
        return [place, amount, *(("--packets", packets) if packets else ())]

    def fault(self):
        kind, = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        seconds = min(SHORTEST_SECONDS + self.chance.expovariate(1 / 15), LONGEST_SECONDS)
        self.counts[kind] += 1
        if kind == "switch":
            self.switch_off(self.chance.choice(SWITCHES), seconds)
        else:
            self.ctl("fault", kind, *self.words(kind), "--for", f"{seconds * 1000:.0f}ms")

    def switch_off(self, switch, seconds):
        """Until its counters are written down, it cannot come back."""
        self.ctl("fault", "switch", switch, "down")
        time.sleep(seconds)
        self.balance.forget(switch)
        self.ctl("fault", "switch", switch, "up")

    def ping(self, source, target, end):
        command = (("nsenter", f"--net=/run/netns/n{source}") if source else ()) + (
            "ping", "-q", "-c", "1", "-W", "1", target)
        while subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
            if time.monotonic() > end:
                return [f"no ping from h{source} to {target} within {RECOVERY_SECONDS} s"]
        self.pings += 1
        return []

    def check(self):
        """What is wrong, line by line, once all faults have gone."""
        self.ctl("fault", "clear")
        start = time.monotonic()
        wrong = [line for source, target in permutations(HOSTS, 2)
                 for address in (f"10.0.0.{target + 1}", f"fd00::{target + 1}")
                 for line in self.ping(source, address, start + RECOVERY_SECONDS)]
        self.slowest = max(self.slowest, time.monotonic() - start)
        return wrong + self.balance.check()

    def hours(self, hours):
        start, number = time.monotonic(), 0
        while (past := time.monotonic() - start) < hours * 3600:
            for _ in range(FAULTS_A_CHECK):
                self.fault()
                time.sleep(self.chance.expovariate(1 / MEAN_PAUSE_SECONDS))
            number += FAULTS_A_CHECK
            if wrong := self.check():
                sys.exit(f"after {past / 3600:.1f} h and {number} faults:\n" + "\n".join(wrong))
            if number % (FAULTS_A_CHECK * 2) == 0:
                print(f"{(time.monotonic() - start) / 3600:.1f} h, {number} faults:"
                      " all hosts ping each other, all counters add up", flush=True)
        return (time.monotonic() - start) / 3600, number


def main():
    hours, seed = float(sys.argv[1]), int(sys.argv[2])
    soak = Soak(random.Random(seed), sys.argv[3:])
    if wrong := soak.check():
        sys.exit("before any fault:\n" + "\n".join(wrong))
    past, number = soak.hours(hours)
    if wrong := list(soak.balance.perfquery()):
        sys.exit("\n".join(wrong))
    print(f"{past:.1f} hours, {number} faults: "
          + ", ".join(f"{count} {kind}" for kind, count in soak.counts.items()))
    print(f"{soak.pings} pings of all pairs, all answered within {soak.slowest:.0f} s"
          " of the last fault's end")
    print(f"counters: {len(soak.balance.links)} directions of links exact in {number // FAULTS_A_CHECK}"
          f" checks; {soak.balance.exact} of {soak.balance.checks} times a cable had stayed up,"
          " and was exact")


if __name__ == "__main__":
    main()
