#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cables in other ports than before, and plans that are lost: no LID's packets go round.

Entries of LIDs that no port has stay in the switches. They are followed here like all
others, up to LinearFDBTop, over the cables as they are now (pmlab.loops).
"""

import unittest

import labtest
import pmlab
import simlab


def with_more_ports(plain, path, more):
    """Writes a netlist whose switches have so many ports more."""
    lines = []
    for line in plain.read_text(encoding="ascii").splitlines(keepends=True):
        words = line.split()
        if words and words[0] == "Switch":
            line = f"Switch\t{int(words[1]) + more} {words[2]}\n"
        lines.append(line)
    path.write_text("".join(lines), encoding="ascii")
    return path


class Recabled(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        plain = pmlab.generate(cls.folder / "plain.net", "two-level", 6, 3, 4, 1)
        cls.netlist = simlab.Netlist(with_more_ports(plain, cls.folder / "fabric.net", 2))

    def setUp(self):
        self.lab = self.enterContext(pmlab.Lab(self.netlist))
        self.lab.bring_up()

    def free_port(self, name):
        """The first port behind those with cables."""
        return max(self.netlist.nodes[name].ports) + 1

    def change(self, name, *commands):
        """What that costs in LFT Sets."""
        event = self.lab.measure(name, lambda: self.lab.fabric.console(*commands))
        self.assertEqual(event.miscounted, [], name)
        return event.wire

    def check_loops(self, name, sweeps=2):
        """None after this, nor after further sweeps, which send nothing."""
        self.assertEqual(pmlab.loops(self.lab.dump()), {}, name)
        for _ in range(sweeps):
            event = self.lab.measure("SIGHUP", self.lab.osm.hup)
            self.assertEqual(pmlab.loops(self.lab.dump()), {}, f"{name}, a sweep later")
            self.assertEqual(event.wire, 0)

    def test_host_port_becomes_an_uplink(self):
        self.change("unplugged", 'Unlink "h2-1"')
        self.change("uplink", f'Link "leaf2"[1] "spine0"[{self.free_port("spine0")}]')
        self.check_loops("uplink")

    def test_cable_of_a_dead_leaf_moves(self):
        spine_port = next(port for port, (peer, _) in
                          self.netlist.nodes["spine1"].ports.items() if peer == "leaf4")
        self.change("dead", 'Unlink "leaf4"')
        self.check_loops("dead")
        self.change("moved",
                    f'Link "leaf1"[{self.free_port("leaf1")}] "spine1"[{spine_port}]')
        self.check_loops("moved")


if __name__ == "__main__":
    unittest.main()
