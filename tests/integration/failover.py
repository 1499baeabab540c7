#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How long hosts wait for new forwarding tables after a loss.

A director fabric (see `portmajor generate -h`) is simulated by ibsim. A cable and a
spine chassis are lost with OpenSM on its first host, h0-1, routing with

 - portmajor and its early repair,
 - portmajor with `early_repair no`,
 - OpenSM's own engines.

What OpenSM sends is recorded, and the record is given the times of a wire (see
wiretime.py). For each loss are printed the SMPs sent up to the last LFT Set, and the
seconds from the first trap until it is acknowledged: with OpenSM computing in no time
("CPU 0") and in the CPU time that it used here ("CPU here"). On a busy machine both are
longer: OpenSM waits while nothing is out, and has fewer out than it might. What no
machine makes shorter is the SMPs' time on the wire ("floor": those that are answered, as
many at a time as may be out). An early repair that is not the soonest, even beside the others'
floor, is an error.

With --during-sweep, OpenSM sweeps already, for a host that left, when the cable or the
chassis is lost: after so much of that sweep's SMPs. Counted are all SMPs from the loss to
the last LFT Set, and those of them that are portmajor's own questions and Sets; with
--paced one leaves every 265 us.

Traps that come while OpenSM discovers make it begin anew, which depends on the machine
too. Each loss is tried until it is discovered once, at most --tries times; the try with
the fewest SMPs counts.
"""

import argparse
import dataclasses
import os
import pathlib
import sys
import tempfile

import pmlab
import simlab
import wire
import wiretime

LEAVES = {648: 36, 5832: 324, 11664: 648}
MAX_WIRE_SMPS = 4
TRIES = 5
EARLY, LATE = "portmajor", "portmajor, early_repair no"
ENGINES = ("ftree", "updn", "minhop")
LOSSES = {"cable": "leaf5:20", "chassis": "s1-*"}
SHARES = 0, .1, .4, .75, .95  # of a sweep's SMPs; 0: OpenSM rests
LEAVING = "h7-3"


@dataclasses.dataclass
class Failover:
    """One loss under one way of routing."""
    how: str
    loss: str
    smps: int  # sent up to the last LFT Set
    floor_s: float  # what those of them take that are answered, as many at a time as may be
    wire_s: float  # to the last LFT Set acknowledged, with OpenSM computing in no time
    cpu_s: float  # the same, with the CPU time that it used
    discoveries: int
    gave_up: bool  # OpenSM went on to its next engine

    marks = property(lambda self: "*" * self.gave_up + "+" * (self.discoveries > 1))


def open_sm(fabric, how, trace, folder, env=None):
    """An OpenSM that routes this way, on that wire."""
    conf = {"max_wire_smps": MAX_WIRE_SMPS}
    if how not in (EARLY, LATE):
        return simlab.OpenSM(fabric, engine=how, host="h0-1", conf=conf, wire=trace, env=env)
    config = folder / "portmajor.conf"
    config.write_text(f"flap_limit 0\nearly_repair {'yes' if how == EARLY else 'no'}\n")
    return pmlab.open_sm(fabric, config=config, host="h0-1", conf=conf, wire=trace, env=env)


def floor_s(stamps):
    """What those up to the last LFT Set take that are answered, as many at a time as may be."""
    last = stamps.index(wiretime.lft_answers(stamps)[-1])
    answered = sum(s.record.event == "answered" for s in stamps[:last + 1])
    return answered * wiretime.SET_US / MAX_WIRE_SMPS * 1e-6


def lose(osm, how, loss):
    """Loses it and takes it back."""
    fabric, trace, target = osm.fabric, osm.wire, LOSSES[loss]

    def action():
        trace.records()
        return fabric.lose(target)

    lost = simlab.measure(fabric, osm, action, timeout=pmlab.TIMEOUT_S)
    records = trace.records()
    alone, used = (wiretime.virtual(records, cpu) for cpu in (False, True))
    simlab.measure(fabric, osm, lambda: fabric.back(target), timeout=pmlab.TIMEOUT_S)
    return Failover(how, loss, lost["last_lft_smp"], floor_s(alone),
                    wiretime.lft_answers(alone)[-1].seconds,
                    wiretime.lft_answers(used)[-1].seconds, lost["discoveries"],
                    set(lost["engines"]) != {osm.engine})


def fewest(osm, how, loss, tries):
    """The try that counts."""
    results = []
    while len(results) < tries and not (results and results[-1].discoveries == 1):
        results.append(lose(osm, how, loss))
    return min(results, key=lambda r: r.smps)


def run(netlist, how, tries):
    """Loses one after another and takes each back; returns a Failover for each."""
    trace = wire.Wire(trace=True)
    with pmlab.Folder() as folder, pmlab.Fabric(netlist) as fabric, \
            open_sm(fabric, how, trace, folder) as osm:
        osm.settle(timeout=pmlab.TIMEOUT_S)
        return [fewest(osm, how, loss, tries) for loss in LOSSES]


def compare(netlist, engines=ENGINES, tries=TRIES, tell=lambda text: None):
    """All ways of routing."""
    results = []
    for how in (EARLY, LATE, *engines):
        results += run(netlist, how, tries)
        tell("\n".join(map(str, results[-len(LOSSES):])))
    return results


@dataclasses.dataclass
class Interrupted:
    """One loss in the middle of a sweep."""
    how: str
    loss: str
    share: float
    smps: int  # from the loss to the last LFT Set
    own: int  # SMPs of early repairs


def sweep_length(osm):
    """How many SMPs a sweep has, by one for a host that returns."""
    osm.fabric.lose(LEAVING)
    osm.settle()
    return simlab.measure(osm.fabric, osm, lambda: osm.fabric.back(LEAVING))["smps"] // 2


def interrupt(osm, how, loss, share, length):
    """Loses it so far into a sweep, and takes it back."""
    fabric = osm.fabric

    def sent(mark):
        return osm.counters()["smps"] - mark.counters["smps"]

    osm.wait_traps_aged()
    begin = osm.mark()
    if share:
        fabric.lose(LEAVING)
        simlab.poll_until(lambda: sent(begin) >= share * length, pmlab.TIMEOUT_S,
                          f"{share * length} SMPs", every=0.0005)
    mark = osm.mark()
    fabric.lose(LOSSES[loss])
    osm.settle(begin, timeout=pmlab.TIMEOUT_S)
    repairs = pmlab.Repair.find(osm.log(mark.log_offset))
    last = osm.delta(mark)["last_lft_smp"]

    def back():
        fabric.back(LOSSES[loss])
        if share:
            fabric.back(LEAVING)

    simlab.measure(fabric, osm, back, timeout=pmlab.TIMEOUT_S)
    return Interrupted(how, loss, share, last, sum(r.queries + r.sent for r in repairs))


def run_during(netlist, how, paced=False):
    """An Interrupted for each loss and each share of a sweep."""
    env = {"MADCOUNT_DELAY_US": f"{wiretime.SET_US}"} if paced else {}
    with pmlab.Folder() as folder, pmlab.Fabric(netlist) as fabric, \
            open_sm(fabric, how, None, folder, env=env) as osm:
        osm.settle(timeout=pmlab.TIMEOUT_S)
        length = sweep_length(osm)
        return [interrupt(osm, how, loss, share, length) for loss in LOSSES for share in SHARES]


def format_during(results):
    """Of portmajor's own SMPs in brackets."""
    rows = [["lost", "routing", *("idle" if not share else f"at {share:.0%}" for share in SHARES)]]
    for loss in LOSSES:
        for how in dict.fromkeys(r.how for r in results):
            found = {r.share: r for r in results if (r.how, r.loss) == (how, loss)}
            rows.append([loss, how, *(f"{found[share].smps:,}"
                                      + f" ({found[share].own:,})" * (how == EARLY)
                                      for share in SHARES)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), row[1].ljust(widths[1]),
                                *map(str.rjust, row[2:], widths[2:])]).rstrip() for row in rows)


def format_table(results):
    columns = ["SMPs", "floor", "CPU 0", "CPU here"]
    rows = [["", *(text for loss in LOSSES for text in (loss, "", "", ""))],
            ["routing", *columns * len(LOSSES)]]
    for how in dict.fromkeys(r.how for r in results):
        row = [how]
        for r in (r for loss in LOSSES for r in results if (r.how, r.loss) == (how, loss)):
            row += [f"{r.smps:,}{r.marks}", f"{r.floor_s:.3f}", f"{r.wire_s:.3f}",
                    f"{r.cpu_s:.3f}"]
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
             for row in rows]
    marks = {"*": "This engine gave up, and OpenSM went on to minhop.",
             "+": "OpenSM began its discovery anew when more traps came."}
    notes = [f"{mark} {text}" for mark, text in marks.items()
             if any(mark in r.marks for r in results)]
    return "\n".join(lines + [""] * bool(notes) + notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", type=int, nargs="?", default=648, choices=LEAVES)
    parser.add_argument("--engines", default=",".join(ENGINES),
                        help="OpenSM's, with commas between (default: %(default)s)")
    parser.add_argument("--tries", type=int, default=TRIES, help="default: %(default)s")
    parser.add_argument("--during-sweep", action="store_true",
                        help="lose it while OpenSM sweeps: a table of SMPs")
    parser.add_argument("--paced", action="store_true",
                        help=f"with --during-sweep: an SMP every {wiretime.SET_US} us")
    options = parser.parse_args()
    if options.tries < 1:
        parser.error("argument --tries: 1 or more")
    with tempfile.TemporaryDirectory(prefix="portmajor-failover-",
                                     dir=os.environ.get("SIMLAB_DIR")) as folder:
        netlist = pmlab.generate(pathlib.Path(folder) / "fabric.net", "director",
                                 LEAVES[options.hosts])
        if options.during_sweep:
            ways = [EARLY, *(e for e in options.engines.split(",") if e)]
            print(format_during([r for how in ways for r in
                                 run_during(simlab.Netlist(netlist), how, options.paced)]))
            return 0
        results = compare(simlab.Netlist(netlist),
                          [e for e in options.engines.split(",") if e], options.tries,
                          lambda text: print(text, file=sys.stderr, flush=True))
    print(f"\nSMPs up to the last LFT Set, and seconds from the first trap until it is\n"
          f"acknowledged, {options.hosts:,} hosts. Computed, not timed: {wiretime.SET_US} us an "
          f"SMP (Nakashima\net al.), {wiretime.HOP_US} us a hop and way (assumed), "
          f"{MAX_WIRE_SMPS} outstanding. Floor: that of the SMPs alone\n")
    print(format_table(results))
    early = {r.loss: r.wire_s for r in results if r.how == EARLY}
    sooner = [r for r in results if r.how != EARLY and r.floor_s <= early[r.loss]]
    for r in sooner:
        print(f"{r.loss}: {r.how} was sooner")
    return bool(sooner)


if __name__ == "__main__":
    sys.exit(main())
