#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-vlan plan: its files, compared with walks by the switches' rules."""

import json
import pathlib
import re
import shutil
import subprocess
import unittest

import labtest
import pmlab
import vlanfiles

TOPOLOGIES = pathlib.Path(__file__).resolve().parents[2] / "sim-topologies"


class VlanCase(labtest.Folders):
    def setUp(self):
        self.home = self.folder / self.id().rsplit(".", 1)[-1]
        self.home.mkdir()
        self.out = self.home / "vlans"
        self.macs = self.home / "macs"

    def make(self, *shape):
        self.net = self.home / "fabric.net"
        pmlab.generate(self.net, *shape)
        vlanfiles.write_macs(self.net, self.macs)

    def cli(self, *options):
        return pmlab.run_vlan("plan", "--json", *options, self.net, self.out)

    def plan(self, *options, status=0):
        done = self.cli("--macs", self.macs, *options)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def refused(self, status, message, *options):
        done = self.cli(*options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, message)
        return done

    def check(self, result, vlans, spread):
        files = vlanfiles.Files(self.net, self.out)
        parts, loops = files.parts()
        self.assertEqual(loops, set())
        self.assertEqual(sorted(parts), list(range(101, 101 + vlans)))
        for part in parts.values():
            self.assertEqual(len(set(part.values())), 1)
            self.assertLessEqual(set(files.site.values()), set(part))
        self.assertEqual([files.apart(), files.without_broadcast(), files.unused()], [0, 0, 0])
        self.assertEqual(files.spread(), spread)
        self.assertEqual([result["vlans"], result["needed"], result["unused_cables"]],
                         [vlans, vlans, 0])
        self.assertEqual(len(files.lines), result["hosts"])
        self.assertEqual(files.group, (files.access, 2**32 - 1))
        return files

    def ends(self, files, lost):
        """Both ends of cables named SWITCH:PORT, or of all of a switch."""
        found = set()
        for one in lost:
            name, _, port = one.partition(":")
            found |= {end for end in files.cables
                      if end[0] == name and (not port or end[1] == int(port))}
        return frozenset(found | {files.cables[end] for end in found})

    def lose(self, files, *lost, status=0):
        """Loses parts from the table in force; returns the result."""
        old = self.home / "old"
        shutil.copy(self.out / "hosts", old)
        before, _ = vlanfiles.read_table(old)
        kept = self.switch_files()
        result = self.plan("--diff", old, *(word for one in lost for word in ("--fail", one)),
                           status=status)
        self.assertEqual(self.switch_files(), kept)
        after, _ = vlanfiles.read_table(self.out / "hosts")
        changes, gone = vlanfiles.read_changes(self.out / "hosts.diff")
        self.assertEqual(gone, [])
        self.assertEqual(changes, {mac: line for mac, line in after.items()
                                   if before[mac] != line})
        self.assertEqual(result["changes"]["lines"], len(changes))
        files.read_hosts()
        cut = self.ends(files, lost)
        self.assertEqual(files.apart(cut) > 0, result["unreachable"] > 0)
        self.assertEqual(files.without_broadcast(cut), result["without_broadcast"])
        return result

    def switch_files(self):
        return {path.name: path.read_bytes() for path in self.out.iterdir()
                if path.suffix in (".ovs", ".bridge", ".json")}

    def lines(self, files, *lost):
        """Lines that a failure and the way back change; the bound is met, all pairs meet."""
        first = (self.out / "hosts").read_bytes()
        result = self.lose(files, *lost)
        self.assertEqual([result["unreachable"], result["without_broadcast"]], [0, 0])
        self.assertEqual(result["changes"]["lines"], result["changes"]["bound"])
        back = self.lose(files)
        self.assertEqual((self.out / "hosts").read_bytes(), first)
        self.plan()
        self.assertFalse((self.out / "hosts.diff").exists())  # it was another table's
        self.assertEqual(back["changes"], {"lines": result["changes"]["lines"], "bound": 0})
        return result["changes"]["lines"]


class Fabrics(VlanCase):
    def test_two_levels(self):
        self.make("two-level", 36, 18, 18, 1)
        result = self.plan()
        files = self.check(result, 18, 0)
        self.assertEqual(result["hosts_per_vlan"], {"minimum": 36, "maximum": 36})
        self.assertEqual(result["macs"]["entries"], 18 * 648 - 18 * 17 // 2)
        self.assertEqual(result["flows"], {"vlans": 2, "tree": 18})
        lost = ["leaf5:20"], ["leaf35:36"], ["spine7"], ["leaf5:20", "leaf20:33"], ["leaf3"]
        self.assertEqual([self.lines(files, *one) for one in lost], [6, 18, 35, 24, 0])

    def test_broadcasts_move(self):
        self.make("two-level", 36, 18, 18, 1)
        self.plan()
        files = vlanfiles.Files(self.net, self.out)
        self.assertEqual(self.lines(files, "leaf0:19"), 2)
        result = self.lose(files, "leaf0:19", "leaf7:20")
        self.assertEqual(result["broadcast"], 103)
        self.assertEqual(result["access"], 101)
        # and one failure after the other
        self.lose(files)
        one = self.lose(files, "leaf30:19")["changes"]
        two = self.lose(files, "leaf30:19", "leaf35:36")["changes"]
        self.assertEqual([one["lines"], two["lines"]], [one["bound"], two["bound"]])

    def test_parallel_cables(self):
        self.make("two-level", 4, 2, 9, 3)
        files = self.check(self.plan(), 6, 1)
        self.assertEqual(sorted(files.tops.values()), ["spine0"] * 3 + ["spine1"] * 3)
        self.lines(files, "leaf0:10", "leaf3:15")

    def test_one_leaf_has_lost_all(self):
        """In each VLAN some leaf is cut off: no order of priorities joins the rest."""
        self.make("two-level", 3, 2, 2, 1)
        self.plan()
        files = vlanfiles.Files(self.net, self.out)
        result = self.lose(files, "leaf0:3", "leaf1:4", status=1)
        self.assertEqual(result["unreachable"], 4)  # leaf0 with leaf1
        self.assertEqual(result["unreachable_cabled"], 4)  # over leaf2
        self.assertEqual(result["without_broadcast"], 2)
        self.assertEqual(result["unreachable"], result["pairs"] - 15 + 4)

    def test_three_leaves_in_a_ring(self):
        """Each two have a VLAN that joins them, and no table joins all."""
        self.make("two-level", 3, 3, 1, 1)
        self.plan()
        files = vlanfiles.Files(self.net, self.out)
        result = self.lose(files, "leaf0:2", "leaf1:3", "leaf2:4", status=1)
        self.assertEqual([result["unreachable"], result["pairs"], result["without_broadcast"]], [1, 3, 1])
        parts, _ = files.parts(self.ends(files, ["leaf0:2", "leaf1:3", "leaf2:4"]))
        for a, b in ("leaf0", "leaf1"), ("leaf0", "leaf2"), ("leaf1", "leaf2"):
            self.assertTrue(any(part[a] == part[b] for part in parts.values()))

    def test_named_topologies(self):
        for name, vlans, spread in (("two-level-48", 8, 1), ("xgft-64", 16, 0),
                                    ("oversubscribed-36", 3, 0)):
            self.net = self.home / name
            text = (TOPOLOGIES / f"{name}.net").read_text(encoding="ascii")
            self.net.write_text(text, encoding="ascii")
            vlanfiles.write_macs(self.net, self.macs)
            files = self.check(self.plan(), vlans, spread)
            self.assertGreater(self.lines(files, self.a_cable(files)), 0)

    def a_cable(self, files):
        leaf, port = max(end for end in files.ports if files.cables[end] in files.ports
                         and end[0] in files.site.values())
        return f"{leaf}:{port}"

    def test_three_levels(self):
        self.make("xgft", 3, "4,3,3", "1,3,2")
        files = self.check(self.plan(), 6, 1)
        self.lines(files, "sw2-0:4")

    def test_irregular(self):
        for seed in range(4):
            self.make("--degrade", "links=10%,switches=1,hosts=7", "--seed", seed, "two-level",
                      12, 6, 8, 2)
            done = self.cli("--macs", self.macs)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            result = json.loads(done.stdout)
            files = vlanfiles.Files(self.net, self.out)
            self.assertEqual(files.parts()[1], set())
            self.assertEqual([files.apart() > 0, files.unused()], [result["unreachable"] > 0, 0])
            self.assertEqual(files.without_broadcast(), result["without_broadcast"])

    def test_5832_hosts(self):
        self.make("director", 324)
        result = self.plan()
        files = self.check(result, 324, 0)
        self.assertEqual(result["flows"], {"vlans": 2, "tree": 324})
        shutil.copy(self.out / "hosts", self.home / "first")
        for lost, lines in (["leaf5:20"], 6), (["s7-fab3"], 34), (["leaf5:20", "leaf200:33"], 24):
            shutil.copy(self.home / "first", self.out / "hosts")
            result = self.lose(files, *lost)
            self.assertEqual([result["unreachable"], result["without_broadcast"]], [0, 0])
            self.assertEqual(result["changes"], {"lines": lines, "bound": lines})


class Options(VlanCase):
    def setUp(self):
        super().setUp()
        self.make("two-level", 4, 3, 3, 1)

    def test_numbers(self):
        result = self.plan("--first-vlan", 4092)
        self.assertEqual([result["first"], result["last"]], [4092, 4094])
        self.refused(2, "3 VLANs are needed, and from 4093 on there are 2: --merge",
                     "--macs", self.macs, "--first-vlan", 4093)
        result = self.plan("--first-vlan", 4093, "--merge")
        self.assertEqual([result["vlans"], result["needed"], result["unused_cables"],
                          result["cables"]], [2, 3, 4, 12])
        files = vlanfiles.Files(self.net, self.out)
        self.assertEqual([files.apart(), files.unused()], [0, 4])
        text = pmlab.run_vlan("plan", "--macs", self.macs, "--first-vlan", 4093, "--merge",
                              self.net, self.out).stdout
        self.assertIn("bandwidth lost: 4 of 12 cables between switches are in no VLAN", text)

    @unittest.skipUnless(shutil.which("bridge"), "no bridge here")
    def test_bridge_takes_it(self):
        """bridge accepts the syntax; its effect is not tested, as lo is in no bridge. 1 and 4094
        are runs of one."""
        for first in (2, 4091):
            self.plan("--first-vlan", first)
            vlanfiles.Files(self.net, self.out)
            for path in self.out.glob("*.bridge"):
                text = re.sub(r" dev \S+", " dev lo", path.read_text(encoding="ascii"))
                done = subprocess.run(["bridge", "-force", "-batch", "-"], input=text, text=True,
                                      capture_output=True, check=False)
                self.assertNotIn("nvalid", done.stderr, path)
                self.assertEqual(done.stderr.count("RTNETLINK answers"), text.count("vlan "))

    def test_from_plan_to_plan(self):
        """VLANs change trees: no bridge joins the two of one, wherever its file is interrupted."""
        old, first, second = self.home / "old", (101, 103), (102, 101)
        for before, after in zip(first, second):
            self.plan("--first-vlan", before)
            shutil.copytree(self.out, old, dirs_exist_ok=True)
            self.plan("--first-vlan", after)
            for path in self.out.glob("*.bridge"):
                self.assertTrue(vlanfiles.between(old / path.name, path), path.name)

    def test_mac_table(self):
        entries = self.plan()["macs"]["entries"]
        self.plan("--mac-table", entries)
        self.refused(2, f"--mac-table {entries - 1}: leaf0 would learn {entries} addresses in 3 "
                     "VLANs: --merge", "--macs", self.macs, "--mac-table", entries - 1)
        self.assertEqual(self.plan("--mac-table", entries - 1, "--merge")["vlans"], 2)
        self.assertEqual(self.plan("--mac-table", 12, "--merge")["vlans"], 1)
        self.refused(2, "learn 12 addresses in 1 VLANs$", "--macs", self.macs, "--mac-table", 11,
                     "--merge")

    def test_port_names(self):
        self.plan("--port-names", "{switch}/{port}")
        vlanfiles.Files(self.net, self.out, "{switch}/{port}")
        for wrong, message in ("eth", r"no \{port\} in it"), ("e {port}", "no name for a port"):
            self.refused(2, message, "--macs", self.macs, "--port-names", wrong)

    def test_untagged(self):
        self.plan("--untagged", "h1-2")
        files = vlanfiles.Files(self.net, self.out)
        self.assertEqual(files.ports["leaf1", 2], (101, frozenset()))
        self.assertEqual(files.ports["leaf1", 1], (101, frozenset([102, 103])))
        self.assertEqual(files.lines["h1-2"][0], 101)
        self.assertEqual(max(files.lines, key=lambda host: files.lines[host][1]), "h1-2")
        self.refused(2, "--untagged nobody: there is no such host", "--macs", self.macs,
                     "--untagged", "nobody")

    def test_untagged_with_two_ports(self):
        """h0-1 has the cable of h1-1 as well."""
        text = self.net.read_text(encoding="ascii").replace('"h1-1"[1]', '"h0-1"[2]')
        text = re.sub(r'Hca\t1 "h1-1"\n.*\n', "", text)
        text = text.replace('Hca\t1 "h0-1"\n', 'Hca\t2 "h0-1"\n[2]\t"leaf1"[1]\n')
        self.net.write_text(text, encoding="ascii")
        macs = self.macs.read_text(encoding="ascii")
        self.macs.write_text(macs.replace("h0-1", "h0-1[1]").replace("h1-1", "h0-1[2]"),
                             encoding="ascii")
        self.refused(2, r"--untagged h0-1: it has several ports: NAME\[PORT\] says which",
                     "--macs", self.macs, "--untagged", "h0-1")
        self.plan("--untagged", "h0-1[2]")
        table, names = vlanfiles.read_table(self.out / "hosts")
        highest = sorted(names, key=lambda mac: table[mac][1])[-2]  # the last is for broadcasts
        self.assertEqual(names[highest], "h0-1[2]")

    def test_untagged_beyond_the_access_vlan(self):
        """Of two fabrics, one has it: in the other one, the host's port is closed to all."""
        text = self.net.read_text(encoding="ascii")
        other = re.sub(r'"(leaf|spine|h)', r'"other-\1', text)
        self.net.write_text(text + "\n" + other, encoding="ascii")
        vlanfiles.write_macs(self.net, self.macs)
        self.plan("--untagged", "other-h1-2", status=1)
        files = vlanfiles.Files(self.net, self.out)
        self.assertEqual(files.ports["other-leaf1", 2], (None, frozenset()))
        self.assertEqual(files.ports["other-leaf1", 1], (None, frozenset([104, 105, 106])))

    def test_misused(self):
        for operands, message in (([], "an operand is missing"),
                                  ([self.net], "an operand is missing"),
                                  ([self.net, self.out, "more"], '"more" is one too many'),
                                  (["-o", "grouped", self.net, self.out], "invalid option")):
            done = pmlab.run_vlan("plan", *operands)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(message, done.stderr)
            self.assertIn("usage: portmajor-vlan plan [OPTION]... NETLIST DIR", done.stderr)
            self.assertFalse(self.out.exists())

    def test_cannot_be_written(self):
        self.out.write_text("no folder", encoding="ascii")
        self.refused(3, "vlans", "--macs", self.macs)
        self.out.unlink()
        self.plan()
        (self.out / "switches.json").unlink()
        (self.out / "switches.json").mkdir()
        before = (self.out / "hosts").read_bytes()
        self.refused(3, "switches.json", "--macs", self.macs, "--first-vlan", 7)
        self.assertEqual((self.out / "hosts").read_bytes(), before)
        self.assertEqual([path.name for path in self.out.glob("*.new.*")], [])

    @unittest.skipUnless(shutil.which("ovsdb-server"), "no Open vSwitch here")
    def test_open_vswitch_takes_it(self):
        self.plan()
        home = self.home
        subprocess.run(["ovsdb-tool", "create", home / "db",
                        "/usr/share/openvswitch/vswitch.ovsschema"], check=True)
        self.addCleanup(self.stop, home / "pid")
        subprocess.run(["ovsdb-server", home / "db", f"--remote=punix:{home}/sock", "--no-chdir",
                        f"--unixctl={home}/ctl", f"--pidfile={home}/pid", "--detach",
                        f"--log-file={home}/log"], check=True, capture_output=True)
        vsctl = ["ovs-vsctl", f"--db=unix:{home}/sock", "--no-wait"]
        ports = [word for i in range(1, 7) for word in ("--", "add-port", "br", f"swp{i}")]
        subprocess.run([*vsctl, "add-br", "br", *ports], check=True)
        subprocess.run(["sh", self.out / "leaf0.ovs", *vsctl[1:]], check=True)
        done = subprocess.run([*vsctl, "get", "port", "swp1", "tag", "trunks", "vlan_mode"],
                              check=True, capture_output=True, text=True)
        self.assertEqual(done.stdout.split("\n")[:3], ["101", "[102, 103]", "native-untagged"])

    def stop(self, pid):
        if pid.exists():
            subprocess.run(["kill", pid.read_text(encoding="ascii").strip()], check=False)


class Macs(VlanCase):
    def setUp(self):
        super().setUp()
        self.make("two-level", 2, 1, 2, 1)

    def test_in_the_netlist(self):
        text, count = self.net.read_text(encoding="ascii"), 0

        def add(match):
            nonlocal count
            count += 1
            return f"{match[0]} # mac 02:00:00:00:00:{count:02X}"

        self.net.write_text(re.sub(r'(?<=\n)Hca.*\n\[1\].*', add, text), encoding="ascii")
        self.assertEqual(count, 4)
        done = self.cli()
        self.assertEqual(done.returncode, 0, done.stderr)
        table, names = vlanfiles.read_table(self.out / "hosts")
        self.assertEqual(names["02:00:00:00:00:04"], "h1-2")
        # lines of the file come first
        self.macs.write_text("h1-2[1]  04:00:00:00:00:09 # another\n", encoding="ascii")
        self.plan()
        self.assertEqual(vlanfiles.read_table(self.out / "hosts")[1]["04:00:00:00:00:09"], "h1-2")
        # a host has a new address
        old = self.home / "old"
        shutil.copy(self.out / "hosts", old)
        result = json.loads(self.cli("--diff", old).stdout)
        self.assertEqual(result["changes"], {"lines": 2, "bound": 2})
        changes, gone = vlanfiles.read_changes(self.out / "hosts.diff")
        self.assertEqual([list(changes), gone], [["02:00:00:00:00:04"], ["04:00:00:00:00:09"]])
        self.refused(3, "h1-2 is not in the former table: plan without --fail first",
                     "--diff", old, "--fail", "leaf0:1")
        self.macs.write_text("h1-2 02:00:00:00:00:01\n", encoding="ascii")
        self.refused(3, "h0-1 and h1-2 have one MAC address, 02:00:00:00:00:01", "--macs",
                     self.macs)
        # wrong ones
        for wrong, message in ("02:00:00:00:00:0", r"fabric.net:\d+: .* is no host's MAC address"),\
                ("03:00:00:00:00:04", r"fabric.net:\d+: .* is no host's MAC address"), \
                ("02:00:00:00:00:01", r'fabric.net:\d+: "h1-2" has the port GUID .* of "h0-1"'):
            text = self.net.read_text(encoding="ascii")
            self.net.write_text(text.replace("02:00:00:00:00:04", wrong), encoding="ascii")
            self.refused(3, message)
            self.net.write_text(text, encoding="ascii")

    def test_in_a_file(self):
        good = self.macs.read_text(encoding="ascii")
        self.refused(3, "h0-1 has no MAC address in the netlist: --macs FILE gives it")
        for line, message in {
                "h0-1": "macs:5: a line is NAME MAC, not h0-1",
                "h0-1 02:00:00:00:01": "macs:5: no MAC address: 02:00:00:00:01",
                "h0-1 01:00:00:00:00:01": "macs:5: 01:00:00:00:00:01 is no host's address",
                "h0-1 ff:ff:ff:ff:ff:ff": "macs:5: ff:ff:ff:ff:ff:ff is no host's address",
                "h0-1 00:00:00:00:00:00": "macs:5: 00:00:00:00:00:00 is no host's address",
                "h0-1 02:00:00:00:00:09": "macs:5: h0-1 has an address in line 1, too",
                "h0-9 02:00:00:00:00:09": "macs:5: no node is named h0-9",
                "h0-1[2] 02:00:00:00:00:09": r"macs:5: no node is named h0-1\[2\]",
                "leaf0 02:00:00:00:00:09": "macs:5: leaf0 has several ports",
                "leaf0[1] 02:00:00:00:00:09": r"macs:5: leaf0\[1\] is a switch",
                "h0-2 02:00:00:00:00:01": "macs:5: 02:00:00:00:00:01 is in line 1, too",
        }.items():
            self.macs.write_text(good + line + "\n", encoding="ascii")
            self.refused(3, message, "--macs", self.macs)
        self.macs.write_text(good.split("\n", 1)[1], encoding="ascii")
        self.refused(3, "h0-1 has no MAC address, neither in the file nor in the netlist", "--macs",
                     self.macs)
        self.assertFalse(self.out.exists())

    def test_former_tables(self):
        self.plan()
        old = self.home / "old"
        good = (self.out / "hosts").read_text(encoding="ascii")
        old.write_text(good.replace(" 101 ", " 99 "), encoding="ascii")
        self.refused(3, "old:2: VLAN 99 is none of the plan's, 101 to 101", "--macs", self.macs,
                     "--fail", "leaf0:1", "--diff", old)
        old.write_text(good.replace("ff:ff:", "#ff:ff:"), encoding="ascii")
        self.refused(3, "old has no line of broadcasts: plan without --fail first", "--macs",
                     self.macs, "--fail", "leaf0:1", "--diff", old)
        result = self.plan("--diff", old)
        self.assertEqual(result["changes"], {"lines": 1, "bound": 1})
        old.write_text(good + "02:00:00:00:00:01 5\n", encoding="ascii")
        self.refused(3, "old:7: no priority", "--macs", self.macs, "--diff", old)
        self.refused(3, "nowhere", "--macs", self.macs, "--diff", self.home / "nowhere")


if __name__ == "__main__":
    labtest.main()
