#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The number of LFT Sets of a repair until all hosts have their paths again: whatif, log and wire.
"""

import types
import unittest

import failover
import labtest
import pmlab
import real_fabrics
import record_sets
import simlab
import wire
import wiretime


def without_aggregation(path):
    """The netlist with no aggregation node."""
    netlist = simlab.Netlist(path)
    gone = {name for name in netlist.nodes if name.startswith("agg")}
    for name in gone:
        del netlist.nodes[name]
    for node in netlist.nodes.values():
        for port in [port for port, (peer, _) in node.ports.items() if peer in gone]:
            del node.ports[port]
    return netlist


class Restoring(labtest.Folders):
    def cuts(self, path, down, found):
        """Pairs of hosts without a path before the first Set and after each."""
        lab = types.SimpleNamespace(netlist=without_aggregation(path), down=lambda: down)
        reach = wiretime.Reach(lab, found.before,
                               {guid: name for name, guid in found.before.guids.items()})
        cuts = [reach.cut]
        for one in found.sets:
            reach.write(types.SimpleNamespace(guid=one.guid, modifier=one.block,
                                              data=one.entries))
            cuts.append(reach.cut)
        return cuts

    def lose(self, osm, target):
        """A failure that was found in one round: the record, the repair, and links."""
        for _ in range(pmlab.ATTEMPTS):
            start = osm.mark().log_offset
            found = record_sets.lose(osm, [target], self.folder, False)
            repairs = pmlab.Repair.find(osm.log(start))
            down = osm.fabric.down()
            pmlab.back(osm, target)
            if len(repairs) == 1 and repairs[0].rounds == 1 and not found.late:
                return found, repairs[0], down
        self.skipTest(f"{target}: traps or answers were late each time")

    def check(self, path, *targets):
        """Returns {target: (Sets, those until all have paths)}."""
        costs = {}
        with pmlab.Fabric(simlab.Netlist(path)) as fabric, failover.open_sm(
                fabric, "portmajor", wire.Wire(trace=True), self.folder, None) as osm:
            osm.settle(timeout=pmlab.TIMEOUT_S)
            for target in targets:
                with self.subTest(target):
                    found, repair, down = self.lose(osm, target)
                    predicted = pmlab.whatif(path, target, manager=osm.host)
                    cuts = self.cuts(path, down, found)
                    first = cuts.index(cuts[-1])  # no pair works and is cut again
                    self.assertEqual(cuts[first:], [cuts[-1]] * (len(cuts) - first))
                    self.assertEqual((first, first), (repair.restoring, predicted.restoring))
                    self.assertEqual((repair.sent, predicted.blocks), (len(found.sets),) * 2)
                    costs[target] = len(found.sets), first
        return costs

    def test_director(self):
        """In a chassis, and at a leaf, where all blocks are needed."""
        path = pmlab.generate(self.folder / "fabric.net", "director", 36)
        self.assertEqual(self.check(path, "s0-line0:30", "leaf5:20"),
                         {"s0-line0:30": (20, 2), "leaf5:20": (36, 36)})

    def test_three_levels(self):
        path = pmlab.generate(self.folder / "fabric.net", "xgft", 3, "4,4,4", "1,4,4")
        costs = self.check(path, "leaf5:6", "sw2-5:6", "sw2-6", "sw3-3")
        self.assertTrue(any(first < blocks for blocks, first in costs.values()), costs)

    def test_aggregation_nodes(self):
        """A pod with these and the manager's nodes on spines: blocks in steps may come first."""
        path = real_fabrics.write(real_fabrics.NDR_POD, self.folder / "fabric.net")
        costs = self.check(path, "sw06:45")
        self.assertLess(costs["sw06:45"][1], costs["sw06:45"][0])


if __name__ == "__main__":
    unittest.main()
