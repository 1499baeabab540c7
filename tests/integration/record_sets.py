#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Records the LFT Sets that a routing engine sends after a failure, with their times.

    scripts/record-sets fabric.net --engine ftree --fail 's0-*' -o ftree.sets
    portmajor-lab traffic fabric.net --fail 's0-*' --sets portmajor.sets --compare ftree.sets

The fabric, a netlist as ibsim reads it or the output of ibnetdiscover, is simulated and brought up
by OpenSM with that engine. LIDs and tables in force are read back from the simulated switches, and
the parts that --fail names fail: a node or all that match a pattern, or the cable at NODE:PORT,
also in its printed form, NODE[PORT] or with both ends. In ibnetdiscover's files nodes have the
names in the comments, or S- and a GUID. OpenSM's Sets from then on are recorded. The tables are
read back once more: the Sets must explain all changes, or no file is written. The format is that of
include/portmajor/lab/lft_trace.h.

With --return the failed parts also return: after 0.2 s (flap), or after 2 s without anything that
was set (rebooted: whole nodes). Links carry packets again when both ends are ACTIVE, and no file is
written unless all are in the end. Ports behave like real ones (see wire_truth.h).

ibsim answers in no time, so the record gets the times of a wire (see wiretime.py): SMPs take the
time that Nakashima et al. measured, as many are out at a time as OpenSM allows, and OpenSM computes
in no time, or with --cpu in the time that it took here. The clock begins with the first trap, which
is taken for the failure. A switch has changed when it answers, which is earlier than the
acknowledgement by the way of the answer.

On a busy machine OpenSM waits longer, and has fewer SMPs out than it might: its times are longer
then. --floor writes a second record without the machine's part: only the SMPs, in their order, as
many at a time as may be out, with no wait in between.

Traps that come while OpenSM discovers make it begin anew, and late answers on a busy machine count
as lost: the failure is tried until it is discovered once with no answer late, at most --tries
times. The try with the fewest discoveries counts, of several that with the fewest late answers,
then SMPs.
"""

import collections
import dataclasses
import fnmatch
import heapq
import pathlib
import re
import sys
import time

import failover
import measuring
import pmlab
import simlab
import smps
import wire
import wiretime
from failover import MAX_WIRE_SMPS

BLOCK = 64
# OpenSM takes minhop for a name that it does not know.
ENGINES = ("portmajor", "ftree", "updn", "minhop", "dnup", "lash", "dor", "torus-2QoS", "nue",
           "sssp", "dfsssp")
NEVER = "-"
DOWN_S = {"flap": 0.2, "rebooted": 2}  # by the wire's time


@dataclasses.dataclass
class Set:
    """An LFT Set; times in ns since the failure, or None."""
    sent: int
    arrived: int
    acked: int
    guid: int
    block: int
    entries: bytes

    def row(self):
        times = (NEVER if t is None else t for t in (self.sent, self.arrived, self.acked))
        return f"set {' '.join(map(str, times))} {self.guid:#018x} {self.block} " \
               f"{self.entries.hex()}"


@dataclasses.dataclass
class Recording:
    """The result of one try."""
    engine: str
    times: str
    before: pmlab.Dump
    lost: list  # (GUID of a switch, port)
    sets: list
    floor: list  # the same with the times of the SMPs alone
    discoveries: int
    late: int  # answers
    smps: int
    active: tuple = ()  # (ns, GUID, port) of links in `lost` that carry packets again
    reset: tuple = ()  # GUIDs of switches that lost everything

    def at_floor(self):
        """The recording with those times."""
        return dataclasses.replace(
            self, sets=self.floor, engine=f"{self.engine}, floor",
            times=f"SMPs alone, {wiretime.SET_US} us each, {MAX_WIRE_SMPS} at a time")

    def rows(self):
        yield from ("portmajor-sets 1", f"engine {self.engine}", f"times {self.times}")
        for guid, (lid, lmc) in self.before.ports.items():
            yield f"lid {guid:#018x} {lid} {lmc}"
        for name in self.before.tables:
            guid = self.before.guids[name]
            for number, block in enumerate(blocks_of(self.before, name)):
                yield f"table {guid:#018x} {number} {block.hex()}"
        for guid, port in self.lost:
            yield f"failed 0 {guid:#018x} {port}"
        for ns, guid, port in self.active:
            yield f"active {ns} {guid:#018x} {port}"
        for guid in self.reset:
            yield f"reset {guid:#018x}"
        for one in self.sets:
            yield one.row()


def blocks_of(dump, switch):
    """A table as blocks of 64 bytes, at least one; 255 for missing entries."""
    table = dump.table(switch)
    entries = bytearray(b"\xff") * (max(table, default=0) // BLOCK + 1) * BLOCK
    for lid, port in table.items():
        entries[lid] = port
    return [bytes(entries[at:at + BLOCK]) for at in range(0, len(entries), BLOCK)]


def hops_of(record):
    return 0 if record.hops == 255 else record.hops


def find_times(records, cpu=False):
    """{id of a record: seconds since the first trap}, by the wire's time."""
    stamps = wiretime.virtual([r for r in records if r.event != "state"], cpu)
    trap = next((s.seconds for s in stamps if s.record.event == "trapped"), None)
    if trap is None:
        raise simlab.SimError("no trap told OpenSM of the failure")
    return {id(stamp.record): stamp.seconds - trap for stamp in stamps}


def find_elapsed(records):
    """Seconds since the first trap until now, by the wire's time; 0: there was none yet."""
    events = collections.Counter(r.event for r in records)
    if not events["trapped"]:
        return 0
    idle = events["asked"] == events["answered"] + events["timed_out"]
    return (max(find_times(records).values())
            + idle * (time.monotonic_ns() - records[-1].ns) / 1e9)


def list_active(records, seconds):
    """{(GUID, port): ns} of ports that turned ACTIVE and stayed so; by a packet: 0."""
    ends, asked, active = wiretime.last_of(records), {}, {}
    for record in records:
        place = record.guid, record.modifier & 0xff
        if (record.event, record.method, record.attr) == ("asked", wire.SET, smps.PORT_INFO):
            asked[place] = record
        elif record.event == "state" and record.status != smps.ACTIVE:
            active.pop(place, None)
        elif record.event == "state" and not record.method:
            active.setdefault(place, 0)  # at once when the other end did
        elif record.event == "state":
            end = ends.get(id(asked.get(place)))
            if end and end.event == "answered":
                active.setdefault(place, nanoseconds(
                    seconds[id(end)] - hops_of(asked[place]) * wiretime.HOP_US * 1e-6))
    return active


def list_returned(active, links, guids):
    """(ns, GUID, port) for each of these links, by a switch at one of its ends."""
    rows = []
    for link in links:
        places = [(guids[name], port) for name, port in link]
        if not all(place in active for place in places):
            raise simlab.SimError(f"not ACTIVE again: {sorted(link)}")
        rows.append((max(active[place] for place in places), *places[0]))
    return sorted(rows)


def list_floor(records):
    """The same with the times of the SMPs alone that are answered."""
    ends, seconds = wiretime.last_of(records), {}
    slots = [0.0] * MAX_WIRE_SMPS
    for record in records:
        end = ends.get(id(record))
        if record.event != "asked":
            continue
        seconds[id(record)] = slots[0]
        if end and end.event == "answered":
            took = wiretime.SET_US + 2 * hops_of(record) * wiretime.HOP_US
            seconds[id(end)] = heapq.heapreplace(slots, slots[0] + took * 1e-6) + took * 1e-6
    return make_sets(records, seconds)


def make_sets(records, seconds):
    """Sets with these times, {id of a record: seconds since the failure}."""
    ends, sets = wiretime.last_of(records), []
    for record in records:
        end = ends.get(id(record))
        if (record.event, record.method, record.attr) != ("asked", wire.SET, simlab.ATTR_LFT):
            continue
        acked = arrived = None
        if end and end.event == "answered" and not end.status:
            acked = nanoseconds(seconds[id(end)])
            arrived = acked - nanoseconds(hops_of(record) * wiretime.HOP_US * 1e-6)
        sets.append(Set(nanoseconds(seconds[id(record)]), arrived, acked, record.guid,
                        record.modifier, bytes(record.data)))
    return sets


def nanoseconds(seconds):
    return max(0, round(seconds * 1e9))


def check_sets(before, after, sets, reset=()):
    """Raises SimError unless these Sets lead from the tables before to those after; switches that
    were reset have none before."""
    names = {guid: name for name, guid in before.guids.items()}
    empty = b"\xff" * BLOCK
    tables = {name: [empty] if before.guids[name] in reset else blocks_of(before, name)
              for name in before.tables}
    for one in sorted((s for s in sets if s.arrived is not None), key=lambda s: s.arrived):
        table = tables[names[one.guid]]
        table += [empty] * (one.block + 1 - len(table))
        table[one.block] = one.entries
    for name, table in tables.items():
        now = blocks_of(after, name)
        for number in range(max(len(table), len(now))):
            if (table[number:number + 1] or [empty]) != (now[number:number + 1] or [empty]):
                raise simlab.SimError(f"no Set explains block {number} of {name}")


def described(netlist):
    """{id of a node: its name} of ibnetdiscover's output, with GUIDs as ids."""
    headers = re.compile(r'^(?:Switch|Ca|Rt)\s+\d+\s+"([SHR]-[0-9a-f]{16})"\s*#\s*"(.+)"', re.M)
    return dict(headers.findall(netlist.path.read_text(
        encoding="utf-8", errors="surrogateescape")))


def targets_of(netlist, text):
    """The targets of --fail as simlab knows them: by ids, as ID, ID:PORT or a pattern of ids."""
    cable = re.fullmatch(r"(.+?)\[(\d+)\](?:-(.+)\[(\d+)\])?", text)
    name, port, peer = cable.group(1, 2, 3) if cable else (text, None, None)
    at_port = re.fullmatch(r"(.+):(\d+)", text)
    if at_port and not cable:
        name, port = at_port.groups()
    names = described(netlist)
    if port is None and not names:
        return [text]  # a pattern, too
    ids = ([i for i in netlist.nodes if i == name] or
           [i for i, of in names.items() if fnmatch.fnmatchcase(of, name)] or
           [i for i, of in names.items() if i[0] == "S" and of.startswith(name + "-")] or
           netlist.match(name))
    if port is None:
        return ids
    if peer is not None:  # which distinguishes nodes of one name
        ids = [i for i in ids if names.get(other(netlist, i, port)[0],
                                           other(netlist, i, port)[0]) == peer
               and other(netlist, i, port)[1] == int(cable[4])]
    if not ids:
        raise simlab.SimError(f"no cable is named {text}")
    return [f"{i}:{port}" for i in ids]


def other(netlist, name, port):
    """The node and port at the other end of a cable; (None, None): there is none."""
    return netlist.nodes[name].ports.get(int(port), (None, None))


def find_down(fabric):
    """Cables that are down, each as its ends, a switch first."""
    return [sorted(link, key=lambda end: (not fabric.netlist.nodes[end[0]].is_switch, end))
            for link in fabric.down()]


def lost_cables(down, dump):
    """(GUID of a switch, port) of each."""
    return sorted((dump.guids[name], port) for (name, port), _ in down)


def return_after(osm, targets, how, records):
    """Waits while the returning part is absent, and brings it back."""
    def is_due():
        records.extend(osm.wire.records(states=True))
        return find_elapsed(records) >= DOWN_S[how]

    simlab.poll_until(is_due, pmlab.TIMEOUT_S, "the time of the return", every=0.002)
    for target in targets:
        if how == "rebooted":
            for name in osm.fabric.netlist.match(target):
                osm.fabric.clear(name)
        osm.fabric.back(target)


def find_reset(fabric, targets, how):
    """Switches that lose everything."""
    return [name for target in targets if how == "rebooted"
            for name in fabric.netlist.match(target) if fabric.netlist.nodes[name].is_switch]


def lose(osm, targets, folder, cpu, how=None):
    """One try: a Recording. The parts stay failed, unless they return (how)."""
    fabric, trace, records, down = osm.fabric, osm.wire, [], []
    fabric.dump(folder / "before", timeout=pmlab.TIMEOUT_S)
    before = pmlab.Dump(folder / "before")

    def action():
        trace.records()
        lost = sum(fabric.lose(target) for target in targets)
        down.extend(find_down(fabric))
        if how:
            return_after(osm, targets, how, records)
        return lost

    # Returned links are in service without a sweep, which may wait.
    measured = simlab.measure(fabric, osm, action, timeout=pmlab.TIMEOUT_S, sweep=not how)
    records += trace.records(states=True)
    seconds = find_times(records, cpu)
    sets, floor = make_sets(records, seconds), list_floor(records)
    fabric.dump(folder / "after", timeout=pmlab.TIMEOUT_S)
    after = pmlab.Dump(folder / "after")
    reset = [before.guids[name] for name in find_reset(fabric, targets, how)]
    check_sets(before, after, sets, reset)
    check_sets(before, after, floor, reset)
    active = list_returned(list_active(records, seconds), down, before.guids) if how else []
    others = sorted(set(measured["engines"]) - {osm.engine})
    return Recording(", then ".join([osm.engine, *others]),
                     f"wire model, {wiretime.SET_US} us an SMP, {MAX_WIRE_SMPS} at a time, "
                     f"OpenSM's CPU time {'as here' if cpu else 'left out'}",
                     before, lost_cables(down, before), sets, floor, measured["discoveries"],
                     measured["late"], measured["last_lft_smp"], active, reset)


def is_whole(recording, how):
    """Whether no try can be better: no answer was late, and the failure was discovered once."""
    return not recording.late and (how or recording.discoveries == 1)


def record(netlist, engine, targets, host=None, tries=5, cpu=False, how=None):
    """Brings the fabric up, has the parts fail, and returns the Recording that counts."""
    trace, found = wire.Wire(trace=True), []
    with pmlab.Folder() as folder, pmlab.Fabric(netlist) as fabric, \
            failover.open_sm(fabric, engine, trace, folder, host) as osm:
        osm.settle(timeout=pmlab.TIMEOUT_S)
        while len(found) < tries and not (found and is_whole(found[-1], how)):
            if found and not how:
                pmlab.back(osm, *targets)
            found.append(lose(osm, targets, folder, cpu, how))
    return min(found, key=lambda r: (not is_whole(r, how), r.discoveries, r.late, r.smps))


def write(recording, path):
    with open(path, "w", encoding="ascii") as out:
        out.writelines(row + "\n" for row in recording.rows())


def main():
    parser = measuring.make_parser(__doc__, "record-sets")
    parser.add_argument("fabric", metavar="FABRIC", type=pathlib.Path)
    parser.add_argument("--engine", required=True, metavar="ENGINE", choices=ENGINES,
                        help=f"{', '.join(ENGINES[:-1])} or {ENGINES[-1]}")
    parser.add_argument("--fail", required=True, action="append", metavar="WHAT[:PORT]",
                        help="may be given several times: one after the other is lost, at once")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("-s", "--sm", metavar="NODE", help="where OpenSM runs (default: the "
                        "first host)")
    parser.add_argument("--tries", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--cpu", action="store_true", help="OpenSM computes as long as it did here")
    parser.add_argument("--floor", metavar="FILE", help="written too, with the times of the SMPs "
                        "alone")
    parser.add_argument("--return", dest="how", choices=DOWN_S, help="what fails comes back")
    options = parser.parse_args()
    if options.tries < 1:
        parser.error("argument --tries: 1 or more")
    if options.floor and options.how:
        parser.error("argument --floor: not with --return, which waits")
    try:
        netlist = simlab.Netlist(options.fabric)
        targets = [target for text in options.fail for target in targets_of(netlist, text)]
        if options.how == "rebooted" and any(re.search(r":\d+$", t) for t in targets):
            raise simlab.SimError("no cable reboots, but nodes do")
        found = record(netlist, options.engine, targets, options.sm, options.tries, options.cpu,
                       options.how)
        write(found, options.output)
        if options.floor:
            write(found.at_floor(), options.floor)
    except (simlab.SimError, OSError) as error:
        print(f"record-sets: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
    print(f"{options.output}: {found.engine}, {len(found.sets):,} LFT Sets, "
          f"{found.discoveries} discoveries" + (
              f", in service after {found.active[-1][0] / 1e6:,.1f} ms" if found.active else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
