#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Early repair: all blocks of a failure are sent before OpenSM's sweep, and none again.

test_repair_faults.py has repairs that are disturbed.
"""

import contextlib
import os
import random

import labtest
import pmlab
import simlab
import wire


class Configured(labtest.LabCase):
    """With a configuration file."""

    CONFIG = "flap_limit 0\n"  # the same cables fail over and over here

    @classmethod
    def options(cls):
        config = cls.folder / "portmajor.conf"
        config.write_text(cls.CONFIG)
        return {**super().options(), "conf": {"event_plugin_options": config}}


class Shape:
    """The tests; a class for each shape below. A director fabric's are in test_events.py."""

    LOSSES = ()  # that change tables
    COSTLESS = ()  # that change none

    def check_repaired(self, target):
        """A part fails: the repair sends everything, the sweep nothing; then it returns."""
        lost = self.lose(target)
        self.check_walk()
        self.check_returned(self.back(target))
        self.check_healthy()
        return lost

    def test_failures(self):
        for target in self.LOSSES:
            with self.subTest(target):
                lost = self.check_repaired(target)
                self.assertGreater(lost.wire, 0)

    def test_losses_that_cost_nothing(self):
        for target in self.COSTLESS:
            with self.subTest(target):
                self.assertEqual(self.check_repaired(target).wire, 0)


class TwoLevel(Shape, Configured, labtest.Repaired):
    GENERATE = ("two-level", 12, 4, 12, 3)
    LOSSES = ("spine1", "leaf5:13", "leaf0:14")
    COSTLESS = ("leaf3", "h1-1")


class ThreeLevels(Shape, Configured, labtest.Repaired):
    GENERATE = ("xgft", 3, "8,4,6", "1,4,8")
    LOSSES = ("sw2-1", "sw3-1", "leaf5:9", "sw2-3:5", "leaf0:10")
    COSTLESS = ("leaf7", "h9-2")


class SwitchedOff(Configured):
    """With `early_repair no` the sweep sends all blocks, at the same cost."""

    GENERATE = ("director", 36)
    CONFIG = "early_repair no\n"

    def test_losses_wait(self):
        for target in ("s1-*", "leaf5:20"):
            with self.subTest(target):
                lost = self.lose(target)
                self.assertEqual(lost.repairs, [])
                self.assertGreater(lost.wire, 0)
                self.assertEqual(sum(run.sent for run in lost.runs), lost.wire)
                # Each node was first queried for its NodeInfo.
                self.assertGreater(lost.measured["last_lft_smp"],
                                   len(self.lab.netlist.nodes) // 2)
                self.check_walk()
                self.back(target)
                self.check_healthy()


class Held(Configured):
    """A cable that is kept out of the tables because it flaps, and a failure beside it."""

    GENERATE = ("two-level", 12, 2, 12, 1)
    CONFIG = "flap_limit 1\nflap_window 600\nflap_hold 3600\n"
    HELD, OTHER = "leaf5:13", "leaf5:14"

    def test_failures(self):
        for _ in range(2):
            self.lab.event("lose", self.HELD)
            self.lab.event("back", self.HELD)
        self.lab.osm.wait_log(r"flapping: 1 link kept out")
        spine, _ = self.lab.netlist.nodes["leaf5"].ports[int(self.HELD.split(":")[1])]
        with self.subTest("the switch it leads to"):
            lost = self.lose_early(spine)
            self.assertIn(f"failed: 1 switch ({spine})", lost.repairs[0].change)
        with self.subTest("the leaf's last other cable: there is no way but the held one"):
            self.assertGreater(self.lose_early(self.OTHER).wire, 0)

    def lose_early(self, target):
        """The repair finds all of it, and the sweep agrees."""
        self.down.append(target)
        lost = self.lab.lose(target)
        self.check_costs(lost)
        self.assertEqual([run.sent for run in lost.runs], [0] * len(lost.runs), target)
        self.assertEqual(len(lost.repairs), 1)
        self.assertEqual(pmlab.walk_faults(self.lab.walk(), plan=False), [])
        self.lab.back(target)
        self.down.remove(target)
        return lost


class DeadSwitches(Configured):
    """A switch of each level dies; Gets to them fail only after their time-out."""

    GENERATE = ("xgft", 3, "3,4,5", "1,4,6")
    LEVELS = ("leaf", "sw2-", "sw3-")
    WIRE_SMPS, TRANSMISSIONS = 4, 1 + 3  # OpenSM's defaults

    @classmethod
    def options(cls):
        cls.wire = wire.Wire()
        return {**super().options(), "wire": cls.wire}

    def choose(self):
        home = next(iter(self.lab.netlist.nodes[self.lab.osm.host].ports.values()))[0]
        return [self.random.choice([s for s in self.lab.netlist.switches
                                    if s.startswith(level) and s != home])
                for level in self.LEVELS]

    def check_dead(self, dead, last_traps):
        lab = self.lab
        lab.osm.settle(lab.osm.mark(), sweep=False)
        lab.osm.wait_traps_aged()
        mark = lab.osm.mark()
        with contextlib.ExitStack() as rules:
            if not last_traps:
                for name in dead:
                    rules.enter_context(self.wire.drop("trap", node=name))
            lab.fabric.console(*[f'Unlink "{name}"' for name in dead], check=False)
            lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        log = lab.osm.log(mark.log_offset)
        repairs = pmlab.Repair.find(log)
        self.assertGreater(sum(repair.links_down for repair in repairs), 0)
        for repair in repairs:
            # As many unanswered Gets as fit the wire, and as many of a second search.
            self.assertLessEqual(repair.unanswered, self.WIRE_SMPS * (1 + repair.gave_up))
        self.assertNotIn("ERRORS DURING INITIALIZATION", log)
        self.check_walk()

    def bring_back(self, dead):
        mark = self.lab.osm.mark()
        self.lab.fabric._send([f'ReLink "{name}"' for name in dead])
        self.lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        self.check_healthy()

    def lose_with_a_deaf_leaf(self):
        """sw2-1 fails, and leaf0 takes no block 0 of the repair. Returns the mark before."""
        lab = self.lab
        lab.osm.settle(lab.osm.mark(), sweep=False)
        lab.osm.wait_traps_aged()
        mark = lab.osm.mark()
        with self.wire.drop("request", node="leaf0", method="set", attr=simlab.ATTR_LFT,
                            modifier=0, times=self.TRANSMISSIONS) as drop:
            self.down.append("sw2-1")
            lab.fabric.lose("sw2-1")
            lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        self.assertEqual(drop.acted, self.TRANSMISSIONS)
        return mark

    def test_block_not_acknowledged(self):
        """The rest is sent all the same, and that block at the next try."""
        lab = self.lab
        for _ in range(pmlab.ATTEMPTS):
            mark = self.lose_with_a_deaf_leaf()
            log = lab.osm.log(mark.log_offset)
            repair, = pmlab.Repair.find(log)
            if not repair.unanswered:
                break
            lab.back(self.down.pop())  # a busy machine: a Get was late
        self.assertEqual(repair.sent, repair.acked + 1)
        self.assertFalse(repair.gave_up)
        self.assertEqual([run.sent for run in pmlab.Run.find(log)], [0])
        self.assertEqual(lab.osm.delta(mark)["lft_sets"], repair.sent)
        self.check_walk()
        lab.back(self.down.pop())
        self.check_healthy()

    def test_deaths(self):
        seed = int(os.environ.get("PM_SEED", random.getrandbits(32)))
        self.random = random.Random(seed)
        for last_traps in (True, False):
            with self.subTest(PM_SEED=seed, last_traps=last_traps):
                dead = self.choose()
                self.check_dead(dead, last_traps)
                self.bring_back(dead)


if __name__ == "__main__":
    labtest.main()
