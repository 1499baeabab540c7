# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The fabrics of sim-topologies/real, and the parts that fail in tests and tables."""

import collections
import lzma
import re

import pmlab
import simlab

FOLDER = pmlab.TOPOLOGIES / "real"

# Targets are simlab's. None belongs to a host or a leaf beside the subnet manager's, which is the
# first host of the file.
Real = collections.namedtuple("Real", "name title targets")

PSMN = Real("psmn-qdr", "psmn, QDR", ("sw05", "sw07:13", "sw01:16", "h12"))
NDR_POD = Real("ndr-pod", "NDR pod", ("sw25", "sw06:45", "n075-3", "sw06:65", "sw25:65"))
STORAGE = Real("selene-storage", "Selene storage",
               ("sw099", "sw078", "sw009:25", "sw099:21", "n453-2"))
DIRECTOR = Real("director-cs8500", "CS8500 directors",
                ("sw111", "sw342", "sw099:21", "sw111:30", "n272-1"))
COMPUTE = Real("selene-compute", "Selene compute",
               ("sw310", "sw518", "sw034:21", "sw310:20", "n240-5", "sw034:41", "sw518:41"))
ALL = (PSMN, NDR_POD, STORAGE, DIRECTOR, COMPUTE)


def text(real):
    """The netlist as it is in the tree."""
    path = FOLDER / f"{real.name}.net"
    return (path.read_text(encoding="ascii") if path.exists()
            else lzma.open(f"{path}.xz", "rt", encoding="ascii").read())


def unpack(real, path):
    """Writes the netlist; returns its path."""
    path.write_text(text(real), encoding="ascii")
    return path


def write(real, path):
    """The same without descriptions: aggregation nodes, which all have the same name, are then
    recognised by their device ID alone, as judges go by names."""
    path.write_text(re.sub(r"^(Ca\t.*?)\t#.*$", r"\1", text(real), flags=re.M), encoding="ascii")
    return path


def is_end(netlist, target):
    """Whether a target is an end node or its link."""
    name, colon, port = target.rpartition(":")
    if not colon:
        return target in netlist.hosts
    return netlist.nodes[name].ports[int(port)][0] in netlist.hosts


def _distances(start, neighbours):
    """{switch: links to the nearest of some switches}."""
    distance = {name: 0 for name in start}
    todo = list(distance)
    for at in todo:
        new = [peer for peer in neighbours(at) if peer not in distance]
        distance.update((peer, distance[at] + 1) for peer in new)
        todo += dict.fromkeys(new)
    return distance


def levels(real, netlist):
    """{switch: level}: links to the nearest switch with hosts, where a few management machines, or
    an aggregation node, make no leaf.

    In Selene's compute fabric, where some management machines are two switches below a
    leaf, from the cores down.
    """
    netlist = netlist if isinstance(netlist, simlab.Netlist) else simlab.Netlist(netlist)
    switches = set(netlist.switches)

    def ends(name):
        return [peer for peer, _ in netlist.nodes[name].ports.values() if peer not in switches]

    def neighbours(name):
        return [peer for peer, _ in netlist.nodes[name].ports.values() if peer in switches]

    level = _distances([name for name in netlist.switches
                        if sum(bool(re.match(r"(n|h|io)\d", end)) for end in ends(name)) > 1],
                       neighbours)
    if real is not COMPUTE:
        return level
    cores = [name for name in netlist.switches if level[name] == 2
             and all(end.startswith("agg") for end in ends(name))]
    depth = _distances(cores, neighbours)
    return {name: max(depth.values()) - depth[name] for name in depth}
