# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `portmajor status --json` and `plan --json` printed, and anything else."""

import collections
import datetime
import math

from .words import label_of, table


def describe_event(event):
    """The plugin's run or repair in a few words."""
    return (f"{event['change']}: {event['sent']:,} LFT blocks sent, {event['acked']:,} acked, "
            f"least {event['least']:,}; {event['milliseconds']:.1f} ms") if event else "none"


def items(state, member, key="list"):
    """A list in a member that may be null, or missing from older plugins."""
    return (state.get(member) or {key: []})[key]


def name_end(end):
    """leaf5[20], or leaf5 of port 0; older plugins have no name of some."""
    name = end.get("label") or end.get("name") or end["guid"]
    return f"{name}[{end['port']}]" if end.get("port") else name


def name_link(ends):
    """leaf5[20]-s1-line0[6]"""
    return "-".join(map(name_end, ends))


def clock(seconds):
    """In the time of this machine, as `portmajor status` has it."""
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def describe_multicast(groups, total):
    """Groups and their trees in a few words; older plugins have nothing to say of them."""
    if not groups:
        return "not routed yet"
    if groups["left_to_opensm"]:
        return f"left to OpenSM: {groups['left_to_opensm']}"
    last = groups.get("last_change")
    return (f"{groups['groups']:,} groups, {groups['trees']:,} trees, "
            f"{groups['down_and_up']:,} of them down and up again; members in none "
            f"{groups['members_left_out']:,}; MFT blocks sent {total['multicast_sent']:,}, acked "
            f"{total['multicast_acked']:,}"
            + (f", the last {last['sent']:,} {clock(last['time'])}" if last else "")
            + ("; not all are sent" if groups["incomplete"] else ""))


def state_rows(document):
    state = document["state"]
    engine, total, plan = state["engine"], state["since_start"], state["plan"]

    def sum_up(what):
        return sum(total[prefix + what] for prefix in ("", "repair_", "transition_"))

    return [
        ("state", f"{document['file']}, {document['age_s']:,} s old"),
        ("OpenSM", f"{state['opensm']}, {state['sm_state'] if state['running'] else 'ended'}, "
                   f"since {clock(state['started'])}"),
        ("engine", (engine["used"] or "none") + (f": {engine['reason']}"
                                                 if engine["reason"] else "")),
        ("last run", describe_event(state["run"])),
        ("last early repair", describe_event(state["repair"])),
        ("since its start", f"{total['runs']:,} runs, {total['fallbacks']:,} of other engines, "
                            f"{total['repairs']:,} early repairs, "
                            f"{total['transitions']:,} transitions; LFT blocks sent "
                            f"{sum_up('sent'):,}, acked {sum_up('acked'):,}"),
        ("multicast", describe_multicast(state.get("multicast"), total)),
        ("LIDs out of plan", f"{state['out_of_plan']:,}"),
        ("paths", state["unreachable"]["text"] or "between all switches with end ports"),
        ("plan", f"{plan['file']}: lid_order {plan['lid_order']}, LMC {plan['lmc']}, "
                 f"{plan['switches']:,} switches, LIDs up to {plan['top_lid']:,}"
                 if plan else "none yet"),
    ]


# ---------------------------------------------------------------------- parts that are not well

OPEN = 8  # rows of a list that are not folded
FOLDED = ("Behind missing parts, may be whole", "Missing, acknowledged", "Went down lately")


def name_host(ends, name):
    """host h3-3 at leaf3[3]"""
    places = [name_end(end) for end in ends if not end.get("host")]
    return " at ".join([f"host {name}" if name else "host", *places])


def name_missing(part):
    if part["kind"] == "switch":
        return name_end(part["ends"][0])
    return name_link(part["ends"]) if part["kind"] == "link" else \
        name_host(part["ends"], part.get("host"))


def list_missing(state):
    """Of missing parts: those beside present ones, those behind, and acknowledged ones."""
    heads = ["part", "hosts with it", "links with it", "since"]
    rows = collections.defaultdict(list)
    order = {"switch": 0, "link": 1, "host": 2}
    for part in sorted(items(state, "missing", "parts"), key=lambda part: order[part["kind"]]):
        kind = "Missing, acknowledged" if part["acknowledged"] else \
            "Behind missing parts, may be whole" if part.get("behind") else "Missing"
        with_it = [part[key] if part["kind"] == "switch" and part[key] else ""
                   for key in ("hosts", "links")]
        rows[kind].append([name_missing(part), *with_it, clock(part["since"])])
    return {kind: (heads, rows[kind]) for kind in rows}


def list_flaps(state):
    """Links that went down lately: on hold, and others."""
    heads = ["link", "state", "times down", "seconds left"]
    rows = collections.defaultdict(list)
    for link in state["flapping"]:
        held = link["state"] in ("on-hold", "needed")
        rows["On hold" if held else "Went down lately"].append(
            [name_link(link["ends"]), link["state"], link["downs"],
             math.ceil(link["left_ms"] / 1000)])
    return {kind: (heads, rows[kind]) for kind in rows}


def list_drains(state):
    return ["part", "state", "since", "until", "by", "reason"], [
        [name_end(drain), drain["state"], clock(drain["since"]),
         clock(drain["until"]) if drain["until"] else "", drain["by"] or "",
         drain["reason"] or ""] for drain in items(state, "drained")]


def list_changes(state):
    return ["part", "what", "what was there", "since"], [
        [name_link(change["ends"]), change["kind"] + ", acknowledged" * change["acknowledged"],
         name_was(change), clock(change["since"])] for change in items(state, "changed")]


def name_was(change):
    """What was drawn there: ends of links, the place of a host, a GUID."""
    was = change["was"] if isinstance(change["was"], list) else [change["was"]]
    return ", ".join(one if isinstance(one, str) else name_end(one) for one in was if one)


def list_errors(state):
    kinds = ("symbol_errors", "link_recoveries", "link_downed", "receive_errors")
    return ["port", *(kind.replace("_", " ") for kind in kinds)], [
        [name_link(port["ends"]), *(port[kind] for kind in kinds)]
        for port in items(state, "port_errors")]


def list_waits(state):
    return ["port", "ticks a second"], [
        [name_link(port["ends"]), port["ticks_per_s"]] for port in state.get("port_waits") or []]


def list_slow(state, member):
    return ["link", "width and speed", "neighbours"], [
        [name_link(link["ends"]), link["link"], link["neighbours"]]
        for link in items(state, member)]


def describe_lists(state):
    """What needs somebody comes first, see fold()."""
    flaps, gone = list_flaps(state), list_missing(state)
    hosts = [[name_host(host["ends"], host["host"]), host["downs"],
              f"{clock(host['first'])} to {clock(host['last'])}"]
             for host in items(state, "flapping_hosts")]
    lists = {
        "On hold": flaps.get("On hold"),
        "Missing": gone.get("Missing"),
        "Behind missing parts, may be whole": gone.get("Behind missing parts, may be whole"),
        "Recabled, moved or replaced": list_changes(state),
        "Hosts whose links flap": (["host", "times down", "when"], hosts),
        "Slower than their neighbours": list_slow(state, "degraded_links"),
        "Hosts slower than their neighbours": list_slow(state, "degraded_hosts"),
        "With errors in the last hour": list_errors(state),
        "Where packets wait": list_waits(state),
        "Drained": list_drains(state),
        "Missing, acknowledged": gone.get("Missing, acknowledged"),
        "Went down lately": flaps.get("Went down lately")}
    return [fold(title, *found) for title, found in lists.items() if found and found[1]]


def fold(title, heads, rows):
    """{title, first, rest, summary}: a list's first rows, and others, folded; or None."""
    used = [i for i in range(len(heads)) if any(row[i] != "" for row in rows)]
    words = [at for at, i in enumerate(used) if any(isinstance(row[i], str) and row[i]
                                                    for row in rows)]
    cut = 0 if title in FOLDED and len(rows) > OPEN else OPEN
    first, rest = [part and table("list", [heads[i] for i in used],
                                  [[row[i] for i in used] for row in part], words=words)
                   for part in (rows[:cut], rows[cut:])]
    title = f"{title}: {len(rows):,}"
    return {"title": title, "first": first or None, "rest": rest or None,
            "summary": f"{len(rows) - cut:,} more" if cut else title}


def describe_status(document):
    """{findings, table, lists}"""
    state = document["state"]
    return {"findings": list(document["findings"]), "lists": describe_lists(state),
            "table": table("state", ["", ""], state_rows(document), words=(1,))}


def describe_plan(document):
    """{facts, notes, table}"""
    planes = [["none" if plane["plane"] is None else
               f"{plane['plane']} ({label_of(plane)}, link {plane['link']})",
               plane["slots"], plane["switches"],
               ", ".join(f"{run['first']}-{run['last']}" for run in plane["lids"])]
              for plane in document["plane_list"]]
    facts = (f"{document['switches']:,} switches, {document['leaves']:,} of them leaves, levels 0 "
             f"to {document['top_level']}, {document['pods']:,} pods, {document['planes']:,} "
             f"planes; lid_order {document['lid_order']}, LMC {document['lmc']}, LIDs up to "
             f"{document['top_lid']:,}, {document['blocks']:,} LFT blocks a switch, "
             f"{document['full_load']:,} for a full load")
    return {"facts": facts, "notes": document["notes"],
            "table": table("planes", ["plane", "slots", "switches", "LIDs"], planes, words=(3,))}


def flatten(value, name=""):
    """(name, value) of everything in a JSON value, however deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flatten(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and any(isinstance(inner, (dict, list)) for inner in value):
        for number, inner in enumerate(value[:100]):
            yield from flatten(inner, f"{name}[{number}]")
        if len(value) > 100:
            yield name, f"{len(value)} in all"
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield name, str(value)


def describe_other(document):
    """Everything in a document that has no place of its own."""
    return table("other", ["member", "value"], flatten(document), words=(1,))
