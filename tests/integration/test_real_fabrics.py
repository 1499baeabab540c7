#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fabrics of real machines (sim-topologies/real); test_large_fabrics.py has the large ones.

Tables are read back from the simulated switches and followed by `portmajor check`, by a walker in
Python that knows nothing of plans, and, where there are not too many pairs, by ibdmchk.
"""

import pathlib
import re

import ibdmchk
import labtest
import pmlab
import real_fabrics
import simlab
import walker

class Files(labtest.Folders):
    """`plan` and `whatif` of all of them, as they are in the tree."""

    def read(self, real):
        return real_fabrics.unpack(real, self.folder / f"{real.name}.net")

    def test_plan(self):
        for real in real_fabrics.ALL:
            with self.subTest(real.name):
                done = pmlab.run_cli("plan", self.read(real))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, r"\A\d+ switches, \d+ of them leaves")

    def test_counts(self):
        """As in README.md."""
        readme = (real_fabrics.FOLDER / "README.md").read_text(encoding="utf-8")
        for real in real_fabrics.ALL:
            with self.subTest(real.name):
                net = simlab.Netlist(self.read(real))
                switches, ends = set(net.switches), net.hosts
                aggregation = sum(name.startswith("agg") for name in ends)
                between = sum(peer in switches for name in switches
                              for peer, _ in net.nodes[name].ports.values()) // 2
                counts = (len(switches), len(ends) - aggregation, aggregation)
                self.assertRegex(readme, r"(?m)^\| `{}\.net(\.xz)?` \|.*\| {} \| \d \| {} \| {} \|$"
                                 .format(real.name, " \\| ".join(f"{n:,}" for n in counts),
                                         f"{between:,}", f"{between + len(ends):,}"))

    def test_whatif(self):
        """The failures below: an end node costs nothing."""
        for real in real_fabrics.ALL:
            path = real_fabrics.write(real, self.folder / "whatif.net")
            netlist = simlab.Netlist(path)
            for target in real.targets:
                with self.subTest(f"{real.name} {target}"):
                    blocks = pmlab.whatif(path, target).blocks
                    if real_fabrics.is_end(netlist, target):
                        self.assertEqual(blocks, 0)
                    else:
                        self.assertGreater(blocks, 0)


class Real:
    """The tests; a class for each fabric below."""

    REAL = None
    NOT_JOINED = {}  # pairs that need not be delivered with all parts up, by kinds of end nodes

    @classmethod
    def make_netlist(cls):
        path = real_fabrics.write(cls.REAL, cls.folder / "real.net")
        cls.levels = real_fabrics.levels(cls.REAL, path)
        return path

    def follow(self, dump):
        """No pair with a path up and then down is cut, and no packet loops."""
        walked = walker.walk(dump, self.levels)
        self.assertEqual((dict(walked.missed), walked.missing), ({}, []))
        self.assertEqual(walked.loops[:5], [])
        return walked

    def check_dump(self, dump, *options):
        walked = self.lab.walk(*self.WALK, *options, dump=dump)
        self.assertEqual(pmlab.walk_faults(walked), [])
        type(self).followed = self.follow(dump)
        if self.judged:
            apart = walker.apart(dump, self.levels)
            # The levels of switches without hosts are up to the engine.
            self.assertEqual(ibdmchk.faults(self.lab, apart=lambda a, b: a[1] is None
                                            or b[1] is None or apart(a, b)), [])
        return walked

    def check_healthy(self, *options):
        """As at the start; unevenly built trees may be uneven."""
        dump = self.lab.dump()
        self.check_dump(dump, *options)
        now = pmlab.Dump(dump)
        self.assertEqual(now.lids, self.healthy.lids)
        self.assertEqual(list(pmlab.changed_entries(self.healthy, now))[:5], [])

    def test_bring_up(self):
        self.check_costs(self.start)
        self.assertEqual(self.start.wire, self.start.runs[-1].full_load)
        self.check_healthy()
        walked = self.followed
        print(f"\n{self.REAL.name}: {walked}")
        for key in walked.pairs:
            if key != "A>A":  # aggregation nodes need no other path than follow() has checked
                self.assertLessEqual(walked.apart(key), self.NOT_JOINED.get(key, 0), key)

    def test_events(self):
        netlist = self.lab.netlist
        for target in self.REAL.targets:
            with self.subTest(target):
                self.lose_and_back(target, new_switches=int(target in netlist.switches),
                                   blocks=0 if real_fabrics.is_end(netlist, target) else None)
            self.mend()


class Psmn(Real, labtest.LabCase):
    REAL = real_fabrics.PSMN

    def spoil(self, dump, name, switch, lid, port):
        """A copy of a Dump with another entry in the table of a switch."""
        text = pathlib.Path(dump).read_text(encoding="ascii")
        for line in pmlab.Dump(dump).tables[switch].values():
            other = re.sub(rf"\[{lid}\][0-9A-Fa-f]+", f"[{lid}]{port:x}", line)
            head, mark, rest = text.partition(f'"{switch}"\t')
            text = head + mark + rest.replace(line, other, 1)
        path = self.folder / name
        path.write_text(text, encoding="ascii")
        return path

    def test_walker(self):
        """Faults are found: packets for h12, which is below sw07, from sw01."""
        dump = self.lab.dump()
        lid = pmlab.Dump(dump).lids["h12"]
        for name, port in (("nowhere", 255), ("a host", 1)):
            with self.subTest(name):
                walked = walker.walk(self.spoil(dump, name, "sw01", lid, port), self.levels)
                self.assertEqual(walked.missing, [("sw01", "h12")])
                self.assertEqual((walked.missed["H>H"], walked.apart("H>H")), (24, 24))
                self.assertEqual(walked.loops, [])
        up = self.spoil(dump, "up", "sw01", lid, 7)  # to sw03, and back
        back = next(port for port, (peer, _) in self.lab.netlist.nodes["sw03"].ports.items()
                    if peer == "sw01")
        walked = walker.walk(self.spoil(up, "back", "sw03", lid, back), self.levels)
        self.assertLessEqual({("sw01", lid), ("sw03", lid)}, set(walked.loops))


class NdrPod(Real, labtest.LabCase):
    REAL = real_fabrics.NDR_POD


def write_roots(path, netlist, levels):
    """OpenSM's root_guid_file: ibsim counts the GUIDs of switches in the netlist's order."""
    top = max(levels.values())
    path.write_text("".join(f"{0x200000 + number:#x}\n" for number, name
                            in enumerate(simlab.Netlist(netlist).switches)
                            if levels[name] == top), encoding="ascii")
    return path


class EnginesBeside(labtest.Folders):
    """OpenSM's own engines with the same events: LFT Sets, and pairs that are joined."""

    # Failures that cost less with the best of them: its LFT Sets.
    CHEAPER = {"psmn-qdr": {"sw07:13": 5, "sw01:16": 4}}

    @staticmethod
    def run_events(netlist, real, levels, dump, **kwargs):
        """{target: LFT Sets of its failure}, and the walk before."""
        found = {}
        with pmlab.Fabric(netlist) as fabric, pmlab.open_sm(fabric, **kwargs) as osm:
            osm.settle()
            fabric.dump(dump)
            walked = walker.walk(dump, levels)
            for target in real.targets:
                found[target] = simlab.measure(fabric, osm, lambda: fabric.lose(target))["lft_sets"]
                simlab.measure(fabric, osm, lambda: fabric.back(target))
        return found, walked

    def check(self, real):
        netlist = real_fabrics.write(real, self.folder / f"{real.name}.net")
        levels, dump = real_fabrics.levels(real, netlist), self.folder / "beside.dump"
        roots = {"root_guid_file": write_roots(self.folder / "roots", netlist, levels)}
        ours, walked = self.run_events(netlist, real, levels, dump)
        best = {}
        for engine, conf in (("updn", {}), ("minhop", {}), ("ftree", {}), ("updn", roots),
                             ("ftree", roots)):
            name = f"{engine}{' with roots' * bool(conf)}"
            theirs, other = self.run_events(netlist, real, levels, dump, engine=engine, conf=conf)
            best = {target: min(sets, best.get(target, sets)) for target, sets in theirs.items()}
            print(f"\n{real.name}: portmajor {ours}; {name} {theirs}; {other}")
            for key in walked.pairs:
                with self.subTest(f"{name} {key}"):
                    # Without connect_roots two aggregation nodes may need a path up and then down.
                    least = walked.joined[key] if key == "A>A" else other.delivered[key]
                    self.assertGreaterEqual(walked.delivered[key], least)
        self.assertEqual({target: sets for target, sets in best.items() if sets < ours[target]},
                         self.CHEAPER.get(real.name, {}))


class Beside(EnginesBeside):
    def test_psmn(self):
        self.check(real_fabrics.PSMN)


if __name__ == "__main__":
    labtest.main()
