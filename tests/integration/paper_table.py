# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The statements of a paper beside our results, with a verdict."""

import textwrap
from typing import NamedTuple

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
