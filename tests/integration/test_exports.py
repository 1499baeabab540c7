#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the plugin exports, what it needs from OpenSM, and what is installed."""

import re
import shutil
import subprocess
import unittest

import labtest
import pmlab

PLUGIN = pmlab.BUILD / "libportmajor.so"
OPENSM = shutil.which("opensm", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


def symbols(path, *options):
    """Names of dynamic symbols, without their versions."""
    out = subprocess.run(["nm", "-D", *options, str(path)], capture_output=True, text=True,
                         check=True).stdout
    return {line.split()[-1].partition("@")[0] for line in out.splitlines() if line.strip()}


def strong_undefined(path):
    out = subprocess.run(["nm", "-D", "--undefined-only", str(path)], capture_output=True,
                         text=True, check=True).stdout
    return {line.split()[1].partition("@")[0] for line in out.splitlines()
            if line.split()[0] == "U"}


def libraries(path):
    """The shared libraries of a binary, with their paths."""
    out = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", out)


class Exports(unittest.TestCase):
    def test_only_the_plugin_structure_is_exported(self):
        self.assertEqual(symbols(PLUGIN, "--defined-only"), {"osm_event_plugin"})

    def test_all_it_needs_is_in_opensm_or_its_libraries(self):
        self.assertIsNotNone(OPENSM, "opensm is not installed")
        there = symbols(OPENSM, "--defined-only")
        for library in libraries(OPENSM) + libraries(PLUGIN):
            there |= symbols(library, "--defined-only")
        self.assertEqual(strong_undefined(PLUGIN) - there, set())

    def test_nothing_of_opensm_is_linked(self):
        """The plugin carries no copy of OpenSM and links none of its libraries."""
        needed = subprocess.run(["readelf", "-d", str(PLUGIN)], capture_output=True, text=True,
                                check=True).stdout
        self.assertNotRegex(needed, r"NEEDED.*(opensm|osmcomp|osmvendor|ibumad|ibmad)")
        self.assertIn("osm_register_external_routing_engine", strong_undefined(PLUGIN))


class Installed(labtest.Folders):
    def test_command_plugin_and_pages(self):
        """Under a prefix, nothing else is needed to run them."""
        subprocess.run(["cmake", "--install", str(pmlab.BUILD), "--prefix", str(self.folder)],
                       capture_output=True, check=True)
        there = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")
                 if path.is_file()}
        plugin = [name for name in there if name.endswith("/libportmajor.so")]
        self.assertEqual(len(plugin), 1, there)
        self.assertEqual(symbols(self.folder / plugin[0], "--defined-only"),
                         {"osm_event_plugin"})
        self.assertIn("share/bash-completion/completions/portmajor", there)
        self.assertIn("share/doc/portmajor/guide.md", there)
        if (pmlab.BUILD / "man").is_dir():
            self.assertLessEqual({"share/man/man8/portmajor.8", "share/man/man5/portmajor.conf.5",
                                  "share/man/man8/portmajor-whatif.8"}, there)
        version = subprocess.run([self.folder / "bin" / "portmajor", "-V"], capture_output=True,
                                 text=True, check=True).stdout
        self.assertTrue(version.startswith("portmajor "))


if __name__ == "__main__":
    unittest.main()
