#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The most expensive cables of real fabrics, beside the costs of OpenSM's engines for the same
ones.

`portmajor whatif --all links` names the cables of each fabric that cost most LFT blocks. ibsim
simulates the fabric, and OpenSM brings it up on its first host with updn, then with minhop. Each of
these cables is removed and put back, and the LFT Sets on the wire that follow its failure are
counted.

Prints the table; exit status 1 if a cable costs more than 1.2 times as much as with the
cheaper of the two engines.
"""

import csv
import io
import re
import sys

import fabric_costs
import measuring
import pmlab
import real_fabrics
import simlab

ENGINES = ("updn", "minhop")
MOST = 1.2  # times the cheaper engine's Sets


def list_dearest(path, manager, count):
    """(simlab's target, blocks) of the cables that cost most."""
    result = pmlab.run_cli("whatif", "-s", manager, "--all", "links", "--worst", count,
                           "--csv", "-q", path)
    if result.returncode:
        raise simlab.SimError(f"whatif: {result.stderr}")
    return [(re.fullmatch(r"(.*)\[(\d+)\]-.*", row["failed"]).expand(r"\1:\2"),
             int(row["blocks"])) for row in csv.DictReader(io.StringIO(result.stdout))]


def count_sets(path, engine, targets, tell):
    """LFT Sets after the failure of each cable alone."""
    sets = []
    with pmlab.Fabric(path) as fabric, simlab.OpenSM(fabric, engine=engine) as osm:
        osm.settle(timeout=pmlab.TIMEOUT_S)
        for target in targets:
            result = pmlab.lose(osm, target)
            if set(result["engines"]) - {engine}:
                raise simlab.SimError(f"{engine} gave up: {result['engines']}")
            sets.append(result["lft_sets"])
            tell(f"{engine}: {target}: {sets[-1]:,}")
            pmlab.back(osm, target)
    return sets


def measure(real, folder, count, tell):
    """The table's rows of a fabric, and the number of its cables that are too expensive."""
    path = real_fabrics.write(real, folder / f"{real.name}.net")
    netlist = simlab.Netlist(path)
    dearest = list_dearest(path, next(iter(netlist.hosts)), count)
    targets = [target for target, _ in dearest]
    counts = [count_sets(path, engine, targets, lambda text: tell(f"{real.title}: {text}"))
              for engine in ENGINES]
    rows, dear, title = [], 0, real.title
    for (target, blocks), *sets in zip(dearest, *counts):
        dear += blocks > MOST * min(sets)
        rows.append([title, fabric_costs.describe(netlist, target),
                     *map(measuring.number, (blocks, *sets))])
        title = ""
    return rows, dear


def main():
    parser = measuring.make_parser(__doc__, "scripts/cable-costs")
    parser.add_argument("--update", action="store_true",
                        help="write the table into docs/fabrics.md")
    parser.add_argument("--cables", type=int, default=20, help="of each fabric (default 20)")
    args = measuring.parse_rows(parser)
    tell, rows, too_dear = measuring.Progress(), [["fabric", "cable", "whatif", *ENGINES]], 0
    with measuring.folder_of("cable-costs") as folder:
        for real in real_fabrics.ALL:
            if args.only in real.title:
                more, dear = measure(real, folder, args.cables, tell)
                rows += more
                too_dear += dear
    table = measuring.markdown_table(rows, range(2), aligned=False)
    print(table, end="")
    if args.update:
        measuring.update("cable-costs", table)
    if too_dear:
        sys.exit(f"cable-costs: {too_dear} cables cost more than {MOST} times as much as with "
                 "an engine of OpenSM's")


if __name__ == "__main__":
    main()
