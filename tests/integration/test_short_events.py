#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The program that scripts/compatibility runs with other OpenSMs, run with this one."""

import json
import pathlib
import subprocess
import sys
import unittest

PROGRAM = pathlib.Path(__file__).with_name("short_events.py")


class ShortEvents(unittest.TestCase):
    def test_events(self):
        done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True,
                              check=True, timeout=300)
        told = json.loads(done.stdout)
        self.assertEqual(told["opensm"], told["loaded"])
        for row in told["events"]:
            self.assertEqual(row["faults"], [], row["name"])
            if row["name"].endswith(" lost"):
                self.assertEqual(row["wire"], row["whatif"], row["name"])


if __name__ == "__main__":
    unittest.main()
