#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The plugin's judgement of another engine's tables, compared with `portmajor check`, which judges
those read back from the switches.
"""

import json
import random
import unittest

import fallback_engines
import labtest
import odd_netlists
import pmlab
import real_fabrics
import simlab


class EngineTables(labtest.Folders):
    def kept(self, lab, name):
        return pmlab.kept(lab.osm.cache_dir, name).read_text(encoding="utf-8")

    def judged(self, lab, engine, *topology):
        """Pairs cut off, whether there is a credit loop, and `engine_tables` of the state, as soon
        as that agrees with the switches' tables. The topology is ibsim's if none is given."""
        found = json.loads(pmlab.run_cli("check", "--json", *topology, lab.dump()).stdout)
        right = {"engine": engine, **found["reachable"]}

        def look():
            done = pmlab.run_cli("status", "--json", pmlab.kept(lab.osm.cache_dir, "state"))
            status = json.loads(done.stdout)
            told = status["state"]["engine_tables"]
            return (done.returncode, status, told) if told and right.items() <= told.items() \
                else None

        returncode, status, told = simlab.poll_until(look, 20, f"{right} in the state")
        self.assertEqual(returncode, 1 if status["findings"] else 0)
        cut = found["reachable"]["connected"] - found["reachable"]["pairs"]
        loop = found["credits"]["length"] > 0 and not told["lanes"]
        self.assertEqual((bool(told["cut"]), bool(told["credit_loop"])), (cut > 0, loop))
        for text in (told["cut"], told["credit_loop"]):
            self.assertTrue(text is None or text in status["findings"], text)
        return cut, loop, told

    def events(self, lab, kind):
        return [line.split(" ", 3)[3] for line in self.kept(lab, "events").splitlines()
                if line.split(" ", 3)[2] == kind]

    def metric(self, lab, name):
        return [int(line.split()[-1]) for line in self.kept(lab, "portmajor.prom").splitlines()
                if line.startswith(f"portmajor_{name}{{")]

    def again(self, lab):
        """Another sweep of the same fabric."""
        mark = lab.osm.mark()
        lab.osm.hup()
        lab.osm.settle(mark)

    def test_cut_off(self):
        """updn takes leaves for roots when cables are missing, and cuts hosts off."""
        net = pmlab.generate(self.folder / "tree.net", "two-level", 20, 2, 4, 1)
        cables = fallback_engines.cables_of(simlab.Netlist(net))
        missing = random.Random(fallback_engines.SEED).sample(cables, len(cables) * 15 // 100)
        with pmlab.Fabric(net) as fabric:
            for cable in missing:
                fabric.lose(cable)
            with pmlab.Lab(net, fabric=fabric, engine="updn,portmajor") as lab:
                lab.osm.settle()
                cut, _, told = self.judged(lab, "updn")
                self.assertGreater(cut, 100)
                self.assertRegex(told["cut"], rf"^updn cuts off {cut} of \d+ pairs of hosts "
                                 r"that cables join \(leaf\d+ to h\d+-\d, \.\.\): "
                                 "set routing_engine portmajor,nue and restart OpenSM$")
                self.again(lab)
                self.judged(lab, "updn")
                self.assertEqual(len(self.events(lab, "tables")), 1)
                self.assertEqual(lab.osm.log().count("updn cuts off"), 1)
                self.assertEqual(self.metric(lab, "engine_cuts_off"), [1])
                mark = lab.osm.mark()
                for cable in missing:
                    fabric.back(cable)
                lab.osm.hup()
                lab.osm.settle(mark)
                self.assertEqual(self.judged(lab, "updn")[:2], (0, False))
                simlab.poll_until(lambda: any("serve all pairs again" in text
                                              for text in self.events(lab, "tables")),
                                  60, "the end of it as an event")

    def test_ring(self):
        """A ring of leaves can deadlock with minhop, but not with the recommended engine."""
        net = odd_netlists.ring().write(self.folder / "ring.net")
        with pmlab.Lab(net, engine="portmajor,minhop") as lab:
            lab.osm.settle()
            _, loop, told = self.judged(lab, "minhop")
            self.assertTrue(loop)
            self.assertIn("set routing_engine portmajor,nue", told["credit_loop"])
            self.again(lab)
            self.assertEqual(len(self.events(lab, "deadlock")), 1)
            self.assertEqual(self.metric(lab, "engine_credit_loop"), [1])
        with pmlab.Lab(net, engine="portmajor,nue") as lab:
            lab.osm.settle()
            self.assertEqual(self.judged(lab, "nue")[:2], (0, False))
            self.assertEqual(self.metric(lab, "engine_credit_loop"), [0])

    def test_lanes(self):
        """A loop over all lanes together is no fault."""
        net = odd_netlists.ring(8).write(self.folder / "ring.net")
        with pmlab.Lab(net, engine="portmajor,dfsssp", conf={"qos": "TRUE"}) as lab:
            lab.osm.settle()
            _, loop, told = self.judged(lab, "dfsssp")
            self.assertTrue(told["lanes"])
            self.assertFalse(loop)

    def test_roots(self):
        """In shadow mode, in a real fabric: portmajor's roots take updn's credit loops away."""
        net = real_fabrics.write(real_fabrics.NDR_POD, self.folder / "pod.net")
        roots = self.folder / "roots"
        self.assertEqual(pmlab.run_cli("plan", "-q", "--roots", roots, net).returncode, 0)
        self.assertEqual(len(roots.read_text(encoding="ascii").splitlines()), 9)
        config = self.folder / "shadow.conf"
        config.write_text("shadow yes\n", encoding="ascii")
        for conf, loops in (({}, True), ({"root_guid_file": roots}, False)):
            with self.subTest(conf), pmlab.Lab(
                    net, engine="portmajor,updn",
                    conf={"event_plugin_options": config, **conf}) as lab:
                lab.osm.settle()
                self.assertEqual(self.judged(lab, "updn", net)[:2], (0, loops))

    def test_portmajor_is_not_judged(self):
        """Its own tables are the subject of `reachable`."""
        net = pmlab.generate(self.folder / "small.net", "two-level", 3, 2, 2, 1)
        with pmlab.Lab(net) as lab:
            lab.bring_up()
            state = json.loads(self.kept(lab, "state"))
            self.assertEqual((state["engine"]["active"], state["engine_tables"]), (True, None))
            self.assertEqual(self.metric(lab, "engine_cuts_off"), [0])
            self.assertEqual(self.metric(lab, "engine_credit_loop"), [0])


if __name__ == "__main__":
    unittest.main()
