#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""5,832 hosts: the cost of sweeps without changes, on an otherwise idle machine (slow)."""

import unittest

import test_big


class Quiet(test_big.Swift):
    GENERATE = ("director", 324)

    def test_quiet(self):
        self.check_quiet_sweeps()


if __name__ == "__main__":
    unittest.main()
