#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Failures in a simulated fabric: the Sets of portmajor, and those of other engines.

ibsim simulates a director fabric (see `portmajor generate -h`); OpenSM runs on its first host,
h0-1, with the plugin. Then a spine chassis, a cable and a host fail and return. After each event

 - the LFT Sets on the wire are counted (madcount) and compared with what the
   plugin logged as sent and as acknowledged, with the least for the changed entries, and, for
   losses, with what `portmajor whatif` foretells;
 - the tables are read back from the simulated switches and every pair is walked.

OpenSM's own engines then get the same fabric and the same events. Exit status 0 if all numbers
agree and every pair was reached, else 1.
"""

import contextlib
import dataclasses
import pathlib
import sys

import measuring
import pmlab
import simlab
from measuring import LEAVES, STOCK_ENGINES, number

# The parts that fail: the event's name in the table, simlab's target, and whether it is a host,
# which must cost nothing. The SM is on h0-1, so its leaf is leaf0.
TARGETS = (
    ("chassis s0", "s0-*", False),
    ("cable leaf5[20] to chassis s1", "leaf5:20", False),
    ("host h7-3 (leaf7[3])", "h7-3", True),
)


@dataclasses.dataclass
class Scene:
    """A fabric and its events; OpenSM runs on its first host.

    targets  as TARGETS: each is lost and comes back
    late     (name, simlab's target) of cables that are not there when OpenSM starts;
             they come after all else
    early    the netlist without them
    stale    the most blocks of a failure for kept entries that the discovery removes, which
             whatif does not predict
    """
    netlist: pathlib.Path
    targets: tuple = TARGETS
    lmc: int = 0
    late: tuple = ()
    early: pathlib.Path = None
    stale: int = 0

    def events(self):
        """(verb, name, simlab's target, is a host) of each event."""
        for target in self.targets:
            yield "lose", *target
            yield "back", *target
        for name, target in self.late:
            yield "back", name, target, False

    def opensm_args(self):
        return ["-l", str(self.lmc)]

    @contextlib.contextmanager
    def open_fabric(self):
        with pmlab.Fabric(self.netlist) as fabric:
            for _, target in self.late:
                fabric.lose(target)
            yield fabric

    def whatif(self, target, manager):
        """The prediction of the command for a failure."""
        return pmlab.whatif(self.early or self.netlist, target, manager=manager, lmc=self.lmc)

    # A plan that has grown is not the plan made from the whole netlist.
    def walk(self, lab):
        """The result of `walk`, and its faults."""
        plan = not self.late
        walked = lab.walk("-m", str(self.lmc))
        return walked, pmlab.walk_faults(walked, plan)

    def walk_stock(self, fabric):
        """The same with the tables of another engine, without planned LIDs."""
        dump = self.netlist.with_name("stock.dump")
        fabric.dump(dump, timeout=pmlab.TIMEOUT_S)
        return pmlab.walk(self.netlist, dump)


def event_name(verb, name):
    return f"{name} {'lost' if verb == 'lose' else 'back'}"


class Row:
    """One event: the counts, and their disagreements."""

    def __init__(self, name):
        self.name, self.event, self.predicted, self.walked = name, None, None, None
        self.restoring = None  # of a failure
        self.stock, self.fell_back, self.faults = {}, set(), []
        self.loads = {}  # by engine, see pmlab.load_ratio

    def judge(self, verb, is_host, most_stale=0):
        event = self.event

        def want(holds, text):
            if not holds:
                self.faults.append(text)

        want(event.runs, "the plugin logged no run")
        want(not event.miscounted, "; ".join(event.miscounted))
        want(event.sent + event.unheard >= event.least, f"wire {event.wire} < least {event.least}")
        want(set(event.measured["engines"]) == {"portmajor"},
             f"engines {event.measured['engines']}")
        if verb == "lose":
            self.restoring = event.restoring
            want(event.wire == self.predicted.blocks + event.stale and event.stale <= most_stale,
                 f"wire {event.wire} != whatif {self.predicted.blocks}, stale {event.stale}")
            want(event.restoring == self.predicted.restoring or event.unheard,
                 f"restoring {event.restoring} != whatif {self.predicted.restoring}")
        if is_host:
            want(event.wire == 0, f"a host event cost {event.wire}")

    def note_walk(self, walked, faults):
        self.walked = walked
        self.loads["portmajor"] = pmlab.load_ratio(walked)
        self.faults += faults

    def note_stock(self, engine, lft_sets, engines_used, walked):
        self.stock[engine] = lft_sets
        self.loads[engine] = pmlab.load_ratio(walked)
        if set(engines_used) - {engine}:
            self.fell_back.add(engine)

    def stock_cells(self):
        """The counts of OpenSM's engines; * where one gave up and minhop took over."""
        return [number(self.stock.get(engine)) + ("*" if engine in self.fell_back else "")
                for engine in STOCK_ENGINES]

    def predicted_cell(self):
        return number(self.predicted and self.predicted.blocks)

    def cells(self):
        event = self.event
        return [self.name, number(event.wire), number(event.sent), number(event.acked),
                number(self.restoring), number(event.least), self.predicted_cell(),
                number(self.walked.get("delivered")),
                *self.stock_cells(),
                "; ".join(self.faults) if self.faults else "ok"]


HEADER = ["event", "wire", "sent", "acked", "restoring", "least", "whatif", "pairs walked",
          *STOCK_ENGINES, "verdict"]


def format_table(rows):
    return measuring.plain_table([HEADER, *(row.cells() for row in rows)], (0, len(HEADER) - 1))


def run_portmajor(scene, tell):
    """Bring-up and all events with the plugin; returns the table's rows."""
    rows = []
    with scene.open_fabric() as fabric, \
            pmlab.Lab(fabric.netlist, fabric=fabric, args=scene.opensm_args()) as lab:
        tell("portmajor: OpenSM is bringing the fabric up")
        first = Row("bring-up")
        first.event = lab.bring_up()
        if set(lab.osm.engines_used()) != {"portmajor"}:
            raise simlab.SimError(f"routed with {lab.osm.engines_used()}, not with portmajor")
        first.event.measured["engines"] = ["portmajor"]
        tell(f"portmajor: up, {first.event.wire:,} LFT Sets; walking all pairs")
        first.judge("up", False)
        first.note_walk(*scene.walk(lab))
        rows.append(first)
        for verb, name, target, is_host in scene.events():
            row = Row(event_name(verb, name))
            if verb == "lose":
                row.predicted = scene.whatif(target, lab.osm.host)
            row.event = lab.whole(verb, target)
            tell(f"portmajor: {row.name}: {row.event.wire:,} LFT Sets; walking all pairs")
            row.judge(verb, is_host, scene.stale)
            row.note_walk(*scene.walk(lab))
            rows.append(row)
    return rows


def run_stock(engine, scene, rows, tell):
    """The same with one of OpenSM's engines; fills in the rows."""
    with scene.open_fabric() as fabric, \
            simlab.OpenSM(fabric, engine=engine, args=scene.opensm_args()) as osm:
        tell(f"{engine}: OpenSM is bringing the fabric up")
        osm.settle(timeout=pmlab.TIMEOUT_S)
        rows[0].note_stock(engine, osm.delta(osm.start_mark)["lft_sets"], osm.engines_used(),
                           scene.walk_stock(fabric))
        tell(f"{engine}: up, {rows[0].stock[engine]:,} LFT Sets")
        for row, (verb, _, target, _) in zip(rows[1:], scene.events()):
            result = getattr(pmlab, verb)(osm, target)
            row.note_stock(engine, result["lft_sets"], result["engines"],
                           scene.walk_stock(fabric))
            tell(f"{engine}: {row.name}: {result['lft_sets']:,} LFT Sets")


def run(args, folder, tell):
    netlist = pmlab.generate(folder / f"director-{args.hosts}.net", "director",
                             LEAVES[args.hosts])
    tell(f"{args.hosts:,} hosts; netlist and logs in {folder}")
    scene = Scene(netlist)
    rows = run_portmajor(scene, tell)
    if not args.no_stock:
        if args.hosts > 648:
            tell("now OpenSM's own engines, one after another; at this size each takes "
                 "minutes (--no-stock leaves them out)")
        for engine in STOCK_ENGINES:
            run_stock(engine, scene, rows, tell)
    return rows


def tidy(folder):
    """Keeps logs and counts, and removes large files."""
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix in (".dump", ".net", ".out", ".fdbs"):
            path.unlink()


def main():
    parser = measuring.make_parser(__doc__, "scripts/demo")
    parser.add_argument("hosts", nargs="?", type=int, default=648, choices=sorted(LEAVES),
                        help="size of the fabric (default: 648)")
    parser.add_argument("--no-stock", action="store_true",
                        help="leave OpenSM's own engines out")
    args = parser.parse_args()
    with measuring.folder_of("demo", remove=False) as folder:
        rows = run(args, folder, measuring.Progress())
    table = format_table(rows)
    (folder / "table.txt").write_text(table + "\n", encoding="ascii")
    print(f"\nLFT Sets per event, {args.hosts:,} hosts ({LEAVES[args.hosts]} leaves), "
          "the SM on h0-1 (leaf0)\n")
    print(table)
    if any(row.fell_back for row in rows):
        print("\n* This engine gave up, and OpenSM went on to minhop.")
    fine = not any(row.faults for row in rows)
    if fine:
        tidy(folder)
    logs = sorted(str(p) for p in folder.glob("simlab-opensm-*/opensm.log"))
    print(f"\n{'All agrees' if fine else 'FAILED'}. Folder: {folder}")
    print("OpenSM's logs:", *logs, sep="\n  ")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
