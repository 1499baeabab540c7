#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a loss costs in multicast tables (MFTs), beside LFTs, and when the last one goes.

A director fabric is simulated by ibsim, on a wire that lets questions to what is dead time
out, with OpenSM on its first host, h0-1. One host of each leaf joins a group, as IPoIB's
hosts join the broadcast group. Then a cable, a switch and a chassis that the group's tree goes
through are lost, one after another, and each is brought back; with portmajor and then with
OpenSM's own engines. Printed are, for each loss, the LFT Sets and the MFT Sets, and the
number among all SMPs of the last one of either. Exit status 1 if the group is not whole
after a sweep.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import clients
import fabric_costs
import pmlab
import simlab
import wire

ENGINES = ("portmajor", "updn", "minhop")
GROUP = 0xFF12401BFFFF000000000000FFFFFFFF
ATTR_MFT = 0x1B
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
    for attr in (simlab.ATTR_LFT, ATTR_MFT):
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


HEADER = ("lost", "routing", "LFT Sets", "last is SMP", "MFT Sets", "last is SMP", "all SMPs")


def format_table(rows):
    rows = sorted(rows, key=lambda row: ("cable", "switch", "chassis").index(row[0]))
    cells = [HEADER] + [[f"{c:,}" if isinstance(c, int) else c for c in row] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADER))]
    rule = ["-" * w if i < 2 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "".join("| " + " | ".join(text.ljust(widths[i]) if i < 2 else text.rjust(widths[i])
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
    table = format_table(rows)
    print(table, end="")
    if faults:
        sys.exit("\n".join([*faults[:20], "multicast-costs: FAILED"]))
    if args.update:
        update(fabric_costs.DOCUMENT, table)


if __name__ == "__main__":
    main()
