#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a loss costs in multicast tables (MFTs), beside LFTs, and when the last one goes.

A director fabric is simulated by ibsim, on a wire that lets questions to what is dead time
out, with OpenSM on its first host, h0-1. One host of each leaf joins a group, as IPoIB's
hosts join the broadcast group. Then a cable, a switch and a chassis that the group's tree goes
through are lost, one after another, and each is brought back; with portmajor and then with
OpenSM's own engines. Printed are, for each loss, the LFT Sets and the MFT Sets, and the
number among all SMPs of the last one of either.

The same again with five groups that have a member at each leaf and 96 of two, for a sweep in
which nothing changed, hosts that go and come, a cable and a chassis, with portmajor and updn;
and how many trees lie on a link. Exit status 1 if a group is not whole after a sweep.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import clients
import fabric_costs
import mgroups
import pmlab
import simlab
import wire

ENGINES = ("portmajor", "updn", "minhop")
GROUP = 0xFF12401BFFFF000000000000FFFFFFFF
ASKING = "h9-1"  # reads the tables; its leaf's cable is the one that is lost
BEGIN, END = "<!-- multicast-costs: begin -->\n", "<!-- multicast-costs: end -->\n"


class Group:
    """Members and their tables; faults() is empty if each reaches all others once."""

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
        """What the tree goes through: a leaf's cable, a line switch, a chassis."""
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
            lab.event("lose", target)
            rows.append((kind, engine, *count(trace.records())))
            faults += [f"{engine}: {target} lost: {fault}" for fault in group.faults()]
            lab.event("back", target)
            faults += [f"{engine}: {target} back: {fault}" for fault in group.faults()]
        used = set(lab.osm.engines_used())
        if used != {engine}:
            faults.append(f"routed with {used}, not with {engine}")
    return rows, faults


def events(lab, members):
    """(name, action, whether a sweep follows) of the second table."""
    fabric, alone, of_two = lab.fabric, "h11-4", "h20-8"
    cable, chassis = members.busiest("h9-18", "leaf9")
    return (("nothing changed (SIGHUP)", lab.osm.hup, True),
            ("host of no group lost", lambda: fabric.lose("h7-17"), True),
            ("host of no group back", lambda: fabric.back("h7-17"), True),
            ("member of a group of all leaves lost", lambda: fabric.lose(alone), True),
            ("the host back, and no member", lambda: fabric.back(alone), True),
            ("it joins", lambda: members.join(2, alone), False),
            ("member of a group of two lost", lambda: fabric.lose(of_two), True),
            ("the host back, and no member", lambda: fabric.back(of_two), True),
            ("it joins", lambda: members.join(5 + 20, of_two), False),
            ("leaf's cable with most trees lost", lambda: fabric.lose(cable), True),
            ("back", lambda: fabric.back(cable), True),
            ("the chassis behind it lost", lambda: fabric.lose(f"{chassis}-*"), True),
            ("back", lambda: fabric.back(f"{chassis}-*"), True))


def run_groups(netlist, leaves, engine, tell):
    """{event: (MFT Sets, number of the last one)}, the loads of links, and faults."""
    rows, faults = [], []
    trace = wire.Wire(trace=True)
    with pmlab.Lab(netlist, engine=engine, wire=trace) as lab:
        lab.osm.settle(timeout=pmlab.TIMEOUT_S)
        tell(f"{engine}: hosts join 101 groups")
        members = mgroups.Members(lab)
        members.join_usual(leaves)
        lab.osm.settle(lab.osm.mark(), sweep=False)
        loads = members.loads("h9-18")
        for name, action, sweep in events(lab, members):
            tell(f"{engine}: {name}")
            lab.osm.wait_traps_aged()
            trace.records()
            mark = lab.osm.mark()
            action()
            lab.osm.settle(mark, timeout=pmlab.TIMEOUT_S, sweep=sweep)
            rows.append((name, *count(trace.records())[2:4]))
            members.forget_lost()
            faults += [f"{engine}: {name}: {fault}" for fault in members.faults("h9-18")]
    return rows, loads, faults


GROUPS_HEADER = ("101 groups", "portmajor", "last is SMP", "updn", "last is SMP")


def format_groups(ours, theirs):
    """Rows side by side, and the loads."""
    rows = [(a[0], *a[1:], *b[1:]) for a, b in zip(ours[0], theirs[0])]
    loads = [f"{most}, {mean:.1f}" for _, (most, mean), _ in (ours, theirs)]
    return layout([GROUPS_HEADER, *rows, ("trees on a link: most, mean", loads[0], "", loads[1],
                                          "")], 1)


HEADER = ("lost", "routing", "LFT Sets", "last is SMP", "MFT Sets", "last is SMP", "all SMPs")


def format_table(rows):
    rows = sorted(rows, key=lambda row: ("cable", "switch", "chassis").index(row[0]))
    return layout([HEADER, *rows], 2)


def layout(rows, texts):
    """A table in Markdown; the first columns, so many, are texts."""
    cells = [[f"{c:,}" if isinstance(c, int) else c for c in row] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    rule = ["-" * w if i < texts else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "".join("| " + " | ".join(text.ljust(widths[i]) if i < texts else text.rjust(widths[i])
                                     for i, text in enumerate(line)) + " |\n"
                   for line in [cells[0], rule, *cells[1:]])


def update(path, table):
    """Replaces what stands between the marker lines."""
    before, begin, rest = path.read_text(encoding="ascii").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"multicast-costs: {path} has no marker lines")
    path.write_text(before + begin + "\n" + table + "\n" + end + after, encoding="ascii")


def main():
    parser = argparse.ArgumentParser(prog="scripts/multicast-costs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, default=36, choices=(36, 324),
                        help="of the fabric, 18 hosts each (default: 36)")
    parser.add_argument("--update", action="store_true",
                        help="write the table into docs/fabrics.md if all agrees")
    args = parser.parse_args()
    rows, faults = [], []
    with tempfile.TemporaryDirectory(prefix="portmajor-multicast-",
                                     dir=os.environ.get("SIMLAB_DIR")) as folder:
        netlist = pmlab.generate(pathlib.Path(folder) / "fabric.net", "director", args.leaves)
        for engine in ENGINES:
            more = run(netlist, args.leaves, engine,
                       lambda text: print(text, file=sys.stderr, flush=True))
            rows += more[0]
            faults += more[1]
        many = [run_groups(netlist, args.leaves, engine,
                           lambda text: print(text, file=sys.stderr, flush=True))
                for engine in ("portmajor", "updn")]
        faults += many[0][2] + many[1][2]
    table = format_table(rows) + "\n" + format_groups(*many)
    print(table, end="")
    if faults:
        sys.exit("\n".join([*faults[:20], "multicast-costs: FAILED"]))
    if args.update:
        update(fabric_costs.DOCUMENT, table)


if __name__ == "__main__":
    main()
