#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""LFT Sets recorded from OpenSM on ibsim, and their cost for pairs of hosts (648 hosts)."""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import types
import unittest
import unittest.mock

import labtest
import pmlab
import record_sets
import simlab
import smps
import wire
import wiretime

LOST = "s0-*"
CHASSIS = "s0"  # the same


class Lost:
    """The part of a fabric that wiretime.Reach needs."""

    def __init__(self, netlist, target):
        self.netlist = netlist
        self._down = set().union(*[netlist.links_of(name) for name in netlist.match(target)])

    def down(self):
        return self._down


class Names(labtest.Folders):
    """Names for --fail, with names in comments as in ibnetdiscover's output."""

    LEAF, OTHER, SPINE, HOST = (f"{kind}-{number:016x}" for kind, number in
                                (("S", 1), ("S", 2), ("S", 3), ("H", 4)))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        records = (
            ("Switch", cls.LEAF, "leaf 0", ((1, cls.SPINE, 1), (2, cls.HOST, 1))),
            ("Switch", cls.OTHER, "leaf 0", ((1, cls.SPINE, 2),)),
            ("Switch", cls.SPINE, "s0-line0", ((1, cls.LEAF, 1), (2, cls.OTHER, 1))),
            ("Ca", cls.HOST, "h HCA-1 \u00e4\udcff", ((1, cls.LEAF, 2),)))
        path = cls.folder / "discovered.net"
        path.write_text("# Topology file: generated\n" + "".join(
            f'{kind}\t4 "{node}"\t# "{name}" lid 1\n' +
            "".join(f'[{port}]\t"{peer}"[{at}]\t# "x" lid 2 4xQDR\n' for port, peer, at in cables)
            + "\n" for kind, node, name, cables in records), encoding="utf-8",
            errors="surrogateescape")
        cls.netlist = simlab.Netlist(path)

    def test_names(self):
        for text, wanted in (
                ("leaf 0", [self.LEAF, self.OTHER]), ("s0", [self.SPINE]), ("h*", [self.HOST]),
                ("h HCA-1 \u00e4\udcff", [self.HOST]),
                ("leaf 0:2", [f"{self.LEAF}:2", f"{self.OTHER}:2"]), (self.OTHER, [self.OTHER]),
                ("S-*", [self.LEAF, self.OTHER, self.SPINE]),
                (f"{self.OTHER}:1", [f"{self.OTHER}:1"]), ("s0-line0[2]", [f"{self.SPINE}:2"]),
                ("leaf 0[1]-s0-line0[2]", [f"{self.OTHER}:1"])):
            with self.subTest(text):
                self.assertEqual(record_sets.targets_of(self.netlist, text), wanted)
        for text in ("leaf 1", "leaf 0[1]-s0-line0[3]", "leaf 0[2]-s0-line0[1]"):
            with self.subTest(text), self.assertRaises(simlab.SimError):
                record_sets.targets_of(self.netlist, text)

    def test_names_of_ibsim(self):
        netlist = simlab.Netlist(pmlab.generate(self.folder / "g.net", "two-level", 2, 1, 1, 1))
        for text, wanted in (("leaf*", "leaf*"), ("leaf0:2", "leaf0:2"), ("leaf0[2]", "leaf0:2"),
                             ("leaf0[2]-spine0[1]", "leaf0:2"), ("spine0", "spine0")):
            with self.subTest(text):
                self.assertEqual(record_sets.targets_of(netlist, text), [wanted])


class Usage(unittest.TestCase):
    def refuse(self, why, *args):
        done = subprocess.run(
            [sys.executable, record_sets.__file__, "/dev/null", "--fail", "x", "-o", "/dev/null",
             *args], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(why, done.stderr)

    def test_tries(self):
        for tries in ("0", "-1", "x"):
            self.refuse("argument --tries", "--engine", "updn", "--tries", tries)

    def test_engines(self):
        self.refuse("argument --engine", "--engine", "nonsense")


    def test_returns(self):
        self.refuse("--floor: not with --return", "--engine", "updn", "--return", "flap",
                    "--floor", "/dev/null")
        self.refuse("argument --return", "--engine", "updn", "--return", "nonsense")


class States(unittest.TestCase):
    """When ports turned ACTIVE, by hand."""

    @staticmethod
    def record(event, guid, port=1, tid=0, status=0, method=wire.SET):
        return types.SimpleNamespace(event=event, guid=guid, modifier=port, tid=tid, hops=2,
                                     status=status, method=method, attr=smps.PORT_INFO)

    def set_state(self, guid, tid, state):
        return [self.record("asked", guid, tid=tid), self.record("state", guid, status=state),
                self.record("answered", guid, tid=tid)]

    def test_active(self):
        """At the switch when its answer leaves; a link that goes down again counts from its next
        time."""
        records = [*self.set_state(7, 1, smps.ACTIVE), *self.set_state(8, 2, smps.ARMED),
                   self.record("state", 8, status=smps.ACTIVE, method=0),
                   *self.set_state(7, 3, smps.DOWN), *self.set_state(7, 4, smps.ARMED),
                   *self.set_state(7, 5, smps.ACTIVE), *self.set_state(7, 6, smps.ACTIVE),
                   *self.set_state(9, 7, smps.ARMED)]
        seconds = {id(r): i * 1e-3 for i, r in enumerate(records)}
        answered = next(seconds[id(r)] for r in records if r.event == "answered" and r.tid == 5)
        self.assertEqual(record_sets.list_active(records, seconds),
                         {(7, 1): round(answered * 1e9) - 400, (8, 1): 0})


class Returns(labtest.Folders):
    """Failed parts return, which is recorded and read."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = pmlab.generate(cls.folder / "fabric.net", "two-level", 6, 4, 4, 1)
        cls.netlist = simlab.Netlist(cls.path)
        cls.found, cls.files = {}, {}
        for engine, lost, how in (("portmajor", "h2-3", "flap"), ("updn", "h2-3", "flap"),
                                  ("portmajor", "leaf3", "rebooted"),
                                  ("updn", "leaf3", "rebooted")):
            cls.found[engine, how] = record_sets.record(cls.netlist, engine, [lost], how=how)
            cls.files[engine, how] = cls.folder / f"{engine}-{how}.sets"
            record_sets.write(cls.found[engine, how], cls.files[engine, how])

    def lab(self, *args):
        done = pmlab.run_lab("traffic", "--json", "-q", *args, self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def both(self, lost, how):
        """The lab's results for the recordings of both engines."""
        return self.lab("--sets", self.files["portmajor", how], "--compare",
                        self.files["updn", how], "--fail", lost)["recordings"]

    def test_flap(self):
        """The host's pairs are cut off until its link is ACTIVE; portmajor changes no entry."""
        ours, theirs = self.both("h2-3", "flap")
        for told, engine in (ours, "portmajor"), (theirs, "updn"):
            found = self.found[engine, "flap"]
            self.assertEqual(found.lost, [(guid, port) for _, guid, port in found.active])
            self.assertEqual(found.reset, [])
            self.assertEqual((told["hosts"], told["cut"]["at_once"]["paths"],
                              told["cut"]["end"]["paths"]), (24, 2 * 23, 0))
            self.assertGreater(told["back_ms"]["half"], 190)
        back = self.found["portmajor", "flap"].active[0][0]
        self.assertEqual((ours["differ"], ours["curve"]), (0, [[0, 46], [back, 0]]))
        self.assertAlmostEqual(ours["pair_seconds"], 46 * back / 1e9)

    def test_rebooted(self):
        """A leaf that returns with its hosts: its table comes before its links with portmajor."""
        hosts, others = 4, 20
        for told, engine in zip(self.both("leaf3", "rebooted"), ("portmajor", "updn")):
            found = self.found[engine, "rebooted"]
            leaf = found.before.guids["leaf3"]
            self.assertEqual(found.reset, [leaf])
            self.assertEqual([(leaf, port) for port in range(1, 9)], found.lost)
            self.assertEqual(sorted((guid, port) for _, guid, port in found.active), found.lost)
            self.assertEqual((told["hosts"], told["cut"]["at_once"]["paths"],
                              told["cut"]["end"]["paths"]),
                             (24, 2 * hosts * others + hosts * (hosts - 1), 0))
        found = self.found["portmajor", "rebooted"]
        written = [s.arrived for s in found.sets if s.guid == found.reset[0]]
        self.assertLess(min(written), found.active[0][0])

    def test_tables(self):
        """Sets explain them if the leaf's table was lost, and not if it was kept."""
        found = self.found["portmajor", "rebooted"]
        record_sets.check_sets(found.before, found.before, found.sets, found.reset)
        with self.assertRaisesRegex(simlab.SimError, "no Set explains block 0 of leaf3"):
            record_sets.check_sets(found.before, found.before, [], found.reset)

    def test_throughput(self):
        """When all are back it is as before."""
        one, = self.lab("--engine", "share", "--sets", self.files["portmajor", "rebooted"],
                        "--shifts", 3, "--permutations", 3)["recordings"]
        self.assertEqual((one["after"], one["after"]["hosts"]), (one["before"], 24))

    def test_what_is_not_active_again(self):
        found = self.found["updn", "flap"]
        link = [("leaf2", 3), ("h2-3", 1)]
        for active in {}, {(found.before.guids["leaf2"], 3): 5}:
            with self.assertRaisesRegex(simlab.SimError, "not ACTIVE again"):
                record_sets.list_returned(active, [link], found.before.guids)

    def test_cables_do_not_reboot(self):
        done = subprocess.run(
            [sys.executable, record_sets.__file__, self.path, "--engine", "updn", "--fail",
             "leaf3:1", "--return", "rebooted", "-o", self.folder / "none"],
            capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (3, "record-sets: no cable reboots, but nodes do\n"))


class Places(labtest.Folders):
    def test_blanks(self):
        """In the path of the sources, with their libraries preloaded."""
        place = self.folder / "a place"
        place.mkdir()
        for name in ("libmadcount.so", "libwire.so"):
            shutil.copy(pmlab.BUILD / name, place)
        netlist = simlab.Netlist(pmlab.generate(place / "f g.net", "two-level", 3, 2, 2, 1))
        with unittest.mock.patch.dict(os.environ, MADCOUNT_LIB=str(place / "libmadcount.so")):
            found = record_sets.record(netlist, "updn", ["spine0"], tries=1)
        self.assertTrue(found.sets)


class RecordSets(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = pmlab.generate(cls.folder / "fabric.net", "director", 36)
        cls.netlist = simlab.Netlist(cls.path)
        cls.found, cls.files = {}, {}
        # A machine that stops for 0.1 s makes our time ten times as long, and ftree's no shorter.
        ours = [record_sets.record(cls.netlist, "portmajor", [LOST]) for _ in range(3)]
        cls.found["portmajor"] = min(ours, key=lambda found: found.sets[-1].acked or math.inf)
        cls.found["ftree"] = record_sets.record(cls.netlist, "ftree", [CHASSIS], tries=1)
        for engine, found in cls.found.items():
            for name, recording in (engine, found), (f"{engine}, floor", found.at_floor()):
                cls.files[name] = cls.folder / f"{name}.sets"
                record_sets.write(recording, cls.files[name])

    def traffic(self, *args, lose=LOST):
        """The output of `portmajor-lab traffic`: a CompletedProcess."""
        return pmlab.run_lab("traffic", self.path, "--fail", lose, *args)

    def recordings(self, *args):
        done = self.traffic("--json", *args)
        self.assertEqual((done.returncode, pmlab.told(done)), (0, ""))
        return json.loads(done.stdout)["recordings"]

    def both(self):
        return self.recordings("--sets", self.files["portmajor"],
                               "--compare", self.files["ftree"])

    def test_ours_is_a_fraction(self):
        """Pairs times seconds: the failure is the same, the repair is not."""
        ours, theirs = self.both()
        self.assertEqual([r["name"].split(",")[0] for r in (ours, theirs)],
                         ["portmajor", "ftree"])
        self.assertEqual(ours["hosts"], 648)
        for r in (ours, theirs):
            self.assertEqual(r["pairs"], 648 * 647)
            self.assertEqual(r["cut"]["before"]["paths"], 0)
            self.assertEqual(r["cut"]["end"]["paths"], 0)
            self.assertGreater(r["cut"]["at_once"]["paths"], 0)
            self.assertEqual(r["unacknowledged"], 0)
        self.assertLess(10 * ours["pair_seconds"], theirs["pair_seconds"])
        self.assertLess(10 * ours["back_ms"]["all"], theirs["back_ms"]["all"])

    def test_floor(self):
        """Nor is it the machine's load: ours beside ftree's SMPs alone, without any wait."""
        ours, theirs = self.both()
        _, floor = self.recordings("--sets", self.files["portmajor"],
                                   "--compare", self.files["ftree, floor"])
        self.assertEqual(floor["name"], theirs["name"] + ", floor")
        for key in ("sets", "differ", "cut"):
            self.assertEqual(floor[key], theirs[key])
        for key in ("first_ms", "last_ms", "pair_seconds"):
            self.assertLess(floor[key], theirs[key])
        smps = self.found["ftree"].smps
        self.assertAlmostEqual(floor["last_ms"], smps / 4 * 0.265, delta=0.05 * floor["last_ms"])
        self.assertLess(5 * ours["pair_seconds"], floor["pair_seconds"])
        alone, = self.recordings("--sets", self.files["portmajor, floor"])
        self.assertLess(100 * alone["pair_seconds"], floor["pair_seconds"])

    def test_every_path_again(self):
        """Followed in Python, from every host to every other, after every Set."""
        for engine, told in zip(self.found, self.both()):
            with self.subTest(engine):
                found = self.found[engine]
                reach = wiretime.Reach(Lost(self.netlist, LOST), found.before,
                                       {guid: name for name, guid in found.before.guids.items()})
                self.assertEqual(reach.cut, told["cut"]["at_once"]["paths"])
                sum_s, last, curve = 0.0, 0, {0: reach.cut}
                for one in sorted(found.sets, key=lambda s: s.arrived):
                    sum_s += reach.cut * (one.arrived - last) / 1e9
                    last = one.arrived
                    reach.write(Written(one))
                    curve[last] = reach.cut
                self.assertAlmostEqual(sum_s, told["pair_seconds"], places=6)
                self.assertEqual(self.changes(curve), told["curve"])

    @staticmethod
    def changes(curve):
        """[ns, paths] at each change."""
        points = []
        for ns, dead in curve.items():
            if not points or points[-1][1] != dead:
                points.append([ns, dead])
        return points

    def test_computed_has_the_same_sets(self):
        """The same as recorded, but earlier by the time to find the failure."""
        path = self.folder / "same.sets"
        computed, = self.recordings("-s", "h0-1", "--write", path)
        recorded, = self.recordings("--sets", self.files["portmajor"])
        sent = self.contents(self.files["portmajor"])
        # A burst of failures that is seen in parts may include others in between.
        self.assertEqual(self.contents(path).items() - sent.items(), set())
        self.assertLessEqual(computed["sets"], recorded["sets"])
        self.assertEqual(computed["cut"]["at_once"], recorded["cut"]["at_once"])
        self.assertLess(computed["last_ms"], recorded["last_ms"])

    @staticmethod
    def contents(path):
        """{(switch, block): entries} of the last Set of each."""
        rows = path.read_text(encoding="ascii").splitlines()
        return {tuple(row.split()[4:6]): row.split()[6] for row in rows
                if row.startswith("set ")}

    def test_written_is_read(self):
        """The computed recording, from a file."""
        path = self.folder / "computed.sets"
        first, = self.recordings("--write", path)
        again, = self.recordings("--sets", path)
        self.assertEqual({**first, "file": str(path)}, again)

    def test_text(self):
        done = self.traffic("--sets", self.files["portmajor"], "--compare", self.files["ftree"])
        self.assertEqual((done.returncode, pmlab.told(done)), (0, ""))
        ours, theirs = self.both()
        for r in (ours, theirs):
            self.assertRegex(done.stdout, rf"(?m)^{r['name']} +{r['sets']} ")
            self.assertIn(f" {r['pair_seconds']:.2f} ", done.stdout)
        self.assertIn("wire model, 265 us an SMP", done.stdout)
        self.assertEqual(self.traffic("-q").stdout, "")

    def refuse(self, message, *args, status=3, **kwargs):
        done = self.traffic(*args, **kwargs)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertIn(message, done.stderr)
        self.assertEqual(pmlab.told(done).count("\n"), 1, done.stderr)

    def test_what_does_not_fit_is_refused(self):
        ours = self.files["portmajor"]
        self.refuse("not all that --fail names fails there", "--sets", ours, lose="s*-*")
        self.refuse('"leaf0"[19] fails there, but not by --fail', "--sets", ours,
                    lose="leaf5:20")
        self.refuse("No such file", "--sets", self.folder / "nothing")
        self.refuse("--engine: no engine \"fluid\"", "--engine", "fluid", status=2)
        self.refuse("--write: with --sets nothing is computed", "--sets", ours, "--write", "x",
                    status=2)
        for option in (("--sm", "h0-1"), ("--mad-us", 265), ("--max-wire-smps", 4)):
            self.refuse("--sm, --mad-us and --max-wire-smps: with --sets nothing is computed",
                        "--sets", ours, *option, status=2)
        other = pmlab.generate(self.folder / "other.net", "director", 72)
        done = pmlab.run_lab("traffic", other, "--fail", LOST, "--sets", ours)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"portmajor\.sets:\d+: .*another fabric\?\n$")
        self.assertEqual(pmlab.run_lab("traffic", self.path).returncode, 2)

    def test_a_set_to_a_switch_that_is_not_there(self):
        path = self.folder / "odd.sets"
        text = self.files["portmajor"].read_text()
        row = text.splitlines()[-1].split()
        row[4] = "0x77"
        path.write_text(text + " ".join(row) + "\n")
        self.refuse(f"{path}:{text.count(chr(10)) + 1}: the fabric has no switch with GUID "
                    "0x0000000000000077", "--sets", path)

    def test_tables_that_no_set_explains(self):
        """A recording without one of the Sets is refused."""
        found = self.found["portmajor"]
        with pmlab.Folder() as folder:
            dump = pathlib.Path(folder) / "dump"
            with pmlab.Fabric(self.netlist) as fabric:
                fabric.dump(dump)
            with self.assertRaisesRegex(simlab.SimError, "no Set explains block"):
                record_sets.check_sets(found.before, pmlab.Dump(dump), found.sets)


class Written:
    """A Set as wiretime.Reach writes it."""

    def __init__(self, one):
        self.guid, self.modifier, self.data = one.guid, one.block, one.entries


if __name__ == "__main__":
    unittest.main()
