#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/benchmark runs and writes, --compare notices worse figures; README agrees."""

import contextlib
import copy
import io
import json
import re
import unittest
import unittest.mock

import benchmark
import labtest
import pmlab
import simlab

SMALL = benchmark.Kind(("two-level", 8, 4, 4, 1),
                       {"cable": "leaf5:6", "host": "h7-3", "spine": "spine0"})


def run(*args):
    """Exit status and output."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = benchmark.main(["--fabrics", "32", "--engines", "core,portmajor,ftree",
                                 *args])
    return status, out.getvalue()


class Small(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.enter_context(unittest.mock.patch.dict(benchmark.FABRICS, {"32": SMALL}))
        cls.status, cls.printed = run("--folder", str(cls.folder))
        cls.file = cls.folder / "benchmarks.json"
        cls.data = benchmark.read(cls.file)
        cls.results = cls.data["32"]

    def test_results(self):
        self.assertEqual((self.status, self.printed), (0, ""))
        self.assertEqual(set(self.data), {"32"})
        self.assertEqual(set(self.results), {"core", "portmajor", "ftree"})
        for engine in ("portmajor", "ftree"):
            result = self.results[engine]
            self.assertNotIn("failed", result)
            self.assertGreater(result["memory_mib"], 1)
            self.assertEqual(list(result["events"]), [
                "first load", "sweep without news", "cable", "cable is back", "host",
                "host is back", "spine", "spine is back"])
            for event, f in result["events"].items():
                with self.subTest(engine, event=event):
                    self.assertGreater(f["smps"], 12)
                    self.assertGreater(f["up_s"], 0)
                    self.assertGreater(f["up_cpu_s"], 0)
                    self.assertGreaterEqual(f["computing_ms"] or 0, 0)
                    if event.endswith("is back"):
                        self.assertGreater(f["active_smps"], 0)
                        self.assertGreater(f["active_s"], 0)
                    elif event != "sweep without news":
                        self.assertGreaterEqual(f["over_mean"], 1)
                        self.assertGreaterEqual(f["random"], 1)
                    if f["lft_sets"]:
                        self.assertLessEqual(f["last_lft_smp"], f["smps"])
                        self.assertLessEqual(f["floor_s"], f["last_lft_s"])
        self.assertFalse(any(f.get("gave_up") for f in self.results["portmajor"]["events"].values()))

    def test_core_foretells(self):
        """The prediction of whatif and the count are one number; a host costs nothing."""
        for event in SMALL.victims:
            counted, foretold = (self.results[engine]["events"][event]["lft_sets"]
                                 for engine in ("portmajor", "core"))
            self.assertEqual(counted, foretold, event)
        self.assertEqual(self.results["core"]["events"]["host"]["lft_sets"], 0)

    def test_document(self):
        text = (self.folder / "benchmarks.md").read_text(encoding="ascii")
        self.assertIn("## 32 hosts: `generate two-level 8 4 4 1`", text)
        self.assertIn("SM on h0-1; lost: cable `leaf5:6`", text)
        load = self.results["portmajor"]["events"]["first load"]["lft_sets"]
        self.assertIn(f"| first load | portmajor | {load} |", text)
        self.assertIn("- 32 hosts: updn, minhop, dfsssp, nue\n", text)
        for column in re.findall(r"^\|.*\|$", text, re.M):
            self.assertGreater(column.count("|"), 2)

    def test_compare(self):
        """Measured again, only a figure that is too good in the file is named."""
        folder = self.folder / "better"
        folder.mkdir()
        better = copy.deepcopy(self.data)
        better["32"]["portmajor"]["events"]["cable"]["lft_sets"] -= 1
        written = json.dumps(benchmark.pack(better))
        (folder / "benchmarks.json").write_text(written, encoding="ascii")
        cable = self.results["portmajor"]["events"]["cable"]["lft_sets"]
        # Times of such a small fabric depend on the machine.
        with unittest.mock.patch.object(benchmark, "TOLERANCE", {}):
            status, printed = run("--compare", "--tries", "2", "--folder", str(folder))
        self.assertEqual(status, 1)
        self.assertEqual([line for line in printed.splitlines() if line.startswith("worse")],
                         ["worse: 32 hosts, portmajor, cable (SM on h0-1, lost: leaf5:6): "
                          f"lft_sets was {cable - 1}, is {cable}"])
        self.assertEqual((folder / "benchmarks.json").read_text(encoding="ascii"), written)
        self.assertFalse((folder / "benchmarks.md").exists())

    def test_ports_are_not_set_again(self):
        """On a wire that keeps what was set a sweep without news Sets next to nothing."""
        f = self.results["portmajor"]["events"]["sweep without news"]
        self.assertEqual((f["lft_sets"], f["last_lft_smp"]), (0, 0))
        self.assertLess(f["smps"], self.results["portmajor"]["events"]["first load"]["smps"] / 2)

    def worse(self, engine, event, **figures):
        """The message if these figures become so."""
        new = copy.deepcopy(self.results)
        (new[engine]["events"][event] if event else new[engine]).update(figures)
        return benchmark.worse("32", self.results, new)

    def test_nothing_is_worse(self):
        self.assertEqual(benchmark.worse("32", self.results, self.results), ([], []))
        self.assertEqual(self.worse("portmajor", "cable", lft_sets=0, smps=1, over_mean=1.0),
                         ([], []))

    def test_every_figure(self):
        for result in self.results.values():  # on a busy machine some are begun anew
            for event in result["events"].values():
                event.pop("discoveries", None)
        for event, figures in (("cable", ("lft_sets", "over_mean", "shift", "random", "smps",
                                          "last_lft_smp", "floor_s", "last_lft_s", "up_s",
                                          "computing_ms")), (None, ("memory_mib",))):
            for figure in figures:
                was = benchmark.value(self.results["portmajor"], event, figure)
                faults, notes = self.worse("portmajor", event, **{figure: (was + 1) * 100})
                with self.subTest(figure):
                    self.assertEqual((len(faults), notes), (1, []))
                    self.assertIn(figure, faults[0])

    def test_other_engine(self):
        """A difference of the reference engine is reported, but is no fault."""
        faults, notes = self.worse("ftree", "cable", lft_sets=1)
        self.assertEqual(faults, [])
        self.assertRegex(notes[0], r"^32 hosts, ftree, cable \(SM on h0-1, lost: leaf5:6\): ")

    def test_did_not_finish(self):
        new = copy.deepcopy(self.results)
        del new["portmajor"]["events"]["spine"]
        new["portmajor"]["failed"] = "spine: did not finish within 1 s"
        faults, _ = benchmark.worse("32", self.results, new)
        self.assertIn("did not finish", faults[0])
        self.assertIn("lost: spine0): lft_sets was ", faults[1])
        self.assertIn("| spine | portmajor | did not finish |", benchmark.document({"32": new}))

    def test_limit(self):
        netlist = simlab.Netlist(pmlab.generate(self.folder / "slow.net", *SMALL.generate))
        options = benchmark.parse_args(["--limit", "7"])
        with unittest.mock.patch.object(simlab.OpenSM, "settle", side_effect=simlab.SimTimeout):
            result = benchmark.Engine("32", netlist, "nue", options, lambda text: None).run()
        self.assertEqual(result["failed"], "first load: did not finish within 7 s")
        self.assertEqual(result["events"], {})
        benchmark.document({"32": {"nue": result}})


class Large(labtest.Folders):
    """A fabric of the largest kind, small: few engines, no tables read, and more events."""

    KIND = benchmark.Kind(("xgft", 2, "4,4", "1,4"), {"cable": "leaf1:6", "pod": "leaf3 leaf2"},
                          grows="leaf3")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.enter_context(unittest.mock.patch.dict(benchmark.FABRICS, {"32": cls.KIND}))
        options = benchmark.parse_args(["--fabrics", "32", "--engines", "portmajor,updn,ftree"])
        cls.results = {}
        benchmark.run(options, lambda text: None,
                      lambda name, engine, result: cls.results.update({engine: result}))

    def test_events(self):
        self.assertEqual({engine: list(result["events"]) for engine, result
                          in self.results.items()},
                         {"portmajor": ["first load", "sweep without news", "cable",
                                        "cable is back", "pod", "pod is back", "restart",
                                        "standby takes over", "one more pod"],
                          "updn": ["first load", "cable"]})
        ours = self.results["portmajor"]["events"]
        for event in ("restart", "standby takes over"):  # a new OpenSM sends all
            self.assertEqual(ours[event]["lft_sets"], ours["first load"]["lft_sets"])
        self.assertGreater(ours["one more pod"]["lft_sets"], 0)

    def test_document(self):
        text = benchmark.document({"32": self.results})
        for event in self.results["portmajor"]["events"]:
            self.assertRegex(text, rf"(?m)^\| {event} \| portmajor \| [\d,]+\+? \|")
        self.assertNotIn("did not finish", text)


class Documents(unittest.TestCase):
    def test_written_from_the_results(self):
        data = benchmark.read(benchmark.FOLDER / "benchmarks.json")
        self.assertTrue(data)
        self.assertEqual((benchmark.FOLDER / "benchmarks.md").read_text(encoding="ascii"),
                         benchmark.document(data))

    def test_readme(self):
        """It has the numbers that are written there: blocks, and times of the last one."""
        data = benchmark.read(benchmark.FOLDER / "benchmarks.json")
        readme = (pmlab.ROOT / "README.md").read_text(encoding="ascii")
        engines = ("ftree", "updn", "minhop", "portmajor")
        rows = {"chassis": "a spine chassis", "cable": "a cable from a leaf to a chassis",
                "host": "a host"}
        for event, name in rows.items():
            counts = re.search(rf"^\| {name} " + r"\| ([^ ]+) " * 4 + r"\|$", readme, re.M).groups()
            for engine, count in zip(engines, counts):
                with self.subTest(event, engine=engine):
                    measured = data["5832"][engine]["events"][event]
                    mark = "*" if measured.get("gave_up") else ""
                    self.assertEqual(count, benchmark.show(measured["lft_sets"]) + mark)
        cables = {engine: data["648"][engine]["events"]["cable"] for engine in engines}
        ours = cables.pop("portmajor")
        for member, pattern in (("last_lft_smp", "{:,}"), ("last_lft_s", "{:.2f}")):
            theirs = [cable[member] for cable in cables.values()]
            self.assertIn(f"{pattern.format(min(theirs))} to {pattern.format(max(theirs))}", readme)
        self.assertIn(f"block as the {ours['last_lft_smp']}th SMP, {ours['last_lft_s']:.3f} s after "
                      "the first trap", readme.replace("\n", " "))


if __name__ == "__main__":
    labtest.main()
