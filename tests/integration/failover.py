#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How long hosts wait for new forwarding tables after a failure.

ibsim simulates a director fabric (see `portmajor generate -h`). A cable and a spine chassis fail
with OpenSM on the first host, h0-1, routing with

 - portmajor and its early repair,
 - portmajor with `early_repair no`,
 - OpenSM's own engines.

OpenSM's SMPs are recorded, and the record gets the times of a wire (see wiretime.py). For each
failure the result is the number of SMPs up to the last LFT Set, and the seconds from the first trap
until this Set is acknowledged: with OpenSM computing in no time ("CPU 0") and in the CPU time that
it used here ("CPU here"). On a busy machine both are longer: OpenSM waits while no SMP is out, and
has fewer SMPs out than it might. No machine makes the SMPs' time on the wire shorter ("floor":
those that are answered, as many at a time as may be out). It is an error if early repair is not the
fastest, also compared with the others' floor.

With --during-sweep, OpenSM is in a sweep, for a host that left, when the cable or the chassis
fails: after so much of that sweep's SMPs. The result is the number of all SMPs from the failure to
the last LFT Set, and in brackets that of portmajor's own Gets and Sets. With --paced an SMP leaves
every 265 us from that host's leaving on, and times are printed. The wire may be busy with other
SMPs:

 --queries 64  so many PathRecord queries of a host are outstanding at any time
 --dead        a chassis hangs: its links stay up and it answers nothing. The sweep finds
               that out by questions that wait 0.8 s each, and the rest is lost when
               these hold all of OpenSM's slots on the wire. The time is then that of
               portmajor's repairs, if these left nothing to the sweep
 --standby     a second OpenSM polls the first; that it takes over is an error

Traps that come while OpenSM discovers make it begin anew, which depends on the machine, too. Each
failure is tried until it is discovered once, at most --tries times; the try with the fewest SMPs
counts.
"""

import argparse
import contextlib
import dataclasses
import sys
import time

import measuring
import pmlab
import queries
import simlab
import wire
import wiretime

MAX_WIRE_SMPS = 4
TRIES = 5
EARLY, LATE = "portmajor", "portmajor, early_repair no"
ENGINES = measuring.STOCK_ENGINES
LOSSES = {"cable": "leaf5:20", "chassis": "s1-*"}
SHARES = 0, .1, .4, .75, .95  # of a sweep's SMPs; 0: OpenSM is idle
LEAVING = "h7-3"
ASKING = "h9-2"
STANDBY = "h0-2"  # on the subnet manager's leaf: no failure cuts their path to the manager
DEAD = "s9-*"
POLLING_MS = 10000  # OpenSM's default
ATTR_SM_INFO = 0x20
HELD_S = 0.05  # slots are held if nothing is sent for this time
BUSY_QUIET_S = 1.5  # where queries or polls keep OpenSM busy without an SMP of its own


@dataclasses.dataclass
class Failover:
    """One failure under one way of routing."""
    how: str
    loss: str
    smps: int  # sent up to the last LFT Set
    floor_s: float  # the time of those that are answered, as many at a time as may be out
    wire_s: float  # to the last LFT Set acknowledged, with OpenSM computing in no time
    cpu_s: float  # the same, with OpenSM's CPU time
    discoveries: int
    gave_up: bool  # OpenSM went on to its next engine

    marks = property(lambda self: "*" * self.gave_up + "+" * (self.discoveries > 1))


def open_sm(fabric, how, trace, folder, host="h0-1", conf=None, **kwargs):
    """An OpenSM that routes this way, on that wire; kwargs of simlab.OpenSM."""
    conf = {"max_wire_smps": MAX_WIRE_SMPS, **(conf or {})}
    if how not in (EARLY, LATE):
        return simlab.OpenSM(fabric, engine=how, host=host, conf=conf, wire=trace, **kwargs)
    config = folder / "portmajor.conf"
    config.write_text(f"flap_limit 0\nearly_repair {'yes' if how == EARLY else 'no'}\n")
    return pmlab.open_sm(fabric, config=config, host=host, conf=conf, wire=trace, **kwargs)


def floor_s(stamps):
    """The time of the answered SMPs up to the last LFT Set, as many at a time as may be out."""
    last = stamps.index(wiretime.lft_answers(stamps)[-1])
    answered = sum(s.record.event == "answered" for s in stamps[:last + 1])
    return answered * wiretime.SET_US / MAX_WIRE_SMPS * 1e-6


def lose(osm, how, loss):
    """Takes a part out and brings it back."""
    fabric, trace, target = osm.fabric, osm.wire, LOSSES[loss]

    def action():
        trace.records()
        return fabric.lose(target)

    lost = simlab.measure(fabric, osm, action, timeout=pmlab.TIMEOUT_S)
    records = trace.records()
    alone, used = (wiretime.virtual(records, cpu) for cpu in (False, True))
    pmlab.back(osm, target)
    return Failover(how, loss, lost["last_lft_smp"], floor_s(alone),
                    wiretime.lft_answers(alone)[-1].seconds,
                    wiretime.lft_answers(used)[-1].seconds, lost["discoveries"],
                    set(lost["engines"]) != {osm.engine})


def fewest(osm, how, loss, tries):
    """The try that counts."""
    results = []
    while len(results) < tries and not (results and results[-1].discoveries == 1):
        results.append(lose(osm, how, loss))
    return min(results, key=lambda r: r.smps)


def run(netlist, how, tries):
    """Takes out one part after another and brings each back; returns a Failover for each."""
    trace = wire.Wire(trace=True)
    with pmlab.Folder() as folder, pmlab.Fabric(netlist) as fabric, \
            open_sm(fabric, how, trace, folder) as osm:
        osm.settle(timeout=pmlab.TIMEOUT_S)
        return [fewest(osm, how, loss, tries) for loss in LOSSES]


def compare(netlist, engines=ENGINES, tries=TRIES, tell=lambda text: None):
    """All ways of routing."""
    results = []
    for how in (EARLY, LATE, *engines):
        results += run(netlist, how, tries)
        tell("\n".join(map(str, results[-len(LOSSES):])))
    return results


@dataclasses.dataclass(frozen=True)
class Setting:
    """Other SMPs on the wire when a part fails."""
    paced: bool = False
    queries: int = 0  # PathRecord queries outstanding
    dead: bool = False  # a chassis does not answer
    standby_ms: int = 0  # the interval at which another OpenSM polls this one; 0: there is none
    shares: tuple = SHARES

    columns = property(lambda self: ("held",) if self.dead else self.shares)
    is_busy = property(lambda self: self.queries or self.standby_ms)


@dataclasses.dataclass
class Interrupted:
    """One failure in the middle of a sweep."""
    how: str
    loss: str
    share: object  # of the sweep, or "held": Gets to a dead chassis hold all slots
    smps: int  # from the failure to the last LFT Set
    own: int  # SMPs of early repairs
    seconds: float  # as smps
    gave_up: bool  # a repair left something to the sweep
    answered: int  # queries, until OpenSM was done


class Scene(pmlab.Started):
    """An OpenSM in that setting, for one failure after another."""

    def __init__(self, netlist, how, setting):
        super().__init__()
        self._netlist, self.how, self.setting = netlist, how, setting

    def _start(self):
        folder = self.enter_context(pmlab.Folder())
        self.fabric = self.enter_context(pmlab.Fabric(self._netlist))
        self.wire = wire.Wire() if self.setting.dead else None
        self.osm = self.enter_context(open_sm(self.fabric, self.how, self.wire, folder))
        self.osm.settle(timeout=pmlab.TIMEOUT_S)
        self.length = sweep_length(self.osm)
        self.standby = self._open_standby() if self.setting.standby_ms else None
        dump = folder / "dump"
        self.fabric.dump(dump, timeout=pmlab.TIMEOUT_S)
        self.lids = pmlab.Dump(dump).lids

    def _open_standby(self):
        """A subnet manager of lower rank, whose polls can time out."""
        self.polls = wire.Wire(trace=True)
        standby = self.enter_context(simlab.OpenSM(
            self.fabric, engine="minhop", host=STANDBY, wire=self.polls,
            conf={"sm_priority": 0, "sminfo_polling_timeout": self.setting.standby_ms}))
        standby.wait_log("Entering STANDBY state")
        self.polls.records()
        return standby

    @contextlib.contextmanager
    def _asking(self):
        """Queries, as soon as some have been answered."""
        others = [lid for name, lid in self.lids.items()
                  if name in self.fabric.netlist.hosts and name != ASKING]
        with queries.Queries(self.fabric, ASKING, self.lids[self.osm.host],
                             [self.lids[ASKING], *others], self.setting.queries) as asking:
            asking.wait_answered(10 * self.setting.queries)
            yield asking

    def rest(self, mark):
        """Waits until OpenSM has dealt with all events since a mark."""
        osm, still = self.osm, {"requests": None, "at": 0.0, "asked": False}
        if not self.setting.is_busy and not self.setting.dead:
            osm.settle(mark, timeout=pmlab.TIMEOUT_S)
            return

        def has_swept():
            osm.is_alive()
            counters = osm.counters()
            seconds = time.monotonic() - still["at"]
            # portmajor reads the port of the manager's leaf once a second.
            if (still["requests"] is None or counters.outstanding
                    or counters["requests"] - still["requests"] > 1 + seconds):
                still.update(requests=counters["requests"], at=time.monotonic())
                seconds = 0
            if seconds < BUSY_QUIET_S:
                return False
            if osm._swept(mark) is None and not still["asked"] and osm.sweep_waits():
                still["asked"] = True
                osm.hup()
            return osm._swept(mark) is not None

        simlab.poll_until(has_swept, pmlab.TIMEOUT_S, "the sweep's end", state=osm.describe)

    def _wait_for(self, begin, share):
        """Waits until that part of a sweep is done, or Gets to dead switches hold all slots."""
        def sent():
            return self.osm.counters()["smps"] - begin.counters["smps"]

        seen = {"smps": None, "at": 0.0}

        def is_held():
            counters = self.osm.counters()
            if counters["smps"] != seen["smps"] or counters.outstanding < MAX_WIRE_SMPS:
                seen.update(smps=counters["smps"], at=time.monotonic())
            return time.monotonic() - seen["at"] >= HELD_S

        held = share == "held"
        simlab.poll_until(is_held if held else lambda: sent() >= share * self.length,
                          pmlab.TIMEOUT_S, "held slots" if held else f"{share:.0%} of a sweep",
                          every=0.0005)

    def _hang(self):
        """Rules by which the chassis answers nothing."""
        return [self.wire.drop("request", node=name)
                for name in self.fabric.netlist.match(DEAD)] if self.setting.dead else []

    def interrupt(self, loss, share):
        """Takes a part out so far into a sweep, and brings it back."""
        osm, fabric = self.osm, self.fabric
        osm.wait_traps_aged()
        begin, rules = osm.mark(), self._hang()
        osm.pace(wiretime.SET_US if self.setting.paced else 0)
        with self._asking() if self.setting.queries else contextlib.nullcontext() as asking:
            if share:
                fabric.lose(LEAVING)
                osm.hup()  # otherwise portmajor would have the sweep wait
                self._wait_for(begin, share)
            answered, mark = asking.answered if asking else 0, osm.mark()
            fabric.lose(LOSSES[loss])
            self.rest(begin)
            answered = asking.answered - answered if asking else 0
        found, repairs = osm.delta(mark), pmlab.Repair.find(osm.log(mark.log_offset))
        for rule in rules:
            rule.off()
        self._restore(loss, share)
        seconds = found["last_lft_ns"] / 1e9 - mark.time if found["lft_sets"] else 0.0
        gave_up = any(r.gave_up for r in repairs)
        if self.setting.dead and repairs and not gave_up:
            # The rest is for the chassis that hangs, which only the sweep can find.
            seconds = max(r.milliseconds for r in repairs) / 1e3
        return Interrupted(self.how, loss, share, found["last_lft_smp"],
                           sum(r.queries + r.sent for r in repairs), seconds,
                           gave_up, answered)

    def _restore(self, loss, share):
        """Restores the fabric. A sweep in which Gets timed out is no measure: another one is
        requested."""
        self.osm.pace(0)
        self.osm.wait_traps_aged()
        mark = self.osm.mark()
        self.fabric.back(LOSSES[loss])
        if share:
            self.fabric.back(LEAVING)
        if self.setting.dead:
            self.osm.hup()
        self.rest(mark)

    def polled(self):
        """(answered polls of the standby, unanswered polls, whether it took over)."""
        records = self.polls.records()
        ends = [r.event for r in records if r.attr == ATTR_SM_INFO and r.event != "asked"]
        return (ends.count("answered"), ends.count("timed_out"),
                "Entering MASTER state" in self.standby.log())


def sweep_length(osm):
    """The number of SMPs of a sweep."""
    mark = osm.mark()
    osm.hup()
    osm.settle(mark, timeout=pmlab.TIMEOUT_S)
    return osm.delta(mark)["smps"]


def run_during(netlist, how, setting=Setting(), polled=None):
    """An Interrupted for each failure and each moment. `polled` gets Scene.polled()."""
    with Scene(netlist, how, setting) as scene:
        results = [scene.interrupt(loss, share)
                   for loss in LOSSES for share in setting.columns]
        if polled is not None:
            polled.append(scene.polled())
        return results


def title(share):
    return ("slots held" if share == "held" else f"at {share:.0%}") if share else "idle"


def format_cell(result, timed):
    own = f" ({result.own:,})" * (result.how == EARLY)
    return (f"{result.smps:,}{own}{'*' * result.gave_up}"
            + f" {result.seconds * 1000:,.0f} ms" * timed)


def format_during(results, timed=False):
    """The table, with portmajor's own SMPs in brackets."""
    shares = list(dict.fromkeys(r.share for r in results))
    rows = [["lost", "routing", *map(title, shares)]]
    for loss in LOSSES:
        for how in dict.fromkeys(r.how for r in results):
            found = {r.share: r for r in results if (r.how, r.loss) == (how, loss)}
            rows.append([loss, how, *(format_cell(found[share], timed) for share in shares)])
    return (measuring.plain_table(rows, range(2))
            + "\n\n* A repair left something to the sweep." * any(r.gave_up for r in results))


def compare_during(netlist, engines, setting):
    """Prints the table; whether a standby took over."""
    results, polled = [], [] if setting.standby_ms else None
    for how in (EARLY, *engines):
        results += run_during(netlist, how, setting, polled)
        measuring.tell(format_during([r for r in results if r.how == how], timed=True))
    print(format_during(results, setting != Setting(shares=setting.shares)))
    if setting.queries:
        print(f"\n{setting.queries} queries outstanding; answered meanwhile: " + ", ".join(
            f"{how} {sum(r.answered for r in results if r.how == how):,}"
            for how in dict.fromkeys(r.how for r in results)))
    for how, (answered, failed, took_over) in zip((EARLY, *engines), polled or []):
        print(f"{how}: {answered} polls of the standby answered, {failed} not"
              + "; it took over" * took_over)
    return any(took_over for _, _, took_over in polled or [])


def format_table(results):
    columns = ["SMPs", "floor", "CPU 0", "CPU here"]
    rows = [["", *(text for loss in LOSSES for text in (loss, "", "", ""))],
            ["routing", *columns * len(LOSSES)]]
    for how in dict.fromkeys(r.how for r in results):
        row = [how]
        for r in (r for loss in LOSSES for r in results if (r.how, r.loss) == (how, loss)):
            row += [f"{r.smps:,}{r.marks}", f"{r.floor_s:.3f}", f"{r.wire_s:.3f}",
                    f"{r.cpu_s:.3f}"]
        rows.append(row)
    marks = {"*": "This engine gave up, and OpenSM went on to minhop.",
             "+": "OpenSM began its discovery anew when more traps came."}
    notes = [f"{mark} {text}" for mark, text in marks.items()
             if any(mark in r.marks for r in results)]
    return "\n".join([measuring.plain_table(rows, range(1))] + [""] * bool(notes) + notes)


def parse_shares(text):
    try:
        return tuple(float(percent) / 100 for percent in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not percents with commas between: {text}") from error


def main():
    parser = measuring.make_parser(__doc__)
    parser.add_argument("hosts", type=int, nargs="?", default=648, choices=measuring.LEAVES)
    parser.add_argument("--engines", default=",".join(ENGINES),
                        help="OpenSM's, with commas between (default: %(default)s)")
    parser.add_argument("--tries", type=int, default=TRIES, help="default: %(default)s")
    parser.add_argument("--during-sweep", action="store_true",
                        help="lose it while OpenSM sweeps: a table of SMPs")
    parser.add_argument("--paced", action="store_true",
                        help=f"as --during-sweep, an SMP every {wiretime.SET_US} us")
    parser.add_argument("--queries", type=int, default=0, metavar="N",
                        help="as --during-sweep, with so many queries outstanding")
    parser.add_argument("--dead", action="store_true",
                        help="as --during-sweep, while questions to a chassis that hangs hold "
                        "all slots")
    parser.add_argument("--standby", action="store_true",
                        help="as --during-sweep, with a second OpenSM")
    parser.add_argument("--shares", type=parse_shares, default=SHARES, metavar="PERCENT,..",
                        help="of the sweep, with --during-sweep; 0: OpenSM rests "
                        "(default: 0,10,40,75,95)")
    options = parser.parse_args()
    if options.tries < 1:
        parser.error("argument --tries: 1 or more")
    setting = Setting(options.paced, options.queries, options.dead,
                      options.standby * POLLING_MS, options.shares)
    with measuring.director(options.hosts) as netlist:
        engines = [e for e in options.engines.split(",") if e]
        if options.during_sweep or setting != Setting():
            return compare_during(netlist, engines, setting)
        results = compare(netlist, engines, options.tries, measuring.tell)
    print(f"\nSMPs up to the last LFT Set, and seconds from the first trap until it is\n"
          f"acknowledged, {options.hosts:,} hosts. Computed, not timed: {wiretime.SET_US} us an "
          f"SMP (Nakashima\net al.), {wiretime.HOP_US} us a hop and way (assumed), "
          f"{MAX_WIRE_SMPS} outstanding. Floor: that of the SMPs alone\n")
    print(format_table(results))
    early = {r.loss: r.wire_s for r in results if r.how == EARLY}
    sooner = [r for r in results if r.how != EARLY and r.floor_s <= early[r.loss]]
    for r in sooner:
        print(f"{r.loss}: {r.how} was sooner")
    return bool(sooner)


if __name__ == "__main__":
    sys.exit(main())
