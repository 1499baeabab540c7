#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The hostile names of tests/data/hostile_names.json, which unit.escape sends through each way out, as
names of switches and of hosts: all output and files of the programs stay readable, identify the
node, and have no other effect.
"""

import csv
import json
import os
import re
import subprocess
import unicodedata
import xml.etree.ElementTree

import labtest
import pmlab
import simlab
import test_report
import test_status

ROWS = json.loads((pmlab.ROOT / "tests" / "data" / "hostile_names.json").read_text("ascii"))
NAMED = 0x101  # the switch whose id and label are among the names


def name_of(row):
    return row["name"].encode("latin-1")


# Characters that can be in quotes in a line of a netlist; its reader refuses control characters.
IN_NETLISTS = [row for row in ROWS if not re.search(rb"[\0-\x08\n\x0e-\x1f\x7f]", name_of(row))]


def is_obeyed(character):
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")


def shown(output):
    """Text that no terminal obeys."""
    text = output.decode("utf-8")
    bad = {c for c in text if c != "\n" and is_obeyed(c)}
    assert not bad, (bad, text)
    return text


def read_from_json(text):
    """The text in lists: names come from the JSON object."""
    return "".join("?" if is_obeyed(c) else c for c in text)


def write_fabric(path, leaves, spines, hosts_each, switch_name, host_name):
    """As in ibnetdiscover's output. *_name(number): bytes; leaves are the first switches."""
    lines = []
    for sw in range(leaves + spines):
        lines.append(b'switchguid=0x%x\nSwitch\t%d "S-%016x"\t# "%s" base port 0 lid 0 lmc 0' % (
            0x100 + sw, 48, 0x100 + sw, switch_name(sw)))
        if sw < leaves:
            lines += [b'[%d]\t"H-%016x"[1](%x)' % (h + 1, 0x1000 + 2 * (sw * hosts_each + h),
                                                   0x1001 + 2 * (sw * hosts_each + h))
                      for h in range(hosts_each)]
            lines += [b'[%d]\t"S-%016x"[%d]' % (hosts_each + 1 + s, 0x100 + leaves + s, sw + 1)
                      for s in range(spines)]
        else:
            lines += [b'[%d]\t"S-%016x"[%d]' % (leaf + 1, 0x100 + leaf, hosts_each + 1 + sw - leaves)
                      for leaf in range(leaves)]
        lines.append(b"")
    for host in range(leaves * hosts_each):
        guid = 0x1000 + 2 * host
        lines += [b'caguid=0x%x\nCa\t1 "H-%016x"\t# "%s"' % (guid, guid, host_name(host)),
                  b'[1](%x) \t"S-%016x"[%d]' % (guid + 1, 0x100 + host // hosts_each,
                                              host % hosts_each + 1), b""]
    path.write_bytes(b"\n".join(lines) + b"\n")


def of_rows(rows, other):
    """Names: those of the rows, then others'."""
    return lambda number: name_of(rows[number]) if number < len(rows) else other(number)


class Commands(labtest.Folders):
    """Hosts have the names in one fabric, and switches in the other."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hosts, cls.switches = cls.folder / "hosts.net", cls.folder / "switches.net"
        hosts_each = len(IN_NETLISTS) // 5 + 1
        # Two nodes have one name, so their ids and labels have GUIDs; a third has such an id.
        cls.twin = len(IN_NETLISTS)
        write_fabric(cls.hosts, 5, 2, hosts_each,
                     lambda sw: (b"top", b"top", b"top_0000000000000100", *[
                         b"sw%d" % n for n in range(3, 7)])[sw],
                     of_rows(IN_NETLISTS, lambda h: (
                         b"twin", b"twin", b"twin-%016x" % (0x1000 + 2 * cls.twin), b"h1", b"h2")[
                             h - cls.twin]))
        write_fabric(cls.switches, len(IN_NETLISTS) - 6, 6, 2,
                     of_rows(IN_NETLISTS, None), lambda h: b"h%d" % h)

    def run_it(self, *args, status=0):
        """(stdout, stderr), both fit for a terminal."""
        done = subprocess.run([pmlab.CLI, *args], capture_output=True, check=False,
                              stdin=subprocess.DEVNULL,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.folder)))
        self.assertEqual(done.returncode, status, (args, done.stderr))
        return shown(done.stdout), shown(done.stderr)

    def test_lists(self):
        """Text, CSV and JSON of each node's failure."""
        for what, net, node, guid, step in (("hosts", self.hosts, "H", 0x1000, 2),
                                            ("switches", self.switches, "S", 0x100, 1)):
            with self.subTest(what):
                expected = [row["json"] or f"{node}-{guid + step * number:016x}"
                            for number, row in enumerate(IN_NETLISTS)]
                options = ("whatif", net, "--all", what, "-n", "200", "--shifts", "0", "--no-loads")
                text, _ = self.run_it(*options)
                for name in expected:
                    self.assertIn(f"  {read_from_json(name)}", text)
                rows = list(csv.reader(self.run_it(*options, "--csv")[0].splitlines()))
                self.assertEqual({len(row) for row in rows}, {len(rows[0])})
                given = {row[0] for row in rows[1:]}
                for name in expected:
                    quote = "'" if name[0] in "=+-@\uff1d" else ""
                    self.assertIn(quote + read_from_json(name), given)
                sweep = json.loads(self.run_it(*options, "--json")[0])
                names = {row["failed"][0].get("label", row["failed"][0]["name"])
                         for row in sweep["worst"]}
                self.assertEqual(set(expected) - names, set())

    def test_output(self):
        """Other output with names; files can be read."""
        for net in (self.hosts, self.switches):
            with self.subTest(net.name):
                self.run_it("plan", "-l", net)
                json.loads(self.run_it("plan", "-l", "--json", net)[0])
                lfts = self.folder / "lfts"
                self.run_it("plan", "-q", net, "--lfts", lfts)
                self.run_it("check", "-q", "--conform", net, lfts)
                self.run_it("diff", lfts, lfts)
                part = self.folder / "part"
                self.run_it("plan", "-q", net, "--lfts", part, "--fail", "0x102")
                self.run_it("diff", lfts, part, status=1)
                found, _ = self.run_it("check", net, part, status=1)
                self.assertIn("finding: ", found)
                json.loads(self.run_it("check", "--json", net, part, status=1)[0])
                for switch in ("0x100", "0x102"):
                    self.run_it("table", "--switch", switch, net)

    def test_files_for_others(self):
        """SimGrid's platform has each node once; Slurm's file only has names of hosts."""
        for net in (self.hosts, self.switches):
            with self.subTest(net.name):
                path = self.folder / "platform.xml"
                self.run_it("plan", "-q", net, "--simgrid", path)
                root = xml.etree.ElementTree.parse(path).getroot()
                for kind in ("host", "link"):
                    ids = [one.get("id") for one in root.iter(kind)]
                    self.assertEqual(len(ids), len(set(ids)), kind)
                    self.assertGreater(len(ids), 30)
                path = self.folder / "topology.conf"
                _, note = self.run_it("plan", "-q", net, "--slurm", path)
                for line in shown(path.read_bytes()).splitlines():
                    self.assertRegex(line, r"^(#.*|SwitchName=[\w.-]+ (Nodes|Switches)=[][\w.,-]+|)$")
                names = re.findall(r"(?m)^SwitchName=(\S+)", path.read_text("ascii"))
                self.assertEqual(len(names), len(set(names)))
                if net == self.hosts:
                    self.assertIn("with names that are no hosts'", note)

    def test_report(self):
        page = self.folder / "page.html"
        for net in (self.hosts, self.switches):
            with self.subTest(net.name):
                done = test_report.report(net, "-o", page, "--fail", "0x102")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                text = page.read_text("utf-8")
                self.assertNotIn("<img src=x", text)
                self.assertIn("onerror=alert(1)", text)  # it is there, as text

    def test_messages(self):
        """Names of no node, options, and lines of files."""
        for row in ROWS:
            name = name_of(row)
            with self.subTest(row["what"]):
                for args in ((b"whatif", os.fsencode(self.hosts), b"--fail=nobody " + name),
                             (b"plan", b"--" + name.replace(b"=", b"") + b"x"),
                             (b"plan", os.fsencode(self.hosts), name + b"?"),
                             (b"plan", b"-o" + name, os.fsencode(self.hosts)), (name + b"?",),
                             (b"plan", os.fsencode(self.folder) + b"/" + name + b"?")):
                    done = subprocess.run([os.fsencode(pmlab.CLI), *args], capture_output=True,
                                          check=False, stdin=subprocess.DEVNULL)
                    self.assertIn(done.returncode, (2, 3), done.stderr)
                    self.assertEqual(done.stdout, b"")
                    self.assertNotEqual(shown(done.stderr), "")

    def test_bad_lines(self):
        """A line that is quoted in the message about it."""
        path = self.folder / "bad.net"
        for row in IN_NETLISTS:
            with self.subTest(row["what"]):
                path.write_bytes(b'Switch 4 "s0"\n[1] "' + name_of(row) + b'"[9] x\n')
                done = subprocess.run([pmlab.CLI, "plan", path], capture_output=True, check=False)
                self.assertEqual(shown(done.stdout), "")
                self.assertEqual(shown(done.stderr).count("\n"), 1)


class Suggested(test_status.Written):
    """The command in the finding about errors: a shell makes one operand of it, and `portmajor
    drain` takes that for the right switch."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = cls.folder / "switches.net"
        write_fabric(cls.net, len(IN_NETLISTS) - 6, 6, 2, of_rows(IN_NETLISTS, None),
                     lambda h: b"h%d" % h)

    def suggestion(self, guid, name):
        ends = [{"guid": guid, "name": name, "port": 3}, {"guid": "0x2", "name": "x", "port": 6}]
        path = self.changed(port_errors={"count": 1, "list": [
            {"kind": "link", "ends": ends, "symbol_errors": 99, "link_recoveries": 0,
             "link_downed": 0, "receive_errors": 0}]})
        done = subprocess.run([pmlab.CLI, "status", path], capture_output=True, check=False)
        found = re.search(r"; `(portmajor drain .*)` keeps .*\[3\]-x\[6\] out of paths\n",
                          shown(done.stdout))
        self.assertTrue(found, done.stdout)
        return found[1]

    def test_shell(self):
        for number, row in enumerate(ROWS):
            with self.subTest(row["what"]):
                guid = f"0x{0x100 + number:016x}"
                command = self.suggestion(guid, row["json"])
                words = subprocess.run(
                    ["sh", "-c", f'portmajor() {{ printf "%s\\0" "$@"; }}\n{command}'],
                    capture_output=True, check=True).stdout.split(b"\0")
                named = row["shell"] is not None
                self.assertEqual(words, [b"drain", f"{row['json'] if named else guid}:3".encode(),
                                         b""])

    def test_taken_back(self):
        for number, row in enumerate(IN_NETLISTS):
            with self.subTest(row["what"]):
                guid = f"0x{0x100 + number:016x}"
                command = self.suggestion(guid, row["json"])
                done = subprocess.run(
                    ["sh", "-c", f'portmajor() {{ "{pmlab.CLI}" "$@" --dry-run --force --json '
                     f'-n "{self.net}"; }}\n{command}'], capture_output=True, check=False,
                    env=dict(os.environ, OSM_CACHE_DIR=str(self.folder)))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([(thing["guid"], thing["port"]) for thing in
                                  json.loads(shown(done.stdout))["drained"]], [(guid, 3)])


class Plugin(labtest.Folders):
    """node-name-map gives the names, to hosts or to switches, and then these are missing."""

    # A line of the file cannot have the others: quotes end a name, # begins a comment.
    NAMES = [row for row in ROWS if row["name"] and not re.search(r'[\n"#]', row["name"])]

    def run_it(self, *args, statuses=(0,)):
        done = subprocess.run([pmlab.CLI, *args], capture_output=True, check=False,
                              stdin=subprocess.DEVNULL,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)))
        self.assertIn(done.returncode, statuses, (args, done.stderr))
        self.assertEqual(done.stderr, b"")
        return shown(done.stdout)

    def open_lab(self, named):
        """4 leaves with 10 hosts each and 40 spines; named: a pattern of nodes that get names. Two
        spines are called "top", so the first one's id and label are made of its GUID."""
        self.cache = self.folder / named.replace("*", "")
        self.cache.mkdir()
        net = pmlab.generate(self.cache / "whole.net", "two-level", 4, 40, 10, 1)
        fabric = self.enterContext(pmlab.Fabric(net))
        fabric.dump(self.cache / "dump")
        guids = pmlab.Dump(self.cache / "dump").guids
        top = b"%016x" % guids["spine0"]
        nodes = [node for node in fabric.netlist.match(named)
                 if node not in ("spine0", "spine1", fabric.netlist.hosts[0])]
        self.given = {node: name_of(row).replace(b"%016x" % NAMED, top)
                      for node, row in zip(nodes, self.NAMES)}
        names = {"spine0": b"top", "spine1": b"top", **self.given}
        path = self.cache / "names"
        path.write_bytes(b"".join(b'0x%016x "%s"\n' % (guids[node], name)
                                  for node, name in names.items()))
        self.lab = self.enterContext(pmlab.Lab(net, fabric=fabric, cache_dir=self.cache,
                                               conf={"node_name_map_name": path}))
        self.lab.bring_up()

    def metrics(self):
        return test_status.metrics_of(pmlab.kept(self.cache, "portmajor.prom"))

    def lose(self, links, kind):
        """Takes links down, and waits until the state and the metrics have so many parts."""
        for link in links:
            self.lab.fabric.lose(link)

        def parts():
            return test_status.state_of(self.lab.osm)["missing"]["parts"]

        def counts():
            return len(parts()), self.metrics()[f"portmajor_{kind}_missing"]

        simlab.poll_until(lambda: counts() == (len(links),) * 2, pmlab.TIMEOUT_S,
                          f"{len(links)} {kind} missing", state=lambda: str(counts()))
        return parts()

    def check(self):
        """Files can be read, and no terminal obeys output or logs."""
        net = pmlab.kept(self.cache, "fabric.net")
        self.run_it("plan", "-q", net)
        found = self.run_it("status", "--expect", net, statuses=(0, 1))
        self.assertNotRegex(found, "(?m)^(finding +cables|cable )")
        json.loads(self.run_it("status", "--json", statuses=(0, 1)))
        self.run_it("events", "-n", "1000")
        self.run_it("acknowledge", statuses=(0, 1))
        for line in self.lab.osm.log_path.read_bytes().splitlines():
            if b": portmajor" in line:
                shown(line)

    def texts(self):
        """The names, as JSON has them."""
        rows = {name_of(row): row["json"] for row in self.NAMES}
        return [rows.get(name, name.decode("utf-8", "replace")) for name in self.given.values()]

    def test_hosts(self):
        self.open_lab("h*")
        self.check()
        links = [":".join(map(str, port)) for node in self.given
                 for port in self.lab.netlist.nodes[node].ports.values()]
        parts = self.lose(links, "hosts")
        self.assertEqual(sorted(part["host"] for part in parts), sorted(self.texts()))
        self.check()
        # They are pasted into a shell.
        nodes = json.loads(self.run_it("status", "--json", statuses=(1,)))["missing_nodes"]
        self.assertRegex(nodes, r"^\w[-\w.\[\]]*(,\w[-\w.\[\]]*)*$")
        self.assertTrue(nodes.isascii())

    def test_switches(self):
        self.open_lab("spine*")
        self.check()
        parts = self.lose([f"{node}:2" for node in self.given], "links")
        ends = {end["guid"]: end["name"] for part in parts for end in part["ends"]
                if end["port"] == 2}
        self.assertEqual(sorted(ends.values()), sorted(self.texts()))
        self.check()
        drains = [f"{guid}:3" for guid in ends]
        self.run_it("drain", "-q", "--force", *drains)
        listed = json.loads(self.run_it("drain", "--json", statuses=(0, 1)))["drained"]
        self.assertEqual({one["guid"]: one["name"] for one in listed}, ends)
        self.run_it("drain", statuses=(0, 1))
        self.run_it("undrain", "-q", *drains)
        self.assertEqual(self.run_it("drain"), "none\n")


if __name__ == "__main__":
    labtest.main()
