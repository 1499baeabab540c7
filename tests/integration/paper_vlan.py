#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The statements of Miura et al. on trees of Ethernet switches with a VLAN for each path ("VLAN
based Fat Tree") beside the results of portmajor-lab traffic --engine share and, as root on a
machine with network namespaces, beside measurements of Open vSwitch and the tc program.

Their table 2 has numbers, figure 6 is a picture that the text describes. Their switches A and B are
joined by n cables; ours are two leaves below n top switches, as in their figure 3. Exit status 1 if
a statement does not hold; statements that cannot be measured here are listed with the reason.
"""

import importlib
import shutil
import sys
import tempfile

import measuring
import paper_table
import pmlab
from paper_table import Row, verdict

UNKNOWN = "not measured here"
LINKS = (1, 2, 3, 4)
# bytes: with its checksum; preamble and gap; the bytes that a VLAN adds
FRAME, GAPS, TAG = 1518, 20, 4
PLANES = (1, 2, 3, 6, 9, 18)
CLOSE = 1e-6


class Bench:
    """Bisections of fabrics."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="portmajor-paper-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def bisect(self, leaves, tops, hosts, *args):
        """{(kind, VLANs): network} of a fabric; the bandwidth of each, in links of hosts."""
        netlist = pmlab.generate(f"{self.folder}/{leaves}-{tops}-{hosts}.net", "two-level",
                                 leaves, tops, hosts, 1)
        found, _ = paper_table.compute("traffic", "--engine", "share", *args, netlist)
        return {(one["kind"], one["vlans"]): one for one in found["networks"]}, found["flows"]


def rates(network, flows):
    """Straight, and the lowest and highest of all shifts and permutations, in links."""
    every = [network["straight"], *(network[how][end] for how in ("shifts", "permutations")
                                    for end in ("minimum", "maximum"))]
    return [rate * flows for rate in (every[0], min(every), max(every))]


def alike(network, flows, links):
    """Whether all pairings have the bandwidth of so many links."""
    return all(abs(rate - links) < CLOSE for rate in rates(network, flows))


def figure_6(bench):
    """Computed, for four hosts that send to four."""
    found = {}
    for links in LINKS:
        networks, flows = bench.bisect(2, links, 4)
        found[links] = {kind: (rates(one, flows)[0], alike(one, flows, want))
                        for (kind, _), one in networks.items()
                        for want in [{"flat": 4, "tree": 1}.get(kind, links)]}

    def series(kind):
        return ", ".join(f"{found[links][kind][0]:.2f}" for links in LINKS)

    def holds(kind, links=LINKS):
        return all(found[one][kind][1] for one in links)

    yield Row("f1", "Figure 6: between two switches a tree has one link, whatever there is",
              "1 Gbit/s at most", f"tree {series('tree')} links' worth with 1 to 4 links",
              verdict(holds("tree")))
    yield Row("f2", "Figure 6: with a VLAN for each link bisection bandwidth grows with the links",
              "grows steadily with the number of links",
              f"VLANs {series('vlan')} links' worth with 1 to 4 links, for every pairing of "
              f"four and four; InfiniBand with the plan's tables {series('tables')}",
              verdict(holds("vlan")))
    yield Row("f3", "Figure 6: with enough links it is that of one switch with all hosts",
              "as flat", f"VLANs {found[4]['vlan'][0]:.2f}, flat {found[4]['flat'][0]:.2f} "
              "links' worth with 4", verdict(holds("vlan", [4]) and holds("flat")))


def at_size(bench):
    networks, flows = bench.bisect(36, 18, 18, "--vlans", ",".join(map(str, PLANES)))
    vlans = {planes: networks["vlan", planes] for planes in PLANES}
    tables = networks["tables", None]
    grows = all(abs(vlans[planes]["shifts"]["minimum"] - planes / 18) < CLOSE
                for planes in PLANES)
    same = abs(vlans[18]["permutations"]["mean"] / tables["permutations"]["mean"] - 1) < 0.02
    yield Row("f4", "Figure 6 with 648 hosts and up to 18 planes: a larger cluster gains more",
              "(8 hosts; larger ones are future work)",
              f"of {flows} links, all shifts at least " +
              ", ".join(f"{flows * one['shifts']['minimum']:.0f}" for one in vlans.values()) +
              f" with {', '.join(map(str, PLANES))} VLANs, a tree "
              f"{flows * networks['tree', None]['straight']:.0f}; permutations drawn at random "
              f"{vlans[18]['permutations']['mean']:.3f} of all with 18 VLANs, "
              f"{tables['permutations']['mean']:.3f} with the plan's tables",
              verdict(grows and same))


def table_2():
    """The cost of the tag by its bytes; whether theirs is equal."""
    wire = FRAME + GAPS
    theirs, ours = 896 / 898, wire / (wire + TAG)
    yield Row("t1", "Table 2: what TCP between two hosts loses with the driver is the tag's 4 "
              "bytes",
              f"898 and 896 Mbit/s of 1,000, {theirs:.4f}",
              f"{wire} of {wire + TAG} bytes, {ours:.4f}", verdict(abs(theirs - ours) < 0.001))


def find_live():
    """The measuring program, or None; and then the reason."""
    try:
        live = importlib.import_module("vlan_live")
        return live, importlib.import_module("ethlab").missing()
    except ImportError as error:
        return None, str(error)


def measured(bench):
    """Rows of the measurements here, and lines with all of them."""
    live, reason = find_live()
    if reason:
        return [Row(number, f"{what}, measured", "as above", reason, UNKNOWN)
                for number, what in (("l1", "Table 2"), ("l2", "Figure 6"))], []

    def tell(text):
        measuring.tell(f"== {text}")

    rows, found = [], []
    for number, what, measure, judge in (
            ("l1", "Table 2", live.table_2, live.table_faults),
            ("l2", "Figure 6", live.figure_6, live.figure_faults)):
        stolen = live.Stolen()
        found.append(measure(bench.folder, tell))
        faults, share = judge(found[-1]), stolen.share()
        told = "; ".join(faults) or "the same, see below"
        if faults and share > live.MOST_STOLEN:
            told += f" ({share:.0%} of the processors' time was taken by others)"
        rows.append(Row(number, f"{what}, measured", "as above", told,
                        UNKNOWN if faults and share > live.MOST_STOLEN else verdict(not faults)))
    return rows, live.report(*found)


def statements(bench):
    """(number, statement, theirs, ours, verdict) of each that is computed."""
    return [*table_2(), *figure_6(bench), *at_size(bench)]


def main():
    parser = measuring.make_parser(__doc__, "scripts/reproduce-paper vlan")
    parser.add_argument("--quick", action="store_true", help="measure nothing, only compute")
    quick = parser.parse_args().quick
    with Bench() as bench:
        rows, lines = statements(bench), []
        if not quick:
            more, lines = measured(bench)
            rows += more
    fine = paper_table.show("Miura et al.: a fat tree of Ethernet switches by tagged VLANs", rows)
    print("\n".join([*lines, ""] if lines else []), end="")
    if not quick and any(row.verdict == UNKNOWN for row in rows):
        print("All that was computed is as told above; the rest needs a machine where it can be "
              "measured.")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
