#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fabric over years: it grows, parts are replaced and moved, LIDs drift to the plan.

After each event LIDs are compared place by place: a place is a switch, or the port of a switch
behind which a host is. Re-cabling is real: ibsim's Link joins any two free ports, and the netlists
have spare hosts and switches without cables.
"""

import collections
import json
import re

import labtest
import pmlab
import simlab

BLOCK = 64
Run = collections.namedtuple("Run", "start end spare")  # of LIDs, end inclusive


class Place(collections.namedtuple("Place", "name guid lid lmc active")):
    """The port at a place, with its GUID."""

    @property
    def last_lid(self):
        return self.lid + (1 << self.lmc) - 1


class State:
    """ibsim's Dump, by place.

    places   {(switch, port): Place}, port 0 for the switch itself; nodes without a cable are left
    out
    """

    _NODE = re.compile(r'^(\S+) (\d+) "([^"]+)"\tnodeguid (\w+)')
    _PORT = re.compile(r'^\w+\t\[(\d+)\]\t(?:"([^"]+)"\[(\d+)\])?.* (\w+)/\w+$')
    _LID = re.compile(r" lid (\d+) lmc (\d+) ")

    def __init__(self, path):
        self.dump = pmlab.Dump(path)  # for tables
        self._text = []  # per node
        self._nodes = []  # (kind, number of ports, name, GUID, {port: (peer, port)})
        own = {}  # (name, port) -> LID, LMC, active
        for line in path.read_text().splitlines():
            node, port = self._NODE.match(line), self._PORT.match(line)
            if node:
                self._nodes.append((node[1], node[2], node[3], int(node[4], 16), {}))
                self._text.append([])
            if self._text and not line.startswith("#  dumped"):
                self._text[-1].append(line)
            if port:
                lid, number = self._LID.search(line), int(port[1])
                if lid:
                    own[self._nodes[-1][2], number] = (int(lid[1]), int(lid[2]),
                                                       port[4] == "Active")
                if port[2] and number:
                    self._nodes[-1][4][number] = (port[2], int(port[3]))
        self.places = {}
        for kind, _, name, guid, links in self._nodes:
            if links and kind == "Switch":
                self.places[name, 0] = Place(name, guid, *own[name, 0])
            elif kind != "Switch":
                for port, peer in links.items():  # ibsim makes a port's GUID of the node's
                    self.places[peer] = Place(name, guid + port, *own[name, port])

    @property
    def lids(self):
        return {where: place.lid for where, place in self.places.items()}

    def write(self, path):
        """Writes the dump again without nodes that have no cable."""
        text = ["\n".join(lines) for node, lines in zip(self._nodes, self._text) if node[4]]
        path.write_text("\n".join([*text, f"#  dumped {len(text)} nodes\n"]), encoding="ascii")
        return path

    def netlist(self, path):
        """Writes the fabric as it is cabled now, with its GUIDs."""
        records = []
        for kind, ports, name, guid, links in self._nodes:
            if links:
                key = "switchguid" if kind == "Switch" else "caguid"
                records.append("\n".join([f"{key}={guid:#x}", f'{kind}\t{ports} "{name}"']
                                         + [f'[{port}]\t"{peer}"[{far}]'
                                            for port, (peer, far) in links.items()]))
        path.write_text("\n\n".join(records) + "\n\n", encoding="ascii")
        return path


def planned_runs(netlist, *options):
    """The runs of LIDs of a plan made for a netlist, as the command prints them."""
    text = pmlab.run_cli("plan", *options, netlist).stdout
    return [Run(*map(int, run)) for run in
            re.findall(r"^plane .* LIDs (\d+)-(\d+) spare (\d+)$", text, re.M)]


def planned_lids(netlist, *options):
    """{place: LID} of a plan made for a netlist, empty slots included."""
    text = pmlab.run_cli("plan", "-l", *options, netlist).stdout
    lids = {}
    for lid, name, port in re.findall(r'^lid (\d+) .* "([^"]+)"(?:\[(\d+)\])?(?: empty)?$',
                                      text, re.M):
        lids.setdefault((name, int(port or 0)), int(lid))
    return lids


class OverTime(labtest.Folders):
    """Labs on one small tree with spare parts, and the checks after each event."""

    GENERATE = ("two-level", 6, 4, 4, 1)
    LMC = 0
    SPARE = ('Ca\t1 "new-host"', 'Switch\t8 "new-leaf"', 'Switch\t6 "new-spine"')

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        plain = pmlab.generate(cls.folder / "plain.net", *cls.GENERATE)
        path = cls.folder / "fabric.net"
        path.write_text(plain.read_text() + "".join(f"{part}\n\n" for part in cls.SPARE))
        cls.netlist = simlab.Netlist(path)
        cls.plain = simlab.Netlist(plain)

    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()

    def fabric(self, *missing):
        """The fabric without some parts, which are new to OpenSM when they come."""
        fabric = self.enterContext(pmlab.Fabric(self.netlist))
        for target in missing:
            fabric.lose(target)
        return fabric

    def run_another(self, fabric, engine="minhop"):
        """The state that OpenSM leaves behind with another engine."""
        with simlab.OpenSM(fabric, engine=engine, cache_dir=self.cache) as osm:
            osm.settle()
        return State(self.dump(fabric))

    def dump(self, fabric):
        path = self.folder / "fabric.dump"
        fabric.dump(path)
        return path

    def lab(self, fabric, *args, **kwargs):
        if self.LMC:
            args += ("-l", str(self.LMC))
        return pmlab.Lab(self.plain, fabric=fabric, cache_dir=self.cache, args=args, **kwargs)

    def migrating(self, fabric, *args):
        config = self.folder / "migrate.conf"
        config.write_text("migrate yes\nflap_limit 0\n")
        # The manager's own leaf is rebooted, too, which is an error until the next sweep.
        return self.lab(fabric, *args, conf={"event_plugin_options": config}, sweep_interval=10)

    @staticmethod
    def state(lab):
        return State(lab.dump())

    # ---- cables

    @staticmethod
    def plug(node, port, peer, peer_port):
        return f'Link "{node}"[{port}] "{peer}"[{peer_port}]'

    def cables_of(self, name, instead):
        """Commands that put another switch in a switch's place, with its cables."""
        return [self.plug(instead, port, *peer)
                for port, peer in self.netlist.nodes[name].ports.items()]

    def swap(self, first, second, out="Unlink"):
        """Commands that let two hosts exchange places."""
        at = {name: self.netlist.nodes[name].ports[1] for name in (first, second)}
        return [f'{out} "{first}"', f'{out} "{second}"',
                self.plug(first, 1, *at[second]), self.plug(second, 1, *at[first])]

    def change(self, lab, name, *commands):
        return lab.measure(name, lambda: lab.fabric.console(*commands))

    # ---- judging

    def check_event(self, lab, event, before=None, lids_changed=0):
        """Counts agree, paths are whole, and no place in `before` has another LID.

        Returns the State after the event.
        """
        self.assertTrue(event.runs, f"{event.name}: the plugin logged no run")
        self.assertEqual(set(event.measured.get("engines", ["portmajor"])), {"portmajor"})
        self.assertEqual(event.miscounted, [])
        self.assertGreaterEqual(event.wire, event.least, event.name)
        if lids_changed and event.parts > 1:  # seen one after the other, a LID may change twice
            self.assertGreaterEqual(event.lids_changed, lids_changed, f"{event.name}: LIDs changed")
        else:
            self.assertEqual(event.lids_changed, lids_changed, f"{event.name}: LIDs changed")
        now = self.state(lab)
        if before:
            there = before.places.keys() & now.places.keys()
            self.assertEqual({w: (before.lids[w], now.lids[w]) for w in there
                              if before.lids[w] != now.lids[w]}, {}, event.name)
        self.check_walk(lab, now)
        self.check_disk(now)
        return now

    def walk(self, lab, now, *options, netlist=None):
        """Walks the tables; the netlist is the present fabric unless one is given."""
        return pmlab.walk(netlist or now.netlist(lab.path / "now.net"),
                          now.write(lab.path / "now.dump"), "--from-all", "-m", str(self.LMC),
                          *options)

    def check_walk(self, lab, now):
        walked = self.walk(lab, now)
        self.assertEqual(pmlab.walk_faults(walked, plan=False), [])
        self.assertGreater(walked["pairs"], 0)
        self.assertEqual(walked["delivered"], walked["pairs"])

    def check_planned(self, lab, netlist=None):
        """LIDs and tables are those of a plan made anew (default: for the present fabric)."""
        walked = self.walk(lab, self.state(lab), "-o", "grouped", netlist=netlist)
        self.assertEqual(pmlab.walk_faults(walked), [])

    def check_disk(self, now):
        """guid2lid agrees with the present ports, and no LID is owned twice."""
        on_disk, owner = {}, {}
        for line in (self.cache / "guid2lid").read_text().split("\n"):
            if not line.strip():
                continue
            guid, low, high = (int(number, 16) for number in line.split())
            on_disk[guid] = (low, high)
            for lid in range(low, high + 1):
                self.assertEqual(owner.setdefault(lid, guid), guid, f"LID {lid}: two owners")
        for where, place in now.places.items():
            self.assertTrue(place.active, where)
            self.assertEqual(on_disk.get(place.guid), (place.lid, place.last_lid), where)
        lids = [lid for place in now.places.values()
                for lid in range(place.lid, place.last_lid + 1)]
        self.assertEqual(len(set(lids)), len(lids), "LIDs given twice")

    def check_same_tables(self, before, now, hosts_only=False, but=()):
        """No entry has changed, of any switch that was present."""
        lids = {place.lid for where, place in before.places.items()
                if where[1] or not hosts_only}
        self.assertEqual([(switch, lid) for switch, lid in
                          pmlab.changed_entries(before.dump, now.dump)
                          if lid in lids and (switch, 0) in before.places
                          and switch not in but][:5], [])

    def check_nothing_more(self, lab):
        """A further sweep changes and sends nothing."""
        before = self.state(lab)
        event = lab.measure("SIGHUP", lab.osm.hup)
        now = self.check_event(lab, event, before)
        self.assertEqual(event.wire, 0)
        self.assertEqual(now.places, before.places)


class Growing(OverTime):
    def start(self, lab):
        now = self.check_event(lab, lab.bring_up())
        self.runs = planned_runs(now.netlist(lab.path / "first.net"), "-m", str(self.LMC))
        self.assertTrue(self.runs)
        return now

    def come(self, lab, before, *targets, blocks=None):
        """Adds parts at once; `before` is the State before, the one after is returned."""
        event = lab.measure(f"{targets} came",
                            lambda: sum(lab.fabric.back(target) for target in targets))
        now = self.check_event(lab, event, before)
        if blocks is not None:
            self.assertEqual(event.wire, blocks, event.name)
        return now

    def check_new_lids(self, before, now):
        """New places have LIDs of the existing runs, and then of blocks behind them.

        Returns the numbers of both.
        """
        new = [now.places[where] for where in now.places.keys() - before.places.keys()]
        end = (max(run.end for run in self.runs) // BLOCK + 1) * BLOCK
        spare = sum(any(run.start <= place.lid and place.last_lid <= run.end
                        for run in self.runs) for place in new)
        behind = sum(place.lid >= end for place in new)
        self.assertEqual(spare + behind, len(new), [place.lid for place in new])
        return spare, behind


class Growth(Growing):
    """New parts: no LID in use changes, spare LIDs are used first, then further runs."""

    def test_host_in_an_empty_slot(self):
        """Its LID and its entries have existed all the time."""
        fabric = self.fabric("h2-3", "h5-1")
        with self.lab(fabric) as lab:
            now = self.start(lab)
            planned = planned_lids(lab.path / "first.net")
            now = self.come(lab, now, "h5-1", blocks=0)
            now = self.come(lab, now, "h2-3", blocks=0)
            self.assertEqual(now.lids, planned)

    def test_host_at_a_port_that_was_no_slot(self):
        """The first one makes that port a slot of all leaves: the others cost nothing.

        One of these slots, leaf2's, finds no spare LID and begins a further run.
        """
        fabric = self.fabric(*[f"h{leaf}-4" for leaf in range(6)])
        with self.lab(fabric) as lab:
            first = self.start(lab)
            now = self.come(lab, first, "h3-4")
            for targets in (["h0-4", "h5-4"], ["h2-4"], ["h1-4", "h4-4"]):
                with self.subTest(targets):
                    now = self.come(lab, now, *targets, blocks=0)
            self.assertEqual(self.check_new_lids(first, self.state(lab)), (5, 1))

    def test_leaves(self):
        """A leaf for which there are spare LIDs, then leaves without any."""
        fabric = self.fabric("leaf3", "leaf4", "leaf5")
        with self.lab(fabric) as lab:
            first = now = self.start(lab)
            for target in ("leaf4", "leaf3", "leaf5"):
                now = self.come(lab, now, target)
            spare, behind = self.check_new_lids(first, now)
            self.assertGreater(spare, 0)
            self.assertGreater(behind, 0, "no further run was needed")
            self.check_nothing_more(lab)

    def test_twice_the_spines(self):
        """The new planes take slots over with -r only, and only once."""
        fabric = self.fabric("spine2", "spine3")
        with self.lab(fabric) as lab:
            first = self.start(lab)
            now = self.come(lab, self.come(lab, first, "spine2"), "spine3")
            self.check_same_tables(first, now, hosts_only=True)
        with self.lab(fabric) as lab:  # nor does a restart
            again = self.check_event(lab, lab.bring_up(), now)
            self.check_same_tables(now, again)
        with self.lab(fabric, "-r") as lab:
            event = lab.bring_up()
            self.assertGreater(event.lids_changed, 0)
            self.check_event(lab, event, lids_changed=event.lids_changed)
            self.check_planned(lab, self.plain.path)
            self.check_nothing_more(lab)
            now = self.state(lab)
        with self.lab(fabric) as lab:
            self.check_event(lab, lab.bring_up(), now)
            self.check_planned(lab, self.plain.path)

    def test_restart_with_the_plan(self):
        """The grown plan is in the plan file: the same LIDs and the same tables."""
        fabric = self.fabric("leaf4", "spine3", "h2-3")
        with self.lab(fabric) as lab:
            now = self.start(lab)
            now = self.come(lab, now, "spine3")
            now = self.come(lab, now, "leaf4", "h2-3")
        with self.lab(fabric) as lab:
            event = lab.bring_up()
            self.assertEqual(event.runs[-1].out_of_plan, 0)
            again = self.check_event(lab, event, now)
            self.assertEqual(again.places, now.places)
            self.check_same_tables(now, again)
            lab.event("lose", "spine3")
            lab.event("lose", "leaf4")
        with self.lab(fabric) as lab:
            self.check_event(lab, lab.bring_up(), now)
            last = self.come(lab, now, "leaf4", "spine3")
            self.assertEqual(last.places, now.places)
            self.check_same_tables(now, last)


class GrowthWithLmc(Growing):
    LMC = 1
    GENERATE = ("two-level", 4, 4, 4, 1)

    def test_growth(self):
        fabric = self.fabric("leaf2", "leaf3", "spine3", "h1-2")
        with self.lab(fabric) as lab:
            first = self.start(lab)
            self.assertEqual({place.lmc for where, place in first.places.items() if where[1]}, {1})
            now = self.come(lab, first, "h1-2", blocks=0)
            for target in ("leaf2", "spine3", "leaf3"):
                now = self.come(lab, now, target)
            spare, _ = self.check_new_lids(first, now)
            self.assertGreater(spare, 0)
        with self.lab(fabric) as lab:
            again = self.check_event(lab, lab.bring_up(), now)
            self.check_same_tables(now, again)


class GrowthOfPods(Growing):
    """Three levels: a pod with all its switches, and a switch at the top."""

    GENERATE = ("xgft", 3, "3,2,3", "1,2,2")
    POD = ("leaf4", "leaf5", "sw2-4", "sw2-5")

    def test_growth(self):
        fabric = self.fabric("sw3-3", *self.POD)
        with self.lab(fabric) as lab:
            first = self.start(lab)
            now = self.come(lab, first, *self.POD)
            spare, _ = self.check_new_lids(first, now)
            self.assertGreater(spare, 0)
            now = self.come(lab, now, "sw3-3")
            self.check_nothing_more(lab)


class Replacement(OverTime):
    """Other parts in the places of some: they have the LIDs of these, nothing else changes."""

    SPARE = ('Ca\t1 "new-host"', 'Switch\t8 "new-leaf"', 'Switch\t6 "new-spine"',
             'Switch\t8 "newer-leaf"')

    @staticmethod
    def renamed(state, old, new):
        """The expected places after a switch was replaced."""
        return {(new if where[0] == old else where[0], where[1]): lid
                for where, lid in state.lids.items()}

    def check_replaced(self, before, now, old, new):
        self.assertEqual(now.lids, self.renamed(before, old, new))
        self.check_same_tables(before, now, but=[old])

    def test_host(self):
        """The old adapter is put elsewhere later: it does not claim its LID."""
        fabric = self.fabric("h3-2")
        with self.lab(fabric) as lab:
            before = self.check_event(lab, lab.bring_up())
            planned = planned_lids(lab.path / "now.net")
            at = self.netlist.nodes["h1-3"].ports[1]
            event = self.change(lab, "replaced", 'Unlink "h1-3"', self.plug("new-host", 1, *at))
            now = self.check_event(lab, event, before)
            self.assertEqual(now.places[at].name, "new-host")
            self.assertEqual(event.wire, 0)
            at = self.netlist.nodes["h3-2"].ports[1]
            event = self.change(lab, "old one again", self.plug("h1-3", 1, *at))
            now = self.check_event(lab, event, before, lids_changed=1)
            self.assertEqual(now.places[at].name, "h1-3")
            self.assertEqual(event.wire, 0)
            self.assertEqual(now.lids, planned)

    def replace(self, old, new, elsewhere):
        """Replaces a switch whose failure was seen.

        elsewhere   LFT Sets that the failure costs, and the return of the old one would
        """
        with self.lab(self.fabric()) as lab:
            start = lab.bring_up()
            before = self.check_event(lab, start)
            blocks = start.runs[-1].full_load // len(self.plain.switches)
            lost = lab.lose(old)
            self.assertEqual(lost.wire, elsewhere)
            event = self.change(lab, "replaced", *self.cables_of(old, instead=new))
            self.check_event(lab, event, before)
            self.assertEqual(event.wire, elsewhere + blocks)
            self.assertEqual(event.whole, 1)
            self.check_replaced(before, self.state(lab), old, new)
            self.check_nothing_more(lab)

    def test_leaf(self):
        self.replace("leaf1", "new-leaf", elsewhere=0)

    def test_spine(self):
        self.replace("spine1", "new-spine", elsewhere=6)

    def test_at_once(self):
        """A leaf is replaced between two sweeps, and the old one then replaces another."""
        with self.lab(self.fabric()) as lab:
            before = self.check_event(lab, lab.bring_up())
            for old, new in (("leaf1", "new-leaf"), ("leaf4", "leaf1")):
                event = self.change(lab, f"{old} replaced", f'Clear "{old}"', f'Clear "{new}"',
                                    *self.cables_of(old, instead=new))
                now = self.check_event(lab, event)
                self.check_replaced(before, now, old, new)
                before = now

    def while_no_manager_runs(self, old, new, *commands):
        """The plan file has the old one; the new one has the LIDs of the place all the same."""
        fabric = self.fabric()
        with self.lab(fabric) as lab:
            before = self.check_event(lab, lab.bring_up())
        if old:
            commands += (f'Unlink "{old}"', *self.cables_of(old, instead=new))
        fabric.console(*commands)
        with self.lab(fabric) as lab:
            self.check_replaced(before, self.check_event(lab, lab.bring_up()), old, new)
            self.assertEqual([path.name for path in self.cache.glob("*.bad-*")], [])

    def test_spine_while_no_manager_runs(self):
        self.while_no_manager_runs("spine2", "new-spine")

    def test_hosts_while_no_manager_runs(self):
        """One is replaced, two come up in each other's slots."""
        at = self.netlist.nodes["h2-2"].ports[1]
        self.while_no_manager_runs(None, None, 'Unlink "h2-2"', self.plug("new-host", 1, *at),
                                   *self.swap("h1-1", "h5-4", out="Clear"))


class Moved(OverTime):
    """Hosts in other slots: each has the LID of its slot, and no table changes."""

    def check(self, lab, before, hosts, *commands, lids_changed):
        """The places of `hosts` afterwards: {host: (leaf, port)}."""
        event = self.change(lab, f"{hosts}", *commands)
        now = self.check_event(lab, event, before, lids_changed=lids_changed)
        self.assertEqual(event.wire, 0)
        self.assertEqual({now.places[at].name: at for at in hosts.values()}, hosts)
        self.check_same_tables(before, now)

    def test_moves(self):
        fabric = self.fabric("h5-4")
        with self.lab(fabric) as lab:
            before = self.check_event(lab, lab.bring_up())
            planned = planned_lids(lab.path / "now.net")
            at = {name: self.netlist.nodes[name].ports[1] for name in self.plain.hosts}
            with self.subTest("swapped, switched off meanwhile"):
                self.check(lab, before, {"h1-1": at["h3-2"], "h3-2": at["h1-1"]},
                           *self.swap("h1-1", "h3-2", out="Clear"), lids_changed=0)
            with self.subTest("swapped, each with its old LID, which is the other's now"):
                self.check(lab, before, {"h2-1": at["h4-2"], "h4-2": at["h2-1"]},
                           *self.swap("h2-1", "h4-2"), lids_changed=2)
            with self.subTest("moved with its LID, which another one in its slot has now"):
                self.check(lab, before, {"h1-4": at["h5-4"], "new-host": at["h1-4"]},
                           'Unlink "h1-4"', self.plug("h1-4", 1, *at["h5-4"]),
                           self.plug("new-host", 1, *at["h1-4"]), lids_changed=1)
            with self.subTest("moved back after a while"):
                lab.event("lose", "h0-4")
                self.check(lab, before, {"h1-4": at["h0-4"]}, 'Unlink "h1-4"',
                           self.plug("h1-4", 1, *at["h0-4"]), lids_changed=1)
                self.check(lab, before, {"h0-4": at["h5-4"]},
                           self.plug("h0-4", 1, *at["h5-4"]), lids_changed=1)
            self.assertEqual(self.state(lab).lids, planned)


class Duplicates(OverTime):
    def test_lids(self):
        """A port that comes up with another's LID gets that of its slot; the other keeps it."""
        with self.lab(self.fabric()) as lab:
            before = self.check_event(lab, lab.bring_up())
            for name, other in (("h2-2", ("leaf4", 1)), ("h3-3", ("spine1", 0)),
                                ("h5-1", ("leaf0", 1))):  # a host's, a switch's, the manager's
                with self.subTest(name):
                    event = self.change(lab, name, f'Unlink "{name}"',
                                        f'Baselid "{name}"[1] {before.lids[other]}',
                                        f'ReLink "{name}"')
                    now = self.check_event(lab, event, before)
                    self.assertEqual(event.served, (1, 0))
                    self.assertEqual(event.wire, 0)
                    self.assertEqual(now.places, before.places)
                    self.check_same_tables(before, now)

    def test_lids_at_first(self):
        """Of two ports with one LID one keeps it; no other LID changes."""
        fabric = self.fabric()
        with simlab.OpenSM(fabric, engine="minhop") as osm:
            osm.settle()
        before = State(self.dump(fabric))
        both = {("leaf1", 2), ("leaf4", 1)}
        lid = before.lids["leaf4", 1]
        fabric.console(f'Baselid "h1-2"[1] {lid}')
        with self.lab(fabric) as lab:
            now = self.check_event(lab, lab.bring_up(), lids_changed=1)
            self.assertEqual({w for w in now.lids if now.lids[w] != before.lids[w]} - both, set())
            self.assertEqual([now.lids[w] for w in both].count(lid), 1)
            self.check_nothing_more(lab)

    def with_one_guid(self, fabric, osm):
        """Two hosts have one GUID for a while; OpenSM's reaction."""
        osm.settle()
        before = State(self.dump(fabric))
        own, other = (before.places[self.netlist.nodes[name].ports[1]].guid - 1
                      for name in ("h3-2", "h1-1"))
        mark = osm.mark()
        fabric.console('Clear "h3-2"', f'Guid "h3-2" {other:#x}', 'ReLink "h3-2"')
        osm.wait_log(r"ERR 0D01: Found duplicated node GUID(.|\n)*ERR 0D01", mark.log_offset)
        during = State(self.dump(fabric))
        ended = osm.process.poll()
        up_meanwhile = "SUBNET UP" in osm.log(mark.log_offset)
        mark = osm.mark()
        fabric.console('Clear "h3-2"', f'Guid "h3-2" {own:#x}', 'ReLink "h3-2"')
        osm.settle(mark)
        after = State(self.dump(fabric))
        self.check_disk(after)
        self.assertEqual(after.lids, before.lids)
        self.check_same_tables(before, after)
        return {"ended": ended, "routed": up_meanwhile, "tables": during.dump.tables ==
                before.dump.tables, "LIDs": {w for w, lid in during.lids.items()
                                             if lid != before.lids[w]}}

    def test_guids(self):
        """As without the plugin: reported again and again, no LID changes until then."""
        fabric = self.fabric()
        with simlab.OpenSM(fabric, engine="minhop", cache_dir=self.cache) as osm:
            stock = self.with_one_guid(fabric, osm)
        with self.lab(fabric) as lab:
            self.assertEqual(self.with_one_guid(lab.fabric, lab.osm), stock)
            self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})


class FirstStart(OverTime):
    """On a fabric that runs with another engine's LIDs."""

    def test_keeps_them_until_asked(self):
        fabric = self.fabric()
        before = self.run_another(fabric)
        with self.lab(fabric) as lab:
            event = lab.bring_up()
            now = self.check_event(lab, event, before)
            self.assertEqual(now.places, before.places)
            walked = self.walk(lab, now, "-o", "grouped", "--shifts", "all",
                               netlist=self.plain.path)
            differ = walked["plan"]["lids_out_of_plan"]
            self.assertGreater(differ, 0)
            self.assertEqual(event.runs[-1].out_of_plan, differ)
            # As good as the plan's: even, and without contention in a shift.
            self.assertLessEqual(walked["uplinks"]["spread"], 1)
            self.assertEqual(walked["shift"], 1)
            for target in ("spine1", "leaf2:6"):
                for verb in ("lose", "back"):
                    event = lab.event(verb, target)
                    self.check_event(lab, event, before)
                    if verb == "lose":
                        self.assertEqual(event.wire, event.least)
            with self.subTest("the log says how many of how many conform"):
                total = len(now.places)
                self.assertRegex(lab.osm.log(), rf"\b{total - differ} of {total}\b")
        with self.lab(fabric, "-r") as lab:
            event = lab.bring_up()
            self.check_event(lab, event, lids_changed=differ)
            self.check_planned(lab, self.plain.path)
            planned = self.state(lab)
            self.check_nothing_more(lab)
            # Nor does a host that comes with another LID start it again.
            event = self.change(lab, "h2-2", 'Unlink "h2-2"', 'Baselid "h2-2"[1] 60',
                                'ReLink "h2-2"')
            self.check_event(lab, event, planned)
            self.assertEqual(event.served, (1, 0))
        with self.lab(fabric) as lab:
            event = lab.bring_up()
            self.assertEqual(event.runs[-1].out_of_plan, 0)
            self.check_event(lab, event, planned)


class Migrate(OverTime):
    """Only ports that are down or come up get other LIDs; in the end all hosts have the planned
    ones."""

    GENERATE = ("two-level", 3, 2, 2, 1)

    def reboot(self, lab, names):
        """Reboots nodes at once. Other places keep their LIDs."""
        before = self.state(lab)
        event = self.change(lab, f"{names} rebooted", *[f'Clear "{name}"' for name in names],
                            *[f'ReLink "{name}"' for name in names])
        now = self.check_event(lab, event)
        self.assertEqual({place.name for where, place in now.places.items()
                          if place.lid != before.lids[where]} - set(names), set())
        return event

    def elsewhere(self, lab, hosts_only=True):
        """The places that have another LID than planned."""
        planned = planned_lids(self.plain.path)
        return {where for where, lid in self.state(lab).lids.items()
                if lid != planned[where] and (where[1] or not hosts_only)}

    ROUND = (("h0-2", "h1-1", "h2-1"), ("h1-2", "h2-2"), ("spine0", "spine1"),
             ("leaf1", "leaf2", "h1-1", "h1-2", "h2-1", "h2-2"))
    OWN_LEAF = (("leaf0", "h0-2"),)  # the subnet manager's place

    def test_drifts(self):
        """A LID is free only when its owner reboots, so two rounds of reboots may be needed.

        The manager's own host is not rebooted: it has its planned LID, the first.
        """
        fabric = self.fabric()
        before = self.run_another(fabric)
        with self.migrating(fabric) as lab:
            now = self.check_event(lab, lab.bring_up(), before)
            self.assertEqual(now.places, before.places)
            first = self.elsewhere(lab)
            self.assertGreater(len(first), 0)
            self.check_nothing_more(lab)
            for _ in range(2):
                for names in self.ROUND:
                    if self.elsewhere(lab):
                        self.reboot(lab, names)
            self.assertEqual(self.elsewhere(lab), set())
            event = lab.measure("SIGHUP", lab.osm.hup)
            self.assertEqual(event.runs[-1].out_of_plan,
                             len(self.elsewhere(lab, hosts_only=False)))

    def test_cable_out_and_in(self):
        """A host that keeps its LID meanwhile gets the planned one as well, and is counted."""
        fabric = self.fabric()
        self.run_another(fabric)
        with self.migrating(fabric) as lab:
            before = self.check_event(lab, lab.bring_up())
            planned = planned_lids(self.plain.path)
            # h0-2's planned LID is h1-1's, which is absent for good.
            self.assertEqual(planned["leaf0", 2], before.lids["leaf1", 1])
            now = self.check_event(lab, lab.event("lose", "h1-1"), before)
            event = self.change(lab, "cable", 'Unlink "h0-2"', 'ReLink "h0-2"')
            after = self.check_event(lab, event, lids_changed=1)
            self.assertEqual(after.lids, {**now.lids, ("leaf0", 2): planned["leaf0", 2]})
            last = self.check_event(lab, lab.event("back", "h1-1"), after, lids_changed=1)
            self.assertNotEqual(last.lids["leaf1", 1], planned["leaf0", 2])

    def test_twice_the_spines(self):
        """The new plane takes slots over as hosts reboot, and not before."""
        fabric = self.fabric("spine1")
        with self.migrating(fabric) as lab:
            first = self.check_event(lab, lab.bring_up())
            now = self.check_event(lab, lab.event("back", "spine1"), first)
            self.check_same_tables(first, now, hosts_only=True)
            for _ in range(2):
                for names in self.ROUND + self.OWN_LEAF:
                    self.reboot(lab, names)
            self.check_planned(lab, self.plain.path)
            self.assertFalse(pmlab.kept(self.cache, "drifting").exists())

    def test_spines_before(self):
        """A spine that came before, without migrate, gets its share at the restart."""
        fabric = self.fabric("spine1")
        with self.lab(fabric) as lab:
            self.check_event(lab, lab.bring_up())
            event = lab.event("back", "spine1")
            now = self.check_event(lab, event)
            self.assertEqual(event.runs[-1].out_of_plan, 0)
        with self.migrating(fabric) as lab:
            event = lab.bring_up()
            self.check_same_tables(now, self.check_event(lab, event, now), hosts_only=True)
            self.assertGreater(event.runs[-1].out_of_plan, 0)
            for _ in range(2):
                for names in self.ROUND + self.OWN_LEAF:
                    self.reboot(lab, names)
            self.check_planned(lab, self.plain.path)

    def test_restart_on_the_way(self):
        """Ports go on with their LIDs and planes, and get the planned ones as they reboot."""
        fabric = self.fabric("spine1")
        with self.migrating(fabric) as lab:
            self.check_event(lab, lab.bring_up())
            lab.event("back", "spine1")
            self.reboot(lab, self.ROUND[0])
            now = self.state(lab)
        for start in (self.migrating, self.lab, self.migrating):
            with start(fabric) as lab:
                again = self.check_event(lab, lab.bring_up(), now)
                self.assertEqual(again.places, now.places)
                self.check_same_tables(now, again)
                if start == self.lab:  # here a reboot changes nothing
                    self.reboot(lab, self.ROUND[1])
                    self.assertEqual(self.state(lab).places, now.places)
            self.assertTrue(pmlab.kept(self.cache, "drifting").exists())

    def out_of_plan(self, lab, event):
        """The last run, the state and its metric agree: as many ports run with other LIDs."""
        number = event.runs[-1].out_of_plan
        self.assertEqual(number, len(self.elsewhere(lab, hosts_only=False)), event.name)
        simlab.poll_until(lambda: self.told() == (number, number), 30,
                          f"out of plan {number}", state=lambda: f"{self.told()} told")
        return number

    def told(self):
        """Out of plan by the state and by the metric."""
        numbers = pmlab.kept(self.cache, "portmajor.prom").read_text("ascii")
        metric = re.search(r"(?m)^portmajor_lids_out_of_plan{.*} (\d+)$", numbers)
        return (json.loads(pmlab.kept(self.cache, "state").read_text())["out_of_plan"],
                int(metric[1]))

    def check_frozen(self, fabric, before, number):
        """Without migrate neither a sweep nor a reboot changes a LID, nor a restart."""
        for _ in range(2):
            with self.lab(fabric) as lab:
                event = lab.bring_up()
                self.check_event(lab, event, before)
                self.assertEqual(self.out_of_plan(lab, event), number)
                self.check_nothing_more(lab)
                for names in self.ROUND:
                    self.assertEqual(self.out_of_plan(lab, self.reboot(lab, names)), number)
                self.assertEqual(self.state(lab).places, before.places)
                event = lab.event("lose", "h2-2")  # which does not run then
                self.assertEqual(event.runs[-1].out_of_plan,
                                 number - (("leaf2", 2) in self.elsewhere(lab)))
                event = lab.event("back", "h2-2")
                self.check_event(lab, event, before)
                self.assertEqual(self.out_of_plan(lab, event), number)

    def test_no_yes_no(self):
        """The planned LIDs are kept beside those in use, and counted until they agree."""
        fabric = self.fabric()
        before = self.run_another(fabric, "updn")
        planned = planned_lids(self.plain.path)
        hosts = [[name] for names in self.ROUND[:2] for name in names]
        first = sum(lid != planned[where] for where, lid in before.lids.items())
        self.assertGreater(first, len(planned) // 2)
        self.check_frozen(fabric, before, first)
        with self.migrating(fabric) as lab:
            event = lab.bring_up()
            self.check_event(lab, event, before)
            self.assertEqual(self.out_of_plan(lab, event), first)
            left, names = first, iter(2 * hosts)
            while left == first:
                left = self.out_of_plan(lab, self.reboot(lab, next(names)))
            halfway = self.state(lab)
        self.assertGreater(left, 0)
        self.check_frozen(fabric, halfway, left)
        with self.migrating(fabric) as lab:
            event = lab.bring_up()
            self.check_event(lab, event, halfway)
            self.assertEqual(self.out_of_plan(lab, event), left)
            for names in 2 * [*hosts, *self.ROUND[2:], *self.OWN_LEAF]:
                left = self.out_of_plan(lab, self.reboot(lab, names))
            self.assertEqual(left, 0)
            last = self.state(lab)
        self.assertFalse(pmlab.kept(self.cache, "drifting").exists())
        self.check_frozen(fabric, last, 0)

    def test_reassigned(self):
        """With -r no port waits."""
        fabric = self.fabric("spine1")
        with self.migrating(fabric) as lab:
            self.check_event(lab, lab.bring_up())
            lab.event("back", "spine1")
        with self.migrating(fabric, "-r") as lab:
            event = lab.bring_up()
            self.assertGreater(event.lids_changed, 0)
            self.check_event(lab, event, lids_changed=event.lids_changed)
            self.check_planned(lab, self.plain.path)


if __name__ == "__main__":
    labtest.main()
