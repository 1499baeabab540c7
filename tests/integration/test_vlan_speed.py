#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Planes as VLANs on Open vSwitch: their costs and gains, as ratios (vlan_live.py), which are printed.
"""

import pathlib
import shutil
import tempfile
import unittest

import ethlab
import labtest
import vlan_live

# Two lookups and a tag beside the path of a frame through a switch in user space.
LATENCY_RATIO = 1.15


def setUpModule():
    reason = ethlab.missing()
    if reason:
        raise unittest.SkipTest(reason)


class Speed(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vlan-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.stolen = vlan_live.Stolen()

    def check(self, is_right, found, is_measured=True):
        """Rates mean nothing if networks without a part of ours do not reach theirs either, or if a
        virtual machine does not get its processors."""
        share = self.stolen.share()
        print(f"processor time that others took: {share:.3f}")
        if not is_right and (share > vlan_live.MOST_STOLEN or not is_measured):
            self.skipTest("others have taken the processors of this machine")
        self.assertTrue(is_right, found)

    def test_latency(self):
        with ethlab.Lab(vlan_live.flat(self.folder)) as lab:
            found = vlan_live.flat_latency(lab, vlan_live.flat_table(self.folder, lab))
        print(f"half a round trip in us: {found}")
        self.check(found.ratio < LATENCY_RATIO, found)

    def test_table_2(self):
        found = vlan_live.table_2(self.folder)
        print(f"TCP, of {vlan_live.PAIR_MBIT} Mbit/s: {found}")
        faults = vlan_live.table_faults(found)
        self.check(not faults, faults, vlan_live.is_table_measured(found))

    def test_figure_6(self):
        found = vlan_live.figure_6(self.folder)
        print(f"bisection, of {vlan_live.HOSTS} x {vlan_live.RATE_MBIT} Mbit/s: {found}")
        faults = vlan_live.figure_faults(found)
        self.check(not faults, faults, vlan_live.is_figure_measured(found))


if __name__ == "__main__":
    labtest.main()
