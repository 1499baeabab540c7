#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-lab traffic --shard and merge: parts of load points and seeds make the whole."""

import json

import labtest
import pmlab

NET = pmlab.TOPOLOGIES / "xgft-64.net"
FLIT = ("--engine", "flit", "--cycles", 600, "--warm-up", 100, "--load", ".3..1/.35",
        "--length", "8,32", "--seeds", 2)
DEADLOCK = ("--engine", "flit", "--topology", "torus:5x5", "--vc-rule", "one", "--load", "0.1,1",
            "--seeds", 2, "--length", 8, "--buffer", 8, "--cable", 1, "--warm-up", 0)
PACKET = ("--engine", "packet", NET, "--time", "5us", "--warmup", "1us", "--load", "0.2..0.8/0.3",
          "--seeds", 2)
CLOSED = ("--engine", "packet", NET, "--messages", 2, "--pattern", "shift:9", "--seeds", 3)
LOST = ("--engine", "packet", NET, "--time", "20us", "--warmup", "1us", "--load", "0.2,0.5",
        "--fail", "leaf0:5", "--repair", "order", "--smp", "1us", "--window", "5us")


class Shards(labtest.Folders):
    def shard(self, index, count, *options):
        path = self.folder / f"part-{index}-{count}.json"
        done = pmlab.run_lab("traffic", *options, "--json", "--shard", f"{index}/{count}")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        path.write_text(done.stdout)
        return path, done.returncode

    def shards(self, count, *options):
        return [self.shard(i, count, *options)[0] for i in range(1, count + 1)]

    def refused(self, message, *files):
        done = pmlab.run_lab("merge", *files)
        self.assertEqual((done.returncode, done.stdout), (3, ""), message)
        self.assertIn(message, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_whole(self):
        """Byte by byte, as JSON and as text, in whatever order the files come."""
        for options, counts, status in ((FLIT, (1, 2, 5, 13), 0), (DEADLOCK, (3,), 1),
                                        (PACKET, (1, 4, 7), 0), (CLOSED, (2,), 0),
                                        (LOST, (2,), 0)):
            whole = [pmlab.run_lab("traffic", *options, *more) for more in ((), ("--json",))]
            self.assertEqual([one.returncode for one in whole], [status] * 2, whole[0].stderr)
            for count in counts:
                with self.subTest(options[1], count=count):
                    files = self.shards(count, *options)[::-1]
                    for more, one in zip(((), ("--json",)), whole):
                        done = pmlab.run_lab("merge", *more, *files)
                        self.assertEqual((done.returncode, done.stdout, done.stderr),
                                         (status, one.stdout, ""))

    def test_parts(self):
        """Each run is in one shard, and a shard's exit status is that of its own runs."""
        seen = []
        for index in range(1, 4):
            path, status = self.shard(index, 3, *DEADLOCK)
            runs = json.loads(path.read_text())["runs"]
            self.assertEqual(status, int(any(run["deadlock"] for run in runs)))
            seen += [(run["load"], run["seed"]) for run in runs]
        self.assertEqual(sorted(seen), [(0.1, 1), (0.1, 2), (1.0, 1), (1.0, 2)])

    def test_means(self):
        """Over the seeds of each load, which are those of --seed and so on."""
        whole = json.loads(pmlab.run_lab("traffic", *PACKET, "--json").stdout)
        self.assertEqual([point["seed"] for point in whole["points"]], [1, 2] * 3)
        for number, mean in enumerate(whole["means"]):
            pair = whole["points"][2 * number:2 * number + 2]
            values = [point["latency_us"]["mean"] for point in pair]
            self.assertNotEqual(values[0], values[1])
            self.assertAlmostEqual(mean["latency_us"]["mean"], sum(values) / 2)
            # Student's t of one degree of freedom, and the deviation of two values.
            self.assertAlmostEqual(mean["latency_us"]["half"],
                                   12.706 * abs(values[0] - values[1]) / 2)
            alone = json.loads(pmlab.run_lab(
                "traffic", *PACKET[:-4], "--load", pair[1]["offered"], "--seed", 2,
                "--json").stdout)
            self.assertEqual(alone["points"], pair[1:])
            self.assertNotIn("means", alone)

    def test_ranges(self):
        """Of FROM..TO the step is FROM, with either engine."""
        for options, last in ((FLIT, "0.3..1"), (PACKET, "0.3..0.9")):
            told = json.loads(pmlab.run_lab("traffic", *options, "--load", last, "--seeds", 1,
                                            "--json").stdout)
            self.assertEqual([point.get("offered", point.get("load")) for point
                              in told["points"]][:3], [0.3, 0.6, 0.9])
        for load in ("0.1..0.9/inf", "0.1..0.9/nan", "0.1..", "0.1..0.9/"):
            done = pmlab.run_lab("traffic", *PACKET, "--load", load)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("nor FROM..TO/STEP", done.stderr)

    def test_wrong_files(self):
        first, second, third = self.shards(3, *FLIT)
        self.refused("1 of 3 shards are missing, 2 the first", first, third)
        self.refused("shard 2 was there already", first, second, second)
        sweep = self.folder / "sweep.json"
        sweep.write_text(pmlab.run_cli("whatif", NET, "--all", "leaves", "--json").stdout)
        for files in ((first, sweep), (sweep, first)):
            self.refused(f"{sweep}: not what portmajor-lab traffic --shard", *files)
        done = pmlab.run_cli("merge", first)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("not what portmajor whatif", done.stderr)
        for options in ((*FLIT, "--seed", 2), (*FLIT, "--load", ".3..1/.34"),
                        (*FLIT, "--length", "8,33"), (*FLIT, "--topology", "torus:4x5"),
                        (*FLIT, "--ties", "up"), PACKET):
            self.refused("of another network or with other options", first,
                         self.shard(2, 3, *options)[0])
        first = self.shard(1, 3, *PACKET)[0]
        other = self.folder / "other.net"
        other.write_text(pmlab.run_cli("generate", "two-level", 8, 8, 8, 1).stdout)
        for options in (("--load", "0.2..0.7/0.2"), ("--hoq-life", 17), ("--window", "1us"),
                        ("--transport", "rc"), ("--pattern", "shift:3"), ("--seed", 5),
                        ("-o", "leaf-major")):
            self.refused("of another network or with other options", first,
                         self.shard(2, 3, *PACKET, *options)[0])
        self.refused("of another network or with other options", first,
                     self.shard(2, 3, *PACKET[:2], other, *PACKET[3:])[0])
        self.refused("not what portmajor-lab traffic --shard", self.write(
            "whole", json.loads(pmlab.run_lab("traffic", *PACKET, "--json").stdout)))

    def write(self, name, document):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(document))
        return path

    def test_broken_files(self):
        """No crash, and a message, whatever part is missing."""
        for options in (FLIT, PACKET):
            good = json.loads(self.shard(1, 1, *options)[0].read_text())
            for key in ("shard", "runs", "settings"):
                self.refused("not ", self.write("bad", {k: v for k, v in good.items()
                                                         if k != key}))
            for number, bad in (("of", 0), ("index", 2), ("total", 2**32), ("total", "x")):
                self.refused("not what portmajor-lab traffic", self.write(
                    "bad", {**good, "shard": {**good["shard"], number: bad}}))
            self.refused("has 11 runs of 12" if options is FLIT else "has 5 runs of 6",
                         self.write("bad", {**good, "runs": good["runs"][1:]}))
            for seeds in (0, 5, 10**6, "x"):
                self.refused("runs are not as", self.write(
                    "bad", {**good, "settings": {**good["settings"], "seeds": seeds}}))
            needed = ("seed", "p99", "load", "busiest", "deadlock") if options is FLIT else (
                "latency_us", "accepted", "findings")
            for key in needed:
                for run in ({k: v for k, v in good["runs"][1].items() if k != key},
                            {**good["runs"][1], key: "x"}, 5):
                    self.refused("runs are not as", self.write(
                        "bad", {**good, "runs": [good["runs"][0], run, *good["runs"][2:]]}))

    def test_options(self):
        for options, message in (
                ((*FLIT, "--shard", "1/2"), "--shard needs --json"),
                ((*PACKET, "--shard", "1/2"), "--shard needs --json"),
                ((*FLIT, "--json", "--speed", "--shard", "1/2"), "either --speed or --shard"),
                ((*PACKET, "--json", "--shard", "3/2"), "--shard 3: not a number from 1 to 2"),
                ((*FLIT, "--json", "--shard", "0/2"), "--shard 0: not a number from 1 to 2"),
                ((*PACKET, "--json", "--shard", "1"), "--shard 1: not I/N"),
                ((*PACKET, "--seeds", 0), "--seeds 0: not a number from 1 to 1000")):
            done = pmlab.run_lab("traffic", *options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    labtest.main()
