#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The plugin declines bad fabrics and configurations, and OpenSM goes on."""

import json
import re
import unittest

import labtest
import pmlab
import simlab


def torus(path, size=4):
    """A size x size torus with a host on each switch."""
    def name(x, y):
        return f"t{x % size}-{y % size}"

    lines = []
    for x in range(size):
        for y in range(size):
            lines += [f'Switch 8 "{name(x, y)}"', f'[1] "h{x}-{y}"[1]',
                      f'[2] "{name(x + 1, y)}"[3]', f'[3] "{name(x - 1, y)}"[2]',
                      f'[4] "{name(x, y + 1)}"[5]', f'[5] "{name(x, y - 1)}"[4]', ""]
    for x in range(size):
        for y in range(size):
            lines += [f'Hca 1 "h{x}-{y}"', f'[1] "{name(x, y)}"[1]', ""]
    path.write_text("\n".join(lines) + "\n")
    return path


class BadCase(labtest.Folders):
    def observe(self, netlist, **kwargs):
        """Brings a fabric up; returns the log, the engines and a Dump."""
        with pmlab.Lab(netlist, **kwargs) as lab:
            lab.osm.settle(timeout=pmlab.TIMEOUT_S)
            lab.wire = lab.osm.counters()["lft_sets"]
            return lab.osm.log(), lab.osm.engines_used(), pmlab.Dump(lab.dump()), lab.wire

    def observe_plain(self, netlist, engine):
        """The same with one of OpenSM's engines and no plugin at all."""
        with pmlab.Fabric(netlist) as fabric, simlab.OpenSM(fabric, engine=engine) as osm:
            osm.settle(timeout=pmlab.TIMEOUT_S)
            path = self.folder / "plain.dump"
            fabric.dump(path)
            return osm.engines_used(), pmlab.Dump(path), osm.counters()["lft_sets"]

    @staticmethod
    def our_lines(log):
        return [line for line in log.splitlines() if "portmajor: " in line]


class Scarce(BadCase):
    """Fabrics of nearly 49,151 LIDs, and switches of 254 ports."""

    def plan(self, *generate, status=0, options=()):
        net = pmlab.generate(self.folder / "scarce.net", *generate)
        done = pmlab.run_cli("plan", *options, net)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_limit(self):
        """Planes share blocks if there are no spare LIDs, down to the last LID."""
        for options, generate, top in (
                ((), ("two-level", 254, 62, 192, 1), 49084),
                ((), ("xgft", 2, "192,254", "1,62"), 49084),
                (("-m", 1), ("two-level", 108, 10, 227, 1), 49150),
                (("-m", 1), ("two-level", 108, 11, 227, 1), 49151)):
            done = self.plan(*generate, options=options)
            self.assertIn(f"lid_order grouped, LIDs up to {top}, 768 LFT blocks a switch"
                          if top > 49100 else f"lid_order grouped, LIDs up to {top}, 767 LFT",
                          done.stdout)
            self.assertIn("spare 0\n", done.stdout)

    def test_refused(self):
        """One place too many: the message has the numbers, and the order or LMC that fits."""
        for options, generate, text in (
                (("-m", 1), ("two-level", 108, 12, 227, 1),
                 "24636 places need 49152 LIDs with LMC 1, there are 49151: no room with "
                 "lid_order grouped; they fit with LMC 0\n"),
                (("-m", 1, "-o", "port-major"), ("two-level", 108, 11, 227, 1),
                 "24635 places need 49151 LIDs with LMC 1, there are 49151: no room with "
                 "lid_order port-major; they fit with lid_order grouped\n")):
            done = self.plan(*generate, status=3, options=options)
            self.assertEqual((done.stdout, done.stderr), ("", f"portmajor: {text}"))
        done = pmlab.run_cli("generate", "two-level", 210, 12, 233, 1)
        self.assertEqual(done.returncode, 2)
        self.assertIn("49152 nodes need more than the 49151 LIDs there are", done.stderr)

    def test_failure(self):
        """Planes that share blocks cost hardly more than planes that do not."""
        net = pmlab.generate(self.folder / "whole.net", "two-level", 254, 62, 192, 1)
        done = pmlab.run_cli("whatif", "--json", "--fail", "spine3", net)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["pairs_cut"], 0)
        self.assertLess(found["total"]["blocks"], 1.1 * found["total"]["least"])

    def test_wide(self):
        """Leaves, or spines, of 254 ports: with the commands and with OpenSM."""
        for generate in (("two-level", 3, 2, 252, 1), ("two-level", 254, 2, 2, 1)):
            net = pmlab.generate(self.folder / "wide.net", *generate)
            lfts = self.folder / "wide.lfts"
            for args in (("plan", "-q", "--lfts", lfts, net), ("check", net, lfts),
                         ("whatif", "--fail", "spine1", net)):
                done = pmlab.run_cli(*args)
                self.assertEqual((done.returncode, done.stderr), (0, ""), args)
            engines, dump = self.observe(net)[1:3]
            self.assertEqual(set(engines), {"portmajor"})
            self.assertEqual(len(dump.lids), len(dump.guids))
        # InfiniBand has no more ports, as 255 stands for none.
        (self.folder / "255.net").write_text('Switch 255 "s"\n[255] "h"[1]\n\nHca 1 "h"\n'
                                             '[1] "s"[255]\n', "ascii")
        done = pmlab.run_cli("plan", self.folder / "255.net")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn('node "s" has 255 ports, allowed are 1 to 254', done.stderr)
        self.assertEqual(pmlab.run_cli("generate", "two-level", 255, 1, 1, 1).returncode, 2)


class NotFatTrees(BadCase):
    def decline(self, netlist, engine, switches, served=None):
        """The next engine's tables are in force, as without portmajor.

        `served` is the engine that serves in the end (default: the next one).
        """
        log, engines, dump, wire = self.observe(netlist, engine=f"portmajor {engine}")
        self.assertEqual(set(engines), {served or engine})
        lines = [line for line in self.our_lines(log) if "cannot route" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], rf'"{switches}" and "{switches}"')
        self.assertEqual(pmlab.Run.find(log), [])
        plain_engines, plain, plain_wire = self.observe_plain(netlist, engine)
        self.assertEqual(plain_engines, engines)
        self.assertEqual(plain.lids, dump.lids)
        self.assertEqual(list(pmlab.changed_entries(plain, dump))[:5], [])
        self.assertEqual(wire, plain_wire)

    def test_ring(self):
        self.decline(pmlab.TOPOLOGIES / "ring-12.net", "minhop", r"r\d")

    def test_torus(self):
        self.decline(torus(self.folder / "torus.net"), "minhop", r"t\d-\d")

    def test_torus_with_updn_next(self):
        self.decline(torus(self.folder / "torus.net"), "updn", r"t\d-\d",
                     served="minhop")  # updn finds no root in a torus and fails as well


class Configurations(BadCase):
    # Name, text, line, a further part of the message.
    BAD = (
        ("unknown key", "# first\nlid_order grouped\ncolour blue\n", 3, "colour"),
        ("bad value", "\n\nlid_order sideways\n", 3, "lid_order"),
        ("good, then bad", "lid_order port-major\nmigrate maybe\n", 2, "migrate"),
        ("no value", "lid_order\n", 1, "lid_order"),
        ("key twice", "lid_order grouped\nlid_order grouped\n", 2, "lid_order"),
        ("two values", "lid_order grouped leaf-major\n", 1, "lid_order"),
        ("case", "LID_ORDER grouped\n", 1, "LID_ORDER"),
        ("equals sign", "lid_order=grouped\n", 1, "lid_order=grouped"),
    )
    NET = pmlab.TOPOLOGIES / "xgft-64.net"

    def refused(self, config, pattern):
        """The log has the reason, once, and the next engine routes, as the file may have been meant
        to prevent portmajor."""
        log, engines, _, _ = self.observe(self.NET, conf={"event_plugin_options": str(config)})
        lines = [line for line in self.our_lines(log) if "configuration not used" in line]
        self.assertEqual(len(lines), 1, self.our_lines(log))
        self.assertRegex(lines[0], pattern)
        self.assertIn("so portmajor declines to route until a HUP finds a good one", lines[0])
        self.assertEqual(set(engines), {"minhop"})

    def write(self, data):
        path = self.folder / "portmajor.conf"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def test_bad_files(self):
        for name, text, line, word in self.BAD:
            with self.subTest(name):
                path = self.write(text)
                self.refused(path, rf"{re.escape(str(path))}:{line}: .*{re.escape(word)}")

    def test_not_text(self):
        path = self.write(b"lid_order grouped\n\0\xff\xfe")
        self.refused(path, rf"{re.escape(str(path))}: .*text")

    def test_missing_file(self):
        path = self.folder / "is-not-there.conf"
        self.refused(path, rf"{re.escape(str(path))}: No such file")

    def test_folder(self):
        path = self.folder / "sub"
        path.mkdir()
        self.refused(path, rf"{re.escape(str(path))}: not a regular file")

    def test_of_others(self):
        path = self.write("lid_order grouped\n")
        path.chmod(0o666)
        self.refused(path, rf"{re.escape(str(path))}: others may write it")

    def test_good_files(self):
        for text in ("", "\n# only a comment\n", "  lid_order\tgrouped   # as ever\r\n",
                     "lid_order grouped"):
            with self.subTest(text):
                path = self.write(text)
                log, engines, _, _ = self.observe(self.NET,
                                                  conf={"event_plugin_options": str(path)})
                self.assertEqual(set(engines), {"portmajor"})
                self.assertIn("lid_order grouped", log)


class Lmc(BadCase):
    NET = pmlab.TOPOLOGIES / "xgft-64.net"

    def test_lmc_beyond_what_is_supported(self):
        log, engines, dump, _ = self.observe(self.NET, engine="portmajor updn", args=["-l", "4"])
        self.assertEqual(set(engines), {"updn"})
        lines = [line for line in self.our_lines(log) if "cannot route" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], "LMC")
        self.assertEqual(len(dump.lids), 64 + 48)

    def test_lmc(self):
        for lmc in (1, 2, 3):
            with self.subTest(lmc=lmc), pmlab.Lab(self.NET, args=["-l", str(lmc)]) as lab:
                start = lab.bring_up()
                self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
                self.assertEqual(start.miscounted, [])
                self.assertEqual(pmlab.walk_faults(lab.walk("-m", str(lmc))), [])
                event = lab.lose("sw2-0")
                self.assertEqual(event.miscounted, [])
                self.assertEqual(pmlab.walk_faults(lab.walk("-m", str(lmc))), [])


if __name__ == "__main__":
    unittest.main()
