#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A host of a simulated fabric that sends requests, run with libumad2sim preloaded.

    sa_client.py SM_LID MGID PKEY METHOD    joins a group or leaves it
    sa_client.py SM_LID                     joins others, MGID and port GUID in each line
    sa_client.py lanes SM_LID               asks for the SL of paths, `SLID DLID` in each line
    sa_client.py mft LID BLOCKS             writes blocks of a multicast table

Tests start it hundreds of times, so it imports little. clients.py has functions for it.
"""

import ctypes
import os
import struct
import sys

# MCMemberRecord and its component mask: the components that create a group.
RECORD = struct.Struct(">16s16sIHBBHBBIBB")
MGID, PORT_GID, QKEY, TCLASS = 1 << 0, 1 << 1, 1 << 2, 1 << 6
PKEY, SL, FLOW, JOIN_STATE = 1 << 7, 1 << 12, 1 << 13, 1 << 16
COMPONENTS = MGID | PORT_GID | QKEY | TCLASS | PKEY | SL | FLOW | JOIN_STATE
ATTR_MC_MEMBER = 0x38
GET, SET, DELETE = 0x01, 0x02, 0x15
# PathRecord
ATTR_PATH = 0x35
PATH_DLID, PATH_SLID, PATH_LIDS_AT, PATH_SL_AT = 1 << 4, 1 << 5, 40, 52
SUBNET_PREFIX = 0xFE80000000000000
FULL_MEMBER = 1


class Agent:
    """Sends requests to the SA, or to another manager of a class, by libibumad."""

    LIBRARY = "libibumad.so.3"
    SIZE, RECORD_OFFSET = 256, 56
    SA_CLASS, SA_VERSION, WELL_KNOWN_QKEY = 3, 2, 0x80010000
    SMP_CLASS, SMP_VERSION, SMP_DATA_OFFSET, ATTR_MFT = 1, 1, 64, 0x1B
    TIMEOUT_MS, RETRIES = 3000, 3
    ANSWER_MS = 0  # the time-out of umad_send

    def __init__(self, mad_class=SA_CLASS, version=SA_VERSION):
        self.umad = ctypes.CDLL(self.LIBRARY, use_errno=True)
        self.umad.umad_get_mad.restype = ctypes.c_void_p
        self._check(self.umad.umad_init(), "umad_init")
        self.fd = self._check(self.umad.umad_open_port(None, 0), "umad_open_port")
        self.agent = self._check(self.umad.umad_register(self.fd, mad_class, version, 0, None),
                                 "umad_register")

    @staticmethod
    def _check(result, what):
        if result < 0:
            raise OSError(-result, what)
        return result

    def exchange(self, lid, mad, port, qkey):
        """Sends a datagram to a queue pair of a LID; returns the answer."""
        buffer = ctypes.create_string_buffer(self.umad.umad_size() + self.SIZE)
        at = self.umad.umad_get_mad(buffer) - ctypes.addressof(buffer)
        buffer[at:at + self.SIZE] = mad.ljust(self.SIZE, b"\0")
        self.umad.umad_set_addr(buffer, lid, port, 0, qkey)
        for _ in range(1 + self.RETRIES):
            self._check(self.umad.umad_send(self.fd, self.agent, buffer, self.SIZE,
                                            self.ANSWER_MS, 0), "umad_send")
            length = ctypes.c_int(self.SIZE)
            got = ctypes.create_string_buffer(len(buffer))
            # A datagram that cannot be delivered comes back with a status, and is no answer.
            if (self.umad.umad_recv(self.fd, got, ctypes.byref(length), self.TIMEOUT_MS) >= 0
                    and self.umad.umad_status(got) == 0):
                return got[at:at + self.SIZE]
        raise TimeoutError(f"LID {lid} does not answer")

    @staticmethod
    def _header(mad_class, version, method, attribute, modifier=0):
        return struct.pack(">BBBBHHQHHI", 1, mad_class, version, method, 0, 0, os.getpid(),
                           attribute, 0, modifier)

    def request(self, sm_lid, method, attribute, mask, record):
        """The status of the answer and the record in it."""
        mad = self._header(self.SA_CLASS, self.SA_VERSION, method, attribute)
        answer = self.exchange(sm_lid, mad.ljust(48, b"\0") + struct.pack(">Q", mask) + record,
                               1, self.WELL_KNOWN_QKEY)
        return struct.unpack_from(">H", answer, 4)[0], answer[self.RECORD_OFFSET:]

    def set_mft(self, lid, block, position, masks):
        """Sets a block of a switch; the answer must have the same content."""
        mad = self._header(self.SMP_CLASS, self.SMP_VERSION, SET, self.ATTR_MFT,
                           position << 28 | block)
        data = struct.pack(">32H", *(masks.get(index, 0) for index in range(32)))
        answer = self.exchange(lid, mad.ljust(self.SMP_DATA_OFFSET, b"\0") + data, 0, 0)
        if answer[self.SMP_DATA_OFFSET:self.SMP_DATA_OFFSET + 64] != data:
            raise OSError(f"LID {lid} has not taken block {block}, {position}")

    def port_guid(self):
        guids = (ctypes.c_uint8 * 8 * 3)()
        self._check(self.umad.umad_get_ca_portguids(None, guids, 3), "umad_get_ca_portguids")
        return int.from_bytes(guids[1], "big")


def request(agent, sm_lid, mgid, guid, pkey=0xFFFF, method=SET):
    """Joins or leaves, and prints the status and the MLID."""
    record = RECORD.pack(mgid.to_bytes(16, "big"), struct.pack(">QQ", SUBNET_PREFIX, guid),
                         0x0B1B, 0, 0, 0, pkey, 0, 0, 0, 0x20 | FULL_MEMBER, 0)
    status, answer = agent.request(sm_lid, method, ATTR_MC_MEMBER, COMPONENTS, record)
    print(status, struct.unpack_from(">H", answer, 36)[0])


def print_lane(agent, sm_lid, slid, dlid):
    """Prints the SL of a path, or -1: there is no path."""
    record = struct.pack(">HH", dlid, slid).rjust(PATH_LIDS_AT + 4, b"\0").ljust(64, b"\0")
    status, answer = agent.request(sm_lid, GET, ATTR_PATH, PATH_DLID | PATH_SLID, record)
    print(-1 if status else struct.unpack_from(">H", answer, PATH_SL_AT)[0] & 0xF)


def write(lid, text):
    agent = Agent(Agent.SMP_CLASS, Agent.SMP_VERSION)
    for part in text.split(";"):
        block, position, *masks = part.split(",")
        agent.set_mft(int(lid), int(block), int(position),
                      dict(tuple(map(int, mask.split(":"))) for mask in masks))


def main(sm_lid, mgid=None, pkey=None, method=None):
    agent = Agent()
    if mgid:
        request(agent, int(sm_lid), int(mgid, 16), agent.port_guid(), int(pkey, 16), int(method))
        return
    for line in sys.stdin:
        request(agent, int(sm_lid), *(int(field, 16) for field in line.split()))


if __name__ == "__main__":
    if sys.argv[1] == "mft":
        write(*sys.argv[2:])
    elif sys.argv[1] == "lanes":
        AGENT = Agent()
        for LINE in sys.stdin:
            print_lane(AGENT, int(sys.argv[2]), *map(int, LINE.split()))
    else:
        main(*sys.argv[1:])
