#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Two subnet managers of one fabric on a machine: the findings when the master is killed, its
successor, and a master without portmajor.
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

POLL = {"sminfo_polling_timeout": 500, "polling_retry_number": 2}
KILLED = "OpenSM was killed or has crashed: no process holds the lock of its folder"


class Managers(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = odd_netlists.small_director().write(cls.folder / "fabric.net")
        cls.netlist = simlab.Netlist(cls.net)

    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()
        self.fabric = self.enterContext(pmlab.Fabric(self.netlist))

    def start(self, host, priority):
        """On a wire with time-outs: see test_handover.py."""
        return self.enterContext(pmlab.open_sm(
            self.fabric, host=self.netlist.hosts[host], cache_dir=self.cache,
            conf={**POLL, "sm_priority": priority}, wire=wire.Wire()))

    def run_it(self, *args):
        return subprocess.run([str(pmlab.CLI), *map(str, args)], capture_output=True, text=True,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)), check=False,
                              timeout=pmlab.TIMEOUT_S)

    def judge(self):
        """(exit status, findings) of `status`."""
        done = self.run_it("status", "-q")
        self.assertEqual(done.stderr, "")
        return done.returncode, re.findall(r"^finding +(.*)", done.stdout, re.M)

    def states(self):
        return sorted((json.loads(path.read_text("utf-8"))
                       for path in self.cache.glob("*/state")), key=lambda s: s["port_guid"])

    def wait(self, what, wanted, timeout=pmlab.TIMEOUT_S):
        """Until wanted(states) holds."""
        return simlab.poll_until(lambda: wanted(self.states()), timeout, what,
                                 state=lambda: str(self.states()))

    def wait_sm(self, *names):
        self.wait(str(names), lambda states: tuple(s["sm_state"] for s in states) == names)

    def events(self, number):
        """[severity kind text] of a folder."""
        folder = sorted(self.cache.glob("portmajor.*"))[number]
        return re.findall(r"^\S+ (\w+ .*)$", (folder / "events").read_text("ascii"), re.M)


class Takeover(Managers):
    def test_killed(self):
        """The finding stays until it runs again; acknowledged parts stay acknowledged."""
        first = self.start(0, 5)
        first.settle(timeout=pmlab.TIMEOUT_S)
        second = self.start(1, 2)
        self.wait_sm("master", "standby")
        self.wait("no sweep", lambda s: [one["phase"] for one in s] == ["idle"] * 2, 20)
        self.fabric.lose("h21-4")
        self.fabric.lose("leaf1:4")
        self.wait("two missing hosts", lambda s: s[0]["missing"]["hosts"] == 2
                  and s[0]["managers"] and s[0]["managers"][0]["sm_state"] == "standby")
        self.assertEqual(self.run_it("acknowledge", "--wait", 30, "h21-4").returncode, 0)
        _, (finding,) = self.judge()
        before = self.run_it("acknowledge").stdout
        self.assertRegex(finding, "^missing: host h1-4 at ")
        mark = second.mark()
        os.kill(first.process.pid, 9)
        first.process.wait(30)
        self.wait_sm("master", "master")  # the first one's is of its end
        (_, taken), (_, findings) = self.states(), self.judge()
        self.assertNotIn("master", [one["sm_state"] for one in taken["managers"]])
        self.assertFalse([text for text in findings if "two masters" in text])
        second.settle(mark, timeout=pmlab.TIMEOUT_S)
        self.wait("its state", lambda s: s[1]["missing"] and not s[1]["managers"])
        ports = [s["port_guid"] for s in self.states()]
        self.assertEqual(self.judge(), (1, [
            f"{KILLED}; the master is that of port {ports[1]}, without a standby", finding]))
        self.assertEqual(self.run_it("acknowledge").stdout, before)
        known = json.loads(self.run_it("status", "--json", sorted(
            self.cache.glob("*/state"))[1]).stdout)["state"]
        self.assertEqual([p["since"] for p in known["missing"]["parts"]],
                         [p["since"] for p in self.states()[0]["missing"]["parts"]])
        said = self.events(1)
        self.assertEqual([line for line in said if "missing" in line], [])
        self.assertEqual([line for line in said if line.endswith("has gone")], [
            f"warning opensm port {ports[0]} (h0-1), the former master, has gone"])
        self.start(0, 1)
        self.wait_sm("standby", "master")
        self.wait("the standby", lambda s: s[0]["managers"]
                  and s[0]["managers"][0]["guid"] == ports[1])
        simlab.poll_until(lambda: self.judge() == (1, [finding]), 60, "that finding alone",
                          state=self.judge)
        self.assertIn(f"warning opensm the last OpenSM (pid {first.process.pid}) was killed or "
                      "has crashed", self.events(0))
        self.assertEqual(self.run_it("drain").returncode, 0)


class SlowLinks(Managers):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = pmlab.generate(cls.folder / "slow.net", "two-level", 4, 2, 4, 1)
        test_status.slow_down(cls.net, "leaf1:5", "1xQDR")
        test_status.slow_down(cls.net, "leaf2:1", "1xQDR")
        cls.netlist = simlab.Netlist(cls.net)

    def slow(self, number):
        return [line for line in self.events(number) if "degraded" in line or "restored" in line]

    def test_takeover(self):
        """They are no news to the standby that takes over."""
        first = self.start(0, 5)
        first.settle(timeout=pmlab.TIMEOUT_S)
        second = self.start(1, 2)
        self.wait_sm("master", "standby")
        self.wait("its managers", lambda s: s[0]["managers"])
        self.assertEqual(len(self.slow(0)), 2)
        mark = second.mark()
        os.kill(first.process.pid, 9)
        first.process.wait(30)
        second.settle(mark, timeout=pmlab.TIMEOUT_S)
        self.wait("its state", lambda s: s[1]["sm_state"] == "master" and s[1]["run"]
                  and s[1]["degraded_hosts"]["count"] == s[1]["degraded_links"]["count"] == 1)
        self.assertEqual(self.slow(1), [])


class Foreign(Managers):
    def test_master(self):
        """It is named, and it has no portmajor."""
        foreign = self.enterContext(simlab.OpenSM(self.fabric, engine="updn",
                                                  host=self.netlist.hosts[0],
                                                  conf={"sm_priority": 9}, wire=wire.Wire()))
        foreign.settle(timeout=pmlab.TIMEOUT_S)
        self.start(1, 2)
        self.wait("the master", lambda s: s and s[0]["managers"])
        self.assertEqual(self.judge(), (0, []))
        (state,) = self.states()
        (master,) = state["managers"]
        self.assertEqual((master["name"], master["sm_state"], master["priority"]),
                         ("h0-1", "master", 9))
        self.wait("it is foreign", lambda s: s[0]["managers"][0]["foreign"])
        _, (finding,) = self.judge()
        self.assertRegex(finding, rf"^the master is port {master['guid']} \(h0-1\), priority 9, "
                                  r"since \d{4}-.*, and there is no plan of it here: ")
        gauges = test_status.metrics_of(next(self.cache.glob("*/portmajor.prom")))
        self.assertEqual(gauges["portmajor_sm_foreign_master"], 1)
        self.assertIn(f"warning master port {master['guid']} (h0-1) is the master and has no "
                      "portmajor, or plans are not copied", self.events(0))
        plan = self.cache / f"portmajor.{int(master['guid'], 16):016x}" / "plan"
        plan.parent.mkdir()
        plan.touch()
        self.wait("its plan is copied", lambda s: not s[0]["managers"][0]["foreign"])


class Written(labtest.Folders):
    """States that tests write, of two ports; the first is locked, as OpenSM runs."""

    def write(self, *states):
        cache = self.folder / self.id().rpartition(".")[2]
        for number, members in enumerate(states, 1):
            guid = f"{number:016x}"
            folder = cache / f"portmajor.{guid}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "state").write_text(json.dumps({
                **test_status.GOOD, "time": int(time.time()), "port_guid": f"0x{guid}",
                "managers": [], **members}))
        return cache

    def judge(self, cache):
        done = subprocess.run([pmlab.CLI, "status", "-q"], capture_output=True, text=True,
                              env=dict(os.environ, OSM_CACHE_DIR=str(cache)), check=False,
                              timeout=60)
        return done.returncode, re.findall(r"^finding +(.*)", done.stdout, re.M)

    @staticmethod
    def manager(number, state):
        return {"guid": f"0x{number:016x}", "name": None, "sm_state": state, "priority": 3,
                "since": 0, "foreign": False}

    def test_two_masters(self):
        """By the plans beside the states, which are of one fabric, or by one's view of the other.
        """
        cache = self.write({}, {})
        self.assertEqual(self.judge(cache), (0, []))
        end = "; end one of them"
        both = ["two masters of one fabric: the other is OpenSM of port "
                f"0x{number:016x}{end}" for number in (2, 1)]
        net = pmlab.generate(self.folder / "masters.net", "two-level", 2, 2, 2, 1)
        with pmlab.Lab(net) as lab:
            lab.bring_up()
            for folder in cache.iterdir():
                shutil.copy(pmlab.kept(lab.osm.cache_dir, "plan"), folder / "plan")
        self.assertEqual(self.judge(cache), (1, both))
        self.write({"managers": [self.manager(2, "master")]}, {})
        status, found = self.judge(cache)
        self.assertEqual(status, 1)
        self.assertRegex(found[0], "^two masters of one fabric, since .*: the other is port "
                                   f"0x{2:016x}, priority 3{end}$")
        self.assertEqual(found[1:], both[1:])

    def test_former_master(self):
        """Its last knowledge of the fabric is no finding, its end is one."""
        lost = {"missing": test_status.missing(test_status.part("leaf7", hosts=3))}
        for standbys, word in (([], "without a standby"),
                               ([self.manager(7, "standby")], "with a standby")):
            cache = self.write({"running": False, **lost},
                               {"managers": [self.manager(1, "discovering"), *standbys]})
            self.assertEqual(self.judge(cache), (1, [
                f"OpenSM has ended; the master is that of port 0x{2:016x}, {word}"]))
        self.write({"running": False, **lost}, {"managers": []})
        status, found = self.judge(cache)
        self.assertEqual((status, found[0], len(found)), (1, "OpenSM has ended", 2))


if __name__ == "__main__":
    labtest.main()
