#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The README's statement about multicast after a failure: LFTs are repaired at once, and MFTs behind
them.
"""

import unittest

import labtest
import multicast_costs
import pmlab


class Multicast(labtest.Folders):
    def test_losses_in_the_tree(self):
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        rows, faults = multicast_costs.run(netlist, 36, "portmajor", lambda text: None)
        self.assertEqual(faults, [])
        self.assertEqual([row[0] for row in rows], ["cable", "switch", "chassis"])
        for kind, _, lft_sets, last_lft, mft_sets, last_mft, smps in rows:
            with self.subTest(kind):
                self.assertGreater(lft_sets, 0)
                self.assertLess(last_lft, 450)
                self.assertGreater(mft_sets, 0)
                self.assertGreater(last_mft, last_lft)
                self.assertLess(last_mft, 900)
                self.assertLess(last_mft, smps // 2)


if __name__ == "__main__":
    unittest.main()
