#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
plan --simgrid: the routes are those of the tables, and an MPI program on them is slowed down by a
degraded fabric as much as the loads of links predict.
"""

import json
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

import labtest
import pmlab
import simlab

PROGRAM = pmlab.BUILD / "simgrid_collective"
HEADER = 16  # bytes that SMPI adds to each message
RATE = 4e9  # bytes a second, 4xQDR

# CM02 without effects other than loads of links.
CONFIG = ("network/model:CM02", "network/crosstraffic:0", "smpi/wtime:0",
          "smpi/simulate-computation:no", "smpi/host-speed:1Gf", "smpi/alltoall:basic_linear")


def read_tables(path):
    """({switch: {LID: port}}, {host: base LID}) of the files of plan --lfts."""
    tables, lids, table = {}, {}, None
    for line in path.read_text("ascii").splitlines():
        head = re.match(r"Unicast lids .* of switch .*\('(.*)'\):$", line)
        entry = re.match(r"0x(\w+) (\d+) # (.*?) portguid \w+: '(.*)'$", line)
        if head:
            table = tables.setdefault(head[1], {})
        elif entry:
            lid = int(entry[1], 16)
            table[lid] = int(entry[2])
            if entry[3] == "Channel Adapter":
                lids[entry[4]] = min(lid, lids.get(entry[4], lid))
    return tables, lids


class Writer(labtest.Folders):
    def write(self, net, *options, cut=0):
        """Writes the platform and the tables, by one command; cut: pairs without a path."""
        done = pmlab.run_cli("plan", "-q", "--simgrid", self.folder / "p.xml", "--lfts",
                             self.folder / "tables", *options, net)
        self.assertEqual((done.returncode, done.stdout), (int(cut > 0), ""), done.stderr)
        self.assertRegex(done.stderr, "^portmajor: after the failure: no " if cut else "^$")
        return (xml.etree.ElementTree.parse(self.folder / "p.xml").getroot(),
                *read_tables(self.folder / "tables"))


class Platform(Writer):
    def walk(self, netlist, tables, lid, source, to):
        """Links from one host to another, or None."""
        (port, (at, _)), = netlist.nodes[source].ports.items()
        way = [f"{source}:{port}"]
        for _ in range(20):
            port = tables.get(at, {}).get(lid)
            if not port or port not in netlist.nodes[at].ports:
                return None
            way.append(f"{at}:{port}")
            at = netlist.nodes[at].ports[port][0]
            if not netlist.nodes[at].is_switch:
                return way if at == to else None
        return None

    def check_routes(self, net, *options, gone=(), cut_pairs=0):
        """Each pair of hosts has its route, or none where there is no path; gone: hosts."""
        root, tables, lids = self.write(net, *options, cut=cut_pairs)
        netlist = simlab.Netlist(net)
        hosts = [host.get("id") for host in root.iter("host")]
        self.assertEqual(set(hosts), set(netlist.hosts) - set(gone))
        links = {link.get("id") for link in root.iter("link")}
        routes = {}
        for route in root.iter("route"):
            pair = route.get("src"), route.get("dst")
            self.assertNotIn(pair, routes)
            self.assertEqual(route.get("symmetrical"), "NO")
            routes[pair] = [link.get("id") for link in route]
        cut = 0
        for source in hosts:
            for to in hosts:
                if source == to:
                    self.assertNotIn((source, to), routes)
                    continue
                way = self.walk(netlist, tables, lids[to], source, to)
                self.assertEqual(routes.get((source, to)), way, (source, to))
                self.assertLessEqual(set(way or ()), links)
                cut += way is None
        self.assertIn(f"<!-- ordered pairs without a path: {cut} -->",
                      (self.folder / "p.xml").read_text("ascii"))
        return root, cut

    def test_routes(self):
        two = pmlab.generate(self.folder / "two.net", "two-level", 6, 4, 4, 1)
        chain = pmlab.generate(self.folder / "chain.net", "two-level", 4, 3, 2, 1)
        xgft = pmlab.TOPOLOGIES / "xgft-64.net"
        for net, options, gone, cut in (
                (two, (), (), 0), (two, ("-m", 1), (), 0), (two, ("-o", "leaf-major"), (), 0),
                (two, ("--fail", "leaf0:5", "--fail", "spine1"), (), 0),
                (two, ("--fail", "leaf2", "--fail", "h3-1"),
                 ("h2-1", "h2-2", "h2-3", "h2-4", "h3-1"), 0),
                # Two pairs of leaves with 2 hosts each are apart, both ways.
                (chain, [text for cable in pmlab.CHAIN for text in ("--fail", cable)], (), 16),
                (xgft, (), (), 0), (xgft, ("--fail", "sw2-0"), (), 0)):
            with self.subTest(options):
                self.assertEqual(self.check_routes(net, *options, gone=gone, cut_pairs=cut)[1],
                                 cut)

    def test_nothing_left(self):
        """No host, no table, and no undefined behaviour (with sanitizers)."""
        net = pmlab.generate(self.folder / "whole.net", "two-level", 6, 4, 4, 1)
        root, tables, _ = self.write(net, "--fail", "*")
        self.assertEqual((list(root.iter("host")), tables), ([], {}))

    def test_rates(self):
        """Of the netlist; 200 Gb/s without one. A switch costs 100 ns, a cable 50."""
        net = self.folder / "rates.net"
        text = pmlab.generate(net, "two-level", 2, 1, 1, 1).read_text("ascii")
        lines = [line.replace("4xQDR", "1xQDR") if '"spine0"[1]' in line else
                 line.replace("4xQDR", "") if '"h1-1"[1]' in line or '"leaf1"[1]' in line
                 else line for line in text.splitlines()]
        net.write_text("\n".join(lines) + "\n", "ascii")
        root, *_ = self.write(net)
        self.assertEqual(
            {link.get("id"): (link.get("bandwidth"), link.get("latency"))
             for link in root.iter("link")},
            {"h0-1:1": ("32000Mbps", "50ns"), "leaf0:1": ("32000Mbps", "150ns"),
             "leaf0:2": ("8000Mbps", "150ns"), "spine0:1": ("8000Mbps", "150ns"),
             "spine0:2": ("32000Mbps", "150ns"), "leaf1:2": ("32000Mbps", "150ns"),
             "leaf1:1": ("200000Mbps", "150ns"), "h1-1:1": ("200000Mbps", "50ns")})

    def test_names(self):
        """Two hosts of one name, and characters that XML does not have as they are."""
        net = self.folder / "odd.net"
        net.write_text(
            'switchguid=0x100\nSwitch 4 "S-1" # "a<b>&\'c"\n[1] "H-1"[1]\n[2] "H-2"[1]\n'
            '[3] "H-3"[1]\n\n' + "".join(
                f'caguid=0x{0x200 + n:x}\nCa 1 "H-{n}" # "{name}"\n'
                f'[1](0x{0x300 + n:x}) "S-1"[{n}]\n\n'
                for n, name in ((1, "x y"), (2, "x y"), (3, "<&>"))), "ascii")
        root, *_ = self.write(net)
        self.assertEqual({host.get("id") for host in root.iter("host")},
                         {"x y-0000000000000201", "x y-0000000000000202", "<&>"})
        self.assertEqual({link.get("id") for link in root.iter("link")},
                         {"x y-0000000000000201:1", "x y-0000000000000202:1", "<&>:1",
                          "a<b>&'c:1", "a<b>&'c:2", "a<b>&'c:3"})

    def test_too_many(self):
        net = pmlab.generate(self.folder / "large.net", "two-level", 33, 2, 32, 1)
        done = pmlab.run_cli("plan", "-q", "--simgrid", self.folder / "no.xml", net)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("1056 hosts", done.stderr)
        self.assertFalse((self.folder / "no.xml").exists())
        # Lost messages are not counted.
        done = pmlab.run_cli("plan", "-q", "--simgrid", "/dev/null", "--fail", "leaf0", net)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_loss_without_files(self):
        """It would change nothing."""
        net = pmlab.generate(self.folder / "two.net", "two-level", 4, 2, 2, 1)
        done = pmlab.run_cli("plan", "--fail", "spine0", net)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--fail needs an option that writes a file", done.stderr)


@unittest.skipUnless(PROGRAM.exists() and shutil.which("smpirun"), "no SimGrid here")
class Mpi(Writer):
    BYTES = 20000  # from each process to each other one

    def run_program(self, hosts, size=BYTES, config=CONFIG):
        """Seconds until the last process is done."""
        (self.folder / "hosts").write_text("".join(f"{one}\n" for one in hosts), "ascii")
        done = subprocess.run(
            ["smpirun", "-np", str(len(hosts)), "-platform", "p.xml", "-hostfile", "hosts",
             *(f"--cfg={one}" for one in config), "--log=root.thresh:warning", str(PROGRAM),
             "alltoall", str(size)], capture_output=True, text=True, check=False,
            cwd=self.folder, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        times = [float(line) for line in done.stdout.split()]
        self.assertEqual(len(times), len(hosts), done.stdout)
        return max(times)

    def most_flows(self, net, lost, hosts):
        """On one link: from `table` for those between switches, and for a host's own."""
        lose = [word for one in lost for word in ("--fail", one)]
        table = json.loads(pmlab.run_cli("table", "--json", *lose, net).stdout)
        return max(hosts - 1, *(port["after"] for switch in table["switches"]
                                for port in switch["ports"]))

    def test_degraded(self):
        """64 hosts, each sending to each other one. The busiest link is busy all the time, unless
        flows near it have more of their links than it has: one cable fails."""
        net = pmlab.generate(self.folder / "64.net", "two-level", 8, 8, 8, 1)
        took = {}
        for lost, flows, over in (((), 63, 1.001), (("leaf0:9",), 64, 1.07),
                                  (("spine[0-3]",), 112, 1.001)):
            root, *_ = self.write(net, *(word for one in lost for word in ("--fail", one)))
            hosts = [host.get("id") for host in root.iter("host")]
            self.assertEqual(self.most_flows(net, lost, len(hosts)), flows)
            took[lost] = self.run_program(hosts)
            wanted = flows * (self.BYTES + HEADER) / RATE
            self.assertLessEqual(wanted, took[lost])
            self.assertLess(took[lost], over * wanted)
        times = list(took.values())
        self.assertEqual(times, sorted(times))

    def packet_engine(self, net, size, *lost):
        """Seconds of the same messages, one after the other, packet by packet."""
        lose = ("--fail", *lost, "--at", "-1us", "--repair", "at-once") if lost else ()
        done = pmlab.run_lab("traffic", "-q", "--json", "--pattern", "all-to-all",
                             "--messages", "all", "--bytes", size, "--time", "1s", *lose, net)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)["points"][0]["done"]["us"] / 1e6

    def test_overload(self):
        """SimGrid's times are too short where links are overloaded, as it has no queues in which
        packets for other links wait: the guide has the difference."""
        size = 65536
        config = [*CONFIG[:-1], "smpi/alltoall:ring"]
        for side, lost, least, most in ((4, "spine[0-1]", 0.88, 0.92), (8, "spine[0-3]", 0.76, 0.8)):
            net = pmlab.generate(self.folder / "n.net", "two-level", side, side, side, 1)
            for fail, low, high in (((), 0.99, 1.01), ((lost,), least, most)):
                root, *_ = self.write(net, *(("--fail", *fail) if fail else ()))
                hosts = [host.get("id") for host in root.iter("host")]
                ratio = self.run_program(hosts, size, config) / self.packet_engine(net, size, *fail)
                with self.subTest(side=side, fail=fail):
                    self.assertGreater(ratio, low)
                    self.assertLess(ratio, high)


if __name__ == "__main__":
    unittest.main()
