#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The statements, tables and figures of Takizawa, Matsuoka and Nakada ("MPI collective
communication on all optical network") beside the results of portmajor-lab collective.

Exit status 1 if a statement does not hold at all. With --figures, the curves of figures
6 to 9 are written as CSV, and as SVG where matplotlib is there.
"""

import functools
import json
import pathlib
import sys
import tempfile

import measuring
import paper_table
from paper_table import FAILS, FITTED, HOLDS, IN_PART, Row, verdict

ALGORITHMS = ("linear", "ring", "recursive-doubling", "binomial")
PORTS = (2, 3, 4)
GAMMA = 0.01

# Table 2: calls in NPB's FT, class A, 16 processes.
CALLS = {"Alltoall": 8, "Barrier": 1, "Bcast": 2, "Reduce": 6}
# Table 4, seconds; by ports, 1: naive.
TABLE_4 = {1: 2.67, 2: 2.33, 3: 2.33, 4: 2.16}
TABLE_4_IDEAL = 1.82
# Fitted, not from the paper: the wait of each call beside its own set-ups.
EXTRA_SETUPS_PER_CALL = 1
# FT's calls in their order, and bytes of class A: 256 x 256 x 128 complex numbers over 16
# processes; one complex number for the checksum; a few integers.
FT = ["Bcast", "Bcast", "Alltoall", "Barrier", "Alltoall"] + ["Alltoall", "Reduce"] * 6
FT_BYTES = {"Alltoall": 256 * 256 * 128 * 16 // 16, "Barrier": 0, "Bcast": 12, "Reduce": 16}


def compute(*args):
    """The output of the command, by algorithm; and its settings."""
    found, _ = paper_table.compute("collective", *args)
    return {one["algorithm"]: one for one in found["algorithms"]}, found["settings"]


class Curves:
    """An algorithm with the parameters of table 1: seconds as they are simulated."""

    def __init__(self, found):
        self.name = found["algorithm"]
        self.setups = dict(zip((1, *PORTS), (found["setups"]["naive"],
                                             *found["setups"]["proposed"])))
        self.sizes = {row["bytes"]: row for row in found["sizes"]}

    def at(self, size, ports):
        """ports: 1 is naive, 0 ideal."""
        row = self.sizes[size]
        costs = {0: row["ideal"], 1: row["naive"], **{one["ports"]: one
                                                      for one in row["proposed"]}}
        return costs[ports]["simulated"]

    def gain(self, size, ports):
        return self.at(size, 1) / self.at(size, ports)

    def crossing(self, ports):
        """The size in bytes from which communication takes longer than setting up: it is linear."""
        fixed, whole = self.at(1, 0), self.at(1000000, 0)
        slope = (whole - fixed) / 999999
        return (self.setups[ports] * GAMMA - fixed) / slope + 1


def series(numbers, digits=2):
    return ", ".join(f"{n:.{digits}f}" for n in numbers)


def tables_1_to_3(settings):
    theirs = {"processes": 32, "ports": [2, 3, 4], "latency_ns": 100000, "mbps": 1000,
              "setup_us": 10000, "circuits": 0}
    yield Row("t1", "Table 1: parameters of figures 6 to 9",
              "p 32; k 2, 3, 4; n 1 to 1M; alpha 0.1 ms; beta 8 ns (1000 Mb/s); gamma 10 ms",
              "the defaults of portmajor-lab collective", verdict(settings == theirs))
    yield Row("t2", "Table 2: calls of collectives in FT, class A, 16 processes",
              "Alltoall 8, Barrier 1, Bcast 2, Reduce 6",
              ", ".join(f"{call} {FT.count(call)}" for call in CALLS) + ": taken over as input; "
              "Alltoall and Barrier are recursive doubling, Bcast and Reduce binomial",
              verdict({call: FT.count(call) for call in CALLS} == CALLS))
    yield Row("t3", "Table 3: the simulated network",
              "1000 Mb/s, 2 to 4 ports, 100 us, 10 ms", "the same as table 1, as input",
              verdict((settings["mbps"], settings["ports"], settings["latency_ns"],
                       settings["setup_us"]) == (1000, [2, 3, 4], 100000, 10000)))


def setups(curves):
    counts = {name: [one.setups[k] for k in (1, *PORTS)] for name, one in curves.items()}
    wanted = {"linear": [31, 16, 11, 8], "ring": [62, 1, 1, 1],
              "recursive-doubling": [5, 3, 2, 2], "binomial": [5, 3, 2, 2]}
    yield Row("s1", "Set-ups that are waited for one after the other at p = 32; naive, 2, 3, 4 "
              "ports", "ring: 62 and 1; the others by the equations",
              "; ".join(f"{name} {', '.join(map(str, one))}" for name, one in counts.items()),
              verdict(counts == wanted))


def figure_statements(curves):
    linear, ring = curves["linear"], curves["ring"]
    doubling, binomial = curves["recursive-doubling"], curves["binomial"]
    sizes = sorted(linear.sizes)
    yield Row("s2", "Figure 7: the naive ring takes 0.6 s at least", ">= 0.6 s",
              f"{ring.at(1, 1):.4f} s at 1 byte, {ring.setups[1] * GAMMA:.2f} s of it set-ups",
              verdict(min(ring.at(n, 1) for n in sizes) >= 0.6))
    same = all(one.at(n, 3) == one.at(n, 4) for one in (doubling, binomial) for n in sizes)
    yield Row("s3", "Figure 8: recursive doubling takes as long with 3 ports as with 4", "equal",
              "equal to the last bit at every size, for binomial too; ceil(5/3) = ceil(5/4) = 2 "
              "(the text's ceil(3/2) = ceil(4/2) is a slip)" if same else "not equal",
              verdict(same))
    gains = {n: [linear.gain(n, k) for k in PORTS] for n in (1, 10000, 100000, 1000000)}
    small = all(gain >= 1.9 for n in (1, 10000) for gain in gains[n])
    large = all(gain >= 1.9 for gain in gains[1000000])
    fast = [n for n in sizes if all(linear.gain(n, k) >= 1.9 for k in PORTS)]
    yield Row("s4", "Figure 6: linear, proposed is at least about 2 times as fast",
              ">= about 2 at every size",
              "; ".join(f"{n}: {series(gains[n])}" for n in gains) +
              " (2, 3, 4 ports); at least 1.9 with all of these " +
              (f"up to {max(fast):,} of {max(sizes):,} bytes" if fast else "at no size"),
              HOLDS if small and large else IN_PART if small else FAILS)
    shares = {n: linear.at(n, 0) / linear.at(n, 2) for n in (1000, 10000, 100000)}
    crossings = {k: linear.crossing(k) for k in (1, *PORTS)}
    later = {k: binomial.crossing(k) for k in (1, *PORTS)}
    begins = shares[10000] > 1.5 * shares[1000] and min(crossings.values()) > 100000
    yield Row("s5", "Figure 6: linear, from about 10K on communication's share begins to grow "
              "beyond that of set-ups", "10K",
              f"its share with 2 ports is {series(shares.values())} at 1K, 10K, 100K: it "
              f"{'begins' if begins else 'does not begin'} there; it is above a half from "
              f"{bytes_of(crossings)} on",
              IN_PART if begins else FAILS)
    order = all(later[k] > crossings[k] for k in PORTS)
    yield Row("s6", "Figure 9: binomial, the same from about 100K on: later than linear", "100K",
              f"above a half from {bytes_of(later)} on: "
              + series(later[k] / crossings[k] for k in (1, *PORTS))
              + " times the bytes of linear",
              IN_PART if order and abs(later[1] - crossings[1]) < 1 else FAILS)


def bytes_of(crossings):
    return ", ".join(f"{round(n):,}" for n in crossings.values()) + " bytes (naive, 2, 3, 4 ports)"


def properties(curves):
    runs = [compute("-p", p, "-k", "1..10", "-n", "1,1000,1000000", *algorithm)[0]
            for p, algorithms in ((2, ALGORITHMS[:1] + ALGORITHMS[2:]), *((2 ** i, ("all",))
                                                                         for i in range(2, 8)))
            for algorithm in (("-a", name) for name in algorithms)]
    rows = [row for found in runs for one in found.values() for row in one["sizes"]]
    holds = all(cost["simulated"] <= before["simulated"] for row in rows
                for before, cost in zip([row["naive"], *row["proposed"]], row["proposed"]))
    yield Row("s7", "Proposed is never slower than naive, nor are more ports slower than fewer",
              "always", f"in all {len(rows) * 10} cases: p 2 to 128, 1 to 10 ports, 1 byte, "
              "1 KB, 1 MB" if holds else "not always", verdict(holds))
    slower = {name: one.gain(1, 0) for name, one in curves.items()}
    yield Row("s8", "Naive is at least 10 times as slow as packet switching for small messages",
              ">= 10", ", ".join(f"{name} {gain:.0f}" for name, gain in slower.items()) +
              " times at 1 byte", verdict(min(slower.values()) >= 10))
    yield from table_4()
    costs = [cost for row in rows for cost in [row["naive"], row["ideal"], *row["proposed"]]]
    apart = max(abs(cost["equation"] - cost["simulated"]) for cost in costs)
    yield Row("s10", "Equations 1 to 8 are what an event simulation with a clock for each process "
              "gives", "(the paper has the equations)",
              f"{len(costs)} comparisons, none differs by 1 ns or more (unit.circuits and "
              "circuits.all: 2,340, p up to 1,024)" if apart < 1e-9 else f"{apart} s apart",
              verdict(apart < 1e-9))


def play(events, folder, *args):
    """Seconds of a rank's events, by ports (1: naive, 0: ideal)."""
    file = pathlib.Path(folder) / "rank.json"
    file.write_text(json.dumps(events), encoding="ascii")
    found, _ = paper_table.compute("collective", "-p", 16, "--events", file, *args)
    return {0 if way["circuits"] == "ideal" else way["ports"]: way["seconds"]
            for way in found["rank"]["rules"]}


def rank_of_ft(computing):
    """The events of a rank of FT, with so many seconds of computing before each call."""
    events = []
    for call in FT:
        events += [{"compute": computing}, {"call": call, "bytes": FT_BYTES[call]}]
    return events


def table_4():
    """FT's events are played. Their CPU times are not in the paper: they are the difference between
    the simulated calls without circuits' cost and the paper's Ideal."""
    with tempfile.TemporaryDirectory() as folder:
        calls = play(rank_of_ft(0), folder)[0]
        events = rank_of_ft((TABLE_4_IDEAL - calls) / len(FT))
        plain = play(events, folder)
        fitted = play(events, folder, "--call-setups", EXTRA_SETUPS_PER_CALL)
    exact = all(round(fitted[k], 2) == TABLE_4[k] for k in TABLE_4)
    less = [TABLE_4[k] - plain[k] for k in TABLE_4]
    yield Row("s9", "Table 4: FT in seconds; naive, 2, 3, 4 ports",
              f"{series(TABLE_4.values())} (ideal {TABLE_4_IDEAL})",
              f"{len(FT)} calls and the computing between them, {calls:.3f} s of calls without "
              f"circuits' cost, played: {series(fitted[k] for k in TABLE_4)} with "
              f"{EXTRA_SETUPS_PER_CALL} set-up more for each call, which is fitted; "
              f"{series(plain[k] for k in TABLE_4)} without, {series(less)} s less than theirs",
              FITTED if exact else FAILS)


def figures(curves):
    """Figures 6 to 9: {number: (name, {curve: [(bytes, seconds)]})}."""
    labels = {1: "Naive", 2: "2 Ports", 3: "3 Ports", 4: "4 Ports", 0: "Ideal"}
    return {6 + i: (name, {label: [(n, curves[name].at(n, k)) for n in curves[name].sizes]
                           for k, label in labels.items()})
            for i, name in enumerate(ALGORITHMS)}


def write_figures(curves, folder):
    for number, (name, lines) in figures(curves).items():
        rows = [["bytes", *lines],
                *([points[0][0], *(f"{cost:.9f}" for _, cost in points)]
                  for points in zip(*lines.values()))]
        paper_table.write_figure(folder / f"figure{number}.csv", rows,
                                 functools.partial(draw_figure, number, name, lines))


def draw_figure(number, name, lines, pyplot):
    figure, axes = pyplot.subplots()
    for label, points in lines.items():
        axes.plot(*zip(*points), label=label, marker=".")
    axes.set(xscale="log", yscale="log", xlabel="bytes", ylabel="seconds",
             title=f"Figure {number}: {name}, 32 processes")
    axes.legend()
    return figure


def statements():
    """(number, statement, theirs, ours, verdict) of each; and the curves of the figures."""
    found, settings = compute()
    curves = {name: Curves(one) for name, one in found.items()}
    rows = [*tables_1_to_3(settings), *setups(curves), *figure_statements(curves),
            *properties(curves)]
    return rows, curves


def main():
    parser = measuring.make_parser(__doc__, "scripts/reproduce-paper circuits")
    parser.add_argument("--figures", type=pathlib.Path, metavar="FOLDER")
    args = parser.parse_args()
    rows, curves = statements()
    fine = paper_table.show("Takizawa, Matsuoka, Nakada: MPI collectives on optical circuits",
                            rows)
    for number, (name, lines) in figures(curves).items():
        print(f"Figure {number}: {name}, seconds\n")
        print(f"{'bytes':>10}" + "".join(f"{label:>12}" for label in lines))
        for points in zip(*lines.values()):
            print(f"{points[0][0]:>10}" + "".join(f"{cost:>12.6f}" for _, cost in points))
        print()
    if args.figures:
        write_figures(curves, args.figures)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
