#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Another subnet manager on a running fabric: no LID and no entry changes."""

import re

import labtest
import pmlab
import simlab
import wire
from test_handover import take_over


class RestartCase(labtest.CacheCase):
    def dump(self, lab):
        return pmlab.Dump(lab.dump())

    def check_taken_over(self, lab, event, before, away=()):
        """The new manager routes, and changed no LID and no table.

        A manager does not know which entries its predecessor left for LIDs without a path, so the
        leaves' entries for hosts are compared: these always have one, except for absent hosts.
        (walk() compares every entry that has a path with the plan's.)
        """
        self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
        self.assertTrue(event.runs)
        self.assertEqual(event.lids_changed, 0)
        after = self.dump(lab)
        self.assertEqual(after.lids, before.lids)
        hosts = {after.lids[name] for name in after.hosts} - {after.lids[n] for n in away}
        self.assertEqual([(switch, lid) for switch, lid in pmlab.changed_entries(before, after)
                          if lid in hosts and switch.startswith("leaf")][:5], [])
        self.assertEqual(pmlab.walk_faults(lab.walk()), [])

    @staticmethod
    def end(lab, how):
        getattr(lab.osm.process, how)()
        lab.osm.process.wait(30)


class Restart(RestartCase):
    def restart(self, how, keep_cache, losses=()):
        """One manager ends in this way, the next one starts; then all parts return."""
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric, self.cache) as lab:
                lab.bring_up()
                healthy = self.dump(lab)
                for target in losses:
                    lab.lose(target)
                before = self.dump(lab)
                self.end(lab, how)
            with self.lab(fabric, self.cache if keep_cache else None) as lab:
                self.check_taken_over(lab, lab.bring_up(), before,
                                      away=[t for t in losses if t in healthy.hosts])
                for target in losses:
                    lab.back(target)
                now = self.dump(lab)
                self.assertEqual(now.lids, healthy.lids)
                self.assertEqual(list(pmlab.changed_entries(healthy, now))[:5], [])

    def test_ended_cache_kept(self):
        self.restart("terminate", True)

    def test_killed_cache_kept(self):
        self.restart("kill", True)

    def test_killed_cache_lost(self):
        self.restart("kill", False)

    def test_killed_cache_kept_while_degraded(self):
        self.restart("kill", True, losses=("s0-*", "leaf5:20", "h7-3"))

    def test_damaged_plan_file(self):
        """It is set aside, not lost, and the LIDs in use are kept."""
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric, self.cache) as lab:
                lab.bring_up()
                before = self.dump(lab)
                self.end(lab, "kill")
            path = pmlab.kept(self.cache, "plan")
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
            with self.lab(fabric, self.cache) as lab:
                self.check_taken_over(lab, lab.bring_up(), before)
                self.assertIn("plan not used and renamed to", lab.osm.log())
                aside = list(path.parent.glob("plan.bad-*"))
                self.assertEqual([p.read_bytes() for p in aside], [bytes(data)])
                self.check_told(aside[0])

    def check_told(self, aside):
        """By an event, a number, and a finding until the file is removed."""
        state = aside.parent / "state"

        def findings():
            return [line for line in pmlab.run_cli("status", "-q", state).stdout.splitlines()
                    if line.startswith("finding")]

        found = simlab.poll_until(findings, 60, "a finding")
        self.assertEqual(len(found), 1, found)
        self.assertIn(f"a plan was not used: {aside}; `portmajor events` says why", found[0])
        simlab.poll_until(lambda: re.search(
            rf" error files plan not used and renamed to {aside.name}: ",
            (aside.parent / "events").read_text("ascii")), 60, "an event")
        simlab.poll_until(lambda: re.search(
            r"(?m)^portmajor_plans_set_aside\{.*\} 1$",
            (aside.parent / "portmajor.prom").read_text("ascii")), 70, "the number")
        aside.unlink()
        self.assertEqual(findings(), [])


class DegradedWithoutCache(RestartCase):
    """A manager without files takes a broken fabric over: no table and no LID changes.

    It keeps the tables that it finds in the switches; when the last missing part comes, the plan is
    again the one of these LIDs.
    """

    def take_over(self, *losses):
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric, self.cache) as lab:
                lab.bring_up()
                healthy = self.dump(lab)
                for target in losses:
                    lab.lose(target)
                before = self.dump(lab)
                self.end(lab, "kill")
            # Twice: the second one has the plan that the first one made.
            cache = self.folder / f"{self.cache.name}-new"
            cache.mkdir()
            for number in (1, 2):
                with self.lab(fabric, cache) as lab:
                    event = lab.bring_up()
                    self.check_same(lab, event, before, losses)
                    if number == 2:
                        self.bring_back(lab, losses, healthy)
                    else:
                        self.assertIn("tables found in the switches: kept", lab.osm.log())
                        self.end(lab, "kill")

    def check_same(self, lab, event, before, losses):
        """As check_taken_over, for all switches and all present ports.

        Where a switch has no path its predecessor's entry may be gone; walk() checks that no entry
        with a path is missing.
        """
        self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
        self.assertEqual(event.lids_changed, 0)
        after = self.dump(lab)
        gone = set().union(*[set(lab.netlist.match(t)) for t in losses if ":" not in t])
        there = set(before.lids) - gone
        self.assertEqual({n: after.lids[n] for n in there}, {n: before.lids[n] for n in there})
        hosts = {after.lids[name] for name in after.hosts & there}
        changed = [(switch, lid) for switch, lid in pmlab.changed_entries(before, after)
                   if lid in hosts and switch in there
                   and after.entries(switch, lid - lid % 16).get(lid, 255) != 255]
        self.assertEqual(changed[:5], [])
        self.assertEqual(pmlab.walk_faults(lab.walk("--from-all"), plan=False), [])

    def bring_back(self, lab, losses, healthy):
        for target in losses:
            event = lab.event("back", target)
            self.assertEqual(event.miscounted, [])
            self.assertEqual(event.lids_changed, 0)
            self.assertEqual(pmlab.walk_faults(lab.walk("--from-all"), plan=False), [])
        self.assertEqual(self.dump(lab).lids, healthy.lids)
        self.assertEqual(pmlab.walk_faults(lab.walk("--from-all")), [])

    def test_chassis_and_cable(self):
        self.take_over("s0-*", "leaf5:20")

    def test_cable_in_a_chassis(self):
        self.take_over("s3-line1:21", "s4-fab0")

    def test_line_switch(self):
        self.take_over("s3-line1")

    def test_host_away(self):
        """Its slot is empty for the new manager; it keeps its LID when it comes."""
        losses = ("s0-*", "h7-3")
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric, self.cache) as lab:
                lab.bring_up()
                for target in losses:
                    lab.lose(target)
                before = self.dump(lab)
                self.end(lab, "kill")
            with self.lab(fabric) as lab:
                self.check_same(lab, lab.bring_up(), before, losses)
                for target in losses:
                    lab.event("back", target)
                now = self.dump(lab).lids
                self.assertEqual({n for n in before.lids if now[n] != before.lids[n]} - {"h7-3"},
                                 set())
                self.assertEqual(len(set(now.values())), len(now), "LIDs given twice")


class Standby(RestartCase):
    """Two managers at once; the master dies, the other one takes over."""

    POLL = {"sminfo_polling_timeout": 500, "polling_retry_number": 2}

    def test_takeover(self):
        with pmlab.Fabric(self.netlist) as fabric, \
                self.lab(fabric, self.cache, host="h0-1",
                         conf={**self.POLL, "sm_priority": 10}) as first:
            first.bring_up()
            before = self.dump(first)
            # With time-outs, since the one that dies does not answer.
            with self.lab(fabric, host="h20-1", conf={**self.POLL, "sm_priority": 2},
                          wire=wire.Wire()) as second:
                mark = take_over(fabric, first.osm, second.osm)
                event = pmlab.Event.of("takeover", dict(second.osm.delta(mark)),
                                       second.osm.log(mark.log_offset))
                self.check_taken_over(second, event, before)
                self.assertEqual(event.miscounted, [])
                lost = second.lose("s0-*")
                self.assertEqual(lost.wire, second.whatif("s0-*").blocks)


if __name__ == "__main__":
    labtest.main()
