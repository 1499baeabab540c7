#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures how long OpenSM's lock is held in sweeps without news, beside a memcpy.

OpenSM brings up a fabric that `portmajor generate` makes, then sweeps a few times. Of each function
that takes the lock the longest hold is printed, in CPU time, of the sweep in which it was shortest;
likewise of the engine's callback, which OpenSM calls with the lock held exclusively, in time; and
the shortest copy of as many bytes as all tables have.

    lock_holds.py director 648
    lock_holds.py xgft 3 32,32,40 1,32,32      8 GiB, some minutes
"""

import argparse
import pathlib
import tempfile
import time

import lockwatch
import pmlab

CALLBACK = "the engine's callback"


def memcpy_ms(size):
    """Of copying so many bytes, in memory that was touched before; the best of some."""
    source, target = memoryview(bytes(size)), memoryview(bytearray(size))
    best = float("inf")
    for _ in range(20):
        begun = time.perf_counter()
        target[:] = source
        best = min(best, time.perf_counter() - begun)
    return best * 1e3


def is_ours(function):
    """Whether it is the plugin's; others are OpenSM's."""
    return not function.startswith(("osm_", "opensm+"))


def holds(lab, watch, sweeps):
    """{function: ms of its longest hold} in so many sweeps without news."""
    best = {}
    for _ in range(sweeps):
        watch.reset()
        event = lab.measure("nothing", lab.osm.hup)
        found = {name: held.longest_cpu_ms for name, held in watch.read().items()}
        found[CALLBACK] = sum(run.locked_ms for run in event.runs)
        for name, ms in found.items():
            best[name] = min(best.get(name, ms), ms)
    return best


def measure(generate, sweeps):
    """({function: ms}, memcpy in ms) in a new fabric."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        netlist = pmlab.generate(folder / "fabric.net", *generate)
        watch = lockwatch.Lockwatch(folder)
        with pmlab.Lab(netlist, preload=[watch.LIBRARY], env=watch.env) as lab:
            full = lab.bring_up().runs[-1].full_load
            return holds(lab, watch, sweeps), memcpy_ms(64 * full)


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sweeps", type=int, default=5, help="default: 5")
    parser.add_argument("generate", nargs="+", help="arguments of `portmajor generate`")
    options = parser.parse_args()
    found, memcpy = measure(options.generate, options.sweeps)
    print(f"memcpy of all tables: {memcpy:.2f} ms")
    for name, ms in sorted(found.items(), key=lambda item: -item[1]):
        if ms >= memcpy / 20:
            who = "portmajor" if is_ours(name) else "OpenSM"
            print(f"{ms:9.2f} ms  {ms / memcpy:6.2f} x memcpy  {who:9}  {name}")


if __name__ == "__main__":
    main()
