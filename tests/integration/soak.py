#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Soak: random events on random fabrics, hour after hour, judged each time that all is still.

    soak.py --minutes 10 [--seed N] [--first K] [--append docs/evidence/soak.md]

A series is a fabric (kind, LMC, missing parts) with some 100 events on it: failures and returns,
flaps, reboots, SIGHUPs, kills of opensm at any datagram and restarts, dropped, doubled and delayed
datagrams, a second subnet manager that takes over and leaves, and hosts that join multicast groups
and leave them. As with IPoIB, a host joins again when its link has come back, and all hosts do
after a change of OpenSM. Series K of seed N is always the same draw, so a fault is found again by
`--seed N --first K --series 1`; events that depend on time (at which datagram a kill falls) may
differ.

Judged after every few events, with the wire whole again: by the tables read back from the switches
every pair with an up-then-down path is reached, without a loop; multicast packets of each member
reach each other member once and no other host, before a further sweep, too; LIDs are those of the
first sweep and none is given twice; entries are those of a computation from scratch; both ends of
each link that is up are ACTIVE; no request is left outstanding; memory does not grow.
"""

import argparse
import contextlib
import dataclasses
import datetime
import pathlib
import random
import re
import sys
import tempfile
import time

import mgroups
import pmlab
import simlab
import wire as wires

EVENTS = 100  # of a series
JUDGED_EVERY = 10
MOST_LOST = 5  # targets at a time
GROUPS = 12
BEFORE = "before the sweep"
REQUEST_INVALID = 0x200  # status of the SA's answer for a port that it does not know
JOINING = 3  # hosts at a time
MOST_JOINED = 36  # members in all: each join is a program
# A director chassis that dies in the middle of a discovery: OpenSM queries each port of its 27
# switches in vain, 800 ms and four at a time, which takes over two minutes.
TIMEOUT_S = 900
LOSSY = ("drop", "twice", "delay")

KINDS = (
    ("director", "36"), ("two-level", "6", "3", "5", "2"), ("two-level", "9", "4", "4", "1"),
    ("xgft", "3", "4,3,3", "1,3,2"), ("xgft", "3", "6,4,3", "1,4,4"),
    ("xgft", "4", "3,2,2,3", "1,2,2,2"))
MISSING = ("", "", "links=2", "links=1,hosts=2", "switches=1")


class Fault(Exception):
    """A fault that a judge found."""


@dataclasses.dataclass
class Tally:
    """The events of all series."""
    series: int = 0
    events: int = 0
    kills: int = 0
    handovers: int = 0
    judged: int = 0
    members: int = 0  # that joined or left
    acted: int = 0  # datagrams dropped, doubled or delayed

    def __str__(self):
        return (f"{self.series} series, {self.events} events ({self.kills} kills, "
                f"{self.handovers} handovers, {self.members} members that joined or left, "
                f"{self.acted} datagrams lost, doubled or late), judged {self.judged} times")


def rss_kib(pid):
    """Resident memory of a process."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))


def draw_part(draw, netlist):
    """A node, or a cable of a switch."""
    name = draw.choice(sorted(netlist.nodes))
    if name in netlist.switches and draw.random() < 0.6:
        return f"{name}:{draw.choice(sorted(netlist.nodes[name].ports))}"
    return name


class Series:
    """One fabric and its events."""

    # Of each series; test_storm.py has others.
    KINDS, LMCS, MISSING = KINDS, (0, 0, 0, 1, 2, 3), MISSING
    EVENTS, JUDGED_EVERY, MOST_LOST = EVENTS, JUDGED_EVERY, MOST_LOST

    def __init__(self, seed, number, folder, tally):
        self.random = random.Random(f"{seed}/{number}")
        self.folder, self.tally = folder, tally
        self.down, self.history = [], []
        # (number of the group, host): members, and those of them that have to join again.
        self.joined, self.rejoining = set(), set()
        r = self.random
        self.kind, self.lmc = r.choice(self.KINDS), r.choice(self.LMCS)
        self.missing = r.choice(self.MISSING)
        self.name = (f"{' '.join(self.kind)}, LMC {self.lmc}"
                     + (f", without {self.missing}" if self.missing else ""))
        self.netlist = self._generate(folder / "fabric.net")
        self.cache = folder / "cache"
        self.cache.mkdir()
        self.config = folder / "portmajor.conf"
        self.config.write_text("flap_limit 0\n")  # tables are to be those of the links that are up
        self.wire = wires.Wire(seed=r.getrandbits(32))

    def _generate(self, path):
        args = list(self.kind)
        if self.missing:
            args += ["--degrade", self.missing, "--seed", str(self.random.randrange(1000))]
        done = pmlab.run_cli("generate", "-q", *args)
        if done.returncode:
            raise simlab.SimError(done.stderr)
        path.write_text(done.stdout, encoding="ascii")
        return simlab.Netlist(path)

    # ---- running

    def _open_sm(self, host, priority, cache, wire=None):
        return self.stack.enter_context(pmlab.open_sm(
            self.fabric, config=self.config, host=host, cache_dir=cache, wire=wire,
            args=["-l", str(self.lmc), "-p", str(priority)]))

    def run(self):
        """All of it; raises Fault."""
        with contextlib.ExitStack() as self.stack:
            self.fabric = self.stack.enter_context(pmlab.Fabric(self.netlist))
            self.host = self.netlist.hosts[0]
            self.osm = self._open_sm(self.host, 5, self.cache, self.wire)
            self.osm.settle(timeout=TIMEOUT_S)
            self.lids = pmlab.Dump(self.dump()).lids
            self.members = mgroups.Members(self)
            self.judge()
            self.first_rss = rss_kib(self.osm.process.pid)
            try:
                self.go_on()
            except (Fault, simlab.SimError, AssertionError):
                self.last_log = self.osm.log()
                raise
        self.tally.series += 1

    def go_on(self):
        while len(self.history) < self.EVENTS:
            self.step()
            if len(self.history) % self.JUDGED_EVERY == 0:
                self.judge()
        while self.down:
            self.fabric.back(self.down.pop())
        self.judge()

    # ---- events

    def draw_target(self):
        target = draw_part(self.random, self.netlist)
        if ("-" in target and target in self.netlist.switches
                and self.random.random() < 0.3):
            return target.partition("-")[0] + "-*"
        return target

    def is_allowed(self, target):
        """Whether the subnet manager keeps most of the fabric, as there would be nothing to judge
        otherwise."""
        try:
            cut = self.fabric.cut_off_by(target, self.host)
        except simlab.SimError:
            return False
        return (target not in self.down and 2 * len(cut) < len(self.netlist.nodes)
                and self.host not in cut)

    def lose(self):
        for target in (self.draw_target() for _ in range(20)):
            if len(self.down) < self.MOST_LOST and self.is_allowed(target):
                self.down.append(target)
                self.fabric.lose(target)
                self.note_cut_off()
                return f"lose {target}"
        return self.back()

    def back(self):
        if not self.down:
            return "nothing"
        target = self.down.pop(self.random.randrange(len(self.down)))
        self.fabric.back(target)
        return f"back {target}"

    def flap(self):
        target = self.draw_target()
        if not self.is_allowed(target):
            return "nothing"
        times = self.random.randint(1, 4)
        for _ in range(times):
            self.fabric.lose(target)
            self.note_cut_off()
            self.await_smps()
            self.fabric.back(target)
        return f"flap {target} {times} times"

    def reboot(self):
        """Reboots a node, or the switches of a chassis: they come back without anything that was
        set."""
        target = self.draw_target()
        if ":" in target or not self.is_allowed(target):
            return "nothing"
        self.fabric.lose(target)
        self.note_cut_off()
        for name in self.netlist.match(target):
            self.fabric.clear(name)
        self.await_smps()
        self.fabric.back(target)
        return f"reboot {target}"

    def hup(self):
        self.osm.hup()
        return "hup"

    def kill(self):
        """Kills OpenSM at any datagram, and starts it anew with its files."""
        at = self.await_smps()
        self.osm.process.kill()
        self.osm.process.wait()
        self.osm.stop()
        self.osm = self._open_sm(self.host, 5, self.cache, self.wire)
        # Until OpenSM has handlers for signals, a SIGHUP ends it.
        simlab.poll_until(lambda: self.osm.counters()["smps"], 60, "opensm's first SMP")
        self.tally.kills += 1
        self.to_rejoin(self.netlist.hosts)
        return f"kill after {at} SMPs"

    def loss_of_datagrams(self):
        """Until the next judgement, some requests or answers are lost."""
        action, chance = self.random.choice(LOSSY), self.random.choice((0.005, 0.02, 0.05))
        way = "request" if action == "twice" else self.random.choice(("request", "answer"))
        extra = {"delay_ms": self.random.choice((5, 150))} if action == "delay" else {}
        self.rules.append(self.wire.rule(action, way, chance=chance, **extra))
        self.to_rejoin(self.netlist.hosts)  # OpenSM may take any of them for lost
        return f"{action} {chance:.1%} of {way}s {extra or ''}"

    def handover(self):
        """Another manager with a higher priority comes, has its sweep, and leaves."""
        if self.rules:
            return "nothing"  # ibsim drops a trap 144 that is not repressed in time
        cache = self.folder / f"other-{len(self.history)}"
        cache.mkdir()
        other = self._open_sm(self.netlist.hosts[-1], 6, cache)
        other.settle(timeout=TIMEOUT_S, sweep=False)
        other.stop()
        self.tally.handovers += 1
        self.to_rejoin(self.netlist.hosts)
        return "handover"

    # ---- multicast

    def to_rejoin(self, hosts):
        """Members whose memberships OpenSM may have forgotten by the next judgement."""
        hosts = set(hosts)
        self.rejoining |= {(number, host) for number, mlid in self.members.mlid.items()
                           for host in hosts.intersection(self.members.hosts[mlid])
                           if (number, host) in self.joined}
        for host in hosts:
            self.members.gone(host)

    def note_cut_off(self):
        self.to_rejoin(self.fabric.cut_off_by(None, self.host))

    def join(self):
        """Some hosts join; the first groups have more members than others."""
        if len(self.joined) > MOST_JOINED:
            return self.end()
        number = min(self.random.randrange(GROUPS), self.random.randrange(GROUPS))
        away = self.fabric.cut_off_by(None, self.host)
        hosts = [host for host in self.random.sample(self.netlist.hosts, JOINING)
                 if (number, host) not in self.joined]
        for host in hosts:
            self.joined.add((number, host))
            self.rejoining.add((number, host))
            if not self.rules and host not in away:
                # A manager that is not ready yet refuses.
                with contextlib.suppress(simlab.SimError, AssertionError):
                    self.rejoin(number, host)
        return f"{', '.join(hosts)} join {number}"

    def rejoin(self, number, host):
        self.members.join(number, host)
        self.rejoining.discard((number, host))
        self.tally.members += 1

    def leave(self, number=None):
        """A host that surely is a member leaves this group."""
        sure = sorted((n, host) for n, host in self.joined - self.rejoining
                      if number in (None, n))
        if self.rules or not sure:
            return "nothing"
        number, host = self.random.choice(sure)
        self.members.leave(number, host)
        self.joined.discard((number, host))
        self.tally.members += 1
        return f"{host} leaves {number}"

    def end(self):
        """All members leave that can."""
        numbers = sorted({number for number, _ in self.joined - self.rejoining})
        number = self.random.choice(numbers) if numbers else None
        done = "nothing"
        while self.leave(number) != "nothing":
            done = f"{number} ends"
        return done

    def rejoin_all(self):
        """All hosts that reach the manager join again; up-then-down paths may be missing after
        failures."""
        away = self.fabric.cut_off_by(None, self.host)
        for number, host in sorted(self.rejoining):
            if host not in away:
                try:
                    self.rejoin_soon(number, host)
                except AssertionError:
                    if not self.down:
                        raise

    def rejoin_soon(self, number, host):
        """As with IPoIB: the host repeats its request until OpenSM has discovered it."""
        def joined():
            try:
                self.rejoin(number, host)
            except simlab.SimError as error:
                if not str(error).endswith(f": {REQUEST_INVALID}"):
                    raise
                return False
            return True

        simlab.poll_until(joined, TIMEOUT_S, f"{host} to be a member of {number}", every=0.5)

    def gone_hosts(self):
        """Switches' ports of hosts that are down: OpenSM may count them as members until it has
        swept."""
        switches = set(self.netlist.switches)
        return {f"{name}[{port}]" for link in self.fabric.down() for name, port in link
                if name in switches and not {n for n, _ in link} <= switches}

    def judge_multicast(self, when):
        """Judges the groups, but for those with a host whose membership is unknown; the answer with
        the group's MLID may have been lost."""
        away = self.fabric.cut_off_by(None, self.host)
        unsure = {number for number, host in self.rejoining if host not in away}
        mlids = {f"{self.members.mlid[number]:#x}" for number in unsure
                 if number in self.members.mlid}
        asking = next(host for host in self.netlist.hosts[1:] if host not in away)
        dead = self.gone_hosts() if when == BEFORE else set()
        faults = [fault for fault in self.members.faults(asking)
                  if fault.split()[0] not in mlids
                  and not ((unsure or dead) and "has entries at" in fault)
                  and not ("leads nowhere" in fault and fault.split()[2] in dead)]
        if faults:
            self.fail(f"multicast {when}: {faults[:5]}")

    def step(self):
        events = ((self.lose, 30), (self.back, 20), (self.flap, 10), (self.reboot, 8),
                  (self.hup, 8), (self.kill, 6), (self.loss_of_datagrams, 10), (self.handover, 2),
                  (self.join, 30), (self.leave, 8), (self.end, 4))
        event = self.random.choices([e for e, _ in events], [w for _, w in events])[0]
        done = event()
        self.history.append(done)
        self.tally.events += done != "nothing"
        if self.random.random() < 0.5:
            self.await_smps()

    def await_smps(self):
        """Waits until OpenSM has sent some more SMPs, or none for a while; returns their number."""
        count = int(10 ** self.random.uniform(0, 3.5))
        start = self.osm.counters()["smps"]
        deadline = time.monotonic() + 1
        simlab.poll_until(lambda: self.osm.counters()["smps"] >= start + count
                          or time.monotonic() > deadline, 60, "SMPs")
        return self.osm.counters()["smps"] - start

    # ---- judging

    rules = ()
    last_log = ""
    first_rss = 0

    def fail(self, what):
        raise Fault(f"{self.name}: {what}")

    def log(self):
        """The end of OpenSM's log, kept."""
        path = pathlib.Path(tempfile.mkstemp(prefix="soak-", suffix=".log")[1])
        path.write_text(self.last_log, encoding="utf-8", errors="replace")
        return path

    def dump(self):
        path = self.folder / "fabric.dump"
        self.fabric.dump(path, timeout=TIMEOUT_S)
        return path

    def still(self):
        """Waits for a sweep that must have seen everything."""
        self.tally.acted += sum(rule.acted for rule in self.rules)
        self.wire.clear()
        lossy, self.rules = bool(self.rules), []
        self.osm.settle(self.osm.mark(), timeout=TIMEOUT_S, sweep=False)
        self.osm.wait_traps_aged()
        if not lossy:  # otherwise OpenSM may have lost hosts that are up
            self.rejoin_all()
            self.osm.settle(self.osm.mark(), timeout=TIMEOUT_S, sweep=False)
            self.judge_multicast(BEFORE)
        mark = self.osm.mark()
        self.osm.hup()
        self.osm.settle(mark, timeout=TIMEOUT_S)
        self.rejoin_all()
        self.osm.settle(self.osm.mark(), timeout=TIMEOUT_S, sweep=False)

    def judge(self):
        self.still()
        path = self.dump()
        walked = pmlab.walk(self.netlist.path, path, "-o", "grouped", "-m", str(self.lmc))
        faults = pmlab.walk_faults(walked)
        if faults:
            self.fail(faults)
        idle = re.findall(r"^.*\t\[.* (?:Init|Armed|Down)/LinkUp", path.read_text(), re.M)
        if idle:
            self.fail(f"links that are up are not in service: {idle[:5]}")
        self.judge_multicast("in the end")
        now = pmlab.Dump(path).lids
        changed = {name: (self.lids[name], lid) for name, lid in now.items()
                 if name in self.lids and self.lids[name] != lid}
        if changed:
            self.fail(f"LIDs changed: {changed}")
        if len(set(now.values())) != len(now):
            self.fail("a LID was given twice")
        self.osm.wait_answered(TIMEOUT_S)
        rss = rss_kib(self.osm.process.pid)
        if self.first_rss and rss > 1.3 * self.first_rss + 16384:
            self.fail(f"{rss} KiB of memory, {self.first_rss} at first")
        self.tally.judged += 1


def soak(seed, first, most_series, seconds, say=print, kind=Series):
    """Runs series until time or number is over; returns the Tally. Raises Fault."""
    tally, number, end = Tally(), first, time.monotonic() + seconds
    while number < first + most_series and time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            series = kind(seed, number, pathlib.Path(folder), tally)
            say(f"--seed {seed} --first {number}: {series.name}")
            try:
                series.run()
            except (Fault, simlab.SimError, AssertionError) as error:
                raise Fault(f"--seed {seed} --first {number}: {error}; lost {series.down}; "
                            f"after {series.history[-40:]}; log: {series.log()}") from error
        number += 1
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--series", type=int, default=1 << 30)
    parser.add_argument("--append", type=pathlib.Path, help="a line of results goes here")
    options = parser.parse_args()
    seed = options.seed
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 31)
    fault = None
    try:
        tally = soak(seed, options.first, options.series, options.minutes * 60)
    except Fault as error:
        fault = error
    result = f"fault: {fault}" if fault else str(tally)
    print(result)
    if options.append:
        with options.append.open("a", encoding="utf-8") as out:
            out.write(f"| {datetime.date.today()} | `soak.py --seed {seed} --first "
                      f"{options.first}` | {result} |\n")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
