#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures the plugin's CPU time in sweeps without news.

OpenSM brings up a fabric that `portmajor generate` makes, then sweeps a few times while perf
samples its stacks. That makes everything slower: only ratios count, to all of OpenSM's time or to
the time of another version's plugin. Needs Debian's linux-perf.

    plugin_cpu.py director 324
    plugin_cpu.py --plugin /other/build/release director 324
"""

import argparse
import pathlib
import re
import signal
import subprocess
import tempfile

import pmlab
import simlab

SAMPLES_PER_S = 499
STACK = 4096  # bytes of a sample


def plugin_share(path):
    """The plugin's share of the samples in perf's file. Of the plugin and OpenSM, the one that was
    called last has the sample, as each calls the other."""
    script = subprocess.run(["perf", "script", "-i", path, "--no-inline", "-F", "ip,dso"],
                            capture_output=True, text=True, check=True).stdout
    samples = [re.search(r"/(libportmajor\.so|opensm)\)", sample) for sample in script.split("\n\n")
               if sample.strip()]
    return sum(found is not None and found[1] != "opensm" for found in samples) / len(samples)


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sweeps", type=int, default=5, help="default: 5")
    parser.add_argument("--plugin", metavar="FOLDER", default=pmlab.BUILD,
                        help="the folder with libportmajor.so; default: this build's")
    parser.add_argument("generate", nargs="+", help="arguments of `portmajor generate`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        netlist = pmlab.generate(folder / "fabric.net", *options.generate)
        with pmlab.Lab(netlist, env={"LD_LIBRARY_PATH": str(options.plugin)}) as lab:
            osm, pid = lab.osm, lab.osm.process.pid
            osm.settle(timeout=pmlab.TIMEOUT_S)
            before = simlab.cpu_ticks(pid)
            with simlab.start_process(
                    ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_PER_S),
                     "--call-graph", f"dwarf,{STACK}", "-p", str(pid), "-o",
                     str(folder / "samples")]) as perf:
                for _ in range(options.sweeps):
                    mark = osm.mark()
                    osm.hup()
                    osm.settle(mark)
                perf.send_signal(signal.SIGINT)
            ticks = simlab.cpu_ticks(pid) - before
        share = plugin_share(folder / "samples")
    seconds = ticks / 100 / options.sweeps
    print(f"a sweep without news: {seconds:.2f} s of CPU, of these the plugin's "
          f"{seconds * share * 1e3:.1f} ms ({share:.1%})")


if __name__ == "__main__":
    main()
