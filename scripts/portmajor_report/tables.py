# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A switch's table in each order of LIDs, and link loads, of `portmajor table --json`."""

import collections
import colorsys

from . import plots
from .errors import InputError
from .words import decimal, table

BLOCK = 64
BEFORE, AFTER = (5, "wide"), (1, "")  # grey below, the colour of what changes above it
ORDERS = ("leaf-major", "port-major", "grouped")
# No LID, stays (or another port), its block is sent, changes: visible on light and dark ground.
NOTHING, STAYS, HIT, CHANGED = range(4)
PALETTE = [(0, 0, 0, 0), (128, 136, 144, 90), (240, 165, 40, 190), (207, 34, 46, 255)]


def check_table(path, document):
    """The members for the pictures, and their types."""
    try:
        switches = len(document["switches"])
        assert document["lid_order"] in ORDERS, "lid_order"
        assert isinstance(document["switch"], str), "switch"
        assert all(isinstance(name, str) for name in document["failed"]), "failed"
        assert isinstance(document["planes"], list), "planes"
        for entry in document["entries"]:
            assert entry is None or (len(entry) == 3 and all(
                isinstance(value, int) for value in entry)), "entries"
        for switch in document["switches"]:
            for key in ("name", "guid"):
                assert isinstance(switch[key], str), key
            assert all(isinstance(port, int) for port in switch["hosts"]), "hosts"
            for key in ("level", "component", "blocks", "entries"):
                assert isinstance(switch[key], int), key
            for port in switch["ports"]:
                assert 0 <= port["to"] < switches, "to"
                assert port["direction"] in ("up", "down", "other"), "direction"
                for key in ("port", "peer_port", "before", "after", "usable"):
                    assert isinstance(port[key], int), key
                plane = port["plane"]
                assert plane is None or 0 <= plane < len(document["planes"]), "plane"
        assert document["switch_guid"] in [s["guid"] for s in document["switches"]], "switch_guid"
    except (AssertionError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not as docs/json.md has it: {error}") from error


def port_colours(ups):
    """A colour for each up port; other ports are grey."""
    wheel = [colorsys.hls_to_rgb(0.75 * i / max(len(ups), 1), 0.52, 0.7)
             for i in range(len(ups))]
    return [tuple(round(255 * part) for part in colour) for colour in wheel]


def blocks_of(entries):
    """Rows of 64; None where there is no LID."""
    padded = entries + [None] * (-len(entries) % BLOCK)
    return [padded[i:i + BLOCK] for i in range(0, len(padded), BLOCK)] or [[None] * BLOCK]


def paint_changes(block):
    changed = [entry is not None and entry[1] != entry[2] for entry in block]
    rest = HIT if any(changed) else STAYS
    return [CHANGED if new else NOTHING if entry is None and rest == STAYS else rest
            for entry, new in zip(block, changed)]


def paint_ports(block, numbers):
    """`numbers` of the palette, by port."""
    return [NOTHING if entry is None or entry[1] < 0 else numbers.get(entry[1], STAYS)
            for entry in block]


def describe_order(document, ups):
    """The table in one order: by up port, and the changes. (The paper's figures 5, 6.)"""
    blocks = blocks_of(document["entries"])
    numbers = {port: i for i, port in enumerate(ups, len(PALETTE))}
    palette = PALETTE + [(*colour, 255) for colour in port_colours(ups)]
    changes = [paint_changes(block) for block in blocks]
    return {"order": document["lid_order"], "blocks": len(blocks),
            "hit": sum(CHANGED in row for row in changes),
            "entries": sum(row.count(CHANGED) for row in changes),
            "ports": plots.pixels([paint_ports(block, numbers) for block in blocks], palette),
            "changes": plots.pixels(changes, PALETTE)}


def own_switch(document):
    return [s for s in document["switches"] if s["guid"] == document["switch_guid"]][0]


def describe_lfts(documents):
    """The data of one or more documents: {orders, table, legend}."""
    documents = sorted(documents, key=lambda d: ORDERS.index(d["lid_order"]))
    ups = [port["port"] for port in own_switch(documents[-1])["ports"]
           if port["direction"] == "up"]
    orders = [describe_order(document, ups) for document in documents]
    rows = [[o["order"], o["blocks"], o["hit"], o["entries"]] for o in orders]
    return {"orders": orders,
            "table": table("orders", ["order of LIDs", "blocks", "blocks hit",
                                      "entries that change"], rows),
            "legend": [{"port": port, "colour": "#%02x%02x%02x" % colour}
                       for port, colour in zip(ups, port_colours(ups))]}


# -------------------------------------------------------------------------- loads

def link_loads(document):
    """Rows of (level and direction), with loads before, and after on usable links."""
    rows = collections.defaultdict(lambda: ([], []))
    for switch in document["switches"]:
        for port in switch["ports"]:
            if port["direction"] in ("up", "down") and switch["level"] >= 0:
                before, after = rows[switch["level"], port["direction"]]
                before.append(port["before"])
                if port["usable"]:
                    after.append(port["after"])
    return [summarise_loads(level, direction, *rows[level, direction])
            for level, direction in sorted(rows, key=lambda key: (key[0], key[1] == "down"))]


def summarise_loads(level, direction, before, after):
    mean_after = sum(after) / len(after) if after else 0
    return {"name": f"level {level}, {direction}", "ports": len(before), "usable": len(after),
            "mean": sum(before) / len(before), "max": max(before), "mean_after": mean_after,
            "max_after": max(after, default=0),
            "over": max(after) / mean_after if mean_after else None,
            "before": sorted(before), "after": sorted(after)}


def curve(loads, most=150):
    """(% of ports, load), and no more points than are visible."""
    last = max(len(loads) - 1, 1)
    at = sorted({round(i * (len(loads) - 1) / most) for i in range(most + 1)})
    return [(100 * i / last, loads[i]) for i in at]


def draw_loads(row):
    """Ports in the order of their load, before and after."""
    def body(x, y):
        for key, series, extra in (("before", *BEFORE), ("after", *AFTER)):
            points = [(x.at(share), y.at(load)) for share, load in curve(row[key] or [0])]
            yield plots.path(points, series, extra)

    top = 1.15 * max(row["max"], row["max_after"], 1)
    return plots.plot(f"Loads of {row['name']}", plots.Axis(0, 100), plots.Axis(0, top),
                      "% of ports", f"flows: {row['name']}", body, height=180)


def describe_loads(document):
    """{table, pictures, legend}, or None if no link leads up or down."""
    rows = link_loads(document)
    if not rows:
        return None
    cells = [[row["name"], row["ports"], row["usable"], decimal(row["mean"]), row["max"],
              decimal(row["mean_after"]), row["max_after"], decimal(row["over"], 3)]
             for row in rows]
    return {"pictures": [draw_loads(row) for row in rows],
            "legend": [(plots.series_class(series), name)
                       for name, (series, _) in (("before", BEFORE), ("after", AFTER))],
            "table": table("loads", ["ports", "number", "usable", "mean", "highest", "mean after",
                                     "highest after", "over the mean"], cells)}
