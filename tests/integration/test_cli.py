#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The portmajor command: exit status, messages, and the stream of each output."""

import json
import os
import re
import subprocess
import unittest

import labtest
import pmlab
import simlab

COMMANDS = ("plan", "table", "whatif")

HOST = 'Hca 1 "{0}"\n[1] "s0"[{1}]\n\n'
SWITCH = 'Switch 4 "s0"\n[1] "h0"[1]\n[2] "h1"[1]\n\n'
HOSTS = HOST.format("h0", 1) + HOST.format("h1", 2)
GOOD = SWITCH + HOSTS

# Name, text, the line that the message must name (None: any), a word of the message.
BAD_NETLISTS = (
    ("empty", "", None, "no nodes"),
    ("blank", "\n\n\n", None, "no nodes"),
    ("comments only", "# nothing\n# at all\n", None, "no nodes"),
    ("not text", "\x7fELF\x00\x01\x02\x03" * 20, 1, "not text"),
    ("NUL in the middle", GOOD + "\0\n", 11, "not text"),
    ("prose", "Dear reader,\nthis is no netlist.\n", None, "no nodes"),
    ("unknown peer", 'Switch 4 "s0"\n[1] "h0"[1]\n[2] "nobody"[1]\n\n' + HOSTS, 3, "nobody"),
    ("port given twice", 'Switch 4 "s0"\n[1] "h0"[1]\n[1] "h1"[1]\n\n' + HOSTS, 3, None),
    ("two ports to one", 'Switch 4 "s0"\n[1] "h0"[1]\n[2] "h0"[1]\n\n'
     + HOST.format("h0", 1), 3, None),
    ("one-sided link", 'Switch 4 "s0"\n[1] "h0"[1]\n[2] "h1"[1]\n\n'
     + HOST.format("h0", 1) + 'Hca 1 "h1"\n', 3, "h1"),
    ("port beyond the count", 'Switch 4 "s0"\n[1] "h0"[1]\n[5] "h1"[1]\n\n' + HOSTS, 3, "5"),
    ("peer's port beyond its count", 'Switch 4 "s0"\n[1] "h0"[2]\n\nHca 1 "h0"\n', 2, None),
    ("port 0", 'Switch 4 "s0"\n[0] "h0"[1]\n\nHca 1 "h0"\n', 2, None),
    ("negative port", 'Switch 4 "s0"\n[-1] "h0"[1]\n\nHca 1 "h0"\n', 2, None),
    ("node twice", GOOD + 'Switch 4 "s0"\n', 11, "s0"),
    ("no name", 'Switch 4\n[1] "h0"[1]\n', 1, None),
    ("no quote", 'Switch 4 "s0\n', 1, "quote"),
    ("too many ports of a switch", 'Switch 70000 "s0"\n', 1, None),
    ("huge number", 'Switch 99999999999999999999 "s0"\n', 1, "too large"),
    ("linked to itself", 'Switch 4 "s0"\n[1] "s0"[1]\n', 2, "itself"),
    ("no switch", 'Hca 1 "h0"\n[1] "h1"[1]\n\nHca 1 "h1"\n[1] "h0"[1]\n', None, "no switch"),
    ("port line before any node", '[1] "h0"[1]\n', 1, None),
)


class BadNetlists(labtest.Folders):
    def refuse(self, path, line=None, word=None):
        """Every command that reads a netlist refuses this one."""
        for command in COMMANDS:
            args = ["--fail", "s0"] if command == "whatif" else []
            result = pmlab.run_cli(command, path, *args)
            what = f"{command}: {result.stderr!r}"
            self.assertEqual(result.returncode, 3, what)
            self.assertEqual(result.stdout, "", what)
            self.assertEqual(result.stderr.count("\n"), 1, what)
            self.assertLess(len(result.stderr), 600, what)
            self.assertTrue(result.stderr.startswith("portmajor: "), what)
            self.assertIn(str(path), result.stderr)
            if line is not None:
                self.assertIn(f"{path}:{line}: ", result.stderr)
            if word is not None:
                self.assertIn(word, result.stderr)

    def write(self, text):
        path = self.folder / "bad.net"
        path.write_bytes(text.encode("latin-1"))
        return path

    def test_table(self):
        for name, text, line, word in BAD_NETLISTS:
            with self.subTest(name):
                self.refuse(self.write(text), line, word)

    def test_file_and_line_are_always_named(self):
        for name, text, _, _ in BAD_NETLISTS:
            with self.subTest(name):
                path = self.write(text)
                self.assertRegex(pmlab.run_cli("plan", path).stderr,
                                 rf"^portmajor: {re.escape(str(path))}:\d+: \S")

    def test_100000_nodes(self):
        """More than there are LIDs: refused, and soon."""
        lines = []
        for i in range(100000):
            lines.append(f'Switch 2 "s{i}"\n\n')
        self.refuse(self.write("".join(lines)), line=None, word=None)

    def test_100000_hosts_on_switches(self):
        """As above, but linked."""
        hosts_each, switches = 200, 500
        lines = []
        for s in range(switches):
            lines.append(f'Switch {hosts_each} "s{s}"\n')
            lines += [f'[{p}] "h{s}-{p}"[1]\n' for p in range(1, hosts_each + 1)]
            lines.append("\n")
        for s in range(switches):
            lines += [f'Hca 1 "h{s}-{p}"\n[1] "s{s}"[{p}]\n\n' for p in range(1, hosts_each + 1)]
        self.refuse(self.write("".join(lines)))

    def test_no_such_file(self):
        self.refuse(self.folder / "is-not-there.net", word="No such file")

    def test_folder(self):
        self.refuse(self.folder)

    def test_unreadable(self):
        if os.geteuid() == 0:
            self.skipTest("root can read everything")
        path = self.write(GOOD)
        path.chmod(0)
        self.addCleanup(path.chmod, 0o644)
        self.refuse(path, word="denied")

    def test_not_a_fat_tree(self):
        result = pmlab.run_cli("plan", pmlab.TOPOLOGIES / "ring-12.net")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r'not a fat tree: .*"r\d" and "r\d"')

    def test_good_one_is_read(self):
        """The table's base is sound: only the faults are refused."""
        path = self.write(GOOD)
        result = pmlab.run_cli("plan", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("1 switch,", result.stdout)

    def test_from_standard_input(self):
        path = self.write(GOOD)
        with open(path, "rb") as text:
            result = pmlab.run_cli("plan", "-", stdin=text)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout, pmlab.run_cli("plan", path).stdout)


class Usage(labtest.Folders):
    NET = str(pmlab.TOPOLOGIES / "xgft-64.net")

    SMALL = ("two-level", "8", "4", "6", "2")

    def test_wrong_usage(self):
        wrong = (
            (), ("no-such-command",), ("--no-such-option",),
            ("plan",), ("plan", self.NET, "more"), ("plan", "-x", self.NET),
            ("plan", "-o", "bogus", self.NET), ("plan", "-o"),
            ("whatif",), ("whatif", self.NET), ("whatif", "--fail", "leaf0"),
            ("whatif", "-o", "bogus", self.NET, "--fail", "leaf0"),
            ("whatif", self.NET, "--fail", "no-such-node"),
            ("whatif", self.NET, "--fail", "leaf0:99"),
            ("whatif", self.NET, "--fail", "leaf0:x"),
            ("whatif", self.NET, "--fail", "leaf0:0"),
            ("whatif", self.NET, "--fail", "leaf0", "no-such-node"),
            ("whatif", self.NET, "--fail", ""),
            ("generate",), ("generate", "bogus"), ("generate", "director"),
            ("generate", "director", "35"), ("generate", "director", "684"),
            ("generate", "director", "x"), ("generate", "director", "-36"),
            ("generate", "director", "36", "36"),
            ("generate", "two-level", "4", "2", "4"), ("generate", "two-level", "0", "2", "4", "1"),
            ("generate", "two-level", "4", "2", "300", "1"),
            ("generate", "xgft", "3", "4,4", "1,4,4"), ("generate", "xgft", "9", "1", "1"),
            ("generate", "xgft", "3", "4,4,4", "2,4,4"), ("generate", "-x"),
            ("generate", "line-boards", "4", "2", "3", "2"), ("generate", "torus", "4,x", "1"),
            ("generate", "line-boards", "4", "2", "3", "2", "0"),
            ("generate", "torus", "4,1", "1"), ("generate", "mesh", "2,2,2,2,2", "1"),
            ("generate", "mesh", "4"), ("generate", "dragonfly", "1", "2", "2", "2"),
            ("generate", "dragonfly", "3", "2", "2"), ("generate", "islands", "2", "1"),
            ("generate", "islands", "2", "1", "2,2"), ("generate", "islands", "0", "1", "2,2,2"),
            ("generate", "islands", "2", "1") + ("2,2,2",) * 5,
            *(("generate", "--service", text, *self.SMALL) for text in (
                "", "sm", "sm=1", "sm:1", "sm:1=1", "=1:1", "sm=0:1", "sm=x:1", "sm=1:4",
                "sm=1:2", "sm=1:1:1", "a b=1:1", "SM=1:1", "averyverylongname=1:1")),
            ("generate", *("--service", "sm=1:1") * 9, *self.SMALL),
            ("generate", "--host-ports", "0", *self.SMALL),
            ("generate", "--host-ports", "3", *self.SMALL),
        )
        for args in wrong:
            with self.subTest(" ".join(args)):
                result = pmlab.run_cli(*args)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertNotEqual(result.stderr, "")

    def test_messages_name_what_is_wanted(self):
        """A typing error is answered with the nearest word, or with the missing operands."""
        net = pmlab.generate(self.folder / "slips.net", "director", 36)
        slips = (
            (("statu",), "no command \"statu\": did you mean status?"),
            (("generate", "two-leve", "1"), "did you mean two-level?"),
            (("generate", "two-level", "36", "18", "18"), "generate: two-level needs 4 numbers: "
             "LEAVES SPINES HOSTS PARALLEL (3 given)"),
            (("generate", "director"), "director needs 1 number: LEAVES (0 given)"),
            (("generate", "islands", "2"), "islands needs at least 3 operands: CORES"),
            (("check", net), "give both, TOPOLOGY and TABLES"),
            (("drain", "-n", net, "leaf0:1"), "no OpenSM has run here with portmajor"),
        )
        for args, message in slips:
            with self.subTest(args):
                result = pmlab.run_cli(*args)
                self.assertIn(message, result.stderr)
                self.assertNotEqual(result.returncode, 0)

    def test_one_is_no_plural(self):
        result = pmlab.run_cli("generate", "--degrade", "links=1", "two-level", "2", "2", "2", "1")
        self.assertIn("0 switches, 0 hosts, 1 other cable between", result.stderr)

    def test_help(self):
        for args in (("-h",), ("--help",), ("generate", "-h"), ("plan", "-h"),
                     ("whatif", "-h"), ("whatif", "--help"), ("merge", "-h"),
                     ("drain", "-h"), ("undrain", "-h"), ("rebalance", "-h")):
            with self.subTest(" ".join(args)):
                result = pmlab.run_cli(*args)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn("usage: portmajor", result.stdout)

    def test_version(self):
        for args in (("-V",), ("--version",), ("plan", "-V"), ("whatif", "--version"),
                     ("plan", "-l", "-V", self.NET)):
            result = pmlab.run_cli(*args)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertRegex(result.stdout, r"^portmajor \d+\.\d+\.\d+\n$")

    def test_full_disk(self):
        """Output that cannot be written is an error, not a short answer."""
        for args in (("plan", self.NET), ("whatif", self.NET, "--fail", "leaf0"),
                     ("generate", "director", "36"), ("-h",), ("-V",), ("plan", "-h")):
            with self.subTest(args), open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([str(pmlab.CLI), *args], stdout=full, check=False,
                                      stderr=subprocess.PIPE, text=True)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("portmajor: ", done.stderr)

    def test_files_that_are_none(self):
        """A device or a pipe is written to, not replaced by a file."""
        done = pmlab.run_cli("plan", "-q", "--lfts", "/dev/stdout", self.NET)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("Unicast lids "))
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        read = self.folder / "read"
        with subprocess.Popen(["timeout", "60", "cp", pipe, read]):
            self.assertEqual(pmlab.run_cli("plan", "-q", "--lfts", pipe, self.NET).returncode, 0)
        self.assertEqual(read.read_text(encoding="utf-8"), done.stdout)
        self.assertTrue(pipe.is_fifo())
        # A link stays one, and the file behind it has only the new content.
        read.write_text("old\n" * 100000, encoding="utf-8")
        link = self.folder / "link"
        link.symlink_to(read)
        self.assertEqual(pmlab.run_cli("plan", "-q", "--lfts", link, self.NET).returncode, 0)
        self.assertEqual(read.read_text(encoding="utf-8"), done.stdout)
        self.assertTrue(link.is_symlink())

    def test_files_are_whole(self):
        """Files have the usual mode, and no part is left where one cannot be written."""
        folder = self.folder / "whole"
        (folder / "folder").mkdir(parents=True)
        self.assertEqual(pmlab.run_cli("plan", "-q", "--lfts", folder / "lfts",
                                       self.NET).returncode, 0)
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual((folder / "lfts").stat().st_mode & 0o777, 0o666 & ~mask)
        self.assertEqual(pmlab.run_cli("plan", "-q", "--lfts", folder / "folder",
                                       self.NET).returncode, 3)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["folder", "lfts"])

    def test_generated_netlists_can_be_read(self):
        for args in (("director", "36"), ("two-level", "8", "4", "6", "2"),
                     ("xgft", "4", "2,2,2,2", "1,2,2,2"), ("line-boards", 6, 3, 4, 5, 3),
                     ("islands", 4, 3, "6,3,8", "4,5,12"), ("--split", *self.SMALL),
                     ("--host-ports", 8, "--rails", "xgft", 3, "8,4,8", "1,4,4"),
                     ("--service", "storage=4:0", "--service", "router=2:0", *self.SMALL)):
            path = pmlab.generate(self.folder / "made.net", *args)
            result = pmlab.run_cli("plan", path)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_generated_fabrics_that_are_no_trees(self):
        for args in (("torus", "4,4", 2), ("mesh", "4,3,2", 2), ("dragonfly", 5, 4, 4, 4)):
            with self.subTest(args):
                path = pmlab.generate(self.folder / "made.net", *args)
                result = pmlab.run_cli("plan", path)
                self.assertEqual((result.returncode, result.stdout), (3, ""))
                self.assertIn("not a fat tree", result.stderr)

    def test_ibsim_warns_of_nothing_that_is_generated(self):
        """ibsim has no warning about generated files, nor about files that were written again with
        parts missing."""
        everything = ("--aggregation-nodes", "--service", "router=1:1", "--service", "sm=1:1",
                      "--host-ports", 2, "--split")
        for number, args in enumerate((
                (*everything, *self.SMALL), (*everything, "--degrade", "links=5%", "-q", *self.SMALL),
                ("line-boards", 4, 3, 3, 2, 3), ("mesh", "3,2", 1))):
            path = pmlab.generate(self.folder / f"made{number}.net", *args)
            with self.subTest(args), simlab.Fabric(path) as fabric:
                self.assertEqual((fabric.path / "stderr").read_text(), "")


class Groups(labtest.Folders):
    """Multicast groups of whatif --groups and --ipoib, and orders of planes of plan."""

    def setUp(self):
        super().setUp()
        self.net = pmlab.generate(self.folder / "fabric.net", "director", "36")
        self.groups = self.folder / "groups"

    def whatif(self, lost, *args):
        done = pmlab.run_cli("whatif", "--json", "--no-loads", "--shifts", "0", self.net,
                             "--fail", lost, *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["multicast"]

    def write(self, text):
        self.groups.write_text(text, encoding="utf-8")
        return "--groups", self.groups

    def test_ipoib(self):
        """MLID 0xc000 with all hosts begins with the last plane, that of chassis s17."""
        self.assertIsNone(self.whatif("leaf5:36"))
        cable = self.whatif("leaf5:36", "--ipoib")
        self.assertEqual((cable["groups"], cable["trees"], cable["down_and_up"]), (1, 1, 0))
        # 36 leaves in one position each; of two chassis two line switches in three
        # positions and three, and a fabric switch in one.
        self.assertEqual((cable["blocks"], cable["sets"], cable["longest"]), (48, 48, 48))
        self.assertEqual(self.whatif("leaf5:35", "--ipoib")["blocks"], 0)
        self.assertEqual(self.whatif("h5-3", "--ipoib")["blocks"], 1)
        self.assertEqual(self.whatif("s17-*", "--ipoib")["ordered"], 0)
        self.assertEqual(self.whatif("leaf5:36", *self.write("# all\n\n0xc000  h*-* \n")),
                         cable)

    def test_members(self):
        """A host, one of its ports by either end, a switch; failed members leave."""
        text = "0xc020 h3-4\n0xc020 h4-4:1\n49184 leaf7:2\n0xc020 s0-fab0\n"
        found = self.whatif("h0-1", *self.write(text))
        self.assertEqual((found["groups"], found["trees"], found["blocks"]), (1, 1, 0))
        self.assertEqual(self.whatif("s0-fab0", *self.write("0xc020 h3-4\n0xc020 s0-fab0\n"))
                         ["trees"], 0)

    def test_members_at_spines(self):
        """No switch reaches two chassis downwards, so the tree goes down and up again, as in the
        plugin; the line switch that it uses in one of them fails."""
        text = "0xc020 s1-fab0\n0xc020 s0-fab0\n"
        found = self.whatif("h0-1", *self.write(text))
        self.assertEqual((found["trees"], found["down_and_up"], found["blocks"]), (1, 1, 0))
        found = self.whatif("s0-line0", *self.write(text))
        self.assertEqual((found["trees"], found["down_and_up"]), (1, 1))
        self.assertGreater(found["blocks"], 0)
        self.assertIn("1 tree down and up again, 0 members in none",
                      pmlab.run_cli("whatif", self.net, "--fail", "s0-line0",
                                    *self.write(text)).stdout)

    def test_a_group_for_each_host(self):
        """IPv6's groups, as docs/fabrics.md has them: the host and 8 others, or all in one."""
        hosts = [f"h{n // 18}-{n % 18 + 1}" for n in range(648)]
        alone = self.whatif("h7-3", *self.write("".join(
            f"{0xC001 + n:#x} {host}\n" for n, host in enumerate(hosts))))
        self.assertEqual((alone["groups"], alone["trees"], alone["full_load"]), (648, 0, 0))
        each = self.write("".join(f"{0xC001 + n:#x} {hosts[(n + 37 * k) % 648]}\n"
                                  for n in range(648) for k in range(9)))
        for lost, most in (("h7-3", 0.01), ("leaf5:36", 0.05), ("s17-*", 0.15)):
            found = self.whatif(lost, *each)
            self.assertEqual(found["trees"], 648)
            self.assertLess(found["sets"], most * found["full_load"], lost)
        one = self.whatif("h7-3", *self.write("".join(f"0xc001 {host}\n" for host in hosts)))
        self.assertEqual(one["sets"], 1)

    def test_bad_files(self):
        for text, line, word in (
                ("0xbfff h1-1\n", 1, "MLID"), ("0xc000 h1-1\n0xffff h1-1\n", 2, "MLID"),
                ("0xc000\n", 1, "no member"), ("0xc000 nobody\n", 1, "nobody"),
                ("0xc000 leaf0:20\n", 1, "neither an end port"), ("h1-1\n", 1, "MLID"),
                ("0xc000 h1-1\0\n", 1, "not text")):
            with self.subTest(text):
                done = pmlab.run_cli("whatif", self.net, "--fail", "h0-1", *self.write(text))
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn(f"{self.groups}:{line}: ", done.stderr)
                self.assertIn(word, done.stderr)
        for args in (("--all", "links", "--ipoib"),
                     ("--fail", "h0-1", "--ipoib", "--groups", self.groups)):
            self.assertEqual(pmlab.run_cli("whatif", *args, self.net).returncode, 2)

    def test_orders(self):
        """Each block and each large group has all planes, blocks begin in turn."""
        done = pmlab.run_cli("plan", "--json", "--mlid-blocks", "512", self.net)
        self.assertEqual(done.returncode, 0, done.stderr)
        multicast = json.loads(done.stdout)["multicast"]
        self.assertEqual(multicast["large_above"], 2)
        self.assertEqual(len(multicast["blocks"]), 512)
        for block in multicast["blocks"]:
            self.assertEqual(sorted(block["planes"]), list(range(18)))
            self.assertEqual(block["planes"][0], block["block"] % 18)
            self.assertEqual(block["first"], 0xC000 + 32 * block["block"])
            self.assertEqual(block["large"], [17 - (mlid - 0xC000) % 18 for mlid in range(
                block["first"], block["last"] + 1)])
        self.assertEqual(multicast["blocks"][-1]["last"], 0xFFFE)
        text = pmlab.run_cli("plan", "--mlid-blocks", "1", self.net).stdout
        self.assertIn("MLIDs 0xc000-0xc01f, planes: 0 1 2 ", text)


if __name__ == "__main__":
    unittest.main()
