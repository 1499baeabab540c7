#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The plugin's state, and `portmajor status`, which reads it."""

import json
import os
import re
import signal
import subprocess
import threading
import time
import unittest
import unittest.mock

import labtest
import pmlab
import simlab

CABLE = "leaf1:5"

GOOD = {
    "schema": "portmajor-state", "version": 2, "time": 0, "running": True,
    "sm_state": "master", "opensm": "OpenSM 3.3.23", "plugin": "0.1.0", "pid": 1,
    "started": 0, "engine": {"active": True, "used": "portmajor", "reason": None},
    "run": {"number": 3, "time": 0, "change": "no change", "sent": 7, "acked": 7, "least": 5},
    "repair": None, "since_start": {"runs": 3}, "out_of_plan": 0, "flapping": [],
    "unreachable": {"pairs": 0, "text": None}, "plan": None,
}


def unset(**blocks):
    """The member unset, of switches by name: blocks, and whether some have other content."""
    return {"count": len(blocks), "list": [
        {"guid": f"0x{i:016x}", "name": name, "port": 0, "blocks": num, "different": different}
        for i, (name, (num, different)) in enumerate(blocks.items())]}


def state_of(osm):
    """The content of the file now; never a part of it, as it is replaced in one step."""
    return json.loads(pmlab.kept(osm.cache_dir, "state").read_text(encoding="utf-8"))


def metrics_of(path):
    """{name with labels: value} of a Prometheus textfile."""
    lines = path.read_text(encoding="ascii").splitlines()
    # These tests look at one fabric.
    return {re.sub(r'port_guid="0x[0-9a-f]{16}",?', "", name).removesuffix("{}"): float(value)
            for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))}


MULTICAST = {"left_to_opensm": None, "groups": 3, "trees": 1, "down_and_up": 0,
             "members_left_out": 0, "incomplete": False, "last_change": None}


def reachable(connected, pairs, failed_over=False, failback_in_ms=None):
    """The member of that name."""
    return {"connected": connected, "pairs": pairs, "failed_over": failed_over,
            "failback_in_ms": failback_in_ms}


def drained(guid, port, state):
    """`drained` with one part."""
    return {"list": [{"guid": guid, "name": None, "port": port, "state": state, "needed": 0}],
            "error": None}


def slow(count, listed=None):
    """The member degraded_links."""
    return {"count": count, "list": [
        {"ends": [{"guid": "0x1", "name": f"leaf{number}", "port": 5},
                  {"guid": "0x2", "name": None, "port": 6}],
         "link": "1xQDR", "neighbours": "4xQDR"}
        for number in range(count if listed is None else listed)]}


def part(name, port=0, peer=None, peer_port=0, hosts=0, links=1, since=0, acknowledged=False,
         **more):
    """One of missing.parts."""
    ends = [{"guid": "0x9", "name": name, "port": port}]
    ends += [{"guid": "0x2", "name": peer, "port": peer_port}] * bool(peer)
    return {"kind": "link" if peer else "host" if port else "switch", "ends": ends,
            "hosts": hosts, "links": links, "since": since, "acknowledged": acknowledged, **more}


def changed(kind, acknowledged=False):
    """The member of that name, with one change."""
    ends = [{"guid": f"0x{number}", "name": name, "port": number + 4}
            for number, name in ((1, "leaf1"), (2, "s1"), (3, "s2"))]
    return {"count": int(not acknowledged), "list": [
        {"kind": kind, "ends": ends[:2], "was": ends[2:], "since": 9,
         "acknowledged": acknowledged}]}


def missing(*parts):
    """The member of that name."""
    def sums(of):
        return {"switches": sum(one["kind"] == "switch" for one in of),
                "links": sum(one["links"] for one in of),
                "hosts": sum(one["hosts"] for one in of)}

    left = [one for one in parts if not one["acknowledged"]]
    return {"total": sums(parts), "parts": list(parts), **sums(left),
            "acknowledged": len(parts) - len(left)}


def flapping(*states):
    """The member of that name."""
    return [{"ends": [{"guid": "0x1", "name": f"leaf{number}", "port": 5},
                      {"guid": "0x2", "name": None, "port": 6}],
             "state": state, "downs": 4, "left_ms": 0} for number, state in enumerate(states)]


def errors(*ports):
    """The member port_errors: kinds, and the errors of each."""
    return {"count": len(ports) // 2, "list": [
        {"kind": kind, "ends": slow(number + 1)["list"][number]["ends"], "symbol_errors": 0,
         "link_recoveries": 0, "link_downed": 0, "receive_errors": 0, **counts}
        for number, (kind, counts) in enumerate(zip(ports[::2], ports[1::2]))]}


def slow_down(netlist, cable, word):
    """Makes both ends of a cable, NODE:PORT, report another width and speed."""
    node, port = cable.split(":")
    text = netlist.read_text(encoding="ascii")
    peer, peer_port = re.search(rf'^\w+\t\d+ "{node}"\n(?:\[.*\n)*?\[{port}\]\t"(.*?)"\[(\d+)\]',
                                text, re.M).groups()
    for name, number in ((node, port), (peer, peer_port)):
        text, done = re.subn(rf'(^\w+\t\d+ "{name}"\n(?:\[.*\n)*?\[{number}\].* )4xQDR$',
                             rf"\g<1>{word}", text, count=1, flags=re.M)
        assert done == 1, (name, number)
    netlist.write_text(text, encoding="ascii")


def wait_state(osm, wanted, timeout=60):
    """Waits until wanted(state) holds; returns the state."""
    def look():
        if not pmlab.kept(osm.cache_dir, "state").exists():
            return None
        state = state_of(osm)
        return state if wanted(state) else None
    return simlab.poll_until(look, timeout, "the state")


class Written(labtest.Folders):
    """States that tests write."""

    def write(self, text):
        path = self.folder / "portmajor.1" / "state"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def changed(self, **members):
        """A good state, written now, with other members; None: without it."""
        state = {**GOOD, "time": int(time.time()), **members}
        return self.write(json.dumps({k: v for k, v in state.items() if v != "gone"}))


def findings():
    """States: a name, the difference from a good one, and a word of the finding, if any."""
    run = GOOD["run"]
    unreachable = {"pairs": 1, "text": "leaf0 and leaf1"}
    return (
        ("as it should be", {}, None),
        ("nothing routed yet", {"engine": {**GOOD["engine"], "active": None},
                                "run": None}, None),
        ("fallen back", {"engine": {"active": False, "used": "updn",
                                    "reason": "a ring"}}, "fell back to updn: a ring"),
        ("no engine", {"engine": {"active": False, "used": None, "reason": "x"}},
         "no engine at all"),
        ("standby", {"engine": {"active": False, "used": "updn", "reason": "x"},
                     "sm_state": "standby"}, None),
        ("bad switch", {"bad_switches": "spine2 has room for 20 LIDs"},
         "bad switches: spine2 has room for 20 LIDs"),
        ("no slow link", {"degraded_links": {"count": 0, "list": []}}, None),
        ("slow links are not known", {"degraded_links": None}, None),
        ("a slow link", {"degraded_links": slow(1)},
         "1 link is slower than its neighbours: leaf0[5]-0x2[6] (1xQDR, neighbours 4xQDR); "
         "`portmajor drain leaf0:5` keeps leaf0[5]-0x2[6] out of paths"),
        ("a slow link that is drained", {"degraded_links": slow(1),
                                         "drained": drained("0x2", 6, "out")}, None),
        ("one whose drain is not followed yet", {"degraded_links": slow(1),
                                                 "drained": drained("0x2", 6, "pending")},
         "1 link is slower than its neighbours: leaf0[5]-0x2[6] (1xQDR, neighbours 4xQDR)"),
        ("one at a drained switch", {"degraded_links": slow(2),
                                     "drained": drained("0x2", 0, "out")}, None),
        ("no port with errors", {"port_errors": {"count": 0, "list": []}}, None),
        ("errors of ports are not known", {"port_errors": None}, None),
        ("a port of a host has errors", {"port_errors": errors("host", {"receive_errors": 11})},
         "1 port had errors in the last hour: leaf0[5]-0x2[6] (11 receive errors)"),
        ("ports of links, too", {"port_errors": errors(
            "host", {"symbol_errors": 1, "link_recoveries": 12}, "link", {"link_downed": 1})},
         "2 ports had errors in the last hour: leaf0[5]-0x2[6] (1 symbol error, 12 link "
         "recoveries), leaf1[5]-0x2[6] (1 link down); `portmajor drain leaf1:5` keeps "
         "leaf1[5]-0x2[6] out of paths"),
        ("nothing missing", {"missing": missing()}, None),
        ("missing parts are not known", {"missing": None}, None),
        ("a leaf is missing", {"missing": missing(part("leaf9", hosts=18, links=36))},
         "missing: leaf9 (18 hosts), 36 links, since "),
        ("a host is missing", {"missing": missing(part("leaf9", 3, hosts=1))},
         "missing: host at leaf9[3], since "),
        ("a link is missing", {"missing": missing(part("leaf9", 3, "s0", 4))},
         "missing: leaf9[3]-s0[4], since "),
        ("hosts of two leaves", {"missing": missing(
            part("leaf9", 3, hosts=1, links=0, host="n3"),
            part("leaf9", 4, hosts=1, links=0, host="n4 HCA-1"),
            part("leaf8", 4, hosts=1, links=0, host="n18"))},
         "missing: 3 hosts (2 of leaf9, 1 of leaf8), since 1970-01-01 00:00:00; nodes n[3-4,18]"),
        ("what failed comes first", {"missing": missing(
            part("s0", links=4), part("s1", links=4), part("leaf3", 1, hosts=1, links=0),
            *(part(f"leaf{number}", hosts=18, links=0, behind=True) for number in (8, 9)))},
         "missing: s0, s1; behind them 2 switches, 36 hosts; host at leaf3[1], 8 links, since "),
        ("acknowledged", {"missing": missing(part("leaf9", acknowledged=True))}, None),
        ("a cable elsewhere", {"changed": changed("recabled")},
         "recabled: leaf1[5] leads to s1[6], was s2[7] (`portmajor acknowledge` if by intent)"),
        ("a host elsewhere", {"changed": changed("moved")},
         "moved: leaf1[5] from s2[7] to s1[6] ("),
        ("another switch", {"changed": changed("replaced")},
         "replaced: s2 (GUID 0x3) by leaf1 (GUID 0x1) ("),
        ("acknowledged changes", {"changed": changed("moved", acknowledged=True)}, None),
        ("a link on hold", {"flapping": flapping("noted", "on-hold", "watched", "down")},
         "1 link is flapping: leaf1[5]-0x2[6] (on-hold) (`portmajor release` ends a hold)"),
        ("and one that is needed", {"flapping": flapping("on-hold", "needed")},
         "2 links are flapping: leaf0[5]-0x2[6] (on-hold), leaf1[5]-0x2[6] (needed) ("),
        ("no hold", {"flapping": flapping("noted", "watched", "down")}, None),
        ("bad configuration", {"config_error": "x.conf:1: unknown key"},
         "configuration is not used: x.conf:1: unknown key"),
        ("nothing cut off", {"reachable": reachable(120, 120)}, None),
        ("hosts cut off", {"reachable": reachable(120, 118), "unreachable": unreachable},
         "2 of 120 pairs of hosts are cut off although cables connect them: leaf0 and leaf1"),
        ("hosts cut off, a plugin that does not count them", {"unreachable": unreachable},
         "hosts are cut off although cables connect them: leaf0 and leaf1"),
        ("service ports cut off", {"reachable": reachable(120, 120), "unreachable": {
            "pairs": 0, "ends": 3, "text": "spine0 to spine1"}},
         "end ports are cut off although cables connect them: spine0 to spine1"),
        ("aggregation nodes cut off", {"reachable": reachable(120, 120), "unreachable": {
            "pairs": 0, "ends": 0, "text": "spine0 to spine1"}}, None),
        ("cut off, but standby", {"reachable": reachable(120, 0), "unreachable": unreachable,
                                  "sm_state": "standby"}, None),
        ("what a standby saw as the master", {
            "bad_switches": "x", "degraded_links": slow(1), "port_errors": errors("link", {
                "link_downed": 12}), "flapping": flapping("on-hold"),
            "missing": missing(part("leaf9")), "unset": unset(leaf9=(1, True)),
            "sm_state": "standby"}, None),
        ("no tree any more", {"reachable": reachable(120, 0, True), "unreachable": unreachable,
                              "engine": {"active": False, "used": "updn",
                                         "reason": "not a fat tree"}},
         "fell back to updn: not a fat tree"),
        ("reachable is no object", {"reachable": None}, None),
        ("unacknowledged, and set since", {"run": {**run, "acked": 4}, "unset": unset()}, None),
        ("silent", {"unset": unset(leaf9=(2, False))}, "leaf9 does not answer LFT Sets (2 blocks)"),
        ("another block", {"unset": unset(leaf9=(1, True))},
         "leaf9 acknowledges LFT Sets with other content (1 block)"),
        ("more than are named", {"unset": unset(a=(1, True), b=(1, True), c=(1, True), d=(1, True),
                                                e=(1, True))}, ", and so on: 5 switches"),
        ("all members in trees", {"multicast": MULTICAST}, None),
        ("members in none", {"multicast": {**MULTICAST, "members_left_out": 2}},
         "2 members of multicast groups are in no tree"),
        ("a member in none", {"multicast": {**MULTICAST, "members_left_out": 1}},
         "1 member of multicast groups is in no tree"),
        ("a member in none, but standby", {
            "multicast": {**MULTICAST, "members_left_out": 1}, "sm_state": "standby"},
         None),
        ("blocks left", {"multicast": {**MULTICAST, "incomplete": True}},
         "multicast tables are not all sent"),
        ("drained", {"drained": {"list": [], "error": None}}, None),
        ("not followed", {"drained": {"list": [], "error": "f:3: x"}},
         "drains are not followed: f:3: x"),
        ("in the shadow", {"shadow": {"number": 1}, "engine": {
            "active": False, "used": "updn", "reason": "x"}, "unreachable": unreachable}, None),
        ("in the shadow of nothing", {"shadow": {"number": 1}, "engine": {
            "active": False, "used": None, "reason": "x"}}, "no engine at all"),
        ("not on disk", {"unsaved": "/x/plan: No space left on device"},
         "not saved: /x/plan: No space"),
        ("not on disk, a plugin that does not say why", {"plan": {"saved": False}},
         "plan is not saved"),
        ("on disk", {"unsaved": None, "plan": {"saved": True}}, None),
        ("ended", {"running": False}, "has ended"),
        ("ended long ago", {"running": False, "time": 0}, "has ended"),
        ("old", {"time": int(time.time()) - 1000}, "is old"),
        ("a minute old", {"time": int(time.time()) - 60}, None),
        ("older than a minute and what writing takes", {"time": int(time.time()) - 77}, "is old"),
        ("hangs", {"time": int(time.time()) - 186, "pid": os.getpid()},
         f"OpenSM (pid {os.getpid()}) runs, but has written nothing for 18"),
        ("its port is down", {"sm_state": "discovering", "no_master": "x is down",
                              "no_master_since": 1}, "no master since 19"),
        ("a master's port is down", {"no_master": "x is down", "no_master_since": 1},
         "no master since 19"),
        ("discovers", {"sm_state": "discovering", "no_master": None}, None),
        ("had no master, and ended", {"running": False, "no_master": "x is down"}, "has ended"),
        ("future", {"time": int(time.time()) + 1000}, None))


class Bad(Written):
    def test_input(self):
        whole = json.dumps(GOOD)
        for name, text, word in (
                ("empty", "", "portmajor.1/state"),
                ("binary", b"\x7fELF\0\1\2\xff" * 50, "state: not a text file"),
                ("truncated", whole[:100], ":1: "), ("list", "[]", "not a state file"),
                ("another schema", '{"schema": "x", "version": 1}', "not a state file"),
                *((f"version {n}", whole.replace('"version": 2', f'"version": {n}'),
                   f"version {n}") for n in (1, 3)),
                ("a number for a word", whole.replace('"master"', "1"), "string"),
                ("no run", whole.replace('"run":', '"nur":'), "run"),
                ("deep", "[" * 100000, "portmajor.1/state")):
            with self.subTest(name):
                done = pmlab.run_cli("status", self.write(text))
                self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn(word, done.stderr)
        self.assertEqual(pmlab.run_cli("status", self.folder / "none").returncode, 3)
        self.assertEqual(pmlab.run_cli("status", self.folder).returncode, 3)
        self.write(whole).rename(self.folder / "state")
        self.assertEqual(pmlab.run_cli("status", self.folder).stdout,
                         pmlab.run_cli("status", self.folder / "state").stdout)
        (self.folder / "lock").touch()
        for name in ".", "state", self.folder:
            done = subprocess.run([pmlab.CLI, "status", "-q", name], cwd=self.folder, text=True,
                                  capture_output=True, check=False)
            self.assertIn("finding     OpenSM was killed or has crashed", done.stdout, name)

    def test_usage(self):
        for args in (("a", "b"), ("-x",), ("--max-age",), ("--max-age", "x"),
                     ("--max-age", "-1")):
            with self.subTest(args):
                done = pmlab.run_cli("status", *args)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
        done = pmlab.run_cli("status", "-h")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def judge(self, path, *args):
        done = pmlab.run_cli("status", *args, path)
        self.assertEqual(done.stderr, "")
        return done.returncode, re.findall(r"^finding +(.*)", done.stdout, re.M)

    def test_findings(self):
        for name, members, word in findings():
            with self.subTest(name):
                status, found = self.judge(self.changed(**members))
                self.assertEqual((status, len(found)), (1, 1) if word else (0, 0), found)
                self.assertIn(word or "", " ".join(found))

    def test_drained_port_with_errors(self):
        """No command drains it once more."""
        drain = {"guid": "0x2", "name": "s0", "port": 6, "state": "out", "needed": 0}
        for port, command in ((6, False), (0, False), (7, True)):
            with self.subTest(port):
                status, (found,) = self.judge(self.changed(
                    drained={"list": [{**drain, "port": port}], "error": None},
                    port_errors=errors("link", {"link_downed": 12})))
                self.assertEqual((status, "portmajor drain" in found), (1, command))

    def test_max_age(self):
        path = self.changed(time=int(time.time()) - 1000)
        self.assertEqual(self.judge(path, "--max-age", 100000), (0, []))
        path = self.changed(time=int(time.time()) - 30)
        self.assertEqual(self.judge(path), (0, []))
        self.assertEqual(self.judge(path, "--max-age", 10)[0], 1)

    def test_disk(self):
        """A young state of a disk that accepts no other one, whatever filled it."""
        library = pmlab.BUILD / "libdiskfault.so"
        env = {"LD_PRELOAD": " ".join([*pmlab.preload(), str(library)]), "DISKFAULT_DISK": "full"}
        for members, wanted in (
                ({}, " is full: what is known may be old"),
                ({"unsaved": "f: No space"}, "not saved: f: No space"),
                ({"running": False}, "OpenSM has ended")):
            with self.subTest(**members), unittest.mock.patch.dict(os.environ, env):
                status, (found,) = self.judge(self.changed(**members))
                self.assertEqual(status, 1)
                self.assertIn(wanted, found)

    @unittest.skipIf(os.geteuid(), "mounts need root")
    def test_read_only(self):
        """The file system, which is a finding, or the mount that the command finds."""
        folder = self.folder / "disk"
        folder.mkdir()
        for options, members, wanted in (
                ("remount,ro", {}, "is read-only: what is known may be old"),
                ("remount,ro", {"unsaved": "f: EROFS"}, "not saved: f: EROFS"),
                ("remount,ro", {"running": False}, "OpenSM has ended"),
                ("remount,ro,bind", {}, None)):
            with self.subTest(options, **members):
                done = subprocess.run(
                    ["unshare", "--mount", "sh", "-ec", "mount -t tmpfs none $1; cp $2 $1/state; "
                     "mount -o $3 $1; exec $4 status $1/state", "sh", folder,
                     self.changed(**members), options, pmlab.CLI],
                    capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (1 if wanted else 0, ""))
                found = re.findall(r"^finding +(.*)", done.stdout, re.M)
                self.assertEqual(len(found), 1 if wanted else 0, found)
                self.assertIn(wanted or "", " ".join(found))

    def test_reserve(self):
        """It counts if it is newer, and can be read."""
        path = self.changed(time=int(time.time()) - 20)
        text = path.read_text("utf-8")
        reserve = path.with_name("state.reserve")
        self.addCleanup(reserve.unlink)
        young = json.dumps({**json.loads(text), "time": int(time.time()), "unsaved": "x"})
        for name, content, counts in (
                ("blank", "\n" * 100, False), ("younger", young + "\n" * 100, True),
                ("as old", json.dumps({**json.loads(text), "unsaved": "x"}), True),
                ("older", json.dumps({**json.loads(young), "time": 0}), False),
                ("half of it", young[:50], False), ("a list", "[]", False)):
            with self.subTest(name):
                reserve.write_text(content, "utf-8")
                self.assertEqual(self.judge(path)[0], int(counts))

    def test_quiet(self):
        done = pmlab.run_cli("status", "-q", self.changed())
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        done = pmlab.run_cli("status", "-q", self.changed(running=False))
        self.assertEqual((done.returncode, done.stdout.count("\n")), (1, 1))

    def lines(self, **members):
        done = pmlab.run_cli("status", self.changed(**members))
        self.assertEqual(done.stderr, "")
        return done.stdout.replace("\n" + 12 * " ", " | ").splitlines()

    def line(self, title, **members):
        found, = [one[12:] for one in self.lines(**members) if one[:12].rstrip() == title]
        return found

    def test_text_of_repairs(self):
        repair = {"number": 2, "time": 0, "change": "failed: 1 cable", "sent": 9, "acked": 8,
                  "restoring": 8, "least": 7, "traps": 6, "queries": 5, "unanswered": 4, "milliseconds": 3.25,
                  "left_to_sweep": True}
        self.assertEqual(self.line("last repair"), "none")
        self.assertTrue(self.line("last repair", repair=repair).endswith(
            ": failed: 1 cable | LFT blocks sent 9, acked 8, restoring 8, least 7; traps 6, queries 5, "
            "unanswered 4; 3.2 ms; the rest was left to the sweep"))
        self.assertTrue(self.line("last repair", repair={**repair, "gave_up": "out of time"})
                        .endswith("; the rest was left to the sweep: out of time"))
        self.assertTrue(self.line("last repair", repair={**repair, "left_to_sweep": False})
                        .endswith("unanswered 4; 3.2 ms"))

    def test_text_of_engines(self):
        self.assertEqual(self.line("last run", run=None), "none yet")
        for active, used, text in ((True, "portmajor", "portmajor"), (None, None, "none yet"),
                                   (False, None, "none"), (False, "updn", "updn")):
            engine = {"active": active, "used": used, "reason": None}
            self.assertEqual(self.line("engine", engine=engine), text)
        for ms, age, text in ((None, 0, "updn"), (41500, 0, "updn, portmajor again in 4[0-2] s"),
                              (41500, 30, "updn, portmajor again in 1[0-2] s"),
                              (41500, 50, "updn, portmajor again in 0 s")):
            engine = {"active": False, "used": "updn", "reason": "x"}
            self.assertRegex(self.line("engine", engine=engine, reachable=reachable(6, 6, True, ms),
                                       time=int(time.time()) - age), rf"^{text}$")

    def test_text_of_paths(self):
        plan = {"file": "", "saved": True, "lid_order": "grouped", "lmc": 0, "switches": 10,
                "top_lid": 47}
        self.assertEqual(self.line("paths", plan=plan), "between all switches with end ports")
        self.assertEqual(self.line("paths"), "not known")
        self.assertEqual(self.line("paths", unreachable={"pairs": 1, "text": "leaf0 and leaf1"}),
                         "leaf0 and leaf1")
        self.assertEqual(self.line("plan"), "none yet")
        self.assertEqual(self.line("phase", phase="discovery"), "discovery")
        titles = [one[:12].rstrip() for one in self.lines(phase=None, balance=None)]
        self.assertFalse({"phase", "balance", "multicast"} & set(titles))

    def test_text_of_balance(self):
        balance = {"entries_off": 1, "blocks_off": 2, "switches_off": 1, "rebalancing": False,
                   "blocks_left": 0}
        self.assertEqual(self.line("balance", balance=balance),
                         "1 entry off the plan's, in 2 LFT blocks of 1 switch")
        self.assertEqual(self.line("balance", balance={**balance, "entries_off": 0}),
                         "tables are the plan's")
        self.assertTrue(self.line("balance", balance={**balance, "rebalancing": True,
                                                 "blocks_left": 1})
                        .endswith(" of 1 switch; rebalancing, 1 LFT block left"))

    def test_text_of_multicast(self):
        groups = MULTICAST
        self.assertEqual(self.line("multicast", multicast=groups), "3 groups, 1 tree")
        self.assertEqual(self.line("multicast", multicast={**groups, "members_left_out": 1,
                                                      "incomplete": True}),
                         "3 groups, 1 tree; 1 member in none; tables are not all sent")
        self.assertEqual(self.line("multicast", multicast={**groups, "down_and_up": 1}),
                         "3 groups, 1 tree, 1 down and up again")
        self.assertRegex(self.line("multicast", multicast={**groups, "last_change": {
            "time": 0, "sent": 3, "acked": 2, "bound": 3, "ordered": 0, "milliseconds": 1.5}}),
                         r"^3 groups, 1 tree \| last change 1970-.*: MFT blocks sent 3, "
                         r"acked 2, bound 3; 1\.5 ms$")
        self.assertEqual(self.line("multicast", multicast={**groups, "left_to_opensm": "x"}),
                         "left to OpenSM: x")

    def test_text_of_phases(self):
        none = {"repairs": 0, "sent": 0, "first_set_ms": 0.0, "first_set_ms_max": 0.0,
                "last_answer_ms": 0.0, "last_answer_ms_max": 0.0}
        times = {**none, "repairs": 4, "sent": 2, "first_set_ms": 9.0, "first_set_ms_max": 8.0,
                 "last_answer_ms": 40.0, "last_answer_ms_max": 30.25}
        sums = {"runs": 3, "returned_hosts": 2, "returned_left": 1, "traps_dropped": 7}
        since = self.line("since", since_start=sums, repairs_by_phase={
            "idle": none, "discovery": times, "links": {**none, "repairs": 1}})
        self.assertTrue(since.endswith(
            " | links that came back: of hosts 2, cables 0, left to OpenSM 1"
            " | traps dropped for want of room 7 | in phase discovery: early repairs 4; ms from "
            "the first trap to the first Set 4.5 (at most 8.0), to the last answer 20.0 (at most "
            "30.2) | in phase links: early repairs 1"), since)
        self.assertNotIn("traps dropped", self.line("since"))
        plan = {"file": "/x/portmajor.plan", "saved": False, "lid_order": "grouped", "lmc": 1,
                "switches": 6, "top_lid": 63}
        self.assertEqual(self.line("plan", plan=plan), "/x/portmajor.plan (not saved): lid_order "
                         "grouped, LMC 1, switches 6, LIDs up to 63")

    def test_flapping(self):
        """Eight of them are named; the remaining time of a hold is rounded up."""
        def link(number):
            return {"ends": [{"guid": "0x1", "name": f"leaf{number}", "port": 5},
                             {"guid": "0x2", "name": None, "port": 6}],
                    "state": "on-hold", "downs": 4, "left_ms": 1500 if number else 0}

        for count, end in ((1, ""), (8, ""), (9, ", .."), (20, ", ..")):
            state = self.changed(flapping=[link(number) for number in range(count)])
            text = pmlab.run_cli("status", state).stdout
            names = [f"leaf{number}[5]-0x2[6] (on-hold, 4 times down{', 2 s left' * (number > 0)})"
                     for number in range(min(count, 8))]
            self.assertIn(f"flapping    {count} link{'s' * (count > 1)}: "
                          f"{', '.join(names)}{end}\nwent down   0 links lately\n", text)
        self.assertIn("flapping    0 links\n", pmlab.run_cli("status", self.changed()).stdout)

    def test_went_down_once(self):
        """With a dead chassis, perhaps: that is no flapping."""
        link = {"ends": [{"guid": "0x1", "name": "leaf0", "port": 5},
                         {"guid": "0x2", "name": "s0", "port": 6}],
                "state": "noted", "downs": 1, "left_ms": 0}
        text = pmlab.run_cli("status", self.changed(flapping=[link])).stdout
        self.assertIn("flapping    0 links\nwent down   1 link lately: leaf0[5]-s0[6] "
                      "(noted, 1 time down)\n", text)

    def test_degraded_links(self):
        """Eight of them are named; the plugin may list fewer than it counts."""
        for count, listed, named in ((2, 2, 2), (8, 8, 8), (9, 9, 8), (500, 100, 8), (3, 0, 0)):
            status, (found,) = self.judge(self.changed(degraded_links=slow(count, listed)))
            names = ", ".join(f"leaf{number}[5]-0x2[6] (1xQDR, neighbours 4xQDR)"
                              for number in range(named)) or "?"
            self.assertEqual((status, found), (1, f"{count} links are slower than their neighbours: "
                                                  f"{names}{', ..' * (count > 8)}"
                                                  + "; `portmajor drain leaf0:5` keeps "
                                                  "leaf0[5]-0x2[6] out of paths" * (named > 0)))
        text = pmlab.run_cli("status", self.changed(degraded_links=slow(500, 100))).stdout
        self.assertIn("degraded    500 links slower than their neighbours\n", text)
        self.assertNotIn("degraded  ", pmlab.run_cli("status", self.changed()).stdout)

    def test_missing(self):
        """Eight of them are named, with the times of the first and the last."""
        def at(seconds):
            return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))

        for count in (1, 8, 9):
            parts = [part(f"leaf{number}", since=60 * number) for number in range(count)]
            _, (found,) = self.judge(self.changed(missing=missing(*parts)))
            names = ", ".join(f"leaf{number}" for number in range(min(count, 8)))
            last = f", the last since {at(60 * count - 60)}" * (count > 1)
            self.assertEqual(found, f"missing: {names}{', ..' * (count > 8)}"
                             f"{f', {count} links' * (count > 1)}, since {at(0)}{last}")
        text = pmlab.run_cli("status", self.changed(missing=missing(
            part("leaf1", hosts=1, links=2, acknowledged=True), part("leaf2", 3, hosts=1)))).stdout
        self.assertIn(f"missing     1 switch, 3 links, 2 hosts: leaf1 (1 host) (since {at(0)}, "
                      f"acknowledged), host at leaf2[3] (since {at(0)})\n", text)
        text = pmlab.run_cli("status", self.changed(missing=missing())).stdout
        self.assertIn("missing     nothing\n", text)
        self.assertNotIn("missing", pmlab.run_cli("status", self.changed()).stdout)

    def test_folder(self):
        """OpenSM's cache folder, unless the environment names another."""
        self.changed()
        for folder, path in ((str(self.folder), self.folder / "portmajor.1/state"),
                             ("", "/var/cache/opensm/portmajor.")):
            with self.subTest(folder), unittest.mock.patch.dict(os.environ, OSM_CACHE_DIR=folder):
                done = pmlab.run_cli("status", "--json")
                self.assertIn(str(path), done.stdout + done.stderr)

    def test_names_do_not_reach_the_terminal(self):
        run = {**GOOD["run"], "change": "lost \x1b[31m \"x\" \x07"}
        done = pmlab.run_cli("status", self.changed(run=run))
        self.assertIn('lost ?[31m "x" ?', done.stdout)
        self.assertNotRegex(done.stdout, "[\x00-\x09\x0b-\x1f\x7f]")

    def test_fabric(self):
        """The fabric's name stands first, with -q only above findings."""
        port = {"port_guid": "0x0002c90300000001"}
        for members, args, lines in ((port, (), 1), (port, ("-q",), 0), ({}, (), 0),
                                     ({**port, "running": False}, ("-q",), 1)):
            text = pmlab.run_cli("status", *args, self.changed(**members)).stdout
            self.assertEqual(text.count("fabric      of port 0x0002c90300000001\n"), lines)
            self.assertEqual(text.startswith("fabric"), lines > 0)

    def test_json(self):
        path = self.changed(running=False)
        done = pmlab.run_cli("status", "--json", path)
        shown = json.loads(done.stdout)
        self.assertEqual((done.returncode, shown["schema"]), (1, "portmajor-status"))
        self.assertEqual(shown["state"], json.loads(path.read_text()))
        self.assertEqual(shown["findings"], ["OpenSM has ended"])
        for ahead, age in ((1000, range(1)), (-100, range(100, 200))):
            done = pmlab.run_cli("status", "--json", self.changed(time=int(time.time()) + ahead))
            self.assertIn(json.loads(done.stdout)["age_s"], age)


class Watch(Written):
    """`status --watch`: new findings, until it is interrupted."""

    def start(self, *args, stdout=subprocess.PIPE):
        watch = subprocess.Popen([pmlab.BUILD / "portmajor", "status", "--watch", *args],
                                 stdout=stdout, stderr=subprocess.PIPE, text=True)
        self.addCleanup(watch.stderr.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        late = threading.Timer(60, watch.kill)  # ends readers that wait for its lines
        late.start()
        self.addCleanup(late.cancel)
        if stdout == subprocess.PIPE:
            self.addCleanup(watch.stdout.close)
        return watch

    @staticmethod
    def lines_to(watch, wanted):
        """Lines of its output, up to one with this text."""
        lines = [""]
        while wanted not in lines[-1]:
            line = watch.stdout.readline()
            if not line:
                raise AssertionError(f"no {wanted!r} in {lines}")
            lines.append(line)
        return lines[1:]

    def replace(self, **members):
        """Like the plugin: in one step, with another file."""
        path = self.changed(**members)
        return path.rename(self.folder / "state")

    def test_changes(self):
        path = self.replace()
        watch = self.start(path)
        date = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[-+]\d{4}"

        def expect(*lines):
            for line in lines:
                self.assertRegex(watch.stdout.readline(), f"^{date} {re.escape(line)}\n$")

        expect("verdict  ok")
        self.replace(running=False)
        expect("finding  OpenSM has ended")
        self.replace(running=False, bad_switches="s0 has no room")
        expect("finding  bad switches: s0 has no room")
        self.replace(bad_switches="s0 has no room")
        expect("over     OpenSM has ended")
        self.replace(bad_switches="s0 and s1 have no room")
        expect("finding  bad switches: s0 and s1 have no room")
        self.replace()
        expect("over     bad switches: s0 and s1 have no room", "verdict  ok")
        watch.send_signal(signal.SIGINT)
        self.assertEqual((watch.wait(20), watch.stdout.read()), (0, ""))

    def test_state_that_becomes_old(self):
        """That is reported, too, and the last exit status is that of the command."""
        watch = self.start("--max-age", "1", "--quiet", self.replace())
        self.lines_to(watch, "the state is old: written 2 s ago")
        watch.terminate()
        self.assertEqual((watch.wait(20), watch.stdout.read()), (1, ""))

    def test_json(self):
        """An object in each line, also of a terminal."""
        watch = self.start("--json", self.replace())
        self.assertEqual(json.loads(watch.stdout.readline())["findings"], [])
        self.replace(running=False)
        self.assertEqual(json.loads(watch.stdout.readline())["findings"], ["OpenSM has ended"])

    def test_file_that_comes_later(self):
        path = self.folder / "later"
        watch = self.start(path)
        self.assertIn("No such file", watch.stderr.readline())
        self.changed().rename(path)
        self.lines_to(watch, "verdict  ok")


class Plugin(labtest.Folders):
    """One OpenSM: every member is compared with its log and with the counts."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = pmlab.generate(cls.folder / "fabric.net", "two-level", 4, 2, 4, 1)
        cls.lab = cls.stack.enter_context(pmlab.Lab(cls.net))
        cls.start = cls.lab.bring_up()

    def compare(self, event):
        """The last run in the state is the last one in the log."""
        run = event.runs[-1]
        state = wait_state(self.lab.osm, lambda s: s["run"] and s["run"]["number"] == run.number)
        for member, logged in (("change", run.change), ("sent", run.sent), ("acked", run.acked),
                               ("least", run.least), ("full_load", run.full_load),
                               ("switches", run.switches), ("whole_tables", run.whole),
                               ("entries", run.entries), ("lids_assigned", run.assigned),
                               ("lids_changed", run.lids_changed),
                               ("lids_out_of_plan", run.out_of_plan)):
            self.assertEqual(state["run"][member], logged, member)
        self.assertEqual(state["engine"], {"active": True, "used": "portmajor", "reason": None})
        self.assertEqual((state["sm_state"], state["running"]), ("master", True))
        self.assertEqual(state["pid"], self.lab.osm.process.pid)
        return state

    def test_all(self):
        first = self.compare(self.start)
        self.assertEqual(first["run"]["sent"], self.start.wire)
        self.assertIsNone(first["repair"])
        self.assertEqual(first["plan"]["file"], str(pmlab.kept(self.lab.osm.cache_dir, "plan")))
        self.assertEqual((first["plan"]["switches"], first["plan"]["lmc"],
                          first["plan"]["lid_order"], first["plan"]["saved"]),
                         (6, 0, "grouped", True))
        lost = self.lab.lose(CABLE)
        state = self.compare(lost)
        if lost.repairs:
            repair = lost.repairs[-1]
            for member in ("number", "change", "traps", "queries", "unanswered", "links_down",
                           "rounds",
                           "sent", "acked", "least"):
                self.assertEqual(state["repair"][member], getattr(repair, member), member)
        back = self.lab.back(CABLE)
        state = self.compare(back)
        total = state["since_start"]
        log = pmlab.Event.of("all", self.lab.osm.delta(self.lab.osm.start_mark),
                             self.lab.osm.log())
        self.assertEqual(total["runs"], len(log.runs))
        self.assertEqual((total["sent"] + total["repair_sent"],
                          total["acked"] + total["repair_acked"],
                          total["least"] + total["repair_least"]),
                         (log.sent, log.acked, log.least))
        self.assertEqual(total["fallbacks"], 0)

        metrics = metrics_of(pmlab.kept(self.lab.osm.cache_dir, "portmajor.prom"))
        for name, value in (("running", 1), ("engine_active", 1), ("lids_out_of_plan", 0),
                            ("run_blocks_sent", back.runs[-1].sent),
                            ("run_blocks_acked", back.runs[-1].acked),
                            ("run_blocks_least", back.runs[-1].least),
                            ("runs_total", len(log.runs)), ("fallbacks_total", 0),
                            ("blocks_sent_total", total["sent"]),
                            ("repair_blocks_sent_total", total["repair_sent"]),
                            ('flapping_links{state="on-hold"}', 0)):
            self.assertEqual(metrics["portmajor_" + name], value, name)
        self.assertEqual([p.name for p in self.lab.osm.cache_dir.glob("portmajor.*.new")], [])

        done = pmlab.run_cli("status", pmlab.kept(self.lab.osm.cache_dir, "state"))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn(back.runs[-1].change, done.stdout)
        self.assertLess(done.stdout.count("\n"), 25)


class Fabric(labtest.Folders):
    """Faults of the fabric itself."""

    def test_flapping_link(self):
        net = pmlab.generate(self.folder / "flaps.net", "two-level", 4, 2, 4, 1)
        config = self.folder / "flaps.conf"
        config.write_text("flap_limit 1\nflap_hold 3600\n", encoding="ascii")
        with pmlab.Lab(net, conf={"event_plugin_options": config}) as lab:
            lab.bring_up()
            for _ in range(2):
                lab.event("lose", CABLE)
                lab.event("back", CABLE)
            state = wait_state(lab.osm, lambda s: [f["state"] for f in s["flapping"]] == ["on-hold"])
            flap = state["flapping"][0]
            self.assertEqual({(end["name"], end["port"]) for end in flap["ends"]},
                             {("leaf1", 5), ("spine0", 2)})
            self.assertRegex(flap["ends"][0]["guid"], "^0x[0-9a-f]{16}$")
            self.assertEqual((flap["downs"], flap["hold_ms"]), (2, 3600000))
            done = pmlab.run_cli("status", pmlab.kept(lab.osm.cache_dir, "state"))
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stdout, r"flapping +1 .*leaf1\[5\].*on-hold, 2 times down, \d+ s")
            self.assertRegex(done.stdout, r"finding +1 link is flapping: leaf1\[5\]-spine0\[2\] ")
            simlab.poll_until(lambda: metrics_of(pmlab.kept(lab.osm.cache_dir, "portmajor.prom"))[
                'portmajor_flapping_links{state="on-hold"}'] == 1, 60, "the metrics")

    def test_degraded_link(self):
        """One lane of four; gone when the cable is, and the speed is reported as well."""
        net = pmlab.generate(self.folder / "slow.net", "two-level", 4, 2, 4, 1)
        slow_down(net, CABLE, "1xQDR")
        slow_down(net, "leaf3:6", "4xDDR")
        slow_down(net, "leaf2:1", "1xQDR")
        with pmlab.Lab(net) as lab:
            lab.bring_up()
            state = wait_state(lab.osm, lambda s: s["run"] and s["degraded_links"])
            self.assertEqual(
                [("-".join(f"{end['name']}[{end['port']}]" for end in link["ends"]),
                  link["link"], link["neighbours"]) for link in state["degraded_links"]["list"]],
                [("leaf1[5]-spine0[2]", "1xQDR", "4xQDR"),
                 ("leaf3[6]-spine1[4]", "4xDDR", "4xQDR")])
            self.assertEqual(state["degraded_links"]["count"], 2)
            self.assertEqual([[f"{end['name']}[{end['port']}]" for end in host["ends"]]
                              + [host["link"], host["neighbours"]]
                              for host in state["degraded_hosts"]["list"]],
                             [["h2-1[1]", "leaf2[1]", "1xQDR", "4xQDR"]])
            for end in state["degraded_links"]["list"][0]["ends"]:
                self.assertRegex(end["guid"], "^0x[0-9a-f]{16}$")
            done = pmlab.run_cli("status", pmlab.kept(lab.osm.cache_dir, "state"))
            self.assertEqual((done.returncode, done.stderr), (1, ""))
            self.assertIn("finding     2 links are slower than their neighbours: leaf1[5]-spine0[2] "
                          "(1xQDR, neighbours 4xQDR), leaf3[6]-spine1[4] (4xDDR, neighbours 4xQDR); "
                          "`portmajor drain leaf1:5` keeps leaf1[5]-spine0[2] out of paths\n"
                          "finding     1 host link is slower than its neighbours: h2-1[1]-leaf2[1] "
                          "(1xQDR, neighbours 4xQDR)\n", done.stdout)
            simlab.poll_until(lambda: metrics_of(pmlab.kept(lab.osm.cache_dir, "portmajor.prom"))[
                "portmajor_degraded_links"] == 2, 60, "the metrics")
            for change, count in (("lose", 1), ("back", 2)):
                lab.event(change, CABLE)
                wait_state(lab.osm, lambda s: s["degraded_links"]["count"] == count)
            # ibsim's Dump says the same: 4 hosts send to 12 others over two cables, 24 flows
            # each, which count four times on one lane.
            dump = lab.dump()
            ups = [max(load["maximum"] for load in json.loads(pmlab.run_cli(
                "check", "--json", path, dump).stdout)["loads"]) for path in (dump, net)]
            self.assertEqual(ups, [4 * 24] * 2)

    def test_switches_without_a_path(self):
        """Leaves that have no spine in common any more."""
        net = pmlab.generate(self.folder / "apart.net", "two-level", 4, 3, 2, 1)
        with pmlab.Lab(net) as lab:
            lab.bring_up()
            for cable in pmlab.CHAIN:
                lab.event("lose", cable)
            state = wait_state(lab.osm, lambda s: s["unreachable"]["pairs"])
            self.assertEqual(state["unreachable"]["pairs"], 2)
            self.assertIn("leaf0 and leaf3", state["unreachable"]["text"])
            done = pmlab.run_cli("status", pmlab.kept(lab.osm.cache_dir, "state"))
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stdout,
                             "finding .*hosts are cut off although cables connect them: "
                             ".*leaf0 and leaf3")

    def events_of(self, cache, *kinds):
        done = pmlab.run_cli("events", "--json", pmlab.kept(cache, "events"))
        return [(event["severity"], event["kind"]) for event in json.loads(done.stdout)["events"]
                if event["kind"] in kinds]

    def test_paths_over_a_restart(self):
        """Pairs that are cut off before and after it are no event."""
        net = pmlab.generate(self.folder / "restart.net", "two-level", 4, 3, 2, 1)
        cache = self.folder / "restart"
        cache.mkdir()
        with pmlab.Fabric(net) as fabric:
            def run(pairs, lost=()):
                with pmlab.Lab(net, fabric=fabric, cache_dir=cache) as lab:
                    lab.bring_up()
                    for cable in lost:
                        lab.event("lose", cable)
                    wait_state(lab.osm, lambda s: s["run"] and s["unreachable"]["pairs"] == pairs)
                return self.events_of(cache, "paths")

            cut = run(2, pmlab.CHAIN)
            self.assertEqual(set(cut), {("warning", "paths")})
            self.assertEqual(run(2), cut)
            for cable in pmlab.CHAIN:
                fabric.back(cable)
            self.assertEqual(run(0), [*cut, ("notice", "paths")])

    def test_links_over_a_restart(self):
        """Nor are links that are on hold or slow before and after it."""
        net = pmlab.generate(self.folder / "links.net", "two-level", 3, 2, 2, 1)
        net.write_text(re.sub(r"(\[3\]\s+\"spine0\"\[1\].*|\[1\]\s+\"leaf0\"\[3\].*)4xQDR",
                              r"\g<1>1xQDR", net.read_text()))
        config = self.folder / "links.conf"
        config.write_text("flap_limit 1\n")
        cache = self.folder / "links"
        cache.mkdir()
        told = []
        with pmlab.Fabric(net) as fabric:
            for flaps in (2, 0):
                with pmlab.open_sm(fabric, config=config, cache_dir=cache) as osm:
                    osm.settle()
                    for _ in range(flaps):
                        simlab.measure(fabric, osm, lambda: fabric.lose("leaf2:4"))
                        simlab.measure(fabric, osm, lambda: fabric.back("leaf2:4"))
                    wait_state(osm, lambda s: s["run"] and s["degraded_links"]["count"] == 1 and
                               [flap["state"] for flap in s["flapping"]] == ["on-hold"])
                told.append(self.events_of(cache, "held", "released", "degraded", "restored"))
        self.assertIn(("warning", "held"), told[0])
        self.assertEqual(told[1], told[0])


class Fallback(labtest.Folders):
    def test_ring(self):
        """A declined fabric: the engine that routes, and the reason."""
        with pmlab.Lab(pmlab.TOPOLOGIES / "ring-12.net", engine="portmajor,updn") as lab:
            lab.osm.settle(timeout=pmlab.TIMEOUT_S)
            state = wait_state(lab.osm, lambda s: s["engine"]["used"])
            used = lab.osm.engines_used()[-1]  # updn may not want a ring either
            self.assertEqual((state["engine"]["active"], state["engine"]["used"]),
                             (False, used))
            self.assertRegex(state["engine"]["reason"], "not a fat tree")
            self.assertGreaterEqual(state["since_start"]["fallbacks"], 1)
            self.assertIsNone(state["run"])
            metrics = metrics_of(pmlab.kept(lab.osm.cache_dir, "portmajor.prom"))
            self.assertEqual(metrics["portmajor_engine_active"], 0)
            done = pmlab.run_cli("status", pmlab.kept(lab.osm.cache_dir, "state"))
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stdout, rf"finding +OpenSM fell back to {used}: .*not a fat tree")

    def test_no_engine_left(self):
        """OpenSM does not report the end of a routing run then."""
        with pmlab.Lab(pmlab.TOPOLOGIES / "ring-12.net", engine="portmajor,no_fallback") as lab:
            state = wait_state(lab.osm, lambda s: s["engine"]["active"] is not None
                               and s["sm_state"] == "master")
            self.assertEqual((state["engine"]["active"], state["engine"]["used"]), (False, None))
            done = pmlab.run_cli("status", pmlab.kept(lab.osm.cache_dir, "state"))
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stdout, "no engine at all: .*not a fat tree")
            # Once OpenSM has had time for another engine, it is an event, too, and only one.
            events = pmlab.kept(lab.osm.cache_dir, "events")
            told = "OpenSM fell back to no engine at all: "
            simlab.poll_until(lambda: told in pmlab.run_cli("events", events).stdout, 60, told)
            self.assertEqual(pmlab.run_cli("events", events).stdout.count("fell back"), 1)

    def test_not_asked(self):
        """The plugin is loaded, but another engine comes first, or it is not named."""
        net = pmlab.generate(self.folder / "asked.net", "two-level", 2, 1, 1, 1)
        for engine, reason in (("updn,portmajor", "another engine comes before"),
                               ("updn", "does not name portmajor")):
            with self.subTest(engine), pmlab.Lab(net, engine=engine) as lab:
                state = wait_state(lab.osm, lambda s: s["engine"]["used"])
                self.assertEqual(state["engine"]["used"], "updn")
                self.assertIn(reason, state["engine"]["reason"])


class Files(labtest.Folders):
    """The place of the files, the reaction if they cannot be written, and their end."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = pmlab.generate(cls.folder / "fabric.net", "two-level", 2, 1, 1, 1)

    def configure(self, text):
        path = self.folder / "portmajor.conf"
        path.write_text(text, encoding="ascii")
        return path

    def test_prometheus_elsewhere(self):
        there = self.folder / "elsewhere.prom"
        with pmlab.Fabric(self.net) as fabric, pmlab.open_sm(
                fabric, config=self.configure(f"prometheus {there}\n")) as osm:
            osm.settle(timeout=pmlab.TIMEOUT_S)
            wait_state(osm, lambda s: s["run"])
            simlab.poll_until(lambda: metrics_of(there).get("portmajor_runs_total") == 1, 60,
                              "the metrics")
            self.assertFalse(pmlab.kept(osm.cache_dir, "portmajor.prom").exists())

    def test_not_writable_is_said_once(self):
        """Runs go on, with one line in the log for all of them."""
        said = "portmajor: state not written: "
        there = self.folder / "missing" / "x.prom"
        with pmlab.Fabric(self.net) as fabric, pmlab.open_sm(
                fabric, config=self.configure(f"prometheus {there}\n")) as osm:
            osm.settle(timeout=pmlab.TIMEOUT_S)
            for count in (2, 3):
                mark = osm.mark()
                osm.hup()
                osm.settle(mark, timeout=pmlab.TIMEOUT_S)
                wait_state(osm, lambda s, n=count: s["run"] and s["run"]["number"] >= n)
            self.assertEqual(osm.log().count(said), 1)
            self.assertIn(str(there), osm.log())

    def test_end(self):
        cache = self.folder / "cache"
        cache.mkdir()
        with pmlab.Fabric(self.net) as fabric:
            with pmlab.open_sm(fabric, cache_dir=cache) as osm:
                osm.settle(timeout=pmlab.TIMEOUT_S)
            state = json.loads(pmlab.kept(cache, "state").read_text())
            self.assertFalse(state["running"])
            self.assertEqual(metrics_of(pmlab.kept(cache, "portmajor.prom"))["portmajor_running"], 0)
            os.environ["OSM_CACHE_DIR"] = str(cache)
            self.addCleanup(os.environ.pop, "OSM_CACHE_DIR")
            done = pmlab.run_cli("status")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("OpenSM has ended", done.stdout)


if __name__ == "__main__":
    unittest.main()
