#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""OpenSM's sweeps wait after changes that the plugin has dealt with, and after no others."""

import json
import time

import clients
import labtest
import pmlab
import simlab
import smps
import wire

LEAF, HOST, ASKER, UPLINK = "leaf1", "h1-2", "h5-1", "leaf1:19"
MGID = 0xFF12_401B_FFFF_0000_0000_0000_0000_4444
WAITS = "portmajor: the next sweep waits for"
START_S, HOLD_S, DROPPED_S = 3, 10, 5  # throttle.h
LIGHT_S = 2  # sweep_interval


class Case(labtest.LabCase):
    CONF = {}

    @classmethod
    def options(cls):
        cls.wire = wire.Wire(trace=True)
        return {"wire": cls.wire, "sweep_interval": LIGHT_S, "conf": cls.CONF}

    def setUp(self):
        super().setUp()
        self.osm, self.fabric = self.lab.osm, self.lab.fabric
        self.rest()

    def rest(self):
        """No sweep waits, and none would wait for a hold."""
        mark = self.osm.mark()
        self.osm.hup()
        self.osm.settle(mark)
        self.ended = time.monotonic()

    def sweeps(self, mark):
        return self.osm.delta(mark)["discoveries"]

    def wait_sweep(self, mark, seconds):
        """Waits for at most that long; returns the time."""
        start = time.monotonic()
        simlab.poll_until(lambda: "SUBNET UP" in self.osm.log(mark.log_offset), seconds, "a sweep")
        return time.monotonic() - start

    def wait_service(self, mark, what=r"portmajor return \d+: 1 host"):
        self.osm.wait_log(what, mark.log_offset, 10)

    def flap(self, target):
        self.fabric.lose(target)
        time.sleep(0.2)
        self.fabric.back(target)

    def light_sweeps(self):
        """Light sweeps among the wire's records: SwitchInfo Gets of each switch."""
        asked = [r for r in self.wire.records() if r.event == "asked"
                 and r.attr == smps.SWITCH_INFO and r.method == wire.GET and not r.plugin]
        return len(asked) / self.switches

    def state(self):
        return json.loads(pmlab.kept(self.osm.cache_dir, "state").read_text(encoding="utf-8"))

    def wait_missing(self, hosts):
        simlab.poll_until(lambda: self.state()["missing"]["hosts"] == hosts, START_S + 10,
                          f"{hosts} missing", state=lambda: str(self.state()["missing"]))

    def lid(self, host):
        return self.healthy.lids[host]

    def check_served(self, *hosts):
        """They have a path, by the SA and by the tables."""
        lids = [self.lid(host) for host in hosts]
        sm = self.lid(self.osm.host or "h0-1")
        found = clients.path_lanes(self.fabric, ASKER, sm,
                                   [(self.lid(ASKER), lid) for lid in lids])
        self.assertNotIn(-1, found)


class Waits(Case):
    def test_flap(self):
        """The sweep comes when it is due, and light sweeps stay light until then."""
        mark = self.osm.mark()
        self.wire.records()
        self.flap(HOST)
        self.wait_service(mark)
        self.osm.wait_log(WAITS, mark.log_offset, 10)
        simlab.poll_until(lambda: self.state()["sweep"], 10, "the state")
        self.assertIn("sweep       has waited", pmlab.run_cli(
            "status", pmlab.kept(self.osm.cache_dir, "state")).stdout)
        self.check_served(HOST)
        time.sleep(2 * LIGHT_S)
        if time.monotonic() - self.ended < HOLD_S - 2:
            self.assertEqual(self.sweeps(mark), 0)
            self.assertGreater(self.light_sweeps(), 0.9)
        self.wait_sweep(mark, HOLD_S + 10)
        self.assertEqual(self.sweeps(mark), 1)
        self.osm.settle(mark)
        simlab.poll_until(lambda: not self.state()["sweep"], 10, "the state")
        self.assertGreater(self.state()["since_start"]["traps_taken"], 0)

    def test_cable(self):
        """It fails, is repaired, and returns: one sweep, after both."""
        mark = self.osm.mark()
        self.flap(UPLINK)
        self.wait_service(mark, r"portmajor return \d+: 0 hosts, 1 cable")
        self.osm.wait_log("portmajor repair .* came: 1 cable", mark.log_offset, 10)
        self.assertEqual(self.sweeps(mark), 0)
        self.wait_sweep(mark, HOLD_S + 10)
        self.osm.settle(mark)
        self.check_walk()
        self.assertEqual(self.sweeps(mark), 1)

    def test_lost_trap(self):
        """A light sweep has the ports of the switch read again."""
        mark = self.osm.mark()
        self.flap(HOST)
        self.wait_service(mark)
        self.osm.wait_log(WAITS, mark.log_offset, 10)
        with self.wire.drop("trap"):
            self.flap("h1-3")
        self.wait_service(mark, r"portmajor return \d+: 1 host, 0 cables in service: leaf1\[3\]")
        self.assertEqual(self.sweeps(mark), 0)

    def test_host_is_down(self):
        """It is missing before the sweep, also if its trap was lost."""
        self.addCleanup(lambda: (self.fabric.back(HOST), self.fabric.back("h1-3"),
                                 self.rest()))
        mark = self.osm.mark()
        self.fabric.lose(HOST)
        self.wait_missing(1)
        with self.wire.drop("trap"):
            self.fabric.lose("h1-3")
            self.wait_missing(2)
        self.assertEqual(self.sweeps(mark), 0)

    def test_own_port(self):
        """Its leaf's traps do not come; it is read."""
        mark = self.osm.mark()
        self.flap(self.osm.host or "h0-1")
        self.wait_service(mark)
        self.check_served(HOST)


class Hastens(Case):
    @classmethod
    def options(cls):  # a light sweep queries the failed part, and waits
        return {**super().options(), "sweep_interval": simlab.SWEEP_INTERVAL_S}

    def test_dropped_host(self):
        """The SA answers it within 5 s and a sweep."""
        mark = self.osm.mark()
        self.fabric.lose(HOST)
        self.osm.settle(mark)
        mark, start = self.osm.mark(), time.monotonic()
        self.fabric.back(HOST)
        self.wait_service(mark)
        took = self.wait_sweep(mark, DROPPED_S + 10) + time.monotonic() - start
        self.assertEqual(self.sweeps(mark), 1)
        self.check_served(HOST)
        self.assertLess(took, 2 * (DROPPED_S + 10))

    def test_unknown(self):
        """A change at a free port needs a discovery at once."""
        self.fabric.lose(HOST)
        self.rest()
        mark = self.osm.mark()
        self.fabric.console(f'Link "{HOST}"[1] "{LEAF}"[9]')
        self.addCleanup(lambda: (self.fabric.console(f'Unlink "{HOST}"[1]', f'Link "{HOST}"[1] '
                                                     f'"{LEAF}"[2]'), self.rest()))
        self.osm.wait_log(r"a sweep is requested, as ports are not as they were: leaf1\[9\]",
                          mark.log_offset, 10)
        self.wait_sweep(mark, 10)

    def test_many(self):
        """Reading all ports of many switches costs as much as a discovery."""
        mark = self.osm.mark()
        self.fabric.lose("h*-3")
        self.osm.wait_log("a sweep is requested, as many switches", mark.log_offset, 10)
        self.osm.settle(mark)
        mark = self.osm.mark()
        self.fabric.back("h*-3")
        self.osm.settle(mark)

    def test_cables_fail_in_a_discovery(self):
        """It begins anew: its paths led over them, and OpenSM would drop the switches behind."""
        leaf, _ = next(iter(self.lab.netlist.nodes[self.osm.host or "h0-1"].ports.values()))
        uplinks = [port for port, (peer, _) in sorted(self.lab.netlist.nodes[leaf].ports.items())
                   if peer in self.lab.netlist.switches]
        mark = self.osm.mark()
        self.osm.pace(1000)
        self.addCleanup(self.osm.pace, 0)
        begin = self.osm.counters()["smps"]
        self.osm.hup()
        simlab.poll_until(lambda: self.osm.counters()["smps"] > begin + 200, 30, "a sweep")
        for port in uplinks[:-1]:
            self.fabric.unlink(leaf, port)
        self.osm.wait_log("portmajor repair ", mark.log_offset, 10)
        self.osm.pace(0)
        self.osm.settle(mark)
        for port in uplinks[:-1]:
            peer, far = self.lab.netlist.nodes[leaf].ports[port]
            self.fabric.console(f'Link "{leaf}"[{port}] "{peer}"[{far}]')
        self.rest()
        self.assertNotIn("Removed port with GUID", self.osm.log(mark.log_offset))

    def test_restart_of_a_program(self):
        """Trap 144 is OpenSM's: a sweep at once, as with any engine."""
        mark = self.osm.mark()
        with pmlab.open_sm(self.fabric, engine="minhop", host="h7-1", args=["-p", "0"]) as other:
            simlab.poll_until(lambda: self.sweeps(mark), 30, "a sweep")
            del other


class Wishes(Case):
    """An operator's request comes first."""

    def set_option(self, text, name):
        path = self.osm.path / "opensm.conf" if name == "opensm" else self.lab.path / name
        before = path.read_text(encoding="utf-8")
        path.write_text(before + text, encoding="utf-8")
        self.addCleanup(lambda: (path.write_text(before, encoding="utf-8"), self.rest()))
        self.rest()

    def test_no_throttle(self):
        self.set_option("throttle_sweeps no\n", "portmajor.conf")
        mark = self.osm.mark()
        self.flap(HOST)
        self.wait_sweep(mark, 5)
        self.osm.settle(mark)
        self.assertNotIn(WAITS, self.osm.log(mark.log_offset))


class Groups(Case):
    """The SA's knowledge of a host while a sweep waits."""

    def setUp(self):
        super().setUp()
        self.sm = self.lid(self.osm.host or "h0-1")

    def is_read(self):
        """Whether discovery has read the leaf's port to the host since the last call."""
        guid = self.fabric.guid(LEAF)
        return any(r.event == "answered" and r.guid == guid and r.attr == smps.PORT_INFO
                   and r.modifier == 2 and not r.plugin for r in self.wire.records())

    def test_member_flaps(self):
        """It stays a member, has its paths, and may join and leave."""
        self.assertEqual(clients.join(self.fabric, HOST, self.sm, MGID)[0], 0)
        mark = self.osm.mark()
        self.flap(HOST)
        self.wait_service(mark)
        self.check_served(HOST)
        self.assertEqual(clients.join(self.fabric, HOST, self.sm, MGID + 1)[0], 0)
        self.assertEqual(clients.leave(self.fabric, HOST, self.sm, MGID + 1)[0], 0)
        self.assertEqual(clients.leave(self.fabric, HOST, self.sm, MGID)[0], 0)
        self.assertEqual(self.sweeps(mark), 0)

    def test_flap_inside_a_sweep(self):
        """Discovery sees the link down, and OpenSM does not drop the host."""
        self.assertEqual(clients.join(self.fabric, HOST, self.sm, MGID)[0], 0)
        mark = self.osm.mark()
        self.fabric.lose(HOST)
        self.osm.wait_log(WAITS, mark.log_offset, 10)
        self.osm.pace(3000)
        self.addCleanup(self.osm.pace, 0)
        self.wire.records()
        self.osm.hup()
        simlab.poll_until(self.is_read, 30, "the leaf's port to be read")
        mark = self.osm.mark()
        self.fabric.back(HOST)
        self.wait_service(mark)
        self.assertNotIn("portmajor run", self.osm.log(mark.log_offset))
        self.osm.pace(0)
        self.osm.settle(mark, sweep=False)
        self.assertNotIn("Removed port with GUID", self.osm.log(mark.log_offset))
        self.check_served(HOST)
        self.assertEqual(clients.leave(self.fabric, HOST, self.sm, MGID)[0], 0)


if __name__ == "__main__":
    labtest.main()
