#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The costs of hosts that come and go all the time.

ibsim simulates a director fabric (see `portmajor generate -h`), on a wire with the ports of
wire_truth.h; OpenSM runs on the first host, and routes with each engine in turn. Every few seconds
the link of a host, drawn from all leaves, goes down; it returns after a while. In the middle a
cable fails and stays down.

All SMPs, and sweeps, are counted. `SA` is the longest time from a host's return until another host
gets a path record for it, beside the time of one sweep of the quiet fabric; `part` is the first
engine's SMPs as a part of each engine's; the repair of the cable by portmajor has its queries and
LFT Sets.
"""

import heapq
import random
import re
import subprocess
import sys
import time

import clients
import failover
import measuring
import pmlab
import wire

SM, ASKER, CABLE = "h0-1", "h2-1", "leaf5:20"
ASK_S = 0.25
REPAIR = re.compile(r"portmajor repair \d+: failed: 1 cable .*? queries (\d+), .*? "
                    r"LFT blocks sent (\d+)")


class Churn:
    """Hosts of one OpenSM that come and go."""

    def __init__(self, osm, options, lids):
        self.osm, self.fabric, self.options, self.lids = osm, osm.fabric, options, lids
        self.draw = random.Random(options.seed)
        self.longest = 0.0  # from a host's return to the SA's answer
        self.unanswered = {}  # {host: when it came back}
        self.down = set()

    def _ask(self):
        """Asks the SA for the paths to hosts that have returned."""
        if not self.unanswered:
            return
        hosts = list(self.unanswered)
        try:
            found = clients.path_lanes(self.fabric, ASKER, self.lids[SM],
                                       [(self.lids[ASKER], self.lids[host]) for host in hosts])
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return  # OpenSM is too busy to answer: the query is repeated
        now = time.monotonic()
        for host, lane in zip(hosts, found):
            if lane >= 0:
                self.longest = max(self.longest, now - self.unanswered.pop(host))

    def _take_down(self):
        """Takes a random host down, and returns it."""
        host = self.draw.choice([name for name in self.fabric.netlist.hosts
                                 if name not in self.down | {SM, ASKER}])
        self.fabric.lose(host)
        self.down.add(host)
        self.unanswered.pop(host, None)
        return host

    def _bring_back(self, host):
        self.fabric.back(host)
        self.down.discard(host)
        self.unanswered[host] = time.monotonic()

    def run(self):
        """The SMPs that OpenSM sent, and its log."""
        options, mark, begin = self.options, self.osm.mark(), time.monotonic()
        due = [(begin + i * options.every, "") for i in
               range(int(options.seconds / options.every))]
        heapq.heappush(due, (begin + options.seconds / 2, CABLE))
        while due or self.unanswered:
            wait = due[0][0] - time.monotonic() if due else ASK_S
            if wait > 0:
                self._ask()
                time.sleep(max(0.0, min(ASK_S, wait)))  # part of the scenario
                continue
            when, name = heapq.heappop(due)
            if name == CABLE:
                self.fabric.lose(CABLE)
            elif name:
                self._bring_back(name)
            else:
                heapq.heappush(due, (when + options.down, self._take_down()))
        return self.osm.delta(mark), self.osm.log(mark.log_offset)


def time_sweep(osm):
    """The seconds of a sweep that finds nothing new."""
    offset, begin = osm.log_offset(), time.monotonic()
    osm.hup()
    osm.wait_subnet_up(offset, timeout=pmlab.TIMEOUT_S)
    return time.monotonic() - begin


def play(netlist, engine, options):
    with pmlab.Folder() as folder, pmlab.Fabric(netlist) as fabric, \
            failover.open_sm(fabric, engine, wire.Wire(), folder) as osm:
        osm.settle(timeout=pmlab.TIMEOUT_S)
        path = folder / "fabric.dump"
        fabric.dump(path, timeout=pmlab.TIMEOUT_S)
        sweep = time_sweep(osm)
        osm.settle(timeout=pmlab.TIMEOUT_S)
        churn = Churn(osm, options, pmlab.Dump(path).lids)
        counters, log = churn.run()
        return (engine, counters["smps"], counters["discoveries"], churn.longest,
                sweep, [tuple(map(int, found)) for found in REPAIR.findall(log)])


def main():
    parser = measuring.make_parser(__doc__, "scripts/churn")
    parser.add_argument("hosts", type=int, nargs="?", default=648, choices=measuring.LEAVES)
    parser.add_argument("--engines", default="portmajor,updn", help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=600, help="default: %(default)s")
    parser.add_argument("--every", type=float, default=5, help="seconds (default: %(default)s)")
    parser.add_argument("--down", type=float, default=2, help="seconds (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with measuring.director(options.hosts) as netlist:
        first = None
        for engine in options.engines.split(","):
            name, smps, sweeps, longest, sweep, repairs = play(netlist, engine, options)
            first = first or smps
            cable = "; ".join(f"queries {queries}, LFT Sets {sets}" for queries, sets in repairs)
            print(f"{name:10} {smps:>10,} SMPs, part 1/{smps / first:.1f}, "
                  f"discoveries {sweeps}, SA {longest:.1f} s (a sweep {sweep:.1f} s); cable: {cable or '-'}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
