#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-lab job: the cost of a failure for a job, with several engines, in one command."""

import json
import re

import labtest
import pmlab

RECORDINGS = pmlab.ROOT / "recordings"
FAILURES = {("director-36", "chassis"): "s0-*", ("director-36", "cable"): "leaf5:20",
            ("leaf-spine-144", "spine"): "spine0", ("leaf-spine-144", "cable"): "leaf5:13"}
ENGINES = ("portmajor", "ftree", "updn", "minhop")
# Parts that return, with engines of their own.
RETURNS = {("director-36", "flap"): "h7-3", ("director-36", "reboot"): "leaf9",
           ("leaf-spine-144", "flap"): "h7-3", ("leaf-spine-144", "reboot"): "leaf7"}
RETURN_ENGINES = ("portmajor", "updn")


class Jobs(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tree = pmlab.generate(cls.folder / "tree.net", "xgft", 2, "8,4", "1,4")

    def job(self, pattern, *args, status=0, netlist=None):
        done = pmlab.run_lab("job", "--json", pattern, netlist or self.tree, *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def refused(self, message, *args, status=2):
        done = pmlab.run_lab("job", *args)
        self.assertEqual((done.returncode, done.stdout), (status, ""), args)
        self.assertIn(message, done.stderr)

    def recording(self, name, lose, seconds, engine="slow"):
        """The Sets of portmajor after that, so many seconds later."""
        path = self.folder / name
        done = pmlab.run_lab("traffic", "-q", self.tree, "--fail", lose, "--write", path)
        self.assertEqual(done.returncode, 0, done.stderr)

        def later(match):
            return "set " + " ".join(str(int(t) + round(seconds * 1e9))
                                     for t in match[1].split())
        text = re.sub(r"^set (\d+ \d+ \d+)", later, path.read_text(encoding="ascii"),
                      flags=re.M)
        path.write_text(re.sub(r"^engine .*$", f"engine {engine}", text, flags=re.M),
                        encoding="ascii")
        return path


class Rows(Jobs):
    def traffic(self, *args):
        """The same with the packet engine's own command."""
        done = pmlab.run_lab("traffic", "--json", self.tree, "--warmup", "0us", "--time", "1s",
                             "--transport", "rc", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_as_the_packet_engine(self):
        """Times, connections and packets are those of two runs of it; the failure is in the
        middle of the first."""
        for pattern, args in (
                ("alltoall:64K", ("--pattern", "all-to-all", "--messages", "all",
                                  "--bytes", "64K")),
                ("shift:9:1M", ("--pattern", "shift:9", "--messages", 1, "--bytes", "1M")),
                ("ring:256K", ("--collective", "ring", "--bytes", "256K"))):
            told = self.job(pattern, "--fail", "sw2-0")
            [engine] = told["engines"]
            whole = self.traffic(*args)["points"][0]["done"]["us"]
            self.assertAlmostEqual(engine["healthy"]["done_ms"], whole / 1000, 6)
            self.assertAlmostEqual(told["at_ms"], whole / 2000, 5)
            point = self.traffic(*args, "--fail", "sw2-0", "--at", f"{told['at_ms']}ms",
                                 "--repair", "order")["points"][0]
            for name in ("pairs", "packets", "dropped", "drops", "done"):
                self.assertEqual(engine["point"][name], point[name], (pattern, name))
            self.assertGreater(point["dropped"], 0)
            self.assertAlmostEqual(engine["failure"]["done_ms"], point["done"]["us"] / 1000, 6)
            self.assertAlmostEqual(engine["ratio"], point["done"]["us"] / whole, 4)
            self.assertEqual((engine["failure"]["end"], engine["file"]), ("done", None))

    def test_stall(self):
        """The longest time without progress is the time with empty windows."""
        told = self.job("alltoall:64K", "--fail", "sw2-0")
        stall = told["engines"][0]["failure"]["stall"]
        windows = self.traffic(
            "--pattern", "all-to-all", "--messages", "all", "--bytes", "64K", "--fail", "sw2-0",
            "--at", f"{told['at_ms']}ms", "--repair", "order", "--window", "100us",
            "--time", "200ms")["points"][0]["windows"]
        empty = longest = 0
        last = max(i for i, window in enumerate(windows) if window["rate"])
        for window in windows[:last]:
            empty = 0 if window["rate"] else empty + 1
            longest = max(longest, empty)
        self.assertGreater(stall["ms"], 10)
        self.assertLess(abs(stall["ms"] - longest / 10), 0.2)
        self.assertGreaterEqual(told["engines"][0]["failure"]["host_stall"]["ms"], stall["ms"])
        self.assertIsNotNone(told["engines"][0]["failure"]["host_stall"]["host"])

    def test_compared(self):
        """A row for each; the failure is at the same time in all; a repair that comes when retries
        are over breaks connections, and does not count as the first engine's."""
        late = self.recording("late.sets", "sw2-0", 1)
        soon = self.recording("soon.sets", "sw2-0", 0.01, "soon")
        told = self.job("alltoall:64K", "--fail", "sw2-0", "--engine", "ours", "--compare", late,
                        soon)
        ours, slow, other = told["engines"]
        self.assertEqual([e["name"] for e in told["engines"]],
                         ["portmajor, computed", "slow", "soon"])
        self.assertEqual((slow["failure"]["end"], slow["failure"]["done_ms"], slow["ratio"]),
                         ("stuck", None, None))
        self.assertEqual((slow["failure"]["stall"]["ms"], slow["point"]["done"]["left"] > 0),
                         (None, True))
        self.assertGreater(slow["broken"], 0)
        self.assertEqual([e["broken"] for e in (ours, other)], [0, 0])
        self.assertEqual(ours["healthy"], slow["healthy"])
        self.job("alltoall:64K", "--fail", "sw2-0", "--engine", late, status=1)
        text = pmlab.run_lab("job", "alltoall:64K", self.tree, "--fail", "sw2-0", "--compare",
                             late).stdout
        self.assertRegex(text, r"(?m)^slow .* never .* for ever ")
        self.assertIn("slow: the job is never done", text)

    def test_end_of_a_recording(self):
        """Sets beyond the longest run, or behind the job's end, are reported."""
        late = self.recording("end.sets", "sw2-0", 60)
        told = self.job("alltoall:64K", "--fail", "sw2-0", "--timeout", 20, "--gbps", 200,
                        "--engine", late, status=1)
        [engine] = told["engines"]
        self.assertEqual((engine["failure"]["end"], engine["sets"]["replayed"]), ("time", 0))
        self.assertGreater(engine["sets"]["late"], 0)
        self.assertGreater(engine["sets"]["last_ms"], 60000)
        done = pmlab.run_lab("job", "alltoall:64K", self.tree, "--fail", "sw2-0", "--timeout", 20,
                             "--gbps", 200, "--engine", late)
        self.assertIn("LFT Sets come after that", done.stdout)
        # Hosts of one leaf are done long before.
        late = self.recording("later.sets", "sw2-0", 1)
        [engine] = self.job("ring:64K", "--processes", 8, "--fail", "sw2-0", "--engine",
                            late)["engines"]
        self.assertEqual((engine["failure"]["end"], engine["sets"]["replayed"],
                          engine["sets"]["late"]), ("done", 0, 0))
        self.assertGreater(engine["sets"]["after_job"], 0)

    def test_curve(self):
        """All blocks have arrived when the job is done."""
        for run in ("healthy", "failure"):
            part = self.job("binomial:1M", "--fail", "sw2-1")[
                "engines"][0][run]
            times = [ms for ms, _ in part["curve"]]
            self.assertEqual(times, sorted(times))
            self.assertEqual(part["curve"][-1], [part["done_ms"], 100])

    def test_refused(self):
        tree = self.tree
        lose = ("--fail", "sw2-0")
        self.refused("nothing fails: --fail", "alltoall", tree)
        for pattern in ("all", "uniform", "incast:h0-1", "alltoall:0", "alltoall:1:1", "ring:x"):
            self.refused(f"no pattern \"{pattern}\"; there are alltoall", pattern, tree, *lose)
        self.refused("N is 1 to 31", "shift", tree, *lose)
        self.refused("--processes: all-to-all is no collective", "alltoall", tree, *lose,
                     "--processes", 4)
        self.refused("without the failure the job is done after", "alltoall", tree, *lose, "--at",
                     "1s")
        self.refused("ftree: no such file; recordings of this fabric", "alltoall", tree, *lose,
                     "--compare", "ftree", status=3)
        self.refused("fails there, but not by --fail", "alltoall", tree, "--fail", "sw2-1",
                     "--compare", self.recording("other.sets", "sw2-0", 0), status=3)
        self.refused("no fabric that was recorded (director-36, leaf-spine-144)", "alltoall",
                     "none", *lose, "--recordings", RECORDINGS, status=3)
        self.refused("no folder of recordings", "alltoall", *lose, "--recordings", tree, status=3)
        self.refused("no recording of that engine of leaf-spine-144 with this failure",
                     "alltoall", "leaf-spine-144", "--fail", "spine1", "--compare", "ftree",
                     "--recordings", RECORDINGS, status=3)
        self.refused("a run can have, without the failure", "alltoall:64M", tree, *lose, "--repeat",
                     10000, status=2)


class Traces(Jobs):
    """Event lists of MPI jobs."""

    def trace(self, name, ranks):
        """A file of these lines of each rank."""
        path = self.folder / name
        lines = [f"num_ranks {len(ranks)}"]
        for rank, rows in enumerate(ranks):
            lines += [f"rank {rank} {{", *rows, "}"]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        return f"goal:{path}"

    def ring(self, num, size, calc=0):
        """Each send waits for all sends of the step before, and for computing behind it."""
        for rank in range(num):
            rows = []
            for step in range(num - 1):
                rows += [f"c{step}: calc {calc}",
                         f"s{step}: send {size}b to {(rank + 1) % num} tag {step}",
                         f"r{step}: recv {size}b from {(rank - 1) % num} tag {step}",
                         f"s{step} requires c{step}"]
                if step:
                    rows += [f"c{step} requires s{step - 1}", f"c{step} requires r{step - 1}"]
            yield rows

    def test_as_a_collective(self):
        """A ring's events are the ring, healthy and through the failure; the computing time is
        added."""
        for num in (8, 32):
            lose = ("--fail", "sw2-0")
            told = self.job(f"ring:{num * 8}K", *lose, "--processes", num)["engines"][0]
            trace = self.job(self.trace("ring.goal", list(self.ring(num, 8192))), *lose)
            engine = trace["engines"][0]
            for part in ("healthy", "failure", "broken", "ratio"):
                self.assertEqual(engine[part], told[part], part)
            self.assertEqual((trace["pattern"], trace["processes"], trace["bytes"]),
                             ("goal", num, num * (num - 1) * 8192))
            slow = self.job(self.trace("slow.goal", list(self.ring(num, 8192, 100000))), *lose)
            extra = slow["engines"][0]["healthy"]["done_ms"] - told["healthy"]["done_ms"]
            self.assertAlmostEqual(extra, (num - 1) * 0.1, delta=0.001)

    def test_refused(self):
        lose = (self.tree, "--fail", "sw2-0")
        self.refused("does not receive it", self.trace("a.goal", [["send 1b to 1"], []]), *lose,
                     status=3)
        self.refused("no.goal", f"goal:{self.folder}/no.goal", *lose, status=3)
        self.refused("has 33 ranks; there are 32 hosts",
                     self.trace("b.goal", list(self.ring(33, 64))), *lose, status=3)
        self.refused("--repeat: not of goal:FILE", "goal:x", *lose, "--repeat", 2)
        # Each rank's first send waits for the other's send behind it.
        cycle = [["a: send 1b to %d tag 1" % (1 - r), "b: send 1b to %d tag 2" % (1 - r),
                   "c: recv 1b from %d tag 2" % (1 - r), "recv 1b from %d tag 1" % (1 - r),
                   "b requires c"] for r in range(2)]
        self.refused("its messages wait for each other", self.trace("c.goal", cycle), *lose,
                     status=3)


class Package(Jobs):
    """The recordings of the package."""

    def outages(self, fabric, failure, lose, engines):
        """The outages by each engine's recording; all LIDs are served at the end."""
        folder = RECORDINGS / fabric / failure
        self.assertEqual({path.stem for path in folder.iterdir()}, set(engines))
        first, *others = (folder / f"{engine}.sets" for engine in engines)
        done = pmlab.run_lab("traffic", "--json", "-q", RECORDINGS / fabric / "fabric.net",
                             "--fail", lose, "--sets", first,
                             *(part for path in others for part in ("--compare", path)))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)["recordings"]
        for name, recording in zip(engines, found):
            self.assertTrue(recording["name"].startswith(name), recording["name"])
            self.assertGreater(recording["cut"]["at_once"]["paths"], 0)
            self.assertEqual((recording["cut"]["end"]["paths"], recording["unacknowledged"]),
                             (0, 0))
        return found

    def test_whole(self):
        """Each failure has its engines."""
        for (fabric, failure), lose in FAILURES.items():
            self.outages(fabric, failure, lose, ENGINES)

    def test_returns(self):
        """All hosts are back, and with portmajor first."""
        for (fabric, failure), lose in RETURNS.items():
            ours, theirs = self.outages(fabric, failure, lose, RETURN_ENGINES)
            self.assertEqual(ours["cut"]["at_once"], theirs["cut"]["at_once"])
            self.assertEqual(ours["hosts"], {"director-36": 648, "leaf-spine-144": 144}[fabric])
            self.assertLess(ours["back_ms"]["all"], theirs["back_ms"]["half"])

    def test_documents(self):
        """Documents have the rows that these recordings give."""
        guide, cutoff = ((pmlab.ROOT / "docs" / name).read_text("utf-8")
                         for name in ("guide.md", "lab-cutoff.md"))
        commands = [(guide, "job", "alltoall:64K", "leaf-spine-144", "--fail", "spine0",
                     "--recordings", RECORDINGS, "--compare", *ENGINES[1:])]
        for (fabric, failure), lose in {**FAILURES, **RETURNS}.items():
            folder = RECORDINGS / fabric
            if (fabric, failure) in RETURNS or fabric == "director-36":
                ours, *others = sorted((folder / failure).iterdir(),
                                       key=lambda path: path.stem != "portmajor")
                commands.append((cutoff, "traffic", folder / "fabric.net", "--fail", lose,
                                 "--sets", ours, *(part for path in others
                                                   for part in ("--compare", path))))
        for document, *command in commands:
            done = pmlab.run_lab(*command)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = re.findall(r"(?m)^(?:%s)[ ,].*[0-9]$" % "|".join(ENGINES), done.stdout)
            self.assertGreater(len(rows), 1)
            for row in rows:
                self.assertIn(row, document)

    def test_flap(self):
        """A job waits for a host's link, and goes on; with updn it waits longer."""
        told = self.job("alltoall:64K", "--fail", "h7-3", "--compare", "updn", "--recordings",
                        RECORDINGS, netlist="leaf-spine-144")
        ours, theirs = (engine["failure"] for engine in told["engines"])
        self.assertEqual((ours["end"], theirs["end"]), ("done", "done"))
        self.assertLess(1.3 * ours["done_ms"], theirs["done_ms"])
        self.assertEqual([engine["broken"] for engine in told["engines"]], [0, 0])

    def test_fabrics(self):
        """They are those of the command."""
        for fabric, kind in (("director-36", ("director", 36)),
                             ("leaf-spine-144", ("two-level", 12, 6, 12, 2))):
            made = pmlab.run_cli("generate", *kind).stdout
            self.assertEqual((RECORDINGS / fabric / "fabric.net").read_text("ascii"), made)

    def test_by_name(self):
        """Fabric and engines by their names, ours as it was recorded."""
        told = self.job("alltoall:4K", "--fail", "spine0", "--compare",
                        *ENGINES[1:-1], f"{ENGINES[-1]}.sets", "--recordings", RECORDINGS,
                        netlist="leaf-spine-144")
        self.assertEqual((told["fabric"], told["hosts"], told["cables"]),
                         ("leaf-spine-144", 144, 24))
        self.assertEqual([e["file"].split("/")[-1] for e in told["engines"]],
                         [f"{engine}.sets" for engine in ENGINES])


if __name__ == "__main__":
    labtest.main()
