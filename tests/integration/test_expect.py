#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The intended cabling beside the discovered one: `portmajor status --expect`."""

import json
import os
import re
import subprocess
import unittest

import labtest
import pmlab
import simlab

SWAPPED = ("leaf0[20] leads to s6-line0[6], not s1-line0[1]; "
           "leaf5[25] leads to s1-line0[1], not s6-line0[6]")


class Expected(labtest.Folders):
    def setUp(self):
        self.net = pmlab.generate(self.folder / "intended.net", "director", 36)
        swapped = pmlab.swap_cables(self.net, "leaf0:20", "leaf5:25", self.folder / "fabric.net")
        self.cache = self.folder / "cache"
        self.cache.mkdir()
        fabric = self.enterContext(pmlab.Fabric(swapped))
        self.lab = self.enterContext(pmlab.Lab(swapped, fabric=fabric, cache_dir=self.cache))
        self.lab.bring_up()

    def run_it(self, *args):
        return subprocess.run([str(pmlab.CLI), *map(str, args)], capture_output=True, text=True,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)), check=False,
                              timeout=pmlab.TIMEOUT_S)

    def findings(self):
        done = self.run_it("status", "--expect", self.net)
        self.assertEqual(done.stderr, "")
        return re.findall(r"^finding +(cables .*)", done.stdout, re.M)

    def wait_for(self, *kinds):
        wanted = [f"cables are not those of {self.net}: {', '.join(kinds)}"]
        simlab.poll_until(lambda: self.findings() == wanted, pmlab.TIMEOUT_S, str(wanted),
                          state=lambda: str(self.findings()))

    def test_swapped_missing_and_back(self):
        """Two cables are swapped from the start; then one fails, too, and returns."""
        pmlab.kept(self.cache, "fabric.net")
        self.wait_for(f"2 swapped ({SWAPPED})")
        done = self.run_it("status", "--json", "--expect", self.net)
        self.assertEqual(done.returncode, 1)
        document = json.loads(done.stdout)
        self.assertEqual({kind: len(cables) for kind, cables in document["cables"].items()},
                         {"missing": 0, "additional": 0, "swapped": 2})
        self.assertIsNone(json.loads(self.run_it("status", "--json").stdout)["cables"])
        self.lab.event("lose", "leaf7:22")
        self.wait_for("1 missing (leaf7[22]-s3-line0[8])", f"2 swapped ({SWAPPED})")
        self.lab.event("back", "leaf7:22")
        self.wait_for(f"2 swapped ({SWAPPED})")
        # The file is a netlist like others: it agrees with the simulator's.
        self.assertEqual(self.run_it("diff", "--cables", self.lab.netlist.path,
                                     pmlab.kept(self.cache, "fabric.net")).returncode, 0)
        self.assertIn("expected    cables missing 0, additional 0, swapped 0\n",
                      self.run_it("status", "--expect", self.lab.netlist.path).stdout)


if __name__ == "__main__":
    unittest.main()
