# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""simlab for this project: OpenSM with the portmajor plugin, and our own judges.

    with Lab(netlist) as lab:
        lab.bring_up()
        event = lab.lose("s0-*")
        print(event.wire, event.sent, lab.whatif("s0-*").blocks, lab.walk())

Binaries come from $PORTMAJOR_BUILD (default: build/release).
"""

import contextlib
import dataclasses
import datetime
import functools
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PORTMAJOR_BUILD", ROOT / "build" / "release")).resolve()
os.environ.setdefault("MADCOUNT_LIB", str(BUILD / "libmadcount.so"))

import simlab  # noqa: E402  (it reads MADCOUNT_LIB)
from simlab import Folder  # noqa: E402

CLI = BUILD / "portmajor"
LAB = BUILD / "portmajor-lab"
VLAN = BUILD / "portmajor-vlan"
TOPOLOGIES = ROOT / "sim-topologies"

# The number of tries for an event that was seen in parts (see Lab.whole).
ATTEMPTS = 5

QUIET_MS = 4  # of plugins/opensm/engine/repair.c: without a trap, a burst is over

# For one event at 11,664 hosts on a busy machine.
TIMEOUT_S = 600


# ---------------------------------------------------------------------- the files

def kept(cache, name):
    """The path of the plugin's file of that name in a cache folder of one fabric."""
    folders = [path for path in pathlib.Path(cache).glob("portmajor.*") if path.is_dir()]
    if len(folders) > 1:
        raise simlab.SimError(f"{cache} is of several fabrics: {folders}")
    return (folders[0] if folders else pathlib.Path(cache) / f"portmajor.{0:016x}") / name


# ------------------------------------------------------------------- the commands

def run_program(program, *args, stdin=subprocess.DEVNULL):
    """A CompletedProcess with text."""
    return subprocess.run([str(program), *map(str, args)], capture_output=True, text=True,
                          stdin=stdin, check=False, timeout=TIMEOUT_S, errors="replace")


run_cli = functools.partial(run_program, CLI)
run_lab = functools.partial(run_program, LAB)
run_vlan = functools.partial(run_program, VLAN)


def told(done):
    """The standard error of a command, without text that matches the patterns."""
    return "".join(line for line in done.stderr.splitlines(True)
                   if not re.match(r'portmajor(-\w+)?: --\w+: ".*" matches ', line))


def generate(path, *args):
    """Writes a generated netlist; returns its path."""
    with open(path, "wb") as out:
        subprocess.run([str(CLI), "generate", *map(str, args)], stdout=out, check=True)
    return pathlib.Path(path)


# Without these links, `two-level 4 3 2 1` is a chain of leaf0, spine0, leaf1, spine1, leaf2,
# spine2, leaf3: two pairs of leaves meet at no spine, nor over the one leaf where paths turn up
# again.
CHAIN = "leaf0:4", "leaf0:5", "leaf1:5", "leaf2:3", "leaf3:3", "leaf3:4"


def find_end(text, end):
    """The other end (node and port) of a cable (node:port) in a netlist's text."""
    node, port = end.split(":")
    return re.search(rf'(?ms)^\w+\s+\d+ "{node}".*?^\[{port}\]\s+"([^"]+)"\[(\d+)\]', text).groups()


def lead_to(text, end, peer):
    """The text with another node and port at the other end of that cable."""
    node, port = end.split(":")
    return re.sub(rf'(?ms)(^\w+\s+\d+ "{node}".*?^\[{port}\]\s+)"[^"]+"\[\d+\]',
                  lambda match: f'{match[1]}"{peer[0]}"[{peer[1]}]', text, count=1)


def swap_cables(netlist, one, other, path):
    """Writes a netlist in which two cables, each named by an end (node:port), have swapped their
    other ends."""
    text = pathlib.Path(netlist).read_text(encoding="utf-8")
    far = find_end(text, one), find_end(text, other)
    for end, peer in ((one, far[1]), (other, far[0])):
        text = lead_to(text, end, peer)
        text = lead_to(text, ":".join(peer), end.split(":"))
    pathlib.Path(path).write_text(text, encoding="utf-8")
    return pathlib.Path(path)


def without_cables(netlist, cables, path):
    """Writes a netlist without the lines of some cables (node:port), at both ends."""
    whole = simlab.Netlist(netlist)
    gone = set()
    for cable in cables:
        name, _, port = cable.partition(":")
        gone |= whole.link_at(name, int(port))
    lines, name = [], None
    for line in whole.path.read_text(encoding="ascii").splitlines(keepends=True):
        node = re.match(r'\w+\s+\d+\s+"([^"]+)"', line)
        port = re.match(r"\[(\d+)\]", line)
        name = node[1] if node else name
        if not (port and (name, int(port[1])) in gone):
            lines.append(line)
    path = pathlib.Path(path)
    path.write_text("".join(lines), encoding="ascii")
    return path


@dataclasses.dataclass
class Prediction:
    """The `total` row of `portmajor whatif`, and its full load."""
    switches: int
    blocks: int
    least: int
    entries: int
    full_load: int
    restoring: int  # of these blocks, until all paths between hosts are restored


def whatif(netlist, *losses, order="grouped", manager=None, lmc=0):
    """The command's prediction of the cost of a failure with the subnet manager on that node."""
    where = ("-s", manager) if manager else ()
    result = run_cli("whatif", "-o", order, "-m", lmc, *where, netlist, "--fail", *losses)
    total = re.search(r"^total +(\d+) +(\d+) +(\d+) +(\d+)$", result.stdout, re.M)
    load = re.search(r"^full load (\d+) blocks?", result.stdout, re.M)
    restoring = re.search(r"^all paths between hosts are restored after (\d+) block", result.stdout,
                          re.M)
    if result.returncode or not total or not load or not restoring:
        raise simlab.SimError(f"whatif {losses}: {result.returncode} {result.stderr}")
    return Prediction(*map(int, total.groups()), int(load.group(1)), int(restoring.group(1)))


# ---------------------------------------------------------------- the plugin's log

@dataclasses.dataclass
class Run:
    """One `portmajor run` line of the log."""
    number: int
    change: str
    sent: int
    acked: int
    least: int
    full_load: int
    switches: int
    whole: int
    entries: int
    assigned: int
    lids_changed: int
    out_of_plan: int
    recomputed: int  # tables under OpenSM's lock
    computed_ms: float  # all in all
    locked_ms: float  # of these, with OpenSM's lock held

    _LINE = re.compile(r"portmajor run (\d+): (.*); (LFT blocks sent \d+.*)$", re.M)
    _FIELDS = {"sent": "LFT blocks sent", "acked": "acked", "least": "least",
               "full_load": "full load", "switches": "switches", "whole": "whole tables",
               "entries": "entries", "assigned": "LIDs assigned", "lids_changed": "changed",
               "out_of_plan": "out of plan", "recomputed": "recomputed"}
    _TIMES = re.compile(r"; computed in ([\d.]+) ms, ([\d.]+) of these under the lock")

    @classmethod
    def find(cls, text):
        """All runs in a piece of the log."""
        return [cls(int(line[1]), line[2],
                    **{field: int(re.search(rf"(?:^|[,;] ){words} (\d+)", line[3])[1])
                       for field, words in cls._FIELDS.items()},
                    **dict(zip(("computed_ms", "locked_ms"),
                               map(float, cls._TIMES.search(line[3]).groups()))))
                for line in cls._LINE.finditer(text)]


@dataclasses.dataclass
class Repair:
    """One `portmajor repair` line of the log."""
    number: int
    change: str
    traps: int
    queries: int
    unanswered: int
    links_down: int
    rounds: int
    sent: int
    acked: int
    restoring: int  # of `sent`, until all paths between hosts are restored
    least: int
    gave_up: bool
    milliseconds: float  # from the first trap to the last answer

    _LINE = re.compile(r"portmajor repair (\d+): (.*); traps (\d+), queries (\d+), "
                       r"unanswered (\d+), links down (\d+), rounds (\d+); LFT blocks "
                       r"sent (\d+), acked (\d+), restoring (\d+), least (\d+); "
                       r".*?([\d.]+) ms from the first "
                       r"trap to the last answer(; left to the sweep.*)?$", re.M)

    @classmethod
    def find(cls, text):
        """All repairs in a piece of the log."""
        return [cls(int(m[1]), m[2], *map(int, m.group(3, 4, 5, 6, 7, 8, 9, 10, 11)),
                    bool(m[13]), float(m[12]))
                for m in cls._LINE.finditer(text)]


@dataclasses.dataclass
class Return:
    """One `portmajor return` line of the log."""
    hosts: int
    cables: int
    queries: int
    sets: int  # of all kinds
    unanswered: int
    sent: int  # LFT blocks of whole tables
    acked: int

    _LINE = re.compile(r"portmajor return \d+: (\d+) hosts?, (\d+) cables? in service: .*; "
                       r"queries (\d+), Sets (\d+), unanswered (\d+); LFT blocks sent (\d+), "
                       r"acked (\d+);")
    _FOLLOW = re.compile(r"portmajor: tables of switches that came back follow: "
                         r"LFT blocks sent (\d+), acked (\d+)")

    @classmethod
    def find(cls, text):
        """All returns in a piece of the log."""
        return ([cls(*map(int, m.groups())) for m in cls._LINE.finditer(text)]
                + [cls(0, 0, 0, sent, 0, sent, acked) for sent, acked in
                   (map(int, m.groups()) for m in cls._FOLLOW.finditer(text))])


def logged_at(log, pattern):
    """The times (s, time of day) of the lines of OpenSM's log with messages like the pattern."""
    year = datetime.datetime.now().year
    return [datetime.datetime.strptime(f"{year} {m[1]}", "%Y %b %d %H:%M:%S").timestamp()
            + int(m[2]) / 1e6
            for m in re.finditer(rf"^(\w+ +\d+ [\d:]+) (\d+) \[\w+\] \w+ -> {pattern}", log, re.M)]


def trap_gap_ms(log, done_at):
    """The longest time without a trap until ibsim was done (s, time of day)."""
    times = logged_at(log, "log_trap_info: .* num:128 ")
    times = sorted(times + [done_at] * bool(times))
    return max(((after - before) * 1e3 for before, after in zip(times, times[1:])), default=0.0)


@dataclasses.dataclass
class Event:
    """The cost of one event: `wire` as counted by madcount, the rest as logged.

    Blocks that were sent once more, as they were not acknowledged, are in `sent` and in `again`,
    not in `wire`.
    """
    name: str
    wire: int
    runs: list
    measured: dict
    repairs: list = dataclasses.field(default_factory=list)
    returns: list = dataclasses.field(default_factory=list)
    trap_gap_ms: float = 0.0  # see trap_gap_ms
    stale: int = 0  # of the blocks, those for kept entries that the discovery found unsafe

    _STALE = re.compile(r"portmajor: stale entries removed: \d+ in (\d+) LFT block")

    @classmethod
    def of(cls, name, measured, log):
        """Makes it of the counts and that piece of the log."""
        return cls(name, measured["lft_sets"] - measured["lft_again"], Run.find(log), measured,
                   Repair.find(log), Return.find(log),
                   trap_gap_ms(log, measured["done_at"]),
                   sum(map(int, cls._STALE.findall(log))))

    def _sum(self, field):
        """The sum over all runs, and over early repairs and returns that have it, too."""
        return sum(getattr(line, field, 0)
                   for line in [*self.runs, *self.repairs, *self.returns])

    again = property(lambda self: self.measured["lft_again"])

    @property
    def unheard(self):
        """The number of blocks that may lack their acknowledgement because of the machine: the
        answer was late, or links went down so slowly that the block was sent into them."""
        slow = self.trap_gap_ms > QUIET_MS
        return self.measured["lft_late"] + (self.measured["lft_lost"] if slow else 0)

    sent = property(lambda self: self._sum("sent"))
    acked = property(lambda self: self._sum("acked"))
    least = property(lambda self: self._sum("least"))
    restoring = property(lambda self: self._sum("restoring"))
    served = property(lambda self: (sum(line.hosts for line in self.returns),
                                    sum(line.cables for line in self.returns)))
    # Tables of switches that OpenSM has dropped, sent before OpenSM sends them.
    rewritten = property(lambda self: sum(line.sent for line in self.returns))
    whole = property(lambda self: self._sum("whole"))
    lids_changed = property(lambda self: self._sum("lids_changed"))

    @property
    def miscounted(self):
        """The differences between the wire, the plugin's own count and the acknowledgements,
        without those of a busy machine; empty if there are none."""
        missing = self.sent - self.acked
        return ([f"{self.name}: wire {self.wire}, again {self.again}, sent {self.sent}"]
                * (self.wire + self.again != self.sent)
                + [f"{self.name}: sent {self.sent}, acked {self.acked}, unheard {self.unheard}"]
                * (not 0 <= missing <= self.unheard))

    @property
    def parts(self):
        """Above 1 if a burst was seen, or repaired, in parts."""
        return max(sum(run.change != "no change" for run in self.runs),
                   sum(line.sent > 0 for line in self.repairs)
                   + sum(run.sent > self.stale and not run.whole for run in self.runs),
                   *(repair.rounds for repair in self.repairs))


# ----------------------------------------------------------------------- the lab

class Fabric(simlab.Fabric):
    """A simlab.Fabric with bursts of traps that cannot hang ibsim and OpenSM.

    While ibsim carries out a console command it sends traps and reads nothing; between two commands
    it reads one datagram of each client. When a chassis comes back, OpenSM's answers (trap
    represses) fill its socket to ibsim, it blocks in write() with the lock that its reading needs,
    and ibsim waits for ever for room to send the next trap. So each ReLink is followed by comments,
    which cost nothing and let ibsim read as many datagrams as a switch has sent traps. (An Unlink
    is not: few of its traps find a path, and a failure must be quick.)
    """

    READS = 80

    def _send(self, commands):
        super()._send([line for command in commands for line in [command]
                       + ["#"] * (self.READS if command.startswith("ReLink") else 0)])


def plugin_options(config=None, **conf):
    """opensm.conf lines that load the plugin, with a configuration file or without."""
    options = {} if config is None else {"event_plugin_options": str(config)}
    return {"event_plugin_name": "portmajor", **options, **conf}


def preload():
    """The sanitizer's runtime, for a plugin built with one ($PORTMAJOR_PRELOAD)."""
    return os.environ.get("PORTMAJOR_PRELOAD", "").split()


# umad2sim reads beyond its buffers, which is not under test.
ASAN_OPTIONS = ("detect_leaks=0:replace_intrin=0:suppressions="
                f"{ROOT / 'tests' / 'integration' / 'asan.supp'}")


def sanitizer_env():
    """The sanitizer's options."""
    return {"ASAN_OPTIONS": ASAN_OPTIONS} if preload() else {}


def open_sm(fabric, engine="portmajor", config=None, conf=None, env=None, **kwargs):
    """A simlab.OpenSM with the plugin loaded."""
    libraries = [*preload(), *kwargs.pop("preload", ())]
    return simlab.OpenSM(fabric, engine=engine, conf=plugin_options(config, **(conf or {})),
                         plugin_dir=BUILD, preload=libraries,
                         env={**sanitizer_env(), **(env or {})}, **kwargs)


def lose(osm, *targets, timeout=TIMEOUT_S):
    """Takes parts out of OpenSM's fabric; see simlab.measure."""
    return simlab.measure(osm.fabric, osm, lambda: sum(map(osm.fabric.lose, targets)), timeout)


def back(osm, *targets, timeout=TIMEOUT_S):
    """Puts them back."""
    return simlab.measure(osm.fabric, osm, lambda: sum(map(osm.fabric.back, targets)), timeout)


class Started(contextlib.ExitStack):
    """Undoes what _start() of a subclass has entered, also if it fails half-way."""

    def __enter__(self):
        super().__enter__()
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self


class Lab(Started):
    """A fabric with an OpenSM that routes with portmajor.

    order    lid_order, given by a configuration file unless it is the default
    engine   routing_engine
    fabric   a Fabric of that netlist that runs already (default: a new one)
    kwargs   of simlab.OpenSM
    """

    def __init__(self, netlist, order="grouped", engine="portmajor", fabric=None, **kwargs):
        super().__init__()
        self.netlist = (netlist if isinstance(netlist, simlab.Netlist)
                        else simlab.Netlist(netlist))
        self.order, self.engine, self._kwargs = order, engine, kwargs
        self.fabric, self.osm, self.path = fabric, None, None
        self.broken = None  # the reason why nothing can be expected of this lab any more

    def _start(self):
        self.path = self.enter_context(Folder())
        if not self.fabric:
            self.fabric = self.enter_context(Fabric(self.netlist))
        self.osm = self.enter_context(self._open_sm())

    def _open_sm(self):
        # Tests take out the same parts again and again.
        config = self.path / "portmajor.conf"
        config.write_text(f"# made by a test\nlid_order {self.order}\nflap_limit 0\n")
        return open_sm(self.fabric, self.engine, config, **self._kwargs)

    # ---- events

    def bring_up(self):
        """Waits for the end of the first sweep; returns its cost."""
        self.osm.settle(timeout=TIMEOUT_S)
        delta = self.osm.delta(self.osm.start_mark)
        return Event.of("bring-up", dict(delta), self.osm.log())

    def measure(self, name, action, sweep=True):
        """Runs action() and waits until OpenSM has dealt with it; see simlab.measure."""
        found = {}

        def noted():
            found["log"] = self.osm.log_offset()
            return action()

        try:
            measured = simlab.measure(self.fabric, self.osm, noted, timeout=TIMEOUT_S,
                                      sweep=sweep)
        except simlab.SimError as error:
            self.broken = f"{name}: {error}"
            raise
        return Event.of(name, measured, self.osm.log(found["log"]))

    def event(self, verb, target):
        """One lose or back of simlab's Fabric, as it comes."""
        return self.measure(f"{verb} {target}", lambda: getattr(self.fabric, verb)(target))

    def whole(self, verb, target):
        """An event that OpenSM saw in one piece, so that its cost can be predicted.

        The links of a chassis go one after another, and a sweep that is quick to start may find
        some of them still up and send blocks for that fabric, too. That is no fault; the event is
        then undone and tried again.
        """
        for attempt in range(ATTEMPTS):
            event = self.event(verb, target)
            if event.parts <= 1:
                return event
            if attempt + 1 < ATTEMPTS:
                self.event("back" if verb == "lose" else "lose", target)
        raise simlab.SimError(f"{verb} {target}: seen in parts {ATTEMPTS} times: "
                              + " / ".join(run.change for run in event.runs))

    def lose(self, target):
        return self.whole("lose", target)

    def back(self, target):
        return self.whole("back", target)

    # ---- judges

    def whatif(self, *losses, lmc=0):
        """The command's prediction for this fabric, whole, and this subnet manager."""
        return whatif(self.netlist.path, *losses, order=self.order, manager=self.osm.host,
                      lmc=lmc)

    def dump(self, name="fabric.dump"):
        """The simulated fabric with its tables, read back into a file."""
        path = self.path / name
        self.fabric.dump(path, timeout=TIMEOUT_S)
        return path

    def walk(self, *options, dump=None):
        """Judges the tables read back from the switches; see walk() below.

        dump   what dump() wrote, if that is how the fabric is still
        """
        return walk(self.netlist.path, dump or self.dump(), "-o", self.order, *options)


def walk(netlist, dump, *options):
    """The result of `portmajor check` for an ibsim Dump of a fabric whose whole netlist is given.

    A dict: the members of its JSON and of "paths"; "stderr", "status"; and "links_not_active",
    counted here. By default the subnet manager is the one in the Dump.
    """
    done = run_cli("check", "--json", "--whole", netlist, *options, dump)
    result = json.loads(done.stdout) if done.stdout else {"findings": [], "paths": {}}
    with open(dump, "rb") as lines:
        idle = sum(b']\t"' in line and b"[0]\t" not in line and b"Active/" not in line
                   for line in lines)
    return {**result, **result["paths"], "status": done.returncode,
            "stderr": done.stderr.strip(), "links_not_active": idle}


def load_ratio(walked):
    """The load of the fullest cable divided by the mean of its level and direction, all hosts to
    all others.

    None without cables between switches, or if nothing flows over any.
    """
    return max((load["maximum"] * load["links"] / load["flows"]
                for load in walked["loads"] if load["flows"]), default=None)


def walk_faults(walked, plan=True):
    """The faults in a walk's result; empty if there are none.

    Pairs that cables join without an up-then-down path are no fault: tables do not serve them.
    plan    LIDs and tables must be those of the plan made for the whole fabric
    """
    faults = [f["text"] for f in walked["findings"] if f["kind"] != "unreachable"]
    if walked["status"] not in (0, 1):
        faults.append(f"exit status {walked['status']} {walked['stderr']}")
    if walked["links_not_active"]:
        faults.append(f"{walked['links_not_active']} ends of cables are not active")
    if plan and not walked.get("plan"):
        faults.append("no plan")
    elif plan:
        faults += [f"{key}={walked['plan'][key]}" for key in ("lids_out_of_plan", "entries")
                   if walked["plan"][key]]
    return faults


# ------------------------------------------------------------------------ dumps

class Dump:
    """LIDs and tables in the output of ibsim's Dump.

    lids    {node name: base LID} of all nodes that have one
    guids   {node name: GUID}
    ports   {GUID of a port, of a switch its own: (base LID, LMC)} of those that have one
    tables  {switch name: {first LID of a line: the line's text}}
    """

    _NODE = re.compile(r'^(\S+) \d+ "([^"]+)"\s.*nodeguid (\w+)')
    _PORT = re.compile(r"^(\w+)\s+\[.* lid (\d+) lmc (\d+)")
    _TABLE = re.compile(r"^#\tForwarding table (\d+)-")
    _ENTRY = re.compile(r"\[(\d+)\]([0-9A-Fa-f]+)")

    def __init__(self, path):
        self.lids, self.tables, self.hosts, self.guids, self.ports = {}, {}, set(), {}, {}
        name, is_switch = None, False
        with open(path, encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith("#"):
                    table = self._TABLE.match(line)
                    if table:
                        self.tables[name][int(table[1])] = line
                elif "nodeguid" in line:
                    kind, name, guid = self._NODE.match(line).groups()
                    self.guids[name], is_switch = int(guid, 16), kind == "Switch"
                    if is_switch:
                        self.tables[name] = {}
                    else:
                        self.hosts.add(name)
                elif " lid " in line:
                    port = self._PORT.match(line)
                    if port and int(port[2]):
                        self.lids.setdefault(name, int(port[2]))
                        self.ports[int(port[1], 16)] = (int(port[2]), int(port[3]))

    def table(self, switch):
        """{LID: port} of the whole table."""
        return {int(lid): int(port, 16) for lid, port in
                self._ENTRY.findall("".join(self.tables.get(switch, {}).values()))}

    def entries(self, switch, first):
        """{LID: port} of one line of a table."""
        line = self.tables[switch].get(first, "")
        return {int(lid): int(port, 16) for lid, port in
                self._ENTRY.findall(line.partition(":")[2])}


class Links:
    """Which switch a port of a switch leads to, in what ibsim's Dump printed.

    far   {switch name: {port: switch name}} over links that are up
    top   {switch name: LinearFDBTop}
    """

    _PORT = re.compile(r'^\w+\t\[(\d+)\]\t"([^"]+)"\[(\d+)\]')
    _TOP = re.compile(r"^#\tlinearcap \d+ FDBtop (\d+)")

    def __init__(self, path):
        self.far, self.top, name = {}, {}, None
        with open(path, encoding="ascii", errors="replace") as lines:
            for line in lines:
                node = Dump._NODE.match(line)
                port, top = self._PORT.match(line), self._TOP.match(line)
                if node:
                    name = node[2] if node[1] == "Switch" else None
                    if name:
                        self.far[name] = {}
                elif name and top:
                    self.top[name] = int(top[1])
                elif name and port and int(port[1]):
                    self.far[name][int(port[1])] = port[2]
        for ports in self.far.values():
            for port in [port for port, peer in ports.items() if peer not in self.far]:
                del ports[port]


def _loop_of(lid, far, tables):
    """The switches that a LID's packets go round, or []."""
    done = set()
    for start in tables:
        path, at = [], start
        while at is not None and at not in done:
            done.add(at)
            path.append(at)
            at = far[at].get(tables[at].get(lid))
        if at in path:
            return path[path.index(at):]
    return []


def loops(path):
    """{LID: switches that its packets go round}, of all LIDs that a Dump has entries for."""
    links, dump = Links(path), Dump(path)
    tables = {name: {lid: port for lid, port in dump.table(name).items()
                     if lid <= links.top[name] and port}
              for name in dump.tables}
    found = {lid: _loop_of(lid, links.far, tables)
             for lid in sorted(set().union(*tables.values()))}
    return {lid: switches for lid, switches in found.items() if switches}


def changed_entries(before, after):
    """(switch, LID) for each entry that differs between two Dumps."""
    for switch, lines in after.tables.items():
        old_lines = before.tables[switch]
        for first in lines.keys() | old_lines.keys():
            if lines.get(first) == old_lines.get(first):
                continue
            old, new = before.entries(switch, first), after.entries(switch, first)
            for lid in old.keys() | new.keys():
                if old.get(lid, 255) != new.get(lid, 255):
                    yield switch, lid
