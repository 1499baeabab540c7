#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The fullest cables of real fabrics, as a table of docs/fabrics.md.

ibsim simulates each fabric of sim-topologies/real, and OpenSM brings it up, with portmajor and with
OpenSM's own engines; then a spine fails. Each time the tables are read back, and every host sends a
flow to every other one. Aggregation nodes are no hosts here.

Prints the table; exit status 0 unless portmajor's fullest cable of a level and direction has over
LIMIT times the flows of that of the best other engine.
"""

import re
import sys

import measuring
import pmlab
import real_fabrics
import simlab

LIMIT = 1.15
ENGINES = ("portmajor", *measuring.STOCK_ENGINES)


def without_aggregation(dump, path):
    """The Dump without the LIDs of aggregation nodes, which `check` would take for end ports."""
    records = dump.read_text(encoding="ascii", errors="replace").split("\n\n")
    path.write_text("\n\n".join(
        re.sub(r" lid \d+ ", " lid 0 ", record) if re.match(r'\w+ \d+ "agg', record) else record
        for record in records), encoding="ascii")
    return path


def find_fullest(netlist, fabric, folder):
    """{(level, direction): flows on the fullest cable} by the tables in the switches."""
    fabric.dump(folder / "whole.dump", timeout=pmlab.TIMEOUT_S)
    walked = pmlab.walk(netlist, without_aggregation(folder / "whole.dump",
                                                     folder / "hosts.dump"))
    return {(load["level"], load["direction"]): load["maximum"] for load in walked["loads"]}


def run_engine(netlist, engine, spine, folder):
    """Whether the engine gave up, and the fullest cables in the whole fabric and without a spine.
    """
    start = pmlab.open_sm if engine == "portmajor" else simlab.OpenSM
    with pmlab.Fabric(netlist) as fabric, start(fabric, engine=engine) as osm:
        osm.settle(timeout=pmlab.TIMEOUT_S)
        whole = find_fullest(netlist, fabric, folder)
        pmlab.lose(osm, spine)
        lost = find_fullest(netlist, fabric, folder)
        return bool(set(osm.engines_used()) - {engine}), whole, lost


def measure(real, folder, tell):
    """Rows of the table, and faults."""
    netlist = real_fabrics.write(real, folder / f"{real.name}.net")
    spine, found, rows, faults = real.targets[0], {}, [], []
    for engine in ENGINES:
        found[engine] = run_engine(netlist, engine, spine, folder)
        tell(f"{real.title}: {engine}")
    for at, what in ((1, "whole"), (2, f"{spine} lost")):
        for key in found["portmajor"][at]:
            flows = {engine: found[engine][at][key] for engine in ENGINES}
            best = min(flows[engine] for engine in measuring.STOCK_ENGINES)
            ratio = flows["portmajor"] / best
            level, direction = key
            rows.append([real.title, what, f"{level} {direction}",
                         *(measuring.number(flows[engine]) + "*" * found[engine][0]
                           for engine in ENGINES), f"{ratio:.2f}"])
            if ratio > LIMIT:
                faults.append(f"{real.title}, {what}, {level} {direction}: {ratio:.2f}")
    return rows, faults


def format_table(rows):
    return measuring.markdown_table(
        [["fabric", "", "level", *ENGINES, "ratio"],
         *(row if i == 0 or rows[i - 1][:2] != row[:2] else ["", "", *row[2:]]
           for i, row in enumerate(rows))], range(3))


def main():
    parser = measuring.make_parser(__doc__, "scripts/fabric-balance")
    parser.add_argument("--update", action="store_true",
                        help="write the table into docs/fabrics.md if no cable is over the limit")
    args = measuring.parse_rows(parser)
    rows, faults, tell = [], [], measuring.Progress()
    with measuring.folder_of("fabric-balance") as folder:
        for real in real_fabrics.ALL:
            if args.only in real.title:
                found = measure(real, folder, tell)
                rows += found[0]
                faults += found[1]
    table = format_table(rows)
    print(table, end="")
    if faults:
        sys.exit("\n".join(faults))
    if args.update:
        measuring.update("fabric-balance", table)


if __name__ == "__main__":
    main()
