#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A plan is lost while parts are absent: they return with their former LIDs.

updn is the reference: it has no plan, and keeps LIDs by guid2lid and by the ports' reports.
"""

import shutil
import unittest

import labtest
import pmlab
import wire
from test_handover import take_over


class EvidenceCase(labtest.CacheCase):
    PARTS = {"host": ("h7-3",), "leaf": ("leaf7",), "chassis": ("s0-*",),
             "all": ("h7-3", "leaf9", "s0-*")}

    @staticmethod
    def lids(lab):
        return pmlab.Dump(lab.dump()).lids

    @staticmethod
    def end(lab):
        lab.osm.process.kill()
        lab.osm.process.wait(30)

    def reboot(self, fabric, targets):
        """Absent parts, and hosts of absent leaves, forget their LIDs."""
        names = {name for target in targets for name in self.netlist.match(target)}
        names |= {f"h{leaf[4:]}-{k}" for leaf in names if leaf.startswith("leaf")
                  for k in range(1, 5)}
        fabric.console(*[f'Clear "{name}"' for name in sorted(names)])
        return names

    def check_back(self, lab, targets, before):
        """All parts return; no LID changes."""
        there = self.lids(lab)
        changed = {name for name, lid in there.items() if before[name] != lid}
        self.assertEqual(changed, set(), "LIDs that changed in the takeover")
        for target in targets:
            lab.event("back", target)
        after = self.lids(lab)
        self.assertEqual(len(set(after.values())), len(after), "LIDs given twice")
        self.assertEqual({name: (before[name], lid) for name, lid in after.items()
                          if before[name] != lid}, {}, "(before, after)")
        self.assertEqual(set(after), set(before))


class Restart(EvidenceCase):
    def restart(self, part, guid2lid=False, reboot=False, engine="portmajor"):
        """The subnet manager ends while a part is absent; the next one has no plan."""
        targets = self.PARTS[part]
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric, self.cache, engine=engine) as lab:
                lab.bring_up()
                before = self.lids(lab)
                for target in targets:
                    lab.event("lose", target)
                self.end(lab)
            if reboot:
                self.reboot(fabric, targets)
            for path in self.cache.glob("portmajor.*"):
                shutil.rmtree(path)
            with self.lab(fabric, self.cache if guid2lid else None, engine=engine) as lab:
                lab.bring_up()
                self.check_back(lab, targets, before)
                if engine == "portmajor":
                    self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
                    walked = lab.walk("--from-all")
                    self.assertEqual(pmlab.walk_faults(walked, plan=False), [])

    def test_updn(self):
        self.restart("all", guid2lid=True, reboot=True, engine="updn")

    def test_host(self):
        """It reports its LID."""
        self.restart("host")

    def test_host_rebooted(self):
        """Its leaf's table has its LID."""
        self.restart("host", reboot=True)

    def test_leaf(self):
        self.restart("leaf")

    def test_chassis(self):
        self.restart("chassis")

    def test_host_by_guid2lid(self):
        self.restart("host", guid2lid=True, reboot=True)

    def test_leaf_by_guid2lid(self):
        self.restart("leaf", guid2lid=True, reboot=True)

    def test_chassis_by_guid2lid(self):
        self.restart("chassis", guid2lid=True, reboot=True)

    def test_all_by_guid2lid(self):
        self.restart("all", guid2lid=True, reboot=True)


class Standby(EvidenceCase):
    """A standby without copies of files takes over while a host is absent."""

    POLL = {"sminfo_polling_timeout": 500, "polling_retry_number": 2}

    def take_over(self, reboot):
        with pmlab.Fabric(self.netlist) as fabric, \
                self.lab(fabric, self.cache, host="h0-1",
                         conf={**self.POLL, "sm_priority": 10}) as first:
            first.bring_up()
            before = self.lids(first)
            # Before the other one polls it: otherwise neither ever stands still.
            first.event("lose", "h7-3")
            if reboot:
                self.reboot(fabric, ["h7-3"])
            # With time-outs, since the one that dies does not answer.
            with self.lab(fabric, host="h20-1", conf={**self.POLL, "sm_priority": 2},
                          wire=wire.Wire()) as second:
                take_over(fabric, first.osm, second.osm)
                self.check_back(second, ["h7-3"], before)

    def test_host(self):
        self.take_over(False)

    def test_host_rebooted(self):
        self.take_over(True)


if __name__ == "__main__":
    unittest.main()
