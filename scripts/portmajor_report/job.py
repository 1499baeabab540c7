# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The results of `portmajor-lab job --json`: the progress of a job over time, and its stalls."""

import collections

from . import plots
from .words import decimal, table

ROWS = ["tables of", "healthy, ms", "done, ms", "times", "stall, ms", "of a host, ms",
        "connections broken", "packets lost", "LFT Sets"]


def draw_progress(document, span, words):
    """The share of the job that is done, with each engine; fine: without the failure."""
    engines = document["engines"]

    def body(x, y):
        for i, engine in reversed(list(enumerate(engines))):
            for run, extra in (("healthy", "fine"), ("failure", "" if not i else "wide")):
                points = [(0, 0)] + [(ms, part) for ms, part in engine[run]["curve"] if ms <= span]
                points.append((span, points[-1][1]))
                stairs = plots.steps([(x.at(ms), y.at(part)) for ms, part in points])
                yield plots.path(plots.thin(stairs), i, extra)
        at = x.at(document["at_ms"])
        yield plots.diagonal((at, y.at(0)), (at, y.at(100)))

    return plots.plot("Progress of the job", plots.Axis(0, span), plots.Axis(0, 105), words,
                      "% of the job", body)


def draw(document):
    """All of it, and the beginning if the first engine is done long before the last."""
    def last(engine):
        return max([ms for run in ("healthy", "failure") for ms, _ in engine[run]["curve"]] +
                   [document["at_ms"]])

    end = 1.05 * max(last(engine) for engine in document["engines"])
    near = 1.05 * last(document["engines"][0])
    pictures = [draw_progress(document, end, "ms since the job's begin")]
    if near < end / 2:
        pictures.insert(0, draw_progress(document, near,
                                         "ms since the job's begin, the beginning"))
    return pictures


def time_of(run, ms, never):
    return never if ms is None and run["end"] == "stuck" else decimal(ms, 3)


def row(engine):
    run = engine["failure"]
    return [engine["name"], decimal(engine["healthy"]["done_ms"], 3),
            time_of(run, run["done_ms"], "never"), decimal(engine["ratio"], 2),
            time_of(run, run["stall"]["ms"], "for ever"),
            time_of(run, run["host_stall"]["ms"], "for ever"), engine["broken"],
            engine["point"]["dropped"], engine["sets"]["replayed"]]


def describe_job(document):
    """{fabric, hosts, pattern, bytes, failed, at, timeout, table, pictures, legend, times, late}"""
    engines = document["engines"]
    times = collections.defaultdict(list)
    for engine in engines:
        times[engine["times"]].append(engine["name"])
    return {"fabric": document["fabric"], "hosts": document["hosts"],
            "pattern": document["pattern"], "bytes": document["bytes"],
            "failed": document["failed"], "at": decimal(document["at_ms"], 3),
            "timeout": decimal(document["timeout_ms"], 3), "pictures": draw(document),
            "legend": plots.names_of([engine["name"] for engine in engines]),
            "table": table("job", ROWS, [row(engine) for engine in engines]),
            "late": [(engine["name"], engine["sets"]["late"]) for engine in engines
                     if engine["sets"]["late"]],
            "times": [(", ".join(names), text) for text, names in times.items() if text]}
