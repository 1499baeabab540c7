#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The circuits paper has the same verdicts as in a comparison by hand; and portmajor collective
refuses bad input.
"""

import csv
import json
import pathlib
import tempfile
import unittest

import labtest
import paper_circuits
import pmlab
from paper_table import FITTED, HOLDS, IN_PART


class Paper(labtest.Statements, labtest.Folders):
    VERDICTS = {"t1": HOLDS, "t2": HOLDS, "t3": HOLDS, "s1": HOLDS, "s2": HOLDS, "s3": HOLDS,
                "s4": IN_PART, "s5": IN_PART, "s6": IN_PART, "s7": HOLDS, "s8": HOLDS, "s9": FITTED,
                "s10": HOLDS}
    OURS = {
        "s1": "linear 31, 16, 11, 8; ring 62, 1, 1, 1; recursive-doubling 5, 3, 2, 2; "
              "binomial 5, 3, 2, 2",
        "s2": "0.6262 s at 1 byte, 0.62 s",
        "s4": "1: 1.92, 2.77, 3.77; 10000: 1.91, 2.73, 3.69; 100000: 1.80, 2.45, 3.13; "
              "1000000: 1.36, 1.55, 1.69",
        "s5": "1,237,500, 632,661, 431,048, 310,081 bytes",
        "s6": "1,237,500, 737,500, 487,500, 487,500 bytes",
        "s8": "linear 101, ring 202, recursive-doubling 101, binomial 101",
        "s9": "played: 2.67, 2.33, 2.33, 2.16 with 1 set-up more for each call, which is fitted; "
              "2.50, 2.16, 2.16, 1.99 without, 0.17, 0.17, 0.17, 0.17 s less than theirs",
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows, cls.curves = paper_circuits.statements()

    def test_figures(self):
        paper_circuits.write_figures(self.curves, self.folder / "figures")
        for number, last in ((6, "1000000,0.561100000,0.411100000,0.361100000,0.331100000,"
                                 "0.251100000"),
                             (7, "1000000,0.641700000,0.020850000,0.020850000,0.020850000,"
                                 "0.010850000"),
                             (8, "1000000,0.058250000,0.038250000,0.028250000,0.028250000,"
                                 "0.008250000"),
                             (9, "1000000,0.090500000,0.070500000,0.060500000,0.060500000,"
                                 "0.040500000")):
            path = self.folder / "figures" / f"figure{number}.csv"
            with open(path, encoding="ascii") as file:
                lines = list(csv.reader(file))
            self.assertEqual(lines[0], ["bytes", "Naive", "2 Ports", "3 Ports", "4 Ports",
                                        "Ideal"])
            self.assertEqual(len(lines), 8)
            self.assertEqual(",".join(lines[-1]), last, number)


class Command(unittest.TestCase):
    def refused(self, message, *args):
        done = pmlab.run_lab("collective", *args)
        self.assertEqual((done.returncode, done.stdout), (2, ""), args)
        self.assertIn(message, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_bad_input(self):
        powers = "not a power of two from 2 to 4096"
        for algorithm in ("binomial", "recursive-doubling"):
            for processes in (0, 1, 3, 48, 8192):
                self.refused(f"{algorithm}: {processes} processes: {powers}",
                             "-a", algorithm, "-p", processes)
        self.refused("ring: 2 processes: not an even number from 4", "-a", "ring", "-p", 2)
        self.refused("ring: 5 processes", "-a", "ring", "-p", 5)
        self.refused("linear: 1 processes", "-a", "linear", "-p", 1)
        self.refused("ring: 2 processes", "-p", 2)  # all of them
        self.refused('no algorithm "tree"', "--algorithm", "tree")
        for ports in ("0", "65", "4..2", "2,,3", "2..", "x", "1K", ""):
            self.refused("--ports: not a list of at most 64 numbers from 1 to 64", "-k", ports)
        for sizes in ("1..", "0..10", "1G", "1KK", "954M", "-1", "10..1", "1e3"):
            self.refused("--bytes: not a list", "-n", sizes)
        self.refused("not a number from 1", "--mbps", 0)

    def test_too_long(self):
        self.refused("it takes more than 18,000 seconds", "-a", "ring", "-p", 1024, "-n", 1,
                     "--setup-us", 100000000)
        self.refused("a message takes more than 1000 seconds", "-a", "linear", "-n", "1000000000",
                     "--mbps", 1)

    def test_lists(self):
        found = json.loads(pmlab.run_lab("collective", "-a", "linear", "-p", 3, "-k", "1,3..5",
                                         "-n", "7,20..3K,1M", "--json").stdout)
        self.assertEqual(found["settings"]["ports"], [1, 3, 4, 5])
        rows = found["algorithms"][0]["sizes"]
        self.assertEqual([row["bytes"] for row in rows], [7, 20, 200, 2000, 3072, 1048576])
        self.assertEqual([one["ports"] for one in rows[0]["proposed"]], [1, 3, 4, 5])

    def test_few_circuits(self):
        """A naive ring needs half as many as there are processes; one does all in a row."""
        def ring(*args):
            done = pmlab.run_lab("collective", "-a", "ring", "-p", 8, "-n", 8000, "-k", 2,
                                 "--json", *args)
            return json.loads(done.stdout)["algorithms"][0]["sizes"][0]

        free, one = ring(), ring("--circuits", 1)
        self.assertEqual((free["naive"]["most_circuits"], one["naive"]["most_circuits"]), (4, 1))
        self.assertAlmostEqual(one["naive"]["simulated"], 8 * 7 * 0.010108, places=9)
        self.assertEqual(one["ideal"], free["ideal"])
        self.assertAlmostEqual(one["proposed"][0]["equation"], free["proposed"][0]["simulated"],
                               places=9)

    def test_events(self):
        """Computing and calls add up; the additional wait of each call is counted."""
        with tempfile.TemporaryDirectory() as folder:
            events = [{"compute": 0.5}, {"call": "Bcast", "bytes": 1000},
                      {"call": "Allgather", "bytes": 0}, {"compute": 1}]
            plain = paper_circuits.play(events, folder)
            more = paper_circuits.play(events, folder, "--call-setups", 2)
            self.assertAlmostEqual(plain[0], 1.5 + 4 * (1e-4 + 8e-6) + 15e-4)
            self.assertAlmostEqual(plain[1], 1.5 + 4 * (1e-4 + 8e-6 + 0.01) + 30 * (1e-4 + 0.01))
            self.assertAlmostEqual(plain[4], plain[0] + 0.02)
            for ports in (1, 2, 3, 4):
                self.assertAlmostEqual(more[ports], plain[ports] + 2 * 2 * 0.01)
            self.assertEqual(more[0], plain[0])
            for text in ('{"call": "Bcast", "bytes": 1}', '[{"call": "Send", "bytes": 1}]',
                         '[{"call": "Bcast"}]', '[{"compute": -1}]', "[1]", "x"):
                file = pathlib.Path(folder) / "bad"
                file.write_text(text)
                done = pmlab.run_lab("collective", "--events", file)
                self.assertEqual((done.returncode, done.stdout), (3, ""), text)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_quiet(self):
        done = pmlab.run_lab("collective", "-q")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
