#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-lab traffic reports loops, cycles of channels and deadlocks in mixtures of tables."""

import json

import labtest
import pmlab
import simlab

LEAF, LAST = "leaf0", "h15-4"  # of a 4-ary 3-tree: the loop is for LAST's LID
LOST = "h3-1:1"


class Recording:
    """A computed recording, with Sets of our own behind its failure."""

    def __init__(self, netlist, folder):
        self.path = folder / "computed.sets"
        done = pmlab.run_lab("traffic", "-q", netlist, "--fail", LOST, "--write", self.path)
        assert done.returncode == 0, done.stderr
        self.rows = self.path.read_text().splitlines()
        self.net = simlab.Netlist(netlist)
        # Switches without a GUID in the file get theirs by their order in it.
        self.guid = dict(zip(self.net.switches, sorted(
            {row.split()[1] for row in self.rows if row.startswith("table ")})))
        self.table = {(guid, int(block)): entries for kind, guid, block, entries in
                      (row.split() for row in self.rows if row.startswith("table "))}
        self.lids = [int(row.split()[2]) for row in self.rows if row.startswith("lid ")]

    def entry(self, switch, lid):
        entries = self.table[self.guid[switch], lid // 64]
        return int(entries[lid % 64 * 2:][:2], 16)

    def block(self, switch, lid, port):
        """The switch's block with that entry for a LID."""
        entries = self.table[self.guid[switch], lid // 64]
        at = lid % 64 * 2
        return f"{self.guid[switch]} {lid // 64} {entries[:at]}{port:02x}{entries[at + 2:]}"

    def owner(self, lid):
        """The host at the end of the packets for a LID, or None: it is a switch's."""
        at = LEAF
        while at in self.guid:
            at = self.net.nodes[at].ports.get(self.entry(at, lid), (None, 0))[0]
        return at

    def write(self, path, sets):
        """Writes a recording that has only these (ns, row) as Sets."""
        rows = [row for row in self.rows if not row.startswith("set ")]
        rows += [f"set {ns} {ns} {ns} {row}" for ns, row in sets]
        path.write_text("\n".join(rows) + "\n")
        return path


class Mixtures(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = pmlab.generate(cls.folder / "net", "xgft", 3, "4,4,4", "1,4,4")
        cls.recording = recording = Recording(cls.net, cls.folder)
        cls.lid = next(lid for lid in recording.lids if recording.owner(lid) == LAST)
        # The switch above the leaf sends packets for the LID back to it, for a while.
        cls.above, cls.port = recording.net.nodes[LEAF].ports[recording.entry(LEAF, cls.lid)]
        whole = recording.entry(cls.above, cls.lid)
        cls.loop = recording.write(cls.folder / "loop.sets", (
            (1_000_000, recording.block(cls.above, cls.lid, cls.port)),
            (21_000_000, recording.block(cls.above, cls.lid, whole))))

    def traffic(self, *args, status=0):
        done = pmlab.run_lab("traffic", self.net, *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def told(self, *args, status=0):
        return json.loads(self.traffic("--json", "-q", *args, status=status))


class Cutoff(Mixtures):
    def recorded(self):
        [recording] = self.told("--fail", LOST, "--sets", self.loop)["recordings"]
        return recording

    def test_loop(self):
        """The loop, with the Sets that made and removed it."""
        loops = self.recorded()["mixture"]["loops"]
        self.assertEqual((loops["num"], loops["most"], loops["ms"]), (1, 1, 20.0))
        [loop] = loops["list"]
        self.assertEqual((loop["lid"], loop["owner"]["name"]), (self.lid, LAST))
        self.assertEqual({node["name"] for node in loop["switches"]}, {LEAF, self.above})
        for event, number, ms in (("made", 0, 1.0), ("removed", 1, 21.0)):
            self.assertEqual((loop[event]["by"], loop[event]["set"], loop[event]["ms"],
                              loop[event]["node"]["name"], loop[event]["block"]),
                             ("set", number, ms, self.above, self.lid // 64))

    def test_cycle(self):
        """Two channels, there and back."""
        cycles = self.recorded()["mixture"]["cycles"]
        self.assertEqual((cycles["num"], cycles["most"], cycles["ms"]), (1, 1, 20.0))
        [cycle] = cycles["list"]
        self.assertEqual(len(cycle["links"]), 2)
        self.assertEqual((cycle["made"]["set"], cycle["removed"]["set"]), (0, 1))

    def test_paths(self):
        """Paths by the switch above loop, and no others: no dead ends."""
        recording = self.recorded()
        loops = recording["cut"]["loops"]
        self.assertEqual((loops["at_once"], loops["end"]), (0, 0))
        self.assertEqual(loops["most"], max(dead for _, dead in recording["curve"]))
        self.assertAlmostEqual(loops["pair_seconds"], loops["most"] * 0.02)
        text = self.traffic("-q", "--fail", LOST, "--sets", self.loop)
        self.assertEqual(text, "")
        text = self.traffic("--fail", LOST, "--sets", self.loop)
        self.assertIn(f"LID {self.lid} ({LAST}): ", text)
        self.assertIn(f"made by Set 0 ({self.above}, block {self.lid // 64}) at 1.000 ms, "
                      f"removed by Set 1 ({self.above}, block {self.lid // 64}) at 21.000 ms",
                      text)

    def test_link_returns(self):
        """The loop is in the tables: its link fails and returns."""
        recording, place = self.recording, f"{self.recording.guid[self.above]} {self.port}"
        block = f"{recording.guid[self.above]} {self.lid // 64} "
        rows = [row for row in recording.rows if not row.startswith(
            ("set ", "failed ", f"table {block}"))]
        rows += [f"table {recording.block(self.above, self.lid, self.port)}",
                 f"failed 0 {place}", f"active 5000000 {place}"]
        path = self.folder / "returns.sets"
        path.write_text("\n".join(rows) + "\n")
        args = "--fail", f"{self.above}:{self.port}", "--sets", path
        [found] = self.told(*args)["recordings"]
        first, again = found["mixture"]["loops"]["list"]
        self.assertEqual([loop[event] and loop[event]["by"] for loop in (first, again)
                          for event in ("made", "removed")], ["start", "failure", "return", None])
        self.assertEqual(again["made"]["ms"], 5.0)
        text = self.traffic(*args)
        self.assertIn("there from the start, removed by the failure\n", text)
        self.assertRegex(text, rf"made by the return of \S*{self.above}\[{self.port}\]\S* at "
                               r"5\.000 ms, not removed\n")

    def test_whole(self):
        """No loop in the computed trace, where dead paths are dead ends."""
        [recording] = self.told("--fail", "leaf0:5")["recordings"]
        for kind in ("loops", "cycles"):
            self.assertEqual(recording["mixture"][kind],
                             {"num": 0, "most": 0, "ms": 0.0, "list": []})
        self.assertEqual(recording["cut"]["loops"],
                         {"at_once": 0, "most": 0, "end": 0, "pair_seconds": 0.0})
        self.assertNotIn("loop", self.traffic("--fail", "leaf0:5"))


class Deadlocks(Mixtures):
    def run_it(self, *args, status=1):
        told = self.told("--engine", "packet", "--sets", self.loop, "--load", 0.5, "--gbps", 200,
                         "--time", "40ms", "--warmup", "0us", *args, status=status)
        return told["points"][0]

    def test_dissolved(self):
        """A time-out of 4.2 ms ends it: it is reported all the same, with the number of hosts."""
        point = self.run_it("--hoq-life", 10)
        self.assertIsNone(point["findings"]["deadlock"])
        deadlocks = point["findings"]["deadlocks"]
        first = deadlocks[0]
        self.assertGreater(first["begin_us"], 1000)
        self.assertLess(first["begin_us"], 1100)
        self.assertGreater(first["us"], 4000)
        self.assertEqual(first["length"], 2)
        self.assertEqual(first["hosts"], 63)  # all but the lost one
        self.assertFalse(first["lasts"])
        self.assertTrue(all(d["end_us"] < 40000 for d in deadlocks))
        self.assertGreater(sum(d["us"] for d in deadlocks), 15000)

    def test_engine(self):
        """Options of the packet engine alone choose it."""
        text = self.traffic("--sets", self.loop, "--hoq-life", 12, "--time", "60ms", status=1)
        self.assertRegex(text, r"finding: deadlock of 2 cables from 10\d\d\.\d+ to .* 63 hosts blocked")

    def test_lasting(self):
        """Without time-outs it is there in the end."""
        point = self.run_it("--hoq-life", 20)
        self.assertIsInstance(point["findings"]["deadlock"], list)
        [deadlock] = point["findings"]["deadlocks"]
        self.assertTrue(deadlock["lasts"])
        self.assertAlmostEqual(deadlock["begin_us"] + deadlock["us"], deadlock["end_us"])
        self.assertAlmostEqual(deadlock["end_us"], 40000, delta=1)
        self.assertEqual(deadlock["hosts"], 63)

    def test_none(self):
        point = self.told("--engine", "packet", "--load", 0.9, "--hoq-life", 0, "--pattern",
                          "incast:h0-1", status=1)["points"][0]
        self.assertGreater(point["dropped"], 0)
        self.assertEqual(point["findings"]["deadlocks"], [])


if __name__ == "__main__":
    labtest.main()
