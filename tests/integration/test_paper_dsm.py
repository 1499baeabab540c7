#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The paper on shared memory has the same verdicts as in a comparison by hand; and portmajor-lab dsm
refuses bad input.
"""

import unittest

import labtest
import paper_dsm
import pmlab
from paper_table import FITTED, HOLDS, IN_PART


class Paper(labtest.Statements, unittest.TestCase):
    VERDICTS = {"d1": HOLDS, "d2": FITTED, "d3": FITTED, "d4": HOLDS, "d5": FITTED, "d6": IN_PART,
                "d7": HOLDS}
    OURS = {
        "d1": "1 for 1 bytes, 1 for 2,042 bytes, 2 for 2,043 bytes, 3 for 4,096 bytes, "
              "9 for 16,384 bytes, 33 for 65,536 bytes",
        "d2": "100.0, 100.0, 100.0 us with 2, 3, 4 nodes; 100.1 us instead of 200.1 with 2 (0.500)",
        "d3": "100.0, 100.0, 100.0 us with 2, 3, 4 nodes; 105.1 us instead of 205.1 with 2 (0.513)",
        "d4": "3 with 2 receives, 5 with 4 receives, 9 with 8 receives, 11 with 10 receives; "
              "none with 64",
        "d5": "With others it holds with 9 of 80 combinations of ",
        "d6": "0.53% with 4 nodes",
    }

    @classmethod
    def setUpClass(cls):
        cls.rows = paper_dsm.statements()


class Command(unittest.TestCase):
    def test_bad_input(self):
        for args, message in (
                (("-N", "0"), "--nodes: not a list of at most 64 numbers from 1 to 256"),
                (("-N", "257"), "--nodes: not a list"),
                (("--bursts", "0"), "--bursts: not a list of at most 64 numbers from 1 to 64"),
                (("--bursts", "65"), "--bursts: not a list"),
                (("--pages", "65"), "--pages 65: not a number from 1 to 64"),
                (("--posted", "0"), "--posted 0: not a number from 1 to 65536"),
                (("--page", "1048577"), "--page 1048577: not a number from 0 to 1048576"),
                (("--mbps", "0"), "--mbps 0: not a number from 1"),
                (("--tries", "0"), "--tries 0: not a number from 1")):
            done = pmlab.run_lab("dsm", *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn(message, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_gives_up(self):
        """A page of three packets never fits two receives."""
        done = pmlab.run_lab("dsm", "-N", 2, "--posted", 1, "--tries", 3, "--json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a node gave up", done.stderr)
        self.assertIn('"unanswered": 1', done.stdout)

    def test_quiet(self):
        done = pmlab.run_lab("dsm", "-q")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
