#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hundreds of failures and returns, many at once: the tables are always right afterwards (slow).

PM_SEED and PM_EVENTS in the environment give another series.
"""

import os
import random
import time
import unittest

import labtest
import pmlab
import simlab

EVENTS = int(os.environ.get("PM_EVENTS", "500"))
JUDGED_EVERY = 50  # events
MOST_LOST = 8  # targets at a time


class Storm(labtest.LabCase):
    GENERATE = ("director", 36)

    @classmethod
    def options(cls):
        config = cls.folder / "portmajor.conf"
        config.write_text("flap_limit 0\n")  # the tables are to be those of the links that are up
        # Without the files that ibdmchk reads, written in each sweep: in the end the tables are
        # those of the start again, which it judges in test_events.
        return {"conf": {"event_plugin_options": config}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.seed = int(os.environ.get("PM_SEED") or random.SystemRandom().randrange(1 << 31))
        cls.random = random.Random(cls.seed)
        print(f"PM_SEED={cls.seed} PM_EVENTS={EVENTS}", flush=True)

    # ---- events

    def draw_target(self):
        """A cable, a host, a leaf, a switch of a chassis, or all of a chassis."""
        nodes, r = self.lab.netlist.nodes, self.random
        switches = self.lab.netlist.match("s*-*")
        kind = r.choice(("cable", "cable", "uplink", "host", "leaf", "switch", "chassis"))
        if kind == "cable":
            name = r.choice(switches)
            return f"{name}:{r.choice(sorted(nodes[name].ports))}"
        if kind == "uplink":  # the subnet manager's leaf more often than others
            leaf = r.choice(("leaf0", r.choice(self.lab.netlist.match("leaf*"))))
            up = sorted(p for p, (name, _) in nodes[leaf].ports.items() if name in switches)
            return f"{leaf}:{r.choice(up)}"
        return {"host": lambda: r.choice(self.lab.netlist.match("h*")),
                "leaf": lambda: r.choice(self.lab.netlist.match("leaf*")),
                "switch": lambda: r.choice(switches),
                "chassis": lambda: r.choice(switches).partition("-")[0] + "-*"}[kind]()

    def is_allowed(self, target):
        """Whether the manager keeps most of the fabric, as there would be nothing to judge
        otherwise."""
        cut = self.lab.fabric.cut_off_by(target, self.lab.osm.host)
        return target not in self.down and 2 * len(cut) < len(self.lab.netlist.nodes)

    def step(self):
        """One failure or one return; returns what it was."""
        fabric = self.lab.fabric
        if self.down and (len(self.down) >= MOST_LOST or self.random.random() < 0.5):
            target = self.down.pop(self.random.randrange(len(self.down)))
            fabric.back(target)
            return f"back {target}"
        target = self.draw_target()
        while not self.is_allowed(target):
            target = self.draw_target()
        self.down.append(target)
        fabric.lose(target)
        return f"lose {target}"

    def pause(self):
        """Waits for nothing, until OpenSM has sent some more SMPs (or none for a while), or until
        it has settled."""
        osm, r = self.lab.osm, self.random.random()
        if r < 0.5:
            return
        if r > 0.9:
            osm.settle(osm.mark(), timeout=pmlab.TIMEOUT_S, sweep=False)
            return
        enough = osm.counters()["smps"] + int(10 ** self.random.uniform(1, 4))
        deadline = time.monotonic() + 1
        simlab.poll_until(lambda: osm.counters()["smps"] >= enough
                          or time.monotonic() > deadline, 60, "SMPs")

    # ---- judging

    def judge(self, history):
        """After a sweep that must have discovered all; walk computes from scratch."""
        osm = self.lab.osm
        osm.settle(osm.mark(), timeout=pmlab.TIMEOUT_S, sweep=False)
        osm.wait_traps_aged()
        mark = osm.mark()
        osm.hup()
        osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        walked = self.lab.walk()
        self.assertEqual(pmlab.walk_faults(walked), [],
                         f"PM_SEED={self.seed}, lost {self.down}, after {history[-60:]}")
        osm.wait_answered()
        self.assertLessEqual(osm.counters()["top_lft_block"], max(self.healthy.lids.values()) // 64)
        print(f"{len(history)} events, {len(self.down)} things lost: tables right", flush=True)

    def test_storm(self):
        osm, history = self.lab.osm, []
        mark = osm.mark()
        while len(history) < EVENTS:
            history.append(self.step())
            self.pause()
            if len(history) % JUDGED_EVERY == 0:
                self.judge(history)
        while self.down:
            self.lab.fabric.back(self.down.pop())
        self.judge(history)
        self.check_healthy()
        self.assertEqual(set(osm.engines_used()), {"portmajor"})
        # Otherwise it was no test of early repairs.
        repairs = pmlab.Repair.find(osm.log(mark.log_offset))
        self.assertGreater(sum(line.sent for line in repairs), EVENTS)


if __name__ == "__main__":
    unittest.main()
