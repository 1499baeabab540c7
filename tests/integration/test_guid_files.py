#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""OpenSM's root_guid_file, cn_guid_file, io_guid_file and connect_roots."""

import re
import unittest

import labtest
import pmlab
import simlab


def port_guids(fabric):
    """{node name: GUID of its first port} of end nodes, of switches their own."""
    guids, name = {}, None
    for line in fabric.dump().splitlines():
        node = re.match(r'(Switch|Ca)\s+\d+ "([^"]+)"\s.*nodeguid ([0-9a-f]+)', line)
        port = re.match(r"([0-9a-f]+)\t\[1\]", line)
        if node:
            name = node[2]
            guids[name] = int(node[3], 16)
        elif port and not name.startswith(("leaf", "spine")):
            guids[name] = int(port[1], 16)
    return guids


class GuidFiles(labtest.Folders):
    def write(self, name, fabric, nodes):
        guids = port_guids(fabric)
        path = self.folder / name
        path.write_text("# made by a test\n" + "".join(f"{guids[n]:#x} {n}\n" for n in nodes))
        return path

    def planned_lids(self, netlist, *options):
        """{end node: LID} from the command's prediction."""
        done = pmlab.run_cli("plan", "-l", *options, netlist)
        self.assertEqual(done.returncode, 0, done.stderr)
        places = {(m[2], int(m[3])): int(m[1]) for m in re.finditer(
            r'^lid (\d+) .*"([^"]+)"\[(\d+)\]$', done.stdout, re.M)}
        hosts = simlab.Netlist(netlist)
        return {h: places[hosts.nodes[h].ports[1]] for h in hosts.hosts}

    def test_io_and_compute(self):
        """Both files give the same plan, which the command predicts."""
        netlist = pmlab.generate(self.folder / "io.net", "two-level", 8, 4, 4, 1)
        is_io = re.compile(r"h\d+-4").fullmatch
        for key, chosen in (("io_guid_file", is_io), ("cn_guid_file", lambda n: not is_io(n))):
            with self.subTest(key), pmlab.Fabric(netlist) as fabric:
                path = self.write(key, fabric, filter(chosen, fabric.netlist.hosts))
                with pmlab.Lab(netlist, fabric=fabric, conf={key: path}) as lab:
                    lab.bring_up()
                    lids = pmlab.Dump(lab.dump()).lids
                    self.assertEqual(pmlab.walk_faults(lab.walk("--from-all"), plan=False), [])
                planned = self.planned_lids(netlist, f"--{key}", path)
                self.assertEqual({h: lids[h] for h in planned}, planned)
                self.assertNotEqual(planned, self.planned_lids(netlist))

    def test_file_that_is_not_there(self):
        """One line in the log, and the fabric is routed without it."""
        netlist = pmlab.generate(self.folder / "gone.net", "two-level", 4, 2, 2, 1)
        with pmlab.Lab(netlist, conf={"io_guid_file": self.folder / "gone"}) as lab:
            lab.bring_up()
            lab.measure("SIGHUP", lab.osm.hup)
            self.assertEqual(lab.osm.log().count("portmajor: GUID files not used"), 1)
            self.assertEqual(pmlab.walk_faults(lab.walk("--from-all")), [])

    def make_heavy_spines(self):
        """Spines with as many hosts as leaves: the levels are guessed by reachability."""
        lines = []
        for leaf in range(3):
            lines += [f'Switch 6 "leaf{leaf}"', f'[1] "h{leaf}"[1]', f'[3] "spine0"[{leaf + 3}]',
                      f'[4] "spine1"[{leaf + 3}]', ""]
        for spine in range(2):
            lines += [f'Switch 6 "spine{spine}"', f'[1] "g{spine}"[1]',
                      *(f'[{leaf + 3}] "leaf{leaf}"[{spine + 3}]' for leaf in range(3)), ""]
        for host, switch in (("h0", "leaf0"), ("h1", "leaf1"), ("h2", "leaf2"),
                             ("g0", "spine0"), ("g1", "spine1")):
            lines += [f'Ca 1 "{host}"', f'[1] "{switch}"[1]', ""]
        path = self.folder / "heavy.net"
        path.write_text("\n".join(lines))
        return path

    def test_roots(self):
        netlist = self.make_heavy_spines()
        with pmlab.Lab(netlist, engine="portmajor,minhop") as lab:
            lab.bring_up()
            self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
            self.assertIn("2 end ports above the leaves are service ports", lab.osm.log())
        with pmlab.Fabric(netlist) as fabric:
            roots = self.write("roots", fabric, ("spine0", "spine1"))
            with pmlab.Lab(netlist, fabric=fabric, conf={"root_guid_file": roots}) as lab:
                lab.bring_up()
                self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
                self.assertNotIn("roles guessed", lab.osm.log())
                dump = pmlab.Dump(lab.dump())
                for leaf in range(3):
                    self.check_delivered(lab, dump, f"leaf{leaf}", "g0", "g1", "h0", "h2")

    def check_delivered(self, lab, dump, start, *targets):
        """Follows tables that were read back, one packet after another."""
        tables = {name: dump.table(name) for name in dump.tables}
        for target in targets:
            at, hops = start, 0
            while at != target and hops < 10:
                port = tables[at].get(dump.lids[target], 255)
                at = lab.netlist.nodes[at].ports.get(port, (f"dropped at {at}", 0))[0]
                if at not in tables:
                    break
                hops += 1
            self.assertEqual(at, target, f"from {start}")

    def test_connect_roots(self):
        """Spines reach each other's LIDs, as IBA requires, and still do after a failure."""
        netlist = pmlab.generate(self.folder / "spines.net", "two-level", 4, 3, 2, 1)
        spines = ("spine0", "spine1", "spine2")
        with pmlab.Lab(netlist, conf={"connect_roots": "TRUE"}) as lab:
            lab.bring_up()
            for target in (None, "leaf2", "leaf3:5"):
                if target:
                    lab.lose(target)
                dump = pmlab.Dump(lab.dump())
                for spine in spines:
                    self.check_delivered(lab, dump, spine, *(s for s in spines if s != spine))
                if target:
                    lab.back(target)
        with pmlab.Lab(netlist) as lab:
            lab.bring_up()
            with self.assertRaises(AssertionError):
                self.check_delivered(lab, pmlab.Dump(lab.dump()), "spine0", "spine1")


if __name__ == "__main__":
    unittest.main()
