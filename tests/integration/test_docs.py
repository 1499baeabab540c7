#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Manual pages are sound and complete; bash completion knows what the commands know."""

import os
import re
import shutil
import subprocess
import unittest
import unittest.mock

import control
import labtest
import pmlab

MAN = pmlab.BUILD / "man"
COMPLETION = pmlab.ROOT / "scripts" / "completion" / "portmajor"


def pages():
    """The manual pages, one for each subcommand among them."""
    return sorted(path.stem for path in (pmlab.ROOT / "docs" / "man").glob("*.rst"))


# Each with the section of its manual pages.
PROGRAMS = {pmlab.CLI: 1, pmlab.LAB: 1, pmlab.VLAN: 8}
# Commands for a device have neither --json nor -q, nor a page of their own.
DEVICE = {"load", "replace", "update", "show", "status", "remove"}


def commands(program):
    """The subcommands that its -h names."""
    return re.findall(r"^  ([a-z][a-z-]*) ", pmlab.run_program(program, "-h").stdout, re.M)


def all_commands():
    return [(program, command) for program in PROGRAMS for command in commands(program)]


def options(text):
    """Options in a line of a manual page: -x and --long."""
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text))


def rows(program, command):
    """A command's options, and the argument of each: a name, values, or none."""
    listed = pmlab.run_program(program, command, "--list-options")
    assert (listed.returncode, listed.stderr) == (0, ""), listed.stderr
    return dict((line.split() + [""])[:2] for line in listed.stdout.splitlines())


@unittest.skipUnless(MAN.is_dir() and shutil.which("man"), "no rst2man or no man here")
class Pages(unittest.TestCase):
    def read(self, page):
        """The page as a terminal shows it."""
        shown = subprocess.run(
            ["man", "--warnings=w", "-E", "UTF-8", "--no-hyphenation", "--no-justification", "-l",
             str(MAN / page)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MAN_KEEP_STDERR": "1",
                 "MANROFFOPT": "", "GROFF_NO_SGR": "1"})
        self.assertEqual((shown.returncode, shown.stderr), (0, ""), page)
        return re.sub(".\b", "", shown.stdout).replace("‐\n", "-\n").replace("‐", "-")

    def test_no_warnings(self):
        self.assertLessEqual({"libportmajor.8", "portmajor.1", "portmajor-lab.1",
                              "portmajor-vlan.8", "portmajor.conf.5"}, set(pages()))
        for page in pages():
            with self.subTest(page):
                text = self.read(page)
                name, _, section = page.rpartition(".")
                self.assertIn(f"{name}({section})".upper(), text.upper())
                for heading in ("NAME", "DESCRIPTION", "SEE ALSO"):
                    self.assertRegex(text, rf"(?m)^{heading}$")

    def test_commands_and_options_are_described(self):
        """The manual page of a command has its options with their arguments, and no other
        ones; so does its help."""
        for program, command in all_commands():
            wanted = rows(program, command)
            self.assertLessEqual({"-h", "--help", "-V", "--version"}, set(wanted))
            section = PROGRAMS[program]
            listed = self.read(f"{program.name}.{section}")
            texts = [(pmlab.run_program(program, command, "-h").stdout, "2,6")]
            if program == pmlab.VLAN and command in DEVICE:
                self.assertIn(f"portmajor-vlan {command} ", listed)
            else:
                self.assertIn(f"{program.name}-{command}({section})", listed)
                self.assertLessEqual({"-q", "--quiet", "--json"}, set(wanted))
                texts.append((self.read(f"{program.name}-{command}.{section}"), "7"))
            for text, indent in texts:
                heads = re.findall(rf"(?m)^ {{{indent}}}((?:-\w, *)?--?\w[\w-]*)(?: (\S+))?",
                                   text)
                described = {option: argument for names, argument in heads
                             for option in options(names)}
                self.assertEqual(set(described), set(wanted), command)
                for option, argument in wanted.items():
                    if argument and "|" not in argument:
                        self.assertEqual(described[option], argument, (command, option))
                    else:
                        self.assertEqual(described[option].isupper(), argument != "",
                                         (command, option))

    def test_pages_say_what_help_says(self):
        """Word by word: the line about the command, its usage and the text of each option."""
        for program, command in all_commands():
            if program == pmlab.VLAN and command in DEVICE:
                continue
            page = self.read(f"{program.name}-{command}.{PROGRAMS[program]}")
            words = " ".join(page.split())
            line = re.search(rf"(?m)^  {command} +(.*)$", pmlab.run_program(program, "-h").stdout)[1]
            self.assertIn(f"{program.name}-{command} - {line[0].lower()}{line[1:]} SYNOPSIS", words)
            helped = pmlab.run_program(program, command, "-h").stdout
            for usage in re.findall(r"(?m)^(?:usage:|      ) (portmajor.* \[OPTION\].*)$", helped):
                self.assertIn(usage, words)
            rows = [row for part in helped.split("\n\n")
                    for row in re.split(r"\n(?= {2,6}-)", "\n" + part.rstrip())[1:]]
            self.assertGreaterEqual(len(rows), 4)
            for row in rows:
                text = re.sub(r"`(.*?)`", r"\1", " ".join(row.split())).replace(", --", ",--")
                self.assertIn(text, words.replace(", --", ",--"), command)

    def test_options_of_the_report_are_described(self):
        done = subprocess.run([pmlab.ROOT / "scripts" / "portmajor-report", "--help"],
                              capture_output=True, text=True, check=False)
        if done.returncode == 3:
            self.skipTest(done.stderr)
        heads = re.findall(r"(?m)^ {7}(-.*)$", self.read("portmajor-report.1"))
        self.assertEqual(options(" ".join(heads)), options(done.stdout.partition("options:")[2]))

    def test_rows_of_the_report_are_described(self):
        source = (pmlab.ROOT / "scripts" / "portmajor_report" / "failures.py").read_text("utf-8")
        shown = int(re.search(r"(?m)^SHOWN = (\d+)", source)[1])
        self.assertIn(f"shows {['no', 'one', 'two', 'three', 'four', 'five'][shown]} of each kind",
                      " ".join(self.read("portmajor-report.1").split()))

    def test_kinds_of_events_are_described(self):
        """The kinds of the list, which event_command_kinds takes, and those that the plugin notes.
        """
        source = (pmlab.ROOT / "src/files/event_kinds.c").read_text("ascii")
        kinds = set(re.findall(r'"(\w+)"', source[source.index("pm_event_kinds[]"):
                                                 source.index("NULL,")]))
        page = (pmlab.ROOT / "docs/man/portmajor-events.1.rst").read_text("utf-8")
        page = page[page.index("The kinds:"):page.index("Events that cannot be written")]
        self.assertEqual(set(re.findall(r"\w+", " ".join(re.findall(r"^\*\*.*$", page, re.M)))),
                         kinds)
        noted = set()
        for path in (pmlab.ROOT / "plugins/opensm").glob("*/*.c"):
            text = path.read_text("ascii")
            noted |= set(re.findall(r'EVENT_[A-Z]+,\s+"(\w+)"', text))
        self.assertGreater(len(noted), 15)
        self.assertLessEqual(noted, kinds)

    def test_keys_are_described(self):
        """portmajor.conf(5) has the keys that config.c has, and no others."""
        source = (pmlab.ROOT / "src" / "files" / "config.c").read_text(encoding="ascii")
        keys = set(re.findall(r'\{"(\w+)", set_', source))
        text = self.read("portmajor.conf.5")
        section = text[text.index("KEYS"):text.index("EXAMPLE")]
        self.assertEqual(set(re.findall(r"(?m)^       ([a-z]+_?[a-z_]+) (?! )", section)) & keys,
                         keys)


class Design(unittest.TestCase):
    """The four pages of the design, which a newcomer reads from beginning to end."""

    PAGES = ("design.md", "design-routing.md", "design-opensm.md", "design-vlan.md")
    MOST_WORDS = 2000

    @staticmethod
    def read(name):
        return (pmlab.ROOT / "docs" / name).read_text("utf-8")

    def test_pages_are_short(self):
        for page in self.PAGES:
            self.assertLessEqual(len(self.read(page).split()), self.MOST_WORDS, page)

    def test_named_files_exist(self):
        """Sources by their names, pages by theirs."""
        there = {path.name for top in ("src", "include", "plugins", "tests", "docs")
                 for path in (pmlab.ROOT / top).rglob("*")}
        for page in (*self.PAGES, "design-bounds.md"):
            named = re.findall(r"`(?:[\w/.-]*/)?([\w-]+\.(?:[ch]|py|md))[` ]", self.read(page))
            self.assertEqual(set(named) - there, set(), page)

    def test_cases_of_the_wire_exist(self):
        """Each row of the table about ibsim names a case of test_wire_truth.py, or a class."""
        tests = pmlab.ROOT / "tests" / "integration"
        wire, truth = ((tests / f"test_wire{end}.py").read_text("utf-8")
                       for end in ("", "_truth"))
        table = self.read("design-opensm.md").partition("does otherwise")[2]
        rows = re.findall(r"(?m)^\|.*\| (`.*`) \|$", table)
        self.assertGreater(len(rows), 8)
        for names in rows:
            for name in re.findall(r"`(.*?)`", names):
                if name.startswith("test_wire.py "):
                    source, group, case = wire, name.partition(" ")[2], ""
                else:
                    source, (group, _, case) = truth, name.partition(".")
                for definition, word in (("class", group), ("def", case)):
                    self.assertTrue(not word or f"{definition} {word}(" in source, name)

    def test_references_to_sections(self):
        """Other files name a page and a section: a heading, or bold words before a paragraph."""
        found = 0
        for top, end in (("docs", "md"), ("src", "[ch]"), ("include", "h"), ("plugins", "[ch]"),
                         ("tests/integration", "py")):
            for path in (pmlab.ROOT / top).rglob(f"*.{end}"):
                text = re.sub(r"\s+(?:\* )?", " ", path.read_text("utf-8"))
                for page, section in re.findall(r"(design[\w-]*\.md)`?, \*([A-Z][^*]*)\*", text):
                    there = re.search(rf"(?m)^#+ {section}$|\*\*{section}", self.read(page))
                    self.assertTrue(there, (path, section))
                    found += 1
        self.assertGreater(found, 3)


class Help(unittest.TestCase):
    def test_fits_on_a_screen(self):
        """24 lines of 80 columns, with the line in which the shell asks for more."""
        for program in PROGRAMS:
            lines = pmlab.run_program(program, "-h").stdout.splitlines()
            self.assertLess(len(lines), 24, program)
            self.assertLessEqual(max(map(len, lines)), 80, program)

    def test_groups(self):
        """By purpose."""
        titles = re.findall(r"(?m)^[a-z].*$", pmlab.run_cli("-h").stdout)
        self.assertEqual([line for line in titles if not line.startswith("usage: ")],
                         ["plan and predict", "operate", "verify", "maintain"])

    def test_sentences(self):
        """A line for each command and a sentence or more for each option."""
        for program in PROGRAMS:
            lines = re.findall(r"(?m)^  [a-z][a-z-]* +(.*)$",
                               pmlab.run_program(program, "-h").stdout)
            for line in lines:
                self.assertRegex(line, r"^[A-Z].*[^.]$")
        for program, command in all_commands():
            helped = pmlab.run_program(program, command, "-h").stdout
            texts = re.findall(r"(?m)^ {2,6}--?\w.*?(?:  +|\n +)(\S.*(?:\n {10,}\S.*)*)$", helped)
            self.assertGreaterEqual(len(texts), 2)
            for text in texts:
                self.assertRegex(text, r"(?s)^[A-Z].*\.$", command)

    def test_each_command_has_its_own(self):
        """A name stands in one program, but for plan, merge and status."""
        listed = [command for _, command in all_commands()]
        twice = {command for command in listed if listed.count(command) > 1}
        self.assertEqual(twice, {"plan", "merge", "status"})
        for program, other in ((pmlab.CLI, "traffic"), (pmlab.CLI, "lldp"), (pmlab.LAB, "lldp"),
                               (pmlab.VLAN, "traffic"), (pmlab.LAB, "drain")):
            done = pmlab.run_program(program, other)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"{program.name}: no command \"{other}\"", done.stderr)


class Completion(labtest.Folders):
    program = pmlab.CLI

    def complete(self, *words):
        """The completions of bash for the last word."""
        script = (f'. "{COMPLETION}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '_portmajor; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", str(self.program), *words],
                              capture_output=True, text=True, check=True, cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.split("\n") if line]

    def test_commands(self):
        for self.program in PROGRAMS:
            self.assertEqual(set(self.complete("")) - {"-h", "-V"}, set(commands(self.program)))
        self.program = pmlab.CLI
        self.assertEqual(self.complete("wha"), ["whatif"])

    def test_registered(self):
        """For each of the programs."""
        done = subprocess.run(["bash", "-c", f'. "{COMPLETION}"; complete -p'], check=True,
                              capture_output=True, text=True)
        self.assertEqual(set(re.findall(r"-F _portmajor (\S+)", done.stdout)),
                         {program.name for program in PROGRAMS})

    def test_options(self):
        for self.program, command in all_commands():
            self.assertEqual(set(self.complete(command, "-")), set(rows(self.program, command)),
                             command)
        self.program = pmlab.CLI
        self.assertEqual(self.complete("whatif", "--fai"), ["--fail"])

    def test_values(self):
        self.assertEqual(self.complete("plan", "-o", "g"), ["grouped"])
        self.assertEqual(self.complete("generate", "tw"), ["two-level"])
        for self.program, command in all_commands():
            for option, argument in rows(self.program, command).items():
                if "|" in argument:
                    self.assertEqual(self.complete(command, option, ""), argument.split("|"))

    def test_devices(self):
        self.program = pmlab.VLAN
        self.assertEqual(set(self.complete("show", "")), set(os.listdir("/sys/class/net")))

    def test_values_are_taken(self):
        """The rows name the values that the command knows."""
        net = pmlab.generate(self.folder / "f.net", "two-level", 4, 2, 2, 1)
        for args in (("plan", net), ("whatif", net, "--all", "links")):
            for option, argument in rows(pmlab.CLI, args[0]).items():
                for value in argument.split("|") if "|" in argument else ():
                    done = pmlab.run_cli(*args, option, value)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), value)

    def test_names_of_nodes(self):
        pmlab.generate(self.folder / "f.net", "two-level", 4, 2, 2, 1)
        self.assertEqual(self.complete("whatif", "f.net", "--fail", "spi"),
                         ["spine0", "spine1"])
        self.assertEqual(self.complete("whatif", "f.net", "--fail", "spine1["),
                         [f"spine1[{port}]" for port in range(1, 5)])

    def test_names_of_ibnetdiscover(self):
        """They are in comments; GUIDs are in their place."""
        (self.folder / "d.net").write_text(
            'Switch\t4 "S-0002c90000000002"\t\t# "leaf0" enhanced port 0 lid 2 lmc 0\n'
            '[4]\t"H-0002c90000000003"[1](2c90000000004)\t# "node01" lid 4 4xQDR\n\n'
            'Ca\t1 "H-0002c90000000003"\t\t# "node01"\n'
            '[1](2c90000000004)\t"S-0002c90000000002"[4]\t# lid 4 lmc 0 "leaf0" lid 2 4xQDR\n',
            encoding="ascii")
        self.assertEqual(self.complete("whatif", "d.net", "--fail", ""), ["leaf0", "node01"])
        self.assertEqual(self.complete("whatif", "d.net", "--fail", "leaf0["), ["leaf0[4]"])

    def test_names_are_not_run(self):
        """A host in the fabric has such a name."""
        name = "h$(touch${IFS}made)"
        (self.folder / "n.net").write_text(f'Switch 4 "{name}"\n[1] "it\'s"[1]\n\n'
                                           f'Hca 1 "it\'s"\n[1] "{name}"[1]\n', encoding="ascii")
        control.write(self.folder, drains=[control.drain(1, 20, name)])
        self.assertEqual(self.complete("whatif", "n.net", "--fail", ""), [name, "it's"])
        self.assertEqual(self.complete("whatif", "n.net", "--fail", f"{name}["), [f"{name}[1]"])
        with unittest.mock.patch.dict(os.environ, OSM_CACHE_DIR=str(self.folder)):
            self.assertEqual(self.complete("undrain", ""), [f"{name}:20"])
        self.assertFalse((self.folder / "made").exists())

    def test_what_is_drained(self):
        control.write(self.folder, drains=[control.drain(1, 20, "leaf5"),
                                           control.drain(2, 0, "spine1")])
        with unittest.mock.patch.dict(os.environ, OSM_CACHE_DIR=str(self.folder)):
            self.assertEqual(self.complete("undrain", ""), ["leaf5:20", "spine1"])
            self.assertEqual(self.complete("undrain", "sp"), ["spine1"])

    def test_what_can_be_drained(self):
        """Switches of the plugin's plan; and drained ones with notes."""
        folder = control.write(self.folder)
        (folder / "plan").write_text(
            "portmajor-plan 4\norder grouped\nlmc 0\nswitch 20000a 20000a 8 leaf0\n"
            "switch 20000b 20000b 8 spine0\nswitch 20000c 20000c 8 two words\ncable 0 5 1 1\n",
            encoding="ascii")
        control.write(self.folder, drains=[
            control.drain(1, 20, "leaf5", by="me", reason="a b")])
        with unittest.mock.patch.dict(os.environ, OSM_CACHE_DIR=str(self.folder)):
            self.assertEqual(self.complete("drain", ""), ["leaf0", "spine0"])
            self.assertEqual(self.complete("drain", "--force", "sp"), ["spine0"])
            self.assertEqual(self.complete("undrain", ""), ["leaf5:20"])

    def test_files(self):
        (self.folder / "fabric one.net").write_text("", encoding="ascii")
        (self.folder / "xyz.net").write_text("", encoding="ascii")
        self.assertEqual(self.complete("plan", "xy"), ["xyz.net"])
        self.assertEqual(self.complete("plan", "fab"), ["fabric one.net"])


if __name__ == "__main__":
    unittest.main()
