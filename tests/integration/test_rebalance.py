#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`portmajor rebalance`: its request, its output, and that the plugin follows the request."""

import fcntl
import json
import os
import socket
import threading
import unittest.mock

import control
import labtest
import pmlab
from test_status import GOOD

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
        """The state of an OpenSM; its folder."""
        folder = control.write(self.cache, number)
        state = {**GOOD, "port_guid": f"0x{number:016x}", "balance": balance, **members}
        (folder / "state").write_text(json.dumps(state), "ascii")
        return folder

    def serve(self, number, balance=BALANCE, **answer):
        """The same, with a server; returns the requests."""
        asked = []
        folder = self.write(number, balance)
        answers = {"state": "pending", "reason": None, "cause": None, "balance": balance,
                   "port_guid": f"0x{number:016x}", **answer}
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(folder / "control"))
        server.listen()

        def answer_all():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, connection.makefile("rw") as stream:
                    for line in stream:
                        asked.append(json.loads(line))
                        print(json.dumps(answers), file=stream, flush=True)

        threading.Thread(target=answer_all, daemon=True).start()
        self.addCleanup(server.close)
        self.addCleanup(server.shutdown, socket.SHUT_RDWR)
        return asked

    def run_it(self, *args, status=0):
        done = pmlab.run_cli("rebalance", *args)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout or done.stderr

    def test_nobody(self):
        """OpenSMs that would not follow get no request."""
        message = "no running OpenSM is the master and routes with portmajor"
        self.assertIn("no OpenSM has run here", self.run_it(status=3))
        self.write(1, running=False)
        self.write(2, sm_state="standby")
        self.write(3, shadow={"number": 1})
        (control.write(self.cache, 4) / "state").write_text("no state", "ascii")
        for args in ((), ("--dry-run",), ("--json",)):
            self.assertIn(message, self.run_it(*args, status=1))
        self.assertEqual(list(self.cache.glob("*/requests")), [])

    def test_asked(self):
        first, second = self.serve(1), self.serve(2, None)
        self.write(3, sm_state="standby")
        self.assertEqual(self.run_it(), f"port 0x{1:016x}: {OFF}; requested\n"
                         f"port 0x{2:016x}: how far tables are off the plan's is not known; "
                         "requested\n")
        for asked in (first, second):
            self.assertEqual([(one["request"], one["all"], one.get("rate")) for one in asked],
                             [("rebalance", True, None)])
        self.assertEqual(self.run_it("-q", "--rate", 500), "")
        self.assertEqual(first[1]["rate"], 500)
        self.assertEqual(self.run_it("-q", "--wait", 7, status=1), "")
        self.assertEqual(first[2]["wait"], 7)

    def test_answers(self):
        self.serve(1, EVEN, state="done")
        self.assertEqual(self.run_it("--wait", 5), f"port 0x{1:016x}: tables are the plan's; done\n")
        self.serve(2, state="refused", reason="OpenSM is not the master (standby)")
        self.assertIn(f"{OFF}; refused: OpenSM is not the master (standby)\n", self.run_it(status=1))

    def test_dry_run(self):
        self.write(1)
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
        self.assertEqual(list(self.cache.glob("*/requests")), [])

    def test_json(self):
        self.serve(1)
        found = json.loads(self.run_it("--json", "--rate", 7))
        self.assertEqual((found["schema"], found["version"], found["dry_run"], found["rate"]),
                         ("portmajor-rebalance", 1, False, 7))
        self.assertEqual(found["fabrics"], [
            {"port_guid": f"0x{1:016x}", "state": "pending", "reason": None, "requested": True,
             "balance": BALANCE}])
        self.write(1, None)
        (self.cache / f"portmajor.{1:016x}" / "control").unlink()
        found = json.loads(self.run_it("--json", "--dry-run", status=1))
        self.assertEqual((found["dry_run"], found["rate"]), (True, None))
        self.assertEqual((found["fabrics"][0]["requested"], found["fabrics"][0]["balance"]),
                         (False, None))

    def test_usage(self):
        asked = self.serve(1)
        for args in (("--rate", 0), ("--rate", 1000001), ("--rate", "x"), ("leaf0",)):
            self.run_it(*args, status=2)
        self.assertEqual(asked, [])

    def test_no_answer(self):
        """One that runs, and does not answer."""
        folder = self.write(1)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("OpenSM uses it, and has no control socket", self.run_it(status=3))


class Plugin(labtest.Folders):
    def test_taken(self):
        """If all tables are the plan's it is done, and leaves the file."""
        net = pmlab.generate(self.folder / "fabric.net", "two-level", 3, 2, 2, 1)
        cache = self.folder / "cache"
        cache.mkdir()
        with (pmlab.Lab(net, cache_dir=cache) as lab,
              unittest.mock.patch.dict(os.environ, OSM_CACHE_DIR=str(cache))):
            lab.bring_up()
            done = pmlab.run_cli("rebalance", "--rate", "500", "--wait", "60")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, "; done\n$")
            self.assertIsNone(control.requests_of(cache)["rebalance"])
            self.assertEqual(control.requests_of(cache)["number"], 1)


if __name__ == "__main__":
    labtest.main()
