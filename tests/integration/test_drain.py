#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor drain and undrain: links leave hosts' paths, and no packet is lost.

Every LFT Set on the wire is replayed on the tables read back before, and after each one the
paths to the LIDs in its block are followed: the mixtures that packets see.
"""

import itertools
import json
import os
import pwd
import re
import subprocess
import time
import unittest
import unittest.mock

import clients
import control
import labtest
import lft_trace
import odd_netlists
import pmlab
import simlab
import wire

TRANSITION = re.compile(r"portmajor transition (\d+): (.*); LFT blocks sent (\d+), acked (\d+), "
                        r"least (\d+);.*?(; left to a routing run.*)?$", re.M)


def read_tables(dump):
    """{switch: {LID: port}}"""
    return {switch: dump.table(switch) for switch in dump.tables}


class Replay:
    """Tables as they are while Sets come, and whether hosts reach each other by them."""

    def __init__(self, lab, tables):
        dump = pmlab.Dump(lab.dump())
        self.lab, self.lids = lab, dump.lids
        self.switch_of = {lab.wire.guid(name): name for name in lab.netlist.switches}
        self.tables = tables or read_tables(dump)
        self.hosts = {self.lids[host]: host for host in lab.netlist.hosts}
        self.leaves = {lab.netlist.nodes[host].ports[1][0] for host in lab.netlist.hosts}
        self.sets, self.lost = 0, []
        self.down = set()  # (switch, port) of failed links

    def arrives(self, switch, lid):
        for _ in range(64):
            port = self.tables[switch].get(lid, 255)
            if port not in self.lab.netlist.nodes[switch].ports or (switch, port) in self.down:
                return False
            switch, _ = self.lab.netlist.nodes[switch].ports[port]
            if switch == self.hosts[lid]:
                return True
            if switch not in self.tables:
                return False
        return False

    def check(self, lids):
        self.lost += [(self.sets, leaf, lid) for lid in lids if lid in self.hosts
                      for leaf in self.leaves if not self.arrives(leaf, lid)]

    def play(self, records):
        for record in records:
            if (record.event, record.attr, record.method) != ("asked", simlab.ATTR_LFT, wire.SET):
                continue
            switch, first = self.switch_of[record.guid], record.modifier * 64
            table, new = self.tables[switch], dict(enumerate(record.data, first))
            changed = [lid for lid, port in new.items() if table.get(lid, 255) != port]
            table.update(new)
            self.sets += 1
            self.check(changed)  # others lead where they led before


class DrainCase(labtest.Folders):
    APART = True
    ENV = {}

    def options(self):
        """More of pmlab.Lab."""
        return {}

    def make_netlist(self):
        return odd_netlists.small_director().write(self.folder / "fabric.net")

    def setUp(self):
        self.netlist = self.make_netlist()
        self.fabric = self.enterContext(pmlab.Fabric(self.netlist))
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()
        self.start()
        self.healthy = pmlab.Dump(self.lab.dump())

    def start(self):
        self.wire, self.mark = wire.Wire(trace=True), 0
        self.lab = self.enterContext(pmlab.Lab(self.netlist, fabric=self.fabric, wire=self.wire,
                                               cache_dir=self.cache, env=self.ENV,
                                               **self.options()))
        self.lab.wire = self.wire
        self.lab.bring_up()

    def start_again(self):
        """The switches may have another subnet manager's multicast entries. They are read
        once, 10 s after the first sweep: no SMPs of a drain."""
        self.start()
        self.lab.osm.wait_log(r"portmajor multicast: .* read back [1-9]\d{2,} of")

    def run_it(self, *args, status=0):
        """Its output, or its messages about wrong operands."""
        env = dict(os.environ, OSM_CACHE_DIR=str(self.cache))
        done = subprocess.run([str(pmlab.CLI), *map(str, args)], env=env, capture_output=True,
                              text=True, check=False, timeout=pmlab.TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr if status == 2 else done.stdout

    def change(self, verb, *args, status=0):
        """Runs drain or undrain, waits, and replays the Sets."""
        return self.replayed(verb, lambda: self.run_it(verb, "--wait", 60, *args,
                                                       status=status))

    def replayed(self, name, action):
        before = read_tables(pmlab.Dump(self.lab.dump()))
        self.wire.records()
        event = self.lab.measure(name, action, sweep=False)
        replay = Replay(self.lab, before)
        replay.check(list(replay.hosts))
        replay.play(self.wire.records())
        self.assertEqual(replay.lost[:5], [])
        self.assertEqual(replay.sets, event.wire)
        move = TRANSITION.search(self.lab.osm.log(self.mark))
        self.mark = self.lab.osm.log_offset()
        self.assertIsNone(move[6])
        self.assertEqual(int(move[3]), int(move[4]))
        # No sweep, no discovery: only LFT Sets.
        self.assertEqual((event.wire, event.runs, event.measured["smps"]),
                         (int(move[3]), [], int(move[3])))
        self.check_state(list(map(int, move.group(1, 3, 4, 5))))
        self.told = move[2]
        return event

    def check_state(self, move):
        """It agrees with the log; OpenSM writes it in a thread of its own."""
        def noted():
            state = json.loads(pmlab.kept(self.cache, "state").read_text(encoding="utf-8"))
            return state if (state["transition"] or {}).get("number") == move[0] else None

        state = simlab.poll_until(noted, pmlab.TIMEOUT_S, "the state file")
        members = [state["transition"][name] for name in ("number", "sent", "acked", "least")]
        self.assertEqual(members, move)
        self.moves = self.moves + [move] if move[0] > 1 else [move]
        total = state["since_start"]
        self.assertEqual([total[name] for name in ("transitions", "transition_sent", "transition_acked",
                                                   "transition_least")],
                         [len(self.moves), *(sum(m[i] for m in self.moves) for i in (1, 2, 3))])
        metrics = pmlab.kept(self.cache, "portmajor.prom").read_text(encoding="ascii")
        self.assertRegex(metrics, fr'transition_blocks_sent_total{{.*}} {total["transition_sent"]}\n')

    def entries(self, switch, port):
        """The number of a switch's entries for hosts that name a port."""
        dump = pmlab.Dump(self.lab.dump())
        hosts = {dump.lids[host] for host in dump.hosts}
        return sum(to == port and lid in hosts
                   for lid, to in read_tables(dump)[switch].items())

    def check_walk(self, **kwargs):
        self.assertEqual(pmlab.walk_faults(self.lab.walk(), **kwargs), [])

    def check_healthy(self):
        self.check_walk()
        now = pmlab.Dump(self.lab.dump())
        self.assertEqual(list(pmlab.changed_entries(self.healthy, now))[:5], [])

    def state(self):
        return json.loads(self.run_it("status", "--json"))["state"]


class Director(DrainCase):
    CABLE = "leaf5:20"

    def test_cable(self):
        """It costs as much as its failure would; so does the way back."""
        used = self.entries("leaf5", 20)
        self.assertGreater(used, 0)
        for host in "h3-3", "h3-3:1":  # by the plan in force
            self.assertEqual(self.run_it("drain", host, status=2), "portmajor: drain: h3-3 is a "
                             "host: only links between switches can be drained\n")
        event = self.change("drain", self.CABLE)
        self.assertEqual(event.wire, self.lab.whatif(self.CABLE).blocks)
        self.assertRegex(self.told,
                         r"^drained: 1 cable \(leaf5\[20\]-s1-line0\[6\]\)$")
        self.assertEqual(self.entries("leaf5", 20), 0)
        self.check_walk(plan=False)
        self.assertRegex(self.run_it("drain"),
                         r"^out      leaf5:20, since \d{4}-[-\d]+ [:\d]+ by \S+\n$")
        self.assertRegex(self.run_it("status"), r"\ndrained     1: leaf5:20 \(out, since [-\d]+ [:\d]+ by \S+\)\n")
        # There is nothing to repair, or to write again.
        hup = self.lab.measure("SIGHUP", self.lab.osm.hup)
        self.assertEqual((hup.wire, hup.repairs), (0, []))
        # Now it is pulled: no host notices.
        lost = self.lab.event("lose", self.CABLE)
        self.assertEqual(lost.wire, 0)
        back = self.lab.event("back", self.CABLE)
        self.assertEqual(back.wire, 0)
        undrained = self.change("undrain", self.CABLE)
        self.assertEqual(undrained.wire, event.wire)
        self.assertRegex(self.told, r"^undrained: 1 cable \(leaf5\[20\]-")
        self.check_healthy()
        self.assertEqual(self.run_it("drain"), "none\n")

    def test_chassis(self):
        self.change("drain", "s1-*")
        self.assertRegex(self.told, r"^drained: \d+ switches \(s1-line0, ")
        self.assertEqual([self.entries(f"leaf{leaf}", 20) for leaf in (0, 5, 21)], [0, 0, 0])
        self.assertEqual(self.lab.walk("--from-all")["sm"], 0)
        self.check_walk(plan=False)
        # Its switches are up, and hosts lose nothing when it fails and returns.
        self.lab.event("lose", "s1-*")
        self.check_walk(plan=False)
        self.lab.event("back", "s1-*")
        self.change("undrain", "s1-*")
        self.check_healthy()

    def test_restart(self):
        """A new OpenSM goes on with the drains, and ends them as gently."""
        event = self.change("drain", "s1-*", "leaf7:24")
        before = read_tables(pmlab.Dump(self.lab.dump()))
        simlab.poll_until(lambda: " drained  " in self.run_it("events"), 30, "the drains' event")
        told = self.run_it("events")
        self.lab.osm.process.kill()
        self.lab.osm.process.wait(30)
        self.lab.close()
        self.start_again()
        simlab.poll_until(lambda: self.run_it("events").count("portmajor routes")
                          > told.count("portmajor routes"), 30, "the first run's events")
        for word in (" drained  ", " undrained "):  # no news
            self.assertEqual(self.run_it("events").count(word), told.count(word))
        self.assertEqual([self.entries("leaf5", 20), self.entries("leaf7", 24)], [0, 0])
        # Drained switches can still be reached, too.
        self.assertEqual(read_tables(pmlab.Dump(self.lab.dump())), before)
        self.check_walk(plan=False)
        self.assertGreaterEqual(self.change("undrain", "--all").wire, event.wire // 2)
        self.check_walk()

    def test_last_path(self):
        """Links without which hosts would be cut off stay in use, and this is reported."""
        others = [f"leaf5:{port}" for port in range(19, 27) if port != 20]
        refused = self.run_it("drain", *others, self.CABLE, status=1)
        self.assertEqual((refused, self.run_it("drain")), ("", "none\n"))
        self.change("drain", "--force", *others, self.CABLE, status=1)
        self.assertGreaterEqual(self.entries("leaf5", 20), 60)  # all hosts of other leaves
        self.check_walk(plan=False)
        shown = self.run_it("drain", status=1)
        self.assertIn("needed   leaf5:20, since ", shown)
        self.assertEqual(shown.count("out "), len(others))
        self.assertIn("needed", str(self.state()["drained"]["list"][-1]))
        self.change("undrain", "leaf5:2?")
        self.change("undrain", "leaf5")
        self.check_healthy()

    def test_forms(self):
        """undrain takes each form that drain takes, and no other link."""
        leaf, line = (self.healthy.guids[name] for name in ("leaf5", "s1-line0"))
        for what, back in ((self.CABLE, "leaf5[20]"), ("leaf5[20]", "leaf5[20]-s1-line0[6]"),
                           ("s1-line0[6]", self.CABLE), ("s1-line0[6]-leaf5[20]", "leaf[5]:20"),
                           (f"{int(line):#x}:6", f"{int(leaf):#x}:20"), (self.CABLE, "leaf5")):
            with self.subTest(f"{what}, {back}"):
                self.run_it("drain", "-q", "--wait", 60, what)
                self.run_it("drain", "-q", "--wait", 60, "leaf2:21", "leaf20:20")
                self.run_it("undrain", "-q", "--wait", 60, back)
                self.assertEqual([one[1:] for one in control.drained(self.cache)],
                                 [(21, "leaf2"), (20, "leaf20")])
                self.run_it("undrain", "-q", "--wait", 60, "leaf*:2?")
        # A port in brackets is no pattern, which would be leaf20 and leaf21.
        self.run_it("drain", "-q", "--wait", 60, "s1-*")
        self.run_it("undrain", "s1-line[0]", "s1-line1", "s1-fab0")
        self.run_it("drain", "-q", "--wait", 60, "leaf20:20")
        self.run_it("undrain", "leaf2[20]", status=2)
        self.assertEqual(len(control.drained(self.cache)), 1)

    def test_events(self):
        """Each drain and its end is one event, whatever fails and returns meanwhile."""
        for what in "s1-fab0", "s2-line0":
            self.run_it("drain", "-q", "--wait", 60, what)
        for change in "lose", "back", "lose", "back":
            self.lab.event(change, "s3-*")
        self.lab.event("lose", "s2-line0")  # pulled
        self.assertRegex(self.run_it("status", status=1),
                         r"\nmissing     1 switch, .*: s2-line0 \(drained\) \(since ")
        self.assertIn("missing    s2-line0 (drained)\n", self.run_it("events"))
        self.lab.event("back", "s2-line0")
        self.run_it("undrain", "-q", "--wait", 60, "s2-line0")
        self.lab.event("lose", "leaf6:21")
        self.lab.event("back", "leaf6:21")
        simlab.poll_until(lambda: "undrained  s2-line0" in self.run_it("events"), 30, "the event")
        events = json.loads(self.run_it("events", "--json"))["events"]
        self.assertEqual([event["kind"] for event in events
                          if "drain" in event["kind"] + event["text"]],
                         ["request", "transition", "drained"] * 2 + ["missing", "returned"]
                         + ["request", "transition", "undrained"])
        self.assertGreaterEqual(sum(event["kind"] == "missing" for event in events), 3)

    def test_power_cycle(self):
        """A drained switch has its entries again, whether OpenSM has dropped it or not: LIDs of
        drained switches, which no host uses, can still be reached."""
        def is_back():
            return read_tables(pmlab.Dump(self.lab.dump())) == before or None

        # At first no sweep has found it drained.
        for drops in True, False, True:
            with self.subTest(drops=drops):
                self.run_it("drain", "-q", "--wait", 60, "s1-*")
                before = read_tables(pmlab.Dump(self.lab.dump()))
                self.check_walk(plan=False)
                mark = self.lab.osm.mark()
                self.fabric.clear("s1-fab0")
                if drops:
                    self.lab.osm.hup()
                    self.lab.osm.settle(mark)
                    mark = self.lab.osm.mark()
                self.fabric.relink("s1-fab0")
                self.lab.osm.hup()
                self.lab.osm.settle(mark)
                simlab.poll_until(is_back, 60, "the entries")
                self.check_walk(plan=False)

    def test_until(self):
        """OpenSM ends a drain in time, and reports it; another request changes the time."""
        self.run_it("drain", "-q", "--wait", 60, "--until", "1h", self.CABLE, "leaf7:24")
        shown = self.run_it("drain")
        self.assertRegex(shown, r"leaf5:20, since [^,]*, until \d{4}-[-\d]+ [:\d]+ by ")
        self.run_it("drain", "-q", "--wait", 60, "--until", "3s", self.CABLE)
        kept = control.requests_of(self.cache)["drains"]
        self.assertEqual([(one["port"], one["until"] - one["since"] > 3000) for one in kept],
                         [(20, False), (24, True)])
        simlab.poll_until(lambda: [one["port"] for one in self.state()["drained"]["list"]] == [24],
                          60, "the end")
        self.assertGreater(self.entries("leaf5", 20), 0)
        self.assertIn("undrain leaf5:20: its time is over\n", self.run_it("events"))
        self.assertRegex(self.run_it("events"),
                         r"drained +leaf5:20 until \d{4}-[-\d]+ [:\d]+ by ")
        self.assertIn(", until 2", self.run_it("status"))

    def test_one_for_another(self):
        """The new path is there before the old one goes."""
        self.change("drain", "s1-*")
        replay = Replay(self.lab, read_tables(pmlab.Dump(self.lab.dump())))
        self.wire.records()
        # Both are requested while another drain is followed.
        with self.wire.hold("request", method="set", attr=simlab.ATTR_LFT, times=1):
            self.run_it("drain", "leaf7:24")
            self.wire.wait_held()
            self.run_it("undrain", "s1-*")
            self.run_it("drain", "s2-*")
            self.wire.release()
        self.run_it("drain", "--wait", 60)
        replay.play(self.wire.records())
        self.assertEqual(replay.lost[:5], [])
        self.assertRegex([move[1] for move in TRANSITION.findall(self.lab.osm.log(self.mark))][-1],
                         r"^drained: 3 switches .*; undrained: 3 sw")
        self.assertEqual(self.entries("leaf5", 21), 0)
        self.run_it("undrain", "--wait", 60, "--all")
        self.check_healthy()

    def test_bad_file(self):
        """It is not followed and not replaced, until it is mended."""
        self.change("drain", self.CABLE)
        path = pmlab.kept(self.cache, "requests")
        good = path.read_text()
        self.lab.osm.process.kill()
        self.lab.osm.process.wait(30)
        self.lab.close()
        path.write_text(good.replace('"port": 20', '"port": 255'))
        bad = path.read_text()
        self.start_again()
        error = "/requests: a member is missing or invalid"
        self.lab.osm.wait_log(f"requests not followed: .*{error}")
        self.assertIn(f"finding     drains are not followed: {path}: a member",
                      self.run_it("status", status=1))
        answer = control.ask(self.cache, "drain", parts=[
            control.part(self.wire.guid("leaf6"), 21)])
        self.assertEqual((answer["state"], answer["reason"]), (
            "refused", f"{path}: a member is missing or invalid"))
        self.assertEqual(path.read_text(), bad)
        path.write_text(good)
        self.run_it("drain", "--wait", 60)
        self.assertEqual(self.entries("leaf5", 20), 0)
        self.run_it("status")


class Interrupted(DrainCase):
    """With an SMP every 265 us there is time for a failure in a transition."""

    ENV = {"MADCOUNT_DELAY_US": "265"}
    CABLE = "leaf5:22"

    def leaf_tables(self):
        """{leaf: {LID: port}} for hosts"""
        dump = pmlab.Dump(self.lab.dump())
        hosts = {dump.lids[host] for host in dump.hosts}
        return {name: {lid: port for lid, port in table.items() if lid in hosts}
                for name, table in read_tables(dump).items() if name.startswith("leaf")}

    def lose_meanwhile(self):
        """The log from the drain on."""
        mark = self.lab.osm.mark()
        held = self.wire.hold("request", method="set", attr=simlab.ATTR_LFT, skip=5, times=1)
        self.run_it("drain", "s1-*")
        self.wire.wait_held()
        self.fabric.lose(self.CABLE)
        self.wire.release()
        held.off()
        self.lab.osm.wait_log(TRANSITION.pattern, mark.log_offset, timeout=pmlab.TIMEOUT_S)
        self.lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        self.mark = self.lab.osm.log_offset()
        return self.lab.osm.log(mark.log_offset)

    def check_log(self, log):
        repair = next(r for r in pmlab.Repair.find(log) if r.sent)
        self.assertEqual((repair.links_down, repair.acked, repair.gave_up),
                         (1, repair.sent, False))
        moves = list(TRANSITION.finditer(log))
        self.assertEqual(len(moves), 1)
        self.assertRegex(moves[0][0], r"drained: 3 switches .*, interrupted 1 time$")
        self.assertIsNone(moves[0][6])
        self.assertLess(log.index(f"portmajor repair {repair.number}: "), moves[0].start())

    def test_failure_in_between(self):
        self.check_log(self.lose_meanwhile())
        dump = self.lab.dump()
        self.assertEqual(pmlab.loops(dump), {})
        self.check_walk(plan=False)
        self.assertEqual((self.entries("leaf0", 20), self.entries("leaf5", 22)), (0, 0))
        hup = self.lab.measure("SIGHUP", self.lab.osm.hup)
        self.assertEqual(hup.wire, 0)
        # Both orders lead to the same tables.
        tables = self.leaf_tables()
        self.lab.event("back", self.CABLE)
        self.run_it("undrain", "--wait", 60, "--all")
        self.lab.osm.settle(sweep=False)
        self.check_healthy()
        self.lab.event("lose", self.CABLE)
        self.run_it("drain", "--wait", 60, "s1-*")
        self.assertEqual(self.leaf_tables(), tables)


class Withheld(DrainCase):
    """A block of a drain is on the wire when OpenSM writes all tables anew.

    The first sweep's switches are new to OpenSM until the next discovery, and a reroute is none.
    """

    LEAF, TRANSMISSIONS = "leaf9", 4

    def options(self):
        self.port = clients.free_tcp_port()
        config = self.folder / "portmajor.conf"
        config.write_text("early_repair no\n")
        return {"conf": {"event_plugin_options": config},
                "args": ["-q", "loopback", "-C", str(self.port)]}

    def block_rule(self):
        """Of the block of the leaf that the drain changes."""
        self.wire.records()
        self.run_it("drain", "--wait", 60, "s1-*")
        blocks = {r.modifier for r in self.wire.records()
                  if (r.event, r.guid) == ("asked", self.wire.guid(self.LEAF))}
        self.run_it("undrain", "--wait", 60, "--all")
        self.assertEqual(len(blocks), 1)
        return {"method": "set", "attr": simlab.ATTR_LFT, "node": self.LEAF,
                "modifier": blocks.pop()}

    def drain_and_reroute(self, **rule):
        """The log."""
        osm, mark = self.lab.osm, self.lab.osm.mark()
        self.wire.hold("request", **rule, times=1)
        self.run_it("drain", "s1-*")
        self.wire.wait_held()
        with clients.Console(self.port) as console:
            console.run("reroute")
            osm.wait_log("portmajor tables configured", mark.log_offset)
        self.wire.release()
        osm.settle(mark, timeout=pmlab.TIMEOUT_S, sweep=False)
        return osm.log(mark.log_offset)

    def test_answered(self):
        """Entries that are kept stay, though the records lack them until answers come."""
        log = self.drain_and_reroute(**self.block_rule())
        self.assertGreater(pmlab.Run.find(log)[-1].whole, 0)
        self.assertEqual([r.traps for r in pmlab.Repair.find(log) if r.traps], [])
        self.assertEqual(self.lab.measure("SIGHUP", self.lab.osm.hup).wire, 0)
        self.check_walk(plan=False)

    def test_lost(self):
        """It is sent again, without early repair, too."""
        rule = self.block_rule()
        self.wire.drop("request", **rule, times=self.TRANSMISSIONS)
        log = self.drain_and_reroute(**rule)
        repairs = pmlab.Repair.find(log)
        self.assertGreater(len(repairs), 0)
        self.assertEqual([(r.traps, r.acked) for r in repairs], [(0, r.sent) for r in repairs])
        self.assertEqual(self.lab.measure("SIGHUP", self.lab.osm.hup).wire, 0)
        # The former entries of the leaf for the drained LIDs are unknown now.
        faults = pmlab.walk_faults(self.lab.walk(), plan=False)
        self.assertRegex("".join(faults), r'^(\d+ paths end nowhere .* of "s1-[^"]*"\))?$')
        self.assertEqual(self.entries(self.LEAF, 20), 0)


class DuringDiscovery(labtest.Folders):
    """With an SMP every 265 us a discovery takes longer than reading the file."""

    def test_followed(self):
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        with pmlab.Lab(netlist, cache_dir=self.folder,
                       env={"MADCOUNT_DELAY_US": "265"}) as lab:
            lab.bring_up()
            mark = lab.osm.mark()
            lab.osm.hup()
            simlab.poll_until(lambda: lab.osm.delta(mark)["smps"] > 1000, pmlab.TIMEOUT_S,
                              "the discovery")
            done = subprocess.run([str(pmlab.CLI), "drain", "leaf5:20"], capture_output=True,
                                  env=dict(os.environ, OSM_CACHE_DIR=str(self.folder)),
                                  text=True, check=False, timeout=pmlab.TIMEOUT_S)
            self.assertEqual(done.stdout.partition(",")[0], "pending  leaf5:20")
            lab.osm.wait_log(r"portmajor transition 1: ", mark.log_offset, timeout=pmlab.TIMEOUT_S)
            self.assertNotIn("portmajor run", lab.osm.log(mark.log_offset))
            lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
            self.assertEqual(lab.osm.delta(mark)["discoveries"], 1)
            self.assertEqual(pmlab.Run.find(lab.osm.log(mark.log_offset))[-1].sent, 0)
            self.assertEqual(pmlab.walk_faults(lab.walk(), plan=False), [])


class Beside(DrainCase):
    """A drain that is given in the routing or the links phase of a sweep.

    It is followed within 5 s, or by the end of the routing phase if that is later.
    """

    CHASSIS, CABLE = "s0-*", "leaf5:22"
    LATE = "h7-3"  # a host that OpenSM has never seen: it brings its link into service
    NODE_DESC = 0x10
    SEEN_S = 0.5  # it is in force, and the repairer has been woken
    LIMIT_S = 5

    def make_netlist(self):
        """A large one: the rest of the routing phase takes longer than a drain."""
        return pmlab.generate(self.folder / "fabric.net", "director", 36)

    def start(self):
        self.fabric.lose(self.LATE)
        super().start()

    def follow(self, links):
        """The wire stops in the sweep in which a chassis returns; (seconds from the drain to
        the end of its transition, the log from the drain on, for each LFT Set since then
        whether it is the plugin's)."""
        self.lab.event("lose", self.CHASSIS)
        mark = self.lab.osm.mark()
        # Only OpenSM queries it: a port that returned, and is in service already.
        self.wire.hold("request", attr=self.NODE_DESC, times=1)
        self.fabric.back(self.CHASSIS)
        self.fabric.back(self.LATE)
        self.wire.wait_held()
        self.lab.osm.wait_log("portmajor repair 2: came: 3 switch", mark.log_offset)
        self.wire.hold("request", method="set", attr=simlab.ATTR_LFT, skip=40, times=1)
        self.wire.release()
        self.wire.wait_held()
        if links:  # the next Set of a port's state is of that phase
            self.wire.hold("request", method="set", attr=lft_trace.ATTR_PORT_INFO, times=1)
            self.wire.release()
            self.wire.wait_held()
        given = time.time()
        self.run_it("drain", self.CABLE)
        time.sleep(self.SEEN_S)
        drained = self.lab.osm.log_offset()
        self.wire.records()
        self.wire.clear()
        self.wire.release()
        self.lab.osm.wait_log(TRANSITION.pattern, mark.log_offset, timeout=pmlab.TIMEOUT_S)
        took = time.time() - given
        self.lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        log = self.lab.osm.log(drained)
        self.assertEqual(len(TRANSITION.findall(log)), 1)
        self.assertIsNone(TRANSITION.search(log)[6])
        self.assertEqual(self.entries(*self.port()), 0)
        sets = [bool(r.plugin) for r in self.wire.records()
                if (r.event, r.attr, r.method) == ("asked", simlab.ATTR_LFT, wire.SET)]
        self.check_walk(plan=False)
        return took, log, sets

    def port(self):
        name, _, port = self.CABLE.partition(":")
        return name, int(port)

    def test_routing(self):
        took, log, sets = self.follow(links=False)
        self.assertLess(took, self.LIMIT_S)
        self.assertEqual(set(sets), {False, True})
        self.assertEqual(sets, sorted(sets))
        self.assertLess(TRANSITION.search(log).start(), log.index("SUBNET UP"))

    def test_links(self):
        took, log, sets = self.follow(links=True)
        self.assertLess(took, self.LIMIT_S)
        self.assertEqual(set(sets), {True})
        self.assertLess(TRANSITION.search(log).start(), log.index("SUBNET UP"))


class Command(labtest.Folders):
    """Without an OpenSM: names, the file, errors."""

    def setUp(self):
        self.netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 6, 4, 4, 1)
        self.drained = control.write(self.folder) / "requests"
        self.drained.unlink(missing_ok=True)

    def run_it(self, *args):
        done = subprocess.run([str(pmlab.CLI), *map(str, args)], capture_output=True,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.folder)), text=True,
                              check=False, timeout=pmlab.TIMEOUT_S)
        notes = (r"(?m), since \d{4}-[-\d]+ [:\d]+ by \S+"
                 r" \(OpenSM does not run: it follows when it starts\)$")
        return done.returncode, re.sub(notes, "", done.stdout), done.stderr

    def drain(self, *args):
        return self.run_it("drain", "-n", self.netlist, *args)

    def test_names(self):
        self.assertEqual(self.drain("--force", "spine1", "leaf2:5", "spine[23]", "spine1")[:2],
                         (0, "pending  spine1\npending  leaf2:5\npending  spine2\n"
                             "pending  spine3\n"))
        kept = control.drained(self.folder)
        self.assertEqual([thing[1:] for thing in kept],
                         [(0, "spine1"), (5, "leaf2"), (0, "spine2"), (0, "spine3")])
        guid = kept[0][0]
        self.assertEqual(self.run_it("undrain", guid, "leaf?:5")[:2],
                         (0, "pending  spine2\npending  spine3\n"))
        self.assertEqual(self.drain("--force", guid, "-q")[:2], (0, ""))
        self.assertEqual(self.run_it("drain")[:2],
                         (1, "pending  spine2\npending  spine3\npending  spine1\n"))
        shown = json.loads(self.run_it("drain", "--json")[1])
        self.assertEqual((shown["schema"], shown["state"],
                          [(d["name"], d["port"], d["state"]) for d in shown["drained"]]),
                         ("portmajor-drain", "pending", [("spine2", 0, "pending"),
                                                         ("spine3", 0, "pending"),
                                                         ("spine1", 0, "pending")]))
        self.assertEqual(self.run_it("undrain", "--all")[:2], (
            0, "pending  OpenSM does not run: it follows when it starts\n"))
        self.assertEqual(control.drained(self.folder), [])
        self.assertEqual(self.run_it("drain"), (0, "none\n", ""))

    def test_both_ends(self):
        """Two names of a cable are one drain, by the end that was named first."""
        spine = "%s:%d" % simlab.Netlist(self.netlist).nodes["leaf2"].ports[5]
        leaf = "leaf2:5"
        self.assertEqual(self.drain("--force", leaf, spine)[:2], (0, f"pending  {leaf}\n"))
        self.assertEqual(self.drain("--force", spine)[:2], (0, f"pending  {leaf}\n"))
        self.assertEqual(self.run_it("undrain", leaf)[0], 0)
        self.assertEqual(control.drained(self.folder), [])

    def test_effect(self):
        """The predicted effect is that of the failure; below half of a leaf's uplinks it is
        refused, with --dry-run no file is written."""
        whatif = json.loads(pmlab.run_cli("whatif", "--json", self.netlist, "--fail",
                                          "spine0").stdout)["load"]
        text = (f"busiest link {whatif['before']} -> {whatif['after']} flows "
                f"({(whatif['after'] / whatif['before'] - 1) * 100:+.1f}%); "
                "leaves keep at least 3 of 4 uplinks (leaf0)")
        self.assertEqual(self.drain("--dry-run", "spine0"),
                         (0, f"would    spine0\n{text}\n", ""))
        self.assertFalse(self.drained.exists())
        self.assertEqual(self.drain("spine0"),
                         (0, "pending  spine0\n", f"portmajor: drain: {text}\n"))
        before = self.drained.read_text()
        for what, kept in (("leaf3:6", "leaves keep at least 2 of 4 uplinks (leaf3)"),
                           ("spine1", "leaves keep at least 2 of 4 uplinks (leaf0)")):
            status, shown, _ = self.drain("--dry-run", what)
            self.assertEqual((status, shown.splitlines()[0]), (0, f"would    {what}"))
            self.assertRegex(shown, rf"%\); {re.escape(kept)}\n$")
        refused = "leaves keep at least 1 of 4 uplinks (leaf0)"
        status, shown, errors = self.drain("spine[12]")
        self.assertEqual((status, shown), (1, ""))
        self.assertIn(f"{refused}: refused, as a leaf keeps less than half of its uplinks; "
                      "--force drains it all the same\n", errors)
        status, shown, _ = self.drain("--dry-run", "spine[12]")
        self.assertEqual(status, 1)
        self.assertTrue(shown.startswith("would    spine1\nwould    spine2\nbusiest link "))
        self.assertTrue(shown.endswith(f"{refused}: refused without --force, as a leaf keeps less "
                                       "than half of its uplinks\n"))
        shown = json.loads(self.drain("--json", "--dry-run", "spine[12]")[1])["effect"]
        self.assertEqual((shown["uplinks"], shown["level_uplinks"], shown["refusal"],
                          shown["load"]["after"] > shown["load"]["before"]),
                         ({"leaf": "leaf0", "kept": 1, "of": 4}, None,
                          "a leaf keeps less than half of its uplinks", True))
        self.assertEqual(self.drained.read_text(), before)
        self.assertEqual(self.drain("-q", "spine0"), (0, "", ""))  # it is drained
        self.assertEqual(self.drain("--force", "spine[12]")[0], 0)

    def test_tops(self):
        """No leaf loses an uplink, but all traffic between pods meets at one switch."""
        self.netlist = odd_netlists.small_director().write(self.folder / "director.net")
        status, shown, errors = self.drain("s*-fab0")
        self.assertEqual((status, shown, control.drained(self.folder)), (1, "", []))
        self.assertRegex(errors, r"busiest link \d+ -> \d+ flows .*; leaves keep all uplinks, level 1 "
                         r"keeps 2 of \d+: refused, as a level keeps less than half of its uplinks")
        self.assertEqual(self.drain("--dry-run", "s[0-3]-fab0")[0], 0)
        # Here the remaining half gives a link three times the flows.
        self.netlist = pmlab.generate(self.folder / "director.net", "director", 36)
        status, shown, _ = self.drain("--dry-run", "s[0-8]-fab0")
        self.assertEqual(status, 1)
        self.assertRegex(shown, "refused without --force, as the busiest link gets more than 2.5")
        self.assertEqual(self.drain("--dry-run", "s0-fab0")[0], 0)

    def test_rates(self):
        """Loads are weighed as by whatif: a drain of the slow cable makes the busiest link less
        busy."""
        text = self.netlist.read_text()
        self.netlist = self.folder / "slow.net"
        self.netlist.write_text(text.replace('"spine1"[3]\t# lid 0 4x', '"spine1"[3]\t# lid 0 1x'))
        whatif = json.loads(pmlab.run_cli("whatif", "--json", self.netlist, "--fail",
                                          "leaf2:6").stdout)["load"]
        self.assertGreater(whatif["before"], whatif["after"])
        effect = json.loads(self.drain("--json", "--dry-run", "leaf2:6")[1])["effect"]
        self.assertEqual((effect["load"]["before"], effect["load"]["after"]),
                         (whatif["before"], whatif["after"]))

    def test_reason(self):
        """Kept in the file and listed, with time and user."""
        with unittest.mock.patch.dict(os.environ, SUDO_USER="pia"):
            self.drain("--reason", "errors on lane 2", "leaf2:5")
        self.assertEqual(self.drain("leaf3:6")[0], 0)
        first = control.requests_of(self.folder)["drains"][0]
        self.assertEqual([first[member] for member in ("name", "port", "by", "reason")],
                         ["leaf2", 5, "pia", "errors on lane 2"])
        shown = subprocess.run([str(pmlab.CLI), "drain"], capture_output=True, text=True,
                               env=dict(os.environ, OSM_CACHE_DIR=str(self.folder)), check=False)
        self.assertRegex(shown.stdout, r"^pending  leaf2:5, since \d{4}-[-\d]+ [:\d]+ by pia: errors on "
                         r"lane 2 \(OpenSM does not run: .*\)\npending  leaf3:6, since "
                         r"[^:]+:\d\d:\d\d by \S+ \(OpenSM does not run: .*\)\n$")
        drained = json.loads(self.run_it("drain", "--json")[1])["drained"]
        self.assertEqual([(one["by"], one["reason"]) for one in drained][0],
                         ("pia", "errors on lane 2"))
        self.assertIsNone(drained[1]["reason"])
        # Of this process, whatever is missing in the environment of cron or a service.
        own = pwd.getpwuid(os.getuid()).pw_name
        with unittest.mock.patch.dict(os.environ, clear=True):
            self.drain("leaf4:7")
        self.assertEqual(control.requests_of(self.folder)["drains"][-1]["by"], own)
        self.assertLess(abs(drained[0]["since"] - self.drained.stat().st_mtime), 60)

    def test_wrong(self):
        self.drain("spine0")
        before = self.drained.read_text()
        for status, word, args in (
                (2, "h0-1 is a host", ("drain", "-n", self.netlist, "h0-1")),
                (2, "port 1 of leaf0 leads to a host (h0-1)",
                 ("drain", "-n", self.netlist, "leaf0:1")),
                (2, "leaf0 has hosts", ("drain", "-n", self.netlist, "spine1", "leaf0")),
                (2, "no node is named", ("drain", "-n", self.netlist, "spine1", "nobody")),
                (2, "no cable at port 9", ("drain", "-n", self.netlist, "spine1:9")),
                (2, "is not drained", ("undrain", "spine1")),
                (2, "usage", ("undrain",)), (2, "usage", ("undrain", "--all", "spine0")),
                (2, "--wait x: not a number", ("drain", "--wait", "x")),
                (2, '--until: "soon" is no time', ("drain", "--until", "soon", "spine1")),
                (2, '--until: "2020-01-01" is over', ("drain", "--until", "2020-01-01", "spine1")),
                (3, "name a netlist", ("drain", "spine1")),
                (3, "No such file", ("drain", "-n", "/nowhere/x", "spine1"))):
            with self.subTest(" ".join(map(str, args))):
                done = self.run_it(*args)
                self.assertEqual(done[:2], (status, ""))
                self.assertIn(word, done[2])
                self.assertEqual(self.drained.read_text(), before)
        self.drained.write_text("leaf0\n")
        self.assertEqual(self.run_it("drain")[0], 3)
        self.assertEqual(self.drained.read_text(), "leaf0\n")


class Now(DrainCase):
    """whatif --now, check and drain -n of a fabric with a part missing, one drained and a held
    link."""

    def options(self):
        conf = self.folder / "flaps.conf"
        conf.write_text("flap_limit 1\nflap_hold 3600\n", encoding="ascii")
        return {"conf": {"event_plugin_options": conf}}

    def state(self):
        return json.loads(pmlab.kept(self.cache, "state").read_text(encoding="utf-8"))

    def degrade(self):
        self.run_it("drain", "-q", "--wait", 60, "s1-*")
        for change in "lose", "back", "lose", "back":
            self.lab.event(change, "leaf5:22")
        simlab.poll_until(lambda: [f["state"] for f in self.state()["flapping"]] == ["on-hold"], 60,
                          "the hold")
        self.lab.event("lose", "leaf6:21")
        simlab.poll_until(lambda: self.state()["missing"]["links"] == 1, 60, "the missing cable")

    def test_costs(self):
        """The prediction of whatif --now for a failure agrees with the wire."""
        self.degrade()
        for what in "s3-*", "leaf5:23", "s2-fab0", "h7-2":
            with self.subTest(what):
                now = json.loads(self.run_it("whatif", "-q", "--json", "--now", "--fail", what))
                self.assertEqual([now["settings"]["now"][member] for member in
                                  ("links_missing", "on_hold", "drained")], [1, 1, 3])
                event = self.lab.event("lose", what)
                self.assertEqual((event.wire, event.sent), (now["total"]["blocks"],) * 2)
                self.assertEqual(sum(line.restoring for line in event.repairs), now["restoring"])
                if what == "s3-*":
                    self.assertNotEqual(event.wire, self.lab.whatif(what).blocks)
                self.lab.event("back", what)
                simlab.poll_until(lambda: self.state()["missing"]["links"] == 1, 60, "the return")

    def table(self, *args):
        return json.loads(self.run_it("table", "--json", *args))

    @staticmethod
    def links(found, wanted):
        """Ends of links between levels of which that holds: (switch, port)."""
        return sorted((switch["name"], port["port"]) for switch in found["switches"]
                      for port in switch["ports"] if port["direction"] != "other" and wanted(port))

    def test_table(self):
        """table --now: the plan with all parts beside the present fabric, or that beside a failure
        in it."""
        self.degrade()
        now, folder = self.table("--now"), pmlab.kept(self.cache, "state").parent
        self.assertEqual(self.table("--now", folder), now)
        missing, held = ("leaf6", 21), ("leaf5", 22)
        self.assertEqual([end for end in self.links(now, lambda p: not p["there"])
                          if end[0].startswith("leaf")], [missing])
        out = self.links(now, lambda p: not p["usable"])
        drained = [end for end in self.links(now, lambda p: now["switches"][p["to"]][
            "name"].startswith("s1-")) if end[0].startswith("leaf")]
        self.assertEqual([end for end in out if end[0].startswith("leaf")],
                         sorted([missing, held, *drained]))
        self.assertEqual(self.links(now, lambda p: not p["usable"] and p["after"]), [])
        whole = self.table(self.lab.fabric.netlist.path)
        self.assertEqual([[p["before"] for p in s["ports"]] for s in now["switches"]],
                         [[p["before"] for p in s["ports"]] for s in whole["switches"]])
        whatif = json.loads(self.run_it("whatif", "-q", "--json", "--now", "--fail", "s2-fab0"))
        lost = self.table("--now", "--fail", "s2-fab0")
        for found, when, load in ((now, "after", "before"), (lost, "before", "before"),
                                  (lost, "after", "after")):
            self.assertEqual(max(p[when] for s in found["switches"] for p in s["ports"]),
                             whatif["load"][load])
        self.assertEqual(sum(s["blocks"] for s in lost["switches"]), whatif["total"]["blocks"])
        self.assertEqual(now["now"], whatif["settings"]["now"])
        for lines, end in ((self.run_it("table", "--now"), "now from the plan with all its parts"),
                           (self.run_it("table", "--now", "--fail", "s2-fab0"),
                            "after the failure")):
            self.assertTrue(lines.splitlines()[0].endswith(end), lines)
        self.lab.event("lose", "h7-2")
        simlab.poll_until(lambda: self.state()["missing"]["hosts"] == 1, 60, "the missing host")
        names = next(s["host_names"] for s in self.table("--now")["switches"]
                     if s["name"] == "leaf7")
        self.assertEqual(names[:3], ["h7-1", None, "h7-3"])
        self.lab.event("back", "h7-2")

    def judged(self):
        """The judgement of drain, whatif and table on the present fabric."""
        drain = json.loads(self.run_it("drain", "--json", "--dry-run", "s2-fab0"))["effect"]
        whatif = json.loads(self.run_it("whatif", "-q", "--json", "--now", "--fail", "s2-fab0"))
        return drain, whatif, self.table("--now")

    def test_after_a_repair(self):
        """A failure counts from its repair on, not from its report 3 s later."""
        before = self.state()["repair"]
        self.lab.fabric.lose("s1-*")
        simlab.poll_until(lambda: self.state()["repair"] != before, 60, "the repair")
        found = self.judged()
        simlab.poll_until(lambda: self.state()["missing"]["switches"] == 3, 60, "told")
        self.assertIsNone(self.state()["absent"])
        self.assertEqual(found, self.judged())
        self.assertEqual(found[1]["settings"]["now"]["switches_missing"], 3)

    def test_recabled(self):
        """A link in the port of a host that is missing now is up."""
        fabric, netlist = self.lab.fabric, self.lab.fabric.netlist
        peer = netlist.nodes["leaf6"].ports[22]
        for end in ("h6-4", 1), ("leaf6", 22):
            fabric.unlink(*end)
        fabric.console(f'Link "leaf6"[4] "{peer[0]}"[{peer[1]}]')
        simlab.poll_until(lambda: (self.state()["changed"] or {"count": 0})["count"] == 1 and
                          self.state()["missing"]["hosts"] == 1, 60, "the recabled link")
        now = self.table("--now")
        self.assertEqual(self.links(now, lambda p: not p["usable"]), [])
        self.assertIn(("leaf6", 4), self.links(now, lambda p: p["after"]))

    def test_plan_file(self):
        """check and drain -n of a dump of this fabric use the plugin's files automatically."""
        self.degrade()
        dump = self.lab.dump()
        found = json.loads(self.run_it("check", "--json", "-s", self.lab.osm.host, dump))
        self.assertEqual(found["plan_file"], str(pmlab.kept(self.cache, "plan")))
        self.assertEqual((found["plan"]["lids_out_of_plan"], found["plan"]["entries"]), (0, 0))
        alone = pmlab.run_cli("check", "-s", self.lab.osm.host, dump)
        self.assertRegex(alone.stdout, r"(?m)^plan: [1-9]\d* of .*\nnote: .* \(--plan\)")
        effects = [json.loads(self.run_it("drain", "--json", "--dry-run", *options, "s2-fab0"))[
            "effect"] for options in ((), ("-n", dump))]
        self.assertEqual(effects[0], effects[1])
        whole = json.loads(self.run_it("whatif", "-q", "--json", "--now", "--fail", "s2-fab0"))
        self.assertEqual((effects[0]["load"]["before"], effects[0]["load"]["after"]),
                         (whole["load"]["before"], whole["load"]["after"]))


class MeshedPods(DrainCase):
    """Each upper switch has several paths down to a leaf.

    Here blocks in OpenSM's order would let packets loop.
    """

    PODS, LEAVES, MIDDLE, TOP = 2, 4, 3, 3

    def make_netlist(self):
        net = odd_netlists.Net()
        for pod, leaf in itertools.product(range(self.PODS), range(self.LEAVES)):
            net.switch(f"l{pod}-{leaf}", 8)
            net.hosts(f"l{pod}-{leaf}", 3)
        for pod, middle in itertools.product(range(self.PODS), range(self.MIDDLE)):
            net.switch(f"m{pod}-{middle}", 8, level=1)
            for leaf in range(self.LEAVES):
                net.cable(f"l{pod}-{leaf}", f"m{pod}-{middle}")
        for top in range(self.TOP):
            net.switch(f"t{top}", 8, level=2)
            for pod, middle in itertools.product(range(self.PODS), range(self.MIDDLE)):
                net.cable(f"m{pod}-{middle}", f"t{top}")
        return net.write(self.folder / "meshed.net")

    def test_there_and_back(self):
        for what in ("l1-2:4", "m0-1", "t2", "l0-0:6", "l0-3:4", "m1-[02]"):
            with self.subTest(what):
                self.change("drain", "--force", what)
                self.check_walk(plan=False)
        self.change("undrain", "m0-1", "t2")
        self.check_walk(plan=False)
        self.change("undrain", "--all")
        self.check_healthy()


if __name__ == "__main__":
    labtest.main()
