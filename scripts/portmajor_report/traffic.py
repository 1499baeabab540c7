# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The results of `portmajor-lab traffic --json`: pairs cut off, and curves over load."""

import collections
import pathlib

from . import plots
from .errors import InputError
from .words import count, decimal, table

UNITS = {"packet": "us", "flit": "cycles"}  # latencies of engines with points over load


def engine_of(document):
    """Of `portmajor-lab traffic`, or None."""
    settings = document.get("settings")
    return document.get("engine") or (settings.get("engine") if isinstance(settings, dict)
                                      else None)


def is_curve(document):
    return document["schema"] == "portmajor-lab-traffic" and engine_of(document) in UNITS


def name_curve(path, document):
    if "shard" in document:
        raise InputError(f"{path}: a shard: portmajor-lab merge makes the whole of all")
    document["curve_name"] = pathlib.Path(path).stem


# ------------------------------------------------------------------- pairs cut off

def draw_curves(recordings, span, words):
    """A step for each Set that changes the number, in % of the paths, up to `span` ms."""
    def body(x, y):
        # Those that are the same at first lie side by side: the widest below.
        for i, recording in reversed(list(enumerate(recordings))):
            points = [(x.at(min(ns / 1e6, span)), y.at(100 * dead / max(recording["paths"], 1)))
                      for ns, dead in recording["curve"] if ns / 1e6 <= span]
            points.append((x.at(span), points[-1][1]))
            yield plots.path(plots.thin(plots.steps(points)), i, "wide" if i else "")

    most = max(dead / max(r["paths"], 1) for r in recordings for _, dead in r["curve"])
    return plots.plot("Pairs cut off over time", plots.Axis(0, span),
                      plots.Axis(0, 105 * most), words, "% of pairs of hosts cut off", body)


def draw_outage(recordings):
    """Pairs cut off over time; beside it the time in which the first one restores them."""
    end = 1.05 * max(max(r["last_ms"], r["back_ms"]["all"]) for r in recordings) or 1.0
    near = 1.5 * max(recordings[0]["last_ms"], recordings[0]["back_ms"]["all"])
    pictures = [draw_curves(recordings, end, "ms since the failure")]
    if 0 < near < end / 2:
        pictures.insert(0, draw_curves(recordings, near, "ms since the failure, the beginning"))
    return pictures


OUTAGE = ["tables of", "pairs x s", "by the first", "LFT Sets", "paths cut at once", "in the end",
          "first Set, ms", "half back, ms", "all back, ms", "last Set, ms"]


def outage_row(r, first):
    over = r["pair_seconds"] / first["pair_seconds"] if first["pair_seconds"] else None
    at_once = r["cut"]["at_once"]
    return [r["name"], decimal(r["pair_seconds"]), decimal(over), r["sets"],
            f"{count(at_once['paths'])} ({100 * at_once['share']:.2f}%)",
            r["cut"]["end"]["paths"], decimal(r["first_ms"]), decimal(r["back_ms"]["half"]),
            decimal(r["back_ms"]["all"]), decimal(r["last_ms"])]


def describe_outage(document):
    """{failed, hosts, pairs, paths, times, table, pictures, legend}"""
    recordings = document["recordings"]
    first = recordings[0]
    times = collections.defaultdict(list)
    for r in recordings:
        times[r["times"]].append(r["name"])
    return {"failed": document["failed"], "hosts": first["hosts"], "pairs": first["pairs"],
            "paths": first["paths"], "pictures": draw_outage(recordings),
            "legend": plots.names_of([r["name"] for r in recordings]),
            "table": table("outage", OUTAGE, [outage_row(r, first) for r in recordings]),
            "times": [(", ".join(names), text) for text, names in times.items() if text]}


# ------------------------------------------------------------------------- over load

def mean(values):
    return sum(values) / len(values)


def flit_point(point):
    return {"load": point["load"], "accepted": point["accepted"],
            "latency": point["latency"]["mean"], "half": point["latency"]["half"],
            "p99": point["latency"]["p99"], "full": point["saturated"]}


def packet_points(document):
    """A point for each load: means over its seeds."""
    loads = collections.defaultdict(list)
    for point in document["points"]:
        # Neither of a closed loop nor of one in which no packet arrived.
        if point["offered"] is not None and point["latency_us"]["mean"] is not None:
            loads[point["offered"]].append(point)
    halves = {row["offered"]: row["latency_us"]["half"] for row in document.get("means", ())
              if row["latency_us"] is not None}
    return [{"load": load, "accepted": mean([p["accepted"] for p in points]),
             "latency": mean([p["latency_us"]["mean"] for p in points]),
             "half": halves.get(load, points[0]["latency_us"]["half"]),
             "p99": mean([p["latency_us"]["p99"] for p in points]),
             "full": any(p["unstable"] for p in points)} for load, points in loads.items()]


def curves_of(document):
    """A curve for each length of packets: (name, points by load)."""
    name = document["curve_name"]
    if engine_of(document) == "packet":
        curves = {name: packet_points(document)}
    else:
        lengths = {point["length"] for point in document["points"]}
        curves = {name if len(lengths) == 1 else f"{name}, {length} flits":
                  [flit_point(p) for p in document["points"] if p["length"] == length]
                  for length in sorted(lengths)}
    if not any(curves.values()):
        raise InputError(f"{name}: no points over load")
    return [(curve, sorted(points, key=lambda point: point["load"]))
            for curve, points in curves.items()]


def draw_marks(x, y, i, points, key):
    """The curve, with hollow marks at loads with growing queues."""
    at = [(x.at(p["load"]), y.at(p[key])) for p in points]
    yield plots.path(at, i)
    for (left, top), point in zip(at, points):
        yield plots.mark(left, top, i, hollow=point["full"])


def draw_latency(engine, curves, load):
    """Means with their intervals, and the bound of 99%."""
    def body(x, y):
        for i, (_, points) in enumerate(curves):
            for p in points:
                if p["half"] and p["latency"] > p["half"]:
                    yield plots.whisker(x.at(p["load"]), y.at(p["latency"] - p["half"]),
                                        y.at(p["latency"] + p["half"]), i)
            yield plots.path([(x.at(p["load"]), y.at(p["p99"])) for p in points], i, "fine")
            yield from draw_marks(x, y, i, points, "latency")

    values = [value for _, points in curves for p in points
              for value in (p["latency"], p["p99"], p["latency"] + (p["half"] or 0),
                            p["latency"] - (p["half"] or 0))]
    return plots.plot(f"Latency over load, {engine} engine", plots.Axis(0, load),
                      plots.log_axis(values), "load offered", f"latency, {UNITS[engine]}", body)


def draw_accepted(engine, curves, load):
    """The accepted load, and a line for the offered one."""
    def body(x, y):
        top = min(load, y.high)
        yield plots.diagonal((x.at(0), y.at(0)), (x.at(top), y.at(top)))
        for i, (_, points) in enumerate(curves):
            yield from draw_marks(x, y, i, points, "accepted")

    most = max(p["accepted"] for _, points in curves for p in points)
    return plots.plot(f"Throughput over load, {engine} engine", plots.Axis(0, load),
                      plots.Axis(0, 1.08 * most), "load offered", "accepted", body)


def describe_over_load(group):
    """Documents of one engine: {engine, unit, table, pictures, legend}."""
    documents = group["documents"]
    engine = engine_of(documents[0])
    curves = [curve for document in documents for curve in curves_of(document)]
    load = 1.05 * max(p["load"] for _, points in curves for p in points)
    rows = [[name, decimal(p["load"], 3), decimal(p["accepted"], 4), decimal(p["latency"], 3),
             decimal(p["half"], 3), decimal(p["p99"], 3), "grow" if p["full"] else ""]
            for name, points in curves for p in points]
    return {"engine": engine, "unit": UNITS[engine],
            "pictures": [draw_latency(engine, curves, load), draw_accepted(engine, curves, load)],
            "legend": plots.names_of([name for name, _ in curves]),
            "table": table("over-load", ["curve", "load", "accepted", f"latency, {UNITS[engine]}",
                                         "+-", "99%", "queues"], rows, words=(6,))}
