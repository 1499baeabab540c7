#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""OpenSM's functions beside routing work with this engine as with its own."""

import ipaddress
import itertools
import re
import unittest

import clients
import labtest
import pmlab
import sa_client
import simlab
import smps

SMALL = ("two-level", 6, 3, 6, 2)

IPOIB_BROADCAST = 0xFF12401BFFFF000000000000FFFFFFFF
OTHER_GROUP = 0xFF15A01BFE8000000000000000000007


class FeatureCase(labtest.LabCase):
    """A LabCase with short names for what these tests use most."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fabric = cls.lab.fabric
        cls.lids = cls.healthy.lids
        cls.manager_lid = cls.lids[cls.lab.osm.host]

    def settled(self, action):
        """OpenSM's SMPs after an event that needs no sweep."""
        osm = self.lab.osm
        mark = osm.mark()
        action()
        osm.settle(mark, sweep=False)
        return osm.delta(mark), pmlab.Run.find(osm.log(mark.log_offset))

    def hup(self):
        event = self.lab.measure("SIGHUP", self.lab.osm.hup)
        self.check_costs(event)
        self.assertEqual(event.wire, 0)
        return event


# --------------------------------------------------------------------- multicast

class MulticastGroups(FeatureCase):
    ASKING = "h9-1"
    # The groups from the start, and one more that two of these join.
    MEMBERS = {IPOIB_BROADCAST: ("h0-1", "h0-3", "h9-1", "h20-1", "h21-4"),
               OTHER_GROUP: ("h2-2", "h9-1", "h18-4", "h19-1")}

    def setUp(self):
        super().setUp()
        self.members, self.mlids = {mgid: [] for mgid in self.MEMBERS}, {}
        self.join(*((mgid, host) for mgid, hosts in self.MEMBERS.items() for host in hosts))

    def join(self, *joins):
        def all_join():
            for mgid, host in joins:
                status, mlid = clients.join(self.fabric, host, self.manager_lid, mgid)
                self.assertEqual(status, 0, f"{host} joins")
                self.assertEqual(self.mlids.setdefault(mgid, mlid), mlid, "MLID")
                self.members[mgid].append(host)
                self.addCleanup(clients.leave, self.fabric, host, self.manager_lid, mgid)

        self.check_no_routing(all_join)

    def leave(self, *leaves):
        def all_leave():
            for mgid, host in leaves:
                status, _ = clients.leave(self.fabric, host, self.manager_lid, mgid)
                self.assertEqual(status, 0, f"{host} leaves")
                self.members[mgid].remove(host)

        self.check_no_routing(all_leave)

    def check_no_routing(self, action):
        sent, runs = self.settled(action)
        self.assertEqual((sent["lft_sets"], runs), (0, []))

    def tables(self):
        return clients.Multicast(self.fabric, self.ASKING)

    def check_groups(self):
        tables = self.tables()
        self.assertEqual(len(set(self.mlids.values())), len(self.members))
        for mgid, hosts in self.members.items():
            self.assertEqual(tables.faults(self.mlids[mgid], hosts), [], f"{mgid:x}")
        return tables

    def chassis_used(self, tables, mgid):
        """A chassis of this group's tree."""
        switches = tables.users(self.mlids[mgid])
        return min(name for name in switches if name.endswith("-fab0")).partition("-")[0]

    def test_joins_and_leaves(self):
        tables = self.check_groups()
        self.leave((OTHER_GROUP, "h9-1"), (IPOIB_BROADCAST, "h0-1"))
        self.check_groups()
        self.join((OTHER_GROUP, "h21-1"))
        self.check_groups()
        self.leave(*((OTHER_GROUP, host) for host in self.members[OTHER_GROUP]))
        self.assertEqual(self.tables().users(self.mlids[OTHER_GROUP]), set())
        self.assertEqual(tables.switches, set(self.lab.netlist.switches))
        self.check_healthy()

    def test_chassis_lost(self):
        chassis = self.chassis_used(self.check_groups(), IPOIB_BROADCAST)
        self.lose(f"{chassis}-*")
        tables = self.check_groups()
        self.assertNotEqual(self.chassis_used(tables, IPOIB_BROADCAST), chassis)
        self.join((OTHER_GROUP, "h20-3"))
        self.check_groups()
        self.back(f"{chassis}-*")
        self.check_groups()
        self.hup()
        self.check_groups()
        self.check_healthy()

    def test_member_lost_and_back(self):
        """A failed host is no member any more; after its return, it joins again."""
        self.lose("h20-1")
        self.members[IPOIB_BROADCAST].remove("h20-1")
        self.check_groups()
        self.back("h20-1")
        self.join((IPOIB_BROADCAST, "h20-1"))
        self.check_groups()


# ------------------------------------------------------------ subnet administration

class PathRecords:
    """Paths from the SA; a class for each LMC below."""

    LMC = 0
    HOSTS = ("h0-1", "h0-2", "h9-1", "h21-4")

    @property
    def lids_of(self):
        return {host: range(self.lids[host], self.lids[host] + (1 << self.LMC))
                for host in self.HOSTS}

    def check_path(self, guids, src, dst, slid, dlid):
        records = clients.saquery(self.fabric, src, "PR", "--slid", slid, "--dlid", dlid)
        self.assertEqual([(int(r["slid"]), int(r["dlid"])) for r in records], [(slid, dlid)])
        gids = [int(ipaddress.IPv6Address(records[0][gid])) for gid in ("sgid", "dgid")]
        self.assertEqual(gids, [sa_client.SUBNET_PREFIX << 64 | guids[host, 1].guid
                                for host in (src, dst)])

    def test_every_pair(self):
        """A record for each pair of LIDs, and packets to each LID arrive."""
        guids = clients.read_ports(self.fabric)
        for src, dst in itertools.permutations(self.HOSTS, 2):
            for slid, dlid in itertools.product(self.lids_of[src], self.lids_of[dst]):
                self.check_path(guids, src, dst, slid, dlid)
            for dlid in self.lids_of[dst]:
                answer = clients.ask(self.fabric, src, "smpquery", "nodedesc", dlid)
                self.assertRegex(answer, rf"\.{dst}$")


class WithOneLid(PathRecords, FeatureCase):
    """And, since this fabric is up: inventories and the console."""

    @classmethod
    def options(cls):
        cls.console_port = clients.free_tcp_port()
        return {"args": ["-q", "loopback", "-C", str(cls.console_port)]}

    def test_osmtest(self):
        for flow, name in (("c", "Create Inventory"), ("q", "QoS: VLArb and SLtoVL")):
            said = clients.ask(self.fabric, "h9-1", "osmtest", "-f", flow, cwd=self.folder)
            self.assertIn(f'TEST "{name}" PASS', said)
        inventory = (self.folder / "osmtest.dat").read_text()
        nodes = re.findall(r"^DEFINE_NODE\nlid +(\S+)(?:\n.*?)*?\n# node_desc +(\S+)\nEND",
                           inventory, re.M)
        self.assertTrue(nodes)
        self.assertEqual(nodes, [(f"{self.lids[name]:#x}".upper().replace("X", "x"), name)
                                 for _, name in nodes])

    def reroute(self):
        def command():
            with clients.Console(self.console_port) as console:
                mark = self.lab.osm.log_offset()
                console.run("reroute")
                self.lab.osm.wait_log("portmajor run", mark)

        sent, runs = self.settled(command)
        self.assertEqual([run.change for run in runs], ["no change"])
        self.assertEqual((runs[0].sent, sent["lft_sets"]), (0, 0))

    def test_sighup_and_reroute(self):
        # Switches are new to OpenSM until the next discovery, and a reroute is none.
        self.hup()
        self.reroute()
        self.lose("s0-*")
        self.reroute()
        self.check_walk()
        self.back("s0-*")
        self.check_healthy()

    def test_console_names_the_engine(self):
        with clients.Console(self.console_port) as console:
            self.assertRegex(console.run("status"), r"Routing Engine +: portmajor\n")


class WithTwoLids(PathRecords, FeatureCase):
    LMC = 1
    WALK = ("-m", "1")

    @classmethod
    def options(cls):
        return {"args": ["-l", "1"]}


# ------------------------------------------------------- partitions, QoS, PerfMgr

class SmallCase(FeatureCase):
    """Failures cost as predicted; a class for each feature below."""

    GENERATE = SMALL

    def check_events(self):
        self.check_costs(self.start)
        self.lose_and_back("h2-1", blocks=0)
        self.lose_and_back("spine1", new_switches=1)


class Partitions(SmallCase):
    DEFAULT = "Default=0x7fff,ipoib : ALL=full, SELF=full;\n"

    @classmethod
    def options(cls):
        with pmlab.Fabric(cls.netlist) as fabric:
            cls.guids = {node: port.guid for (node, number), port
                         in clients.read_ports(fabric).items() if number == 1}
        cls.config = cls.folder / "partitions.conf"
        cls.write({"blue=0x8001,ipoib": {"h1-1": "full", "h2-1": "full", "h3-1": "limited"},
                   "red=0x8002": {"h3-1": "full"}})
        return {"args": ["-P", str(cls.config)]}

    @classmethod
    def write(cls, partitions):
        lines = [f"{name} : " + ", ".join(f"{cls.guids[host]:#x}={kind}"
                                          for host, kind in members.items()) + ";\n"
                 for name, members in partitions.items()]
        cls.config.write_text(cls.DEFAULT + "".join(lines))

    def pkeys(self, node, port=1):
        """Of a port, as the port has them; for a host's, as the SA has them."""
        lid = self.lids[node]
        rows = clients.ask(self.fabric, "h5-5", "smpquery", "pkeys", lid, port)
        keys = {int(key, 16) for key in re.findall(r" (0x[0-9a-f]{4})\b", rows)} - {0}
        if port == 1 and node.startswith("h"):
            text = clients.ask(self.fabric, "h5-5", "saquery", "--smkey", "1", "PKTR", lid)
            self.assertEqual({int(key, 16) for key in
                              re.findall(r"(0x[0-9a-f]{4})\b", text)} - {0}, keys)
        return keys

    def check_keys(self, **wanted):
        for host in ("h0-1", "h1-1", "h1-2", "h2-1", "h3-1", "h4-1", "h4-4", "h5-6"):
            own = {0xFFFF, *wanted.get(host.replace("-", "_"), ())}
            peer, port = self.lab.netlist.nodes[host].ports[1]
            self.assertEqual(self.pkeys(host), own, host)
            self.assertEqual(self.pkeys(peer, port), own, f"{peer}[{port}]")

    def path_key(self, src, dst):
        """The P_Key of a path between them, or None if they may not communicate."""
        found = clients.run(self.fabric, src, "saquery", "PR", "--slid", self.lids[src],
                            "--dlid", self.lids[dst], "--pkey", "0x8001").stdout
        key = re.search(r"pkey\.+(\S+)", found)
        return int(key[1], 16) if key else None

    def test_keys(self):
        self.check_keys(h1_1={0x8001}, h2_1={0x8001}, h3_1={0x0001, 0x8002})
        self.assertEqual(self.path_key("h1-1", "h2-1"), 0x8001)
        self.assertIsNone(self.path_key("h1-1", "h4-1"))
        self.check_events()
        self.check_keys(h1_1={0x8001}, h2_1={0x8001}, h3_1={0x0001, 0x8002})

    def test_changed_while_running(self):
        before = self.config.read_text()
        self.write({"green=0x8003": {"h1-1": "full", "h4-4": "full"}})
        self.hup()
        self.check_keys(h1_1={0x8003}, h4_4={0x8003})
        self.config.write_text(before)
        self.hup()
        self.check_keys(h1_1={0x8001}, h2_1={0x8001}, h3_1={0x0001, 0x8002})


class QualityOfService(SmallCase):
    SL2VL = (0, 1, 2, 3, 0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3)

    @classmethod
    def options(cls):
        return {"args": ["-Q"],
                "conf": {"qos_max_vls": 4, "qos_sl2vl": ",".join(map(str, cls.SL2VL)),
                         "qos_vlarb_low": "0:1,1:2,2:3,3:4", "qos_vlarb_high": "0:8"}}

    def check_tables(self, node, port):
        lid = self.lids[node]
        vls = clients.ask(self.fabric, "h5-5", "smpquery", "sl2vl", lid, port)
        rows = [tuple(map(int, re.findall(r"\|\s*(\d+)", line)))
                for line in vls.splitlines() if line.startswith("ports:")]
        self.assertEqual(set(rows), {self.SL2VL}, f"{node}[{port}]")
        weights = re.findall(r"^WEIGHT: \|(.*)\|$", clients.ask(
            self.fabric, "h5-5", "smpquery", "vlarb", lid, port), re.M)
        low, high = ([int(w, 16) for w in row.split("|")][:5] for row in weights)
        self.assertEqual((low, high), ([1, 2, 3, 4, 0], [8, 0, 0, 0, 0]), f"{node}[{port}]")

    def check_all(self):
        for node, port in (("h1-1", 1), ("h5-6", 1), ("leaf0", 1), ("leaf3", 7), ("spine1", 4)):
            self.check_tables(node, port)

    def test_tables(self):
        sent = self.lab.osm.delta(self.lab.osm.start_mark)
        self.assertGreater(sent.attr(smps.SL2VL, "set"), 0)
        self.assertGreater(sent.attr(smps.VL_ARBITRATION, "set"), 0)
        self.check_all()
        self.check_events()
        self.check_all()


class PerformanceManager(SmallCase):
    @classmethod
    def options(cls):
        cls.console_port = clients.free_tcp_port()
        return {"args": ["-q", "loopback", "-C", str(cls.console_port)],
                "conf": {"perfmgr": "TRUE", "perfmgr_sweep_time_s": 1}}

    def wait_sweeps(self, sweeps):
        """Waits until the counters of every port have been read that many times."""
        start = self.lab.osm.counters()["gmps"]
        asked = sweeps * sum(len(node.ports) for node in self.lab.netlist.nodes.values())
        simlab.poll_until(lambda: self.lab.osm.counters()["gmps"] - start >= asked, 60,
                          f"{sweeps} sweeps of PerfMgr")

    def all_counted(self, console):
        """Whether PerfMgr has counters of every port of the nodes that it counts as present.

        A returned node counts as present from PerfMgr's next sweep on.
        """
        console.run("perfmgr dump_counters mach")
        # Each port has a line: node, GUID, present or not, port.
        counted = {(name, int(port)) for name, port in re.findall(
            r"^(\S+)\t0x\w+\tTRUE\t(\d+)\t",
            (self.lab.osm.path / "opensm_port_counters.log").read_text(), re.M)}
        return all((node.name, port) in counted
                   for node in self.lab.netlist.nodes.values() for port in node.ports)

    def test_sweeps(self):
        self.wait_sweeps(3)
        self.assertNotRegex(self.lab.osm.log(), r"(?i)perfmgr.*ERR ")
        self.check_events()
        self.wait_sweeps(2)
        with clients.Console(self.console_port) as console:
            self.assertRegex(console.run("perfmgr"), r"state +: Enabled\n")
            simlab.poll_until(lambda: self.all_counted(console), 60, "counters of every port")


# ------------------------------------------------------------------ unicast cache

class UnicastCache(FeatureCase):
    """With OpenSM's unicast cache (-A) requested, tables and costs are as without.

    The cache would not call the engine when hosts or leaves fail and return.
    """

    @classmethod
    def options(cls):
        return {"args": ["-A"]}

    def test_refused_with_a_reason(self):
        self.hup()
        self.assertRegex(self.lab.osm.log(), r"portmajor: .*unicast cache.*: \w+")
        self.assertNotIn("using cached routing", self.lab.osm.log())

    def test_host(self):
        self.lose_and_back("h7-3", blocks=0)

    def test_leaf(self):
        self.lose_and_back("leaf9", blocks=0, new_switches=1)

    def test_cable(self):
        self.lose_and_back("leaf5:20")

    def test_chassis(self):
        self.lose_and_back("s0-*", blocks=16, new_switches=3)

    def entry(self, switch, lid):
        dump = pmlab.Dump(self.lab.dump())
        first = max(first for first in dump.tables[switch] if first <= lid)
        return dump.entries(switch, first)[lid]

    def test_leaf_on_a_detour(self):
        """A leaf through which a chassis reaches the manager fails: another one serves."""
        self.down.append("leaf0:20")
        self.lab.lose("leaf0:20")
        leaf, _ = self.lab.netlist.nodes["s1-line0"].ports[
            self.entry("s1-line0", self.manager_lid)]
        self.assertRegex(leaf, r"^leaf[1-9]")
        self.down.append(leaf)
        self.check_costs(self.lab.lose(leaf))
        self.check_walk()
        # The chassis's traps arrive.
        self.down.append("s1-line1:21")
        event = self.lab.lose("s1-line1:21")
        self.assertEqual(event.measured["traps"], 2)
        self.check_walk()
        for target in reversed(list(self.down)):
            self.back(target)
        self.check_healthy()


if __name__ == "__main__":
    unittest.main()
