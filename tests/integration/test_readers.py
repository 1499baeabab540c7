#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One simulated fabric in all formats of programs: one fabric, one plan."""

import json
import re

import clients
import labtest
import odd_netlists
import pmlab
import simlab

# The programs of infiniband-diags, and the names of the files.
PROGRAMS = {
    "discovered": ["ibnetdiscover"],
    "full": ["ibnetdiscover", "-f"],
    "grouped": ["ibnetdiscover", "-g"],
    "ports": ["ibnetdiscover", "-p"],
    "info": ["iblinkinfo"],
    "lines": ["iblinkinfo", "-l"],
    "settings": ["iblinkinfo", "-p"],
}
FULL_LIST = ["ibnetdiscover", "-l"]


def odd_ports():
    """Two levels of switches with 81 and 65 ports, which are split or not.

    Hosts with two ports on two leaves and on one, hosts with two CAs, and a router.
    """
    net = odd_netlists.Net()
    for spine in range(3):
        net.switch(f"spine{spine}", 65, 1)
    for leaf in range(4):
        net.switch(f"leaf{leaf}", 81)
    for leaf in range(4):
        net.hosts(f"leaf{leaf}", 5)
        net.host(f"two leaves {leaf}", f"leaf{leaf}", f"leaf{(leaf + 1) % 4}")
        net.host(f"one leaf {leaf}", f"leaf{leaf}", f"leaf{leaf}")
        net.host(f"rails{leaf} HCA-1", f"leaf{leaf}")
        net.host(f"rails{leaf} HCA-2", f"leaf{leaf ^ 1}")
    net.host("router", "leaf3", kind="Rt")
    for leaf in range(4):
        for spine in range(3):
            net.cable(f"leaf{leaf}", f"spine{spine}", 4)
    return net


def xdr_planes(count, joined=False):
    """As many fabrics as an XDR switch has planes; each CA has a port on each of them."""
    net = odd_netlists.Net()
    for plane in range(count):
        net.switch(f"spine.{plane}", 16, 1)
        for leaf in range(3):
            net.switch(f"leaf{leaf}.{plane}", 16)
    for leaf in range(3):
        for host in range(3):
            net.host(f"h{leaf}-{host}", *[f"leaf{leaf}.{plane}" for plane in range(count)])
    for plane in range(count):
        for leaf in range(3):
            net.cable(f"leaf{leaf}.{plane}", f"spine.{plane}", 4)
        if joined and plane:
            for leaf in range(3):
                net.cable(f"leaf{leaf}.0", f"leaf{leaf}.{plane}")
    return net


class Readers(labtest.Folders):
    def plan(self, path, *options, status=0):
        done = pmlab.run_cli("plan", *options, path)
        self.assertEqual(done.returncode, status, f"{path}: {done.stdout} {done.stderr}")
        return done


class Programs(Readers):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        net = odd_ports()
        cls.netlist = net.write(cls.folder / "fabric.net")
        with pmlab.Fabric(cls.netlist) as fabric, pmlab.open_sm(fabric) as osm:
            osm.settle(timeout=pmlab.TIMEOUT_S)
            host = "leaf0-h1"
            for name, argv in dict(PROGRAMS, nodes=FULL_LIST).items():
                (cls.folder / name).write_text(clients.ask(fabric, host, *argv),
                                               encoding="utf-8")
            path = osm.path / "opensm-subnet.lst"
            simlab.poll_until(lambda: path.exists() and
                              path.read_text().count("\n") == 2 * len(net.cables), 20,
                              "the topology")
            (cls.folder / "subnet.lst").write_bytes(path.read_bytes())

    def described(self, name):
        """Some programs do not distinguish routers from other nodes: the role is given."""
        config = self.folder / "portmajor.conf"
        config.write_text("role compute name router\n", encoding="utf-8")
        done = self.plan(self.folder / name, "-l", "--json", "--config", config)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def test_one_plan(self):
        wanted = self.described("discovered")
        self.assertEqual((wanted["switches"], wanted["leaves"]), (7, 4))
        names = {lid["switch"] for lid in wanted["lids"]}
        self.assertEqual(names, set(simlab.Netlist(self.netlist).switches))
        for name in ("fabric.net", *PROGRAMS, "subnet.lst"):
            with self.subTest(name):
                self.assertEqual(self.described(name), wanted)

    def test_one_topology(self):
        """All switches, LIDs and entries of tables are equal."""
        for name in PROGRAMS:
            with self.subTest(name):
                done = pmlab.run_cli("diff", "--json", self.folder / "discovered",
                                     self.folder / name)
                found = json.loads(done.stdout)
                if name not in ("ports", "info", "lines", "settings"):
                    self.assertEqual(done.returncode, 0, done.stdout)
                # Without GUIDs of nodes, end nodes are others; their ports are not.
                topology = found["topology"]
                self.assertEqual((topology["switches_gone"], topology["switches_new"]), (0, 0))
                self.assertEqual(found["lids"], {"other_owner": 0, "gone": 0, "new": 0})
                self.assertEqual(found["tables"]["entries"], 0)

    def test_nodes_are_no_fabric(self):
        done = self.plan(self.folder / "nodes", status=3)
        self.assertIn("ibnetdiscover -l lists them; take `ibnetdiscover > FILE`", done.stderr)

    def test_cut(self):
        """Behind the switches' records all is known; in the last of them it is not."""
        text = (self.folder / "discovered").read_text(encoding="utf-8")
        path = self.folder / "cut"
        path.write_text(text[:text.index("caguid=") + 9], encoding="utf-8")
        wanted = self.described("discovered")
        done = self.plan(path, "-l", "--json", "--config", self.folder / "portmajor.conf")
        found = json.loads(done.stdout)
        notes = found.pop("notes")
        self.assertEqual(found, {k: v for k, v in wanted.items() if k != "notes"})
        self.assertRegex(notes[0], r"cut:\d+: the file ends in the middle of this line")
        self.assertRegex(notes[1], r"cut:\d+: end nodes without a record: 37, ")
        self.assertEqual(done.stderr, "".join(f"portmajor: warning: {n}\n" for n in notes))
        last = text.rindex("switchguid=", 0, text.index("caguid="))
        path.write_text(text[:last], encoding="utf-8")
        done = self.plan(path, "-q")
        self.assertRegex(done.stderr, r'\d+ ports lead to "S-[0-9a-f]{16}", which has no record')

    def test_many_notes(self):
        """The first ones are printed."""
        text = (self.folder / "discovered").read_text(encoding="utf-8")
        path = self.folder / "one-sided"
        path.write_text(re.sub(r'(?m)^\[.*# "spine[12]".*\n', "", text),
                        encoding="utf-8")
        lines = pmlab.run_cli("plan", "-q", path).stderr.splitlines()
        self.assertEqual([line.startswith("portmajor: warning: ") for line in lines],
                         [True] * 6, lines)
        self.assertEqual(lines[5], "portmajor: warning: and 27 more")


class Planes(Readers):
    """Planes are fabrics of their own, side by side, or no fat tree."""

    def test_apart(self):
        path = xdr_planes(4).write(self.folder / "planes.net")
        found = json.loads(self.plan(path, "--json").stdout)
        self.assertEqual((found["switches"], found["leaves"], found["pods"]), (16, 12, 4))
        self.assertRegex(" ".join(found["notes"]),
                         r"^\S+/planes.net:\d+: 4 parts without a cable between them, with 9, 9, 9 "
                         "and 9 hosts; hosts of different parts have no path to each other$")

    def test_joined(self):
        path = xdr_planes(4, joined=True).write(self.folder / "joined.net")
        self.assertIn("cables between switches of one level", self.plan(path, status=3).stderr)


if __name__ == "__main__":
    labtest.main()
