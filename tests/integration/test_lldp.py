#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-vlan lldp: cables by the neighbours' messages, compared with the netlist.

tests/data/lldp has the output of lldpd 1.0.16 on nodes of `generate two-level 2 2 2 1`: the cables
were veths between network namespaces. The output of other nodes is made of these.
"""

import copy
import json
import shutil
import subprocess
import unittest

import labtest
import pmlab
import simlab
import test_outside_names

DATA = pmlab.ROOT / "tests" / "data" / "lldp"


class Cabling(labtest.Folders):
    def setUp(self):
        self.home = self.folder / self.id().rpartition(".")[2]
        self.home.mkdir()
        self.net = pmlab.generate(self.home / "fabric.net", "two-level", 2, 2, 2, 1)
        self.netlist = simlab.Netlist(self.net)
        for path in DATA.glob("*.json"):
            shutil.copy(path, self.home)
        self.sample = json.loads((DATA / "h0-1.json").read_text())["lldp"]["interface"]["e0"]

    def neighbour(self, name, port):
        """Like the recorded one, except for name and port."""
        made = copy.deepcopy(self.sample)
        made["chassis"] = {name: made["chassis"]["leaf0"]}
        made["port"]["descr"] = port
        return made

    def port_name(self, node, port):
        return f"swp{port}" if node in self.netlist.switches else "e0"

    def write(self, name, heard):
        """A node's file of a list of (interface, neighbour)."""
        listed = [{interface: value} for interface, value in heard]
        path = self.home / f"{name}.json"
        path.write_text(json.dumps({"lldp": {"interface": listed}} if listed else {"lldp": {}}))
        return path

    def hears(self, node):
        """The neighbours of a node by the netlist."""
        return {self.port_name(node, port): self.neighbour(peer, self.port_name(peer, number))
                for port, (peer, number) in self.netlist.nodes[node].ports.items()}

    def lldp(self, *names, status=0, options=()):
        done = pmlab.run_vlan("lldp", "--json", *options, self.net,
                             *(self.home / f"{name}.json" for name in names))
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        return json.loads(done.stdout)

    def found(self, *names, **how):
        return [tuple(one[key] for key in ("kind", "name", "interface", "netlist", "heard"))
                for one in self.lldp(*names, status=1, **how)["findings"]]

    def refused(self, message, text, name="leaf0.json"):
        path = self.home / name
        path.write_text(text)
        done = pmlab.run_vlan("lldp", self.net, path)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, rf"^portmajor-vlan: \S*{name}{message}\n$")

    def test_recorded(self):
        self.assertEqual(self.lldp("leaf0", "spine0", "h0-1")["findings"], [])
        told = pmlab.run_vlan("lldp", self.net, *sorted(self.home.glob("*.json")))
        self.assertEqual((told.returncode, told.stdout),
                         (0, "5 of 8 cables are heard as in the netlist, 3 have no file at "
                             "either end; 0 neighbours elsewhere\n"))

    def test_all_files(self):
        """Those made here have the recorded form, so the following tests are meaningful."""
        for name in self.netlist.nodes:
            self.write(name, self.hears(name).items())
        result = self.lldp(*self.netlist.nodes)
        self.assertEqual([result[key] for key in ("findings", "files", "cables", "heard",
                                                  "unread", "elsewhere")], [[], 8, 8, 8, 0, 0])

    def test_crossed_cables(self):
        heard = self.hears("leaf1")
        heard["swp3"], heard["swp4"] = heard["swp4"], heard["swp3"]
        self.write("leaf1", heard.items())
        self.assertEqual(self.found("leaf0", "leaf1"),
                         [("other", "leaf1", "swp3", "spine0 swp2", "spine1 swp2"),
                          ("other", "leaf1", "swp4", "spine1 swp2", "spine0 swp2")])
        self.assertEqual(self.lldp("leaf0", "leaf1", status=1)["heard"], 6)
        told = pmlab.run_vlan("lldp", "-q", self.net, self.home / "leaf1.json").stdout
        self.assertIn("finding: leaf1 swp3: hears spine1 swp2, and in the netlist there is "
                      "spine0 swp2\n", told)

    def test_right_switch_wrong_port(self):
        heard = self.hears("spine0")
        heard["swp2"] = self.neighbour("leaf1", "swp4")
        self.write("spine0", heard.items())
        self.assertEqual(self.found("spine0"),
                         [("other", "spine0", "swp2", "leaf1 swp3", "leaf1 swp4")])

    def test_missing(self):
        """A missing neighbour is a finding unless the other end has a message from this one."""
        heard = self.hears("leaf1")
        del heard["swp1"]
        self.write("leaf1", heard.items())
        self.assertEqual(self.found("leaf1"), [("missing", "leaf1", "swp1", "h1-1", None)])
        self.write("h1-1", self.hears("h1-1").items())
        self.assertEqual(self.lldp("leaf1", "h1-1")["findings"], [])
        self.write("h1-1", [])
        self.assertEqual(self.found("leaf1", "h1-1"),
                         [("missing", "leaf1", "swp1", "h1-1", None),
                          ("missing", "h1-1", None, "leaf1 swp1", None)])

    def test_without_a_cable(self):
        self.net.write_text("".join(
            line for line in self.net.read_text().splitlines(keepends=True)
            if not line.startswith(('[2]\t"h1-2"[1]', '[1]\t"leaf1"[2]'))))
        self.write("leaf1", self.hears("leaf1").items())
        self.write("h1-2", [("e0", self.neighbour("leaf1", "swp2"))])
        self.assertEqual(self.found("leaf1", "h1-2"),
                         [("unexpected", "leaf1", "swp2", None, "h1-2 e0"),
                          ("unexpected", "h1-2", "e0", None, "leaf1 swp2")])

    def test_two_on_one_port(self):
        """As behind a switch that passes LLDP on."""
        self.write("spine0", [*self.hears("spine0").items(),
                              ("swp1", self.neighbour("leaf1", "swp3"))])
        self.assertEqual(self.found("spine0"),
                         [("other", "spine0", "swp1", "leaf0 swp3", "leaf1 swp3")])

    def test_management(self):
        self.write("leaf1", [("eth0", self.neighbour("office", "24")),
                             *self.hears("leaf1").items()])
        self.write("h1-1", [("e7", self.neighbour("office", "25")),
                            *self.hears("h1-1").items()])
        result = self.lldp("leaf1", "h1-1")
        self.assertEqual((result["findings"], result["elsewhere"]), ([], 2))

    def test_hostile_names(self):
        """Names as in the messages: on terminals without control characters, whole in JSON."""
        for row in test_outside_names.ROWS:
            with self.subTest(row["what"]):
                heard = self.hears("spine0")
                heard["swp1"] = self.neighbour(row["json"], "p1")
                path = self.write("spine0", heard.items())
                for options in ((), ("--json",)):
                    done = subprocess.run([pmlab.VLAN, "lldp", *options, self.net, path],
                                          check=False, capture_output=True)
                    self.assertEqual((done.returncode, done.stderr), (1, b""))
                    text = test_outside_names.shown(done.stdout)
                    self.assertIn(" p1", text)
                self.assertEqual(json.loads(text)["findings"][0]["heard"],
                                 row["json"] + " p1")

    def test_names(self):
        """Domains, ports by their ids, another pattern, and a system without a name."""
        near = self.neighbour("leaf0.example.com", "uplink")
        near["port"]["id"] = {"type": "ifname", "value": "leaf0-eth3"}
        far = self.neighbour("leaf1.example.com", "leaf1-eth3")
        self.write("spine0.example.com", [("spine0-eth1", near), ("spine0-eth2", far)])
        options = ("--port-names", "{switch}-eth{port}")
        self.assertEqual(self.lldp("spine0.example.com", options=options)["heard"], 2)
        far["chassis"] = far["chassis"]["leaf1.example.com"]
        self.write("spine0", [("spine0-eth1", near), ("spine0-eth2", far)])
        self.assertEqual(self.found("spine0", options=options),
                         [("other", "spine0", "spine0-eth2", "leaf1 leaf1-eth3",
                           far["chassis"]["id"]["value"] + " leaf1-eth3")])

    def test_bad_input(self):
        self.refused(r":1: .*", "lldp")
        self.refused(r": not of `lldpctl -f json`: no object \"lldp\"", "[]")
        self.refused(r": not of `lldpctl -f json`: an interface that is no object",
                     '{"lldp": {"interface": [1]}}')
        self.refused(r': interface "e0": no chassis with an id',
                     '{"lldp": {"interface": {"e0": {"chassis": [{"id": 1}]}}}}')
        self.refused(r': interface "e0": no port with an id', json.dumps(
            {"lldp": {"interface": {"e0": {"chassis": self.sample["chassis"]}}}}))
        self.refused(": the netlist has no such node", '{"lldp": {}}', "leaf7.json")
        self.refused(r": a file is called by its node, NAME\.json", '{"lldp": {}}', "leaf0")

    def test_bad_operands(self):
        leaf0 = self.home / "leaf0.json"
        for argv, status, message in (
                ((self.net, leaf0, leaf0), 3, "leaf0.json: a second file of this node"),
                ((self.net, self.home / "no" / "leaf0.json"), 3, "unable to open .*leaf0.json"),
                (("--port-names", "eth", self.net, leaf0), 2, r"there is no \{port\} in it"),
                ((self.net,), 2, "portmajor-vlan lldp")):
            done = pmlab.run_vlan("lldp", *argv)
            self.assertEqual(done.returncode, status)
            self.assertRegex(done.stderr, message)


if __name__ == "__main__":
    unittest.main()
