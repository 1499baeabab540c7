#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Missing parts: a part that the plan knows and discovery does not find is a finding of `portmajor
status` and in the metrics, until it returns or is acknowledged. And an OpenSM that was killed.
"""

import json
import os
import re
import shutil
import subprocess
import time

import labtest
import odd_netlists
import pmlab
import simlab
import test_status
import wire


class MissingCase(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = odd_netlists.small_director().write(cls.folder / "fabric.net")

    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()
        self.fabric = self.enterContext(pmlab.Fabric(self.net))
        self.start()

    def start(self):
        self.lab = self.enterContext(pmlab.Lab(self.net, fabric=self.fabric,
                                               cache_dir=self.cache))
        self.lab.bring_up()

    def run_it(self, *args):
        return subprocess.run([str(pmlab.CLI), *map(str, args)], capture_output=True, text=True,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)), check=False,
                              timeout=pmlab.TIMEOUT_S)

    def judge(self):
        """(exit status, findings) of `status`."""
        done = self.run_it("status")
        self.assertEqual(done.stderr, "")
        return done.returncode, re.findall(r"^finding +(.*)", done.stdout, re.M)

    def numbers(self):
        """Gauges: switches, links and hosts missing, and parts acknowledged."""
        found = test_status.metrics_of(pmlab.kept(self.cache, "portmajor.prom"))
        return tuple(int(found.get(f"portmajor_{name}", -1)) for name in (
            "switches_missing", "links_missing", "hosts_missing", "missing_acknowledged"))

    def wait_for(self, numbers):
        simlab.poll_until(lambda: self.numbers() == numbers, pmlab.TIMEOUT_S, str(numbers),
                          state=lambda: str(self.numbers()))

    def check(self, targets, numbers, name, nodes=""):
        """All of them fail: one finding, with these nodes, and gauges; they return, and all is
        well."""
        for target in targets:
            self.lab.event("lose", target)
        self.wait_for((*numbers, 0))
        status, (found,) = self.judge()
        self.assertEqual(status, 1)
        self.assertRegex(found, rf"^missing: {re.escape(name)}, since \d{{4}}-[-\d]+ [:\d]+"
                                r"(, the last since [^,;]*)?"
                                + re.escape(f"; nodes {nodes}" if nodes else "") + "$")
        for target in targets:
            self.lab.event("back", target)
        self.wait_for((0, 0, 0, 0))
        self.assertEqual(self.judge(), (0, []))


class Found(MissingCase):
    def test_each(self):
        """A dead leaf, a leaf without its uplinks, a chassis, a link, a host."""
        self.wait_for((0, 0, 0, 0))
        self.assertIn("missing     nothing\n", self.run_it("status").stdout)
        self.check(["leaf9"], (1, 8, 4), "leaf9 (4 hosts), 8 links", "h9-[1-4]")
        self.check([f"leaf8:{port}" for port in range(19, 27)], (1, 8, 4),
                   "leaf8 (4 hosts), 8 links", "h8-[1-4]")
        switches = [name for name in self.lab.netlist.switches if name.startswith("s1-")]
        links = {frozenset(((name, port), peer)) for name in switches
                 for port, peer in self.lab.netlist.nodes[name].ports.items()}
        self.check(["s1-*"], (len(switches), len(links), 0),
                   f"s1-line0, s1-line1; behind them 1 switch, {len(links)} links")
        self.check(["leaf5:20"], (0, 1, 0), "leaf5[20]-s1-line0[6]")
        host, _ = self.lab.netlist.nodes["leaf5"].ports[3]
        self.check(["leaf5:1", "leaf5:2", "leaf8:4"], (0, 0, 3),
                   "3 hosts (2 of leaf5, 1 of leaf8)", "h5-[1-2],h8-4")
        self.check(["leaf5:3"], (0, 0, 1), f"host {host} at leaf5[3]")


class BeforeASweep(MissingCase):
    def test_while_it_waits(self):
        """A failure is reported before the sweep that waits for changes, and so is its end."""
        def runs():
            return json.loads(pmlab.kept(self.cache, "state").read_text("utf-8"))["run"]["number"]

        early = 0
        for target in ("leaf1:19", "leaf2:20", "s2-fab0"):
            for change, missing in ((self.fabric.lose, True), (self.fabric.back, False)):
                before = runs()
                change(target)
                simlab.poll_until(lambda: any(self.numbers()) == missing, 200, target)
                early += runs() == before
        self.assertGreater(early, 3)

    def test_back_after_a_sweep(self):
        """A part that a sweep has found missing is missing until the next one, for `whatif` as
        well."""
        target = "leaf1:19"
        self.lab.event("lose", target)
        self.wait_for((0, 1, 0, 0))
        mark = self.lab.osm.mark()
        self.lab.osm.hup()
        self.lab.osm.settle(mark)
        mark = self.lab.osm.mark()
        self.fabric.back(target)
        self.lab.osm.wait_log(r"portmajor return \d+: 0 hosts, 1 cable", mark.log_offset, 10)
        while self.judge()[0] and "SUBNET UP" not in self.lab.osm.log(mark.log_offset):
            told = self.run_it("whatif", "--now", "--fail", target)
            if self.judge()[0]:
                self.assertRegex(told.stderr, rf'"{target}" is missing already: leaf1\[19\]-.*, '
                                              r"since ")
        self.wait_for((0, 0, 0, 0))
        # The file of the fabric is written after the state.
        simlab.poll_until(
            lambda: self.run_it("whatif", "--now", "--fail", target).returncode == 0, 10, target)

    def test_hosts(self):
        """The same for a host's link, which no repair needs; the sweep's hold gives the time."""
        self.fabric.lose("h1-2")
        self.wait_for((0, 0, 1, 0))  # by the first sweep after a rest, at the latest
        mark = self.lab.osm.mark()
        for target, number in (("h1-3", 2), ("h2-1", 3)):
            self.fabric.lose(target)
            start = time.monotonic()
            self.wait_for((0, 0, number, 0))
            self.assertLess(time.monotonic() - start, 8)
        self.fabric.lose("h2-2")  # and a flap
        self.fabric.back("h2-2")
        self.lab.osm.wait_log(r"portmajor return \d+: 1 host", mark.log_offset, 10)
        self.fabric.back("h1-3")
        self.wait_for((0, 0, 2, 0))
        self.assertNotRegex(self.run_it("events").stdout, "missing +host h2-2")


class AggregationNodes(MissingCase):
    """They count neither as hosts nor as nodes of Slurm."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = pmlab.generate(cls.folder / "small.net", "--aggregation-nodes", "two-level",
                                 4, 2, 4, 1)

    def test_switches(self):
        self.wait_for((0, 0, 0, 0))
        self.check(["spine1"], (1, 5, 0), "spine1, 5 links")
        self.check(["leaf2"], (1, 3, 4), "leaf2 (4 hosts), 3 links", "h2-[1-4]")


class CauseFirst(MissingCase):
    def test_all_tops(self):
        """Failed parts are named; parts that were cut off with them are counted."""
        tops = [name for name in self.lab.netlist.switches if name.endswith("-fab0")]
        whole = set(self.lab.netlist.switches)
        self.lab.event("lose", "*-fab0")
        here = self.lab.osm.host
        reached, around = set(), [here]
        while around:  # over the remaining cables, as ibsim has them
            name = around.pop()
            if name in reached or name in tops:
                continue
            reached.add(name)
            around += [peer for peer, _ in self.lab.netlist.nodes[name].ports.values()]
        cut = whole - reached - set(tops)
        hosts = set(self.lab.netlist.hosts) - reached
        simlab.poll_until(lambda: self.numbers()[0] == len(cut) + len(tops), pmlab.TIMEOUT_S,
                          "all that is cut off", state=self.numbers)
        status, (found,) = self.judge()
        self.assertEqual(status, 1)
        self.assertRegex(found, rf"^missing: {', '.join(sorted(tops))}; behind them {len(cut)} "
                                rf"switches, {len(hosts)} hosts, \d+ links, since ")
        listed = json.loads(self.run_it("status", "--json").stdout)
        self.assertEqual(self.expand(listed["missing_nodes"]), hosts)
        self.lab.event("back", "*-fab0")
        self.wait_for((0, 0, 0, 0))

    @staticmethod
    def expand(text):
        """A node list's names."""
        names = set()
        for prefix, numbers in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?", text):
            for part in (numbers or "").split(","):
                first, _, last = part.partition("-")
                names |= ({prefix + str(number) for number in
                           range(int(first), int(last or first) + 1)} if part else {prefix})
        return names


class Acknowledged(MissingCase):
    def acknowledge(self, *args, status=0):
        done = self.run_it("acknowledge", *args)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status < 2 else done.stderr

    def test_until_it_returns(self):
        self.assertEqual(self.acknowledge(), "none\n")
        self.assertIn('"leaf9" is neither missing nor changed', self.acknowledge("leaf9", status=2))
        self.lab.event("lose", "leaf9")
        self.lab.event("lose", "leaf5:20")
        self.wait_for((1, 9, 4, 0))
        self.assertRegex(self.acknowledge(status=1),
                         r"^missing      leaf9, since .*\n"
                         r"missing      leaf5\[20\]-s1-line0\[6\], since .*\n$")
        self.acknowledge("--wait", 60, "leaf9")
        self.assertEqual(self.numbers(), (0, 1, 0, 1))
        status, (found,) = self.judge()
        self.assertRegex(found, r"^missing: leaf5\[20\]-s1-line0\[6\], since [^,]*$")
        self.acknowledge("--wait", 60, "s1-line0:6")  # its other end
        self.assertEqual(self.judge(), (0, []))
        self.assertRegex(self.run_it("status").stdout, r"\nmissing     1 switch, 9 links, 4 hosts: "
                         r"leaf9 \(4 hosts\) \(since [^,]*, acknowledged\), "
                         r"leaf5\[20\]-s1-line0\[6\] \(since [^,]*, acknowledged\)\n")
        self.assertRegex(self.acknowledge(), r"^acknowledged leaf9, since ")
        shown = json.loads(self.acknowledge("--json"))
        self.assertEqual([part["acknowledged"] for part in shown["missing"]], [True, True])

        # It outlives OpenSM, however that ends.
        self.lab.osm.process.kill()
        self.lab.osm.process.wait(30)
        self.lab.close()
        self.start()
        self.wait_for((0, 0, 0, 2))
        self.assertEqual(self.judge(), (0, []))

        # Returned and failed again is another failure.
        self.lab.event("back", "leaf9")
        self.wait_for((0, 0, 0, 1))
        self.lab.event("lose", "leaf9")
        self.wait_for((1, 8, 4, 1))
        self.acknowledge("--wait", 60, "--all")
        self.assertEqual(self.numbers(), (0, 0, 0, 2))
        host, _ = self.lab.netlist.nodes["leaf5"].ports[3]
        self.lab.event("lose", "leaf5:3")
        self.wait_for((0, 0, 1, 2))
        self.acknowledge("--wait", 60, host)
        self.assertEqual(self.numbers(), (0, 0, 0, 3))


class Killed(MissingCase):
    def test_at_once(self):
        """Its state is young and says that it runs: the lock of the folder shows the truth."""
        state = pmlab.kept(self.cache, "state")
        simlab.poll_until(lambda: self.judge() == (0, []), pmlab.TIMEOUT_S, "a good state",
                          state=self.judge)
        watch = subprocess.Popen([pmlab.CLI, "status", "-q", "--watch", state], text=True,
                                 stdout=subprocess.PIPE)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        self.lab.osm.process.kill()
        self.lab.osm.process.wait(30)
        gone = "OpenSM was killed or has crashed: no process holds the lock of its folder"
        self.assertEqual(self.judge(), (1, [gone]))
        self.assertTrue(json.loads(state.read_text("utf-8"))["running"])
        self.assertFalse(json.loads(self.run_it("status", "--json").stdout)["running"])
        self.assertIn(", ended, pid", self.run_it("status").stdout)
        self.assertIn(f"finding  {gone}", watch.stdout.readline())
        self.lab.close()
        self.start()
        simlab.poll_until(lambda: self.judge() == (0, []), pmlab.TIMEOUT_S, "a good state",
                          state=self.judge)


class NoMaster(MissingCase):
    """The cable of OpenSM's own port is out, and there is no other subnet manager."""

    def start(self):
        self.lab = self.enterContext(pmlab.Lab(self.net, fabric=self.fabric, sweep_interval=2,
                                               cache_dir=self.cache))
        self.lab.bring_up()

    def gauges(self):
        found = test_status.metrics_of(pmlab.kept(self.cache, "portmajor.prom"))
        return tuple(int(found[f"portmajor_{name}"]) for name in ("sm_master", "sm_no_master"))

    def wait(self, status, gauges):
        simlab.poll_until(lambda: (self.judge()[0], self.gauges()) == (status, gauges),
                          pmlab.TIMEOUT_S, f"{status} and {gauges}",
                          state=lambda: f"{self.judge()} {self.gauges()}")

    def masters(self):
        """(level, text) of the events about the master."""
        return re.findall(r"^\S+ (\w+) +master +(.*)$", self.run_it("events").stdout, re.M)

    def test_port_down(self):
        self.wait(0, (1, 0))
        self.fabric.lose(self.lab.osm.host)
        self.wait(1, (0, 1))
        self.assertRegex(self.judge()[1][0], r"^no master since \d{4}-[-\d]+ [:\d]+: the port of "
                                             "OpenSM is down; the fabric is as last known$")
        self.fabric.back(self.lab.osm.host)
        self.wait(0, (1, 0))
        # The state is written before the events that it explains.
        wanted = [("error", "none: the port of OpenSM is down"), ("notice", "there is one again")]
        simlab.poll_until(lambda: self.masters() == wanted, pmlab.TIMEOUT_S, "both events",
                          state=self.masters)
        self.lab.close()
        self.assertEqual(self.gauges(), (0, 0))

    def test_short(self):
        """The port is back before OpenSM has noticed that it was down."""
        self.lab.close()
        self.lab = self.enterContext(pmlab.Lab(self.net, fabric=self.fabric, sweep_interval=60,
                                               cache_dir=self.cache))
        self.lab.bring_up()
        self.wait(0, (1, 0))
        self.fabric.lose(self.lab.osm.host)
        self.wait(1, (1, 1))
        self.assertRegex(self.judge()[1][0], "^no master since .*: the port of OpenSM is down; ")
        self.fabric.back(self.lab.osm.host)
        self.wait(0, (1, 0))
        self.assertIn("error   master     none: the port of OpenSM is down",
                      self.run_it("events").stdout)

    def test_in_a_sweep(self):
        """The sweep's SMPs time out one by one, and the Get of the own port comes before them."""
        self.lab.close()
        self.lab = self.enterContext(pmlab.Lab(
            self.net, fabric=self.fabric, wire=wire.Wire(), sweep_interval=60,
            cache_dir=self.cache))
        self.lab.bring_up()
        self.wait(0, (1, 0))
        osm = self.lab.osm
        osm.pace(2000)
        begin = osm.counters()["smps"]
        osm.hup()
        simlab.poll_until(lambda: osm.counters()["smps"] > begin + 200, 30, "a sweep")
        self.fabric.lose(osm.host)
        osm.pace(0)
        start = time.monotonic()
        simlab.poll_until(lambda: self.gauges()[1], pmlab.TIMEOUT_S, "no master")
        self.assertLess(time.monotonic() - start, 15)
        self.fabric.back(osm.host)
        self.wait(0, (1, 0))

    def test_standby(self):
        """A standby knows a master, unless its own port is down."""
        cache = self.folder / "standby"
        shutil.copytree(pmlab.kept(self.cache, "plan").parent, cache / pmlab.kept(
            self.cache, "plan").parent.name, ignore=lambda _, names: set(names) - {"plan"})
        host = self.lab.netlist.hosts[-1]
        with pmlab.open_sm(self.fabric, host=host, cache_dir=cache, sweep_interval=2, conf={
                "sminfo_polling_timeout": 1000, "polling_retry_number": 2}):
            for happen, name, finding in ((None, "standby", None),
                                          (self.fabric.lose, "discovering", "no master since "),
                                          (self.fabric.back, "standby", None)):
                if happen:
                    happen(host)
                def look():
                    for path in cache.glob("*/state"):
                        state = json.loads(path.read_text("utf-8"))
                        if (state["sm_state"], state["no_master"] is not None) == (
                                name, finding is not None):
                            return path, state
                    return None
                path, state = simlab.poll_until(look, 60, name)
                self.assertLess(state["sm_since"], state["time"] + 1)
                done = subprocess.run([pmlab.CLI, "status", "-q", path],
                                      capture_output=True, text=True, check=False, timeout=30)
                self.assertEqual(done.returncode, int(finding is not None), done.stdout)
                self.assertIn(finding or "", done.stdout)
            self.assertEqual(self.gauges(), (1, 0))


if __name__ == "__main__":
    import unittest
    unittest.main()
