# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The bandwidth of all hosts after each kind of failure, when an engine has repaired it.

ibsim simulates each fabric, and OpenSM brings it up on its first host with one engine after
another. Each part fails in the whole fabric; the tables before, and those when OpenSM is idle, are
read back from the switches and given to `portmajor-lab traffic --engine share --sets`: fair shares
of links, in shifts, in random permutations, and all to all.
"""

import collections
import datetime
import json

import failover
import pmlab
import record_sets
import simlab

ENGINES = ("portmajor", "ftree", "updn", "minhop")
SM_HOST = "h0-1"

# Arguments of `portmajor generate`; {failure: simlab's targets, with blanks between}.
Kind = collections.namedtuple("Kind", "generate failures")

FABRICS = {
    "64 hosts, three levels": Kind(("xgft", 3, "4,4,4", "1,4,4"), {
        "leaf cable": "leaf9:6", "upper cable": "sw2-9:6", "top switch": "sw3-0",
        "middle switch": "sw2-9",
        "plane": "sw2-0 sw2-4 sw2-8 sw2-12 sw3-0 sw3-4 sw3-8 sw3-12", "leaf": "leaf9"}),
    "144 hosts, two levels, links by twos": Kind(("two-level", 12, 6, 12, 2), {
        "leaf cable": "leaf5:13", "spine": "spine0", "leaf": "leaf9"}),
    "216 hosts, three levels": Kind(("xgft", 3, "6,6,6", "1,6,6"), {
        "leaf cable": "leaf8:8", "upper cable": "sw2-9:8", "top switch": "sw3-0",
        "middle switch": "sw2-9",
        "plane": "sw2-0 sw2-6 sw2-12 sw2-18 sw2-24 sw2-30 "
                 "sw3-0 sw3-6 sw3-12 sw3-18 sw3-24 sw3-30", "leaf": "leaf9"}),
    "648 hosts, two levels": Kind(("two-level", 36, 18, 18, 1), {
        "leaf cable": "leaf5:20", "spine": "spine0", "leaf": "leaf9"}),
    "648 hosts, directors": Kind(("director", 36), {
        "leaf cable": "leaf5:20", "line-fabric cable": "s3-line1:30", "chassis": "s0-*",
        "line switch": "s2-line1", "leaf": "leaf9"}),
    "1,024 hosts, three levels": Kind(("xgft", 3, "8,8,16", "1,8,8"), {
        "leaf cable": "leaf8:10", "upper cable": "sw2-9:10", "top switch": "sw3-0",
        "middle switch": "sw2-9", "leaf": "leaf9"}),
    "5,832 hosts, directors": Kind(("director", 324), {
        "leaf cable": "leaf5:20", "line-fabric cable": "s3-line1:30", "chassis": "s0-*",
        "line switch": "s2-line1", "leaf": "leaf9"}),
}


def changed_blocks(before, after):
    """Sets that turn the tables of one dump into those of another."""
    empty, sets = b"\xff" * record_sets.BLOCK, []
    for name in before.tables:
        old, new = (record_sets.blocks_of(dump, name) for dump in (before, after))
        for number in range(max(len(old), len(new))):
            was, now = ((table[number:number + 1] or [empty])[0] for table in (old, new))
            if was != now:
                sets.append(record_sets.Set(0, 0, 0, before.guids[name], number, now))
    return sets


def judge(fabric, engine, before, after, folder):
    """{"before", "after": the command's results} of tables while parts are down."""
    sets = changed_blocks(before, after)
    lost = record_sets.lost_cables(record_sets.find_down(fabric), before)
    recording = record_sets.Recording(engine, "", before, lost, sets, sets, 1, 0, 0)
    file = folder / "repair.sets"
    record_sets.write(recording, file)
    done = pmlab.run_lab("traffic", "--engine", "share", "--json", "--sets", file,
                         fabric.netlist.path)
    if done.returncode:
        raise simlab.SimError(f"portmajor-lab traffic: {done.stderr}")
    found = json.loads(done.stdout)["recordings"][0]
    return {state: figures(found[state]) for state in ("before", "after")}


def figures(of):
    """Of one state; flows without a path are listed if there are any."""
    return {"shifts": round(of["shifts"]["mean"], 3), "worst": round(of["shifts"]["minimum"], 3),
            "random": round(of["permutations"]["mean"], 3),
            "all_to_all": round(of["all_to_all"], 3),
            **({"unreachable": of["unreachable"]} if of["unreachable"] else {})}


def read_tables(fabric, file):
    fabric.dump(file, timeout=pmlab.TIMEOUT_S)
    return pmlab.Dump(file)


def fail_once(osm, engine, targets, limit, folder):
    """Takes these parts out, judges the repair and brings them back: its row, and that before."""
    fabric = osm.fabric
    before = read_tables(fabric, folder / "before")
    counted = pmlab.lose(osm, *targets, timeout=limit)
    after = read_tables(fabric, folder / "after")
    found = judge(fabric, engine, before, after, folder)
    pmlab.back(osm, *targets, timeout=limit)
    return {"lft_sets": counted["lft_sets"] - counted["lft_again"],
            "gave_up": set(counted["engines"]) != {engine}, **found["after"]}, found["before"]


def run_engine(netlist, kind, engine, limit, tell):
    """The results: `before`, and `failures`, {failure: its row}; unfinished ones are left out."""
    rows, before = {}, None
    with pmlab.Folder() as folder, pmlab.Fabric(netlist) as fabric, \
            failover.open_sm(fabric, engine, None, folder, SM_HOST) as osm:
        try:
            osm.settle(timeout=limit)
            for failure, targets in kind.failures.items():
                tell(f"{engine}: {failure}")
                rows[failure], before = fail_once(osm, engine, targets.split(), limit, folder)
        except simlab.SimError as error:
            tell(f"{engine}: {error}")
    return {"before": before, "failures": rows}


def run(names, engines, limit, folder, tell):
    """Yields (fabric, engine, results)."""
    for name in names:
        kind = FABRICS[name]
        netlist = simlab.Netlist(pmlab.generate(folder / "fabric.net", *kind.generate))
        for engine in engines:
            tell(f"{name}: {engine}")
            yield name, engine, {"date": datetime.date.today().isoformat(),
                                 **run_engine(netlist, kind, engine, limit, tell)}


# ----------------------------------------------------------------------- writing

INTRODUCTION = """
## Throughput after repair

The throughput of all hosts after the engine has repaired a failure, as a share of the capacity of
their links. It is computed by fair shares (`portmajor-lab traffic --engine share --sets`) with tables
read back from the switches; `scripts/benchmark --throughput` measures again. Each cell has
{engines}; values at the end of a cell that equal the one before are left out.

- `shifts` is the mean of 16 shift permutations, `worst` the worst of them; `random` is the mean
  of 16 random permutations (seed 1), which is about two thirds with fixed paths in a whole tree.
- `all to all` is the rate at which messages of one size, from each host to each other, are completed.
- A plane of several switches fails switch by switch, so its Sets depend on when traps come.
- `none` is before the failure. \\* the engine gave up, and OpenSM went on to minhop. ! some flows
  have no path, and count as 0.

After the failure of a plane or a leaf's cable, ftree's shifts are mostly a little better than
portmajor's, but its all-to-all rate is only a half to two thirds. The reason: at every leaf ftree
moves all flows of that plane to one other plane. In a shift they share links with few other flows
there, but with all-to-all traffic that plane's links carry twice as much. portmajor spreads a leaf's
moved flows over all planes; in one shift the moved flows of all leaves use the same plane, or in
larger trees those of two leaves of a pod (design-routing.md, *Moved entries*). A difference remains
in shifts by a distance that is no whole number of leaves, as two flows that share a leaf's link may
go to two leaves. Above the leaves a difference remains, too, as moved flows share the few ports of
their block (*Foreign entries*).
"""

FIGURES = ("shifts", "worst", "random", "all_to_all")


def state_of(found, engine, failure):
    """An engine's row; None where there is none."""
    of = found.get(engine, {"before": None, "failures": {}})
    return of["before"] if failure == "none" else of["failures"].get(failure)


def cell(found, failure, show):
    """The engines' values, without those at the end that repeat the one before."""
    states = [state_of(found, engine, failure) for engine in ENGINES]
    values = ["-" if state is None else show(state) for state in states]
    while values[-2:-1] == values[-1:]:
        values.pop()
    return " / ".join(values)


def show_sets(state):
    marks = "*" * state.get("gave_up", False) + "!" * ("unreachable" in state)
    return (f"{state['lft_sets']:,}" if "lft_sets" in state else "-") + marks


def rows_of(name, found):
    for failure in ("none", *FABRICS[name].failures):
        yield [failure, cell(found, failure, show_sets),
               *(cell(found, failure, lambda state, f=figure: f"{state[f]:.3f}")
                 for figure in FIGURES)]


def document(data, table):
    """The section; `table` formats one."""
    if not data:
        return ""
    text = [INTRODUCTION.format(engines=", ".join(ENGINES[:-1]) + " and " + ENGINES[-1])]
    for name, kind in FABRICS.items():
        if name in data:
            text.append(f"\n### {name}: `generate {' '.join(map(str, kind.generate))}`\n\nFailed: "
                        + ", ".join(f"{failure} `{target}`"
                                    for failure, target in kind.failures.items())
                        + ".\n\n" + table(["failure", "LFT Sets", "shifts", "worst", "random",
                                           "all to all"], rows_of(name, data[name]), 1))
    return "".join(text)
