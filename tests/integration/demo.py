#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Failures in a simulated fabric: what portmajor sends, and what others would.

A director fabric (see `portmajor generate -h`) is simulated by ibsim; OpenSM runs
on its first host, h0-1, with the plugin. Then a spine chassis, a cable and a host
are lost and brought back. After each event

 - the LFT Sets on the wire are counted (madcount) and compared with what the
   plugin logged as sent and as acknowledged, with its lower bound, and, for
   losses, with what `portmajor whatif` foretells;
 - the tables are read back from the simulated switches and every pair is walked.

OpenSM's own engines then get the same fabric and the same events. Exit status 0
if everything agrees and every pair was delivered, else 1.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

import pmlab
import simlab

LEAVES = {648: 36, 5832: 324, 11664: 648}
STOCK_ENGINES = ("ftree", "updn", "minhop")

# What is lost: the event's name in the table, simlab's target, and whether it is a
# host, which must cost nothing. The SM is on h0-1, so its leaf is leaf0.
TARGETS = (
    ("chassis s0", "s0-*", False),
    ("cable leaf5[20] to chassis s1", "leaf5:20", False),
    ("host h7-3 (leaf7[3])", "h7-3", True),
)
EVENTS = [(verb, name, target, is_host) for name, target, is_host in TARGETS
          for verb in ("lose", "back")]


def event_name(verb, name):
    return f"{name} {'lost' if verb == 'lose' else 'back'}"


class Progress:
    """Tells on stderr what is going on."""

    def __init__(self):
        self.start = time.monotonic()

    def __call__(self, text):
        print(f"[{time.monotonic() - self.start:6.1f} s] {text}", file=sys.stderr, flush=True)


class Row:
    """One event: what was counted, and what does not agree."""

    def __init__(self, name):
        self.name, self.event, self.predicted, self.walked = name, None, None, None
        self.stock, self.faults = {}, []

    def judge(self, verb, is_host):
        event = self.event

        def want(holds, text):
            if not holds:
                self.faults.append(text)

        want(event.runs, "the plugin logged no run")
        want(event.wire == event.sent, f"wire {event.wire} != sent {event.sent}")
        want(event.wire == event.acked, f"wire {event.wire} != acked {event.acked}")
        want(event.wire >= event.bound, f"wire {event.wire} < bound {event.bound}")
        want(set(event.measured["engines"]) == {"portmajor"},
             f"engines {event.measured['engines']}")
        if verb == "lose":
            want(event.wire == self.predicted, f"wire {event.wire} != whatif {self.predicted}")
        if is_host:
            want(event.wire == 0, f"a host event cost {event.wire}")
        self.judge_walk()

    def judge_walk(self):
        self.faults += pmlab.walk_faults(self.walked)

    def cells(self):
        event = self.event

        def number(value):
            return "-" if value is None else f"{value:,}"

        return [self.name, number(event.wire), number(event.sent), number(event.acked),
                number(event.bound), number(self.predicted),
                number(self.walked.get("delivered")),
                *[number(self.stock.get(engine)) for engine in STOCK_ENGINES],
                "; ".join(self.faults) if self.faults else "ok"]


HEADER = ["event", "wire", "sent", "acked", "bound", "whatif", "pairs walked",
          *STOCK_ENGINES, "verdict"]


def format_table(rows):
    cells = [HEADER] + [row.cells() for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADER))]
    last = len(HEADER) - 1
    return "\n".join("  ".join(text.ljust(widths[i]) if i in (0, last) else text.rjust(widths[i])
                               for i, text in enumerate(line)).rstrip() for line in cells)


def run_portmajor(netlist, tell):
    """Bring-up and all events with the plugin; returns the table's rows."""
    rows = []
    with pmlab.Lab(netlist, host="h0-1") as lab:
        tell("portmajor: OpenSM is bringing the fabric up")
        first = Row("bring-up")
        first.event = lab.bring_up()
        if set(lab.osm.engines_used()) != {"portmajor"}:
            raise simlab.SimError(f"routed with {lab.osm.engines_used()}, not with portmajor")
        first.event.measured["engines"] = ["portmajor"]
        tell(f"portmajor: up, {first.event.wire:,} LFT Sets; walking all pairs")
        first.walked = lab.walk()
        first.judge("up", False)
        rows.append(first)
        for verb, name, target, is_host in EVENTS:
            row = Row(event_name(verb, name))
            if verb == "lose":
                row.predicted = lab.whatif(target).blocks
            row.event = lab.whole(verb, target)
            tell(f"portmajor: {row.name}: {row.event.wire:,} LFT Sets; walking all pairs")
            row.walked = lab.walk()
            row.judge(verb, is_host)
            rows.append(row)
    return rows


def run_stock(engine, netlist, rows, tell):
    """The same with one of OpenSM's engines; fills in the rows."""
    with pmlab.Fabric(netlist) as fabric, \
            simlab.OpenSM(fabric, engine=engine, host="h0-1") as osm:
        tell(f"{engine}: OpenSM is bringing the fabric up")
        osm.settle(timeout=pmlab.TIMEOUT_S)
        rows[0].stock[engine] = osm.delta(osm.start_mark)["lft_sets"]
        tell(f"{engine}: up, {rows[0].stock[engine]:,} LFT Sets")
        for row, (verb, name, target, _) in zip(rows[1:], EVENTS):
            result = simlab.measure(fabric, osm, lambda v=verb, t=target: getattr(fabric, v)(t),
                                    timeout=pmlab.TIMEOUT_S)
            row.stock[engine] = result["lft_sets"]
            tell(f"{engine}: {event_name(verb, name)}: {result['lft_sets']:,} LFT Sets")


def run(args, folder, tell):
    netlist = pmlab.generate(folder / f"director-{args.hosts}.net", "director",
                             LEAVES[args.hosts])
    tell(f"{args.hosts:,} hosts; netlist and logs in {folder}")
    rows = run_portmajor(netlist, tell)
    if not args.no_stock:
        if args.hosts > 648:
            tell("now OpenSM's own engines, one after another; at this size each takes "
                 "minutes (--no-stock leaves them out)")
        for engine in STOCK_ENGINES:
            run_stock(engine, netlist, rows, tell)
    return rows


def tidy(folder):
    """Leaves logs and counts, and drops what is large."""
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix in (".dump", ".net", ".out", ".fdbs"):
            path.unlink()


def main():
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", nargs="?", type=int, default=648, choices=sorted(LEAVES),
                        help="size of the fabric (default: 648)")
    parser.add_argument("--no-stock", action="store_true",
                        help="leave OpenSM's own engines out")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="portmajor-demo-"))
    os.environ.update(SIMLAB_DIR=str(folder), SIMLAB_KEEP="1")
    tell = Progress()
    try:
        rows = run(args, folder, tell)
    except simlab.SimError as error:
        sys.exit(f"demo: {error}\ndemo: FAILED; everything is kept in {folder}")
    table = format_table(rows)
    (folder / "table.txt").write_text(table + "\n", encoding="ascii")
    print(f"\nLFT Sets per event, {args.hosts:,} hosts ({LEAVES[args.hosts]} leaves), "
          "the SM on h0-1 (leaf0)\n")
    print(table)
    fine = not any(row.faults for row in rows)
    if fine:
        tidy(folder)
    logs = sorted(str(p) for p in folder.glob("simlab-opensm-*/opensm.log"))
    print(f"\n{'All agrees' if fine else 'FAILED'}. Folder: {folder}")
    print("OpenSM's logs:", *logs, sep="\n  ")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
