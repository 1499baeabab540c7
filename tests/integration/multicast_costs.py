#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The costs of a failure in multicast tables (MFTs), beside LFTs, and the time of the last Set.

ibsim simulates a director fabric, on a wire where Gets to dead nodes time out, with OpenSM on the
first host, h0-1. One host of each leaf joins a group, as IPoIB's hosts join the broadcast group.
Then a cable, a switch and a chassis of the group's tree fail, one after another, and each returns;
with portmajor and then with OpenSM's own engines. For each failure the LFT Sets and the MFT Sets
are printed, and the number of the last one of either among all SMPs.

The same is done with many groups, for a sweep without changes, hosts that leave and return, a cable
and a chassis, with portmajor and updn: MFT Sets, and beside portmajor's the bound, which is the
number of places where the switches' tables differ from the wanted ones. Then follow the number of
trees on a link, the time for which OpenSM's lock is held exclusively for multicast in a sweep
without changes, and the CPU time of the trees. With 36 leaves these are five groups that have a
member at each leaf and 96 of two. With 324 leaves (5,832 hosts) they are the five groups of all
hosts that IPoIB has, and solicited-node groups up to the 1,024 MLIDs of ibsim; the first table is
left out then.

Exit status 1 if a group is not whole after a sweep, or an aim is missed: then --update writes the
table all the same, with a remark.
"""

import re
import sys

import clients
import lockwatch
import measuring
import mgroups
import pmlab
import simlab
import wire
import wiretime

ENGINES = ("portmajor", "updn", "minhop")
GROUP = 0xFF12401BFFFF000000000000FFFFFFFF
ASKING = "h9-1"  # reads the tables; its leaf's cable fails
OF_NO_GROUP = "h7-17", "h9-18"
READER = "h9-18"
SWEEPS = 3  # without changes; the least of the times counts
SENDERS = 3  # of each group's members are followed, as all trees are undirected
LOCKED = "osm_mcast_mgr_process", "osm_mft_rcv_process", "mcast_quiet_show"
# A round of the plugin: it reads groups, computes trees, and finds the differences.
ROUND = "read_subnet", "raise_tops", "mcast_quiet_show"
MARKS = {36: "multicast-costs", 324: "multicast-costs 5,832"}


class Group:
    """Members and their tables; faults() is empty if each member reaches all others once."""

    def __init__(self, lab, leaves):
        self.fabric = lab.fabric
        self.manager_lid = pmlab.Dump(lab.dump()).lids[lab.osm.host]
        self.members = [f"h{leaf}-1" for leaf in range(leaves)]
        for host in self.members:
            status, self.mlid = clients.join(self.fabric, host, self.manager_lid, GROUP)
            if status:
                raise simlab.SimError(f"{host} cannot join: {status}")

    def tables(self):
        return clients.Multicast(self.fabric, ASKING)

    def faults(self):
        return self.tables().faults(self.mlid, self.members)

    def targets(self):
        """The parts of the tree: a leaf's cable, a line switch, a chassis."""
        tables = self.tables()
        leaf = tables.cables[ASKING, 1].peer
        port = next(p for p in sorted(tables.ports[leaf, self.mlid])
                    if tables.cables[leaf, p].peer not in tables.hosts)
        middle = min(name for name in tables.users(self.mlid) if name.endswith("-fab0"))
        chassis = middle.partition("-")[0]
        return (("cable", f"{leaf}:{port}"), ("switch", f"{chassis}-line0"),
                ("chassis", f"{chassis}-*"))


def count(records):
    """(LFT Sets, number of the last one, MFT Sets, number of the last one, SMPs)"""
    asked = [r for r in records if r.event == "asked"]
    result = []
    for attr in (simlab.ATTR_LFT, mgroups.ATTR_MFT):
        sets = [number for number, r in enumerate(asked, 1)
                if r.attr == attr and r.method == wire.SET]
        result += [len(sets), sets[-1] if sets else 0]
    return result + [len(asked)]


def bound(log):
    """MFT places that differed, by a piece of the plugin's log."""
    found = re.findall(r"portmajor multicast: .*; MFT blocks sent \d+, acked \d+, bound (\d+)", log)
    return sum(map(int, found))


def run(netlist, leaves, engine, tell):
    """Rows of the table and faults."""
    rows, faults = [], []
    trace = wire.Wire(trace=True)
    with pmlab.Lab(netlist, engine=engine, wire=trace) as lab:
        lab.osm.settle(timeout=pmlab.TIMEOUT_S)
        tell(f"{engine}: {leaves} hosts join")
        group = Group(lab, leaves)
        lab.osm.settle(lab.osm.mark(), sweep=False)
        for kind, target in group.targets():
            tell(f"{engine}: {target}")
            lab.osm.wait_traps_aged()
            trace.records()
            lab.osm.pace(wiretime.SET_US)  # the SMPs in between depend only on the wire
            lab.event("lose", target)
            lab.osm.pace(0)
            rows.append((kind, engine, *count(trace.records())))
            faults += [f"{engine}: {target} lost: {fault}" for fault in group.faults()]
            lab.event("back", target)
            faults += [f"{engine}: {target} back: {fault}" for fault in group.faults()]
        used = set(lab.osm.engines_used())
        if used != {engine}:
            faults.append(f"routed with {used}, not with {engine}")
    return rows, faults


class Scenario:
    """Groups of a lab, and two hosts that fail: one that is only in groups of all leaves, and one
    that is in a group of two."""

    def __init__(self, lab, leaves):
        self.lab, self.members = lab, mgroups.Members(lab)
        if leaves == 36:
            self.members.join_usual(leaves)
            self.alone, self.of_two = "h11-4", "h20-8"
            return
        self.members.join_ipoib(leaves, OF_NO_GROUP)
        most = max(map(len, self.members.hosts.values()))
        pairs = [host for hosts in self.members.hosts.values() if len(hosts) < most
                 for host in hosts]
        self.alone = next(host for host in self.members.hosts[self.members.mlid[0]][1:]
                          if host not in pairs)
        self.of_two = next(host for host in pairs[1:] if pairs.count(host) == 1)

    def come_and_go(self, kind, host):
        """Three events: (name, action, whether a sweep follows)."""
        fabric, members = self.lab.fabric, self.members
        numbers = [number for number, mlid in members.mlid.items() if host in members.hosts[mlid]]
        return ((f"member of a group of {kind} lost", lambda: fabric.lose(host), True),
                ("the host back, and no member", lambda: fabric.back(host), True),
                ("it joins", lambda: members.join_many([(n, host) for n in numbers]), False))

    def events(self):
        fabric, apart = self.lab.fabric, OF_NO_GROUP[0]
        cable, chassis = self.members.busiest(READER, "leaf9")
        return (("nothing changed (SIGHUP)", self.lab.osm.hup, True),
                ("host of no group lost", lambda: fabric.lose(apart), True),
                ("host of no group back", lambda: fabric.back(apart), True),
                *self.come_and_go("all leaves", self.alone),
                *self.come_and_go("two", self.of_two),
                (CABLE, lambda: fabric.lose(cable), True),
                ("back", lambda: fabric.back(cable), True),
                (CHASSIS, lambda: fabric.lose(f"{chassis}-*"), True),
                ("back", lambda: fabric.back(f"{chassis}-*"), True))

    def run(self, action, sweep):
        """The log of the event."""
        self.lab.osm.wait_traps_aged()
        mark = self.lab.osm.mark()
        action()
        self.lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S, sweep=sweep)
        self.members.forget_lost()
        return self.lab.osm.log(mark.log_offset)


class Costs:
    """The costs of one engine: rows (event, MFT Sets, their bound, number of the last one, SMPs),
    trees on a link (the most, the mean); for all trees, in a sweep without changes, the CPU time
    with the lock held exclusively, and all CPU time, OpenSM's with that of queueing its Sets."""

    def __init__(self):
        self.rows, self.loads, self.faults = [], (0, 0.0), []
        self.locked_ms = self.cpu_ms = 1e9

    def note_sweep(self, held):
        """Notes a sweep without changes."""
        locked = [held[name].cpu_ms for name in LOCKED if name in held]
        rounds = [held[name] for name in ROUND if name in held]
        self.locked_ms = min(self.locked_ms, sum(locked))
        self.cpu_ms = min(self.cpu_ms, held["osm_mcast_mgr_process"].cpu_ms
                          + sum(h.cpu_ms + h.before_cpu_ms for h in rounds)
                          - sum(h.before_cpu_ms for h in rounds[:1]))


def run_groups(folder, leaves, engine, tell):
    costs, trace, watch = Costs(), wire.Wire(trace=True), lockwatch.Lockwatch(folder)
    with pmlab.Lab(folder / "fabric.net", engine=engine, wire=trace, preload=[watch.LIBRARY],
                   env=watch.env) as lab:
        lab.osm.settle(timeout=pmlab.TIMEOUT_S)
        tell(f"{engine}: hosts join groups")
        scenario = Scenario(lab, leaves)
        lab.osm.settle(lab.osm.mark(), timeout=pmlab.TIMEOUT_S, sweep=False)
        costs.loads = scenario.members.loads(READER)
        for _ in range(SWEEPS - 1):
            watch.reset()
            scenario.run(lab.osm.hup, True)
            costs.note_sweep(watch.read())
        for name, action, sweep in scenario.events():
            tell(f"{engine}: {name}")
            trace.records()
            watch.reset()
            log = scenario.run(action, sweep)
            sets, last, smps = count(trace.records())[2:]
            costs.rows.append((name, sets, bound(log) if engine == "portmajor" else "", last, smps))
            if "SIGHUP" in name:
                costs.note_sweep(watch.read())
            if engine == "portmajor" or leaves == 36:
                costs.faults += [f"{engine}: {name}: {fault}" for fault in
                                 scenario.members.faults(READER, SENDERS)]
    return costs


GROUPS_HEADER = ("portmajor", "bound", "last is SMP", "all SMPs", "updn", "last is SMP", "all SMPs")
LOCK, CPU = "lock held exclusively for all trees, ms", "CPU time of all trees, ms"
CABLE, CHASSIS = "leaf's cable with most trees lost", "the chassis behind it lost"
# They have a row only if they cost Sets.
RETURNS = "host of no group back", "the host back, and no member"


def format_groups(title, ours, theirs, aims):
    """Rows side by side, the loads and times; missed aims have a star."""
    rows = [(a[0], *a[1:], b[1], *b[3:]) for a, b in zip(ours.rows, theirs.rows)
            if a[1] or a[0] not in RETURNS]
    pairs = (("trees on a link: most, mean", *(f"{c.loads[0]}, {c.loads[1]:.1f}"
                                               for c in (ours, theirs))),
             (LOCK, f"{ours.locked_ms:.1f}", f"{theirs.locked_ms:.1f}"),
             (CPU, f"{ours.cpu_ms:.1f}", f"{theirs.cpu_ms:.1f}"))
    rows += [(name, a, "", "", "", b, "", "") for name, a, b in pairs]
    rows = [(f"{name} \\*" if name in aims else name, *cells) for name, *cells in rows]
    return (measuring.markdown_table([(title, *GROUPS_HEADER), *rows], range(1))
            + "".join(f"\n\\* The aim is missed: {text}.\n" for text in aims.values()))


def missed(leaves, ours, theirs):
    """The missed aims: {name of the row: reason}."""
    sets = {}
    for a, b in zip(ours.rows, theirs.rows):
        sets.setdefault(a[0], (a[1], a[3], b[1]))
    most = {"nothing changed (SIGHUP)": 0, "host of no group lost": 0, "host of no group back": 0,
            "member of a group of all leaves lost": 1}
    found = {name: f"at most {limit} MFT Sets" for name, limit in most.items()
             if sets[name][0] > limit}
    found.update({name: "0.6 of updn's MFT Sets" for name in (CABLE, CHASSIS)
                  if sets[name][0] > 0.6 * sets[name][2]})
    if sets[CABLE][1] > 900:
        found[CABLE] = "the last MFT Set among the first 900 SMPs"
    found.update({name: f"a tenth of updn's, and it is {a / b:.2f}" for name, a, b in
                  ((LOCK, ours.locked_ms, theirs.locked_ms), (CPU, ours.cpu_ms, theirs.cpu_ms))
                  if leaves > 36 and a > 0.1 * b})
    return found


HEADER = ("lost", "routing", "LFT Sets", "last is SMP", "MFT Sets", "last is SMP", "all SMPs")


def format_table(rows):
    rows = sorted(rows, key=lambda row: ("cable", "switch", "chassis").index(row[0]))
    return measuring.markdown_table([HEADER, *rows], range(2))


def one_group(netlist, leaves):
    """The first table, and faults."""
    rows, faults = [], []
    for engine in ENGINES:
        more = run(netlist, leaves, engine, measuring.tell)
        rows += more[0]
        faults += more[1]
    return format_table(rows) + "\n", faults


def main():
    parser = measuring.make_parser(__doc__, "scripts/multicast-costs")
    parser.add_argument("--leaves", type=int, default=36, choices=tuple(MARKS),
                        help="of the fabric, 18 hosts each (default: 36)")
    parser.add_argument("--update", action="store_true",
                        help="write the table into docs/fabrics.md if all groups are whole")
    args = parser.parse_args()
    table, faults = "", []
    with pmlab.Folder() as folder:
        netlist = pmlab.generate(folder / "fabric.net", "director", args.leaves)
        if args.leaves == 36:
            table, faults = one_group(netlist, args.leaves)
        ours, theirs = (run_groups(folder, args.leaves, engine, measuring.tell)
                        for engine in ("portmajor", "updn"))
    aims = missed(args.leaves, ours, theirs)
    table += format_groups("101 groups" if args.leaves == 36 else "1,023 groups", ours, theirs,
                           aims)
    print(table, end="")
    faults += ours.faults + theirs.faults
    if args.update and not faults:
        measuring.update(MARKS[args.leaves], table)
    if faults or aims:
        sys.exit("\n".join([*faults[:20], *(f"{name}: the aim is {text}" for name, text in
                                           aims.items()), "multicast-costs: FAILED"]))


if __name__ == "__main__":
    main()
