# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The page, of all documents."""

import collections
import pathlib

import jinja2

from . import engines, fabric_now, failures, job, one_failure, status, tables, traffic, tree
from .errors import describe
from .words import count, visible

DRAWN = ("now", "table", "tries", "whatif", "sweep", "engines", "status", "plan",
         "cutoff", "curves", "job")  # schemas; others are listed


def kind_of(document):
    if document["schema"] == "portmajor-lab-traffic" and document.get("engine") == "cutoff":
        return "cutoff"
    return "curves" if traffic.is_curve(document) else \
        document["schema"].removeprefix("portmajor-").removeprefix("lab-")


def make_report(documents, title):
    """All data of the template."""
    found = collections.defaultdict(list)
    for document in documents:
        found[kind_of(document)].append(document)
    groups = failures.group_failures(found)
    curves = [[d for d in found["curves"] if traffic.engine_of(d) == engine]
              for engine in traffic.UNITS]
    report = {
        "title": title, "table": None, "tree": None, "lfts": None, "loads": None, "one": None,
        "sums": describe(found["whatif"], one_failure.sum_up),
        "failures": failures.describe_failures(groups) if groups else None,
        "now": describe(found["now"], fabric_now.describe_now),
        "states": describe(found["status"], status.describe_status),
        "plans": describe(found["plan"], status.describe_plan),
        "outages": describe(found["cutoff"], traffic.describe_outage),
        "jobs": describe(found["job"], job.describe_job),
        "curves": describe([{"schema": "portmajor-lab-traffic", "documents": same}
                            for same in curves if same], traffic.describe_over_load),
        "engines": [engines.describe_engines(document) for document in found["engines"]
                    if document["events"]],
        "other": [(name, status.describe_other(document))
                  for name in sorted(set(found) - set(DRAWN)) for document in found[name]]}
    orders = {document["lid_order"]: document for document in found["table"]}
    if orders:
        add_tables(report, orders, [row for group in groups for row in group["rows"]],
                   found["whatif"])
    shown = [report["one"]] if report["one"] else report["now"]
    report["shown_map"] = shown[0]["map"] if shown else None  # the script's
    return report


def add_tables(report, orders, rows, whatifs):
    """Adds one or more `portmajor table` documents."""
    table = max(orders.values(), key=lambda t: tables.ORDERS.index(t["lid_order"]))
    report["table"] = table
    report["hosts"] = sum(len(switch["hosts"]) for switch in table["switches"])
    report["lids"] = sum(1 for entry in table["entries"] if entry is not None)
    report["lfts"] = tables.describe_lfts(orders.values())
    report["loads"] = tables.describe_loads(table)
    report["tree"] = tree.describe_tree(table, rows)
    same = [whatif for whatif in whatifs if whatif["failed"] == table["failed"]]
    if table["failed"]:
        report["one"] = one_failure.describe_one(table, same[0] if same else None)


def render(report):
    loader = jinja2.FileSystemLoader(pathlib.Path(__file__).parent)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["visible"] = visible
    environment.filters["count"] = count
    return environment.get_template("page.html.j2").render(report=report)
