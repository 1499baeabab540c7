#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A tree that becomes a ring goes to the next engine, and back to us when it is a tree."""

import json
import unittest

import labtest
import odd_netlists
import pmlab
import simlab
import wire

PAIRS = 120  # 12 hosts on 6 leaves, less those on the same leaf
FLAPS = 20
SPINES = ("spine0", "spine1")


def two_pods():
    """Two pods of three leaves that one cable to the top joins; the leaves are a ring."""
    net = odd_netlists.Net()
    for leaf in range(6):
        net.switch(f"leaf{leaf}", 5)
        net.hosts(f"leaf{leaf}", 2)
    for pod in range(2):
        net.switch(f"mid{pod}", 4, level=1)
        for leaf in range(3):
            net.cable(f"leaf{3 * pod + leaf}", f"mid{pod}")
    net.switch("top", 2, level=2)
    for pod in range(2):
        net.cable(f"mid{pod}", "top")
    for leaf in range(6):
        net.cable(f"leaf{leaf}", f"leaf{(leaf + 1) % 6}")
    return net


def ways(dump):
    """{switch: {LID: port}} of all tables in a Dump."""
    return {switch: dump.table(switch) for switch in dump.tables}


class NoTree(labtest.Folders):
    def setUp(self):
        self.netlist = simlab.Netlist(
            odd_netlists.ring_below_spines().write(self.folder / "ring.net"))
        self.down = set()  # ends of links

    def lab(self, engine="portmajor,updn", hold_s=4, **kwargs):
        config = self.folder / "ring.conf"
        # Flapping links are not tested here.
        config.write_text(f"flap_limit 0\nflap_hold {hold_s}\nflap_hold_max 3600\n")
        return pmlab.Lab(self.netlist, engine=engine, conf={"event_plugin_options": config},
                         **kwargs)

    def change(self, lab, verb, *targets):
        """The engines that routed, one after the other, since a failure or return.

        OpenSM ignores traps that come too often, but not a SIGHUP.
        """
        mark = lab.osm.mark()
        for target in targets:
            getattr(lab.fabric, verb)(target)
            name, _, port = target.partition(":")
            ends = frozenset().union(*([self.netlist.link_at(name, int(port))] if port
                                       else self.netlist.links_of(name)))
            self.down = self.down | ends if verb == "lose" else self.down - ends
        lab.osm.hup()
        lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        return lab.osm.engines_used(mark.log_offset)

    def wait_ours(self, lab):
        """Waits until portmajor routes, which happens without a trap or a signal."""
        simlab.poll_until(lambda: lab.osm.engines_used()[-1] == "portmajor", 60, "our return")
        lab.osm.settle(lab.osm.mark(), sweep=False)

    def handed_over(self, lab):
        """The number of failovers from portmajor."""
        used = lab.osm.engines_used()
        return sum(before == "portmajor" != after for before, after in zip(used, used[1:]))

    def status(self, lab):
        """The exit status, the findings and the state, all of one moment."""
        done = pmlab.run_cli("status", "--json", pmlab.kept(lab.osm.cache_dir, "state"))
        told = json.loads(done.stdout)
        return done.returncode, " ".join(told["findings"]), told["state"]

    def wait_status(self, lab, engine):
        def look():
            found = self.status(lab)
            return found if found[2]["engine"]["used"] == engine else None
        return simlab.poll_until(look, 60, f"{engine} in the state")

    def cut_off(self, lab):
        """The number of ordered pairs of hosts that the tables in the switches do not join."""
        dump = pmlab.Dump(lab.dump())
        tables = ways(dump)

        def arrives(a, b):
            at, seen = self.netlist.nodes[a].ports[1][0], set()
            while at in tables and at not in seen:
                seen.add(at)
                port = tables[at].get(dump.lids[b])
                if (at, port) in self.down or port not in self.netlist.nodes[at].ports:
                    return False
                at = self.netlist.nodes[at].ports[port][0]
            return at == b

        return sum(not arrives(a, b) for a in dump.hosts for b in dump.hosts if a != b)

    def test_fails_over_and_takes_back(self):
        with self.lab() as lab:
            lab.bring_up()
            healthy = pmlab.Dump(lab.dump())
            self.assertEqual((self.cut_off(lab), self.status(lab)[0]), (0, 0))
            found = json.loads(pmlab.run_cli("whatif", "--json", lab.netlist.path, "-s",
                                             lab.osm.host, "--fail", *SPINES).stdout)
            self.assertTrue(found["fails_over"])

            served_by = self.change(lab, "lose", *SPINES)[-1]
            self.assertNotEqual(served_by, "portmajor")
            self.assertEqual(self.cut_off(lab), 0)
            status, findings, state = self.wait_status(lab, served_by)
            self.assertEqual(status, 1)
            self.assertIn(f"fell back to {served_by}: not a fat tree", findings)
            self.assertIn(f" {PAIRS} of {PAIRS} pairs of hosts", findings)
            self.assertEqual(state["reachable"], {"connected": PAIRS, "pairs": 0,
                                                  "failed_over": True, "failback_in_ms": None})
            self.assertEqual(pmlab.Dump(lab.dump()).lids, healthy.lids)

            self.assertNotEqual(self.change(lab, "back", *SPINES)[0], "portmajor")
            self.assertEqual(self.cut_off(lab), 0)
            self.wait_ours(lab)
            now = pmlab.Dump(lab.dump())
            self.assertEqual(now.lids, healthy.lids)
            self.assertEqual(list(pmlab.changed_entries(healthy, now))[:5], [])
            status, findings, state = self.wait_status(lab, "portmajor")
            self.assertEqual((status, findings), (0, ""))
            self.assertEqual(state["reachable"], {"connected": PAIRS, "pairs": PAIRS,
                                               "failed_over": False, "failback_in_ms": None})
            self.assertEqual(self.handed_over(lab), 1)

    def test_verdict_of_a_former_failover(self):
        """Until the next engine has routed, no verdict is published about former tables."""
        wires = wire.Wire()
        with self.lab("portmajor,minhop", wire=wires) as lab:
            lab.bring_up()
            self.change(lab, "lose", *SPINES)
            simlab.poll_until(lambda: "minhop can deadlock" in self.status(lab)[1], 60,
                              "the credit loop")
            self.change(lab, "back", *SPINES)
            self.wait_ours(lab)
            self.assertEqual(self.wait_status(lab, "portmajor")[1], "")
            deaf = wires.drop("request", method="set", attr=simlab.ATTR_LFT)
            for spine in SPINES:
                lab.fabric.lose(spine)
            lab.osm.hup()
            findings, state = simlab.poll_until(lambda: self.declined(lab), 60, "it to decline")
            self.assertIn("fell back to no engine at all: not a fat tree", findings)
            self.assertIsNone(state["engine_tables"])
            deaf.off()
            lab.osm.hup()
            simlab.poll_until(lambda: "minhop can deadlock" in self.status(lab)[1], 60,
                              "the credit loop")

    def test_events_of_further_sweeps(self):
        """While another engine routes, a repeated sweep is no event."""
        with self.lab("portmajor,minhop") as lab:
            lab.bring_up()
            self.change(lab, "lose", *SPINES)
            self.wait_status(lab, "minhop")
            before = self.fallbacks(lab)
            self.assertIn("OpenSM fell back to minhop", before[-1])
            for _ in range(3):
                self.assertEqual(self.change(lab, "lose")[-1], "minhop")
            # Both are written later than the sweep ends; the runs are counted in the state.
            simlab.poll_until(lambda: self.status(lab)[2]["since_start"]["fallbacks"] >= 4, 60,
                              "the runs of minhop")
            self.assertEqual(self.fallbacks(lab), before)

    def fallbacks(self, lab):
        """The events of other engines."""
        done = pmlab.run_cli("events", pmlab.kept(lab.osm.cache_dir, "events"))
        return [line for line in done.stdout.splitlines() if "fell back" in line]

    def declined(self, lab):
        """Findings and state between declining and the next engine's tables."""
        _, findings, state = self.status(lab)
        engine = state["engine"]
        return (findings, state) if not engine["active"] and not engine["used"] else None

    def test_restarted_as_a_ring(self):
        """The plan on disk knows the spines; the present links decide all the same."""
        cache = self.folder / "cache"
        cache.mkdir()
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric=fabric, cache_dir=cache) as lab:
                lab.bring_up()
                lids = pmlab.Dump(lab.dump()).lids
                self.change(lab, "lose", *SPINES)
            with self.lab(fabric=fabric, cache_dir=cache) as lab:
                lab.bring_up()
                self.assertEqual(set(lab.osm.engines_used()) & {"portmajor"}, set())
                self.assertEqual(self.cut_off(lab), 0)
                self.change(lab, "back", *SPINES)
                self.wait_ours(lab)
                self.assertEqual(pmlab.Dump(lab.dump()).lids, lids)

    def test_some_pairs_cut_off(self):
        """A leaf only on the ring: portmajor stays, and status is not ok."""
        with self.lab() as lab:
            lab.bring_up()
            self.assertEqual(self.change(lab, "lose", "leaf3:3", "leaf3:4")[-1], "portmajor")
            # Its two hosts reach the subnet manager, by a detour.
            self.assertEqual(self.cut_off(lab), 40 - 2)
            status, findings, _ = simlab.poll_until(
                lambda: (found := self.status(lab))[0] and found, 60, "a finding")
            self.assertEqual(status, 1)
            self.assertIn(f"40 of {PAIRS} pairs of hosts are cut off although cables connect "
                          "them", findings)

    def test_no_other_engine(self):
        """Without another engine, some pairs are better than none."""
        with self.lab("portmajor,no_fallback") as lab:
            lab.bring_up()
            self.assertEqual(self.change(lab, "lose", "spine0", "leaf0:4", "leaf1:4")[-1],
                             "portmajor")
            # The other leaves' ten hosts reach the subnet manager, by a detour.
            self.assertEqual(self.cut_off(lab), 72 - 10)
            status, findings, _ = simlab.poll_until(
                lambda: (found := self.status(lab))[0] and found, 60, "a finding")
            self.assertIn(f"72 of {PAIRS} pairs of hosts", findings)

    def test_flapping_across_the_marks(self):
        """Two pods that one cable joins: with it all pairs are served, without it 40%."""
        self.netlist = simlab.Netlist(two_pods().write(self.folder / "pods.net"))
        with self.lab(hold_s=30) as lab:
            lab.bring_up()
            lids = pmlab.Dump(lab.dump()).lids
            for _ in range(FLAPS):
                self.assertNotEqual(self.change(lab, "lose", "mid1:4")[-1], "portmajor")
                self.assertNotEqual(self.change(lab, "back", "mid1:4")[0], "portmajor")
            self.assertEqual(self.handed_over(lab), 1)
            self.wait_ours(lab)
            self.assertEqual(self.handed_over(lab), 1)
            self.assertEqual(pmlab.Dump(lab.dump()).lids, lids)
            self.assertEqual(self.cut_off(lab), 0)


class NoSwitch(labtest.Folders):
    def test_cable(self):
        """Two hosts and a cable: OpenSM calls no engine."""
        net = odd_netlists.Net()
        net.host("a", ports=1)
        net.host("b", ports=1)
        net.cable("a", "b")
        with pmlab.Lab(net.write(self.folder / "cable.net")) as lab:
            lab.osm.settle()
            done = simlab.poll_until(lambda: self.findings(lab), 30, "the finding")
            self.assertIn("no engine at all: no switch, so there is nothing to route", done)

    def findings(self, lab):
        done = pmlab.run_cli("status", pmlab.kept(lab.osm.cache_dir, "state"))
        return done.stdout if "finding" in done.stdout else None


if __name__ == "__main__":
    unittest.main()
