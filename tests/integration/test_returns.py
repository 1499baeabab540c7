#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What returns is in service without a discovery, and OpenSM's sweeps leave it alone."""

import json
import re
import time

import labtest
import pmlab
import simlab
import smps
import wire

LEAF, UPLINK = "leaf1", "leaf1:19"
SET, GET = wire.SET, wire.GET
RETURN = re.compile(r"portmajor return \d+: (\d+) hosts?, (\d+) cables? in service: (.*?); "
                    r"queries (\d+), Sets (\d+), unanswered (\d+)")
LEFT = re.compile(r"portmajor: \d+ links? that came back (?:is|are) left to OpenSM's sweep(.*)")


class Case(labtest.LabCase):
    """A lab with the wire's records."""

    @classmethod
    def options(cls):
        cls.wire = wire.Wire(trace=True)
        return {"wire": cls.wire}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host = next(iter(peer for port, (peer, _) in
                             sorted(cls.lab.netlist.nodes[LEAF].ports.items())
                             if peer in cls.lab.netlist.hosts and peer != cls.lab.osm.host))

    def setUp(self):
        super().setUp()
        self.lab.osm.wait_traps_aged()

    # ---- what happens

    def returned(self, log):
        """(hosts, cables) in service by the plugin."""
        found = RETURN.findall(log)
        return sum(int(m[0]) for m in found), sum(int(m[1]) for m in found)

    def settle(self, mark):
        self.lab.osm.settle(mark)

    def take_down(self, target, away, action=None):
        """Takes a part down; with `away` OpenSM has dropped it when this returns."""
        mark = self.lab.osm.mark()
        (action or self.lab.fabric.lose)(target)
        if away:
            self.settle(mark)
            self.lab.osm.wait_traps_aged()
        else:
            time.sleep(0.2)

    def bring_up(self, target, action=None):
        """Brings it up again; returns the SMPs, and the log."""
        mark = self.lab.osm.mark()
        self.wire.records()
        (action or self.lab.fabric.back)(target)
        self.settle(mark)
        return self.wire.records(), self.lab.osm.log(mark.log_offset)

    def asked(self, records):
        """SMPs from the first trap on."""
        first = next(i for i, r in enumerate(records) if r.event == "trapped")
        return [r for r in records[first:] if r.event == "asked"]

    def changes(self, asked):
        """Places in the list of the Sets that change a port's state."""
        return [i for i, r in enumerate(asked) if r.attr == smps.PORT_INFO and r.method == SET
                and smps.FIELDS["state"].get(bytearray(r.data)) != smps.NO_CHANGE]

    # ---- what is judged

    def check_quiet(self):
        """The next sweeps set no port's state, and find all as it was."""
        mark = self.lab.osm.mark()
        self.wire.records()
        self.lab.osm.hup()
        self.settle(mark)
        self.assertEqual(self.changes([r for r in self.wire.records() if r.event == "asked"]), [])
        self.check_healthy()

    def check_return(self, target, away, hosts, cables, ports, action=None, back=None):
        """Serves so many links with these Sets of state alone; returns the SMPs."""
        self.take_down(target, away, action)
        records, log = self.bring_up(target, back)
        asked = self.asked(records)
        self.assertEqual(self.returned(log), (hosts, cables), log[-30000:])
        self.assertEqual(len(self.changes(asked)), ports, target)
        self.assertTrue(all(asked[i].plugin for i in self.changes(asked)), "OpenSM's")
        self.assertEqual(LEFT.findall(log), [])
        self.check_quiet()
        return asked


class Links(Case):
    def down_ports(self):
        """Gets of the leaf's ports that are known to be down: one."""
        return 1

    def check_host(self, away):
        asked = self.check_return(self.host, away, 1, 0, 4)
        last = self.changes(asked)[-1]
        self.assertLessEqual(last + 1, 11 + self.down_ports())

    def test_host_flaps(self):
        self.check_host(away=False)

    def test_host_was_away(self):
        self.check_host(away=True)

    def test_host_flaps_again_and_again(self):
        """After the third return in 10 s it is served once a second; the last one is, too."""
        mark = self.lab.osm.mark()
        for _ in range(7):
            self.lab.fabric.lose(self.host)
            time.sleep(0.1)
            self.lab.fabric.back(self.host)
            time.sleep(0.4)
        self.lab.osm.wait_log("served once a second: leaf1", mark.log_offset)
        self.settle(mark)
        self.assertLess(self.returned(self.lab.osm.log(mark.log_offset))[0], 7)
        state = pmlab.kept(self.lab.osm.cache_dir, "state")
        simlab.poll_until(lambda: LEAF in json.dumps(json.loads(state.read_text())
                                                     ["flapping_hosts"]), 30, "the state")
        self.assertIn("again and again", pmlab.run_cli("status", state).stdout)
        self.lab.osm.wait_traps_aged()
        self.check_quiet()

    def check_cable(self, away):
        asked = self.check_return(UPLINK, away, 0, 1, 4)
        blocks = [i for i, r in enumerate(asked) if r.method == SET and r.attr == smps.LFT]
        self.assertTrue(blocks)
        self.assertGreater(blocks[0], self.changes(asked)[-1], "entries move when it is ACTIVE")
        self.assertLessEqual(blocks[-1] + 1, len(blocks) + 12 + self.down_ports())

    def test_cable_flaps(self):
        self.check_cable(away=False)

    def test_cable_was_away(self):
        self.check_cable(away=True)

    def test_host_was_reset(self):
        asked = self.check_return(self.host, True, 1, 0, 4, self.lab.fabric.clear,
                                  self.lab.fabric.relink)
        self.assertLessEqual(self.changes(asked)[-1] + 1, 20 + self.down_ports())

    def test_hosts_of_a_leaf(self):
        """Equal traps, more than OpenSM listens to."""
        netlist = self.lab.netlist
        hosts = [peer for peer, _ in netlist.nodes[LEAF].ports.values()
                 if peer in netlist.hosts and peer != self.lab.osm.host]
        for host in hosts:
            self.take_down(host, False)
        mark = self.lab.osm.mark()
        for _ in range(3):
            for host in hosts:
                self.lab.fabric.back(host)
                self.lab.fabric.lose(host)
        for host in hosts:
            self.lab.fabric.back(host)
        self.settle(mark)
        self.lab.osm.wait_traps_aged()
        self.check_quiet()


class Parts(Case):
    def test_leaf(self):
        hosts = sum(peer in self.lab.netlist.hosts for peer, _ in
                    self.lab.netlist.nodes["leaf4"].ports.values())
        cables = len(self.lab.netlist.nodes["leaf4"].ports) - hosts
        self.check_return("leaf4", True, hosts, cables, 4 * (hosts + cables))

    def test_leaf_was_reset(self):
        for away in (True, False):
            with self.subTest(away=away):
                hosts = sum(peer in self.lab.netlist.hosts for peer, _ in
                            self.lab.netlist.nodes["leaf4"].ports.values())
                cables = len(self.lab.netlist.nodes["leaf4"].ports) - hosts
                self.lab.osm.wait_traps_aged()
                self.check_return("leaf4", away, hosts, cables, 4 * (hosts + cables),
                                  self.lab.fabric.clear, self.lab.fabric.relink)

    def test_line_switch(self):
        cables = len(self.lab.netlist.nodes["s3-line1"].ports)
        self.check_return("s3-line1", True, 0, cables, 4 * cables)

    def test_chassis(self):
        cables = len(self.lab.fabric._links_of_target("s0-*"))
        self.check_return("s0-*", True, 0, cables, 4 * cables)


class Moments(Case):
    """A link comes back at a moment of a sweep."""

    MOMENTS = [{"attr": smps.NODE_INFO, "skip": 3},
               {"attr": smps.PORT_INFO, "method": "get", "skip": 200},
               {"attr": smps.NODE_INFO, "skip": 60},
               {"attr": smps.PORT_INFO, "method": "get", "skip": 600},
               {"attr": smps.SWITCH_INFO, "method": "set"}]

    def check_moment(self, target, moment):
        self.lab.osm.wait_traps_aged()
        mark = self.lab.osm.mark()
        with self.wire.hold("request", times=1, **moment) as rule:
            self.lab.fabric.lose(target)
            self.lab.osm.hup()
            simlab.poll_until(lambda: rule.acted or self.lab.osm.is_settled(), 60, "the wire")
            if rule.acted:
                self.wire.wait_held()
            self.lab.fabric.back(target)
            self.wire.release()
        self.settle(mark)
        self.lab.osm.wait_traps_aged()
        self.check_quiet()

    def test_host(self):
        for moment in self.MOMENTS:
            with self.subTest(**moment):
                self.check_moment(self.host, moment)

    def test_cable(self):
        for moment in self.MOMENTS:
            with self.subTest(**moment):
                self.check_moment(UPLINK, moment)


class Lost(Case):
    """Answers that are lost, and ends that refuse."""

    def lose_answers(self, times, **when):
        with self.wire.drop("answer", times=times, **when) as rule:
            self.take_down(self.host, True)
            mark = self.lab.osm.mark()
            self.lab.fabric.back(self.host)
            self.settle(mark)
            self.assertTrue(rule.acted)
        self.lab.osm.wait_traps_aged()
        self.check_quiet()

    def test_answers(self):
        for attr, method in ((smps.NODE_INFO, "get"), (smps.PORT_INFO, "set")):
            with self.subTest(attr=attr):
                self.lab.osm.wait_traps_aged()
                self.lose_answers(4, node=self.host, attr=attr, method=method)


if __name__ == "__main__":
    labtest.main()
