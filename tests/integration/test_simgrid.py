#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Collectives without contention, where circuits cost nothing: SimGrid's own algorithms on
SimGrid's network take as long as portmajor-lab collective's simulation of them."""

import json
import shutil
import subprocess
import unittest

import labtest
import pmlab

PROGRAM = pmlab.BUILD / "simgrid_collective"

# By our name: the program's action, and the SimGrid algorithm that it takes.
ALGORITHMS = {"linear": ("linear", None), "ring": ("allgather", "allgather:ring"),
              "recursive-doubling": ("allgather", "allgather:rdb"),
              "binomial": ("bcast", "bcast:binomial_tree")}
HEADER = 16  # bytes that SMPI adds to each message
BETA = 8e-9

# Two links on each path, of 1 Gb/s and 50 us: alpha is 100 us. None is on two paths at a time.
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-63" speed="1Gf" bw="125MBps" lat="50us"
 sharing_policy="SPLITDUPLEX"/>
</platform>
"""


@unittest.skipUnless(PROGRAM.exists() and shutil.which("smpirun"), "no SimGrid here")
class SimGrid(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "platform.xml").write_text(PLATFORM, encoding="ascii")
        (cls.folder / "hosts").write_text("".join(f"n{i}\n" for i in range(64)),
                                          encoding="ascii")

    def theirs(self, algorithm, processes, size):
        """Seconds until the last process is done."""
        what, option = ALGORITHMS[algorithm]
        config = ["network/model:CM02", "network/crosstraffic:0", "smpi/wtime:0",
                  "smpi/simulate-computation:no", "smpi/host-speed:1Gf",
                  # otherwise small messages of a process share its link, one step with the next
                  "smpi/send-is-detached-thresh:0"]
        config += [f"smpi/{option}"] if option else []
        done = subprocess.run(
            ["smpirun", "-np", str(processes), "-platform", "platform.xml", "-hostfile", "hosts",
             *(f"--cfg={one}" for one in config), "--log=root.thresh:warning", str(PROGRAM), what,
             str(size)], capture_output=True, text=True, check=True, cwd=self.folder, timeout=100)
        times = [float(line) for line in done.stdout.split()]
        self.assertEqual(len(times), processes, done.stdout)
        return max(times)

    def ours(self, algorithm, processes, size):
        done = pmlab.run_lab("collective", "-a", algorithm, "-p", processes, "-n", size, "-k", 1,
                             "--json")
        return json.loads(done.stdout)["algorithms"][0]["sizes"][0]["ideal"]["simulated"]

    def test_same_times(self):
        compared = 0
        for algorithm in ALGORITHMS:
            for processes in (2, 4, 16, 64):
                if algorithm == "ring" and processes == 2:
                    continue
                row = processes - 1 if algorithm in ("linear", "ring") else (
                    processes.bit_length() - 1)  # messages one after the other
                for size in (64, 6400, 1024000):
                    wanted = self.ours(algorithm, processes, size) + row * HEADER * BETA
                    found = self.theirs(algorithm, processes, size)
                    self.assertAlmostEqual(found, wanted, delta=1e-9,
                                           msg=(algorithm, processes, size))
                    compared += 1
        self.assertEqual(compared, 45)


if __name__ == "__main__":
    unittest.main()
