# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The fabric of a running OpenSM: its tree, with parts that are missing or out of paths, and the
places of the load.

From `portmajor status --json`, `table --now --json` and `events --json`. It does not judge: the
headline and the findings are those of `status`.
"""

import collections
import statistics
import time

from markupsafe import Markup

from . import one_failure
from .errors import InputError
from .status import clock, describe_status, items, name_link
from .words import label_of, plural, table

HOTTEST = 8  # links that are listed
FINE = 3000  # lines in the background: more would be no picture
KEPT, EVENTS = 100, 12  # events, and those that are not folded
# Classes of links, those that hide others last, and their words.
LINKS = {"acked": "missing, acknowledged", "fails": "missing", "drained": "drained",
         "errors": "with errors", "slow": "slow", "changed": "not where it was",
         "held": "on hold"}
# Classes of switches: the first that holds.
SWITCHES = {"acked": "missing, acknowledged", "failed": "missing", "cut": "behind missing ones",
            "drained": "drained", "hosts": "hosts of it are missing",
            "changed": "in the place of another, or with a moved host",
            "odd": "a host of it flaps, is slow or has errors"}


def choose(statuses):
    """The document of one fabric, from those of each OpenSM in `portmajor status --json`: that of
    the master, and others of this machine."""
    first = [one for one in statuses if one["master"] is None]
    first = [one for one in first or statuses if one["running"]] or first or statuses
    if len(first) > 1:
        raise InputError("files of several OpenSM are here, give the folder of one: " +
                         " ".join(one["file"].rpartition("/")[0] for one in first))
    return {"schema": "portmajor-now", "status": first[0], "time": time.time(), "table": None,
            "reason": None, "events": [],
            "others": [one for one in statuses if one is not first[0]]}


def without_former(after, now):
    """A table after a failure, without the links that were out of paths before it."""
    out = {(switch["guid"], port["port"]) for switch in now["switches"]
           for port in switch["ports"] if not port["usable"]}
    return {**after, "switches": [{**switch, "ports": [
        port for port in switch["ports"] if (switch["guid"], port["port"]) not in out]}
        for switch in after["switches"]]}


class Marks:
    """The marks of parts in status: names of classes, by (GUID, port); port 0: the switch."""

    def __init__(self, state):
        self.links, self.switches = collections.defaultdict(set), collections.defaultdict(set)
        self.hosts = collections.Counter()  # missing, by their leaf
        for part in items(state, "missing", "parts"):
            self.add_missing(part)
        for drain in items(state, "drained"):
            (self.links if drain["port"] else self.switches)[
                drain["guid"], drain["port"]].add("drained")
        for flap in state["flapping"]:
            if flap["state"] in ("on-hold", "needed"):
                self.add(flap["ends"], "held")
        for link in items(state, "degraded_links"):
            self.add(link["ends"], "slow")
        for port in items(state, "port_errors"):
            self.add(port["ends"], "errors" if port["kind"] == "link" else "odd")
        for member in ("degraded_hosts", "flapping_hosts"):
            for host in items(state, member):
                self.add(host["ends"], "odd")
        # Status lists so many; further missing parts have no name.
        self.listed = len(items(state, "missing", "parts")) < 1000
        self.recabled = []  # pairs of GUIDs
        for change in items(state, "changed"):
            self.add_change(change)

    def add(self, ends, name):
        """A link by both its ends; `odd`: of a host, whose switch it marks."""
        for end in ends:
            if name == "odd":
                self.switches[end["guid"], 0].add(name)
            else:
                self.links[end["guid"], end["port"]].add(name)

    def add_missing(self, part):
        acked = part["acknowledged"]
        if part["kind"] == "switch":
            self.switches[part["ends"][0]["guid"], 0].add(
                "acked" if acked else "cut" if part["behind"] else "failed")
        elif part["kind"] == "link":
            self.add(part["ends"], "acked" if acked else "fails")
        elif not acked:
            leaf = part["ends"][-1]["guid"]
            self.switches[leaf, 0].add("hosts")
            self.hosts[leaf] += 1

    def add_change(self, change):
        guids = [end["guid"] for end in change["ends"]]
        if not change["acknowledged"]:
            for guid in guids:
                if change["kind"] != "recabled":
                    self.switches[guid, 0].add("changed")
            if change["kind"] == "recabled":
                self.recabled.append(guids)

    def of_switch(self, switch):
        found = self.switches.get((switch["guid"], 0), ())
        return next((name for name in SWITCHES if name in found), "")

    def is_gone(self, switch):
        return self.of_switch(switch) in ("failed", "cut", "acked")

    def of_link(self, switch, port, other):
        """Classes of a link, `other` being the switch at its other end."""
        found = self.links.get((switch["guid"], port["port"]), set()) | \
            self.links.get((other["guid"], port["peer_port"]), set())
        ends = self.switches.get((switch["guid"], 0), set()) | \
            self.switches.get((other["guid"], 0), set())
        if port["there"]:
            return found | (ends & {"drained"})
        if found & {"acked", "fails"}:
            return found
        # With a switch; otherwise, if all are listed, a link was there that is elsewhere now.
        return found | ({"acked"} if "acked" in ends else
                        {"fails"} if ends & {"failed", "cut"} or not self.listed else set())


# ------------------------------------------------------------------------- the tree

def links_up(found):
    """(switch, port, the switch at its other end) of all links upwards."""
    for switch in found["switches"]:
        for port in switch["ports"]:
            if port["direction"] == "up":
                yield switch, port, found["switches"][port["to"]]


def tell_switch(switch, mark, marks):
    """Its name, and its faults."""
    hosts = marks.hosts[switch["guid"]]
    told = [plural(hosts, "host") + " missing"] if mark == "hosts" else \
        [SWITCHES[mark]] if mark else []
    return ": ".join([label_of(switch), *told])


def fine_lines(found, index):
    """Pairs of switches for lines in the background, from the highest level down: not too many."""
    levels = collections.defaultdict(set)
    for switch, port, _ in links_up(found):
        levels[switch["level"]].add((index[switch["guid"]], port["to"]))
    drawn = set()
    for level in sorted(levels, reverse=True):
        if len(drawn) + len(levels[level]) <= FINE:
            drawn |= levels[level]
    return drawn


def draw_tree(found, marks):
    """{picture, height, wide, levels, key}; the key is of the classes in the picture."""
    at, names = one_failure.places(found["switches"])
    index = {switch["guid"]: i for i, switch in enumerate(found["switches"])}
    lines, boxes, links = collections.defaultdict(set), collections.Counter(), \
        collections.Counter()
    for switch, port, other in links_up(found):
        for name in marks.of_link(switch, port, other):
            links[name] += 1
            behind = name == "fails" and marks.is_gone(switch) and marks.is_gone(other)
            lines["pale" if behind else name].add((index[switch["guid"]], port["to"]))
    for guids in marks.recabled:
        links["changed"] += 1
        if all(guid in index for guid in guids):
            lines["changed"].add(tuple(index[guid] for guid in guids))
    lines["all"] = fine_lines(found, index)
    body = [one_failure.draw_lines(sorted(lines[name]), at, name)
            for name in ("all", "pale", *LINKS)]
    for i, switch in enumerate(found["switches"]):
        mark = marks.of_switch(switch)
        boxes[mark] += 1
        body.append(one_failure.draw_switch(at[i], mark, label_of(switch),
                                            tell_switch(switch, mark, marks)))
    height = names[-1][1] + one_failure.NODE + 4
    key = [("line", name, f"{words} ({plural(links[name], 'link')})")
           for name, words in LINKS.items() if links[name]]
    key += [("part", name, f"{words} ({boxes[name]:,})")
            for name, words in SWITCHES.items() if boxes[name]]
    return {"picture": Markup("").join(body), "height": height, "levels": names,
            "wide": one_failure.WIDTH, "key": key}


# ---------------------------------------------------------------------- parts in numbers

HEADS = ["part", "in all", "missing", "acknowledged", "on hold", "drained", "slow", "with errors"]
COLUMNS = ("fails", "acked", "held", "drained", "slow", "errors")


def count_switches(found, marks):
    """(name, [in all, ..]) of each level, the highest first, and of chassis."""
    levels = collections.defaultdict(collections.Counter)
    chassis = collections.defaultdict(list)
    for switch in found["switches"]:
        mark = marks.of_switch(switch)
        mark = "fails" if mark in ("failed", "cut") else mark
        levels[switch["level"]].update(["all", mark])
        if switch["component"] >= 0:
            chassis[switch["component"]].append(mark)
    parts = [marks_of for marks_of in chassis.values() if len(marks_of) > 1]
    if len(parts) > 1:
        whole = collections.Counter(same[0] for same in parts if len(set(same)) == 1)
        yield "chassis, as a whole", [len(parts), *(whole[name] for name in COLUMNS)]
    for level in sorted(levels, reverse=True):
        name = "leaves" if level == 0 else "switches of no level" if level < 0 else \
            f"switches of level {level}"
        yield name, [levels[level][key] for key in ("all", *COLUMNS)]


def count_links(found, marks):
    """The same of links, by the levels that they join."""
    levels = collections.defaultdict(collections.Counter)
    for switch, port, other in links_up(found):
        levels[switch["level"], other["level"]].update(
            ["all", *marks.of_link(switch, port, other)])
    for (low, high), numbers in sorted(levels.items(), reverse=True):
        yield f"links between levels {low} and {high}", [numbers[key]
                                                         for key in ("all", *COLUMNS)]


def count_hosts(found, state):
    """The same of hosts."""
    gone = state.get("missing") or {"hosts": 0, "total": {"hosts": 0}}
    errors = sum(port["kind"] != "link" for port in items(state, "port_errors"))
    slow = items(state, "degraded_hosts", "count") or 0
    there = sum(name is not None for switch in found["switches"] for name in switch["host_names"])
    return ["hosts", there + gone["total"]["hosts"], gone["hosts"],
            gone["total"]["hosts"] - gone["hosts"], 0, 0, slow, errors]


def count_parts(found, marks, state):
    rows = [[name, *numbers] for name, numbers in (*count_switches(found, marks),
                                                    *count_links(found, marks))]
    rows.append(count_hosts(found, state))
    used = [0, 1, 2] + [i for i in range(3, len(HEADS)) if any(row[i] for row in rows)]
    return table("parts", [HEADS[i] for i in used],
                 [[row[i] or ("0" if i < 3 else "") for i in used] for row in rows])


# ------------------------------------------------------------------------- the load

def find_hottest(found):
    """Links whose load exceeds the usual one at their level most, with all parts present."""
    loads = collections.defaultdict(list)
    for switch, port, other in links_up(found):
        ends = {p["port"]: p for p in other["ports"]}
        for name, end in (("up", port), ("down", ends[port["peer_port"]])):
            loads[switch["level"], other["level"], name].append((switch, port, other, end))
    hot = []
    for (_, _, name), links in loads.items():
        usual = statistics.median_high(end["before"] for *_, end in links) or 1
        hot += [(end["after"] / usual - 1, end["after"], end["before"], name,
                 name_link([{**switch, "port": port["port"]},
                            {**other, "port": port["peer_port"]}]))
                for switch, port, other, end in links if end["after"] > usual]
    rows = [[link, way, now, before, one_failure.signed_percent(more)]
            for more, now, before, way, link in sorted(hot, key=lambda row: -row[0])[:HOTTEST]]
    return rows and table("hottest", ["link", "way", "flows now", "with all parts",
                                      "above the usual"], rows, words=(1,))


def draw_loads(found, out):
    """The heat map of now and, if any part is out, of the plan with all of them."""
    drawn = one_failure.draw_map(found, one_failure.links_of(found))
    if not drawn:
        return None
    whole, now = drawn["pictures"]
    flows = [caption.partition(": ")[2] for _, caption, _ in (whole, now)]
    drawn["pictures"] = [("before", f"with all parts: {flows[0]}", whole[2]),
                         ("after", f"now: {flows[1]}", now[2])] if out else \
        [("after", f"now: {flows[0]}", now[2])]
    return drawn


def tell_tables(state):
    """The source of the loads: whether they are those of the tables in force, in words."""
    off = (state["balance"] or {"entries_off": 0})["entries_off"]
    if not state["engine"]["active"]:
        return f"Not shown: {state['engine']['used'] or 'no engine'} routes, not portmajor."
    if off:
        return f"Tables are the plan's for the links in use; {off:,} entries in force are others."
    return "Tables are the plan's for the links in use."


# ------------------------------------------------------------------------- all of it

def describe_managers(document):
    """Each subnet manager that is known: of this machine, and others."""
    rows = []
    for status in (document["status"], *document["others"]):
        state = status["state"]
        rows.append([state["port_guid"], "this machine",
                     state["sm_state"] if status["running"] else "does not run",
                     clock(state["sm_since"]), clock(state["time"]), state["opensm"]])
    ours = {row[0] for row in rows}
    rows += [[one["guid"], one["name"] or "-", one["sm_state"], clock(one["since"]), "", ""]
             for one in document["status"]["state"]["managers"] or ()
             if one["guid"] not in ours]
    return table("managers", ["subnet manager", "node", "state", "since", "last written",
                              "OpenSM"], rows, words=range(6))


def describe_events(events):
    """The last ones, the newest first: (shown, folded), tables."""
    rows = [[event["time"], event["severity"], event["kind"], event["text"]]
            for event in reversed(events)]
    return [table("events", ["time", "severity", "kind", "event"], part, words=(1, 2, 3))
            for part in (rows[:EVENTS], rows[EVENTS:])]


def tell_manager(document):
    """(OpenSM's state, since when, its possible successors)"""
    status = document["status"]
    state, told = status["state"], ""
    if not status["running"]:
        return "does not run, last written", clock(state["time"]), ""
    if state["sm_state"] == "master":
        standbys = sum(one["sm_state"] == "standby" for one in state["managers"] or ())
        told = f", with {plural(standbys, 'standby')}" if standbys else ", without a standby"
    return f"is {state['sm_state']} since", clock(state["sm_since"]), told


def sum_up(document):
    """{text, bad}: the verdict of status."""
    findings = [finding for status in (document["status"], *document["others"])
                for finding in status["findings"]]
    return {"bad": bool(findings), "text": plural(len(findings), "finding")
            if findings else "No finding: all is as it should be"}


def describe_now(document):
    """The template's data, of {status, others, table or None, reason, events}."""
    status, found = document["status"], document["table"]
    state = status["state"]
    shown = {"sum": sum_up(document), "port": state["port_guid"], "made": clock(document["time"]),
             "age": status["age_s"], "state": describe_status(status),
             "manager": tell_manager(document), "nodes": status["missing_nodes"],
             "findings": [*status["findings"],
                          *(f"OpenSM of port {other['state']['port_guid']}: {finding}"
                            for other in document["others"] for finding in other["findings"])],
             "managers": describe_managers(document), "reason": document["reason"],
             "events": describe_events(document["events"]),
             "tree": None, "parts": None, "map": None, "hottest": None, "tables": None,
             "size": None}
    if found:
        marks = Marks(state)
        shown.update(tree=draw_tree(found, marks), parts=count_parts(found, marks, state),
                     tables=tell_tables(state),
                     size=(len(found["switches"]), count_hosts(found, state)[1]))
    if found and state["engine"]["active"]:
        out = any(not port["usable"] for _, port, _ in links_up(found))
        shown.update(map=draw_loads(found, out), hottest=find_hottest(found))
    return shown
