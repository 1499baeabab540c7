#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cables in other ports than before, and plans that are lost: no LID's packets loop.

Entries of LIDs that no port has stay in the switches. They are followed here like all others, up to
LinearFDBTop, over the present cables (pmlab.loops).
"""

import json
import re
import unittest

import labtest
import pmlab
import simlab


def with_more_ports(plain, path, more):
    """Writes a netlist with so many more ports on switches."""
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
        """The cost of the change in LFT Sets."""
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
        self.check_status()

    def check_status(self):
        """Removed entries are in the log and, counted, in status."""
        told = re.findall(r"stale entries removed: (\d+) in \d+ LFT blocks?, .* of (\d+) LIDs?",
                          self.lab.osm.log())
        self.assertTrue(told)
        entries, loops = (sum(int(row[i]) for row in told) for i in (0, 1))
        self.assertGreater(entries, 0)
        path = pmlab.kept(self.lab.osm.cache_dir, "state")
        simlab.poll_until(lambda: [json.loads(path.read_text())["since_start"][key] for key in
                                   ("stale_entries", "looping_lids")] == [entries, loops], 20,
                          f"{entries} stale entries and {loops} LIDs in {path}")


def meshed(path, pods=2, leaves=3, middles=3, tops=3, hosts=2):
    """Writes pods of two levels: each upper switch has a cable to every top."""
    links = [(f"l{p}-{l}", h + 1, f"h{p}-{l}-{h}", 1) for p in range(pods)
             for l in range(leaves) for h in range(hosts)]
    links += [(f"l{p}-{l}", hosts + m + 1, f"m{p}-{m}", l + 1) for p in range(pods)
              for l in range(leaves) for m in range(middles)]
    links += [(f"m{p}-{m}", leaves + t + 1, f"t{t}", p * middles + m + 1) for p in range(pods)
              for m in range(middles) for t in range(tops)]
    ports = {}
    for a, a_port, b, b_port in links:
        ports.setdefault(a, {})[a_port] = (b, b_port)
        ports.setdefault(b, {})[b_port] = (a, a_port)
    path.write_text("".join(
        f"{'Ca' if name[0] == 'h' else 'Switch'}\t{max(of)} \"{name}\"\n"
        + "".join(f'[{port}]\t"{peer}"[{far}]\n' for port, (peer, far) in sorted(of.items()))
        + "\n" for name, of in ports.items()), encoding="ascii")
    return path


class LostFiles(labtest.Folders):
    """All files are lost while a switch is absent: tables are read back, and kept.

    Then a cable fails, a restart reads the tables once more, and the cable returns. m0-0, which
    sent up because of that failure, must send down again: otherwise it loops as soon as the
    switches above have no other path down than over m0-0.
    """

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = simlab.Netlist(meshed(cls.folder / "fabric.net", pods=2, leaves=4,
                                            middles=3, tops=3, hosts=3))

    def lab(self, fabric, cache):
        return pmlab.Lab(self.netlist, fabric=fabric, cache_dir=cache)

    def try_leaf(self, port, folder):
        fabric = self.enterContext(pmlab.Fabric(self.netlist))
        first, second = folder / "first", folder / "second"
        first.mkdir(parents=True)
        second.mkdir()
        with self.lab(fabric, first) as lab:
            lab.bring_up()
            lab.event("lose", "m0-2")
        with self.lab(fabric, second) as lab:
            lab.bring_up()
            self.assertIn("tables found in the switches: kept", lab.osm.log())
            lab.event("lose", f"m0-0:{port}")
        with self.lab(fabric, second) as lab:
            lab.bring_up()
            self.check(lab, "restart", "back", f"m0-0:{port}")
            self.check(lab, "m0-0 alone leads down", "lose", f"m0-1:{port}")
            self.check(lab, "the switch is back", "back", "m0-2")

    def check(self, lab, name, verb, target):
        lab.event(verb, target)
        self.assertEqual(pmlab.loops(lab.dump()), {}, name)
        walked = lab.walk("--from-all")
        self.assertEqual(pmlab.walk_faults(walked, plan=False), [], name)

    def test_files_lost_with_parts_away(self):
        for port in range(1, 5):
            with self.subTest(leaf=f"l0-{port - 1}"):
                self.try_leaf(port, self.folder / str(port))


class OtherLmc(labtest.Folders):
    """Restarts with another LMC, which changes all LIDs and tables, with parts absent."""

    def test_lmc_changes(self):
        netlist = simlab.Netlist(pmlab.generate(self.folder / "fabric.net", "xgft", 3, "3,3,3",
                                                "1,3,2"))
        fabric = self.enterContext(pmlab.Fabric(netlist))
        steps = ((0, "lose", "leaf4"), (1, "lose", "sw2-2"), (2, "back", "leaf4"),
                 (0, "back", "sw2-2"), (1, "lose", "leaf0:4"))
        for lmc, verb, target in steps:
            with self.subTest(lmc=lmc, event=f"{verb} {target}"), \
                    pmlab.Lab(netlist, fabric=fabric, cache_dir=self.folder,
                              args=["-l", str(lmc)]) as lab:
                lab.bring_up()
                self.assertEqual(pmlab.loops(lab.dump()), {})
                lab.event(verb, target)
                self.assertEqual(pmlab.loops(lab.dump()), {})
                self.assertEqual(pmlab.walk_faults(lab.walk("-m", str(lmc), "--from-all"),
                                                   plan=False), [])


if __name__ == "__main__":
    unittest.main()
