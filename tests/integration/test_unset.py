#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Switches that do not take their tables: a change counts as done only when it has been
acknowledged.

Whenever `portmajor drain` says `out`, the real tables are walked: no host's path uses the part.
"""

import json
import re
import subprocess
import time

import labtest
import odd_netlists
import pmlab
import simlab
import wire

LEAF, PART = "leaf5", "s1-fab0"
SILENT = r"finding  *leaf5 does not answer LFT Sets \(\d+ blocks?\)\n"
OTHER = r"finding  *leaf5 acknowledges LFT Sets with other content \(\d+ blocks?\)\n"
FOR_LEAF = rf"pending  {PART}, since .* \(leaf5 has not acknowledged its table\)\n"


class Unset(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = odd_netlists.small_director().write(cls.folder / "fabric.net")
        cls.fabric = cls.stack.enter_context(pmlab.Fabric(cls.netlist))
        cls.start()
        cls.lab.bring_up()

    @classmethod
    def start(cls):
        cls.wire = wire.Wire()
        cls.lab = cls.stack.enter_context(pmlab.Lab(
            cls.netlist, fabric=cls.fabric, wire=cls.wire, cache_dir=cls.folder))

    def setUp(self):
        self.events = len(self.run_it("events").splitlines())
        self.addCleanup(self.heal)

    def heal(self):
        self.wire.clear()
        for name in self.lab.netlist.switches:
            self.fabric.error(name, 0)
        self.sweep()
        self.run_it("undrain", "--wait", 60, "--all")

    def run_it(self, *args, status=0):
        done = subprocess.run([str(pmlab.CLI), *map(str, args)], capture_output=True, text=True,
                              env={**pmlab.os.environ, "OSM_CACHE_DIR": str(self.folder)},
                              check=False, timeout=pmlab.TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.check_out(done.stdout)
        return done.stdout

    def check_out(self, text, lost=()):
        for part in re.findall(r"^out  *([^\s:,]+(?::\d+)?),", text, re.M):
            self.assertEqual(self.users(part, lost)[:5], [], part)

    def users(self, part, lost=()):
        """(leaf, host) of each path by the real tables that goes over a part."""
        dump, nodes = pmlab.Dump(self.lab.dump()), self.lab.netlist.nodes
        tables = {switch: dump.table(switch) for switch in dump.tables}
        name, _, port = part.partition(":")
        cable = {(name, int(port)), nodes[name].ports[int(port)]} if port else set()
        leaves = {nodes[host].ports[1][0] for host in self.lab.netlist.hosts} - set(lost)
        found = []
        for leaf in leaves:
            for host in self.lab.netlist.hosts:
                at, over = leaf, set()
                while at in tables and at not in over and nodes[host].ports[1][0] not in lost:
                    over.add(at)
                    out = tables[at].get(dump.lids[host], 255)
                    if (at, out) in cable or at == name and not port:
                        found.append((leaf, host))
                        break
                    at = nodes[at].ports.get(out, (None,))[0]
        return found

    def told(self, kind):
        """New events of a kind, with their severity and text."""
        lines = self.run_it("events").splitlines()[self.events:]
        return [line for line in lines if re.search(rf"(notice|warning|info) +{kind} ", line)]

    def pending(self, *args, pattern=FOR_LEAF):
        """It waits in vain, and the list has the reason."""
        self.assertRegex(self.run_it(*args, status=1), pattern)
        self.assertRegex(self.run_it("drain", status=1), pattern)

    def finding(self, pattern):
        self.assertRegex(self.run_it("status", status=1), pattern)

    def check_done(self):
        self.assertRegex(self.run_it("drain", "--wait", 60), rf"^out      {PART}, since ")
        self.assertNotIn("LFT Sets", self.run_it("status"))
        self.assertEqual(len(self.told("drained")), 1)
        self.assertEqual(len(self.told("unset")), len(self.told("set")))

    def sweep(self, times=1):
        """OpenSM tries again."""
        for _ in range(times):
            mark = self.lab.osm.log_offset()
            self.lab.osm.hup()
            self.lab.osm.wait_log(r"portmajor run \d+: ", mark)

    def test_deaf_leaf(self):
        self.fabric.error(LEAF, 100, attr=simlab.ATTR_LFT)
        self.pending("drain", "--wait", 10, PART)
        self.assertGreater(len(self.users(PART)), 0)
        self.finding(SILENT)
        self.sweep(2)
        self.assertRegex(self.run_it("drain", status=1), FOR_LEAF)
        self.assertEqual((len(self.told("unset")), self.told("set"), self.told("drained")),
                         (1, [], []))
        runs = [line for line in self.told("run") if "acked 0" in line]
        self.assertLessEqual(len(runs), 1)
        self.fabric.error(LEAF, 0)
        self.sweep()
        self.check_done()
        self.assertEqual(len(self.told("set")), 1)

    def test_moves_that_wait(self):
        """Parts return in a sweep, and entries move some time later: no switch refuses them."""
        state = pmlab.kept(self.folder, "state")
        self.lab.osm.pace(300)
        self.addCleanup(self.lab.osm.pace, 0)
        for tries in range(8):
            self.fabric.lose("s0-*")
            self.lab.osm.hup()
            simlab.poll_until(lambda: json.loads(state.read_text("utf-8"))["missing"]["switches"],
                              60, "missing switches", every=0.01)
            time.sleep(tries % 4 * 0.02)  # another moment of that sweep
            self.fabric.back("s0-*")
            mark = self.lab.osm.mark()
            self.lab.osm.hup()
            self.lab.osm.settle(mark)
        self.assertEqual(self.told("unset"), [])

    def test_takes_back(self):
        self.run_it("drain", "--wait", 60, PART)
        self.fabric.error(LEAF, 100, attr=simlab.ATTR_LFT)
        self.pending("undrain", "--wait", 10, PART,
                     pattern=r"^pending  leaf5 has not acknowledged its table\n$")
        self.fabric.error(LEAF, 0)
        self.sweep()
        self.run_it("undrain", "--wait", 60, "--all")
        self.assertEqual(self.run_it("drain"), "none\n")

    def test_drained_again(self):
        """While paths return to the part, it is not out as it was before."""
        self.run_it("drain", "--wait", 60, PART)
        self.wire.hold("request", method="set", attr=simlab.ATTR_LFT, skip=4, times=1)
        self.addCleanup(self.wire.release)
        self.run_it("undrain", PART)
        self.wire.wait_held()
        self.assertGreater(len(self.users(PART)), 0)
        self.assertRegex(self.run_it("drain", PART), rf"^pending  {PART}, since ")
        self.wire.release()
        self.assertRegex(self.run_it("drain", "--wait", 60), rf"^out      {PART}, since ")

    def lie(self, rule):
        """A switch that lies gets few Sets, and another try in each sweep."""
        self.pending("drain", "--wait", 10, PART)
        self.finding(OTHER)
        self.sweep(2)
        self.assertLess(rule.acted, 20)
        self.assertEqual(len(self.told("unset")), 1)
        rule.off()
        self.sweep()
        self.check_done()

    def test_old_content(self):
        self.lie(self.wire.stale(node=LEAF, attr=simlab.ATTR_LFT))

    def test_clamped_content(self):
        """Ports of 8 hosts have four bits, in the table and in the answer."""
        lid = pmlab.Dump(self.lab.dump()).lids["h18-1"]
        self.lie(self.wire.alter("request", lid % 64 // 8 * 8, bytes(8), b"\xf0" * 8,
                                 node=LEAF, method="set", attr=simlab.ATTR_LFT,
                                 modifier=lid // 64))

    def test_late(self):
        """All answers of the first try come after their time-outs."""
        late = self.wire.delay("answer", 1500, node=LEAF, method="set", attr=simlab.ATTR_LFT,
                               times=8)
        self.run_it("drain", "--wait", 60, PART)
        self.assertGreater(late.acted, 0)
        self.check_done()

    def test_dies(self):
        """A dead leaf has no hosts."""
        self.wire.hold("request", method="set", attr=simlab.ATTR_LFT, skip=3, times=1)
        self.run_it("drain", PART)
        self.wire.wait_held()
        self.fabric.lose(LEAF)
        self.wire.release()
        self.lost(lambda: self.fabric.back(LEAF))

    def test_hangs(self):
        """Nor has one that does not answer at all: OpenSM does not find it."""
        self.fabric.error(LEAF, 100)
        self.run_it("drain", PART)
        self.lost(lambda: self.fabric.error(LEAF, 0))

    def lost(self, back):
        def is_out():
            done = subprocess.run([str(pmlab.CLI), "drain"], capture_output=True, text=True,
                                  env={**pmlab.os.environ, "OSM_CACHE_DIR": str(self.folder)},
                                  check=False, timeout=pmlab.TIMEOUT_S)
            self.check_out(done.stdout, lost={LEAF})
            return done.returncode == 0

        simlab.poll_until(is_out, pmlab.TIMEOUT_S, "the drain to be out")
        back()
        self.sweep()
        self.run_it("drain", "--wait", 60)

    def test_deaf_line(self):
        line = "s1-line0"
        self.wire.drop("request", node=line, method="set", attr=simlab.ATTR_LFT)
        self.pending("drain", "--wait", 10, f"{line}:19",
                     pattern=rf"pending  {line}:19, .* \({line} has not acknowledged its table\)")
        self.wire.clear()
        self.sweep()
        self.assertIn("out ", self.run_it("drain", "--wait", 60))

    def test_restart(self):
        self.fabric.error(LEAF, 100, attr=simlab.ATTR_LFT)
        self.pending("drain", "--wait", 10, PART)
        self.lab.osm.process.kill()
        self.lab.osm.process.wait(30)
        self.lab.close()
        self.start()
        self.lab.osm.wait_log(r"portmajor run 1: ")
        self.pending("drain", "--wait", 10)
        self.finding(SILENT)
        self.fabric.error(LEAF, 0)
        self.sweep()
        self.run_it("drain", "--wait", 60)


if __name__ == "__main__":
    labtest.main()
