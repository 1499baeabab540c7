#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`portmajor check`, `diff`, plan's files and `generate --degrade`, with files of a real opensm."""

import functools
import json
import pathlib
import re
import shutil
import tempfile
import unittest

import clients
import ibdmchk
import labtest
import mgroups
import odd_netlists
import pmlab
import simlab

COMMAND_HELP = ("check", "diff", "plan", "generate")


class Commands(labtest.Folders):
    def run_ok(self, *args, status=0):
        done = pmlab.run_cli(*args)
        self.assertEqual(done.returncode, status, f"{args}: {done.stdout} {done.stderr}")
        return done.stdout

    def check(self, *args, status=0):
        return json.loads(self.run_ok("check", "--json", *args, status=status))

    def kinds(self, result):
        return [finding["kind"] for finding in result["findings"]]


@functools.cache
def dump_director():
    """(folder for Dumped, the subnet manager's host, the failure of a host)"""
    folder = unittest.enterModuleContext(pmlab.Folder())
    netlist = pmlab.generate(folder / "director.net", "director", "36")
    with pmlab.Lab(netlist, args=ibdmchk.OPENSM_ARGS) as lab:
        lab.bring_up()
        for name in ("opensm-lfts.dump", "opensm.fdbs"):
            shutil.copy(lab.osm.path / name, folder)
        host = lab.netlist.hosts[-1]
        for name, argv in (("discovered", ["ibnetdiscover"]), ("fts", ["dump_fts"]),
                           ("fts-all", ["dump_fts", "-a"]), ("fts-no-dests", ["dump_fts", "-n"])):
            text = clients.ask(lab.fabric, host, *argv)
            (folder / name).write_text(text, encoding="utf-8")
        lab.lose("leaf5:20")
        event = lab.event("lose", "h3-3")
        shutil.copy(lab.osm.path / "opensm-lfts.dump", folder / "lost.dump")
        return folder, lab.osm.host, event


class Dumped(Commands):
    """A director with the files of OpenSM and the output of infiniband-diags."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made, cls.manager, cls.event = dump_director()
        shutil.copytree(made, cls.folder, dirs_exist_ok=True)
        cls.netlist = cls.folder / "director.net"
        cls.whole, cls.lost = cls.folder / "opensm-lfts.dump", cls.folder / "lost.dump"

    def table(self, switch):
        """The text of one switch's table."""
        return re.search(rf"^Unicast lids [^\n]*\('{switch}'\):\n.*?lids dumped\n",
                         self.whole.read_text(encoding="utf-8"), re.S | re.M)[0]

    def edit(self, old, new):
        """A copy of OpenSM's dump with a piece of it replaced."""
        text = self.whole.read_text(encoding="utf-8")
        self.assertIn(old, text)
        copy = self.folder / "edited"
        copy.write_text(text.replace(old, new, 1), encoding="utf-8")
        return copy


class Check(Dumped):
    def test_every_format_is_in_order(self):
        for topology, tables in (
                (self.netlist, self.whole), (self.netlist, self.folder / "fts"),
                (self.netlist, self.folder / "fts-all"),
                *((self.folder / "discovered", self.folder / name) for name in
                  ("opensm-lfts.dump", "opensm.fdbs", "fts", "fts-all", "fts-no-dests"))):
            with self.subTest(f"{topology.name} {tables.name}"):
                result = self.check("--conform", "--balance", "1.2", "-s", self.manager, topology,
                                    tables)
                self.assertEqual(result["findings"], [])
                self.assertEqual(result["tables"], 90)
                self.assertEqual(result["end_ports"], 648)
                self.assertEqual(result["ports_with_lid"], 738)
                self.assertEqual(result["paths"]["pairs"], 36 * 738)
                self.assertEqual(result["paths"]["delivered"], 36 * 738)
                self.assertEqual(result["credits"]["length"], 0)
                self.assertEqual(result["credits"]["virtual_lane"], 0)
                self.assertGreater(result["credits"]["dependencies"], 1000)
                self.assertEqual(result["plan"], {"lids_out_of_plan": 0, "entries": 0,
                                                  "blocks": 0, "switches": 0})

    def test_text_and_quiet(self):
        self.assertTrue(self.run_ok("check", self.netlist, self.whole).endswith("\nin order\n"))
        self.assertIn("\ncredit loops: none on virtual lane 0, which all paths take here (",
                      self.run_ok("check", self.netlist, self.whole))
        self.assertIn("\npaths from all switches: ",
                      self.run_ok("check", "--from-all", self.netlist, self.whole))
        self.assertIs(self.check("--from-all", self.netlist, self.whole)["from_all"], True)
        self.assertIs(self.check(self.netlist, self.whole)["from_all"], False)
        self.assertEqual(self.run_ok("check", "-q", self.netlist, self.whole), "")
        out = self.run_ok("check", "-q", self.netlist, self.lost, status=1)
        self.assertEqual(out, 'finding: 1 port with a cable has no LID: "h3-3"[1]\n')

    def test_standard_input(self):
        with open(self.whole, encoding="utf-8") as text:
            done = pmlab.run_cli("check", self.netlist, "-", stdin=text)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_fabric_after_losses(self):
        """Tables after a failure are right for the rest of the fabric, and not for the whole."""
        left = pmlab.without_cables(self.netlist, ["leaf5:20", "h3-3:1"], self.folder / "left.net")
        self.assertEqual(self.check(left, self.lost)["findings"], [])
        planned = self.check("--plan", self.plan_file(), left, self.lost)
        self.assertEqual(planned["findings"], [])
        result = self.check(left, self.whole, status=1)
        self.assertIn("lost", self.kinds(result))
        self.assertIn("unknown-port", self.kinds(result))

    def plan_file(self):
        path = self.folder / "portmajor.plan"
        if not path.exists():
            with pmlab.Lab(self.netlist) as lab:
                lab.bring_up()
                shutil.copy(pmlab.kept(lab.osm.cache_dir, "plan"), path)
        return path

    def test_faults_are_found(self):
        """One entry at a time; LIDs and ports are taken from the file itself."""
        leaf = self.table("leaf0")
        entry = re.search(r"0x[0-9a-f]{4} (\d{3}) # Channel Adapter .*: 'h9-4'\n", leaf)
        for kind, port in (("lost", None), ("misrouted", "001"), ("no-such-port", "037")):
            changed = "" if port is None else entry[0].replace(f" {entry[1]} ", f" {port} ", 1)
            edited = self.edit(leaf, leaf.replace(entry[0], changed))
            result = self.check(self.netlist, edited, status=1)
            self.assertIn(kind, self.kinds(result))
            text = "".join(finding["text"] for finding in result["findings"])
            self.assertIn("leaf0", text)

    def test_loop_is_found_and_is_a_credit_loop(self):
        line, leaf = self.table("s0-line0"), self.table("leaf0")
        # A remote host that leaf0 sends up to s0-line0, which sends it back.
        lid = next(m for m in re.finditer(r"(0x[0-9a-f]{4}) 019 # Channel Adapter", leaf))[1]
        edited = self.edit(line, re.sub(rf"{lid} \d{{3}} ", f"{lid} 001 ", line))
        result = self.check(self.netlist, edited, status=1)
        self.assertIn("loop", self.kinds(result))
        self.assertIn("credit-loop", self.kinds(result))
        self.assertEqual({channel["name"] for channel in result["credits"]["loop"]},
                         {"leaf0", "s0-line0"})

    def test_missing_and_foreign_tables(self):
        leaf = self.table("leaf0")
        result = self.check(self.netlist, self.edit(leaf, ""), status=1)
        self.assertIn("no-table", self.kinds(result))
        edited = self.edit(leaf, re.sub("guid 0x[0-9a-f]+", "guid 0xabc", leaf, count=1))
        result = self.check(self.netlist, edited, status=1)
        self.assertIn("unknown-switch", self.kinds(result))

    def test_manager_is_not_reached(self):
        """Reported with -s only, also for switches without end ports."""
        spine = self.table("s7-fab0")
        entry = re.search(rf"0x[0-9a-f]{{4}} \d{{3}} # .*: '{self.manager}'\n", spine)[0]
        edited = self.edit(spine, spine.replace(entry, ""))
        self.assertNotIn("to the subnet manager", pmlab.run_cli("check", self.netlist, edited).stdout)
        result = self.check("-s", self.manager, self.netlist, edited, status=1)
        found = {finding["kind"]: finding for finding in result["findings"]}
        self.assertGreater(found["sm"]["count"], 0)
        self.assertEqual(result["paths"]["sm"], found["sm"]["count"])
        self.assertIn('from "s7-fab0"', found["sm"]["text"])

    def test_other_lids(self):
        """A LID that two ports have, and one that differs from the tables' file."""
        text = (self.folder / "discovered").read_text(encoding="utf-8")
        first, second = (re.search(rf'(?m)^\[\d+\]\(\w+\).* lid (\d+) lmc 0 "{leaf}"', text)[1]
                         for leaf in ("leaf1", "leaf2"))
        edited = self.folder / "discovered-edited"
        edited.write_text(re.sub(rf" lid {first}\b", f" lid {second}", text), encoding="utf-8")
        result = self.check(edited, self.folder / "fts-no-dests", status=1)
        counts = {finding["kind"]: finding["count"] for finding in result["findings"]}
        self.assertEqual(counts["duplicate-lid"], 1)
        self.assertNotIn("other-lid", counts)
        result = self.check(edited, self.whole, status=1)
        counts = {finding["kind"]: finding["count"] for finding in result["findings"]}
        self.assertEqual((counts["duplicate-lid"], counts["other-lid"]), (1, 1))

    def test_balance(self):
        """A leaf with 17 of 18 up ports, and its effect on the levels above."""
        left = pmlab.without_cables(self.netlist, ["leaf5:20", "h3-3:1"], self.folder / "left.net")
        self.assertEqual(self.check("--balance", "1.2", left, self.lost)["findings"], [])
        result = self.check("--balance", "1.05", left, self.lost, status=1)
        self.assertEqual([(finding["kind"], finding["count"], finding["text"])
                          for finding in result["findings"]], [
            ("balance", 1, f"a cable {load['direction']} between levels {load['level']} and "
             f"{load['level'] + 1} carries {load['maximum'] * load['links'] / load['flows']:.2f} "
             "times the mean, more than 1.05") for load in result["loads"]])
        self.assertEqual([(load["direction"], load["level"]) for load in result["loads"]],
                         [("up", 0), ("down", 0), ("up", 1), ("down", 1)])
        text = self.run_ok("check", left, self.lost)
        for load in result["loads"]:
            self.assertAlmostEqual(load["mean"], load["flows"] / load["links"])
            self.assertAlmostEqual(load["ratio"], load["maximum"] / load["mean"])
            self.assertIn(
                f"\nload {load['direction']} between levels {load['level']} and "
                f"{load['level'] + 1}: {load['links']} links, mean "
                f"{load['flows'] / load['links']:.2f}, minimum {load['minimum']}, "
                f"maximum {load['maximum']} ({load['ratio']:.2f} times the mean)\n", text)

    def test_out_of_plan(self):
        """Tables of another lid_order, and a plan of another fabric."""
        other = self.folder / "leaf-major.lfts"
        self.run_ok("plan", "-q", "-o", "leaf-major", "--lfts", other, self.netlist)
        self.assertEqual(self.check(self.netlist, other)["findings"], [])
        for options in (("--conform",), ("--plan", self.plan_file())):
            result = self.check(*options, self.netlist, other, status=1)
            self.assertIn("lid-out-of-plan", self.kinds(result))
        net = pmlab.generate(self.folder / "other.net", "two-level", 4, 2, 4, 1)
        self.run_ok("plan", "-q", "--lfts", other, net)
        done = pmlab.run_cli("check", "--plan", self.plan_file(), net, other)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("is a plan of another fabric", done.stderr)

    def test_entry_out_of_plan(self):
        """Another up port is as good, but not the planned one."""
        leaf = self.table("leaf0")
        entry = re.search(r"(0x[0-9a-f]{4}) 019 (# Channel Adapter .*\n)", leaf)
        edited = self.edit(leaf, leaf.replace(entry[0], f"{entry[1]} 020 {entry[2]}"))
        result = self.check(self.netlist, edited)
        self.assertEqual(result["findings"], [])
        self.assertEqual(result["plan"], {"lids_out_of_plan": 0, "entries": 1, "blocks": 1,
                                          "switches": 1})
        result = self.check("--conform", self.netlist, edited, status=1)
        self.assertEqual([(finding["kind"], finding["count"]) for finding in result["findings"]],
                         [("entry-out-of-plan", 1)])

    def test_unassigned_lids(self):
        """Entries for empty places are right; others are not, if the plan is known."""
        leaf = self.table("leaf0")
        taken = {int(lid, 16) for lid in re.findall(r"(?m)^(0x\w+) \d", leaf)}
        top = int(re.search(r"lids \[0-(\d+)\]", leaf)[1])
        lid = min(set(range(1, top)) - taken)
        first = re.search(r"(?m)^0x0001.*\n", leaf)[0]
        edited = self.edit(leaf, leaf.replace(first, f"{first}{lid:#06x} 019\n"))
        result = self.check(self.netlist, edited)
        self.assertEqual((result["findings"], result["unassigned_lids"]), ([], 1))
        self.assertEqual((result["first_unassigned"]["lid"], result["first_unassigned"]["name"]),
                         (lid, "leaf0"))
        self.assertIsNone(self.check(self.netlist, self.whole)["first_unassigned"])
        self.assertIn(f'note: entries for 1 LID that no port has now, as of absent '
                      f'parts: no packet is for these; LID {lid} on "leaf0", for one',
                      self.run_ok("check", self.netlist, edited))
        planned = self.check("--plan", self.plan_file(), self.netlist, edited, status=1)
        self.assertEqual(self.kinds(planned), ["unknown-lid"])
        self.assertIn(str(lid), planned["findings"][0]["text"])

    def test_bad_input(self):
        other = self.folder / "other.net"
        other.write_text('switchguid=0xa0\nSwitch 4 "s"\n[1] "h"[1]\n\nHca 1 "h"\n[1] "s"[1]\n',
                         encoding="ascii")
        nobodys = self.folder / "nobodys"
        nobodys.write_text(re.search(r"\A.*\n", self.whole.read_text(encoding="utf-8"))[0]
                           + "0xb000 001\n47104 lids dumped\n", encoding="utf-8")
        cases = (
            (other, self.whole, f"{self.whole}:1: tables of another fabric"),
            (self.netlist, self.folder / "fts-no-dests", "no LIDs: neither"),
            (self.netlist, self.folder / "opensm.fdbs", "no LIDs: neither"),
            (self.netlist, self.netlist, f"{self.netlist}:1: "),
            (self.whole, self.whole, f"{self.whole}:"),
            (self.netlist, "/nonexistent", "/nonexistent: No such file"),
            (self.folder / "discovered", nobodys, f"{nobodys}: tables of another fabric"),
        )
        for topology, tables, message in cases:
            done = pmlab.run_cli("check", topology, tables)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_names_from_a_map(self):
        names = self.folder / "map"
        guid = re.search(r"guid (0x[0-9a-f]+) \('leaf0'\)",
                         self.whole.read_text(encoding="utf-8"))[1]
        names.write_text(f'# names\n0xdead "nobody"\n{guid} "rack 7 \\"top\\""\n', encoding="utf-8")
        leaf = self.table("leaf0")
        edited = self.edit(leaf, "")
        self.assertIn('"rack 7 \\"top\\""', self.run_ok("check", "-q", "--node-name-map", names,
                                                       self.netlist, edited, status=1))
        names.write_text("leaf0\n", encoding="utf-8")
        done = pmlab.run_cli("check", "--node-name-map", names, self.netlist, self.whole)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"{names}:1: ", done.stderr)
        names.write_text(f'# names\n{guid} "\x1b[31m"\n', encoding="utf-8")
        done = pmlab.run_cli("plan", "--node-name-map", names, self.netlist)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn(f"{names}:2: not text: byte 0x1b", done.stderr)
        names.write_bytes(b"# names\n\0")
        done = pmlab.run_cli("plan", "--node-name-map", names, self.netlist)
        self.assertEqual((done.returncode, done.stderr),
                         (3, f"portmajor: {names}: not text: byte 0x00\n"))

    def test_ring_has_a_credit_loop(self):
        with pmlab.Lab(pmlab.TOPOLOGIES / "ring-12.net", engine="minhop",
                       args=ibdmchk.OPENSM_ARGS) as lab:
            lab.bring_up()
            result = self.check(lab.netlist.path, lab.osm.path / "opensm-lfts.dump", status=1)
            judged = ibdmchk.run(lab.osm.path)
        self.assertEqual(self.kinds(result), ["credit-loop"])
        self.assertEqual(result["credits"]["length"], 6)
        self.assertIsNone(result["plan"])
        self.assertIn("not a fat tree", result["no_plan"])
        self.assertNotIn(ibdmchk.CLEAN, judged)


class LastBlock(Commands):
    """dump_fts leaves out the highest LID where that is a multiple of 64."""

    LID, HOST = 64, "h7-6"

    def dump(self, fabric, osm, name):
        """(files of ibnetdiscover, dump_fts and OpenSM): paths"""
        path = self.folder / name
        path.mkdir()
        for tool in ("ibnetdiscover", "dump_fts"):
            text = clients.ask(fabric, fabric.netlist.hosts[0], tool)
            (path / tool).write_text(text, encoding="utf-8")
        shutil.copy(osm.path / "opensm-lfts.dump", path)
        return path / "ibnetdiscover", path / "dump_fts", path / "opensm-lfts.dump"

    def entries(self, path):
        return len(re.findall(f"^0x{self.LID:04x} ", path.read_text(encoding="utf-8"), re.M))

    def test_before_and_after_taking_over(self):
        netlist = simlab.Netlist(pmlab.TOPOLOGIES / "two-level-48.net")
        with pmlab.Fabric(netlist) as fabric:
            fabric.dump(self.folder / "cold.dump")
            guid = pmlab.Dump(self.folder / "cold.dump").guids[self.HOST] + 1
            (self.folder / "guid2lid").write_text(f"0x{guid:016x} 0x{self.LID:04x} "
                                                  f"0x{self.LID:04x}\n\n", encoding="ascii")
            with simlab.OpenSM(fabric, engine="updn", cache_dir=self.folder,
                               args=ibdmchk.OPENSM_ARGS) as osm:
                osm.settle()
                before = self.dump(fabric, osm, "updn")
            with pmlab.Lab(netlist, fabric=fabric, args=ibdmchk.OPENSM_ARGS) as lab:
                lab.bring_up()
                after = self.dump(fabric, lab.osm, "portmajor")
        self.before(*before)
        self.hostile(*before)
        self.after(*after)

    def before(self, found, tables, whole):
        self.assertEqual((self.entries(tables), self.entries(whole)), (0, 12))
        note = f'LID {self.LID} of "{self.HOST}" is not judged: dump_fts leaves out the last LID'
        for topology in (found, pmlab.TOPOLOGIES / "two-level-48.net"):
            result = self.check(topology, tables)
            self.assertEqual(result["findings"], [], topology)
            self.assertEqual(result["ports_with_lid"], 60)
            self.assertEqual(result["paths"]["delivered"], 8 * 59)
            self.assertEqual((result["left_out"]["lid"], result["left_out"]["name"]),
                             (self.LID, self.HOST))
            self.assertIn(note, self.run_ok("check", topology, tables))
        result = self.check(found, whole)
        self.assertEqual((result["findings"], result["left_out"]), ([], None))
        self.assertEqual(result["paths"]["delivered"], 8 * 60)

        self.assertIn(f"LID {self.LID} is not compared: dump_fts left it out of {whole.parent}",
                      self.run_ok("diff", whole, tables))
        self.assertEqual(json.loads(self.run_ok("diff", "--json", tables, whole))["left_out"],
                         {"before": self.LID, "after": 0})
        for engine in ("packet", "flit"):
            done = pmlab.run_lab("traffic", "--engine", engine, "--lfts", tables, found)
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn(f'no entry for LID {self.LID} of "{self.HOST}"', done.stderr)

    def hostile(self, found, tables, whole):
        """No terminal obeys the name of the host, or of the file."""
        renamed = []
        for path in (found, tables):
            renamed.append(path.with_name(f"{path.name}\u009b1m"))
            renamed[-1].write_text(path.read_text("utf-8").replace(self.HOST, "h\u009b1m"), "utf-8")
        self.assertIn(f'LID {self.LID} of "h?1m" is not judged', self.run_ok("check", *renamed))
        self.assertIn(f"dump_fts left it out of {tables}?1m, as",
                      self.run_ok("diff", whole, renamed[1]))

    def after(self, found, tables, whole):
        """Tables of a plan do not end with such a LID."""
        self.assertEqual((self.entries(tables), self.entries(whole)), (12, 12))
        result = self.check(found, tables)
        self.assertEqual((result["findings"], result["left_out"]), ([], None))
        self.assertEqual(result["paths"]["delivered"], 8 * 60)


class Multicast(Commands):
    """Groups of a two-level fabric, as in a real opensm's dumps and dump_mfts; ibdmchk judges the
    same dumps."""

    GROUPS = {2: "h0-1 h3-2 h5-1", 3: "h0-1 h1-1 h2-1 h3-1 h4-1 h5-1", 4: "h1-2 h1-3"}
    # Two trees, 0xc020 and 0xc021, that go down and up again: with unicast paths they close
    # a loop. Leaves are switches 0 to 5, with spines at ports 5 and up.
    ODD = {0: ((1, 5), (1, 5)), 1: ((1, 6), (5, 6)), 2: ((5, 6), (1, 6)),
           6: ((1, 3), (1, 2)), 7: ((2, 3), (2, 3))}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = pmlab.generate(cls.folder / "net", "two-level", 6, 4, 4, 1)
        with pmlab.Lab(cls.netlist, args=ibdmchk.OPENSM_ARGS) as lab:
            lab.bring_up()
            members = mgroups.Members(lab)
            for number, hosts in cls.GROUPS.items():
                for host in hosts.split():
                    members.join(number, host)
            lab.osm.settle(lab.osm.mark(), sweep=False)
            mark = lab.osm.mark()
            lab.osm.hup()
            lab.osm.settle(mark)
            for name in ("opensm-lfts.dump", *ibdmchk.FILES):
                shutil.copy(lab.osm.path / name, cls.folder)
            cls.groups = members.write(cls.folder / "groups")
            cls.read = cls.folder / "mfts"
            cls.read.write_text(clients.ask(lab.fabric, "h5-4", "dump_mfts"), encoding="utf-8")
        cls.dump = cls.folder / "opensm.mcfdbs"
        cls.mlids = {number: members.mlid[number] for number in cls.GROUPS}

    def judge(self, mfts, *args, status=0):
        return self.check("--mfts", mfts, *args, self.netlist, self.folder / "opensm-lfts.dump",
                          status=status)

    def judged_by_ibdmchk(self, text):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for name in ibdmchk.FILES[:2]:
            shutil.copy(self.folder / name, folder)
        (folder / ibdmchk.FILES[2]).write_text(text, encoding="ascii")
        return ibdmchk.run(folder)

    def edit(self, edit):
        """The dump's {switch: {MLID: ports}} changed, judged by both."""
        tables, rows = {}, None
        for line in self.dump.read_text(encoding="ascii").splitlines():
            if line.startswith("Switch"):
                rows = tables.setdefault(int(line.split()[1], 16), {})
            elif line.startswith("0x"):
                mlid, ports = line.split(":")
                rows[int(mlid, 16)] = {int(port, 16) for port in ports.split()}
        edit(tables)
        text = "".join(
            f"\nSwitch {switch:#018x}\nLID    : Out Port(s)\n" + "".join(
                f"0x{mlid:04X} :" + "".join(f" 0x{port:03X} " for port in sorted(ports)) + "\n"
                for mlid, ports in rows.items())
            for switch, rows in tables.items())
        edited = self.folder / "edited"
        edited.write_text(text, encoding="ascii")
        return edited, self.judged_by_ibdmchk(text)

    def test_in_order(self):
        for mfts in (self.dump, self.read):
            for args in ((), ("--groups", self.groups)):
                with self.subTest(f"{mfts.name} {args}"):
                    result = self.judge(mfts, *args)
                    self.assertEqual(result["findings"], [])
                    self.assertEqual(result["multicast"], {
                        "groups": 3, "members": 11, "pairs": 6 + 30 + 2,
                        "delivered": 6 + 30 + 2, "loops": 0, "second_copies": 0, "missed": 0,
                        "strangers": 0, "nowhere": 0, "unused": 0})
        text = self.judged_by_ibdmchk(self.dump.read_text(encoding="ascii"))
        self.assertIn(ibdmchk.CLEAN, text)
        self.assertIn("MFT added", text)
        self.assertNotIn("-E-", text)
        self.assertIn("multicast: 3 groups with 11 members; 38 of 38 pairs of members connected; "
                      "0 entries of no group\n",
                      self.run_ok("check", "--mfts", self.dump, self.netlist,
                                  self.folder / "opensm-lfts.dump"))

    def test_without(self):
        result = self.check(self.netlist, self.folder / "opensm-lfts.dump")
        self.assertIsNone(result["multicast"])

    def test_one_direction(self):
        """Packets of h3-1 do not get beyond its leaf."""
        def cut(tables):
            tables[0x200003][self.mlids[3]] = {1}

        edited, text = self.edit(cut)
        result = self.judge(edited, status=1)
        self.assertEqual(self.kinds(result), ["multicast-missed"])
        self.assertEqual(result["findings"][0]["count"], 5)
        self.assertRegex(text, "-E-.*(ulticast|HCA|MFT|group)")

    def test_a_loop(self):
        def close(tables):
            for leaf in (0, 1):
                tables[0x200000 + leaf][self.mlids[3]] |= {5, 6}
            for spine in (6, 7):
                tables.setdefault(0x200000 + spine, {}).setdefault(
                    self.mlids[3], set()).update({1, 2})

        edited, text = self.edit(close)
        result = self.judge(edited, status=1)
        self.assertIn("multicast-loop", self.kinds(result))
        self.assertIn("multicast-twice", self.kinds(result))
        self.assertIn("-E-", text)

    def test_credit_loop_of_both(self):
        def add(tables):
            for switch, rows in self.ODD.items():
                for mlid, ports in zip((0xC020, 0xC021), rows):
                    tables.setdefault(0x200000 + switch, {})[mlid] = set(ports)

        edited, text = self.edit(add)
        result = self.judge(edited, status=1)
        self.assertEqual(self.kinds(result), ["credit-loop"])
        self.assertTrue(result["credits"]["multicast"])
        self.assertIn("of unicast and multicast together", result["findings"][0]["text"])
        self.assertNotIn(ibdmchk.CLEAN, text)
        told = set(re.findall(r"credit loop (?:on|through): S(\w+)/U1/P(\d+)", text))
        self.assertLessEqual({(channel["guid"].removeprefix("0x"), str(channel["port"]))
                              for channel in result["credits"]["loop"]}, told)

    def test_groups_that_are_others(self):
        """Members are those of the list, even if entries differ."""
        text = self.groups.read_text(encoding="ascii").replace("h5-1", "h5-2", 1)
        other = self.folder / "others"
        other.write_text(text, encoding="ascii")
        self.assertEqual(self.kinds(self.judge(self.dump, "--groups", other, status=1)),
                         ["multicast-missed", "multicast-stranger"])
        other.write_text("# none\n", encoding="ascii")
        done = pmlab.run_cli("check", "--mfts", self.dump, "--groups", other, self.netlist,
                             self.folder / "opensm-lfts.dump")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("no groups in it", done.stderr)

    def test_bad_input(self):
        lfts = self.folder / "opensm-lfts.dump"
        for status, args, message in (
                (2, ("--groups", self.groups), "--groups needs --mfts"),
                (3, ("--mfts", lfts), ":1: \"Unicast lids"),
                (3, ("--mfts", self.folder / "nothing"), "nothing")):
            done = pmlab.run_cli("check", *args, self.netlist, lfts)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertIn(message, done.stderr)


class Diff(Dumped):
    def diff(self, *args, status=1):
        return json.loads(self.run_ok("diff", "--json", *args, status=status))

    def test_formats_agree(self):
        for name in ("opensm.fdbs", "fts", "fts-all", "fts-no-dests"):
            with self.subTest(name):
                result = self.diff(self.whole, self.folder / name, status=0)
                self.assertEqual(result["mads"], {"all": 0, "new_switches": 0})
                self.assertEqual(result["ports"], [])

    def test_failures(self):
        """A cable's failure costs as many Sets on the wire as whatif predicts."""
        left = pmlab.without_cables(self.netlist, ["leaf5:20"], self.folder / "left.net")
        foretold = pmlab.whatif(self.netlist, "leaf5:20")
        planned = self.diff(self.netlist, left)
        self.assertEqual(planned["mads"]["all"], foretold.blocks)
        self.assertEqual(planned["tables"]["entries"], foretold.entries)
        self.assertEqual(planned["tables"]["least"], foretold.least)
        self.assertEqual(planned["topology"]["links_gone"], 1)
        self.assertEqual(len(planned["switches"]), foretold.switches)
        # The dumps: the host's entries stay in the switches, its LID has no owner.
        dumped = self.diff(self.whole, self.lost)
        self.assertEqual(dumped["mads"]["all"], foretold.blocks)
        self.assertEqual(dumped["lids"], {"other_owner": 0, "gone": 1, "new": 0})
        out = self.run_ok("diff", "-l", self.whole, self.lost, status=1)
        self.assertIn("\"leaf5\": ", out)
        self.assertIn("LID 0, before ", out)
        self.assertEqual(self.run_ok("diff", "-q", self.whole, self.lost, status=1), "")

    def test_cables(self):
        """Missing, additional and swapped cables have names, whatever the nodes' GUIDs are."""
        swapped = pmlab.swap_cables(self.netlist, "leaf0:20", "leaf5:25", self.folder / "swap.net")
        left = pmlab.without_cables(swapped, ["leaf7:22"], self.folder / "less.net")
        out = self.run_ok("diff", "--cables", self.netlist, left, status=1)
        self.assertRegex(out, r"^cables: missing 1, additional 0, swapped 2\n"
                              r"cable missing: leaf7\[22\]-s3-line0\[8\]\n"
                              r"cable swapped: leaf0\[20\] leads to s6-line0\[6\], "
                              r"not s1-line0\[1\]\n"
                              r"cable swapped: leaf5\[25\] leads to s1-line0\[1\], "
                              r"not s6-line0\[6\]\n$")
        other = self.folder / "other.net"
        other.write_text(self.netlist.read_text(encoding="utf-8").replace("guid=0x", "guid=0xf"),
                         encoding="utf-8")
        self.assertEqual(self.run_ok("diff", "--cables", other, left, status=1), out)
        cables = self.diff(left, self.netlist)["cables"]
        self.assertEqual([[end["name"] for end in cable["ends"]] for cable in
                          cables["additional"]], [["leaf7", "s3-line0"]])
        self.assertEqual(len({cable["swap"] for cable in cables["swapped"]}), 1)
        self.assertEqual(self.run_ok("diff", "--cables", left, left, status=0),
                         "cables: missing 0, additional 0, swapped 0\n")
        self.run_ok("diff", "--cables", self.whole, self.lost, status=2)

    def test_an_entry_less(self):
        """In tables it is a difference, although no switch needs a Set for it."""
        line = re.search(r"0x\w+ \d+ # .*: 'h9-4'\n", self.table("leaf0"))[0]
        edited = self.edit(self.table("leaf0"), self.table("leaf0").replace(line, ""))
        for args in ((self.whole, edited), (edited, self.whole)):
            result = self.diff(*args)
            self.assertEqual((result["tables"]["entries"], result["mads"]["all"]), (1, 1))
            self.assertEqual([(switch["name"], switch["entries"], switch["blocks"])
                              for switch in result["switches"]], [("leaf0", 1, 1)])

    def test_itself(self):
        for path in (self.whole, self.netlist, self.folder / "discovered"):
            self.diff(path, path, status=0)

    def test_lids_of_the_files(self):
        """Two hosts with each other's LID: topologies keep their LIDs."""
        path = self.folder / "discovered"
        text = path.read_text(encoding="utf-8")
        a, b = (re.search(rf'(?m)^\[1\]\((\w+)\).* lid (\d+) lmc 0 "{leaf}"', text)
                for leaf in ("leaf1", "leaf2"))
        swapped = self.folder / "swapped"
        swapped.write_text(re.sub(r" lid (\d+)\b", lambda lid: " lid " + {
            a[2]: b[2], b[2]: a[2]}.get(lid[1], lid[1]), text), encoding="utf-8")
        result = self.diff(path, swapped)
        self.assertEqual(result["lids"], {"other_owner": 2, "gone": 0, "new": 0})
        self.assertEqual(sorted((int(port["guid"], 16), port["before"], port["after"])
                                for port in result["ports"]),
                         sorted((int(one[1], 16), int(one[2]), int(other[2]))
                                for one, other in ((a, b), (b, a))))
        back = self.diff(swapped, path)
        self.assertEqual(back["mads"], result["mads"])
        self.assertGreater(result["mads"]["all"], 0)
        self.diff(swapped, swapped, status=0)

    def test_new_switch(self):
        lost = pmlab.without_cables(
            self.netlist, [f"s3-fab0:{port}" for port in range(1, 37)], self.folder / "left.net")
        result = self.diff(self.netlist, lost)
        self.assertEqual(result["topology"]["switches_gone"], 1)
        self.assertEqual(result["topology"]["links_gone"], 36)
        self.assertEqual(result["tables"]["switches_gone"], 1)
        # As in ibnetdiscover's output: it is not there at all.
        whole = self.folder / "discovered"
        text = whole.read_text(encoding="utf-8")
        record = re.search(r'(?m)^Switch\s+\d+ ("S-\w+")\s+# "s3-fab0"', text)[1]
        lost.write_text("\n\n".join(
            re.sub(rf'(?m)^\[\d+\]\s+{record}.*\n?', "", node) for node in text.split("\n\n")
            if not re.search(rf"(?m)^Switch\s+\d+ {record}", node)), encoding="utf-8")
        result = self.diff(whole, lost)
        self.assertEqual({key: count for key, count in result["topology"].items() if count},
                         {"switches_gone": 1, "links_gone": 36})
        self.assertEqual(result["tables"]["switches_gone"], 1)
        self.assertEqual([(port["name"], port["after"]) for port in result["ports"]],
                         [("s3-fab0", 0)])
        out = self.run_ok("diff", "-l", whole, lost, status=1)
        self.assertRegex(out, r'(?m)^switch 0x\w+ "s3-fab0": gone$')
        self.assertIn("\ntables: switches gone 1, new 0; ", out)
        # It returns: a whole table for it, and the changes in the others.
        result = self.diff(lost, whole)
        self.assertEqual({key: count for key, count in result["topology"].items() if count},
                         {"switches_new": 1, "links_new": 36})
        self.assertEqual(result["tables"]["switches_new"], 1)
        self.assertGreater(result["mads"]["new_switches"], 0)
        self.assertEqual(result["mads"]["all"],
                         result["mads"]["new_switches"] + result["tables"]["blocks"])
        out = self.run_ok("diff", "-l", lost, whole, status=1)
        self.assertRegex(out, r'(?m)^switch 0x\w+ "s3-fab0": new$')

    def test_only_a_table_is_gone(self):
        """That is a difference, too."""
        edited = self.edit(self.table("s3-fab0"), "")
        result = self.diff(self.whole, edited)
        self.assertEqual((result["tables"]["switches_gone"], result["tables"]["entries"]), (1, 0))

    def test_only_a_host_is_gone(self):
        left = pmlab.without_cables(self.netlist, ["h3-3:1"], self.folder / "left.net")
        for args, counts in (((self.netlist, left), {"end_nodes_gone": 1, "links_gone": 1}),
                             ((left, self.netlist), {"end_nodes_new": 1, "links_new": 1})):
            result = self.diff(*args)
            self.assertEqual({key: count for key, count in result["topology"].items() if count},
                             counts)
            port, = result["ports"]
            self.assertEqual((port["name"], port["before"] > 0, port["after"] > 0),
                             ("h3-3", args[0] == self.netlist, args[1] == self.netlist))

    def test_a_topology_and_tables(self):
        done = pmlab.run_cli("diff", self.netlist, self.whole)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is a topology", done.stderr)


class Made(Commands):
    """Tables written by plan, for fabrics of several kinds; no OpenSM is needed."""

    def make(self, *args):
        """(netlist, tables)"""
        net = pmlab.generate(self.folder / "made.net", "two-level", 4, 2, 3, 1)
        return net, self.tables(net, *args)

    def tables(self, net, *args, status=0):
        """The planned ones; status 1: some pairs have no path."""
        path = self.folder / "made.lfts"
        done = pmlab.run_cli("plan", "-q", *args, "--lfts", path, "--guid2lid",
                             self.folder / "guid2lid", net)
        self.assertEqual(done.returncode, status, done.stderr)
        return path

    def test_lmc(self):
        """Hosts have four LIDs each, switches one."""
        net, tables = self.make("-m", "2")
        for options in ((), ("-m", "2")):
            result = self.check("--conform", *options, net, tables)
            self.assertEqual(result["findings"], [])
            self.assertEqual((result["unassigned_lids"], result["ports_with_lid"]), (0, 12 + 6))
            self.assertEqual(result["paths"]["delivered"], 4 * (12 * 4 + 6))
        # With another LMC the plan is another one.
        self.assertIn("lid-out-of-plan", self.kinds(
            self.check("--conform", "-m", "0", net, tables, status=1)))
        lids = re.findall(r"(0x\w+) (0x\w+) (0x\w+)\n",
                          (self.folder / "guid2lid").read_text(encoding="ascii"))
        owners = {}
        for lid, guid in re.findall(r"(?m)^(0x\w+) .* portguid (0x\w+):", tables.read_text()):
            owners.setdefault(guid, set()).add(int(lid, 16))
        self.assertEqual({guid: set(range(int(low, 16), int(high, 16) + 1))
                          for guid, low, high in lids}, owners)
        self.assertEqual(sorted(map(len, owners.values())), [1] * 6 + [4] * 12)

    def test_lmc_one_lid_is_lost(self):
        net, tables = self.make("-m", "1")
        text = tables.read_text()
        entry = re.findall(r"(?m)^0x\w+ \d+ # .*: 'h3-2'\n", text)[1]
        tables.write_text(text.replace(entry, "", 1))
        result = self.check(net, tables, status=1)
        self.assertEqual([(finding["kind"], finding["count"]) for finding in result["findings"]],
                         [("lost", 1)])

    def test_switch_without_cables(self):
        """It can have neither LID nor table, which is no fault."""
        net = pmlab.generate(self.folder / "whole.net", "two-level", 4, 2, 3, 1)
        left = pmlab.without_cables(net, [f"spine1:{port}" for port in range(1, 5)],
                                    self.folder / "left.net")
        tables = self.tables(left)
        self.assertNotIn("spine1", tables.read_text())
        result = self.check("--conform", left, tables)
        self.assertEqual((result["findings"], result["tables"]), ([], 5))
        # With its cables both are missing.
        self.assertEqual({"no-table", "no-lid"} - set(self.kinds(
            self.check(net, tables, status=1))), set())

    def test_manager(self):
        """The subnet manager may be on a switch, or on a host's second port."""
        net = pmlab.generate(self.folder / "ports.net", "two-level", 4, 2, 3, 1)
        text = net.read_text(encoding="ascii")
        for old, new in (('"h2-3"[1]', '"h2-3"[2]'),
                         ('1 "h2-3"\n[1]', '2 "h2-3"\n[2]')):
            self.assertEqual(text.count(old), 1)
            text = text.replace(old, new)
        net.write_text(text, encoding="ascii")
        tables = self.tables(net)
        text = tables.read_text()
        for manager in ("leaf1", "h2-3"):
            with self.subTest(manager):
                tables.write_text(text)
                self.assertEqual(self.check("-s", manager, net, tables)["findings"], [])
                spine = re.search(r"(?ms)^Unicast lids [^\n]*'spine0'.*", text)[0]
                tables.write_text(text.replace(
                    spine, re.sub(rf"(?m)^.*: '{manager}'\n", "", spine, count=1)))
                self.assertIn("sm", self.kinds(
                    self.check("-s", manager, net, tables, status=1)))
        self.assertEqual(pmlab.run_cli("check", "-s", "nobody", net, tables).returncode, 2)
        # On a spine: the others send to it down and up again.
        tables = self.tables(net, "-s", "spine1")
        result = self.check("--conform", "-s", "spine1", net, tables)
        self.assertEqual((result["findings"], result["paths"]["sm"]), ([], 0))
        self.assertIn("sm", self.kinds(
            self.check("-s", "spine1", net, self.tables(net), status=1)))

    def test_aggregation_nodes(self):
        """Pairs of them without entries are counted, and are a finding with connect_roots."""
        net = pmlab.generate(self.folder / "nodes.net", "--aggregation-nodes",
                             "two-level", 3, 2, 3, 1)
        done = pmlab.run_cli("plan", "-q", "--connect_roots", "--lfts", self.folder / "all", net)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = self.check("--connect_roots", net, self.folder / "all")
        self.assertEqual((result["paths"]["aggregation"], result["findings"]), (0, []))
        tables = self.tables(net)
        paths = self.check(net, tables)["paths"]
        self.assertEqual((paths["unreachable"], paths["aggregation"]), (2, 2))
        result = self.check("--connect_roots", net, tables, status=1)
        self.assertEqual([(finding["kind"], finding["count"]) for finding in result["findings"]],
                         [("unreachable", 2)])

    def test_leaf_apart(self):
        """Cut off, it is no fault; joined by a cable beside the tree, its hosts are reported."""
        net = pmlab.generate(self.folder / "whole.net", "two-level", 4, 2, 3, 1)
        left = pmlab.without_cables(net, ["leaf0:4", "leaf0:5"], self.folder / "left.net")
        tables = self.tables(left, status=1)
        # 3 hosts and a switch's LID from 3 leaves, and all others' from this one.
        cut = 3 * (3 + 1) + 9 + 3 + 2
        result = self.check(left, tables)
        self.assertEqual((result["paths"]["cut"], result["paths"]["unreachable"]), (cut, 0))
        text = left.read_text(encoding="ascii")
        for leaf, other in (("leaf0", '[4]\t"leaf1"[6]'), ("leaf1", '[6]\t"leaf0"[4]')):
            head = f'Switch\t5 "{leaf}"\n'
            self.assertEqual(text.count(head), 1)
            text = text.replace(head, f'Switch\t6 "{leaf}"\n{other}\n')
        left.write_text(text, encoding="ascii")
        # By the levels of the whole tree; by its own leaf0 is an edge switch below leaf1.
        result = self.check("--whole", net, left, tables, status=1)
        self.assertEqual((result["paths"]["cut"], result["paths"]["unreachable"]), (cut, 9 + 9))
        self.assertEqual([(finding["kind"], finding["count"]) for finding in result["findings"]],
                         [("unreachable", 18)])

    def test_manager_for_ibdmchk(self):
        net, _ = self.make()
        for manager, kind in (("h0-1", "CA"), ("spine0", "SW")):
            folder = self.folder / manager
            self.run_ok("plan", "-q", "-s", manager, "--ibdmchk", folder, net)
            marked = re.findall(r"\{ (\w+)-SM [^{}]*\{([^{}]*)\}",
                                (folder / "opensm-subnet.lst").read_text(encoding="ascii"))
            self.assertEqual(set(marked), {(kind, manager)})

    def test_diff_of_cables(self):
        """A cable beside the tree changes no entry; a switch without cables is left out."""
        net, _ = self.make()
        text = net.read_text(encoding="ascii")
        for one, other in ((0, 1), (1, 0)):
            head = f'Switch\t5 "leaf{one}"\n'
            self.assertEqual(text.count(head), 1)
            text = text.replace(head, f'Switch\t6 "leaf{one}"\n[6]\t"leaf{other}"[6]\n')
        more = self.folder / "more.net"
        more.write_text(text, encoding="ascii")
        for old, new, member in ((net, more, "links_new"), (more, net, "links_gone")):
            result = json.loads(self.run_ok("diff", "--json", old, new, status=1))
            self.assertEqual({key: count for key, count in result["topology"].items() if count},
                             {member: 1})
            self.assertEqual(result["mads"]["all"], 0)
        left = pmlab.without_cables(net, [f"spine1:{port}" for port in range(1, 5)],
                                    self.folder / "left.net")
        text = left.read_text(encoding="ascii")
        without = self.folder / "without.net"
        without.write_text(text.replace('Switch\t4 "spine1"\n', ""), encoding="ascii")
        self.assertNotEqual(without.read_text(encoding="ascii"), text)
        for old, new in ((left, without), (without, left)):
            result = json.loads(self.run_ok("diff", "--json", old, new))
            self.assertEqual(set(result["topology"].values()), {0})
            # It returns with a whole table.
            result = json.loads(self.run_ok("diff", "--json", old, net, status=1))
            self.assertEqual(result["tables"]["switches_new"], 1)
            self.assertGreater(result["mads"]["new_switches"], 0)

    def test_diff_of_another_lmc(self):
        """Every port is reported once, with its lowest LIDs."""
        _, one = self.make("-m", "1")
        other = self.folder / "other.lfts"
        other.write_text(one.read_text())
        _, two = self.make("-m", "2")
        result = json.loads(self.run_ok("diff", "--json", other, two, status=1))
        lowest = []
        for path in (other, two):
            lids = {}
            for lid, guid in re.findall(r"(?m)^(0x\w+) .* portguid (0x\w+):", path.read_text()):
                lids[guid] = min(int(lid, 16), lids.get(guid, 65536))
            lowest.append(lids)
        self.assertEqual({port["guid"]: (port["before"], port["after"])
                          for port in result["ports"]},
                         {guid: (lowest[0][guid], lowest[1][guid]) for guid in lowest[0]
                          if lowest[0][guid] != lowest[1][guid]})


class PlanFiles(Dumped):
    """The files of plan agree with OpenSM with the plugin, and can be loaded."""

    def write(self, netlist, *args):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.assertEqual(self.run_ok("plan", "-q", *args, "--guid2lid", folder / "guid2lid",
                                     "--lfts", folder / "lfts", "--ibdmchk", folder, netlist), "")
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         sorted(["guid2lid", "lfts", *ibdmchk.FILES]))
        return folder

    def test_same_as_opensm(self):
        folder = self.write(self.netlist)
        self.assertEqual((folder / "lfts").read_text(), self.whole.read_text())
        self.assertEqual((folder / "opensm.fdbs").read_text(),
                         (self.folder / "opensm.fdbs").read_text())

    def test_a_plan_is_written_anew(self):
        folder = self.write(self.netlist)
        target = folder / "lfts"
        target.write_text("old", encoding="ascii")
        self.run_ok("plan", "-q", "--lfts", target, self.netlist)
        self.assertEqual(target.read_text(), self.whole.read_text())
        done = pmlab.run_cli("plan", "--lfts", self.folder / "no" / "lfts", self.netlist)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout, "")

    def load(self, netlist, folder, conf=(), cache_dir=None):
        """OpenSM's dump after loading the tables; it has no other source."""
        with pmlab.Fabric(simlab.Netlist(netlist)) as fabric, \
                simlab.OpenSM(fabric, engine="file", conf=conf, cache_dir=cache_dir,
                              args=[*ibdmchk.OPENSM_ARGS, "-U", str(folder / "lfts")]) as osm:
            osm.settle()
            dump = folder / "loaded.dump"
            shutil.copy(osm.path / "opensm-lfts.dump", dump)
            return dump

    def test_opensm_loads_it_with_its_lids(self):
        netlist = pmlab.TOPOLOGIES / "two-level-48.net"
        folder = self.write(netlist)
        dump = self.load(netlist, folder, {"honor_guid2lid_file": "TRUE"}, folder)
        self.assertEqual(dump.read_text(), (folder / "lfts").read_text())
        self.assertEqual(self.check("--conform", netlist, dump)["findings"], [])

    def test_opensm_loads_it_with_other_lids(self):
        netlist = pmlab.TOPOLOGIES / "two-level-48.net"
        folder = self.write(netlist)
        dump = self.load(netlist, folder)
        self.run_ok("diff", "-q", dump, folder / "lfts", status=1)
        result = self.check(netlist, dump)
        self.assertEqual(result["findings"], [])
        self.assertGreater(result["plan"]["lids_out_of_plan"], 0)
        self.assertEqual(self.kinds(self.check("--conform", netlist, dump, status=1))[0],
                         "lid-out-of-plan")

    def test_names_as_in_production(self):
        """Blanks, braces and quotes in names, and many nodes of one name."""
        text = re.sub(r'"h(\d+)-\d+"', r'"rack \1 {HCA-1} "b" #2"',
                      (self.folder / "discovered").read_text(encoding="utf-8"))
        path = self.folder / "production"
        path.write_text(text, encoding="utf-8")
        folder = self.write(path)
        # A brace would end ibdmchk's.
        self.assertIn('{rack 3 ?HCA-1? "b" #2} ', (folder / ibdmchk.FILES[0]).read_text())
        text = ibdmchk.run(folder)
        self.assertIn(ibdmchk.CLEAN, text)
        self.assertNotIn("-E-", text)
        self.assertEqual(self.check("--conform", path, folder / "lfts")["findings"], [])
        with open(path, encoding="utf-8") as stdin:
            done = pmlab.run_cli("plan", "--json", "-", stdin=stdin)
        self.assertEqual(json.loads(done.stdout)["switches"], 90)

    def test_odd_fabrics(self):
        """Adapters of several ports, routers, end nodes on spines, missing cables."""
        for make in (odd_netlists.several_ports, odd_netlists.routers,
                     odd_netlists.uneven_three_levels):
            with self.subTest(make.__name__):
                path = make().write(self.folder / f"{make.__name__}.net")
                folder = self.write(path)
                self.assertEqual(self.check("--conform", path, folder / "lfts")["findings"], [])
                text = ibdmchk.run(folder)
                self.assertIn(ibdmchk.CLEAN, text)
                self.assertNotIn("-E-", text)

    def test_ibdmchk_verifies_it(self):
        for name, netlist, args in (
                ("director", self.netlist, ()),
                ("leaf-major", self.netlist, ("-o", "leaf-major")),
                ("with a manager", self.netlist, ("-s", "h0-1")),
                ("three levels", pmlab.TOPOLOGIES / "xgft-64.net", ())):
            with self.subTest(name):
                text = ibdmchk.run(self.write(netlist, *args))
                self.assertIn(ibdmchk.CLEAN, text)
                self.assertNotIn("-E-", text)

    def test_ibdmchk_sees_faults(self):
        """ibdmchk finds real faults."""
        folder = self.write(self.netlist)
        fdbs = folder / "opensm.fdbs"
        # Packets for a host of the first leaf go to its neighbour.
        fdbs.write_text(fdbs.read_text().replace(" : 001  : 01 ", " : 002  : 01 ", 1),
                        encoding="ascii")
        self.assertIn("-E-", ibdmchk.run(folder))

    def test_json(self):
        result = json.loads(self.run_ok("plan", "--json", "-l", self.netlist))
        self.assertEqual(result["schema"], "portmajor-plan")
        self.assertEqual((result["switches"], result["leaves"], result["blocks"]), (90, 36, 18))
        owners = {int(lid, 16): int(guid, 16) for lid, guid in re.findall(
            r"^(0x[0-9a-f]{4}) .* portguid (0x[0-9a-f]+)", self.whole.read_text(), re.M)}
        planned = {place["lid"]: int(place["guid"], 16) for place in result["lids"]
                   if place["guid"]}
        self.assertEqual(planned, owners)


class Degraded(labtest.Folders):
    def generate(self, *args):
        done = pmlab.run_cli("generate", "director", "36", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_seed(self):
        what = ("--degrade", "links=3%,switches=1,hosts=5")
        self.assertEqual(self.generate(*what, "--seed", "4"), self.generate(*what, "--seed", "4"))
        self.assertNotEqual(self.generate(*what, "--seed", "4"), self.generate(*what, "--seed", "5"))
        self.assertEqual(self.generate(*what), self.generate(*what, "--seed", "1"))

    def test_json(self):
        """Omissions are named, and the netlist is the printed one."""
        args = ("--degrade", "links=3,switches=1,hosts=5", "--seed", "4")
        done = pmlab.run_cli("generate", "director", "36", *args, "--json")
        made = json.loads(done.stdout)
        self.assertEqual((done.returncode, made["schema"], made["seed"]),
                         (0, "portmajor-generate", 4))
        self.assertEqual(made["netlist"], self.generate(*args))
        out = made["left_out"]
        self.assertEqual((len(out["switches"]), len(out["links"])), (1, 3))
        whole, left = (set(re.findall(r'^(?:Switch|Hca)\s+\d+ "(\S+)"', text, re.M))
                       for text in (self.generate(), made["netlist"]))
        self.assertEqual({node["name"] for node in out["switches"] + out["hosts"]}, whole - left)
        for link in out["links"]:
            self.assertRegex(link["name"], r"^\S+\[\d+\]-\S+\[\d+\]$")
        self.assertIn(f"{len(out['hosts'])} hosts, 3 other cables", done.stderr)
        self.assertEqual(pmlab.run_cli("generate", "director", "36", *args, "-q").stderr, "")

    def test_json_of_a_whole_one(self):
        """There are no omissions, and no message about any."""
        done = pmlab.run_cli("generate", "director", "36", "--json")
        made = json.loads(done.stdout)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(made["left_out"], {"switches": [], "hosts": [], "links": []})
        path = self.folder / "whole.net"
        path.write_text(made["netlist"], encoding="ascii")
        again = self.folder / "again.net"
        again.write_text(self.generate(), encoding="ascii")
        done = pmlab.run_cli("diff", path, again)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_plan_check_and_ibsim(self):
        path = self.folder / "degraded.net"
        path.write_text(self.generate("--degrade", "links=3%,switches=2,hosts=5", "--seed", "7"),
                        encoding="ascii")
        with pmlab.Lab(path, args=ibdmchk.OPENSM_ARGS) as lab:
            lab.bring_up()
            tables = lab.osm.path / "opensm-lfts.dump"
            done = pmlab.run_cli("check", "--conform", "-s", lab.osm.host, path, tables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_refused(self):
        for args in (("--degrade", "cables=1"), ("--degrade", "switches=91"), ("--seed", "x"),
                     ("--degrade", "links=101%")):
            done = pmlab.run_cli("generate", "director", "36", *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)


class Help(unittest.TestCase):
    def test_help(self):
        for command in COMMAND_HELP:
            done = pmlab.run_cli(command, "-h")
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertTrue(done.stdout.startswith(f"usage: portmajor {command} "), command)

    def test_usage(self):
        for args in (("check",), ("check", "--balance", "0", "a", "b"),
                     ("diff", "a"), ("diff", "--nonsense"), ("plan",), ("check", "-", "-"),
                     ("diff", "-", "-")):
            self.assertEqual(pmlab.run_cli(*args).returncode, 2, args)


if __name__ == "__main__":
    unittest.main()
