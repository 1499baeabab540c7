#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A switch that answers nonsense harms only itself, and never more than with updn."""

import re

import bad_switch
import labtest
import pmlab
import simlab
import wire
from bad_switch import LEAF, SPINE, WIDE
from test_handover import wait_polled
from test_status import wait_state


def others_differ(place, old, new):
    """Entries that differ, in other switches."""
    return [(sw, lid) for sw, lid in pmlab.changed_entries(old.tables, new.tables) if sw != place]


def living_differ(place, old, new):
    """The same without those for a failed switch's own LID: they lead nowhere, and stay as they
    were when its last cable failed, which depends on the order in which failures were seen."""
    return [(sw, lid) for sw, lid in others_differ(place, old, new)
            if lid != old.tables.lids[place]]


def complaints(log):
    return re.findall(r"portmajor: bad switches: (.*)", log)


def turned(kind):
    """A test of its own, so that kinds run side by side."""
    def test(self):
        for place in (SPINE, LEAF):
            with self.subTest(place=place):
                self.check_turned(kind, place)

    return test


class BadSwitch(labtest.Folders):
    """One fabric for each kind; updn's results come from the same run."""

    APART = True
    KINDS = ("GUID 0", "GUID of another switch", "no ports", "4 ports", WIDE, "port states 0",
             "LID of a host", "width and MTU 0")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lost = {}

    def make_folder(self):
        return self.enterContext(pmlab.Folder())

    def state_without(self, place, kind):
        """The tables when the switch fails, or its cables."""
        wide = kind == WIDE
        if (place, wide) not in self.lost:
            with bad_switch.Attempt(self.make_folder(), "portmajor", place, kind) as lab:
                lab.start()
                mark = lab.osm.mark()
                lab.fabric.unlink(place)
                self.lost[place, wide] = lab.wait(mark)
        return self.lost[place, wide]

    def check_bad(self, ours, stock):
        """Never worse than updn, and all others are as before or as after a failure of the switch.
        """
        self.assertIsNone(ours.bad.ended)
        if stock.bad.ended is None:
            self.assertGreaterEqual(ours.bad.up, stock.bad.up)
            self.assertGreaterEqual(len(ours.others(ours.bad)), len(stock.others(stock.bad)))
            self.assertGreaterEqual(ours.at_it(ours.bad), stock.at_it(stock.bad))
        hosts = len(ours.bad.tables.hosts) - 6 * bool(ours.leaf)
        self.assertEqual(len(ours.others(ours.bad)), hosts * (hosts - 1))
        self.assertEqual(set(ours.bad.engines), {"portmajor"})

    def check_turned(self, kind, place):
        stock = bad_switch.attempt(self.make_folder(), "updn", place, "turned", kind)
        ours = bad_switch.attempt(self.make_folder(), "portmajor", place, "turned", kind)
        self.check_bad(ours, stock)
        self.assertEqual(ours.lids_changed(ours.before, ours.bad), [])
        if others_differ(place, ours.before, ours.bad):
            self.assertEqual(living_differ(place, self.state_without(place, kind), ours.bad), [])
            named = [line for line in ours.bad.log.splitlines()
                     if "portmajor" in line and place in line and " run " not in line]
            lost = re.findall(rf"run \d+: failed: 1 switch \({place}\)", ours.bad.log)
            self.assertTrue(len(named) == 1 or len(lost) == 1, ours.bad.log)
        self.check_well(ours)
        return ours

    def check_well(self, ours):
        """No trace of it remains."""
        before, well = ours.before or ours.bad, ours.well
        self.assertTrue(well.up and well.still)
        self.assertEqual(well.tables.lids.items() & before.tables.lids.items(),
                         before.tables.lids.items())
        hosts = len(well.tables.hosts)
        self.assertEqual(len(well.tables.pairs()), hosts * (hosts - 1))
        if ours.before:
            self.assertEqual(list(pmlab.changed_entries(before.tables, well.tables)), [])
        self.assertIn(complaints(ours.bad.log + well.log)[-1:], ([], ["none any more"]))

    def test_port_states(self):
        for place, ports in ((SPINE, 16), (LEAF, 14)):
            with self.subTest(place=place):
                ours = self.check_turned("port states 7", place)
                self.assertEqual(len(complaints(ours.bad.log)), 1)
                self.assertRegex(complaints(ours.bad.log)[0],
                                 rf"^{place} \(0x\w+\) has {ports} ports neither up nor down")

    def test_small_table(self):
        for place, what in ((SPINE, "is left out"), (LEAF, r"serves its hosts .* \(6 hosts\)")):
            with self.subTest(place=place):
                ours = self.check_turned("small table", place)
                self.assertEqual(len(complaints(ours.bad.log)), 1)
                self.assertRegex(complaints(ours.bad.log)[0],
                                 rf"^{place} \(0x\w+\) has room for LIDs up to 19 of 70 and {what}$")
                self.assertEqual(ours.bad.tables.top[place], 19)
                self.assertEqual(ours.well.tables.top[place], 70)

    def test_from_the_start(self):
        """OpenSM lowers its limit of LIDs for good, and updn has LIDs for few ports."""
        for kind, place in (("small table", SPINE), ("small table", LEAF),
                            ("port states 7", SPINE)):
            with self.subTest(kind=kind, place=place):
                stock = bad_switch.attempt(self.make_folder(), "updn", place, "new", kind)
                ours = bad_switch.attempt(self.make_folder(), "portmajor", place, "new", kind)
                self.check_bad(ours, stock)
                self.check_well(ours)
                self.assertEqual(len(complaints(ours.bad.log)), 1)

    def test_restarted(self):
        """OpenSM is restarted with a plan from before the fault, and again after it: OpenSM's own
        memory of a number of ports does not change otherwise."""
        for kind in ("small table", "no ports", "4 ports", WIDE):
            with self.subTest(kind=kind):
                folder = self.make_folder()
                with bad_switch.Attempt(folder, "portmajor", SPINE, kind) as lab:
                    states = []
                    for turn in (lab.turn_well, lab.turn_bad, lab.turn_well):
                        turn()
                        states.append(lab.start(cache_dir=folder))
                        lab.stop()
                # OpenSM sets down the links at its other ports, whose ends it does not know. The
                # switch reports it, and a sweep follows that has nothing to send.
                sweeps = [1, 1 + (kind == "4 ports"), 1]
                for state, number in zip(states, sweeps):
                    self.assertEqual(state.engines, ("portmajor",) * number)
                    runs = pmlab.Run.find(state.log)
                    self.assertEqual([run.sent for run in runs[1:]], [0] * (number - 1))
                for state in states:
                    self.assertEqual(state.tables.lids.items() & states[0].tables.lids.items(),
                                     states[0].tables.lids.items())
                    self.assertEqual(len(state.tables.pairs()), 48 * 47)
                self.assertEqual(list(pmlab.changed_entries(states[0].tables,
                                                            states[2].tables)), [])

    def test_no_room_is_no_block(self):
        """No block is sent to a switch whose table has no room for it."""
        with bad_switch.Attempt(self.make_folder(), "portmajor", SPINE, "small table") as lab:
            lab.start()
            beyond = lab.wire.rule("delay", "request", node=SPINE, method="set",
                                   attr=simlab.ATTR_LFT, modifier=(1, 1023))
            lab.turn_bad()
            lab.sweep()
            for event in (lab.fabric.unlink, lab.fabric.relink):  # it is new to OpenSM then
                mark = lab.osm.mark()
                event(SPINE)
                lab.wait(mark)
            self.assertEqual(beyond.acted, 0)
            lab.turn_well()
            state = lab.sweep()
            self.assertGreater(beyond.acted, 0)
            self.assertEqual(len(state.tables.pairs()), 48 * 47)

    def test_top_stays(self):
        """A LinearFDBTop that does not rise costs a few tables, and one more when it rises."""
        def sent(lab):
            mark = lab.osm.mark()
            lab.sweep()
            return [run.sent for run in pmlab.Run.find(lab.osm.log(mark.log_offset))]

        with bad_switch.Attempt(self.make_folder(), "portmajor", SPINE, "small table") as lab:
            low = lab.wire.alter("answer", bad_switch.LIN_TOP, b"\x00\x13", node=SPINE,
                                 attr=bad_switch.SWITCH_INFO)
            lab.start()
            runs = [blocks for _ in range(4) for blocks in sent(lab)]
            self.assertEqual(runs[-1], 0, runs)
            self.assertEqual(set(runs[:2]), {2}, runs)
            low.off()
            self.assertEqual(sent(lab)[-1], 2)  # the sweep's own discovery reads the risen value
            self.assertEqual(sent(lab), [0])
            self.assertEqual(len(lab.sweep().tables.pairs()), 48 * 47)

    def test_standby(self):
        """Its LIDs are checked against OpenSM's limit when a standby takes over."""
        polls = {"sminfo_polling_timeout": 500, "polling_retry_number": 2}
        folder = self.make_folder()
        with bad_switch.Attempt(folder, "portmajor", SPINE, "small table") as lab:
            wires = wire.Wire(lab.fabric)
            bad_switch.KINDS["small table"](wires, SPINE)
            lab.turn_bad()
            before = lab.start(conf={**polls, "sm_priority": 10})
            with pmlab.open_sm(lab.fabric, config=folder / "portmajor.conf", wire=wires,
                               host="h7-1", conf={**polls, "sm_priority": 2}) as second:
                second.wait_log(r"Entering STANDBY state")
                mark = second.mark()
                wait_polled(second)
                lab.fabric.kill_client(lab.osm.process)
                second.wait_subnet_up(mark.log_offset)
                second.settle(mark)
                lab.fabric.dump(folder / "after")
                after = bad_switch.Tables(folder / "after", lab.netlist)
                self.assertNotIn("Illegal LID range", second.log())
        self.assertEqual(after.lids, before.tables.lids)
        self.assertEqual(len(after.pairs()), 48 * 47)

    def test_status(self):
        """It is a finding as long as it is bad."""
        with bad_switch.Attempt(self.make_folder(), "portmajor", SPINE, "small table") as lab:
            bad_switch.KINDS["small table"](lab.wire, SPINE)
            lab.start()
            wait_state(lab.osm, lambda state: state["run"] and state["bad_switches"])
            done = pmlab.run_cli("status", pmlab.kept(lab.osm.cache_dir, "state"))
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stdout, rf"bad switches: {SPINE} .*is left out")
            mark = lab.osm.mark()
            lab.wire.clear()
            lab.osm.hup()
            lab.osm.settle(mark)
            wait_state(lab.osm, lambda state: state["bad_switches"] is None)

    def test_too_many(self):
        """If no table has room for the plan, bad switches are not excluded."""
        with bad_switch.Attempt(self.make_folder(), "portmajor", SPINE, "small table") as lab:
            for name in lab.netlist.switches:
                bad_switch.KINDS["small table"](lab.wire, name)
            state = lab.start()
            self.assertNotIn("portmajor", state.engines)
            self.assertIn("most switches of this fabric have room for LIDs up to 19", state.log)


for _kind in BadSwitch.KINDS:
    setattr(BadSwitch, "test_turned_" + re.sub(r"\W+", "_", _kind), turned(_kind))


if __name__ == "__main__":
    labtest.main()
