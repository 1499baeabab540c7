# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Network namespaces without names, and frames with their tags, for tests of Ethernet.

    with Namespace() as one, Namespace() as other:
        one.run("ip", "link", "add", "e0", "type", "veth", "peer", "name", "e0",
                "netns", other.path)
        with other.inside():
            port = Port("e0")
        one.run(...)
        print(port.receive())

They exist as long as this process has them open; veths and tc programs end with them.
"""

import contextlib
import ctypes
import os
import pathlib
import select
import socket
import subprocess
from typing import NamedTuple, Optional

_CLONE_NEWNET, _CLONE_NEWUTS = 0x40000000, 0x04000000
_SOL_PACKET, _PACKET_AUXDATA = 263, 8
_SO_RCVBUFFORCE = 33
_ETH_P_ALL = 3
_TAG_IS_THERE = 0x10
_LIBC = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def rename_host(name):
    """Gives this thread and the processes that it starts a hostname of their own. Raises OSError
    without the right to do so."""
    _check(_LIBC.unshare(_CLONE_NEWUTS), "unshare")
    socket.sethostname(name)


@contextlib.contextmanager
def _back_home():
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        yield
    finally:
        _check(_LIBC.setns(home, _CLONE_NEWNET), "setns")
        os.close(home)


class Namespace:
    """Raises OSError without the right to one."""

    def __init__(self):
        with _back_home():
            _check(_LIBC.unshare(_CLONE_NEWNET), "unshare")
            self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.path = f"/proc/{os.getpid()}/fd/{self.fd}"
        with self.inside():  # no frames but those that a test has sent
            pathlib.Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text(
                "1", encoding="ascii")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self.fd)

    @contextlib.contextmanager
    def inside(self):
        """Sockets made by this thread, and processes started by it, are in the namespace."""
        with _back_home():
            _check(_LIBC.setns(self.fd, _CLONE_NEWNET), "setns")
            yield

    def run(self, *argv, **kwargs):
        """A CompletedProcess with text, whatever its status."""
        with self.inside():
            return subprocess.run([str(word) for word in argv], capture_output=True, text=True,
                                  check=False, stdin=subprocess.DEVNULL, **kwargs)

    def must(self, *argv, **kwargs):
        """The output of a command that must succeed."""
        done = self.run(*argv, **kwargs)
        if done.returncode:
            raise AssertionError(f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


class Frame(NamedTuple):
    """As a device has received it: `data` is without the outer tag, which the kernel takes out."""
    vlan: Optional[int]  # None: untagged
    type: int  # of the tag
    data: bytes


class Port:
    """A device's frames as they are on the wire; made inside its namespace."""

    def __init__(self, device):
        self.end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        self.end.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self.end.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 26)
        self.end.bind((device, _ETH_P_ALL))
        self.end.setblocking(False)

    def close(self):
        self.end.close()

    def send(self, data):
        self.end.send(data)

    def receive(self, timeout_s=20):
        """The next frame; None if none comes in that time."""
        while select.select([self.end], [], [], timeout_s)[0]:
            data, extra, _, where = self.end.recvmsg(65536, 256)
            if where[2] == socket.PACKET_OUTGOING:
                continue
            aux = extra[0][2]  # struct tpacket_auxdata
            status = int.from_bytes(aux[0:4], "little")
            tag = int.from_bytes(aux[16:18], "little") & 0xFFF
            kind = int.from_bytes(aux[18:20], "little")
            return Frame(tag if status & _TAG_IS_THERE else None, kind, data)
        return None
