#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fills the manual pages with the help of the commands: fill.py PROGRAMS SOURCES PAGES

PROGRAMS is the folder of the built commands, SOURCES that of the pages' .rst files. Files in the
folder PAGES are written only if they change. A line of a page is replaced:

.. title: COMMAND      the head of the page, with the line of `PROGRAM -h` about the command
.. commands: PROGRAM   all commands, with these lines
.. synopsis: COMMAND   the usage lines of `COMMAND -h`
.. options: COMMAND    the options of `COMMAND -h` that the page does not have yet

More commands may follow in indented lines. Of several, `options` prints what all of them have.
"""

import pathlib
import re
import subprocess
import sys

INDENT = " " * 9  # of the text about an option, in the page


class Commands:
    """The help of the programs in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.texts = {}

    def help(self, command):
        if command not in self.texts:
            program, *args = command.split()
            self.texts[command] = subprocess.run(
                [str(self.folder / program), *args, "-h"], check=True,
                stdout=subprocess.PIPE, universal_newlines=True).stdout
        return self.texts[command]

    def list(self, program):
        """(command, text), and (None, title) before the commands below a title."""
        for line in self.help(program).split("\n\n")[0].splitlines()[1:]:
            command, text = re.fullmatch(r"(?:  (\S+) +)?(.*)", line).groups()
            yield command, text

    def usage(self, command):
        """The usage lines without the word in front of them."""
        return [line[len("usage: "):] for line in self.help(command).split("\n\n")[0].splitlines()]

    def options(self, command):
        """(head, text) of each option."""
        for row in re.split(r"\n(?= {2,6}-)", "\n" + self.help(command).split("\n\n")[-1])[1:]:
            head, text = re.match(r" +(\S.*?)(?:  +|\n +)(.*)", row, re.S).groups()
            yield head, " ".join(text.split())


def mark(mark_of, word):
    """The word in bold or italic type, wherever it stands."""
    return f"\\ {mark_of}{word}{mark_of}\\ "


def format_usage(line):
    """What is typed is bold, what is replaced is italic."""
    return re.sub(r"(?P<typed>(?<![\w.])-{0,2}[a-z][\w-]*)|(?P<replaced>[A-Z]\w*)",
                  lambda word: mark("**" if word["typed"] else "*", word[0]), line)


def format_text(text, head):
    """Help as reStructuredText: options and manual pages are bold, the option's argument is
    italic, and what is in `backquotes` stays as it is."""
    argument = "|".join(re.findall(r"[A-Z]\w*", head.partition(" ")[2])) or "(?!)"
    pattern = (r"`(?P<code>[^`]+)`|(?P<option>(?<![\w-])--?[A-Za-z][\w-]*)"
               rf"|(?P<page>[\w.-]+)(?P<section>\(\d\))|(?P<argument>\b(?:{argument})\b)"
               r"|(?P<special>[*|\\]|_\b)")

    def replace(found):
        if found["code"]:
            return f"``{found['code']}``"
        if found["page"]:
            return mark("**", found["page"]) + found["section"]
        if found["special"]:
            return "\\" + found[0]
        return mark("**" if found["option"] else "*", found[0])

    return re.sub(pattern, replace, text)


class Page:
    def __init__(self, commands):
        self.commands = commands
        self.known = set()  # options that the page has

    def title(self, command):
        program, name = command.split()
        text = dict(self.commands.list(program))[name]
        text = text[0].lower() + text[1:]
        name = f"{program}-{name}"
        return ["=" * len(name), name, "=" * len(name), "", "-" * len(text), text, "-" * len(text)]

    def commands_of(self, program):
        section = 8 if program == "portmajor-vlan" else 1
        for command, text in self.commands.list(program):
            if command:
                yield from (f"**{program}-{command}**\\({section})", f"   {text}.", "")
            else:
                yield from (f"{text[0].upper()}{text[1:]}:", "")

    def synopsis(self, *commands):
        for command in commands:
            for line in self.commands.usage(command):
                yield "| " + format_usage(line)

    def options(self, *commands):
        rows = [list(self.commands.options(command)) for command in commands]
        for row in rows[0]:
            if row in self.known or not all(row in others for others in rows):
                continue
            self.known.add(row)
            yield from (row[0], INDENT + format_text(row[1], row[0]), "")

    def fill(self, text):
        def replace(found):
            commands = found["commands"].split("\n")
            function = {"title": self.title, "commands": self.commands_of,
                        "synopsis": self.synopsis, "options": self.options}[found["what"]]
            return "\n".join(function(*(command.strip() for command in commands)))

        return re.sub(r"(?m)^\.\. (?P<what>title|commands|synopsis|options): "
                      r"(?P<commands>.+(?:\n {3}.+)*)$", replace, text)


def main():
    programs, sources, pages = map(pathlib.Path, sys.argv[1:])
    commands = Commands(programs)
    for source in sorted(sources.glob("*.rst")):
        text = Page(commands).fill(source.read_text(encoding="utf-8"))
        text = text.replace(".. include:: ", f".. include:: {sources}/")
        page = pages / source.name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
