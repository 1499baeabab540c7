#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The file of events on a simulated fabric: what `portmajor events` prints of failures, drains,
a second OpenSM's life, and what an operator's command gets."""

import json
import re
import unittest

import pmlab
import simlab
import test_missing

LINE = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[-+]\d{4}) (error|warning|notice|info) +"
                  r"([a-z]+) +(.+)$")


class EventLog(test_missing.MissingCase):
    def start(self):
        self.told = self.cache / "told"
        command = self.cache / "tell"
        command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >>{self.told}\n', encoding="utf-8")
        command.chmod(0o755)
        config = self.cache / "portmajor.conf"
        config.write_text(f"event_command {command}\nflap_limit 3\n", encoding="utf-8")
        self.lab = self.enterContext(pmlab.Lab(
            self.net, fabric=self.fabric, cache_dir=self.cache,
            conf={"event_plugin_options": str(config)}))
        self.lab.bring_up()

    def events(self, *options):
        """(severity, kind, text) of each line that the command prints."""
        done = self.run_it("events", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [LINE.match(line) for line in done.stdout.splitlines()]
        self.assertNotIn(None, lines, done.stdout)
        self.assertLess(max(map(len, done.stdout.splitlines())), 160)
        return [line.groups()[1:] for line in lines]

    def wait_for_event(self, severity, kind, pattern):
        simlab.poll_until(
            lambda: any(event[:2] == (severity, kind) and re.search(pattern, event[2])
                        for event in self.events()),
            pmlab.TIMEOUT_S, f"{severity} {kind} {pattern}", state=lambda: str(self.events()))

    def test_life(self):
        self.wait_for_event("notice", "opensm", r"^OpenSM .* started, pid \d+, with portmajor")
        self.wait_for_event("notice", "opensm", "^OpenSM is master$")
        self.wait_for_event("notice", "engine", "^portmajor routes$")
        self.wait_for_event("info", "run", "all tables written; LFT blocks sent 80, acked 80$")
        self.lab.event("lose", "leaf5:20")
        self.wait_for_event("warning", "repair",
                            r"^failed: 1 cable \(leaf5\[20\]-s1-line0\[6\]\); LFT blocks sent")
        self.wait_for_event("warning", "missing", r"^leaf5\[20\]-s1-line0\[6\]$")
        self.lab.event("back", "leaf5:20")
        self.wait_for_event("notice", "returned", r"^leaf5\[20\]-s1-line0\[6\]$")
        self.assertEqual(self.run_it("drain", "s0-fab0", "--reason", "optics").returncode, 0)
        self.wait_for_event("notice", "drained", "^s0-fab0 by .*: optics$")
        self.assertEqual(self.run_it("undrain", "s0-fab0").returncode, 0)
        self.wait_for_event("notice", "undrained", "^s0-fab0$")
        self.check_json()
        self.check_command()

    def check_json(self):
        found = json.loads(self.run_it("events", "--json").stdout)
        self.assertEqual(found["schema"], "portmajor-events")
        self.assertEqual([(e["severity"], e["kind"], e["text"]) for e in found["events"]],
                         self.events())
        self.assertEqual(self.events("-n", "2"), self.events()[-2:])
        self.assertEqual(self.events("-q"), [event for event in self.events()
                                             if event[0] in ("error", "warning")])

    def check_command(self):
        """Each event once, in their order."""
        path = next(self.cache.glob("portmajor.*/events"))
        simlab.poll_until(lambda: self.told.exists() and self.told.read_text("utf-8")
                          == path.read_text("utf-8"), pmlab.TIMEOUT_S, "the command's lines")


if __name__ == "__main__":
    unittest.main()
