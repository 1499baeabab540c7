#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The time from a return until the part is in service.

ibsim simulates a director fabric (see `portmajor generate -h`), on a wire with the ports of
wire_truth.h. Parts leave and return, with OpenSM on the first host, h0-1, routing with portmajor
and then with its own engines:

 - flap: a link is down for 0.2 s,
 - away: a part is back after OpenSM has dropped it,
 - rebooted: the same, and it has lost all that was set.

The SMPs of all senders are counted from the first trap of the return until the last port is ACTIVE,
and until the last Set; seconds are those of a wire (see wiretime.py), with OpenSM computing in no
time. The last column has the first engine's SMPs until ACTIVE, as a part of each engine's.

With --at parts return in the middle of a requested sweep, whose datagrams follow each other as on
that wire, which is full then. The plugin's SMPs are counted; the time is that of all SMPs in
between. The last column has the longest time as a part of that in an idle fabric.
"""

import dataclasses
import re
import time

import failover
import measuring
import pmlab
import simlab
import smps
import wire
import wiretime

ENGINES = ("portmajor", "updn")
FLAP_S = 0.2
# The returning part, and its way.
RETURNS = (("host", "h7-3", "flap"), ("host", "h7-3", "away"), ("host", "h7-3", "rebooted"),
           ("cable", "leaf5:20", "flap"), ("cable", "leaf5:20", "away"),
           ("leaf", "leaf9", "away"), ("leaf", "leaf9", "rebooted"),
           ("chassis", "s1-*", "away"), ("chassis", "s1-*", "rebooted"))


@dataclasses.dataclass
class Return:
    """One return under one engine: SMPs and seconds until ACTIVE, and until the last Set."""
    part: str
    how: str
    engine: str
    share: float  # the part of a sweep that was done; 0: idle
    active: int
    active_s: float
    last: int
    last_s: float


def is_set(record, attr=None):
    return record.event == "asked" and record.method == wire.SET and attr in (None, record.attr)


def until(records, found, share):
    """(SMPs, seconds) from the first trap to the end of an SMP; in a sweep only the plugin's count.
    """
    begin = next(r for r in records if r.event == "trapped")
    asked = [r for r in records[records.index(begin):records.index(found) + 1]
             if r.event == "asked"]
    if share:  # the wire is full
        return (sum(r.plugin for r in asked),
                len(asked) * wiretime.SET_US / failover.MAX_WIRE_SMPS * 1e-6)
    stamps = wiretime.virtual([r for r in records if r.event != "state"])
    end = wiretime.last_of(records)[id(found)]
    return (len(asked), next(s.seconds for s in stamps if s.record is end)
            - next(s.seconds for s in stamps if s.record is begin))


def until_active(records, share):
    """Likewise, to the Set by which the last port came into service."""
    last = max(i for i, r in enumerate(records) if r.event == "state" and r.status == smps.ACTIVE)
    return until(records, [r for r in records[:last] if is_set(r, smps.PORT_INFO)][-1], share)


def until_last_set(records, share):
    return until(records, [r for r in records if is_set(r) and (r.plugin or not share)][-1], share)


def go_into_sweep(osm, smps_due):
    """Begins a sweep, and waits until it has sent so many SMPs."""
    begin = osm.counters()["smps"]
    osm.hup()
    simlab.poll_until(lambda: osm.counters()["smps"] - begin >= smps_due, pmlab.TIMEOUT_S,
                      f"{smps_due} SMPs of a sweep", every=0.0005)


def come_back(osm, part, target, how, share=0, length=0):
    fabric, trace = osm.fabric, osm.wire
    if how != "flap":
        pmlab.lose(osm, target)
    if how == "rebooted":
        for name in fabric.netlist.match(target):
            fabric.clear(name)

    def action():
        if how == "flap":
            fabric.lose(target)
            time.sleep(FLAP_S)  # part of the scenario
        if share:
            go_into_sweep(osm, share * length)
        trace.records()
        return fabric.back(target)

    osm.pace(wiretime.SET_US // failover.MAX_WIRE_SMPS if share else 0)
    simlab.measure(fabric, osm, action, timeout=pmlab.TIMEOUT_S, sweep=how != "flap")
    osm.pace(0)
    records = trace.records(states=True)
    return Return(part, how, osm.engine, share, *until_active(records, share),
                  *until_last_set(records, share))


def other(target, number):
    """For a host one of another leaf: the third return of a host in 10 s would be delayed."""
    return re.sub(r"^h(\d+)", lambda m: f"h{int(m[1]) + number}", target)


def run(netlist, engine, returns, shares):
    trace = wire.Wire(trace=True)
    with pmlab.Folder() as folder, pmlab.Fabric(netlist) as fabric, \
            failover.open_sm(fabric, engine, trace, folder) as osm:
        osm.settle(timeout=pmlab.TIMEOUT_S)
        length = failover.sweep_length(osm) if shares else 0
        results = []
        for part, target, how in returns:
            for number, share in enumerate((0, *shares)):
                results.append(come_back(osm, part, other(target, number), how, share, length))
                one = results[-1]
                measuring.tell(f"{engine}: {part} {how} {failover.title(share)}: "
                               f"{one.active:,} SMPs, {one.active_s:.4f} s")
        return results


def format_during(results):
    """A row for each return, with a column for each moment: the plugin's SMPs and seconds."""
    shares = list(dict.fromkeys(r.share for r in results))
    rows = [["back", "", *map(failover.title, shares), "longest"]]
    for part, how in dict.fromkeys((r.part, r.how) for r in results):
        found = {r.share: r for r in results if (r.part, r.how) == (part, how)}
        longest = max(found[s].active_s for s in shares if s) / found[0].active_s
        rows.append([part, how, *(f"{found[s].active:,} {found[s].active_s:.4f} s" for s in shares),
                     f"{longest:.2f}"])
    return measuring.plain_table(rows, range(2))


def format_table(results):
    """A row for each return and engine; the first engine is the reference."""
    rows = [["back", "", "routing", "SMPs to ACTIVE", "s", "SMPs to the last Set", "s", "part"]]
    first = {(r.part, r.how): r for r in results if r.engine == results[0].engine}
    for r in results:
        ours = first[r.part, r.how].active
        part = "" if r.engine == results[0].engine else f"1/{r.active / ours:,.0f}"
        rows.append([r.part, r.how, r.engine, f"{r.active:,}", f"{r.active_s:.4f}",
                     f"{r.last:,}", f"{r.last_s:.4f}", part])
    return measuring.plain_table(rows, range(3))


def main():
    parser = measuring.make_parser(__doc__, "scripts/return-times")
    parser.add_argument("hosts", type=int, nargs="?", default=648, choices=measuring.LEAVES)
    parser.add_argument("--engines", default=",".join(ENGINES),
                        help="with commas between (default: %(default)s)")
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="those with it in their first two columns")
    parser.add_argument("--at", type=failover.parse_shares, default=(), metavar="PERCENT,..",
                        help="of a sweep; the first engine alone")
    options = parser.parse_args()
    returns = [one for one in RETURNS if options.only in f"{one[0]} {one[2]}"]
    with measuring.director(options.hosts) as netlist:
        results = []
        if options.at:
            print(format_during(run(netlist, options.engines.split(",")[0], returns, options.at)))
            return
        for engine in options.engines.split(","):
            results += run(netlist, engine, returns, ())
            measuring.tell(format_table(results))
    results.sort(key=lambda r: returns.index(next(one for one in returns
                                                  if (one[0], one[2]) == (r.part, r.how))))
    print(format_table(results))


if __name__ == "__main__":
    main()
