#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Flapping links are kept out of the tables for a while, unless there is no other path."""

import os
import subprocess
import unittest

import labtest
import odd_netlists
import pmlab
import simlab

CABLE = "leaf5:20"
KEPT_OUT = r"flapping: 1 link kept out, 0 in use as last paths: leaf5\[20\] \(on-hold, 4 times down"
NONE = r"flapping: 0 links kept out, 0 in use as last paths"


class Flaps(labtest.Folders):
    """A fabric for each test, as flaps are remembered."""

    LIMIT = 3

    def netlist(self):
        return simlab.Netlist(odd_netlists.small_director().write(self.folder / "fabric.net"))

    def lab(self, hold_s, fabric=None, **conf):
        config = self.folder / "flaps.conf"
        config.write_text(f"flap_limit {self.LIMIT}\nflap_window 600\nflap_hold {hold_s}\n"
                          "flap_hold_max 3600\n")
        return pmlab.Lab(fabric.netlist if fabric else self.netlist(), fabric=fabric,
                         conf={"event_plugin_options": config, **conf})

    def flap(self, lab):
        """Down and up once more than the limit; the costs of each."""
        return [(lab.event("lose", CABLE), lab.event("back", CABLE))
                for _ in range(self.LIMIT + 1)]

    def entries(self, lab, switch, port):
        """The number of a switch's entries for hosts that name a port."""
        dump = pmlab.Dump(lab.dump())
        hosts = {dump.lids[host] for host in dump.hosts}
        return sum(to == port and lid in hosts for lid, to in dump.table(switch).items())

    def check_right(self, lab):
        self.assertEqual(pmlab.walk_faults(lab.walk(), plan=False), [])

    def test_kept_out_and_taken_back(self):
        with self.lab(hold_s=6) as lab:
            lab.bring_up()
            used = self.entries(lab, "leaf5", 20)
            self.assertGreater(used, 0)
            costs = self.flap(lab)
            self.assertEqual([back.wire > 0 for _, back in costs], [True] * self.LIMIT + [False])
            match = lab.osm.wait_log(KEPT_OUT)
            self.assertEqual(self.entries(lab, "leaf5", 20), 0)
            self.check_right(lab)
            # The hold ends by itself, without a sweep or a trap.
            lab.osm.wait_log(NONE, since=len(lab.osm.log()[:match.end()].encode()), timeout=60)
            lab.osm.settle(lab.osm.mark(), sweep=False)
            self.assertEqual(self.entries(lab, "leaf5", 20), used)
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])

    def test_between_two_sweeps(self):
        """The next sweep, which saw none of it, keeps the link out, too."""
        with self.lab(hold_s=3600) as lab:
            lab.bring_up()
            mark = lab.osm.mark()
            for number in range(1, self.LIMIT + 2):
                for verb, served in (("lose", r"repair \d+: .* links down 1,"),
                                     ("back", rf"return {number}: 0 hosts, 1 cable")):
                    offset = lab.osm.log_offset()
                    getattr(lab.fabric, verb)(CABLE)
                    lab.osm.wait_log(f"portmajor {served}", offset)
            self.assertEqual(lab.osm.delta(mark)["discoveries"], 0)
            lab.osm.settle(mark)
            lab.osm.wait_log(KEPT_OUT, mark.log_offset)
            self.assertEqual(self.entries(lab, "leaf5", 20), 0)
            self.assertRegex(self.release(lab, status=1), r"^on-hold  leaf5\[20\]-s1-line0\[6\], "
                             r"4 times down")
            self.check_right(lab)

    def release(self, lab, *args, status=0):
        done = subprocess.run(
            [str(pmlab.CLI), "release", *args], capture_output=True, text=True, check=False,
            env=dict(os.environ, OSM_CACHE_DIR=str(lab.osm.cache_dir)), timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status < 2 else done.stderr

    def check_events(self, lab, links):
        """Each link is put on hold once, and none is released."""
        path = pmlab.kept(lab.osm.cache_dir, "events")

        def kinds():
            return [line.split()[2] for line in path.read_text(encoding="utf-8").splitlines()]
        simlab.poll_until(lambda: kinds().count("held") >= links, 10, "the events")
        self.assertEqual((kinds().count("held"), kinds().count("released")), (links, 0))

    def test_released(self):
        """By `portmajor release`, between sweeps; a link by any form of its name."""
        def release(*args, status=0):
            return self.release(lab, *args, status=status)

        cables = {"leaf5:20": "leaf5:20", "leaf6:21": "leaf6[21]", "leaf7:22": "leaf7*",
                  "leaf8:23": "s4-line0[9]", "leaf9:24": "leaf9[24]-s5-line0[10]",
                  "leaf10:25": None, "leaf11:26": "--all"}
        with self.lab(hold_s=3600) as lab:
            lab.bring_up()
            cables["leaf10:25"] = f"{pmlab.Dump(lab.dump()).guids['leaf10']:#018x}:25"
            self.assertEqual(release(), "none\n")
            for _ in range(self.LIMIT + 1):
                for verb in ("lose", "back"):
                    for cable in cables:
                        lab.event(verb, cable)
            lab.osm.wait_log("flapping: 7 links kept out")
            self.check_events(lab, len(cables))
            self.assertRegex(release(status=1), r"^on-hold  leaf5\[20\]-s1-line0\[6\], 4 times down, "
                             r"\d+ s left\non-hold  leaf6\[21\]-")
            self.assertIn('"leaf5:21" is no link on hold', release("leaf5:21", status=2))
            for left, (cable, name) in zip(range(6, -1, -1), cables.items()):
                with self.subTest(cable):
                    mark = lab.osm.mark()
                    shown = release("--wait", "60", name)
                    self.assertEqual(shown.count("\n"), left)
                    lab.osm.wait_log(f"flapping: {left} links? kept out", mark.log_offset)
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])

    def test_released_by_a_name_of_two(self):
        """The log distinguishes the switches; both are meant by the name alone."""
        names = self.folder / "names"
        fabric = self.enterContext(pmlab.Fabric(self.netlist()))
        fabric.dump(self.folder / "dump")
        guids = pmlab.Dump(self.folder / "dump").guids
        names.write_text("".join(f'{guids[leaf]:#x} "model"\n' for leaf in ("leaf5", "leaf6")))
        with self.lab(hold_s=3600, fabric=fabric, node_name_map_name=names) as lab:
            lab.bring_up()
            for _ in range(self.LIMIT + 1):
                for verb in ("lose", "back"):
                    lab.event(verb, CABLE)
                    lab.event(verb, "leaf6:20")
            lab.osm.wait_log(r"flapping: 2 links kept out, .*: model \(0x\w+\)\[20\] .*"
                             r"model \(0x\w+\)\[20\] ")
            mark = lab.osm.mark()
            self.release(lab, "model[20]")
            lab.osm.wait_log("2 holds of flapping links ended by a release", mark.log_offset)
            lab.osm.wait_log(NONE, mark.log_offset)

    def test_last_path(self):
        """When all other cables of the leaf fail, the held one is used again."""
        with self.lab(hold_s=3600) as lab:
            lab.bring_up()
            self.flap(lab)
            lab.osm.wait_log(KEPT_OUT)
            others = [f"leaf5:{port}" for port in range(19, 27) if port != 20]
            lab.measure("all others", lambda: sum(lab.fabric.lose(t) for t in others))
            lab.osm.wait_traps_aged()
            lab.measure("SIGHUP", lab.osm.hup)
            lab.osm.wait_log("0 links kept out, 1 in use as last paths")
            self.check_right(lab)
            self.assertEqual(self.entries(lab, "leaf5", 20), 60)  # all hosts but its own
            lab.osm.wait_traps_aged()
            lab.measure("back", lambda: sum(lab.fabric.back(t) for t in others))
            lab.osm.wait_traps_aged()
            lab.measure("SIGHUP", lab.osm.hup)
            self.assertEqual(self.entries(lab, "leaf5", 20), 0)
            self.check_right(lab)

    def test_whole_switch(self):
        """A switch with all cables on hold can still send its traps."""
        with self.lab(hold_s=3600) as lab:
            lab.bring_up()
            for _ in range(self.LIMIT + 1):
                lab.event("lose", "s3-line1")
                lab.osm.wait_traps_aged()
                lab.event("back", "s3-line1")
                lab.osm.wait_traps_aged()
            lab.measure("SIGHUP", lab.osm.hup)
            lab.osm.wait_log(r"flapping: [1-9]\d* links? kept out")
            self.assertEqual(self.entries(lab, "leaf20", 22), 0)
            self.assertEqual(lab.walk("--from-all")["sm"], 0)

    def test_switched_off(self):
        netlist = odd_netlists.small_director().write(self.folder / "fabric.net")
        config = self.folder / "off.conf"
        config.write_text("flap_limit 0\n")
        with pmlab.Lab(netlist, conf={"event_plugin_options": config}) as lab:
            lab.bring_up()
            self.flap(lab)
            self.assertNotIn("flapping", lab.osm.log())
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])


if __name__ == "__main__":
    unittest.main()
