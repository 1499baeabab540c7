#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ThreadSanitizer checks the plugin's threads while many events happen at a time.

Only the plugin is built with it; OpenSM's locks and threads are known through the calls of
libpthread that it intercepts. So races between our own accesses are found, and races with OpenSM's
copying and freeing; OpenSM's plain accesses to the same memory are not seen. Reports without an
access of ours are OpenSM's and umad2sim's own, and not judged.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

import clients
import control
import labtest
import mgroups
import pmlab
import simlab
import wire

ATTR_PORT_INFO = 0x15

PLUGIN = pmlab.BUILD / "threads" / "libportmajor.so"

# Symbols are looked up afterwards: the sanitizer would open files through umad2sim, with a lock it
# may hold.
TSAN_OPTIONS = "symbolize=0:exitcode=0:report_signal_unsafe=0:history_size=7"

_ACCESS = re.compile(r"\s+(Previous )?(read|write|atomic read|atomic write) of size", re.I)
_FRAME = re.compile(r"#\d+ .*\((\S*?)([^/\s]+)\+(0x[0-9a-f]+)\)")


def accesses(report):
    """The stacks of a report of both accesses; all if it is no data race."""
    stacks = re.split(r"\n\s*\n", report)
    return [s for s in stacks if _ACCESS.search(s)] or stacks


def reports_of_ours(text):
    """The reports of a log with an access that has a frame of the plugin."""
    return [report for report in text.split("=" * 18)
            if "WARNING: ThreadSanitizer" in report
            and any(PLUGIN.name in stack for stack in accesses(report))]


def named(report):
    """A report with the functions and lines of the plugin's frames."""
    def name(frame):
        if frame[2] != PLUGIN.name:
            return frame[0]
        line = subprocess.run(["addr2line", "-f", "-p", "-s", "-e", PLUGIN, frame[3]],
                              capture_output=True, text=True, check=False).stdout.strip()
        return f"{frame[0]} {line}"
    return _FRAME.sub(name, report)


class Threads(labtest.Folders):
    """Three levels, 3 leaves to a pod; each top switch has a cable to each pod."""

    GENERATE = ("xgft", 3, "2,3,3", "1,2,2")

    def setUp(self):
        self.wire = wire.Wire()
        self.config = self.folder / "portmajor.conf"
        self.config.write_text("flap_limit 1\nflap_window 60\nflap_hold 1\nflap_hold_max 2\n")
        netlist = simlab.Netlist(pmlab.generate(self.folder / "fabric.net", *self.GENERATE))
        self.fabric = self.enterContext(pmlab.Fabric(netlist))

    def open_sm(self, **conf):
        options = f"{TSAN_OPTIONS}:log_path={self.folder}/{self.id()}"
        return simlab.OpenSM(self.fabric, engine="portmajor", wire=self.wire,
                             conf=pmlab.plugin_options(self.config, **conf),
                             plugin_dir=PLUGIN.parent, preload=[os.environ["PORTMAJOR_TSAN"]],
                             env={"TSAN_OPTIONS": options}, cache_dir=self.folder)

    def check_reports(self):
        found = [report for path in self.folder.glob(f"{self.id()}.*")
                 for report in reports_of_ours(path.read_text())]
        self.assertEqual(len(found), 0, "\n".join(map(named, found[:3])))

    def settle(self, osm, action):
        mark = osm.mark()
        action()
        osm.settle(mark)

    def rotate(self, osm):
        """Like logrotate."""
        osm.log_path.rename(osm.path / "opensm.log.1")
        osm.process.send_signal(signal.SIGUSR1)
        simlab.poll_until(osm.log_path.exists, 60, "the log to be opened anew")

    def flap(self, osm, cable):
        """The link is put on hold, and the alarm requests the run that ends it."""
        before = osm.log_offset()
        for _ in range(2):
            osm.wait_traps_aged()
            self.settle(osm, lambda: self.fabric.lose(cable))
            self.settle(osm, lambda: self.fabric.back(cable))
        osm.wait_log("flapping: 1 link kept out[^$]*flapping: 0 links kept out", before)

    def operate(self, *args):
        """Runs portmajor as the operator of this OpenSM."""
        done = subprocess.run([pmlab.CLI, *args], capture_output=True, text=True, check=False,
                              env={**os.environ, "OSM_CACHE_DIR": str(self.folder)})
        self.assertLess(done.returncode, 2, done.stderr)

    def join(self, osm, *hosts):
        """A group: its tables add Sets to all that follows."""
        path = self.folder / "fabric.dump"
        self.fabric.dump(path)
        manager_lid = pmlab.Dump(path).lids[osm.host]
        for host in hosts:
            status, _ = clients.join(self.fabric, host, manager_lid, mgroups.FIRST_GID)
            self.assertEqual(status, 0, host)

    def much_at_a_time(self, osm, switches):
        """Failures, returns, traps, other configurations, sweeps and a reopened log, without
        waiting."""
        with control.Client(self.folder) as client:
            client.send({"request": "check", "all": True})
        self.operate("drain", "sw2-0")
        for number, switch in enumerate(switches):
            self.fabric.lose(switch)
            self.wire.storm(50, range(1, 17))
            self.config.write_text(f"flap_limit {number % 2}\nrebalance_rate {50 + number}\n"
                                   f"early_repair {('yes', 'no')[number % 2]}\n"
                                   f"early_repair_budget {100 + number}\n"
                                   f"event_command /bin/{('true', 'false')[number % 2]}\n")
            osm.hup()
        osm.process.send_signal(signal.SIGUSR1)
        self.operate("undrain", "--all")
        self.operate("rebalance")
        for switch in switches:
            self.fabric.back(switch)
            osm.hup()

    def check_end(self, osm):
        """Ends OpenSM, in the middle of its work."""
        osm.process.terminate()
        self.wire.release()
        self.assertEqual(osm.process.wait(60), 0, osm.stdout()[-500:])
        state = json.loads(pmlab.kept(self.folder, "state").read_text())
        self.assertFalse(state["running"])

    def test_much_happens(self):
        with self.open_sm() as osm:
            osm.settle()
            maps = pathlib.Path(f"/proc/{osm.process.pid}/maps").read_text()
            self.assertIn(str(PLUGIN), maps)
            self.assertIn("libtsan", maps)
            self.join(osm, *sorted(self.fabric.netlist.hosts)[1::2])
            for target in ("leaf0:3", "sw3-0", "sw2-0"):
                self.settle(osm, lambda: self.fabric.lose(target))
                self.settle(osm, lambda: self.fabric.back(target))
            self.assertTrue(any(repair.sent for repair in pmlab.Repair.find(osm.log())))
            self.flap(osm, "leaf1:3")
            self.rotate(osm)
            self.much_at_a_time(osm, ["sw3-1"])
            self.much_at_a_time(osm, ["sw2-1", "sw3-2", "leaf3"])
            self.settle(osm, osm.hup)
            self.operate("check", "--now")
            self.check_end(osm)
        self.check_reports()

    def port_errors(self):
        """Symbol errors by the ports that are listed."""
        errors = json.loads(pmlab.kept(self.folder, "state").read_text())["port_errors"]
        return {port["ends"][0]["name"]: port["symbol_errors"]
                for port in (errors or {"list": []})["list"]}

    def add_errors(self):
        self.errors += 100
        self.fabric.console('PerformanceSet "sw2-0"[1] PortCounters.SymbolErrorCounter='
                            f"{self.errors}")

    def test_port_errors(self):
        """Counters are read while the writer lists errors, and plans and limits change."""
        self.errors = 0
        with self.open_sm(perfmgr="TRUE", perfmgr_sweep_time_s=1) as osm:
            osm.wait_subnet_up()
            mark = osm.log_offset()
            for number, switch in enumerate(("sw3-1", "sw3-2", "leaf3"), 1):
                self.config.write_text(f"flap_limit 0\nport_error_limit {number}\n")
                self.fabric.lose(switch)
                self.add_errors()
                osm.hup()
                osm.wait_subnet_up(mark)
                mark = osm.log_offset()
                self.fabric.back(switch)
            simlab.poll_until(lambda: self.add_errors() or osm.hup() or "sw2-0" in
                              self.port_errors(), 120, "errors to be listed", every=1)
            self.check_end(osm)
        self.check_reports()

    def check_ended_at(self, begin, **datagram):
        """Ends OpenSM when it sends that for the first time after begin()."""
        with self.open_sm() as osm:
            if begin:
                osm.settle()
            with self.wire.hold("request", times=1, **datagram):
                if begin:
                    begin(osm)
                self.wire.wait_held()
                self.check_end(osm)

    def test_ends_in_the_middle(self):
        lost = "leaf2:3"
        self.check_ended_at(None, method="get", attr=simlab.ATTR_SWITCH_INFO)
        self.check_ended_at(None, method="set", attr=simlab.ATTR_LFT)
        self.check_ended_at(lambda osm: osm.hup(), method="get")
        self.check_ended_at(lambda osm: self.fabric.lose(lost), method="get",
                            attr=ATTR_PORT_INFO)
        self.fabric.back(lost)
        self.check_ended_at(lambda osm: self.fabric.lose(lost), method="set",
                            attr=simlab.ATTR_LFT)
        self.check_ended_at(lambda osm: self.operate("drain", "sw2-0"), method="set",
                            attr=simlab.ATTR_LFT)
        self.check_ended_at(lambda osm: self.join(osm, *sorted(self.fabric.netlist.hosts)[1:3]),
                            method="set", attr=mgroups.ATTR_MFT)
        self.check_reports()


if __name__ == "__main__":
    unittest.main()
