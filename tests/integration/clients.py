#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Requests of hosts of a simulated fabric to the subnet manager.

    ask(fabric, "h3-1", "saquery", "-g")     any program of infiniband-diags, on that host
    join(fabric, "h3-1", sm_lid, mgid)       joins a multicast group; leave() takes it back
    write_mft(fabric, "h3-1", lid, blocks)   writes into a switch's multicast table
    join_many(fabric, "h3-1", sm_lid, [...]) joins others to groups, as a proxy
    Multicast(fabric, "h3-1").faults(...)    follows tables read back from the switches
    Console(port).run("reroute")             OpenSM's console

Requests travel through the simulated fabric by LID, so answers come only if the tables of the
switches are right. ibsim has no kernel that would put long answers (RMPP) together: of a list only
the first 200 bytes arrive.
"""

import collections
import os
import re
import socket
import subprocess
import sys

import simlab

SET, DELETE = 0x02, 0x15

PROGRAM = [sys.executable, "-S", "-B", os.path.join(os.path.dirname(__file__), "sa_client.py")]
TIMEOUT_S = 120


# --------------------------------------------------------------- programs on a host

def environment(fabric, host):
    return dict(os.environ, IBSIM_SOCKNAME=fabric.sockname, SIM_HOST=host,
                LD_PRELOAD=simlab.UMAD2SIM)


def run(fabric, host, *argv, cwd=None):
    """Runs a program on a host; a CompletedProcess with text."""
    return subprocess.run(list(map(str, argv)), env=environment(fabric, host), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=TIMEOUT_S, cwd=cwd,
                          errors="replace")


def ask(fabric, host, *argv, cwd=None):
    """The output of a program, which must succeed."""
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
    answer = ask(fabric, host, *PROGRAM, sm_lid, f"{mgid:#x}",
                 f"{pkey:#x}", method).splitlines()[-1]
    status, mlid = answer.split()
    return int(status), int(mlid)


def join_many(fabric, host, sm_lid, wanted):
    """Has a host make others full members, one after another: (MGID, port GUID) of each.

    Returns the MLIDs. Saves a few ms each, compared with join().
    """
    text = "".join(f"{mgid:#x} {guid:#x}\n" for mgid, guid in wanted)
    done = subprocess.run([*PROGRAM, str(sm_lid)], check=False, text=True,
                          env=environment(fabric, host), input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S + len(wanted) / 50)
    answers = [line.split() for line in done.stdout.splitlines()]
    if done.returncode or any(answer[0] != "0" for answer in answers):
        raise AssertionError(f"{host} cannot join others: {done.stdout[-500:]}")
    return [int(mlid) for _, mlid in answers]


def path_lanes(fabric, host, sm_lid, pairs):
    """The SL that OpenSM gives to the path of each pair of LIDs; -1: no path."""
    done = subprocess.run([*PROGRAM, "lanes", str(sm_lid)], check=True, text=True,
                          env=environment(fabric, host), stdout=subprocess.PIPE,
                          input="".join(f"{slid} {dlid}\n" for slid, dlid in pairs),
                          timeout=TIMEOUT_S + len(pairs) / 50)
    return [int(line) for line in done.stdout.split()]


def leave(fabric, host, sm_lid, mgid):
    return join(fabric, host, sm_lid, mgid, method=DELETE)


def write_mft(fabric, host, lid, blocks):
    """Writes {(block, position): {index of an MLID in the block: mask}} to the switch with
    this LID; all other entries of these blocks are 0."""
    text = ";".join(f"{block},{position}" + "".join(f",{index}:{mask}"
                                                   for index, mask in masks.items())
                    for (block, position), masks in blocks.items())
    ask(fabric, host, *PROGRAM, "mft", lid, text)


# ----------------------------------------------------------- ports and multicast tables

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
    _PORT_0, _COLUMNS = 12, 2  # in a row: the column of port 0, and columns to the next one

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
        """The way of a host's packet: the hosts that get it, and the errors."""
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
        """The faults of a group: each member, or each of these senders, must reach each other
        member once, and no other host."""
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
        """The output of a command."""
        self.socket.sendall(command.encode() + b"\n")
        return self._read()
