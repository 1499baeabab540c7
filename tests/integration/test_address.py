#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""AddressSanitizer checks the plugin's reads of OpenSM's memory, which OpenSM may free at any time.

Only the plugin is built with it, but all of OpenSM's memory comes from its allocator: memory that
OpenSM has freed is not reused for long, and a read of it by the plugin ends the process.
"""

import os
import pathlib

import clients
import labtest
import mgroups
import pmlab
import simlab

PLUGIN = pmlab.BUILD / "address" / "libportmajor.so"

TOO_MUCH_FOR_FTREE = "leaf5:20"


class Address(labtest.Folders):
    """Engines in chains, each with a plan on disk, while all kinds of parts leave and return."""

    GENERATE = ("director", 36)
    AWAY = ("h3-2", "h8-3")  # at the start of each
    MEMBERS = ("h0-2", "h9-1", "h12-7", "h20-4", "h35-18")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = simlab.Netlist(pmlab.generate(cls.folder / "fabric.net", *cls.GENERATE))
        cls.config = cls.folder / "portmajor.conf"

    def setUp(self):
        self.fabric = self.enterContext(pmlab.Fabric(self.netlist))
        self.addCleanup(self.check_reports)
        self.config.write_text("flap_limit 0\n")
        with self.open_sm("portmajor") as osm:
            osm.settle()

    def open_sm(self, engine):
        """The cache folder, and the plan in it, stay."""
        options = f"{pmlab.ASAN_OPTIONS}:log_path={self.folder}/{self.id()}"
        return simlab.OpenSM(self.fabric, engine=engine, conf=pmlab.plugin_options(self.config),
                             plugin_dir=PLUGIN.parent, preload=[os.environ["PORTMAJOR_ASAN"]],
                             env={"ASAN_OPTIONS": options}, cache_dir=self.folder)

    def check_reports(self):
        found = [path.read_text() for path in self.folder.glob(f"{self.id()}.*")]
        self.assertEqual(len(found), 0, "\n".join(found)[:5000])

    def change(self, osm, lost=(), back=(), replaced=None):
        """Changes all of them at a time, so that mostly one sweep sees it; returns the engines that
        routed."""
        mark = osm.mark()
        for target in lost:
            self.fabric.lose(target)
        for target in back:
            self.fabric.back(target)
        if replaced:
            name, guid = replaced
            self.fabric.console(f'Clear "{name}"', f'Guid "{name}" {guid:#x}',
                                f'Guid "{name}"[1] {guid + 1:#x}', f'ReLink "{name}"')
        osm.hup()
        osm.settle(mark)
        return osm.engines_used(mark.log_offset)

    def join(self, osm):
        """A host joins a group, whose trees are those of the engine that routes."""
        path = self.folder / "fabric.dump"
        self.fabric.dump(path)
        manager_lid = pmlab.Dump(path).lids[osm.host]
        for host in self.MEMBERS:
            status, mlid = clients.join(self.fabric, host, manager_lid, mgroups.FIRST_GID)
            self.assertEqual(status, 0, host)
        osm.settle(osm.mark(), sweep=False)
        self.check_group(mlid)
        return mlid

    def check_group(self, mlid):
        tables = clients.Multicast(self.fabric, "h9-2")
        self.assertEqual(tables.faults(mlid, self.MEMBERS)[:3], [])

    def check_chain(self, engine, with_all, with_less):
        """The engines that route while all cables are up, and while ftree finds too few."""
        for host in self.AWAY:
            self.fabric.lose(host)
        with self.open_sm(engine) as osm:
            osm.settle()
            maps = pathlib.Path(f"/proc/{osm.process.pid}/maps").read_text()
            self.assertIn(str(PLUGIN), maps)
            self.assertIn("libasan", maps)
            self.assertEqual(set(osm.engines_used()), {with_all})
            mlid = self.join(osm)
            for changed in (
                    # As many nodes as before, but one of them is another one.
                    {"lost": ["h7-3", TOO_MUCH_FOR_FTREE], "back": ["h3-2"]},
                    {"lost": ["leaf4"]},
                    {"lost": ["h1-1"], "back": ["h7-3", "leaf4"]},
                    {"lost": ["h2-1"], "replaced": ("h8-4", 0xabcdef0011)}):
                self.assertEqual(self.change(osm, **changed)[-1], with_less, changed)
                self.check_group(mlid)
            self.assertEqual(self.change(osm, back=[TOO_MUCH_FOR_FTREE, "h1-1"])[-1], with_all)
            self.check_group(mlid)
            self.change(osm, ["s0-line1"], ["h8-3"])
            self.change(osm, ["h3-1", "s0-*"], ["h2-1"])
            self.change(osm, ["h8-3"], ["s0-*", "s0-line1"])
            self.assertEqual(self.change(osm, ["h3-2", TOO_MUCH_FOR_FTREE], ["h3-1"])[-1],
                             with_less)

    def test_behind_ftree(self):
        self.check_chain("ftree,portmajor", "ftree", "portmajor")

    def test_before_ftree(self):
        self.check_chain("portmajor,ftree", "portmajor", "portmajor")

    def test_shadow(self):
        self.config.write_text("flap_limit 0\nshadow yes\n")
        self.check_chain("portmajor,ftree,updn", "ftree", "updn")


if __name__ == "__main__":
    labtest.main()
