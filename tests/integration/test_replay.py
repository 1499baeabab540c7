#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
portmajor-lab traffic --engine packet --sets: the packets of a recording fare as with --repair.
"""

import json

import labtest
import pmlab

NET = pmlab.TOPOLOGIES / "xgft-64.net"
LOST = "leaf0:5"
RUN = ("--engine", "packet", "--load", "0.3", "--warmup", "5us", "--time", "60us", "--window",
       "5us", "--gbps", 200, "--max-wire-smps", 2)


class Replay(labtest.Folders):
    def setUp(self):
        super().setUp()
        self.sets = self.folder / "ours.sets"
        done = pmlab.run_lab("traffic", "-q", "--fail", LOST, "--mad-us", 3, "--max-wire-smps", 2,
                             "--write", self.sets, NET)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def traffic(self, *options):
        done = pmlab.run_lab("traffic", *RUN, "--json", *options, NET)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def refuse(self, status, message, *options, net=NET):
        done = pmlab.run_lab("traffic", *RUN, *options, net)
        self.assertEqual((done.returncode, done.stdout), (status, ""), message)
        self.assertIn(message, done.stderr)

    def test_same(self):
        """The computed recording does the same as --repair order, packet for packet."""
        repaired = self.traffic("--fail", LOST, "--repair", "order", "--smp", "3us", "--at", "10us")
        for more in ((), ("--fail", LOST)):
            recorded = self.traffic("--sets", self.sets, "--at", "10us", *more)
            self.assertEqual(recorded["points"], repaired["points"])
        settings = recorded["settings"]
        self.assertEqual((settings["tables"], settings["recording"]["cables"]), ("recording", 1))
        self.assertGreater(settings["sets"], 0)
        self.assertEqual((settings["sets"], settings["sets_late"]),
                         (repaired["settings"]["sets"], 0))
        self.assertGreater(recorded["points"][0]["dropped"], 0)
        self.assertEqual(recorded["points"][0]["windows"][-1]["dropped"], 0)

    def test_compared(self):
        """Another recording runs as it does alone, healthy tables included, behind the first."""
        done = pmlab.run_lab("traffic", "-q", "--fail", LOST, "--mad-us", 9, "--write",
                             self.folder / "slow.sets", NET)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        slow = self.traffic("--sets", self.folder / "slow.sets", "--at", "10us")
        for first in (("--sets", self.sets), ("--fail", LOST, "--repair", "order")):
            alone = self.traffic(*first, "--at", "10us")
            told = self.traffic(*first, "--at", "10us", "--compare", self.folder / "slow.sets")
            self.assertEqual(told["points"], alone["points"])
            self.assertNotIn("compared", alone)
            [other] = told["compared"]
            self.assertEqual((other["points"], other["settings"]["recording"]),
                             (slow["points"], slow["settings"]["recording"]))
        self.assertNotEqual(slow["points"], alone["points"])
        done = pmlab.run_lab("traffic", *RUN, "--sets", self.sets, "--at", "10us", "--compare",
                             self.folder / "slow.sets", NET)
        self.assertEqual(done.stdout.count("offered"), 2)
        self.refuse(2, "--compare: not with --shard", "--compare", "x", "--shard", "1/2", "--json")

    def test_when(self):
        """Before the run all Sets are in force; those behind its end are reported."""
        before = self.traffic("--sets", self.sets, "--at", "-10ms")
        self.assertEqual(before["settings"]["failed_us"], -10000)
        self.assertEqual(before["points"][0]["windows"][0]["sets"], before["settings"]["sets"])
        late = self.traffic("--sets", self.sets, "--at", "58us")["settings"]
        self.assertEqual((late["sets"], late["sets_late"]), (0, before["settings"]["sets"]))
        done = pmlab.run_lab("traffic", *RUN, "--sets", self.sets, "--at", "58us", NET)
        self.assertIn(f"{late['sets_late']} Sets come after the end (--time)", done.stdout)

    def test_back(self):
        """While a cable is down packets are lost, and none afterwards."""
        told = self.traffic("--fail", LOST, "--at", "10us", "--return-after", "20us")
        self.assertAlmostEqual(told["settings"]["failed_us"], 10, delta=0.01)
        point, = told["points"]
        lost = [window["us"] for window in point["windows"] if window["dropped"]]
        self.assertTrue(lost and min(lost) >= 5 and max(lost) < 30, lost)

    def returning(self):
        """The recording without Sets, in which its cable returns after 20 us."""
        rows = [row for row in self.sets.read_text("ascii").splitlines()
                if not row.startswith("set ")]
        failed, = (row.split()[2:] for row in rows if row.startswith("failed "))
        path = self.folder / "back.sets"
        path.write_text("\n".join([*rows, f"active 20000 {' '.join(failed)}", ""]), "ascii")
        return path

    def test_back_as_recorded(self):
        """A cable that returns in a recording does so as with --return-after."""
        given = self.traffic("--fail", LOST, "--at", "10us", "--return-after", "20us")
        recorded = self.traffic("--sets", self.returning(), "--at", "10us")
        self.assertEqual(recorded["points"], given["points"])
        self.assertEqual(recorded["settings"]["return_us"], given["settings"]["return_us"])
        self.assertEqual(recorded["settings"]["recording"]["returned"], 1)
        self.assertEqual(self.traffic("--sets", self.sets)["settings"]["recording"]["returned"], 0)
        done = pmlab.run_lab("traffic", *RUN, "--sets", self.returning(), "--at", "10us", NET)
        self.assertIn("1 cable has failed, 1 returns", done.stdout)
        self.refuse(2, "--return-after: the recording has when cables return", "--sets",
                    self.returning(), "--return-after", "1us")

    def test_whole(self):
        """No packet is lost; arrivals are counted, answers apart."""
        told = self.traffic("--transport", "rc")
        self.assertIsNone(told["settings"]["failed_us"])
        point, = told["points"]
        self.assertGreater(point["uncounted"], 0)
        self.assertEqual(point["packets"], sum(point[name] for name in (
            "delivered", "uncounted", "dropped", "inside")))

    def test_refused(self):
        for message, *options in (
                ("--lfts: --sets has tables, too", "--lfts", "x"),
                ("--repair is of the plan's tables", "--repair", "order"),
                ("--at: the failure is at the end of the run", "--at", "60us"),
                ("--return-after: not with a failure before",
                 "--at", "-1us", "--return-after", "1us"),
                ("--time and --warmup: more than the 5497.6 ms", "--time", "9s")):
            self.refuse(2, message, "--sets", self.sets, *options)
        for option, time in (("--at", "-1us"), ("--at", "1us"), ("--return-after", "1us")):
            self.refuse(2, f"{option}: nothing fails (--fail, --sets)", option, time)
        for message, *options in (
                ("--timeout and --retries go with --transport rc", "--timeout", 3),
                ("--timeout and --retries go with --transport rc", "--retries", 3),
                ("--smp goes with --repair order", "--smp", "1us"),
                ("--smp goes with --repair order", "--fail", "leaf0", "--repair", "at-once",
                 "--smp", "1us"),
                ("--repair-after goes with --repair", "--fail", "leaf0", "--repair-after", "1us"),
                ("--messages takes the place of --load", "--messages", 3),
                ("--window: shorter than a tick, 2.560 ns", "--window", "1ns"),
                ("--window: shorter than a tick, 2.560 ns", "--window", "0us"),
                ("--window: longer than the run", "--window", "66us"),
                ("--window: more than 100000 of them", "--window", "3ns", "--time", "1ms"),
                ("--return-after: shorter than a tick, 2.560 ns", "--fail", "leaf0",
                 "--return-after", "0us"),
                ("--time: shorter than a tick for each of --batches, 2.560 ns", "--time", "1ns")):
            self.refuse(2, message, *options)
        done = pmlab.run_lab("traffic", "--engine", "packet", "--messages", 3, "--poisson", NET)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--poisson goes with a load", done.stderr)
        self.refuse(3, "fails there, but not by --fail", "--sets", self.sets, "--fail", "leaf1:5")
        self.refuse(3, "not all that --fail names fails there", "--sets", self.sets, "--fail",
                    "leaf0")
        self.refuse(3, "of another fabric?", "--sets", self.sets,
                    net=pmlab.TOPOLOGIES / "two-level-48.net")
        lids = [line for line in self.sets.read_text().splitlines() if not line.startswith("lid ")]
        self.sets.write_text("\n".join(lids) + "\n")
        self.refuse(3, "has no LID of host", "--sets", self.sets)


if __name__ == "__main__":
    labtest.main()
