#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-report in a real browser: no script error, nothing from outside, right numbers.

Screenshots stay in $PORTMAJOR_BUILD/report-screenshots.
"""

import json
import pathlib
import re
import shutil
import subprocess
import unittest

import labtest
import pmlab

REPORT = pmlab.ROOT / "scripts" / "portmajor-report"
SHOTS = pmlab.BUILD / "report-screenshots"
PYTHON = "/usr/bin/python3"  # Debian's, for which python3-matplotlib is
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# Names that break what does not escape: HTML, scripts, mathtext, JSON, control characters.
NASTY = ("</script><script>undefined_function()</script>", "<img src=x onerror=boom()>",
         "a $x^{$ b", "it's & \\ {{ 7*7 }}", "bell\x07 and\ttab", "caf\u00e9")


def modules_missing():
    return subprocess.run([PYTHON, "-c", "import matplotlib, jinja2"], check=False,
                          capture_output=True).returncode != 0


def report(*args):
    return subprocess.run([PYTHON, str(REPORT), "--portmajor", str(pmlab.CLI),
                           *map(str, args)],
                          capture_output=True, text=True, check=False, timeout=600)


def table(netlist, *args):
    """What `portmajor table` prints."""
    return json.loads(pmlab.run_cli("table", "--json", *args, netlist).stdout)


class Table(labtest.Folders):
    """The numbers behind the pictures."""

    def test_blocks_are_those_of_whatif(self):
        netlist = pmlab.generate(self.folder / "d.net", "director", 36)
        for order in ("grouped", "leaf-major", "port-major"):
            for lost in ("s0-*", "leaf3:20", "s2-fab0", "h3-4", "leaf1"):
                with self.subTest(f"{order} {lost}"):
                    switches = table(netlist, "-o", order, "--lose", lost)["switches"]
                    told = pmlab.whatif(netlist, lost, order=order)
                    self.assertEqual(sum(s["blocks"] for s in switches), told.blocks)
                    self.assertEqual(sum(s["entries"] for s in switches), told.entries)

    def test_entries_and_blocks_of_the_switch_agree(self):
        netlist = pmlab.generate(self.folder / "d.net", "director", 36)
        found = table(netlist, "--lose", "s0-*", "--switch", "leaf7")
        changed = [lid for lid, entry in enumerate(found["entries"])
                   if entry and entry[1] != entry[2]]
        own = [s for s in found["switches"] if s["name"] == "leaf7"][0]
        self.assertEqual(len(changed), own["entries"])
        self.assertEqual(len({lid // 64 for lid in changed}), own["blocks"])

    def test_flows_are_conserved(self):
        """Every host sends to every other leaf's hosts over one up port, none over two."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        found = table(netlist, "--lose", "spine1")
        for when, ports in (("before", 3), ("after", 2)):
            for switch in found["switches"]:
                loads = [p[when] for p in switch["ports"] if p["direction"] == "up" and p[when]]
                if switch["level"] == 0:
                    self.assertEqual((sum(loads), len(loads)), (6 * 30, ports))

    def test_flows_of_all_ways(self):
        """What goes up from the leaves comes down from the spines; a lost host has no part."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        found = table(netlist, "--lose", "h0-1")
        self.assertEqual(found["switch"], "leaf0")
        for when, first, others in (("before", 6 * 30, 6 * 30), ("after", 5 * 30, 6 * 29)):
            sums = {switch["name"]: sum(port[when] for port in switch["ports"])
                    for switch in found["switches"]}
            self.assertEqual(sums.pop("leaf0"), first)
            leaves = {name: flows for name, flows in sums.items() if name.startswith("leaf")}
            self.assertEqual(set(leaves.values()), {others})
            self.assertEqual(sum(sums.values()) - sum(leaves.values()), first + 5 * others)

    def test_text(self):
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        text = pmlab.run_cli("table", "--lose", "leaf0:7", netlist).stdout
        found = table(netlist, "--lose", "leaf0:7")
        leaf = found["switches"][0]
        self.assertEqual([port["alive"] for port in leaf["ports"]], [False, True, True])
        self.assertEqual(text, (
            f'"leaf0": {leaf["entries"]} entries in {leaf["blocks"]} blocks differ after the loss\n'
            "port  way       before      after  to\n"
            '   7  up            60          0  "spine0"[1], lost\n'
            '   8  up            60         90  "spine1"[1]\n'
            '   9  up            60         90  "spine2"[1]\n'))
        self.assertEqual(pmlab.run_cli("table", "-q", netlist).stdout, "")
        self.assertEqual(table(netlist, "-q"), table(netlist))

    def test_planes_with_lmc(self):
        """Each LID of a port has its own plane, as the plan says."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        plan = json.loads(pmlab.run_cli("plan", "--json", "-l", "-m", 1, netlist).stdout)
        planes = {lid["lid"]: -1 if lid["plane"] is None else lid["plane"]
                  for lid in plan["lids"]}
        self.assertEqual({lid: entry[0] for lid, entry in enumerate(
            table(netlist, "-m", 1)["entries"]) if entry}, planes)

    def test_manager(self):
        """From one spine to another a path goes down and up: to the manager's LID only."""
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        plan = json.loads(pmlab.run_cli("plan", "--json", "-l", netlist).stdout)
        lids = {lid["switch"]: lid["lid"] for lid in plan["lids"] if not lid["port"]}
        for options, to_spine0 in (((), False), (("-s", "spine0"), True)):
            entries = table(netlist, "--switch", "spine1", *options)["entries"]
            self.assertEqual(entries[lids["spine0"]][1] > 0, to_spine0)
            self.assertEqual(entries[lids["spine2"]][1], -1)
            self.assertEqual(entries[lids["spine1"]][1], 0)

    def test_bad_usage(self):
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 4, 2, 2, 1)
        for args, status in (((), 2), ((netlist, "--lose", "nobody"), 2),
                             ((netlist, "--lose", "leaf0:99"), 2), ((netlist, netlist), 2),
                             ((netlist, "--switch", "nobody"), 2),
                             ((self.folder / "none.net",), 3)):
            with self.subTest(args):
                done = pmlab.run_cli("table", *args)
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertTrue(done.stderr)


def status_of(findings=(), **state):
    """As `portmajor status --json` prints it, see test_status_of_a_fabric."""
    run = {"change": "no change", "sent": 0, "acked": 0, "bound": 0, "milliseconds": 1.5}
    return {"schema": "portmajor-status", "version": 1, "file": "portmajor.state", "age_s": 3,
            "findings": list(findings), "state": {
                "opensm": "OpenSM 3.3.23", "sm_state": "master", "running": True, "started": 0,
                "engine": {"used": "portmajor", "reason": None}, "run": run, "repair": None,
                "since_start": {"runs": 1, "fallbacks": 0, "repairs": 0, "sent": 0, "acked": 0,
                                "repair_sent": 0, "repair_acked": 0, "moves": 0,
                                "move_sent": 0, "move_acked": 0},
                "out_of_plan": 0, "apart": {"pairs": 0, "text": None}, "plan": None,
                "flapping": [], **state}}


def missing(wanted, found, name=""):
    """Members of one JSON object that another one has not."""
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        return []
    return [lost for key in wanted for lost in (
        missing(wanted[key], found[key], f"{name}.{key}") if key in found else [f"{name}.{key}"])]


@unittest.skipIf(modules_missing(), "no matplotlib or jinja2 here")
@unittest.skipUnless(CHROMIUM, "no chromium here")
class Pages(labtest.Folders):
    def write(self, name, *args):
        """A report; its path."""
        path = self.folder / f"{name}.html"
        done = report(*args, "-o", path)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        return path

    def chromium(self, page, *options):
        """Chromium's output for a page; its messages tell of errors in scripts."""
        done = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--enable-logging=stderr", "--v=0",
             f"--user-data-dir={self.folder / 'profile'}", "--window-size=1200,3600",
             *options, page.as_uri()],
            capture_output=True, text=True, check=False, timeout=300, errors="replace")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def browse(self, page):
        """The page as it is after its script ran; fails on errors. Keeps a screenshot."""
        SHOTS.mkdir(exist_ok=True)
        shot = SHOTS / (page.stem + ".png")
        shot.unlink(missing_ok=True)
        self.chromium(page, f"--screenshot={shot}")
        self.assertGreater(shot.stat().st_size, 20000)
        done = self.chromium(page, "--dump-dom")
        self.assertEqual(re.findall(r".*CONSOLE.*", done.stderr), [])
        self.assertRegex(done.stdout, r'<html[^>]* data-ready="yes"')
        return done.stdout

    def check_self_contained(self, page):
        text = page.read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"""(?:src|href)=["'](?!data:)[^"']*""", text), [])
        self.assertFalse("://" in re.sub(r'src="data:[^"]*"', "", text), "an address")

    def check_size(self, *generate, lost):
        netlist = pmlab.generate(self.folder / "fabric.net", *generate)
        page = self.write("-".join(map(str, generate)).replace(",", "."), netlist, "--lose",
                          lost)
        self.check_self_contained(page)
        dom = self.browse(page)
        whole = table(netlist)
        self.assertEqual(dom.count("<rect "), len(whole["switches"]))
        for switch in (whole["switches"][0], whole["switches"][-1]):
            self.assertIn(f"<title>{switch['name']}", dom)
        for order in ("leaf-major", "port-major", "grouped"):
            entries = table(netlist, "-o", order, "--lose", lost)["entries"]
            hit = {lid // 64 for lid, entry in enumerate(entries) if entry
                   and entry[1] != entry[2]}
            self.assertRegex(dom, rf"<td>{order}</td><td>\d+</td><td>{len(hit)}</td>")
        for kind in ("host", "leaf"):
            number = sum(len(switch["hosts"]) if kind == "host" else switch["level"] == 0
                         for switch in whole["switches"])
            self.assertIn(f"<td>{kind}</td><td>{number:,}</td><td>{number:,}</td>", dom)
        self.assertLess(page.stat().st_size, 2_000_000)

    def test_256_hosts(self):
        self.check_size("xgft", 2, "16,16", "1,16", lost="sw2-0")

    def test_648_hosts(self):
        self.check_size("director", 36, lost="s0-*")

    def test_11664_hosts(self):
        self.check_size("director", 648, lost="s0-*")

    def test_a_click_sorts(self):
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        page = self.write("clicked", netlist)
        text = page.read_text(encoding="utf-8")
        self.assertLess(text.index("<td>leaf-major</td>"), text.index("<td>grouped</td>"))
        click = ("<script>document.querySelectorAll('tr > th:nth-child(2)')"
                 ".forEach(head => head.click());</script></body>")
        page.write_text(text.replace("</body>", click), encoding="utf-8")
        dom = self.browse(page)
        self.assertIn('data-sorted=""', dom)
        # By blocks, downward: 18 of grouped, 12 of the others.
        self.assertLess(dom.index("<td>grouped</td>"), dom.index("<td>leaf-major</td>"))

    def test_an_error_in_a_script_would_be_seen(self):
        page = self.folder / "broken.html"
        page.write_text("<script>undefined_function()</script>", encoding="ascii")
        self.assertIn("undefined_function is not defined",
                      self.chromium(page, "--dump-dom").stderr)

    def test_names_are_escaped(self):
        """In every place where a name may come: JSON of any command."""
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 2, 4, 1)
        found = table(netlist, "--lose", "spine0")
        for switch, name in zip(found["switches"], NASTY):
            switch["name"] = name
        found["switch"] = NASTY[0]
        found["lost"] = list(NASTY)
        total = {"blocks": 5, "bound": 4, "switches": 3, "entries": 9}
        lost = [{"name": NASTY[0], "guid": found["switches"][0]["guid"]}]
        costs = [{"schema": "portmajor-whatif", "lost": [name], "pairs_cut": 0, "total": total}
                 for name in NASTY]
        costs.append({"schema": "portmajor-sweep", "failures": 7,
                      "settings": {"failures_of": NASTY[1], "pairs": False, "total": 7},
                      "metrics": {"blocks": {"histogram": [[5, 7]]},
                                  "bound": {"histogram": [[4, 7]]}},
                      "worst": [{"lost": lost, "pairs_cut": 0, **total}]})
        other = {"schema": "portmajor-check", NASTY[0]: [{name: name} for name in NASTY]}
        status = status_of(findings=list(NASTY), flapping=[
            {"ends": [{"guid": "0x1", "name": name, "port": 1}] * 2, "state": name, "downs": 3,
             "left_ms": 1500} for name in NASTY], sm_state=NASTY[0], slow_links={
                 "count": 3, "list": [{"ends": [{"guid": "0x1", "name": name, "port": 1}] * 2,
                                       "link": name, "neighbours": name} for name in NASTY]})
        plan = json.loads(pmlab.run_cli("plan", "--json", netlist).stdout)
        plan["notes"] = list(NASTY)
        plan["plane_list"][0]["name"] = NASTY[0]
        paths = []
        for number, document in enumerate((found, *costs, other, status, plan)):
            paths.append(self.folder / f"{number}.json")
            paths[-1].write_text(json.dumps(document), encoding="utf-8")
        page = self.write("nasty-names", *paths, "--title", NASTY[1])
        self.check_self_contained(page)
        dom = self.browse(page)
        self.assertEqual(dom.count("<script"), 1)
        self.assertEqual(len(re.findall(r"<img ", dom)), 3)
        self.assertIn("<td>7</td><td>7</td><td>5</td><td>5</td><td>4</td><td>-</td>", dom)
        self.assertIn("undefined_function()&lt;/script&gt;: lost, 5 blocks", dom)
        self.assertIn("it's &amp; \\ {{ 7*7 }}", dom)
        self.assertIn("bell\\x07 and\\x09tab", dom)

    def test_status_and_plan(self):
        """What the commands print: the verdict, a flapping link, the planes."""
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 2, 4, 1)
        plan, fine, bad = (self.folder / name for name in ("plan.json", "fine.json", "bad.json"))
        plan.write_text(pmlab.run_cli("plan", "--json", netlist).stdout, encoding="utf-8")
        fine.write_text(json.dumps(status_of()), encoding="utf-8")
        bad.write_text(json.dumps(status_of(
            findings=["OpenSM has fallen back to updn"], flapping=[
                {"ends": [{"guid": "0x1", "name": "leaf0", "port": 5},
                          {"guid": "0x2", "name": None, "port": 7}],
                 "state": "on-hold", "downs": 4, "left_ms": 1500}],
            slow_links={"count": 1, "list": [
                {"ends": [{"guid": "0x1", "name": "leaf1", "port": 6},
                          {"guid": "0x2", "name": None, "port": 8}],
                 "link": "1xQDR", "neighbours": "4xQDR"}]})), encoding="utf-8")
        dom = self.browse(self.write("status", plan, fine, bad))
        self.assertEqual(dom.count("All is as it should be."), 1)
        self.assertIn('<p class="finding">OpenSM has fallen back to updn</p>', dom)
        self.assertIn('<td>leaf0[5]-0x2[7]</td><td class="text">on-hold</td><td>4</td><td>2</td>',
                      dom)
        self.assertIn('<td>leaf1[6]-0x2[8]</td><td class="text">1xQDR</td>'
                      '<td class="text">4xQDR</td>', dom)
        self.assertIn("6 switches, 4 of them leaves, levels 0 to 1, 1 pods, 2 planes", dom)
        self.assertIn('<td>1 (spine1, cable 0)</td>', dom)

    def test_status_of_a_fabric(self):
        """What the plugin leaves has all that is shown, and all that status_of() has."""
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 2, 4, 1)
        with pmlab.Lab(netlist) as lab:
            lab.bring_up()
            event = lab.lose("leaf1:5")
            done = pmlab.run_cli("status", "--json", pmlab.kept(lab.osm.cache_dir, "state"))
        self.assertEqual(done.returncode, 0, done.stdout)
        path = self.folder / "status.json"
        path.write_text(done.stdout, encoding="utf-8")
        self.assertEqual(missing(status_of(), json.loads(done.stdout)), [])
        dom = self.browse(self.write("of-a-fabric", path))
        self.assertIn("All is as it should be.", dom)
        self.assertIn(f"{event.runs[-1].change}: {event.runs[-1].sent:,} LFT blocks sent", dom)

    def test_engines_of_the_demo(self):
        demo = self.folder / "table.txt"
        demo.write_text(
            "event         wire  sent  acked  bound  whatif  pairs walked   ftree  updn  minhop"
            "  verdict\n"
            "chassis lost    36    36     36     36      36        26,000  1,400*   731     740"
            "  ok\n",
            encoding="ascii")
        dom = self.browse(self.write("engines", demo))
        self.assertIn("<td>1,400*</td><td>731</td><td>740</td>", dom)

    def recordings(self, netlist, lost):
        """Sets of two orders of LIDs, as they are computed."""
        paths = []
        for order, name in (("grouped", "portmajor"), ("leaf-major", NASTY[1])):
            paths.append(self.folder / f"{order}.sets")
            done = pmlab.run_cli("traffic", "-q", "-o", order, netlist, "--lose", lost,
                                 "--write", paths[-1])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            text = paths[-1].read_text(encoding="utf-8")
            paths[-1].write_text(re.sub(r"(?m)^engine .*", f"engine {name}", text),
                                 encoding="utf-8")
        return paths

    def test_pairs_cut_off(self):
        """The numbers of `portmajor traffic`, in a table and a picture."""
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        ours, other = self.recordings(netlist, "s0-*")
        page = self.write("pairs-cut-off", netlist, "--lose", "s0-*", "--sets", ours,
                          "--sets", other)
        self.check_self_contained(page)
        dom = self.browse(page)
        told = pmlab.run_cli("traffic", "--json", netlist, "--lose", "s0-*", "--sets", ours,
                             "--compare", other)
        self.assertEqual(dom.count('alt="Pairs cut off over time"'), 1)
        self.assertIn("419,256 ordered pairs of 648 hosts", dom)
        first, second = json.loads(told.stdout)["recordings"]
        for name, r in (("portmajor", first), ("&lt;img src=x onerror=boom()&gt;", second)):
            over = r["pair_seconds"] / first["pair_seconds"]
            self.assertIn(f"<td>{name}</td><td>{r['pair_seconds']:,.1f}</td><td>{over:,.1f}</td>"
                          f"<td>{r['sets']:,}</td><td>22,680 (5.41%)</td><td>0</td>", dom)
        path = self.folder / "traffic.json"
        path.write_text(told.stdout, encoding="utf-8")
        self.assertIn(f"<td>{second['pair_seconds']:,.1f}</td>",
                      self.browse(self.write("pairs-of-json", path)))

    def test_recordings_need_their_fabric(self):
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        ours, _ = self.recordings(netlist, "s0-*")
        path = self.folder / "plan.json"
        path.write_text(pmlab.run_cli("plan", "--json", netlist).stdout, encoding="utf-8")
        for args, message in (((path, "--sets", ours), "need the netlist"),
                              ((netlist, "--lose", "s1-*", "--sets", ours), "not by --lose")):
            done = report(*args, "-o", self.folder / "never.html")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
            self.assertIn(message, done.stderr)

    def traffic(self, name, *args):
        """What an engine says, in a file; and that."""
        path = self.folder / name
        done = pmlab.run_cli("traffic", *args, "--json")
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
        self.check_self_contained(page)
        dom = self.browse(page)
        self.assertEqual(dom.count('alt="Latency and throughput over load, '), 2)

        def row(name, point, half, latency, p99):
            return (f"<td>{name}</td><td>{point['load']:.3f}</td><td>{point['accepted']:.4f}</td>"
                    f"<td>{latency:,.3f}</td><td>{half:,.3f}</td><td>{p99:,.3f}</td>")

        for i, mean in enumerate(told["means"]):
            points = told["points"][3 * i:3 * i + 3]
            p99 = sum(point["latency_us"]["p99"] for point in points) / 3
            self.assertIn(row("ours", {**mean, "load": mean["offered"]},
                              mean["latency_us"]["half"], mean["latency_us"]["mean"], p99), dom)
        for point in single["points"]:
            times = point["latency_us"]
            self.assertIn(row("a $x^{$ &lt;img src=x onerror=boom()&gt;",
                              {**point, "load": point["offered"]}, times["half"],
                              times["mean"], times["p99"]), dom)
        for point in cycles["points"]:
            times = point["latency"]
            self.assertIn(row(f"flit, {point['length']} flits", point, times["half"],
                              times["mean"], times["p99"]) +
                          f"<td class=\"text\">{'grow' if point['saturated'] else ''}</td>", dom)
        self.assertIn(row("ours", {**told["means"][0], "load": 0.3},
                          told["means"][0]["latency_us"]["half"],
                          told["means"][0]["latency_us"]["mean"],
                          sum(p["latency_us"]["p99"] for p in told["points"][:3]) / 3),
                      self.browse(self.write("over-load-of-json", ours)))

    def test_bad_traffic(self):
        netlist = pmlab.generate(self.folder / "t.net", "two-level", 6, 3, 6, 1)
        packet = ("--engine", "packet", netlist, "--time", "5us", "--warmup", "1us")
        good = self.traffic("good.json", *packet)[0]
        shard = self.traffic("shard.json", *packet, "--shard", "1/2")[0]
        closed = self.traffic("closed.json", *packet, "--messages", 1)[0]
        loss = self.traffic("loss.json", netlist, "--lose", "leaf0:7")[0]
        bad = self.folder / "bad.json"
        bad.write_text(good.read_text().replace('"mean"', '"means"'))
        for path, message in ((shard, "a shard: portmajor merge"), (bad, "docs/json.md"),
                              (closed, "no points over load"),
                              (loss, "not of the packet or the flit engine"),
                              (netlist, "no JSON")):
            done = report("--traffic", good, path, "-o", self.folder / "never.html")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
            self.assertIn(message, done.stderr)
        self.assertEqual(report("-o", self.folder / "never.html").returncode, 2)

    def test_bad_input(self):
        bad = {"empty.json": "", "cut.json": '{"schema": "portmajor-ta', "list.json": "[]",
               "other.json": '{"schema": "x"}', "binary.json": "\x00\x7f",
               "sweep.json": '{"schema": "portmajor-sweep"}',
               "status.json": '{"schema": "portmajor-status", "state": []}',
               "plan.json": '{"schema": "portmajor-plan", "plane_list": [1]}',
               "table.json": '{"schema": "portmajor-table", "lid_order": "grouped"}',
               "traffic.json": '{"schema": "portmajor-traffic", "engine": "cutoff", '
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
                               "traffic.json": "portmajor-traffic"}.get(name, name), done.stderr)
                self.assertFalse(pathlib.Path(self.folder / "never.html").exists())


if __name__ == "__main__":
    unittest.main()
