#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Collective operations and several jobs on the packet engine of portmajor-lab traffic."""

import json
import re

import labtest
import pmlab

ALGORITHMS = ("linear", "ring", "recursive-doubling", "binomial")


class Jobs(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.switch = pmlab.generate(cls.folder / "switch.net", "xgft", 1, 16, 1)
        cls.tree = pmlab.generate(cls.folder / "tree.net", "xgft", 2, "8,4", "1,4")

    def run_it(self, netlist, *args, status=0):
        done = pmlab.run_lab("traffic", "--engine", "packet", netlist, *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def point(self, netlist, *args, **kwargs):
        told = json.loads(self.run_it(netlist, "--json", *args, **kwargs))
        self.assertEqual(len(told["points"]), 1)
        return told["points"][0]

    def refused(self, message, netlist, *args, status=2):
        done = pmlab.run_lab("traffic", netlist, *args)
        self.assertEqual((done.returncode, done.stdout), (status, ""), args)
        self.assertIn(message, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Collectives(Jobs):
    def test_equations(self):
        """One switch: each call takes the time of the equation; all packets arrive."""
        for algorithm in ALGORITHMS:
            point = self.point(self.switch, "--collective", algorithm, "--bytes", "100000",
                               "--repeat", 3)
            [job] = point["jobs"]
            collective = job["collective"]
            self.assertAlmostEqual(collective["alpha_us"], 0.2, delta=0.01)
            self.assertEqual(len(collective["calls_us"]), 3)
            for call in collective["calls_us"]:
                self.assertAlmostEqual(call, collective["equation_us"], 6)
            self.assertAlmostEqual(point["done"]["us"], sum(collective["calls_us"]), 6)
            self.assertEqual(job["done"], point["done"])
            self.assertEqual((point["delivered"], point["dropped"], point["healthy"]),
                             (point["packets"], 0, None))

    def test_loss(self):
        """A switch dies in the third call: that one takes longer, or it never ends."""
        ring = ("--collective", "ring", "--bytes", "256K", "--repeat", 6)
        whole = self.point(self.tree, *ring)
        third = whole["done"]["us"] * 2.5 / 6
        lost = (*ring, "--fail", "sw2-0", "--at", f"{third:.3f}us", "--repair", "at-once",
                "--repair-after", "50us")
        point = self.point(self.tree, *lost, status=1)
        self.assertEqual(point["findings"]["unfinished"], "stuck")
        self.assertGreater(point["dropped"], 0)
        self.assertIsNone(point["done"]["us"])
        self.assertGreater(point["done"]["left"], 0)
        calls = point["jobs"][0]["collective"]["calls_us"]
        self.assertEqual(calls[:2], whole["jobs"][0]["collective"]["calls_us"][:2])
        self.assertEqual(calls[2:], [None] * 4)
        self.assertEqual((point["healthy"]["us"], point["healthy"]["ratio"]),
                         (whole["done"]["us"], None))
        text = self.run_it(self.tree, *lost, status=1)
        self.assertIn("not done", text)
        self.assertIn("without the failure", text)

        point = self.point(self.tree, *lost, "--transport", "rc", "--timeout", 4)
        self.assertEqual(point["done"]["left"], 0)
        self.assertGreater(point["pairs"]["again"], 0)
        self.assertEqual(point["pairs"]["broken"], 0)
        self.assertAlmostEqual(point["healthy"]["ratio"],
                               point["done"]["us"] / point["healthy"]["us"])
        self.assertGreater(point["healthy"]["ratio"], 1)
        calls = point["jobs"][0]["collective"]["calls_us"]
        self.assertEqual(max(range(6), key=calls.__getitem__), 2)
        self.assertGreater(calls[2], 50)
        text = self.run_it(self.tree, *lost, "--transport", "rc", "--timeout", 4)
        self.assertIn("times as long", text)

    def test_pattern_loss(self):
        """A pattern with an end is compared with its run without the failure, too."""
        args = ("--pattern", "all-to-all", "--messages", "all", "--warmup", "0us", "--time",
                "1s", "--transport", "rc")
        whole = self.point(self.tree, *args)
        self.assertIsNone(whole["healthy"])
        point = self.point(self.tree, *args, "--fail", "sw2-0", "--at", "5us", "--repair",
                           "order")
        self.assertEqual(point["healthy"]["us"], whole["done"]["us"])
        self.assertAlmostEqual(point["healthy"]["ratio"],
                               point["done"]["us"] / whole["done"]["us"])
        self.assertGreater(point["healthy"]["ratio"], 1)

    def test_processes(self):
        """As many as there can be of 32 hosts, or fewer; each process once."""
        for algorithm, number in zip(ALGORITHMS, (32, 32, 32, 32)):
            told = json.loads(self.run_it(self.tree, "--json", "--collective", algorithm))
            self.assertEqual(told["settings"]["collective"]["processes"], number)
        told = json.loads(self.run_it(self.tree, "--json", "--collective", "ring", "--jobs", 3,
                                      "--bytes", 1))
        self.assertEqual(told["settings"]["jobs"],
                         {"num": 3, "hosts": 10, "placement": "in-order"})
        self.assertEqual(told["settings"]["collective"],
                         {"algorithm": "ring", "processes": 10, "bytes": 640, "calls": 1})
        self.assertEqual(told["points"][0]["packets"], 3 * 10 * 9)

    def test_bad_input(self):
        self.refused("no algorithm \"alltoall\"; there are linear|ring|recursive-doubling|"
                     "binomial", self.tree, "--collective", "alltoall")
        self.refused("no pattern \"alltoall\"; there are uniform|permutation|shift|bit-reverse|"
                     "hot-spot|incast|all-to-all", self.tree, "--pattern", "alltoall")
        self.refused("no way \"never\"; there are none|at-once|order", self.tree, "--load", 1,
                     "--repair", "never")
        self.refused("no transport \"ud\"; there are none|rc", self.tree, "--load", 1,
                     "--transport", "ud")
        for algorithm, numbers in (("linear", (1,)), ("ring", (1, 2, 3)),
                                   ("recursive-doubling", (1, 3)), ("binomial", (1, 3, 12))):
            for number in numbers:
                self.refused(f"{algorithm}: {number} processes: not", self.tree,
                             "--collective", algorithm, "--processes", number)
        self.refused("--collective ring: each job has 3 hosts, too few for it", self.tree,
                     "--collective", "ring", "--jobs", 10)
        self.refused("--processes 64: there are 32 hosts", self.tree, "--collective", "binomial",
                     "--processes", 64)
        self.refused("--processes 16: each job has 10 hosts", self.tree, "--collective",
                     "binomial", "--processes", 16, "--jobs", 3)
        for more in (("--pattern", "uniform"), ("--load", 1), ("--messages", 1)):
            self.refused("--collective takes the place", self.tree, "--collective", "ring", *more)
        self.refused("go with --collective", self.tree, "--load", 1, "--repeat", 2)
        self.refused("fewer than two each", self.tree, "--load", 1, "--jobs", 17)
        self.refused("there is one job", self.tree, "--load", 1, "--alone")
        self.refused("--placement: no way", self.tree, "--load", 1, "--placement", "here")
        self.refused("calls of 1 jobs", self.tree, "--collective", "ring", "--repeat", 1000000)
        self.refused("N is 1 to 9", self.tree, "--pattern", "shift:10", "--jobs", 3)
        self.refused("is in none of the jobs", self.tree, "--pattern", "incast:h3-8",
                     "--jobs", 3)


class Words(Jobs):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pair = pmlab.generate(cls.folder / "pair.net", "xgft", 1, 2, 1)

    def test_lost_at_once(self):
        """A host with a cable that fails before it begins sends nothing."""
        for *at, arrive in ((0,), ("--at", "0", 0), ("--at", "0us", 0), ("--at", "-2us", 0),
                            ("--at", "1.3us", 2)):
            args = ("--messages", 1, "--pattern", "shift:1", "--fail", "h0-1", "--warmup", "0us",
                    *at)
            point = self.point(self.pair, *args, status=0 if arrive else 1)
            self.assertEqual((point["packets"], point["delivered"]),
                             (2 if arrive else 1, arrive), at)

    def test_engine(self):
        """Options of the packet engine alone choose it."""
        for args in (("--jobs", 2), ("--messages", 1)):
            done = pmlab.run_lab("traffic", "--json", self.tree, *args, "--warmup", "0us")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["settings"]["engine"], "packet", args)

    def test_one(self):
        """One of each, where there is one."""
        pair = self.pair
        lines = {
            ("plan",): "1 switch, 1 of them leaves, levels 0 to 0, 1 pod, 0 planes\n",
            ("traffic", "--fail", "h0-1"): "1 host, 0 ordered pairs of them, 0 paths\n",
            ("traffic", "--engine", "share", "--permutations", 1):
                "2 hosts: 1 of them sends to 1 other, each to one, as shares of what their "
                "links carry;\n1 shift, and 1 permutation drawn by seed 1; a fabric for 1 VLAN\n",
            ("traffic", "--messages", 1, "--pattern", "shift:1", "--fail", "h0-1", "--at", "-2us",
             "--warmup", "0us"):
                "dropped 1: dead-port, at 1 node, most at",
        }
        for args, text in lines.items():
            run = pmlab.run_cli if args[0] == "plan" else pmlab.run_lab
            done = run(*args, pair)
            self.assertEqual(done.returncode, int(args[1:2] == ("--messages",)), done.stderr)
            self.assertIn(text, done.stdout)


class Closed(Jobs):
    """Closed loops, in which each message waits for the one before."""

    def test_from_the_beginning(self):
        """Short loops are measured without a warm-up: 3 x 4096 bytes on a host's own link."""
        args = ("--pattern", "shift:1", "--messages", 3)
        for more in ((), ("--fail", "leaf0", "--at", "1ms", "--time", "2ms")):
            net = self.switch if not more else pmlab.generate(
                self.folder / "two.net", "two-level", 2, 1, 2, 1)
            point = self.point(net, *args, *more)
            self.assertGreater(point["accepted"], 0.3, more)
            self.assertGreater(point["latency_us"]["mean"], 1, more)
            self.assertEqual(point["done"]["left"], 0)
            self.assertEqual((point["findings"]["unfinished"], point["findings"]["unmeasured"]),
                             (None, False))

    def test_unmeasured(self):
        for args in (("--pattern", "shift:1", "--messages", 1), ("--collective", "ring")):
            point = self.point(self.switch, *args, "--warmup", "50us", status=1)
            self.assertEqual((point["accepted"], point["findings"]["unmeasured"],
                              point["findings"]["unfinished"]), (0, True, None))
            self.assertIn("finding: unmeasured, done within the warm-up (--warmup)\n",
                          self.run_it(self.switch, *args, "--warmup", "50us", status=1))

    def test_unfinished(self):
        """More messages than fit into --time: no unstable load, but a finding; in shards, too."""
        args = (self.switch, "--pattern", "shift:1", "--messages", 100, "--time", "30us")
        point = self.point(*args, status=1)
        self.assertEqual((point["findings"]["unfinished"], point["unstable"]), ("time", False))
        text = self.run_it(*args, status=1)
        self.assertIn(" unfinished\n", text)
        self.assertRegex(text, "finding: not done, [0-9]+ messages have not arrived at the end "
                               "of --time\n")
        shard = self.run_it(*args, "--json", "--shard", "1/1", status=1)
        (self.folder / "shard").write_text(shard, "ascii")
        done = pmlab.run_lab("merge", self.folder / "shard")
        self.assertEqual((done.returncode, done.stdout), (1, text))


class Foreign(Jobs):
    """Tables of another fabric with the same GUIDs of switches, as far as there are any."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.small = pmlab.generate(cls.folder / "64.net", "xgft", 3, "4,4,4", "1,4,4")
        cls.large = pmlab.generate(cls.folder / "216.net", "xgft", 3, "6,6,6", "1,6,6")
        # The switches of the small one, with more ports.
        cls.wide = pmlab.generate(cls.folder / "wide.net", "xgft", 3, "8,4,4", "1,4,4")

    def tables_of(self, netlist):
        path = self.folder / f"{netlist.stem}.lfts"
        self.assertEqual(pmlab.run_cli("plan", "-q", "--lfts", path, netlist).returncode, 0)
        return path

    def test_foreign(self):
        load = ("--load", 0.1, "--time", "20us")
        for netlist in (self.small, self.large, self.wide):
            self.run_it(netlist, *load, "--lfts", self.tables_of(netlist))
        self.refused("the fabric has no switch 0x", self.small,
                     *load, "--lfts", self.tables_of(self.large), status=3)
        self.refused("tables of another fabric?", self.small, *load, "--lfts",
                     self.tables_of(self.wide), status=3)
        self.refused("has no table of", self.large, *load, "--lfts",
                     self.tables_of(self.small), status=3)

    def test_ports(self):
        """A port that no such switch has."""
        path = self.tables_of(self.small)
        text = path.read_text()
        found = re.search(r"^(0x[0-9a-f]+) 00[0-9] ", text, re.M)
        self.assertIsNotNone(found, text[:400])
        bad = self.folder / "bad.lfts"
        bad.write_text(text.replace(found.group(), f"{found.group(1)} 077 ", 1))
        self.refused("leads to port 77 of", self.small, "--load", 0.1, "--lfts", bad, status=3)

    def test_lost_host(self):
        """A cable less, at the same switches: they are the fabric's tables."""
        path = pmlab.without_cables(self.small, {"h0-1:1"}, self.folder / "fewer.net")
        self.run_it(path, "--load", 0.1, "--time", "20us", "--lfts",
                    self.tables_of(self.small))


class NoPath(Jobs):
    """A leaf without uplinks: no table leads to its hosts, or from them."""

    def test_engines(self):
        """All engines have the same finding, and the same status."""
        net = pmlab.without_cables(pmlab.generate(self.folder / "two.net", "two-level", 4, 2, 4, 1),
                                   {"leaf3:5", "leaf3:6"}, self.folder / "cut.net")
        finding = "finding: the tables have no path for 96 of 240 pairs of hosts, as from h0-1 " \
                  "to h3-1\n"
        for engine, *args in (("flit", "--load", 0.1), ("packet", "--load", 0.1), ("share",),
                              ("packet", "--messages", 1, "--pattern", "shift:4")):
            done = pmlab.run_lab("traffic", "--engine", engine, *args, net)
            self.assertEqual((done.returncode, done.stdout.count(finding)), (1, 1), done.stdout)
            done = pmlab.run_lab("traffic", "--json", "--engine", engine, *args, net)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(json.loads(done.stdout)["no_path"],
                             {"pairs": 96, "of": 240, "from": "h0-1", "to": "h3-1"})
        # Pairs that a failure cuts off are no finding.
        net = self.folder / "two.net"
        for engine, *args in (("packet", "--load", 0.1), ("share",)):
            done = pmlab.run_lab("traffic", "--json", "--engine", engine, *args, "--fail", "leaf3:5",
                                 "--fail", "leaf3:6", net)
            self.assertEqual((done.returncode, json.loads(done.stdout)["no_path"]), (0, None))

    def test_shards(self):
        """The status of a shard, and of the whole, without packets of such pairs."""
        net = pmlab.without_cables(pmlab.generate(self.folder / "2.net", "two-level", 2, 1, 2, 1),
                                   {"leaf0:3"}, self.folder / "apart.net")
        args = ("--pattern", "incast:h0-1:1", "--load", 0.1, "--time", "20us")
        shard = self.run_it(net, *args, "--json", "--shard", "1/1", status=1)
        (self.folder / "shard").write_text(shard, "ascii")
        done = pmlab.run_lab("merge", self.folder / "shard")
        self.assertEqual((done.returncode, done.stdout), (1, self.run_it(net, *args, status=1)))
        self.assertNotIn("dropped 1", done.stdout)
        self.assertIn("no path for 8 of 12 pairs", done.stdout)


class Links(Jobs):
    def test_incast(self):
        """The cable of the host that is the common receiver is full, and no other one."""
        point = self.point(self.tree, "--pattern", "incast:h0-1", "--load", 1)
        self.assertGreater(point["host_links"]["max"], 0.999)
        self.assertLess(point["links"]["max"], 0.8)
        self.assertLess(point["host_links"]["mean"], 0.1)
        header, row = self.run_it(self.tree, "--pattern", "incast:h0-1", "--load",
                                  1).splitlines()[1:3]
        self.assertEqual(row.split()[header.split().index("host")], "1.000")

    def test_one_switch(self):
        """No cable between switches, and hosts send as much as their cables carry."""
        point = self.point(self.switch, "--pattern", "shift:1", "--load", 0.25)
        self.assertIsNone(point["links"])
        self.assertAlmostEqual(point["host_links"]["mean"], 0.25, delta=0.005)
        self.assertAlmostEqual(point["host_links"]["max"], 0.25, delta=0.01)

    def test_delays(self):
        """More than the engine has room for is reported as a fault of options, in their units."""
        for option in ("--wire", "--crossing"):
            self.refused(f"{option}: longer than the 1048.560 us that it can be", self.tree,
                         "--load", 1, option, "1s")
        self.run_it(self.tree, "--load", 0.1, "--wire", "1048us", "--time", "2ms")
        self.refused("--wire: longer than the 167.770 us", self.tree, "--load", 1, "--gbps",
                     200, "--wire", "1s")


class Several(Jobs):
    def test_apart(self):
        """Jobs on a switch, or each below a switch of its own, do not influence each other."""
        for args in ((self.switch, "--collective", "ring", "--repeat", 2),
                     (self.tree, "--collective", "binomial"),
                     (self.tree, "--pattern", "shift:3", "--messages", 4,
                      "--warmup", "0us")):
            point = self.point(*args, "--jobs", 4, "--alone")
            self.assertEqual(len(point["jobs"]), 4)
            self.assertEqual(point["jobs_fairness"], 1)
            for job in point["jobs"]:
                self.assertEqual(job["slowdown"], 1)
                self.assertEqual(job["done"], job["alone"]["done"])
                self.assertEqual(job["done"], point["jobs"][0]["done"])

    def test_mixed(self):
        """Jobs that are assigned at random disturb each other."""
        args = (self.tree, "--collective", "recursive-doubling", "--bytes", "256K", "--jobs", 2,
                "--placement", "random", "--alone")
        point = self.point(*args)
        self.assertTrue(all(job["slowdown"] >= 1 for job in point["jobs"]))
        self.assertGreater(max(job["slowdown"] for job in point["jobs"]), 1)
        self.assertEqual(point["done"]["us"], max(job["done"]["us"] for job in point["jobs"]))
        self.assertNotEqual(point, self.point(*args, "--seed", 2))
        text = self.run_it(*args)
        self.assertIn("slowdown", text)
        self.assertIn("fairness between jobs", text)

    def test_open(self):
        """By a load: the rate of all is that of the jobs together."""
        point = self.point(self.tree, "--load", 0.6, "--jobs", 2, "--placement", "random",
                           "--alone", "--warmup", "5us", "--time", "50us")
        self.assertAlmostEqual(sum(job["accepted"] for job in point["jobs"]) / 2,
                               point["accepted"])
        messages = sum(job["messages"] for job in point["jobs"])
        self.assertAlmostEqual(sum(job["messages"] * job["latency_us"]["mean"]
                                   for job in point["jobs"]) / messages,
                               point["latency_us"]["mean"])
        self.assertEqual(max(job["latency_us"]["max"] for job in point["jobs"]),
                         point["latency_us"]["max"])
        for job in point["jobs"]:
            self.assertIsNone(job["done"])
            self.assertAlmostEqual(job["slowdown"], job["latency_us"]["mean"] /
                                   job["alone"]["latency_us"]["mean"])
            self.assertGreater(job["slowdown"], 1)

    def test_nothing(self):
        """Values without a message, or with too few, are not 0."""
        nothing = dict.fromkeys(("mean", "half", "p50", "p99", "max"))
        dead = (self.tree, "--fail", "*", "--at", "-1us", "--jobs", 2, "--warmup", "0us",
                "--time", "20us", "--window", "10us", "--seeds", 2)
        told = json.loads(self.run_it(*dead, "--load", 0.5, "--json"))
        for point in told["points"]:
            self.assertEqual((point["latency_us"], point["fairness"], point["accepted"]),
                             (nothing, None, 0))
            self.assertEqual([(row["mean_us"], row["max_us"]) for row in point["windows"]],
                             [(None, None)] * 2)
            self.assertEqual([job["latency_us"] for job in point["jobs"]],
                             [{"mean": None, "max": None}] * 2)
        self.assertIsNone(told["means"][0]["latency_us"])
        self.assertRegex(self.run_it(*dead, "--load", 0.5), r"0\.500 +0\.000( +-){5} ")
        point = self.point(self.tree, "--collective", "ring")
        self.assertIsNone(point["latency_us"]["half"])
        self.assertGreater(point["latency_us"]["mean"], 0)

    def test_host_names(self):
        """Hosts in patterns may have colons in their names, and blanks."""
        named = self.folder / "named.net"
        text = self.switch.read_text(encoding="ascii")
        named.write_text(text.replace('"h0-1"', '"n:1 a"').replace('"h0-2"', '"n:1 a:2"'),
                         encoding="ascii")
        for name, own in (("h0-1", "n:1 a"), ("h0-2", "n:1 a:2")):
            for pattern, rest in (("incast", ""), ("incast", ":3"), ("hot-spot", ":0.5")):
                self.assertEqual(self.point(named, "--pattern", f"{pattern}:{own}{rest}"),
                                 self.point(self.switch, "--pattern", f"{pattern}:{name}{rest}"))
        for text in ("n", "n:1", "n:1 a:2:x", "h0-1:3"):
            self.refused("--pattern incast: no" if text[-1] != "x" else "senders", named,
                         "--pattern", f"incast:{text}")

    def test_service_levels(self):
        """Jobs have them in turn, wherever their hosts are."""
        point = self.point(self.tree, "--collective", "linear", "--jobs", 3, "--placement",
                           "random", "--vls", 2, "--sl", "0,1", "--bytes", "64K")
        messages = [job["messages"] for job in point["jobs"]]
        self.assertEqual([(row["sl"], row["messages"]) for row in point["sls"]],
                         [(0, messages[0] + messages[2]), (1, messages[1])])
        blocks = sum(job["messages"] for job in point["jobs"]) * 65536 * 8
        self.assertAlmostEqual(sum(row["gbps"] for row in point["sls"]),
                               blocks / point["done"]["us"] / 1000)

    def test_shards(self):
        for status, *options in (
                (0, "--collective", "ring", "--jobs", 2, "--placement", "random", "--seeds", 3,
                 "--alone"),
                (1, "--collective", "linear", "--repeat", 2, "--fail", "sw2-0", "--seeds", 2),
                (0, "--load", "0.2,0.4", "--jobs", 2, "--time", "20us")):
            files = []
            for index in (1, 2):
                path = self.folder / f"{index}.json"
                path.write_text(self.run_it(self.tree, *options, "--json", "--shard",
                                            f"{index}/2", status=status))
                files.append(path)
            for more in ((), ("--json",)):
                done = pmlab.run_lab("merge", *more, *files)
                self.assertEqual(done.stdout,
                                 self.run_it(self.tree, *options, *more, status=status))


if __name__ == "__main__":
    labtest.main()
