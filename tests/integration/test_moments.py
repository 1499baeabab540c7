#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Failures and returns at any moment of a sweep, another event soon after, a wire with faults.

moments.py describes the draws. In the end tables are those computed from scratch for the present
links, no port is in INIT or ARMED, and the next sweep changes no port's state. On the way, block by
block, no LID loops, no path leads over a dead link for longer than a repair takes, no lasting
change is undone by the running sweep, and no Set of the plugin's leads a pair that had a path onto
a port that is not ACTIVE, or nowhere. At most one PortInfo Set is out for a port.

PM_SEED and PM_MOMENTS, the draws on all four fabrics, in the environment choose others;
`PM_SEED=7 PM_DRAW=41,43 test_moments.py Director` plays single draws again.
`scripts/moments` plays 1,000.
"""

import os
import random
import time
import unittest

import labtest
import moments

SEED = os.environ.get("PM_SEED", "20261124")
DRAWS = int(os.environ.get("PM_MOMENTS", "40"))
SINGLE = [int(number) for number in os.environ.get("PM_DRAW", "").split(",") if number]


class Moments:
    """The test; a class for each fabric below."""

    SHAPE = ()
    OPTIONS = {}  # of moments.Player
    SHARE = 0.3  # of all draws

    def setUp(self):
        self.player, self.failed = None, []
        self.addCleanup(self.close)

    def close(self):
        if self.player:
            self.player.close()

    def play(self, number):
        """One draw; after one that failed OpenSM is started anew."""
        if not self.player or self.player.broken:
            self.close()
            self.player = moments.Player(*self.SHAPE, **self.OPTIONS)
            self.player.__enter__()
        draw = random.Random(f"{SEED} {self.SHAPE} {number}")
        moment = moments.draw_moment(draw, self.player)
        return moment, self.player.play(moment)

    def test_moments(self):
        begun, hits, sets, served, nowhere = time.monotonic(), 0, 0, 0, []
        numbers = SINGLE or range(round(DRAWS * self.SHARE) or 1)
        for number in numbers:
            with self.subTest(f"PM_SEED={SEED} PM_DRAW={number} {type(self).__name__}"):
                moment, outcome = self.play(number)
                hits, sets = hits + outcome.hit, sets + outcome.sets
                served += outcome.served
                nowhere += [number] * bool(outcome.nowhere)
                if outcome.faults:
                    self.failed.append(number)
                    print(f"\n{number}: {moment}:\n  " + "\n  ".join(outcome.faults[:4]),
                          flush=True)
                self.assertEqual(outcome.faults, [], moment)
        print(f"{type(self).__name__}: {len(numbers)} draws, {len(self.failed)} failed, "
              f"{hits} within their phase, {sets:,} LFT Sets judged, "
              f"{served:,} links served, packets led nowhere in {nowhere}, "
              f"{time.monotonic() - begun:.0f} s; failed: {self.failed}", flush=True)
        self.assertGreater(sets, 0)  # otherwise it was no test
        # Parts that fail, or return, while blocks are on their way: docs/reliability.md.
        self.assertLessEqual(len(nowhere), 1 + len(numbers) // 10)
        if not SINGLE and len(numbers) > 8:
            self.assertGreater(hits, len(numbers) / 2)


class Director(Moments, unittest.TestCase):
    SHAPE = "director", 36
    # A sweep has 17,000 SMPs, and takes a while. The less each takes, the more of them pass while a
    # busy machine delays a repair.
    OPTIONS = {"pace_us": 66, "repair_smps": 2000}
    SHARE = 0.1


class ThreeLevels(Moments, unittest.TestCase):
    SHAPE = "xgft", 3, "4,4,4", "1,4,2"

    def play_parts(self, second=""):
        """A chassis returns part by part, and a cable of it fails: Outcome, links, the log."""
        with moments.Player(*self.SHAPE) as player:
            links = {min(link) for name in player.targets.chassis[0].split("+")
                     for link in player.fabric.netlist.links_of(name)}
            parts = "+".join(f"{name}:{port}" for name, port in sorted(links))
            outcome = player.play(moments.Moment(
                "", "", "idle", 0, parts, second, 0, "SMPs", [], moments.RETURNS, pause_ms=60))
            return outcome, links, player.osm.log()

    def test_chassis_returns_in_parts(self):
        """Packets pass its switches, while each gets its changed blocks."""
        outcome, links, _ = self.play_parts()
        self.assertEqual(outcome.faults, [])
        self.assertEqual(outcome.nowhere, [])
        self.assertGreater(outcome.served, len(links) / 2)  # a sweep may serve some

    def test_cable_inside_fails(self):
        """It is found before OpenSM has its switches in its record again."""
        outcome, _, log = self.play_parts(second="sw3-0:2")
        self.assertEqual(outcome.faults, [])
        self.assertRegex(log, r"portmajor repair \d+: failed: 1 cable \(sw2-4\[5\]-sw3-0\[2\]\)")


class Parallel(Moments, unittest.TestCase):
    SHAPE = "two-level", 12, 4, 6, 2

    def test_link_of_a_switch_that_returns(self):
        """The discovery saw the link, which is in no table yet when it fails."""
        with moments.Player(*self.SHAPE) as player:
            outcome = player.play(moments.Moment("chassis returns", "spine0", "management", 3,
                                                 "spine0:14", "", 0, "SMPs", []))
        self.assertTrue(outcome.hit)
        self.assertEqual(outcome.faults, [])


class Islands(Moments, unittest.TestCase):
    SHAPE = "--aggregation-nodes", "xgft", 3, "4,4,3", "1,3,3"


if __name__ == "__main__":
    labtest.main()
