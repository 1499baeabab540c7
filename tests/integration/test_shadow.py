#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Shadow mode: portmajor computes and logs its Sets, and another engine routes."""

import json
import os
import re
import subprocess
import unittest

import labtest
import pmlab

SHADOW = re.compile(r"portmajor shadow (\d+): (.*); would send LFT blocks (?:(\d+) for this, )?"
                    r"(\d+) to take over, least (\d+), full load (\d+); switches (\d+), entries "
                    r"(\d+); LIDs out of plan (\d+); (\w+) sent (\d+), acked (\d+); computed")


class Shadow(labtest.Folders):
    ENGINE = "updn"

    def setUp(self):
        self.netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        self.fabric = self.enterContext(pmlab.Fabric(self.netlist))
        self.config = self.folder / "portmajor.conf"
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()

    def opensm(self, config="shadow yes\n", engine="portmajor,updn", **conf):
        """The cache folder is kept from one to the next."""
        self.config.write_text(config)
        return pmlab.Lab(self.netlist, fabric=self.fabric, engine=engine, cache_dir=self.cache,
                         conf={"event_plugin_options": self.config, **conf})

    def status(self, status=0, *args):
        done = subprocess.run([str(pmlab.CLI), "status", *args],
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)),
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def shadows(self, lab, since=0):
        """Numbers of the lines, None for missing ones."""
        return [(line[2], *(n and int(n) for n in line.groups()[2:9]), line[10],
                 int(line[11]), int(line[12]))
                for line in SHADOW.finditer(lab.osm.log(since))]

    def stock(self, events):
        """LIDs and LFT Sets without the plugin: at the start and of events."""
        with pmlab.Fabric(self.netlist) as fabric, \
                pmlab.simlab.OpenSM(fabric, engine=self.ENGINE) as osm:
            osm.settle()
            sets = [osm.delta(osm.start_mark)["lft_sets"]]
            for verb, target in events:
                measured = pmlab.simlab.measure(fabric, osm,
                                                lambda: getattr(fabric, verb)(target))
                sets.append(measured["lft_sets"])
            fabric.dump(self.folder / "stock.dump")
        return pmlab.Dump(self.folder / "stock.dump"), sets

    EVENTS = (("lose", "leaf5:20"), ("back", "leaf5:20"), ("lose", "h7-3"), ("back", "h7-3"))

    def test_nothing_of_it_is_felt(self):
        """The wire, LIDs and tables are those of the other engine alone; the predicted costs are
        the real ones."""
        wanted, sets = self.stock(self.EVENTS)
        with self.opensm() as lab:
            found = [lab.bring_up().wire]
            for verb, target in self.EVENTS:
                found.append(lab.measure(verb, lambda v=verb, t=target:
                                         getattr(self.fabric, v)(t)).wire)
            now = pmlab.Dump(lab.dump())
            log = lab.osm.log()
            shadows = self.shadows(lab)
            self.assertEqual(set(lab.osm.engines_used()), {self.ENGINE})
            self.assertIn("engine      updn\n", self.status())
            told = self.status()
            self.assertIn("to take over", told)
            state = json.loads(self.status(0, "--json"))["state"]
        self.assertEqual(found, sets)
        self.assertEqual(now.lids, wanted.lids)
        self.assertEqual(list(pmlab.changed_entries(wanted, now))[:5], [])
        self.assertNotRegex(log, "portmajor: .*cannot route|portmajor run|portmajor repair")
        self.assertIn("shadow mode: nothing is routed or sent", log)
        self.assertFalse(pmlab.kept(self.cache, "plan").exists())
        changes = [s[0] for s in shadows]
        self.assertIn("failed: 1 cable (leaf5[20]-s1-line0[6])", changes)
        self.assertEqual([s[1] for s in shadows if s[0].endswith("1 host (leaf7[3])")], [0, 0])
        self.assertGreater(shadows[-1][2], 0)
        self.assertEqual(state["engine"]["reason"], "shadow mode (shadow yes in portmajor.conf)")
        self.assertEqual(state["shadow"]["take_over"], shadows[-1][2])
        self.assertGreater(state["out_of_plan"], 0)
        self.assertEqual(state["out_of_plan"], state["shadow"]["lids_out_of_plan"])
        # The Sets of the other engine beside it: all that were on the wire.
        self.assertEqual([s[8:] for s in shadows], [(self.ENGINE, n, n) for n in found])
        self.assertEqual(state["shadow"]["other"],
                         {"engine": self.ENGINE, "sent": found[-1], "acked": found[-1]})
        self.assertIn(f"{self.ENGINE} sent LFT blocks {found[-1]:,}; would send", told)

    def test_foretells_taking_over(self):
        """The fabric runs with updn, then in the shadow, then with portmajor."""
        with self.opensm(engine="updn") as lab:
            lab.osm.settle()
        with self.opensm() as lab:
            lab.bring_up()
            before = pmlab.Dump(lab.dump())
            lab.measure("lose", lambda: self.fabric.lose("leaf5:20"))
            lab.measure("back", lambda: self.fabric.back("leaf5:20"))
            foretold = self.shadows(lab)
        with self.opensm("flap_limit 0\n") as lab:
            lab.bring_up()
            now = pmlab.Dump(lab.dump())
            self.assertEqual(now.lids, before.lids)
            # OpenSM sends whole tables at its start; the differences were predicted.
            differ = {(switch, lid // 64) for switch, lid in pmlab.changed_entries(before, now)}
            self.assertEqual(len(differ), foretold[-1][2])
            lost = lab.measure("lose", lambda: self.fabric.lose("leaf5:20"))
            self.assertEqual(lost.wire, next(s[1] for s in foretold if s[0].startswith("failed")))

    def test_errors_elsewhere_do_not_end_it(self):
        with self.opensm("shadow yes\nflap_limmit 3\n") as lab:
            lab.bring_up()
            self.assertEqual(set(lab.osm.engines_used()), {self.ENGINE})
            lab.osm.wait_log("configuration not used, all keys have their defaults")


if __name__ == "__main__":
    unittest.main()
