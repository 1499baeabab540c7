# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tree of `portmajor table --json`: hosts cut off by a failure, and their drawing."""

import collections
import math

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

    def cut_off(self, switches, cables, pairs_cut):
        """Names of hosts that reach fewer than half of all hosts without these, or None if
        nobody knows. `cables` are (GUID, port) of both ends."""
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


def shade(cost, worst):
    """How strong the colour is, by the square root: the cheap ones differ, too."""
    return 0.0 if not cost else round(0.15 + 0.85 * math.sqrt(cost / worst), 2)


def name_level(level):
    return "leaves" if level == 0 else "no level" if level < 0 else f"level {level}"


def cables_above(switch, costs):
    """The highest cost of those that lead up, or None."""
    keys = [f"{switch['guid']}:{port['port']}" for port in switch["ports"]
            if port["direction"] == "up"]
    return max((costs[key]["blocks"] for key in keys if key in costs), default=None)


def cuts_cable(switch, costs):
    return any(cuts(costs.get(f"{switch['guid']}:{port['port']}")) for port in switch["ports"])


def cuts(failure):
    return bool(failure and failure["pairs_cut"])


def describe_tree(table, failures):
    """Cells by level, the highest first: {levels, worst}."""
    costs = {key: failure for failure in failures for key in failure["keys"]}
    worst = max((failure["blocks"] for failure in costs.values()), default=0)
    levels = collections.defaultdict(list)
    for switch in table["switches"]:
        own, above = costs.get(switch["guid"]), cables_above(switch, costs)
        told = [f"failed, {own['blocks']:,} blocks"] if own else []
        told += [f"a cable up: at most {above:,} blocks"] if above is not None else []
        told += [f"{switch['blocks']:,} blocks of its own rewritten"]
        marks = (("cut", cuts(own)), ("thread", cuts_cable(switch, costs)),
                 ("new", switch["blocks"]),
                 ("gone", switch["ports"] and not any(p["usable"] for p in switch["ports"])))
        levels[switch["level"]].append({
            "name": label_of(switch), "told": "; ".join(told), "tried": bool(own),
            "own": shade(own["blocks"], worst) if own else 0.0, "above": shade(above, worst),
            "marks": " ".join(name for name, holds in marks if holds)})
    return {"worst": worst, "levels": [{"name": name_level(level), "cells": levels[level]}
                                       for level in sorted(levels, reverse=True)]}
