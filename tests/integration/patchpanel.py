# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Switches with the files of a plan, cabled at will, and where each frame is to be received.

Each port of a switch is a veth. Its other end is a device of a panel, where a frame for the port is
sent; a cable is a bridge without VLANs between two of these devices, and a hub one between more.
walk() follows frames by `switches.json`: a switch must receive no other frame.
"""

import collections
import itertools
import json
import pathlib
import re
from typing import NamedTuple

import ethlab
import pmlab

UNKNOWN, BROADCAST, MULTICAST = "02:00:00:00:ee:ee", ethlab.BROADCAST, "01:00:5e:01:02:03"
SOURCE = "02:00:00:00:dd:dd"
C_TAG, S_TAG = 0x8100, 0x88A8
PANEL = "p-"  # before the names of its devices
MANY = 64  # switches that a frame passes in none of the networks here, unless it circles

# Cables of make_plan()'s switches: the right ones; beside them, those at ports for which the plan
# has none, but for a host's, leaf0's 2; and the ports to which frames are sent then.
RIGHT = [{("leaf0", 3), ("spine0", 1)}, {("leaf0", 4), ("spine1", 1)},
         {("leaf1", 3), ("spine0", 2)}, {("leaf1", 4), ("spine1", 2)}]
UNPLANNED = [{("leaf0", 5), ("leaf0", 6)},
             {("leaf0", 7), ("leaf1", 7)}, {("leaf0", 8), ("leaf1", 8)},
             {("leaf1", 10), ("spine0", 3)}, {("leaf0", 11), ("spine0", 4)},
             {("leaf0", 2), ("leaf1", 11)},
             {("leaf0", 9), ("leaf0", 10), ("leaf1", 9)}]  # over a hub
PLACES = [("leaf0", 6), ("leaf1", 7), ("spine0", 4), ("leaf1", 11), ("leaf0", 9), ("leaf0", 12),
          ("leaf0", 1), ("leaf0", 2), ("leaf1", 3), ("spine0", 1)]
# {fault: (missing cables, cables in their place, VLANs that circle)}
WRONG = {"two hosts of a leaf": ([], [{("leaf0", 1), ("leaf0", 2)}], {101, 102}),
         "hosts of two leaves": ([], [{("leaf0", 1), ("leaf1", 1)}], {101, 102}),
         "two lower ports of a spine": (RIGHT[::2], [{("spine0", 1), ("spine0", 2)}], {101}),
         "lower ports of two spines": ([RIGHT[0], RIGHT[3]], [{("spine0", 1), ("spine1", 2)}],
                                       set()),
         "a leaf's uplinks, swapped": (RIGHT[:2], [{("leaf0", 3), ("spine1", 1)},
                                                   {("leaf0", 4), ("spine0", 1)}], set()),
         "a leaf's uplinks, joined": (RIGHT[:2], [{("leaf0", 3), ("leaf0", 4)}], set()),
         "uplinks of two leaves": (RIGHT[::2], [{("leaf0", 3), ("leaf1", 3)}], set()),
         "an uplink at its leaf's host": (RIGHT[:1], [{("leaf0", 3), ("leaf0", 1)}], {101}),
         "an uplink at another leaf's host": (RIGHT[1:2], [{("leaf0", 4), ("leaf1", 1)}], set())}


class Circles(Exception):
    """A frame comes to a switch again and again."""


def make_plan(folder, *options):
    """Two leaves with two hosts below two spines, and unplanned ports; (netlist, folder)."""
    netlist = pmlab.generate(folder / "net", "two-level", 2, 2, 2, 1)
    text = netlist.read_text(encoding="ascii")
    text = re.sub(r'(Switch\s+)4(\s+"leaf)', r"\g<1>12\2", text)
    text = re.sub(r'(Switch\s+)2(\s+"spine)', r"\g<1>4\2", text)
    netlist.write_text(text, encoding="ascii")
    return netlist, ethlab.plan(netlist, folder / "plan", *options)


class Port(NamedTuple):
    """VLANs of a switch's port, as `switches.json` has them."""
    untagged: int  # or None
    tagged: frozenset

    def has(self, vlan):
        return vlan == self.untagged or vlan in self.tagged


def read_switches(path):
    """{switch: {its port's number: Port}}."""
    switches = json.loads(pathlib.Path(path).read_text(encoding="ascii"))["switches"]
    return {switch["name"]: {port["port"]: Port(port["untagged"], frozenset(
        vlan for run in filter(None, port["tagged"].split(","))
        for first, _, last in [run.partition("-")]
        for vlan in range(int(first), int(last or first) + 1))) for port in switch["ports"]}
            for switch in switches}


# ---------------------------------------------------------------------------- frames

def frame(tags=(), to=BROADCAST):
    """Of the least length, with tags: (type, VLAN), the outer one first."""
    head = ethlab.bytes_of(to) + ethlab.bytes_of(SOURCE)
    head += b"".join(kind.to_bytes(2, "big") + vlan.to_bytes(2, "big") for kind, vlan in tags)
    return (head + ethlab.OURS.to_bytes(2, "big")).ljust(60, b"\0")


def every_tag(vlans):
    """[(tags, destination)]: none, each of 4,096, and two tags, of both types."""
    found = [((), to) for to in (BROADCAST, UNKNOWN, MULTICAST)]
    for vlan in range(4096):
        found += [(((C_TAG, vlan),), BROADCAST), (((S_TAG, vlan),), BROADCAST)]
        inner = vlans[vlan % len(vlans)]
        found += [(((C_TAG, vlan), (C_TAG, 4095)), BROADCAST),
                  (((S_TAG, vlan), (C_TAG, inner)), BROADCAST),
                  (((C_TAG, 0 if vlan % 2 else 4095), (C_TAG, vlan)), BROADCAST)]
    found += [(((C_TAG, vlan),), to) for vlan in (0, 1, 4094, 4095, *vlans)
              for to in (UNKNOWN, MULTICAST)]
    return found


# ------------------------------------------------------------------ expected frames

def find_vlan(port, tags, outer):
    """(VLAN or None, tags that stay) of a frame at a port that takes tags of type `outer`."""
    if tags and tags[0][0] in outer:
        if tags[0][1]:
            return (tags[0][1] if port.has(tags[0][1]) else None), tags[1:]
        tags = tags[1:]
    return port.untagged, tags


def panel_device(end):
    """The device of the panel for a switch's port."""
    return PANEL + ethlab.device_name(*end)


def walk(switches, cables, end, tags, outer):
    """{device: how often it receives a frame} that is sent to a port; Circles.

    The device is a port's, or that of the panel, for what the port sends.

    cables   sets of (switch, port); outer   types of tags that switches look at
    """
    found = collections.Counter()
    border = [(end, tuple(tags))]
    while border:
        (switch, number), tags = border.pop()
        found[ethlab.device_name(switch, number)] += 1
        if found[ethlab.device_name(switch, number)] > MANY:
            raise Circles(end)
        vlan, inner = find_vlan(switches[switch][number], tags, outer)
        for other, port in switches[switch].items() if vlan else ():
            if other != number and port.has(vlan):
                found[panel_device((switch, other))] += 1
                sent = inner if vlan == port.untagged else ((C_TAG, vlan), *inner)
                border += [(far, sent) for cable in cables if (switch, other) in cable
                           for far in cable if far != (switch, other)]
    return found


# -------------------------------------------------------------------------- the panel

class Panel:
    """The actions of tests on a panel; a subclass for a kind of switch has ip() and send()."""

    def __init__(self, plan):
        self.switches = read_switches(plan / "switches.json")
        self.vlans = sorted({vlan for ports in self.switches.values() for port in ports.values()
                             for vlan in port.tagged})
        self.ends = [(switch, port) for switch, ports in self.switches.items() for port in ports]
        self.cables = []

    def connect(self, cables):
        """Plugs these cables and no others."""
        lines = [f"link del c{i}" for i in range(len(self.cables))]
        for i, cable in enumerate(cables):
            lines += [f"link add c{i} type bridge ageing_time 0 mcast_snooping 0"]
            lines += [f"link set {panel_device(end)} master c{i}" for end in cable]
            lines += [f"link set c{i} up"]
        self.ip(lines)
        self.cables = cables

    def cut(self):
        self.ip([f"link set c{i} down" for i in range(len(self.cables))])

    def counts(self):
        """Frames that each device of switches and panel has received, as in walk()'s result."""
        found = self.received()
        return collections.Counter({name: found[name] for end in self.ends
                                    for name in (ethlab.device_name(*end), panel_device(end))})

    def ip(self, lines):
        """Has `ip -batch` run lines where the panel is."""
        raise NotImplementedError

    def received(self):
        """ethlab.received() where the switches are."""
        raise NotImplementedError

    def expected(self, end, tags, outer):
        return walk(self.switches, self.cables, end, tags, outer)

    def tags(self, end, vlan):
        """The tags of a frame in a VLAN of a port, on its cable."""
        switch, number = end
        return () if self.switches[switch][number].untagged == vlan else ((C_TAG, vlan),)

    def circling(self, outer):
        """{VLAN: a port}: where a frame of the port's VLAN would circle."""
        found = {}
        for vlan, end in itertools.product(self.vlans, self.ends):
            try:
                self.expected(end, self.tags(end, vlan), outer)
            except Circles:
                found.setdefault(vlan, end)
        return found
