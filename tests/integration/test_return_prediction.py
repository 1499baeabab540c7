#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`portmajor whatif --return` predicts the SMPs that bring parts into service again."""

import collections
import contextlib
import json

import labtest
import pmlab
import smps
import test_groups
import test_returns
import wire

SETS = ("lft", "values", "states")
REMOTE = (smps.NODE_INFO, smps.P_KEYS)


def kind_of(record):
    """The number of the prediction that counts this SMP."""
    state = smps.FIELDS["state"].get(bytearray(record.data))
    if record.method == wire.SET:
        if record.attr == smps.LFT:
            return "lft"
        return ("states" if record.attr == smps.PORT_INFO and state != smps.NO_CHANGE
                else "values")
    if record.attr == smps.PORT_INFO:
        return "port" if record.modifier & 0xff else "switches"
    return "remote" if record.attr in REMOTE else "switches"


class Predictions(test_returns.Case):
    """In an idle fabric, with all parts up but those that return."""

    def predict(self, part, *options):
        done = pmlab.run_cli("whatif", "--json", "-q", "-s", self.lab.osm.host, "--return",
                             *options, self.netlist, "--fail", part)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def bring_up_at_once(self, part, action):
        """Only one switch that reports the part sends a trap, which waits until all is back."""
        netlist, ends = self.lab.netlist, self.lab.fabric._links_of_target(part)
        lost = set(netlist.match(part)) if ":" not in part else set()
        first, *others = sorted({node for link in ends for node, _ in link
                                 if node not in lost and node in netlist.switches},
                                key=self.wire.guid)

        def hold(part):
            with self.wire.hold("trap", node=first, times=1):
                action(part)
                self.wire.wait_held()
                self.wire.release()

        with contextlib.ExitStack() as rules:
            for node in others:
                rules.enter_context(self.wire.drop("trap", node=node))
            return self.bring_up(part, hold)

    def check(self, part, *options, lose=None, back=None):
        """The plugin sends as many SMPs of each kind, and LFT Sets after them."""
        predicted = self.predict(part, *options)
        service, moves = predicted["service"], predicted["moves"]
        self.take_down(part, True, lose)
        records, log = self.bring_up_at_once(part, back or self.lab.fabric.back)
        asked = self.asked(records)
        last = self.changes(asked)[-1] + 1
        # The plugin may still be reading multicast tables, after the failure.
        found = collections.Counter(kind_of(r) for r in asked[:last]
                                    if r.plugin and r.attr != smps.MFT)
        # A port known to be down, and a remote one, are read in the same way.
        links = service["hosts"] + service["cables"]
        wanted = {"port": service["gets"]["ports"] + links,
                  "remote": service["gets"]["remote"] - links,
                  "switches": service["gets"]["switches"],
                  **{kind: service["sets"][kind] for kind in SETS}}
        self.assertEqual(found, {kind: num for kind, num in wanted.items() if num}, log[-3000:])
        self.assertEqual(sum(found.values()), service["smps"])
        self.assertEqual(self.returned(log), (service["hosts"], service["cables"]))
        blocks = [r for r in asked[last:] if (r.method, r.attr) == (wire.SET, smps.LFT)]
        self.assertEqual(sum(r.plugin for r in blocks), moves["blocks"])
        self.assertEqual(len({r.guid for r in blocks if r.plugin}), moves["switches"])
        self.assertEqual(found["lft"] + len(blocks), predicted["lft_sets"])
        self.check_quiet()

    def check_reset(self, part):
        def each(action):
            return lambda part: [action(name) for name in self.lab.netlist.match(part)]

        self.check(part, "--reset", lose=each(self.lab.fabric.clear),
                   back=each(self.lab.fabric.relink))

    def test_host(self):
        self.check(self.host)

    def test_host_was_reset(self):
        self.check_reset(self.host)

    def test_own_link(self):
        """OpenSM's link: as any host's, unless it swept meanwhile; then all tables are written."""
        host, osm, fabric = self.lab.osm.host, self.lab.osm, self.lab.fabric
        predicted = self.predict(host)
        mark = osm.log_offset()
        fabric.lose(host)
        fabric.back(host)
        osm.wait_log(r"portmajor return \d+: 1 host, ", mark)
        back, = pmlab.Return.find(osm.log(mark))
        self.assertEqual((back.sets, back.sent), (predicted["service"]["sets"]["total"],
                                                  predicted["lft_sets"]))
        mark = osm.log_offset()
        fabric.lose(host)
        osm.hup()
        osm.wait_log("Entering DISCOVERING state", mark)
        fabric.back(host)
        osm.hup()
        osm.wait_log("portmajor run .*: first sweep as master", mark)
        run, = pmlab.Run.find(osm.log(mark))
        self.assertEqual((run.sent, run.lids_changed), (predicted["first_sweep"], 0))
        osm.settle(osm.mark(), sweep=False)

    def test_cable(self):
        self.check("leaf1:19")

    def test_leaf(self):
        self.check("leaf4")

    def test_leaf_was_reset(self):
        self.check_reset("leaf4")

    def test_line_switch(self):
        self.check("s3-line1")

    def test_line_switch_was_reset(self):
        self.check_reset("s3-line1")

    def test_chassis(self):
        self.check("s0-*")

    def test_chassis_was_reset(self):
        self.check_reset("s0-*")


class Groups(test_groups.GroupCase):
    """MFT Sets, with members at all leaves and in a group of two."""

    ASKING = "h20-4"

    @classmethod
    def options(cls):
        return {"wire": wire.Wire()}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for leaf in range(12):
            cls.members.join(0, f"h{leaf}-2")
        for leaf in (3, 19):
            cls.members.join(1, f"h{leaf}-3")
        cls.lab.osm.settle(cls.lab.osm.mark(), sweep=False)

    def check(self, part, *options, lose=None, back=None):
        predicted = self.predicted(part, "--return", *options)
        self.assertGreater(predicted["sets"], 0)
        self.measure("lost", lambda: (lose or self.lab.fabric.lose)(part))
        self.lab.osm.wait_traps_aged()
        sets = self.measure("back", lambda: (back or self.lab.fabric.back)(part))
        self.assertEqual(sets, predicted["sets"])
        self.check_tables()

    def test_cable(self):
        self.check(self.members.busiest(self.ASKING, "leaf5")[0])

    def switch(self):
        """Above leaf5, in the tree."""
        leaf, number = self.members.busiest(self.ASKING, "leaf5")[0].split(":")
        return self.lab.netlist.nodes[leaf].ports[int(number)][0]

    def test_switch(self):
        """It has kept its table, which is read, and not set."""
        self.check(self.switch())

    def test_switch_was_reset(self):
        self.check(self.switch(), "--reset", lose=self.lab.fabric.clear,
                   back=self.lab.fabric.relink)


if __name__ == "__main__":
    labtest.main()
