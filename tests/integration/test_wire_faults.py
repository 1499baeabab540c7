#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Behaviour on a wire that loses datagrams, and with switches that have faults."""

import re
import struct
import unittest

import bad_switch
import labtest
import pmlab
import simlab
import wire

ATTR_NODE_INFO, ATTR_PORT_INFO = 0x11, 0x15
TRANSMISSIONS = 4  # of an SMP without an answer

NETLIST = pmlab.TOPOLOGIES / "two-level-48.net"


def resweep(osm, timeout=120):
    """A sweep, and its results."""
    osm.wait_traps_aged()
    mark = osm.mark()
    osm.hup()
    osm.settle(mark, timeout=timeout)
    return mark


class LostAnswer(labtest.LabCase):
    """A switch takes a block of a repair, and its answer is lost."""

    # Of so many LIDs that some block of a leaf has entries of only one cable.
    GENERATE = ("director", 36)
    LEAF, CABLE = "leaf5", "leaf5:20"

    @classmethod
    def options(cls):
        cls.wire = wire.Wire()
        return {"wire": cls.wire}

    def setUp(self):
        super().setUp()
        self.addCleanup(self.wire.release)
        self.addCleanup(self.wire.clear)

    def lose_answer(self):
        """The cable fails, is repaired without an answer, and returns before discovery."""
        osm, fabric = self.lab.osm, self.lab.fabric
        osm.settle(osm.mark(), sweep=False)
        osm.wait_traps_aged()
        mark = osm.mark()
        lost = self.wire.drop("answer", node=self.LEAF, method="set", attr=simlab.ATTR_LFT,
                              times=TRANSMISSIONS)
        self.wire.hold("request", node=osm.host, attr=ATTR_NODE_INFO, times=1)
        fabric.lose(self.CABLE)
        self.wire.wait_held()
        self.assertGreater(lost.acted, 0, "the repair sent nothing")
        fabric.back(self.CABLE)
        self.wire.release()
        osm.settle(mark, timeout=120)
        self.assertEqual(lost.acted, TRANSMISSIONS)

    def stale(self):
        """Entries of the leaf's real table that differ from those before the failure."""
        now = pmlab.Dump(self.lab.dump())
        table = now.table(self.LEAF)
        return {lid: table[lid] for switch, lid in pmlab.changed_entries(self.healthy, now)
                if switch == self.LEAF}

    def test_table_is_right_again(self):
        self.lose_answer()
        self.assertEqual(self.stale(), {})
        resweep(self.lab.osm)
        self.assertEqual(self.stale(), {}, "after SIGHUP")
        self.check_healthy()

    def test_ports_of_stale_entries_die(self):
        """Then the pairs that use them are rerouted, as all others."""
        self.lose_answer()
        ports = set(self.stale().values()) or {21, 22}
        mark = self.lab.osm.mark()
        for port in ports:
            self.lose_at_once(f"{self.LEAF}:{port}")
        self.lab.osm.settle(mark, timeout=120)
        resweep(self.lab.osm)
        walked = self.lab.walk()
        self.assertEqual((pmlab.walk_faults(walked, plan=False), walked["delivered"]),
                         ([], walked["pairs"]))

    def lose_at_once(self, target):
        self.down.append(target)
        self.lab.fabric.lose(target)


class SmallTable(labtest.Folders):
    """One switch reports a table that is too small for the LIDs."""

    SWITCH, SPINE, CAP = "leaf7", "spine2", 40

    def lab(self, fabric, engine, switch=SWITCH):
        small = wire.Wire(fabric)
        rule = small.alter("answer", 0, struct.pack(">H", self.CAP), node=switch,
                           attr=simlab.ATTR_SWITCH_INFO)
        return pmlab.Lab(NETLIST, engine=engine, fabric=fabric, wire=small), rule

    def bring_up(self, lab):
        """With such a switch a sweep may end in errors, for ever."""
        osm = lab.osm
        simlab.poll_until(lambda: osm._swept(osm.start_mark) is not None, 60, "a sweep")
        osm.settle(osm.mark(), sweep=False)
        return pmlab.Dump(lab.dump()).lids

    def check_joined(self, lab):
        """All hosts have LIDs and paths between them."""
        walked = lab.walk()
        self.assertEqual(pmlab.walk_faults(walked, plan=False), [])
        hosts = len(lab.netlist.hosts)
        lids = pmlab.Dump(lab.dump()).lids
        self.assertGreaterEqual(len([h for h in lab.netlist.hosts if h in lids]), hosts)

    def test_others_stay_with_the_engine(self):
        with pmlab.Fabric(NETLIST) as fabric:
            lab, rule = self.lab(fabric, "portmajor", self.SPINE)
            with lab:
                self.bring_up(lab)
                self.assertGreater(rule.acted, 0)
                self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
                self.assertEqual(len(bad_switch.Tables(lab.dump(), lab.netlist).pairs()),
                                 48 * 47)
                self.assertRegex(lab.osm.log(),
                                 rf"portmajor: .*{self.SPINE}.*up to {self.CAP - 1} of")

    def test_never_worse_than_updn(self):
        served = {}
        for engine in ("updn", "portmajor"):
            with pmlab.Fabric(NETLIST) as fabric:
                lab, _ = self.lab(fabric, engine)
                with lab:
                    self.bring_up(lab)
                    served[engine] = lab.walk()["delivered"]
        self.assertGreaterEqual(served["portmajor"], served["updn"])

    def test_nothing_remains(self):
        """It is replaced by a good one: all hosts are served by the engine, without a restart."""
        with pmlab.Fabric(NETLIST) as fabric:
            lab, rule = self.lab(fabric, "portmajor")
            with lab:
                self.bring_up(lab)
                rule.off()
                mark = resweep(lab.osm)
                self.assertEqual(set(lab.osm.engines_used(mark.log_offset)), {"portmajor"})
                self.check_joined(lab)

    def test_comes_later(self):
        """Such a switch joins a running fabric: no LID and no engine changes."""
        with pmlab.Fabric(NETLIST) as fabric:
            fabric.lose(self.SWITCH)
            lab, _ = self.lab(fabric, "portmajor")
            with lab:
                before = self.bring_up(lab)
                mark = lab.osm.mark()
                fabric.back(self.SWITCH)
                simlab.poll_until(lambda: lab.osm._swept(mark) is not None, 60, "a sweep")
                lab.osm.settle(lab.osm.mark(), sweep=False)
                after = pmlab.Dump(lab.dump()).lids
                self.assertEqual({n: l for n, l in after.items() if n in before}, before)
                self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})


class DropsAreNoFlaps(labtest.Folders):
    """A switch with repeatedly lost answers keeps its cables in the tables."""

    ROUNDS = 6

    def run_rounds(self, **rule):
        config = self.folder / "flaps.conf"
        config.write_text("flap_limit 3\nflap_window 600\nflap_hold 3600\n")
        drops = wire.Wire(seed=1)
        with pmlab.Lab(NETLIST, conf={"event_plugin_options": config}, wire=drops) as lab:
            lab.bring_up()
            lost = 0
            for _ in range(self.ROUNDS):
                mark = lab.osm.mark()
                with drops.drop("answer", **rule) as dropped:
                    lab.osm.hup()
                    simlab.poll_until(lambda m=mark: lab.osm._swept(m) is not None, 60,
                                      "the sweep's end")
                    lab.osm.settle(lab.osm.mark(), sweep=False)
                lost += dropped.acted
                resweep(lab.osm)
            self.assertGreaterEqual(lost, self.ROUNDS)
            kept_out = [int(n) for n in re.findall(r"flapping: (\d+) links? kept out",
                                                   lab.osm.log())]
            self.assertEqual(max(kept_out, default=0), 0, "links kept out")
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])

    def test_switch_that_does_not_answer(self):
        self.run_rounds(node="leaf3", attr=ATTR_NODE_INFO)

    def test_switch_that_hardly_answers(self):
        """Some of its cables are not discovered, others each time."""
        self.run_rounds(node="leaf3", method="get", attr=ATTR_PORT_INFO, chance=0.85)


if __name__ == "__main__":
    unittest.main()
