#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running opensm with a plugin whose allocations sometimes fail (allocfault.c).

OpenSM goes on, some engine serves every pair of hosts, and the tables are ours again after the
first sweep with memory. $PM_SEED draws the allocations that fail.
"""

import os
import random
import re
import unittest

import labtest
import odd_netlists
import pmlab
import simlab

LIBRARY = pmlab.BUILD / "liballocfault.so"
EVERY = 4, 30, 100
pmlab.TIMEOUT_S = 60


class NoMemory(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = int(os.environ.get("PM_SEED") or random.SystemRandom().randrange(1 << 31))
        print(f"PM_SEED={cls.seed}", flush=True)
        cls.netlist = odd_netlists.small_director().write(cls.folder / "fabric.net")

    def check_served(self, lab):
        walked = lab.walk("-s", lab.osm.host)
        self.assertEqual((walked["lost"], walked["loops"]), (0, 0))

    def run_events(self, every):
        stop, log = self.folder / f"while-{every}", self.folder / f"log-{every}"
        env = {"ALLOCFAULT_WHILE": str(stop), "ALLOCFAULT_LOG": str(log),
               "ALLOCFAULT_EVERY": str(every), "ALLOCFAULT_SEED": str(self.seed)}
        with pmlab.Lab(self.netlist, preload=[str(LIBRARY)], env=env) as lab:
            # A plugin that cannot even be loaded is no plugin.
            simlab.poll_until(lambda: "portmajor built for" in lab.osm.log(), 60, "the plugin")
            stop.touch()
            lab.osm.settle()
            self.check_served(lab)
            for target in ("leaf5:20", "s0-line0", "h7-3", "s1-*"):
                for verb in ("lose", "back"):
                    lab.event(verb, target)
                    self.check_served(lab)
            failed = log.stat().st_size if log.exists() else 0
            stop.unlink()
            mark = lab.osm.log_offset()
            lab.measure("SIGHUP", lab.osm.hup)
            walked = lab.walk("-s", lab.osm.host)
            self.assertEqual(lab.osm.engines_used(mark), ["portmajor"])
            self.assertEqual((walked["lost"], walked["loops"]), (0, 0))
            if every == min(EVERY):
                self.assertTrue(re.search(r"portmajor[ :].*out of memory", lab.osm.log()))
        print(f"one in {every}: {failed} allocations failed", flush=True)
        return failed

    def test_events(self):
        for every in EVERY:
            with self.subTest(every=every):
                self.assertGreater(self.run_events(every), 0)


if __name__ == "__main__":
    unittest.main()
