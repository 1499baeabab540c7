#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The wire of the tests: each of its rules, with OpenSM's own routing (updn)."""

import re
import signal
import struct
import unittest

import labtest
import pmlab
import simlab
import wire
import wiretime

RETRIES, TIMEOUT_NS = 3, 200 * 10**6  # OpenSM's defaults
MAX_WIRE_SMPS = 4

ATTR_NODE_DESC, ATTR_NODE_INFO, ATTR_PORT_INFO = 0x10, 0x11, 0x15


def outstanding(records):
    """The number of SMPs that are out after each record."""
    now = 0
    for record in records:
        now += {"asked": 1, "answered": -1, "timed_out": -1}.get(record.event, 0)
        yield now


class WireCase(labtest.Folders):
    """One OpenSM for all tests of a class. Each test begins with everything settled."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wire = wire.Wire(trace=True)
        print(f"seed {cls.wire.seed}")
        cls.lab = cls.stack.enter_context(pmlab.Lab(
            pmlab.TOPOLOGIES / "two-level-48.net", engine="updn", wire=cls.wire))
        cls.osm, cls.fabric = cls.lab.osm, cls.lab.fabric
        cls.osm.settle()
        cls.start = [cls.count(name) for name in ("again", "returned", "surplus", "timed_out")]

    @classmethod
    def count(cls, name):
        return getattr(cls.wire, name)

    def setUp(self):
        self.addCleanup(self.mend)
        self.osm.wait_traps_aged()
        self.wire.records()
        self.before = {name: self.count(name) for name in
                       ("transmissions", "again", "returned", "surplus", "timed_out")}

    def mend(self):
        if self.osm.process.poll() is None:
            self.wire.clear()
            self.wire.release()
            for target in ("spine1", "leaf7"):
                self.fabric.relink(target)
            self.resweep()

    def since(self, name):
        return self.count(name) - self.before[name]

    def resweep(self):
        """OpenSM sweeps again until a sweep has ended without an error."""
        mark = self.osm.mark()
        self.osm.hup()
        self.osm.settle(mark, timeout=120)

    def sweep(self):
        """One sweep, successful or not, is begun, and its SMPs are over."""
        mark = self.osm.mark()
        self.osm.hup()
        simlab.poll_until(lambda: self.osm._swept(mark) is not None, 120, "the sweep's end")


class Questions(WireCase):
    """SMPs without an answer, or without one in time."""

    def test_nothing_is_lost_without_a_rule(self):
        self.assertEqual(self.start, [0, 0, 0, 0])
        self.resweep()
        self.assertGreater(self.since("transmissions"), 0)
        self.assertEqual(self.since("transmissions"),
                         len([r for r in self.wire.records() if r.event == "asked"]))
        self.assertEqual(self.since("again") + self.since("surplus"), 0)

    def test_silent_switch(self):
        """It fails after all retries, each a transmission; no more than 4 are out."""
        mark = self.osm.mark()
        silent = self.wire.drop("request", node="spine1")
        self.sweep()
        self.osm.settle(mark, sweep=False)
        silent.off()
        records = self.wire.records()
        asked = {r.tid: r for r in records if r.event == "asked"}
        failed = [r for r in records if r.event == "timed_out"]
        self.assertGreater(len(failed), 0)
        self.assertEqual({r.guid for r in failed}, {self.wire.guid("spine1")})
        self.assertEqual({r.transmissions for r in failed}, {1 + RETRIES})
        self.assertGreaterEqual(min(r.ns - asked[r.tid].ns for r in failed),
                                (1 + RETRIES) * TIMEOUT_NS)
        self.assertEqual(silent.acted, (1 + RETRIES) * len(failed))
        self.assertEqual(self.since("again"), RETRIES * len(failed))
        self.assertEqual(self.osm.delta(mark)["timeouts"], len(failed))
        self.assertEqual(max(outstanding(records)), MAX_WIRE_SMPS)
        self.assertEqual(list(outstanding(records))[-1], 0)

    def test_dead_switch(self):
        """An SMP that ibsim cannot deliver, and returns at once, fails no sooner."""
        self.wire.hold("request", node="spine1", attr=ATTR_PORT_INFO, method="get", times=1)
        with self.wire.drop("trap"):
            self.osm.hup()
            self.wire.wait_held()
            self.fabric.unlink("spine1")
            self.wire.release()
            simlab.poll_until(lambda: self.since("timed_out"), 60, "a time-out")
        records = self.wire.records()
        failed = [r for r in records if r.event == "timed_out"]
        asked = {r.tid: r for r in records if r.event == "asked"}
        self.assertGreaterEqual(self.since("returned"), 1 + RETRIES)
        self.assertGreaterEqual(failed[0].ns - asked[failed[0].tid].ns,
                                (1 + RETRIES) * TIMEOUT_NS)

    def test_one_transmission_lost(self):
        for way in ("request", "answer"):
            with self.subTest(way):
                before, mark = self.since("again"), self.osm.mark()
                lost = self.wire.drop(way, node="leaf3", method="get", attr=ATTR_PORT_INFO,
                                      modifier=2, skip=0, times=1)
                self.resweep()
                lost.off()
                self.assertEqual((lost.acted, self.since("again") - before), (1, 1))
                self.assertEqual(self.osm.delta(mark)["timeouts"], 0)
                again = [r for r in self.wire.records()
                         if r.event == "answered" and r.transmissions == 2]
                self.assertEqual([(r.guid, r.attr, r.modifier) for r in again],
                                 [(self.wire.guid("leaf3"), ATTR_PORT_INFO, 2)])

    def test_skipped_matches(self):
        every = self.wire.rule("delay", "answer", node="leaf2", attr=ATTR_PORT_INFO)
        third = self.wire.rule("delay", "answer", node="leaf2", attr=ATTR_PORT_INFO, skip=2,
                               times=3)
        self.resweep()
        self.assertGreater(every.acted, 5)
        self.assertEqual(every.acted, every.matches)
        self.assertEqual((third.matches, third.acted), (every.matches, 3))

    def test_chance(self):
        never = self.wire.drop("request", chance=0)
        half = self.wire.rule("delay", "request", chance=0.5)  # by no rule
        always = self.wire.rule("delay", "request")
        self.resweep()
        self.assertEqual(never.matches, 0)
        self.assertEqual(always.acted, self.since("transmissions"))
        self.assertGreater(half.acted / always.acted, 0.3)
        self.assertLess(half.acted / always.acted, 0.7)

    def test_late_answer(self):
        """The SMP is sent again; the second answer is dropped."""
        late = self.wire.delay("answer", 300, node="leaf3", method="get",
                               attr=simlab.ATTR_SWITCH_INFO, times=1)
        self.resweep()
        simlab.poll_until(lambda: self.since("surplus"), 60, "the late answer")
        # On a busy machine others may be late as well.
        self.assertEqual(late.acted, 1)
        self.assertGreaterEqual(self.since("again"), 1)
        simlab.poll_until(lambda: self.since("surplus") == self.since("again"), 60,
                          "every late answer")

    def test_late_request(self):
        late = self.wire.delay("request", 300, node="leaf3", method="get",
                               attr=simlab.ATTR_SWITCH_INFO, times=1)
        self.resweep()
        simlab.poll_until(lambda: self.since("surplus"), 60, "the answer to a late request")
        self.assertEqual((late.acted, self.since("again"), self.since("surplus")), (1, 1, 1))

    def test_twice(self):
        with self.wire.twice("request", attr=simlab.ATTR_SWITCH_INFO) as twice:
            self.resweep()
        self.assertGreater(twice.acted, 0)
        self.assertEqual((self.since("surplus"), self.since("again")), (twice.acted, 0))


class Contents(WireCase):
    """The content of datagrams, and their times."""

    def test_alter(self):
        guid = self.wire.guid("leaf3")
        what = {"offset": 6, "value": struct.pack(">H", 0x1230), "mask": b"\xff\xf0",
                "node": "leaf3", "attr": simlab.ATTR_SWITCH_INFO}
        for way in ("answer", "request"):
            # OpenSM sets a top that differs from its own.
            with self.subTest(way), self.wire.alter("answer", method="get", **what), \
                    self.wire.alter(way, method="set", **what):
                self.resweep()
                tops = {struct.unpack_from(">H", r.data, 6)[0] for r in self.wire.records()
                        if r.event == "answered" and r.guid == guid
                        and r.attr == simlab.ATTR_SWITCH_INFO}
                self.assertEqual({top >> 4 for top in tops}, {0x123})
                # A request's values stay; a change of an answer harms no switch.
                top = int(re.search(r"FDBtop (\d+)", self.fabric.dump(node="leaf3"))[1])
                self.assertEqual(top >> 4 == 0x123, way == "request")

    def test_keep(self):
        """A switch has the value that was set, and at first that of the rule."""
        guid, first = self.wire.guid("leaf3"), 0x1234
        with self.wire.keep(6, struct.pack(">H", first), node="leaf3",
                            attr=simlab.ATTR_SWITCH_INFO):
            self.resweep()
            told = [(r.method, struct.unpack_from(">H", r.data, 6)[0])
                    for r in self.wire.records() if r.event == "answered" and r.guid == guid
                    and r.attr == simlab.ATTR_SWITCH_INFO]
            self.resweep()
            later = [(r.method, struct.unpack_from(">H", r.data, 6)[0])
                     for r in self.wire.records() if r.event == "answered" and r.guid == guid
                     and r.attr == simlab.ATTR_SWITCH_INFO]
        own = int(re.search(r"FDBtop (\d+)", self.fabric.dump(node="leaf3"))[1])
        self.assertEqual(told[0], (wire.GET, first))
        self.assertEqual(told[-1], (wire.SET, own))
        self.assertEqual({top for _, top in later}, {own})

    def test_node_info_is_learned_unaltered(self):
        guid = self.wire.guid("leaf3")
        with self.wire.alter("answer", 20, bytes(8), node="leaf3", attr=ATTR_NODE_INFO), \
                self.wire.rule("delay", "answer", node="leaf3", attr=ATTR_NODE_DESC):
            self.sweep()
        self.assertTrue(any(r.guid == guid for r in self.wire.records()))

    def test_fake(self):
        """The switch acknowledges and does not write."""
        tables = []
        with self.wire.fake(node="leaf2", attr=simlab.ATTR_LFT) as fake:
            for verb in (None, self.fabric.unlink):
                mark = self.osm.mark()
                if verb:
                    verb("spine1")
                    self.osm.settle(mark)
                path = self.folder / "dump"
                self.fabric.dump(path)
                tables.append(pmlab.Dump(path))
        changed = {switch for switch, _ in pmlab.changed_entries(*tables)}
        self.assertGreater(fake.acted, 0)
        self.assertEqual(changed & {"leaf1", "leaf2", "leaf3"}, {"leaf1", "leaf3"})
        self.assertEqual(self.since("timed_out"), 0)
        old, new = (table.entries("leaf2", 0) for table in tables)
        told = next(r for r in self.wire.records() if r.event == "answered" and r.method == 2
                    and r.attr == simlab.ATTR_LFT and r.guid == self.wire.guid("leaf2"))
        self.assertEqual(old, new)
        self.assertTrue(any(told.data[lid] != port for lid, port in new.items()))

    def test_hold(self):
        """An event between two datagrams: here all links of a leaf go down."""
        self.wire.hold("request", method="get", attr=ATTR_NODE_INFO, skip=20, times=1)
        self.osm.hup()
        self.wire.wait_held()
        mark, sent = self.osm.mark(), self.since("transmissions")
        self.fabric.unlink("leaf7")
        self.assertEqual(self.since("transmissions"), sent)
        self.wire.release()
        self.osm.settle(mark, timeout=120)
        self.assertGreater(self.since("transmissions"), sent)

    def test_blocks_applied(self):
        """Recorded in the order of the switch, once for each transmission, whether or not OpenSM
        receives it."""
        with self.wire.drop("answer", node="leaf3", method="set", attr=simlab.ATTR_LFT,
                            times=1) as lost:
            mark = self.osm.mark()
            self.fabric.unlink("spine1")
            self.osm.settle(mark, timeout=120)
        self.assertEqual(lost.acted, 1)
        blocks = [r for r in self.wire.records(applied=True) if r.attr == simlab.ATTR_LFT
                  and r.guid == self.wire.guid("leaf3")]
        heard = [r for r in blocks if r.event == "answered"]
        self.assertEqual(len([r for r in blocks if r.event == "applied"]), len(heard) + 1)
        self.assertEqual(bytes(blocks[-1].data), bytes(heard[-1].data))

    def test_traps_of_one_switch(self):
        """Its last traps are lost; those of its neighbours come."""
        for node in ("leaf7", None):
            with self.subTest(node), self.wire.drop("trap", node=node) as dropped:
                mark = self.osm.mark()
                self.fabric.unlink("leaf7")
                self.osm.settle(mark, sweep=bool(node))
                self.assertGreater(dropped.acted, 0)
                heard = {r.guid for r in self.wire.records() if r.event == "trapped"}
                spines = {self.wire.guid(f"spine{i}") for i in range(4)}
                self.assertEqual(heard, spines if node else set())
            self.mend()
            self.osm.wait_traps_aged()
            self.wire.records()

    def test_storm(self):
        mark = self.osm.mark()
        self.wire.storm(300, lids=range(0x3000, 0x3007))
        simlab.poll_until(lambda: not self.wire.storm_left, 60, "the storm's end")
        self.osm.settle(mark, sweep=False)
        self.assertGreaterEqual(self.osm.delta(mark)["traps"], 300)
        self.assertIsNone(self.osm.process.poll())
        self.resweep()


class Killed(WireCase):
    def test_kill_at_a_datagram(self):
        self.wire.hold("request", method="set", skip=5, times=1)
        self.fabric.unlink("spine1")  # without changes no Set is sent
        self.wire.wait_held()
        sent = self.wire.transmissions
        self.osm.process.send_signal(signal.SIGKILL)
        self.assertEqual(self.osm.process.wait(30), -signal.SIGKILL)
        self.assertEqual(self.wire.transmissions, sent)


class Times(unittest.TestCase):
    """Virtual times of made-up records: 100 us an SMP, 1 us a hop."""

    def virtual(self, *events, **options):
        records, ends = [], {"a": 1, "t": 2}
        for number, (event, tid, transmissions) in enumerate(events):
            records.append(wire.Record(ns=number * 1000, cpu_ns=number * 1000, tid=tid, hops=2,
                                       event_number=ends.get(event, 0), method=2,
                                       attr=simlab.ATTR_LFT, transmissions=transmissions))
        stamps = wiretime.virtual(records, set_us=100, hop_us=1, **options)
        return [round(stamp.seconds * 1e6) for stamp in stamps]

    def test_one_after_another(self):
        self.assertEqual(self.virtual(("q", 1, 0), ("a", 1, 1), ("q", 2, 0), ("a", 2, 1)),
                         [0, 104, 104, 208])

    def test_two_at_a_time(self):
        self.assertEqual(self.virtual(("q", 1, 0), ("q", 2, 0), ("a", 1, 1), ("q", 3, 0),
                                      ("a", 2, 1), ("a", 3, 1)), [0, 0, 104, 104, 104, 208])

    def test_cpu(self):
        self.assertEqual(self.virtual(("q", 1, 0), ("a", 1, 1), ("q", 2, 0), ("a", 2, 1),
                                      cpu=True), [0, 104, 105, 209])

    def test_dead(self):
        """Others overtake it, whatever the record's order was."""
        self.assertEqual(self.virtual(("q", 1, 0), ("q", 2, 0), ("t", 1, 4), ("a", 2, 1)),
                         [0, 0, 104, 800000])

    def test_sent_again(self):
        self.assertEqual(self.virtual(("q", 1, 0), ("a", 1, 3)), [0, 400104])


if __name__ == "__main__":
    unittest.main()
