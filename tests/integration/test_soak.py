#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Four minutes of soak.py (slow), with the same draws each time: soak.py by hand finds new faults.

PM_SEED and PM_MINUTES in the environment give others.
"""

import os
import unittest

import soak


class Soak(unittest.TestCase):
    def test_soak(self):
        seed = int(os.environ.get("PM_SEED", "20261122"))
        minutes = float(os.environ.get("PM_MINUTES", "4"))
        tally = soak.soak(seed, 0, 1 << 30, 60 * minutes, lambda text: print(text, flush=True))
        print(tally, flush=True)
        self.assertGreater(tally.judged, 5)
        self.assertGreater(tally.kills, 0)
        self.assertGreater(tally.members, 0)


if __name__ == "__main__":
    unittest.main()
