# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A wire between OpenSM and ibsim that fails as real ones do; libwire.so does the work.

    wire = Wire(seed=7)
    with Fabric("x.net") as fabric, OpenSM(fabric, engine="updn", wire=wire) as osm:
        osm.settle()
        lost = wire.drop("answer", node="leaf3", method="set", attr=ATTR_LFT, times=1)
        ...
        print(lost.acted, wire.timed_out)

Without any rule it behaves like a wire already: an SMP to a dead node comes back after
transaction_timeout x (1 + retries), each retry being a transmission of its own. Rules may come and
go at any time. wire.h has the effect of each.

Ports behave like real ones, not like ibsim's: they remember set values, check M_Keys, refuse
invalid values, turn ACTIVE by a packet, can be told to reregister, and lose all values in a reboot
(Fabric.clear). `wire.ports` has their state; wires on one fabric share it, and a program without a
wire sees ibsim's.

Conditions of a rule, all optional:
node       a node's name in the netlist, or guid, its GUID. The first question that goes
           over a cable has no name yet; its answer has
method     "get" or "set"; of an answer, the question's
attr       an attribute id, e.g. simlab.ATTR_LFT
modifier   the attribute's modifier (LFT block, port), or the first and last of a range
chance     0 to 1
skip       so many that match pass first
times      then so many are acted on (default: all)
"""

import ctypes
import mmap
import os
import pathlib
import random
import re
import tempfile
import weakref

import simlab

GET, SET = 1, 2
EVENTS = ("asked", "answered", "timed_out", "trapped", "applied", "state")


class _Layout(ctypes.Structure):
    """Fields that are named in a string: u8* are arrays of 8."""

    @staticmethod
    def fields(**types):
        return [(name, kind) for kind, names in
                ((getattr(ctypes, f"c_{k}"), v) for k, v in types.items())
                for name in names.split()]


class _RuleLayout(_Layout):
    _fields_ = _Layout.fields(
        uint64="guid skip times matches acted",
        uint32="on way action method attr first_modifier last_modifier chance delay_ms "
               "offset length reserved") + [("value", ctypes.c_uint8 * 8),
                                            ("mask", ctypes.c_uint8 * 8)]


class _FileLayout(_Layout):
    RULES, STORM_LIDS = 128, 64
    COUNTERS = "transmissions again timed_out returned surplus held".split()
    _fields_ = ([("magic", ctypes.c_uint32), ("version", ctypes.c_uint32)]
                + _Layout.fields(uint64="seed " + " ".join(COUNTERS)
                                 + " released storm storm_done")
                + [("storm_lid", ctypes.c_uint16 * STORM_LIDS)]
                + _Layout.fields(uint32="storm_lids num_rules")
                + [("rules", _RuleLayout * RULES)])


class Record(_Layout):
    """One record of the trace; see struct wire_record."""
    _fields_ = _Layout.fields(uint64="ns cpu_ns guid", uint32="tid modifier",
                              uint16="attr status transmissions",
                              uint8="event_number method hops plugin") + [
        ("reserved", ctypes.c_uint8 * 6), ("data", ctypes.c_uint8 * 64)]

    event = property(lambda self: EVENTS[self.event_number])

    def __repr__(self):
        return (f"<{self.ns / 1e9:.6f} {self.event} {'- get set'.split()[self.method % 3]} "
                f"{self.attr:#x}[{self.modifier}] guid {self.guid:#x} hops {self.hops} "
                f"tid {self.tid:#x} after {self.transmissions}>")


class _PortLayout(_Layout):
    """See struct truth_port."""
    _fields_ = (_Layout.fields(uint64="guid lease_ends", uint32="port reregistered refused",
                               uint8="ahead rebooted due reserved",
                               uint16="lft_blocks mft_blocks mft_positions p_key_blocks")
                + [("set", ctypes.c_uint8 * 64), ("value", ctypes.c_uint8 * 64)])


class _PortsLayout(_Layout):
    """See struct truth."""
    PORTS, INDEX, REBOOTS = 0x80000, 0x100000, 1024
    COUNTERS = "wrong_m_keys invalid_values woken wiped".split()
    _fields_ = (_Layout.fields(uint32="magic version")
                + [("lock", ctypes.c_uint64 * 8)]
                + _Layout.fields(uint64=" ".join(COUNTERS),
                                 uint32="packets reboots reboots_done num_ports")
                + [("reboot", ctypes.c_uint64 * REBOOTS), ("index", ctypes.c_uint32 * INDEX),
                   ("ports", _PortLayout * PORTS)])


assert ctypes.sizeof(_RuleLayout) == 104 and ctypes.sizeof(Record) == 112
assert ctypes.sizeof(_PortLayout) == 168 and _PortsLayout.reboot.offset == 120


def _temporary():
    return tempfile.NamedTemporaryFile(prefix="simlab-wire-", dir=os.environ.get("SIMLAB_DIR"))


class Ports:
    """The state of a fabric's ports, shared by its wires; wire_truth.h has their behaviour.

    wrong_m_keys, invalid_values, woken, wiped are counters.
    """

    def __init__(self, fabric):
        self.fabric = weakref.proxy(fabric)  # which has these
        self._file = _temporary()
        os.truncate(self._file.name, ctypes.sizeof(_PortsLayout))
        self._map = mmap.mmap(self._file.fileno(), ctypes.sizeof(_PortsLayout))
        self._ports = _PortsLayout.from_buffer(self._map)
        self.path = self._file.name
        self.packets = 0.5

    def __getattr__(self, name):
        if name in _PortsLayout.COUNTERS:
            return getattr(self._ports, name)
        raise AttributeError(name)

    @property
    def packets(self):
        """The share of links that carry a packet as soon as one end is ACTIVE."""
        return self._ports.packets / 1e6

    @packets.setter
    def packets(self, share):
        self._ports.packets = round(share * 1e6)

    def reboot(self, node):
        """A node forgets everything before its next SMP; the caller handles its links."""
        number = self._ports.reboots
        self._ports.reboot[number % _PortsLayout.REBOOTS] = self.fabric.guid(node)
        self._ports.reboots = number + 1

    def __call__(self, node, port=1):
        """The state of a port, e.g. .reregistered; port 0 of a switch is its own. None: unknown."""
        guid = self.fabric.guid(node)
        return next((p for p in self._ports.ports[:self._ports.num_ports]
                     if (p.guid, p.port) == (guid, port)), None)


class Rule:
    """A rule in force. The end of `with` removes it."""

    def __init__(self, slot):
        self._slot = slot

    matches = property(lambda self: self._slot.matches)  # met conditions and chance
    acted = property(lambda self: self._slot.acted)

    def off(self):
        self._slot.on = 0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.off()


class Wire:
    """One OpenSM's wire.

    fabric of the nodes in rules (default: the one that OpenSM is attached to)
    seed     of the chances (default: a new one; see .seed, and print it)
    trace    records() can be had
    truth    False: ports are ibsim's (default: TRUTH)
    packets  the share of links that carry a packet as soon as one end is ACTIVE: the other
             end then turns ACTIVE by itself (default: half of them)
    """

    TRUTH = True
    WAYS = ("request", "answer", "trap")
    ACTIONS = ("drop", "delay", "twice", "alter", "fake", "stale", "hold", "keep")

    def __init__(self, fabric=None, seed=None, trace=False, truth=None, packets=None):
        self.fabric = fabric
        self.seed = random.getrandbits(32) if seed is None else seed
        self._guids = {}
        self._truth = self.TRUTH if truth is None else truth
        self._packets = packets
        self._file = _temporary()
        self._trace = _temporary() if trace else None
        self._read_to = 0
        os.truncate(self._file.name, ctypes.sizeof(_FileLayout))
        self._map = mmap.mmap(self._file.fileno(), ctypes.sizeof(_FileLayout))
        self._wire = _FileLayout.from_buffer(self._map)
        self._wire.seed = self.seed

    def __getattr__(self, name):
        if name in _FileLayout.COUNTERS:
            return getattr(self._wire, name)
        raise AttributeError(name)

    @staticmethod
    def library():
        """The path of libwire.so: beside libmadcount.so."""
        return str(pathlib.Path(simlab.find_madcount()).with_name("libwire.so"))

    @property
    def ports(self):
        """The ports of the fabric, once an OpenSM with a wire was attached to it."""
        return self.fabric.ports

    def environment(self):
        env = {"WIRE_FILE": self._file.name}
        if self._truth:
            if not self.fabric.ports:
                self.fabric.ports = Ports(self.fabric)
            if self._packets is not None:
                self.ports.packets = self._packets
            env["WIRE_PORTS"] = self.ports.path
        return {**env, "WIRE_TRACE": self._trace.name} if self._trace else env

    # ---- rules

    def guid(self, node):
        """A node's GUID, as given by ibsim."""
        if node not in self._guids:
            self._guids = {name: int(guid, 16) for name, guid in
                           re.findall(r'^\S+ \d+ "([^"]+)"\s+nodeguid (\w+)',
                                      self.fabric.dump(), re.M)}
        return self._guids[node]

    def _free_slot(self):
        for i in range(self._wire.num_rules):
            if not self._wire.rules[i].on:
                return self._wire.rules[i]
        self._wire.num_rules += 1  # it is not on yet
        return self._wire.rules[self._wire.num_rules - 1]

    def rule(self, action, way, node=None, guid=0, method=None, attr=0, modifier=None,
             chance=1.0, skip=0, times=0, **extra):
        """Adds a rule; prefer drop() and so on. Returns a Rule."""
        first, last = (modifier if isinstance(modifier, tuple) else
                       (0, 2**32 - 1) if modifier is None else (modifier, modifier))
        slot = self._free_slot()
        fields = {"guid": self.guid(node) if node else guid, "skip": skip, "times": times,
                  "matches": 0, "acted": 0, "way": self.WAYS.index(way),
                  "action": self.ACTIONS.index(action), "attr": attr,
                  "method": {None: 0, "get": GET, "set": SET}[method],
                  "first_modifier": first, "last_modifier": last,
                  "chance": round(chance * 1e6), "delay_ms": 0, "offset": 0, "length": 0,
                  **extra}
        for name, value in fields.items():
            setattr(slot, name, value)
        slot.on = 1
        return Rule(slot)

    def drop(self, way, **when):
        return self.rule("drop", way, **when)

    def delay(self, way, delay_ms, **when):
        return self.rule("delay", way, delay_ms=delay_ms, **when)

    def twice(self, way, **when):
        """Sends a request, or delivers a trap, twice."""
        return self.rule("twice", way, **when)

    def alter(self, way, offset, value, mask=None, **when):
        """Puts bytes, or the bits of them that mask has, at an offset of the SMP's data."""
        mask = b"\xff" * len(value) if mask is None else mask
        return self.rule("alter", way, offset=offset, length=len(value),
                         value=(ctypes.c_uint8 * 8)(*value),
                         mask=(ctypes.c_uint8 * 8)(*mask), **when)

    def keep(self, offset, value, **when):
        """Nodes have a field that the simulator lacks: at first it has this value."""
        return self.rule("keep", "answer", offset=offset, length=len(value),
                         value=(ctypes.c_uint8 * 8)(*value), **when)

    def fake(self, **when):
        """Sets are acknowledged and change nothing."""
        return self.rule("fake", "request", **when)

    def stale(self, **when):
        """Sets are acknowledged with the node's former values, and change nothing."""
        return self.rule("stale", "request", **when)

    def hold(self, way, **when):
        """Everything stops before a datagram of this kind; see wait_held()."""
        return self.rule("hold", way, **when)

    def clear(self):
        """Removes all rules."""
        for i in range(self._wire.num_rules):
            self._wire.rules[i].on = 0

    def wait_held(self, timeout=60):
        """Waits for a rule of hold(). Then the console of ibsim may be used, opensm be killed,
        rules be changed; release() lets the datagram pass."""
        simlab.poll_until(lambda: self._wire.held > self._wire.released, timeout,
                          "the wire to be held")

    def release(self):
        self._wire.released = self._wire.held

    def storm(self, traps, lids):
        """Traps 128 from these LIDs in turn, as fast as OpenSM takes them."""
        for i, lid in enumerate(lids):
            self._wire.storm_lid[i] = lid
        self._wire.storm_lids = len(lids)
        self._wire.storm += traps

    @property
    def storm_left(self):
        return self._wire.storm - self._wire.storm_done

    # ---- trace

    def records(self, applied=False, states=False):
        """The records since the last call, in OpenSM's order.

        applied   with the answers to LFT blocks as switches gave them
        states    with the states that ports took: guid, modifier (the port), status (the state)
        """
        size = ctypes.sizeof(Record)
        with open(self._trace.name, "rb") as trace:
            trace.seek(self._read_to)
            data = bytearray(trace.read())
        whole = len(data) // size
        self._read_to += whole * size
        found = (Record * whole).from_buffer_copy(data) if whole else ()
        return [r for r in found if {"applied": applied, "state": states}.get(r.event, True)]
