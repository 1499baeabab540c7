#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Early repair when switches die, on a wire where dead switches do not answer.

A director fabric of 648 hosts, twice: with early repair and without. The same switches die in one,
then in the other; a query to them comes back after OpenSM's time-outs. For each pair of runs the
results are the seconds from the death to the last SUBNET UP, and the pairs of hosts cut off times
seconds until the last block; the medians are printed at the end.

    dead_switches.py --dead 1 2 6 30 --runs 5 [--last-traps] [--seed N]

With a seed the switches are drawn, others in each run. The dead switches' own traps are lost; with
--last-traps each sends one as it dies.
"""

import dataclasses
import random
import re
import statistics
import sys
import time

import failover
import measuring
import pmlab
import simlab
import wire
import wiretime

# The switches that die, by their number. OpenSM's paths to most others lead through the first of
# them. All are dead before the first trap arrives: a death in the middle of a discovery can cost
# OpenSM a minute, with any engine.
DEAD = {1: "s0-line0", 2: "s[01]-line0", 6: "s[01]-*", 30: "s?-*"}
HOST = "h0-1"  # of the subnet manager


@dataclasses.dataclass
class Death:
    """One event."""
    up_s: float  # to the last SUBNET UP
    pair_s: float  # pairs of hosts cut off times seconds
    left: int  # pairs of hosts that stay cut off
    smps: int
    failed_sweeps: int
    gave_up: int
    unanswered: int  # Gets of the repair
    links_down: int  # that it found
    repair_blocks: int
    said: str = dataclasses.field(repr=False, default="")  # by the plugin, meanwhile


class Side(pmlab.Started):
    """One fabric and OpenSM."""

    def __init__(self, netlist, early):
        super().__init__()
        self.netlist, self.early = netlist, early

    def _start(self):
        folder = self.enter_context(pmlab.Folder())
        self.fabric = self.enter_context(pmlab.Fabric(self.netlist))
        self.wire = wire.Wire(self.fabric, trace=True)
        self.osm = self.enter_context(failover.open_sm(
            self.fabric, failover.EARLY if self.early else failover.LATE, self.wire, folder,
            host=HOST, sweep_interval=10))
        self.dump_path = folder / "dump"
        self.osm.settle(timeout=pmlab.TIMEOUT_S)

    def dump(self):
        self.fabric.dump(self.dump_path)
        return pmlab.Dump(self.dump_path)

    def lose(self, targets, last_traps):
        osm = self.osm
        osm.settle(osm.mark(), sweep=False)
        osm.wait_traps_aged()
        before = self.dump()
        names = [name for target in targets for name in self.fabric.netlist.match(target)]
        guids = {self.wire.guid(n): n for n in self.fabric.netlist.switches}
        for name in names:
            self.wire.drop("trap", node=name)
        self.wire.records()
        mark = osm.mark()
        start, started = time.monotonic(), time.time()
        self.wire.hold("trap", times=1)  # until all are dead
        for target in targets:
            self.fabric.lose(target)
        self.wire.wait_held()
        if last_traps:  # traps of ibsim itself would find no path any more
            self.wire.storm(len(names), [before.lids[name] for name in names])
        self.wire.release()
        osm.settle(mark, timeout=pmlab.TIMEOUT_S)
        log = osm.log(mark.log_offset)
        # The times of the run itself: here an SMP that times out takes its time.
        stamps = [wiretime.Stamp(r, r.ns / 1e9 - start) for r in self.wire.records()]
        reach = wiretime.Reach(self.fabric, before, guids)
        pair_s, left = wiretime.pair_seconds(reach, wiretime.lft_answers(stamps))
        repairs = pmlab.Repair.find(log)
        death = Death(max(pmlab.logged_at(log, "SUBNET UP")) - started, pair_s, left,
                      osm.delta(mark)["smps"],
                      len(re.findall("Errors during init", log, re.I)),
                      *[sum(getattr(r, field) for r in repairs) for field in
                        ("gave_up", "unanswered", "links_down", "sent")],
                      "\n".join(re.findall(".*(?:portmajor|log_trap_info).*", log)))
        self.back(targets)
        return death

    def back(self, targets):
        self.wire.clear()
        self.osm.wait_traps_aged()
        mark = self.osm.mark()
        for target in targets:
            self.fabric.back(target)
        self.osm.settle(mark, timeout=pmlab.TIMEOUT_S)


def median(deaths, field):
    return statistics.median(getattr(d, field) for d in deaths)


def choose(netlist, dead, chance):
    """Draws so many switches, but not the subnet manager's."""
    (home, _), = netlist.nodes[HOST].ports.values()
    return chance.sample([name for name in netlist.switches if name != home], dead)


def compare(sides, dead, runs, last_traps, tell=lambda text: None, chance=None):
    """Paired runs; the Deaths with early repair and those without.

    With chance, a random.Random, the switches that die are drawn.
    """
    pairs = []
    for _ in range(runs):
        targets = choose(sides[0].netlist, dead, chance) if chance else [DEAD[dead]]
        pairs.append([side.lose(targets, last_traps) for side in sides])
        for side, death in zip(sides, pairs[-1]):
            tell(f"{dead} dead, early repair {'yes' if side.early else 'no '}: {death}")
    return list(zip(*pairs))


def main():
    parser = measuring.make_parser(__doc__)
    parser.add_argument("--dead", type=int, nargs="+", default=list(DEAD), choices=list(DEAD))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--last-traps", action="store_true")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    chance = None if options.seed is None else random.Random(options.seed)
    with pmlab.Folder() as folder:
        netlist = simlab.Netlist(pmlab.generate(folder / "fabric.net", "director", 36))
        with Side(netlist, True) as early, Side(netlist, False) as late:
            for dead in options.dead:
                with_it, without = compare((early, late), dead, options.runs,
                                           options.last_traps,
                                           lambda text: print(text, flush=True), chance)
                for field in ("up_s", "pair_s"):
                    a, b = median(with_it, field), median(without, field)
                    print(f"{dead} dead, last traps {options.last_traps}, median {field}: "
                          f"{a:.3f} with early repair, {b:.3f} without, {a / max(b, 1e-9):.2f}",
                          flush=True)


if __name__ == "__main__":
    sys.exit(main())
