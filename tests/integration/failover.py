#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How long hosts wait for new forwarding tables after a loss, in one run.

A director fabric (see `portmajor generate -h`) is simulated by ibsim. A spine chassis
and a cable are lost with OpenSM on its first host, h0-1, routing with

 - portmajor and its early repair,
 - portmajor with `early_repair no`,
 - OpenSM's own engines (minhop; --engines names others),

each with ibsim's replies as they are and with a delay before each SMP that makes
them like those of hardware. For each loss are printed the number among all SMPs of the
last LFT Set, the seconds from the loss to it, and both as a multiple of the early
repair's. An early repair that is not the fastest is an error.
"""

import argparse
import dataclasses
import os
import pathlib
import sys
import tempfile

import pmlab
import simlab

LEAVES = {648: 36, 5832: 324, 11664: 648}
HARDWARE_US = 265
MAX_WIRE_SMPS = 4
EARLY, LATE = "portmajor", "portmajor, early_repair no"
LOSSES = (("chassis", "s1-*"), ("cable", "leaf5:20"))


@dataclasses.dataclass
class Failover:
    """One loss under one way of routing."""
    how: str
    delay_us: int
    loss: str
    lft_sets: int
    smp: int  # number of the last LFT Set among all SMPs
    seconds: float  # from the loss to it
    early_smp: int = 0  # the same of the early repair
    early_seconds: float = 0

    smp_ratio = property(lambda self: self.smp / max(self.early_smp, 1))
    seconds_ratio = property(lambda self: self.seconds / max(self.early_seconds, 0.001))


def open_sm(fabric, how, delay_us, folder):
    """An OpenSM that routes this way, with that delay before each SMP."""
    conf = {"max_wire_smps": MAX_WIRE_SMPS}
    env = {"MADCOUNT_DELAY_US": str(delay_us)} if delay_us else {}
    if how not in (EARLY, LATE):
        return simlab.OpenSM(fabric, engine=how, host="h0-1", conf=conf, env=env)
    config = folder / "portmajor.conf"
    config.write_text(f"flap_limit 0\nearly_repair {'yes' if how == EARLY else 'no'}\n")
    return simlab.OpenSM(fabric, engine="portmajor", host="h0-1", env=env,
                         conf=pmlab.plugin_options(config, **conf), plugin_dir=pmlab.BUILD)


def lose(fabric, osm, target):
    """Loses it and takes it back; again if OpenSM's sweeps saw the loss in parts."""
    for _ in range(pmlab.ATTEMPTS):
        lost = simlab.measure(fabric, osm, lambda: fabric.lose(target),
                              timeout=pmlab.TIMEOUT_S)
        simlab.measure(fabric, osm, lambda: fabric.back(target), timeout=pmlab.TIMEOUT_S)
        if lost["discoveries"] == 1:
            break
    return lost


def run(netlist, how, delay_us, losses=LOSSES):
    """Loses one after another and takes each back; returns a Failover for each."""
    results = []
    with pmlab.Folder() as folder, pmlab.Fabric(netlist) as fabric, \
            open_sm(fabric, how, delay_us, folder) as osm:
        osm.settle(timeout=pmlab.TIMEOUT_S)
        for name, target in losses:
            lost = lose(fabric, osm, target)
            results.append(Failover(how, delay_us, name, lost["lft_sets"],
                                    lost["last_lft_smp"], lost["lft_seconds"]))
        engine = how.partition(",")[0]
        if set(osm.engines_used()) != {engine}:
            raise simlab.SimError(f"routed with {osm.engines_used()}, not with {engine}")
    return results


def compare(netlist, engines=("minhop",), delays_us=(0, HARDWARE_US), tell=lambda text: None):
    """All ways of routing, with all delays."""
    results = []
    for delay_us in delays_us:
        for how in (EARLY, LATE, *engines):
            tell(f"{how}, {delay_us} us")
            results += run(netlist, how, delay_us)
    for result in results:
        early = next(r for r in results if (r.how, r.delay_us, r.loss)
                     == (EARLY, result.delay_us, result.loss))
        result.early_smp, result.early_seconds = early.smp, early.seconds
    return results


HEADER = ["loss", "delay us", "routing", "LFT Sets", "last is SMP", "ratio", "seconds", "ratio"]


def format_table(results):
    order = sorted(results, key=lambda r: (r.delay_us, r.loss))
    cells = [HEADER] + [[r.loss, str(r.delay_us), r.how, f"{r.lft_sets:,}", f"{r.smp:,}",
                         f"{r.smp_ratio:.1f}", f"{r.seconds:.3f}", f"{r.seconds_ratio:.1f}"]
                        for r in order]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADER))]
    return "\n".join("  ".join(text.ljust(widths[i]) if i in (0, 2) else text.rjust(widths[i])
                               for i, text in enumerate(line)).rstrip() for line in cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", type=int, nargs="?", default=648, choices=LEAVES)
    parser.add_argument("--engines", default="minhop",
                        help="OpenSM's, with commas between, e.g. minhop,ftree,updn")
    parser.add_argument("--delay", type=int, nargs="+", default=[0, HARDWARE_US], metavar="US",
                        help="microseconds before each SMP, one run each (default: 0 and "
                        f"{HARDWARE_US})")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="portmajor-failover-",
                                     dir=os.environ.get("SIMLAB_DIR")) as folder:
        netlist = pmlab.generate(pathlib.Path(folder) / "fabric.net", "director",
                                 LEAVES[options.hosts])
        results = compare(netlist, [e for e in options.engines.split(",") if e], options.delay,
                          lambda text: print(text, file=sys.stderr, flush=True))
    print(f"\nFrom a loss to the last LFT Set, {options.hosts:,} hosts, max_wire_smps "
          f"{MAX_WIRE_SMPS}\n")
    print(format_table(results))
    slower = [r for r in results if r.how != EARLY and r.seconds and r.seconds_ratio <= 1]
    for r in slower:
        print(f"{r.loss}, {r.delay_us} us: {r.how} was faster")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
