#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The costs of events in every kind of fabric, as the table of docs/fabrics.md.

ibsim simulates each fabric, and OpenSM brings it up on its first host, with portmajor and then with
OpenSM's own engines, one after another. With each of them the same parts fail and return, and the
LFT Sets on the wire are counted. The counts are compared with the plugin's log and with the
prediction of `portmajor whatif`, and every pair is walked, as in scripts/demo. Two fabrics run at a
time.

Prints the table; exit status 0 if all numbers agree, else 1.
"""

import collections
import dataclasses
import functools
import pathlib
import sys
import tempfile

import demo
import measuring
import odd_netlists
import pmlab
import real_fabrics
import simlab

# A kind of fabric: arguments of `portmajor generate`, a function of odd_netlists or one of
# real_fabrics, the parts that fail in it, and those that come late (as in demo.Scene). No failed
# part is beside the subnet manager's leaf. stale: as in demo.Scene.
Kind = collections.namedtuple("Kind", "name source targets lmc late stale", defaults=(0, (), 0))

EVEN = ("two-level", 36, 18, 18, 1)
EVEN_TARGETS = ("spine0", "leaf5:20", "h7-3")
DIRECTOR_TARGETS = ("s0-*", "s2-line1", "s2-fab0", "leaf5:20", "s3-line1:30", "h7-3")

KINDS = (
    Kind("single switch", odd_netlists.single_switch, ("twin:2", "leaf0-h3")),
    Kind("two levels, 1:1", EVEN, EVEN_TARGETS),
    Kind("two levels, LMC 1", EVEN, EVEN_TARGETS, lmc=1),
    Kind("two levels, LMC 2", EVEN, EVEN_TARGETS, lmc=2),
    Kind("two levels, three cables missing at the start", EVEN, EVEN_TARGETS,
         late=("leaf5:21", "leaf9:30", "leaf0:36")),
    Kind("two levels, 3 parallel cables", ("two-level", 18, 6, 18, 3),
         ("spine0", "leaf5:22", "h7-3")),
    Kind("two levels, 2:1 oversubscribed", ("two-level", 18, 12, 24, 1),
         ("spine0", "leaf5:26", "h7-3")),
    Kind("two levels, uneven", odd_netlists.uneven_two_levels,
         ("spine0", "leaf1:8", "leaf4-h7")),
    Kind("two levels, hosts on spines", odd_netlists.end_nodes_on_spines,
         ("spine1", "leaf1:5", "gate1")),
    Kind("three levels", ("xgft", 3, "6,6,6", "1,6,6"),
         ("sw3-0", "sw2-8", "leaf8:8", "sw2-9:8", "h7-3")),
    Kind("four levels", ("xgft", 4, "4,4,4,4", "1,4,4,4"),
         ("sw4-0", "sw3-18", "sw2-8", "leaf8:6", "sw2-9:6", "sw3-19:6", "h7-3")),
    Kind("four levels, uneven", odd_netlists.uneven_four_levels,
         ("t0", "x2-1", "y1-1", "y0-1:5", "x1-2:4", "y2-0:4", "x0-2-h1")),
    Kind("directors, 36 leaves", ("director", 36), DIRECTOR_TARGETS),
)
REAL_KINDS = tuple(Kind(real.title, real, real.targets, stale=real is real_fabrics.COMPUTE)
                   for real in real_fabrics.ALL)
DIRECTOR_324 = Kind("directors, 324 leaves", ("director", 324), DIRECTOR_TARGETS)


def describe(netlist, target):
    """The name of one of simlab's targets in the table."""
    name, colon, port = target.rpartition(":")
    if colon:
        peer, peer_port = netlist.nodes[name].ports[int(port)]
        if real_fabrics.is_end(netlist, target):
            return f"end node {peer} on {name}"
        return f"cable {name}[{port}]-{peer}[{peer_port}]"
    if target.endswith("-*"):
        return f"chassis {target[:-2]}"
    return f"{'switch' if netlist.nodes[target].is_switch else 'host'} {target}"


def make_scene(kind, folder):
    path = measuring.write_netlist(kind.source, folder / "fabric.net")
    netlist = simlab.Netlist(path)
    targets = [(describe(netlist, target), target, real_fabrics.is_end(netlist, target))
               for target in kind.targets]
    late = [(describe(netlist, cable), cable) for cable in kind.late]
    early = pmlab.without_cables(path, kind.late, folder / "early.net") if late else None
    return demo.Scene(path, tuple(targets), kind.lmc, tuple(late), early, kind.stale)


@dataclasses.dataclass
class Result:
    """A fabric's rows of the table."""
    kind: Kind
    switches: int
    hosts: int
    blocks: int  # of a switch's table
    rows: list


def measure(folder, tell, kind):
    def tell_kind(text):
        tell(f"{kind.name}: {text}")

    scene = make_scene(kind, pathlib.Path(tempfile.mkdtemp(dir=folder)))
    netlist = simlab.Netlist(scene.netlist)
    rows = demo.run_portmajor(scene, tell_kind)
    for engine in measuring.STOCK_ENGINES:
        demo.run_stock(engine, scene, rows, tell_kind)
    run = rows[0].event.runs[-1]
    return Result(kind, len(netlist.switches), len(netlist.hosts),
                  run.full_load // len(netlist.switches), rows)


HEADER = ["fabric", "event", "wire", "restoring", "least", "whatif", *measuring.STOCK_ENGINES]


def describe_fabric(result):
    counts = ((result.switches, "switch", "es"), (result.hosts, "host", "s"),
              (result.blocks, "block", "s"))
    return f"{result.kind.name}: " + ", ".join(
        f"{measuring.number(count)} {noun}{plural if count > 1 else ''}"
        for count, noun, plural in counts)


def describe_load(ratio):
    return "-" if ratio is None else f"{ratio:.2f}"


def describe_counts(row):
    """A row's cells behind the event: those with loads, in brackets, and the others."""
    counts = [measuring.number(row.event.wire), *row.stock_cells()]
    wire, *stock = (f"{count} ({describe_load(row.loads[engine])})" for count, engine
                    in zip(counts, ("portmajor", *measuring.STOCK_ENGINES)))
    return [wire, measuring.number(row.restoring), measuring.number(row.event.least),
            row.predicted_cell(), *stock]


def repeats(before, lost, back):
    """Whether a return costs as much as the failure did, and leaves marks and loads as before both.
    """
    def count(cell):
        return cell.split()[0].rstrip("*")

    def state(cell):
        return "*" in cell, cell.split()[-1] if "(" in cell else None

    loaded = [0, *range(4, len(lost))]
    return (all(count(lost[i]) == count(back[i]) for i in (*loaded, 2))
            and all(state(before[i]) == state(back[i]) for i in loaded))


def merge_returns(rows):
    """Rows of an event and its cells: a return that repeats the failure has no row of its own."""
    merged, start = [], None
    for name, cells in rows:
        what, _, verb = name.rpartition(" ")
        if (verb == "back" and len(merged) > 1 and merged[-1][0] == f"{what} lost"
                and repeats(start, merged[-1][1], cells)):
            merged[-1] = f"{what} lost, back", merged[-1][1]
            continue
        if verb != "lost":
            start = cells
        merged.append((name, cells))
    return merged


def format_table(results):
    """The table in Markdown; a fabric is named in its first row, events that cost nothing are left
    out."""
    lines = [HEADER]
    for result in results:
        about = describe_fabric(result)
        for name, cells in merge_returns((row.name, describe_counts(row)) for row in result.rows):
            if name.endswith("lost, back") and cells[0].split()[0] == "0":
                continue
            lines.append([about, name, *cells])
            about = ""
    return measuring.markdown_table(lines, range(2))


def main():
    parser = measuring.make_parser(__doc__, "scripts/fabric-costs")
    parser.add_argument("--update", action="store_true",
                        help="write the table into docs/fabrics.md if all agrees")
    parser.add_argument("--director-324", action="store_true",
                        help="5,832 hosts as well: takes some ten minutes more")
    parser.add_argument("--real", action="store_true",
                        help="the fabrics of sim-topologies/real in place of all others, for "
                        "the second table: takes fifteen minutes")
    args = measuring.parse_rows(parser)
    kinds = REAL_KINDS if args.real else KINDS + ((DIRECTOR_324,) if args.director_324 else ())
    kinds = [kind for kind in kinds if args.only in kind.name]
    with measuring.folder_of("fabric-costs") as folder:
        results = measuring.side_by_side(
            functools.partial(measure, folder, measuring.Progress()), kinds)
        table = format_table(results)
        print(table, end="")
        faults = [f"{result.kind.name}: {row.name}: {fault}"
                  for result in results for row in result.rows for fault in row.faults]
        if faults:
            sys.exit("\n".join(faults + [f"fabric-costs: FAILED; everything is kept in {folder}"]))
    if args.update:
        measuring.update("fabric-costs --real" if args.real else "fabric-costs", table)


if __name__ == "__main__":
    main()
