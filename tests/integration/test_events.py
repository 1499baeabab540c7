#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every kind of event: the Sets are those of whatif, and all paths work.

All blocks of a failure are sent before OpenSM's sweep, and none again.
"""

import unittest

import labtest
import pmlab

LEAVES = 16  # of the small director


def ways_to_manager(lab, leaf):
    """The port by which a leaf sends to the subnet manager, and the switch behind it."""
    dump = pmlab.Dump(lab.dump())
    port = dump.table(leaf)[dump.lids[lab.osm.host]]
    return port, lab.netlist.nodes[leaf].ports[port][0]


class Started(labtest.Repaired):
    def check_start(self):
        """Whole tables once for each switch, in which no shift fills a link twice."""
        self.check_costs(self.start)
        self.assertEqual(self.start.wire, self.switches * self.full_blocks)
        walked = self.check_walk("--shifts", "all")
        self.assertEqual(walked["cut"], 0)
        self.assertLessEqual(walked["uplinks"]["spread"], 1)
        self.assertEqual(walked["shift"], 1)
        self.assertEqual(pmlab.walk_faults(self.lab.walk("--from-all")), [])
        return walked


class Whole(Started):
    """The director of 648 hosts, to which the numbers belong."""

    GENERATE = ("director", 36)

    def test_bring_up(self):
        self.check_loads(self.check_start(), 1.0)

    def test_chassis(self):
        # Its 3 LIDs have no path from any leaf; all other LIDs have.
        self.lose_and_back("s0-*", blocks=36, new_switches=3, spread=2, over=1.06, gone=3 * 36)

    def test_switches(self):
        for target in ("s3-line1", "s3-fab0"):
            with self.subTest(target):
                lost, _ = self.lose_and_back(target, new_switches=1, over=1.09)
                self.assertGreater(lost.wire, 0)

    def test_line_fabric_cable(self):
        lost, _ = self.lose_and_back("s3-line1:30", most=28, spread=2, gone=0)
        self.assertGreater(lost.wire, 0)


class Events(Started):
    def test_bring_up(self):
        self.check_start()

    def test_chassis(self):
        # Its 3 LIDs have no path from any leaf; all other LIDs have.
        self.lose_and_back("s0-*", blocks=LEAVES, new_switches=3, spread=2, gone=3 * LEAVES)

    def test_cable(self):
        # leaf5 has no path up to the chassis's three switches.
        lost, _ = self.lose_and_back("leaf5:20", spread=2, gone=3)
        self.assertGreater(lost.wire, 0)

    def test_cable_at_the_subnet_managers_leaf(self):
        # The line switches send traps over another path, the fabric switch does so already.
        other = pmlab.whatif(self.netlist, "leaf0:24", manager="h9-1").blocks
        self.lose_and_back("leaf0:24", blocks=other + 2, spread=2, gone=3)

    def test_every_cable_of_the_subnet_managers_leaf(self):
        """They fail one by one: to the last one every switch has a path to the manager."""
        ports = sorted(port for port, (peer, _) in self.lab.netlist.nodes["leaf0"].ports.items()
                       if peer.startswith("s"))
        for port in ports[:-1]:
            self.down.append(f"leaf0:{port}")
            self.check_costs(self.lab.lose(f"leaf0:{port}"))
            self.check_walk()
        for port in ports[:-1]:
            self.back(f"leaf0:{port}")
        self.check_healthy()

    def test_traps_take_detours(self):
        """Failures in a chassis that the manager's leaf is cut off from are reported."""
        self.down.append("leaf0:20")
        self.lab.lose("leaf0:20")
        self.down.append("s1-line1:20")
        event = self.lab.lose("s1-line1:20")
        self.check_costs(event)
        self.assertGreater(event.wire, 0)
        self.assertEqual(event.measured["traps"], 2)
        self.check_walk()
        self.back("s1-line1:20")
        self.back("leaf0:20")
        self.check_healthy()

    def test_host(self):
        self.lose_and_back("h7-3", blocks=0, spread=2, gone=LEAVES)

    def test_leaf_with_its_hosts(self):
        # Its 5 LIDs have no path from any leaf, and all others none from it.
        lids = len(self.healthy.lids)
        self.lose_and_back("leaf9", blocks=0, new_switches=1, spread=2,
                           gone=5 * LEAVES + (lids - 5))

    def test_line_switch(self):
        lost, _ = self.lose_and_back("s3-line1", new_switches=1)
        self.assertGreater(lost.wire, 0)

    def test_fabric_switch(self):
        lost, _ = self.lose_and_back("s3-fab0", new_switches=1)
        self.assertGreater(lost.wire, 0)

    def test_line_fabric_cable(self):
        lost, _ = self.lose_and_back("s3-line1:20", most=28, spread=2, gone=0)
        self.assertGreater(lost.wire, 0)

    def test_host_replaced(self):
        """Another adapter in the place of one: it gets the LID of the place."""
        old_lid = self.healthy.lids["h7-3"]
        guid = 0xABCDEF0001

        def replace():
            self.lab.fabric.console('Clear "h7-3"', f'Guid "h7-3" {guid:#x}',
                                    f'Guid "h7-3"[1] {guid + 1:#x}', 'ReLink "h7-3"')

        event = self.lab.measure("host replaced", replace)
        self.check_costs(event)
        self.assertEqual(event.wire, 0)
        self.check_healthy()
        self.assertEqual(pmlab.Dump(self.lab.dump()).lids["h7-3"], old_lid)
        self.assertIn(f"{guid + 1:x}", self.lab.osm.log())

    def test_switch_rebooted(self):
        """It is off and on at once: its LFT is unknown and written whole."""
        for name in ("s4-line1", "s4-fab0", "leaf11"):
            with self.subTest(name):
                event = self.lab.measure(f"{name} rebooted", lambda n=name: self.lab.fabric.console(
                    f'Clear "{n}"', f'ReLink "{n}"'))
                self.check_costs(event)
                # Before its links are in service or, by OpenSM, if its sweep is quicker.
                self.assertGreaterEqual(event.rewritten + event.whole * self.full_blocks,
                                        self.full_blocks)
                self.assertGreaterEqual(event.wire, self.full_blocks)
                self.check_healthy()

    def test_overlapping_losses(self):
        """Several parts fail at once, and return in another order."""
        targets = ("s0-*", "leaf5:20", "s3-line1", "h7-3", "s3-fab0:2")
        self.addCleanup(self.check_healthy)
        for target in targets:
            self.down.append(target)
            self.check_costs(self.lab.lose(target))
            self.check_walk()
        for target in ("leaf5:20", "s3-line1", "s0-*", "s3-fab0:2", "h7-3"):
            self.back(target)
            self.check_walk()

    def test_two_things_at_once_are_foretold(self):
        targets = ("s2-*", "leaf8:23")
        predicted = self.lab.whatif(*targets)

        def both():
            return sum(self.lab.fabric.lose(t) for t in targets)

        self.down.extend(targets)
        event = self.lab.measure("two losses", both)
        self.check_costs(event)
        if event.parts == 1:
            self.assertEqual(event.wire, predicted.blocks)
        else:  # seen one after the other: no fewer than at once
            self.assertGreaterEqual(event.wire, predicted.blocks)
        self.check_walk()
        for target in targets:
            self.back(target)
        self.check_healthy()

    def test_subnet_managers_ways(self):
        """Cables of the manager's own leaf, and the chassis that carries its LID."""
        port, spine = ways_to_manager(self.lab, "leaf5")
        chassis = f"{spine.partition('-')[0]}-*"
        cables = [f"leaf0:{p}" for p, (peer, _) in
                  sorted(self.lab.netlist.nodes["leaf0"].ports.items()) if peer.startswith("s")]
        for target in (cables[0], cables[-1], f"leaf0:{port}", chassis):
            with self.subTest(target):
                self.lose(target)
                self.check_walk()
                self.check_returned(self.back(target))
                self.check_healthy()

    def test_two_cables_at_once(self):
        """Whatever the order of traps, the sweep has nothing to send."""
        targets = ("s4-line1:20", "leaf20:25")
        self.down.extend(targets)
        event = self.lab.measure("two losses",
                                 lambda: sum(self.lab.fabric.lose(t) for t in targets))
        self.check_costs(event)
        self.assertGreater(sum(line.sent for line in event.repairs), 0)
        self.check_walk()
        for target in targets:
            self.back(target)
        self.check_healthy()

    def test_sweep_without_a_change_sends_nothing(self):
        event = self.lab.measure("SIGHUP", self.lab.osm.hup)
        self.check_costs(event)
        self.assertEqual(event.wire, 0)


if __name__ == "__main__":
    unittest.main()
