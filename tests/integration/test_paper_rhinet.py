#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The RHiNET paper has the same verdicts as in a comparison by hand."""

import csv
import unittest

import labtest
import paper_rhinet


class Paper(labtest.Statements, labtest.Folders):
    VERDICTS = paper_rhinet.EXPECTED

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bench = paper_rhinet.Bench(quick=True)
        cls.rows = paper_rhinet.statements(cls.bench)

    def test_figures(self):
        paper_rhinet.write_figures(self.bench, self.folder / "figures")
        for number in (5, 6, 7):
            with open(self.folder / "figures" / f"figure{number}.csv", encoding="ascii") as file:
                lines = list(csv.DictReader(file))
            self.assertEqual({(line["flow"], line["length"]) for line in lines},
                             {(flow, length) for flow in ("credit", "slack")
                              for length in ("16", "64", "128")})


class Words(unittest.TestCase):
    def test_of_the_run(self):
        """Verdicts depend on the run: credits on both sides have no dip."""
        same = {length: [1.0] * 10 for length in paper_rhinet.LENGTHS}
        self.assertEqual(paper_rhinet.show_fall(same),
                         "the ratio at 64 is 0.000 below that at 60, 0.000 below that at 72: "
                         "not beyond chance")
        dip = {**same, 64: [0.9 + i / 1000 for i in range(10)], 66: [0.9] * 10}
        self.assertRegex(paper_rhinet.show_fall(dip), r"0\.09\d below .*: beyond chance$")


if __name__ == "__main__":
    unittest.main()
