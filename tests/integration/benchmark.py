#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures the figures of docs/benchmarks.md, or finds those that have become worse.

Each fabric is simulated by ibsim and brought up by OpenSM on its first host, h0-1, with
portmajor and with OpenSM's own engines, one after another. The wire tells the truth (see
wire_truth.h): ports keep what was set. A cable, a host and a chassis (or a switch of the top
level) are lost, each from the whole fabric, and come back. Of each event are noted the LFT
Sets and SMPs, the times on a real wire (see wiretime.py; OpenSM computes in no time), the CPU
time of routing, and the link loads of the tables read back. The core is measured alone:
`portmajor whatif`, and bench_tables.

With 40,960 hosts tables are not read back, which would take hours, updn alone is beside
portmajor, with a start and the loss of a cable, and OpenSM with portmajor is also restarted,
replaced by its standby, and given one more pod. This takes less than an hour and 12 GiB.

The results replace those of the same fabric and engine in docs/benchmarks.json; docs/benchmarks.md
is written from it. With --compare nothing is written: portmajor's figures that are worse than those
in docs/benchmarks.json are printed, each with the place of the SM and the failed part, and the exit
status is 1. Counts and loads must be the same or less. Figures that depend on the machine are
compared as a ratio to ftree's or to a memset in the same run (see TOLERANCE). Worse figures are
measured again, up to --tries times. Figures of OpenSM's engines that differ are printed as well,
but do not cause exit status 1, as they differ with each OpenSM.

With --throughput other figures are measured, see throughput.py.
"""

import argparse
import collections
import copy
import datetime
import json
import math
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

import failover
import measuring
import pmlab
import return_times
import simlab
import throughput
import wire
import wiretime
from measuring import number as show

CORE, OURS, REFERENCE = "core", "portmajor", "ftree"
ENGINES = (OURS, REFERENCE, "updn", "minhop", "dfsssp", "nue")
SM_HOST = "h0-1"
SHIFTS = 16  # permutations tried, of either kind
TRIES = 3
LIMIT_S = 120  # for a first load or an event with one of OpenSM's engines
LARGE_LIMIT_S = 1800  # for any, where a fabric is so large

# Arguments of `portmajor generate`; simlab's targets, with blanks between if there are more of
# an event; what bench_tables calls the fabric, if it has it; the part of which it grows, if it
# is so large that only LARGE_ENGINES run, OpenSM's only with LARGE_VICTIM.
Kind = collections.namedtuple("Kind", "generate victims bench grows", defaults=(None, None))
LARGE_ENGINES, LARGE_VICTIM = ("portmajor", "updn"), "cable"

DIRECTOR = {"cable": "leaf5:20", "host": "h7-3", "chassis": "s0-*"}
# The last of 40: leaves and switches 1248 to 1279.
POD = "leaf124[89] leaf12[567]? sw2-124[89] sw2-12[567]?"
FABRICS = {
    "648": Kind(("director", 36), DIRECTOR),
    "1024": Kind(("xgft", 3, "8,8,16", "1,8,8"),
                 {"cable": "leaf8:10", "host": "h7-3", "top switch": "sw3-0"}),
    "5832": Kind(("director", 324), DIRECTOR, bench="director 324"),
    "11664": Kind(("director", 648), DIRECTOR, bench="director 648"),
    "40960": Kind(("xgft", 3, "32,32,40", "1,32,32"),
                  {"cable": "leaf8:34", "host": "h7-3", "top switch": "sw3-0", "pod": POD},
                  "xgft 32,32,40", POD),
}
GROWING, GROWS_FROM = ("648", "5832", "11664", "40960"), "5832"  # a smaller one only starts
FIRST_LOAD, NO_NEWS = "first load", "sweep without news"
RESTART, TAKEOVER, GROWTH = "restart", "standby takes over", "one more pod"
# Of what is in benchmarks.json, beside the fabrics.
THROUGHPUT, RUNS = "throughput", "runs"
# Figures that are in benchmarks.json only if they differ from these.
USUAL = {"failed": None, "gave_up": False, "discoveries": 1}

# Figures that are compared as they are: counts, and loads of tables.
EXACT = ("lft_sets", "restoring", "least", "over_mean", "shift", "random", "load")
# Figures that are compared by their ratio to the reference's: one is worse if it has grown by that
# factor and by more than that amount. Times on the wire include waits for timers and for threads
# without a processor, up to 0.2 s of them on a busy machine.
TOLERANCE = {"smps": (1.25, 0), "last_lft_smp": (1.5, 0.005), "floor_s": (1.5, 0.005),
             "last_lft_s": (2, 0.3), "up_s": (2, 0), "computing_ms": (2, 0.1),
             "active_smps": (1.5, 5), "up_cpu_s": (1.5, 0.1), "memory_mib": (1.1, 0)}
CORE_TOLERANCE = (2, 0.2)  # of a part of bench_tables, by the memset

FOLDER = pmlab.ROOT / "docs"
COMMAND, REPORT = pmlab.BUILD / "portmajor", pmlab.ROOT / "scripts" / "portmajor-report"


# ------------------------------------------------------------------- the machine

def opensm_version():
    out = subprocess.run(["opensm", "--version"], capture_output=True, text=True, check=False)
    return re.search(r"OpenSM \S+", out.stdout).group()


def machine():
    """The place and the conditions of the measurement."""
    cpu = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    memory = int(re.search(r"^MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(),
                           re.M)[1])
    ibsim = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "ibsim-utils"],
                           capture_output=True, text=True, check=False).stdout
    return {"date": datetime.date.today().isoformat(),
            "machine": f"{os.cpu_count()} x {cpu[1] if cpu else os.uname().machine}, "
                       f"{memory / 2**20:.0f} GiB",
            "versions": f"{pmlab.run_cli('-V').stdout.strip()}, "
                        f"{opensm_version()}, ibsim {ibsim or 'unknown'}"}


# ------------------------------------------------------------------------- loads

def permutation_load(fabric, dump, seed):
    """The most flows on a cable between switches if each host sends to one other.

    Pairs that are cut off do not count. The mean over SHIFTS random permutations.
    """
    net, links = fabric.netlist, {}
    tables = {name: bytearray(b"\xff" * 49152) for name in dump.tables}
    for name, table in tables.items():
        for lid, port in dump.table(name).items():
            table[lid] = port
        links[name] = {p: peer for p, (peer, _) in net.nodes[name].ports.items()}
    hosts = [h for h in net.hosts if h in dump.lids]
    leaf = {h: peer for h in hosts for peer, _ in net.nodes[h].ports.values()}
    draw, most = random.Random(seed), []
    for _ in range(SHIFTS):
        to, load = hosts[:], {}
        draw.shuffle(to)
        for source, goal in zip(hosts, to):
            for step in cables(leaf[source], goal, dump.lids[goal], tables, links):
                load[step] = load.get(step, 0) + 1
        most.append(max(load.values(), default=0))
    return sum(most) / len(most)


def cables(name, goal, lid, tables, links):
    """(switch, port) of each cable between switches; empty if the packet does not arrive."""
    way = []
    while len(way) < 16:
        port = tables[name][lid]
        peer = links[name].get(port)
        if peer == goal:
            return way
        if peer not in tables:
            return []
        way.append((name, port))
        name = peer
    return []


def loads(fabric, folder):
    """Of the tables that are in the switches now."""
    file = folder / "fabric.dump"
    fabric.dump(file, timeout=pmlab.TIMEOUT_S)
    walked = pmlab.walk(fabric.netlist.path, file, "--shifts", SHIFTS)
    ratio = pmlab.load_ratio(walked)
    return {"over_mean": ratio and round(ratio, 2), "shift": walked.get("shift"),
            "random": round(permutation_load(fabric, pmlab.Dump(file), 1), 2)}


# -------------------------------------------------------------------- in OpenSM

def memory_mib(process):
    """The most memory that the process has had, without what it shares with the wire."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    most, files, shared = (int(re.search(rf"^{name}:\s+(\d+) kB", status, re.M)[1])
                           for name in ("VmHWM", "RssFile", "RssShmem"))
    return round((most - files - shared) / 1024, 1)


def computing_ms(records):
    """CPU time of the longest routing: while no SMP is out, before OpenSM sets tables (or their
    size in SwitchInfo); None if it sets none."""
    out, last, steps = 0, None, []
    for record in records:
        if (last and not out and record.event == "asked" and record.method == wire.SET
                and record.attr in (simlab.ATTR_LFT, simlab.ATTR_SWITCH_INFO)):
            steps.append(record.cpu_ns - last.cpu_ns)
        out += {"asked": 1, "trapped": 0}.get(record.event, -min(1, out))
        last = record
    return round(max(steps) / 1e6, 1) if steps else None


def up_ns(log):
    """The time of the last "SUBNET UP" in the log, by the monotonic clock."""
    return time.monotonic_ns() - (time.time() - pmlab.logged_at(log, "SUBNET UP")[-1]) * 1e9


def figures(records, log, counted, engine):
    """Figures of an event or a first load; `counted` is the result of simlab."""
    stamps = wiretime.virtual(records)
    sets = wiretime.lft_answers(stamps)
    up = up_ns(log)
    done = [s for s in stamps if s.record.ns <= up]
    return {"lft_sets": counted["lft_sets"] - counted["lft_again"],
            "smps": counted["smps"], "last_lft_smp": counted["last_lft_smp"],
            "floor_s": round(failover.floor_s(stamps), 4) if sets else None,
            "last_lft_s": round(sets[-1].seconds, 4) if sets else None,
            "up_s": round(max(s.seconds for s in done), 4),
            "up_cpu_s": round((done[-1].record.cpu_ns - records[0].cpu_ns) / 1e9, 3),
            "computing_ms": computing_ms(records),
            "discoveries": counted["discoveries"],
            "gave_up": set(counted["engines"]) != {engine}}


def each(act, target):
    """Loses or takes back all that a target names; how many links that changes."""
    return sum(act(one) for one in target.split())


def measured(osm, action, limit):
    """The figures of what OpenSM does after that, what simlab counted, the log and records."""
    offset = osm.log_offset()
    osm.wire.records()
    counted = simlab.measure(osm.fabric, osm, action, timeout=limit)
    records, log = osm.wire.records(states=True), osm.log(offset)
    sent = [r for r in records if r.event != "state"]
    return figures(sent, log, counted, osm.engine), counted, log, records


def lose_once(osm, target, limit, folder):
    """Loses it, and takes it back; the figures of both; `folder` for tables, if any are read."""
    lost, counted, log, _ = measured(osm, lambda: each(osm.fabric.lose, target), limit)
    if folder:
        lost.update(loads(osm.fabric, folder))
    came, _, _, records = measured(osm, lambda: each(osm.fabric.back, target), limit)
    came["active_smps"], active_s = return_times.until_active(records, 0)
    came["active_s"] = round(active_s, 4)
    in_one_piece = (lost["discoveries"] == 1
                    and pmlab.Event.of(target, counted, log).parts <= 1)
    return lost, came, in_one_piece


def lose(osm, target, tries, limit, folder):
    """The first try that was discovered, and repaired, in one piece; else the one with the fewest
    LFT Sets."""
    results = []
    for _ in range(tries):
        lost, came, in_one_piece = lose_once(osm, target, limit, folder)
        results.append((lost, came))
        if in_one_piece:
            return results[-1]
    return min(results, key=lambda r: (r[0]["lft_sets"], r[0]["smps"]))


def first_load(osm, limit):
    """Of a start: the figures until it has settled."""
    osm.settle(timeout=limit)
    counted = {**osm.delta(osm.start_mark), "lft_again": 0, "engines": osm.engines_used()}
    return figures(osm.wire.records(), osm.log(), counted, osm.engine)


def open_traced(fabric, engine, folder, **kwargs):
    """On a wire that is recorded, with files that the next one finds."""
    return failover.open_sm(fabric, engine, wire.Wire(trace=True), folder, cache_dir=folder,
                            **kwargs)


class Engine:
    """One engine's run in a fabric: events as they are asked for, each with its figures."""

    def __init__(self, name, netlist, engine, options, tell):
        self.kind, self.netlist, self.engine = FABRICS[name], netlist, engine
        self._options, self._tell = options, tell
        self.limit = (LARGE_LIMIT_S if self.kind.grows else
                      pmlab.TIMEOUT_S if engine == OURS else options.limit)
        self.result = {**machine(), "failed": None, "events": {}}
        self._doing = None

    def run(self):
        """All events; `failed` says why there are not more of them."""
        try:
            with pmlab.Folder() as folder, pmlab.Fabric(self.netlist) as fabric:
                with open_traced(fabric, self.engine, folder) as osm:
                    self._lose_all(osm, folder)
                if self.kind.grows and self.engine == OURS:
                    self._replace(fabric, folder)
            if self.kind.grows and self.engine == OURS:
                self._grow()
        except simlab.SimError as error:
            self._tell(f"{self.engine}: {error}")
            why = (f"did not finish within {self.limit} s"
                   if isinstance(error, simlab.SimTimeout) else "broke")
            self.result["failed"] = f"{self._doing}: {why}"
        return self.result

    def _begin(self, event):
        self._tell(f"{self.engine}: {event}")
        self._doing = event

    def _note(self, event, found):
        self.result["events"][event] = found

    def _lose_all(self, osm, folder):
        """A first load, a sweep without news, and what is lost and comes back."""
        self._begin(FIRST_LOAD)
        read_in = None if self.kind.grows else folder
        loaded = first_load(osm, self.limit)
        self._note(FIRST_LOAD, {**loaded, **(loads(osm.fabric, folder) if read_in else {})})
        self.result["memory_mib"] = memory_mib(osm.process)
        if is_few(self.kind, self.engine):
            self._begin(LARGE_VICTIM)
            target = self.kind.victims[LARGE_VICTIM]
            self._note(LARGE_VICTIM,
                       measured(osm, lambda: each(osm.fabric.lose, target), self.limit)[0])
            return
        self._begin(NO_NEWS)
        self._note(NO_NEWS, measured(osm, osm.hup, self.limit)[0])
        for event, target in self.kind.victims.items():
            self._begin(event)
            lost, came = lose(osm, target, self._options.tries, self.limit, read_in)
            self._note(event, lost)
            self._note(returns(event), came)

    def _replace(self, fabric, folder):
        """Another OpenSM starts with the files of the first; a standby takes over from it."""
        self._begin(RESTART)
        with open_traced(fabric, self.engine, folder) as osm, pmlab.Folder() as own:
            self._note(RESTART, first_load(osm, self.limit))
            self._begin(TAKEOVER)
            with failover.open_sm(fabric, self.engine, wire.Wire(trace=True), own,
                                  host=failover.STANDBY, conf={"sm_priority": 0}) as standby:
                standby.wait_log("Entering STANDBY state", timeout=self.limit)
                osm.wait_answered()
                taken = measured(standby, lambda: fabric.kill_client(osm.process), self.limit)
                self._note(TAKEOVER, taken[0])

    def _grow(self):
        """OpenSM starts without a pod, which then is cabled."""
        self._begin(GROWTH)
        with pmlab.Folder() as folder, pmlab.Fabric(self.netlist) as fabric:
            each(fabric.lose, self.kind.grows)
            with open_traced(fabric, self.engine, folder) as osm:
                osm.settle(timeout=self.limit)
                grown = measured(osm, lambda: each(fabric.back, self.kind.grows), self.limit)
                self._note(GROWTH, grown[0])


def is_few(kind, engine):
    """Whether events take so long that only a start and the loss of LARGE_VICTIM are measured."""
    return kind.grows is not None and engine != OURS


def asked(name, engine):
    """The events that are measured with an engine."""
    kind = FABRICS[name]
    if is_few(kind, engine):
        return [FIRST_LOAD, LARGE_VICTIM]
    return [event for event in events_of(name)
            if kind.grows or event not in (RESTART, TAKEOVER, GROWTH)]


def returns(event):
    """What the return of what was lost is called."""
    return f"{event} is back"


# ------------------------------------------------------------------- in the core

def used(*argv):
    """(standard output, CPU time in s, largest memory in MiB) of a command.

    The kernel counts from what this process has when it forks: less is None.
    """
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode not in (0, 1):  # 1: findings
            raise simlab.SimError(f"{argv}: {err.read().decode(errors='replace')}")
        memory = round(usage.ru_maxrss / 1024, 1) if usage.ru_maxrss > own else None
        return out.read(), round(usage.ru_utime + usage.ru_stime, 3), memory


def run_whatif(netlist, target):
    """What `portmajor whatif` foretells, and the CPU time that it takes."""
    out, cpu_s, _ = used(COMMAND, "whatif", "--json", "-s", SM_HOST, "--shifts", SHIFTS, netlist,
                         *(arg for one in target.split() for arg in ("--fail", one)))
    found = json.loads(out)
    return {"lft_sets": found["total"]["blocks"], "restoring": found["restoring"],
            "least": found["total"]["least"], "load": found["load"]["after"],
            "shift": found["shift"]["after"], "cpu_s": cpu_s}


def run_commands(netlist):
    """{command: CPU time and memory} of those that look at a whole fabric."""
    with tempfile.TemporaryDirectory(dir=netlist.parent) as folder:
        tables, page = (pathlib.Path(folder) / name for name in ("lfts", "report.html"))
        commands = {"plan": (COMMAND, "plan", netlist),
                    "plan --lfts": (COMMAND, "plan", "-q", "--lfts", tables, netlist),
                    "check": (COMMAND, "check", "-q", netlist, tables),
                    "whatif --all links": (COMMAND, "whatif", "--all", "links", netlist),
                    "portmajor-report": (REPORT, netlist, "-o", page)}
        found = {}
        for name, argv in commands.items():
            _, cpu_s, memory = used(*argv)
            found[name] = {"cpu_s": cpu_s, "memory_mib": memory}
        return found


def run_tables():
    """{bench_tables's name of a fabric: its memset, its parts by that, its bytes}."""
    done = subprocess.run([pmlab.BUILD / "bench_tables", "10"], capture_output=True, text=True,
                          check=False)
    found = {}
    for block in re.split(r"^(?=\w.*: \d+ end ports)", done.stdout, flags=re.M)[1:]:
        rows = re.findall(r"^  (.*?) +([\d.]+) ms +([\d.]+) x memset", block, re.M)
        found[block.partition(":")[0]] = {
            "memset_ms": float(rows[0][1]),
            "tables_mib": float(re.search(r"tables of ([\d.]+) MiB", block)[1]),
            "parts": {name: float(ratio) for name, _, ratio in rows[1:]}}
    return found


def run_core(netlist, kind, tables):
    return {**machine(), **tables.get(kind.bench, {}), "commands": run_commands(netlist),
            "events": {event: run_whatif(netlist, target)
                       for event, target in kind.victims.items()}}


# ----------------------------------------------------------------------- running

def engines_of(kind):
    """Those with which OpenSM is run."""
    return LARGE_ENGINES if kind.grows else ENGINES


def run(options, tell, note):
    """Calls note(fabric, engine or CORE, result) for each."""
    tables = {}
    if CORE in options.engines and any(FABRICS[name].bench for name in options.fabrics):
        tell("bench_tables")
        tables = run_tables()
    for name in options.fabrics:
        kind = FABRICS[name]
        with pmlab.Folder() as folder:
            file = pmlab.generate(folder / "fabric.net", *kind.generate)
            netlist = simlab.Netlist(file)
            for engine in options.engines:
                tell(f"{name}: {engine}")
                if engine == CORE:
                    note(name, engine, run_core(file, kind, tables))
                elif engine in engines_of(kind):
                    note(name, engine, Engine(name, netlist, engine, options, tell).run())


def read(file):
    """The results so far: {fabric: {engine or CORE: result}}."""
    if not file.exists():
        return {}
    data = json.loads(file.read_text(encoding="ascii"))
    runs = data.pop(RUNS)
    for result in results_of(data):
        result.update(runs[result.pop("run")])
    return data


def results_of(data):
    return [result for name, fabric in data.items() if name in FABRICS
            for result in fabric.values()]


def pack(data):
    """The content of benchmarks.json: each date, machine and version once, and no USUAL figure."""
    runs, packed = [], copy.deepcopy(data)
    for result in results_of(packed):
        where = {key: result.pop(key) for key in ("date", "machine", "versions")}
        if where not in runs:
            runs.append(where)
        result["run"] = runs.index(where)
    return {RUNS: runs, **without_usual(packed)}


def without_usual(found):
    if not isinstance(found, dict):
        return found
    return {key: without_usual(part) for key, part in found.items()
            if key not in USUAL or part != USUAL[key]}


# --------------------------------------------------------------------- comparing

def value(result, event, figure):
    found = result if event is None else result["events"].get(event, {})
    return found.get(figure)


def worse(name, old, new):
    """(worse figures, differing figures of the references): lines of text."""
    faults, notes = [], []

    def say(lines, engine, event, figure, before, after):
        victim = FABRICS[name].victims.get(event, "nothing")
        lines.append(f"{name} hosts, {engine}, {event or 'OpenSM'} (SM on {SM_HOST}, lost: "
                     f"{victim}): {figure} was {before}, is {after}")

    for engine in new:
        if engine not in old:
            notes.append(f"{name} hosts, {engine}: nothing is written there")
            continue
        lines = faults if engine in (OURS, CORE) else notes
        before, after = old[engine], new[engine]
        if after.get("failed") and not before.get("failed"):
            say(lines, engine, None, "result", "complete", after["failed"])
        for event in before["events"]:
            if value(after, event, "gave_up") and not value(before, event, "gave_up"):
                say(lines, engine, event, "engine", engine, "another")
            for figure in EXACT:
                was, now = (value(r, event, figure) for r in (before, after))
                if was is not None and (now is None or now > was
                                        or now < was and lines is notes):
                    say(lines, engine, event, figure, was, now)
    ratios_worse(old, new, lambda *text: say(faults, *text))
    return faults, notes


def ratios_worse(old, new, say):
    """Figures that depend on the machine, divided by the reference's of the same run."""
    def look(tolerance, was, now, *what):
        factor, least = tolerance
        if was and now and now > factor * was and now > was + least:
            say(*what, f"{was:.3f}", f"{now:.3f}")

    for figure, tolerance in TOLERANCE.items():
        for event in (None, *old.get(OURS, {"events": ()})["events"]):
            look(tolerance, *(ratio(r, event, figure) for r in (old, new)), OURS, event,
                 f"{figure} / {REFERENCE}'s")
    for part in old.get(CORE, {}).get("parts", ()):
        look(CORE_TOLERANCE, *(r.get(CORE, {}).get("parts", {}).get(part)
                               for r in (old, new)), CORE, None, f"{part} / memset")
    for event in old.get(CORE, {"events": ()})["events"]:
        look(CORE_TOLERANCE, *(whatif_ratio(r, event) for r in (old, new)), CORE, event,
             "whatif's CPU / memset")


def whatif_ratio(results, event):
    """CPU time of `portmajor whatif`, divided by the memset; None without either."""
    core = results.get(CORE, {"events": {}})
    cpu, memset = value(core, event, "cpu_s"), core.get("memset_ms")
    return cpu * 1e3 / memset if cpu and memset else None


def ratio(results, event, figure):
    """Our figure divided by the reference's; None without either, or if one has a discovery that
    was begun anew."""
    if figure not in ("memory_mib", "computing_ms") and any(
            (value(results.get(e, {"events": {}}), event, "discoveries") or 1) > 1
            for e in (OURS, REFERENCE)):
        return None
    ours, reference = (value(results.get(e, {"events": {}}), event, figure)
                       for e in (OURS, REFERENCE))
    return ours / reference if ours and reference else None


# ----------------------------------------------------------------------- writing

INTRODUCTION = """\
# Benchmarks

`scripts/benchmark` writes this file and docs/benchmarks.json; do not edit it. `scripts/benchmark
--compare` measures again and names results that are worse. The first table in README.md has the
numbers of 5,832 hosts.

ibsim simulates each fabric, and OpenSM runs on the first host, h0-1. One part at a time fails in the
whole fabric, and comes back. The wire between them keeps what real ports keep and ibsim forgets
(docs/design-opensm.md), so a sweep sets a port only if a real one would be set.

- `LFT Sets` and `SMPs` are counted on the simulated wire, from the failure until OpenSM is idle.
  `last is SMP` is the number of the last LFT Set among these SMPs.
- `last LFT` and `SUBNET UP` are seconds from the first trap (or Get), computed and not measured: an
  SMP takes {set_us} us, and {hop_us} us for each hop and direction, 4 SMPs are outstanding, and OpenSM
  computes in no time (tests/integration/wiretime.py). Recorded waits are kept, and vary with the
  machine. `floor` is the time of the SMPs alone up to the last LFT Set, which does not vary.
- `ACTIVE at SMP`: the number of the SMP that brings the last returned port into service.
- `CPU` is the CPU time, in ms, of all OpenSM's threads between the last answer before the first LFT
  Set and that Set: routing, and OpenSM's work just before it. `x ftree` is this time divided by
  ftree's, `CPU to UP` that of all threads until SUBNET UP. -: not measured.
- `load` is the load of the fullest cable as a multiple of the mean of its level and direction, with
  every host sending to every other. `shift` is the most flows on a cable in {shifts} shift
  permutations, `random` the mean of that number over {shifts} random permutations (seed 1). All are
  computed from tables read back after the event.
- \\* the engine gave up, and OpenSM went on to minhop. + OpenSM began its discovery anew when more
  traps came; the counts of engines that route in OpenSM's sweep depend on that.
"""


def table(header, rows, texts=2):
    """A table in Markdown; the first columns are text."""
    return measuring.markdown_table([header, *rows], range(texts), aligned=False)


def events_of(name):
    """All that may be measured with OpenSM, in the order of the table."""
    lost = [event for victim in FABRICS[name].victims for event in (victim, returns(victim))]
    return [FIRST_LOAD, NO_NEWS, *lost, RESTART, TAKEOVER, GROWTH]


def cells(f, base):
    """Of one row; `base` is the CPU time of the reference's routing."""
    marks = "*" * f.get("gave_up", False) + "+" * (f.get("discoveries", 1) > 1)
    computing = f["computing_ms"]
    return [show(f["lft_sets"]) + marks, show(f["smps"]), show(f["last_lft_smp"] or None),
            show(f.get("active_smps")), show(f["floor_s"], 3), show(f["last_lft_s"], 3),
            show(f["up_s"], 3), show(computing),
            show(computing / base if computing and base else None, 2),
            show(f.get("up_cpu_s"), 2), show(f.get("over_mean"), 2), show(f.get("shift")),
            show(f.get("random"), 1)]


def events_table(name, results):
    rows = []
    engines = [e for e in ENGINES if e in results]
    for event in events_of(name):
        title = event
        for engine in engines:
            f = results[engine]["events"].get(event)
            if not f and not (results[engine].get("failed") and event in asked(name, engine)):
                continue
            base = REFERENCE in results and value(results[REFERENCE], event, "computing_ms")
            rows.append([title, engine, *(cells(f, base) if f else
                                          ["did not finish", *[""] * 12])])
            title = ""
    return table(["event", "routing", "LFT Sets", "SMPs", "last is SMP", "ACTIVE at SMP",
                  "floor, s", "last LFT, s", "SUBNET UP, s", "CPU, ms", "x ftree",
                  "CPU to UP, s", "load", "shift", "random"], rows)


def failures(results):
    """A line for each engine that did not finish."""
    return "".join(f"\n{engine}: {results[engine]['failed']}.\n" for engine in ENGINES
                   if engine in results and results[engine].get("failed"))


def memory_table(data):
    names = [n for n in FABRICS if set(ENGINES) & set(data.get(n, {}))]

    def cell(name, engine):
        memory, base = (data[name].get(e, {}).get("memory_mib") for e in (engine, "updn"))
        return show(memory) + (f" ({memory / base:.2f})" if memory and base else "")

    rows = [[engine, *(cell(name, engine) for name in names)] for engine in ENGINES
            if any(engine in data[name] for name in names)]
    return ("\n## Memory\n\nThe largest memory of OpenSM in its first load (VmHWM without files and "
            "shared memory), in MiB,\nand as a multiple of updn's:\n\n"
            + table(["hosts", *(f"{int(n):,}" for n in names)], rows, 1)) if names else ""


def core_table(data):
    rows = []
    for name in (n for n in FABRICS if CORE in data.get(n, {})):
        for event, f in data[name][CORE]["events"].items():
            rows.append([f"{int(name):,}", event, show(f["lft_sets"]), show(f["restoring"]),
                         show(f["least"]), show(f["load"]), show(f["shift"]), show(f["cpu_s"], 3),
                         show(whatif_ratio(data[name], event), 1)])
    return table(["hosts", "lost", "LFT Sets", "restoring", "least", "flows on a cable", "shift",
                  "CPU, s", "x memset"], rows)


def memset_table(data):
    cores = {n: data[n][CORE] for n in FABRICS if data.get(n, {}).get(CORE, {}).get("parts")}
    if not cores:
        return ""
    parts = list(next(iter(cores.values()))["parts"])
    rows = [["memset, ms", *(show(c["memset_ms"], 2) for c in cores.values())]]
    rows += [[f"{part}, x memset", *(show(c["parts"].get(part), 2) for c in cores.values())]
             for part in parts]
    return ("\nThe time to compute in the core (`bench_tables 10`, best of 10), divided by that "
            "of a memset of as\nmany new bytes as the tables have, in the same run:\n\n"
            + table(["", *(f"{int(n):,}" for n in cores)], rows, 1))


def grown(results):
    """[(what, unit, number)] of what may grow with a fabric."""
    core, ours = results.get(CORE, {}), results.get(OURS, {"events": {}})
    rows = [("tables", "MiB", core.get("tables_mib"))]
    for name, found in core.get("commands", {}).items():
        rows += [(name, "CPU, s", found["cpu_s"]), (name, "MiB", found["memory_mib"])]
    rows += [(f"core: {part}", "ms", times * core["memset_ms"])
             for part, times in core.get("parts", {}).items()]
    for event in (FIRST_LOAD, NO_NEWS):
        rows += [(f"OpenSM, {engine}: {event}", "CPU, s",
                  value(results.get(engine, {"events": {}}), event, "up_cpu_s"))
                 for engine in LARGE_ENGINES]
    rows.append(("OpenSM, portmajor: repair of a cable", "CPU, ms",
                 value(ours, "cable", "computing_ms")))
    rows += [(f"OpenSM, {engine}: memory", "MiB", results.get(engine, {}).get("memory_mib"))
             for engine in LARGE_ENGINES]
    return [((what, unit), number) for what, unit, number in rows]


def exponent(numbers, sizes):
    """The slope of log(number) over log(size), from GROWS_FROM to the largest fabric."""
    ends = [(numbers.get(name), sizes.get(name)) for name in (GROWS_FROM, list(sizes)[-1])]
    if not all(number and size for number, size in ends):
        return None
    (was, small), (now, large) = ends
    return math.log(now / was) / math.log(large / small)


def growth_table(data):
    """Numbers by size, with the exponent of their growth by the bytes of the tables."""
    names = [name for name in GROWING if data.get(name, {}).get(CORE, {}).get("commands")]
    if len(names) < 2:
        return ""
    found = {name: dict(grown(data[name])) for name in names}
    sizes = {name: data[name][CORE].get("tables_mib") for name in names}
    rows = []
    for row in dict.fromkeys(row for name in names for row in found[name]):
        numbers = {name: found[name].get(row) for name in names}
        rows.append([*row, *(show(n, 0 if n and n >= 100 else 2) for n in numbers.values()),
                     show(exponent(numbers, sizes), 2)])
    return (f"\n## Growth\n\nOne run each; the exponent is that of the growth from "
            f"{int(GROWS_FROM):,} to {int(names[-1]):,} hosts by the bytes\nof all tables: "
            "1 is as many times as these. Larger tables fit less into caches: `memcpy` has that "
            "alone.\n`whatif --all links` and the report try each link, and `check` follows each "
            "path, in tables that\nare longer each time.\n\n"
            + table(["", "", *(f"{int(name):,}" for name in names), "exponent"], rows))


def not_run(data):
    lines = []
    for name, kind in FABRICS.items():
        wanted = (CORE, *engines_of(kind))
        missing = [w for w in wanted if w not in data.get(name, {})]
        if missing:
            lines.append(f"- {int(name):,} hosts: {', '.join(missing)}\n")
    return "\n## Not run\n\n" + "".join(lines) if lines else ""


def older(name, results):
    """A line about the engines that were measured before ports kept what was set."""
    engines = [engine for engine in ENGINES
               if engine in results and NO_NEWS in asked(name, engine)
               and NO_NEWS not in results[engine]["events"]]
    return (f"\n{', '.join(engines)}: measured on ibsim's own ports, which forget values, so that "
            "each sweep Sets all\nports: there are too many SMPs.\n" if engines else "")


def document(data):
    repaired = data.get(THROUGHPUT)
    data = {name: results for name, results in data.items() if name in FABRICS}
    results = results_of(data)
    where = sorted({(r["machine"], r["versions"]) for r in results})
    dates = sorted(r["date"] for r in results)
    text = [INTRODUCTION.format(set_us=wiretime.SET_US, hop_us=wiretime.HOP_US, shifts=SHIFTS),
            f"\nMeasured {dates[0]}" + (f" to {dates[-1]}" if dates[-1] != dates[0] else "")
            + ", on a machine that may have done other things as well:\n\n"
            + "".join(f"- {machine_}; {versions}\n" for machine_, versions in where)]
    for name, kind in FABRICS.items():
        if set(ENGINES) & set(data.get(name, {})):
            text.append(f"\n## {int(name):,} hosts: `generate "
                        f"{' '.join(map(str, kind.generate))}`\n\nSM on {SM_HOST}; lost: "
                        + ", ".join(f"{event} `{target}`"
                                    for event, target in kind.victims.items())
                        + ".\n\n" + events_table(name, data[name]) + failures(data[name])
                        + older(name, data[name]))
    text += [memory_table(data),
             "\n## The core alone\n\nBy `portmajor whatif`, with the whole fabric before the "
             "failure; the CPU time includes planning,\nloads and shifts. `restoring`: of "
             "the LFT Sets, those until all paths between hosts are restored;\n`least`: the fewest "
             "blocks that could hold the entries that change:\n\n", core_table(data),
             memset_table(data), growth_table(data), throughput.document(repaired, table),
             not_run(data)]
    return "".join(text)


def write(folder, data):
    (folder / "benchmarks.json").write_text(json.dumps(pack(data), indent=1) + "\n",
                                            encoding="ascii")
    (folder / "benchmarks.md").write_text(document(data), encoding="ascii")


# -------------------------------------------------------------------------- main

def names_of(known):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name}: not one of {', '.join(known)}")
        return names
    return parse


def parse_args(argv):
    parser = measuring.make_parser(__doc__, "scripts/benchmark")
    parser.add_argument("--fabrics", type=names_of(FABRICS), default=["648", "1024"],
                        help=f"with commas between, of {', '.join(FABRICS)} hosts "
                             "(default: 648,1024)")
    parser.add_argument("--engines", type=names_of((CORE, *ENGINES)),
                        default=[CORE, *ENGINES],
                        help=f"of {', '.join((CORE, *ENGINES))} (default: all)")
    parser.add_argument("--compare", action="store_true", help="see above")
    parser.add_argument("--throughput", nargs="?", const="", metavar="TEXT",
                        help="instead: what all hosts exchange after each kind of failure, in "
                             "its own fabrics (with TEXT in their titles), with "
                             f"{', '.join(throughput.ENGINES)}")
    parser.add_argument("--tries", type=int, default=TRIES,
                        help="of an event, until OpenSM discovers once; with --compare, of what "
                             "is worse, until it is not (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=LIMIT_S,
                        help="seconds for a first load or an event with one of OpenSM's "
                             "engines (default: %(default)s)")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER,
                        help="where benchmarks.json and benchmarks.md are (default: docs)")
    options = parser.parse_args(argv)
    if options.tries < 1:
        parser.error("argument --tries: 1 or more")
    if options.compare and OURS in options.engines and REFERENCE not in options.engines:
        options.engines.append(REFERENCE)  # the reference of our figures
    return options


def compare(options, data, tell):
    """Exit status. Worse figures are measured again: they count if they are worse each time."""
    fabrics, left = options.fabrics, None
    for _ in range(options.tries):
        new = {}
        run(options, tell, lambda fabric, engine, result: new.setdefault(fabric, {}).update(
            {engine: result}))
        worse_now = {}
        for name, results in new.items():
            bad, notes = worse(name, data.get(name, {}), results)
            worse_now.update({text.rpartition(" was ")[0]: (name, text) for text in bad})
            if left is None:
                print("".join(f"differs: {text}\n" for text in notes), end="")
        left = {what: found for what, found in worse_now.items() if left is None or what in left}
        options.fabrics = [f for f in fabrics if any(f == name for name, _ in left.values())]
        if not left:
            print("nothing is worse")
            return 0
    print("".join(f"worse: {text}\n" for _, text in left.values()), end="")
    return 1


def run_throughput(options, data, tell):
    names = [name for name in throughput.FABRICS if options.throughput in name]
    engines = [engine for engine in throughput.ENGINES if engine in options.engines]
    with pmlab.Folder() as folder:
        for name, engine, found in throughput.run(names, engines, options.limit, folder, tell):
            data.setdefault(THROUGHPUT, {}).setdefault(name, {})[engine] = found
            write(options.folder, data)


def main(argv=None):
    options, tell = parse_args(argv), measuring.Progress()
    data = read(options.folder / "benchmarks.json")

    def note(fabric, engine, result):
        data.setdefault(fabric, {})[engine] = result
        write(options.folder, data)

    try:
        if options.throughput is not None:
            run_throughput(options, data, tell)
            return 0
        if options.compare:
            return compare(options, data, tell)
        run(options, tell, note)
    except simlab.SimError as error:
        sys.exit(f"benchmark: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
