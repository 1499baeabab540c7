#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Early repair is a multiple faster than without it, and than OpenSM (648 hosts)."""

import unittest

import failover
import labtest
import pmlab


class FailoverTimes(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        netlist = pmlab.generate(cls.folder / "fabric.net", "director", 36)
        cls.results = failover.compare(netlist, delays_us=(0,))

    def test_ratios(self):
        """Seconds are of the same run, one beside the other: only their ratio counts."""
        for r in self.results:
            with self.subTest(how=r.how, delay_us=r.delay_us, loss=r.loss):
                self.assertGreater(r.lft_sets, 0)
                if r.how != failover.EARLY:
                    self.assertGreaterEqual(r.smp_ratio, 10)
                    self.assertGreaterEqual(r.seconds_ratio, 2)

    def test_table(self):
        lines = failover.format_table(self.results).splitlines()
        self.assertEqual(len(lines), 1 + len(self.results))
        self.assertEqual(len(self.results), 3 * len(failover.LOSSES))


if __name__ == "__main__":
    unittest.main()
