#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The file of events on a simulated fabric: the output of `portmajor events` about failures, drains
and a second OpenSM's life, and the lines that an operator's command gets.
"""

import errno
import json
import os
import re
import subprocess
import time
import unittest

import labtest
import pmlab
import simlab
import test_missing

LINE = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[-+]\d{4}) (error|warning|notice|info) +"
                  r"([a-z]+) +(.+)$")


class EventCase(test_missing.MissingCase):
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


class EventLog(EventCase):
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

    def test_state_comes_first(self):
        """A reader of an event finds it in the state, as an operator's command may look there."""
        events, state = (pmlab.kept(self.cache, name) for name in ("events", "state"))
        for change, missing in ((self.fabric.lose, 1), (self.fabric.back, 0)) * 3:
            begin = events.stat().st_size
            change("leaf5:20")
            end = time.monotonic() + pmlab.TIMEOUT_S
            word = b" missing " if missing else b" returned "
            while word not in events.read_bytes()[begin:]:
                self.assertLess(time.monotonic(), end)
            self.assertEqual(json.loads(state.read_bytes())["missing"]["links"], missing)

    def test_life(self):
        self.wait_for_event("notice", "opensm", r"^OpenSM .* started, pid \d+, with portmajor")
        self.wait_for_event("notice", "opensm", "^OpenSM is master$")
        self.wait_for_event("notice", "engine", "^portmajor routes$")
        self.wait_for_event("info", "run", "all tables written; LFT blocks sent 80, acked 80$")
        self.lab.event("lose", "leaf5:20")
        self.wait_for_event("info", "repair",
                            r"^failed: 1 cable \(leaf5\[20\]-s1-line0\[6\]\); LFT blocks sent")
        self.wait_for_event("warning", "missing", r"^leaf5\[20\]-s1-line0\[6\]$")
        self.lab.event("back", "leaf5:20")
        self.wait_for_event("notice", "returned", r"^leaf5\[20\]-s1-line0\[6\]$")
        self.check_one_each()
        self.assertEqual(self.run_it("drain", "s0-fab0", "--reason", "optics").returncode, 0)
        self.wait_for_event("notice", "drained", "^s0-fab0 by .*: optics$")
        self.assertEqual(self.run_it("undrain", "s0-fab0").returncode, 0)
        self.wait_for_event("notice", "undrained", "^s0-fab0$")
        self.check_json()
        self.check_command()

    def check_one_each(self):
        """The cable has one event when it fails and one when it is back, apart from details."""
        said = [event for event in self.events() if event[1] not in ("opensm", "engine")]
        lost = "leaf5[20]-s1-line0[6]"
        self.assertEqual([event for event in said if event[0] != "info"],
                         [("warning", "missing", lost), ("notice", "returned", lost)])
        self.assertEqual([text for severity, kind, text in said
                          if kind == "run" and text.endswith("sent 0, acked 0")], [])

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


class Written(labtest.Folders):
    """Files of events that tests write."""

    A, B = f"{1:016x}", f"{2:016x}"

    def write(self, **files):
        """Lines "TIME KIND" of each port, of a day."""
        self.cache = self.folder / self.id().rpartition(".")[2]
        for port, lines in files.items():
            path = self.cache / f"portmajor.{getattr(self, port)}" / "events"
            path.parent.mkdir(parents=True)
            path.write_text("".join(f"2026-11-26T{time}+0000 notice {kind} x\n" for time, kind in
                                    (line.split() for line in lines)))

    def run_it(self, *args, status=0):
        done = subprocess.run([str(pmlab.CLI), "events", *args], capture_output=True, text=True,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.cache), TZ="UTC"),
                              check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr != ""), (status, status != 0), done)
        return done.stdout

    def kinds(self, *args):
        return re.findall(r"notice +(\w+) +x$", self.run_it(*args), re.M)

    def test_merged(self):
        """By time, with the port; each file's order stays, also if its clock was set back."""
        self.write(A=["10:00:00 a", "12:00:00 c", "11:00:00 clock", "11:10:00 d", "12:30:00 f"],
                   B=["11:30:00 b", "12:10:00 e"])
        self.assertEqual(self.kinds(), ["a", "b", "c", "clock", "d", "e", "f"])
        self.assertEqual(self.kinds("-n", "2"), ["e", "f"])
        self.assertEqual(self.run_it().splitlines()[1],
                         f"2026-11-26T11:30:00+0000 0x{self.B} notice  b          x")
        found = json.loads(self.run_it("--json"))["events"]
        self.assertEqual([one["port_guid"] for one in found],
                         [f"0x{p}" for p in (self.A, self.B, *[self.A] * 3, self.B, self.A)])
        alone = self.run_it(str(self.cache / f"portmajor.{self.A}" / "events"))
        self.assertEqual(self.run_it(str(self.cache / f"portmajor.{self.A}")), alone)
        self.assertTrue(alone.startswith("2026-11-26T10:00:00+0000 notice  a "))

    def test_times(self):
        self.write(A=["10:00:00 a", "12:00:00 b", "12:00:59 c", "12:01:00 d"])
        for args, wanted in ((("--since", "2026-11-26T12:00"), "bcd"),
                             (("--until", "2026-11-26T12:00"), "abc"),
                             (("--until", "2026-11-26 12:00:00"), "ab"),
                             (("--since", "2026-11-26T13:00:00+0100"), "bcd"),
                             (("--since", "2026-11-26T12:00:30", "--until", "2026-11-26"), "cd"),
                             (("--since", "2026-11-27"), ""), (("--until", "2026-11-25"), ""),
                             (("--until", "2026-11-26", "-n", "1"), "d")):
            with self.subTest(args):
                self.assertEqual("".join(self.kinds(*args)), wanted)
        now = time.time()
        path = self.cache / f"portmajor.{self.A}" / "events"
        path.write_text("".join(
            time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime(now - ago)) + f" notice {kind} x\n"
            for ago, kind in ((7500, "a"), (3500, "b"), (50, "c"))))
        for since, wanted in (("3h", "abc"), ("1h", "bc"), ("60m", "bc"), ("70s", "c"),
                              ("1d", "abc")):
            with self.subTest(since):
                self.assertEqual("".join(self.kinds("--since", since)), wanted)
        for wrong in ("", "x", "2 h", "2h3", "26.11.2026", "2026-13-01", "25:00", "h"):
            with self.subTest(wrong):
                self.assertEqual(self.run_it("--since", wrong, status=2), "")


class NoDisk(EventCase):
    """A cable fails and returns while no file can be written."""

    def start(self):
        self.room = self.folder / f"{self.cache.name}.room"
        self.room.touch()
        how = {"test_full": errno.ENOSPC, "test_read_only": errno.EROFS}[self.cache.name]
        self.why = os.strerror(how)
        self.lab = self.enterContext(pmlab.Lab(
            self.net, fabric=self.fabric, cache_dir=self.cache,
            preload=[str(pmlab.BUILD / "libdiskfault.so")], env={
                "DISKFAULT_UNDER": str(self.cache), "DISKFAULT_NAME": "*", "DISKFAULT_AT": "1",
                "DISKFAULT_HOW": str(how), "DISKFAULT_ROOM": str(self.room),
                "DISKFAULT_LOG": str(self.folder / "calls")}))
        self.lab.bring_up()
        self.wait_for_event("notice", "engine", "^portmajor routes$")
        self.poll((0, []))
        self.before = self.run_it("events").stdout
        self.room.unlink()

    def poll(self, *wanted):
        simlab.poll_until(lambda: self.judge() in wanted, pmlab.TIMEOUT_S, f"{wanted}",
                          state=lambda: str(self.judge()))

    def check(self, while_away=lambda: None):
        self.lab.event("lose", "leaf5:20")
        while_away()
        self.lab.event("back", "leaf5:20")
        self.assertEqual(self.run_it("events").stdout, self.before)
        self.room.touch()
        self.wait_for_event("notice", "files", "^saved again$")
        self.poll((0, []))
        lines = self.run_it("events").stdout
        self.assertTrue(lines.startswith(self.before))
        times = [line.split()[0] for line in lines.splitlines()]
        self.assertEqual(times, sorted(times))
        said = [event[1:] for event in self.events()[self.before.count("\n"):]
                if event[0] != "info"]
        lost = "leaf5[20]-s1-line0[6]"
        self.assertRegex(said.pop([kind for kind, _ in said].index("files"))[1],
                         rf"^not saved: {self.cache}/portmajor\..*: {self.why}$")
        self.assertEqual(said, [("missing", lost), ("returned", lost), ("files", "saved again")])

    def test_full(self):
        """Missing parts are a finding all the same."""
        def look():
            simlab.poll_until(lambda: len(self.judge()[1]) == 2, pmlab.TIMEOUT_S, "two findings",
                              state=lambda: str(self.judge()))
            status, (unsaved, gone) = self.judge()
            self.assertEqual(status, 1)
            self.assertRegex(unsaved, rf"^not saved: .*: {self.why}$")
            self.assertRegex(gone, r"^missing: leaf5\[20\]-s1-line0\[6\], since ")
        self.check(look)

    def test_read_only(self):
        self.check()


if __name__ == "__main__":
    unittest.main()
