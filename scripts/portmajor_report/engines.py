# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The table that scripts/demo prints: portmajor beside OpenSM's engines."""

import re

from . import plots
from .words import count, table

NAMES = ("ftree", "updn", "minhop")


def read_engines(text):
    """Rows of the demo's table, or None if it is none."""
    lines = [re.split(r"  +", line.strip()) for line in text.splitlines()]
    heads = [line for line in lines if line[0] == "event" and "wire" in line]
    if not heads:
        return None
    events = [dict(zip(heads[0], line)) for line in lines[lines.index(heads[0]) + 1:]
              if len(line) == len(heads[0])]
    engines = [name for name in NAMES if name in heads[0]]

    def number(cell):
        digits = cell.replace(",", "").rstrip("*")
        return int(digits) if digits.isdigit() else None

    return {"schema": "portmajor-engines",
            "engines": engines,
            "events": [{"name": event["event"], "blocks": number(event["wire"]),
                        "least": number(event["least"]),
                        "counts": [number(event[engine]) for engine in engines],
                        "gave_up": [event[engine].endswith("*") for engine in engines]}
                       for event in events]}


def describe_engines(document):
    """Events, a bar for portmajor, one for `least` and one for each of OpenSM's engines."""
    names = ["portmajor", "least", *document["engines"]]
    events = document["events"]
    groups = [(event["name"], [event["blocks"], event["least"], *event["counts"]])
              for event in events]
    rows = [[event["name"], event["blocks"], event["least"],
             *(count(number) + "*" * gave_up
               for number, gave_up in zip(event["counts"], event["gave_up"]))]
            for event in events]
    return {"picture": plots.draw_bars("LFT Sets of each event with each engine", groups, names),
            "legend": plots.names_of(names), "table": table("engines", ["event", *names], rows)}
