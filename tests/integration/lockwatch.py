# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures how long OpenSM's lock is held, by function; liblockwatch.so does the work.

    watch = Lockwatch(folder)
    with pmlab.Lab(netlist, preload=[watch.LIBRARY], env=watch.env) as lab:
        watch.reset()
        ...
        watch.read()["osm_mcast_mgr_process"].cpu_ms
"""

import collections
import mmap
import re
import struct
import subprocess

import pmlab

# cpu_ms: while it is held; before_cpu_ms: of the same thread since it released the lock before;
# longest_cpu_ms: of one hold.
Held = collections.namedtuple("Held", "count wall_ms cpu_ms before_cpu_ms longest_cpu_ms")


def add(one, other):
    """Of two places in a function."""
    both = Held(*map(sum, zip(one, other)))
    return both._replace(longest_cpu_ms=max(one.longest_cpu_ms, other.longest_cpu_ms))


class Lockwatch:
    LIBRARY = str(pmlab.BUILD / "liblockwatch.so")
    PLUGIN = pmlab.BUILD / "libportmajor.so"
    CALLERS, LAYOUT = 64, struct.Struct("56sQQQQQ")

    def __init__(self, folder):
        path = folder / "lockwatch"
        with open(path, "w+b") as file:
            file.truncate(self.CALLERS * self.LAYOUT.size)
            self._map = mmap.mmap(file.fileno(), 0)
        self.env = {"LOCKWATCH_FILE": str(path)}
        self._names = {}

    def reset(self):
        for at in range(0, len(self._map), self.LAYOUT.size):
            self._map[at + 56:at + self.LAYOUT.size] = bytes(40)

    def read(self):
        """{function: Held}; a function of the plugin has its name from the debug symbols."""
        found = {}
        for name, *numbers in self.LAYOUT.iter_unpack(self._map[:]):
            name = self._name(name.partition(b"\0")[0].decode())
            if numbers[0]:
                count, *times = numbers
                held = Held(count, *(ns / 1e6 for ns in times))
                found[name] = add(found[name], held) if name in found else held
        return found

    def _name(self, name):
        place = re.fullmatch(r"libportmajor\.so\+(0x[0-9a-f]+)", name)
        if place and name not in self._names:
            address = int(place[1], 16) - 1  # the call, not behind it
            text = subprocess.run(["addr2line", "-fie", self.PLUGIN, hex(address)], text=True,
                                  capture_output=True, check=True).stdout
            self._names[name] = next(line for line in text.split("\n")[::2]
                                     if not line.startswith(("cl_plock", "lock_share")))
        return self._names.get(name, name)
