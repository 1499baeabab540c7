#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""5,832 hosts: the cost of sweeps without changes, on an otherwise idle machine (slow)."""

import unittest

import benchmark
import lock_holds
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

    def test_holds(self):
        """The plugin holds OpenSM's lock for less time than OpenSM itself, and shares it for most
        of that."""
        found, _ = lock_holds.measure(self.GENERATE, 4)
        print(f"CPU ms with the lock: {found}")
        ours = {name: ms for name, ms in found.items() if lock_holds.is_ours(name)}
        self.assertLess(max(ours.values()), max(found.values()))
        self.assertLess(ours[lock_holds.CALLBACK], found["osm_ucast_mgr_process"] / 4)


if __name__ == "__main__":
    unittest.main()
