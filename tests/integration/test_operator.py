#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
An operator's view and actions: the log as OpenSM writes it for users, engines in another order, a
configuration with a typing error.
"""

import json
import pathlib
import re
import shlex
import unittest

import control
import labtest
import pmlab
import simlab
import wire

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def readme_conf():
    """The opensm.conf lines of the README."""
    line = re.search(r"^printf .* >> /etc/opensm/opensm\.conf$", README.read_text(), re.M)
    return shlex.split(line[0])[2:-2]


class Log(labtest.Folders):
    def test_lines_arrive_at_once(self):
        """With the README's opensm.conf, and without an option by which OpenSM flushes its log."""
        conf = readme_conf()
        self.assertIn("routing_engine portmajor,nue", conf)
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        with pmlab.Fabric(netlist) as fabric, simlab.OpenSM(
                fabric, conf=conf, plugin_dir=pmlab.BUILD, preload=pmlab.preload(),
                env=pmlab.sanitizer_env(), flush=False) as osm:
            osm.wait_log("portmajor run 1: ")
            osm.settle(osm.start_mark, sweep=False)
            mark = osm.log_offset()
            fabric.lose("leaf5:20")
            osm.wait_log(r"portmajor repair 1: failed: 1 cable \(leaf5\[20\]", mark, timeout=20)
            osm.wait_log(r"portmajor run 2: failed: 1 cable \(leaf5\[20\]", mark, timeout=20)


class SecondEngine(labtest.Folders):
    """Behind another engine: LIDs stay that engine's, and portmajor routes when OpenSM calls it."""

    def test_after_ftree(self):
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        with pmlab.Lab(netlist, engine="ftree,portmajor") as lab:
            lab.osm.settle(timeout=pmlab.TIMEOUT_S)
            self.assertEqual(set(lab.osm.engines_used()), {"ftree"})
            before = pmlab.Dump(lab.dump())
            lab.event("lose", "leaf5:20")  # too much for ftree
            self.assertEqual(lab.osm.engines_used()[-1], "portmajor")
            self.assertNotIn("out of memory", lab.osm.log())
            self.assertEqual(pmlab.walk_faults(lab.walk(), plan=False), [])
            self.assertEqual(pmlab.Dump(lab.dump()).lids, before.lids)
            event = lab.event("lose", "leaf6:21")
            self.assertEqual(lab.osm.engines_used()[-1], "portmajor")
            self.assertEqual(event.runs[-1].recomputed, 0)
            self.assertEqual(pmlab.walk_faults(lab.walk(), plan=False), [])
            self.assertEqual(pmlab.Dump(lab.dump()).lids, before.lids)


    def test_drained(self):
        """Drains request a sweep once, not again and again."""
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        cache = self.folder / "drained"
        cache.mkdir()
        with pmlab.Lab(netlist, engine="updn,portmajor", cache_dir=cache) as lab:
            lab.osm.settle(timeout=pmlab.TIMEOUT_S)
            mark = lab.osm.mark()
            guid = int(pmlab.Dump(lab.dump()).guids["leaf5"])
            answer = control.ask(cache, "drain", parts=[control.part(guid, 20)])
            self.assertEqual((answer["state"], answer["cause"]), (
                "pending", "another engine routes: it follows when portmajor routes"))
            lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
            self.assertEqual(set(lab.osm.engines_used()), {"updn"})
            self.assertLessEqual(len(lab.osm.engines_used()), 2)


    def test_released(self):
        """Holds that end when portmajor is not called any more request one sweep at most."""
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        cache = self.folder / "cleared"
        cache.mkdir()
        with pmlab.Lab(netlist, cache_dir=cache) as lab:
            lab.osm.settle(timeout=pmlab.TIMEOUT_S)
        slow = wire.Wire()
        held = slow.hold("request", method="get", skip=100, times=1)  # in the first discovery
        with pmlab.Lab(netlist, engine="updn,portmajor", cache_dir=cache, wire=slow) as lab:
            slow.wait_held()
            simlab.poll_until(lambda: control.path_of(cache).exists(), 60, "the socket")
            answer = control.ask(cache, "release", all=True)
            self.assertIn("OpenSM is not the master", answer["reason"])
            slow.release()
            held.off()
            lab.osm.settle(timeout=pmlab.TIMEOUT_S, sweep=False)
            self.assertEqual(control.ask(cache, "release", all=True)["reason"], None)
            lab.osm.settle(timeout=pmlab.TIMEOUT_S, sweep=False)
            self.assertEqual(set(lab.osm.engines_used()), {"updn"})
            self.assertLessEqual(len(lab.osm.engines_used()), 2)


class Configuration(labtest.Folders):
    @staticmethod
    def state_of_a_run(osm):
        path = pmlab.kept(osm.cache_dir, "state")
        return path if path.exists() and json.loads(path.read_text())["run"] else None

    def test_typing_error(self):
        """Another engine routes, status has the reason, and portmajor returns when it is mended; no
        port changes its LID."""
        config = self.folder / "portmajor.conf"
        config.write_text("early_repiar no\n")
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 2, 2, 2, 1)
        with pmlab.Fabric(netlist) as fabric, pmlab.open_sm(fabric, config=config) as osm:
            osm.settle(timeout=pmlab.TIMEOUT_S)
            self.assertEqual(set(osm.engines_used()), {"minhop"})
            state = pmlab.kept(osm.cache_dir, "state")
            done = simlab.poll_until(lambda: self.status(state, "fell back to minhop"), 60,
                                     "the finding")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stdout, f"configuration is not used: {config}:1: .*early_repiar")
            self.assertRegex(done.stdout, f"fell back to minhop: no configuration: {config}:1: ")
            self.assertFalse(pmlab.kept(osm.cache_dir, "plan").exists())
            # One event about the file, and one about the engine.
            told = pmlab.run_cli("events", pmlab.kept(osm.cache_dir, "events")).stdout
            errors = re.findall(r"^\S+ error +(\w+) +(\S+ \S+ \S+ \S+)", told, re.M)
            self.assertEqual(errors, [("config", f"not used: {config}:1: unknown"),
                                      ("engine", "OpenSM fell back to")], told)
            self.assertIn("fell back to minhop: ", told)
            before = osm.log_offset()
            config.write_text("early_repair no\nlid_order leaf-major\n")
            osm.hup()
            osm.wait_log("portmajor run 1: ", before)
            osm.settle(timeout=pmlab.TIMEOUT_S)
            self.assertEqual(osm.engines_used()[-1], "portmajor")
            plan = simlab.poll_until(pmlab.kept(osm.cache_dir, "plan").exists, 60, "the plan")
            self.assertTrue(plan)
            simlab.poll_until(lambda: pmlab.run_cli("status", state).returncode == 0, 60,
                              "no finding")

    def test_lost(self):
        """Without the file that opensm.conf names portmajor does not route, and the plan stays; one
        with `shadow yes` needs a restart, another one brings portmajor back."""
        config = self.folder / "lost.conf"
        netlist = pmlab.generate(self.folder / "lost.net", "two-level", 3, 3, 2, 1)
        cache = self.folder / "cache"
        cache.mkdir()
        config.write_text("flap_limit 0\n")
        with pmlab.Fabric(netlist) as fabric:
            with pmlab.open_sm(fabric, config=config, cache_dir=cache) as osm:
                osm.settle(timeout=pmlab.TIMEOUT_S)
                plan = simlab.poll_until(lambda: pmlab.kept(cache, "plan").exists()
                                         and pmlab.kept(cache, "plan").read_bytes(), 60, "the plan")
            config.unlink()
            with pmlab.open_sm(fabric, config=config, cache_dir=cache) as osm:
                osm.settle(timeout=pmlab.TIMEOUT_S)
                fabric.lose("leaf1")
                osm.settle(timeout=pmlab.TIMEOUT_S)
                self.assertEqual(set(osm.engines_used()), {"minhop"})
                self.assertRegex(osm.log(), f"configuration not used, .*: {config}: No such file")
                config.write_text("shadow yes\n")
                osm.hup()
                state = pmlab.kept(cache, "state")
                simlab.poll_until(lambda: self.status(state, "shadow mode begins when OpenSM is "
                                                      "restarted"), 60, "the finding")
                self.assertEqual(set(osm.engines_used()), {"minhop"})
                self.assertNotRegex(osm.log(), "portmajor (run|repair|shadow)")
                self.assertEqual(pmlab.kept(cache, "plan").read_bytes(), plan)
                config.write_text("flap_limit 0\n")
                osm.hup()
                osm.wait_log("portmajor run 1: ")
                fabric.back("leaf1")
                osm.settle(timeout=pmlab.TIMEOUT_S)
                self.assertEqual(osm.engines_used()[-1], "portmajor")
                self.assertEqual(pmlab.kept(cache, "plan").read_bytes(), plan)
                self.assertEqual(list(cache.rglob("plan.*")), [])

    @staticmethod
    def status(state, word):
        done = pmlab.run_cli("status", state)
        return done if word in done.stdout else None

    def test_topology_that_opensm_leaves(self):
        """opensm-subnet.lst has the same fabric as the simulated netlist."""
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 3, 2, 1)
        with pmlab.Fabric(netlist) as fabric, pmlab.open_sm(fabric) as osm:
            osm.settle(timeout=pmlab.TIMEOUT_S)
            path = osm.path / "opensm-subnet.lst"
            simlab.poll_until(lambda: path.exists() and path.read_text().count("\n") == 40, 20,
                              "the topology")
            plans = [pmlab.run_cli("plan", "-l", of) for of in (netlist, path)]
        self.assertEqual([(p.returncode, p.stdout) for p in plans], [(0, plans[0].stdout)] * 2)


if __name__ == "__main__":
    unittest.main()
