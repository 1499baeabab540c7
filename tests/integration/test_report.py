#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-report in a real browser: no script error, no external resource, right numbers; legible
on phones, in the dark and on paper.

Screenshots stay in $PORTMAJOR_BUILD/report-screenshots.
"""

import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import unittest
from unittest import mock

import browser
import labtest
import pmlab
import simlab
import test_status

REPORT = pmlab.ROOT / "scripts" / "portmajor-report"
SHOTS = pmlab.BUILD / "report-screenshots"
PYTHON = "/usr/bin/python3"  # Debian's, for which python3-jinja2 is
WIDTHS = (360, 768, 1400)  # a phone, a tablet, a desk
PRINTED = (703, 950)  # a Letter page without its margins of 14 mm, in CSS pixels

# Names that break programs without escapes: HTML, scripts, mathtext, JSON, control characters.
NASTY = ("</script><script>undefined_function()</script>", "<img src=x onerror=boom()>",
         "a $x^{$ b", "it's & \\ {{ 7*7 }}", "bell\x07 and\ttab", "caf\u00e9")


def modules_missing():
    return subprocess.run([PYTHON, "-c", "import jinja2"], check=False,
                          capture_output=True).returncode != 0


def report(*args):
    return subprocess.run([PYTHON, str(REPORT), "--portmajor", str(pmlab.CLI),
                           *map(str, args)],
                          capture_output=True, text=True, check=False, timeout=600)


def table(netlist, *args):
    """The output of `portmajor table`."""
    return json.loads(pmlab.run_cli("table", "--json", *args, netlist).stdout)


def status_of(findings=(), **state):
    """As in the output of `portmajor status --json`, see test_status_of_a_fabric."""
    run = {"change": "no change", "sent": 0, "acked": 0, "least": 0, "milliseconds": 1.5}
    return {"schema": "portmajor-status", "version": 1, "file": "portmajor.state", "age_s": 3,
            "findings": list(findings), "state": {
                "opensm": "OpenSM 3.3.23", "sm_state": "master", "running": True, "started": 0,
                "engine": {"used": "portmajor", "reason": None}, "run": run, "repair": None,
                "since_start": {"runs": 1, "fallbacks": 0, "repairs": 0, "sent": 0, "acked": 0,
                                "repair_sent": 0, "repair_acked": 0, "transitions": 0,
                                "transition_sent": 0, "transition_acked": 0, "multicast_sent": 1234,
                                "multicast_acked": 1233},
                "multicast": {"left_to_opensm": None, "groups": 3, "trees": 2, "down_and_up": 1,
                              "members_left_out": 4, "incomplete": False, "last_change": None},
                "out_of_plan": 0, "unreachable": {"pairs": 0, "text": None}, "plan": None,
                "flapping": [], **state}}


def missing(wanted, found, name=""):
    """Members of one JSON object that another one lacks."""
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        return []
    return [lost for key in wanted for lost in (
        missing(wanted[key], found[key], f"{name}.{key}") if key in found else [f"{name}.{key}"])]


@unittest.skipIf(modules_missing(), "no jinja2 here")
class Making(labtest.Folders):
    """The program's messages, and the places of its parts."""

    def setUp(self):
        self.netlist = pmlab.generate(self.folder / "t.net", "two-level", 4, 2, 2, 1)
        self.page = self.folder / f"{self.id().rpartition('.')[2]}.html"

    def on_terminal(self, *args):
        """Its output on a terminal."""
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", 0) as terminal:
            done = subprocess.Popen([PYTHON, str(REPORT), "--portmajor", str(pmlab.CLI),
                                     *map(str, args)], stdout=theirs, stderr=theirs)
            os.close(theirs)
            text = b""
            try:
                while data := terminal.read(4096):
                    text += data
            except OSError:  # no process writes there any more
                pass
        return done.wait(60), text.decode()

    def test_a_bar(self):
        """Only a terminal has it; it grows, and is gone in the end."""
        status, text = self.on_terminal(self.netlist, "-o", self.page)
        self.assertEqual(status, 0, text)
        bars = [bar.count("#") for bar in re.findall(r"\[([#.]+)\]", text)]
        self.assertEqual(bars, sorted(bars))
        self.assertGreater(len(set(bars)), 4)
        self.assertIn("failure of each of all links", text)
        self.assertTrue(text.endswith("\r\x1b[K"), text)
        done = report(self.netlist, "-o", self.page)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_without_packages(self):
        done = subprocess.run([PYTHON, "-S", str(REPORT), self.netlist, "-o", self.page],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
        self.assertIn("apt-get install python3-jinja2", done.stderr)

    def test_installed(self):
        """It finds its parts and the command beside it, and leaves no files there."""
        prefix = self.folder / "prefix"
        subprocess.run(["cmake", "--install", str(pmlab.BUILD), "--prefix", str(prefix),
                        "--component", "Unspecified"],  # with a manifest of its own
                       check=True, stdout=subprocess.DEVNULL)
        before = sorted(prefix.rglob("*"))
        env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run([prefix / "bin" / "portmajor-report", self.netlist, "-o", self.page],
                              capture_output=True, text=True, check=False, cwd="/", env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(prefix.rglob("*")), before)
        own = self.folder / "own.html"
        self.assertEqual(report(self.netlist, "-o", own).returncode, 0)
        self.assertEqual(self.page.read_bytes(), own.read_bytes())

    def pretend(self, *statuses, table="portmajor: table: no plan"):
        """A command that has these states of OpenSMs on this machine, and no tables."""
        documents = []
        for number, state in enumerate(statuses):
            folder = self.folder / f"portmajor.{number}"
            folder.mkdir(exist_ok=True)
            documents.append({**status_of(port_guid=f"0x{number}", managers=[], time=0,
                                          sm_since=0, **state.pop("state", {})),
                              "file": str(folder / "state"), "running": True, "master": None,
                              "missing_nodes": None, **state})
        (self.folder / "status").write_text("\n".join(map(json.dumps, documents)), "utf-8")
        command = self.folder / "portmajor"
        command.write_text("#!/bin/sh\n[ $1 = status ] && exec cat "
                           f"{self.folder / 'status'}\necho '{table}' >&2\nexit 3\n", "ascii")
        command.chmod(0o755)
        done = subprocess.run([PYTHON, str(REPORT), "--portmajor", str(command), "-o",
                               str(self.page)], capture_output=True, text=True, check=False)
        return done, self.page.read_text("utf-8") if not done.returncode else ""

    def test_which_fabric(self):
        """That of the master; what other OpenSMs of this machine have found is named, too."""
        dead = {"running": False, "master": "0x1", "findings": ["OpenSM was killed"]}
        done, page = self.pretend(dead, {})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("OpenSM of port 0x0: OpenSM was killed", page)
        self.assertIn("1 finding<", page)
        self.assertIn("Fabric of port 0x1", page)
        self.assertIn("Nothing is drawn: table: no plan", page)
        two = {"findings": ["two masters"], "master": "0x1"}, \
            {"findings": ["two masters"], "master": "0x0"}
        done, page = self.pretend(*two)
        self.assertEqual((done.returncode, done.stderr), (3, (
            "portmajor-report: files of several OpenSM are here, give the folder of one: "
            f"{self.folder}/portmajor.0 {self.folder}/portmajor.1\n")))
        done, page = self.pretend({"running": False, "findings": ["OpenSM has ended"]})
        self.assertIn("OpenSM does not run, last written", page)

    def test_netlists_called_txt(self):
        """They are read as under any other name; JSON in a .txt file is JSON."""
        text = self.folder / "a.txt"
        text.write_bytes(self.netlist.read_bytes())
        plan = self.folder / "plan.txt"
        plan.write_text(pmlab.run_cli("plan", "--json", self.netlist).stdout, encoding="ascii")
        pages = []
        for number, path in enumerate((self.netlist, text)):
            page = self.folder / f"{number}.html"
            done = report(path, plan, "-o", page)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            pages.append(page.read_text("utf-8").replace("a.txt", "t.net"))
        self.assertEqual(len(pages[0]), len(pages[1]))
        done = report(self.folder / "none.txt", "-o", self.folder / "never.html")
        self.assertEqual(done.returncode, 3)
        self.assertIn("No such file", done.stderr)

    def test_warnings(self):
        """Those of a netlist are printed, once, although many commands read it."""
        other = re.sub(r'"(?=\w)', '"other-', self.netlist.read_text(encoding="ascii"))
        netlist = self.folder / "parts.net"
        netlist.write_text(self.netlist.read_text(encoding="ascii") + other, encoding="ascii")
        done = report(netlist, "-o", self.page)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
        self.assertRegex(done.stderr, "^portmajor-report: warning: .*: 2 parts without a cable "
                         "between them")
        done = report(netlist, "--fail", "nobody", "-o", self.page)
        warning, error = done.stderr.splitlines()
        self.assertIn(": warning: ", warning)
        self.assertEqual((done.returncode, error), (
            3, 'portmajor-report: --fail: no node is named "nobody"'))

    def test_what_was_there_stays(self):
        """A page that cannot be made does not replace another one."""
        self.page.write_text("before", encoding="ascii")
        done = report(self.netlist, "--fail", "nobody", "-o", self.page)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
        self.assertEqual(self.page.read_text(encoding="ascii"), "before")

    def test_no_place_for_the_page(self):
        """It is reported before any failure is tried."""
        for place, why in ((self.folder / "none" / "x.html", f"{self.folder}/none: no such folder"),
                           (self.folder, f"{self.folder}: a folder")):
            done = report(self.netlist, "--portmajor", "/bin/false", "-o", place)
            self.assertEqual((done.returncode, done.stderr), (3, f"portmajor-report: {why}\n"))


@unittest.skipIf(modules_missing(), "no jinja2 here")
@unittest.skipUnless(browser.PROGRAM, "no chromium here")
class Browsed(labtest.Folders):
    """Pages in a browser."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        SHOTS.mkdir(exist_ok=True)
        cls.browser = cls.stack.enter_context(browser.Browser(cls.folder))

    def write(self, name, *args):
        """A report; its path."""
        path = self.folder / f"{name}.html"
        done = report(*args, "-o", path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return path

    def browse(self, page, width=1280, dark=False):
        """Opens the page, lets its script run and fails on errors. Keeps a screenshot."""
        self.browser.open(page, width, dark)
        self.assertEqual(self.browser.errors(), [])
        self.assertEqual(self.browser.run("document.documentElement.dataset.ready"), "yes")
        self.assertEqual([url for url in self.browser.requests()
                          if not url.startswith("data:")], [page.as_uri()])
        shot = SHOTS / f"{page.stem}-{width}-{'dark' if dark else 'light'}.png"
        self.browser.shoot(shot)
        self.assertGreater(shot.stat().st_size, 8000)
        text = page.read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"""(?:src|href)=["'](?!data:)[^"']*""", text), [])
        self.assertFalse("://" in re.sub(r'src="data:[^"]*"', "", text), "an address")

    def rows(self, name):
        """The cells of all tables of that name, row by row, as displayed."""
        return self.browser.run(
            f"""Array.from(document.querySelectorAll("table.{name} > tbody > tr"))
            .filter(row => row.getClientRects().length)
            .map(row => Array.from(row.cells, cell => cell.textContent))""")

    def text(self, css="body"):
        return self.browser.run(f'Array.from(document.querySelectorAll("{css}"), '
                                'element => element.textContent).join("\\n")')

    def pictures(self, label):
        """The number of pictures with that label and some content."""
        return self.browser.run(f"""Array.from(document.querySelectorAll("svg")).filter(svg =>
            svg.getAttribute("aria-label") === {json.dumps(label)} &&
            svg.querySelector("polyline")).length""")

    def find(self, words):
        """Types that into the search field."""
        self.browser.run(f"""{{ const field = document.getElementById("field");
            field.value = {json.dumps(words)}; field.dispatchEvent(new Event("input")); }}""")

    def check_legible(self, page):
        """At three widths, light and dark: no element sticks out, all text can be read."""
        for width in WIDTHS:
            for dark in (False, True):
                with self.subTest(page.stem, width=width, dark=dark):
                    self.browse(page, width, dark)
                    self.assertEqual(self.browser.run("document.documentElement.clientWidth"),
                                     width)
                    ground = self.browser.run("getComputedStyle(document.body).backgroundColor")
                    self.assertEqual(ground, "rgb(13, 17, 23)" if dark else
                                     "rgb(255, 255, 255)")
                    self.assertEqual(self.browser.run(browser.TOO_WIDE), [])
                    self.assertEqual(self.browser.run(browser.BROKEN), [])
                    self.assertEqual(self.browser.run(browser.OVERLAPS), [])
                    self.check_steps(1.6 if dark else 1.3)
                    judged = self.browser.run(browser.LEGIBILITY)
                    self.assertGreater(len(judged), 20)
                    self.assertEqual([row for row in judged if row[1] < 4.5], [])
                    self.assertEqual([row for row in judged if row[2] < 10.2], [])

    def check_steps(self, least):
        """Loads above the usual differ from it, and from each other, by lightness."""
        steps = dict(self.browser.run(browser.STEPS))
        hot = [steps[name] for name in sorted(steps) if name[0] == "h"]
        for light in hot:
            dark, light = sorted((steps["g4"], light))
            self.assertGreater((light + 0.05) / (dark + 0.05), least)
        self.assertIn(hot, (sorted(set(hot)), sorted(set(hot), reverse=True)))

    def check_print(self):
        """On paper all rows are there, on white, whatever the search was."""
        wanted = self.rows("worst")
        self.find("leaf1 h1-1")
        self.assertNotEqual(self.rows("worst"), wanted)
        self.browser.look(794, dark=True, media="print")
        self.assertEqual(self.rows("worst"), wanted)
        self.assertEqual(self.browser.run("""[document.querySelector(".find"),
            document.querySelector("button.more")].map(one => one.getClientRects().length)"""),
                         [0, 0])
        self.assertEqual(self.browser.run("getComputedStyle(document.body).backgroundColor"),
                         "rgb(255, 255, 255)")
        self.assertEqual([row for row in self.browser.run(browser.LEGIBILITY) if row[1] < 4.5],
                         [])
        self.check_one_page()

    def drawn(self, css):
        """Lines or cells of a path: the number of its beginnings."""
        return self.browser.run(f"""Array.from(document.querySelectorAll("{css}"), path =>
            path.getAttribute("d")).join("").split("M").length - 1""")

    def check_one_page(self):
        """The tree and its maps are printed on one page: Letter's, which is the shorter one."""
        self.browser.look(PRINTED[0], media="print")
        height, inside = self.browser.run("""(() => { const part =
            document.querySelector("#wires").closest("section"); return [
            part.getBoundingClientRect().height, getComputedStyle(part).breakInside]; })()""")
        self.assertEqual(inside, "avoid")
        self.assertLess(height, PRINTED[1])

    def check_size(self, *generate, lost):
        netlist = pmlab.generate(self.folder / "fabric.net", *generate)
        page = self.write("-".join(map(str, generate)).replace(",", "."), netlist, "--fail",
                          lost)
        self.browse(page)
        whole = table(netlist)
        self.assertEqual(self.browser.run("""Array.from(document.querySelectorAll(
            "#tree i"), cell => cell.dataset.name).sort()"""),
                         sorted(switch["name"] for switch in whole["switches"]))
        orders = {row[0]: row[2] for row in self.rows("orders")}
        for order in ("leaf-major", "port-major", "grouped"):
            entries = table(netlist, "-o", order, "--fail", lost)["entries"]
            hit = {lid // 64 for lid, entry in enumerate(entries) if entry
                   and entry[1] != entry[2]}
            self.assertEqual(orders[order], str(len(hit)))
        kinds = {row[0]: row[1:3] for row in self.rows("kinds")}
        for kind in ("host", "leaf"):
            number = sum(len(switch["hosts"]) if kind == "host" else switch["level"] == 0
                         for switch in whole["switches"])
            self.assertEqual(kinds[kind], [f"{number:,}"] * 2)
        return page


class Pages(Browsed):
    def test_256_hosts(self):
        self.check_size("xgft", 2, "16,16", "1,16", lost="sw2-0")

    def test_648_hosts(self):
        page = self.check_size("director", 36, lost="s0-*")
        self.check_legible(page)
        self.check_print()

    def test_search(self):
        """Rows, more rows, and the tree; hosts that are cut off have names."""
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        self.browse(self.write("searched", netlist))
        first, cuts = self.rows("worst"), self.rows("cuts")
        self.assertEqual(cuts, [[f"leaf{i}", "leaf", f"18: h{i}-[1-18]", "22,986"]
                                for i in range(3)])
        self.assertEqual([row[1] for row in first[:4]], ["link between levels 0 and 1"] * 3 +
                         ["switch of level 1"])
        self.find("h17-12")
        self.assertEqual([row[:3] for row in self.rows("cuts")],
                         [["leaf17", "leaf", "18: h17-[1-18]"]])
        self.assertEqual([row[:3] for row in self.rows("worst")],
                         [["h17-12", "host", "0"], ["leaf17", "leaf", "0"]])
        self.assertEqual(self.text(".find output"), "2 failures match")
        self.assertEqual(self.rows("kinds"), [])
        self.assertEqual(self.browser.run("""Array.from(document.querySelectorAll(
            "#tree i.hit"), cell => cell.dataset.name)"""), ["leaf17"])
        self.find("LEAF5[20]-")
        told = pmlab.whatif(netlist, "leaf5:20")
        self.assertEqual([[row[0].partition("-")[0], row[2]] for row in self.rows("worst")],
                         [["leaf5[20]", str(told.blocks)]])
        self.find("nobody")
        self.assertEqual(self.rows("worst"), [])
        self.find("")
        self.assertEqual((self.rows("worst"), self.rows("cuts")), (first, cuts))
        self.assertNotEqual(self.rows("kinds"), [])
        self.browser.run("""document.querySelector('[data-of="cuts"]').click()""")
        self.assertEqual(len(set(map(tuple, self.rows("cuts")))), 36)
        self.browser.run("""document.querySelector('[data-of="worst"]').click()""")
        self.assertEqual(len(self.rows("worst")), len(first) + 50)
        self.assertEqual(len(set(map(tuple, self.rows("worst")))), len(first) + 50)
        self.browser.run("""document.querySelector("#tree i[data-name=leaf3]").click()""")
        self.assertIn(["leaf3", "leaf", "18: h3-[1-18]"], [r[:3] for r in self.rows("cuts")])
        self.assertIn(["leaf3", "leaf", "0"], [r[:3] for r in self.rows("worst")])

    def test_worst_first(self):
        """A spine that is some leaf's only connection comes first, and is marked in the tree."""
        whole = pmlab.generate(self.folder / "fabric.net", "two-level", 6, 3, 6, 1)
        netlist = pmlab.without_cables(whole, ["leaf2:7", "leaf2:8"],
                                       self.folder / "thin.net")
        self.browse(self.write("worst-first", netlist))
        hosts = "6: h2-[1-6]"
        first = [row[:3] for row in self.rows("cuts")]
        self.assertEqual(first[0], ["spine2", "switch of level 1", hosts])
        self.assertEqual([row for row in first if row[1].startswith("link")][0],
                         ["leaf2[9]-spine2[3]", "link between levels 0 and 1", hosts])
        self.assertLess(first.index(["leaf2[9]-spine2[3]", "link between levels 0 and 1", hosts]),
                        first.index(["leaf0", "leaf", "6: h0-[1-6]"]))
        self.assertIn("2 of them cut off hosts (spine2, leaf2[9]-spine2[3])",
                      self.text(".finding"))
        self.assertEqual(self.browser.run("""Array.from(document.querySelectorAll(
            "#tree i.cut"), cell => cell.dataset.name)"""), ["spine2"])
        self.assertEqual(self.browser.run("""Array.from(document.querySelectorAll(
            "#tree i.thread"), cell => cell.dataset.name).sort()"""),
            ["leaf2", "spine2"])
        self.find("leaf0[9]-")  # leaf2 then has a path over another leaf
        self.assertEqual(self.rows("cuts"), [])

    def test_pairs_apart(self):
        """A spine joins all leaves, others a ring of them: without it one pair is apart."""
        whole = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 5, 1, 1)
        netlist = pmlab.without_cables(
            whole, ["leaf0:3", "leaf0:4", "leaf1:4", "leaf1:5", "leaf2:2", "leaf2:5", "leaf3:2",
                    "leaf3:3"], self.folder / "ring.net")
        self.browse(self.write("pairs-apart", netlist))
        self.find("spine4")
        self.assertEqual([(row[0], row[2], row[3]) for row in self.rows("cuts")],
                         [("spine4", "none from most", "2")])

    def test_colours_of_the_tree(self):
        """A healthy tree is grey; a cost above the usual of its kind is not."""
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        paint = """Array.from(document.querySelectorAll("#tree i"), cell => [cell.dataset.name,
            cell.className.trim(), ...["--o", "--u"].map(name =>
            Number(cell.style.getPropertyValue(name)))])"""
        self.browse(self.write("grey", netlist))
        self.assertNotIn("Failure of", self.text())  # none was requested
        self.assertEqual(self.drawn(".fails"), 0)
        self.assertEqual({tuple(row[1:]) for row in self.browser.run(paint)}, {("", 0, 0)})
        self.assertIn("none cuts off more than its own hosts; at most 36 writes", self.text("p"))
        netlist = pmlab.generate(self.folder / "odd.net", "two-level", 18, 6, 6, 3)
        self.browse(self.write("coloured", netlist))
        costs = {f"spine{i}": pmlab.whatif(netlist, f"spine{i}").blocks for i in range(6)}
        usual = sorted(costs.values())[3]
        self.assertEqual([row[0] for row in self.browser.run(paint) if row[2]],
                         [name for name, cost in costs.items() if cost > 1.5 * usual])
        self.assertLess(usual, max(costs.values()) / 1.5)  # there is one

    def says(self, netlist, *failed):
        """The page's sentence, from `portmajor whatif --json`."""
        told = json.loads(pmlab.run_cli("whatif", "--json", "-q", netlist, *(
            f"--fail={name}" for name in failed)).stdout)
        self.browse(self.write("one-failure", netlist, *(f"--fail={name}" for name in failed)))
        cut = len(told["cut_off"])
        load = 100 * (told["load"]["after"] / told["load"]["before"] - 1)
        writes = told["total"]["blocks"]
        wanted = [f"{cut} hosts cut off" if cut else "nobody cut off",
                  f"busiest link {load:+.1f}%".replace("-", "\u2212")]
        wanted += [f"{writes} writes", f"{told['ms']:.1f}\u00a0ms"] if writes else ["no writes"]
        self.assertEqual(self.text("p.sum"), f"Failure of {', '.join(failed)}: {', '.join(wanted)}")
        return told

    def test_one_failure(self):
        """The picture and the text agree with `portmajor whatif`."""
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        told = self.says(netlist, "s0-*")
        self.assertEqual(self.browser.run("""Array.from(document.querySelectorAll(
            "#wires rect.failed"), part => part.dataset.name).sort()"""),
                         sorted(part["name"] for part in told["took"]))
        self.assertEqual(self.drawn("#wires path.fails"), 36 + 2)  # to each leaf; inside
        self.assertEqual(self.drawn("svg.map.after path.fails"), 36)
        self.assertEqual(self.drawn("svg.map.before path"), 36 * 18)
        before, after = map(int, re.findall(r"usually (\d+)", self.text(".maps figcaption")))
        self.assertEqual(before, told["load"]["before"])
        self.assertIn(f"{100 * (told['load']['after'] / after - 1):+.1f}%",
                      self.text(".key span").split("\n"))
        self.assertTrue(self.says(netlist, "leaf3")["cut_off"])
        self.assertEqual(self.drawn("svg.map.after path.fails"), 18)
        self.assertIn("cut off: h3-[1-18].", self.text(".note"))

    def test_exceptions_are_coloured(self):
        """Links that carry more than others at that time: detours of a leaf, the most at it."""
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        self.says(netlist, "leaf5:20")
        after = {name: self.drawn(f"svg.map.after path{name}")
                 for name in (".fails", ".g4", ":not(.fails, .g4)")}
        self.assertEqual(sum(after.values()), 36 * 18)
        self.assertGreater(after[".g4"], 500)
        self.assertGreaterEqual(after[":not(.fails, .g4)"], 17)  # leaf5's other links at least
        self.assertEqual(self.drawn("svg.map.before path:not(.g4)"), 0)

    def test_detours(self):
        """A tap on a leaf's cell: the flows of the failed link are those that others gain."""
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        self.says(netlist, "leaf5:20")
        self.assertEqual((self.drawn("#wires path.fails"), self.drawn("svg.map.after path.fails")),
                         (1, 1))
        self.assertEqual(self.text("#detour p"), "leaf5: port 20 to s1-line0 fails, which carried "
                         "630 flows up; its other links carry 630 more.")
        self.assertEqual(self.rows("detour")[0],
                         ["20 to s1-line0", "1", "failed, was 630", "failed, was 630"])
        leaf = [s for s in table(netlist, "--fail", "leaf5:20")["switches"]
                if s["name"] == "leaf7"][0]
        self.browser.run("""{ const map = document.querySelector("svg.map.after"),
            box = map.getBoundingClientRect(); map.dispatchEvent(new MouseEvent("click", {
            clientX: box.left + 3.5 / 18 * box.width, clientY: box.top + 7.5 / 36 * box.height})); }
            """)
        self.assertIn("leaf7: none of its links fails.", self.text("#detour p"))
        ups = {port["port"]: port for port in leaf["ports"] if port["direction"] == "up"}
        for row in self.rows("detour")[:-1]:
            port = ups[int(row[0].split()[0])]
            self.assertEqual(row[1:3], [str(port["plane"]), f"{port['after']:,} "
                                        f"({port['after'] - port['before']:+})".replace(
                                            "-", "\u2212")])
        self.browser.run("""document.querySelector('#wires rect[data-name="leaf5"]').dispatchEvent(
            new MouseEvent("click"))""")
        self.assertIn("leaf5: port 20", self.text("#detour p"))

    def test_a_click_sorts(self):
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        self.browse(self.write("clicked", netlist))
        before = [row[0] for row in self.rows("orders")]
        self.assertEqual(before, ["leaf-major", "port-major", "grouped"])
        self.browser.run("""document.querySelector(".orders th:nth-child(2)").click()""")
        # By blocks, downward: 18 of grouped, 12 of the others.
        self.assertEqual([row[0] for row in self.rows("orders")],
                         ["grouped", "leaf-major", "port-major"])

    def test_the_checks_see(self):
        """Errors, requests, elements that stick out and text that cannot be read."""
        page = self.folder / "broken.html"
        page.write_text("<meta name=viewport content='width=device-width'>"
                        "<script>undefined_function()</script><p style='color:#aaa'>pale</p>"
                        "<p style='width:900px'>wide</p><input placeholder=x>"
                        "<img src='http://127.0.0.1:9/x.png'>", encoding="ascii")
        self.browser.open(page, 360)
        self.assertIn("undefined_function is not defined", json.dumps(self.browser.errors()))
        self.assertIn("http://127.0.0.1:9/x.png", self.browser.requests())
        self.assertIn("P wide", self.browser.run(browser.TOO_WIDE))
        self.assertEqual([row[0] for row in self.browser.run(browser.LEGIBILITY)
                          if row[1] < 4.5], ["pale"])

    def test_names_are_escaped(self):
        """In every place where a name may come: JSON of any command."""
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 2, 4, 1)
        found = table(netlist, "--fail", "spine0")
        for switch, name in zip(found["switches"], NASTY):
            switch["name"] = name
        found["switch"] = NASTY[0]
        found["failed"] = list(NASTY)
        total = {"blocks": 5, "least": 4, "switches": 3, "entries": 9}
        lost = [{"name": NASTY[0], "guid": found["switches"][0]["guid"]}]
        costs = [{"schema": "portmajor-whatif", "failed": [name], "pairs_cut": 4, "total": total,
                  "restoring": 3, "took": [{"name": name}] * 2, "cut_off": list(NASTY), "ms": 0.1,
                  "load": {"before": 9, "after": 8}, "fails_over": False} for name in NASTY]
        costs.append({"schema": "portmajor-sweep", "failures": 7,
                      "settings": {"failures_of": NASTY[1], "pairs": False, "total": 7},
                      "metrics": {"blocks": {"histogram": [[5, 7]]},
                                  "least": {"histogram": [[4, 7]]}},
                      "worst": [{"failed": lost, "pairs_cut": 0, "restoring": 3, **total}]})
        other = {"schema": "portmajor-check", NASTY[0]: [{name: name} for name in NASTY]}
        status = status_of(findings=list(NASTY), flapping=[
            {"ends": [{"guid": "0x1", "name": name, "port": 1}] * 2, "state": name, "downs": 3,
             "left_ms": 1500} for name in NASTY], sm_state=NASTY[0], degraded_links={
                 "count": 3, "list": [{"ends": [{"guid": "0x1", "name": name, "port": 1}] * 2,
                                       "link": name, "neighbours": name} for name in NASTY]})
        plan = json.loads(pmlab.run_cli("plan", "--json", netlist).stdout)
        plan["notes"] = list(NASTY)
        plan["plane_list"][0]["name"] = NASTY[0]
        demo = {"schema": "portmajor-engines", "engines": [], "events": [
            {"name": name, "blocks": 1, "least": 1, "counts": [], "gave_up": []}
            for name in NASTY]}
        paths = []
        for number, document in enumerate((found, *costs, other, status, plan, demo)):
            paths.append(self.folder / f"{number}.json")
            paths[-1].write_text(json.dumps(document), encoding="utf-8")
        page = self.write("nasty-names", *paths, "--title", NASTY[1])
        self.check_legible(page)
        self.assertEqual(self.browser.run("""["script", "img"].map(name =>
            document.querySelectorAll(name).length)"""), [3, 2])
        self.assertIn([NASTY[1], "7", "7", "5", "5", "4", "-"], self.rows("kinds"))
        self.assertIn(NASTY[0] + ": its failure costs 5 blocks", self.browser.run(
            """document.querySelector("#tree .level:last-child i").title"""))
        self.assertIn("it's & \\ {{ 7*7 }}", self.text())
        self.assertIn("bell\\x07 and\\x09tab", self.text())
        self.find("<script>")
        self.assertIn(NASTY[0], [row[0] for row in self.rows("worst")])
        self.assertEqual(self.browser.errors(), [])

    def test_status_and_plan(self):
        """The output of the commands: the verdict, a flapping link, the planes."""
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 2, 4, 1)
        plan, fine, bad = (self.folder / name for name in ("plan.json", "fine.json", "bad.json"))
        plan.write_text(pmlab.run_cli("plan", "--json", netlist).stdout, encoding="utf-8")
        fine.write_text(json.dumps(status_of()), encoding="utf-8")
        bad.write_text(json.dumps(status_of(
            findings=["OpenSM has fallen back to updn"], flapping=[
                {"ends": [{"guid": "0x1", "name": "leaf0", "port": 5},
                          {"guid": "0x2", "name": None, "port": 7}],
                 "state": "on-hold", "downs": 4, "left_ms": 1500}],
            degraded_links={"count": 1, "list": [
                {"ends": [{"guid": "0x1", "name": "leaf1", "port": 6},
                          {"guid": "0x2", "name": None, "port": 8}],
                 "link": "1xQDR", "neighbours": "4xQDR"}]})), encoding="utf-8")
        self.check_legible(self.write("status", plan, fine, bad))
        self.assertEqual(self.text(".fine"), "All is as it should be.")
        self.assertIn(["multicast", "3 groups, 2 trees, 1 of them down and up again; members in "
                       "none 4; MFT blocks sent 1,234, acked 1,233"], self.rows("state"))
        self.assertEqual(self.text(".finding"), "OpenSM has fallen back to updn")
        self.assertEqual(self.rows("list"), [["leaf0[5]-0x2[7]", "on-hold", "4", "2"],
                                             ["leaf1[6]-0x2[8]", "1xQDR", "4xQDR"]])
        self.assertIn("6 switches, 4 of them leaves, levels 0 to 1, 1 pods, 2 planes",
                      self.text("p"))
        self.assertIn("1 (spine1, link 0)", [row[0] for row in self.rows("planes")])

    def test_status_of_a_fabric(self):
        """The plugin's state has all that is shown, and all that status_of() has."""
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 2, 4, 1)
        with pmlab.Lab(netlist) as lab:
            lab.bring_up()
            event = lab.lose("leaf1:5")
            done = pmlab.run_cli("status", "--json", pmlab.kept(lab.osm.cache_dir, "state"))
        self.assertEqual(done.returncode, 1, done.stdout)
        path = self.folder / "status.json"
        path.write_text(done.stdout, encoding="utf-8")
        self.assertEqual(missing(status_of(), json.loads(done.stdout)), [])
        self.browse(self.write("of-a-fabric", path))
        self.assertIn("missing: leaf1[5]-spine0[2], since ", self.text(".finding"))
        self.assertIn(f"{event.runs[-1].change}: {event.runs[-1].sent:,} LFT blocks sent",
                      self.text(".state"))

    def test_engines_of_the_demo(self):
        demo = self.folder / "table.txt"
        demo.write_text(
            "event         wire  sent  acked  least  whatif  pairs walked   ftree  updn  minhop"
            "  verdict\n"
            "chassis lost    36    36     36     36      36        26,000  1,400*   731     740"
            "  ok\n",
            encoding="ascii")
        self.check_legible(self.write("engines", demo))
        self.assertEqual(self.rows("engines"),
                         [["chassis lost", "36", "36", "1,400*", "731", "740"]])
        self.assertEqual(self.text("svg text.small").split("\n"),
                         ["36", "36", "1,400", "731", "740"])
        widths = [float(width) for width in self.browser.run(
            'Array.from(document.querySelectorAll("svg rect"), r => r.getAttribute("width"))')]
        self.assertAlmostEqual(widths[2] / widths[3], 1400 / 731, places=2)

    def recordings(self, netlist, lost):
        """Sets of two orders of LIDs, as computed."""
        paths = []
        for order, name in (("grouped", "portmajor"), ("leaf-major", NASTY[1])):
            paths.append(self.folder / f"{order}.sets")
            done = pmlab.run_lab("traffic", "-q", "-o", order, netlist, "--fail", lost,
                                 "--write", paths[-1])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            text = paths[-1].read_text(encoding="utf-8")
            paths[-1].write_text(re.sub(r"(?m)^engine .*", f"engine {name}", text),
                                 encoding="utf-8")
        return paths

    def test_pairs_cut_off(self):
        """The numbers of `portmajor-lab traffic`, in a table and a picture."""
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        ours, other = self.recordings(netlist, "s0-*")
        page = self.write("pairs-cut-off", netlist, "--fail", "s0-*", "--sets", ours,
                          "--sets", other)
        self.check_legible(page)
        told = pmlab.run_lab("traffic", "--json", netlist, "--fail", "s0-*", "--sets", ours,
                             "--compare", other)
        self.assertEqual(self.pictures("Pairs cut off over time"), 2)
        self.assertIn("419,256 ordered pairs of 648 hosts", self.text("p"))
        recordings = json.loads(told.stdout)["recordings"]
        first = recordings[0]["pair_seconds"]
        wanted = [[name, f"{r['pair_seconds']:,.1f}", f"{r['pair_seconds'] / first:,.1f}",
                   f"{r['sets']:,}", "22,680 (5.41%)", "0"]
                  for name, r in zip(("portmajor", NASTY[1]), recordings)]
        self.assertEqual([row[:6] for row in self.rows("outage")], wanted)
        path = self.folder / "traffic.json"
        path.write_text(told.stdout, encoding="utf-8")
        self.browse(self.write("pairs-of-json", path))
        self.assertEqual([row[:6] for row in self.rows("outage")], wanted)

    def test_job(self):
        """The rows of `portmajor-lab job`, and the progress of the job over time with each engine.
        """
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 2)
        _, other = self.recordings(netlist, "spine0")
        # Too late for the connections: for ever.
        other.write_text(re.sub(r"(?m)^set (\d+) (\d+) (\d+)", lambda match: "set " + " ".join(
            str(int(t) + 10 ** 9) for t in match.groups()), other.read_text("utf-8")), "utf-8")
        done = pmlab.run_lab("job", "--json", "-q", "alltoall", netlist, "--fail", "spine0",
                             "--compare", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.folder / "job.json"
        path.write_text(done.stdout, encoding="utf-8")
        page = self.write("job", path)
        self.check_legible(page)
        self.assertEqual(self.pictures("Progress of the job"), 1)
        engines = json.loads(done.stdout)["engines"]
        rows = self.rows("job")
        self.assertEqual([row[0] for row in rows], ["portmajor, computed", NASTY[1]])
        self.assertEqual(rows[0][1:4], [f"{engines[0]['healthy']['done_ms']:,.3f}",
                                        f"{engines[0]['failure']['done_ms']:,.3f}",
                                        f"{engines[0]['ratio']:,.2f}"])
        self.assertEqual(rows[1][2:7], ["never", "-", "for ever", "for ever",
                                        f"{engines[1]['broken']:,}"])

    def test_recordings_need_their_fabric(self):
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        ours, _ = self.recordings(netlist, "s0-*")
        path = self.folder / "plan.json"
        path.write_text(pmlab.run_cli("plan", "--json", netlist).stdout, encoding="utf-8")
        for args, message in (((path, "--sets", ours), "need the netlist"),
                              ((netlist, "--fail", "s1-*", "--sets", ours), "not by --fail")):
            done = report(*args, "-o", self.folder / "never.html")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
            self.assertIn(message, done.stderr)

    def traffic(self, name, *args):
        """The output of an engine, in a file; and its content."""
        path = self.folder / name
        done = pmlab.run_lab("traffic", *args, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        path.write_text(done.stdout, encoding="utf-8")
        return path, json.loads(done.stdout)

    def test_over_load(self):
        """Means over seeds of the packet engine; the flit engine's points, by length."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        packet = ("--engine", "packet", netlist, "--time", "5us", "--warmup", "1us", "--load",
                  "0.3,0.9")
        ours, told = self.traffic("ours.json", *packet, "--seeds", 3)
        nasty, single = self.traffic("a $x^{$ <img src=x onerror=boom()>", *packet)
        flit, cycles = self.traffic("flit.json", "--engine", "flit", "--cycles", 500,
                                    "--warm-up", 100, "--load", "0.2,1", "--length", "8,16")
        page = self.write("over-load", "--traffic", ours, nasty, flit)
        self.check_legible(page)
        for engine in ("packet", "flit"):
            for what in ("Latency", "Throughput"):
                self.assertEqual(self.pictures(f"{what} over load, {engine} engine"), 1)

        def row(name, load, accepted, times, p99, grow=""):
            return [name, f"{load:.3f}", f"{accepted:.4f}", f"{times['mean']:,.3f}",
                    f"{times['half']:,.3f}", f"{p99:,.3f}", grow]

        rows = self.rows("over-load")
        means = [row("ours", mean["offered"], mean["accepted"], mean["latency_us"],
                     sum(point["latency_us"]["p99"]
                         for point in told["points"][3 * i:3 * i + 3]) / 3)
                 for i, mean in enumerate(told["means"])]
        singles = [row("a $x^{$ <img src=x onerror=boom()>", point["offered"],
                       point["accepted"], point["latency_us"], point["latency_us"]["p99"])
                   for point in single["points"]]
        self.assertEqual([cells[:6] for cells in rows[:4]],
                         [cells[:6] for cells in means + singles])
        lengths = [row(f"flit, {point['length']} flits", point["load"], point["accepted"],
                       point["latency"], point["latency"]["p99"],
                       "grow" if point["saturated"] else "") for point in cycles["points"]]
        self.assertEqual(sorted(rows[4:]), sorted(lengths))
        self.browse(self.write("over-load-of-json", ours))
        self.assertEqual(self.rows("over-load"), rows[:2])

    def test_bad_traffic(self):
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        packet = ("--engine", "packet", netlist, "--time", "5us", "--warmup", "1us")
        good = self.traffic("good.json", *packet)[0]
        shard = self.traffic("shard.json", *packet, "--shard", "1/2")[0]
        closed = self.traffic("closed.json", *packet, "--messages", 1)[0]
        loss = self.traffic("loss.json", netlist, "--fail", "leaf0:7")[0]
        bad = self.folder / "bad.json"
        bad.write_text(good.read_text().replace('"mean"', '"means"'))
        for path, message in ((shard, "a shard: portmajor-lab merge"), (bad, "docs/json.md"),
                              (closed, "no points over load"),
                              (loss, "not of the packet or the flit engine"),
                              (netlist, "no JSON")):
            done = report("--traffic", good, path, "-o", self.folder / "never.html")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
            self.assertIn(message, done.stderr)

    def test_sets_without_the_laboratory(self):
        """Another package has it: all else is shown without it."""
        alone = shutil.copy(pmlab.CLI, self.folder / "portmajor")
        netlist = pmlab.generate(self.folder / "s.net", "two-level", 4, 2, 2, 1)
        for more, told in (((), (0, "")), (("--sets", "x.sets"), (
                3, "portmajor-report: --sets needs the command portmajor-lab, which is not "
                "there\n"))):
            done = subprocess.run([PYTHON, REPORT, "--portmajor", alone, netlist, *more, "-o",
                                   self.folder / "alone.html"], capture_output=True, text=True,
                                  env={**os.environ, "PATH": str(self.folder)}, check=False)
            self.assertEqual((done.returncode, done.stderr), told)

    def test_bad_input(self):
        bad = {"empty.json": "", "cut.json": '{"schema": "portmajor-ta', "list.json": "[]",
               "other.json": '{"schema": "x"}', "binary.json": "\x00\x7f",
               "sweep.json": '{"schema": "portmajor-sweep"}',
               "status.json": '{"schema": "portmajor-status", "state": []}',
               "plan.json": '{"schema": "portmajor-plan", "plane_list": [1]}',
               "table.json": '{"schema": "portmajor-table", "lid_order": "grouped"}',
               "traffic.json": '{"schema": "portmajor-lab-traffic", "engine": "cutoff", '
                               '"recordings": []}',
               "empty.net": ""}
        for name, text in bad.items():
            with self.subTest(name):
                path = self.folder / name
                path.write_text(text, encoding="ascii")
                done = report(path, "-o", self.folder / "never.html")
                self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
                self.assertIn({"sweep.json": "whatif", "status.json": "portmajor-status",
                               "plan.json": "portmajor-plan",
                               "traffic.json": "portmajor-lab-traffic"}.get(name, name),
                              done.stderr)
                self.assertFalse(pathlib.Path(self.folder / "never.html").exists())


class Running(Browsed):
    """The page of a running fabric: the statements of status are true, and complete."""

    def setUp(self):
        self.net = pmlab.generate(self.folder / "fabric.net", "director", 36)
        test_status.slow_down(self.net, "leaf20:5", "1xQDR")
        self.cache = self.folder / "cache"
        self.cache.mkdir()
        config = self.folder / "portmajor.conf"
        config.write_text("flap_limit 1\nflap_hold 3600\n", "ascii")
        self.lab = self.enterContext(pmlab.Lab(self.net, cache_dir=self.cache, conf={
            "event_plugin_options": config}))
        self.lab.bring_up()
        self.enterContext(mock.patch.dict(os.environ, OSM_CACHE_DIR=str(self.cache)))

    def status(self):
        return json.loads(pmlab.run_cli("status", "--json").stdout)

    def wait(self, wanted):
        """Until the state is so."""
        simlab.poll_until(lambda: wanted(self.status()["state"]), 60, "the state")

    def show(self, name, *args):
        """The page now, which agrees with status."""
        before = self.status()["findings"]
        prom = pmlab.kept(self.cache, "portmajor.prom").read_text("ascii")
        self.assertEqual(sum(map(int, re.findall(r"(?m)^portmajor_findings\{.*\} (\d+)$", prom))),
                         len(before))
        page = self.write(name, *args)
        self.browse(page)
        self.assertEqual(self.text(".finding").split("\n"), before)
        self.assertNotIn("Failure of", self.text())
        self.assertLess(page.stat().st_size, 500_000)
        return page

    def key(self):
        """The key of the tree: words with their numbers."""
        return self.text("#wires-key span").split("\n")

    def marked(self, name):
        return self.browser.run(f"""Array.from(document.querySelectorAll("#wires rect.{name}"),
            part => part.dataset.name)""")

    def titles(self):
        """Lists of parts, and rows of each that are shown or folded."""
        return self.browser.run("""Array.from(document.querySelectorAll("h3"), head =>
            head.textContent).filter(text => / \\d+$|: /.test(text))""")

    def degrade(self):
        """A chassis fails, a part is drained, a link held, another acknowledged."""
        for change in "lose", "back", "lose", "back":
            self.lab.event(change, "leaf7:21")
        self.wait(lambda state: [one["state"] for one in state["flapping"]] == ["on-hold"])
        done = pmlab.run_cli("drain", "-q", "--wait", "60", "--reason", NASTY[0], "s5-fab0")
        self.assertEqual(done.returncode, 0, done.stderr)
        for lost in "leaf9:22", "s0-*", "h15-*":
            self.lab.event("lose", lost)
        self.wait(lambda state: state["missing"]["total"] == {"switches": 3, "links": 73,
                                                              "hosts": 18})
        done = pmlab.run_cli("acknowledge", "leaf9:22")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait(lambda state: state["missing"]["acknowledged"] == 1)

    def check_quiet(self):
        """One host is slow: the page has this finding, and one map of loads without colours."""
        self.wait(lambda state: state["degraded_hosts"] and state["degraded_hosts"]["count"] == 1)
        page = self.show("now-quiet")
        self.assertEqual(self.text("p.sum"), "1 finding")
        self.assertEqual(self.key(), ["a host of it flaps, is slow or has errors (1)"])
        self.assertEqual(self.marked("odd"), ["leaf20"])
        self.assertEqual(self.browser.run('document.querySelectorAll("svg.map").length'), 1)
        self.assertEqual((self.drawn("svg.map path"), self.drawn("svg.map path.g4"),
                          self.drawn("#wires path.all"), self.drawn("#wires path:not(.all)")),
                         (648, 648, 648 + 36, 0))
        self.assertIn(["hosts", "648", "0", "1"], self.rows("parts"))
        self.check_legible(page)

    def check_degraded(self):
        page = self.show("now-degraded", pmlab.kept(self.cache, "state").parent)
        self.assertEqual(self.key(), [
            "missing, acknowledged (1 link)", "missing (72 links)", "drained (36 links)",
            "on hold (1 link)", "missing (2)", "behind missing ones (1)", "drained (1)",
            "hosts of it are missing (1)", "a host of it flaps, is slow or has errors (1)"])
        self.assertEqual([self.marked(name) for name in ("failed", "cut", "drained", "hosts")],
                         [["s0-line0", "s0-line1"], ["s0-fab0"], ["s5-fab0"], ["leaf15"]])
        self.assertEqual([self.drawn(f"#wires path.{name}") for name in
                          ("fails", "pale", "held", "acked", "drained")], [36, 2, 1, 1, 2])
        heads = self.browser.run("""Array.from(document.querySelectorAll(
            "table.parts th"), head => head.textContent)""")
        rows = {row[0]: dict(zip(heads, row)) for row in self.rows("parts")}
        self.assertEqual(rows["chassis, as a whole"]["missing"], "1")
        self.assertEqual(rows["links between levels 0 and 1"]["on hold"], "1")
        self.assertEqual([row["missing"] for row in rows.values()],
                         ["1", "1", "2", "0", "36", "36", "18"])
        self.assertEqual(self.titles(), [
            "On hold: 1", "Missing: 20", "Behind missing parts, may be whole: 1",
            "Hosts slower than their neighbours: 1", "Drained: 1", "Missing, acknowledged: 1"])
        lists = self.rows("list")
        self.assertEqual(lists[0][:3], ["leaf7[21]-s2-line0[8]", "on-hold", "2"])
        self.assertEqual([row[0] for row in lists[1:4]],
                         ["s0-line0", "s0-line1", "host h15-1 at leaf15[1]"])
        self.assertIn(NASTY[0], [row[-1] for row in lists])
        self.assertIn("h15-[1-18]", self.text("code"))
        # 36 links to the failed chassis, the one on hold and the acknowledged one.
        self.assertEqual(self.drawn("svg.map.after path.fails"), 38)
        self.assertIn("is out of paths, which carried 630 flows up", self.text("#detour p"))
        flows = {(f"{switch['name']}[{port['port']}]", port["direction"]):
                 (port["after"], port["before"]) for switch in json.loads(pmlab.run_cli(
                     "table", "--json", "--now").stdout)["switches"] for port in switch["ports"]}
        hottest = self.rows("hottest")
        self.assertEqual(len(hottest), 8)
        for name, way, now, whole, more in hottest:
            end = re.findall(r"[^-\[]+-?[^-\[]*\[\d+\]", name)[way == "down"].removeprefix("-")
            self.assertEqual(flows[end, way], (int(now), int(whole)))
            self.assertEqual(more, f"{100 * (int(now) / int(whole) - 1):+.1f}%")
        self.assertEqual([row[4] for row in hottest], sorted((row[4] for row in hottest),
                                                             reverse=True))
        self.find("h15-9")
        self.assertIn("host h15-9 at leaf15[9]", [row[0] for row in self.rows("list")])
        self.check_legible(page)

    def check_failure(self):
        """A requested failure stands below, and is of the tables in force."""
        told = json.loads(pmlab.run_cli("whatif", "--json", "-q", "--now", "--fail",
                                        "s3-*").stdout)
        self.browse(self.write("now-failure", "--fail", "s3-*"))
        writes = told["total"]["blocks"]
        self.assertRegex(self.text("p.sum"), rf"(?s)findings\nFailure of s3-\*: nobody cut off, "
                         rf"busiest link .*%, {writes} writes")
        self.assertEqual(self.drawn("svg.map.after path.fails"), 35)  # leaf9's is out already
        self.assertEqual(self.drawn("svg.map.before path.fails"), 0)

    def test_pages(self):
        self.check_quiet()
        self.degrade()
        self.check_degraded()
        self.check_failure()
        self.lab.event("lose", "s*-fab0")
        self.wait(lambda state: state["missing"]["total"]["hosts"] == 18 + 324)
        page = self.show("now-tops-lost")
        self.assertEqual((len(self.marked("failed")), len(self.marked("cut"))), (18, 36 + 1))
        self.assertIn("Behind missing parts, may be whole: 37", self.text("summary"))
        self.assertEqual([row[0] for row in self.rows("list")[1:3]], ["s0-line0", "s1-fab0"])
        self.check_legible(page)


if __name__ == "__main__":
    unittest.main()
