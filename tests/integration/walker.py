# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Follows forwarding tables read back from simulated switches, in Python alone.

    found = walker.walk(dump, levels)      # what ibsim's Dump printed, {switch: level}
    print(found.missing, found.loops)

Knows nothing of plans. The pairs that a path up and then down joins are found from the links in the
same Dump and from the levels that the caller gives.
"""

import collections
import pathlib
import re

import pmlab

DEAD, LOOP = -1, -2  # instead of a switch: the end of a LID's packets from there

_NODE = re.compile(r'^\S+ \d+ "([^"]+)"\s.*nodeguid', re.M)
_LINK = re.compile(r'^[0-9a-f]+\t\[(\d+)\]\t"([^"]+)"\[(\d+)\]', re.M)
_ENTRY = re.compile(r"\[(\d+)\]([0-9A-Fa-f]+)")

AGGREGATION = "agg"  # the beginning of aggregation nodes' names


def kind(name):
    """A for an aggregation node, H for other end nodes."""
    return "A" if name.startswith(AGGREGATION) else "H"


class Walked:
    """What was found. Pairs are ordered, of end nodes that are up; keys are "H>A" and so on.

    pairs      all of them
    joined     those that a path up and then down joins
    delivered  those with packets that arrive
    missing    [(from, to)] joined and not delivered, and the first ten of these alone
    missed     how many these are
    loops      [(switch, LID)] from where packets circle, of any LID with an entry
    """

    def __init__(self):
        self.pairs, self.joined = collections.Counter(), collections.Counter()
        self.delivered, self.missed = collections.Counter(), collections.Counter()
        self.missing, self.loops = [], []

    def apart(self, key):
        """Pairs that are not delivered, with a path up and then down or without."""
        return self.pairs[key] - self.delivered[key]

    def __str__(self):
        return "; ".join(f"{key} {self.delivered[key]} of {self.pairs[key]}, joined "
                         f"{self.joined[key]}" for key in sorted(self.pairs))


class Fabric:
    """Links that are up, LIDs and tables of a Dump; switches by number."""

    def __init__(self, dump):
        text = pathlib.Path(dump).read_text(encoding="ascii", errors="replace")
        self.dump = pmlab.Dump(dump)
        self.names = list(self.dump.tables)
        self.number = {name: i for i, name in enumerate(self.names)}
        self.peers = [{} for _ in self.names]  # port: switch number, or end node's name
        self.leaf = {}  # end node: the number of its switch
        _, *parts = _NODE.split(text)
        for name, ports in zip(parts[::2], parts[1::2]):
            if name not in self.number:
                continue
            for port, peer, _ in _LINK.findall(ports):
                if int(port):
                    self.peers[self.number[name]][int(port)] = self.number.get(peer, peer)
                    if peer not in self.number:
                        self.leaf[peer] = self.number[name]
        self.tables = [self.dump.table(name) for name in self.names]

    def joined(self, levels):
        """[switch]: a number with a bit for each switch that a path up, then down leads to."""
        level = [levels.get(name, 0) for name in self.names]
        order = sorted(range(len(self.names)), key=level.__getitem__)
        down, both = [1 << i for i in range(len(order))], [0] * len(order)
        for at in order:
            for peer in self.peers[at].values():
                if isinstance(peer, int) and level[peer] < level[at]:
                    down[at] |= down[peer]
        for at in reversed(order):
            both[at] |= down[at]
            for peer in self.peers[at].values():
                if isinstance(peer, int) and level[peer] > level[at]:
                    both[at] |= both[peer]
        return both

    def ends(self, lid):
        """[switch]: the end node or switch number at the end of its packets to a LID, or DEAD or
        LOOP."""
        found = [None] * len(self.names)
        for start in range(len(found)):
            path, at = [], start
            while found[at] is None:
                found[at] = LOOP  # if this walk comes back here
                path.append(at)
                port = self.tables[at].get(lid, 255)
                peer = at if port == 0 else self.peers[at].get(port, DEAD)
                if port == 0 or peer == DEAD or isinstance(peer, str):
                    found[at] = peer
                    break
                at = peer
            for step in path:
                found[step] = found[at]
        return found


def apart(dump, levels):
    """A function that says of two (node, port) whether no path up and then down joins them."""
    fabric = Fabric(dump)
    joined = fabric.joined(levels)

    def place(name):
        return fabric.number[name] if name in fabric.number else fabric.leaf[name]

    return lambda a, b: not joined[place(a[0])] >> place(b[0]) & 1


def walk(dump, levels):
    """Every pair of end nodes, and every LID with an entry in a switch; a Walked."""
    fabric, walked = Fabric(dump), Walked()
    joined = fabric.joined(levels)
    sources = collections.defaultdict(collections.Counter)  # switch: kinds of its end nodes
    for name, switch in fabric.leaf.items():
        sources[switch][kind(name)] += 1
    owner = {fabric.dump.lids[name]: name for name in fabric.leaf if name in fabric.dump.lids}
    for lid in sorted(set().union(*fabric.tables) | set(owner)):
        ends = fabric.ends(lid)
        walked.loops += [(fabric.names[i], lid) for i, end in enumerate(ends) if end == LOOP]
        if lid in owner:
            _count(walked, fabric, sources, joined, ends, owner[lid])
    return walked


def _count(walked, fabric, sources, joined, ends, name):
    """The pairs that end at one end node."""
    leaf = fabric.leaf[name]
    for switch, kinds in sources.items():
        for source, count in kinds.items():
            key = f"{source}>{kind(name)}"
            count -= switch == leaf and source == kind(name)  # itself
            walked.pairs[key] += count
            if ends[switch] == name:
                walked.delivered[key] += count
            if joined[switch] >> leaf & 1:
                walked.joined[key] += count
                if ends[switch] != name and count:
                    walked.missed[key] += count
                    if len(walked.missing) < 10:
                        walked.missing.append((fabric.names[switch], name))
