#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Trees with end nodes above the leaves and missing cables: no pair is cut that updn joins.

PM_ODD_TREES is the number of trees, PM_SEED the first seed. The tables are read back from the
simulated switches after `portmajor,updn` and after `updn`.
"""

import os
import random
import unittest

import clients
import labtest
import odd_netlists
import pmlab
import walker

ROUNDS = int(os.environ.get("PM_ODD_TREES", "10"))
SEED = int(os.environ.get("PM_SEED", "41"))
PORTS = 40


def pods(pods, leaves, spines, cores, hosts, core_hosts=1):
    """Three levels: each spine has a cable to each core."""
    net = odd_netlists.Net()
    for core in range(cores):
        net.switch(f"core{core}", PORTS, level=2)
        net.hosts(f"core{core}", core_hosts)
    for pod in range(pods):
        for spine in range(spines):
            net.switch(f"p{pod}spine{spine}", PORTS, level=1)
            for core in range(cores):
                net.cable(f"p{pod}spine{spine}", f"core{core}")
        for leaf in range(leaves):
            net.switch(f"p{pod}leaf{leaf}", PORTS)
            net.hosts(f"p{pod}leaf{leaf}", hosts)
            for spine in range(spines):
                net.cable(f"p{pod}leaf{leaf}", f"p{pod}spine{spine}")
    return net


def hang_switch(net, r, among, name):
    """A storage switch with cables to some switches."""
    net.switch(name, PORTS, level=9)
    net.hosts(name, r.randint(1, 4))
    for _ in range(r.randint(1, 3)):
        net.cable(name, r.choice(among))


def draw(r):
    """A Net with hosts or a switch in odd places; cables may be missing."""
    if r.random() < 0.5:
        net = odd_netlists.plain_two_levels(r.randint(3, 5), r.randint(2, 4), r.randint(1, 4))
        net = widen(net)
    else:
        net = pods(r.randint(2, 4), r.randint(2, 3), r.randint(1, 3), r.randint(1, 3),
                   r.randint(1, 4), 0)
    top = max(net.levels.values())
    of_level = {level: [name for name in net.levels if net.levels[name] == level]
                for level in range(top + 1)}
    missing = r.choice((0, 0, 0.08, 0.15))
    net.cables = [cable for cable in net.cables
                  if any(name not in net.levels for name, _ in cable) or r.random() >= missing]
    for number in range(r.randint(1, 2)):
        level = r.randint(1, top)
        kind = r.randrange(3)
        if kind == 0:
            hosts = r.randint(1, 3)
            for name in of_level[level]:
                if r.random() < 0.7:
                    add_hosts(net, name, hosts, number)
        elif kind == 1:
            add_hosts(net, r.choice(of_level[top]), 1, number)
        else:
            hang_switch(net, r, of_level[r.randint(0, top)], f"storage{number}")
    if r.random() < 0.5:
        for number, name in enumerate(list(net.levels)):
            net.host(f"agg{number} Aggregation Node", name)
    return net


def widen(net):
    """The same with free ports on its switches."""
    wide = odd_netlists.Net()
    hosts = [cable for cable in net.cables if any(name not in net.levels for name, _ in cable)]
    for name, level in net.levels.items():
        wide.switch(name, PORTS, level=level)
    for cable in hosts:
        (switch,) = [name for name, _ in cable if name in net.levels]
        (host,) = [name for name, _ in cable if name not in net.levels]
        wide.host(host, switch)
    for cable in net.cables:
        if cable not in hosts:
            wide.cable(cable[0][0], cable[1][0])
    return wide


def add_hosts(net, switch, count, number):
    for host in range(count):
        net.host(f"{switch}-odd{number}{host}", switch)


class OddTrees(labtest.Folders):
    def route(self, netlist, engine, name):
        """The Walked of an engine's tables, and the engine that routed."""
        with pmlab.Lab(netlist, engine=engine) as lab:
            lab.bring_up()
            dump = lab.dump(self.folder / f"{name}.dump")
            used = lab.osm.engines_used()[-1]
        return walker.walk(dump, {}), used

    def test_drawn(self):
        for seed in range(SEED, SEED + ROUNDS):
            with self.subTest(PM_SEED=seed, PM_ODD_TREES=1):
                net = draw(random.Random(seed))
                path = net.write(self.folder / f"{seed}.net")
                planned = pmlab.run_cli("plan", path)
                ours, used = self.route(path, "portmajor,updn", f"ours{seed}")
                stock, _ = self.route(path, "updn", f"stock{seed}")
                print(f"{seed}: {used}, H>H {ours.apart('H>H')} of {ours.pairs['H>H']} apart, "
                      f"updn {stock.apart('H>H')}", flush=True)
                self.assertEqual(ours.loops, [])
                self.assertLessEqual(ours.apart("H>H"), stock.apart("H>H"))
                # No pair is cut that cables join, or the exit status would be 1.
                self.assertEqual(planned.returncode, 0 if used == "portmajor" else 3)


class Cores(labtest.Folders):
    """A host on each of two cores, where all spines have cables to both."""

    def test_hosts_on_cores(self):
        path = pods(2, 2, 2, 2, 2).write(self.folder / "cores.net")
        with pmlab.Lab(path, engine="portmajor,updn") as lab:
            lab.bring_up()
            self.assertEqual(lab.osm.engines_used(), ["portmajor"])
            walked = walker.walk(lab.dump(), {})
        self.assertEqual(walked.apart("H>H"), 0, str(walked))
        self.assertEqual(walked.loops, [])

    def test_manager_on_a_core(self):
        """The subnet manager is at one core, and answers a host at the other one."""
        path = pods(3, 2, 2, 2, 4).write(self.folder / "manager.net")
        with pmlab.Lab(path, engine="portmajor,updn", host="core0-h1") as lab:
            lab.bring_up()
            self.assertEqual(lab.osm.engines_used(), ["portmajor"])
            self.assertIn("SA ClassPortInfo", clients.ask(lab.fabric, "core1-h1", "saquery", "-c"))
            clients.ask(lab.fabric, "core1-h1", "sminfo")
            self.assertNotIn("no path", lab.osm.log())


class LeavesApart(labtest.Folders):
    """Two of many leaves have no spine in common: the tree stays, and a hub joins them."""

    def test_hub(self):
        net = odd_netlists.Net()
        for spine in range(2):
            net.switch(f"spine{spine}", PORTS, level=1)
        for leaf in range(16):
            net.switch(f"leaf{leaf}", PORTS)
            net.hosts(f"leaf{leaf}", 1)
            for spine in range(2):
                if leaf != spine:
                    net.cable(f"leaf{leaf}", f"spine{spine}")
        path = net.write(self.folder / "apart.net")
        planned = pmlab.run_cli("plan", path)
        self.assertEqual(planned.returncode, 0)
        self.assertIn("16 of them leaves, levels 0 to 1, ", planned.stdout)
        self.assertRegex(planned.stdout, "note: paths of 1 of 120 pairs of switches with end ports "
                                         "turn up again at leaf")
        with pmlab.Lab(path, engine="portmajor,updn") as lab:
            lab.bring_up()
            walked = walker.walk(lab.dump(), {})
            status = pmlab.run_cli("status", pmlab.kept(lab.osm.cache_dir, "state"))
        self.assertEqual((walked.apart("H>H"), walked.loops), (0, []), str(walked))
        self.assertNotIn("cut off", status.stdout)


if __name__ == "__main__":
    unittest.main()
