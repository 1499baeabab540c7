#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The tables of OpenSM's engines for fabrics that are whole, that have holes, and that are no
trees.

One of these engines routes when portmajor cannot. ibsim simulates each fabric, and OpenSM brings it
up on its first host, with one engine after another. Tables are read back from the switches and
judged by `portmajor check`, which knows no engine: ordered pairs of hosts that cables join and
tables cut, and credit loops.

`updn, roots`: with a root_guid_file of the switches of the highest level that portmajor
finds in the whole fabric.

A credit loop over all packets does not prove a deadlock if an engine spreads them over several
virtual lanes: dfsssp and lash do, and nue does if nue_max_num_vls is not 1, its default. Lanes
count with --lanes: OpenSM is queried for the SL of each pair of hosts, and each lane is searched on
its own. So lanes protect only programs that query path records.

Prints the table; exit status 1 if an engine could not be measured, else 0.
"""

import collections
import json
import random
import sys

import clients
import measuring
import odd_netlists
import pmlab
import real_fabrics
import simlab

SEED = 41
LANES_HOSTS = 100  # a query for each pair
TIMEOUT_S = 300

# Options of opensm.conf, by the name in the table.
ENGINES = {"minhop": "minhop", "updn": "updn", "updn, roots": "updn", "ftree": "ftree",
           "lash": "lash", "dfsssp": "dfsssp", "nue": "nue"}
WITH_LANES = ("lash", "dfsssp")

# A fabric: arguments of `portmajor generate`, a function of odd_netlists or one of real_fabrics; in
# further rows so many percent of the cables between switches are missing, or a spine is; engines
# that would take many minutes.
Kind = collections.namedtuple("Kind", "name source percents spine skip",
                              defaults=((), None, ()))


KINDS = (
    Kind("two levels, 20 leaves", ("two-level", 20, 2, 4, 1), (5, 15), "spine0"),
    Kind("three levels", ("xgft", 3, "4,4,4", "1,2,2"), (5, 15), "sw3-0"),
    Kind("two levels, hosts on spines", odd_netlists.end_nodes_on_spines, (5, 15), "spine1"),
    Kind("four levels, uneven", odd_netlists.uneven_four_levels, (5, 15), "t0"),
    Kind("psmn, QDR", real_fabrics.PSMN, (5, 15), "sw05"),
    Kind("NDR pod", real_fabrics.NDR_POD, (5, 15), "sw25"),
    Kind("ring of leaves", odd_netlists.ring),
    Kind("full mesh of leaves", odd_netlists.full_mesh),
    Kind("torus of leaves, 4 x 4", ("torus", "4,4", 2)),
    Kind("mesh of leaves, 4 x 4", ("mesh", "4,4", 2)),
    Kind("Dragonfly+, 4 groups", ("dragonfly", 4, 3, 3, 2)),
)
LARGE_KINDS = (
    Kind("Selene storage", real_fabrics.STORAGE, (15,), None, ("lash",)),
    Kind("CS8500 directors", real_fabrics.DIRECTOR, (15,), None, ("lash", "dfsssp")),
    Kind("Selene compute", real_fabrics.COMPUTE, (15,), None,
         ("lash", "dfsssp", "nue")),
)

Result = collections.namedtuple("Result", "connected cut loop lanes engine seconds")


# ------------------------------------------------------------------------ the fabrics

def cables_of(netlist, switch=None):
    """Cables between switches, each by one end: all of them, or those of a switch."""
    return sorted(f"{name}:{port}" for name in netlist.switches
                  for port, (peer, peer_port) in netlist.nodes[name].ports.items()
                  if peer in netlist.switches and (name, port) < (peer, peer_port)
                  and switch in (None, name, peer))


def states(kind, folder):
    """(missing parts, netlist) of a kind's rows."""
    whole = measuring.write_netlist(kind.source, folder / "whole.net")
    yield "whole", whole
    netlist = simlab.Netlist(whole)
    cables = cables_of(netlist)
    for percent in kind.percents:
        drawn = random.Random(SEED).sample(cables, max(1, len(cables) * percent // 100))
        yield (f"{percent}% of the cables missing",
               pmlab.without_cables(whole, drawn, folder / f"{percent}.net"))
    if kind.spine:
        yield (f"{kind.spine} missing", pmlab.without_cables(
            whole, cables_of(netlist, kind.spine), folder / "spine.net"))


def write_roots(netlist, path):
    """portmajor's roots of the whole fabric as a root_guid_file; None if it finds none."""
    done = pmlab.run_cli("plan", "-q", "--roots", path, netlist)
    return path if done.returncode == 0 else None


# ------------------------------------------------------------------------- lanes

def has_lane_loop(lab, netlist, dump):
    """Whether the channels of some virtual lane wait for each other in a cycle.

    The VL is the SL, as OpenSM sets SL2VL tables here, where ports have 8 VLs.
    """
    dump, tables = pmlab.Dump(dump), {}
    waits = collections.defaultdict(lambda: collections.defaultdict(set))  # by lane
    hosts = sorted(dump.hosts & dump.lids.keys())
    pairs = [(a, b) for a in hosts for b in hosts if a != b]
    lanes = clients.path_lanes(lab.fabric, lab.host, dump.lids[lab.host],
                               [(dump.lids[a], dump.lids[b]) for a, b in pairs])
    for (a, b), lane in zip(pairs, lanes):
        at, before = netlist.nodes[a].ports[min(netlist.nodes[a].ports)][0], None
        for _ in netlist.switches:
            if at not in tables:
                tables[at] = dump.table(at)
            channel = at, tables[at].get(dump.lids[b])
            if channel[1] not in netlist.nodes[at].ports:
                break
            at = netlist.nodes[at].ports[channel[1]][0]
            if at not in netlist.switches:
                break
            if before:
                waits[lane][before].add(channel)
            before = channel
    return any(_has_cycle(graph) for graph in waits.values())


def _has_cycle(waits):
    """Removes channels that wait for nothing, until only channels are left that wait for each
    other."""
    waits = {channel: set(others) for channel, others in waits.items()}
    while True:
        free = [channel for channel, others in waits.items() if not others & waits.keys()]
        if not free:
            return bool(waits)
        for channel in free:
            del waits[channel]


# --------------------------------------------------------------------- the measuring

def measure(netlist, title, roots):
    """A Result; None: OpenSM takes too long."""
    conf = {"root_guid_file": roots} if title == "updn, roots" else {}
    conf |= {"qos": "TRUE"} if title in WITH_LANES else {}
    netlist = simlab.Netlist(netlist)
    with pmlab.Folder() as folder, pmlab.Fabric(netlist) as fabric, \
            simlab.OpenSM(fabric, engine=ENGINES[title], conf=conf) as osm:
        try:
            osm.settle(timeout=TIMEOUT_S)
        except simlab.SimTimeout:
            return None
        took = osm.delta(osm.start_mark)["last_lft_ns"] / 1e9 - osm.start_mark.time
        dump = folder / "fabric.dump"
        fabric.dump(dump, timeout=pmlab.TIMEOUT_S)
        found = json.loads(pmlab.run_cli("check", "--json", netlist.path, dump).stdout)
        pairs, used = found["reachable"], osm.engines_used()[-1]
        loop, lanes = found["credits"]["length"], None
        if loop and used in WITH_LANES and len(netlist.hosts) <= LANES_HOSTS:
            lanes = has_lane_loop(osm, netlist, dump)
        return Result(pairs["connected"], pairs["connected"] - pairs["pairs"], loop, lanes,
                      used, took)


def describe(result, title):
    """A cell of the table."""
    if result is None:
        return "-"
    used = "*" if result.engine != ENGINES[title] else ""
    loop = ""
    if result.loop:
        loop = " loop"
        if result.engine in WITH_LANES:
            loop = {None: " loop?", True: " loop", False: " lanes"}[result.lanes]
    return f"{result.cut:,}{used}{loop} ({result.seconds:.1f})"


def measure_kind(kind):
    """Rows of the table."""
    with pmlab.Folder() as folder:
        return measure_states(kind, folder)


def measure_states(kind, folder):
    rows, about, roots = [], kind.name, None
    for state, netlist in states(kind, folder):
        whole = simlab.Netlist(netlist)
        roots = roots or write_roots(netlist, folder / "roots")
        cells, connected = [], None
        for title in ENGINES:
            if title in kind.skip or (title == "updn, roots" and not roots):
                cells.append("-")
                continue
            result = measure(netlist, title, roots)
            cells.append(describe(result, title))
            connected = connected or (result and result.connected)
            print(f"{kind.name}: {state}: {title}: {cells[-1]}", file=sys.stderr)
        rows.append([about and f"{about}: {len(whole.switches)} switches, "
                     f"{len(whole.hosts):,} hosts", state, f"{connected:,}", *cells])
        about = ""
    return rows


def format_table(rows):
    return measuring.markdown_table([["fabric", "", "pairs", *ENGINES], *rows], range(2))


def main():
    parser = measuring.make_parser(__doc__, "scripts/fallback-engines")
    parser.add_argument("--update", action="store_true",
                        help="write the table into docs/fabrics.md")
    parser.add_argument("--large", action="store_true",
                        help="real fabrics of 1,247 hosts and more in place of all others, for "
                        "the second table: takes half an hour")
    args = measuring.parse_rows(parser)
    kinds = [kind for kind in (LARGE_KINDS if args.large else KINDS) if args.only in kind.name]
    try:
        table = format_table(sum(measuring.side_by_side(measure_kind, kinds), []))
    except simlab.SimError as error:
        sys.exit(f"fallback-engines: {error}")
    print(table, end="")
    if args.update:
        measuring.update("fallback-engines --large" if args.large else "fallback-engines", table)


if __name__ == "__main__":
    main()
