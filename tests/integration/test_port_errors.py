#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Errors of ports, as OpenSM's performance manager reads them: a finding with the command that drains
the link, an event, a gauge; they have no effect on routing.
"""

import re
import shlex
import unittest

import pmlab
import simlab
import test_missing
import test_status

LATE_S = 150  # the state is written each minute, and counters are read each second


class PortErrors(test_missing.MissingCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = pmlab.generate(cls.folder / "small.net", "two-level", 4, 2, 4, 1)

    def start(self):
        self.set_counter("spine0", 1, "SymbolErrorCounter", 5000)  # of a time long ago
        self.lab = self.enterContext(pmlab.Lab(
            self.net, fabric=self.fabric, cache_dir=self.cache,
            conf={"perfmgr": "TRUE", "perfmgr_sweep_time_s": 1}))
        self.lab.bring_up()

    def set_counter(self, node, port, name, value):
        self.fabric.console(f'PerformanceSet "{node}"[{port}] PortCounters.{name}={value}')

    def listed(self):
        """{"NAME[PORT]-..": (kind, symbol errors, link downs)}; None: unknown."""
        errors = test_status.state_of(self.lab.osm)["port_errors"]
        return errors and {
            "-".join(f"{end['name']}[{end['port']}]" for end in port["ends"]):
            (port["kind"], port["symbol_errors"], port["link_downed"])
            for port in errors["list"]}

    def wait_for_listed(self, wanted):
        simlab.poll_until(lambda: self.listed() == wanted, LATE_S, str(wanted),
                          state=lambda: str(self.listed()))

    def test_life(self):
        self.wait_for_listed({})
        self.assertEqual(self.judge(), (0, []))
        host, port = self.lab.netlist.nodes["leaf2"].ports[1]
        before = self.lab.osm.counters()
        self.set_counter("spine0", 1, "SymbolErrorCounter", 5057)
        self.set_counter("spine0", 1, "LinkDownedCounter", 2)
        self.set_counter("spine0", 2, "SymbolErrorCounter", 9)  # below the limit
        self.set_counter(host, port, "LinkDownedCounter", 12)
        self.set_counter("leaf2", 1, "LinkDownedCounter", 11)
        link, end = "spine0[1]-leaf0[5]", f"{host}[{port}]-leaf2[1]"
        self.wait_for_listed({link: ("link", 57, 2), end: ("host", 0, 12),
                              f"leaf2[1]-{host}[{port}]": ("host", 0, 11)})
        status, (found,) = self.judge()
        self.assertEqual(status, 1)
        self.assertEqual(
            found, f"3 ports had errors in the last hour: {link} (57 symbol errors, 2 link "
            f"downs), {end} (12 link downs), leaf2[1]-{host}[{port}] (11 link downs); "
            f"`portmajor drain spine0:1` keeps {link} out of paths")
        self.assertIn("port errors 3 ports with many in the last hour\n",
                      self.run_it("status").stdout)
        self.assertEqual(test_status.metrics_of(pmlab.kept(self.cache, "portmajor.prom"))[
            "portmajor_ports_with_errors"], 3)
        # Events are written after the state.
        simlab.poll_until(
            lambda: re.search(rf"(?m) warning errors +.*{re.escape(link)}",
                              self.run_it("events").stdout), LATE_S, "the event")
        sent = self.lab.osm.counters() - before
        self.assertEqual(sent["lft_sets"], 0)

        # The command in the finding.
        drain = shlex.split(re.search("`(.*)`", found).group(1))
        done = self.run_it(*drain[1:], "--wait", 60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(self.run_it("drain").stdout, r"out +spine0:1")
        self.assertNotIn("portmajor drain", self.judge()[1][0])
        self.assertGreater((self.lab.osm.counters() - before)["lft_sets"], 0)

        # Another limit, without a restart; 0 names none.
        config = self.lab.path / "portmajor.conf"
        config.write_text(config.read_text("ascii") + "port_error_limit 9\n", "ascii")
        self.lab.osm.hup()
        simlab.poll_until(lambda: len(self.listed() or {}) == 4, LATE_S, "a limit of 9",
                          state=lambda: str(self.listed()))
        self.assertEqual(self.listed()["spine0[2]-leaf1[5]"], ("link", 9, 0))
        config.write_text("lid_order grouped\nflap_limit 0\nport_error_limit 0\n", "ascii")
        self.lab.osm.hup()
        simlab.poll_until(lambda: self.listed() is None, LATE_S, "none named")


if __name__ == "__main__":
    unittest.main()
