#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/compatibility names what is missing and leaves no files behind; so does CMake.

Suites are not made here: that takes minutes and a mirror.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import compatibility
import labtest
import pmlab

SCRIPT = pmlab.ROOT / "scripts" / "compatibility"
NOBODY = 65534
IS_ROOT = os.geteuid() == 0


def write_program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
    path.chmod(0o755)


class Errors(labtest.Folders):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.cache = self.work / "cache"
        self.bin = self.work / "bin"
        self.bin.mkdir()

    def fails(self, *args, path=None, **kwargs):
        """Runs the script, which must fail; returns its messages."""
        done = subprocess.run([str(SCRIPT), "--cache", str(self.cache), *map(str, args)],
                              capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "PATH": path or f"{self.bin}:{os.environ['PATH']}"},
                              timeout=60, **kwargs)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout + done.stderr

    def make_source(self, *files):
        folder = self.work / "opensm-x"
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("AC_INIT(opensm, 3.3.23, x)\n", encoding="ascii")
        return folder

    def test_unknown_suite(self):
        self.assertIn("compatibility: no suite woody: there are bullseye, bookworm,",
                      self.fails("sid", "woody"))
        self.assertFalse(self.cache.exists())

    def test_no_source_folder(self):
        for folder in (self.work, self.work / "missing"):
            self.assertIn(f"compatibility: {folder} is no folder of OpenSM's source\n",
                          self.fails("--source", folder))

    def test_source_that_was_not_built(self):
        folder = self.make_source("configure.ac", "include/opensm/osm_config.h")
        self.assertIn(f"{folder} has no include/opensm/osm_version.h: build OpenSM there first",
                      self.fails("--source", folder))

    def test_no_debootstrap(self):
        for name in ("sh", "dirname", "python3"):
            (self.bin / name).symlink_to(shutil.which(name))
        self.assertIn("compatibility: no debootstrap here: install it first",
                      self.fails("sid", path=str(self.bin)))

    def test_no_root(self):
        write_program(self.bin / "debootstrap", "exit 1")
        user = {"user": NOBODY} if IS_ROOT else {}
        for folder in (self.folder, self.work):
            folder.chmod(0o755)
        if subprocess.run(["test", "-x", str(SCRIPT)], check=False, **user).returncode:
            self.skipTest("only root reads this checkout")
        self.assertIn("compatibility: suites need root:", self.fails("sid", **user))

    def test_two_at_a_time(self):
        folder = self.make_source("configure.ac", "include/opensm/osm_config.h",
                                  "include/opensm/osm_version.h", "opensm/.libs/opensm")
        self.cache.mkdir()
        with open(self.cache / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("is in use by another run", self.fails("--source", folder))

    @unittest.skipUnless(IS_ROOT, "mounts need root")
    def test_debootstrap_that_fails(self):
        """The folders and mounts that it made are gone; no document is written."""
        write_program(self.bin / "debootstrap", 'mkdir -p "$4/proc" && mount -t tmpfs x "$4/proc" '
                      '&& mkdir "$4/proc/1" && echo "E: no such mirror" && exit 1')
        before = compatibility.DOCUMENT.read_bytes()
        self.assertIn("| E: no such mirror (", self.fails("sid", "--update"))
        self.assertEqual(sorted(p.name for p in self.cache.iterdir()), ["lock", "sid.log"])
        self.assertEqual(compatibility.DOCUMENT.read_bytes(), before)

    def test_old_opensm(self):
        """CMake names headers that have no routing engines of plugins."""
        headers = self.work / "opensm"
        headers.mkdir()
        for name in ("osm_event_plugin.h", "osm_opensm.h"):
            (headers / name).write_text("struct osm_opensm;\n", encoding="ascii")
        done = subprocess.run(["cmake", "-S", str(pmlab.ROOT), "-B", str(self.work / "build"),
                               f"-DOPENSM_INCLUDE={self.work}"], capture_output=True, text=True,
                              check=False, timeout=300)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{self.work} is of an OpenSM older than 3.3.23",
                      " ".join(done.stderr.split()))


class Document(unittest.TestCase):
    def test_it_is_what_the_script_writes(self):
        """Every suite is in it, and all results were good."""
        text = compatibility.DOCUMENT.read_text(encoding="utf-8")
        self.assertTrue(text.startswith(compatibility.HEAD.partition("{")[0]))
        self.assertTrue(text.endswith(compatibility.TAIL))
        for suite in compatibility.SUITES:
            self.assertRegex(text, rf"\n\| Debian {suite} \|.*\| ok \|\n")


if __name__ == "__main__":
    unittest.main()
