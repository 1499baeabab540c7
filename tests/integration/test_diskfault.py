#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A full disk, a broken disk, a slow disk, and a kill, at each call that writes one of our files.

For each file and each call (diskfault.c counts them): whatever happens there, the file is whole
afterwards, the log and `status` report it, no LID changes at a restart, on that same disk, and the
file is written when there is room.

While each fsync takes 8 s only the files are later than on a fast disk. While any call hangs, from
the start on, OpenSM routes all the same, repairs, and ends in time; files that could not be read
are kept.
"""

import errno
import json
import os
import re
import shutil

import control
import labtest
import pmlab
import simlab
from test_handover import plan_is_whole

LIBRARY = pmlab.BUILD / "libdiskfault.so"
NOT_SAVED, NOT_WRITTEN = "portmajor: not saved: ", "portmajor: state not written: "
CABLE, LATE = "leaf1:3", "spine1"  # less than a tenth of the switches, see pm_plan_fits
pmlab.TIMEOUT_S = 3 * simlab.SWEEP_INTERVAL_S  # a small fabric
A_REPLACE = 6  # open, write, fsync, rename; open and fsync of the folder


class DiskFault(labtest.Folders):
    APART = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = simlab.Netlist(pmlab.generate(cls.folder / "fabric.net",
                                                    "two-level", 9, 2, 2, 1))
        cls.config = cls.folder / "portmajor.conf"
        cls.config.write_text("migrate yes\nflap_limit 3\nflap_window 3600\n", encoding="ascii")
        cls.fabric = cls.stack.enter_context(pmlab.Fabric(cls.netlist))
        cls.good = cls.folder / "good"
        cls.good.mkdir()
        cls.fabric.lose(LATE)
        with cls.lab(cls.good) as lab:
            lab.bring_up()
        kept = cls.folder / "kept"
        shutil.copytree(cls.good, kept)
        with cls.lab(kept) as lab:
            lab.bring_up()
            lab.event("back", LATE)
            cls.lids = pmlab.Dump(lab.dump()).lids
        cls.lost = set()

    @classmethod
    def lab(cls, cache, **kwargs):
        return pmlab.Lab(cls.netlist, fabric=cls.fabric, cache_dir=cache,
                         conf={"event_plugin_options": cls.config}, **kwargs)

    def setUp(self):
        self.number = 0

    # ---- a disk

    def start_over(self, name, happen, how, at):
        """Restores the files, makes a fabric without LATE, and sets the next fault."""
        self.number += 1
        self.cache = self.folder / f"{self.id().rpartition('.')[2]}-{self.number}"
        shutil.copytree(self.good, self.cache)
        self.room, self.calls = self.cache / "room", self.cache / "calls"
        self.fault = {"DISKFAULT_UNDER": str(self.cache), "DISKFAULT_NAME": name,
                      "DISKFAULT_AT": str(at), "DISKFAULT_HOW": str(how),
                      "DISKFAULT_ROOM": str(self.room), "DISKFAULT_LOG": str(self.calls)}
        if happen is DiskFault.flap:
            self.back(LATE)
        else:
            self.lose(LATE)

    def lose(self, target):
        if target not in self.lost:
            self.fabric.lose(target)
            self.lost.add(target)

    def back(self, target):
        if target in self.lost:
            self.fabric.back(target)
            self.lost.discard(target)

    def faulty_lab(self):
        return self.lab(self.cache, preload=[str(LIBRARY)], env=self.fault)

    def counted(self):
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0

    def kept(self, name):
        return pmlab.kept(self.cache, name)

    # ---- events that cause writes of each file

    def grow(self, lab):
        """The plan, and the plan in force, since `migrate` assigns slots to new planes."""
        if LATE in self.lost:
            lab.measure("back", lambda: self.back(LATE))

    def flap(self, lab):
        """The failures are kept: two times for each."""
        lab.measure("lose", lambda: self.lose(CABLE))
        lab.measure("back", lambda: self.back(CABLE))

    def sweep(self, lab):
        lab.measure("SIGHUP", lab.osm.hup)

    def run_it(self, happen):
        """Runs with the fault; returns whether OpenSM is alive, and its log."""
        with self.faulty_lab() as lab:
            try:
                lab.bring_up()
                happen(self, lab)
            except simlab.SimError:
                if lab.osm.process.wait(10) != -9:
                    raise
            return lab.osm.log()

    # ---- judging

    def check_whole(self, name):
        """The file is whole, or missing."""
        path = self.kept(name)
        if not path.exists():
            return
        if name == "state":
            json.loads(path.read_text())
        elif name == "portmajor.prom":
            self.assertTrue(path.read_text().endswith("\n"))
        else:
            self.assertTrue(plan_is_whole(path), name)

    def check_lids(self, lab, event):
        self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
        self.assertEqual(event.lids_changed, 0)
        now = pmlab.Dump(lab.dump()).lids
        self.assertEqual(now, {name: self.lids[name] for name in now})

    def check_clean(self, name):
        self.assertFalse(self.kept(f"{name}.new").exists())
        self.assertEqual([p for p in self.cache.rglob("*") if ".bad-" in p.name], [])

    def status(self, *args):
        return pmlab.run_cli("status", "-q", *args, self.kept("state"))

    # ---- the walks

    def walk(self, name, how, happen, most=None):
        """A fault at each call, until none is reached any more. Returns their number."""
        at, hit = 0, True
        while hit and at != most:
            at += 1
            with self.subTest(name=name, how=how and errno.errorcode[how], at=at):
                self.start_over(name, happen, how, at)
                if how:
                    hit = self.with_errors(name, happen, at)
                else:
                    hit = self.with_a_kill(name, happen, at)
        return at if hit else at - 1

    def with_a_kill(self, name, happen, at):
        self.run_it(happen)
        hit = self.counted() >= at
        self.check_whole(name)
        for target in (CABLE, LATE):
            self.back(target)
        with self.lab(self.cache) as lab:
            self.check_lids(lab, lab.bring_up())
            self.assertEqual(pmlab.walk_faults(lab.walk(), plan=False), [])
        self.check_whole(name)
        self.assertEqual([p for p in self.cache.rglob("*") if ".bad-" in p.name], [])
        return hit

    def with_errors(self, name, happen, at):
        said = NOT_WRITTEN if name in ("state", "portmajor.prom") else NOT_SAVED
        why = os.strerror(int(self.fault["DISKFAULT_HOW"]))
        log = self.run_it(happen)
        if self.counted() < at:
            self.assertNotIn(said, log)
            return False
        self.assertEqual(log.count(said), 1, log)
        self.assertIn(f"{self.kept(name)}: {why}", log)
        self.check_whole(name)
        # The next one finds the same disk, from its first call on.
        self.fault["DISKFAULT_AT"] = "1"
        with self.faulty_lab() as lab:
            self.check_lids(lab, lab.bring_up())
            happen(self, lab)
            self.check_whole(name)
            self.check_status(name, why)
            self.room.touch()
            event = lab.measure("SIGHUP", lab.osm.hup)
            self.check_lids(lab, event)
            simlab.poll_until(lambda: self.status().returncode == 0, 60, "status to be content")
            self.check_whole(name)
            self.check_clean(name)
            self.assertTrue(self.kept(name).exists() or name == "drifting")
        return True

    def check_status(self, name, why):
        """It reports the fault; that of the state itself by the state's reserve."""
        if not self.counted():
            return  # no write was due this time
        simlab.poll_until(lambda: f"{self.kept(name)}: {why}" in self.status().stdout, 60,
                          f"status to tell of {name}")
        self.assertEqual(self.status().returncode, 1)

    # The files, and for each the event that makes the plugin write it.
    WRITTEN = {"plan": grow, "drifting": grow, "holds": flap, "state": sweep,
               "portmajor.prom": sweep}

    def test_killed(self):
        for name, happen in self.WRITTEN.items():
            with self.subTest(name):
                self.assertGreaterEqual(self.walk(name, 0, happen),
                                        A_REPLACE * (2 if name == "holds" else 1))

    def check_errors(self, how):
        for name, happen in self.WRITTEN.items():
            with self.subTest(name):
                self.assertEqual(self.walk(name, how, happen, A_REPLACE), A_REPLACE)

    def test_full(self):
        self.check_errors(errno.ENOSPC)

    def test_broken(self):
        self.check_errors(errno.EIO)


class SlowCase(labtest.Folders):
    APART = True
    CABLES = "leaf1:3", "leaf2:4"
    END_S = 5  # in which OpenSM must end, whatever hangs

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = simlab.Netlist(pmlab.generate(cls.folder / "fabric.net",
                                                    "two-level", 9, 2, 2, 1))
        cls.config = cls.folder / "portmajor.conf"
        cls.config.write_text("flap_limit 3\nflap_window 3600\n", encoding="ascii")

    def setUp(self):
        self.fabric = self.enterContext(pmlab.Fabric(self.netlist))
        self.disk = self.folder / self.id().rpartition(".")[2]
        self.cache = self.disk / "cache"
        self.cache.mkdir(parents=True)
        self.slow, self.syncs, self.touched = (self.disk / name
                                               for name in ("slow", "syncs", "touched"))

    def lab(self, calls="", hang=False, **conf):
        env = {"DISKFAULT_UNDER": str(self.cache), "DISKFAULT_SLOW": str(self.slow),
               "DISKFAULT_SYNCS": str(self.syncs), "DISKFAULT_TOUCHED": str(self.touched),
               "DISKFAULT_CALLS": calls, "DISKFAULT_HANG": "1" if hang else ""}
        return pmlab.Lab(self.netlist, fabric=self.fabric, cache_dir=self.cache, env=env,
                         preload=[str(LIBRARY)],
                         conf={"event_plugin_options": self.config, **conf})

    def counted(self, word):
        return self.syncs.read_text().split().count(word) if self.syncs.exists() else 0

    def begin_slowness(self, lab):
        """From here on; the files from before are written."""
        simlab.poll_until(lambda: pmlab.run_cli("status", "-q", pmlab.kept(self.cache, "state"))
                          .returncode == 0, 60, "the state")
        lab.osm.settle(lab.osm.mark(), sweep=False)
        self.slow.touch()

    def hang(self, lab):
        """Has the writer wait in an fsync."""
        lab.osm.hup()
        simlab.poll_until(lambda: self.counted("begin") > self.counted("end"), 60, "an fsync")

    def wait_before_the_end(self, lab, regex, since):
        """Waits until the log has lines from before the end of any fsync."""
        lab.osm.wait_log(regex, since)
        self.assertEqual(self.counted("end"), 0, regex)

    def status(self):
        return pmlab.run_cli("status", "-q", pmlab.kept(self.cache, "state"))


class SlowDisk(SlowCase):
    def lose_two(self, lab):
        """One after the other; returns the time of the second repair."""
        lab.measure("first", lambda: self.fabric.lose(self.CABLES[0]))
        if self.slow.exists():
            self.assertEqual((self.counted("begin"), self.counted("end")), (1, 0))

        def lose():
            mark = lab.osm.log_offset()
            lost = self.fabric.lose(self.CABLES[1])
            lab.osm.wait_log("portmajor repair 2: failed: 1 cable ", mark)
            self.ended = self.counted("end")
            return lost

        second = lab.measure("second", lose)
        self.assertEqual([repair.sent for repair in second.repairs], [second.wire])
        return second

    def test_two_losses(self):
        """The second is repaired while the first fsync of the first one is under way, and with as
        many SMPs as on a fast disk."""
        with self.lab() as lab:
            lab.bring_up()
            fast = self.lose_two(lab)
            for cable in self.CABLES:
                lab.event("back", cable)
        with self.lab() as lab:
            lab.bring_up()
            self.begin_slowness(lab)
            slow = self.lose_two(lab)
            self.assertEqual(self.ended, 0)
            self.assertEqual((slow.wire, slow.measured["last_lft_smp"]),
                             (fast.wire, fast.measured["last_lft_smp"]))
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])

    def test_drained(self):
        """A request is followed when it is on disk, and not before."""
        with self.lab() as lab:
            lab.bring_up()
            guid = int(pmlab.Dump(lab.dump()).guids["spine0"])
            self.begin_slowness(lab)
            mark = lab.osm.log_offset()
            with control.Client(self.cache, 120) as client:
                client.send({"request": "drain", "parts": [control.part(guid, 1)], "wait": 120})
                simlab.poll_until(lambda: self.counted("begin"), 60, "an fsync")
                self.assertNotIn("portmajor transition", lab.osm.log(mark))
                simlab.poll_until(lambda: self.counted("end") >= 1, 60, "its end")
                lab.osm.wait_log("portmajor transition 1: ", mark, timeout=60)
                self.slow.unlink()
                self.assertEqual(client.answer()["state"], "done")
            self.assertEqual(len(control.drained(self.cache)), 1)

    def test_new_lids(self):
        """They are given before the plan is on disk, and stay the same."""
        self.fabric.lose(LATE)
        with self.lab() as lab:
            lab.bring_up()
            self.begin_slowness(lab)
            plan = pmlab.kept(self.cache, "plan").read_bytes()
            mark = lab.osm.mark()
            self.fabric.back(LATE)
            self.wait_before_the_end(lab, "ports get LIDs before it is on disk",
                                     mark.log_offset)
            lab.osm.wait_subnet_up(mark.log_offset)
            run, = pmlab.Run.find(lab.osm.log(mark.log_offset))
            lab.osm.process.kill()
            lab.osm.process.wait(30)
            self.assertEqual(run.assigned, 1)
            self.assertEqual(pmlab.kept(self.cache, "plan").read_bytes(), plan)
        self.slow.unlink()
        with self.lab() as lab:
            event = lab.bring_up()
            self.assertEqual((event.lids_changed, event.runs[-1].assigned), (0, 0))
            self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})

    def test_new_lids_in_time(self):
        """On a fast disk they wait for the plan."""
        self.fabric.lose(LATE)
        with self.lab() as lab:
            lab.bring_up()
            plan = pmlab.kept(self.cache, "plan").read_bytes()
            lab.event("back", LATE)
            self.assertNotIn("ports get LIDs before", lab.osm.log())
            self.assertNotEqual(pmlab.kept(self.cache, "plan").read_bytes(), plan)

    def test_ended(self):
        """OpenSM does not wait for the disk, and leaves whole files."""
        for event in (lambda lab: lab.osm.hup(), lambda lab: self.fabric.lose(self.CABLES[0])):
            with self.lab() as lab:
                lab.bring_up()
                self.begin_slowness(lab)
                event(lab)
                simlab.poll_until(lambda: self.counted("begin") > self.counted("end"), 60,
                                  "an fsync")
                lab.osm.process.terminate()
                self.assertEqual(lab.osm.process.wait(self.END_S), 0, lab.osm.stdout()[-500:])
                self.assertEqual(self.counted("end"), 0)
            self.slow.unlink()
            self.syncs.unlink()
            self.assertTrue(plan_is_whole(pmlab.kept(self.cache, "plan")))
            json.loads(pmlab.kept(self.cache, "state").read_text())
        with self.lab() as lab:
            self.assertEqual(lab.bring_up().lids_changed, 0)

    def test_who_touches_files(self):
        """No thread of OpenSM's touches a file of ours."""
        roles = self.cache / "portmajor.io"
        roles.write_text("")
        self.fabric.lose(LATE)
        with self.lab(io_guid_file=roles) as lab:
            lab.bring_up()
            lab.event("back", LATE)
            self.assertEqual(control.ask(self.cache, "release", all=True)["reason"], None)
            lab.measure("SIGHUP", lab.osm.hup)
            for cable in self.CABLES:
                lab.event("lose", cable)
                lab.event("back", cable)
            ours = set()
            for line in self.touched.read_text().splitlines():
                thread, call, path = line.split(" ", 2)
                if path.startswith(f"{self.cache}/portmajor."):
                    ours.add((os.path.basename(path), call))
                    self.assertEqual(thread, "portmajor-write", line)
        self.assertLessEqual({("plan.new", "open"), ("plan", "rename"), ("holds", "rename"),
                              ("state", "rename"), ("portmajor.prom", "rename"),
                              ("requests", "rename"), ("requests.new", "open"),
                              ("portmajor.io", "open")}, ours)


class HangingDisk(SlowCase):
    """Each call of one kind hangs."""

    LATE_LINE = "portmajor: files in the cache folder are not read after "

    def setUp(self):
        super().setUp()
        with self.lab() as lab:
            self.fast = lab.bring_up()
            self.lids = pmlab.Dump(lab.dump()).lids
        with self.lab() as lab:
            self.again = lab.bring_up()
        self.plan = pmlab.kept(self.cache, "plan").read_bytes()
        self.slow.touch()

    def bring_up(self, lab):
        """Starts without its files; the log has the lines in this order."""
        event = lab.bring_up()
        log = lab.osm.log()
        self.assertEqual(log.count(self.LATE_LINE), 1)
        self.assertLess(log.index(self.LATE_LINE), log.index("SUBNET UP"))
        self.assertEqual(self.counted("end"), 0)
        self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
        self.assertEqual(event.lids_changed, 0)
        self.assertEqual(pmlab.Dump(lab.dump()).lids, self.lids)
        self.assertEqual(event.wire, self.again.wire)
        self.assertEqual(lab.osm.log().count("ports get LIDs before"), 0)
        return event

    def end(self, lab):
        """While it hangs."""
        self.assertGreater(self.counted("begin"), self.counted("end"))
        lab.osm.process.terminate()
        self.assertEqual(lab.osm.process.wait(self.END_S), 0, lab.osm.stdout()[-500:])
        self.assertEqual(self.counted("end"), 0)

    def check_hangs(self, call):
        """Start, two failures, the end; and the next one finds all files."""
        with self.lab(calls=call, hang=True) as lab:
            self.bring_up(lab)
            for number, cable in enumerate(self.CABLES, 1):
                mark = lab.osm.log_offset()
                lab.measure("lose", lambda cable=cable: self.fabric.lose(cable))
                self.assertIn(f"portmajor repair {number}: failed: 1 cable ",
                              lab.osm.log(mark))
            self.assertEqual(pmlab.walk_faults(lab.walk(), plan=False), [])
            self.end(lab)
        self.slow.unlink()
        for cable in self.CABLES:
            self.fabric.back(cable)
        self.assertEqual(pmlab.kept(self.cache, "plan").read_bytes(), self.plan)
        with self.lab() as lab:
            self.assertEqual(lab.bring_up().lids_changed, 0)
            self.assertEqual(pmlab.Dump(lab.dump()).lids, self.lids)
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])

    def test_open(self):
        self.check_hangs("open")

    def test_read(self):
        self.check_hangs("read")

    def test_lstat(self):
        self.check_hangs("lstat")

    def test_stat(self):
        self.check_hangs("stat")

    def test_access(self):
        self.check_hangs("access")

    def test_flock(self):
        self.check_hangs("flock")

    def test_scandir(self):
        self.check_hangs("scandir")

    def check_kept(self, lab):
        """A file that was read too late is kept under another name, which is the only finding, and
        the new plan is in its place."""
        def look():
            return re.findall(r"(?m)^finding +(.*)$", self.status().stdout)

        simlab.poll_until(lambda: len(look()) == 1 and "a plan was not used: " in look()[0], 120,
                          "the files", state=lambda: str(look()))
        late = list(pmlab.kept(self.cache, "plan").parent.glob("plan.late-*"))
        self.assertEqual([path.read_bytes() for path in late], [self.plan])
        self.assertIn(f"portmajor: plan not used and renamed to {late[0]}: it was not read "
                      "in time", lab.osm.log())
        self.assertTrue(plan_is_whole(pmlab.kept(self.cache, "plan")))

    def test_goes_on(self):
        """The late file is as good as before in its place."""
        with self.lab(calls="lstat", hang=True) as lab:
            self.bring_up(lab)
            self.slow.unlink()
            self.check_kept(lab)
            lab.measure("SIGHUP", lab.osm.hup)
        with self.lab() as lab:
            self.assertEqual(lab.bring_up().lids_changed, 0)
            self.assertEqual(pmlab.Dump(lab.dump()).lids, self.lids)
        plan = pmlab.kept(self.cache, "plan")
        late, = plan.parent.glob("plan.late-*")
        late.rename(plan)
        with self.lab() as lab:
            self.assertEqual(lab.bring_up().lids_changed, 0)
            self.assertEqual(pmlab.Dump(lab.dump()).lids, self.lids)
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])

    def test_each_open_takes_8_s(self):
        with self.lab(calls="open") as lab:
            self.bring_up(lab)
            self.check_kept(lab)

    def test_ended_while_starting(self):
        """In the first sweep's wait for files, or before."""
        with self.lab(calls="open", hang=True) as lab:
            simlab.poll_until(lambda: self.counted("begin"), 60, "an open")
            self.end(lab)

    def test_ended_while_writing(self):
        self.slow.unlink()
        for call in ("write", "fsync", "rename", "unlink", "open"):
            with self.subTest(call), self.lab(calls=call, hang=True) as lab:
                lab.bring_up()
                self.begin_slowness(lab)
                self.hang(lab)
                self.end(lab)
                self.slow.unlink()
                self.syncs.unlink()


if __name__ == "__main__":
    labtest.main()
