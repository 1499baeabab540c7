#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The statements of Ueno et al. ("Flow control method in high speed transfer using optical
interconnect", RHiNET-3/SW) beside the results of portmajor-lab traffic --engine flit.

Statements 1 to 11 are requirements of a simulator of that system; c1 to c10 are the claims of the
paper. Its text has no number of throughput or latency, so claims are compared as relations. Exit
status 1 if a verdict differs from that of the comparison by hand (EXPECTED). With --figures, the
curves of figures 5 to 7 are written as CSV, and as SVG where matplotlib is there.
"""

import functools
import math
import pathlib
import statistics
import sys

import measuring
import paper_table
from paper_table import FAILS, HOLDS, IN_PART, Row, verdict

UNKNOWN = "cannot be told"

EXPECTED = {
    "1": HOLDS, "2": HOLDS, "3": HOLDS, "4": HOLDS, "5": IN_PART, "6": HOLDS, "7": HOLDS,
    "8": HOLDS, "9": HOLDS, "10": IN_PART, "11": HOLDS,
    "c1": HOLDS, "c2": IN_PART, "c3": HOLDS, "c4": IN_PART, "c5": IN_PART, "c6": HOLDS,
    "c7": UNKNOWN, "c8": IN_PART, "c9": IN_PART, "c10": UNKNOWN}

FLOWS = ("credit", "slack")
TORUS = ("--topology", "torus:4x4")
MESH = ("--topology", "mesh:4x5", "--vc-rule", "one")
LENGTHS = (16, 32, 48, 60, 64, 66, 72, 96, 128, 256)
STUDENT = {10: 2.262, 20: 2.093}  # 95%, by number of seeds

# (title, options of the network and traffic); lengths and loads are the curves'.
FIGURES = {5: ("torus, random", TORUS),
           6: ("torus, hot spot", (*TORUS, "--pattern", "hotspot:5")),
           7: ("full mesh, random", ("--topology", "mesh:4x5", "--vc-rule", "any"))}


class Bench:
    """The amount of simulation; results are kept, as several statements use them."""

    def __init__(self, quick):
        self.quick = quick
        self.cycles = ("--warm-up", 10000, "--cycles", 25000) if quick else ()
        self.seeds = 10 if quick else 20

    @functools.lru_cache(maxsize=None)
    def run(self, *args):
        """The points of the command, and its exit status."""
        found, status = paper_table.compute("traffic", "--engine", "flit", *args, statuses=(0, 1))
        return found["points"], status

    def points(self, *args):
        return self.run(*self.cycles, *args)[0]

    def saturation(self, net, flow, lengths=LENGTHS):
        """{length: accepted at load 1, seed by seed}."""
        points = self.points(*net, "--flow", flow, "--length", ",".join(map(str, lengths)),
                             "--load", 1, "--seeds", self.seeds)
        return {one["length"]: [run["accepted"] for run in one["runs"]] for one in points}

    def lost(self, net, flow, length):
        """Flits lost in the same runs."""
        points = self.points(*net, "--flow", flow, "--length", ",".join(map(str, LENGTHS)),
                             "--load", 1, "--seeds", self.seeds)
        return next(one["lost_flits"] for one in points if one["length"] == length)

    def ratios(self, net):
        """{length: slack / credit, seed by seed}."""
        credit, slack = (self.saturation(net, flow) for flow in FLOWS)
        return {length: [b / a for a, b in zip(credit[length], slack[length])]
                for length in credit}


def mean(values):
    return statistics.fmean(values)


def interval(values):
    """Mean, and half of the interval that holds the true mean in 19 cases of 20."""
    half = STUDENT[len(values)] * statistics.stdev(values) / math.sqrt(len(values))
    return mean(values), half


def surely_below(values, others):
    """Seed by seed, over all of them."""
    found, half = interval([a - b for a, b in zip(values, others)])
    return found + half < 0


def both(one, other):
    """Joins two verdicts about two networks."""
    return HOLDS if one and other else IN_PART if one or other else FAILS


# ------------------------------------------------------------------ flow control itself

def cable_throughput(bench):
    """Statement 1: of one cable, {(buffer, cable): throughput}."""
    found = {}
    for buffer in (16, 32, 64, 128, 256):
        for cable in (5, 30, 64, 80, 100, 128, 192, 256, 512):
            points, _ = bench.run(
                "--topology", "chain:1", "--vc-rule", "one", "--pattern", "shift:1", "--load", 1,
                "--length", 32, "--buffer", buffer, "--cable", cable, "--seeds", 1, "--warm-up", 20 * cable,
                "--cycles", 400 * cable)
            found[buffer, cable] = points[0]["accepted"]
    return found


def statement_1(bench):
    found = cable_throughput(bench)
    away = max(abs(value / min(1, buffer / 2 / cable) - 1)
               for (buffer, cable), value in found.items())
    ours = ", ".join(f"D {cable}: {value:.3f}"
                     for (buffer, cable), value in found.items() if buffer == 128)
    return Row("1", "Two nodes, one cable: throughput with credits is min(1, B / 2D)",
               "bandwidth falls with a longer cable (sec. 4)",
               f"B = 128: {ours}; of B = 16 to 256 {away:.2%} away at most",
               verdict(away <= 0.005))


def fills(bench, flow):
    """{cable: (highest fill, flits lost)} of the mesh, full load."""
    found = {}
    for cable in (10, 29, 30, 31, 40):
        point = bench.points(*MESH, "--flow", flow, "--length", 32, "--load", 1, "--cable",
                             cable, "--seeds", 1)[0]
        found[cable] = point["highest_fill"], point["lost_flits"]
    return found


def statement_2(bench):
    slack, credit = fills(bench, "slack"), fills(bench, "credit")
    holds = all(fill == min(128, 67 + 2 * cable) and (lost > 0) == (67 + 2 * cable > 128)
                for cable, (fill, lost) in slack.items())
    holds &= not any(lost for _, lost in credit.values())
    ours = ", ".join(f"D {cable}: {fill}, {lost} lost" for cable, (fill, lost) in slack.items())
    return Row("2", "Slack: a buffer fills to STOP + 2D - 1, and flits are lost only if that is "
               "above B = 128; with credits never", "overflow and drops (sec. 4)",
               f"slack: {ours}; credit: none lost", verdict(holds))


def statement_3(bench):
    def latency(pair, length):
        points, _ = bench.run(*TORUS, "--pattern", f"pair:0:{pair}", "--load", 0.05, "--length",
                              length, "--seeds", 1, "--warm-up", 0, "--cycles", 20000)
        return points[0]["latency"]["p50"], points[0]["latency"]["max"]

    cables = {1: 3, 2: 4, 5: 4, 6: 5, 10: 6}  # to these nodes
    holds = all(latency(node, length) == (30 * far + length - 1,) * 2
                for node, far in cables.items() for length in (1, 16, 128))
    low = bench.points(*TORUS, "--load", 0.05, "--length", 16)[0]["latency"]["mean"]
    return Row("3", "Without load, latency is links x D + L - 1 cycles; torus, L = 16: 139 on "
               "average", "a flit moves a hop per clock (sec. 5)",
               f"exact over {len(cables)} distances and L = 1, 16, 128: {holds}; at load 0.05 "
               f"{low:.1f}", verdict(holds and 138.5 < low < 142))


# -------------------------------------------------------------------------- saturation

def statement_4(bench):
    found = {name: {length: mean(values) for length, values in bench.ratios(net).items()}
             for name, net in (("torus", TORUS), ("mesh", MESH))}
    holds = all(max(by.values()) < 1 and 0.92 <= mean(by.values()) <= 0.99
                for by in found.values())
    ours = "; ".join(f"{name}: " + ", ".join(f"L {length} {ratio:.3f}"
                                             for length, ratio in by.items())
                     for name, by in found.items())
    return Row("4", "Random traffic, L = 16 to 256: slack saturates below credit, at 0.92 to "
               "0.99 of it on average", "slack suffers (sec. 6.3)", ours, verdict(holds))


def dips(ratios):
    """Seed by seed, at 64 and 66 together."""
    near = [(a + b) / 2 for a, b in zip(ratios[64], ratios[66])]
    return all(surely_below(near, ratios[other]) for other in (60, 72))


def show_dip(ratios):
    return ", ".join("L {} {:.3f} +- {:.3f}".format(length, *interval(ratios[length]))
                     for length in (60, 64, 66, 72))


def statement_5(bench):
    torus, mesh = bench.ratios(TORUS), bench.ratios(MESH)
    return Row("5", "That ratio is lower just above GO (L = 64, 66) than at 60 and 72, seed by "
               "seed", "sizes just above the GO line (sec. 6.3)",
               "; ".join(f"{name}: {show_dip(ratios)}: {'' if dips(ratios) else 'not '}beyond "
                         "chance" for name, ratios in (("torus", torus), ("mesh", mesh))),
               both(dips(torus), dips(mesh)))


def statement_6(bench):
    found = {length: mean(values) for length, values in bench.ratios(TORUS).items()
             if length <= 128}
    return Row("6", "Of L = 16 to 128 that ratio is lowest at 128 (torus)",
               "at the VC's capacity performance drops (sec. 6.3)",
               f"lowest at {min(found, key=found.get)}: {min(found.values()):.3f}",
               verdict(min(found, key=found.get) == 128))


def statement_7(bench):
    gains = {}
    for buffer in (64, 80, 96, 128):
        accepted = [
            bench.points(*TORUS, "--flow", flow, "--buffer", buffer, "--length", 32, "--load", 1,
                         *more)[0]["accepted"]
            for flow, more in (("credit", ()), ("slack", ("--stop", buffer - 60, "--go",
                                                          max(0, buffer - 68))))]
        gains[buffer] = accepted[0] / accepted[1] - 1
    return Row("7", "Credit gains the more, the smaller buffers are, slack lossless (STOP = "
               "B - 60, GO = STOP - 8): > 40% at B = 64, < 5% at 128",
               "credit frees from buffer sizes (abstract)",
               ", ".join(f"B {buffer}: +{gain:.1%}" for buffer, gain in gains.items()),
               verdict(gains[64] > 0.4 and gains[128] < 0.05 and
                       sorted(gains.values(), reverse=True) == list(gains.values())))


def hot_spot(bench, percent, flow, lengths="8,32,64,128"):
    return bench.points(*TORUS, "--pattern", f"hotspot:5:{percent}", "--flow", flow, "--length",
                        lengths, "--load", 1, "--seeds", 2)


def statement_8(bench):
    points = [one for flow in FLOWS for one in hot_spot(bench, 100, flow)]
    holds = all(abs(one["accepted"] * 16 - 1) <= 0.001 and
                abs(one["busiest"]["load"] - 1) <= 0.001 and
                (one["busiest"]["from"], one["busiest"]["to"]) == ("s5", "n5") for one in points)
    spread = {f"{one['accepted']:.5f}" for one in points}
    return Row("8", "All to one: the hot link carries 1.000 with both, nodes send 1/16 within "
               "0.1%", "one link limits (sec. 6.4)",
               f"a node and cycle: {', '.join(sorted(spread))} (1/16 = 0.06250)", verdict(holds))


def statement_9(bench):
    credit, slack = (bench.run(*TORUS, "--flow", flow, "--length", "16,32,64,96", "--load",
                               "0.1..0.4")[0] for flow in FLOWS)
    away = [abs(b["latency"]["mean"] / a["latency"]["mean"] - 1) for a, b in zip(credit, slack)]
    return Row("9", "Far below saturation (load 0.1 to 0.4, L up to 96) both have the same "
               "latency, within 0.1%", "-", f"{max(away):.3%} apart at most",
               verdict(max(away) <= 0.001))


def statement_10(bench):
    def deadlocks(*args):
        points, status = bench.run(*TORUS, "--load", 1, "--warm-up", 0, *args)
        return sum(one["deadlock"] is not None for one in points), status, points

    short = ("--seeds", 10, "--cycles", 15000)
    safe = [deadlocks(*short, "--flow", flow, "--vc-rule", rule)
            for flow in FLOWS for rule in ("hop", "dateline")]
    one = [deadlocks("--seeds", 1, "--cycles", 50000, "--flow", flow, "--vc-rule", "one", "--ties",
                     "up") for flow in FLOWS]
    parity = deadlocks("--seeds", 1, "--cycles", 50000, "--vc-rule", "one")
    missing = sum(point["missing_flits"] for _, _, points in (*safe, *one, parity)
                  for point in points)
    good = not any(found for found, _, _ in safe) and all(found and status == 1
                                                          for found, status, _ in one)
    cycles = [str(points[0]["deadlock"]["cycle"]) if points[0]["deadlock"] else "none"
              for _, _, points in one]
    runs = sum(len(points[0]["runs"]) for _, _, points in safe)
    return Row("10", "No deadlock on the torus at load 1 (hop, dateline; 10 seeds); with one VC "
               "one is reported; flits in = out + inside",
               "structured channels avoid it (sec. 3.1)",
               f"hop, dateline: in {sum(found for found, _, _ in safe) or 'none'} of "
               f"{len(safe)} x {runs // len(safe)} runs; one VC, ties always up: found by cycle "
               f"{', '.join(cycles)} ({', '.join(FLOWS)}); one VC, ties by parity: "
               + ("found" if parity[0] else "none")
               + f"; {missing} flits missing",
               FAILS if not good or missing else HOLDS if parity[0] else IN_PART)


# ------------------------------------------------------------------------------ figures

@functools.lru_cache(maxsize=None)
def curves(bench):
    """{figure: {(flow, length): [(load, accepted, latency)]}}"""
    lengths, loads = (("16,64,128", "0.2..1.0/0.4") if bench.quick
                      else ("8,16,32,64,96,128", "0.1..1.0"))
    found = {}
    for number, (_, net) in FIGURES.items():
        found[number] = {}
        for flow in FLOWS:
            for one in bench.points(*net, "--flow", flow, "--length", lengths, "--load",
                                    "0.01,0.03,0.05,0.06,0.08,0.1" if number == 6 else loads,
                                    "--seeds", 1):
                found[number].setdefault((flow, one["length"]), []).append(
                    (one["load"], one["accepted"], one["latency"]["mean"]))
    return found


def write_figures(bench, folder):
    for number, lines in curves(bench).items():
        rows = [["flow", "length", "load", "accepted", "latency"],
                *([flow, length, f"{load:.2f}", f"{accepted:.5f}", f"{latency:.1f}"]
                  for (flow, length), points in lines.items()
                  for load, accepted, latency in points)]
        paper_table.write_figure(folder / f"figure{number}.csv", rows,
                                 functools.partial(draw_figure, number, lines))


def draw_figure(number, lines, pyplot):
    figure, parts = pyplot.subplots(2, sharex=True, figsize=(6, 9))
    for (flow, length), points in lines.items():
        parts[FLOWS.index(flow) == 0].plot([p[1] for p in points], [p[2] for p in points],
                                           label=f"{length} flits", marker=".")
    for part, flow in zip(parts, reversed(FLOWS)):
        part.set(yscale="log", ylabel="latency, cycles", title=flow)
        part.legend()
    parts[1].set(xlabel="accepted, flits a node and cycle")
    figure.suptitle(f"Figure {number}: {FIGURES[number][0]}")
    return figure


def statement_11(bench):
    holds, texts = True, []
    for number, lines in curves(bench).items():
        ends = {}
        for (flow, length), points in lines.items():
            holds &= all(accepted <= load * 1.02 for load, accepted, _ in points)
            holds &= points[0][2] < points[-1][2]  # latency grows
            ends.setdefault(flow, []).append(f"L {length} {points[-1][1]:.3f}")
        texts.append(f"{number}: " + "; ".join(f"{flow} {', '.join(by)}"
                                               for flow, by in ends.items()))
    return Row("11", "Figures 5 to 7: latency against throughput, a curve for each L; both "
               "saturate", "pictures without numbers", "throughput at the highest load: "
               + ". ".join(texts), verdict(holds))


# ------------------------------------------------------------------------------- claims

def show_fall(ratios):
    """The difference of the ratio at 64 flits to those beside it."""
    told = ", ".join(f"{mean(ratios[other]) - mean(ratios[64]):.3f} below that at {other}"
                     for other in (60, 72))
    return f"the ratio at 64 is {told}: {'' if dips(ratios) else 'not '}beyond chance"


def claims_of_slack(bench, rows):
    torus, mesh = bench.ratios(TORUS), bench.ratios(MESH)
    at = {(flow, length): bench.points(*TORUS, "--flow", flow, "--length", "64,128", "--load",
                                       0.6)[length == 128]["latency"]
          for flow in FLOWS for length in (64, 128)}
    slow = {length: at["slack", length]["mean"] / at["credit", length]["mean"] - 1
            for length in (64, 128)}
    # The ratio of the distances between latencies at 128 flits and at 64.
    spread = {flow: (at[flow, 128]["p99"] - at[flow, 128]["p50"]) /
              (at[flow, 64]["p99"] - at[flow, 64]["p50"]) for flow in FLOWS}
    drops, scatters = rows["6"].verdict == HOLDS and slow[128] > 2 * slow[64], \
        spread["slack"] > 1.5 * spread["credit"]
    return (
        Row("c1", "Slack: too long a cable overflows and drops; credit: only bandwidth falls",
            "sec. 4, 2.3", "see 1 and 2",
            verdict(rows["1"].verdict == rows["2"].verdict == HOLDS)),
        Row("c2", "Slack: sizes just above the GO line suffer", "sec. 6.3",
            "; ".join(f"{name}: {show_fall(ratios)}" for name, ratios in (("torus", torus),
                                                                          ("mesh", mesh)))
            + "; see 5", rows["5"].verdict),
        Row("c3", "Slack: at 128 flits, the VC's capacity, performance drops and scatter grows",
            "sec. 6.3", f"ratio at 128 {mean(torus[128]):.3f} (6); latency at load 0.6 "
            f"{slow[128]:+.0%}, at 64 flits {slow[64]:+.0%}; p99 - p50 there is "
            f"{spread['slack']:.1f} times that at 64 flits, with credits "
            f"{spread['credit']:.1f} times",
            both(drops, scatters)),
    )


def falls(values):
    """{(length, next one): percent by which throughput falls there, for each additional flit}"""
    lengths = sorted(values)
    return {(a, b): 100 * (1 - mean(values[b]) / mean(values[a])) / (b - a)
            for a, b in zip(lengths, lengths[1:])}


def rises(bench, load):
    """{(length, next one): percent by which latency with credits rises there, for each flit}"""
    lengths = (48, 60, 64, 66, 72, 96)
    points = bench.points(*TORUS, "--length", ",".join(map(str, lengths)), "--load", load)
    found = {one["length"]: one["latency"]["mean"] for one in points}
    return {(a, b): 100 * (found[b] / found[a] - 1) / (b - a)
            for a, b in zip(lengths, lengths[1:])}


def most_of_credit(bench):
    """The highest mean of slack's saturation divided by that with credits, of both networks."""
    return max(mean(values) for net in (TORUS, MESH) for values in bench.ratios(net).values())


def claims_of_credit(bench):
    found = {name: bench.saturation(net, "credit") for name, net in (("torus", TORUS),
                                                                     ("mesh", MESH))}
    change = {name: 1 - mean(by[128]) / mean(by[16]) for name, by in found.items()}
    torus = {length: by for length, by in found["torus"].items() if 48 <= length <= 96}
    fall = falls(torus)
    step = fall.pop((64, 66))
    # Groups: that is most of the way down. A step: it is steeper than its surroundings.
    groups = 2 * step > 50 * (1 - mean(torus[96]) / mean(torus[48]))
    steep = step > 2 * max(fall.values()) and surely_below(torus[66], torus[64])
    rise = rises(bench, 0.8)
    jump = rise.pop((64, 66))
    slower = jump > 2 * max(rise.values())
    return (
        Row("c4", "Credit: constant throughput whatever the size", "sec. 6.3",
            "from L = 16 to 128 it falls by " + ", ".join(f"{part:.0%} ({name})"
                                                         for name, part in change.items())
            + f"; slack reaches {most_of_credit(bench):.3f} of it at most, at one of L = "
            f"{LENGTHS[0]} to {LENGTHS[-1]}",
            both(change["torus"] < 0.05, change["mesh"] < 0.10)),
        Row("c5", "Credit: saturation falls into two groups, up to 64 flits and above (half the "
            "buffer)", "sec. 6.3", f"torus: from 64 to 66 flits it falls by {step:.2f}% for each "
            "flit more, else by "
            + ", ".join(f"{value:.2f}% ({a} to {b})" for (a, b), value in fall.items())
            + f": {'groups' if groups else 'a step, and no groups' if steep else 'no step'}; "
            f"latency at load 0.8 rises there by {jump:.1f}% for each flit more, else by at most "
            f"{max(rise.values()):.1f}%: {'a step' if slower else 'no step'}",
            HOLDS if groups else IN_PART if steep or slower else FAILS),
    )


def claims_of_hot_spot(bench, rows):
    share = {flow: [one["accepted"] for one in hot_spot(bench, 20, flow)] for flow in FLOWS}
    apart = max(abs(b / a - 1) for a, b in zip(share["credit"], share["slack"]))
    short, *_, long = (one["accepted"] for one in hot_spot(bench, 100, "credit"))
    return (
        Row("c6", "Hot spot: flow control makes no difference, one link limits", "sec. 6.4",
            f"all to one: {'the same' if rows['8'].verdict == HOLDS else 'not the same'} (8); "
            f"20% to one: {apart:.1%} apart at most",
            verdict(rows["8"].verdict == HOLDS and apart <= 0.02)),
        Row("c7", "Hot spot, credit: packets of 128 saturate otherwise than with random traffic",
            "sec. 6.4, not clear what is said", f"packets of 128 reach {long:.4f} with all to "
            f"one, of 8 {short:.4f}", UNKNOWN),
    )


def other_claims(bench, rows):
    accepted = {flow: mean(bench.saturation(TORUS, flow)[256]) for flow in FLOWS}
    lost = {flow: bench.lost(TORUS, flow, 256) for flow in FLOWS}
    most = most_of_credit(bench)
    round_trip = {metres: 2 * metres * 5 / 8 for metres in (250, 1000)}  # frames of 8 ns
    return (
        Row("c8", "Credit: a packet may be longer than a VC's buffer; slack limits it to about "
            "the round trip", "sec. 7", f"L = 256 above B = 128, torus: credit "
            f"{accepted['credit']:.3f} and {lost['credit']} flits lost, slack "
            f"{accepted['slack']:.3f} and {lost['slack']}: such packets pass with "
            + (" and ".join(flow for flow in FLOWS if accepted[flow] > 0.3 and not lost[flow])
               or "neither"),
            both(accepted["credit"] > 0.3, accepted["slack"] < 0.3)),
        Row("c9", "Credit: efficient whatever the ratio of packet to buffer, on both topologies",
            "sec. 7", f"slack reaches {most:.3f} of it at most, on both at every L (4); that it "
            f"is constant {rows['c4'].verdict} (c4)",
            both(rows["4"].verdict == HOLDS, rows["c4"].verdict == HOLDS)),
        Row("c10", "Retransmission buffers of 128 and 1024 frames cover 250 and 1000 m",
            "sec. 3.1", "not simulated; at 5 ns/m and 8 ns a frame the way there and back holds "
            + " and ".join(f"{frames:.0f} frames ({metres} m)"
                           for metres, frames in round_trip.items())
            + ", half as many flits, half of that one way", UNKNOWN),
    )


def statements(bench):
    """Rows: (number, statement, theirs, ours, verdict)."""
    rows = {}
    for state in (statement_1, statement_2, statement_3, statement_4, statement_5, statement_6,
                  statement_7, statement_8, statement_9, statement_10, statement_11):
        row = state(bench)
        rows[row.number] = row
    for claim in (claims_of_slack(bench, rows), claims_of_credit(bench),
                  claims_of_hot_spot(bench, rows)):
        rows.update((row.number, row) for row in claim)
    rows.update((row.number, row) for row in other_claims(bench, rows))
    return list(rows.values())


def main():
    parser = measuring.make_parser(__doc__, "scripts/reproduce-paper rhinet")
    parser.add_argument("--quick", action="store_true",
                        help="fewer cycles, seeds and curves: about a minute")
    parser.add_argument("--figures", type=pathlib.Path, metavar="FOLDER")
    args = parser.parse_args()
    bench = Bench(args.quick)
    rows = statements(bench)
    paper_table.show("Ueno, Inasawa, Nishi, Kudoh, Amano: flow control of RHiNET-3/SW", rows)
    if args.figures:
        write_figures(bench, args.figures)
    others = [row.number for row in rows if row.verdict != EXPECTED[row.number]]
    print("Other verdicts than expected: " + ", ".join(others) if others
          else "All verdicts are those expected.")
    sys.exit(1 if others else 0)


if __name__ == "__main__":
    main()
