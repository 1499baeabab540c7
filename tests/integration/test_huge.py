#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""11,664 hosts: the exact numbers that must be reached (slow)."""

import unittest

import test_big


class Huge(test_big.Swift):
    GENERATE = ("director", 648)
    CPU = 1
    # As in test_big, in proportion to the blocks.
    LAST_LFT_SMP = {"leaf5:20": 900, "s0-*": 16500}

    def test_bring_up(self):
        self.check_costs(self.start)
        self.assertEqual(self.start.wire, self.start.runs[-1].full_load)
        walked = self.check_walk()
        self.assertEqual(walked["cut"], 0)
        self.assertLessEqual(walked["uplinks"]["spread"], 1)

    def test_chassis(self):
        self.lose_and_back("s0-*", blocks=7128, new_switches=54, spread=2, over=1.06)

    def test_cable(self):
        self.lose_and_back("leaf5:20", blocks=658, spread=2)


if __name__ == "__main__":
    unittest.main()
