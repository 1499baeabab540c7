# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The statements of a paper beside our results, with a verdict."""

import csv
import json
import sys
import textwrap
from typing import NamedTuple

import pmlab

HOLDS, IN_PART, FITTED, FAILS = "holds", "holds in part", "holds, fitted", "does not hold"


class Row(NamedTuple):
    number: str
    statement: str
    theirs: str
    ours: str
    verdict: str


def verdict(holds, otherwise=FAILS):
    return HOLDS if holds else otherwise


def show(title, rows):
    """Prints all rows; returns whether no statement fails."""
    print(f"{title}\n")
    for row in rows:
        for head, text in ((f"{row.number:>4}  ", row.statement), ("paper  ", row.theirs),
                           ("ours   ", row.ours), ("", row.verdict)):
            print(textwrap.fill(text, 96, initial_indent=f"{head:>13}" if head else " " * 13,
                                subsequent_indent=" " * 13))
        print()
    return all(row.verdict != FAILS for row in rows)


def compute(command, *args, statuses=(0,)):
    """The result of a command of portmajor-lab, and its exit status."""
    done = pmlab.run_lab(command, "--json", *args)
    if done.returncode not in statuses:
        sys.exit(f"portmajor-lab {command}: {done.stderr}")
    return json.loads(done.stdout), done.returncode


def write_figure(path, rows, draw):
    """Writes a figure's numbers as CSV, and where matplotlib is there the SVG that
    draw(pyplot) returns beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="ascii", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure = draw(pyplot)
    figure.savefig(path.with_suffix(".svg"))
    pyplot.close(figure)
