#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Any switches die on a wire with real time-outs: early repair makes no result worse.

1, 2, 5 and 13 of a director fabric of 40, with and without last traps; PM_RUNS runs each, with
early repair and without it in turn. With five runs or more the medians of (pairs of hosts cut off)
x time and of the time to SUBNET UP are at most SLOWER times those without it, the latter LATER_S
more; fewer (the default) are judged by counts, since times need a machine of their own. PM_SEED
draws the switches.
"""

import os
import random
import unittest

import dead_switches
import labtest
import odd_netlists
import simlab

DEAD = 1, 2, 5, 13
SLOWER, LATER_S = 1.05, 0.2
TIMED = 5  # runs from which on times are judged
SILENT = 4  # Gets that may be in vain, before a search gives up


class DeadSwitches(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runs = int(os.environ.get("PM_RUNS", "1"))
        seed = int(os.environ.get("PM_SEED", random.getrandbits(32)))
        print(f"PM_SEED={seed} PM_RUNS={cls.runs}", flush=True)
        cls.chance = random.Random(seed)
        netlist = simlab.Netlist(odd_netlists.small_director().write(cls.folder / "fabric.net"))
        cls.sides = [cls.stack.enter_context(dead_switches.Side(netlist, early))
                     for early in (True, False)]

    def check(self, early, late):
        for with_it, without in zip(early, late):
            self.assertEqual(with_it.left, without.left)
            self.assertTrue(without.failed_sweeps or not with_it.failed_sweeps)
            self.found.append(with_it.links_down > 0)
            if not self.found[-1]:
                print(f"found nothing: {with_it}\n{with_it.said}", flush=True)
            self.assertEqual(without.links_down, 0)
            self.assertTrue(with_it.gave_up or with_it.unanswered <= SILENT)
        up, cut = ([dead_switches.median(deaths, field) for deaths in (early, late)]
                   for field in ("up_s", "pair_s"))
        print(f"SUBNET UP {up[0]:.2f} s, without {up[1]:.2f}; pairs x s {cut[0]:.0f}, without "
              f"{cut[1]:.0f}; not answered {[d.unanswered for d in early]}, gave up "
              f"{sum(d.gave_up for d in early)}; failed sweeps "
              f"{sum(d.failed_sweeps for d in early)}, without "
              f"{sum(d.failed_sweeps for d in late)}", flush=True)
        if self.runs < TIMED:
            return
        self.assertLessEqual(up[0], SLOWER * up[1] + LATER_S)
        self.assertLessEqual(cut[0], SLOWER * cut[1])

    def test_deaths(self):
        self.found = []  # whether the repair found anything
        for dead in DEAD:
            for last_traps in (True, False):
                with self.subTest(dead=dead, last_traps=last_traps):
                    print(f"{dead} dead, {'with' if last_traps else 'without'} last traps: ",
                          end="", flush=True)
                    self.check(*dead_switches.compare(self.sides, dead, self.runs, last_traps,
                                                      chance=self.chance))
        self.assertGreaterEqual(sum(self.found), 0.8 * len(self.found), self.found)


if __name__ == "__main__":
    unittest.main()
