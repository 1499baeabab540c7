#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The other LID orders, chosen by a configuration file, at 648 hosts."""

import unittest

import labtest


class Orders:
    """The tests; a class for each order below."""

    GENERATE = ("director", 36)

    def test_bring_up(self):
        self.assertIn(f"lid_order {self.ORDER}", self.lab.osm.log())
        self.check_costs(self.start)
        walked = self.check_walk("--shifts", "all")
        self.assertEqual(walked["cut"], 0)
        self.assertEqual(walked["shift"], 1)

    def test_chassis(self):
        self.lose_and_back("s0-*", new_switches=3, spread=2, over=1.06)

    def test_cable(self):
        self.lose_and_back("leaf5:20", spread=2)

    def test_host(self):
        self.lose_and_back("h7-3", blocks=0, spread=2)


class LeafMajor(Orders, labtest.LabCase):
    ORDER = "leaf-major"

    def test_lids(self):
        """Hosts are numbered from 1, leaf by leaf and port by port."""
        self.assertEqual([self.healthy.lids[f"h{leaf}-{port}"]
                          for leaf in range(36) for port in range(1, 19)],
                         list(range(1, 649)))


class PortMajor(Orders, labtest.LabCase):
    ORDER = "port-major"

    def test_lids(self):
        """The first port of all leaves, then the second, and so on.

        The table has no first LID of a port, only the LIDs in one group.
        """
        for port in range(1, 19):
            lids = [self.healthy.lids[f"h{leaf}-{port}"] for leaf in range(36)]
            self.assertEqual(lids, list(range(lids[0], lids[0] + 36)))


if __name__ == "__main__":
    unittest.main()
