#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Subnet managers that take turns, are killed at any moment, and find odd files.

Whatever happens, no LID changes, and tables read back from the switches are those of an undisturbed
manager.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
import unittest
import unittest.mock

import labtest
import pmlab
import simlab
import wire

ATTR_PORT_INFO = 0x15
PLAN = "plan"
GUID2LID = "guid2lid"

# Three levels, four planes: each leaf has one cable to a switch of each plane.
SPINES = "sw3-[0-3]"  # all of one plane
SWITCH = "sw2-5"
CABLE = "leaf5:9"

# A sweep that ends with an error is repeated only after sweep_interval.
TIMEOUT_S = 3 * simlab.SWEEP_INTERVAL_S


# ------------------------------------------------------------------------- files

def read_guid2lid(path):
    """{port GUID: LID} of OpenSM's file; a repeated GUID or LID is an error."""
    found = {}
    for guid, low, high in re.findall(r"^(0x[0-9a-f]+) (0x[0-9a-f]+) (0x[0-9a-f]+)$",
                                      path.read_text(), re.M):
        if low != high or int(guid, 16) in found or int(low, 16) in found.values():
            raise AssertionError(f"{path}: {guid} {low} {high} is not right")
        found[int(guid, 16)] = int(low, 16)
    return found


def write_guid2lid(path, lids):
    path.write_text("".join(f"{guid:#018x} {lid:#06x} {lid:#06x}\n\n"
                            for guid, lid in lids.items()))


def plan_is_whole(path):
    """Whether the plan file's last line has the checksum (FNV-1a) of all the others."""
    body, _, end = path.read_bytes().rpartition(b"end ")
    value = 0xCBF29CE484222325
    for byte in body:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return end == b"%016x\n" % value


def port_lids(dump):
    """{port GUID: LID} of the ports that have a LID in ibsim's Dump.

    ibsim makes port GUIDs up: a node's GUID + the port's number.
    """
    found, guid = {}, None
    for line in dump.read_text().splitlines():
        node = re.match(r'\S+ \d+ ".*nodeguid ([0-9a-f]+)\t', line)
        port = re.match(r"[0-9a-f]+\t\[(\d+)\]\t.* lid (\d+) lmc", line)
        if node:
            guid = int(node[1], 16)
        elif port and int(port[2]):
            found[guid + int(port[1])] = int(port[2])
    return found


def port_guid(dump, host):
    """Of a host's first port."""
    return int(re.search(rf'"{host}"\t.*nodeguid ([0-9a-f]+)\t', dump.read_text())[1], 16) + 1


# ----------------------------------------------------------------------- judging

class SmCase(labtest.Folders):
    """One netlist for all tests of a class, cache folders for each test."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = simlab.Netlist(pmlab.generate(cls.folder / "fabric.net",
                                                    "xgft", 3, "6,4,3", "1,4,4"))

    def setUp(self):
        self.cache = self.new_cache("a")

    def new_cache(self, name):
        path = self.folder / f"{self.id().rpartition('.')[2]}-{name}"
        path.mkdir()
        return path

    def lab(self, fabric, cache=None, **kwargs):
        return pmlab.Lab(self.netlist, fabric=fabric, cache_dir=cache, **kwargs)

    def check_tables(self, lab, expected, away=None, plan=True):
        """LIDs are the expected ones, and so are entries. Returns port_lids().

        With `away`, hosts without a path (maybe none) on a degraded fabric, only the leaves'
        entries for the other hosts are compared: a manager does not know which entries its
        predecessor left for LIDs without a path. walk() compares every entry that has one with the
        plan's.
        """
        self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
        path = lab.dump()
        now = pmlab.Dump(path)
        self.assertEqual(now.lids, expected.lids)
        self.assertEqual(len(set(now.lids.values())), len(now.lids), "LIDs given twice")
        differ = list(pmlab.changed_entries(expected, now))
        if away is not None:
            hosts = {now.lids[name] for name in now.hosts - set(away)}
            differ = [(switch, lid) for switch, lid in differ
                      if switch.startswith("leaf") and lid in hosts]
        self.assertEqual(differ[:5], [])
        ports = port_lids(path)
        self.assertEqual(pmlab.walk_faults(lab.walk(), plan=plan), [])
        return ports

    def check_files(self, ports, cache):
        """The files of the master are whole and agree with the fabric."""
        stored = read_guid2lid(cache / GUID2LID)
        self.assertEqual({guid: (stored.get(guid), lid) for guid, lid in ports.items()
                          if stored.get(guid) != lid}, {})
        self.assertTrue(plan_is_whole(pmlab.kept(cache, PLAN)))
        simlab.poll_until(lambda: not list(cache.rglob("*.new")), 60, "files being written")
        self.assertEqual(list(cache.rglob("*.bad-*")), [])

    def check_all(self, lab, event, expected, away=None, plan=True):
        self.assertTrue(event.runs)
        self.assertEqual(event.lids_changed, 0)
        self.check_files(self.check_tables(lab, expected, away, plan), lab.osm.cache_dir)

    def kill(self, lab):
        """kill -9; its place in ibsim is freed."""
        lab.fabric.kill_client(lab.osm.process)
        self.assertNotIn(lab.osm.process.pid, lab.fabric.clients().values())


def slow_smps(us):
    """Managers started within wait so many microseconds before each SMP."""
    return unittest.mock.patch.dict(os.environ, MADCOUNT_DELAY_US=us)


# ---------------------------------------------------------------------- handover

def wait_swept(osm, mark, since=None, timeout=TIMEOUT_S):
    """Waits until a manager that another one polls has dealt with all events since `mark`.

    Its answers to the polls never end, so its requests must stand still instead. `since`: the
    offset in the log after which SUBNET UP must follow, if not the mark.
    """
    still = {"requests": None}
    since = mark.log_offset if since is None else since

    def swept():
        osm.is_alive()
        counters, log = osm.counters(), osm.log(since)
        if counters["requests"] != still["requests"] or counters.outstanding:
            still.update(requests=counters["requests"], at=time.monotonic())
        return (time.monotonic() - still["at"] >= simlab.QUIET_S
                and counters["discoveries"] > mark.counters["discoveries"]
                and log.rfind("-> SUBNET UP") > max(log.rfind("Errors during init"),
                                                    log.rfind("Entering STANDBY")))

    simlab.poll_until(swept, timeout, "opensm to settle beside a standby",
                      state=osm.describe)
    return pmlab.Event.of("", dict(osm.delta(mark)), osm.log(mark.log_offset))


def wait_polled(osm):
    """Waits until a standby has its next answer.

    A request to a manager that then dies, or that cannot answer it any more, would never be
    answered, nor time out: ibsim leaves that to the receiver, and OpenSM would wait for ever.
    """
    asked = osm.counters()["requests"]
    simlab.poll_until(lambda: osm.counters()["requests"] > asked
                      and not osm.counters().outstanding, TIMEOUT_S, "a poll to be answered")


def wait_state(osm, state, since=0, timeout=TIMEOUT_S):
    """Waits until a manager enters a state; the log's offset there."""
    found = osm.wait_log(rf"Entering {state} state", since, timeout=timeout)
    return since + found.start()


def take_over(fabric, master, standby):
    """Kills the master. Returns the mark of the standby before; the standby has swept as master."""
    wait_state(standby, "STANDBY", timeout=pmlab.TIMEOUT_S)
    mark = standby.mark()
    wait_polled(standby)
    fabric.kill_client(master.process)
    wait_state(standby, "MASTER", mark.log_offset, pmlab.TIMEOUT_S)
    standby.settle(mark, timeout=pmlab.TIMEOUT_S)
    return mark


class Handover(SmCase):
    """A and B, each with its own cache folder, on leaves apart."""

    POLL = {"sminfo_polling_timeout": 400, "polling_retry_number": 2}
    HOSTS = {"a": "h0-1", "b": "h10-1"}

    def setUp(self):
        super().setUp()
        self.caches = {"a": self.cache, "b": self.new_cache("b")}
        self.labs, self.stack = {}, contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.fabric = self.stack.enter_context(pmlab.Fabric(self.netlist))

    def start(self, name, priority, **kwargs):
        """On a wire with time-outs: ibsim forgets requests that the other one cannot answer, and
        OpenSM would wait for ever."""
        self.labs[name] = self.stack.enter_context(self.lab(
            self.fabric, self.caches[name], host=self.HOSTS[name], wire=wire.Wire(),
            conf={**self.POLL, "sm_priority": priority}, **kwargs))
        return self.labs[name]

    def start_first(self, name, priority):
        """The only manager so far; returns the Dump when it is done."""
        lab = self.start(name, priority)
        lab.bring_up()
        return pmlab.Dump(lab.dump())

    def start_standby(self, name, priority, **kwargs):
        lab = self.start(name, priority, **kwargs)
        wait_state(lab.osm, "STANDBY")
        return lab

    def take_over(self, dying, name, expected, away=None, meanwhile=None):
        """One is killed, the fabric changes, the other one takes over."""
        self.check_all(self.labs[name], self.kill_and_wait(dying, name, meanwhile), expected,
                       away)

    def kill_and_wait(self, dying, name, meanwhile=None):
        mark = self.kill_beside(dying, name)
        if meanwhile:
            meanwhile()
        osm = self.labs[name].osm
        return wait_swept(osm, mark, wait_state(osm, "MASTER", mark.log_offset))

    def kill_beside(self, dying, name):
        """Kills the master, not while the other one waits for its answer."""
        osm = self.labs[name].osm
        mark = osm.mark()
        wait_polled(osm)
        self.kill(self.labs[dying])
        return mark

    def hand_over(self, to, priority, expected, away=None):
        """One of higher priority comes: the master sends it HANDOVER.

        It comes slowly, so that HANDOVER reaches it while it discovers; on a busy machine it may be
        a standby first, and send the other one trap 144 to hurry it.
        """
        other = self.labs["b" if to == "a" else "a"].osm
        mark = other.mark()
        with slow_smps("3000"):
            lab = self.start(to, priority)
        entered = wait_state(lab.osm, "MASTER")
        wait_state(other, "STANDBY", mark.log_offset)
        event = wait_swept(lab.osm, lab.osm.start_mark, entered)
        self.check_all(lab, event, expected, away)
        self.assertEqual(other.delta(mark)["lft_sets"], 0)

    def change(self, name, *actions):
        """Changes the fabric, and waits until the master has dealt with it."""
        lab = self.labs[name]
        lab.osm.wait_traps_aged()
        for other in self.labs.values():
            if other is not lab and other.osm.process.poll() is None:
                wait_polled(other.osm)
        mark = lab.osm.mark()
        for action in actions:
            action()
        event = wait_swept(lab.osm, mark)
        self.assertEqual(event.lids_changed, 0)
        return pmlab.Dump(lab.dump())

    def lose(self, *targets):
        return [lambda t=target: self.fabric.lose(t) for target in targets]

    def back(self, *targets):
        return [lambda t=target: self.fabric.back(t) for target in targets]

    def replace_host(self, host, guid):
        return lambda: self.fabric.console(f'Clear "{host}"', f'Guid "{host}" {guid:#x}',
                                           f'ReLink "{host}"')

    def test_there_and_back(self):
        """The stronger one dies and returns, twice; then it returns weaker."""
        healthy = self.start_first("a", 10)
        self.start_standby("b", 2)
        self.take_over("a", "b", healthy)
        self.hand_over("a", 10, healthy)
        self.take_over("a", "b", healthy)
        weak = self.start_standby("a", 1)
        self.assertEqual(weak.osm.counters()["lft_sets"], 0)
        self.take_over("b", "a", healthy)
        self.hand_over("b", 5, healthy)

    def test_much_has_changed_meanwhile(self):
        """The returning one's files are out of date: failed parts are back, others have failed, a
        host is another one. Then the other way round."""
        healthy = self.start_first("a", 10)
        self.start_standby("b", 2)
        self.change("a", *self.lose("sw3-7", "h4-4"))
        self.take_over("a", "b", healthy, meanwhile=lambda: [
            self.fabric.back("sw3-7"), self.fabric.back("h4-4")])
        old = port_lids(self.labs["b"].dump())
        lost = self.change("b", self.replace_host("h7-3", 0xABCDEF0000),
                           *self.lose(CABLE, SPINES, SWITCH, "h9-2"))
        self.assertEqual(lost.lids, healthy.lids)
        self.hand_over("a", 10, lost, away=["h9-2"])
        # b is a standby now and does not see these:
        now = self.change("a", *self.back(SPINES, CABLE, "h9-2", SWITCH))
        self.assertEqual(list(pmlab.changed_entries(healthy, now))[:5], [])
        self.take_over("a", "b", healthy,
                       meanwhile=self.replace_host("h10-6", 0xABCDEF0100))
        new = port_lids(self.labs["b"].dump())
        self.assertEqual(new.keys() - old.keys(), {0xABCDEF0001, 0xABCDEF0101})
        self.assertEqual(read_guid2lid(self.caches["b"] / GUID2LID), new)

    def test_lost_while_nobody_is_in_charge(self):
        """Many parts fail as the manager dies, and return as the next one does."""
        targets = (SPINES, SWITCH, CABLE, "h11-4")
        healthy = self.start_first("a", 10)
        self.start_standby("b", 2)
        lost = self.change("a", *self.lose(*targets))
        self.change("a", *self.back(*targets))
        self.take_over("a", "b", healthy)
        self.start_standby("a", 1)
        self.take_over("b", "a", lost, ["h11-4"],
                       lambda: [self.fabric.lose(t) for t in targets])
        self.start_standby("b", 0)
        self.take_over("a", "b", healthy, None,
                       lambda: [self.fabric.back(t) for t in targets])

    def test_killed_before_the_standby_has_finished(self):
        """Both die; the first one that returns goes on."""
        healthy = self.start_first("a", 10)
        second = self.start_standby("b", 2)
        mark = self.kill_beside("a", "b")
        wait_state(second.osm, "MASTER", mark.log_offset)
        self.kill(second)
        first = self.start("a", 10)
        self.check_all(first, first.bring_up(), healthy)
        self.start_standby("b", 2)
        self.take_over("a", "b", healthy)

    def test_standby_whose_disk_hangs(self):
        """It takes over without its files the first time, and later with the plan in its memory;
        LIDs stay, and its own files keep their names."""
        late = "portmajor: files in the cache folder are not read after "
        hangs = self.folder / "hangs"
        hangs.touch()
        healthy = self.start_first("a", 1)
        second = self.start_standby("b", 0, preload=[str(pmlab.BUILD / "libdiskfault.so")], env={
            "DISKFAULT_UNDER": str(self.caches["b"]), "DISKFAULT_SLOW": str(hangs),
            "DISKFAULT_SYNCS": str(self.folder / "syncs"), "DISKFAULT_CALLS": "open,stat",
            "DISKFAULT_HANG": "1"})
        for number in (1, 2):
            event = self.kill_and_wait("a", "b")
            self.assertEqual(event.lids_changed, 0)
            self.check_tables(second, healthy)
            self.assertEqual(second.osm.log().count(late), number)
            if number == 1:
                self.assertFalse(pmlab.kept(self.caches["b"], PLAN).exists())
                hangs.unlink()
                simlab.poll_until(pmlab.kept(self.caches["b"], PLAN).exists, 60, "the plan")
                self.hand_over("a", 2, healthy)
                hangs.touch()
        hangs.unlink()
        simlab.poll_until(lambda: pmlab.run_cli(
            "status", "-q", pmlab.kept(self.caches["b"], "state")).returncode == 0, 60, "files")
        self.assertEqual(list(self.caches["b"].rglob("*.late-*")), [])
        self.check_files(port_lids(second.dump()), self.caches["b"])

    def test_standby_cannot_store(self):
        """With files that cannot be written a standby still keeps all LIDs."""
        (self.caches["b"] / (GUID2LID + ".tmp")).mkdir()
        healthy = self.start_first("a", 10)
        guid = port_guid(self.labs["a"].dump(), self.HOSTS["b"])
        (self.caches["b"] / f"portmajor.{guid:016x}" / (PLAN + ".new")).mkdir(parents=True)
        second = self.start_standby("b", 2)
        event = self.kill_and_wait("a", "b")
        self.assertEqual(event.lids_changed, 0)
        self.check_tables(second, healthy)
        self.assertIn("guid2lid cannot be stored", second.osm.log())
        self.assertIn("portmajor: not saved: ", second.osm.log())
        for verb in (self.lose, self.back):
            now = self.change("b", *verb(SWITCH))
            self.assertEqual(now.lids, healthy.lids)
        self.check_tables(second, healthy)


# ----------------------------------------------------------------------- kill -9

class Point:
    """A moment of a sweep: so many SMPs of a kind have been sent since its start."""

    COUNTS = {
        "SMPs": lambda d: d["smps"],
        "PortInfo Sets": lambda d: d.attr(ATTR_PORT_INFO, "set"),
        "LFT Sets": lambda d: d["lft_sets"],
    }

    def __init__(self, count, what):
        self.count, self.what = max(1, int(count)), what

    def __str__(self):
        return f"after {self.count} {self.what}"

    def reached(self, delta):
        return self.COUNTS[self.what](delta) >= self.count


class Killed(SmCase):
    """kill -9 at chosen points of a sweep; the next manager finishes the work."""

    DELAY_US = "60"  # for each SMP, so that points can be hit

    @classmethod
    def setUpClass(cls):
        """One undisturbed run: the order of its SMPs, and its result."""
        super().setUpClass()
        with pmlab.Fabric(cls.netlist) as fabric, pmlab.Lab(cls.netlist, fabric=fabric) as lab:
            lab.bring_up()
            cls.first = lab.osm.counters()
            cls.healthy = pmlab.Dump(lab.dump())
            cls.lost_event = lab.lose(SWITCH)
            cls.lost = pmlab.Dump(lab.dump())
            mark = lab.osm.mark()
            cls.back_event = lab.back(SWITCH)
            cls.links_set = lab.osm.delta(mark).attr(ATTR_PORT_INFO, "set")

    @contextlib.contextmanager
    def slow(self, fabric, cache):
        """A Lab that sends slowly."""
        with contextlib.ExitStack() as stack:
            with slow_smps(self.DELAY_US):
                lab = stack.enter_context(self.lab(fabric, cache))
            yield lab

    def kill_at(self, lab, point, mark):
        """Kills a manager at a point after a mark. Returns the ports' LIDs then."""
        simlab.poll_until(lambda: lab.osm.is_alive() and point.reached(lab.osm.delta(mark)),
                          TIMEOUT_S, str(point), every=0.0001)  # POLL_S lasts a hundred SMPs
        self.kill(lab)
        plan = pmlab.kept(lab.osm.cache_dir, PLAN)
        self.assertTrue(not plan.exists() or plan_is_whole(plan))
        return pmlab.Dump(lab.dump()).lids

    def points(self):
        """Points in discovery, LIDs, tables and links of the first sweep."""
        before, tables = self.first["first_lft_smp"], self.first["lft_sets"]
        after = self.first["smps"] - self.first["last_lft_smp"]
        nodes = len(self.netlist.nodes)
        return ([Point(before * part, "SMPs") for part in (0.02, 0.4, 0.85)]
                + [Point(n, "PortInfo Sets") for n in (1, 2, nodes / 2, nodes)]
                + [Point(n, "LFT Sets") for n in (1, tables / 3, tables - 1, tables)]
                + [Point(self.first["last_lft_smp"] + after * part, "SMPs")
                   for part in (0.01, 0.3, 0.95)])

    def test_first_sweep(self):
        """Every third time, the files are lost as well."""
        in_time = 0
        for number, point in enumerate(self.points()):
            with self.subTest(str(point)), pmlab.Fabric(self.netlist) as fabric:
                cache = self.new_cache(number)
                with self.slow(fabric, cache) as lab:
                    lids = self.kill_at(lab, point, lab.osm.start_mark)
                    in_time += "SUBNET UP" not in lab.osm.log()
                self.assertLessEqual(lids.items(), self.healthy.lids.items())
                with self.lab(fabric, cache if number % 3 else None) as lab:
                    self.check_all(lab, lab.bring_up(), self.healthy)
        # The points behind the last LFT Set may be hit late.
        self.assertGreaterEqual(in_time, len(self.points()) - 3)

    def test_again_and_again(self):
        """Killed in the first sweep, in the one that repairs it, and so on."""
        with pmlab.Fabric(self.netlist) as fabric:
            for point in self.points()[::-2]:
                with self.slow(fabric, self.cache) as lab:
                    lids = self.kill_at(lab, point, lab.osm.start_mark)
                self.assertLessEqual(lids.items(), self.healthy.lids.items())
            with self.lab(fabric, self.cache) as lab:
                self.check_all(lab, lab.bring_up(), self.healthy)

    @staticmethod
    def event_points(event):
        """Points in discovery and tables of the sweep after an event.

        OpenSM may discover twice for the one event and once for the other.
        """
        before = event.measured["first_lft_smp"] / event.measured["discoveries"]
        tables = event.wire
        return ([Point(before * part, "SMPs") for part in (0.1, 0.8)]
                + [Point(n, "LFT Sets") for n in (1, tables / 2, tables)])

    def test_after_an_event(self):
        """A switch fails, the manager is killed; the switch returns, the next manager is killed."""
        with pmlab.Fabric(self.netlist) as fabric:
            expected, away = self.healthy, None
            # PortInfo Sets: links that come up.
            for pair in zip(self.event_points(self.lost_event)
                            + [Point(self.lost_event.wire / 4, "LFT Sets")],
                            self.event_points(self.back_event)
                            + [Point(self.links_set / 2, "PortInfo Sets")]):
                for point, verb in zip(pair, (fabric.lose, fabric.back)):
                    with self.subTest(f"{verb.__name__} {point}"), \
                            self.slow(fabric, self.cache) as lab:
                        self.check_all(lab, lab.bring_up(), expected, away)
                        mark = lab.osm.mark()
                        verb(SWITCH)
                        expected, away = ((self.lost, []) if verb == fabric.lose
                                          else (self.healthy, None))
                        self.assertEqual(self.kill_at(lab, point, mark), expected.lids)
            with self.lab(fabric, self.cache) as lab:
                self.check_all(lab, lab.bring_up(), expected, away)

    def test_other_losses_while_it_is_away(self):
        """The next manager finds another fabric than that for which the killed one was writing."""
        points = [Point(self.lost_event.wire * part, "LFT Sets") for part in (0.1, 0.6)]
        with pmlab.Fabric(self.netlist) as fabric:
            for point in points:
                with self.slow(fabric, self.cache) as lab:
                    self.check_all(lab, lab.bring_up(), self.healthy)
                    mark = lab.osm.mark()
                    fabric.lose("sw2-2")
                    fabric.lose(CABLE)
                    self.kill_at(lab, point, mark)
                fabric.back("sw2-2")
                fabric.lose(SWITCH)
                fabric.back(CABLE)
                with self.slow(fabric, self.cache) as lab:  # killed in the repairing sweep
                    self.kill_at(lab, Point(self.first["lft_sets"] / 3, "LFT Sets"),
                                 lab.osm.start_mark)
                with self.slow(fabric, self.cache) as lab:
                    self.check_all(lab, lab.bring_up(), self.lost, away=[])
                    mark = lab.osm.mark()
                    fabric.back(SWITCH)
                    self.kill_at(lab, Point(self.back_event.wire / 2, "LFT Sets"), mark)
            with self.lab(fabric, self.cache) as lab:
                self.check_all(lab, lab.bring_up(), self.healthy)


# --------------------------------------------------------------------- odd files

class Files(SmCase):
    """Files as a kill, a full disk or a hand can leave them, on a running fabric."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fabric = cls.stack.enter_context(pmlab.Fabric(cls.netlist))
        cls.good = cls.folder / "good"
        cls.good.mkdir()
        with pmlab.Lab(cls.netlist, fabric=cls.fabric, cache_dir=cls.good) as lab:
            lab.bring_up()
            cls.expected = pmlab.Dump(lab.dump())

    def setUp(self):
        super().setUp()
        shutil.copytree(self.good, self.cache, dirs_exist_ok=True)
        self.plan, self.guid2lid = pmlab.kept(self.cache, PLAN), self.cache / GUID2LID
        self.new = self.plan.with_name(PLAN + ".new")

    def restart(self, cache=None, **kwargs):
        """A manager takes the fabric over with these files; its log, and port_lids()."""
        with self.lab(self.fabric, cache or self.cache, **kwargs) as lab:
            event = lab.bring_up()
            self.assertEqual(event.lids_changed, 0)
            self.assertEqual([run.assigned for run in event.runs if run.assigned], [])
            return lab.osm.log(), self.check_tables(lab, self.expected)

    def set_aside(self):
        return [p for p in self.cache.rglob("*") if ".bad-" in p.name]

    def check_restart(self, set_aside=0):
        """Restarts; then the files are right."""
        _, ports = self.restart()
        self.assertEqual(len(self.set_aside()), set_aside)
        for path in self.set_aside():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.check_files(ports, self.cache)

    def cut(self, path):
        """Cut short in the middle of a line."""
        path.write_bytes(path.read_bytes()[:path.stat().st_size * 3 // 5 + 1])

    def test_unspoilt(self):
        self.check_restart()

    def test_no_plan(self):
        """Killed before the first plan was stored."""
        self.plan.unlink()
        self.check_restart()

    def test_guid2lid_empty(self):
        """OpenSM makes an empty one when it starts."""
        self.guid2lid.write_bytes(b"")
        self.check_restart()

    def test_guid2lid_empty_and_no_plan(self):
        self.guid2lid.write_bytes(b"")
        self.plan.unlink()
        self.check_restart()

    def test_guid2lid_cut(self):
        self.cut(self.guid2lid)
        self.check_restart()

    def test_both_cut(self):
        self.cut(self.guid2lid)
        self.cut(self.plan)
        self.check_restart(set_aside=1)

    def test_guid2lid_of_another_time(self):
        """All LIDs belong to others in it, and some to unknown GUIDs."""
        lids = read_guid2lid(self.guid2lid)
        turned = dict(zip(lids, list(lids.values())[7:] + list(lids.values())[:7]))
        for number, guid in enumerate(list(turned)[::9]):
            turned[0xDEAD0000 + number] = turned.pop(guid)
        write_guid2lid(self.guid2lid, turned)
        self.check_stale_gone()

    def test_guid2lid_of_another_time_and_no_plan(self):
        lids = read_guid2lid(self.guid2lid)
        write_guid2lid(self.guid2lid, dict(zip(lids, reversed(lids.values()))))
        self.plan.unlink()
        self.check_restart()

    def check_stale_gone(self):
        self.check_restart()
        self.assertEqual([hex(g) for g in read_guid2lid(self.guid2lid) if g >= 0xDEAD0000], [])

    def test_guid2lid_garbage(self):
        """Meaningless lines, LIDs given twice, numbers that are no LIDs."""
        text = self.guid2lid.read_text()
        self.guid2lid.write_text("what is this\n\n" + text
                                 + "0x00000000dead0001 0x0001 0x0001\n\n"
                                   "0x00000000dead0002 0xfff0 0xfff0\n\n"
                                   "0x00000000dead0003 0x0009 0x0003\n\n"
                                 + text[:200])
        self.check_restart()

    def test_plan_is_a_folder(self):
        self.plan.unlink()
        self.plan.mkdir()
        self.check_restart(set_aside=1)

    def test_half_a_new_plan_left(self):
        """Killed while it wrote a plan: the rest is neither read nor in the way."""
        data = self.plan.read_bytes()
        tmp = self.cache / (GUID2LID + ".tmp")
        self.new.write_bytes(data[:len(data) // 2])
        tmp.write_text("0x1 0x0001 0x00")
        self.restart()
        self.assertEqual(self.plan.read_bytes(), data)
        self.plan.unlink()  # killed while it wrote the first one
        self.check_restart()
        self.assertEqual(self.plan.read_bytes(), data)

    def test_nothing_can_be_stored(self):
        """It goes on, reports it, and stores the plan as soon as it can."""
        (self.cache / (GUID2LID + ".tmp")).mkdir()
        self.new.mkdir()
        self.plan.unlink()
        with self.lab(self.fabric, self.cache) as lab:
            self.assertEqual(lab.bring_up().lids_changed, 0)
            self.check_tables(lab, self.expected)
            self.assertIn("portmajor: not saved: ", lab.osm.log())
            lab.lose(SWITCH)
            self.new.rmdir()
            (self.cache / (GUID2LID + ".tmp")).rmdir()
            lab.back(SWITCH)
            self.check_files(self.check_tables(lab, self.expected), self.cache)

    def test_folder_gone(self):
        """Missing at the start OpenSM makes it; removed later, both go on without."""
        missing = self.cache / "missing"
        self.restart(missing)
        with self.lab(self.fabric, missing) as lab:
            lab.bring_up()
            shutil.rmtree(missing)
            for target in (SWITCH, "h3-3"):
                lab.lose(target)
                lab.back(target)
            self.check_tables(lab, self.expected)

    def test_disk_full(self):
        """The disk is full: files are whole or absent, and no LID changes."""
        disk = self.new_cache("disk")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "none", str(disk)],
                          capture_output=True, check=False).returncode:
            self.skipTest("a small disk needs a right to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=True)
        shutil.copy(self.guid2lid, disk)
        with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass
        log, _ = self.restart(disk)
        self.assertIn("portmajor: not saved: ", log)
        self.assertEqual(list(disk.glob(f"*/{PLAN}*")), [])
        (disk / "filler").unlink()
        _, ports = self.restart(disk)
        self.check_files(ports, disk)


class Grown(SmCase):
    """The plan grows in one sweep: guid2lid is stored, then the plan. Killed in between, or found
    in the other order: the next one grows it alike."""

    LATE = ("leaf3", "h8-5", SWITCH)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fabric = cls.stack.enter_context(pmlab.Fabric(cls.netlist))
        cls.old, cls.new = cls.folder / "old", cls.folder / "new"
        cls.old.mkdir()
        for target in cls.LATE:
            cls.fabric.lose(target)
        with pmlab.Lab(cls.netlist, fabric=cls.fabric, cache_dir=cls.old) as lab:
            lab.bring_up()
        shutil.copytree(cls.old, cls.new)
        for target in cls.LATE:
            cls.fabric.back(target)
        with pmlab.Lab(cls.netlist, fabric=cls.fabric, cache_dir=cls.new) as lab:
            lab.bring_up()
            cls.expected = pmlab.Dump(lab.dump())

    def restart(self, plan, guid2lid, meanwhile=()):
        self.plan = self.cache / pmlab.kept(plan, PLAN).relative_to(plan)
        self.plan.parent.mkdir()
        shutil.copy(pmlab.kept(plan, PLAN), self.plan)
        shutil.copy(guid2lid / GUID2LID, self.cache)
        if meanwhile:
            self.fabric.console(*meanwhile)
        with self.lab(self.fabric, self.cache) as lab:
            self.check_all(lab, lab.bring_up(), self.expected, plan=False)

    def test_setup(self):
        self.assertNotEqual(pmlab.kept(self.old, PLAN).read_text(),
                            pmlab.kept(self.new, PLAN).read_text())
        self.assertLess(read_guid2lid(self.old / GUID2LID).items(),
                        read_guid2lid(self.new / GUID2LID).items())

    def test_old_plan(self):
        self.restart(self.old, self.new)
        self.assertEqual(self.plan.read_text(), pmlab.kept(self.new, PLAN).read_text())

    def test_old_guid2lid(self):
        self.restart(self.new, self.old)

    def test_both_old(self):
        self.restart(self.old, self.old)

    def test_old_plan_and_a_reboot(self):
        """The ports that came last have no LID any more: they get the same ones again."""
        self.restart(self.old, self.new, [f'{verb} "{name}"' for name in
                                          ("h3-2", "h8-5") for verb in ("Clear", "ReLink")])

    def test_old_guid2lid_and_a_reboot(self):
        self.restart(self.new, self.old, [f'{verb} "{name}"' for name in
                                          ("h3-2", "h8-5") for verb in ("Clear", "ReLink")])


if __name__ == "__main__":
    labtest.main()
