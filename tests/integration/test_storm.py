#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hundreds of failures and returns, many at once: the tables are always right after (slow).

A series of soak.py's of nothing else, on one fabric. PM_SEED and PM_EVENTS in the environment
give another one.
"""

import os
import random
import unittest

import pmlab
import soak


class Storm(soak.Series):
    KINDS, LMCS, MISSING = (("director", "36"),), (0,), ("",)
    EVENTS = int(os.environ.get("PM_EVENTS", "500"))
    JUDGED_EVERY, MOST_LOST = 50, 8

    def draw_target(self):
        """A cable, a host, a leaf, a switch of a chassis, or all of a chassis."""
        nodes, r = self.netlist.nodes, self.random
        switches = self.netlist.match("s*-*")
        kind = r.choice(("cable", "cable", "uplink", "host", "leaf", "switch", "chassis"))
        if kind == "cable":
            name = r.choice(switches)
            return f"{name}:{r.choice(sorted(nodes[name].ports))}"
        if kind == "uplink":  # the subnet manager's leaf more often than others
            leaf = r.choice(("leaf0", r.choice(self.netlist.match("leaf*"))))
            up = sorted(p for p, (name, _) in nodes[leaf].ports.items() if name in switches)
            return f"{leaf}:{r.choice(up)}"
        return {"host": lambda: r.choice(self.netlist.match("h*")),
                "leaf": lambda: r.choice(self.netlist.match("leaf*")),
                "switch": lambda: r.choice(switches),
                "chassis": lambda: r.choice(switches).partition("-")[0] + "-*"}[kind]()

    def step(self):
        r = self.random
        self.history.append(self.back() if self.down and r.random() < 0.5 else self.lose())
        self.tally.events += 1
        if r.random() < 0.2:
            self.osm.settle(self.osm.mark(), timeout=pmlab.TIMEOUT_S, sweep=False)
        elif r.random() < 0.5:
            self.await_smps()

    def judge(self):
        super().judge()
        if self.osm.counters()["top_lft_block"] > max(self.lids.values()) // 64:
            self.fail("blocks above all LIDs were sent")
        print(f"{len(self.history)} events, {len(self.down)} things lost: tables right", flush=True)

    def go_on(self):
        healthy, mark = pmlab.Dump(self.dump()), self.osm.mark()
        super().go_on()
        changed = list(pmlab.changed_entries(healthy, pmlab.Dump(self.dump())))
        if changed:
            self.fail(f"entries differ from those at the start: {changed[:5]}")
        if set(self.osm.engines_used()) != {"portmajor"}:
            self.fail(f"engines: {self.osm.engines_used()}")
        # Else it was no test of early repairs.
        sent = sum(line.sent for line in pmlab.Repair.find(self.osm.log(mark.log_offset)))
        if sent <= self.EVENTS:
            self.fail(f"repairs sent {sent} blocks")


class StormTest(unittest.TestCase):
    def test_storm(self):
        seed = int(os.environ.get("PM_SEED") or random.SystemRandom().randrange(1 << 31))
        print(f"PM_SEED={seed} PM_EVENTS={Storm.EVENTS}", flush=True)
        tally = soak.soak(seed, 0, 1, float("inf"), kind=Storm)
        self.assertGreaterEqual(tally.events, Storm.EVENTS)


if __name__ == "__main__":
    unittest.main()
