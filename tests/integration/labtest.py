# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Base classes of the integration tests: a TestCase around one Lab."""

import contextlib
import os
import unittest

import ibdmchk
import odd_netlists
import pmlab
import simlab


class Folders(unittest.TestCase):
    """Gives each class a temporary folder, `cls.folder`."""

    APART = False  # whether each test has a fabric of its own; see Part

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.folder = cls.stack.enter_context(pmlab.Folder())


class Statements:
    """A paper's statements, `cls.rows`, have the same verdicts as in a comparison by hand."""

    VERDICTS = {}  # {number: verdict}
    OURS = {}      # {number: a part of ours}, where a verdict would not show a change

    def test_verdicts(self):
        self.assertEqual({row.number: row.verdict for row in self.rows}, self.VERDICTS)

    def test_numbers(self):
        ours = {row.number: row.ours for row in self.rows}
        for number, text in self.OURS.items():
            self.assertIn(text, ours[number])


class CacheCase(Folders):
    """A fabric for all tests of a class, and for each OpenSM's cache folder, `self.cache`."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = simlab.Netlist(cls.make_netlist())

    @classmethod
    def make_netlist(cls):
        return odd_netlists.small_director().write(cls.folder / "fabric.net")

    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()

    def lab(self, fabric, cache=None, **kwargs):
        return pmlab.Lab(self.netlist, fabric=fabric, cache_dir=cache, **kwargs)


class LabCase(Folders):
    """One fabric and one OpenSM for all tests of a class.

    Each test undoes its failures, so that the next one finds the fabric healthy. GENERATE or the
    class method make_netlist() give the fabric, otherwise it is a small director.
    """

    GENERATE = ()
    ORDER = "grouped"
    WALK = ()  # options of Lab.walk
    UNSEEN = ()  # switches that OpenSM cannot find

    @classmethod
    def make_netlist(cls):
        path = cls.folder / "fabric.net"
        if not cls.GENERATE:
            return odd_netlists.small_director().write(path)
        return pmlab.generate(path, *cls.GENERATE)

    @classmethod
    def options(cls):
        """Further keyword arguments of pmlab.Lab; cls.netlist is there already."""
        return {"args": ibdmchk.OPENSM_ARGS}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = cls.make_netlist()
        options = cls.options()
        cls.judged = options.get("args") == ibdmchk.OPENSM_ARGS
        cls.lab = cls.stack.enter_context(pmlab.Lab(cls.netlist, order=cls.ORDER, **options))
        cls.start = cls.lab.bring_up()
        cls.switches = len(set(cls.lab.netlist.switches) - set(cls.UNSEEN))
        cls.full_blocks = cls.start.runs[-1].full_load // cls.switches
        cls.healthy = pmlab.Dump(cls.lab.dump())
        # (leaf, LID) pairs; walk() shows that none is without a path.
        cls.pairs = cls.lab.walk(*cls.WALK)["pairs"]

    def setUp(self):
        self.assertIsNone(self.lab.broken, "the lab broke in an earlier test")
        self.down = []
        self.addCleanup(self.mend)

    def mend(self):
        """Undoes the failures of a failed test."""
        while self.down and not self.lab.broken:
            self.lab.event("back", self.down.pop())

    # ---- judging

    def check_costs(self, event):
        """The count on the wire, the plugin's own count and the acknowledgements are one number."""
        self.assertTrue(event.runs, f"{event.name}: the plugin logged no run")
        self.assertEqual(event.miscounted, [])
        self.assertGreaterEqual(event.sent + event.unheard, event.least,
                                f"{event.name}: sent, least")
        self.assertEqual(event.lids_changed, 0, f"{event.name}: LIDs changed")
        self.assertEqual(event.runs[-1].recomputed, 0, f"{event.name}: under the lock")
        self.assertEqual(set(event.measured.get("engines", ["portmajor"])), {"portmajor"})

    def check_walk(self, *options):
        """Every pair is reached, and LIDs and tables are the plan's; ibdmchk agrees, if options()
        let OpenSM write its files."""
        return self.check_dump(self.lab.dump(), *options)

    def check_dump(self, dump, *options):
        """check_walk(), of tables that were read back just now."""
        walked = self.lab.walk(*self.WALK, *options, dump=dump)
        self.assertEqual(pmlab.walk_faults(walked), [])
        self.assertEqual(walked["delivered"], walked["pairs"])
        if self.judged:
            self.assertEqual(ibdmchk.host_faults(self.lab, self.UNSEEN, dump), [])
        return walked

    def check_healthy(self, *options):
        """As at the start: the same tables, no pair cut, uplinks even."""
        dump = self.lab.dump()
        walked = self.check_dump(dump, *options)
        self.assertLessEqual(walked["uplinks"]["spread"], 1)
        now = pmlab.Dump(dump)
        self.assertEqual(now.lids, self.healthy.lids)
        self.assertEqual(list(pmlab.changed_entries(self.healthy, now))[:5], [])
        return walked

    def check_loads(self, walked, over):
        for load in walked["loads"]:
            self.assertLessEqual(load["maximum"] * load["links"], over * load["flows"], load)

    # ---- events

    def lose(self, target):
        """Takes a part out in one piece; the wire agrees with whatif."""
        predicted = self.lab.whatif(target)
        self.down.append(target)
        event = self.lab.lose(target)
        self.check_costs(event)
        self.assertEqual(event.wire, predicted.blocks, f"{event.name}: wire, whatif")
        if event.repairs and not event.unheard and event.parts == 1:
            self.assertEqual(event.restoring, predicted.restoring, f"{event.name}: restoring")
        # `least` is counted again of unacknowledged blocks.
        self.assertTrue(0 <= event.least - predicted.least <= event.unheard,
                        f"{event.name}: least {event.least}, whatif's {predicted.least}")
        return event

    def lose_in_time(self, target, is_in_time):
        """As lose(); tries again if the repair began before all links were down.

        The repair takes a burst of traps for over after pmlab.QUIET_MS without one; links that go
        down later are found by the sweep that is running then. A late answer counts as none. Only
        such a pause between the traps, or late answers, cause another try.
        """
        lost = LabCase.lose(self, target)
        for _ in range(pmlab.ATTEMPTS - 1):
            if is_in_time(lost) or (lost.trap_gap_ms <= pmlab.QUIET_MS
                                    and not lost.measured["late"]):
                break
            self.back(target)
            lost = LabCase.lose(self, target)
        return lost

    def back(self, target):
        event = self.lab.back(target)
        self.down.remove(target)
        self.check_costs(event)
        return event

    def lose_and_back(self, target, blocks=None, most=None, new_switches=0, spread=None,
                      over=None, gone=None):
        """Takes a part out and brings it back; returns both events.

        blocks        the exact cost of the failure (default: what whatif says)
        most          a limit to it
        new_switches  switches that OpenSM forgets meanwhile: on return they are
                      given their whole table, beside the blocks of the failure
        spread, over  limits to uplink_spread and to the loads over their mean
        gone          (leaf, LID) pairs that the failure leaves without a path
        """
        lost = self.lose(target)
        if blocks is not None:
            self.assertEqual(lost.wire, blocks, lost.name)
        if most is not None:
            self.assertLessEqual(lost.wire, most, lost.name)
        self.assertEqual(lost.whole, 0, "whole tables")
        walked = self.check_walk()
        if spread is not None:
            self.assertLessEqual(walked["uplinks"]["spread"], spread)
        if over is not None:
            self.check_loads(walked, over)
        if gone is not None:
            self.assertEqual(self.pairs - walked["pairs"], gone)
        came = self.back(target)
        self.assertEqual(came.wire, lost.wire + new_switches * self.full_blocks
                         + came.rewritten, came.name)
        self.assertEqual(came.whole, new_switches, "whole tables")
        self.check_healthy()
        return lost, came


class Repaired(LabCase):
    """A LabCase with early repair of each failure."""

    def cables(self, target):
        """The number of cables between switches that fail with it, without those inside it."""
        fabric, is_switch = self.lab.fabric, set(self.lab.netlist.switches)
        gone = fabric.cut_off_by(target, self.lab.osm.host)
        ends = [{name for name, _ in link} for link in fabric._links_of_target(target)]
        return sum(names <= is_switch and not names <= gone for names in ends)

    def limit(self, target, event):
        """The most SMPs until all is sent: the blocks, an answer to each trap, and Gets.

        The Gets are for the failed cables, and twice for all ports of a switch, as a trap names
        only the switch.
        """
        nodes = self.lab.netlist.nodes.values()
        return (event.wire + event.measured["traps"]
                + len(self.lab.fabric._links_of_target(target))
                + 2 * max(len(n.ports) for n in nodes if n.is_switch))

    def lose(self, target):
        """As LabCase: the repair sends everything, the sweep nothing."""
        cables = self.cables(target)
        # The numbers of the wire, sent, acknowledged and whatif are one number.
        lost = self.lose_in_time(target, lambda event: sum(
            line.links_down for line in event.repairs) == cables and event.sent == sum(
            line.acked for line in event.repairs) == event.wire)
        self.assertEqual([run.sent for run in lost.runs], [0] * len(lost.runs), target)
        self.assertEqual(sum(line.sent for line in lost.repairs), lost.wire, target)
        self.assertEqual(sum(line.acked for line in lost.repairs), lost.wire, target)
        self.assertEqual(sum(line.links_down for line in lost.repairs), cables, target)
        self.assertFalse(any(line.gave_up for line in lost.repairs), target)
        self.assertEqual(lost.measured["timeouts"],
                         sum(line.unanswered for line in lost.repairs), target)
        self.assertLessEqual(lost.measured["last_lft_smp"], self.limit(target, lost), target)
        return lost

    def check_returned(self, came):
        """The sweep sends nothing but the tables of switches that are new to it."""
        self.assertEqual(sum(line.links_down for line in came.repairs), 0, came.name)
        self.assertEqual(sum(run.sent for run in came.runs), came.whole * self.full_blocks,
                         came.name)

    def lose_and_back(self, target, **expected):
        lost, came = super().lose_and_back(target, **expected)
        self.check_returned(came)
        return lost, came


class Part(unittest.TestLoader):
    """Some classes of a file; of a class with independent tests, some tests."""

    def __init__(self, part, parts):
        super().__init__()
        self.part, self.parts, self.dealt = part, parts, 0

    def _is_mine(self):
        self.dealt += 1
        return self.dealt % self.parts == self.part % self.parts

    def getTestCaseNames(self, testCaseClass):
        names = super().getTestCaseNames(testCaseClass)
        if getattr(testCaseClass, "APART", False):
            return [name for name in names if self._is_mine()]
        return names if names and self._is_mine() else []


def main():
    """unittest.main(); with PM_PART=2/3 in the environment, of the second third alone."""
    part, _, parts = os.environ.get("PM_PART", "1/1").partition("/")
    unittest.main(testLoader=Part(int(part), int(parts)))
