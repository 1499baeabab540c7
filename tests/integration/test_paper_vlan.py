#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The paper on fat trees of VLANs has the same verdicts as in a comparison by hand; and portmajor-lab
traffic --engine share with failures and with bad input.
"""

import json
import unittest

import labtest
import paper_vlan
import pmlab
from paper_table import HOLDS


class Paper(labtest.Statements, unittest.TestCase):
    VERDICTS = {"t1": HOLDS, "f1": HOLDS, "f2": HOLDS, "f3": HOLDS, "f4": HOLDS}
    OURS = {
        "t1": "1538 of 1542 bytes, 0.9974",
        "f1": "tree 1.00, 1.00, 1.00, 1.00 links' worth",
        "f2": "VLANs 1.00, 2.00, 3.00, 4.00 links' worth",
        "f3": "VLANs 4.00, flat 4.00 links' worth",
        "f4": "at least 18, 36, 54, 108, 162, 324 with 1, 2, 3, 6, 9, 18 VLANs, a tree 18;",
    }

    @classmethod
    def setUpClass(cls):
        with paper_vlan.Bench() as bench:
            cls.rows = paper_vlan.statements(bench)


class Command(labtest.Folders):
    def setUp(self):
        self.netlist = pmlab.generate(self.folder / "f.net", "two-level", 4, 4, 4, 1)

    def share(self, *args):
        done = pmlab.run_lab("traffic", "--engine", "share", *args, self.netlist)
        self.assertEqual((done.returncode, pmlab.told(done)), (0, ""), args)
        return done.stdout

    def networks(self, *args):
        return json.loads(self.share("--json", *args))["networks"]

    def test_spine_lost(self):
        """One of four planes has failed: each host at a leaf has three cables out."""
        for one in self.networks("--fail", "spine2"):
            with self.subTest(one["kind"]):
                straight = {"flat": 1, "tree": 0.25}.get(one["kind"], 0.75)
                self.assertAlmostEqual(one["straight"], straight)
                self.assertLessEqual(one["shifts"]["maximum"], 1)
                self.assertEqual(one["unreachable"], 0)

    def test_shifts_after_a_loss(self):
        """The changed lines leave the rest as evenly assigned as the plan's tables do."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 8, 8, 8, 1)
        done = pmlab.run_lab("traffic", "--engine", "share", "--json", "--permutations", 1,
                             "--fail", "spine0", netlist)
        shifts = {one["kind"]: one["shifts"] for one in json.loads(done.stdout)["networks"]}
        for key in ("mean", "minimum"):
            self.assertGreaterEqual(shifts["vlan"][key], 0.96 * shifts["tables"][key])

    def test_apart(self):
        """A leaf without any cable: its hosts get nothing, and it is reported."""
        lost = [word for port in range(5, 9) for word in ("--fail", f"leaf0:{port}")]
        found = {one["kind"]: one for one in self.networks("--permutations", 3, *lost)}
        for kind, one in found.items():
            with self.subTest(kind):
                self.assertEqual(one["unreachable"], 0 if kind == "flat" else 4 * (8 + 3))
                self.assertEqual(one["slowest"], 1 if kind == "flat" else 0)
        self.assertIn("vlan: 44 of 88 flows have no path", self.share("--permutations", 3, *lost))

    def test_hosts_lost(self):
        """Absent hosts do not take part."""
        done = json.loads(self.share("--json", "--fail", "h0-1", "--fail", "h3-*"))
        self.assertEqual((done["hosts"], done["flows"]), (11, 5))
        self.assertEqual([one["unreachable"] for one in done["networks"]], [0, 0, 0, 0])

    def test_repeatable(self):
        args = ("--vlans", "2..3", "--permutations", 20)
        self.assertEqual(self.share(*args), self.share(*args))
        self.assertNotEqual(self.share(*args), self.share(*args, "--seed", 2))
        self.assertEqual([one["vlans"] for one in self.networks(*args)], [None, None, 2, 3, None])
        self.assertEqual(self.share("-q"), "")

    def test_repaired(self):
        """Recordings: the rates of all hosts' exchange, before and after; one of four cables fails.
        """
        file = self.folder / "cable.sets"
        pmlab.run_lab("traffic", "-q", self.netlist, "--write", file, "--fail", "leaf0:5")
        spine = self.folder / "spine.sets"
        pmlab.run_lab("traffic", "-q", self.netlist, "--write", spine, "--fail", "spine0")
        found = json.loads(self.share("--json", "--sets", file, "--compare", file))
        one, two = found["recordings"]
        self.assertEqual(one, two)
        self.assertEqual((found["shifts"], found["permutations"], one["after"]["hosts"]),
                         (16, 16, 16))
        for of, all_to_all in (("before", 1), ("after", 15 / 16)):
            with self.subTest(of):
                self.assertEqual(one[of]["unreachable"], 0)
                self.assertAlmostEqual(one[of]["all_to_all"], all_to_all)
        self.assertEqual(one["before"]["shifts"]["minimum"], 1)
        self.assertLess(one["after"]["shifts"]["mean"], 1)
        self.assertRegex(self.share("--sets", file), r"(?m)^portmajor, computed, repaired +16 ")
        for args, message in ((("--sets", file, "--compare", spine),
                               "spine.sets: not the failure of "),
                              (("--sets", file, "--fail", "spine0"), "--fail: with --sets"),
                              (("--compare", file), "--compare: for --sets")):
            done = pmlab.run_lab("traffic", "--engine", "share", *args, self.netlist)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_bad_input(self):
        for args, message in (
                (("--vlans", "0"), "--vlans: not a list of at most 64 numbers from 1 to 4094"),
                (("--vlans", "4095"), "--vlans: not a list"),
                (("--permutations", "0"), "--permutations 0: not a number from 1 to 1000000"),
                (("--fail", "nobody"), 'nobody')):
            done = pmlab.run_lab("traffic", "--engine", "share", *args, self.netlist)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn(message, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        done = pmlab.run_lab("traffic", "--engine", "share", "--fail", "h0-*", "--fail", "h1-*",
                             "--fail", "h2-*", "--fail", "h3-[1-3]", self.netlist)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("there are less than 2 hosts", done.stderr)


if __name__ == "__main__":
    unittest.main()
