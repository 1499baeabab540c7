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


class DuringSweep(labtest.Folders):
    """OpenSM sweeps already, for a host that left, when something is lost."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        netlist = simlab.Netlist(pmlab.generate(cls.folder / "fabric.net", "director", 36))
        ways = failover.EARLY, "minhop"
        cls.results = [r for how in ways for r in failover.run_during(netlist, how)]

    def test_soon(self):
        found = {(r.how, r.loss, r.share): r for r in self.results}
        for r in self.results:
            if r.how != failover.EARLY:
                continue
            with self.subTest(str(r)):
                idle = found[r.how, r.loss, 0]
                self.assertGreater(idle.own, 0)
                self.assertLessEqual(r.own, 2 * idle.own)
                self.assertGreaterEqual(found["minhop", r.loss, r.share].smps, 5 * r.smps)

    def test_table(self):
        lines = failover.format_during(self.results).splitlines()
        self.assertEqual(len(lines), 1 + 2 * len(failover.LOSSES))


if __name__ == "__main__":
    unittest.main()
