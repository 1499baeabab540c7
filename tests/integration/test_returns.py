#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Returned parts are in service without a discovery, and OpenSM's sweeps leave them alone."""

import json
import re
import time

import clients
import labtest
import mgroups
import pmlab
import test_handover
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

    # ---- actions

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
        """The positions in the list of the Sets that change a port's state."""
        return [i for i, r in enumerate(asked) if r.attr == smps.PORT_INFO and r.method == SET
                and smps.FIELDS["state"].get(bytearray(r.data)) != smps.NO_CHANGE]

    # ---- judgements

    def check_quiet(self):
        """The next sweeps set no port's state, and find all as it was."""
        mark = self.lab.osm.mark()
        self.wire.records()
        self.lab.osm.hup()
        self.settle(mark)
        self.assertEqual(self.changes([r for r in self.wire.records() if r.event == "asked"]), [])
        self.check_healthy()

    def check_flap(self, target, hosts, cables, ports, flap=None):
        """The same for parts that are back at once, before a discovery can find them down."""
        return self.check_return(target, False, hosts, cables, ports, lambda target: None,
                                 flap or self.lab.fabric.flap)

    def check_return(self, target, away, hosts, cables, ports, action=None, back=None):
        """Serves so many links with only these Sets of state; returns the SMPs."""
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
        """After the third return in 10 s it is served once a second; the last return is, too."""
        mark = self.lab.osm.mark()
        for _ in range(7):
            self.lab.fabric.lose(self.host)
            time.sleep(0.1)
            self.lab.fabric.back(self.host)
            time.sleep(0.4)
        self.lab.osm.wait_log("served once a second: leaf1", mark.log_offset)
        self.settle(mark)
        log = self.lab.osm.log(mark.log_offset)
        served = self.returned(log)[0]
        self.assertLess(served, 7)
        self.assertLessEqual(log.count("1 host flaps, and is served once a second"), served)
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

    def test_cable_fails_again(self):
        """Before entries have moved onto it: that is a failure, too."""
        lab = self.lab
        self.take_down(UPLINK, True)
        mark = lab.osm.mark()
        self.wire.hold("request", method="set", attr=simlab.ATTR_LFT, times=1)
        lab.fabric.back(UPLINK)
        self.wire.wait_held()
        lab.fabric.lose(UPLINK)
        self.wire.release()
        lab.osm.wait_log(r"portmajor repair \d+: failed: 1 cable \(.*\), which had just come back;",
                         mark.log_offset)
        self.assertNotRegex(lab.osm.log(mark.log_offset), r"repair \d+: no change")
        self.settle(mark)
        self.bring_up(UPLINK)
        self.check_quiet()

    def test_host_was_reset(self):
        asked = self.check_return(self.host, True, 1, 0, 4, self.lab.fabric.clear,
                                  self.lab.fabric.relink)
        self.assertLessEqual(self.changes(asked)[-1] + 1, 20 + self.down_ports())

    def test_hosts_of_a_leaf(self):
        """Equal traps, more than OpenSM accepts."""
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
        self.check_events()

    def check_events(self):
        """No part in service is missing: before the discovery that finds it, too."""
        events = pmlab.kept(self.lab.osm.cache_dir, "events")

        def since():
            return events.read_text().rpartition(" in service: ")[2]

        simlab.poll_until(lambda: " returned " in since(), 30, "the event of the return")
        self.assertNotIn(" missing ", since())
        # A long list is cut, so the numbers come before it.
        self.assertRegex(events.read_text(),
                         r" return +hosts \d+, cables \d+, [\d.]+ ms; in service: ")

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
    """A link returns at a moment of a sweep."""

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
            self.assertTrue(rule.acted, "the sweep has no such SMP")
            self.lab.fabric.back(target)
            self.wire.release()
        self.settle(mark)
        self.lab.osm.wait_traps_aged()
        mark = self.lab.osm.mark()
        self.lab.osm.hup()  # one may wait for a host that was dropped
        self.settle(mark)
        self.check_quiet()

    def test_read_in_init(self):
        """OpenSM's record follows, otherwise it would set an ACTIVE port to ARMED. (A trap that it
        heeds has it begin its discovery anew.)"""
        osm, lids = self.lab.osm, [self.healthy.lids[LEAF]]
        mark = osm.mark()
        self.wire.storm(simlab.TRAP_LIMIT + 1, lids)
        self.settle(mark)
        mark = osm.mark()
        self.wire.records()
        osm.pace(100)
        self.addCleanup(osm.pace, 0)
        with self.wire.drop("trap"), self.wire.hold(
                "answer", node=LEAF, method="get", attr=smps.PORT_INFO, times=1,
                modifier=self.lab.netlist.nodes[self.host].ports[1][1]):
            self.lab.fabric.flap(self.host)
            osm.hup()
            self.wire.wait_held()
        self.wire.storm(1, lids)
        self.wire.release()
        self.settle(mark)
        asked = [r for r in self.wire.records() if r.event == "asked"]
        self.assertEqual(self.returned(osm.log(mark.log_offset)), (1, 0))
        self.assertEqual([asked[i] for i in self.changes(asked) if not asked[i].plugin], [])
        self.lab.osm.wait_traps_aged()
        self.check_quiet()

    def test_own_port(self):
        """It is read once a second, also while OpenSM's SMPs wait for a slow wire: all that the
        thread sends waits for these Gets."""
        osm = self.lab.osm
        mark = osm.mark()
        self.wire.records()
        osm.pace(10000)
        self.addCleanup(osm.pace, 0)
        osm.hup()
        self.settle(mark)
        records = self.wire.records()
        looks = [r.ns / 1e9 for r in records if r.event == "asked" and r.plugin and not r.hops]
        gaps = [after - before for before, after in zip(looks, looks[1:])]
        self.assertGreater(records[-1].ns / 1e9 - records[0].ns / 1e9, 4)
        self.assertLess(max(gaps), 2.5, gaps)

    def test_host(self):
        for moment in self.MOMENTS:
            with self.subTest(**moment):
                self.check_moment(self.host, moment)

    def test_cable(self):
        for moment in self.MOMENTS:
            with self.subTest(**moment):
                self.check_moment(UPLINK, moment)


class Lost(Case):
    """Lost answers, and ends that refuse."""

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


class Leaving(Case):
    """Parts that return changed are left to OpenSM, with the reason."""

    def left(self, log):
        return " ".join(LEFT.findall(log))

    def check_left(self, why, records, log):
        """The plugin sets no state, and in the end all is right."""
        self.assertIn(why, self.left(log), log[-2000:])
        said = LEFT.findall(log)
        self.assertEqual(len(said), len(set(said)), said)
        asked = [r for r in records if r.event == "asked"]
        self.assertEqual([asked[i] for i in self.changes(asked) if asked[i].plugin], [])


class Left(Leaving):
    def swap(self, one, other):
        """Two links, by their nearer ends, exchange their farther ends; both had failed."""
        ends = [(*end, *self.lab.netlist.nodes[end[0]].ports[end[1]]) for end in (one, other)]
        for (a, p, _, _), (_, _, b, q) in zip(ends, ends[::-1]):
            self.lab.fabric.console(f'Link "{a}"[{p}] "{b}"[{q}]')

    def check_swapped(self, one, other):
        fabric = self.lab.fabric
        mark = self.lab.osm.mark()
        self.wire.records()
        for name, port in (one, other):
            fabric.unlink(name, port)
        self.swap(one, other)
        self.settle(mark)
        self.check_left("another node or port is there", self.wire.records(),
                        self.lab.osm.log(mark.log_offset))
        mark = self.lab.osm.mark()
        for name, port in (one, other):
            fabric.unlink(name, port)
        for name, port in (one, other):
            peer, far = self.lab.netlist.nodes[name].ports[port]
            fabric.console(f'Link "{name}"[{port}] "{peer}"[{far}]')
        self.settle(mark)
        self.lab.osm.wait_traps_aged()
        self.check_quiet()

    def test_swapped_cables(self):
        self.check_swapped((LEAF, 19), (LEAF, 20))

    def test_swapped_hosts(self):
        ports = [(LEAF, port) for port, (peer, _) in self.lab.netlist.nodes[LEAF].ports.items()
                 if peer in self.lab.netlist.hosts]
        self.check_swapped(*ports[:2])

    def test_host_was_elsewhere(self):
        """OpenSM has the LID of that place for it, and answers others with it."""
        fabric, nodes = self.lab.fabric, self.lab.netlist.nodes
        other = "h5-3"
        (leaf, port), (far_leaf, far_port) = nodes[self.host].ports[1], nodes[other].ports[1]

        def move(target):
            fabric.unlink(target, 1)
            fabric.console(f'Link "{target}"[1] "{leaf}"[{port}]')

        mark = self.lab.osm.mark()
        fabric.unlink(other, 1)
        fabric.unlink(self.host, 1)
        fabric.console(f'Link "{self.host}"[1] "{far_leaf}"[{far_port}]')
        self.settle(mark)
        self.lab.osm.wait_traps_aged()
        self.check_left("OpenSM has given it another LID", *self.bring_up(self.host, move))
        mark = self.lab.osm.mark()
        fabric.console(f'Link "{other}"[1] "{far_leaf}"[{far_port}]')
        self.settle(mark)
        self.lab.osm.wait_traps_aged()
        self.check_quiet()

    def test_options_changed_meanwhile(self):
        self.take_down(self.host, True)
        conf = self.lab.osm.path / "opensm.conf"
        before = conf.read_text()
        mark = self.lab.osm.mark()
        conf.write_text(before + "subnet_timeout 17\n")
        self.lab.osm.hup()
        self.settle(mark)
        self.check_left("options have changed", *self.bring_up(self.host))
        self.lab.osm.wait_traps_aged()
        self.check_quiet()


class Guarded(Leaving):
    """M_Keys, two partitions, LMC 2 and perfmgr."""

    LIMITED = "h1-1"
    CONF = {"lmc": 2, "m_key": "0x1234567890", "m_key_protection_level": 2,
            "m_key_lease_period": 60, "perfmgr": "TRUE", "part_enforce": "both"}

    @classmethod
    def options(cls):
        with pmlab.Fabric(cls.netlist) as fabric:
            guid = clients.read_ports(fabric)[cls.LIMITED, 1].guid
        config = cls.folder / "partitions.conf"
        config.write_text("Default=0x7fff,ipoib : ALL=full, SELF=full;\n"
                          f"blue=0x8001 : {guid:#x}=limited, SELF=full;\n")
        return {**super().options(), "conf": {**cls.CONF, "partition_config_file": config}}

    def check_healthy(self):
        walked = self.lab.walk()
        self.assertEqual(walked["links_not_active"], 0)

    def p_keys(self, records, method):
        """The positions of the plugin's SMPs about the host's P_Keys, and of its first ARMED."""
        asked = [r for r in records if r.event == "asked"]
        return ([i for i, r in enumerate(asked) if r.attr == smps.P_KEYS and r.plugin
                 and r.method == method and r.guid == self.wire.guid(self.LIMITED)],
                self.changes(asked)[0])

    def test_flap(self):
        asked = self.check_flap(self.LIMITED, 1, 0, 4)
        read, armed = self.p_keys(asked, GET)
        self.assertEqual(len(read), 1)
        self.assertLess(read[0], armed)
        self.assertEqual(self.p_keys(asked, SET)[0], [])

    def test_cable(self):
        self.check_return(UPLINK, False, 0, 1, 4)

    def test_reset(self):
        """The host has lost its P_Keys: it has them again before it carries a packet."""
        asked = self.check_flap(self.LIMITED, 1, 0, 4, self.lab.fabric.reboot)
        written, armed = self.p_keys(asked, SET)
        self.assertEqual(len(written), 1)
        self.assertLess(written[0], armed)
        keys = bytes(asked[written[0]].data)
        self.assertIn(b"\x00\x01", [keys[i:i + 2] for i in range(0, 64, 2)])

    def test_away(self):
        self.take_down(self.LIMITED, True)
        self.check_left("partitions may have changed", *self.bring_up(self.LIMITED))

    def test_switch_was_reset(self):
        self.take_down("leaf4", False, self.lab.fabric.clear)
        self.check_left("has lost its P_Key tables",
                        *self.bring_up("leaf4", self.lab.fabric.relink))
        self.lab.osm.wait_traps_aged()
        self.check_quiet()


class OnePartition(Leaving):
    """The default one, of which a host becomes a limited member while it is absent."""

    @classmethod
    def options(cls):
        cls.partitions = cls.folder / "partitions.conf"
        cls.admit("full")
        return {**super().options(), "conf": {"partition_config_file": cls.partitions}}

    @classmethod
    def admit(cls, how):
        cls.partitions.write_text(f"Default=0x7fff,ipoib : ALL={how}, SELF=full;\n")

    def test_limited_meanwhile(self):
        self.take_down(self.host, True)
        self.admit("limited")
        mark = self.lab.osm.mark()
        self.lab.osm.hup()
        self.settle(mark)
        self.lab.osm.wait_traps_aged()
        self.check_left("partitions may have changed", *self.bring_up(self.host))

    def test_full(self):
        self.admit("full")
        self.lab.osm.hup()
        self.check_return(self.host, True, 1, 0, 4)


class Qos(Leaving):
    SL2VL, LOW = (0, 1, 2, 3, 0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3), (1, 2, 3, 4)

    @classmethod
    def options(cls):
        low = ",".join(f"{vl}:{weight}" for vl, weight in enumerate(cls.LOW))
        return {**super().options(), "conf": {
            "qos": "TRUE", "qos_max_vls": 4, "qos_sl2vl": ",".join(map(str, cls.SL2VL)),
            "qos_vlarb_low": low, "qos_vlarb_high": "0:8"}}

    def test_flap(self):
        self.check_return(self.host, False, 1, 0, 4)

    def test_host_was_reset(self):
        """It has its tables before it carries a packet, whether OpenSM dropped it or not."""
        for away in (False, True):
            with self.subTest(away=away):
                asked = self.check_return(self.host, away, 1, 0, 4, self.lab.fabric.clear,
                                          self.lab.fabric.relink)
                guid, armed = self.wire.guid(self.host), self.changes(asked)[0]
                sets = {(r.attr, r.modifier): bytes(r.data) for r in asked[:armed]
                        if r.plugin and r.method == SET and r.guid == guid}
                pairs = zip(self.SL2VL[::2], self.SL2VL[1::2])
                self.assertEqual(list(sets[smps.SL2VL, 0][:8]), [a << 4 | b for a, b in pairs])
                low = sets[smps.VL_ARBITRATION, 1 << 16]
                self.assertEqual(low[1:8:2], bytes(self.LOW))
                self.assertEqual(sets[smps.VL_ARBITRATION, 3 << 16][:2], bytes((0, 8)))
                self.lab.osm.wait_traps_aged()

    def test_switch_was_reset(self):
        self.take_down("leaf4", False, self.lab.fabric.clear)
        self.check_left("switch was reset, and has lost its qos tables",
                        *self.bring_up("leaf4", self.lab.fabric.relink))
        self.lab.osm.wait_traps_aged()
        self.check_quiet()


class Member(Case):
    def test_member(self):
        """A host that returns is in its group's tree again."""
        members = mgroups.Members(self.lab)
        for host in (self.lab.osm.host, self.host, "h4-1"):
            members.join(1, host)
        self.settle_groups()
        tree = self.tree(members.mlid[1])
        for away in (False, True):
            with self.subTest(away=away):
                if not away:
                    self.bring_up(self.host, self.lab.fabric.flap)
                else:  # OpenSM has forgotten it
                    self.take_down(self.host, True)
                    self.bring_up(self.host)
                    members.join(1, self.host)
                self.settle_groups()
                self.assertEqual(self.tree(members.mlid[1]), tree)
                self.lab.osm.wait_traps_aged()

    def settle_groups(self):
        self.lab.osm.settle(self.lab.osm.mark(), sweep=False)

    def tree(self, mlid):
        """The group's end ports, by their switch and port there."""
        found = clients.Multicast(self.lab.fabric, "h4-1")
        nodes = self.lab.netlist.nodes
        return {(name, port) for (name, other), ports in found.ports.items() if other == mlid
                for port in ports if port in nodes[name].ports
                and nodes[name].ports[port][0] in self.lab.netlist.hosts}


class TwoManagers(Case):
    """A standby lets the master serve; of a split that heals each leaves the cable alone."""

    GENERATE = "two-level", 4, 3, 2, 1
    POLL = {"sminfo_polling_timeout": 400, "polling_retry_number": 2}
    SPLIT = ["leaf3:3", "leaf3:4", "leaf3:5"]

    @classmethod
    def options(cls):
        return {**super().options(), "conf": {**cls.POLL, "sm_priority": 3}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other_wire = wire.Wire(trace=True)
        cls.other = cls.stack.enter_context(pmlab.Lab(
            cls.lab.netlist, fabric=cls.lab.fabric, host="h3-1", wire=cls.other_wire,
            conf={**cls.POLL, "sm_priority": 1})).osm
        test_handover.wait_state(cls.other, "STANDBY")

    def settle(self, mark):
        test_handover.wait_swept(self.lab.osm, mark)

    def test_standby(self):
        self.other_wire.records()
        mark = self.lab.osm.mark()
        self.lab.fabric.flap("h1-1", 1, 0.2)
        found = self.lab.osm.wait_log(RETURN.pattern, mark.log_offset)
        self.assertEqual(found[1], "1")
        self.assertEqual([r for r in self.other_wire.records() if r.method == SET], [])

    def test_split(self):
        mark = self.other.mark()
        for cable in self.SPLIT:
            self.lab.fabric.lose(cable)
        test_handover.wait_state(self.other, "MASTER", mark.log_offset)
        self.other.wait_subnet_up(mark.log_offset)
        mark = self.lab.osm.mark()
        self.wire.records()
        self.other_wire.records()
        self.lab.fabric.back(self.SPLIT[0])
        self.lab.osm.wait_log("another LID or subnet manager", mark.log_offset)
        test_handover.wait_state(self.other, "STANDBY", 0)
        for records in self.wire.records(), self.other_wire.records():
            asked = [r for r in records if r.event == "asked"]
            self.assertEqual([asked[i] for i in self.changes(asked) if asked[i].plugin], [])
        for cable in self.SPLIT[1:]:
            self.lab.fabric.back(cable)
        self.settle(mark)


if __name__ == "__main__":
    labtest.main()
