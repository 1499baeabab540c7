#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""5,832 hosts: the cost of sweeps without changes, on an otherwise idle machine (slow)."""

import unittest

import benchmark
import pmlab
import simlab
import test_big


class Quiet(test_big.Swift):
    GENERATE = ("director", 324)

    def test_quiet(self):
        self.check_quiet_sweeps()

    def test_memory(self):
        """OpenSM takes less than with its own engine, which needs OpenSM's hop counts."""
        with pmlab.Fabric(self.lab.netlist) as fabric, \
                simlab.OpenSM(fabric, engine="updn", host="h0-1") as osm:
            osm.settle(timeout=pmlab.TIMEOUT_S)
            theirs = benchmark.memory_mib(osm.process)
        ours = benchmark.memory_mib(self.lab.osm.process)
        print(f"memory: {ours} MiB, with updn {theirs} MiB")
        self.assertLess(ours, theirs)


if __name__ == "__main__":
    unittest.main()
