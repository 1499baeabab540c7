#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The night of an operator, docs/evidence/night.md: all of its rows hold."""

import unittest

import night


class Night(unittest.TestCase):
    def test_rows(self):
        rows = night.read_table(night.TABLE)
        self.assertGreater(len(rows), 45)
        self.assertEqual(night.report(rows, night.LANES, night.LIMIT_S), set())


if __name__ == "__main__":
    unittest.main()
