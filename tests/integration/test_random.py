#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random fat trees with parts missing, each with random failures, on ibsim and OpenSM (slow).

Every event costs as much as whatif predicts, and the tables read back from the switches serve every
pair that an up-then-down path joins. PM_SEED and PM_FABRICS in the environment give other trees.
"""

import os
import random
import unittest

import ibdmchk
import labtest
import pmlab
import simlab
import soak

FABRICS = int(os.environ.get("PM_FABRICS", "10"))
LOSSES = 4  # of each fabric, one after the other; then all return


def draw_shape(r):
    """Arguments of `portmajor generate` for a tree of up to some 150 nodes."""
    if r.random() < 0.4:
        return ("two-level", r.randint(2, 9), r.randint(1, 6), r.randint(1, 9), r.randint(1, 3))
    height = r.choice((3, 3, 4))
    while True:
        children = [r.randint(1, 6)] + [r.randint(2, 4) for _ in range(height - 1)]
        parents = [1] + [r.randint(1, 3) for _ in range(height - 1)]
        switches, hosts = 0, 1
        for level in range(height):
            hosts *= children[level]
        for level in range(height):  # of this level: children above it, parents below
            number = 1
            for below in range(level + 1):
                number *= parents[below]
            for above in range(level + 1, height):
                number *= children[above]
            switches += number
        if hosts <= 100 and switches <= 50:
            return ("xgft", height, ",".join(map(str, children)), ",".join(map(str, parents)))


def draw_degrade(r):
    """Parts that are missing from the start; mostly few."""
    return ",".join((f"links={r.choice((0, 0, 1, 2, 4))}", f"switches={r.choice((0, 0, 0, 1))}",
                     f"hosts={r.choice((0, 0, 1, 2))}"))


def is_joined(netlist):
    """Whether cables join all nodes."""
    reached = set()
    frontier = [next(iter(netlist.nodes))]
    while frontier:
        name = frontier.pop()
        if name not in reached:
            reached.add(name)
            frontier += [peer for peer, _ in netlist.nodes[name].ports.values()]
    return reached == set(netlist.nodes)


class Random(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = int(os.environ.get("PM_SEED") or random.SystemRandom().randrange(1 << 31))
        print(f"PM_SEED={cls.seed} PM_FABRICS={FABRICS}", flush=True)

    def make_netlist(self, r, name):
        """A netlist in which all present nodes are joined, or None."""
        args = (*draw_shape(r), "--degrade", draw_degrade(r), "--seed", str(r.randrange(1 << 20)))
        path = self.folder / f"{name}.net"
        done = pmlab.run_cli("generate", "-q", *args)
        path.write_text(done.stdout, encoding="ascii")
        if done.returncode or pmlab.run_cli("plan", path).returncode:
            return None, args  # more parts missing than there are, or no tree left
        return (path if is_joined(simlab.Netlist(path)) else None), args

    def is_allowed(self, lab, target, cut):
        """Whether the manager notices the failure, which must not take any node but hosts with it.
        """
        name, _, port = target.partition(":")
        ends = {name, lab.netlist.nodes[name].ports[int(port)][0]} if port else {name}
        if not port and name in {peer for peer, _ in
                                 lab.netlist.nodes[lab.osm.host].ports.values()}:
            return False  # its port would be down, and it ends its sweeps
        more = lab.fabric.cut_off_by(target, lab.osm.host) - cut - {name}
        return (not ends & (cut | {lab.osm.host}) and not more & set(lab.netlist.switches)
                and lab.osm.host not in more)

    def check_tables(self, lab):
        walked = lab.walk("-s", lab.osm.host)
        self.assertEqual(pmlab.walk_faults(walked), [])
        self.assertEqual(walked["delivered"], walked["pairs"])
        if not walked["cut"]:
            self.assertEqual(ibdmchk.host_faults(lab), [])

    def check_event(self, event, predicted):
        self.assertEqual(event.miscounted, [])
        self.assertEqual(event.lids_changed, 0, event.name)
        if predicted is not None and event.parts <= 1:
            self.assertEqual(event.wire, predicted.blocks, event.name)

    def try_losses(self, r, lab):
        """False: the rest was no tree, and OpenSM's next engine routes it."""
        down, cut = [], set()
        for _ in range(LOSSES):
            targets = [soak.draw_part(r, lab.netlist) for _ in range(20)]
            allowed = [t for t in targets
                       if t not in down and self.is_allowed(lab, t, cut)]
            if not allowed:
                continue
            cut |= lab.fabric.cut_off_by(allowed[0], lab.osm.host)
            # whatif knows only the whole fabric.
            predicted = lab.whatif(allowed[0]) if not down else None
            down.append(allowed[0])
            self.events += 1
            event = lab.event("lose", allowed[0])
            if event.measured["engines"] != ["portmajor"] * len(event.measured["engines"]):
                return False
            self.check_event(event, predicted)
            self.check_tables(lab)
        for target in reversed(down):  # otherwise it might be where it is not discovered
            self.check_event(lab.event("back", target), None)
            self.check_tables(lab)
        return True

    def test_all(self):
        self.events = 0
        for number in range(FABRICS):
            r = random.Random(f"{self.seed}/{number}")
            path, args = None, ()
            while path is None:
                path, args = self.make_netlist(r, number)
            with self.subTest(number=number, generate=" ".join(map(str, args))):
                with pmlab.Lab(path, args=ibdmchk.OPENSM_ARGS) as lab:
                    self.check_event(lab.bring_up(), None)
                    healthy = pmlab.Dump(lab.dump())
                    self.check_tables(lab)
                    if not self.try_losses(r, lab):
                        continue
                    now = pmlab.Dump(lab.dump())
                    self.assertEqual(now.lids, healthy.lids)
                    self.assertEqual(list(pmlab.changed_entries(healthy, now))[:5], [])
        print(f"{self.events} losses", flush=True)
        self.assertGreaterEqual(self.events, FABRICS)

    def test_detours_end(self):
        """With service ports, too, no entry of a detour is left when all parts are back."""
        done = pmlab.run_cli("generate", "-q", "xgft", "4", "3,2,2,2", "1,3,1,1", "--degrade",
                             "links=4,switches=0,hosts=0", "--seed", "172128")
        path = self.folder / "detours.net"
        path.write_text(done.stdout, encoding="ascii")
        with pmlab.Lab(path) as lab:
            lab.bring_up()
            healthy = pmlab.Dump(lab.dump())
            for verb, switch in (("lose", "sw4-1"), ("lose", "sw4-2"), ("back", "sw4-2"),
                                 ("back", "sw4-1")):
                lab.event(verb, switch)
                self.check_tables(lab)
            self.assertEqual([*pmlab.changed_entries(healthy, pmlab.Dump(lab.dump()))][:5], [])


if __name__ == "__main__":
    unittest.main()
