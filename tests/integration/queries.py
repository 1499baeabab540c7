#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A host that queries the subnet administrator for paths without end.

    with Queries(fabric, "h7-5", sm_lid, lids, outstanding=64) as queries:
        queries.wait_answered(1000)

So many PathRecord queries are out at any time: each answer causes the next query, and a query
without an answer within LATE_S, as when its path died, is replaced by another one.

Run as a program, with libumad2sim preloaded, this file is that host.
"""

import contextlib
import ctypes
import mmap
import os
import pathlib
import struct
import sys
import tempfile
import time

import sa_client

LATE_S = 1.0
RECEIVE_MS = 100
GET, ATTR_PATH_RECORD = 0x01, 0x35
DLID, SLID = 1 << 4, 1 << 5
RECORD = struct.Struct(">40xHH20x")
COUNTERS = struct.Struct("@QQQ")  # answered, of these refused, given up


# ------------------------------------------------------------------- in the test

class Queries:
    """The host while in `with`; it begins at once.

    lids   destinations that are asked for in turn
    """

    def __init__(self, fabric, host, sm_lid, lids, outstanding):
        self.outstanding = outstanding
        self._fabric, self._host = fabric, host
        self._argv = [str(n) for n in (sm_lid, outstanding, *lids)]
        self._process = None

    def __enter__(self):
        import clients  # here, because as a program this file does without them
        import simlab

        self._stack = contextlib.ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="queries-"))
        path = pathlib.Path(folder) / "counters"
        path.write_bytes(bytes(COUNTERS.size))
        with open(path, "r+b") as counters:
            self._map = mmap.mmap(counters.fileno(), COUNTERS.size)
        self._process = simlab.start_process(  # umad2sim leaves a folder in its working directory
            [sys.executable, "-B", os.path.abspath(__file__), str(path), *self._argv], cwd=folder,
            env=clients.environment(self._fabric, self._host))
        return self

    def __exit__(self, *exc):
        import simlab

        simlab.stop_process(self._process)
        if self._fabric.process.poll() is None:
            self._fabric.detach(self._process.pid)
        self._stack.close()

    answered, refused, given_up = (property(lambda self, i=i: COUNTERS.unpack(self._map[:])[i])
                                   for i in range(3))

    def wait_answered(self, count, timeout=60):
        """Waits until so many more have been answered."""
        import simlab

        goal = self.answered + count

        def reached():
            if self._process.poll() is not None:
                raise simlab.SimError(f"queries ended with {self._process.returncode}")
            return self.answered >= goal

        simlab.poll_until(reached, timeout, f"{count} answers to queries")


# ------------------------------------------------------------------ on the host

class Asker(sa_client.Agent):
    """Keeps queries outstanding."""

    def __init__(self, counters, sm_lid, outstanding, lids):
        super().__init__()
        self._counters, self._sm_lid, self._lids = counters, sm_lid, lids
        self._since = [0.0] * outstanding
        self._number = outstanding  # of the next query; its transaction; slots in turn
        self._out = list(range(outstanding))  # [slot]: transaction
        self._send_buffer = ctypes.create_string_buffer(self.umad.umad_size() + self.SIZE)
        self._receive_buffer = ctypes.create_string_buffer(len(self._send_buffer))
        self._at = (self.umad.umad_get_mad(self._send_buffer)
                    - ctypes.addressof(self._send_buffer))
        self._own_lid = lids[0]

    def _ask(self, slot):
        """Sends the next query, in that slot."""
        self._number += len(self._out)
        number = self._number - self._number % len(self._out) + slot
        self._out[slot], self._since[slot] = number, time.monotonic()
        header = struct.pack(">BBBBHHQHHIB", 1, self.SA_CLASS, self.SA_VERSION, GET, 0, 0,
                             number, ATTR_PATH_RECORD, 0, 0, 0)
        record = RECORD.pack(self._lids[number % len(self._lids)], self._own_lid)
        mad = header.ljust(48, b"\0") + struct.pack(">Q", DLID | SLID) + record
        self._send_buffer[self._at:self._at + self.SIZE] = mad.ljust(self.SIZE, b"\0")
        self.umad.umad_set_addr(self._send_buffer, self._sm_lid, 1, 0, self.WELL_KNOWN_QKEY)
        self._check(self.umad.umad_send(self.fd, self.agent, self._send_buffer, self.SIZE, 0, 0),
                    "umad_send")

    def _receive(self):
        """The slot and the status of an answer; None, None: none came."""
        length = ctypes.c_int(self.SIZE)
        if self.umad.umad_recv(self.fd, self._receive_buffer, ctypes.byref(length),
                               RECEIVE_MS) < 0:
            return None, None
        status, _, number = struct.unpack_from(">HHQ", self._receive_buffer, self._at + 4)
        slot = number % 2**32 % len(self._out)
        return (slot, status) if self._out[slot] == number % 2**32 else (None, None)

    def run(self):
        answered = refused = given_up = 0
        for slot in range(len(self._out)):
            self._ask(slot)
        looked = time.monotonic()
        while True:
            slot, status = self._receive()
            if slot is not None:
                answered, refused = answered + 1, refused + bool(status)
                self._ask(slot)
            if time.monotonic() - looked > LATE_S / 10:
                looked = time.monotonic()
                given_up += self._ask_again(looked - LATE_S)
            self._counters[:] = COUNTERS.pack(answered, refused, given_up)

    def _ask_again(self, before):
        """Replaces queries that were sent before then; returns their number."""
        late = [slot for slot, since in enumerate(self._since) if since < before]
        for slot in late:
            self._ask(slot)
        return len(late)


def main(path, *numbers):
    sm_lid, outstanding, *lids = map(int, numbers)
    with open(path, "r+b") as counters:
        Asker(mmap.mmap(counters.fileno(), COUNTERS.size), sm_lid, outstanding, lids).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
