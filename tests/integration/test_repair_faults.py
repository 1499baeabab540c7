#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An early repair that is disturbed: in the end the fabric is whole, and its tables right."""

import os
from unittest import mock

import labtest
import pmlab
import simlab

STOP_S = 30  # OpenSM has ended by then
SMALL = ("xgft", 3, "3,4,5", "1,4,6")  # a sweep is short in spite of a delay
TRANSMISSIONS = 4  # of a Get, with OpenSM's transaction_retries


def watch(lab, condition, what, timeout=60):
    """Like poll_until, often enough to act in the middle of a repair."""
    simlab.poll_until(lambda: lab.osm.is_alive() and condition(), timeout, what, every=0.001)


def begin(lab, target, smps=0, blocks=0):
    """A part fails; returns when so many SMPs, and LFT Sets, of the repair are sent.

    The discovery must not have begun by then: otherwise it is tried again.
    """
    osm = lab.osm

    def is_there():
        delta = osm.delta(mark)
        return delta["lft_sets"] >= blocks and delta["smps"] >= smps

    for _ in range(pmlab.ATTEMPTS):
        osm.settle(osm.mark(), timeout=pmlab.TIMEOUT_S, sweep=False)
        osm.wait_traps_aged()
        mark = osm.mark()
        lab.fabric.lose(target)
        watch(lab, is_there, "the middle of the repair")
        if not osm.delta(mark)["discoveries"]:
            return mark
        osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        lab.fabric.back(target)
    raise simlab.SimError(f"{target}: too late for the repair {pmlab.ATTEMPTS} times")


class Faults(labtest.LabCase):
    """Each test ends with check_ends_well()."""

    ENV = {}

    @classmethod
    def options(cls):
        config = cls.folder / "portmajor.conf"
        config.write_text("flap_limit 0\n")  # the same cables fail over and over
        # Without what ibdmchk reads: OpenSM does not get all names.
        return {"conf": {"event_plugin_options": config}}

    @classmethod
    def setUpClass(cls):
        with mock.patch.dict(os.environ, cls.ENV):
            super().setUpClass()

    def sweep_ended(self, mark):
        """A sweep since the mark has ended, well or not."""
        return self.lab.osm._swept(mark) is not None

    def take_back_all(self):
        while self.down:
            self.lab.fabric.back(self.down.pop())

    def lose(self, target):
        """At once, without a wait."""
        self.down.append(target)
        self.lab.fabric.lose(target)

    def check_ends_well(self):
        """With all parts back and no error left, after a sweep that must discover all."""
        osm = self.lab.osm
        self.take_back_all()
        self.resweep()
        self.assertIsNone(osm.process.poll(), "opensm has ended")
        self.check_healthy()
        self.assertEqual(set(osm.engines_used()), {"portmajor"})
        osm.wait_answered()
        self.assertLessEqual(osm.counters()["top_lft_block"], max(self.healthy.lids.values()) // 64)

    def resweep(self):
        """OpenSM discovers everything anew; it ignores traps that come too often."""
        osm = self.lab.osm
        osm.settle(osm.mark(), timeout=pmlab.TIMEOUT_S, sweep=False)
        osm.wait_traps_aged()
        mark = osm.mark()
        osm.hup()
        osm.settle(mark, timeout=pmlab.TIMEOUT_S)


def percent_dropped(lost):
    """Of transmissions, so that this share of Gets is lost with all their retries."""
    return round(100 * lost ** (1 / TRANSMISSIONS))


class Undelayed(Faults):

    @classmethod
    def options(cls):
        options = super().options()
        # A lost Get takes four times as long.
        options["conf"]["transaction_timeout"] = 50
        return options

    def neighbours(self, target):
        return {name for link in self.lab.fabric._links_of_target(target) for name, _ in link
                if self.lab.netlist.nodes[name].is_switch}

    def lose_with_errors(self, target, lost):
        """Drops that share of all Gets to the switches at the failed cables."""
        lab = self.lab
        affected = sorted(self.neighbours(target))
        lab.osm.settle(lab.osm.mark(), sweep=False)
        lab.osm.wait_traps_aged()
        mark = lab.osm.mark()
        try:
            for name in affected:
                lab.fabric.error(name, percent_dropped(lost))
            self.lose(target)
            simlab.poll_until(lambda: self.sweep_ended(mark), 120, "the sweep's end")
        finally:
            for name in affected:
                lab.fabric.error(name, 0)
        return lab.osm.delta(mark)

    def test_dropped_datagrams(self):
        dropped = 0
        for lost in (0.01, 0.1, 0.5):
            for target in ("leaf5:20", "s3-line1", "s1-*"):
                with self.subTest(lost=lost, target=target):
                    delta = self.lose_with_errors(target, lost)
                    if lost >= 0.1:
                        self.assertGreater(delta["timeouts"], 0)
                    dropped += delta["timeouts"]
                    self.resweep()
                    self.check_walk()
                    self.check_ends_well()
        self.assertGreater(dropped, 0)

    def test_blocks_not_acknowledged(self):
        """Every second LFT Set to the leaves is lost: the sweep sends these again."""
        lab = self.lab
        mark = lab.osm.mark()
        for name in lab.netlist.match("leaf*"):
            lab.fabric.error(name, percent_dropped(0.5), attr=simlab.ATTR_LFT)
        self.lose("s1-*")
        simlab.poll_until(lambda: self.sweep_ended(mark), 120, "the sweep's end")
        for name in lab.netlist.match("leaf*"):
            lab.fabric.error(name, 0)
        repairs = pmlab.Repair.find(lab.osm.log(mark.log_offset))
        self.assertGreater(sum(line.sent - line.acked for line in repairs), 0)
        self.assertTrue(any(line.gave_up for line in repairs))
        self.resweep()
        self.check_walk()
        self.check_ends_well()

    def test_back_before_the_sweep(self):
        """Down and up at once, again and again."""
        lab = self.lab
        for target in ("leaf5:20", "s3-line1:21", "s2-line0", "s1-*"):
            with self.subTest(target):
                for _ in range(4):
                    lab.fabric.lose(target)
                    lab.fabric.back(target)
                self.check_ends_well()

    def test_back_after_the_repair(self):
        """Repaired, and up before the sweep has seen it down."""
        lab = self.lab
        for target in ("leaf5:20", "s1-*"):
            with self.subTest(target):
                lab.osm.settle(lab.osm.mark(), sweep=False)
                lab.osm.wait_traps_aged()
                mark = lab.osm.mark()
                self.lose(target)
                watch(lab, lambda m=mark: pmlab.Repair.find(lab.osm.log(m.log_offset)),
                      "the repair")
                self.take_back_all()
                self.check_ends_well()

    def test_storm_of_traps(self):
        """A thousand and more, of hosts and cables on all leaves."""
        lab = self.lab
        mark = lab.osm.mark()
        leaves = lab.netlist.match("leaf*")[1:]  # but the manager's
        targets = [f"{leaf}:{port}" for i, leaf in enumerate(leaves) for port in (3, 19 + i % 8)]
        rounds = 0
        while lab.osm.delta(mark)["traps"] < 1000:
            for target in targets:
                lab.fabric.lose(target)
            for target in targets:
                lab.fabric.back(target)
            rounds += 1
            self.assertLess(rounds, 100, "hardly a trap arrives")
        self.check_ends_well()


class Delayed(Faults):
    """Each SMP is delayed, so that the middle of a repair can be hit."""

    GENERATE = SMALL
    ENV = {"MADCOUNT_DELAY_US": "1000"}

    def second_loss(self, first, second, **when):
        mark = begin(self.lab, first, **when)
        self.down.append(first)
        self.lose(second)
        self.lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        self.resweep()
        self.check_walk()
        self.check_ends_well()

    def test_second_switch_while_asking(self):
        self.second_loss("sw3-1", "sw3-7", smps=4)

    def test_second_switch_while_sending(self):
        self.second_loss("sw2-1", "sw2-3", blocks=5)

    def test_second_switch_on_the_way(self):
        """The manager's leaf loses a switch through which blocks are being sent."""
        self.second_loss("sw3-1", "sw2-0", blocks=3)

    def test_managers_cable_while_asking(self):
        self.second_loss("sw2-5", "leaf0:4", smps=4)

    def test_managers_cable_while_sending(self):
        self.second_loss("sw2-5", "leaf0:5", blocks=5)


class DelayedDirector(Delayed):
    GENERATE = ("director", 36)
    ENV = {"MADCOUNT_DELAY_US": "265"}

    def test_second_switch_while_asking(self):
        self.second_loss("s1-*", "s2-*", smps=10)

    def test_second_switch_while_sending(self):
        self.second_loss("s1-*", "s2-*", blocks=5)

    def test_second_switch_on_the_way(self):
        self.second_loss("s3-line1", "s0-line0", blocks=5)

    test_managers_cable_while_asking = test_managers_cable_while_sending = None


class Stopped(labtest.Folders):
    """OpenSM is stopped in the middle of a repair; another one takes over."""

    TARGET = "sw2-1"

    def stop(self, how, **when):
        netlist = simlab.Netlist(pmlab.generate(self.folder / "fabric.net", *SMALL))
        cache = self.folder / self.id().rpartition(".")[2]
        cache.mkdir()
        with pmlab.Fabric(netlist) as fabric:
            with mock.patch.dict(os.environ, {"MADCOUNT_DELAY_US": "1000"}), \
                    pmlab.Lab(netlist, fabric=fabric, cache_dir=cache) as lab:
                lab.bring_up()
                healthy = pmlab.Dump(lab.dump())
                begin(lab, self.TARGET, **when)
                getattr(lab.osm.process, how)()
                status = lab.osm.process.wait(STOP_S)
                self.assertEqual(status, 0 if how == "terminate" else -9)
            with pmlab.Lab(netlist, fabric=fabric, cache_dir=cache) as lab:
                start = lab.bring_up()
                self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
                self.assertEqual(start.lids_changed, 0)
                self.assertEqual(pmlab.walk_faults(lab.walk("--from-all")), [])
                lab.back(self.TARGET)
                self.assertEqual(pmlab.walk_faults(lab.walk("--from-all")), [])
                now = pmlab.Dump(lab.dump())
                self.assertEqual(now.lids, healthy.lids)
                self.assertEqual(list(pmlab.changed_entries(healthy, now))[:5], [])
                lab.osm.wait_answered()
                lost = lab.lose("leaf5:4")  # and it repairs early itself
                self.assertEqual(sum(line.sent for line in lost.repairs), lost.wire)

    def test_ended_while_asking(self):
        self.stop("terminate", smps=4)

    def test_ended_while_sending(self):
        self.stop("terminate", blocks=5)

    def test_killed_while_asking(self):
        self.stop("kill", smps=4)

    def test_killed_while_sending(self):
        self.stop("kill", blocks=5)


if __name__ == "__main__":
    labtest.main()
