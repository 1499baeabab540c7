#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Odd fabrics: uneven trees, end nodes in odd places, cables beside the tree, no trees.

Each is judged twice after every event: by `walk`, and by ibdmchk, which shares nothing with this
project. The pairs without an up-then-down path come from odd_netlists, which is independent, too.
"""

import re

import ibdmchk
import labtest
import odd_netlists
import pmlab


def port_lids(path):
    """{(node, port): (base LID, LMC)} of all ports in an ibsim Dump that have one."""
    lids, name = {}, None
    with open(path, encoding="ascii", errors="replace") as lines:
        for line in lines:
            node = re.match(r'\S+ \d+ "([^"]+)"\s.*nodeguid', line)
            port = re.match(r"[0-9a-f]+\t\[(\d+)\].* lid (\d+) lmc (\d+) ", line)
            if node:
                name = node[1]
            elif port and int(port[2]):
                lids[name, int(port[1])] = int(port[2]), int(port[3])
    return lids


def shared_lids(lids):
    """LIDs that two ports have."""
    every = [lid + k for lid, lmc in lids.values() for k in range(1 << lmc)]
    return sorted({lid for lid in every if every.count(lid) > 1})


def notes(log):
    return [line.partition("portmajor: note: ")[2] for line in log.splitlines()
            if "portmajor: note: " in line]


class OddCase(labtest.LabCase):
    """A LabCase with an OpenSM that writes ibdmchk's input."""

    WALK = ("--from-all",)
    BUILD = None  # makes the Net
    MANAGER = None  # OpenSM's node; default: the first host
    LMC = 0

    @classmethod
    def make_netlist(cls):
        cls.net = cls.BUILD()
        return cls.net.write(cls.folder / "odd.net")

    @classmethod
    def options(cls):
        return {"host": cls.MANAGER, "args": [*ibdmchk.OPENSM_ARGS, "-l", str(cls.LMC)]}

    # ---- judging

    def links_down(self):
        netlist, links = self.lab.netlist, set()
        for target in self.down:
            name, colon, port = target.rpartition(":")
            links |= {netlist.link_at(name, int(port))} if colon else netlist.links_of(target)
        return links

    def check_ibdmchk(self):
        apart = self.net.apart(self.links_down())
        self.assertEqual(ibdmchk.faults(self.lab, self.LMC, apart, self.UNSEEN), [])

    def check_lids(self):
        """No LID twice, none missing."""
        lids = port_lids(self.lab.dump())
        self.assertEqual(shared_lids(lids), [])
        self.assertLessEqual({(name, 0) for name in self.net.levels if name not in self.UNSEEN},
                             set(lids))
        ends = {end for cable in self.net.cables for end in cable
                if end[0] not in self.net.levels and not {n for n, _ in cable} & set(self.UNSEEN)}
        self.assertLessEqual(ends, set(lids))

    def check_walk(self, *options):
        walked = super().check_walk(*options)
        self.check_lids()
        self.check_ibdmchk()
        return walked

    def check_healthy(self, *options):
        """Like the base class, but uneven trees may be uneven."""
        self.check_walk(*options)
        now = pmlab.Dump(self.lab.dump())
        self.assertEqual(now.lids, self.healthy.lids)
        self.assertEqual(list(pmlab.changed_entries(self.healthy, now))[:5], [])

    # ---- tests for all of them

    def check_start(self):
        self.check_costs(self.start)
        self.assertEqual(self.start.wire, self.start.runs[-1].full_load)
        self.check_healthy()

    def check_events(self, switches=(), cables=(), hosts=()):
        for target in switches:
            with self.subTest(target):
                self.lose_and_back(target, new_switches=1)
        for target in cables:
            with self.subTest(target):
                self.lose_and_back(target)
        for target in hosts:
            with self.subTest(target):
                self.lose_and_back(target, blocks=0)


class Judge(labtest.Folders):
    """ibdmchk's input must be true, and it must find faults in it."""

    def test_spoilt_dumps(self):
        net = odd_netlists.plain_two_levels(3, 2, 2)
        with pmlab.Lab(net.write(self.folder / "odd.net"), args=ibdmchk.OPENSM_ARGS) as lab:
            lab.bring_up()
            self.assertEqual(ibdmchk.faults(lab, apart=net.apart()), [])
            self.assertIn("no path from ('spine0', ", " ".join(ibdmchk.faults(lab)))
            lid = pmlab.Dump(lab.dump()).lids["leaf1-h1"]
            fdbs = lab.osm.path / "opensm.fdbs"
            right = fdbs.read_text()
            for entry, what in (("UNREACHABLE", "no path from ('leaf0-h1', 1) to ('leaf1-h1', 1)"),
                                ("001  : 01   : yes", "leaf0: entries for LIDs")):
                fdbs.write_text(re.sub(rf"(?m)^0x{lid:04X} : .*", f"0x{lid:04X} : {entry}", right,
                                       count=1))
                self.assertIn(what, " ".join(ibdmchk.faults(lab, apart=net.apart())))
            fdbs.write_text(right)
            subnet = lab.osm.path / "opensm-subnet.lst"
            before = subnet.read_text()
            lab.lose("leaf1-h1")
            self.assertEqual(ibdmchk.faults(lab, apart=net.apart()), [])
            subnet.write_text(before)
            self.assertIn("cables differ", " ".join(ibdmchk.faults(lab, apart=net.apart())))


# ------------------------------------------------------------------ uneven trees

class SingleSwitch(OddCase):
    BUILD = odd_netlists.single_switch

    def test_single_switch(self):
        self.check_start()
        self.assertEqual(self.start.wire, 1)
        self.check_events(cables=["twin:2"], hosts=["twin"])


class UnevenTwoLevels(OddCase):
    BUILD = odd_netlists.uneven_two_levels

    def test_events(self):
        self.check_start()
        self.check_events(["spine0"], ["leaf0:12"], ["leaf4-h7"])

    def test_both_common_spines(self):
        """leaf2 and leaf4 meet at a leaf then, and the log reports it."""
        self.lose("spine1")
        self.check_walk()
        offset = self.lab.osm.log_offset()
        self.down.append("spine2")
        self.check_costs(self.lab.lose("spine2"))
        self.assertEqual(self.check_walk()["unreachable"], 0)
        self.assertTrue(self.net.apart(self.links_down())(("leaf2-h1", 1), ("leaf4-h1", 1)))
        self.assertRegex("\n".join(notes(self.lab.osm.log(offset))), r"turn up again at leaf0")
        self.back("spine2")
        self.back("spine1")
        self.check_healthy()


class UnevenThreeLevels(OddCase):
    BUILD = odd_netlists.uneven_three_levels

    def test_events(self):
        self.check_start()
        self.check_events(["ma0", "t0"], ["c0:7"], ["b0-h3"])


class UnevenFourLevels(OddCase):
    BUILD = odd_netlists.uneven_four_levels

    def test_events(self):
        self.check_start()
        self.check_events(["x1-0", "t0"], ["x1-2:4"], ["x0-2-h1"])


# ----------------------------------------------------- end nodes in odd places

class EndNodesOnSpines(OddCase):
    BUILD = odd_netlists.end_nodes_on_spines
    MANAGER = "manager"

    def test_events(self):
        self.check_start()
        self.check_events(["spine1"], ["leaf1:5"], ["gate1"])

    def test_named(self):
        """The log names the end ports at spines; no pair is apart because of them."""
        self.assertEqual(len(notes(self.lab.osm.log())), 1)
        self.assertRegex(notes(self.lab.osm.log())[0],
                         r"4 end ports above the leaves are service ports \(\S+ at spine0\[5\], ")


class SeveralPorts(OddCase):
    BUILD = odd_netlists.several_ports

    def test_events(self):
        self.check_start()
        self.check_events(["spine0"], ["both:2"], ["many"])


class Routers(OddCase):
    BUILD = odd_netlists.routers

    def test_events(self):
        self.check_start()
        self.check_events(["spine2"], ["router1:2"])


class ManagerOnLeaf(OddCase):
    """OpenSM runs on a leaf itself, on a base port 0."""

    BUILD = odd_netlists.switch_port0
    MANAGER = "leaf2"

    def test_events(self):
        self.check_start()
        self.check_events(["spine0"], ["leaf2:6"])


class ManagerOnSpine(OddCase):
    """OpenSM runs on a spine itself, on an enhanced port 0."""

    BUILD = odd_netlists.switch_port0
    MANAGER = "spine1"

    def test_events(self):
        self.check_start()
        self.check_events(["spine0"], ["leaf3:6"])


class SwitchPort0(OddCase):
    """With LMC 1 hosts have two LIDs, switches one, whichever port 0 they have."""

    BUILD = odd_netlists.switch_port0
    WALK = ("--from-all", "-m", "1")
    LMC = 1

    def test_lids(self):
        self.check_start()
        for (name, _), (_, lmc) in port_lids(self.lab.dump()).items():
            self.assertEqual(lmc, 0 if name in self.net.levels else 1, name)


class SwitchLmc(labtest.Folders):
    def test_declined(self):
        """Two LIDs for enhanced ports 0 are declined, by name; the next engine gives them."""
        net = odd_netlists.switch_port0()
        with pmlab.Lab(net.write(self.folder / "odd.net"), engine="portmajor,minhop",
                       args=["-l", "1"], conf={"lmc_esp0": "TRUE"}) as lab:
            lab.bring_up()
            self.assertEqual(set(lab.osm.engines_used()), {"minhop"})
            self.assertEqual(len(declined(lab.osm.log())), 1)
            self.assertIn("lmc_esp0", declined(lab.osm.log())[0])
            lids = port_lids(lab.dump())
            self.assertEqual([lids[name, 0][1] for name in net.levels],
                             [int(name[-1]) % 2 for name in net.levels])


class TwoTrees(OddCase):
    """Trees that only hosts join: discovery does not pass hosts.

    The manager's tree is one subnet, and all expectations hold there. The other's ports, those of
    the same hosts too, are left without LIDs.
    """

    BUILD = odd_netlists.two_trees
    MANAGER = "a-leaf0-h1"
    UNSEEN = tuple([f"b-leaf{n}" for n in range(3)] + [f"b-spine{n}" for n in range(2)]
                   + [f"b-leaf0-h{n}" for n in (1, 2)])

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = odd_netlists.two_trees(second=False).write(cls.folder / "one.net")

    def seen_dump(self):
        """A Dump without the other tree."""
        records = self.lab.dump().read_text(encoding="ascii").split("\n\n")
        kept = [re.sub(r'"b-[^"]*"\[\d+\]', "", record) for record in records
                if not re.match(r'\w+ \d+ "b-', record)]
        path = self.lab.path / "seen.dump"
        nodes = sum(" nodeguid" in record.expandtabs(1) for record in kept)
        text = re.sub(r"^#  dumped .*\n", "", "\n\n".join(kept), flags=re.M)
        path.write_text(f"{text}\n#  dumped {nodes} nodes\n", encoding="ascii")
        return path

    def check_walk(self, *options):
        walked = pmlab.walk(self.netlist, self.seen_dump(), "-o", self.ORDER, *self.WALK, *options)
        self.assertEqual(pmlab.walk_faults(walked), [])
        self.assertEqual(walked["delivered"], walked["pairs"])
        self.check_lids()
        self.check_ibdmchk()
        return walked

    def test_events(self):
        self.check_start()
        self.check_events(["a-spine0"], ["a-leaf1:3"], ["dual1-2"])
        lids = port_lids(self.lab.dump())
        self.assertEqual({end for end in lids if end[0] in self.UNSEEN or
                          end[0].startswith("dual") and end[1] == 2}, set())


# ------------------------------------------------- cables outside the tree

class CablesBesideTheTree(OddCase):
    BUILD = odd_netlists.cables_beside_the_tree

    def test_events(self):
        self.check_start()
        self.check_events(["mid1-0"], ["leaf0-0:6"])

    def test_not_used(self):
        """No table points to them, and without them nothing changes."""
        dump = pmlab.Dump(self.lab.dump())
        for name, port in (("leaf0-0", 7), ("leaf2-0", 7), ("top0", 7), ("top0", 8), ("mid0-1", 5)):
            ports = {p for first in dump.tables[name] for p in dump.entries(name, first).values()}
            self.assertNotIn(port, ports, name)
        targets = ("leaf0-0:7", "leaf2-0:7", "top0:7", "mid0-1:5")
        for verb in ("lose", "back"):
            event = self.lab.measure(f"{verb} all of them", lambda v=verb: sum(
                getattr(self.lab.fabric, v)(target) for target in targets))
            self.check_costs(event)
            self.assertEqual(event.wire, 0, event.name)
        self.check_healthy()

    def test_one_line(self):
        self.assertEqual(len(notes(self.lab.osm.log())), 1)
        self.assertIn("leaf0-0[7]-leaf1-0[7]", notes(self.lab.osm.log())[0])

    def test_all_are_named(self):
        for cable in ("leaf0-0[7]-leaf1-0[7]", "mid0-0[5]-mid0-1[5]", "leaf2-0[7]-top0[8]",
                      "top0[7]-top1[7]"):
            self.assertIn(cable, notes(self.lab.osm.log())[0])


class LeavesApart(OddCase):
    BUILD = odd_netlists.leaves_apart

    def test_named(self):
        self.check_start()
        self.assertEqual(len(notes(self.lab.osm.log())), 1)
        self.assertRegex(notes(self.lab.osm.log())[0], r"count from 1 switch \(leaf1\)")
        self.check_events([], ["leaf1:4"])


class Restarted(labtest.Folders):
    def test_named_again(self):
        """A manager that finds its plan on disk reports the guesses, too."""
        path = odd_netlists.leaves_apart().write(self.folder / "odd.net")
        with pmlab.Fabric(path) as fabric:
            for _ in range(2):
                with pmlab.Lab(fabric.netlist, fabric=fabric, cache_dir=self.folder) as lab:
                    lab.bring_up()
                    self.assertRegex("\n".join(notes(lab.osm.log())),
                                     r"count from 1 switch \(leaf1\)")


def declined(log):
    return [line.partition("cannot route this fabric: ")[2] for line in log.splitlines()
            if "portmajor: cannot route this fabric: " in line]


class NoTrees(labtest.Folders):
    def decline(self, net):
        """One line has the reason; the next engine that can serves. Returns ibdmchk's faults."""
        with pmlab.Lab(net.write(self.folder / "odd.net"), engine="portmajor,updn",
                       args=ibdmchk.OPENSM_ARGS) as lab:
            lab.bring_up()
            log = lab.osm.log()
            self.assertEqual(len(declined(log)), 1)
            self.assertRegex(declined(log)[0], r'such as those at "(\w+)" and "\w+"')
            self.assertEqual(pmlab.Run.find(log), [])
            self.assertNotIn("portmajor", lab.osm.engines_used())
            self.assertEqual(shared_lids(port_lids(lab.dump())), [])
            return ibdmchk.faults(lab)

    def test_full_mesh(self):
        self.assertEqual(self.decline(odd_netlists.full_mesh()), [])

    def test_ring(self):
        """OpenSM's own tables for it can deadlock: ibdmchk must find that."""
        self.assertIn("credit loop", " ".join(self.decline(odd_netlists.ring())))


if __name__ == "__main__":
    labtest.main()
