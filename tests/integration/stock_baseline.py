#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Counts what OpenSM's own routing engines send after events on a simulated fabric.

    stock_baseline.py x.net --engine updn --json out.json --events lose:s1-* back:s1-*

Events run one after another on one opensm. `lose:GLOB` takes down all links of the nodes that
match, `lose:NODE:PORT` one link; `back:` with the same text undoes it. Without --events the usual
list is run: a chassis, a cable, a host, a line switch, a fabric switch and a leaf, each fails and
returns.
"""

import argparse
import json
import re
import subprocess
import sys

import simlab


def usual_events(netlist, sm_host):
    """Targets away from the SM, for the names leafN, s<S>-l*, s<S>-f* and h<leaf>-*."""
    sm_leaf = netlist.nodes[sm_host].ports[1][0]
    leaf = [n for n in netlist.match("leaf*") if n != sm_leaf][0]
    ports = netlist.nodes[leaf].ports
    host = [peer for peer, _ in ports.values() if not netlist.nodes[peer].is_switch][0]
    uplink = min(p for p, (peer, _) in ports.items() if netlist.nodes[peer].is_switch)
    targets = ["s1-*", f"{leaf}:{uplink}", host, netlist.match("s1-l*")[0],
               netlist.match("s1-f*")[0], leaf]
    return [f"{verb}:{target}" for target in targets for verb in ("lose", "back")]


def parse_event(text):
    verb, _, target = text.partition(":")
    if verb not in ("lose", "back") or not target:
        raise argparse.ArgumentTypeError(f"{text}: not lose:TARGET or back:TARGET")
    return verb, target


def check_target(fabric, osm, target):
    """Refuses events that leave the SM with less than half of the fabric."""
    cut = fabric.cut_off_by(target, osm.host)
    if 2 * len(cut) > len(fabric.netlist.nodes):
        raise SystemExit(f"{target}: would cut the SM on {osm.host} off")


def run_event(fabric, osm, verb, target):
    if verb == "lose":
        check_target(fabric, osm, target)
    result = simlab.measure(fabric, osm, lambda: getattr(fabric, verb)(target))
    return {"event": f"{verb}:{target}", **result}


def bring_up(osm):
    osm.settle()
    d = osm.delta(osm.start_mark)
    return {"event": "bring-up", "lft_sets": d["lft_sets"], "smps": d["smps"],
            "first_lft_smp": d["first_lft_smp"], "last_lft_smp": d["last_lft_smp"],
            "seconds": round(d["last_smp_ns"] / 1e9 - osm.start_mark.time, 3),
            "lft_seconds": round(d["last_lft_ns"] / 1e9 - osm.start_mark.time, 3),
            "discoveries": d["discoveries"], "light_sweeps": 0, "traps": d["traps"],
            "timeouts": d["timeouts"], "engines": osm.engines_used()}


COLUMNS = ("lft_sets", "smps", "last_lft_smp", "seconds", "discoveries", "light_sweeps",
           "traps", "timeouts")


def print_row(event, values):
    print(f"{event:24}" + "".join(f"{v:>13}" for v in values), flush=True)


def opensm_version():
    out = subprocess.run(["opensm", "--version"], capture_output=True, text=True, check=False)
    return re.search(r"OpenSM \S+", out.stdout).group()


def run(args):
    netlist = simlab.Netlist(args.netlist)
    sm_host = args.sm_host or netlist.hosts[0]
    events = args.events or [parse_event(e) for e in usual_events(netlist, sm_host)]
    rows = []

    def note(row):
        rows.append(row)
        engines = ",".join(dict.fromkeys(row["engines"]))
        print_row(row["event"], [row[c] for c in COLUMNS] + [engines])

    print_row("event", COLUMNS + ("engines",))
    with simlab.Fabric(netlist) as fabric, \
            simlab.OpenSM(fabric, engine=args.engine, host=sm_host) as osm:
        note(bring_up(osm))
        for verb, target in events:
            note(run_event(fabric, osm, verb, target))
    return {"netlist": str(netlist.path), "engine": args.engine, "sm_host": sm_host,
            "hosts": len(netlist.hosts), "switches": len(netlist.switches),
            "opensm": opensm_version(),
            "events": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("netlist")
    parser.add_argument("--engine", default="minhop", help="ftree, updn, minhop, ...")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--sm-host", help="where the SM runs (default: the first host)")
    parser.add_argument("--events", nargs="+", type=parse_event, metavar="lose|back:TARGET")
    args = parser.parse_args()
    try:
        report = run(args)
    except simlab.SimError as error:
        sys.exit(f"stock_baseline: {error}")
    if args.json:
        with open(args.json, "w", encoding="ascii") as out:
            json.dump(report, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
