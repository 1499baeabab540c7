#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""No cycle of files: `cycles.py OBJECT...` prints files that need each other, by nm.

Each object of a library or program uses symbols of others; none may use its own, over whatever
others.
"""

import collections
import pathlib
import subprocess
import sys


def read_symbols(path):
    """(defined, used) by one object file."""
    defined, used = set(), set()
    lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        *_, kind, name = line.split()
        if kind == "U":
            used.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, used


def reach(start, uses):
    """All files that a file uses, over whatever others."""
    seen, rest = set(), [start]
    while rest:
        for other in uses[rest.pop()] - seen:
            seen.add(other)
            rest.append(other)
    return seen


def main(paths):
    symbols = {path: read_symbols(path) for path in paths}
    owner = {name: path for path, (defined, _) in symbols.items() for name in defined}
    uses = collections.defaultdict(set)
    for path, (_, used) in symbols.items():
        uses[path] = {owner[name] for name in used if owner.get(name, path) != path}
    cycle = [pathlib.Path(path).stem for path in paths if path in reach(path, uses)]
    if len(owner) < len(paths) or cycle:
        sys.exit(f"files in a cycle: {', '.join(cycle) or 'no symbols to look at'}")


if __name__ == "__main__":
    main(sys.argv[1:])
