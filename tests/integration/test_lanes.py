#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-lab traffic with virtual lanes, and with cables of different rates."""

import json
import re

import labtest
import pmlab

NET = pmlab.TOPOLOGIES / "xgft-64.net"
SHORT = ("--warmup", "20us", "--time", "200us")


class Lanes(labtest.Folders):
    def run_packet(self, *options, net=NET, status=0):
        done = pmlab.run_lab("traffic", "--engine", "packet", "--json", *options, net)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def refused(self, word, *options):
        done = pmlab.run_lab("traffic", "--engine", "packet", *options, NET)
        self.assertEqual((done.returncode, done.stdout), (2, ""), options)
        self.assertIn(word, done.stderr)

    def slow_down(self, word):
        """The first cable of leaf0 to the level above."""
        text = NET.read_text(encoding="ascii")
        for line in ('[5]\t"sw2-0"[1]\t# lid 0 ', '[1]\t"leaf0"[5]\t# lid 0 '):
            text, done = re.subn(re.escape(line) + "4xQDR$", line + word, text, count=1, flags=re.M)
            self.assertEqual(done, 1, line)
        path = self.folder / f"{word}.net"
        path.write_text(text, encoding="ascii")
        return path

    def test_rates(self):
        """As in the netlist, unless --gbps is given."""
        told = self.run_packet(*SHORT)
        self.assertEqual(told["settings"]["gbps"], 32)
        self.assertEqual(told["settings"]["rates"], [{"gbps": 32, "ticks": 1, "links": 192}])
        other = self.run_packet(*SHORT, "--gbps", 32)
        self.assertEqual((other["settings"]["gbps"], other["settings"]["rates"]), (32, []))
        self.assertEqual(told["points"], other["points"])

    def test_slow(self):
        """A cable at a quarter of the rate carries a quarter, and no other one waits for it."""
        net = self.slow_down("1xQDR")
        for load, unstable in ((.2, False), (1, True)):
            told = self.run_packet(*SHORT, "--pattern", "shift:32", "--load", load, net=net)
            self.assertEqual(told["settings"]["rates"],
                             [{"gbps": 32, "ticks": 1, "links": 191},
                              {"gbps": 8, "ticks": 4, "links": 1}])
            point, = told["points"]
            self.assertEqual(point["unstable"], unstable)
            self.assertAlmostEqual(point["links"]["max"], min(1, 4 * load), delta=.02)
            self.assertLessEqual(point["links"]["max"], 1)
            # Two of 64 hosts send over it: one up, one down.
            wanted = load if not unstable else (62 * load + 2 * .25) / 64
            self.assertAlmostEqual(point["accepted"], wanted, delta=.005)
        done = pmlab.run_lab("traffic", *SHORT, "--load", ".1", net)
        self.assertIn("32 Gb/s (191 cables), 8 Gb/s (1); latencies in us\n", done.stdout)

    def test_fraction(self):
        """FDR is 75/44 of QDR: 29/17 to a thousandth."""
        told = self.run_packet(*SHORT, "--load", ".1", net=self.slow_down("4xFDR"))
        self.assertEqual([rate["ticks"] for rate in told["settings"]["rates"]], [17, 29])
        self.assertEqual(told["settings"]["gbps"], 54.545)
        self.assertAlmostEqual(told["points"][0]["accepted"], .1, delta=.005)

    def test_weights(self):
        """Two classes on a cable that both fill, in OpenSM's notation."""
        incast = (*SHORT, "--pattern", "incast:h0-1:62", "--load", 1, "--sl", "0,1")
        low = ("--vls", 2, "--vlarb-high", "0:0", "--vlarb-low", "0:192,1:64")
        for options, share in ((low, .75), ((*low, "--sl2vl", "1,0"), .25),
                               # OpenSM's default: lane 0 goes first, except for each second packet;
                               # folded, its low table has both lanes.
                               (("--vls", 2), .75), (("--vls", 2, "--high-limit", 3), .875),
                               (("--vls", 8, "--high-limit", 255), 1)):
            with self.subTest(options):
                classes = self.run_packet(*incast, *options)["points"][0]["sls"]
                gbps = {one["sl"]: one["gbps"] for one in classes}
                self.assertAlmostEqual(sum(gbps.values()), 32, delta=.2)
                self.assertAlmostEqual(gbps[0] / 32, share, delta=.01)
        done = pmlab.run_lab("traffic", *incast, *low, NET)
        self.assertRegex(done.stdout, r"\nSL 0 on VL 0: 2[34]\.\d+ Gb/s, latency [0-9.]+ us, at most")
        self.assertRegex(done.stdout, r"\nSL 1 on VL 1: [78]\.\d+ Gb/s")

    def test_usage(self):
        self.refused("--vls 3", "--vls", 3)
        self.refused("--vls 16", "--vls", 16)
        self.refused("--sl:", "--sl", "0,16")
        self.refused("--sl2vl", "--sl2vl", ",".join(["0"] * 17))
        self.refused("service level 1 has no lane", "--vls", 2, "--sl", "0,1", "--sl2vl", "0,15")
        for table in ("0", "15:1", "0:256", "0:1,", ",".join(["0:1"] * 65)):
            self.refused("--vlarb-low", "--vlarb-low", table)
        self.refused("--vlarb-high", "--vlarb-high", "x:1")
        self.refused("--high-limit", "--high-limit", 256)
        self.refused("lane 1 has no weight", "--vls", 2, "--sl", "1", "--vlarb-low", "0:1")


if __name__ == "__main__":
    labtest.main()
