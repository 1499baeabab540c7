#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Subnet management datagrams that a test itself sends, over a wire, from a host.

    with Smps(fabric, "h3-1", Wire(packets=1)) as smps:
        info = smps.port_info("leaf0", 3)          # by a directed route
        answer = smps.set_port_info("leaf0", 3, state=ARMED)
        print(answer.status, answer.state)

Run as a program it is the client: an SMP in each line of stdin, an answer in each of stdout.
"""

import collections
import subprocess
import sys

import sa_client

GET, SET = 1, 2
NODE_INFO, SWITCH_INFO, PORT_INFO, P_KEYS, LFT, MFT = 0x11, 0x12, 0x15, 0x16, 0x19, 0x1B
SL2VL, VL_ARBITRATION = 0x17, 0x18
NO_CHANGE, DOWN, INIT, ARMED, ACTIVE = range(5)
INVALID_VALUE = 0x1C


class Client(sa_client.Agent):
    """Sends by directed routes, each SMP once."""

    LIBRARY = None  # preloaded: the wire's calls come before libibumad's
    DIRECT_CLASS, TIMEOUT_MS, RETRIES, ANSWER_MS = 0x81, 3000, 0, 500

    def __init__(self):
        super().__init__(self.DIRECT_CLASS, 1)
        self.serial = 0

    def ask(self, method, path, attr, modifier, m_key, data):
        """(status, data) of the answer, None if there is none."""
        self.serial += 1
        head = bytes([1, self.DIRECT_CLASS, 1, method, 0, 0, 0, len(path) - 1])
        mad = (head + self.serial.to_bytes(8, "big") + attr.to_bytes(2, "big") + bytes(2)
               + modifier.to_bytes(4, "big") + m_key.to_bytes(8, "big") + b"\xff" * 4)
        mad = mad.ljust(64, b"\0") + data.ljust(64, b"\0") + bytes(path).ljust(64, b"\0")
        try:
            answer = self.exchange(0xFFFF, mad, 0, 0)
        except TimeoutError:
            return None
        return int.from_bytes(answer[4:6], "big") & 0x7FFF, answer[64:128]


def serve():
    client = Client()
    for line in sys.stdin:
        method, path, attr, modifier, m_key, data = line.split(";")
        answer = client.ask(int(method), [int(p) for p in path.split(",")], int(attr),
                            int(modifier), int(m_key), bytes.fromhex(data))
        print(f"{answer[0]} {answer[1].hex()}" if answer else "none", flush=True)


class Field(collections.namedtuple("Field", "offset bits shift size", defaults=(0, 1))):
    """The offset of a field in a PortInfo."""

    def get(self, data):
        value = int.from_bytes(data[self.offset:self.offset + self.size], "big")
        return value >> self.shift & (1 << self.bits) - 1

    def put(self, data, value):
        end, mask = self.offset + self.size, (1 << self.bits) - 1 << self.shift
        old = int.from_bytes(data[self.offset:end], "big")
        data[self.offset:end] = (old & ~mask | value << self.shift).to_bytes(self.size, "big")


FIELDS = {
    "m_key": Field(0, 64, 0, 8), "lid": Field(16, 16, 0, 2), "sm_lid": Field(18, 16, 0, 2),
    "capabilities": Field(20, 32, 0, 4), "lease": Field(26, 16, 0, 2),
    "width_enabled": Field(29, 8), "width_supported": Field(30, 8), "width": Field(31, 8),
    "state": Field(32, 4), "physical_state": Field(33, 4, 4), "down_default": Field(33, 4),
    "protect": Field(34, 2, 6), "mtu": Field(36, 4, 4), "sm_sl": Field(36, 4),
    "vl_cap": Field(37, 4, 4), "high_limit": Field(38, 8), "stall": Field(42, 3, 5),
    "hoq": Field(42, 5), "oper_vls": Field(43, 4, 4), "enforce": Field(43, 4),
    "m_key_violations": Field(44, 16, 0, 2), "reregister": Field(51, 1, 7),
    "timeout": Field(51, 5), "local_errors": Field(53, 4, 4), "overruns": Field(53, 4),
}


class Answer:
    """An answer's status, and its data; fields of a PortInfo by their names."""

    def __init__(self, status, data):
        self.status, self.data = status, data

    def __getattr__(self, name):
        if name in FIELDS:
            return FIELDS[name].get(self.data)
        raise AttributeError(name)

    def fields(self, names):
        return {name: getattr(self, name) for name in names}


class Smps:
    """A client on a host of a fabric, and the wire between."""

    UMAD = "libibumad.so.3"

    def __init__(self, fabric, host, wire):
        import clients  # the client needs neither
        import simlab
        self.netlist, self.host = fabric.netlist, host
        self.wire, wire.fabric = wire, fabric
        env = clients.environment(fabric, host)
        env.update(wire.environment(), LD_PRELOAD=f"{wire.library()} {self.UMAD} {simlab.UMAD2SIM}")
        self._client = simlab.start_process([sys.executable, "-S", "-B", __file__], env=env,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True, cwd=fabric.path)
        self._paths = self._find_paths()
        self._walked = set()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._client.stdin.close()
        self._client.wait(10)
        self._client.stdout.close()

    def _find_paths(self):
        """{node: directed route}; none leads on from a host."""
        paths, frontier = {self.host: [0]}, [self.host]
        for name in frontier:
            if name in self.netlist.hosts and name != self.host:
                continue
            for port, (peer, _) in self.netlist.nodes[name].ports.items():
                if peer not in paths:
                    paths[peer] = paths[name] + [port]
                    frontier.append(peer)
        return paths

    def ask(self, method, path, attr, modifier=0, key=0, data=b""):
        self._client.stdin.write(f"{method};{','.join(map(str, path))};{attr};{modifier};"
                                 f"{key};{data.hex()}\n")
        self._client.stdin.flush()
        line = self._client.stdout.readline().split()
        return None if line == ["none"] else Answer(int(line[0]), bytes.fromhex(line[1]))

    def walk(self, node, key=0):
        """The path to a node; the wire knows each cable of it then."""
        path = self._paths[node]
        for end in range(1, len(path) + 1):
            if tuple(path[:end]) not in self._walked:
                self.ask(GET, path[:end], NODE_INFO, 0, key)
                self._walked.add(tuple(path[:end]))
        return path

    def get(self, node, attr, modifier=0, key=0):
        return self.ask(GET, self.walk(node, key), attr, modifier, key)

    def set(self, node, attr, modifier=0, data=b"", key=0):
        return self.ask(SET, self.walk(node, key), attr, modifier, key, data)

    def port_info(self, node, port=0, key=0):
        return self.get(node, PORT_INFO, port, key)

    def set_port_info(self, node, port=0, key=0, of=None, **fields):
        """Sets these fields and leaves the others (as in `of`, by default as they are)."""
        data = bytearray((of or self.port_info(node, port, key)).data)
        for name, value in {"state": 0, "physical_state": 0, **fields}.items():
            FIELDS[name].put(data, value)
        return self.set(node, PORT_INFO, port, bytes(data), key)


if __name__ == "__main__":
    serve()
