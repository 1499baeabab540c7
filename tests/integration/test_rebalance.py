#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`portmajor rebalance`: its request, its output, and that the plugin takes the request."""

import json
import os
import unittest.mock

import labtest
import pmlab
import simlab
from test_status import GOOD, state_of

BALANCE = {"entries_off": 5, "blocks_off": 2, "switches_off": 1, "rebalancing": False,
           "blocks_left": 0}
EVEN = {**BALANCE, "entries_off": 0, "blocks_off": 0, "switches_off": 0}
OFF = "5 entries off the plan's, in 2 LFT blocks of 1 switch"


class Request(labtest.Folders):
    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()
        self.enterContext(unittest.mock.patch.dict(os.environ, OSM_CACHE_DIR=str(self.cache)))

    def write(self, number, balance=BALANCE, **members):
        """The state of an OpenSM; the path of its requests."""
        guid = f"{number:016x}"
        folder = self.cache / f"portmajor.{guid}"
        folder.mkdir(exist_ok=True)
        state = {**GOOD, "port_guid": f"0x{guid}", "balance": balance, **members}
        (folder / "state").write_text(json.dumps(state), "ascii")
        return folder / "rebalance"

    def run_it(self, *args, status=0):
        done = pmlab.run_cli("rebalance", *args)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(bool(done.stderr), status > 1, done.stderr)
        return done.stdout or done.stderr

    def test_nobody(self):
        """Those that would not follow are not asked."""
        message = "no running OpenSM is the master and routes with portmajor"
        self.assertIn(message, self.run_it(status=3))
        requests = [self.write(1, running=False), self.write(2, sm_state="standby"),
                    self.write(3, shadow={"number": 1})]
        (self.cache / "portmajor.4").mkdir()
        (self.cache / "portmajor.4" / "state").write_text("no state", "ascii")
        for args in ((), ("--dry-run",), ("--json",)):
            self.assertIn(message, self.run_it(*args, status=3))
        self.assertFalse(any(path.exists() for path in requests))

    def test_asked(self):
        first, second = self.write(1), self.write(2, None)
        standby = self.write(3, sm_state="standby")
        self.assertEqual(self.run_it(), f"port 0x{1:016x}: {OFF}; requested\n"
                         f"port 0x{2:016x}: how far tables are off the plan's is not known; "
                         "requested\n")
        self.assertEqual((first.read_text(), second.read_text()), ("", ""))
        self.assertFalse(standby.exists())
        self.assertEqual(self.run_it("-q", "--rate", 500), "")
        self.assertEqual(first.read_text(), "rate 500\n")
        self.assertEqual([p.name for p in first.parent.iterdir() if p.name not in
                          ("state", "rebalance")], [])

    def test_dry_run(self):
        path = self.write(1)
        port = f"port 0x{1:016x}: "
        self.assertEqual(self.run_it("--dry-run", status=1), f"{port}{OFF}\n")
        self.write(1, {**BALANCE, "rebalancing": True, "blocks_left": 3})
        self.assertEqual(self.run_it("--dry-run", status=1),
                         f"{port}{OFF}; rebalancing, 3 LFT blocks left\n")
        self.write(1, EVEN)
        self.assertEqual(self.run_it("--dry-run"), f"{port}tables are the plan's\n")
        self.write(2)
        self.assertEqual(self.run_it("--dry-run", "-q", status=1), "")
        self.write(2, None)
        self.assertIn("is not known", self.run_it("--dry-run", status=1))
        self.assertFalse(path.exists())

    def test_json(self):
        path = self.write(1)
        found = json.loads(self.run_it("--json", "--rate", 7))
        self.assertEqual((found["schema"], found["version"], found["dry_run"], found["rate"]),
                         ("portmajor-rebalance", 1, False, 7))
        self.assertEqual(found["fabrics"], [
            {"port_guid": f"0x{1:016x}", "file": str(path.parent / "state"), "requested": True,
             "balance": BALANCE}])
        self.write(1, None)
        found = json.loads(self.run_it("--json", "--dry-run", status=1))
        self.assertEqual((found["dry_run"], found["rate"]), (True, None))
        self.assertEqual((found["fabrics"][0]["requested"], found["fabrics"][0]["balance"]),
                         (False, None))

    def test_usage(self):
        path = self.write(1)
        for args in (("--rate", 0), ("--rate", 1000001), ("--rate", "x"), ("leaf0",)):
            self.run_it(*args, status=2)
        self.assertFalse(path.exists())

    def test_not_writable(self):
        path = self.write(1)
        path.mkdir()
        self.assertIn(str(path), self.run_it(status=3))


class Plugin(labtest.Folders):
    def test_taken(self):
        """The plugin removes what it has read, also what makes no sense, and says so."""
        net = pmlab.generate(self.folder / "fabric.net", "two-level", 3, 2, 2, 1)
        cache = self.folder / "cache"
        cache.mkdir()
        with (pmlab.Lab(net, cache_dir=cache) as lab,
              unittest.mock.patch.dict(os.environ, OSM_CACHE_DIR=str(cache))):
            lab.bring_up()
            path = pmlab.kept(cache, "rebalance")
            simlab.poll_until(lambda: pmlab.kept(cache, "state").exists(), 60, "the state")
            self.assertIn("phase", state_of(lab.osm))
            done = pmlab.run_cli("rebalance", "--rate", "500")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            simlab.poll_until(lambda: not path.exists(), 60, "the request to go")
            mark = lab.osm.log_offset()
            (cache / "other").write_text("rate many\n", "ascii")
            (cache / "other").rename(path)
            lab.osm.wait_log("portmajor: rebalance not followed: .*/rebalance:1: rate must be "
                             "1 to 1000000 blocks per second, not \"many\"", mark)
            simlab.poll_until(lambda: not path.exists(), 60, "the request to go")


if __name__ == "__main__":
    labtest.main()
