#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The fullest cables of real fabrics, as a table of docs/fabrics.md.

ibsim simulates each fabric of sim-topologies/real, and OpenSM brings it up, with portmajor and with
OpenSM's own engines; then a spine fails. Each time the tables are read back, and every host sends a
flow to every other one. Aggregation nodes are no hosts here.

Prints the table; exit status 0 unless portmajor's fullest cable of a level and direction has over
LIMIT times the flows of that of the best other engine.
"""

import argparse
import os
import pathlib
import re
import shutil
import sys
import tempfile

import demo
import fabric_costs
import pmlab
import real_fabrics
import simlab

LIMIT = 1.15
ENGINES = ("portmajor", *demo.STOCK_ENGINES)
MARKERS = "<!-- fabric-balance: begin -->\n", "<!-- fabric-balance: end -->\n"


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
        simlab.measure(fabric, osm, lambda: fabric.lose(spine), timeout=pmlab.TIMEOUT_S)
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
            best = min(flows[engine] for engine in demo.STOCK_ENGINES)
            ratio = flows["portmajor"] / best
            level, direction = key
            rows.append([real.title, what, f"{level} {direction}",
                         *(demo.number(flows[engine]) + "*" * found[engine][0]
                           for engine in ENGINES), f"{ratio:.2f}"])
            if ratio > LIMIT:
                faults.append(f"{real.title}, {what}, {level} {direction}: {ratio:.2f}")
    return rows, faults


def format_table(rows):
    header = ["fabric", "", "level", *ENGINES, "ratio"]
    text = 3  # columns
    lines = [header] + [row if i == 0 or rows[i - 1][:2] != row[:2] else ["", "", *row[2:]]
                        for i, row in enumerate(rows)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(header))]
    lines.insert(1, ["-" * width if i < text else "-" * (width - 1) + ":"
                     for i, width in enumerate(widths)])
    return "".join("| " + " | ".join(cell.ljust(width) if i < text else cell.rjust(width)
                                     for i, (cell, width) in enumerate(zip(line, widths)))
                   + " |\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(prog="scripts/fabric-balance", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true",
                        help="write the table into docs/fabrics.md if no cable is over the limit")
    parser.add_argument("--only", metavar="TEXT", help="fabrics with it in their name")
    args = parser.parse_args()
    if args.only and args.update:
        parser.error("--update wants all rows of the table")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="portmajor-balance-"))
    os.environ.update(SIMLAB_DIR=str(folder))
    rows, faults, tell = [], [], demo.Progress()
    for real in real_fabrics.ALL:
        if not args.only or args.only in real.title:
            found = measure(real, folder, tell)
            rows += found[0]
            faults += found[1]
    shutil.rmtree(folder, ignore_errors=True)
    table = format_table(rows)
    print(table, end="")
    if faults:
        sys.exit("\n".join(faults))
    if args.update:
        fabric_costs.update(fabric_costs.DOCUMENT, table, MARKERS)


if __name__ == "__main__":
    main()
