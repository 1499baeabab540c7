#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Early repair is several times as fast as without it, and as OpenSM's engines (648 hosts)."""

import failover
import labtest
import pmlab
import simlab


class FailoverTimes(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        netlist = pmlab.generate(cls.folder / "fabric.net", "director", 36)
        cls.results = failover.compare(simlab.Netlist(netlist), tries=1)

    def test_ratios(self):
        """SMPs are counted, times computed from the record: see failover.py."""
        early = {r.loss: r for r in self.results if r.how == failover.EARLY}
        for r in self.results:
            if r.how == failover.EARLY:
                continue
            with self.subTest(str(r)):
                self.assertGreaterEqual(r.smps, 50 * early[r.loss].smps)
                self.assertGreaterEqual(r.wire_s, 3 * early[r.loss].wire_s)
                self.assertGreaterEqual(r.cpu_s, 3 * early[r.loss].cpu_s)

    def test_engines(self):
        """Each row is of the engine that it names."""
        for r in self.results:
            if r.how in (failover.EARLY, failover.LATE):
                self.assertFalse(r.gave_up, r)

    def test_table(self):
        lines = failover.format_table(self.results).splitlines()
        ways = 2 + len(failover.ENGINES)
        self.assertEqual(len(self.results), ways * len(failover.LOSSES))
        self.assertGreaterEqual(len(lines), 2 + ways)


class DuringSweep(labtest.Folders):
    """OpenSM is in a sweep already, for a host that left, when a part fails."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        netlist = simlab.Netlist(pmlab.generate(cls.folder / "fabric.net", "director", 36))
        ways = failover.EARLY, "minhop"
        cls.results = [r for how in ways for r in failover.run_during(netlist, how)]

    def test_soon(self):
        found = {(r.how, r.loss, r.share): r for r in self.results}
        for r in self.results:
            if r.how != failover.EARLY:
                continue
            with self.subTest(str(r)):
                idle = found[r.how, r.loss, 0]
                self.assertGreater(idle.own, 0)
                self.assertLessEqual(r.own, 2 * idle.own)
                # A sweep goes on sending until a busy machine lets the repair run.
                self.assertGreaterEqual(found["minhop", r.loss, r.share].smps,
                                        (3 if r.share else 5) * r.smps)

    def test_table(self):
        lines = failover.format_during(self.results).splitlines()
        self.assertEqual(len(lines), 1 + 2 * len(failover.LOSSES))


class Setting(labtest.Folders):
    """DuringSweep's failures while other SMPs are on the wire; `cls.found` and `cls.polled`."""

    SETTING = failover.Setting()
    WAYS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        netlist = simlab.Netlist(pmlab.generate(cls.folder / "fabric.net", "director", 36))
        cls.polled = []
        polled = cls.polled if cls.SETTING.standby_ms else None
        cls.found = {(r.how, r.loss, r.share): r for how in cls.WAYS
                     for r in failover.run_during(netlist, how, cls.SETTING, polled)}
        cls.early = [r for r in cls.found.values() if r.how == failover.EARLY]


class UnderQueries(Setting):
    """64 PathRecord queries outstanding at any time, and the wire carries an SMP each 265 us."""

    SETTING = failover.Setting(paced=True, queries=64, shares=(0, .4))
    WAYS = failover.EARLY, "updn"

    def test_repaired(self):
        """However long answers wait behind queries in OpenSM's dispatcher."""
        for r in self.early:
            with self.subTest(str(r)):
                idle = self.found[r.how, r.loss, 0]
                self.assertGreater(idle.own, 0)
                self.assertLessEqual(r.own, 2 * idle.own)
                self.assertFalse(r.gave_up)

    def test_soon(self):
        for r in self.early:
            updn = self.found["updn", r.loss, r.share]
            with self.subTest(f"{r} {updn}"):
                self.assertGreaterEqual(updn.smps, 5 * r.smps)
                self.assertGreaterEqual(updn.seconds, 3 * r.seconds)

    def test_queries(self):
        for r in self.found.values():
            self.assertGreater(r.answered, 0, r)


class HeldSlots(Setting):
    """Gets to a chassis that hangs hold all of OpenSM's slots on the wire."""

    SETTING = failover.Setting(dead=True)
    WAYS = failover.EARLY, "updn"

    def test_soon(self):
        """A slot is free after 0.8 s at most; the sweep needs ten times that."""
        for r in self.early:
            updn = self.found["updn", r.loss, r.share]
            with self.subTest(f"{r} {updn}"):
                self.assertGreater(r.own, 0)
                self.assertGreaterEqual(updn.seconds, 5 * r.seconds)


class BesideStandby(Setting):
    """Another OpenSM polls this one on a paced wire, fifty times as often as by default."""

    SETTING = failover.Setting(paced=True, standby_ms=failover.POLLING_MS // 50, shares=(0, .4))
    WAYS = failover.EARLY,

    def test_stays_in_charge(self):
        (answered, failed, took_over), = self.polled
        self.assertGreater(answered, 0)
        self.assertEqual((failed, took_over), (0, False))

    def test_repaired(self):
        for r in self.early:
            self.assertGreater(r.own, 0, r)


if __name__ == "__main__":
    labtest.main()
