#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
monitoring/: Prometheus reads the numbers of a running OpenSM and raises the alerts; all metrics of
the dashboard exist.
"""

import json
import re
import shutil
import socket
import subprocess
import unittest
import urllib.parse
import urllib.request

import labtest
import pmlab
import simlab

FOLDER = pmlab.ROOT / "monitoring"
RULES = (FOLDER / "alerts.yml").read_text(encoding="ascii")
ALERTS = set(re.findall(r"alert: (\w+)", RULES))
LATE_S = 30
STATE_S = 90  # it is written each minute


def names_in(text):
    """The metrics of ours in an expression."""
    return set(re.findall(r"\bportmajor_\w+", text))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@unittest.skipUnless(shutil.which("promtool"), "no Prometheus here")
class Rules(unittest.TestCase):
    def promtool(self, *args):
        done = subprocess.run(["promtool", *map(str, args)], capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_rules(self):
        records = RULES.count("- record:")
        self.assertIn(f"SUCCESS: {len(ALERTS) + records} rules found",
                      self.promtool("check", "rules", FOLDER / "alerts.yml"))

    def test_what_fires(self):
        """For each alert a fabric where it fires; for most one where it nearly does."""
        tests = pmlab.ROOT / "tests" / "data" / "alerts.yml"
        self.promtool("test", "rules", tests)
        self.assertEqual(set(re.findall(r'alertname="(\w+)"', tests.read_text("ascii"))), ALERTS)


class Dashboard(unittest.TestCase):
    def test_layout(self):
        """Panels have different numbers and do not overlap."""
        panels = json.loads((FOLDER / "dashboard.json").read_text("ascii"))["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken = set()
        for panel in panels:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(max(x for x, _ in cells), 23)
            taken |= cells

    def test_first_row(self):
        """The first row for a night shift: missing parts, other findings of status, and the master.
        """
        panels = json.loads((FOLDER / "dashboard.json").read_text("ascii"))["panels"]
        row = [panel for panel in panels if panel["gridPos"]["y"] == 0]
        self.assertEqual(names_in(" ".join(target["expr"] for panel in row
                                           for target in panel["targets"])),
                         {f"portmajor_{name}" for name in (
                             "findings", "sm_master", "switches_missing", "links_missing",
                             "hosts_missing", "flapping_links", "degraded_links",
                             "degraded_hosts", "ports_with_errors", "drained_parts")})
        self.assertEqual(sum(panel["gridPos"]["w"] for panel in row), 24)


class Metrics(labtest.Folders):
    """Each HELP and TYPE is as tests/data/metrics.txt has it."""

    GOLDEN = [line for line in (pmlab.ROOT / "tests" / "data" / "metrics.txt")
              .read_text("ascii").splitlines() if line.startswith(("# HELP", "# TYPE"))]

    def read(self):
        """The file, with numbers of the performance manager."""
        path = self.folder / "portmajor.prom"
        config = self.folder / "portmajor.conf"
        config.write_text(f"prometheus {path}\n", "ascii")
        net = pmlab.generate(self.folder / "fabric.net", "two-level", 3, 2, 2, 1)
        with pmlab.Lab(net, conf={"event_plugin_options": config, "perfmgr": "TRUE",
                                  "perfmgr_sweep_time_s": 1}) as lab:
            lab.bring_up()
            def look():  # it is written after each sweep
                lab.measure("SIGHUP", lab.osm.hup)
                text = path.read_text("ascii")
                return text if "portmajor_ports_with_errors{" in text else None
            return simlab.poll_until(look, LATE_S, "the performance manager")

    def test_names_stand_in_the_source(self):
        """A search for a metric finds the line that makes it."""
        source = "".join(path.read_text("utf-8") for path in
                         sorted((pmlab.ROOT / "plugins" / "opensm" / "io").glob("*.c")))
        names = {line.split()[2] for line in self.GOLDEN}
        self.assertGreater(len(names), 50)
        self.assertEqual([name for name in sorted(names) if f'"{name}"' not in source], [])

    def test_names_stand_in_the_document(self):
        """docs/json.md has the full name of each, and no other."""
        names = {line.split()[2] for line in self.GOLDEN}
        page = (pmlab.ROOT / "docs" / "json.md").read_text("utf-8")
        self.assertEqual(set(re.findall(r"`(portmajor_\w+)`", page)), names)

    def test_names(self):
        """The same for those in dashboard and alerts."""
        text = self.read()
        asked = names_in((FOLDER / "dashboard.json").read_text("ascii")) | names_in(RULES)
        self.assertEqual(asked - names_in(text), set())
        heads = [line for line in text.splitlines() if line.startswith("#")]
        self.assertEqual([line for line in heads if line not in self.GOLDEN], [])
        self.assertEqual(len(heads), len(set(heads)))
        self.assertEqual({line.split()[2] for line in heads}, names_in(
            "\n".join(line for line in text.splitlines() if not line.startswith("#"))))
        # Metrics that exist only while tables differ from the plan's, or a sweep waits, come from
        # the same tables.
        source = "".join((pmlab.ROOT / "plugins" / "opensm" / "io" / name).read_text("ascii")
                         for name in ("activity.c", "state_metrics.c"))
        for line in set(self.GOLDEN) - set(heads):
            word, name, said = re.fullmatch(r"# (\w+) (\w+) (.*)", line).groups()
            self.assertRegex(name, "balanc|sweep_waiting_since")
            self.assertIn(f'"{name}"', source)
            if word == "HELP":
                self.assertIn(f'"{said}"', source)
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                  capture_output=True, check=False, timeout=60)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class Conditions(labtest.Folders):
    """Metrics that are 0 in a healthy fabric."""

    NAMES = ("shadow_mode", "config_unused", "unsaved", "drains_unread")

    def wait_for(self, text, *wanted):
        """Waits until they have these values, with a configuration; returns all numbers."""
        def look():
            path = pmlab.kept(self.cache, "portmajor.prom")
            found.update(re.findall(r"^portmajor_(\w+){.*} (\d+)$", path.read_text("ascii"), re.M)
                         if path.exists() else ())
            return [found.get(name) for name in self.NAMES] == list(wanted)

        found = {}
        config = self.folder / "portmajor.conf"
        config.write_text(text, "ascii")
        with pmlab.Lab(self.net, engine="portmajor,updn", cache_dir=self.cache,
                       conf={"event_plugin_options": config}) as lab:
            lab.osm.settle(timeout=pmlab.TIMEOUT_S)
            simlab.poll_until(look, LATE_S, f"{wanted}", state=lambda: str(found))
        return found

    def test_each(self):
        self.net = pmlab.generate(self.folder / "fabric.net", "two-level", 3, 2, 2, 1)
        self.cache = self.folder / "cache"
        self.cache.mkdir()
        self.wait_for("shadow yes\nno_such_key 1\n", "1", "1", "0", "0")
        (pmlab.kept(self.cache, "plan.new") / "in the way").mkdir(parents=True)
        pmlab.kept(self.cache, "requests").write_text("garbage\n", "ascii")
        found = self.wait_for("shadow no\n", "0", "0", "1", "1")
        self.assertEqual([found[name] for name in ("sm_master", "bad_switches",
                                                   "host_pairs_connected", "host_pairs_reachable")],
                         ["1", "0", "24", "24"])


@unittest.skipUnless(shutil.which("prometheus") and shutil.which("prometheus-node-exporter"),
                     "no Prometheus or no node exporter here")
class Live(labtest.Folders):
    def start(self, *argv):
        log = open(self.folder / f"{argv[0]}.log", "wb")
        self.addCleanup(log.close)
        process = simlab.start_process(list(map(str, argv)), stdout=log, stderr=log)
        self.addCleanup(simlab.stop_process, process)

    def start_prometheus(self):
        exporter, self.port = free_port(), free_port()
        # The delays of alerts are tested by alerts-test; here they would be the test's.
        (self.folder / "alerts.yml").write_text(re.sub(r"\bfor: \w+", "for: 0s", RULES), "ascii")
        (self.folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            "rule_files: [alerts.yml]\n"
            "scrape_configs: [{job_name: node, static_configs: "
            f"[{{targets: ['127.0.0.1:{exporter}']}}]}}]\n", "ascii")
        self.start("prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter}",
                   "--collector.disable-defaults", "--collector.textfile",
                   f"--collector.textfile.directory={self.numbers}")
        self.start("prometheus", f"--web.listen-address=127.0.0.1:{self.port}",
                   f"--config.file={self.folder / 'prometheus.yml'}",
                   f"--storage.tsdb.path={self.folder / 'tsdb'}")

    def ask(self, what, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?" + urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)["data"]
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError) and error.code != 503:
                raise AssertionError(f"{parameters}: {error.read()}") from error
            return None  # it starts

    def query(self, expression):
        return (self.ask("query", query=expression) or {"result": []})["result"]

    def alerts(self):
        """{(name, port GUID)} of the alerts that fire."""
        self.seen = (self.ask("alerts") or {"alerts": []})["alerts"]
        return {(one["labels"]["alertname"], one["labels"].get("port_guid"))
                for one in self.seen}

    def expect(self, *wanted):
        """Waits until exactly these fire."""
        simlab.poll_until(lambda: self.alerts() == set(wanted), LATE_S,
                          f"alerts {wanted}", state=lambda: f"{self.alerts()} fire")

    def edit(self, name, healthy, **values):
        """The numbers of another fabric: those of a healthy one, with changes. They do not become
        outdated."""
        text = healthy.replace(self.guid, name)
        values = {"written_timestamp_seconds": 9e9, **values}
        for metric, value in values.items():
            text, done = re.subn(rf"(?m)^(portmajor_{metric}{{.*}}) .*$", rf"\1 {value}", text)
            self.assertEqual(done, 1, metric)
        path = self.numbers / f"{name}.new"
        path.write_text(text, "ascii")
        path.rename(self.numbers / f"{name}.prom")

    def look_at_dashboard(self, live):
        """Every panel of the dashboard shows data."""
        dashboard = json.loads((FOLDER / "dashboard.json").read_text("ascii"))
        shown = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        shown += [one["query"] for one in dashboard["templating"]["list"]
                  if one["type"] == "query"]
        for expression in shown:
            self.assertLessEqual(names_in(expression), live)
            expression = expression.replace("$port_guid", ".*").replace("$__rate_interval", "1m")
            # where all is well the upper ones are empty
            expression = expression.removesuffix(" > 0")
            if not expression.startswith("label_values("):
                simlab.poll_until(lambda: self.query(expression), LATE_S, expression)

    def cut_off(self, lab):
        """Cables fail, until leaves do not reach each other any more, and return."""
        for cable in pmlab.CHAIN:
            lab.event("lose", cable)
        self.expect(("PortmajorPairsCutOff", self.guid), ("PortmajorLinksMissing", self.guid))
        def all_told():  # Prometheus may have read the file after the first cables
            self.alerts()
            told = {one["labels"]["alertname"]: one["annotations"]["description"]
                    for one in self.seen}
            return ("16 ordered pairs on 127.0.0.1:" in told["PortmajorPairsCutOff"] and
                    "6 of them, on 127.0.0.1:" in told["PortmajorLinksMissing"])
        simlab.poll_until(all_told, LATE_S, "the numbers of all cables",
                          state=lambda: self.seen)
        for cable in pmlab.CHAIN:
            lab.event("back", cable)
        self.expect()

    def fake_faults(self, healthy):
        """A file for each other alert, which then fires; all of them do in the end."""
        faults = {"OtherEngine": {"engine_active": 0},
                  "OtherEngineCutsOff": {"engine_cuts_off": 1},
                  "OtherEngineCreditLoop": {"engine_credit_loop": 1},
                  "StateOld": {"written_timestamp_seconds": 1},
                  "PlanUnwritable": {"unsaved": 1}, "BlocksUnanswered": {"switches_unset": 1},
                  "BlocksAboveLeast": {"blocks_sent_total": 0},
                  "TrapsDropped": {"traps_dropped_total": 0},
                  "ConfigurationUnused": {"config_unused": 1}, "DrainsUnread": {"drains_unread": 1},
                  "BadSwitch": {"bad_switches": 1}, "SlowLink": {"degraded_links": 1},
                  "PortErrors": {"ports_with_errors": 1},
                  "LidsOutOfPlan": {"lids_out_of_plan": 1},
                  "SwitchesMissing": {"switches_missing": 1},
                  "LinksMissing": {'missing_parts(?=.*"link")': 1},
                  "HostsMissing": {'missing_parts(?=.*"host")': 1},
                  "PartsChanged": {"parts_changed": 1},
                  "SlowHost": {"degraded_hosts": 1}, "HostFlapping": {"flapping_hosts": 1},
                  "LinkHeld": {'flapping_links(?=.*"on-hold")': 1},
                  "MulticastMembersLeftOut": {"multicast_members_left_out": 1},
                  "MulticastIncomplete": {"multicast_incomplete": 1},
                  "MasterUnknown": {"sm_no_master": 1}, "TwoMasters": {"sm_other_masters": 1},
                  "ForeignMaster": {"sm_foreign_master": 1},
                  "PlanSetAside": {"plans_set_aside": 1},
                  "EntriesAltered": {'findings(?=.*"entries")': 1}}
        self.assertEqual({f"Portmajor{name}" for name in faults} | {
            "PortmajorPairsCutOff", "PortmajorEnded", "PortmajorMissing", "PortmajorNoMaster",
            "PortmajorNoStandby"},
                         ALERTS)
        for name, values in faults.items():
            self.edit(name, healthy, **values)
        for name, counter, value in (("BlocksAboveLeast", "blocks_sent_total", 1000),
                                     ("TrapsDropped", "traps_dropped_total", 9)):
            simlab.poll_until(lambda: self.query(
                f'portmajor_{counter}{{port_guid="{name}"}}'), LATE_S, counter)
            self.edit(name, healthy, **{counter: value})
        fired = {(f"Portmajor{name}", name) for name in faults}
        self.expect(*fired)
        for one in self.seen:
            self.assertNotRegex(str(one["annotations"]), "no value|rror (?:executing|expanding)")
        self.edit("LidsOutOfPlan", healthy)  # all have been rebooted
        fired.discard(("PortmajorLidsOutOfPlan", "LidsOutOfPlan"))
        self.expect(*fired)
        return fired

    def test_alerts(self):
        self.numbers = self.folder / "node-exporter"
        self.numbers.mkdir()
        config = self.folder / "portmajor.conf"
        config.write_text(f"flap_limit 0\nprometheus {self.numbers}\n", "ascii")
        net = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 3, 2, 1)
        with pmlab.Lab(net, conf={"event_plugin_options": config, "perfmgr": "TRUE",
                                  "perfmgr_sweep_time_s": 1}) as lab:
            lab.bring_up()
            path, = simlab.poll_until(lambda: list(self.numbers.glob("portmajor.*.prom")), LATE_S,
                                      "the numbers")
            self.guid = "0x" + path.suffixes[0][1:]
            for name in ("run_blocks_sent", "ports_with_errors"):
                simlab.poll_until(lambda: f"portmajor_{name}" in path.read_text("ascii"),
                                  STATE_S, name)
            healthy = path.read_text("ascii")
            live = names_in(healthy)
            self.assertLessEqual(names_in(RULES), live)
            self.start_prometheus()
            simlab.poll_until(lambda: self.query("portmajor_running == 1"), LATE_S, "Prometheus")
            self.expect()
            groups = self.ask("rules")["groups"]
            self.assertEqual({(rule["name"], rule["health"]) for rule in groups[0]["rules"]},
                             {(name, "ok") for name in {*ALERTS, "portmajor:is_old"}})
            self.look_at_dashboard(live)
            self.cut_off(lab)
            fired = self.fake_faults(healthy)
        self.expect(*fired, ("PortmajorEnded", self.guid))


if __name__ == "__main__":
    unittest.main()
