#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-lab traffic --engine flit: errors on bad input, deadlocks, and lost flits."""

import json
import unittest

import labtest
import pmlab


def run(*args):
    return pmlab.run_lab("traffic", "--engine", "flit", *args)


class FlitEngine(labtest.Folders):
    def refused(self, message, *args, status=2):
        done = run(*args)
        self.assertEqual((done.returncode, done.stdout), (status, ""), args)
        self.assertIn(message, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_bad_input(self):
        for load in ("0", "2", "0.0001", "0.5..2/0.5"):
            self.refused(f"--load {load}: not from 0.001 to 1", "--load", load)
        for text in ("x", "", "1,", "1..0.5", "0.1..", "1/", "0.1..1/0", "-1", "0.001..1/0.0001"):
            self.refused("--load: not numbers", "--load", text)
        self.refused("--length 16385: not from 1 to 16384", "--length", 16385)
        for pattern in ("tornado", "uniform:1", "shift", "hotspot", "hotspot:1:2:3", "shift:x",
                        "pair:1"):
            self.refused("not uniform, shift:N", "--pattern", pattern)
        self.refused("a hot spot is a node from 0 to 15", "--pattern", "hotspot:16")
        self.refused("1 to 100 percent", "--pattern", "hotspot:1:101")
        self.refused("a shift is by 1 to 15", "--pattern", "shift:0")
        self.refused("that differ", "--pattern", "pair:1:1")
        for topology in ("ring:4", "torus", "torus:4x", "mesh:4", "tree:4x3x2", "chain:x"):
            self.refused(f"--topology {topology}: not torus:XxY", "--topology", topology)
        self.refused("2 to 64 switches", "--topology", "torus:4x65")
        self.refused("up to 4096 nodes", "--topology", "tree:64x6")
        self.refused('no engine "fluid"', "--engine", "fluid")
        self.refused("--flow window: not one of credit|slack", "--flow", "window")
        self.refused("not a number from 1 to 64", "--vcs", 65)

    def test_contradictions(self):
        self.refused("--stop and --go are for --flow slack", "--stop", 68)
        self.refused("--stop and --go are for --flow slack", "--flow", "credit", "--go", 6)
        self.refused("STOP at most the buffer (64)", "--flow", "slack", "--buffer", 64)
        self.refused("GO (70) is to be below STOP (68)", "--flow", "slack", "--go", 70)
        self.refused("hop needs 5 VCs here, not 4", "--vcs", 4)
        self.refused("not ROUTING:VC:CROSSBAR:CROSSING", "--router", "0:0:1:1")
        self.refused("not ROUTING:VC:CROSSBAR:CROSSING", "--router", "0:1:1")
        self.refused("reads of a switch with stages: 2", "--router", "0:1:1:1", "--reads", 2)
        self.refused("dateline is for a torus", "--topology", "tree:2x2", "--vc-rule", "dateline")
        self.refused("--ties is for a torus", "--topology", "tree:2x2", "--ties", "up")
        self.refused("--lfts needs NETLIST", "--lfts", "x")
        self.refused("either NETLIST or --topology", "--topology", "torus:4x4", "x.net")

    def test_tables(self):
        net = pmlab.generate(self.folder / "f.net", "two-level", 4, 2, 2, 1)
        other = pmlab.generate(self.folder / "other.net", "two-level", 6, 2, 2, 1)
        for name in (net, other):
            lfts = name.with_suffix(".lfts")
            self.assertEqual(pmlab.run_cli("plan", "-q", "--lfts", lfts, name).returncode, 0)
        short = ("--warm-up", 500, "--cycles", 2000, "--load", "0.5", "--json")
        planned = run(*short, net)
        self.assertEqual((planned.returncode, planned.stderr), (0, ""))
        given = json.loads(run(*short, "--lfts", net.with_suffix(".lfts"), net).stdout)
        wanted = json.loads(planned.stdout)
        self.assertEqual(given["points"], wanted["points"])
        self.assertEqual(wanted["network"]["nodes"], 8)
        self.refused("has no table of", "--lfts", net.with_suffix(".lfts"), other, status=3)
        self.refused("No such file", "--lfts", self.folder / "none", net, status=3)
        self.refused("No such file", self.folder / "none", status=3)

    def test_findings(self):
        """A deadlock is a finding; flits that slack buffers lose are reported, but are none."""
        done = run("--topology", "torus:5x5", "--vc-rule", "one", "--load", 1, "--seeds", 1)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout, r"(?m)^finding: deadlock, packets of 64, load 1.00, seed 1: "
                                      r"found in cycle \d+; \d+ flits in \d+ buffers")
        self.assertRegex(done.stdout, r"(?m)^  s\d+ -> s\d+, VC 0, which waits for the first")
        done = run("--topology", "mesh:4x5", "--vc-rule", "one", "--flow", "slack", "--cable", 31,
                   "--load", 1, "--seeds", 1, "--cycles", 10000, "--json")
        self.assertEqual(done.returncode, 0)
        found = json.loads(done.stdout)
        self.assertEqual(found["findings"], [])
        self.assertGreater(found["points"][0]["lost_flits"], 0)

    def test_repeatable(self):
        args = ("--length", "8,16..32/16", "--load", "0.5,1", "--cycles", 2000, "--json")
        first = run(*args)
        self.assertEqual(run(*args).stdout, first.stdout)
        found = json.loads(first.stdout)
        self.assertEqual([(one["length"], one["load"]) for one in found["points"]],
                         [(length, load) for length in (8, 16, 32) for load in (0.5, 1)])
        self.assertEqual([one["length"] for one in found["saturation"]], [8, 16, 32])
        self.assertNotEqual(run(*args, "--seed", 2).stdout, first.stdout)

    def test_quiet(self):
        done = run("-q", "--cycles", 100, "--load", 1)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
