#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The symbols that the plugin exports, and those that it needs from OpenSM."""

import re
import shutil
import subprocess
import unittest

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


if __name__ == "__main__":
    unittest.main()
