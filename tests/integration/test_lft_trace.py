#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The judge of LFT blocks finds each fault, and nothing else."""

import types
import unittest

import labtest
import lft_trace
import pmlab
import simlab
import wire

HOST = "h3-1"
LID = 50
TRAP = types.SimpleNamespace(event="trapped", attr=2, method=5)
DISCOVERY = types.SimpleNamespace(event="asked", attr=lft_trace.ATTR_NODE_INFO,
                                  method=wire.GET, hops=0, guid=0, modifier=0)
LINKED = types.SimpleNamespace(event="asked", attr=lft_trace.ATTR_PORT_INFO, method=wire.SET,
                               hops=1, guid=0, modifier=0)
APART = 2 * lft_trace.MOST_QUEUED  # transactions from one record of a trace to the next


class Replayed(labtest.Folders):
    """Four leaves (ports 1 and 2: hosts, 3 to 5: spines) and three spines (port: leaf + 1)."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = simlab.Netlist(
            pmlab.generate(cls.folder / "fabric.net", "two-level", 4, 3, 2, 1))
        cls.topology = lft_trace.Topology(cls.netlist)
        cls.switches = {name: number for number, name in enumerate(cls.netlist.switches, 1)}

    def setUp(self):
        tables = {f"leaf{i}": {LID: 3} for i in range(3)}
        tables["leaf3"] = {LID: 1}
        tables.update({f"spine{i}": {LID: 4} for i in range(3)})
        dump = types.SimpleNamespace(guids=self.switches, tables=tables, lids={HOST: LID},
                                     table=lambda name: dict(tables[name]))
        self.replay = lft_trace.Replay(self.topology, dump)
        self.doubtful = lft_trace.Replay(self.topology, dump, doubtful=True)
        self.chassis = ""  # all links are its parts

    def block(self, name, port):
        data = bytearray([lft_trace.NO_PORT]) * lft_trace.BLOCK
        data[LID] = port
        return types.SimpleNamespace(event="applied", attr=simlab.ATTR_LFT, method=0x81, status=0,
                                     guid=self.switches[name], modifier=0, data=bytes(data))

    def port_set(self, name, port):
        return types.SimpleNamespace(**{**vars(LINKED), "guid": self.switches[name],
                                        "modifier": port})

    def active(self, name, port):
        """A port takes this state."""
        return types.SimpleNamespace(event="state", guid=self.switches[name], modifier=port,
                                     status=lft_trace.ACTIVE)

    def run_all(self, *moments):
        """Records, and targets as "-leaf0:3" and "+leaf0:3", in their order."""
        records, changes, down = [], [], set()
        for ns, moment in enumerate(moments):
            if isinstance(moment, str):
                name, _, port = moment[1:].partition(":")
                before, link = set(down), {self.netlist.link_at(name, int(port))}
                down = down | link if moment[0] == "-" else down - link
                changes.append(lft_trace.Change(ns, ns, before, set(down), moment[0] == "-",
                                                self.chassis or moment))
            else:
                records.append(types.SimpleNamespace(
                    **{"tid": (ns + 1) * APART, "guid": self.switches["leaf0"], "plugin": 0,
                       **vars(moment), "ns": ns}))
        self.replay.run(records, changes)
        self.doubtful.run(records, changes)

    def test_chassis(self):
        self.assertEqual(self.topology.chassis(), [["spine0"], ["spine1"], ["spine2"]])

    def test_repair(self):
        self.run_all("-leaf0:3", LINKED, TRAP, DISCOVERY, LINKED, self.block("leaf0", 4))
        self.assertEqual([(c.pairs, c.smps, c.mended) for c in self.replay.cuts],
                         [(1, 2, True)])
        self.assertEqual((self.replay.loops, self.replay.undone, self.replay.sets), ([], [], 1))

    def test_never_mended(self):
        self.run_all("-leaf0:3", TRAP, self.block("leaf1", 4))
        self.assertEqual([(c.pairs, c.mended) for c in self.replay.cuts], [(1, False)])

    def test_no_trap_of_its_ends(self):
        other = types.SimpleNamespace(**{**vars(TRAP), "guid": self.switches["leaf1"]})
        self.run_all("-leaf0:3", other, "-leaf1:3", other, self.block("leaf1", 4))
        self.assertEqual([c.name for c in self.replay.cuts], ["-leaf1:3"])

    def test_mended_over_a_link_without_a_trap(self):
        self.run_all("-spine1:4", "-leaf0:3", TRAP, self.block("leaf0", 4))
        self.assertEqual([(c.name, c.pairs, c.mended) for c in self.replay.cuts],
                         [("-leaf0:3", 1, True)])

    def test_set_over_a_dead_link(self):
        self.run_all("-leaf0:4", TRAP, self.block("leaf0", 4), LINKED, self.block("leaf0", 3))
        self.assertEqual([(c.pairs, c.smps, c.mended) for c in self.replay.cuts],
                         [(1, 1, True)])

    def test_nothing_left(self):
        """No path up and down is left: no engine could repair that."""
        self.run_all("-leaf0:3", "-leaf0:4", "-leaf0:5", TRAP)
        self.assertEqual(self.replay.cuts, [])

    def test_returned(self):
        self.run_all("-leaf0:3", TRAP, "+leaf0:3", LINKED)
        self.assertEqual(self.replay.cuts, [])

    def test_loop(self):
        self.run_all(self.block("spine0", 1))
        self.assertEqual(self.replay.loops, [(1, "spine0", LID)])

    def test_loop_over_what_is_dead(self):
        self.run_all("-leaf0:3", self.block("spine0", 1))
        self.assertEqual(self.replay.loops, [])

    def test_loop_over_a_link_that_comes_up(self):
        """It is in INIT, until OpenSM sets the state of its ports."""
        self.run_all("-leaf0:3", "+leaf0:3", self.block("spine0", 1))
        self.assertEqual(self.replay.loops, [])

    def test_loop_when_the_link_is_active(self):
        for end in (("leaf0", 3), ("spine0", 1)):
            self.setUp()
            self.run_all("-leaf0:3", "+leaf0:3", self.port_set(*end), self.block("spine0", 1))
            self.assertEqual(self.replay.loops, [(1, "spine0", LID)])

    def test_moved_before_both_ends_are_active(self):
        """A pair that had a path loses packets."""
        one, other = self.active("leaf0", 3), self.active("spine0", 1)
        for active, moved in (([], 1), ([one], 1), ([other], 1), ([one, other], 0)):
            self.setUp()
            self.run_all("-leaf0:3", TRAP, self.block("leaf0", 4), "+leaf0:3", *active,
                         self.block("leaf0", 3), one, other)
            self.assertEqual(self.replay.inactive, [(2, "leaf0", LID)][:moved])

    def test_moved_to_what_leads_onto_an_idle_link(self):
        self.run_all("-spine0:4", TRAP, self.block("leaf0", 4), self.block("leaf1", 4),
                     "+spine0:4", self.block("leaf0", 3))
        self.assertEqual(self.replay.inactive, [(3, "leaf0", LID)])

    def test_a_pair_without_a_path_loses_nothing(self):
        """Nor does a detour that is dead, or an entry that no pair uses."""
        self.run_all("-leaf0:3", TRAP, self.block("leaf0", 4), "-leaf0:4", TRAP, "+leaf0:3",
                     self.block("leaf0", 3))
        self.assertEqual(self.replay.inactive, [])
        self.setUp()
        self.run_all("-spine1:4", "+spine1:4", self.block("spine1", 3), self.block("spine1", 4))
        self.assertEqual(self.replay.inactive, [])

    def test_lost(self):
        """Only by a Set of the plugin's, as OpenSM's are not judged."""
        asked = types.SimpleNamespace(event="asked", attr=simlab.ATTR_LFT, method=wire.SET,
                                      hops=1, modifier=0, tid=7, plugin=1)
        for port, lost in ((4, 0), (9, 1)):
            for tid in (7, 8):
                self.setUp()
                block = types.SimpleNamespace(**{**vars(self.block("leaf0", port)), "tid": tid})
                self.run_all(asked, block)
                self.assertEqual(self.replay.lost, [(1, "leaf0", LID)] * (lost and tid == 7))

    def test_undone(self):
        """The running sweep saw the dead cable up."""
        self.run_all(DISCOVERY, "-leaf0:3", TRAP, self.block("leaf0", 4), DISCOVERY,
                     self.block("leaf0", 3))
        self.assertEqual(self.replay.undone, [(2, "leaf0", LID)])
        self.assertEqual(self.doubtful.undone, [])

    def test_undone_by_a_return(self):
        """The sweep routes over the returned link; its tables are those that it computed."""
        self.run_all("-spine1:1", TRAP, "+spine1:1", DISCOVERY, "-leaf0:3", TRAP,
                     self.block("leaf1", 4), DISCOVERY, self.block("leaf1", 3))
        self.assertEqual(self.replay.undone, [])
        self.setUp()
        self.run_all("-spine1:1", TRAP, "+spine1:1", DISCOVERY, "-leaf0:3", TRAP,
                     self.block("leaf1", 4), DISCOVERY, self.block("leaf1", 3),
                     self.block("leaf1", 4))
        self.assertEqual(self.replay.undone, [(2, "leaf1", LID)])

    def test_put_right(self):
        """Blocks that were on their way when the cable failed."""
        self.run_all(DISCOVERY, self.block("leaf0", 4), "-leaf0:3", TRAP,
                     self.block("leaf0", 3), self.block("leaf0", 4))
        self.assertEqual(self.replay.undone, [])

    def test_queued(self):
        """A repair's block was in OpenSM's queue when another part failed."""
        queued = self.block("leaf0", 4)
        queued.tid = APART + lft_trace.MOST_QUEUED
        self.run_all(DISCOVERY, "-leaf0:3", TRAP, queued, self.block("leaf0", 3))
        self.assertEqual(self.replay.undone, [])
        queued.tid += 1
        self.setUp()
        self.run_all(DISCOVERY, "-leaf0:3", TRAP, queued, self.block("leaf0", 3))
        self.assertEqual(self.replay.undone, [(2, "leaf0", LID)])

    def test_no_trap(self):
        """No trap reported the first failure: it may be found after the second one is repaired."""
        self.run_all(DISCOVERY, "-leaf1:3", "-leaf0:3", TRAP, self.block("leaf0", 4),
                     self.block("leaf0", 3))
        self.assertEqual(self.replay.undone, [])
        self.setUp()
        self.run_all(DISCOVERY, "-leaf1:3", TRAP, "-leaf0:3", TRAP, self.block("leaf0", 4),
                     self.block("leaf0", 3))
        self.assertEqual(self.replay.undone, [(2, "leaf0", LID)])

    def test_parts(self):
        """A trap of one part is enough, and paths over fewer parts may be undone."""
        self.chassis = "all"
        self.run_all(DISCOVERY, "-leaf1:3", "-leaf0:3", TRAP, self.block("leaf0", 4),
                     self.block("leaf0", 3))
        self.assertEqual(self.replay.undone, [(2, "leaf0", LID)])
        self.setUp()
        self.chassis = "all"
        self.run_all(DISCOVERY, "-leaf1:3", TRAP, self.block("leaf0", 4), "-leaf0:3", TRAP,
                     self.block("leaf0", 3))
        self.assertEqual(self.replay.undone, [])
        self.setUp()
        self.run_all(DISCOVERY, "-leaf1:3", TRAP, self.block("leaf0", 4), TRAP,
                     self.block("leaf0", 3))
        self.assertEqual(self.replay.undone, [(2, "leaf0", LID)])

    def test_next_sweep(self):
        self.run_all(DISCOVERY, "-leaf0:3", TRAP, self.block("leaf0", 4), LINKED, DISCOVERY,
                     self.block("leaf0", 3))
        self.assertEqual(self.replay.undone, [])

    def test_unknown_switch(self):
        self.switches = {**self.switches, "leaf0": 99}
        with self.assertRaises(simlab.SimError):
            self.run_all(self.block("leaf0", 4))


if __name__ == "__main__":
    unittest.main()
