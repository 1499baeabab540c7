#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Manual pages are sound and complete; bash completion knows what the command knows."""

import os
import re
import shutil
import subprocess
import unittest
import unittest.mock

import labtest
import pmlab

MAN = pmlab.BUILD / "man"
COMPLETION = pmlab.ROOT / "scripts" / "completion" / "portmajor"


def pages():
    """The manual pages, one for each subcommand among them."""
    return sorted(path.stem for path in (pmlab.ROOT / "docs" / "man").glob("*.rst"))


def commands():
    """The subcommands that `portmajor -h` names."""
    return re.findall(r"^  ([a-z][a-z-]*) ", pmlab.run_cli("-h").stdout, re.M)


def options(text):
    """Options in help or a manual page: -x and --long."""
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text))


@unittest.skipUnless(MAN.is_dir() and shutil.which("man"), "no rst2man or no man here")
class Pages(unittest.TestCase):
    def read(self, page):
        """The page as a terminal shows it."""
        shown = subprocess.run(
            ["man", "--warnings=w", "-E", "UTF-8", "-l", str(MAN / page)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MAN_KEEP_STDERR": "1",
                 "MANROFFOPT": "", "GROFF_NO_SGR": "1"})
        self.assertEqual((shown.returncode, shown.stderr), (0, ""), page)
        return re.sub(".\b", "", shown.stdout).replace("‐\n", "-\n").replace("‐", "-")

    def test_no_warnings(self):
        self.assertLessEqual({"libportmajor.8", "portmajor.8", "portmajor.conf.5"}, set(pages()))
        for page in pages():
            with self.subTest(page):
                text = self.read(page)
                name, _, section = page.rpartition(".")
                self.assertIn(f"{name}({section})".upper(), text.upper())
                for heading in ("NAME", "DESCRIPTION", "SEE ALSO"):
                    self.assertRegex(text, rf"(?m)^{heading}$")

    def test_commands_and_options_are_described(self):
        """Every option that the command's help names stands in its manual page, and no
        other one."""
        listed = self.read("portmajor.8")
        for command in commands():
            self.assertIn(f"portmajor-{command}(8)", listed)
            text = self.read(f"portmajor-{command}.8")
            usage = pmlab.run_cli(command, "-h")
            described = {option for line in re.findall(r"(?m)^       (-.*?)(?:   |$)", text)
                         for option in options(line)}
            self.assertEqual(described - options(usage.stdout),
                             {"-V", "--version"} | ({"--help"} - options(usage.stdout)), command)
            self.assertEqual(usage.returncode, 0)
            missing = options(usage.stdout) - options(text)
            self.assertEqual(missing, set(), command)

    def test_keys_are_described(self):
        """portmajor.conf(5) has the keys that config.c has, and no others."""
        source = (pmlab.ROOT / "src" / "format" / "config.c").read_text(encoding="ascii")
        keys = set(re.findall(r'\{"(\w+)", set_', source))
        text = self.read("portmajor.conf.5")
        section = text[text.index("KEYS"):text.index("EXAMPLE")]
        self.assertEqual(set(re.findall(r"(?m)^       ([a-z]+_?[a-z_]+) (?! )", section)) & keys,
                         keys)


class Completion(labtest.Folders):
    def complete(self, *words):
        """What bash offers for the last word."""
        script = (f'. "{COMPLETION}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '_portmajor; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", str(pmlab.CLI), *words],
                              capture_output=True, text=True, check=True, cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands(self):
        self.assertEqual(set(self.complete("")) - {"-h", "-V"}, set(commands()))
        self.assertEqual(self.complete("wha"), ["whatif"])

    def test_options_are_those_of_the_help(self):
        for command in commands():
            usage = pmlab.run_cli(command, "-h").stdout
            listed = set(re.findall(r"(?m)^ +(--?[\w-]+)", usage))
            self.assertTrue(listed)
            self.assertLessEqual(listed, set(self.complete(command, "-")) | {"-h"}, command)
        self.assertEqual(self.complete("whatif", "--los"), ["--lose"])

    def test_values(self):
        self.assertEqual(self.complete("plan", "-o", "g"), ["grouped"])
        self.assertEqual(self.complete("generate", "tw"), ["two-level"])

    def test_names_of_nodes(self):
        pmlab.generate(self.folder / "f.net", "two-level", 4, 2, 2, 1)
        self.assertEqual(self.complete("whatif", "f.net", "--lose", "spi"),
                         ["spine0", "spine1"])

    def test_what_is_drained(self):
        (self.folder / "portmajor.drained").write_text(
            "portmajor-drained 1\n0x1 20 leaf5\n0x2 - spine1\n", encoding="ascii")
        with unittest.mock.patch.dict(os.environ, OSM_CACHE_DIR=str(self.folder)):
            self.assertEqual(self.complete("undrain", ""), ["leaf5:20", "spine1"])
            self.assertEqual(self.complete("undrain", "sp"), ["spine1"])

    def test_files(self):
        (self.folder / "fabric one.net").write_text("", encoding="ascii")
        (self.folder / "xyz.net").write_text("", encoding="ascii")
        self.assertEqual(self.complete("plan", "xy"), ["xyz.net"])


if __name__ == "__main__":
    unittest.main()
