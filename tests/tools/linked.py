#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Checks the contents of a program: `linked.py PROGRAM WITH WITHOUT...`: it has symbols of the library
WITH, which shows that it was not stripped, and none of the others.
"""
import subprocess
import sys


def defined(path):
    """Names that a program defines, or the objects of a library."""
    lines = subprocess.run(["nm", "--defined-only", path], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return {line[2] for line in words if len(line) == 3 and line[1] in "TDBRtdbr"}


def defined_globally(path):
    lines = subprocess.run(["nm", "--defined-only", "--extern-only", path], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return {line[2] for line in words if len(line) == 3 and line[1] in "TDBR"}


def main(program, with_library, *without):
    found, wrong = defined(program), []
    if not found & defined_globally(with_library):
        wrong.append(f"{program} has nothing of {with_library}: was it stripped?")
    for library in without:
        symbols = defined_globally(library)
        if not symbols:
            wrong.append(f"{library} defines nothing")
        if found & symbols:
            wrong.append(f"{program} has {', '.join(sorted(found & symbols))} of {library}")
    print("\n".join(wrong) or f"{len(found)} symbols, none of {len(without)} libraries")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
