#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
portmajor-vlan on two hosts with a wire between them: tags, tables that change under traffic,
refusals, and complete removal.
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import hashlib
import os
import pathlib
import platform
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import unittest

import ethlab
import labtest
import netns
import pmlab

LOADER = pmlab.BUILD / "portmajor-vlan"
OTHERS = pmlab.BUILD / "tcx_program"  # puts programs ahead of ours by tcx
IS_ROOT = os.geteuid() == 0

NEAR, FAR = "02:00:00:00:00:01", "02:00:00:00:00:02"
LOWER, UNKNOWN, SECOND = "02:00:00:00:00:03", "02:00:00:00:00:04", "02:00:00:00:00:05"
GROUP = "ff:ff:ff:ff:ff:ff"
TABLE = f"""# MAC VLAN PRIORITY
{NEAR} 101 10 # near
{FAR} 102 20
{LOWER} 103 5
{GROUP} 104 4294967295
"""
OURS = 0x88B5  # the EtherType for experiments
TAG, SERVICE_TAG = 0x8100, 0x88A8
SO_NETNS_COOKIE = 71
NOBODY = 65534

COUNTERS = ("own", "partner", "group", "unknown", "passed", "popped", "foreign", "errors")


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))


def frame(to, text=b"", source=NEAR, tag=None, kind=OURS, tag_type=TAG):
    """An Ethernet frame, on request with a tag in its bytes."""
    tagged = b"" if tag is None else struct.pack("!HH", tag_type, tag)
    return (mac_bytes(to) + mac_bytes(source) + tagged + struct.pack("!H", kind)
            + text).ljust(60, b"\0")


def udp_packet(source, to, port, text):
    """An IPv4 packet; UDP needs no checksum."""
    udp = struct.pack("!HHHH", port, port, 8 + len(text), 0) + text
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                       socket.inet_aton(source), socket.inet_aton(to))
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return head[:10] + struct.pack("!H", total) + head[12:] + udp


# --------------------------------------------------------------- the kernel's functions

SECCOMP = {"x86_64": 321, "aarch64": 280}  # the number of bpf(2)
BPF_MAP_CREATE, BPF_PROG_ATTACH, BPF_PROG_QUERY = 0, 8, 16


def refuse_bpf(code, *commands):
    """For a child: bpf(2), or some of its commands, fail with code, as in a kernel without it, or
    in a locked one."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = SECCOMP[platform.machine()]
    # load the command; is it one of these? fail : go on
    inner = [(0x15, i, 0, command) for i, command in enumerate(reversed(commands), 1)][::-1]
    inner = [(0x20, 0, 0, 16), *inner, (0x05, 0, 0, 1)] if commands else []
    # load the number of the call; is it bpf? inner, fail : go on
    words = [(0x20, 0, 0, 0), (0x15, 0, len(inner) + 1, number), *inner,
             (0x06, 0, 0, 0x00050000 | code), (0x06, 0, 0, 0x7FFF0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *word) for word in words))

    def act():
        program = struct.pack("HxxxxxxQ", len(words), ctypes.addressof(text))
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
            os._exit(99)
    return act


# For a child: a kernel before 6.6, so that programs are attached as tc filters.
no_tcx = refuse_bpf(errno.EINVAL, BPF_PROG_ATTACH, BPF_PROG_QUERY)


@functools.lru_cache(maxsize=None)
def has_tcx():
    with netns.Namespace() as one:
        done = one.run(OTHERS, "before", "lo", "ingress")
    assert done.returncode in (0, 77), done.stderr
    return done.returncode == 0


class Hosts(labtest.Folders):
    """Two hosts, `near` and `far`, with a veth as e0; each test has new ones."""

    IPS = {"near": "10.0.0.1", "far": "10.0.0.2"}
    AS_FILTER = False  # attached as tc filters, also where there is tcx

    def setUp(self):
        if not ethlab.has_bpf():
            self.skipTest("portmajor-vlan is built without BPF")
        if not IS_ROOT:
            self.skipTest("network namespaces need root")
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.near, self.far = (stack.enter_context(netns.Namespace()) for _ in range(2))
        self.near.must("ip", "link", "add", "e0", "type", "veth", "peer", "name", "e0",
                       "netns", self.far.path)
        for host, mac, name in ((self.near, NEAR, "near"), (self.far, FAR, "far")):
            host.must("ip", "link", "set", "e0", "address", mac, "up")
            host.must("ip", "addr", "add", f"{self.IPS[name]}/24", "dev", "e0")
        self.count = 0

    def table(self, text=TABLE):
        """Makes a file with this text."""
        self.count += 1
        path = self.folder / f"{self.id().rpartition('.')[2]}-{self.count}"
        path.write_text(text, encoding="ascii")
        return path

    def loader(self, host, *args, **kwargs):
        if self.AS_FILTER and args[:1] == ("load",):
            kwargs = {"preexec_fn": no_tcx, **kwargs}
        return host.run(LOADER, *args, **kwargs)

    def is_by_tcx(self):
        return not self.AS_FILTER and has_tcx()

    def vlan(self, host, *args):
        """Runs the loader, which succeeds and prints nothing, except for `show`."""
        done = self.loader(host, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def shown(self, host=None):
        lines = self.vlan(host or self.near, "show", "e0").splitlines()
        return dict(line.split(None, 1) for line in lines)

    def counters(self, host=None):
        """Those that are not 0."""
        shown = self.shown(host)
        return {name: int(shown[name]) for name in COUNTERS if shown[name] != "0"}

    def port(self, host):
        with host.inside():
            port = netns.Port("e0")
        self.addCleanup(port.close)
        return port

    def udp(self, host, name, port=5000):
        with host.inside():
            end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(end.close)
        end.bind((self.IPS[name], port))
        end.settimeout(20)
        return end

    def state(self):
        """The tc programs on near's device, and its programs by tcx."""
        return [self.near.must(*words.split()) for words in (
            "tc qdisc show dev e0", "tc filter show dev e0 ingress",
            "tc filter show dev e0 egress", f"{OTHERS} list e0")]


class Sent(Hosts):
    def check(self, cases):
        """Each case: a name, a frame, and the VLAN that it has at the other end."""
        near, far = self.port(self.near), self.port(self.far)
        for name, data, vlan in cases:
            near.send(data)
            came = far.receive()
            self.assertEqual(came.vlan, vlan, name)
            if vlan is not None:
                self.assertEqual(came.type, TAG, name)
            self.assertEqual(came.data, data, name)

    def test_vlans(self):
        self.vlan(self.near, "load", "e0", self.table())
        self.check([
            ("the partner's is higher", frame(FAR), 102),
            ("one's own is higher", frame(LOWER), 101),
            ("unknown partner", frame(UNKNOWN), 101),
            ("broadcast", frame(GROUP), 104),
            ("multicast", frame("01:00:5e:00:00:fb"), 104),
            ("of the link alone", frame("01:80:c2:00:00:0e"), None),
            ("no more", frame("01:80:c2:00:00:10"), 104),
            ("a sender without a line", frame(LOWER, source=SECOND), 103),
            ("neither has one", frame(UNKNOWN, source=SECOND), 104),
            ("another sender's line", frame(LOWER, source=FAR), 102),
        ])
        self.assertEqual(self.counters(), {"partner": 2, "own": 2, "unknown": 2, "group": 3,
                                           "passed": 1})
        # The lines of one are those of the other, whichever sends.
        self.vlan(self.near, "remove", "e0")
        self.near.must("ip", "link", "set", "e0", "address", FAR)
        self.vlan(self.near, "load", "e0", self.table())
        self.check([("the other way", frame(NEAR, source=FAR), 102),
                    ("the other way", frame(SECOND, source=LOWER), 103),
                    ("the other way", frame(SECOND, source=UNKNOWN), 104)])

    def test_without_a_group_line(self):
        """In the sender's VLAN; without one, in the device's."""
        self.vlan(self.near, "load", "e0", self.table(TABLE.replace(GROUP, f"#{GROUP}")))
        self.check([("broadcast", frame(GROUP), 101),
                    ("another sender's", frame(GROUP, source=FAR), 102),
                    ("a sender without a line", frame(GROUP, source=SECOND), 101),
                    ("neither has one", frame(UNKNOWN, source=SECOND), 101)])
        self.assertNotIn("group-vlan", self.shown())

    def test_tagged_already(self):
        """No second tag, whatever the VLAN."""
        self.vlan(self.near, "load", "e0", self.table())
        near, far = self.port(self.near), self.port(self.far)
        for tag, kind in ((7, TAG), (101, TAG), (7, SERVICE_TAG)):
            near.send(frame(FAR, tag=tag, tag_type=kind))
            came = far.receive()
            self.assertEqual((came.vlan, came.type), (tag, kind))
            self.assertEqual(came.data, frame(FAR)[:56])
        self.assertEqual(self.counters(), {"passed": 3})

    def test_full_size(self):
        """1,500 bytes and the tag: no device's MTU has to change."""
        self.vlan(self.near, "load", "e0", self.table())
        self.far.must("ip", "neigh", "add", self.IPS["near"], "lladdr", NEAR, "dev", "e0")
        self.near.must("ip", "neigh", "add", self.IPS["far"], "lladdr", FAR, "dev", "e0")
        wire, end = self.port(self.far), self.udp(self.near, "near")
        end.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: no fragments
        end.sendto(b"x" * 1472, (self.IPS["far"], 5000))
        came = wire.receive()
        self.assertEqual((came.vlan, len(came.data)), (102, 1514))
        with self.assertRaises(OSError):
            end.sendto(b"x" * 1473, (self.IPS["far"], 5000))


class SentAsFilter(Sent):
    AS_FILTER = True


class Received(Hosts):
    def test_pops(self):
        """Those of the table and no others; untagged frames pass."""
        self.vlan(self.far, "load", "e0", self.table())
        near, end = self.port(self.near), self.udp(self.far, "far")

        def send(text, **tag):
            packet = udp_packet(self.IPS["near"], self.IPS["far"], 5000, text)
            near.send(frame(FAR, packet, kind=0x0800, **tag))

        for vlan in (105, 1, 4094, 0):
            send(b"foreign", tag=vlan)
        send(b"of a provider", tag=101, tag_type=SERVICE_TAG)
        for vlan in (101, 102, 103, 104):
            send(b"in %d" % vlan, tag=vlan)
        send(b"with priority bits", tag=0xE000 | 102)
        send(b"untagged")
        # VLAN 0 is none: the stack itself removes the tag.
        for text in (b"foreign", b"in 101", b"in 102", b"in 103", b"in 104",
                     b"with priority bits", b"untagged"):
            self.assertEqual(end.recv(100), text)
        self.assertEqual(self.counters(self.far), {"popped": 5, "foreign": 5})

    def test_two_hosts(self):
        """Flat IP: ARP, UDP both ways, and TCP, with segments made behind the program."""
        for host in (self.near, self.far):
            self.vlan(host, "load", "e0", self.table())
        one, other = self.udp(self.near, "near"), self.udp(self.far, "far")
        one.sendto(b"hello", (self.IPS["far"], 5000))
        self.assertEqual(other.recv(100), b"hello")
        other.sendto(b"you", (self.IPS["near"], 5000))
        self.assertEqual(one.recv(100), b"you")
        size = 20_000_000
        before = self.counters(self.near)
        self.transfer(size)
        after = self.counters(self.near)
        frames = after["partner"] - before["partner"]
        self.assertLess(frames, size / 1460 / 2)  # more than one segment in each
        self.assertEqual(after.keys() | before.keys(), {"partner", "group", "popped"})
        # Segments and checksums by the stack; tags in the bytes of frames.
        for offload in ("tso off gso off", "tx off", "txvlan off", "tx off rxvlan off"):
            for host in (self.near, self.far):
                host.must("ethtool", "-K", "e0", *offload.split())
            self.transfer(size // 10)
        self.assertEqual(self.counters(self.near).keys(), {"partner", "group", "popped"})
        self.assertEqual(self.counters(self.far).keys(), {"own", "popped"})

    def transfer(self, size):
        """By TCP, from near to far, and compared."""
        data = random.Random(size).randbytes(size)
        with self.far.inside():
            server = socket.create_server((self.IPS["far"], 0))
        with self.near.inside():
            client = socket.socket()
        with server, client:
            client.settimeout(60)
            client.connect(server.getsockname())
            end, _ = server.accept()
            end.settimeout(60)
            thread = threading.Thread(target=lambda: (client.sendall(data),
                                                      client.shutdown(socket.SHUT_WR)))
            thread.start()
            got = hashlib.sha256()
            with end:
                while piece := end.recv(1 << 20):
                    got.update(piece)
            thread.join()
        self.assertEqual(got.hexdigest(), hashlib.sha256(data).hexdigest())


class ReceivedAsFilter(Received):
    AS_FILTER = True


class Changed(Hosts):
    HOSTS = 40

    def stream_table(self, first):
        """Each partner has a VLAN of its own, and every line differs between the tables."""
        return "".join([f"{NEAR} {first} 1\n", *(
            f"02:00:00:00:01:{i:02x} {first + i} {1000 * first + i}\n"
            for i in range(1, self.HOSTS))])

    def test_under_traffic(self):
        """No frame is lost, each is wholly of one table, and tables change once for each change."""
        tables = {first: self.table(self.stream_table(first)) for first in (100, 200)}
        wholes = [("replace", first) for first in (200, 100)] * 10
        parts = [("update", first) for first in (200, 100)] * 5
        self.vlan(self.near, "load", "e0", tables[100])
        near, far = self.port(self.near), self.port(self.far)
        sent, ended = [0], threading.Event()
        moved = threading.Condition()

        def send():
            while not ended.is_set():
                i = 1 + sent[0] % (self.HOSTS - 1)
                near.send(frame(f"02:00:00:00:01:{i:02x}", struct.pack("!I", sent[0])))
                with moved:
                    sent[0] += 1
                    moved.notify()

        seen = []

        def receive():
            while (came := far.receive(timeout_s=1)) or not ended.is_set():
                if came:
                    seen.append((struct.unpack("!I", came.data[14:18])[0], came.data[5],
                                 came.vlan))

        threads = [threading.Thread(target=work) for work in (send, receive)]
        for thread in threads:
            thread.start()
        try:
            for what, first in wholes + parts:
                goal = sent[0] + self.HOSTS
                with moved:
                    moved.wait_for(lambda goal=goal: sent[0] >= goal, timeout=60)
                self.vlan(self.near, what, "e0", tables[first])
            goal = sent[0] + self.HOSTS
            with moved:
                moved.wait_for(lambda: sent[0] >= goal, timeout=60)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        self.assertEqual([number for number, _, _ in seen], list(range(sent[0])))
        of = [vlan - host for _, host, vlan in seen]
        self.assertEqual(set(of), {100, 200})
        changes = sum(a != b for a, b in zip(of, of[1:]))
        self.assertEqual(changes, len(wholes + parts))

    def test_old_vlans_are_popped(self):
        """Frames of a host that still has the old table are received."""
        self.vlan(self.far, "load", "e0", self.table())
        self.vlan(self.far, "replace", "e0", self.table(f"{FAR} 202 1\n"))
        shown = self.shown(self.far)
        self.assertEqual((shown["vlan"], shown["pops"]), ("202", "101-104,202"))
        self.vlan(self.far, "remove", "e0")
        self.vlan(self.far, "load", "e0", self.table(f"{FAR} 202 1\n"))
        self.assertEqual(self.shown(self.far)["pops"], "202")

    def test_update(self):
        """It has the same result as the whole table with these changes."""
        self.vlan(self.near, "load", "e0", self.table())
        before = self.shown()
        self.vlan(self.near, "update", "e0", self.table(
            f"- {LOWER}\n{NEAR} 111 30\n{UNKNOWN} 109 40 # h\n"))
        changed = self.shown()
        self.vlan(self.near, "replace", "e0", self.table(
            f"{GROUP} 104 4294967295\n{UNKNOWN} 109 40\n{FAR} 102 20\n{NEAR} 111 30\n"))
        self.assertEqual(self.shown(), changed)
        self.assertNotEqual(changed["sum"], before["sum"])
        self.assertEqual((changed["vlan"], changed["priority"], changed["lines"]),
                         ("111", "30", "4"))
        self.vlan(self.near, "update", "e0", self.table("# nothing\n"))
        self.assertEqual(self.shown(), changed)
        self.vlan(self.near, "update", "e0", self.table(f"- {LOWER}\n"))  # gone already
        self.assertEqual(self.shown(), changed)

    def test_side_by_side(self):
        """Updates at the same time: one at a time changes the device, the others are refused, and
        each starts from the result of those before."""
        self.vlan(self.near, "load", "e0", self.table())
        number = 16
        waiting = [self.table(f"02:00:00:00:02:{i:02x} {200 + i} {100 + i}\n")
                   for i in range(number)]
        while waiting:
            with self.near.inside():
                running = [(path, subprocess.Popen([LOADER, "update", "e0", path],
                                                   stderr=subprocess.PIPE, text=True))
                           for path in waiting]
            refused = []
            for path, process in running:
                said = process.communicate(timeout=60)[1]
                if process.returncode:
                    self.assertEqual((process.returncode, said), (
                        1, "portmajor-vlan: e0: another portmajor-vlan is changing it\n"))
                    refused.append(path)
            self.assertLess(len(refused), len(waiting))
            waiting = refused
        self.assertEqual(self.shown()["lines"], str(4 + number))
        self.assertEqual(self.shown()["pops"], f"101-104,200-{199 + number}")

    def test_many_lines(self):
        """20,000 hosts, and counters that go on."""
        self.vlan(self.near, "load", "e0", self.table())
        near, far = self.port(self.near), self.port(self.far)
        near.send(frame(FAR))
        self.assertEqual(far.receive().vlan, 102)
        lines = [f"06:00:00:{i >> 16:02x}:{i >> 8 & 255:02x}:{i & 255:02x} {1 + i % 4094} {i + 50}"
                 for i in range(20000)]
        self.vlan(self.near, "replace", "e0", self.table(TABLE + "\n".join(lines)))
        for i in (0, 12345, 19999):
            near.send(frame(lines[i].split()[0]))
            self.assertEqual(far.receive().vlan, 1 + i % 4094)
        shown = self.shown()
        self.assertEqual((shown["lines"], shown["pops"]), ("20004", "1-4094"))
        self.assertEqual(self.counters(), {"partner": 4})


# ------------------------------------------------------------------------- refused

class Refused(Hosts):
    def refuse(self, status, message, *args, **kwargs):
        """Refused with this message, and nothing changes."""
        before = self.state()
        done = self.loader(self.near, *args, **kwargs)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (status, "", f"portmajor-vlan: {message}\n"))
        self.assertEqual(self.state(), before)

    def test_usage(self):
        for args in ((), ("load",), ("load", "e0"), ("show", "e0", "x"), ("what", "e0"),
                     ("remove",), ("load", "e0", "a", "b")):
            done = self.loader(self.near, *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, "usage: portmajor-vlan |no command")
        for args in (("-h",), ("show", "--help"), ("load", "-h")):
            done = self.loader(self.near, *args)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("usage:", done.stdout)
        self.assertRegex(self.loader(self.near, "-V").stdout, r"^portmajor-vlan \d")

    def test_devices(self):
        table = self.table()
        for what in ("load", "replace", "update", "show", "status", "remove"):
            args = [table] if what in ("load", "replace", "update") else []
            self.refuse(1, "e1: no such device", what, "e1", *args)
            self.refuse(1, "lo: no Ethernet device", what, "lo", *args)
            if what != "load":
                self.refuse(1, "e0: not loaded", what, "e0", *args)
        self.vlan(self.near, "load", "e0", table)
        self.refuse(1, "e0: already loaded: `replace` changes the table", "load", "e0", table)

    def test_locks(self):
        """A command that changes a device locks others out: they fail at once; readers are not
        locked out, nor does a lock on the network namespace, which any user can have, lock a
        command out."""
        with self.near.inside():
            space = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            with socket.socket() as end:
                cookie = end.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8)
            index = socket.if_nametoindex("e0")
        self.addCleanup(os.close, space)
        fcntl.flock(space, fcntl.LOCK_EX)
        with self.near.inside():
            reader = subprocess.Popen([LOADER, "load", "e0", "-"], stdin=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
        reader.stdin.write("#\n" * 100000)  # more than a pipe holds: it has begun to read
        reader.stdin.flush()
        self.vlan(self.near, "load", "e0", self.table())
        reader.stdin.write(TABLE)
        self.assertIn("already loaded", reader.communicate(timeout=60)[1])
        folder = pathlib.Path("/run/portmajor-vlan")
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        number = int.from_bytes(cookie, sys.byteorder)
        with open(folder / f"net{number}-{index}", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refuse(1, "e0: another portmajor-vlan is changing it", "remove", "e0")
            self.assertEqual(self.shown()["lines"], "4")
        self.vlan(self.near, "remove", "e0")

    def test_tables(self):
        """Bad tables are neither loaded nor put in another one's place."""
        bad = [
            (f"{FAR} 101 1\n", f"e0: its address, {NEAR}, is not in the table"),
            ("", f"e0: its address, {NEAR}, is not in the table"),
            (f"{TABLE}what\n", "{}:6: no MAC address: what"),
            (f"{TABLE}{SECOND} 4095 9\n", "{}:6: VLAN 4095 is not 1 to 4094"),
            (f"{TABLE}{SECOND} 0 9\n", "{}:6: VLAN 0 is not 1 to 4094"),
            (f"{TABLE}{SECOND} 1 0\n", "{}:6: priority 0 is not 1 to 4294967295"),
            (f"{TABLE}{NEAR} 1 9\n", f"{{}}:6: {NEAR} is in line 2, too"),
            (f"{TABLE}{SECOND} 1 20\n", "{}:6: priority 20 is that of line 3, too"),
        ]
        nowhere = self.folder / "nowhere"
        for text, message in bad:
            path = self.table(text)
            self.refuse(3, message.format(path), "load", "e0", path)
        self.refuse(3, f"{nowhere}: No such file or directory", "load", "e0", nowhere)
        self.vlan(self.near, "load", "e0", self.table())
        before = self.shown()
        for text, message in bad:
            path = self.table(text)
            self.refuse(3, message.format(path), "replace", "e0", path)
        self.refuse(3, f"{nowhere}: No such file or directory", "replace", "e0", nowhere)
        path = self.table(f"- {NEAR}\n")
        self.refuse(3, f"e0: its address, {NEAR}, is not in the table", "update", "e0", path)
        path = self.table(f"{SECOND} 1 20\n")
        self.refuse(3, f"{path}: {FAR} and {SECOND} would both have priority 20",
                    "update", "e0", path)
        self.assertEqual(self.shown(), before)

    def test_no_right(self):
        """Only root has the right, and a kernel may have no BPF at all, or not allow it."""
        self.folder.chmod(0o755)
        copy = self.folder / "portmajor-vlan"
        shutil.copy(LOADER, copy)
        only_root = "only root may (CAP_SYS_ADMIN and CAP_NET_ADMIN)"
        nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        table = self.table()

        def refuse(message, *args, **kwargs):
            before = self.state()
            done = self.near.run(copy, *args, **kwargs)
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (1, "", f"portmajor-vlan: e0: {message}\n"))
            self.assertEqual(self.state(), before)

        no_lock = "cannot lock: /run/portmajor-vlan: only root may"
        refuse(no_lock, "load", "e0", table, **nobody)
        no_list, no_table = "cannot list programs", "cannot make a table in the kernel"
        for what, refused, reason in (
                (no_list, (38,), "this kernel has no BPF (CONFIG_BPF_SYSCALL)"),
                (no_list, (1,), only_root), (no_table, (1, BPF_MAP_CREATE), only_root)):
            refuse(f"{what}: {reason}", "load", "e0", table, preexec_fn=refuse_bpf(*refused))
        self.vlan(self.near, "load", "e0", table)
        before = self.shown()
        refuse(f"{no_list}: {only_root}", "show", "e0", **nobody)
        for what, args in (("replace", [table]), ("update", [table]), ("remove", [])):
            refuse(no_lock, what, "e0", *args, **nobody)
        self.assertEqual(self.shown(), before)

    def check_ahead(self, wire, ahead):
        """Whether `show` lists a program ahead, which then takes the sent frames."""
        self.assertEqual(self.shown().get("ahead"), ahead)
        done = self.loader(self.near, "status", "e0")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (
            1, f"e0: ahead of the program: {ahead}\n", "") if ahead else (
            0, f"e0: VLAN 101, 4 lines, sum {self.shown()['sum']}\n", ""))
        wire[0].send(frame(FAR))
        self.assertEqual(wire[1].receive().vlan,
                         None if ahead and ahead.startswith("egress") else 102)

    def test_filters_that_come_later(self):
        """They take frames from a filter, and never from a program by tcx."""
        self.vlan(self.near, "load", "e0", self.table())
        wire = self.port(self.near), self.port(self.far)
        if self.is_by_tcx():
            self.near.must("tc", "qdisc", "add", "dev", "e0", "clsact")
        self.check_ahead(wire, None)
        for side in ("egress", "ingress"):
            self.near.must("tc", "filter", "add", "dev", "e0", side, "pref", "1", "bpf",
                           "da", "bytecode", "1,6 0 0 0,")  # TC_ACT_OK
            self.check_ahead(wire, None if self.is_by_tcx() else
                             f"{side}: a tc filter, preference 1, bpf")
            self.near.must("tc", "filter", "del", "dev", "e0", side, "pref", "1", "handle",
                           "0x1" if self.is_by_tcx() else "0x2", "bpf")
        self.check_ahead(wire, None)

    def test_programs_that_come_later(self):
        """By tcx: only a program that is put ahead on purpose takes frames from ours, if that is by
        tcx."""
        self.need_tcx()
        self.vlan(self.near, "load", "e0", self.table())
        wire = self.port(self.near), self.port(self.far)
        for side in ("egress", "ingress"):
            ahead = f"{side}: a tcx program, other"
            self.others("after", side)
            self.check_ahead(wire, None if self.is_by_tcx() else ahead)
            self.others("before", side)
            self.check_ahead(wire, ahead)
            self.others("detach", side)
            if self.AS_FILTER:
                self.others("detach", side)
            self.check_ahead(wire, None)
        self.vlan(self.near, "remove", "e0")
        self.assertEqual(self.state()[3], "" if self.AS_FILTER else
                         "ingress other\negress other\n")

    def others(self, what, side):
        self.near.must(OTHERS, what, "e0", side)

    def need_tcx(self):
        if not has_tcx():
            self.skipTest("no tcx in this kernel")

    def test_others_filters(self):
        """They stay unchanged; where ours is a filter, it cannot decide which of them is first, and
        is refused. Those that come later stay, too."""
        table = self.table()
        u32 = "u32 match u32 0 0 flowid 1:1".split()
        wire = self.port(self.near), self.port(self.far)
        for side in ("ingress", "egress"):
            self.near.must("tc", "qdisc", "add", "dev", "e0", "clsact")
            self.near.must("tc", "filter", "add", "dev", "e0", side, "pref", "7", *u32)
            if self.is_by_tcx():
                self.vlan(self.near, "load", "e0", table)
            else:
                self.refuse(1, f"e0: another program is there, left as it is ({side}: a tc filter, "
                            "preference 7, u32)", "load", "e0", table)
                self.near.must("tc", "qdisc", "del", "dev", "e0", "clsact")
                self.vlan(self.near, "load", "e0", table)
                self.near.must("tc", "filter", "add", "dev", "e0", side, "pref", "7", *u32)
            self.check_ahead(wire, None)
            self.vlan(self.near, "remove", "e0")
            left = self.state()
            self.assertIn("clsact", left[0])
            self.assertIn("pref 7 u32", "".join(left[1:]))
            self.assertNotIn("pm_vlan", "".join(left[1:]))
            self.near.must("tc", "qdisc", "del", "dev", "e0", "clsact")

    def test_others_by_tcx(self):
        """Ours comes ahead of the existing ones."""
        self.need_tcx()
        wire = self.port(self.near), self.port(self.far)
        for side in ("ingress", "egress"):
            self.others("before", side)
        self.vlan(self.near, "load", "e0", self.table())
        if self.is_by_tcx():
            self.check_ahead(wire, None)
        else:
            self.assertIn("ahead", self.shown())
        self.vlan(self.near, "remove", "e0")
        self.assertEqual(self.state()[3], "ingress other\negress other\n")

    def test_qdisc_ingress(self):
        """It has no room for a filter of egress: a load that fails half way takes back the other
        half. By tcx no qdisc is needed."""
        self.near.must("tc", "qdisc", "add", "dev", "e0", "ingress")
        if self.is_by_tcx():
            self.vlan(self.near, "load", "e0", self.table())
            return
        self.refuse(1, "e0: cannot attach the program at egress: the device has an ingress qdisc "
                    "in place of clsact", "load", "e0", self.table())

    def test_a_part_is_missing(self):
        for side in ("ingress", "egress"):
            self.vlan(self.near, "load", "e0", self.table())
            if self.is_by_tcx():
                self.others("detach", side)
            else:
                self.near.must("tc", "filter", "del", "dev", "e0", side)
            self.refuse(1, "e0: a part of the program is missing: remove it, and load it anew",
                        "show", "e0")
            self.vlan(self.near, "remove", "e0")
            self.assertNotIn("pm_vlan", "".join(self.state()))


class RefusedAsFilter(Refused):
    AS_FILTER = True


class Filtering(Hosts):
    """Cards that drop VLANs: a preloaded library has all devices report that, with no way to change
    it. Devices here do not filter in truth; unit.card has the other cases."""

    NOTE = ("portmajor-vlan: {}: rx-vlan-filter cannot be switched off: promiscuous mode\n")

    def filtered(self, *args, status=0):
        done = self.loader(self.near, *args, env={
            **os.environ, "LD_PRELOAD": str(pmlab.BUILD / "libvlanfilter.so")})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def is_promiscuous(self, device="e0"):
        return "PROMISC" in self.near.must("ip", "link", "show", device)

    def cards(self, host_shows):
        return re.findall(r"(?m)^rx-filter +(.*)$", host_shows)

    def test_no_filter(self):
        self.vlan(self.near, "load", "e0", self.table())
        self.assertEqual(self.cards(self.vlan(self.near, "show", "e0")), ["e0: off"])
        self.assertFalse(self.is_promiscuous())

    def test_fixed(self):
        self.assertEqual(self.filtered("load", "e0", self.table()).stderr, self.NOTE.format("e0"))
        self.assertTrue(self.is_promiscuous())
        self.assertEqual(self.cards(self.filtered("show", "e0").stdout),
                         ["e0: on, bypassed in promiscuous mode"])
        self.assertIn("VLAN 101", self.filtered("status", "e0").stdout)
        self.filtered("replace", "e0", self.table())
        self.assertTrue(self.is_promiscuous())
        self.filtered("remove", "e0")
        self.assertFalse(self.is_promiscuous())

    def test_somebody_elses_mode(self):
        """It stays, and no message is printed, as nothing was done."""
        self.near.must("ip", "link", "set", "e0", "promisc", "on")
        self.assertEqual(self.filtered("load", "e0", self.table()).stderr, "")
        self.filtered("remove", "e0")
        self.assertTrue(self.is_promiscuous())

    def check_cannot_be_loaded(self, why, **how):
        """The part at ingress is taken off again, and the card is as before."""
        before = self.state()
        done = self.loader(self.near, "load", "e0", self.table(), env={
            **os.environ, "LD_PRELOAD": str(pmlab.BUILD / "libvlanfilter.so")}, **how)
        self.assertEqual((done.returncode, done.stderr), (
            1, f"portmajor-vlan: e0: cannot attach the program at egress: {why}\n"))
        self.assertEqual(self.state(), before)
        self.assertFalse(self.is_promiscuous())
        self.assertEqual(self.loader(self.near, "show", "e0").stderr,
                         "portmajor-vlan: e0: not loaded\n")

    def test_no_room_for_a_filter(self):
        """A qdisc `ingress` has none at egress."""
        self.near.must("tc", "qdisc", "add", "dev", "e0", "ingress")
        self.check_cannot_be_loaded("the device has an ingress qdisc in place of clsact",
                                    preexec_fn=no_tcx)

    def test_no_room_by_tcx(self):
        """Others have filled the hook at egress."""
        if not has_tcx():
            self.skipTest("no tcx in this kernel")
        self.near.must(OTHERS, "after", "e0", "ingress")
        self.near.must(OTHERS, "fill", "e0", "egress")
        self.check_cannot_be_loaded("Numerical result out of range")
        self.near.must(OTHERS, "detach", "e0", "egress")
        self.filtered("load", "e0", self.table())
        self.assertTrue(self.is_promiscuous())

    def test_members(self):
        """With a bridge in a bond's place, which kernels for tests may not have."""
        self.near.must("ip", "link", "add", "b0", "type", "bridge")
        self.near.must("ip", "link", "set", "e0", "master", "b0")
        self.near.must("ip", "link", "set", "b0", "address", NEAR, "up")
        self.assertEqual(sorted(self.filtered("load", "b0", self.table()).stderr.splitlines()),
                         [self.NOTE.format(name).strip() for name in ("b0", "e0")])
        self.near.must("ip", "link", "add", "e1", "type", "veth", "peer", "name", "e2")
        self.near.must("ip", "link", "set", "e1", "master", "b0")
        self.assertEqual(sorted(self.cards(self.filtered("show", "b0").stdout)),
                         ["b0: on, bypassed in promiscuous mode",
                          "e0: on, bypassed in promiscuous mode",
                          "e1: on: frames with tags are not received"])
        self.assertEqual(
            self.filtered("status", "b0", status=1).stdout,
            "e1: frames with tags are not received (rx-vlan-filter is on)\n")
        self.assertEqual(self.filtered("replace", "b0", self.table()).stderr,
                         self.NOTE.format("e1"))
        self.filtered("remove", "b0")
        self.assertEqual([self.is_promiscuous(name) for name in ("b0", "e0", "e1")], [False] * 3)


class Removed(Hosts):
    def test_clean(self):
        """As before, also with a clsact of another program; programs are gone from the kernel."""
        before = self.state()
        for _ in range(2):
            self.vlan(self.near, "load", "e0", self.table())
            self.assertNotEqual(self.state(), before)
            self.vlan(self.near, "replace", "e0", self.table())
            self.vlan(self.near, "remove", "e0")
            self.assertEqual(self.state(), before)
        near, far = self.port(self.near), self.port(self.far)
        near.send(frame(FAR))
        self.assertIsNone(far.receive().vlan)
        self.near.must("tc", "qdisc", "add", "dev", "e0", "clsact")
        before = self.state()
        self.vlan(self.near, "load", "e0", self.table())
        self.vlan(self.near, "remove", "e0")
        self.assertEqual(self.state(), before)


class RemovedAsFilter(Removed):
    AS_FILTER = True


class Service(Hosts):
    """The systemd unit when devices come and go; systemd itself is not run."""

    UNIT = pmlab.ROOT / "packaging" / "vlan" / "portmajor-vlan@.service"

    def unit(self, key, table, status=0):
        """Runs the unit's commands on e0, as systemd would."""
        words = re.search(rf"(?m)^{key}=-?portmajor-vlan (.*)$", self.UNIT.read_text())[1]
        self.assertIn("%I", words)
        done = self.loader(self.near, *words.replace("%I", "e0").replace(
            "/etc/portmajor/hosts", str(table)).split())
        self.assertEqual(done.returncode, status, done.stderr)

    def test_address_that_comes_later(self):
        """The address of a bond with its first member: tried again; until then nothing is left."""
        self.near.must("ip", "link", "set", "e0", "address", UNKNOWN)
        before, table = self.state(), self.table()
        self.unit("ExecStart", table, 3)
        self.assertEqual(self.state(), before)
        self.near.must("ip", "link", "set", "e0", "address", NEAR)
        self.unit("ExecStart", table)
        self.assertEqual(self.shown()["vlan"], "101")
        self.assertRegex(self.UNIT.read_text(), r"(?m)^Restart=on-failure$")

    def test_address_that_changes(self):
        """A reload takes the new one's line."""
        table = self.table(TABLE + f"{SECOND} 105 30\n")
        self.unit("ExecStart", table)
        self.near.must("ip", "link", "set", "e0", "address", UNKNOWN)
        done = self.loader(self.near, "status", "e0")
        self.assertEqual((done.returncode, done.stdout),
                         (1, f"e0: its address, {UNKNOWN}, is not in the table\n"))
        self.near.must("ip", "link", "set", "e0", "address", SECOND)
        self.unit("ExecReload", table)
        self.assertEqual((self.shown()["vlan"], self.shown()["priority"]), ("105", "30"))

    def test_device_that_comes_anew(self):
        table = self.table()
        self.unit("ExecStart", table)
        self.near.must("ip", "link", "del", "e0")
        self.unit("ExecStop", table, 1)  # ignored, by the unit's "-"
        self.near.must("ip", "link", "add", "e0", "address", NEAR, "type", "veth", "peer", "name",
                       "e0", "netns", self.far.path)
        self.unit("ExecStart", table)
        self.assertEqual(self.shown()["vlan"], "101")

    @unittest.skipUnless(shutil.which("systemctl"), "systemd is not installed")
    def test_enabled(self):
        """By the device, so that it waits for one that networkd makes, and networkd does not wait
        for it."""
        root = self.folder / "root"
        units = root / "usr" / "lib" / "systemd" / "system"
        units.mkdir(parents=True)
        shutil.copy(self.UNIT, units)
        subprocess.run(["systemctl", f"--root={root}", "enable", "portmajor-vlan@bond0"],
                       capture_output=True, check=True)
        link = (root / "etc/systemd/system/sys-subsystem-net-devices-bond0.device.wants"
                / "portmajor-vlan@bond0.service")
        self.assertTrue(link.is_symlink())
        self.assertNotIn("network-pre", re.sub(r"(?m)^#.*", "", self.UNIT.read_text()))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_unit_is_sound(self):
        unit = self.folder / "portmajor-vlan@bond0.service"
        unit.write_text(re.sub(r"(?m)^(Exec\w+=-?)portmajor-vlan", rf"\1{LOADER}",
                               self.UNIT.read_text()))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Program(unittest.TestCase):
    """The program alone, by BPF_PROG_TEST_RUN."""

    def test_as_the_reference(self):
        if not ethlab.has_bpf():
            self.skipTest("portmajor-vlan is built without BPF")
        if not IS_ROOT:
            self.skipTest("network namespaces need root")
        seed = str(random.randrange(1 << 32))
        done = subprocess.run([pmlab.BUILD / "vlan_program",
                               pmlab.BUILD / "vlan" / "vlan_program.bpf.o", "try", "50"],
                              env={**os.environ, "PM_SEED": os.environ.get("PM_SEED", seed)},
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "10000 frames as the reference has them\n", ""))


if __name__ == "__main__":
    labtest.main()
