#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor table: the numbers behind the report's pictures."""

import json
import re
import unittest

import labtest
import pmlab


def table(netlist, *args):
    """The output of `portmajor table`."""
    return json.loads(pmlab.run_cli("table", "--json", *args, netlist).stdout)


class Table(labtest.Folders):
    """A switch's table, and every port's load, before and after a failure."""

    def test_blocks_are_those_of_whatif(self):
        netlist = pmlab.generate(self.folder / "d.net", "director", 36)
        for order in ("grouped", "leaf-major", "port-major"):
            for lost in ("s0-*", "leaf3:20", "s2-fab0", "h3-4", "leaf1"):
                with self.subTest(f"{order} {lost}"):
                    switches = table(netlist, "-o", order, "--fail", lost)["switches"]
                    told = pmlab.whatif(netlist, lost, order=order)
                    self.assertEqual(sum(s["blocks"] for s in switches), told.blocks)
                    self.assertEqual(sum(s["entries"] for s in switches), told.entries)

    def test_entries_and_blocks_of_the_switch_agree(self):
        netlist = pmlab.generate(self.folder / "d.net", "director", 36)
        found = table(netlist, "--fail", "s0-*", "--switch", "leaf7")
        changed = [lid for lid, entry in enumerate(found["entries"])
                   if entry and entry[1] != entry[2]]
        own = [s for s in found["switches"] if s["name"] == "leaf7"][0]
        self.assertEqual(len(changed), own["entries"])
        self.assertEqual(len({lid // 64 for lid in changed}), own["blocks"])

    def test_flows_are_conserved(self):
        """Every host sends to every other leaf's hosts over one up port, none over two."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        found = table(netlist, "--fail", "spine1")
        for when, ports in (("before", 3), ("after", 2)):
            for switch in found["switches"]:
                loads = [p[when] for p in switch["ports"] if p["direction"] == "up" and p[when]]
                if switch["level"] == 0:
                    self.assertEqual((sum(loads), len(loads)), (6 * 30, ports))

    def test_flows_of_all_ways(self):
        """Flows up from the leaves come down from the spines; a failed host has none."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        found = table(netlist, "--fail", "h0-1")
        self.assertEqual(found["switch"], "leaf0")
        for when, first, others in (("before", 6 * 30, 6 * 30), ("after", 5 * 30, 6 * 29)):
            sums = {switch["name"]: sum(port[when] for port in switch["ports"])
                    for switch in found["switches"]}
            self.assertEqual(sums.pop("leaf0"), first)
            leaves = {name: flows for name, flows in sums.items() if name.startswith("leaf")}
            self.assertEqual(set(leaves.values()), {others})
            self.assertEqual(sum(sums.values()) - sum(leaves.values()), first + 5 * others)

    def test_names_of_the_switch(self):
        """All names of the switch for --fail work; a name of two, or of a host, is refused."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        guid = next(s["guid"] for s in table(netlist)["switches"] if s["name"] == "leaf5")
        plan = pmlab.run_cli("plan", "-l", netlist).stdout
        lid = re.search(r'^lid (\d+) .*"leaf5"$', plan, re.MULTILINE)[1]
        for name in ("leaf5", guid, f"S-{guid[2:]}", f"lid:{lid}", "leaf5*"):
            self.assertEqual(table(netlist, "--switch", name)["switch"], "leaf5", name)
        guids = ", ".join(s["guid"] for s in table(netlist)["switches"]
                          if s["name"].startswith("leaf"))
        for name, why in (("h0-1", '"h0-1" is no switch'),
                          ("leaf*", f'6 nodes are named "leaf*": give the GUID of one ({guids})')):
            refused = pmlab.run_cli("table", "--switch", name, netlist)
            self.assertEqual((refused.returncode, refused.stderr),
                             (2, f"portmajor: --switch: {why}\n"))

    def test_ports_and_their_planes(self):
        """A leaf's up ports have each plane once; a port's peer names it, too."""
        netlist = pmlab.generate(self.folder / "d.net", "director", 36)
        found = table(netlist)
        switches = found["switches"]
        ports = {(i, port["port"]): (port["to"], port["peer_port"])
                 for i, switch in enumerate(switches) for port in switch["ports"]}
        self.assertEqual([ports[other] for other in ports.values()], list(ports))
        for switch in switches:
            planes = [port["plane"] for port in switch["ports"] if port["plane"] is not None]
            self.assertEqual(sorted(planes), list(range(18)) if switch["level"] == 0 else [])
            self.assertEqual(planes, [switches[port["to"]]["component"]
                                      for port in switch["ports"] if port["plane"] is not None])

    def test_text(self):
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        text = pmlab.run_cli("table", "--fail", "leaf0:7", netlist).stdout
        found = table(netlist, "--fail", "leaf0:7")
        leaf = found["switches"][0]
        self.assertEqual([port["usable"] for port in leaf["ports"]], [False, True, True])
        self.assertEqual(text, (
            f'"leaf0": {leaf["entries"]} entries in 1 block differ after the failure\n'
            "port  way       before      after  to\n"
            '   7  up            60          0  "spine0"[1], failed\n'
            '   8  up            60         90  "spine1"[1]\n'
            '   9  up            60         90  "spine2"[1]\n'))
        self.assertEqual(pmlab.run_cli("table", "-q", netlist).stdout, "")
        self.assertEqual(table(netlist, "-q"), table(netlist))

    def test_multicast(self):
        """The changed blocks are those that whatif counts, over all switches; lists of ports are
        the trees."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        groups = self.folder / "groups"
        groups.write_text("0xc000 h*-*\n0xc021 h0-1\n0xc021 h1-2\n", encoding="ascii")
        lost = "leaf0:9"  # the last plane's, which 0xc000 begins with
        self.assertIsNone(table(netlist)["multicast"])
        found = {name: table(netlist, "-S", name, "--fail", lost, "--groups", groups)["multicast"]
                 for name in [f"leaf{i}" for i in range(6)] + [f"spine{i}" for i in range(3)]}
        whatif = json.loads(pmlab.run_cli("whatif", "--json", "--no-loads", "--groups", groups,
                                          "--fail", lost, netlist).stdout)["multicast"]
        self.assertGreater(whatif["blocks"], 0)
        self.assertEqual(sum(len(block["changed"]) for one in found.values()
                             for block in one["blocks"]), whatif["blocks"])
        leaf = {entry["mlid"]: entry for block in found["leaf0"]["blocks"]
                for entry in block["entries"]}
        self.assertEqual(set(leaf), {0xC000, 0xC021})
        self.assertEqual([block["block"] for block in found["leaf0"]["blocks"]], [0, 1])
        for mlid, hosts in ((0xC000, [1, 2, 3, 4, 5, 6]), (0xC021, [1])):
            for when in ("before", "after"):
                *ports, uplink = leaf[mlid][when]
                self.assertEqual(ports, hosts)
                self.assertIn(uplink, {7, 8} | ({9} if when == "before" else set()))
        self.assertEqual(leaf[0xC000]["before"][-1], 9)
        self.assertEqual([block["block"] for block in found["leaf2"]["blocks"]], [0])

    def test_multicast_text(self):
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 4, 2, 2, 1)
        done = pmlab.run_cli("table", "--ipoib", "--fail", "leaf0:4", netlist)
        self.assertEqual(done.stdout.splitlines()[-3:], [
            "MFT block 0: 1 of 1 position to be sent", "MLID     ports",
            "0xc000   1 2 4 -> 1 2 3"])
        groups = self.folder / "groups"
        groups.write_text("0xc000 h2-1\n0xc000 h3-1\n", encoding="ascii")
        done = pmlab.run_cli("table", "--groups", groups, netlist)
        self.assertEqual(done.stdout.splitlines()[-1], "no multicast entries")

    def test_planes_with_lmc(self):
        """Each LID of a port has its own plane, as in the plan."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        plan = json.loads(pmlab.run_cli("plan", "--json", "-l", "-m", 1, netlist).stdout)
        planes = {lid["lid"]: -1 if lid["plane"] is None else lid["plane"]
                  for lid in plan["lids"]}
        self.assertEqual({lid: entry[0] for lid, entry in enumerate(
            table(netlist, "-m", 1)["entries"]) if entry}, planes)

    def test_manager(self):
        """From one spine to another a path goes down and up: to the manager's LID only."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        plan = json.loads(pmlab.run_cli("plan", "--json", "-l", netlist).stdout)
        lids = {lid["switch"]: lid["lid"] for lid in plan["lids"] if not lid["port"]}
        for options, to_spine0 in (((), False), (("-s", "spine0"), True)):
            entries = table(netlist, "--switch", "spine1", *options)["entries"]
            self.assertEqual(entries[lids["spine0"]][1] > 0, to_spine0)
            self.assertEqual(entries[lids["spine2"]][1], -1)
            self.assertEqual(entries[lids["spine1"]][1], 0)

    def test_hosts_have_names(self):
        """In the order of their ports, also where there are ports without hosts."""
        whole = pmlab.generate(self.folder / "t.net", "two-level", 4, 2, 3, 1)
        netlist = pmlab.without_cables(whole, ["leaf1:2"], self.folder / "less.net")
        found = {switch["name"]: switch for switch in table(netlist)["switches"]}
        self.assertEqual(found["leaf1"]["hosts"], [1, 3])
        self.assertEqual(found["leaf1"]["host_names"], ["h1-1", "h1-3"])
        self.assertEqual(found["spine0"]["host_names"], [])

    def test_bad_usage(self):
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 4, 2, 2, 1)
        for args, status in (((), 2), ((netlist, "--fail", "nobody"), 2),
                             ((netlist, "--fail", "leaf0:99"), 2), ((netlist, netlist), 2),
                             ((netlist, "--switch", "nobody"), 2),
                             ((netlist, "--ipoib", "--groups", netlist), 2),
                             ((netlist, "--groups", netlist), 3),
                             ((self.folder / "none.net",), 3)):
            with self.subTest(args):
                done = pmlab.run_cli("table", *args)
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertTrue(done.stderr)


if __name__ == "__main__":
    unittest.main()
