# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Virtual machines in place of a Lab's hosts: a kernel of its own, and cards as QEMU has them.

    with guests.Guest(guests.OLD, {"e0": ("virtio-net-pci", lab.hosts["h0-0"])}, files) as guest:
        guest.boot()
        guest.must("ping -c 1 10.0.0.2")

A guest has an initramfs of this machine's own programs, and a shell on its second serial line: a
command is a line; the answer is the exit status, the number of bytes, and the bytes. Each card's
frames pass a TAP device, with which cards have all offloads, and a host of ethlab.Lab without an
address of its own. QEMU emulates the processor (TCG), so that guests run where there is no KVM.
Guests end with this process.
"""

import collections
import contextlib
import fcntl
import os
import pathlib
import platform
import re
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from typing import NamedTuple

import ethlab
import netns
import simlab

QEMU = "qemu-system-x86_64"
UNPACKED = pathlib.Path(__file__).resolve().parents[2] / "build" / "guests"
# Packages that scripts/test unpacks there: a kernel of Debian 12, and one that has tcx.
OLD, NEW = "linux-image-cloud-amd64", "linux-image-6.12-cloud-amd64"
PROGRAMS = ("sh", "mount", "stty", "cat", "wc", "timeout", "insmod", "ip", "tc", "ethtool", "ping",
            "iperf3", "teamnl")
MODULES = ("virtio_pci", "virtio_net", "vmxnet3", "sch_ingress", "cls_bpf", "cls_u32", "bonding",
           "team_mode_broadcast", "bridge", "veth")
BOOT_S, COMMAND_S = 300, 120

_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING, _NEEDS_CHECKSUM = 263, 15, 23, 1
_TUNSETIFF, _TAP_VNET_HDR = 0x400454CA, 0x2 | 0x1000 | 0x4000  # IFF_TAP, NO_PI, VNET_HDR

START = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
ip link set lo up
while read -r module; do
	case $module in
	*/bonding.*) insmod "$module" max_bonds=0 ;;
	*) insmod "$module" ;;
	esac
done </modules
"""
SHELL = """#!/bin/sh
stty -F /dev/ttyS1 raw -echo
exec </dev/ttyS1 >/dev/ttyS1
echo ready
while read -r line; do
	sh -c "$line" </dev/null >/run/answer 2>&1
	echo "$? $(wc -c </run/answer)"
	cat /run/answer
done
"""


class Done(NamedTuple):
    status: int
    text: str  # both its outputs


class GuestError(Exception):
    """A guest that does not answer, or a failed command."""


def missing():
    """The reason why no guest can run here; None if one can."""
    if platform.machine() != "x86_64":
        return "virtual machines are for amd64"
    if not shutil.which(QEMU):
        return f"{QEMU} is not installed"
    if not shutil.which("teamnl"):
        return "teamnl is not installed"
    if not all((UNPACKED / package).is_dir() for package in (OLD, NEW)):
        return "there are no kernels for virtual machines"
    return None


# ----------------------------------------------------------------------- its files

def _libraries(program):
    """The files that the linker of a program would load."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", text)


def add(root, name, source):
    """Copies a file of this machine to root/name, and the libraries that it needs."""
    place = root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, place)
    for library in _libraries(source):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])


def _modules(package):
    """The modules' files, in the order in which they are loaded."""
    (version,) = (path.name for path in (UNPACKED / package / "lib/modules").iterdir())
    found = []
    for module in MODULES:
        text = ethlab.run(["modprobe", "-d", UNPACKED / package, "-S", version, "--show-depends",
                           module])
        found += re.findall(r"(?m)^insmod (\S+)", text)
    return list(dict.fromkeys(map(pathlib.Path, found)))


def _fill(root, package, files):
    """Copies all files of a guest; files: {name: source}."""
    for folder in ("bin", "dev", "proc", "sys", "run", "tmp"):
        (root / folder).mkdir()
    programs = {f"bin/{name}": shutil.which(name) for name in PROGRAMS}
    for name, source in {**programs, **files}.items():
        add(root, name, source)
    modules = _modules(package)
    for module in modules:
        shutil.copy(module, root / module.name)
    (root / "modules").write_text("".join(f"/{module.name}\n" for module in modules))
    (root / "init").write_text(START + "exec /bin/sh /shell\n")
    (root / "shell").write_text(SHELL)
    (root / "init").chmod(0o755)


def _pack(root, path):
    """An initramfs of a folder."""
    names = [".", *(str(file.relative_to(root)) for file in sorted(root.rglob("*")))]
    with open(path, "wb") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, stdout=out, check=True,
                       input="\n".join(names).encode())


# ------------------------------------------------------------------------- its wires

class Segments(netns.Port):
    """A device's frames with the work that is left to do: as large as a segmentation offload makes
    them, behind a virtio_net_hdr."""

    HEADER = struct.Struct("<BBHHHH")  # flags, kind, header's bytes, segment's, checksum: from, at

    def __init__(self, device):
        super().__init__(device)
        for option in (_PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING):
            self.end.setsockopt(_SOL_PACKET, option, 1)

    def receive(self, timeout_s=0):
        """A Frame; its data begin with the header."""
        return super().receive(timeout_s)

    @classmethod
    def whole(cls, came):
        """The bytes of a Frame, with its tag."""
        if came.vlan is None:
            return came.data
        head, frame = came.data[:cls.HEADER.size], came.data[cls.HEADER.size:]
        flags, kind, length, size, start, at = cls.HEADER.unpack(head)
        head = cls.HEADER.pack(flags, kind, length + 4 if kind else 0, size,
                               start + 4 if flags & _NEEDS_CHECKSUM else 0, at)
        return head + frame[:12] + struct.pack("!HH", came.type, came.vlan) + frame[12:]


class Wire:
    """Carries frames between a card's TAP device and a host's device. Counts those to the card by
    VLAN, and those from it that the host's device is to segment."""

    def __init__(self, host):
        host.run("ip", "addr", "flush", "dev", "e0")
        with host.inside():
            self.tap = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(self.tap, _TUNSETIFF, struct.pack("16sH22x", b"card", _TAP_VNET_HDR))
            host.run("ip", "link", "set", "card", "up")
            self.port, self.card = Segments("e0"), Segments("card")
        self.to_card = collections.Counter()
        self.large = collections.Counter()

    def close(self):
        self.port.close()
        self.card.close()
        os.close(self.tap)

    def carry_to_card(self):
        came = self.port.receive()
        if came:
            self.to_card[came.vlan] += 1
            with contextlib.suppress(OSError):  # full, or down: lost
                self.card.send(Segments.whole(came))

    def carry_from_card(self):
        came = self.card.receive()
        if came:
            if came.data[1]:  # a kind of segmentation
                self.large[came.vlan] += 1
            with contextlib.suppress(OSError):
                self.port.send(Segments.whole(came))


class Wires(threading.Thread):
    """All wires of a guest, until they are closed."""

    def __init__(self, wires):
        super().__init__(daemon=True)
        self._wires = wires
        self._ours, self._theirs = socket.socketpair()

    def run(self):
        acts = {self._theirs: None}
        for wire in self._wires:
            acts.update({wire.port.end: wire.carry_to_card,
                         wire.card.end: wire.carry_from_card})
        while True:
            ready = select.select(list(acts), [], [])[0]
            if self._theirs in ready:
                return
            for end in ready:
                acts[end]()

    def close(self):
        self._ours.close()
        self.join()
        self._theirs.close()
        for wire in self._wires:
            wire.close()


# --------------------------------------------------------------------------- a guest

class Guest:
    """A virtual machine.

    package   OLD or NEW: its kernel
    cards     {device's name: (QEMU's model, the host of a Lab that it replaces)}
    files     {name in /: file of this machine}; of programs their libraries come along
    furnish   called with the folder that becomes its /, for what else it is to have
    """

    def __init__(self, package, cards, files, furnish=lambda root: None):
        self.package, self.cards, self.files, self.furnish = package, cards, files, furnish
        self.wires = {}
        self._stack = contextlib.ExitStack()
        self._heard = b""

    def __enter__(self):
        with self._stack:
            self._start()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *exc):
        self._stack.close()

    def _start(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="guest-"))
        self._stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "root").mkdir()
        _fill(self.folder / "root", self.package, self.files)
        self.furnish(self.folder / "root")
        _pack(self.folder / "root", self.folder / "initramfs")
        self.wires = {name: Wire(host) for name, (_, host) in self.cards.items()}
        thread = Wires(self.wires.values())
        thread.start()
        self._stack.callback(thread.close)
        self._process = simlab.start_process(
            [QEMU, *self._words()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, pass_fds=[wire.tap for wire in self.wires.values()])
        self._stack.callback(simlab.stop_process, self._process)

    def _words(self):
        (kernel,) = (UNPACKED / self.package / "boot").glob("vmlinuz-*")
        words = ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-accel",
                 "tcg", "-m", "384", "-smp", "1", "-kernel", str(kernel),
                 "-initrd", str(self.folder / "initramfs"), "-append",
                 "console=ttyS0 panic=-1 quiet ipv6.disable=1 mitigations=off",
                 "-serial", f"file:{self.folder / 'console'}", "-serial", "stdio"]
        for name, (model, host) in self.cards.items():
            words += ["-netdev", f"tap,id={name},fd={self.wires[name].tap}",
                      "-device", f"{model},netdev={name},mac={host.mac}"]
        return words

    # ---- its shell

    def _hear(self, timeout, until):
        """The text that was heard, when until() finds its end in it."""
        deadline = time.monotonic() + timeout
        while (end := until(self._heard)) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise GuestError(f"no answer in {timeout} s: {self._heard[-500:]}\n"
                                 + self.console())
            more = self._process.stdout.read1(65536)
            if not more:
                raise GuestError(f"{QEMU} ended: {self._heard[-500:]}\n" + self.console())
            self._heard += more
        heard, self._heard = self._heard[:end], self._heard[end:]
        return heard

    def _hear_line(self, timeout):
        return self._hear(timeout, lambda text: text.find(b"\n") + 1 or None).decode().strip()

    def console(self):
        return (self.folder / "console").read_text(errors="replace")[-2000:]

    def wait(self):
        """Waits until the shell is ready."""
        while self._hear_line(BOOT_S) != "ready":
            pass

    def boot(self):
        """Waits for the shell, and names the devices."""
        self.wait()
        for name, (_, host) in self.cards.items():
            self.must("for device in /sys/class/net/*; do "
                      f"if [ $(cat $device/address) = {host.mac} ]; then "
                      f"ip link set ${{device##*/}} name {name}; fi; done")

    def start(self, line):
        """Has the shell run a line; answer() comes next."""
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def answer(self):
        """The result of the line that was started: Done."""
        status, length = map(int, self._hear_line(COMMAND_S).split())
        text = self._hear(COMMAND_S, lambda heard: length if len(heard) >= length else None)
        return Done(status, text.decode())

    def run(self, line):
        self.start(line)
        return self.answer()

    def must(self, line):
        return must_each([self], line)[0]


def must_each(guests, line):
    """The output of a line on each guest, on all at the same time; GuestError if it fails on one.
    """
    for guest in guests:
        guest.start(line)
    answers = [guest.answer() for guest in guests]
    for done in answers:
        if done.status:
            raise GuestError(f"{line}: {done.status}\n{done.text}")
    return [done.text for done in answers]
