# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `portmajor status --json` and `plan --json` printed, and anything else."""

import datetime
import math

from .words import label_of, table


def describe_event(event):
    """The plugin's run or repair in a few words."""
    return (f"{event['change']}: {event['sent']:,} LFT blocks sent, {event['acked']:,} acked, "
            f"least {event['least']:,}; {event['milliseconds']:.1f} ms") if event else "none"


def name_link(ends):
    """leaf5[20]-s1-line0[6]"""
    return "-".join(f"{label_of(end) or end['guid']}[{end['port']}]" for end in ends)


def clock(seconds):
    when = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return when.strftime("%Y-%m-%d %H:%M:%S UTC")


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
        return sum(total[prefix + what] for prefix in ("", "repair_", "move_"))

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
                            f"{total['moves']:,} moves of drains; LFT blocks sent "
                            f"{sum_up('sent'):,}, acked {sum_up('acked'):,}"),
        ("multicast", describe_multicast(state.get("multicast"), total)),
        ("LIDs out of plan", f"{state['out_of_plan']:,}"),
        ("paths", state["unreachable"]["text"] or "between all switches with end ports"),
        ("plan", f"{plan['file']}: lid_order {plan['lid_order']}, LMC {plan['lmc']}, "
                 f"{plan['switches']:,} switches, LIDs up to {plan['top_lid']:,}"
                 if plan else "none yet"),
    ]


def describe_status(document):
    """{findings, table, links, slow}: links and slow are tables, or None."""
    state = document["state"]
    links = [[name_link(link["ends"]), link["state"], link["downs"],
              math.ceil(link["left_ms"] / 1000)] for link in state["flapping"]]
    slow = [[name_link(link["ends"]), link["link"], link["neighbours"]]
            for link in (state.get("degraded_links") or {"list": []})["list"]]
    return {"findings": list(document["findings"]),
            "table": table("state", ["", ""], state_rows(document), words=(1,)),
            "links": links and table("links", ["link that went down lately", "state",
                                               "times down", "seconds left"], links, words=(1,)),
            "slow": slow and table("slow", ["link below its neighbours'", "width and speed",
                                            "neighbours"], slow, words=(1, 2))}


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
