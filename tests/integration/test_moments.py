#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Losses at any moment of a sweep, and something else soon after.

A sweep is begun; after a drawn number of SMPs something is lost, and after some more
something else is, or that returns. When all is quiet the tables are those that are computed
from scratch for what is there, everything is delivered, and no LID loops. PM_SEED and
PM_MOMENTS (how many for each fabric) in the environment choose others.
"""

import os
import random

import labtest
import pmlab
import simlab

SEED = int(os.environ.get("PM_SEED", "20261124"))
MOMENTS = int(os.environ.get("PM_MOMENTS", "6"))


class Moments:
    """The test; a class for each fabric below."""

    SHAPE = ()

    @classmethod
    def make_netlist(cls):
        return pmlab.generate(cls.folder / "fabric.net", *cls.SHAPE)

    def draw_target(self, draw):
        """A cable between two switches, a switch, or a host; nothing of the manager's leaf."""
        netlist, home = self.lab.netlist, self.lab.osm.host
        leaf = next(iter(netlist.nodes[home].ports.values()))[0]
        kind = draw.choice(("cable", "cable", "switch", "host"))
        if kind == "host":
            return draw.choice([name for name in netlist.hosts if name != home])
        if kind == "switch":
            return draw.choice([name for name in netlist.switches if name != leaf])
        name = draw.choice([name for name in netlist.switches if name != leaf])
        ports = [port for port, (peer, _) in netlist.nodes[name].ports.items()
                 if netlist.nodes[peer].is_switch and peer != leaf]
        return f"{name}:{draw.choice(ports)}"

    def wait_for(self, mark, smps):
        """Until so many were sent since, or OpenSM rests."""
        osm = self.lab.osm

        def reached():
            return osm.counters()["smps"] - mark.counters["smps"] >= smps or osm.is_settled()

        simlab.poll_until(reached, pmlab.TIMEOUT_S, f"{smps} SMPs", every=0.0005)

    def check(self, name):
        dump = self.lab.dump()
        self.assertEqual(pmlab.walk_faults(self.lab.walk("--from-all", dump=dump)), [], name)
        self.assertEqual(pmlab.loops(dump), {}, name)

    def run_one(self, draw, length):
        osm, fabric = self.lab.osm, self.lab.fabric
        first, second = self.draw_target(draw), self.draw_target(draw)
        at, after = draw.randrange(length), draw.randrange(length // 2)
        returns = draw.random() < 0.4
        name = f"after {at} SMPs {first}, {after} later {'back' if returns else second}"
        mark = osm.mark()
        osm.hup()
        lost = [first]
        self.wait_for(mark, at)
        fabric.lose(first)
        self.wait_for(mark, at + after)
        if returns:
            fabric.back(lost.pop())
        elif fabric.lose(second):  # else it went with the first
            lost.append(second)
        osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        self.check(name)
        while lost:
            target = lost.pop()
            simlab.measure(fabric, osm, lambda: fabric.back(target), timeout=pmlab.TIMEOUT_S)
        self.check(f"{name}, all back")

    def test_moments(self):
        osm = self.lab.osm
        osm.settle(timeout=pmlab.TIMEOUT_S)
        length = simlab.measure(self.lab.fabric, osm, osm.hup)["smps"]
        for number in range(MOMENTS):
            with self.subTest(f"PM_SEED={SEED}, number {number} of PM_MOMENTS={MOMENTS}"):
                self.run_one(random.Random(f"{SEED} {self.SHAPE} {number}"), length)


class Director(Moments, labtest.LabCase):
    SHAPE = "director", 36


class ThreeLevels(Moments, labtest.LabCase):
    SHAPE = "xgft", 3, "4,4,4", "1,4,2"


class Parallel(Moments, labtest.LabCase):
    SHAPE = "two-level", 12, 4, 6, 2


class Islands(Moments, labtest.LabCase):
    SHAPE = "--aggregation-nodes", "xgft", 3, "4,4,3", "1,3,3"


if __name__ == "__main__":
    labtest.main()
