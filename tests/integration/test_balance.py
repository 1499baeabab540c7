#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rebalancing: the plan's tables replace those found in the switches, and no packet is lost.

All files are lost while parts of the fabric are absent; then these return. A host that was absent
keeps its LID but not its place in the plan, and so does a leaf as long as it is absent: the plan of
the LIDs is not found again, and tables differ from the new plan.
"""

import json
import os
import re
import subprocess

import labtest
import lft_trace
import pmlab
import simlab
import wire
from test_drain import Replay, read_tables

BEGIN = re.compile(r"portmajor: rebalancing: (\d+) entr(?:y|ies) in (\d+) LFT blocks? of (\d+) "
                   r"switch(?:es)? (?:is|are) not the plan's; (\d+) blocks? per second$", re.M)
END = re.compile(r"portmajor: rebalanced: LFT blocks sent (\d+), acked (\d+); [\d.]+ s; "
                 r"entries left as they were found: (\d+)$", re.M)


class Lab(pmlab.Lab):
    """A Lab with further lines in portmajor.conf."""

    def __init__(self, *args, lines="", **kwargs):
        super().__init__(*args, **kwargs)
        self.lines = lines

    def _open_sm(self):
        config = self.path / "portmajor.conf"
        config.write_text(f"flap_limit 0\n{self.lines}", encoding="ascii")
        return pmlab.open_sm(self.fabric, self.engine, config, **self._kwargs)


class BalanceCase(labtest.Folders):
    GENERATE = ()
    LOSSES = ()
    LINES = ""

    def setUp(self):
        self.netlist = simlab.Netlist(pmlab.generate(self.folder / "fabric.net", *self.GENERATE))
        self.fabric = self.enterContext(pmlab.Fabric(self.netlist))
        self.first, self.cache = (self.folder / f"{self._testMethodName}-{name}"
                                  for name in ("first", "second"))
        for folder in (self.first, self.cache):
            folder.mkdir()
        self.away = ()

    def start(self, cache):
        self.wire = wire.Wire(trace=True)
        self.lab = self.enterContext(Lab(self.netlist, fabric=self.fabric, wire=self.wire,
                                         cache_dir=cache, lines=self.LINES))
        self.lab.wire = self.wire
        return self.lab.bring_up()

    def end(self):
        self.lab.osm.process.kill()
        self.lab.osm.process.wait(30)
        self.lab.close()

    def lose_files(self):
        """Another OpenSM takes over without files, and keeps the tables that it finds."""
        self.start(self.first)
        for target in self.LOSSES:
            self.lab.event("lose", target)
        self.end()
        self.start(self.cache)
        self.assertIn("tables found in the switches: kept", self.lab.osm.log())

    def balance(self):
        state = json.loads(pmlab.kept(self.cache, "state").read_text(encoding="utf-8"))
        return state["balance"]

    def wait_balance(self, is_met, what):
        """Waits, as OpenSM writes the state in a thread of its own."""
        return simlab.poll_until(lambda: (found := self.balance()) and is_met(found) and found,
                                 pmlab.TIMEOUT_S, what)

    def replayed(self, action):
        """The result of automatic rebalancing, with all Sets after all others; (off, sent)."""
        before = read_tables(pmlab.Dump(self.lab.dump()))
        self.wire.records()
        mark = self.lab.osm.mark()
        action()
        self.lab.osm.wait_log(END.pattern, mark.log_offset, timeout=pmlab.TIMEOUT_S)
        self.lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S, sweep=False)
        log = self.lab.osm.log(mark.log_offset)
        self.assertEqual((len(BEGIN.findall(log)), len(END.findall(log))), (1, 1))
        entries, blocks, switches, rate = map(int, BEGIN.search(log).groups())
        sent, acked, left = map(int, END.search(log).groups())
        self.assertEqual((acked, left), (sent, 0))
        self.assertTrue(0 < switches <= blocks <= sent and entries >= blocks, log)
        self.replay(before, sent)
        self.check_balanced()
        return sent, rate

    def check_balanced(self):
        found = self.wait_balance(lambda now: not now["entries_off"], "no entry to be off")
        self.assertEqual(set(found.values()), {0})

    def load_ratio(self, what):
        """The load of the fullest link divided by the mean of its level and direction."""
        ratio = pmlab.load_ratio(self.lab.walk())
        print(f"{self.id()}: fullest link {what} rebalancing {ratio:.2f} of the mean")
        return ratio

    def start_replay(self, tables):
        replay = Replay(self.lab, tables)
        away = {name for target in self.away for name in self.netlist.match(target)}
        replay.leaves -= away
        replay.hosts = {lid: host for lid, host in replay.hosts.items()
                        if not away & {host, self.netlist.nodes[host].ports[1][0]}}
        return replay

    def replay(self, tables, sent):
        """The last Sets are those of rebalancing: none of them loses a packet.

        Nor do they lead a packet over a link that OpenSM has not activated yet.
        """
        asked = [r for r in self.wire.records() if (r.event, r.method) == ("asked", wire.SET)]
        sets = [r for r in asked if r.attr == simlab.ATTR_LFT]
        self.assertGreaterEqual(len(sets), sent)
        first = asked.index(sets[len(sets) - sent])
        self.assertEqual([r for r in asked[first:] if r.attr == lft_trace.ATTR_PORT_INFO], [])
        replay = self.start_replay(tables)
        replay.play(sets[:len(sets) - sent])
        replay.lost.clear()  # while parts were returning
        replay.check(list(replay.hosts))
        replay.play(sets[len(sets) - sent:])
        self.assertEqual(replay.lost[:5], [])

    def check_walk(self, plan=False):
        dump = self.lab.dump()
        self.assertEqual(pmlab.loops(dump), {})
        self.assertEqual(pmlab.walk_faults(self.lab.walk("--from-all", dump=dump), plan=plan), [])

    def check_stays(self):
        """Neither a sweep nor a restart changes anything."""
        before = pmlab.Dump(self.lab.dump())
        hup = self.lab.measure("SIGHUP", self.lab.osm.hup)
        self.assertEqual(hup.wire, 0)
        self.end()
        event = self.start(self.cache)
        self.assertEqual((event.lids_changed, self.lab.osm.log().count("tables found in")), (0, 0))
        after = pmlab.Dump(self.lab.dump())
        self.assertEqual(after.lids, before.lids)
        self.assertEqual(list(pmlab.changed_entries(before, after))[:5], [])
        self.assertNotRegex(self.lab.osm.log(), BEGIN)


class ByItself(BalanceCase):
    GENERATE = ("two-level", 6, 4, 6, 1)
    LOSSES = ("spine1", "leaf3")

    def test_spine_returns(self):
        self.lose_files()
        self.wait_balance(lambda now: now["entries_off"], "entries to be off")
        self.assertNotRegex(self.lab.osm.log(), BEGIN)
        spine, leaf = self.LOSSES
        self.away = {leaf}
        _, rate = self.replayed(lambda: self.fabric.back(spine))
        self.assertEqual(rate, 1000)
        self.check_walk()
        self.check_stays()
        self.lab.event("back", leaf)
        self.check_walk()


class LessEven(BalanceCase):
    """The plan that was made while a chassis was absent is less even than the tables found."""
    GENERATE = ("director", 36)
    LOSSES = ("s0-*", "h7-3")

    def test_chassis_returns(self):
        self.lose_files()
        chassis, host = self.LOSSES
        self.lab.event("back", chassis)
        self.wait_balance(lambda now: now["entries_off"], "entries to be off")
        before = self.load_ratio("before")
        self.lab.event("back", host)
        self.assertNotRegex(self.lab.osm.log(), BEGIN)
        self.assertLess(before, 1.5)
        self.check_walk()


class PlanFoundAgain(BalanceCase):
    """There is nothing to rebalance if the plan of the LIDs is found again."""
    GENERATE = ("xgft", 3, "3,3,3", "1,3,2")
    LOSSES = ("sw2-0",)

    def test_even_at_once(self):
        self.lose_files()
        self.wait_balance(lambda now: now["entries_off"], "entries to be off")
        self.lab.event("back", self.LOSSES[0])
        self.check_walk(plan=True)
        found = self.wait_balance(lambda now: not now["entries_off"], "no entry to be off")
        self.assertEqual(set(found.values()), {0})
        self.assertNotRegex(self.lab.osm.log(), BEGIN)


class RequestCase(BalanceCase):
    LINES = "rebalance request\n"

    def run_it(self, *args, status=0):
        env = dict(os.environ, OSM_CACHE_DIR=str(self.cache))
        done = subprocess.run([str(pmlab.CLI), "rebalance", *args], env=env, check=False,
                                    capture_output=True, text=True, timeout=pmlab.TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout


class OnRequest(RequestCase):
    GENERATE = ("two-level", 6, 4, 6, 1)
    LOSSES = ("spine1", "leaf3")

    def test_nothing_unasked(self):
        self.lose_files()
        spine, leaf = self.LOSSES
        self.lab.event("back", spine)
        self.assertNotRegex(self.lab.osm.log(), BEGIN)
        off = self.wait_balance(lambda now: now["entries_off"], "entries to be off")
        self.assertIn(f"{off['entries_off']} entries off the plan's",
                      self.run_it("--dry-run", status=1))
        hup = self.lab.measure("SIGHUP", self.lab.osm.hup)
        self.assertEqual(hup.wire, 0)
        self.assertNotRegex(self.lab.osm.log(), BEGIN)
        self.away = {leaf}
        self.assertGreater(self.load_ratio("before"), 1.6)
        sent, rate = self.replayed(lambda: self.run_it("--rate", "200"))
        self.assertEqual((sent, rate), (off["blocks_off"], 200))
        self.assertLess(self.load_ratio("after"), 1.39)
        self.check_walk()
        self.check_stays()
        self.lab.event("back", leaf)
        self.check_walk(plan=True)


class Lies(RequestCase):
    """A leaf acknowledges blocks with their former content."""

    GENERATE = ("two-level", 6, 4, 6, 1)
    LOSSES = ("spine1", "leaf3")

    def test_ends(self):
        self.lose_files()
        self.lab.event("back", self.LOSSES[0])
        self.wait_balance(lambda now: now["entries_off"], "entries to be off")
        lies = self.wire.stale(node="leaf2", attr=simlab.ATTR_LFT)
        mark = self.lab.osm.log_offset()
        self.run_it("--rate", "200")
        self.lab.osm.wait_log(r"rebalanced: .*, a block acknowledged with other content", mark)
        self.assertEqual(lies.acted, 1)
        lies.off()
        self.run_it("--rate", "200")
        self.wait_balance(lambda now: not now["entries_off"], "tables to be the plan's")


class Interrupted(RequestCase):
    """A failure, and a sweep, while blocks are sent."""
    GENERATE = ("director", 36)
    LOSSES = ("s0-*", "h7-3")
    CABLE = "leaf5:22"
    RATE = 500  # a sweep takes less time than all blocks
    SENT = 300  # the time of the event
    OUT = 16  # the most Sets that OpenSM has by then

    def rebalance(self, action):
        """An event meanwhile: (replay so far, Sets afterwards, log)."""
        chassis, host = self.LOSSES
        self.away = {host}
        self.lose_files()
        self.lab.event("back", chassis)
        self.wait_balance(lambda now: now["entries_off"], "entries to be off")
        replay = self.start_replay(read_tables(pmlab.Dump(self.lab.dump())))
        self.wire.records()
        mark = self.lab.osm.mark()
        with self.wire.hold("request", method="set", attr=simlab.ATTR_LFT, skip=self.SENT,
                            times=1):
            self.run_it("--rate", str(self.RATE))
            self.wire.wait_held()
            before = self.wire.records()
            action()
            self.wire.release()
        replay.play(before)
        self.lab.osm.wait_log(END.pattern, mark.log_offset, timeout=pmlab.TIMEOUT_S)
        self.lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        self.assertEqual((replay.sets >= self.SENT, replay.lost[:5]), (True, []))
        log = self.lab.osm.log(mark.log_offset)
        self.assertEqual((len(BEGIN.findall(log)), len(END.findall(log))), (1, 1))
        sets = [r for r in self.wire.records()
                if (r.event, r.attr, r.method) == ("asked", simlab.ATTR_LFT, wire.SET)]
        return replay, sets, log

    def test_failure(self):
        """The repair comes first, then the rest; only the failure cuts paths."""
        replay, sets, log = self.rebalance(lambda: self.fabric.lose(self.CABLE))
        replay.down = set(self.netlist.link_at(*self.cable()))
        replay.check(list(replay.hosts))
        cut = {(leaf, lid) for _, leaf, lid in replay.lost}
        self.assertTrue(cut)
        repair = next(r for r in pmlab.Repair.find(log) if r.sent)
        self.assertEqual((repair.links_down, repair.acked, repair.gave_up),
                         (1, repair.sent, False))
        mended = None
        for number, record in enumerate(sets, 1):
            replay.lost.clear()
            replay.play([record])
            self.assertLessEqual({(leaf, lid) for _, leaf, lid in replay.lost}, cut)
            cut = {pair for pair in cut if not replay.arrives(*pair)}
            if not cut and mended is None:
                mended = number
        self.assertLessEqual(mended, repair.sent + self.OUT)
        self.assertGreater(len(sets), 2 * (repair.sent + self.OUT))
        self.assertLess(log.index(f"portmajor repair {repair.number}: "),
                        END.search(log).start())
        self.check_walk()
        self.check_balanced()

    def cable(self):
        name, port = self.CABLE.split(":")
        return name, int(port)

    def test_failure_sweep(self):
        """It goes on in the discovery, pauses, and ends after it."""
        replay, sets, log = self.rebalance(lambda: self.lab.osm.hup())
        replay.play(sets)
        self.assertEqual(replay.lost[:5], [])
        runs = [run.sent for run in pmlab.Run.find(log)]
        self.assertEqual(runs, [0] * len(runs))
        run = log.index("portmajor run")
        self.assertTrue(BEGIN.search(log).start() < run < END.search(log).start(), log)
        self.check_walk()
        self.check_balanced()


if __name__ == "__main__":
    labtest.main()
