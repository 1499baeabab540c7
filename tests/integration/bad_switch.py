#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One switch answers nonsense: which pairs of hosts still have a path, by routing engine.

    bad_switch.py [--engines updn,portmajor] [--kinds "small table;GUID 0"]

prints the table of docs/reliability.md: the rows in which engines differ. Each kind of fault is
tried at a spine and at a leaf: with a switch that is faulty from the start (new), that becomes
faulty (turned), and that has become faulty when OpenSM is restarted (restarted). The switch's
answers are altered on their way to OpenSM. Then this ends, and OpenSM sweeps again (later).

Ordered pairs of hosts are counted that the tables in the switches join, as ibsim has them; for a
leaf, pairs of hosts elsewhere + pairs with a host of the leaf.
"""

import argparse
import dataclasses
import re
import signal
import struct
import sys
import time

import failover
import pmlab
import simlab
import wire

NETLIST = pmlab.TOPOLOGIES / "two-level-48.net"
SPINE, LEAF = "spine2", "leaf5"
OTHER_SPINE, OTHER_LEAF = "spine1", "leaf2"
CAP = 20
WIDE = "200 ports"

NODE_INFO, SWITCH_INFO, PORT_INFO = 0x11, 0x12, 0x15
# Offsets in the attributes.
NUM_PORTS, NODE_GUID, PORT_GUID = 3, 12, 20
LIN_CAP, LIN_TOP = 0, 6
BASE_LID, LOCAL_PORT, WIDTH_ACTIVE, STATE, LMC, MTU = 16, 28, 31, 32, 34, 36

# The time for OpenSM's reaction to a change; if it takes longer, OpenSM sweeps on and on.
PATIENCE_S = 12
QUIET_S = 1.0


# ------------------------------------------------------------------------- kinds

def _guid(value):
    return struct.pack(">Q", value)


def _node_guid(wires, node, guid):
    return [wires.alter("answer", offset, _guid(guid), node=node, attr=NODE_INFO)
            for offset in (NODE_GUID, PORT_GUID)]


def _other(node):
    return OTHER_SPINE if node == SPINE else OTHER_LEAF


def _ports(number):
    return lambda wires, node: [wires.alter("answer", NUM_PORTS, bytes([number]), node=node,
                                            attr=NODE_INFO)]


def _cap(cap):
    return lambda wires, node: [wires.alter("answer", LIN_CAP, struct.pack(">H", cap), node=node,
                                            attr=SWITCH_INFO)]


def _port_info(offset, value, mask=None, modifier=None):
    return lambda wires, node: [wires.alter("answer", offset, value, mask, node=node,
                                            attr=PORT_INFO, modifier=modifier)]


# The fault of the switch: rules(wire, node).
KINDS = {
    "small table": _cap(CAP),
    "no table": _cap(0),
    "GUID 0": lambda wires, node: _node_guid(wires, node, 0),
    "GUID of another switch": lambda wires, node: _node_guid(wires, node,
                                                             wires.guid(_other(node))),
    "GUID of a host": lambda wires, node: _node_guid(wires, node, wires.guid("h3-1")),
    "no ports": _ports(0),
    "4 ports": _ports(4),
    WIDE: _ports(200),
    "port states 0": _port_info(STATE, b"\x00", b"\x0f"),
    "port states 7": _port_info(STATE, b"\x07", b"\x0f"),
    "LocalPortNum 255": _port_info(LOCAL_PORT, b"\xff"),
    "LID 0xffff, LMC 7": lambda wires, node: (
        _port_info(BASE_LID, b"\xff\xff", modifier=0)(wires, node)
        + _port_info(LMC, b"\x07", b"\x07", modifier=0)(wires, node)),
    "LID of a host": lambda wires, node: _port_info(
        BASE_LID, struct.pack(">H", 2), modifier=0)(wires, node),
    "width and MTU 0": lambda wires, node: (
        _port_info(WIDTH_ACTIVE, b"\x00")(wires, node)
        + _port_info(MTU, b"\x00", b"\xf0")(wires, node)),
}


# ----------------------------------------------------------------- what is joined

class Tables(pmlab.Dump):
    """The tables in the switches, and the pairs of hosts that they join."""

    _STATE = re.compile(r"^[0-9a-f]+\t\[(\d+)\].* (\w+)/\w+\s*$")
    _TOP = re.compile(r"FDBtop (\d+)")

    def __init__(self, path, netlist):
        super().__init__(path)
        self.netlist = netlist
        self.lft, self.top, self.active = {}, {}, set()
        for name in self.tables:
            self.lft[name] = self.table(name)
        name = None
        with open(path, encoding="ascii", errors="replace") as lines:
            for line in lines:
                node, top, port = (r.search(line) for r in (self._NODE, self._TOP, self._STATE))
                name = node[2] if node else name
                if top:
                    self.top[name] = int(top[1])
                if port and port[2] == "Active":
                    self.active.add((name, int(port[1])))

    def joins(self, source, target, caps):
        """Whether a packet of one host reaches another one; caps: {switch: size of its table}."""
        lid = self.lids.get(target, 0)
        at, port = source, 1
        for _ in range(2 + 2 * 8):
            there = self.netlist.nodes[at].ports.get(port)
            if not lid or not there or (at, port) not in self.active or there not in self.active:
                return False
            at = there[0]
            if at == target:
                return True
            if at not in self.lft or lid > min(self.top[at], caps.get(at, 1 << 16) - 1):
                return False
            port = self.lft[at].get(lid, 255)
        return False

    def pairs(self, without=None, caps=None):
        """The ordered pairs of hosts that are joined, without those at a leaf."""
        hosts = [h for h in self.netlist.hosts
                 if self.netlist.nodes[h].ports[1][0] != without]
        return {(a, b) for a in hosts for b in hosts if a != b and self.joins(a, b, caps or {})}


# --------------------------------------------------------------------- one attempt

@dataclasses.dataclass
class State:
    """The state after an event."""
    up: bool = False      # the last sweep ended with SUBNET UP
    still: bool = False   # and OpenSM was idle again
    ended: object = None  # opensm's exit status
    engines: tuple = ()
    tables: object = None
    log: str = ""


@dataclasses.dataclass
class Result:
    engine: str
    place: str
    when: str
    kind: str
    before: State = None  # of the faulty switch
    bad: State = None
    well: State = None
    caps: dict = dataclasses.field(default_factory=dict)

    @property
    def netlist(self):
        return self.bad.tables.netlist

    @property
    def leaf(self):
        return LEAF if self.place == LEAF else None

    def others(self, state):
        """Pairs of other hosts that are joined."""
        return state.tables.pairs(self.leaf, self.caps if state is self.bad else {})

    def at_it(self, state):
        """Pairs with a host at the switch."""
        caps = self.caps if state is self.bad else {}
        return len(state.tables.pairs(None, caps)) - len(self.others(state))

    def lids_changed(self, old, new):
        """Other nodes that have another LID now, but have one."""
        own = {self.place} | ({h for h in new.tables.hosts if new.tables.netlist.nodes[h]
                               .ports[1][0] == self.place})
        return sorted(n for n, lid in old.tables.lids.items()
                      if new.tables.lids.get(n, 0) not in (0, lid) and n not in own)


class Attempt:
    """A fabric with one OpenSM on a wire; `opensm` has the arguments of pmlab.open_sm."""

    def __init__(self, folder, engine, place=None, kind=None, netlist=None):
        self.folder, self.engine, self.place, self.kind = folder, engine, place, kind
        self.netlist, self.rules = simlab.Netlist(netlist or self._find_netlist()), []

    def _find_netlist(self):
        """Makes the missing ports, as ibsim ends when they are queried."""
        if self.kind != WIDE:
            return NETLIST
        path = self.folder / "wide.net"
        path.write_text(re.sub(rf'^Switch\t\d+ "{self.place}"', f'Switch\t200 "{self.place}"',
                               NETLIST.read_text(encoding="ascii"), flags=re.M),
                        encoding="ascii")
        return path

    def __enter__(self):
        self.fabric = pmlab.Fabric(self.netlist).__enter__()
        self.wire = wire.Wire(self.fabric)
        self.osm = None
        self.turn_well()
        return self

    def __exit__(self, *exc):
        if self.osm:
            self.osm.__exit__(*exc)
        self.fabric.__exit__(*exc)

    def start(self, **kwargs):
        self.osm = failover.open_sm(self.fabric, self.engine, self.wire, self.folder, host=None,
                                    **kwargs)
        self.osm.__enter__()
        return self.wait(self.osm.start_mark)

    def stop(self):
        self.osm.__exit__()
        self.osm = None

    def sweep(self):
        """A heavy sweep, whatever its result."""
        mark = self.osm.mark()
        if self.osm.process.poll() is None:
            self.osm.hup()
        return self.wait(mark)

    def turn_bad(self):
        self.turn(KINDS[self.kind])

    def turn_well(self):
        self.turn(_ports(16) if self.kind == WIDE else lambda *_: [])

    def turn(self, rules):
        """Has rules(wire, place) alter answers, and no other rules."""
        for rule in self.rules:
            rule.off()
        self.rules = rules(self.wire, self.place)

    def wait(self, mark):
        """Waits until OpenSM is idle, has ended or sweeps on and on. Requests a sweep that
        portmajor delays."""
        osm, state = self.osm, State()
        last, since = None, time.monotonic()
        start, asked = since, False

        def over():
            nonlocal last, since, asked
            now = (osm.counters()["smps"], osm.log_offset())
            if now != last or osm.counters().outstanding:
                last, since = now, time.monotonic()
            state.ended = osm.process.poll()
            swept = osm._swept(mark) is not None
            state.still = swept and time.monotonic() - since > QUIET_S
            if state.still and state.ended is None and not asked and osm.sweep_waits():
                osm.hup()  # the rest belongs to this change, not to the next one
                asked, state.still, since = True, False, time.monotonic()
            return (state.still or state.ended is not None
                    or time.monotonic() - start > PATIENCE_S)

        simlab.poll_until(over, 3 * PATIENCE_S, "OpenSM's rest")
        state.log = osm.log(mark.log_offset)
        state.up = bool(osm._swept(mark))
        state.engines = tuple(osm.engines_used(mark.log_offset))
        path = self.folder / "bad.dump"
        self.fabric.dump(path)
        state.tables = Tables(path, self.netlist)
        return state


def attempt(folder, engine, place, when, kind):
    caps = {place: CAP} if kind == "small table" else {place: 0} if kind == "no table" else {}
    result = Result(engine, place, when, kind, caps=caps)
    with Attempt(folder, engine, place, kind) as lab:
        if when != "new":
            result.before = lab.start(cache_dir=folder)
        if when == "restarted":
            lab.stop()
        lab.turn_bad()
        result.bad = lab.sweep() if when == "turned" else lab.start(cache_dir=folder)
        lab.turn_well()
        if result.bad.ended is None:
            result.well = lab.sweep()
    return result


# ----------------------------------------------------------------------- the table

def count(result, state):
    pairs = str(len(result.others(state)))
    return f"{pairs} + {result.at_it(state)}" if result.leaf else pairs


def describe(result):
    """The result, in one cell."""
    bad, well = result.bad, result.well
    if bad.ended is not None:
        return "opensm ends: " + (signal.Signals(-bad.ended).name if bad.ended < 0 else
                                  str(bad.ended))
    words = [count(result, bad)]
    if not (bad.up and bad.still):
        words.append("errors in each sweep" if not bad.up else "sweeps on and on")
    if set(bad.engines) != {result.engine}:
        words.append("/".join(dict.fromkeys(bad.engines)) or "no routing")
    for what, old, new in (("", result.before, bad), (" later", result.before or bad, well)):
        changed = len(result.lids_changed(old, new)) if old else 0
        words += [f"{changed} LIDs changed{what}"] if changed else []
    full = len(result.netlist.hosts) * (len(result.netlist.hosts) - 1)
    then = len(well.tables.pairs())
    words += [f"later {then}"] if then < full else []
    if not (well.up and well.still):
        words.append("later no end of sweeping")
    return ", ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", default="updn,portmajor")
    parser.add_argument("--kinds", default=";".join(KINDS))
    parser.add_argument("--places", default=f"{SPINE},{LEAF}")
    parser.add_argument("--when", default="new,turned,restarted")
    parser.add_argument("--log", action="store_true", help="print OpenSM's log, too")
    args = parser.parse_args()
    engines = args.engines.split(",")
    print("| kind | switch | when | " + " | ".join(engines) + " |\n|" + "---|" * (3 + len(engines)))
    for kind in args.kinds.split(";"):
        for place in args.places.split(","):
            cells = {}
            for when in args.when.split(","):
                results = []
                for engine in engines:
                    with pmlab.Folder() as folder:
                        results.append(attempt(folder, engine, place, when, kind))
                    if args.log:
                        print(results[-1].bad.log, "-----",
                              results[-1].well and results[-1].well.log, file=sys.stderr)
                cells.setdefault(tuple(map(describe, results)), []).append(when)
            for row, whens in cells.items():
                if len(engines) == 1 or len(set(row)) > 1:
                    print(f"| {kind} | {place.rstrip('0123456789')} | {', '.join(whens)} | "
                          f"{' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
