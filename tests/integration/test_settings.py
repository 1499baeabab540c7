#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor.conf is read again at a HUP: keys change, or the log names those that cannot."""

import re
import unittest

import labtest
import pmlab
import simlab

READ = "configuration read again: "
CABLE = "leaf1:5"


class Settings(labtest.Folders):
    def setUp(self):
        self.config = self.folder / "portmajor.conf"
        self.config.write_text("flap_limit 0\n")
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 4, 4, 1)
        self.lab = self.enterContext(pmlab.Lab(
            netlist, conf={"event_plugin_options": self.config}))
        self.lab.bring_up()

    def change(self, text, told):
        """Writes another file and sends a HUP; returns the log from then on, until it is reported.
        """
        before = self.lab.osm.log_offset()
        self.config.write_text(text)
        self.lab.osm.hup()
        self.lab.osm.wait_log(re.escape(told), before)
        self.lab.osm.settle(timeout=pmlab.TIMEOUT_S)
        return self.lab.osm.log(before)

    def flap(self, times):
        for _ in range(times):
            self.lab.event("lose", CABLE)
            self.lab.event("back", CABLE)

    def test_flaps_are_held_and_released(self):
        """The limit counts for links that go down later; without one all holds end."""
        osm = self.lab.osm
        log = self.change("flap_limit 1\nflap_hold 3600\nflap_window 600\n",
                          READ + "flap_limit, flap_window, flap_hold\n")
        self.assertNotIn("restart", log)
        self.flap(2)
        osm.wait_log("flapping: 1 link kept out")
        log = self.change("flap_limit 0\n", READ + "flap_limit, flap_window, flap_hold\n")
        self.assertEqual(log.count(READ), 1)
        self.assertEqual(pmlab.walk_faults(self.lab.walk()), [])
        before = osm.log_offset()
        self.flap(2)
        self.assertNotIn("1 link kept out", osm.log(before))

    def test_early_repair(self):
        self.assertEqual(len(self.lab.event("lose", CABLE).repairs), 1)
        self.lab.event("back", CABLE)
        self.change("flap_limit 0\nearly_repair no\n", READ + "early_repair\n")
        lost = self.lab.event("lose", CABLE)
        self.assertEqual((lost.repairs, lost.wire > 0), ([], True))

    def test_role(self):
        """A plan keeps its roles, and the log says so: no table changes."""
        told = "role (when the plan grows or is made anew)\n"
        before = self.lab.osm.counters()
        log = self.change("flap_limit 0\nrole io name h1-*\n", READ + told)
        self.assertIn("no change; LFT blocks sent 0,", log)
        self.assertEqual((self.lab.osm.counters() - before)["lft_sets"], 0)

    def test_event_command(self):
        told, command = self.folder / "told", self.folder / "tell"
        command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >>{told}\n')
        command.chmod(0o755)
        self.change(f"flap_limit 0\nevent_command {command}\n", READ + "event_command\n")
        self.lab.event("lose", CABLE)
        simlab.poll_until(lambda: told.exists() and " repair " in told.read_text(), 60,
                          "the event of a repair")

    def test_restart(self):
        """Keys that need one are named, once, and stay the same."""
        text = "flap_limit 0\nlid_order leaf-major\nrebalance_rate 7\nmigrate yes\nshadow yes\n"
        log = self.change(text, "a restart of OpenSM will change lid_order, migrate, shadow\n")
        self.assertIn(READ + "rebalance_rate\n", log)
        before = self.lab.osm.log_offset()
        self.lab.measure("SIGHUP", self.lab.osm.hup)
        self.assertNotIn("configuration", self.lab.osm.log(before))
        self.assertEqual(len(self.lab.event("lose", CABLE).repairs), 1)

    def test_bad_file(self):
        """One line, however often OpenSM sweeps then; the values stay, and status has the reason.
        """
        self.change("flap_limit 1\nflap_hold 3600\n", READ + "flap_limit, flap_hold\n")
        before = self.lab.osm.log_offset()
        log = self.change("flap_limit 0\nflap_holt 3\n", "configuration not used, values in use "
                          f'stay: {self.config}:2: unknown key "flap_holt"')
        self.assertNotIn(READ, log)
        self.flap(2)
        self.lab.osm.wait_log("flapping: 1 link kept out")
        self.assertEqual(self.lab.osm.log(before).count("configuration not used"), 1)
        self.assertRegex(self.status(), "configuration is not used: .*:2: unknown key")
        self.change("flap_limit 1\nflap_hold 3600\n", READ + "no key changes now\n")
        simlab.poll_until(lambda: "configuration" not in self.status(), 60, "no finding")

    def status(self):
        return pmlab.run_cli("status", pmlab.kept(self.lab.osm.cache_dir, "state")).stdout


if __name__ == "__main__":
    unittest.main()
