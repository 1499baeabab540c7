#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor whatif and merge: single failures, sweeps, and shards that make the whole."""

import copy
import csv
import json
import pathlib
import re
import tempfile
import unittest

import labtest
import odd_netlists
import pmlab

NET = pmlab.TOPOLOGIES / "xgft-64.net"
METRICS = ("blocks", "restoring", "least", "switches", "entries", "pairs_cut", "switches_cut",
           "load", "shift")


def run(*args, status=0):
    """Runs the command; returns its output."""
    result = pmlab.run_cli(*args)
    if result.returncode != status or (status == 0 and result.stderr):
        raise AssertionError(f"{args}: {result.returncode} {result.stderr!r}")
    return result.stdout if status == 0 else result.stderr


def run_json(*args):
    return json.loads(run(*args, "--json"))


def lose(*losses, net=NET, options=()):
    return run_json("whatif", *options, net, "--fail", *losses)


class Names(labtest.Folders):
    """All names of one part name the same part."""

    def same(self, first, *others, net=NET):
        expected = lose(first, net=net)
        del expected["failed"], expected["took"]
        for other in others:
            with self.subTest(other):
                found = lose(other, net=net)
                self.assertEqual(found.pop("failed"), [other])
                self.assertEqual(len(found.pop("took")), 1)
                self.assertEqual(found, expected)
        return expected

    def test_pattern_and_port(self):
        self.assertGreater(self.same("leaf0", "leaf[0]")["pairs_cut"], 0)
        # Five or more: the leaf's first up port.
        self.same("leaf0:5", "leaf[0]:5")

    def test_planned_lid(self):
        plan = run("plan", "-l", NET)
        lid = re.search(r'^lid (\d+) .*"leaf3"$', plan, re.M)[1]
        self.same("leaf3", f"lid:{lid}", lid)
        self.same("leaf3:5", f"lid:{lid}:5", f"{lid}:5")
        lid = re.search(r'^lid (\d+) .*"leaf3"\[2\]$', plan, re.M)[1]
        self.same("leaf3:2", f"lid:{lid}", lid)

    def test_guid_and_lid_of_the_file(self):
        net = self.folder / "discovered.net"
        net.write_text(DISCOVERED)
        self.same("left", "0x1000", "0X1000", "0x0000000000001000", "lid:11", "11", net=net)
        self.same("left:3", "0x1000:3", "lid:11:3", net=net)
        self.same("host-a", "0x2001", "0x2000", "21", "left:1", net=net)
        # A node of that name comes before the LID.
        self.same("12", "0x1200", "lid:10", net=net)
        self.same("right", "lid:12", net=net)
        self.assertIn("no cable at port 2", run("whatif", net, "--fail", "left:2", status=2))
        # Planned LIDs are not those of this fabric.
        for lid in range(1, 10):
            self.assertIn("--fail", run("whatif", net, "--fail", f"lid:{lid}", status=2))
        # With LMC 1 a port has the next LID as well.
        net.write_text(DISCOVERED.replace("lid 21 lmc 0", "lid 20 lmc 1"))
        self.same("host-a", "20", "lid:21", net=net)
        self.assertIn("--fail", run("whatif", net, "--fail", "23", status=2))

    def test_name_that_is_a_pattern(self):
        """The node of exactly that name is meant, not all that match the pattern."""
        net = self.folder / "pattern.net"
        net.write_text(DISCOVERED.replace('"host-b"', '"host-*"'))
        self.same("host-*", "0x2100", net=net)

    def test_fingerprint(self):
        """Of nodes and cables, so that shards of different fabrics can be distinguished."""
        seen = {}
        for name, changes in (
                ("as it is", ()), ("GUID", (("2100", "2150"),)), ("more ports", (
                    ('Switch 4 "S-0000000000001000"', 'Switch 5 "S-0000000000001000"'),)),
                ("a port of no use", (('Ca 1 "H-0000000000002100"', 'Ca 2 "H-0000000000002100"'),)),
                ("another port", (('[3] "S-0000000000001200"[1]', '[4] "S-0000000000001200"[1]'),
                                  ('[1] "S-0000000000001000"[3]', '[1] "S-0000000000001000"[4]')))):
            text = DISCOVERED
            for old, new in changes:
                self.assertIn(old, text)
                text = text.replace(old, new)
            net = self.folder / "print.net"
            net.write_text(text)
            told = lose("left", net=net)["settings"]["fabric"]
            self.assertEqual((told["switches"], told["end_ports"]), (3, 2), name)
            self.assertNotIn(told["fingerprint"], seen, name)
            seen[told["fingerprint"]] = name

    def test_unknown(self):
        for what in ("0x9999", "lid:49000", "49000", "lid:", "lid:x", "0x", "nobody*",
                     "leaf0:200", "leaf0:", ":", "-1"):
            with self.subTest(what):
                self.assertIn("--fail", run("whatif", NET, "--fail=" + what, status=2))


class Returns(labtest.Folders):
    """--return: of the parts of --fail. integration.return_prediction compares it with the wire."""

    def back(self, *parts, options=()):
        return lose(*parts, options=("--return", *options))

    def test_moves_are_those_of_the_failure(self):
        for part in ("leaf0", "leaf0:5", "h2-3", "sw2-5"):
            with self.subTest(part):
                found, lost = self.back(part), lose(part)
                self.assertEqual({k: v for k, v in found["moves"].items() if k != "ms"},
                                 lost["total"])
                self.assertEqual(found["took"], lost["took"])
                self.assertEqual(found["service"]["whole_tables"], lost["switches_cut"])

    def test_sums(self):
        found = self.back("leaf0", options=("--reset",))
        service = found["service"]
        self.assertTrue(found["reset"])
        for kind in ("gets", "sets"):
            self.assertEqual(service[kind].pop("total"), sum(service[kind].values()))
        self.assertEqual(service["smps"], sum(service["gets"].values())
                         + sum(service["sets"].values()))
        self.assertEqual(found["lft_sets"], service["sets"]["lft"] + found["moves"]["blocks"]
                         + found["discovery"])
        again = f"sends these whole tables again: {found['discovery']} LFT block"
        self.assertGreater(found["discovery"], 0)
        self.assertIn(again, run("whatif", "--return", NET, "--fail", "leaf0"))
        self.assertNotIn("again:", run("whatif", "--return", NET, "--fail", "h2-3"))

    def test_reset(self):
        """Only the named nodes; a value for each of their ports."""
        kept, reset = self.back("h2-3"), self.back("h2-3", options=("--reset",))
        self.assertEqual((kept["service"]["smps"], reset["service"]["smps"]), (9, 10))
        both = self.back("h2-3", "leaf0:5", options=("--reset",))["service"]
        self.assertEqual((both["hosts"], both["cables"], both["sets"]["values"]), (1, 1, 1))

    def test_managers_own_host(self):
        """As any host's, unless OpenSM sweeps while its link is down."""
        found = self.back("h2-3", options=("-s", "h2-3"))
        self.assertEqual((found["service"]["unreached"], found["service"]["smps"],
                          found["lft_sets"]), (0, 9, 0))
        whole = json.loads(run("whatif", "--json", "-s", "h2-3", NET, "--fail", "h0-1"))
        self.assertEqual(found["first_sweep"], whole["full_load"])
        self.assertIsNone(self.back("h0-1", options=("-s", "h2-3"))["first_sweep"])
        shown = run("whatif", "--return", "-s", "h2-3", NET, "--fail", "h2-3")
        self.assertIn(f"writes all tables: {whole['full_load']} LFT blocks\n", shown)
        self.assertIn("\nno entry moves: all tables are right already\n", shown)

    def test_misused(self):
        for args, reason in ((("--return", "--all", "links"), "needs --fail"),
                             (("--reset", "--fail", "leaf0"), "needs --return"),
                             (("--return", "--reset", "--fail", "leaf0:5"), "names no node"),
                             (("--return", "--loads", "--fail", "leaf0"), "excludes"),
                             (("--return", "--shifts", "4", "--fail", "leaf0"), "excludes")):
            with self.subTest(args):
                self.assertIn(reason, run("whatif", NET, *args, status=2))


# Two leaves and a spine; its name is a number, the LID of "right".
DISCOVERED = """\
switchguid=0x1000(1000)
Switch 4 "S-0000000000001000" # "left" enhanced port 0 lid 11 lmc 0
[1] "H-0000000000002000"[1](2001) # "host-a" lid 21 4xQDR
[3] "S-0000000000001200"[1] # "12" lid 10 4xQDR

switchguid=0x1100(1100)
Switch 4 "S-0000000000001100" # "right" enhanced port 0 lid 12 lmc 0
[1] "H-0000000000002100"[1](2101) # "host-b" lid 22 4xQDR
[3] "S-0000000000001200"[2] # "12" lid 10 4xQDR

switchguid=0x1200(1200)
Switch 4 "S-0000000000001200" # "12" enhanced port 0 lid 10 lmc 0
[1] "S-0000000000001000"[3] # "left" lid 11 4xQDR
[2] "S-0000000000001100"[3] # "right" lid 12 4xQDR

caguid=0x2000
Ca 1 "H-0000000000002000" # "host-a"
[1](2001) "S-0000000000001000"[1] # lid 21 lmc 0 "left" lid 11 4xQDR

caguid=0x2100
Ca 1 "H-0000000000002100" # "host-b"
[1](2101) "S-0000000000001100"[1] # lid 22 lmc 0 "right" lid 12 4xQDR
"""


class OneLoss(labtest.Folders):
    def test_text_and_json_agree(self):
        text = run("whatif", NET, "--fail", "leaf0:5")
        found = lose("leaf0:5")
        total = found["total"]
        self.assertRegex(text, rf"(?m)^total +{total['switches']} +{total['blocks']} "
                               rf"+{total['least']} +{total['entries']}$")
        self.assertIn(f"full load {found['full_load']} blocks", text)
        self.assertIn(f"{found['load']['before']} before, {found['load']['after']} after", text)
        self.assertIn(f"{found['shift']['before']} before, {found['shift']['after']} after", text)
        self.assertEqual(sum(level["blocks"] for level in found["levels"]), total["blocks"])
        self.assertEqual(len(found["levels"]), 3)
        for name, level in zip(("leaves", "level 1", "level 2"), found["levels"]):
            self.assertRegex(text, rf"(?m)^{name} +{level['switches']} +{level['blocks']} "
                                   rf"+{level['least']} +{level['entries']}$")
        self.assertGreater(total["blocks"], 0)
        self.assertGreater(found["load"]["after"], found["load"]["before"])

    def test_time(self):
        blocks = lose("leaf0:5")["total"]["blocks"]
        for mad_us, at_a_time in ((265, 4), (1000, 1), (100, 7)):
            found = lose("leaf0:5", options=("--mad-us", mad_us, "--max-wire-smps", at_a_time))
            self.assertAlmostEqual(found["ms"], -(-blocks // at_a_time) * mad_us / 1000)

    def test_defaults(self):
        """As in OpenSM and the manual page; thousands of failures without loads."""
        found = lose("leaf0:5")
        self.assertAlmostEqual(found["ms"], -(-found["total"]["blocks"] // 4) * 265 / 1000)
        told = found["settings"]
        self.assertEqual((told["mad_us"], told["max_wire_smps"], told["loads"], told["shifts"],
                          told["connect_roots"], told["sm"]), (265, 4, True, 16, False, None))
        found = run_json("whatif", NET, "--all", "leaves")
        told = found["settings"]
        self.assertEqual((told["loads"], told["shifts"], told["worst"], told["by"]),
                         (False, 0, 20, "pairs_cut"))
        # Unknown values are not 0.
        self.assertEqual([found["metrics"]["load"], found["worst"][0]["shift"]], [None, None])
        self.assertEqual(run_json("whatif", NET, "--all", "links")["settings"]["by"], "blocks")
        self.assertTrue(lose("leaf0:5", options=("--connect_roots",))["settings"]["connect_roots"])

    def test_shifts(self):
        """For 64 hosts there are 63; with more the number is the same."""
        every = lose("leaf0:5", options=("--shifts", "63"))["shift"]
        for many in ("64", "1000", "all"):
            self.assertEqual(lose("leaf0:5", options=("--shifts", many))["shift"], every)
        told = lose("leaf0:5", options=("--shifts", "all"))["settings"]["shifts"]
        self.assertGreaterEqual(told, 63)
        # One is half round, where all hosts of a leaf send to another leaf.
        self.assertGreater(lose("leaf0:5", options=("--shifts", "1"))["shift"]["before"], 0)

    def test_without_loads(self):
        found = lose("leaf0:5", options=("--no-loads", "--shifts", "0"))
        self.assertIsNone(found["load"])
        self.assertIsNone(found["shift"])

    def test_fails_over(self):
        """When both spines fail the rest is a ring of leaves, which the next engine routes."""
        net = odd_netlists.ring_below_spines().write(self.folder / "ring.net")
        line = r"(?m)^the engine fails over to the next one: no .* 120 of 120 pairs of hosts"
        for losses, fails_over in ((["spine0"], False), (["spine0", "spine1"], True),
                                  (["spine0", "spine1", "leaf0", "leaf2", "leaf4"], False)):
            with self.subTest(losses):
                found = lose(*losses, net=net)
                self.assertIs(found["fails_over"], fails_over)
                if fails_over:
                    self.assertEqual(found["reachable"], {"connected": 120, "cut": 120})
                text = run("whatif", net, "--fail", *losses)
                (self.assertRegex if fails_over else self.assertNotRegex)(text, line)

    def test_quiet(self):
        self.assertEqual(run("whatif", "-q", NET, "--fail", "leaf0"), "")
        self.assertEqual(run("whatif", "-q", NET, "--all", "leaves"), "")


class Sweeps(labtest.Folders):
    def sweep(self, *options):
        return run_json("whatif", NET, "--all", *options)

    def test_every_link_is_as_by_itself(self):
        found = self.sweep("links", "-n", "100000", "--loads", "--shifts", "16")
        self.assertEqual(len(found["worst"]), found["failures"])
        self.assertEqual(found["settings"]["total"], found["failures"])
        numbers = sorted(row["number"] for row in found["worst"])
        self.assertEqual(numbers, list(range(found["failures"])))
        for row in found["worst"][::17]:
            name, port = re.fullmatch(r"(.+)\[(\d+)\]-.+\[\d+\]", row["failed"][0]["name"]).groups()
            one = lose(f"{name}:{port}")
            self.assertEqual((row["blocks"], row["least"], row["switches"], row["entries"]),
                             tuple(one["total"][key]
                                   for key in ("blocks", "least", "switches", "entries")))
            self.assertEqual(row["load"], one["load"]["after"])
            self.assertEqual(row["shift"], one["shift"]["after"])
            self.assertEqual(row["pairs_cut"], one["pairs_cut"])
            self.assertEqual(row["ms"], one["ms"])

    def test_nothing_to_lose(self):
        """Kinds without parts have no statistics, alone and merged."""
        path = pmlab.generate(self.folder / "one.net", "two-level", 1, 1, 2, 1)
        found = run_json("whatif", path, "--all", "links", "--pairs")
        self.assertEqual((found["failures"], found["settings"]["total"]), (0, 0))
        self.assertEqual(found["metrics"], dict.fromkeys(METRICS))
        (self.folder / "none.json").write_text(json.dumps(found))
        self.assertEqual(run_json("merge", self.folder / "none.json")["metrics"],
                         dict.fromkeys(METRICS))

    def test_cables(self):
        """A cable is named by both of its ends."""
        guids = {node["name"]: node["guid"] for node in run_json("table", NET)["switches"]}
        for row in self.sweep("links", "-n", "100000")["worst"]:
            lost, = row["failed"]
            one, port, other, peer = re.fullmatch(r"(.+)\[(\d+)\]-(.+)\[(\d+)\]",
                                                  lost["name"]).groups()
            self.assertEqual((lost["guid"], lost["port"], lost["peer_guid"], lost["peer_port"]),
                             (guids[one], int(port), guids[other], int(peer)))

    def test_statistics(self):
        found = self.sweep("switches", "-n", "100000", "--loads", "--shifts", "4")
        for metric in METRICS:
            values = sorted(row[metric] for row in found["worst"])
            told = found["metrics"][metric]
            nearest = {name: values[-(-len(values) * percent // 100) - 1]
                       for name, percent in (("median", 50), ("p90", 90), ("p99", 99))}
            self.assertEqual({key: told[key] for key in nearest}, nearest, metric)
            self.assertEqual((told["sum"], told["minimum"], told["maximum"]),
                             (sum(values), values[0], values[-1]), metric)
            self.assertEqual(told["histogram"],
                             [[value, values.count(value)] for value in sorted(set(values))])

    def test_csv(self):
        """All of a kind, a line each, with the hosts that it cuts off."""
        found = self.sweep("hosts", "-n", "100000")["worst"]
        lines = list(csv.DictReader(run("whatif", NET, "--all", "hosts", "--csv").splitlines()))
        self.assertEqual([line["failed"] for line in lines],
                         [row["failed"][0]["name"] for row in found])
        for line, row in zip(lines, found):
            self.assertEqual((line["and"], line["load"], line["hosts"]), ("", "", line["failed"]))
            self.assertEqual(int(line["pairs_cut"]), row["pairs_cut"])
        lines = list(csv.DictReader(run("whatif", NET, "--all", "links", "--pairs", "--csv",
                                        "--worst", "3").splitlines()))
        self.assertEqual([line["hosts_cut_off"] for line in lines], ["0"] * 3)
        self.assertTrue(all(line["and"] for line in lines))

    def test_two_fabrics(self):
        """The manager stays in its fabric, also when the other one has become larger."""
        text = NET.read_text(encoding="ascii")
        with tempfile.TemporaryDirectory() as folder:
            both = pathlib.Path(folder) / "both.net"
            both.write_text(text + re.sub(r'"((?:h|leaf|sw)[-0-9]+)"', r'"other-\1"', text),
                            encoding="ascii")
            for lost in ("leaf0", "other-leaf0"):
                done = pmlab.run_cli("whatif", both, "--fail", lost, "--json")
                self.assertRegex(done.stderr, r"2 parts without a cable .*, with 64 and 64 hosts")
                told = json.loads(done.stdout)
                self.assertEqual(told["cut_off"],
                                 run_json("whatif", NET, "--fail", lost)["cut_off"]
                                 if lost == "leaf0" else [])

    def test_csv_with_blanks(self):
        """The hosts of a line can be distinguished, as names have blanks on hardware."""
        text = re.sub(r'"h(\d+-\d+)"', r'"n\1 mlx5_0"', NET.read_text(encoding="ascii"))
        with tempfile.TemporaryDirectory() as folder:
            named = pathlib.Path(folder) / "named.net"
            named.write_text(text, encoding="ascii")
            line, *_ = csv.DictReader(run("whatif", named, "--all", "leaves", "--csv").splitlines())
        hosts = line["hosts"].split(";")
        self.assertEqual(len(hosts), int(line["hosts_cut_off"]))
        self.assertTrue(all(re.fullmatch(r"n\d+-\d+ mlx5_0", name) for name in hosts), hosts)

    def test_kinds(self):
        found = {kind: self.sweep(kind, "-n", "100000")
                 for kind in ("links", "switches", "leaves", "spines", "hosts")}
        names = {kind: {row["failed"][0]["name"] for row in found[kind]["worst"]}
                 for kind in found}
        self.assertEqual(found["hosts"]["failures"], 64)
        self.assertLess(names["leaves"], names["switches"])
        self.assertLess(names["spines"], names["switches"])
        levels = {node["name"]: node["level"] for node in run_json("table", NET)["switches"]}
        top = max(levels.values())
        self.assertEqual(names["spines"], {name for name in levels if levels[name] == top})
        self.assertTrue(all(name.startswith("leaf") for name in names["leaves"]))
        self.assertEqual(found["hosts"]["metrics"]["blocks"]["maximum"], 0)
        self.assertEqual(found["hosts"]["metrics"]["pairs_cut"]["minimum"], 2 * 63)
        for kind, cut in (("links", 0), ("hosts", 0), ("leaves", 1), ("spines", 1)):
            told = found[kind]["metrics"]["switches_cut"]
            self.assertEqual((told["minimum"], told["maximum"]), (cut, cut), kind)

    def test_pairs_that_gain_a_path(self):
        """A cable's failure moves hubs: pairs of aggregation nodes that gain a path then do not
        make up for those that lose theirs."""
        net = pmlab.TOPOLOGIES / "real" / "ndr-pod.net"
        found = run_json("whatif", net, "--all", "links", "-n", "100000")
        cut = [row["pairs_cut"] for row in found["worst"]]
        self.assertGreater(max(cut), 0)
        self.assertEqual(min(cut), 0)
        self.assertEqual(found["metrics"]["pairs_cut"]["maximum"], max(cut))

    def test_pairs(self):
        single = self.sweep("leaves", "-n", "100000")
        found = self.sweep("leaves", "--pairs", "-n", "100000")
        count = single["failures"]
        self.assertEqual(found["failures"], count * (count - 1) // 2)
        pairs = {frozenset(one["name"] for one in row["failed"]) for row in found["worst"]}
        self.assertEqual(len(pairs), found["failures"])
        self.assertEqual({len(pair) for pair in pairs}, {2})
        # Shards on several machines must agree on their numbers.
        names = [row["failed"][0]["name"]
                 for row in sorted(single["worst"], key=lambda row: row["number"])]
        self.assertEqual([[one["name"] for one in row["failed"]]
                          for row in sorted(found["worst"], key=lambda row: row["number"])],
                         [[names[i], names[j]] for j in range(count) for i in range(j)])
        row = found["worst"][5]
        one = lose(*[one["name"] for one in row["failed"]])
        self.assertEqual(row["blocks"], one["total"]["blocks"])
        self.assertEqual(row["pairs_cut"], one["pairs_cut"])

    def test_threads_make_no_difference(self):
        one = run("whatif", NET, "--all", "links", "--json", "-j", "1")
        for threads in (2, 3, 64):
            self.assertEqual(run("whatif", NET, "--all", "links", "--json", "-j", threads), one)

    def test_order(self):
        for by in METRICS:
            worst = self.sweep("switches", "--by", by, "-n", "100000")["worst"]
            keys = [(-row[by], -row["blocks"], -row["pairs_cut"], row["number"])
                    for row in worst]
            self.assertEqual(keys, sorted(keys), by)
        for by in ("load", "shift"):  # found without a request
            self.assertGreater(self.sweep("spines", "--by", by)["metrics"][by]["minimum"], 0)
        short = self.sweep("switches", "--by", "pairs_cut", "-n", "3")["worst"]
        whole = self.sweep("switches", "--by", "pairs_cut", "-n", "100000")["worst"]
        self.assertEqual(short, whole[:3])
        whole = self.sweep("links", "-n", "100000")["worst"]
        for count in (63, 64, 65):
            self.assertEqual(self.sweep("links", "-n", count)["worst"], whole[:count])
        self.assertEqual(self.sweep("switches", "-n", "0")["worst"], [])

    def test_wrong_usage(self):
        for args in (("--all",), ("--all", "bogus"), ("--all", "links", "--fail", "leaf0"),
                     ("--pairs", "--fail", "leaf0"), ("--shard", "1/2", "--fail", "leaf0"),
                     ("--all", "links", "--shard", "0/2"), ("--all", "links", "--shard", "3/2"),
                     ("--all", "links", "--shard", "1"), ("--all", "links", "--shard", "1/0"),
                     ("--all", "links", "--shard", "1/x"), ("--all", "links", "--by", "x"),
                     ("--all", "links", "-n", "-1"), ("--all", "links", "-j", "0"),
                     ("--all", "links", "--max-wire-smps", "0"),
                     ("--all", "links", "--shifts", "x")):
            with self.subTest(" ".join(args)):
                self.assertNotEqual(run("whatif", NET, *args, status=2), "")


class Shards(labtest.Folders):
    def shard(self, index, count, *options, net=NET):
        path = pathlib.Path(self.folder / f"{index}-of-{count}.json")
        path.write_text(run("whatif", net, *options, "--json", "--shard", f"{index}/{count}"))
        return path

    def shards(self, count, *options):
        return [self.shard(i, count, *options) for i in range(1, count + 1)]

    def test_merged_is_the_whole(self):
        for options in (("--all", "links"), ("--all", "leaves", "--pairs", "-n", "7"),
                        ("--all", "switches", "--by", "pairs_cut", "--loads"),
                        ("--all", "links", "-n", "0")):
            whole = run("whatif", NET, *options, "--json")
            text = run("whatif", NET, *options)
            for count in (1, 2, 5):
                with self.subTest(f"{options} in {count}"):
                    files = self.shards(count, *options)
                    self.assertEqual(run("merge", "--json", *files), whole)
                    self.assertEqual(run("merge", *reversed(files)), text)

    def test_text(self):
        """Its kind, and which part of it."""
        self.assertTrue(run("whatif", NET, "--all", "leaves", "--pairs", "--shard", "2/2")
                        .startswith("60 of 120 failures of pairs of leaves, shard 2 of 2\n"))
        self.assertTrue(run("whatif", NET, "--all", "hosts")
                        .startswith("64 of 64 failures of hosts\n"))
        options = ("--all", "leaves", "--pairs", "-n", "3", "--loads", "--shifts", "4")
        found = run_json("whatif", NET, *options)
        lines = run("whatif", NET, *options).splitlines()
        names = ("sum", "minimum", "median", "p90", "p99", "maximum")
        self.assertEqual([line.split() for line in lines[2:2 + len(METRICS)]], [
            [metric, *(str(found["metrics"][metric][name]) for name in names)]
            for metric in METRICS])
        columns = ("blocks", "restoring", "least", "switches", "entries", "pairs_cut", "load",
                   "shift")
        self.assertEqual(lines[12], "worst by pairs_cut")
        self.assertEqual([line.partition(", cut off: ")[0].split() for line in lines[14:]], [
            [*(str(row[column]) for column in columns), f"{row['ms']:.1f}",
             *(one["name"] for one in row["failed"])] for row in found["worst"]])
        for line, row in zip(lines[14:], found["worst"]):
            self.assertEqual(row["cut_off"], [f"h{one['name'][4:]}-{k}" for one in row["failed"]
                                              for k in range(1, 5)])
            self.assertIn(f", cut off: {', '.join(row['cut_off'][:4])} and 4 more", line)
        one = lose("leaf0", options=("--shifts", "4"))
        self.assertEqual((found["settings"]["load_before"], found["settings"]["shift_before"]),
                         (one["load"]["before"], one["shift"]["before"]))
        told = run_json("whatif", NET, "--all", "leaves")["settings"]
        self.assertEqual((told["load_before"], told["shift_before"]), (None, None))

    def test_many_values(self):
        """Percentiles of a thousand values, by nearest rank, in two shards."""
        values = [k * k + 7 for k in range(997)]
        files = []
        for index, part in ((1, values[::2]), (2, values[1::2])):
            shard = json.loads(self.shard(index, 2, "--all", "links", "-n", "0", "--loads",
                                          "--shifts", "4").read_text())
            shard["settings"]["total"] = len(values)
            shard["failures"] = len(part)
            for metric in METRICS:
                shard["metrics"][metric]["histogram"] = [[value, 1] for value in part]
            files.append(self.folder / f"many-{index}.json")
            files[-1].write_text(json.dumps(shard))
        told = run_json("merge", *files)["metrics"]["blocks"]
        self.assertEqual(told, {
            "sum": sum(values), "minimum": values[0], "median": values[498], "p90": values[897],
            "p99": values[987], "maximum": values[-1],
            "histogram": [[value, 1] for value in values]})

    def test_equals(self):
        """Among equals more blocks are worse, then more pairs cut, then the first one is."""
        shard = json.loads(self.shard(1, 1, "--all", "links", "--by", "load").read_text())
        row = shard["worst"][0]
        rows = [{**row, "number": number, "load": 5, "blocks": blocks, "pairs_cut": cut}
                for number, blocks, cut in ((7, 1, 9), (3, 2, 0), (2, 2, 1), (5, 2, 1))]
        path = self.folder / "equals.json"
        path.write_text(json.dumps({**shard, "worst": rows}))
        self.assertEqual([one["number"] for one in run_json("merge", path)["worst"]],
                         [2, 5, 3, 7])

    def test_standard_input(self):
        path = self.shard(1, 1, "--all", "leaves")
        with open(path, encoding="utf-8") as text:
            done = pmlab.run_cli("merge", "--json", "-", stdin=text)
        self.assertEqual((done.returncode, done.stdout), (0, path.read_text()), done.stderr)

    def test_quiet(self):
        path = self.shard(1, 1, "--all", "leaves")
        self.assertEqual(run("merge", "-q", path), "")
        self.assertEqual(run("merge", "-q", "--json", path), path.read_text())

    def test_more_shards_than_failures(self):
        whole = run("whatif", NET, "--all", "leaves", "--json")
        count = json.loads(whole)["failures"] + 2
        files = self.shards(count, "--all", "leaves")
        self.assertEqual(json.loads(files[-1].read_text())["failures"], 0)
        self.assertEqual(run("merge", "--json", *files), whole)

    def test_refused(self):
        options = ("--all", "links")
        first, second, third = self.shards(3, *options)
        other = self.shard(1, 2, *options)
        self.assertIn("1 of 3 shards are missing, 2 the first",
                      run("merge", first, third, status=3))
        self.assertIn("shard 2 was there already", run("merge", second, second, status=3))
        self.assertIn("other options", run("merge", first, other, status=3))
        order = self.shard(2, 3, "-o", "port-major", *options)
        self.assertIn(f"{order}: ", run("merge", first, order, status=3))
        net = pmlab.generate(self.folder / "other.net", "two-level", "8", "4", "6", "2")
        alien = self.shard(2, 3, *options, net=net)
        self.assertIn("another fabric", run("merge", first, alien, status=3))
        # The same one with named roots.
        roots = self.folder / "roots"
        roots.write_text("".join(
            node["guid"] + "\n" for node in run_json("table", NET)["switches"]
            if node["level"] == 2))
        rooted = self.shard(2, 3, "--root_guid_file", roots, *options)
        self.assertIn("another fabric", run("merge", first, rooted, status=3))

    def test_bad_files(self):
        good = json.loads(self.shard(1, 1, "--all", "links").read_text())
        bad = self.folder / "bad.json"
        for text in ("", "{", "[]", "{}", "null", "\x7fELF\0\1", '{"schema": "portmajor-plan"}',
                     json.dumps(good)[:-40]):
            bad.write_text(text)
            self.assertRegex(run("merge", bad, status=3), rf"^portmajor: {bad}:.*\n$")
        for path, value in self.damages(good):
            damaged = copy.deepcopy(good)
            at = damaged
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
            bad.write_text(json.dumps(damaged))
            with self.subTest(f"{path} = {value!r}"):
                self.assertRegex(run("merge", bad, status=3), r"^portmajor: .+\n$")
        self.assertIn("is-not-there", run("merge", self.folder / "is-not-there", status=3))
        run("merge", status=2)

    @staticmethod
    def damages(good):
        yield ("version",), 4
        yield ("failures",), good["failures"] - 1
        yield ("failures",), -1
        yield ("shard",), None
        yield ("shard", "index"), 2
        yield ("settings", "total"), good["failures"] + 1
        yield ("settings", "max_wire_smps"), 0
        yield ("settings", "by"), "x"
        yield ("settings", "failures_of"), 7
        yield ("metrics", "blocks", "histogram"), [[1]]
        yield ("metrics", "blocks", "histogram"), []
        yield ("metrics", "blocks", "histogram"), [[1, -1]]
        yield ("metrics", "load"), {}
        yield ("worst",), {}
        yield ("worst", 0), []
        yield ("worst", 0, "failed"), []
        yield ("worst", 0, "failed"), [{"name": 1}]
        yield ("worst", 0, "number"), "x"
        yield ("worst", 0, "blocks"), 1.5


if __name__ == "__main__":
    unittest.main()
