#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names of several nodes: lists distinguish these, and print operands."""

import csv
import json
import os
import re

import control
import labtest
import pmlab

MODEL = "SwitchIB Mellanox Technologies"  # of spine 0, spine 1 and leaf 0
NIC = "MT4129 ConnectX7   Mellanox Technologies"  # of three hosts at leaf 0
NODE = "Mellanox Technologies Aggregation Node"  # one on each switch

LEAVES, SPINES, HOSTS = 4, 3, 4
SWITCHES = [MODEL, "leaf1", "leaf2", "leaf3", MODEL, MODEL, "top"]
HOST_NAMES = [[NIC] * 3 + ["localhost HCA-1"],
              ["node01 HCA-1", "node01 HCA-2", "node02 mlx5_0", "localhost HCA-1"],
              ["node03 ", "node04", "no(de", "twin mlx5_0"],
              ["node05 mlx5_0", "twin mlx5_0", "node06", "ufm"]]


def label(name, guid):
    return f"{name} (0x{guid:016x})"


def guid_of(switch):
    return 0x100 + switch


S0, S1, L0 = (label(MODEL, guid_of(s)) for s in (LEAVES, LEAVES + 1, 0))


def write_fabric(path):
    """As in ibnetdiscover's output: leaves 0 to 3, spines 4 to 6."""
    ports = [{} for _ in SWITCHES]  # number: the end of the line
    ends = []
    for leaf in range(LEAVES):
        for spine in range(SPINES):
            up, down = HOSTS + 1 + spine, leaf + 1
            ports[leaf][up] = f'"S-{LEAVES + spine}"[{down}]'
            ports[LEAVES + spine][down] = f'"S-{leaf}"[{up}]'
        for n, name in enumerate(HOST_NAMES[leaf]):
            ends.append((f"H-{leaf}-{n}", 0x200 + 16 * leaf + n, name, leaf, n + 1, ""))
    for sw in range(len(SWITCHES)):
        ends.append((f"A-{sw}", 0x300 + sw, NODE, sw, 9, "devid=0xcf09\n"))
    text = ""
    for node, guid, _, sw, port, _ in ends:
        ports[sw][port] = f'"{node}"[1](0x{guid + 0x1000:x})'
    for sw, name in enumerate(SWITCHES):
        text += f'switchguid=0x{guid_of(sw):x}\nSwitch 9 "S-{sw}" # "{name}"\n'
        text += "".join(f"[{port}] {end}\n" for port, end in sorted(ports[sw].items())) + "\n"
    for node, guid, name, sw, port, device in ends:
        text += (f'{device}caguid=0x{guid:x}\nCa 1 "{node}" # "{name}"\n'
                 f'[1](0x{guid + 0x1000:x}) "S-{sw}"[{port}]\n\n')
    path.write_text(text, encoding="ascii")


class Names(labtest.Folders):
    def setUp(self):
        super().setUp()
        self.net = self.folder / "names.net"
        write_fabric(self.net)
        os.environ["OSM_CACHE_DIR"] = str(self.folder)
        self.addCleanup(os.environ.pop, "OSM_CACHE_DIR")

    def run_cli(self, *args, status=0, err=""):
        done = pmlab.run_cli(*args)
        self.assertEqual((done.returncode, done.stderr), (status, err), args)
        return done.stdout

    def read(self, *args, err=""):
        return json.loads(self.run_cli(*args, "--json", err=err))

    def took(self, text):
        """The only part that --fail takes for the name."""
        took = self.read("whatif", "--no-loads", "--shifts", 0, self.net, "--fail", text)["took"]
        self.assertEqual(len(took), 1, text)
        return took[0]

    def test_plan(self):
        """Planes and places, and the plan's notes."""
        text = self.run_cli("plan", "-l", self.net)
        self.assertRegex(text, rf"plane \d+ \({re.escape(S0)} link 0\)")
        self.assertRegex(text, r"plane \d+ \(top link 0\)")
        self.assertIn(f'"{S1}"\n', text)
        self.assertIn(f'"{L0}"[1]\n', text)
        self.assertNotIn(f'"{MODEL}"', text)
        for name in set(SWITCHES) - {MODEL}:
            self.assertRegex(text, rf'"{name}"(\[\d+\]( empty)?)?\n')
            self.assertNotIn(f"{name} (0x", text)
        document = self.read("plan", "-l", self.net)
        guids = {f"0x{guid_of(sw):016x}": name for sw, name in enumerate(SWITCHES)}
        self.assertEqual({plane["guid"]: plane["name"] for plane in document["plane_list"]
                          if plane["guid"]}.items() - guids.items(), set())
        self.assertEqual({row["switch_guid"]: row["switch"] for row in document["lids"]}, guids)
        for plane in document["plane_list"]:
            self.assertEqual("label" in plane, plane["name"] == MODEL)
            if "label" in plane:
                self.assertEqual(self.took(plane["label"])["guid"], plane["guid"])

    def test_whatif(self):
        """The failed and cut-off parts; each name in a list of failures is an operand."""
        err = f'portmajor: --fail: "{MODEL}" matches 3 switches: {L0}, {S0}, {S1}\n'
        text = self.run_cli("whatif", self.net, "--fail", MODEL, err=err)
        self.assertTrue(text.startswith(f"failed: {L0}, {S0}, {S1}\n"), text)
        self.assertIn(f"hosts cut off: {label(NIC, 0x200)}, {label(NIC, 0x201)}", text)
        self.assertIn("matches 2 hosts: node01 HCA-1, node01 HCA-2\n",
                      pmlab.run_cli("whatif", self.net, "--fail", "node01*").stderr)
        self.assertEqual(self.run_cli("whatif", self.net, "--fail", S1, "-q"), "")
        self.assertEqual(self.run_cli("whatif", self.net, "--fail", MODEL, "-q"), "")
        document = self.read("whatif", self.net, "--fail", f"{L0}:5")
        self.assertEqual(document["took"], [{
            "name": f"{MODEL}[5]-{MODEL}[1]", "label": f"{L0}[5]-{S0}[1]",
            "guid": f"0x{guid_of(0):016x}", "port": 5,
            "peer_guid": f"0x{guid_of(LEAVES):016x}", "peer_port": 1}])
        for kind in ("links", "switches", "hosts"):
            sweep = self.read("whatif", self.net, "--all", kind, "-n", 100)
            self.assertGreater(len(sweep["worst"]), 6)
            for row in sweep["worst"]:
                lost = row["failed"][0]
                self.assertEqual(self.took(lost.get("label", lost["name"])), lost)
            self.assertEqual(len({row["failed"][0].get("label", row["failed"][0]["name"])
                                  for row in sweep["worst"]}), len(sweep["worst"]))
            text = self.run_cli("whatif", self.net, "--all", kind, "-n", 100)
            table = list(csv.DictReader(self.run_cli(
                "whatif", self.net, "--all", kind, "--csv").splitlines()))
            for row in sweep["worst"]:
                name = row["failed"][0].get("label", row["failed"][0]["name"])
                self.assertRegex(text, rf"(?m)  {re.escape(name)}(,|$)")
                self.assertIn(name, [line["failed"] for line in table])

    def test_plan_for_a_loss(self):
        err = f'portmajor: --fail: "{MODEL}" matches 3 switches: {L0}, {S0}, {S1}\n'
        path = self.folder / "lfts"
        self.run_cli("plan", self.net, "--lfts", path, "--fail", MODEL, err=err)
        self.assertNotEqual(path.read_text("ascii"), "")

    def test_table(self):
        text = self.run_cli("table", "--switch", S0, self.net)
        self.assertTrue(text.startswith(f'"{S0}": 0 entries'), text)
        self.assertIn(f'"{L0}"[5]\n', text)
        self.assertIn('"leaf1"[5]\n', text)
        document = self.read("table", "--switch", S0, self.net)
        self.assertEqual((document["switch"], document["switch_guid"]),
                         (MODEL, f"0x{guid_of(LEAVES):016x}"))
        self.assertEqual([s.get("label", s["name"]) for s in document["switches"]],
                         [L0, "leaf1", "leaf2", "leaf3", S0, S1, "top"])
        self.assertEqual(document["switches"][0]["host_names"][:3],
                         [label(NIC, 0x200 + n) for n in range(3)])
        guids = ", ".join(f"0x{guid_of(sw):016x}" for sw in (0, LEAVES, LEAVES + 1))
        for option in ("--switch", "--sm"):
            self.run_cli("table", option, MODEL, self.net, status=2,
                         err=f'portmajor: {option}: 3 nodes are named "{MODEL}": give the GUID '
                             f"of one ({guids})\n")

    def test_check_and_diff(self):
        """Findings and changes name their nodes."""
        tables = self.folder / "lfts"
        self.run_cli("plan", self.net, "-q", "--lfts", tables)
        whole = tables.read_text("ascii")
        for sw, name in ((LEAVES, S0), (1, "leaf1")):
            guid = f"0x{guid_of(sw):016x}"
            parts = re.split(r"(?m)^(?=Unicast lids)", whole)
            tables.write_text("".join(part for part in parts if guid not in part[:80]),
                              encoding="ascii")
            done = pmlab.run_cli("check", self.net, tables)
            self.assertIn(f'finding: 1 switch has no table: "{name}"\n', done.stdout)
        less = self.folder / "less.net"
        write_fabric(less)
        less.write_text(less.read_text("ascii").replace('[6] "S-5"[1]\n', "")
                        .replace('[1] "S-0"[6]\n', ""), encoding="ascii")
        text = pmlab.run_cli("diff", "--list", self.net, less).stdout
        self.assertIn(f'switch 0x{guid_of(0):016x} "{MODEL}": ', text)

    def drained(self):
        return [f"{guid} {port} {name}" for guid, port, name in control.drained(self.folder)]

    def test_drain(self):
        """A name of several switches is refused, a pattern reports its matches."""
        requests = control.write(self.folder) / "requests"
        guids = [f"0x{guid_of(sw):016x}" for sw in (LEAVES, LEAVES + 1)]
        every = [f"0x{guid_of(sw):016x}" for sw in (0, LEAVES, LEAVES + 1)]
        for text, port in ((MODEL, ""), (f"{MODEL}:1", ":1"), (f"{MODEL}[1]", ":1")):
            these = ", ".join(guid + port for guid in every)
            self.run_cli("drain", "-n", self.net, text, status=2,
                         err=f'portmajor: drain: the name "{text}" is ambiguous: give a GUID '
                             f"({these})\n")
        self.assertFalse(requests.exists())
        self.run_cli("drain", "-q", "-n", self.net, f"{S0}:2")
        self.assertEqual(self.drained(), [f"{guids[0]} 2 {S0}"])
        self.run_cli("drain", "-q", "-n", self.net, f"{S1}[3]", "top:4")
        self.assertEqual([line.partition(", since")[0] for line in
                          pmlab.run_cli("drain").stdout.splitlines()],
                         [f"pending  {S0}:2", f"pending  {S1}:3", "pending  top:4"])
        document = json.loads(pmlab.run_cli("drain", "--json").stdout)["drained"]
        self.assertEqual([(d["name"], d.get("label"), d["guid"]) for d in document], [
            (MODEL, S0, guids[0]), (MODEL, S1, guids[1]), ("top", None, "0x0000000000000106")])
        self.run_cli("undrain", MODEL, status=2,
                     err=f'portmajor: undrain: the name "{MODEL}" is ambiguous: give a GUID '
                         f"({guids[0]}:2, {guids[1]}:3)\n")
        self.assertEqual(len(self.drained()), 3)
        self.run_cli("undrain", f"{S0}:2")
        self.assertEqual(len(self.drained()), 2)
        self.run_cli("undrain", MODEL)  # but one of this name is drained
        self.assertEqual(self.drained(), ["0x0000000000000106 4 top"])
        self.run_cli("undrain", "--all")
        self.assertEqual(pmlab.run_cli("drain", "-n", self.net, "leaf[23]:6").stderr.splitlines()[0],
                         'portmajor: drain: "leaf[23]:6" matches 2 cables: leaf2:6, leaf3:6')
        self.run_cli("drain", "-q", "-n", self.net, "leaf[12]:6")
        self.run_cli("undrain", "leaf*", err='portmajor: undrain: "leaf*" matches 3 drains: '
                                             "leaf2:6, leaf3:6, leaf1:6\n")
        self.assertEqual(self.drained(), [])

    def test_slurm(self):
        """Neither service ports nor other nodes; dual-rail hosts once."""
        path = self.folder / "topology.conf"
        done = pmlab.run_cli("plan", "-q", self.net, "--slurm", path)
        none = [*(label(NIC, 0x200 + n) for n in range(3)), label("localhost HCA-1", 0x203),
                label("localhost HCA-1", 0x213), "no(de"]
        self.assertEqual((done.returncode, done.stderr), (
            0, "portmajor: --slurm: left out 6 with names that are no hosts' "
               "(see --node-name-map); Slurm 22.05 gives no jobs to nodes that are not in the "
               f"file: {', '.join(none)}\n"
               "portmajor: --slurm: 2 have the name of another one, and each name is listed once "
               f"(see --node-name-map): {label('twin mlx5_0', 0x223)}, "
               f"{label('twin mlx5_0', 0x231)}\n"
               "portmajor: --slurm: hosts with as many adapters at switches of other hosts, so "
               "that their place is a guess (name adapters for storage in --io_guid_file): "
               "1, twin\n"))
        lines = path.read_text("ascii").splitlines()
        self.assertEqual([line for line in lines if " Nodes=" in line], [
            "SwitchName=leaf1 Nodes=node[01-02]", "SwitchName=leaf2 Nodes=node[03-04],twin",
            "SwitchName=leaf3 Nodes=node[05-06],ufm"])
        self.assertNotIn("Aggregation", path.read_text("ascii"))
        names = self.folder / "names"
        names.write_text("".join(f'0x{guid:x} "r{n} mlx5_0"\n' for n, guid in enumerate(
            [0x200, 0x201, 0x202, 0x203, 0x213, 0x222, 0x223])), encoding="ascii")
        self.run_cli("plan", "-q", self.net, "--node-name-map", names, "--slurm", path)
        self.assertIn("Nodes=r[0-3]\n", path.read_text("ascii"))


if __name__ == "__main__":
    labtest.main()
