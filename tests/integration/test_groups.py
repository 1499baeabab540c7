#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Multicast by plan: the Sets on the wire, and the switches' tables afterwards.

648 hosts; 5 groups with a member at each leaf and 96 groups of two. After each event MFTs are
read back from the switches and followed from each member, and ibdmchk looks for credit loops
of unicast and multicast together.
"""

import json
import os
import re
import struct
import subprocess
import time

import clients
import ibdmchk
import labtest
import lockwatch
import mgroups
import pmlab
import simlab
import wire

UPDN_SETS = 387  # by OpenSM itself, for any event here


class GroupCase(labtest.LabCase):
    ASKING = "h9-18"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.members = mgroups.Members(cls.lab)

    def measure(self, name, action, sweep=True):
        """MFT Sets on the wire, and the number of the last of them among all SMPs."""
        osm = self.lab.osm
        if not osm.is_settled():
            osm.settle(osm.mark(), sweep=False)
        osm.wait_traps_aged()
        mark = osm.mark()
        action()
        osm.settle(mark, sweep=sweep)
        log = osm.log(mark.log_offset)
        self.assertNotIn("to be tried again", log, name)
        self.assertNotIn("ERR", "".join(line for line in log.splitlines(True)
                                        if "osm_mcast" in line), name)
        return osm.delta(mark).attr(mgroups.ATTR_MFT, "set")

    def check_tables(self):
        self.assertEqual(self.members.faults(self.ASKING)[:5], [])

    def check_judged(self):
        """ibdmchk's view is of the last sweep, and of the groups then."""
        text = ibdmchk.run(self.lab.osm.path)
        self.assertIn(ibdmchk.CLEAN, text)
        self.assertEqual([line for line in text.splitlines() if line.startswith("-E-")
                          and "ulticast" in line], [])

    def predicted(self, target, *options):
        done = pmlab.run_cli("whatif", "--json", "--no-loads", "-s", self.lab.osm.host, "--groups",
                             self.members.write(self.folder / "groups"), *options,
                             self.lab.netlist.path, "--fail", target)
        return json.loads(done.stdout)["multicast"]


class Director(GroupCase):
    """The groups to which the numbers belong."""

    GENERATE = ("director", 36)

    LAST_SMP = 900  # of a cable's MFT Sets, with those of LFTs before

    @classmethod
    def options(cls):
        cls.wire = wire.Wire(trace=True)
        cls.watch = lockwatch.Lockwatch(cls.folder)
        return {**super().options(), "wire": cls.wire, "preload": [cls.watch.LIBRARY],
                "env": cls.watch.env}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.members.join_usual(36)
        cls.lab.osm.settle(cls.lab.osm.mark(), sweep=False)

    def test_loads(self):
        """Five trees of groups with members everywhere, each on a plane of its own."""
        most, mean = self.members.loads(self.ASKING)
        self.assertLessEqual(most, 5)
        self.assertGreater(mean, 0)

    def test_nothing_changed(self):
        self.watch.reset()
        self.assertEqual(self.measure("SIGHUP", self.lab.osm.hup), 0)
        # Behind the unicast tables, and behind OpenSM's run.
        self.assertEqual(self.watch.read()["read_subnet"].count, 2)
        self.check_tables()
        self.check_judged()
        self.check_foretold("leaf7", "s3-line1", "s0-fab0")

    def check_foretold(self, *switches):
        """`portmajor table` shows the switches' tables."""
        tables = clients.Multicast(self.lab.fabric, self.ASKING)
        groups = self.members.write(self.folder / "groups")
        for switch in switches:
            done = pmlab.run_cli("table", "--json", "-s", self.lab.osm.host, "-S", switch,
                                 "--groups", groups, self.lab.netlist.path)
            told = {entry["mlid"]: set(entry["before"])
                    for block in json.loads(done.stdout)["multicast"]["blocks"]
                    for entry in block["entries"]}
            self.assertTrue(told)
            self.assertEqual(told, {mlid: ports for (name, mlid), ports in tables.ports.items()
                                    if name == switch and ports})

    def test_a_host_of_no_group(self):
        self.assertEqual(self.measure("lost", lambda: self.lab.fabric.lose("h7-17")), 0)
        self.assertEqual(self.measure("back", lambda: self.lab.fabric.back("h7-17")), 0)
        self.check_tables()

    def lose_member(self, number, host, most):
        """Failed, returned without a group, and a member again."""
        sets = self.predicted(host)["sets"]
        self.assertEqual(self.measure("lost", lambda: self.lab.fabric.lose(host)), sets)
        self.assertLessEqual(sets, most)
        self.members.gone(host)
        self.check_tables()
        self.check_judged()
        self.assertEqual(self.measure("back", lambda: self.lab.fabric.back(host)), 0)
        self.assertEqual(self.measure("joins", lambda: self.members.join(number, host), False),
                         sets)
        self.check_tables()

    def test_member_of_all_leaves(self):
        # The block of its own port: the tree keeps the leaf, although it has no member.
        self.lose_member(2, "h11-4", 1)

    def test_member_of_two(self):
        self.lose_member(5 + 20, "h20-8", 10)

    def lose(self, target, most):
        predicted = self.predicted(target)
        self.wire.records()
        sets = self.measure("lost", lambda: self.lab.fabric.lose(target))
        self.last_smp = self.number_of_last()
        self.assertEqual(sets, predicted["sets"], target)
        self.assertLessEqual(sets, most * UPDN_SETS, target)
        self.check_tables()
        self.check_judged()
        came = self.measure("back", lambda: self.lab.fabric.back(target))
        self.assertLessEqual(came, most * UPDN_SETS, target)
        self.check_tables()

    def number_of_last(self):
        """Among all SMPs since the trace was read, of the last MFT Set; 0 without one."""
        asked = [r for r in self.wire.records() if r.event == "asked"]
        return max((number for number, r in enumerate(asked, 1)
                    if (r.attr, r.method) == (mgroups.ATTR_MFT, wire.SET)), default=0)

    def test_cable(self):
        cable, _ = self.members.busiest(self.ASKING, "leaf9")
        self.lose(cable, 0.6)
        self.assertGreater(self.last_smp, 0)
        self.assertLessEqual(self.last_smp, self.LAST_SMP)

    def test_chassis(self):
        self.lose("s17-*", 0.6)

    def test_switch(self):
        self.lose("s16-line0", 0.6)


def read_dump(lab):
    """{(switch GUID, MLID): ports} of OpenSM's own records, from its file."""
    found, guid = {}, None
    for line in (lab.osm.path / "opensm.mcfdbs").read_text(encoding="ascii").splitlines():
        switch = re.match(r"Switch 0x(\w+)", line)
        entry = re.match(r"0x(\w+) :((?: 0x\w+ )+)", line)
        guid = switch[1] if switch else guid
        if entry:
            found[guid, int(entry[1], 16)] = {int(port, 16) for port in entry[2].split()}
    return found


def ask_sa(lab, asking):
    """{(switch, MLID): ports} from the SA's answers to a host; of one block and position. Switch by
    switch, as ibsim passes only the first packet of an answer."""
    lids = pmlab.Dump(lab.dump()).lids
    return {(switch, int(entry[1], 16)): {bit for bit in range(16) if int(entry[2], 16) >> bit & 1}
            for switch in lab.netlist.switches
            for entry in re.finditer(r"^\s+0x(\w+)\s+0x(\w+)$", clients.ask(
                lab.fabric, asking, "saquery", "MFTR", str(lids[switch])), re.M)
            if int(entry[2], 16)}


class Life(GroupCase):
    """Groups that begin and end, and members at spines, which no switch reaches downwards."""

    GENERATE = ("--service", "io=2:1", "two-level", 6, 4, 4, 1)
    ASKING = "h5-4"

    def setUp(self):
        super().setUp()
        self.members = mgroups.Members(self.lab)

    def tearDown(self):
        for number, mlid in self.members.mlid.items():
            for host in list(self.members.hosts[mlid]):
                self.members.leave(number, host)
        self.check_tables()
        super().tearDown()

    def check_tables(self):
        self.lab.osm.settle(self.lab.osm.mark(), sweep=False)
        super().check_tables()

    def join(self, number, *hosts):
        for host in hosts:
            self.members.join(number, host)

    def check_records(self):
        """OpenSM's dump and SA's answers agree with the switches."""
        tables = clients.Multicast(self.lab.fabric, self.ASKING)
        names = ibdmchk.Dumps.read(self.lab.osm.path).names
        told = {(names[guid], mlid): ports
                for (guid, mlid), ports in read_dump(self.lab).items()}
        held = {key: ports for key, ports in tables.ports.items() if ports}
        self.assertTrue(held)
        self.assertEqual(told, held)
        self.assertEqual(ask_sa(self.lab, self.ASKING), held)

    def test_joins_and_leaves(self):
        self.join(0, "h0-1", "h3-2", "h5-1")
        self.check_tables()
        self.check_records()
        self.join(0, "h3-3")
        self.members.leave(0, "h5-1")
        self.check_tables()
        self.assertEqual(self.measure("SIGHUP", self.lab.osm.hup), 0)
        self.check_tables()
        self.check_records()

    def test_join_waits_for_its_sets_alone(self):
        """Between the answer to a join and its tree no other SMP is sent, so that a host that
        joined is without its group for these Sets at most."""
        self.join(0, "h0-1", "h3-2")
        self.check_tables()
        osm = self.lab.osm
        mark = osm.mark()
        self.members.join(0, "h5-1")
        osm.settle(mark, sweep=False)
        counters = osm.delta(mark)
        sets = counters.attr(mgroups.ATTR_MFT, "set")
        self.assertEqual(sets, self.predicted("h5-1")["sets"])
        self.assertEqual(counters["requests"] - counters.attr(mgroups.ATTR_MFT, "get"), sets)

    def test_the_next_group_of_an_mlid(self):
        """The one before has ended, which is reported to no engine; OpenSM would send all tables.
        """
        self.join(2, "h2-1", "h4-1")
        self.join(0, "h0-1", "h3-2", "h5-1")
        mlid = self.members.mlid[0]
        self.check_tables()
        self.members.leave(0, "h0-1")
        self.members.leave(0, "h3-2")
        self.check_tables()
        self.assertEqual(self.measure("the last", lambda: self.members.leave(0, "h5-1"), False),
                         0)
        self.check_tables()
        self.join(1, "h1-1", "h3-2", "h4-1")
        self.assertEqual(self.members.mlid[1], mlid)
        self.check_tables()
        self.members.mlid.pop(0)

    def test_spines(self):
        self.join(0, "io-1", "io-2")
        self.check_tables()
        self.assertIn("up and down again 1", self.lab.osm.log())
        self.join(0, "h0-1")
        self.check_tables()

    def users(self):
        """The switches with an entry for group 0, spines first."""
        tables = clients.Multicast(self.lab.fabric, self.ASKING)
        return sorted((name for name in tables.users(self.members.mlid[0])
                       if tables.ports[name, self.members.mlid[0]]),
                      key=lambda name: (not name.startswith("spine"), name))

    def reboot(self, name):
        """It returns with an empty MFT, which ibsim itself does not do."""
        lid = pmlab.Dump(self.lab.dump()).lids[name]

        def rebooted():
            clients.write_mft(self.lab.fabric, self.ASKING, lid, {(0, 0): {}})
            self.lab.fabric.console(f'Clear "{name}"', f'ReLink "{name}"')

        mark = self.lab.osm.mark()
        sets = self.measure("rebooted", rebooted)
        self.assertGreaterEqual(sets, 1)
        log = self.lab.osm.log(mark.log_offset)
        sent = list(re.finditer(r"portmajor multicast: .*; MFT blocks sent [1-9]", log))
        self.assertLess(sent[-1].end(), log.rindex("-> SUBNET UP"))

    def test_rebooted(self):
        self.join(0, "h1-1", "h3-2", "h5-1")
        self.check_tables()
        users = self.users()
        self.assertTrue(users[0].startswith("spine"))
        for name in (users[0], users[-1]):
            with self.subTest(name):
                self.reboot(name)
                self.check_tables()


class Faults(GroupCase):
    """Sets or answers that are lost, on a wire with time-outs."""

    GENERATE = ("two-level", 6, 4, 4, 1)
    ASKING = "h5-4"
    TRANSMISSIONS = 4  # of a Set without an answer
    ABOVE_S = 12  # after that time blocks above the groups' have been read

    @classmethod
    def options(cls):
        cls.wire = wire.Wire(trace=True)
        return {**super().options(), "wire": cls.wire}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for number in range(4):
            for leaf in range(5):
                cls.members.join(number, f"h{leaf}-{1 + number % 3}")
        cls.lab.osm.settle(cls.lab.osm.mark(), sweep=False)
        cls.up = time.monotonic()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.wire.clear)

    def test_fresh(self):
        """Tables of switches that nobody has set since their boot are known to be empty: not one
        block is read, neither for the groups nor above, ten seconds after a sweep."""
        osm = self.lab.osm
        mark = osm.mark()
        for leaf in range(5):
            self.members.join(5, f"h{leaf}-1")
        osm.settle(mark, sweep=False)
        simlab.poll_until(lambda: time.monotonic() > self.up + self.ABOVE_S, 60, "that time")
        self.assertEqual(osm.counters().attr(mgroups.ATTR_MFT, "get"), 0)

    def lose_uplink(self, **rule):
        """An uplink of leaf3 fails while SMPs are lost, and returns; followed Set by Set."""
        tables = clients.Multicast(self.lab.fabric, self.ASKING)
        link, _ = self.members.busiest(self.ASKING, "leaf3")
        self.wire.records()
        osm = self.lab.osm
        mark = osm.mark()
        dropped = self.wire.drop(node="leaf3", method="set", attr=mgroups.ATTR_MFT, **rule)
        self.lab.fabric.lose(link)
        osm.settle(mark, timeout=120)
        self.assertIn("to be tried again: a block not answered", osm.log(mark.log_offset))
        self.wire.clear()
        self.assertEqual(self.members.faults(self.ASKING)[:5], [])
        now = clients.read_ports(self.lab.fabric)
        self.lab.fabric.back(link)
        osm.settle(osm.mark(), sweep=False)
        self.assertEqual(self.members.faults(self.ASKING)[:5], [])
        tables.cables = now
        sets, faults = self.members.follow_sets(tables, self.wire)
        self.assertGreater(sets, 0)
        self.assertEqual(faults[:5], [])
        return dropped, osm.delta(mark).attr(mgroups.ATTR_MFT, "get")

    def test_lost_set(self):
        dropped, read = self.lose_uplink(way="request", times=self.TRANSMISSIONS)
        self.assertEqual((dropped.acted, read), (self.TRANSMISSIONS, 1))

    def test_lost_answer(self):
        """The switch has the new block, which is read back: it is not sent once more."""
        dropped, read = self.lose_uplink(way="answer", times=self.TRANSMISSIONS)
        self.assertEqual((dropped.acted, read), (self.TRANSMISSIONS, 1))


class Tops(GroupCase):
    """Switches with MulticastFDBTop, which ibsim's do not have: packets of MLIDs above it are
    dropped. Another subnet manager has left a top that passes none."""

    GENERATE = ("two-level", 6, 4, 4, 1)
    ASKING = "h5-4"
    NONE, ALL = 0xBFFF, 0
    FIRST = NONE
    CONF = {}
    AT, CAPABILITY_AT, CAPABLE = 18, 20, b"\x40"  # in SwitchInfo; of PortInfo
    ATTR_PORT_INFO = 0x15

    @classmethod
    def options(cls):
        cls.wire = wire.Wire(trace=True)
        cls.wire.alter("answer", cls.CAPABILITY_AT, cls.CAPABLE, cls.CAPABLE,
                       attr=cls.ATTR_PORT_INFO, modifier=0)
        cls.wire.keep(cls.AT, struct.pack(">H", cls.FIRST), attr=simlab.ATTR_SWITCH_INFO)
        cls.tops = {}
        return {**super().options(), "wire": cls.wire, "conf": cls.CONF}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for leaf in range(5):
            cls.members.join(0, f"h{leaf}-1")
        cls.lab.osm.settle(cls.lab.osm.mark(), sweep=False)

    def set_tops(self):
        """Tops that were set at switches since the last call, without repeated values."""
        changes = []
        for record in self.wire.records():
            if (record.attr, record.event) != (simlab.ATTR_SWITCH_INFO, "answered"):
                continue
            top = struct.unpack_from(">H", bytes(record.data), self.AT)[0]
            if record.method == wire.SET and self.tops.get(record.guid) != top:
                changes.append(top)
            self.tops[record.guid] = top
        return changes

    def check_tops(self):
        """Packets of all groups pass at each switch."""
        self.assertEqual(len(self.tops), self.switches)
        self.assertGreaterEqual(min(self.tops.values()), max(self.members.hosts))
        self.check_tables()

    def test_raised(self):
        changes = self.set_tops()
        self.check_tops()
        self.assertEqual(set(changes[-self.switches:]), {0xC01F})
        for number in range(1, 40):
            self.members.join(number, f"h{number % 5}-2")
            self.members.join(number, f"h{(number + 1) % 5}-3")
        self.lab.osm.settle(self.lab.osm.mark(), sweep=False)
        self.assertGreaterEqual(max(self.members.hosts), 0xC020)
        self.assertEqual(self.set_tops(), self.switches * [0xC03F])
        self.check_tops()

    def test_stays(self):
        """OpenSM, which is shown no table while it sends, sets no top that passes no MLID."""
        self.set_tops()
        link, _ = self.members.busiest(self.ASKING, "leaf3")
        for name, action in (("SIGHUP", self.lab.osm.hup),
                             ("lost", lambda: self.lab.fabric.lose(link)),
                             ("back", lambda: self.lab.fabric.back(link))):
            with self.subTest(name):
                self.measure(name, action)
                self.assertEqual(self.set_tops(), [])
                self.check_tops()


class TopsLeftAlone(Tops):
    """The operator has use_mfttop off, and switches pass all MLIDs for which they have room."""

    FIRST = Tops.ALL
    CONF = {"use_mfttop": "FALSE"}

    def check_tops(self):
        self.assertEqual(set(self.tops.values()), {self.ALL})
        self.check_tables()

    def test_raised(self):
        self.assertEqual(self.set_tops(), [])
        self.check_tops()


class Partitions(GroupCase):
    """Groups of partitions, and groups that share an MLID: trees depend on MLIDs and members."""

    GENERATE = ("two-level", 6, 4, 4, 1)
    ASKING = "h5-4"
    SOLICITED = 0xFF12601BFFFF000000000001FF000000

    @classmethod
    def options(cls):
        with pmlab.Fabric(cls.netlist) as fabric:
            ports = clients.read_ports(fabric)
        config = cls.folder / "partitions.conf"
        config.write_text("Default=0x7fff,ipoib : ALL=full, SELF=full;\n" + "".join(
            f"{name},ipoib : " + ", ".join(f"{ports[host, 1].guid:#x}=full" for host in hosts)
            + ";\n" for name, hosts in (("blue=0x8001", ("h0-1", "h1-1", "h2-1", "h3-1")),
                                        ("red=0x8002", ("h1-1", "h3-1", "h4-1")))))
        return {"args": [*super().options()["args"], "-P", str(config)],
                "conf": {"consolidate_ipv6_snm_req": "TRUE"}}

    def test_partitions(self):
        blue, red = (((pkey - 0xFFFF) << 80, pkey) for pkey in (0x8001, 0x8002))  # in the MGID
        for group, hosts in (blue, ("h0-1", "h1-1", "h2-1")), (red, ("h1-1", "h4-1")):
            for host in hosts:
                self.members.join(group[0], host, group[1])
        self.assertNotEqual(self.members.mlid[blue[0]], self.members.mlid[red[0]])
        self.lab.osm.settle(self.lab.osm.mark(), sweep=False)
        self.check_tables()
        with self.assertRaises(simlab.SimError):
            self.members.join(red[0], "h2-1", red[1])
        self.members.join(red[0], "h3-1", red[1])
        self.lab.osm.settle(self.lab.osm.mark(), sweep=False)
        self.check_tables()

    def test_shared_mlid(self):
        """Solicited-node groups that OpenSM consolidates; one of them ends."""
        numbers = [self.SOLICITED + node - mgroups.FIRST_GID for node in (1, 2)]
        for number, hosts in zip(numbers, (("h0-2", "h3-2"), ("h3-3", "h5-2"))):
            for host in hosts:
                self.members.join(number, host)
        self.assertEqual(*(self.members.mlid[number] for number in numbers))
        self.lab.osm.settle(self.lab.osm.mark(), sweep=False)
        self.check_tables()
        for host in ("h3-3", "h5-2"):
            self.members.leave(numbers[1], host)
        self.lab.osm.settle(self.lab.osm.mark(), sweep=False)
        self.check_tables()


class Transitions(GroupCase):
    """After every single Set packets of each group are followed: none loops or comes twice,
    whichever of the outstanding ones has not arrived yet."""

    GENERATE = ("two-level", 8, 4, 4, 1)
    ASKING = "h7-4"

    @classmethod
    def options(cls):
        cls.wire = wire.Wire(trace=True)
        return {**super().options(), "wire": cls.wire}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for number in range(6):
            for leaf in range(number % 3, 8, 1 + number // 2):
                cls.members.join(number, f"h{leaf}-{1 + number % 3}")
        cls.lab.osm.settle(cls.lab.osm.mark(), sweep=False)

    def replay(self, action, least, sweep=True):
        """Runs an action, and replays its MFT Sets over the cables that are up then."""
        tables = clients.Multicast(self.lab.fabric, self.ASKING)
        self.wire.records()
        self.measure("replayed", action, sweep)
        tables.cables = clients.read_ports(self.lab.fabric)
        sets, faults = self.members.follow_sets(tables, self.wire)
        self.assertEqual(faults[:5], [])
        self.assertGreaterEqual(sets, least)
        self.check_tables()

    def lose_and_back(self, target):
        self.replay(lambda: self.lab.fabric.lose(target), 1)
        self.replay(lambda: self.lab.fabric.back(target), 1)

    def test_cables(self):
        """Some uplink of the first leaf carries the groups."""
        tables = clients.Multicast(self.lab.fabric, self.ASKING)
        leaf = tables.cables["h0-1", 1].peer
        used = {port for (switch, _), ports in tables.ports.items() if switch == leaf
                for port in ports if tables.cables[leaf, port].peer not in tables.hosts}
        self.assertTrue(used)
        for port in sorted(used):
            self.lose_and_back(f"{leaf}:{port}")

    def test_drain(self):
        """Trees leave drained links, which carry no packets then."""
        tables = clients.Multicast(self.lab.fabric, self.ASKING)
        spine = min(tables.users(next(iter(self.members.hosts))) - {
            tables.cables[host, 1].peer for host in tables.hosts})
        env = dict(os.environ, OSM_CACHE_DIR=str(self.lab.osm.cache_dir))

        def drain(verb):
            subprocess.run([str(pmlab.CLI), verb, "--wait", "60", spine], env=env, check=True,
                           stdout=subprocess.DEVNULL, timeout=pmlab.TIMEOUT_S)

        self.replay(lambda: drain("drain"), 1, False)
        now = clients.Multicast(self.lab.fabric, self.ASKING)
        self.assertEqual({mlid for mlid in self.members.hosts if spine in now.users(mlid)},
                         set())
        self.replay(lambda: drain("undrain"), 1, False)


if __name__ == "__main__":
    labtest.main()
