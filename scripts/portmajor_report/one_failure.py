# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One failure: the sentence that sums it up, and the new paths of its traffic.

The sentence is of `portmajor whatif --json`, the pictures of `portmajor table --json`: lines of
the tree that fail or gain load, and leaves by planes as a heat map, before and after. Pictures
have no text in them, since they are stretched to the page's width.
"""

import collections
import math
import statistics

from markupsafe import Markup

from .words import decimal, label_of, plural, shorten

HOT = 6  # steps of colour above the usual load
GREYS = 4  # steps of grey up to it
EVEN = 0.01  # above the usual load, and still grey
FULL = 0.25  # above the usual load: the strongest colour, unless some link has more
LINES = 60  # of the links that gain load: more would not be seen; all of the most
WIDTH, GAP, NODE = 1000, 92, 10  # of the tree: in its own units, and CSS pixels


# -------------------------------------------------------------------- the sentence

def tell_cut_off(document):
    """The hosts that the failure cuts off."""
    hosts, pairs = document["cut_off"], document["pairs_cut"]
    if hosts:
        return f"{plural(len(hosts), 'host')} cut off"
    return f"{plural(pairs, 'pair')} of hosts cut off" if pairs else "nobody cut off"


def signed_percent(change):
    """Of a part of 1."""
    told = f"{100 * change:+,.1f}%".replace("-", "\u2212")
    return told if abs(change) >= 0.0005 else "as before"


def tell_busiest(load):
    """The additional load of the busiest link."""
    if not load or not load["before"]:
        return None
    return f"busiest link {signed_percent(load['after'] / load['before'] - 1)}"


def sum_up(document):
    """{failed, text, more, bad} of one `portmajor whatif --json`."""
    writes = document["total"]["blocks"]
    parts = [tell_cut_off(document), tell_busiest(document["load"]),
             plural(writes, "write") if writes else "no writes",
             f"{decimal(document['ms'])}\u00a0ms" if writes else None]
    if document["fails_over"]:
        parts = [parts[0], "OpenSM goes on to its next engine"]
    more = []
    if [label_of(thing) for thing in document["took"]] != document["failed"]:
        more.append(f"{shorten(map(label_of, document['took']))} at once")
    if document["cut_off"]:
        more.append(f"cut off: {shorten(document['cut_off'])}")
    return {"failed": ", ".join(document["failed"]), "more": more,
            "text": ", ".join(part for part in parts if part),
            "bad": bool(document["pairs_cut"] or document["fails_over"])}


# ------------------------------------------------------------------------ the links

class Link:
    """A link upwards, with the flows of both directions."""

    def __init__(self, port, down):
        self.port, self.plane, self.to = port["port"], port["plane"], port["to"]
        self.usable = bool(port["usable"])
        self.up, self.down = [(end["before"], end["after"] if self.usable else 0)
                              for end in (port, down)]

    @property
    def gain(self):
        return max(after - before for before, after in (self.up, self.down))


def links_of(table):
    """By index of the lower switch: its links upwards."""
    ends = {(i, port["port"]): port for i, switch in enumerate(table["switches"])
            for port in switch["ports"]}
    return {i: [Link(port, ends[port["to"], port["peer_port"]]) for port in switch["ports"]
                if port["direction"] == "up"]
            for i, switch in enumerate(table["switches"])}


# ------------------------------------------------------------------------- the tree

def places(switches):
    """(x, y, width) of each switch, the highest level first, and (name, y) of the levels."""
    levels = collections.defaultdict(list)
    for i, switch in enumerate(switches):
        levels[switch["level"]].append(i)
    found, names = {}, []
    for row, level in enumerate(sorted(levels, reverse=True)):
        step, y = WIDTH / len(levels[level]), 24 + GAP * row
        name = "leaves" if level == 0 else "in no level" if level < 0 else f"level {level}"
        names.append((f"{name} ({len(levels[level]):,})", y))
        for number, i in enumerate(levels[level]):
            found[i] = ((number + 0.5) * step, y, min(0.7 * step, 14))
    return found, names


def draw_lines(pairs, at, name):
    """Lines between switches, as one path."""
    data = "".join(f"M{at[low][0]:.1f} {at[low][1]}L{at[high][0]:.1f} {at[high][1] + NODE}"
                   for low, high in pairs)
    return Markup(f'<path class="{name}" d="{data}"/>') if data else Markup("")


def draw_switch(place, mark, name, told):
    x, y, width = place
    return Markup('<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}" data-name="{}">'
                  '<title>{}</title></rect>').format(mark, x - width / 2, y, width, NODE, name,
                                                     told)


def pairs_of(links):
    """Pairs of switches with a failed link, and gains of the others: the most of each pair."""
    failed, gains = set(), collections.Counter()
    for low, ups in links.items():
        for link in ups:
            if not link.usable:
                failed.add((low, link.to))
            elif link.gain > 0:
                gains[low, link.to] = max(gains[low, link.to], link.gain)
    return sorted(failed), gains


def mark_of(switch, cut_off):
    """failed: no link is left; cut: nor does a host of it reach the others."""
    if switch["ports"] and not any(port["usable"] for port in switch["ports"]):
        return "failed"
    hosts = switch.get("host_names", ())
    return "cut" if hosts and cut_off.issuperset(hosts) else ""


def draw_tree(table, links, cut_off):
    """{picture, height, levels, failed, gain, shown, more}"""
    at, names = places(table["switches"])
    failed, gains = pairs_of(links)
    most = max(gains.values(), default=0)
    shown = [pair for number, (pair, gain) in enumerate(gains.most_common())
             if gain == most or (number < LINES and 2 * gain >= most)]
    body = [draw_lines([pair for pair in shown if gains[pair] < most], at, "gains"),
            draw_lines([pair for pair in shown if gains[pair] == most], at, "gains most"),
            draw_lines(failed, at, "fails")]
    for i, switch in enumerate(table["switches"]):
        body.append(draw_switch(at[i], mark_of(switch, cut_off), label_of(switch),
                                label_of(switch)))
    height = names[-1][1] + NODE + 4
    return {"height": height, "levels": names, "failed": len(failed), "gain": most,
            "shown": len(shown), "more": len(gains) - len(shown), "wide": WIDTH,
            "cut": any(mark_of(switch, cut_off) == "cut" for switch in table["switches"]),
            "picture": Markup("").join(body)}


# -------------------------------------------------------------------- leaves by plane

def cells_of(rows, planes):
    """[row][plane] = (before, after, usable): the busier direction of the busiest link."""
    cells = [[None] * planes for _ in rows]
    for cell, (_, links) in zip(cells, rows):
        for link in links:
            before, after, usable = cell[link.plane] or (0, 0, False)
            cell[link.plane] = (max(before, link.up[0], link.down[0]),
                                max(after, link.up[1], link.down[1]), usable or link.usable)
    return cells


class Scale:
    """Grey up to the usual load, then ever more colour. The usual load, the median of the usable
    links, is another one after the failure: its traffic is spread over all the others."""

    def __init__(self, cells):
        there = [cell for row in cells for cell in row if cell]
        usable = (there, [cell for cell in there if cell[2]])
        self.usual = [statistics.median_high([cell[when] for cell in usable[when] if cell[when]]
                                             or [1]) for when in (0, 1)]
        self.top = max([FULL, *(self.excess(cell[when], when)
                                for when in (0, 1) for cell in usable[when])])
        self.seen = collections.defaultdict(list)

    def excess(self, load, when):
        """As a part of the usual load; 0 up to that."""
        more = load / self.usual[when] - 1
        return more if more > EVEN else 0

    def step(self, load, when):
        more = self.excess(load, when)
        if more:
            return f"h{math.ceil(HOT * more / self.top)}"
        return f"g{min(-(-GREYS * load // self.usual[when]), GREYS)}"

    def name(self, cell, when):
        """The class of a cell: before (0) or after (1)."""
        if when and not cell[2]:
            return "fails"
        name = self.step(cell[when], when)
        self.seen[name].append(self.excess(cell[when], when))
        return name

    def captions(self):
        """The usual loads before and after."""
        before, after = self.usual
        change = signed_percent(after / before - 1)
        return [f"before: usually {before:,} flows", f"after: usually {after:,} ({change})"]

    def legend(self):
        """(class, words) of the steps in the map: grey as one."""
        told = [(f"g{GREYS}", "usual load, or less")]
        for name in sorted(name for name in self.seen if name[0] == "h"):
            low, high = (signed_percent(f(self.seen[name])) for f in (min, max))
            told.append((name, low if low == high else f"{low} to {high}"))
        return told


def draw_cells(cells, scale, when):
    """A path for each class; neighbours of one class are one rectangle where there are many."""
    paths, merged = collections.defaultdict(list), len(cells) * len(cells[0]) > 4000
    for y, row in enumerate(cells):
        start = 0
        while start < len(row):
            end = start + 1
            if row[start]:
                name = scale.name(row[start], when)
                while merged and end < len(row) and row[end] and \
                        scale.name(row[end], when) == name:
                    end += 1
                width = end - start
                paths[name].append(f"M{start} {y}h{width}v1h-{width}z")
            start = end
    return Markup("").join(Markup(f'<path class="{name}{"" if merged else " apart"}" '
                                  f'd="{"".join(data)}"/>') for name, data in paths.items())


def numbers_of(link, names):
    """The data from which the page's script draws a detour."""
    return [link.port, link.plane, names.setdefault(link.to, len(names)), int(link.usable),
            *link.up, *link.down]


def draw_map(table, links):
    """{rows, planes, height, first, last, pictures, legend, failed, data}; None without planes."""
    planes = len(table["planes"])
    rows = [(i, [link for link in ups if link.plane is not None]) for i, ups in links.items()]
    rows = [(i, ups) for i, ups in rows if ups]
    if not rows or not planes:
        return None
    cells = cells_of(rows, planes)
    scale, names = Scale(cells), {}
    drawn = [draw_cells(cells, scale, when) for when in (0, 1)]
    data = [[label_of(table["switches"][i]), [numbers_of(link, names) for link in ups]]
            for i, ups in rows]
    return {"rows": len(rows), "planes": planes,
            "pictures": list(zip(("before", "after"), scale.captions(), drawn)),
            "height": max(min((24 if len(rows) <= 18 else 14) * len(rows), 504), len(rows)),
            "first": data[0][0], "last": data[-1][0], "legend": scale.legend(),
            "failed": any(not cell[2] for row in cells for cell in row if cell),
            "data": {"names": [label_of(table["switches"][i]) for i in names], "rows": data}}


def describe_one(table, whatif):
    """{tree, map} of a table; `whatif`: the same failure's, or None."""
    links = links_of(table)
    cut_off = set(whatif["cut_off"]) if whatif else set()
    return {"tree": draw_tree(table, links, cut_off), "map": draw_map(table, links),
            "failed": ", ".join(table["failed"]),
            "rewritten": sum(1 for switch in table["switches"] if switch["blocks"])}
