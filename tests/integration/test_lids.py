#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""LIDs over time: kept in use, kept on disk, given anew, taken over, and with LMC."""

import json
import unittest

import labtest
import pmlab
import simlab
import wire

NODE_INFO, PORT_GUID = 0x11, 20  # an attribute, and the offset of the port's GUID in it


class LidCase(labtest.CacheCase):
    def lab(self, fabric, cache=None, **kwargs):
        return super().lab(fabric, cache or self.cache, **kwargs)

    def set_aside(self):
        return [path for path in self.cache.rglob("*") if ".bad-" in path.name]


class InUse(LidCase):
    @classmethod
    def make_netlist(cls):
        return pmlab.generate(cls.folder / "fabric.net", "director", 36)

    def test_nothing_moves_until_asked(self):
        """A fabric that ran with minhop's LIDs keeps them; -r gives the plan's, once."""
        with simlab.Fabric(self.netlist) as fabric:
            with simlab.OpenSM(fabric, engine="minhop", cache_dir=self.cache) as osm:
                osm.settle()
            with self.lab(fabric) as lab:
                event = lab.bring_up()
                self.assertEqual(event.lids_changed, 0)
                self.assertGreater(event.runs[0].out_of_plan, 0)
                self.assertIn("tables found in the switches: none is kept", lab.osm.log())
                self.check_reboots(event.runs[0].out_of_plan)
                walked = lab.walk()
                self.assertEqual(pmlab.walk_faults(walked, plan=False), [])
                self.assertEqual(lab.lose("h7-3").wire, 0)
                lab.back("h7-3")
            with self.lab(fabric, args=["-r"]) as lab:
                event = lab.bring_up()
                self.assertGreater(event.lids_changed, 0)
                self.assertEqual(pmlab.walk_faults(lab.walk()), [])

    def check_reboots(self, out_of_plan):
        """The plugin's list names all ports that have to come up anew, each once."""
        found = simlab.poll_until(lambda: pmlab.kept(self.cache, "fabric.net").exists()
                                  and pmlab.kept(self.cache, "fabric.net"), 60, "the fabric")
        done = pmlab.run_cli("plan", "--json", "--reboots", found)
        reboots = json.loads(done.stdout)["reboots"]
        order = [node["name"] for group in reboots["order"] for node in group]
        self.assertEqual((reboots["ports"], reboots["nodes"]), (out_of_plan, len(order)))
        self.assertEqual(len(set(order)), len(order))
        self.assertLess(0, reboots["twice_by_index"])
        self.assertLess(reboots["twice_by_index"], len(order))

    def test_migrate(self):
        """With migrate, a host that comes up anew gets the planned LID; no other host does."""
        config = self.folder / "migrate.conf"
        config.write_text("migrate yes\nflap_limit 0\n")
        with simlab.Fabric(self.netlist) as fabric:
            with simlab.OpenSM(fabric, engine="minhop", cache_dir=self.cache) as osm:
                osm.settle()
            with self.lab(fabric, conf={"event_plugin_options": config}) as lab:
                before = lab.bring_up()
                self.assertEqual(before.lids_changed, 0)
                lab.lose("h7-3")
                event = lab.back("h7-3")
                self.assertLessEqual(event.lids_changed, 1)
                walked = lab.walk()
                self.assertEqual(pmlab.walk_faults(walked, plan=False), [])


class OnDisk(LidCase):
    def bring_up_with(self, spoil):
        with simlab.Fabric(self.netlist) as fabric, self.lab(fabric) as lab:
            lab.bring_up()
            lids = pmlab.Dump(lab.dump()).lids
        plan = pmlab.kept(self.cache, "plan")
        spoil(plan)
        with simlab.Fabric(self.netlist) as fabric, self.lab(fabric) as lab:
            lab.bring_up()
            self.assertEqual(pmlab.Dump(lab.dump()).lids, lids)
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])
            return lab.osm.log()

    def test_used_again(self):
        self.bring_up_with(lambda plan: None)
        self.assertEqual(self.set_aside(), [])

    def test_damaged(self):
        def spoil(plan):
            text = plan.read_bytes()
            plan.write_bytes(text[:5000] + b"7" + text[5001:])

        log = self.bring_up_with(spoil)
        self.assertIn("damaged or cut short", log)
        self.assertEqual(len(self.set_aside()), 1)

    def test_cut_short(self):
        self.bring_up_with(lambda plan: plan.write_bytes(plan.read_bytes()[:5000]))
        self.assertEqual(len(self.set_aside()), 1)

    def test_of_another_fabric(self):
        other = simlab.Netlist(pmlab.generate(self.folder / "other.net", "xgft", 3, "4,4,4",
                                              "1,4,4"))
        with pmlab.Lab(other) as lab:
            lab.bring_up()
            plan = pmlab.kept(lab.osm.cache_dir, "plan").read_bytes()
        with self.lab(None) as lab:
            lab.bring_up()
        pmlab.kept(self.cache, "plan").write_bytes(plan)
        with simlab.Fabric(self.netlist) as fabric, self.lab(fabric) as lab:
            event = lab.bring_up()
            self.assertIn("the plan of another fabric", lab.osm.log())
            self.assertEqual(event.wire, 40 * 2)
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])
        self.assertEqual(len(self.set_aside()), 1)


class Replaced(LidCase):
    def test_switches(self):
        """A new switch with the old cabling takes the LIDs of its place: no other switch gets a
        Set."""
        with simlab.Fabric(self.netlist) as fabric, self.lab(fabric) as lab:
            lab.bring_up()
            before = pmlab.Dump(lab.dump()).lids
            for number, name in enumerate(("leaf11", "s4-line1", "s4-fab0")):
                with self.subTest(name):
                    lab.lose(name)
                    fabric.console(f'Clear "{name}"',
                                   f'Guid "{name}" {0xABC0000 + number:#x}')
                    event = lab.back(name)
                    self.assertEqual([run.whole for run in event.runs if run.sent][:1], [1])
                    self.assertEqual(event.lids_changed, 0)
            self.assertEqual(pmlab.Dump(lab.dump()).lids, before)


class PortGuid(LidCase):
    def test_of_switches(self):
        """Switches with another GUID at port 0 than the node's keep their LIDs."""
        netlist = pmlab.generate(self.folder / "guids.net", "two-level", 6, 3, 3, 1)
        wires = wire.Wire()
        with pmlab.Fabric(netlist) as fabric:
            wires.fabric = fabric
            for node in ("leaf1", "spine0"):
                wires.alter("answer", PORT_GUID, b"\x77", node=node, attr=NODE_INFO)
            with pmlab.Lab(netlist, fabric=fabric, wire=wires) as lab:
                lab.bring_up()
                self.assertEqual(pmlab.walk_faults(lab.walk()), [])
                before = pmlab.Dump(lab.dump()).lids
                for _ in range(2):
                    event = lab.measure("SIGHUP", lab.osm.hup)
                    self.assertEqual((event.wire, event.runs[-1].assigned), (0, 0))
                lab.lose("leaf2:4")
                lab.back("leaf2:4")
                self.assertEqual(pmlab.Dump(lab.dump()).lids, before)


class WithLmc(LidCase):
    def test_events(self):
        for lmc in (1, 2):
            with self.subTest(lmc=lmc), simlab.Fabric(self.netlist) as fabric, \
                    self.lab(fabric, args=["-l", str(lmc)]) as lab:
                lab.bring_up()
                for target in ("s3-*", "leaf5:20", "h7-3"):
                    predicted = lab.whatif(target, lmc=lmc).blocks
                    event = lab.lose(target)
                    self.assertEqual(event.wire, predicted, target)
                    self.assertEqual(pmlab.walk_faults(lab.walk("-m", str(lmc))), [])
                    lab.back(target)
                pmlab.kept(self.cache, "plan").unlink()


if __name__ == "__main__":
    unittest.main()
