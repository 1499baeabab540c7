# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What losing each thing costs: tried with the command, or read from its JSON."""

import collections

from . import plots
from .errors import InputError
from .tree import Tree
from .words import count, decimal, label_of, shorten, table, visible

KINDS = ("host", "leaf", "cable", "switch", "chassis")
COSTS = ("blocks", "bound", "switches", "entries", "pairs_cut")
SHOWN = 3  # of each kind, at first; the page's script shows the others
HEADS = ["failed", "kind", "hosts cut off", "blocks", "bound", "switches", "entries", "pairs cut"]


def chassis_of(whole):
    """Switches of each part above the leaves: lists of them, if there are several."""
    parts = collections.defaultdict(list)
    for switch in whole["switches"]:
        if switch["component"] >= 0:
            parts[switch["component"]].append(switch)
    return [part for part in parts.values() if len(part) > 1 and len(parts) > 1]


def kind_of(failed, levels):
    """What kind of thing a single failure is; `levels` by GUID, -1 outside the tree."""
    level = levels.get(failed["guid"])
    if level is None:
        return "host"
    if "port" not in failed:
        return "leaf" if level == 0 else f"switch of level {level}"
    low, high = sorted((level, levels[failed["peer_guid"]]))
    return f"cable between levels {low} and {high}"


def try_failures(command, whole, progress):
    """What losing each element costs, and each chassis."""
    levels = {switch["guid"]: switch["level"] for switch in whole["switches"]}
    tree, failures = Tree(whole), []
    for kind in ("hosts", "switches", "links"):
        progress.step(f"losing each of all {kind}")
        sweep = command.whatif("--all", kind, "--worst", str(2**31 - 1))
        for row in sweep["worst"]:
            failures.append({**costs_of(row), "name": name_of(row["failed"]),
                             "kind": kind_of(row["failed"][0], levels),
                             "keys": failed_keys(row["failed"]),
                             "cut": None if kind == "hosts" else cut_off(tree, row)})
    for part in chassis_of(whole):
        progress.step(f"losing the chassis of {label_of(part[0])}")
        found = command.whatif("--no-loads", "--shifts", "0",
                               *(f"--fail={switch['guid']}" for switch in part))
        guids = [switch["guid"] for switch in part]
        cut = tree.cut_off(guids, [], found["pairs_cut"]) if found["pairs_cut"] else []
        failures.append({**costs_of({**found["total"], "pairs_cut": found["pairs_cut"]}),
                         "name": f"{label_of(part[0])} and {len(part) - 1} more", "keys": [],
                         "kind": "chassis (all switches of a plane)", "cut": cut})
    failures.sort(key=lambda failure: (KINDS.index(failure["kind"].split()[0]),
                                       failure["kind"]))
    return {"schema": "portmajor-tries", "failures": failures}


def cut_off(tree, row):
    """Hosts cut off by the failure of a switch or a cable."""
    if not row["pairs_cut"]:
        return []
    failed = row["failed"][0]
    if "port" not in failed:
        return tree.cut_off([failed["guid"]], [], row["pairs_cut"])
    return tree.cut_off([], [(failed["guid"], failed["port"]),
                             (failed["peer_guid"], failed["peer_port"])],
                        row["pairs_cut"])


def costs_of(row):
    return {key: row[key] for key in COSTS}


def name_of(failed):
    return ", ".join(map(label_of, failed))


def failed_keys(failed):
    """The keys in the tree of what failed, if that is one thing."""
    if len(failed) != 1:
        return []
    thing = failed[0]
    if "port" not in thing:
        return [thing["guid"]]
    return [f"{thing['guid']}:{thing['port']}", f"{thing['peer_guid']}:{thing['peer_port']}"]


# ------------------------------------------------------------------------- by kind

def group_tries(document):
    """Failures that were tried here, by kind."""
    kinds = collections.defaultdict(list)
    for failure in document["failures"]:
        kinds[failure["kind"]].append(failure)
    return [{"kind": kind, "of": len(rows), "tried": len(rows), "rows": rows,
             "blocks": sorted(collections.Counter(row["blocks"] for row in rows).items()),
             "bounds": sorted(collections.Counter(row["bound"] for row in rows).items())}
            for kind, rows in kinds.items()]


def group_asked(documents):
    """Single failures, of `portmajor whatif --json`."""
    rows = [{"kind": "as asked", "keys": [], "cut": document.get("cut_off"),
             "name": ", ".join(document["failed"]), **costs_of({**document["total"], "pairs_cut": document["pairs_cut"]})}
            for document in documents]
    return group_tries({"failures": rows})


def histogram_of(metric):
    """[value, number], ..; null: there was nothing to lose."""
    return [] if metric is None else metric["histogram"]


def group_sweep(document):
    """All failures of a kind, of `portmajor whatif --all KIND --json`."""
    settings, metrics = document["settings"], document["metrics"]
    kind = settings["failures_of"]
    kind = f"pairs of {kind}" if settings["pairs"] else kind
    rows = [{"kind": kind, "name": name_of(row["failed"]), "cut": row.get("cut_off"),
             "keys": failed_keys(row["failed"]), **costs_of(row)}
            for row in document["worst"]]
    return {"kind": kind, "of": settings["total"], "tried": document["failures"],
            "rows": rows, "blocks": histogram_of(metrics["blocks"]),
            "bounds": histogram_of(metrics["bound"])}


def group_failures(found):
    """Failures by kind: how many of each cost, and single ones of them as rows."""
    groups = [group for document in found["tries"] for group in group_tries(document)]
    try:
        groups += group_asked(found["whatif"])
        groups += [group_sweep(document) for document in found["sweep"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"JSON of portmajor whatif: not as docs/json.md has it: {error!r}") \
            from error
    return [group for group in groups if group["blocks"] and group["bounds"]]


def most_over_bound(group):
    """The highest blocks / bound, if all failures are known one by one."""
    if len(group["rows"]) < group["tried"]:
        return None
    return max((row["blocks"] / row["bound"] for row in group["rows"] if row["bound"]),
               default=None)


# ---------------------------------------------------------------------- what is shown

def badness(failure):
    """Failures that cut hosts off first, then by blocks; a failed host matters to no other."""
    return (failure["kind"] in ("host", "hosts"), -failure["pairs_cut"], -failure["blocks"])


def tell_cut(failure):
    """Hosts cut off, by name."""
    if failure["kind"] == "host":
        return "itself"
    if not failure["pairs_cut"]:
        return "0"
    if not failure["cut"]:
        return "-" if failure["cut"] is None else "none from most"
    return f"{len(failure['cut']):,}: {shorten(failure['cut'])}"


def cells_of(failure):
    return [failure["name"], failure["kind"], tell_cut(failure),
            *(count(failure[key]) for key in COSTS)]


def pack(failures):
    """For the page's script: [[kind, costs, [name or [name, hosts cut off, all of them]]]]."""
    packed = []
    for failure in failures:
        head = [visible(failure["kind"]), [count(failure[key]) for key in COSTS]]
        if not packed or packed[-1][:2] != head:
            packed.append([*head, []])
        name, cut = visible(failure["name"]), visible(tell_cut(failure))
        packed[-1][2].append([name, cut, visible(" ".join(failure["cut"] or ()))]
                             if cut not in ("0", "itself") else name)
    return packed


def draw_costs(groups):
    strips = [(group["kind"], [[(value, number / group["tried"]) for value, number in group[key]]
                               for key in ("blocks", "bounds")]) for group in groups]
    return plots.draw_strips("Blocks of each failure against the bound", strips)


def describe_failures(groups):
    """{worst: a table, packed, kinds: a table, picture}, or None."""
    failures = sorted((row for group in groups for row in group["rows"]), key=badness)
    seen, first = collections.Counter(), []
    for failure in failures:
        seen[failure["kind"]] += 1
        if seen[failure["kind"]] <= SHOWN:
            first.append(failure)
    kinds = [[group["kind"], group["tried"], group["of"], group["blocks"][0][0],
              group["blocks"][-1][0], group["bounds"][-1][0],
              decimal(most_over_bound(group), 2)] for group in groups]
    return {"worst": table("worst", HEADS, map(cells_of, first), words=(1, 2)),
            "total": len(failures), "packed": pack(failures) if failures else [],
            "legend": plots.names_of(("blocks", "bound")), "picture": draw_costs(groups),
            "kinds": table("kinds", ["failed, one by one", "tried", "there are", "minimum",
                                     "maximum", "highest bound", "most over its bound"], kinds)}
