# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of each part's failure: tried with the command, or read from its JSON."""

import collections

from . import plots
from .errors import InputError
from .tree import Tree
from .words import count, decimal, label_of, plural, shorten, table, visible

KINDS = ("host", "leaf", "link", "switch", "chassis")
COSTS = ("blocks", "restoring", "least", "switches", "entries", "pairs_cut")
SHOWN = 3  # of each kind, at first; the page's script shows the others
CUTS = ["part", "kind", "hosts cut off", "pairs cut"]
HEADS = ["part", "kind", "blocks", "restoring", "least", "switches", "entries"]


def chassis_of(whole):
    """Switches of each part above the leaves: lists of them, if there are several."""
    parts = collections.defaultdict(list)
    for switch in whole["switches"]:
        if switch["component"] >= 0:
            parts[switch["component"]].append(switch)
    return [part for part in parts.values() if len(part) > 1 and len(parts) > 1]


def kind_of(failed, levels):
    """The kind of a part; `levels` by GUID, -1 outside the tree."""
    level = levels.get(failed["guid"])
    if level is None:
        return "host"
    if "port" not in failed:
        return "leaf" if level == 0 else f"switch of level {level}"
    low, high = sorted((level, levels[failed["peer_guid"]]))
    return f"link between levels {low} and {high}"


def try_failures(command, whole, progress):
    """The cost of the failure of each element, and of each chassis."""
    levels = {switch["guid"]: switch["level"] for switch in whole["switches"]}
    tree, failures = Tree(whole), []
    for kind in ("hosts", "switches", "links"):
        progress.step(f"failure of each of all {kind}")
        sweep = command.whatif("--all", kind, "--worst", str(2**31 - 1))
        for row in sweep["worst"]:
            failures.append({**costs_of(row), "name": name_of(row["failed"]),
                             "kind": kind_of(row["failed"][0], levels),
                             "keys": failed_keys(row["failed"]),
                             "cut": None if kind == "hosts" else cut_off(tree, row),
                             "own": kind == "hosts"})
    for part in chassis_of(whole):
        progress.step(f"failure of the chassis of {label_of(part[0])}")
        found = command.whatif("--no-loads", "--shifts", "0",
                               *(f"--fail={switch['guid']}" for switch in part))
        guids = [switch["guid"] for switch in part]
        cut = tree.cut_off(guids, [], found["pairs_cut"]) if found["pairs_cut"] else []
        failures.append({**costs_of({**found, **found["total"]}),
                         "name": f"{label_of(part[0])} and {len(part) - 1} more", "keys": [],
                         "kind": "chassis (all switches of a plane)", "cut": cut,
                         "own": False})
    for failure in failures:
        if failure["kind"] == "leaf":
            failure["own"] = set(failure["cut"] or ()) <= tree.hosts_of(failure["keys"][0])
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
    """The keys in the tree of the failed parts, if they are one part."""
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
             "leasts": sorted(collections.Counter(row["least"] for row in rows).items())}
            for kind, rows in kinds.items()]


def group_asked(documents):
    """Single failures, of `portmajor whatif --json`; without the one that is shown."""
    rows = [{"kind": "as asked", "keys": [], "cut": document.get("cut_off"), "own": False,
             "name": ", ".join(document["failed"]),
             **costs_of({**document, **document["total"]})}
            for document in documents if not document.get("shown")]
    return group_tries({"failures": rows})


def histogram_of(metric):
    """[value, number], ..; null: there was no part to fail."""
    return [] if metric is None else metric["histogram"]


def group_sweep(document):
    """All failures of a kind, of `portmajor whatif --all KIND --json`."""
    settings, metrics = document["settings"], document["metrics"]
    kind = settings["failures_of"]
    kind = f"pairs of {kind}" if settings["pairs"] else kind
    rows = [{"kind": kind, "name": name_of(row["failed"]), "cut": row.get("cut_off"),
             "keys": failed_keys(row["failed"]), "own": kind in ("hosts", "leaves"),
             **costs_of(row)}
            for row in document["worst"]]
    return {"kind": kind, "of": settings["total"], "tried": document["failures"],
            "rows": rows, "blocks": histogram_of(metrics["blocks"]),
            "leasts": histogram_of(metrics["least"])}


def group_failures(found):
    """Failures by kind: the number for each cost, and single ones of them as rows."""
    groups = [group for document in found["tries"] for group in group_tries(document)]
    try:
        groups += group_asked(found["whatif"])
        groups += [group_sweep(document) for document in found["sweep"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"JSON of portmajor whatif: not as docs/json.md has it: {error!r}") \
            from error
    return [group for group in groups if group["blocks"] and group["leasts"]]


def most_over_least(group):
    """The highest blocks / least, if all failures are known one by one."""
    if len(group["rows"]) < group["tried"]:
        return None
    return max((row["blocks"] / row["least"] for row in group["rows"] if row["least"]),
               default=None)


# ---------------------------------------------------------------------- the rows

def badness(failure):
    """Failures that cut off hosts of others first, then by blocks; a host's failure matters to no
    other host."""
    return (failure["kind"] in ("host", "hosts"), failure["own"], -failure["pairs_cut"],
            -failure["blocks"])


def tell_cut(failure):
    """Hosts cut off, by name."""
    if failure["kind"] == "host":
        return "itself"
    if not failure["pairs_cut"]:
        return "0"
    if not failure["cut"]:
        return "-" if failure["cut"] is None else "none from most"
    return f"{len(failure['cut']):,}: {shorten(failure['cut'])}"


def cut_cells(failure):
    return [failure["name"], failure["kind"], tell_cut(failure), count(failure["pairs_cut"])]


def cost_cells(failure):
    return [failure["name"], failure["kind"], *(count(failure[key]) for key in COSTS[:5])]


def first_of(failures):
    """The first ones of each kind."""
    seen = collections.Counter()
    for failure in failures:
        seen[failure["kind"]] += 1
        if seen[failure["kind"]] <= SHOWN:
            yield failure


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
                               for key in ("blocks", "leasts")]) for group in groups]
    return plots.draw_strips("Blocks of each failure, and the fewest for its entries", strips)


def sum_up_all(failures, groups):
    """{text, bad}: the hosts that any one failure cuts off, and the cost of the most expensive one.
    """
    tried = sum(group["tried"] for group in groups)
    most = max(group["blocks"][-1][0] for group in groups)
    cutting = [row for row in failures if row["pairs_cut"] and not row["own"]]
    told = f"{len(cutting):,} of them cut off hosts" if len(cutting) > 1 else \
        "one of them cuts off hosts" if cutting else "none cuts off more than its own hosts"
    names = ", ".join(row["name"] for row in cutting[:SHOWN]) + ", .." * (len(cutting) > SHOWN)
    return {"text": f"{plural(tried, 'part')}, each failing alone: {told}"
                    f"{f' ({names})' if cutting else ''}; at most {plural(most, 'write')}.",
            "bad": bool(cutting)}


def describe_failures(groups):
    """{cuts, worst, kinds: tables; packed, total, sum, legend, picture}, or None."""
    failures = sorted((row for group in groups for row in group["rows"]), key=badness)
    costs = sorted(failures, key=lambda row: (badness(row)[0], -row["blocks"]))
    cuts = [row for row in failures if row["pairs_cut"] and row["kind"] not in ("host", "hosts")]
    kinds = [[group["kind"], group["tried"], group["of"], group["blocks"][0][0],
              group["blocks"][-1][0], group["leasts"][-1][0],
              decimal(most_over_least(group), 2)] for group in groups]
    return {"sum": sum_up_all(failures, groups),
            "cuts": table("cuts", CUTS, map(cut_cells, first_of(cuts)), words=(1, 2)),
            "worst": table("worst", HEADS, map(cost_cells, first_of(
                row for row in costs if row["blocks"])), words=(1,)),
            "total": len(failures), "packed": pack(failures) if failures else [],
            "legend": plots.names_of(("blocks", "least")), "picture": draw_costs(groups),
            "kinds": table("kinds", ["part, one by one", "tried", "there are", "minimum",
                                     "maximum", "highest least", "most over its least"], kinds)}
