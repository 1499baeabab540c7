#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Early repair is a multiple sooner than without it, and than OpenSM's engines (648 hosts)."""

import unittest

import failover
import labtest
import pmlab
import simlab


class FailoverTimes(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        netlist = pmlab.generate(cls.folder / "fabric.net", "director", 36)
        cls.results = failover.compare(simlab.Netlist(netlist), tries=1)

    def test_ratios(self):
        """SMPs are counted, times computed from what was recorded: see failover.py."""
        early = {r.loss: r for r in self.results if r.how == failover.EARLY}
        for r in self.results:
            if r.how == failover.EARLY:
                continue
            with self.subTest(str(r)):
                self.assertGreaterEqual(r.smps, 50 * early[r.loss].smps)
                self.assertGreaterEqual(r.wire_s, 3 * early[r.loss].wire_s)
                self.assertGreaterEqual(r.cpu_s, 3 * early[r.loss].cpu_s)

    def test_engines(self):
        """What is called portmajor's was portmajor's."""
        for r in self.results:
            if r.how in (failover.EARLY, failover.LATE):
                self.assertFalse(r.gave_up, r)

    def test_table(self):
        lines = failover.format_table(self.results).splitlines()
        ways = 2 + len(failover.ENGINES)
        self.assertEqual(len(self.results), ways * len(failover.LOSSES))
        self.assertGreaterEqual(len(lines), 2 + ways)


if __name__ == "__main__":
    unittest.main()
