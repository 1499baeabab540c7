# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An Ethernet of Open vSwitch bridges and hosts in network namespaces, for tests.

    with Lab(netlist, plan=folder, rate="50mbit") as lab:
        lab.load()
        lab.hosts["h0-0"].udp()

The cables of a netlist are veths, its switches bridges of one ovs-vswitchd in user space, in a
namespace of their own; each host has a namespace with one device, e0 (netns.py). When this process
ends, in whatever way, all of it ends: the daemons, the namespaces and their veths. Switches are set
up with the files that `portmajor-vlan plan` writes, hosts with portmajor-vlan. Labs run side by
side. Every wait has a condition.
"""

import collections
import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
from typing import NamedTuple

import netns
import pmlab
import simlab

BROADCAST = "ff:ff:ff:ff:ff:ff"
PORT_NAME = "{switch}-{port}"  # of switches: short enough for a device's name
OURS = 0x88B5  # the EtherType of made-up frames: for local experiments
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
PROGRAMS = ("ip", "tc", "ethtool", "iperf3", "ovsdb-tool", "ovsdb-server", "ovs-vswitchd",
            "ovs-vsctl", "ovs-appctl")

_SOL_PACKET, _PACKET_AUXDATA, _PACKET_QDISC_BYPASS = 263, 8, 20
_ETH_P_ALL, _SO_RCVBUFFORCE, _TAG_IS_THERE = 3, 33, 0x10


class LabError(Exception):
    """A program that the lab needs failed."""


def run(argv, **kwargs):
    """The output of a program; LabError with its messages if it fails."""
    done = subprocess.run([str(word) for word in argv], text=True, capture_output=True,
                          check=False, **kwargs)
    if done.returncode:
        raise LabError(f"{' '.join(map(str, argv))}: {done.returncode}: "
                       f"{done.stdout}{done.stderr}")
    return done.stdout


# --------------------------------------------------------------------------- hosts

def bytes_of(mac):
    return bytes.fromhex(mac.replace(":", ""))


class Net(netns.Namespace):
    """A namespace in which a failed command raises an error."""

    def run(self, *argv, **kwargs):
        with self.inside():
            return run(argv, **kwargs)

    def start(self, argv, **kwargs):
        with self.inside():
            return simlab.start_process([str(word) for word in argv], **kwargs)


class Host(Net):
    """A host with one device, e0."""

    def __init__(self, name, index):
        super().__init__()
        self.name = name
        self.mac = mac_of(index)
        self.ip = f"10.0.{index >> 8}.{index & 255}"
        self.is_loaded = False

    def set_up(self):
        with self.inside():
            run(["ip", "link", "set", "lo", "up"])
            run(["ip", "link", "set", "e0", "address", self.mac, "up"])
            run(["ip", "addr", "add", f"{self.ip}/16", "dev", "e0"])
            run(["ethtool", "-K", "e0", "tx", "off"])

    def udp(self, port=5000):
        """A UDP socket at its address that does not block."""
        with self.inside():
            end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.bind((self.ip, port))
        end.setblocking(False)
        return end

    def raw(self, kind=OURS, bypass=False):
        """A socket for frames of an EtherType; `bypass`: past the queues, and so past the program.
        """
        with self.inside():
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(kind))
            end.bind(("e0", kind))
        if bypass:
            end.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
        end.setblocking(False)
        return end

    def frame(self, to, text, kind=OURS):
        """A frame of minimum length from this host, with text."""
        head = bytes_of(to) + bytes_of(self.mac) + kind.to_bytes(2, "big")
        return (head + text.encode()).ljust(60, b"\0")

    def send(self, to, text, **how):
        with contextlib.closing(self.raw(**how)) as end:
            end.send(self.frame(to, text, how.get("kind", OURS)))


def texts(end):
    """The frames of OURS that a socket of Host.raw has received, as (sender's MAC, text)."""
    found = []
    with contextlib.suppress(BlockingIOError):
        while True:
            frame, where = end.recvfrom(2048)
            if where[2] != socket.PACKET_OUTGOING:
                found.append((frame[6:12].hex(":"), frame[14:].rstrip(b"\0").decode()))
    return found


class Seen(NamedTuple):
    """A frame of OURS as a switch has received it: port, VLAN (None: untagged) and text."""
    switch: str
    port: int
    vlan: int
    text: str


class Tap:
    """The frames that the switches of a lab receive from now on."""

    def __init__(self, lab):
        self._ports = {name: port for port, name in lab.devices.items()}
        with lab.net.inside():
            self._end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        self._end.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self._end.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 24)
        self._end.setblocking(False)
        self._seen = []

    def seen(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, extra, _, where = self._end.recvmsg(2048, 256)
                if where[2] == socket.PACKET_OUTGOING or where[0] not in self._ports:
                    continue
                # struct tpacket_auxdata: the kernel has taken the tag out of the frame.
                aux = extra[0][2]
                tag = int.from_bytes(aux[16:18], "little")
                is_tagged = int.from_bytes(aux[0:4], "little") & _TAG_IS_THERE
                if frame[12:14] == OURS.to_bytes(2, "big"):
                    self._seen.append(Seen(*self._ports[where[0]], tag & 4095 if is_tagged
                                           else None, frame[14:].rstrip(b"\0").decode()))
        return list(self._seen)

    def close(self):
        self._end.close()


def received(text):
    """{device: frames received}, from the text of /proc/net/dev."""
    return {name: int(count) for name, count in re.findall(r"(?m)^ *(\S+): *\d+ +(\d+)", text)}


# ----------------------------------------------------------------------- the plan

class Line(NamedTuple):
    """A line of the host table."""
    vlan: int
    priority: int


def read_hosts(path):
    """{MAC: Line} of a host table."""
    table = {}
    for text in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        words = text.partition("#")[0].split()
        if words:
            table[words[0].lower()] = Line(int(words[1]), int(words[2]))
    return table


def pair_vlan(table, one, other):
    """The VLAN of two MACs: that of the one with the higher priority."""
    return max((table[mac] for mac in (one, other)), key=lambda line: line.priority).vlan


def plan(netlist, folder, plain=(), lose=(), old=None):
    """Has portmajor-vlan plan VLANs for switches and hosts of a Lab into a folder, and returns the
    folder.

    plain   hosts without the program
    lose    what is lost, as `--fail` has it
    old     a host table that is to change little: folder/hosts.diff has what does
    """
    folder = pathlib.Path(folder)
    macs = folder.with_suffix(".macs")
    macs.write_text("".join(f"{name} {mac_of(index)}\n" for name, index
                            in mac_indices(simlab.Netlist(netlist)).items()), encoding="ascii")
    words = ["--macs", macs, "--port-names", PORT_NAME]
    words += [word for name in plain for word in ("--untagged", name)]
    words += [word for name in lose for word in ("--fail", name)]
    words += ["--diff", old] if old else []
    done = pmlab.run_vlan("plan", *words, netlist, folder)
    if done.returncode:
        raise LabError(f"portmajor-vlan plan: {done.returncode}: {done.stderr}")
    return folder


def lost_cables(lab, lost):
    """The cables that fail with these names of `--fail`: switches, or leaf0[5]."""
    found = set()
    for name in lost:
        words = re.fullmatch(r"(.*)\[(\d+)\]", name)
        found |= ({lab.netlist.link_at(words[1], int(words[2]))} if words
                  else {cable for cable in lab.cables() if name in dict(cable)})
    return found


# ------------------------------------------------------------------------- the lab

class Lab:
    """A running Ethernet: see above.

    netlist   a file as ibsim reads it
    plan      the folder that `portmajor-vlan plan` wrote; None: switches without VLANs
    rate      of each cable, both ways, as tc takes it; None: unlimited
    plain     hosts that never get the program
    stp       switches run the rapid spanning tree protocol
    stray     cables that the netlist does not know, as pairs of (switch, port); an end at a
              switch that it does not know, either, is a device for tests
    """

    def __init__(self, netlist, plan=None, rate=None, plain=(), stp=False, stray=()):
        self.netlist = simlab.Netlist(netlist)
        self.plan, self.rate, self.plain, self.stp = plan, rate, set(plain), stp
        self.stray = stray
        self.net, self.hosts, self.devices = None, {}, {}
        self.folder = None
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with self._stack:
            self._start()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *exc):
        self._stack.close()

    def _start(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ethlab-",
                                                    dir=os.environ.get("SIMLAB_DIR")))
        if not os.environ.get("SIMLAB_KEEP"):
            self._stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.net = self._stack.enter_context(Net())
        macs = mac_indices(self.netlist)
        for name in self.netlist.hosts:
            self.hosts[name] = self._stack.enter_context(Host(name, macs[name]))
        self._wire()
        self._start_ovs()
        self._add_bridges()
        for host in self.hosts.values():
            host.set_up()

    # ---- cables

    def _wire(self):
        """A veth for each cable: ends at switches are named by switch and port."""
        lines, done = [], set()
        for node in self.netlist.nodes.values():
            for port in node.ports if node.is_switch else ():
                self.devices[node.name, port] = device_name(node.name, port)
                (peer, peer_port) = node.ports[port]
                if (peer, peer_port) in done:
                    continue
                done.add((node.name, port))
                end = (f"name {device_name(peer, peer_port)}" if peer not in self.hosts
                       else f"name e0 netns {self.hosts[peer].path}")
                lines.append(f"link add {device_name(node.name, port)} type veth peer {end}")
        for one, other in self.stray:
            lines += [f"link add {device_name(*one)} type veth peer name {device_name(*other)}"]
            lines += [f"link set {device_name(*end)} up" for end in (one, other)]
        lines += [f"link set {name} up" for name in self.devices.values()]
        self.net.run("ip", "-batch", "-", input="\n".join(lines))
        if self.rate:
            self.limit(self.rate)

    def limit(self, rate):
        """Limits all cables, both ways; queues bridge 100 ms without a processor."""
        how = f"root tbf rate {rate} burst 5kb latency 100ms"
        self.net.run("tc", "-batch", "-", input="\n".join(
            f"qdisc replace dev {name} {how}" for name in self.devices.values()))
        for host in self.hosts.values():
            host.run("tc", "qdisc", "replace", "dev", "e0", *how.split())

    def cables(self):
        """Those between switches, as frozensets of their two (switch, port) ends."""
        return {self.netlist.link_at(*end) for end in self.devices
                if self.netlist.nodes[end[0]].ports[end[1]][0] not in self.hosts}

    def set_cables(self, cables, state):
        """Sets cables "down", or "up" again."""
        self.net.run("ip", "-batch", "-", input="\n".join(
            f"link set {self.devices[end]} {state}" for cable in cables for end in cable))

    # ---- switches

    def _environment(self):
        return dict(os.environ, OVS_RUNDIR=str(self.folder), OVS_DBDIR=str(self.folder),
                    OVS_LOGDIR=str(self.folder), OVS_SYSCONFDIR=str(self.folder))

    def _daemon(self, *argv):
        log = self._stack.enter_context(open(self.folder / f"{argv[0]}.out", "w",
                                             encoding="utf-8"))
        process = self.net.start(argv, env=self._environment(), stdout=log, stderr=log,
                                 stdin=subprocess.DEVNULL)
        self._stack.callback(simlab.stop_process, process)
        return process

    def _start_ovs(self):
        store, sock = self.folder / "conf.db", self.folder / "db.sock"
        run(["ovsdb-tool", "create", store, SCHEMA])
        server = self._daemon("ovsdb-server", f"--remote=punix:{sock}", "--pidfile",
                              "-vconsole:warn", "-vsyslog:off", store)
        self._wait_for(sock, server, self._answers)
        self.vsctl("--no-wait", "init")
        # One thread of each kind: labs share few processors.
        self.vsctl("--no-wait", "set", "open", ".", "other_config:n-handler-threads=1",
                   "other_config:n-revalidator-threads=1")
        switchd = self._daemon("ovs-vswitchd", "--disable-system", "--pidfile",
                               "-vconsole:warn", "-vsyslog:off", "-vfile:off", f"unix:{sock}")
        self._wait_for(self.folder / "ovs-vswitchd.pid", switchd)

    @staticmethod
    def _answers(path):
        """Whether a process listens at a socket: it is there a moment before."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(path)) == 0

    @staticmethod
    def _wait_for(path, process, ready=pathlib.Path.exists):
        def there():
            if process.poll() is not None:
                log = path.parent / f"{pathlib.Path(process.args[0]).name}.out"
                raise LabError(f"{process.args[0]} ended: {log.read_text()}")
            return ready(path)
        simlab.poll_until(there, 20, f"{path.name}")

    def vsctl(self, *words):
        return run(["ovs-vsctl", "--timeout=60", *words], env=self._environment())

    def appctl(self, *words):
        return run(["ovs-appctl", "--timeout=60", "-t", "ovs-vswitchd", *words],
                   env=self._environment())

    def taken(self):
        """The number of frames that the switches have received and handled since their start."""
        return sum(map(int, re.findall(r"(?:hit|missed):(\d+)", self.appctl("dpctl/show"))))

    def received(self):
        """{device in the switches' namespace: frames received}."""
        with self.net.inside():
            text = pathlib.Path("/proc/thread-self/net/dev").read_text(encoding="ascii")
        return received(text)

    def _add_bridges(self):
        # By default Open vSwitch removes queues that others have made.
        words = ["--", "--id=@noop", "create", "qos", "type=linux-noop"]
        for switch in self.netlist.switches:
            words += ["--", "add-br", switch, "--", "set", "bridge", switch,
                      "datapath_type=netdev", "fail_mode=standalone"]
            if self.stp:
                words += ["rstp_enable=true"]
        for (switch, _), name in self.devices.items():
            words += ["--", "add-port", switch, name, "--", "set", "port", name, "qos=@noop"]
        for switch, port in itertools.chain(*self.stray):
            if switch in self.netlist.switches:
                words += ["--", "add-port", switch, device_name(switch, port)]
        self.vsctl(*words)
        if self.plan:
            for switch in self.netlist.switches:
                run(["sh", pathlib.Path(self.plan) / f"{switch}.ovs"], env=self._environment())

    def trees(self):
        """{VLAN: the cables that it is tagged on at both ends}, as the switches have it."""
        rows = json.loads(self.vsctl("--format=json", "--columns=name,trunks", "list", "port"))
        tagged = {}
        for name, trunks in rows["data"]:
            tagged[name] = set(trunks[1] if isinstance(trunks, list) else [trunks])
        trees = collections.defaultdict(set)
        for cable in self.cables():
            one, other = (tagged[self.devices[end]] for end in cable)
            for vlan in one & other:
                trees[vlan].add(cable)
        return dict(trees)

    def learnt(self, switch):
        """{(VLAN, MAC): device} that a switch has learnt."""
        numbers = {}
        for line in self.appctl("dpif/show").splitlines():
            words = re.match(r"\s+(\S+) (\d+)/", line)
            if words:
                numbers[words.group(1)] = words.group(2)
        names = {(numbers[name], where): name for (where, _), name in self.devices.items()}
        table = {}
        for line in self.appctl("fdb/show", switch).splitlines()[1:]:
            port, vlan, mac, _ = line.split()
            table[int(vlan), mac] = names.get((port, switch), port)
        return table

    # ---- hosts with the program

    def load(self, table=None, names=None):
        """Loads the program with a table (default: the plan's) on hosts (default: not plain)."""
        for name in names or self.hosts:
            if name not in self.plain:
                self.vlan(name, "load", table or pathlib.Path(self.plan) / "hosts")

    def update(self, what, path):
        """Runs portmajor-vlan `what` (replace, update) with a file on all hosts that have the
        program."""
        for name, host in self.hosts.items():
            if host.is_loaded:
                self.vlan(name, what, path)

    def vlan(self, name, what, *words):
        """portmajor-vlan on a host's device."""
        host = self.hosts[name]
        text = host.run(loader(), what, "e0", *words)
        if what in ("load", "remove"):
            host.is_loaded = what == "load"
        return text


def device_name(switch, port):
    return PORT_NAME.format(switch=switch, port=port)


def loader():
    """The path of portmajor-vlan."""
    return pmlab.VLAN


def has_bpf():
    """Whether portmajor-vlan was built with the code that loads the program."""
    return "built without BPF" not in pmlab.run_vlan("show", "lo").stderr


def mac_of(index):
    return f"02:00:00:00:{index >> 8:02x}:{index & 255:02x}"


def mac_indices(netlist):
    """{host: number}, from 1 in the order of the file."""
    return {name: index for index, name in enumerate(netlist.hosts, start=1)}


# ------------------------------------------------------- what this machine cannot do

def missing():
    """The reason why no lab can run here, found by trying; None if one can."""
    for name in PROGRAMS:
        if not shutil.which(name):
            return f"{name} is not installed"
    if not has_bpf():
        return "portmajor-vlan is built without BPF"
    try:
        with Net() as net:
            return _missing_inside(net)
    except OSError:
        return "network namespaces need root"


def _missing_inside(net):
    """The same, for the kernel's functions in a namespace."""
    tries = (("there are no veths here", ("ip link add e0 type veth peer name e1",
                                          "ip link set e0 address 02:00:00:00:00:01 up")),
             ("links cannot be limited here",
              ("tc qdisc add dev e0 root tbf rate 1mbit burst 5kb latency 9ms",)),
             ("no tc program can be loaded here", (f"{loader()} load e0 /dev/stdin",)))
    for reason, commands in tries:
        for command in commands:
            try:
                net.run(*command.split(), input="02:00:00:00:00:01 7 1\n")
            except LabError:
                return reason
    return None
