#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What hosts of a simulated fabric ask the subnet manager.

    ask(fabric, "h3-1", "saquery", "-g")     any program of infiniband-diags, on that host
    join(fabric, "h3-1", sm_lid, mgid)       joins a multicast group; leave() takes it back
    write_mft(fabric, "h3-1", lid, blocks)   writes into a switch's multicast table
    join_many(fabric, "h3-1", sm_lid, [...]) joins others to groups, as a proxy
    Multicast(fabric, "h3-1").faults(...)    follows tables read back from the switches
    Console(port).run("reroute")             OpenSM's console

Requests travel through the simulated fabric by LID, so that answers come only if
the tables of the switches are right. ibsim has no kernel that would put long answers
(RMPP) together: of a list only what fits in the first 200 bytes arrives.

Run as a program, with libumad2sim preloaded, this file is the host that joins.
"""

import collections
import ctypes
import os
import re
import socket
import struct
import subprocess
import sys

# MCMemberRecord and its component mask: what it takes to create a group.
RECORD = struct.Struct(">16s16sIHBBHBBIBB")
MGID, PORT_GID, QKEY, TCLASS = 1 << 0, 1 << 1, 1 << 2, 1 << 6
PKEY, SL, FLOW, JOIN_STATE = 1 << 7, 1 << 12, 1 << 13, 1 << 16
COMPONENTS = MGID | PORT_GID | QKEY | TCLASS | PKEY | SL | FLOW | JOIN_STATE
ATTR_MC_MEMBER = 0x38
SET, DELETE = 0x02, 0x15
SUBNET_PREFIX = 0xFE80000000000000
FULL_MEMBER = 1

TIMEOUT_S = 120


# --------------------------------------------------------------- programs on a host

def environment(fabric, host):
    import simlab  # here, because as a program this file does without it

    return dict(os.environ, IBSIM_SOCKNAME=fabric.sockname, SIM_HOST=host,
                LD_PRELOAD=simlab.UMAD2SIM)


def run(fabric, host, *argv, cwd=None):
    """Runs a program on a host; a CompletedProcess with text."""
    return subprocess.run(list(map(str, argv)), env=environment(fabric, host), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=TIMEOUT_S, cwd=cwd,
                          errors="replace")


def ask(fabric, host, *argv, cwd=None):
    """What the program printed; it must succeed."""
    done = run(fabric, host, *argv, cwd=cwd)
    if done.returncode:
        raise AssertionError(f"{argv} on {host}: {done.returncode} {done.stdout[-500:]}")
    return done.stdout


def saquery(fabric, host, *args):
    """The records that saquery prints: a list of {field: text}."""
    records = []
    for line in ask(fabric, host, "saquery", *args).splitlines():
        field = re.match(r"\s+([\w ]+?)\.{2,}(.*)$", line)
        if not field:
            records.append({})
        elif records:
            records[-1][field[1]] = field[2].strip()
    return [record for record in records if record]


def join(fabric, host, sm_lid, mgid, pkey=0xFFFF, method=SET):
    """Makes a host a full member of a group, which is created if need be.

    Returns the status of the answer, 0 if all is well, and the group's MLID.
    """
    answer = ask(fabric, host, sys.executable, "-B", __file__, sm_lid, f"{mgid:#x}",
                 f"{pkey:#x}", method).splitlines()[-1]
    status, mlid = answer.split()
    return int(status), int(mlid)


def join_many(fabric, host, sm_lid, wanted):
    """A host makes others full members, one after another: (MGID, port GUID) of each.

    Returns the MLIDs. A few ms each are saved against join().
    """
    text = "".join(f"{mgid:#x} {guid:#x}\n" for mgid, guid in wanted)
    done = subprocess.run([sys.executable, "-B", __file__, str(sm_lid)], check=False, text=True,
                          env=environment(fabric, host), input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S + len(wanted) / 50)
    answers = [line.split() for line in done.stdout.splitlines()]
    if done.returncode or any(answer[0] != "0" for answer in answers):
        raise AssertionError(f"{host} cannot join others: {done.stdout[-500:]}")
    return [int(mlid) for _, mlid in answers]


def leave(fabric, host, sm_lid, mgid):
    return join(fabric, host, sm_lid, mgid, method=DELETE)


def write_mft(fabric, host, lid, blocks):
    """Writes {(block, position): {index of an MLID in the block: mask}} to the switch with
    this LID; all other entries of these blocks are 0."""
    text = ";".join(f"{block},{position}" + "".join(f",{index}:{mask}"
                                                   for index, mask in masks.items())
                    for (block, position), masks in blocks.items())
    ask(fabric, host, sys.executable, "-B", __file__, "mft", lid, text)


# ------------------------------------------------------------------- what there is

Port = collections.namedtuple("Port", "guid peer peer_port")


def read_ports(fabric):
    """{(node, port number): Port} of all ports with a live cable, from ibsim's Dump."""
    ports, name = {}, None
    for line in fabric.dump().splitlines():
        node = re.match(r'[A-Z]\w+ \d+ "([^"]+)"', line)
        port = re.match(r'([0-9a-f]+)\s+\[(\d+)\]\s+"([^"]+)"\[(\d+)\]', line)
        if node:
            name = node[1]
        elif port and int(port[2]):
            ports[name, int(port[2])] = Port(int(port[1], 16), port[3], int(port[4]))
    return ports


class Multicast:
    """Multicast forwarding tables, read from the switches by a host.

    ports   {(switch, MLID): port numbers}
    """

    _SWITCH = re.compile(r"Multicast mlids \S+ of switch .*\((.*)\):$")
    _ROW = re.compile(r"0x([0-9a-f]{4}) ")
    _PORT_0, _COLUMNS = 12, 2  # in a row: where port 0 stands, and the next one after it

    def __init__(self, fabric, host):
        self.cables = read_ports(fabric)
        self.hosts = set(fabric.netlist.hosts)
        self.switches, self.ports = set(), {}
        for line in ask(fabric, host, "dump_mfts").splitlines():
            switch, row = self._SWITCH.match(line), self._ROW.match(line)
            if switch:
                name = switch[1]
                self.switches.add(name)
            elif row:
                marks = line[self._PORT_0::self._COLUMNS]
                self.ports[name, int(row[1], 16)] = {
                    number for number, mark in enumerate(marks) if mark == "x"}

    def users(self, mlid):
        """The switches with an entry for this group."""
        return {switch for switch, other in self.ports if other == mlid}

    def send(self, mlid, sender):
        """Where a packet of this host goes: the hosts that get it, and what is wrong."""
        start = self.cables[sender, 1]
        frontier, seen = [(start.peer, start.peer_port)], set()
        reached, faults = collections.Counter(), []
        while frontier:
            switch, came_by = frontier.pop()
            if switch in seen:
                faults.append(f"{sender}: comes to {switch} twice")
                continue
            seen.add(switch)
            for port in self.ports.get((switch, mlid), set()) - {came_by}:
                cable = self.cables.get((switch, port))
                if port == 0:
                    faults.append(f"{sender}: {switch} takes it itself")
                elif not cable:
                    faults.append(f"{sender}: {switch}[{port}] leads nowhere")
                elif cable.peer in self.hosts:
                    reached[cable.peer] += 1
                else:
                    frontier.append((cable.peer, cable.peer_port))
        return reached, faults

    def faults(self, mlid, members, senders=None):
        """What is wrong with a group: each member, or each of these senders, reaches the
        others once, no one else."""
        faults = []
        for sender in senders or members:
            reached, wrong = self.send(mlid, sender)
            faults += wrong
            wanted = collections.Counter(member for member in members if member != sender)
            if reached != wanted:
                faults.append(f"{sender}: missed {sorted((wanted - reached).elements())}, "
                              f"too many {sorted((reached - wanted).elements())}")
        return faults


# ---------------------------------------------------------------- OpenSM's console

def free_tcp_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Console:
    """A connection to an OpenSM started with `-q loopback -C PORT`."""

    PROMPT = b"OpenSM $ "

    def __init__(self, port):
        self.port = port

    def __enter__(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S)
        self._read()
        return self

    def __exit__(self, *exc):
        self.socket.close()

    def _read(self):
        text = b""
        while not text.endswith(self.PROMPT):
            more = self.socket.recv(65536)
            if not more:
                raise EOFError(f"OpenSM's console closed after {text!r}")
            text += more
        return text[:-len(self.PROMPT)].decode(errors="replace")

    def run(self, command):
        """What a command prints."""
        self.socket.sendall(command.encode() + b"\n")
        return self._read()


# ------------------------------------------------------------------ the joining host

class _Agent:
    """Sends requests to the SA, or to another manager of a class, by libibumad."""

    SIZE, RECORD_OFFSET = 256, 56
    SA_CLASS, SA_VERSION, WELL_KNOWN_QKEY = 3, 2, 0x80010000
    SMP_CLASS, SMP_VERSION, SMP_DATA_OFFSET, ATTR_MFT = 1, 1, 64, 0x1B
    TIMEOUT_MS, RETRIES = 3000, 3

    def __init__(self, mad_class=SA_CLASS, version=SA_VERSION):
        self.umad = ctypes.CDLL("libibumad.so.3", use_errno=True)
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
        """Sends a datagram to a LID's queue pair; the answer."""
        buffer = ctypes.create_string_buffer(self.umad.umad_size() + self.SIZE)
        at = self.umad.umad_get_mad(buffer) - ctypes.addressof(buffer)
        buffer[at:at + self.SIZE] = mad.ljust(self.SIZE, b"\0")
        self.umad.umad_set_addr(buffer, lid, port, 0, qkey)
        for _ in range(1 + self.RETRIES):
            self._check(self.umad.umad_send(self.fd, self.agent, buffer, self.SIZE, 0, 0),
                        "umad_send")
            length = ctypes.c_int(self.SIZE)
            got = ctypes.create_string_buffer(len(buffer))
            if self.umad.umad_recv(self.fd, got, ctypes.byref(length), self.TIMEOUT_MS) >= 0:
                return got[at:at + self.SIZE]
        raise TimeoutError(f"LID {lid} does not answer")

    @staticmethod
    def _header(mad_class, version, method, attribute, modifier=0):
        return struct.pack(">BBBBHHQHHI", 1, mad_class, version, method, 0, 0, os.getpid(),
                           attribute, 0, modifier)

    def request(self, sm_lid, method, attribute, mask, record):
        """The answer's status and the record in it."""
        mad = self._header(self.SA_CLASS, self.SA_VERSION, method, attribute)
        answer = self.exchange(sm_lid, mad.ljust(48, b"\0") + struct.pack(">Q", mask) + record,
                               1, self.WELL_KNOWN_QKEY)
        return struct.unpack_from(">H", answer, 4)[0], answer[self.RECORD_OFFSET:]

    def set_mft(self, lid, block, position, masks):
        """Sets a block of a switch; its answer must be that."""
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


def write(lid, text):
    agent = _Agent(_Agent.SMP_CLASS, _Agent.SMP_VERSION)
    for part in text.split(";"):
        block, position, *masks = part.split(",")
        agent.set_mft(int(lid), int(block), int(position),
                      dict(tuple(map(int, mask.split(":"))) for mask in masks))


def main(sm_lid, mgid=None, pkey=None, method=None):
    agent = _Agent()
    if mgid:
        request(agent, int(sm_lid), int(mgid, 16), agent.port_guid(), int(pkey, 16), int(method))
        return
    for line in sys.stdin:
        request(agent, int(sm_lid), *(int(field, 16) for field in line.split()))


if __name__ == "__main__":
    if sys.argv[1] == "mft":
        write(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
