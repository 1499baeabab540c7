# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tree of `portmajor table --json`: hosts cut off by a failure, and their drawing."""

import collections
import math
import statistics

from .words import label_of


class Tree:
    """Sets of switches are integers, a bit for each switch with hosts."""

    def __init__(self, table):
        self.switches = table["switches"]
        self.index = {switch["guid"]: i for i, switch in enumerate(self.switches)}
        self.hosts = [switch.get("host_names", []) for switch in self.switches]
        self.with_hosts = [i for i, switch in enumerate(self.switches) if switch["hosts"]]
        self.total = sum(map(len, self.hosts))
        self.named = self.total == sum(len(switch["hosts"]) for switch in self.switches)
        self.upward = sorted((i for i, s in enumerate(self.switches) if s["level"] >= 0),
                             key=lambda i: self.switches[i]["level"])
        self.ways = {way: [[(p["port"], p["to"]) for p in switch["ports"]
                            if p["direction"] == way] for switch in self.switches]
                     for way in ("up", "down")}

    def hosts_of(self, guid):
        """Names of a switch's hosts."""
        return set(self.hosts[self.index[guid]])

    def cut_off(self, switches, cables, pairs_cut):
        """Names of hosts that reach fewer than half of all hosts without these, or None if unknown.
        `cables` are (GUID, port) of both ends."""
        if not self.named or not self.total:
            return None
        failed = {self.index[guid] for guid in switches if guid in self.index}
        gone = {(self.index[guid], port) for guid, port in cables}
        return self.cut_alone(failed, gone, pairs_cut) or self.cut_at_all(failed, gone)

    def cut_alone(self, failed, gone, pairs_cut):
        """The hosts of a leaf that failed or has no cable left, if they account for all pairs."""
        low = min(failed or {i for i, _ in gone}, key=lambda i: self.switches[i]["level"])
        here = len(self.hosts[low])
        there = 2 * here * (self.total - here)
        if failed:
            return self.hosts[low] if pairs_cut == there + here * (here - 1) else None
        alone = all((low, port) in gone for port, _ in self.ways["up"][low])
        return self.hosts[low] if alone and pairs_cut == there else None

    def cut_at_all(self, failed, gone):
        reach = self.reach(failed, gone)
        sizes = collections.Counter(reach[i] for i in self.with_hosts)
        reached = {mask: sum(len(self.hosts[i]) for i in self.with_hosts if mask >> i & 1)
                   for mask in sizes}
        return [name for i in self.with_hosts if 2 * reached[reach[i]] < self.total
                for name in self.hosts[i]]

    def reach(self, failed, gone):
        """The switches with hosts that an up-then-down path leads to, from each."""
        below, reach = [0] * len(self.switches), [0] * len(self.switches)
        for i in self.upward:
            if i not in failed:
                below[i] = 1 << i if self.hosts[i] else 0
                for port, to in self.ways["down"][i]:
                    if (i, port) not in gone:
                        below[i] |= below[to]
        for i in reversed(self.upward):
            if i not in failed:
                reach[i] = below[i]
                for port, to in self.ways["up"][i]:
                    if (i, port) not in gone:
                        reach[i] |= reach[to]
        return reach


class Usual:
    """The usual cost of a part's failure, by its kind: no colour up to half more."""

    def __init__(self, failures):
        costs = collections.defaultdict(list)
        for failure in failures:
            costs[failure["kind"]].append(failure["blocks"])
        self.usual = {kind: statistics.median_high(blocks) for kind, blocks in costs.items()}
        self.worst = max(map(self.excess, failures), default=0)

    def excess(self, failure):
        usual = self.usual[failure["kind"]] if failure else 0
        return failure["blocks"] - usual if failure and failure["blocks"] > 1.5 * usual else 0

    def shade(self, failure):
        """The strength of the colour, by the square root: so small differences are visible, too."""
        more = self.excess(failure)
        return round(0.15 + 0.85 * math.sqrt(more / self.worst), 2) if more else 0.0


def name_level(level):
    return "leaves" if level == 0 else "no level" if level < 0 else f"level {level}"


def links_above(switch, costs):
    """The failures of the links that lead up."""
    keys = [f"{switch['guid']}:{port['port']}" for port in switch["ports"]
            if port["direction"] == "up"]
    return [costs[key] for key in keys if key in costs]


def cuts_link(switch, costs):
    return any(cuts(costs.get(f"{switch['guid']}:{port['port']}")) for port in switch["ports"])


def cuts(failure):
    """Whether it cuts off more than its own hosts."""
    return bool(failure and failure["pairs_cut"] and not failure["own"])


def describe_cell(switch, costs, usual):
    own, above = costs.get(switch["guid"]), links_above(switch, costs)
    told = [f"its failure costs {own['blocks']:,} blocks"] if own else []
    told += [f"that of a link up at most {max(row['blocks'] for row in above):,}"] if above else []
    marks = (("cut", cuts(own)), ("thread", cuts_link(switch, costs)))
    return {"name": label_of(switch), "told": "; ".join(told) or "not tried", "tried": bool(own),
            "own": usual.shade(own), "above": max(map(usual.shade, above), default=0.0),
            "marks": " ".join(name for name, holds in marks if holds)}


def describe_tree(table, failures):
    """Cells by level, the highest first: {levels, coloured, cut, thread}."""
    costs = {key: failure for failure in failures for key in failure["keys"]}
    usual = Usual(list(costs.values()))
    levels = collections.defaultdict(list)
    for switch in table["switches"]:
        levels[switch["level"]].append(describe_cell(switch, costs, usual))
    cells = [cell for level in levels.values() for cell in level]
    return {"coloured": any(cell["own"] or cell["above"] for cell in cells),
            "cut": any("cut" in cell["marks"].split() for cell in cells),
            "thread": any("thread" in cell["marks"].split() for cell in cells),
            "levels": [{"name": name_level(level), "cells": levels[level]}
                       for level in sorted(levels, reverse=True)]}
