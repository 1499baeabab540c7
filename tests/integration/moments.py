# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Failures and returns at an exact moment of a sweep, another event soon after, a faulty wire.

    player = Player("xgft", 3, "4,4,4", "1,4,2")
    with player:
        outcome = player.play(draw_moment(random.Random("1"), player))
        print(outcome.faults)

A moment is drawn: the cause of the sweep, the phase and SMP at which a part fails or returns, and,
after so many SMPs, LFT Sets or PortInfo Sets of any sender, the second event: another part fails,
the first returns or fails again, or SIGHUP comes. A returning part was absent for a sweep or more,
or just flaps, and a node may have lost all that was set. The wire (wire.py) stops before that SMP
is sent, so that nothing else happens in between.
"""

import dataclasses
import re
import time

import lft_trace
import pmlab
import simlab
import smps
import wire

PHASES = ("idle", "discovery", "management", "routing", "links")
BEGINNINGS = ("SIGHUP", "host fails", "host returns", "chassis returns")
LOSS = "its loss"  # of the part that flaps then
FAILS, FLAPS, RETURNS = "fails", "flaps", "returns"  # the first event; see Moment.how
HUP = "SIGHUP"
FLAP_S = 0.2
TIMEOUT_S = 300  # Gets to a dead chassis hold all slots for a minute
QUIET_S = 0.2
NO_SWEEP_S = 1.5  # then no sweep has begun: its trap was lost
COUNTED = {"LFT Sets": {"method": "set", "attr": simlab.ATTR_LFT},
           "PortInfo Sets": {"method": "set", "attr": lft_trace.ATTR_PORT_INFO}}
MANAGEMENT_SETS = 8  # PortInfo Sets that may belong to it
# Milliseconds of one transmission, of four; a Get to a dead node waits as long.
TRANSACTION_MS = 50
TRANSMISSIONS = 4
PACE_US = 265
# Early repair of a small fabric takes at most 80 SMPs; as many of a sweep pass in the 4 ms after a
# trap and between its own. The sweeps have 1,700.
REPAIR_SMPS = 300
REQUEST_DELAY_MS = 40  # less than a transmission: so a Set that is sent again never overtakes it


@dataclasses.dataclass
class Moment:
    """One draw."""
    beginning: str
    subject: str  # returns or fails at the beginning
    phase: str
    number: int  # of the SMP in the phase before which `first` fails
    first: str
    second: str  # fails next; "" nothing, HUP, or `first` again: it returns, or fails
    after: int  # SMPs until then,
    counted: str  # or only those of COUNTED
    faults: list  # (Wire.method, arguments)
    how: str = FAILS  # the event of `first`; or it flaps: it fails at the beginning, and
    # is back then; or it returns after a sweep or more
    reset: bool = False  # returning nodes have lost all that was set
    pause_ms: int = 0  # between the parts that return, of several, joined by +

    @property
    def tells_all(self):
        """All traps come, and in time: each flap is known."""
        return all(way != "trap" or action == "twice" for action, way, _ in self.faults)

    @property
    def is_doubtful(self):
        """Gets go unanswered, so that live nodes may seem dead."""
        return any(action == "drop" and way != "trap" and when.get("method") != "set"
                   for action, way, when in self.faults)

    def __str__(self):
        begun = f"{self.beginning} {self.subject}".strip()
        again = "; back" if self.how == FAILS else "; fails again"
        what = {"": "", self.first: again}.get(self.second, f"; {self.second}")
        later = f"{what} {self.after} {self.counted} later" if what else ""
        return (f"{'idle' if self.phase == 'idle' else begun}, {self.phase} {self.number}: "
                f"{self.first} {self.how}{' reset' * self.reset}{later}; "
                f"wire {self.faults or 'without faults'}")


@dataclasses.dataclass
class Outcome:
    """The result of a draw; no faults: all is right."""
    faults: list
    cuts: list
    sets: int
    hit: bool  # the wire stopped where it should: the phase was long enough
    served: int = 0  # links that the plugin brought into service
    nowhere: list = dataclasses.field(default_factory=list)  # see judge_packets


# -------------------------------------------------------------------------- drawing

def draw_fault(draw, switches):
    """A limited fault: (method of Wire, way, further arguments)."""
    node = draw.choice((None, draw.choice(switches)))
    lft = {"node": node, "method": "set", "attr": simlab.ATTR_LFT, "skip": draw.randrange(4)}
    port = {"method": "set", "attr": lft_trace.ATTR_PORT_INFO, "skip": draw.randrange(6)}
    asked = {"method": "get", "attr": lft_trace.ATTR_PORT_INFO, "skip": draw.randrange(50)}
    times = draw.choice((1, 2, TRANSMISSIONS))
    return draw.choice((
        ("drop", "answer", {**lft, "times": times}),
        ("drop", "request", {**lft, "times": times}),
        ("delay", "answer", {**lft, "times": times,
                             "delay_ms": draw.choice((5, 30, 60, 300))}),
        ("delay", "request", {**lft, "times": times,
                              "delay_ms": draw.randrange(1, REQUEST_DELAY_MS)}),
        ("drop", "answer", {**port, "times": times}),
        ("drop", "request", {**port, "times": times}),
        ("delay", "answer", {**port, "times": times,
                             "delay_ms": draw.choice((5, 30, 60, 300))}),
        ("drop", "answer", {**asked, "times": times}),
        ("drop", "answer", {**asked, "attr": lft_trace.ATTR_NODE_INFO, "times": times}),
        ("delay", "answer", {**asked, "times": 10, "delay_ms": draw.randrange(1, 60)}),
        ("drop", "answer", {"chance": 0.02, "times": 10}),
        ("drop", "trap", {"skip": draw.randrange(2), "times": 1}),
        ("delay", "trap", {"times": 2, "delay_ms": draw.randrange(1, 100)}),
        ("twice", "trap", {"times": 4}),
    ))


class Targets:
    """Parts that may fail: none that cuts the subnet manager off."""

    def __init__(self, netlist, topology, home):
        self._netlist, self._home = netlist, home
        self.leaf, _ = topology.host_switch[home]
        self.hosts = sorted(h for h in topology.hosts if topology.host_switch[h][0] != self.leaf)
        self.switches = sorted(s for s in netlist.switches if s != self.leaf)
        self.chassis = ["+".join(group) for group in topology.chassis()]

    def draw(self, draw):
        kind = draw.choice(("cable", "cable", "cable", "switch", "switch", "chassis", "host"))
        if kind == "cable":
            name = draw.choice(self.switches)
            ports = [port for port, (peer, _) in sorted(self._netlist.nodes[name].ports.items())
                     if self._netlist.nodes[peer].is_switch]
            return f"{name}:{draw.choice(ports)}"
        return draw.choice({"switch": self.switches, "chassis": self.chassis,
                            "host": self.hosts}[kind])


def draw_beginning(draw, targets, phase, how):
    """A sweep without LFT Sets has hardly a routing phase, one without a return no links phase."""
    beginning = draw.choice(("chassis returns",) if phase in ("routing", "links") else
                            (LOSS, LOSS, HUP, "host fails") if how == FLAPS else BEGINNINGS)
    return beginning, ("" if beginning in (HUP, LOSS) else
                       draw.choice(targets.chassis if beginning == "chassis returns"
                                   else targets.hosts))


def draw_after(draw, lengths):
    """The number of SMPs before the second event."""
    counted = draw.choice(("SMPs", "SMPs", *COUNTED))
    return (draw.randrange(12) if counted in COUNTED
            else int(lengths["discovery"] ** draw.random())), counted


def draw_moment(draw, player):
    """A Moment for this fabric."""
    targets, lengths = player.targets, player.lengths
    phase = draw.choice(PHASES)
    how = draw.choice((FAILS, FAILS, FLAPS, FLAPS, RETURNS))
    beginning, subject = draw_beginning(draw, targets, phase, how)
    first = targets.draw(draw)
    second = draw.choice(("", first, targets.draw(draw), targets.draw(draw), HUP))
    after, counted = draw_after(draw, lengths)
    faults = [draw_fault(draw, targets.switches)
              for _ in range(draw.choice((0, 0, 0, 1, 1, 2)))]
    return Moment(beginning, subject, phase, draw.randrange(lengths[phase]), first,
                  second, after, counted, faults, how, draw.choice((False, False, True)))


# -------------------------------------------------------------------------- playing

class Player(pmlab.Started):
    """A fabric with an OpenSM for draws one after another; healthy before and after each.

    A draw that ends otherwise leaves it `broken`; enter a new one then.

    pace_us      for each SMP
    repair_smps  of anybody's, in which a repair is done
    """

    def __init__(self, *shape, pace_us=PACE_US, repair_smps=REPAIR_SMPS):
        super().__init__()
        self.shape, self._pace_us, self.broken = shape, pace_us, None
        self._repair_smps = repair_smps
        self._down, self._changes, self._discoveries = {}, [], 0  # {target: its failed parts}
        self._reset, self._pause_ms = False, 0

    def _start(self):
        folder = self.enter_context(pmlab.Folder())
        netlist = simlab.Netlist(pmlab.generate(folder / "fabric.net", *self.shape))
        self.wire = wire.Wire(seed=1, trace=True)
        self.lab = self.enter_context(pmlab.Lab(
            netlist, wire=self.wire, env={"MADCOUNT_DELAY_US": f"{self._pace_us}"},
            conf={"transaction_timeout": TRANSACTION_MS}))
        self.osm, self.fabric = self.lab.osm, self.lab.fabric
        self.lab.bring_up()
        self.topology = lft_trace.Topology(netlist)
        self.targets = Targets(netlist, self.topology, self.osm.host)
        self.healthy = pmlab.Dump(self.lab.dump())
        self.lengths = self._measure_phases()

    def _measure_phases(self):
        """SMPs in each phase when a chassis returns, the plugin's own included."""
        chassis = self.targets.chassis[0]
        self._measure(lambda: self._lose(chassis))
        self.wire.records()
        self._measure(lambda: self._back(chassis))
        asked = [r for r in self.wire.records() if r.event == "asked"]
        begun = max(i for i, r in enumerate(asked)
                    if lft_trace.is_request(r, lft_trace.ATTR_NODE_INFO, wire.GET)
                    and r.hops == 0)
        sets = [r.attr for r in asked if r.method == wire.SET]
        return {"idle": 1, "discovery": sum(r.method == wire.GET for r in asked[begun:]),
                "management": MANAGEMENT_SETS, "routing": sets.count(simlab.ATTR_LFT),
                "links": sets.count(lft_trace.ATTR_PORT_INFO) - MANAGEMENT_SETS}

    def _measure(self, action):
        return simlab.measure(self.fabric, self.osm, action, timeout=TIMEOUT_S)

    # ---- what fails and returns

    def _change(self, verb, target):
        """Carries it out; a chassis's switches go one after another."""
        if verb == "lose":  # a failed part does not fail again
            failed = {name for names in self._down.values() for name in names}
            names = [n for n in target.split("+") if n not in failed]
            self._down[target] = names
        else:
            names = self._down.pop(target)
        links = 0
        for name in names:
            links += self._change_part(verb, name, target)
            # part of the scenario
            time.sleep(self._pause_ms / 1000 * (verb == "back"))
        self._discoveries = self.osm.counters()["discoveries"]
        return links

    def _change_part(self, verb, name, target):
        """The same for a part; notes the time, too."""
        down, begin = self.fabric.down(), time.monotonic_ns()
        reset = self._reset and verb == "back" and ":" not in name
        if reset:
            self.fabric.clear(name)
        links = getattr(self.fabric, verb)(name)
        self._changes.append(lft_trace.Change(begin, time.monotonic_ns(), down,
                                              self.fabric.down(), verb == "lose", target,
                                              {name} if reset else set()))
        return links

    def _lose(self, target):
        return self._change("lose", target)

    def _back(self, target):
        return self._change("back", target)

    # ---- the wire stops

    def _rule_of(self, moment):
        """Conditions of the SMP before which the first part fails."""
        attr = {"management": lft_trace.ATTR_PORT_INFO, "links": lft_trace.ATTR_PORT_INFO,
                "routing": simlab.ATTR_LFT}.get(moment.phase)
        rule = {"method": "set", "attr": attr} if attr else {}
        skip = moment.number + (MANAGEMENT_SETS if moment.phase == "links" else 0)
        return {**rule, "skip": skip, "times": 1}

    def _stop_at(self, mark, action, **when):
        """Runs action() before that SMP; if there is none, when the wire is quiet."""
        osm, held = self.osm, self.wire.held
        rule = self.wire.hold("request", **when)
        still = {"state": None, "since": 0}

        def reached():
            osm.is_alive()
            state = osm.counters()["smps"], osm.log_offset()
            if state != still["state"] or osm.counters().outstanding:
                still.update(state=state, since=time.monotonic())
            quiet = time.monotonic() - still["since"]
            return (self.wire.held > held or quiet > NO_SWEEP_S
                    or (quiet > QUIET_S and osm._swept(mark) is not None))

        simlab.poll_until(reached, TIMEOUT_S, f"the SMP {when}", every=0.001)
        rule.off()
        action()
        stopped = self.wire.held > held
        self.wire.release()
        return stopped

    # ---- a draw

    def play(self, moment):
        """Plays and judges it; an Outcome."""
        try:
            return self._play(moment)
        except simlab.SimError as error:
            self.broken = str(error)
            return Outcome([f"broken: {error}"], [], 0, True)
        finally:
            self.wire.clear()
            self.wire.release()

    def _play(self, moment):
        self._reset, self._pause_ms = moment.reset, moment.pause_ms
        self._prepare(moment)
        before, down = pmlab.Dump(self.lab.dump()), self.fabric.down()
        self.wire.records()
        self._changes.clear()
        begun, gone = self.osm.log_offset(), list(self._down)
        hit = self._disturb(moment)
        records = self.wire.records(applied=True, states=True)
        quiet = self._sweep_again()
        replay = lft_trace.Replay(self.topology, before, moment.is_doubtful)
        dump = self.lab.dump()
        replay.run(records + quiet, self._changes, down)
        if self._has_forgotten(begun, gone):
            replay.loops.clear()
        if not moment.tells_all:
            replay.inactive.clear()
            replay.lost.clear()
        faults = judge(replay, self.lab, dump, lambda cut: self._allowed_smps(cut, moment))
        served = pmlab.Return.find(self.osm.log(begun))
        self._restore()
        faults += judge_ports(records + quiet + self.wire.records(), quiet)
        faults += self._judge_restored()
        if faults:
            self.broken = faults[0]
        return Outcome(faults, replay.cuts, replay.sets, hit,
                       sum(line.hosts + line.cables for line in served),
                       judge_packets(replay))

    def _sweep_again(self):
        """The Sets of the next sweep."""
        self._measure(self.osm.hup)
        return self.wire.records(applied=True, states=True)

    def _judge_restored(self):
        dump = self.lab.dump()
        now, walked = pmlab.Dump(dump), self.lab.walk(dump=dump)
        return (["all back, and tables differ from those at the start"]
                * (now.lids != self.healthy.lids
                   or any(pmlab.changed_entries(self.healthy, now)))
                + [f"all back, and {walked['links_not_active']} ends of cables are not active"]
                * (walked["links_not_active"] > 0))

    def _has_forgotten(self, begun, gone):
        """Whether OpenSM has dropped present switches, as too many answers were lost. It then
        writes their whole tables, in its own order, in which LIDs may loop."""
        targets = gone + [change.name for change in self._changes]
        failed = {name for target in targets for name in target.split("+")}
        links = set().union(*[self.fabric._links_of_target(name) for name in failed])
        failed |= {name for name in self.targets.switches
                   if self.fabric.netlist.links_of(name) <= links}
        dropped = re.findall(r"drop_mgr_remove_port: Removed port .* of node:(\S+)",
                             self.osm.log(begun))
        return not failed.issuperset(self.topology.level.keys() & set(dropped))

    def _allowed_smps(self, cut, moment):
        """The SMPs until a repair is done, with those that pass while it waits for lost or late
        answers."""
        late = cut.unanswered + TRANSMISSIONS * sum(way != "request"
                                                    for _, way, _ in moment.faults)
        return self._repair_smps + late * TRANSACTION_MS * 1000 // self._pace_us

    def _prepare(self, moment):
        """Takes out the part that is to return."""
        if moment.phase != "idle" and moment.beginning.endswith("returns"):
            self._measure(lambda: self._lose(moment.subject))
        if moment.how == RETURNS and moment.first not in self._down:
            self._measure(lambda: self._lose(moment.first))
        self.osm.wait_traps_aged()

    def _begin(self, moment):
        if moment.how == FLAPS and moment.first not in self._down:
            self._lose(moment.first)
        if moment.beginning == HUP:
            self.osm.hup()
        elif moment.beginning == "host fails" and moment.subject not in self._down:
            self._lose(moment.subject)
        elif moment.beginning.endswith("returns") and moment.subject in self._down:
            self._back(moment.subject)
        if moment.beginning != HUP:  # the sweep would wait
            self.osm.hup()

    def _disturb(self, moment):
        """Carries out all events and waits for their end; returns whether the phase was long
        enough."""
        mark, hit = self.osm.mark(), True
        for action, way, when in moment.faults:
            getattr(self.wire, action)(way, **when)

        if moment.phase != "idle":
            self._begin(moment)
            hit = self._stop_at(mark, lambda: self._first(moment), **self._rule_of(moment))
        elif moment.how == FLAPS:
            self._lose(moment.first)
            time.sleep(FLAP_S)  # part of the scenario
            self._back(moment.first)
        else:
            self._first(moment)
        if moment.second:
            self._stop_at(mark, lambda: self._second(moment), skip=moment.after, times=1,
                          **COUNTED.get(moment.counted, {}))
        self._settle(moment, mark)
        return hit

    def _first(self, moment):
        if moment.how != FAILS and moment.first in self._down:
            self._back(moment.first)
        elif moment.how == FAILS and moment.first not in self._down:
            self._lose(moment.first)

    def _second(self, moment):
        if moment.second == HUP:
            self.osm.hup()
        elif moment.second == moment.first and moment.first in self._down:
            self._back(moment.first)
        elif moment.second not in self._down:
            self._lose(moment.second)

    def _settle(self, moment, mark):
        """Waits until OpenSM is done. A sweep that a failure or the wire has spoilt is begun anew,
        as OpenSM itself would by its timer; so is one that began before the last change that no
        trap could report, as the switch had no active link yet."""
        osm = self.osm
        osm.settle(mark, timeout=TIMEOUT_S, quiet=QUIET_S, sweep=False)
        told = osm.counters()["discoveries"] > self._discoveries
        if told and not moment.faults and osm._swept(mark):
            return
        self.wire.clear()
        osm.wait_traps_aged()
        again = osm.mark()
        osm.hup()
        osm.settle(again, timeout=TIMEOUT_S, quiet=QUIET_S)

    def _restore(self):
        def back():
            return sum(self._back(target) for target in list(reversed(self._down)))

        if self._down:
            self.osm.wait_traps_aged()
            mark = self.osm.mark()
            self.osm.settle(mark, timeout=TIMEOUT_S, quiet=QUIET_S, sweep=back() != 0)


# ------------------------------------------------------------------------- judging

def judge(replay, lab, dump, allowed_smps):
    """The faults at the end, and those on the way.

    allowed_smps   of a Cut, until it is mended
    """
    faults = pmlab.walk_faults(lab.walk("--from-all", dump=dump))
    if replay.wiped():  # their tables are not the plan's
        faults = [fault for fault in faults if not fault.startswith("entries=")]
    faults += [f"LID {lid} loops over {'-'.join(switches)}"
               for lid, switches in pmlab.loops(dump).items()]
    faults += [f"Set {number} made LID {lid} loop at {name}"
               for number, name, lid in replay.loops]
    faults += [f"Set {number} undid the entry of LID {lid} at {name}"
               for number, name, lid in replay.undone]
    faults += [f"{cut.name}: {cut.pairs} pairs cut off, " +
               (f"mended after {cut.smps} SMPs" if cut.mended else "never mended")
               for cut in replay.cuts
               if not cut.mended or cut.smps > allowed_smps(cut)]
    if replay.differences(pmlab.Dump(dump)):
        faults.append("the tables read back are not those of the Sets")
    others = set(lab.osm.engines_used()) - {"portmajor"}
    return faults + [f"routed by {name}" for name in sorted(others)]


def judge_packets(replay):
    """The plugin's Sets by which packets that arrived are lost, until the next ones."""
    return ([f"Set {number} led LID {lid} at {name} onto a link that is not active"
             for number, name, lid in replay.inactive if number in replay.own]
            + [f"Set {number} at {name} has LID {lid} lost"
               for number, name, lid in replay.lost])


def judge_ports(records, quiet):
    """PortInfo Sets: at most one is out for a port at a time; a sweep without an event changes no
    port's state."""
    faults, out = [], {}
    for r in records:
        if r.attr != lft_trace.ATTR_PORT_INFO or r.method != wire.SET or not r.guid:
            continue
        port, number = (r.guid, r.modifier & 0xff), (r.tid, r.plugin)
        if r.event == "asked":
            if port in out:
                faults.append(f"two PortInfo Sets are out for {r}")
            out[port] = number
        elif r.event in ("answered", "timed_out") and out.get(port) == number:
            del out[port]
    return faults + [f"the next sweep changes a state: {r}" for r in quiet
                     if lft_trace.is_request(r, lft_trace.ATTR_PORT_INFO, wire.SET)
                     and smps.FIELDS["state"].get(bytearray(r.data)) != smps.NO_CHANGE]
