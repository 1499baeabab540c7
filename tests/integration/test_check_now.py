#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""check --now: the plugin itself reads the tables and judges them."""

import json
import os
import re
import subprocess
import unittest

import control
import labtest
import pmlab
import simlab
import smps
import wire

BLOCK = 64
DROP = 255
AHEAD = 4 + 4  # Gets that are out at a time: on the wire, and in OpenSM's queue


class NowCase(labtest.Folders):
    GENERATE = ("director", 36)
    HOST = "h1-1"  # of the client that alters tables

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = pmlab.generate(cls.folder / "fabric.net", *cls.GENERATE)

    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()
        self.fabric = self.enterContext(pmlab.Fabric(self.net))

    def start(self, **kwargs):
        self.wire = wire.Wire(trace=True)
        lab = self.enterContext(pmlab.Lab(self.net, fabric=self.fabric, cache_dir=self.cache,
                                          wire=self.wire, **kwargs))
        lab.bring_up()
        return lab

    def spawn(self, *args):
        return subprocess.Popen([str(pmlab.CLI), "check", "--now", *map(str, args)], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)))

    def check(self, *args, status=0):
        with self.spawn(*args) as process:
            text = process.communicate(timeout=pmlab.TIMEOUT_S)[0]
        self.assertEqual(process.returncode, status, text)
        return text

    def run_it(self, *args):
        return subprocess.run([str(pmlab.CLI), *args], capture_output=True, text=True,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)), check=False,
                              timeout=pmlab.TIMEOUT_S).stdout

    def found(self, *args, status=0):
        return json.loads(self.check("--json", *args, status=status))

    def kinds(self, found):
        return {finding["kind"]: finding["count"] for finding in found["findings"]}

    def set_entry(self, switch, lid, port):
        """Alters a table behind OpenSM's back; returns the former entry."""
        with smps.Smps(self.fabric, self.HOST, wire.Wire()) as client:
            data = bytearray(client.get(switch, simlab.ATTR_LFT, lid // BLOCK).data)
            before, data[lid % BLOCK] = data[lid % BLOCK], port
            answer = client.set(switch, simlab.ATTR_LFT, lid // BLOCK, bytes(data))
            self.assertEqual((answer.status, answer.data[lid % BLOCK]), (0, port))
        return before


class Tables(NowCase):
    def test_in_order(self):
        """All tables are read once, and none is set; the paths are those of the Dump."""
        lab = self.start()
        self.wire.records()
        found = self.found()
        asked = [r for r in self.wire.records() if r.event == "asked"]
        switches = len(lab.netlist.switches)
        self.assertEqual(found["findings"], [])
        self.assertEqual((found["tables"], found["tables_read"]["read"]), (switches, switches))
        self.assertEqual({r.method for r in asked}, {wire.GET})
        blocks = [(r.guid, r.modifier) for r in asked if r.attr == simlab.ATTR_LFT]
        self.assertEqual(len(blocks), found["tables_read"]["blocks"])
        self.assertEqual(len(set(blocks)), len(blocks))
        self.assertEqual(found["paths"], lab.walk()["paths"])
        self.assertIn("\ntables read: 90 of 90 switches, ", "\n" + self.check())
        self.assertIn("tables read on request: 90 of 90 switches", lab.osm.log())

    def test_no_file_is_left(self):
        """Neither after a while, nor by a killed process."""
        lab = self.start()
        tables = pmlab.kept(self.cache, "tables")
        self.check()
        self.assertTrue(tables.exists())
        lab.osm.process.kill()
        lab.osm.process.wait(30)
        lab.close()
        self.start()
        simlab.poll_until(lambda: not tables.exists(), 30, "the file of another process to go")
        self.check()
        simlab.poll_until(lambda: not tables.exists(), 120, "the file to go")

    def test_altered(self):
        """Behind OpenSM's back: the switch is named, and the paths that end there."""
        config, prom = self.folder / "portmajor.conf", self.folder / "portmajor.prom"
        config.write_text(f"prometheus {prom}\n", encoding="ascii")
        lab = self.start(conf={"event_plugin_options": config})
        lid = pmlab.Dump(lab.dump()).lids["h3-3"]
        before = self.set_entry("leaf7", lid, DROP)
        text = self.check(status=1)
        self.assertIn('finding: 1 switch has other entries than OpenSM has set: "leaf7" '
                      f"(1 LFT block, from LID {lid // BLOCK * BLOCK} on)\n", text)
        self.assertIn('(lost: from "leaf7" to LID', text)
        # It stays a finding, and is an event.
        self.assertRegex(self.run_it("status", "-q"), 'finding +1 switch has other entries than '
                         r'OpenSM has set: "leaf7" \(.*\), as read at 20')
        simlab.poll_until(lambda: re.search(r'portmajor_findings\{.*kind="entries"\} 1\n',
                                            prom.read_text(encoding="ascii")), 30, "the metric")
        self.set_entry("leaf7", lid, before)
        self.check()
        self.assertNotIn("finding", self.run_it("status", "-q"))
        self.assertEqual(re.findall(r"\w+ +(?:un)?set +.*", self.run_it("events")), [
            "warning unset      leaf7 has other entries than OpenSM has set (1 block)",
            "notice  set        leaf7 has its table again"])
        # An entry that leads to the host by another path is found only by the record.
        other = next(p for p in range(19, 37) if p != before)
        self.set_entry("leaf7", lid, other)
        self.assertEqual(self.kinds(self.found(status=1)), {"not-as-set": 1})
        lab.osm.stop()
        self.start()
        self.check()

    def test_deaf(self):
        self.start()
        with self.wire.drop("request", node="leaf25", method="get", attr=simlab.ATTR_LFT):
            found = self.found(status=1)
            text = self.check("-q", status=1)
        self.assertEqual([s["name"] for s in found["tables_read"]["unanswered"]], ["leaf25"])
        self.assertEqual(self.kinds(found)["no-answer"], 1)
        self.assertIn('finding: 1 switch does not answer, so paths through it count as lost: '
                      '"leaf25"\n', text)
        self.check()

    def test_one_lost_answer(self):
        """It is read again."""
        self.start()
        # As often as OpenSM sends a Get.
        with self.wire.drop("answer", node="leaf25", method="get", attr=simlab.ATTR_LFT,
                            modifier=3, times=4) as lost:
            self.check()
        self.assertEqual(lost.acted, 4)


class Meanwhile(NowCase):
    def hold(self, node):
        """Stops everything before a Get to this switch."""
        self.wire.hold("request", node=node, method="get", attr=simlab.ATTR_LFT, times=1)

    def spawn_held(self):
        process = self.enterContext(self.spawn("--json"))
        self.wire.wait_held()
        return process

    def result(self, process, status=0):
        text = process.communicate(timeout=pmlab.TIMEOUT_S)[0]
        self.assertEqual(process.returncode, status, text)
        return json.loads(text) if status < 2 else text

    def test_failure(self):
        """A repair comes before the rest of the tables, even for the switch that is read; the
        result has the tables of the repair."""
        lab = self.start()
        self.wire.records()
        with self.wire.delay("answer", 20, node="leaf25", method="get", attr=simlab.ATTR_LFT):
            self.hold("leaf25")
            process = self.spawn_held()
            mark = lab.osm.mark()
            self.fabric.lose("leaf7:25")  # not on the way to leaf25
            self.wire.release()
            lab.osm.wait_log("portmajor repair 1: ", mark.log_offset)
        found = self.result(process)
        lab.osm.settle(mark)
        records = self.wire.records()
        first = next(i for i, r in enumerate(records) if r.event == "trapped")
        asked = [r for r in records[first:] if r.event == "asked" and r.plugin]
        sets = [i for i, r in enumerate(asked) if (r.method, r.attr) == (wire.SET,
                                                                         simlab.ATTR_LFT)]
        reads = [i for i, r in enumerate(asked) if (r.method, r.attr) == (wire.GET,
                                                                          simlab.ATTR_LFT)]
        self.assertTrue(sets)
        # The trap is noticed when an answer comes.
        self.assertLessEqual(len([i for i in reads if i < sets[0]]), AHEAD)
        self.assertEqual([i for i in reads if sets[0] < i < sets[-1]], [])
        self.assertGreater(reads[-1], sets[-1])
        self.assertEqual(found["findings"], [])

    def test_chassis(self):
        """The path to the switch that is read fails with it: the switch is read again over another
        one."""
        lab = self.start()
        self.hold("leaf25")
        process = self.spawn_held()
        mark = lab.osm.mark()
        self.fabric.lose("s0-*")
        self.wire.release()
        found = self.result(process)
        lab.osm.settle(mark)
        self.assertEqual(found["findings"], [])
        self.assertEqual(found["tables_read"]["read"], len(lab.netlist.switches) - 3)

    def ask(self):
        """A client with a request in progress."""
        client = self.enterContext(control.Client(self.cache))
        client.send({"request": "check", "all": True, "wait": 60})
        control.ask(self.cache, "release")  # all before it are known
        return client

    def test_more_requests(self):
        """They get tables that were read after them, also if others are in progress."""
        self.start()
        self.hold("leaf25")
        first = self.ask()
        self.wire.wait_held()
        more = [self.ask(), self.ask()]
        self.wire.release()
        one, two, three = (c.answer() for c in (first, *more))
        self.assertEqual([a["state"] for a in (one, two, three)], ["done"] * 3)
        self.assertEqual(one["tables_read"]["number"], 1)
        self.assertEqual(two["tables_read"]["number"], 3)
        self.assertEqual(three["tables_read"], two["tables_read"])

    def test_changed_by_opensm(self):
        """Tables that a drain changes while they are read are no finding."""
        lab = self.start()
        self.hold("leaf25")
        process = self.spawn_held()
        part = control.part(pmlab.Dump(lab.dump()).guids["s5-fab0"])
        with control.Client(self.cache) as client:
            client.send({"request": "drain", "parts": [part], "wait": 60})
            self.wire.release()
            self.assertEqual(client.answer()["state"], "done")
        self.assertEqual(self.result(process)["findings"], [])

    def test_sweep(self):
        """A sweep comes first; the rest is read after it."""
        lab = self.start()
        self.hold("leaf25")
        process = self.spawn_held()
        mark = lab.osm.mark()
        lab.osm.hup()
        self.wire.release()
        self.assertEqual(self.result(process)["findings"], [])
        lab.osm.settle(mark)

    def test_end(self):
        """OpenSM ends: there is no result."""
        lab = self.start()
        self.hold("leaf25")
        process = self.spawn_held()
        lab.osm.process.terminate()
        self.wire.release()
        self.assertIn("the tables were not read: OpenSM ends\n",
                      self.result(process, 3))


class Otherwise(NowCase):
    """The OpenSM that gets the request is no master that sends SMPs, or there is none."""

    GENERATE = ("two-level", 3, 2, 4, 1)

    def check_says(self, text):
        self.assertEqual(self.check(status=3), f"portmajor: --now: {text}\n")

    def test_nobody(self):
        self.assertIn("no OpenSM has run here with portmajor", self.check(status=3))
        lab = self.start()
        lab.osm.stop()
        self.check_says("no running OpenSM of this machine is the master and has portmajor")

    def test_shadow(self):
        config = self.folder / "shadow.conf"
        config.write_text("shadow yes\n")
        with pmlab.open_sm(self.fabric, "portmajor,updn", config, cache_dir=self.cache) as osm:
            osm.settle()
            self.check_says("OpenSM runs portmajor in shadow mode")

    def test_another_engine(self):
        """Its tables are read and judged as well."""
        lab = self.start(engine="updn,portmajor")
        self.assertEqual(self.found()["findings"], [])
        self.set_entry("leaf1", pmlab.Dump(lab.dump()).lids["h0-1"], DROP)
        self.assertEqual(self.kinds(self.found(status=1))["not-as-set"], 1)

    def test_standby(self):
        """The other one gets the request; alone it answers with its own state."""
        lab = self.start()
        guid = pmlab.Dump(lab.dump()).guids["h1-1"]
        with pmlab.open_sm(self.fabric, host="h1-1", cache_dir=self.cache) as standby:
            standby.wait_log("Entering STANDBY state")
            own = self.cache / f"portmajor.{guid + 1:016x}"
            simlab.poll_until(lambda: (own / "state").exists() and json.loads(
                (own / "state").read_text())["sm_state"] == "standby", 60, "its state")
            self.assertIn("\nin order\n", self.check())
            self.assertEqual(self.check(own, status=3),
                             "portmajor: --now: OpenSM is not the master (standby)\n")

    def test_misused(self):
        for args, reason in ((("a", "b"), "--now takes one folder"),
                             (("--mfts", "x"), "--now excludes --whole, --plan and --mfts")):
            self.assertIn(f"check: {reason}\n", self.check(*args, status=2))


if __name__ == "__main__":
    unittest.main()
