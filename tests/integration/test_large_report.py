#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The page of portmajor-report for 11,664 hosts: its cost, its size and its content."""

import resource
import unittest

import browser
import pmlab
import test_report


class Large(test_report.Browsed):
    @staticmethod
    def cpu_s(action):
        """(CPU seconds of the processes started here, the result)"""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = action()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result

    def test_11664_hosts(self):
        """CPU of a dozen sweeps over all links at most, and 5 MB; and search works."""
        netlist = pmlab.generate(self.folder / "large.net", "director", 648)
        sweep_s, _ = self.cpu_s(lambda: pmlab.run_cli("whatif", "-q", "--all", "links", netlist))
        report_s, page = self.cpu_s(lambda: self.write(
            "11664-hosts", netlist, "--fail", "s0-line0"))
        print(f"11,664 hosts: {report_s:.1f} s of CPU, a sweep over links {sweep_s:.1f} s, "
              f"{page.stat().st_size / 1e6:.2f} MB")
        self.assertLess(report_s, 12 * sweep_s)
        self.assertLess(page.stat().st_size, 5e6)
        self.browse(page, 360, dark=True)
        self.assertEqual(self.browser.run(browser.TOO_WIDE), [])
        # Of each leaf with a failed link, its other links are coloured; all others are grey.
        self.assertEqual([self.drawn(f"svg.map.after path{name}") for name in
                          (".fails", ":not(.fails, .g3, .g4)")], [18, 18])
        self.find("leaf647[36]-")
        self.assertEqual([row[:2] for row in self.rows("worst")],
                         [[self.text("tbody.found td").split("\n")[0],
                           "link between levels 0 and 1"]])
        self.check_one_page()


if __name__ == "__main__":
    unittest.main()
