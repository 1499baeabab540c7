#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The paper's table 4 and totals beside our measurements.

Nakashima et al. count the MADs that update forwarding tables after a spine chassis
is lost. Conventional LID order is leaf by leaf (our lid_order leaf-major), the
proposal's is port by port (port-major); grouped is ours. For each of them OpenSM
runs on a simulated fabric with the plugin, chassis s0 is lost, and

  all      is the number of LFT Sets on the wire,
  to ends  the number of blocks with a changed entry of an end port's LID, over all
           switches, found by comparing tables read back before and after.

Exit status 0 if `to ends` is what the paper has (29,484 and 1,944 for 5,832 hosts;
117,936 and 7,128 for 11,664), else 1.
"""

import sys

import measuring
import pmlab
from measuring import number

ORDERS = ("leaf-major", "port-major", "grouped")

# {hosts: {lid_order: (all, to ends)}}; None: not in the paper.
PAPER = {
    5832: {"leaf-major": (30267, 29484), "port-major": (2727, 1944), "grouped": (None, None)},
    11664: {"leaf-major": (None, 117936), "port-major": (None, 7128), "grouped": (None, None)},
}
CHASSIS = "s0-*"


def blocks_to_ends(before, after):
    """Changed (switch, block) pairs, counting entries of end ports' LIDs only."""
    ends = {after.lids[name] for name in after.hosts if name in after.lids}
    return len({(switch, lid // 64) for switch, lid in pmlab.changed_entries(before, after)
                if lid in ends})


class Result:
    """The cost with one order, and its faults."""

    def __init__(self, hosts, order):
        self.hosts, self.order, self.faults = hosts, order, []
        self.wire = self.least = self.ends = self.predicted = None

    def judge(self, event, walked):
        paper = PAPER[self.hosts][self.order][1]
        checks = (
            (paper is None or self.ends == paper, f"to ends {self.ends} != paper {paper}"),
            (self.wire == event.sent == event.acked,
             f"wire {self.wire}, sent {event.sent}, acked {event.acked}"),
            (self.wire == self.predicted, f"wire {self.wire} != whatif {self.predicted}"),
            (self.wire >= self.ends, f"wire {self.wire} < to ends {self.ends}"),
            (self.wire >= self.least, f"wire {self.wire} < least {self.least}"),
        )
        self.faults = [text for holds, text in checks if not holds] + pmlab.walk_faults(walked)


def measure(hosts, order, netlist, tell):
    result = Result(hosts, order)
    label = f"{hosts:,} hosts, {order}"
    with pmlab.Lab(netlist, order=order, host="h0-1") as lab:
        tell(f"{label}: OpenSM is bringing the fabric up")
        lab.bring_up()
        tell(f"{label}: reading the tables back")
        before = pmlab.Dump(lab.dump())
        tell(f"{label}: chassis s0 goes")
        result.predicted = pmlab.whatif(netlist, CHASSIS, order=order).blocks
        event = lab.lose(CHASSIS)
        result.wire, result.least = event.wire, event.least
        tell(f"{label}: {result.wire:,} LFT Sets; reading the tables back, walking all pairs")
        after = lab.dump()
        walked = pmlab.walk(netlist, after, "-o", order)
        result.ends = blocks_to_ends(before, pmlab.Dump(after))
    result.judge(event, walked)
    return result


def format_results(results):
    head = ["hosts", "lid_order", "paper all", "ours all", "paper to ends", "ours to ends",
            "least", "verdict"]
    lines = [head]
    for r in results:
        paper = PAPER[r.hosts][r.order]
        lines.append([number(r.hosts), r.order, number(paper[0]), number(r.wire),
                      number(paper[1]), number(r.ends), number(r.least),
                      "; ".join(r.faults) or "ok"])
    return measuring.plain_table(lines, (1, 7))


def main():
    parser = measuring.make_parser(__doc__, "scripts/reproduce-paper")
    parser.add_argument("hosts", nargs="*", type=int, metavar="5832|11664",
                        help="sizes of the fabric (default: both)")
    args = parser.parse_args()
    sizes = args.hosts or sorted(PAPER)
    if not set(sizes) <= set(PAPER):
        parser.error("sizes are 5832 and 11664")
    tell, results = measuring.Progress(), []
    with measuring.folder_of("reproduce-paper") as folder:
        for hosts in sizes:
            netlist = pmlab.generate(folder / f"director-{hosts}.net", "director",
                                     measuring.LEAVES[hosts])
            for order in ORDERS:
                results.append(measure(hosts, order, netlist, tell))
        print("\nOne spine chassis of 18 lost: LFT Sets\n")
        print(format_results(results))
        if any(r.faults for r in results):
            print(f"\nFAILED; everything is kept in {folder}")
            sys.exit(1)
    print("\nAll agrees.")


if __name__ == "__main__":
    main()
