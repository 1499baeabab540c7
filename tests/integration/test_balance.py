#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rebalancing: tables found in the switches go over to the plan's, and no packet is lost.

All files are lost while parts of the fabric are away; these come back then. A host that was
away keeps its LID but not its place in the plan, and so does a leaf as long as it is away: the
plan that the LIDs came from is not found again, and tables are off the one that was made.
"""

import json
import os
import re
import subprocess

import labtest
import pmlab
import simlab
import wire
from test_drain import Replay, read_tables

BEGIN = re.compile(r"portmajor: rebalancing: (\d+) entries in (\d+) LFT blocks of (\d+) switches "
                   r"are not the plan's; (\d+) blocks per second$", re.M)
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
        self.cache = self.folder / "second"
        for folder in (self.folder / "first", self.cache):
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
        """Another OpenSM takes over, knows of nothing, and keeps what it finds."""
        self.start(self.folder / "first")
        for target in self.LOSSES:
            self.lab.event("lose", target)
        self.end()
        self.start(self.cache)
        self.assertIn("tables found in the switches: kept", self.lab.osm.log())

    def balance(self):
        state = json.loads(pmlab.kept(self.cache, "state").read_text(encoding="utf-8"))
        return state["balance"]

    def wait_balance(self, is_met, what):
        """OpenSM writes the state in a thread of its own."""
        return simlab.poll_until(lambda: (found := self.balance()) and is_met(found) and found,
                                 pmlab.TIMEOUT_S, what)

    def replayed(self, action):
        """What came of it by itself, all of it sent after all else; (off, sent)."""
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
        found = self.wait_balance(lambda now: not now["entries_off"], "no entry to be off")
        self.assertEqual(set(found.values()), {0})
        return sent, rate

    def replay(self, tables, sent):
        """The last Sets are those of rebalancing: none of them loses a packet."""
        sets = [r for r in self.wire.records()
                if (r.event, r.attr, r.method) == ("asked", simlab.ATTR_LFT, wire.SET)]
        self.assertGreaterEqual(len(sets), sent)
        replay = Replay(self.lab, tables)
        away = {name for target in self.away for name in self.netlist.match(target)}
        replay.leaves -= away
        replay.hosts = {lid: host for lid, host in replay.hosts.items()
                        if not away & {host, self.netlist.nodes[host].ports[1][0]}}
        replay.play(sets[:len(sets) - sent])
        replay.lost.clear()  # while parts were coming up
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
        self.assertEqual((event.moved, self.lab.osm.log().count("tables found in")), (0, 0))
        after = pmlab.Dump(self.lab.dump())
        self.assertEqual(after.lids, before.lids)
        self.assertEqual(list(pmlab.changed_entries(before, after))[:5], [])
        self.assertNotRegex(self.lab.osm.log(), BEGIN)


class ByItself(BalanceCase):
    GENERATE = ("director", 36)
    LOSSES = ("s0-*", "h7-3")

    def test_chassis_returns(self):
        self.lose_files()
        self.wait_balance(lambda now: now["entries_off"], "entries to be off")
        self.assertNotRegex(self.lab.osm.log(), BEGIN)
        chassis, host = self.LOSSES
        self.away = {host}
        _, rate = self.replayed(lambda: self.fabric.back(chassis))
        self.assertEqual(rate, 1000)
        self.check_walk()
        self.check_stays()
        self.lab.event("back", host)
        self.check_walk()


class PlanFoundAgain(BalanceCase):
    """Nothing is to be rebalanced where the plan that the LIDs came from is found again."""
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


class OnRequest(BalanceCase):
    GENERATE = ("two-level", 6, 4, 6, 1)
    LOSSES = ("spine1", "leaf3")
    LINES = "rebalance request\n"

    def run_it(self, *args, status=0):
        env = dict(os.environ, OSM_CACHE_DIR=str(self.cache))
        done = subprocess.run([str(pmlab.CLI), "rebalance", *args], env=env, check=False,
                                    capture_output=True, text=True, timeout=pmlab.TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

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
        sent, rate = self.replayed(lambda: self.run_it("--rate", "200"))
        self.assertEqual((sent, rate), (off["blocks_off"], 200))
        self.check_walk()
        self.check_stays()
        self.lab.event("back", leaf)
        self.check_walk(plan=True)


if __name__ == "__main__":
    labtest.main()
