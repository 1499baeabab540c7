#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fat trees of other shapes: the Sets are as predicted, and all paths work."""

import random
import re
import unittest

import labtest
import odd_netlists
import pmlab


class Shape:
    """The tests; a class for each shape below. Paths from all switches are walked."""

    WALK = ("--from-all",)
    SPINES = ()  # switches above the leaves, a test each
    CABLES = ()
    HOST = "h1-1"

    def test_bring_up(self):
        self.check_costs(self.start)
        self.assertEqual(self.start.wire, self.start.runs[-1].full_load)
        walked = self.check_walk()
        self.assertLessEqual(walked["uplinks"]["spread"], self.spread())

    def spread(self):
        return 1

    def check_healthy(self, *options):
        """Like the base class, but unevenly built trees may be uneven."""
        self.check_walk(*options)
        now = pmlab.Dump(self.lab.dump())
        self.assertEqual(now.lids, self.healthy.lids)
        self.assertEqual(list(pmlab.changed_entries(self.healthy, now))[:5], [])

    def test_switches(self):
        for target in self.SPINES:
            with self.subTest(target):
                self.lose_and_back(target, new_switches=1)

    def test_cables(self):
        for target in self.CABLES:
            with self.subTest(target):
                self.lose_and_back(target)

    def test_host(self):
        self.lose_and_back(self.HOST, blocks=0)


class TwoLevelParallel(Shape, labtest.LabCase):
    GENERATE = ("two-level", 12, 4, 12, 3)
    SPINES = ("spine0", "spine3")
    CABLES = ("leaf5:13", "leaf5:24", "spine2:7")


class Oversubscribed(Shape, labtest.LabCase):
    GENERATE = ("two-level", 10, 4, 20, 1)
    SPINES = ("spine1",)
    CABLES = ("leaf3:21", "leaf0:24")


class ShippedTwoLevel(Shape, labtest.LabCase):
    SPINES = ("spine0",)
    CABLES = ("leaf2:7",)

    @classmethod
    def make_netlist(cls):
        return pmlab.TOPOLOGIES / "two-level-48.net"


class ThreeLevels(Shape, labtest.LabCase):
    GENERATE = ("xgft", 3, "8,4,6", "1,4,8")
    SPINES = ("sw2-0", "sw3-1")
    CABLES = ("leaf5:9", "sw2-3:5")


class FourLevels(Shape, labtest.LabCase):
    GENERATE = ("xgft", 4, "4,3,3,2", "1,3,3,2")
    SPINES = ("sw2-0", "sw3-4", "sw4-1")
    CABLES = ("leaf5:5", "sw2-3:4", "sw3-5:4")


class Shuffled(Shape, labtest.LabCase):
    """GUIDs in no order, so that OpenSM's order of switches is another one."""

    SPINES = ("s4-line0", "s5-fab0")
    CABLES = ("leaf5:20", "s3-line1:20")
    HOST = "h7-3"

    @classmethod
    def make_netlist(cls):
        seed = 20240607
        plain = odd_netlists.small_director().text()
        count = len(re.findall(r"^(?:Switch|Ca|Hca)\s", plain, re.M))
        # A node's and its ports' GUIDs lie together, so leave room between two nodes.
        guids = iter(random.Random(seed).sample(range(0x500000, 0x900000, 0x100), count))

        def name_guid(match):
            key = "switchguid" if match[0].startswith("Switch") else "caguid"
            return f"{key}={next(guids):#x}\n{match[0]}"

        path = cls.folder / "shuffled.net"
        path.write_text(re.sub(r"^(?:Switch|Ca|Hca)\s.*$", name_guid, plain, flags=re.M))
        return path

    def test_seed_took_effect(self):
        self.assertRegex(self.lab.fabric.console('Dump "leaf0"', check=False),
                         r"nodeguid [5-8][0-9a-f]{5}")

    def test_chassis(self):
        self.lose_and_back("s0-*", blocks=16, new_switches=3)


class CablesMissing(Shape, labtest.LabCase):
    """A fabric that was built with holes: ports without cables, a leaf with fewer."""

    SPINES = ("s4-line0",)
    CABLES = ("leaf5:21", "s3-line1:21")
    HOST = "h7-4"
    MISSING = ("leaf5:20", "leaf5:26", "s3-line1:20", "leaf7:3", "leaf0:25")

    @classmethod
    def make_netlist(cls):
        whole = odd_netlists.small_director().write(cls.folder / "whole.net")
        return pmlab.without_cables(whole, cls.MISSING, cls.folder / "holes.net")

    def spread(self):
        return 3


class MissingAtFirst(labtest.Folders):
    """Cables, a host and a spine that come only after the first start.

    The plan grows then; no LID may change, and the tables stay the plugin's own, so they are walked
    but not compared with a plan made for the whole fabric.
    """

    LATE = ("leaf5:20", "s3-*", "h7-3", "leaf9")

    def check(self, lab, event):
        self.assertEqual(event.miscounted, [])
        self.assertEqual(event.lids_changed, 0, event.name)
        self.assertEqual(pmlab.walk_faults(lab.walk("--from-all"), plan=False), [])

    def test_late_parts(self):
        netlist = odd_netlists.small_director().write(self.folder / "fabric.net")
        with pmlab.Fabric(netlist) as fabric:
            for target in self.LATE:
                fabric.lose(target)
            with pmlab.Lab(fabric.netlist, fabric=fabric) as lab:
                self.check(lab, lab.bring_up())
                lids = pmlab.Dump(lab.dump()).lids
                for target in self.LATE:
                    self.check(lab, lab.event("back", target))
                now = pmlab.Dump(lab.dump()).lids
                self.assertEqual({n: now[n] for n in lids}, lids)
                self.assertEqual(set(now), set(lab.netlist.nodes))
                for verb in ("lose", "back"):
                    for target in ("s3-*", "s0-*", "leaf5:20", "h7-3"):
                        event = lab.event(verb, target)
                        self.check(lab, event)
                        if target == "h7-3":
                            self.assertEqual(event.wire, 0)
                self.assertEqual(pmlab.Dump(lab.dump()).lids, now)


if __name__ == "__main__":
    unittest.main()
