#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""All builds compute the same tables: otherwise an upgrade would rewrite those of a running subnet.

    two_compilers.py PROGRAM OPTION... SOURCE.c...

Builds the program PROGRAM, with these options and sources, by GCC and by Clang, and compares the
plans and the tables of drawn fabrics. If a table depended on floating point, these builds would
round in different ways: GCC with x87 registers, Clang with -ffast-math. Returns 77 without either
compiler. PM_SEED is the first of PM_ROUNDS seeds.
"""

import os
import pathlib
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
X87 = ["-mfpmath=387"] if platform.machine() in ("x86_64", "i686") else []
COMPILERS = {"gcc": ["-O1", *X87], "clang": ["-O3", "-ffast-math"]}
# With floating point, x87 registers gave other tables on this fabric.
ROUNDED = ["--degrade", "links=5%", "--seed", "804", "xgft", "3", "7,10,6", "1,2,2"]


def build(folder, options):
    """Paths of the programs, built side by side."""
    runs = {}
    for compiler, own in COMPILERS.items():
        place = folder / f"{compiler}.d"  # objects with the same name
        place.mkdir()
        runs[folder / compiler] = subprocess.Popen(
            [compiler, *own, "-std=gnu11", "-w", *options, "-o", folder / compiler, "-lm"],
            cwd=place)
    if any([run.wait() for run in runs.values()]):
        sys.exit("does not build")
    return list(runs)


def draw_fabric(rand):
    """Arguments of `portmajor generate`."""
    def numbers(count, low, high):
        return [rand.randint(low, high) for _ in range(count)]
    def text(*values):
        return ",".join(map(str, values))
    kind = rand.randrange(5)
    if kind == 0:
        shape = ["two-level", *numbers(1, 3, 20), *numbers(2, 2, 10), *numbers(1, 1, 3)]
    elif kind == 1:
        shape = ["xgft", 4, text(*numbers(4, 2, 4)), text(1, *numbers(3, 1, 5))]
    else:
        shape = ["xgft", 3, text(*numbers(3, 2, 9)), text(1, *numbers(2, 1, 9))]
    lost = rand.choice([0, 0, 5, 15])
    return ["--degrade", f"links={lost}%", "--seed", str(rand.randint(1, 999)), *map(str, shape)]


def draw_plan(rand, netlist):
    """Options of `portmajor plan`: often a switch has failed."""
    options = ["-m", rand.choice("0012"), "-o", rand.choice(["grouped", "leaf-major"])]
    if rand.random() < 0.5:
        switches = re.findall(r'(?m)^Switch\s+\d+\s+"([^"]+)"', netlist)
        options += ["-F", rand.choice(switches)]
    return options


def make_tables(program, folder, options):
    """The plan's output, and its tables."""
    tables = folder / "tables"
    tables.unlink(missing_ok=True)
    plan = subprocess.run([program, "plan", "-l", *options, "--lfts", tables, folder / "net"],
                          capture_output=True, timeout=60, check=False)
    return (plan.returncode, plan.stdout, plan.stderr,
            tables.read_bytes() if tables.exists() else b"")


def main(program, *options):
    missing = [compiler for compiler in COMPILERS if not shutil.which(compiler)]
    if missing:
        print(f"skipped '{missing[0]} is not installed'")
        return SKIPPED
    first, rounds = int(os.environ.get("PM_SEED", 1)), int(os.environ.get("PM_ROUNDS", 40))
    planned = 0
    with tempfile.TemporaryDirectory(prefix="two_compilers-") as name:
        folder = pathlib.Path(name)
        builds = build(folder, options)
        for seed in range(first, first + rounds):
            rand = random.Random(seed)
            fabric = ROUNDED if seed == 1 else draw_fabric(rand)
            netlist = subprocess.run([program, "generate", *fabric], check=True,
                                     capture_output=True, text=True, timeout=60).stdout
            (folder / "net").write_text(netlist, "utf-8")
            with_options = [] if seed == 1 else draw_plan(rand, netlist)
            wanted = make_tables(program, folder, with_options)
            planned += wanted[0] == 0 and len(wanted[3]) > 0
            for other in builds:
                if make_tables(other, folder, with_options) != wanted:
                    sys.exit(f"PM_SEED={seed} PM_ROUNDS=1: {other.name} has other tables: "
                             f"generate {' '.join(fabric)}, plan {' '.join(with_options)}")
    print(f"{planned} of {rounds} fabrics with a plan, all the same")
    return 0 if planned * 2 > rounds else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
