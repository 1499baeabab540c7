# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A simulated fabric (ibsim) and subnet managers (opensm) on it, for tests.

    with Fabric("x.net") as fabric, OpenSM(fabric, engine="updn") as osm:
        osm.wait_subnet_up()
        osm.settle()
        print(measure(fabric, osm, lambda: fabric.lose("leaf0:19")))

Everything runs in temporary folders and on abstract unix sockets of its own, so that labs run side
by side. Each wait polls a condition and raises SimTimeout at its deadline. Processes end with their
context manager, with an exception, or with the thread that started them (PR_SET_PDEATHSIG).

Files needed: libmadcount.so (made of madcount.c), found in $MADCOUNT_LIB, beside this file or in
$SIMLAB_BUILD. $SIMLAB_OPENSM is the opensm to run, if it is not the one in $PATH.
"""

import collections
import contextlib
import ctypes
import fnmatch
import functools
import itertools
import mmap
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

UMAD2SIM = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
POLL_S = 0.02
LONG_S = 15  # longer waits are reported

# opensm's sweep timer is periodic from its start. A light sweep sends one Get of SwitchInfo per
# switch (810 SMPs at 5,832 hosts) and no LFT Set. With the default of 10 s one falls into most
# measurements at that size, which take 4 to 10 s. 60 s leaves the sweeps on (they alone repair
# initialisation errors and events whose traps were lost), yet bring-up plus several events fit in;
# measure() reports in `light_sweeps` when one did fall in.
SWEEP_INTERVAL_S = 60

# opensm ignores a trap if the last ten or more like it came less than 5 s apart. A line switch
# sends 18 at once when a fabric switch fails; further changes of it within 5 s stay unseen until
# the next light sweep.
TRAP_LIMIT = 10
TRAP_WINDOW_S = 5.5

# A sweep's work is over when nothing has moved for this long, while no thread had to wait for a
# processor; and the interval of the checks.
QUIET_S = 0.3
LOOK_S = 0.05


class SimError(Exception):
    """The simulator, opensm or the netlist misbehaved."""


class SimTimeout(SimError):
    """A condition did not come true by its deadline."""


def load():
    """The factor by which this machine is slower now than an idle one; at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def poll_until(condition, timeout, what, every=POLL_S, state=None):
    """Returns condition()'s first true value; raises SimTimeout after `timeout` seconds.

    Those are of an idle machine: on a busy one it waits longer, as everything takes longer.
    They are looked at once in a second.
    state() tells in the message how far things have come.
    """
    start = last = time.monotonic()
    left = timeout
    while True:
        value = condition()
        if value:
            if last - start > LONG_S:
                print(f"waited {last - start:.0f} s: {what}", flush=True)
            return value
        passed = time.monotonic() - last
        if passed >= 1:
            left, last = left - passed / load(), last + passed
        if left < 0:
            raise SimTimeout(f"{what}: not within {timeout} s" + (f"; {state()}" if state else ""))
        time.sleep(every)


# --------------------------------------------------------------------- processes

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid):
    """Has the kernel kill this process when that one ends, or its thread that started this one."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # it died before prctl took effect
        os._exit(1)


def start_process(argv, **kwargs):
    """Popen in a session of its own that is killed when this thread ends."""
    return subprocess.Popen(argv, start_new_session=True,
                            preexec_fn=functools.partial(die_with_parent, os.getpid()),
                            **kwargs)


def stop_process(process, timeout=10):
    """SIGTERM, then SIGKILL after `timeout` seconds. Returns the exit status."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return process.returncode


def cpu_ticks(pid):
    """User plus system time of a process, in clock ticks of 10 ms."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    fields = text[text.rindex(")") + 2:].split()
    return int(fields[11]) + int(fields[12])


def is_running(pid):
    """Whether a thread of a process runs, or would if it had a processor."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            text = (task / "stat").read_text()
            if text[text.rindex(")") + 2] in "RD":
                return True
    return False


def find_madcount():
    """The path of libmadcount.so."""
    here = pathlib.Path(__file__).resolve().parent
    places = [os.environ.get("MADCOUNT_LIB"), here / "libmadcount.so",
              pathlib.Path(os.environ.get("SIMLAB_BUILD", ".")) / "libmadcount.so"]
    for place in places:
        if place and pathlib.Path(place).is_file():
            return str(pathlib.Path(place).resolve())
    raise SimError("libmadcount.so not found; set MADCOUNT_LIB")


class Folder:
    """A temporary folder below $SIMLAB_DIR or /tmp; kept if $SIMLAB_KEEP is set."""

    def __init__(self, prefix="simlab-"):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix=prefix,
                                                  dir=os.environ.get("SIMLAB_DIR")))

    def __enter__(self):
        return self.path

    def __exit__(self, *exc):
        self.remove()

    def remove(self):
        if not os.environ.get("SIMLAB_KEEP"):
            shutil.rmtree(self.path, ignore_errors=True)


# ----------------------------------------------------------------------- netlist

Node = collections.namedtuple("Node", "name is_switch ports")  # ports: port -> (peer, port)


class Netlist:
    """The nodes and links of an ibsim netlist file."""

    _NODE = re.compile(r'(Switch|Hca|Ca|Rt)\s+(\d+)\s+"([^"]+)"')
    _LINK = re.compile(r'\[(\d+)\]\s*"([^"]+)"\s*\[(\d+)\]')

    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()
        self.nodes = {}
        self.port_total = 0
        self._parse()

    def _parse(self):
        current = None
        with open(self.path, encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                node = self._NODE.match(line)
                if node:
                    kind, ports, name = node.groups()
                    current = Node(name, kind == "Switch", {})
                    self.nodes[name] = current
                    self.port_total += int(ports) + (kind == "Switch")
                    continue
                link = self._LINK.match(line)
                if link and current:
                    port, peer, peer_port = link.groups()
                    current.ports[int(port)] = (peer, int(peer_port))
        for node in list(self.nodes.values()):  # a link may be named at one end only
            for port, (peer, peer_port) in node.ports.items():
                self.nodes[peer].ports.setdefault(peer_port, (node.name, port))

    @property
    def switches(self):
        return [n.name for n in self.nodes.values() if n.is_switch]

    @property
    def hosts(self):
        return [n.name for n in self.nodes.values() if not n.is_switch]

    def match(self, glob):
        """The names that match a shell pattern, or else a chassis; in the order of the file."""
        names = ([n for n in self.nodes if fnmatch.fnmatchcase(n, glob)] or
                 [n for n in self.switches if n.startswith(glob + "-")])
        if not names:
            raise SimError(f"no node matches {glob}")
        return names

    def link_at(self, name, port):
        """A link as the frozenset of its two (node, port) ends."""
        if port not in self.nodes[name].ports:
            raise SimError(f"nothing is wired to {name}[{port}]")
        return frozenset([(name, port), self.nodes[name].ports[port]])

    def links_of(self, name):
        return {self.link_at(name, port) for port in self.nodes[name].ports}


# ------------------------------------------------------------------------ processes

class _Process:
    """A process with a folder of its own while in `with`; subclasses have _start() and stop()."""

    PREFIX = "simlab-"  # of the folder's name

    def __enter__(self):
        self._folder = Folder(self.PREFIX)
        self.path = self._folder.path
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc):
        self.stop()


# ------------------------------------------------------------------------ fabric

class Fabric(_Process):
    """An ibsim process and its console.

    lose()/back() keep account of why each link is down, so that overlapping failures can be undone
    in any order. unlink(), relink() and clear() are the bare console commands and are not accounted
    for; use one kind per test.
    """

    PREFIX = "simlab-ibsim-"
    _serial = itertools.count()
    _FAILURE = re.compile(r"not found|can't|bad (port|parameter)|unknown - skipped|"
                          r"is not linked|no previous link|is missing|must be in")

    def __init__(self, netlist, start_timeout=60):
        self.netlist = netlist if isinstance(netlist, Netlist) else Netlist(netlist)
        self.start_timeout = start_timeout
        self.sockname = f"simlab-{os.getpid()}-{next(self._serial)}"
        self.process = None
        self.changes = 0  # commands that changed something
        self.done_at = 0.0  # time of day (s) at which ibsim had done the last of these
        self.ports = None  # wire.Ports, once a process with a wire was attached
        self._markers = itertools.count()
        self._reasons = collections.defaultdict(set)  # link -> why it is down

    def _start(self):
        self._out_path = self.path / "console.out"
        nodes, switches = len(self.netlist.nodes), len(self.netlist.switches)
        argv = ["ibsim", "-s", "-N", str(nodes + 1), "-S", str(switches + 1),
                "-P", str(self.netlist.port_total + 64), "-L", "49151",
                str(self.netlist.path)]
        # O_APPEND lets us empty the file after a dump while ibsim holds it open.
        with open(self._out_path, "ab") as out, open(self.path / "stderr", "wb") as err:
            self.process = start_process(argv, stdin=subprocess.PIPE, stdout=out, stderr=err,
                                         cwd=self.path,
                                         env=dict(os.environ, IBSIM_SOCKNAME=self.sockname))
        poll_until(lambda: self._alive() and b"sim> " in self._output(0),
                   self.start_timeout, "ibsim's prompt")

    def stop(self):
        if self.process:
            stop_process(self.process)
            self.process.stdin.close()
        self._folder.remove()

    def _alive(self):
        if self.process.poll() is not None:
            raise SimError(f"ibsim ended with {self.process.returncode}: "
                           + (self.path / "stderr").read_text(errors="replace")[-500:])
        return True

    def _output(self, offset):
        with open(self._out_path, "rb") as out:
            out.seek(offset)
            return out.read()

    # ibsim echoes a comment line, without a newline, and then its prompt. Only when the prompt
    # follows have this and all earlier commands been done.
    def _run(self, commands, timeout):
        self._alive()
        changes = sum(not c.startswith(("Dump", "Attached", "#")) for c in commands)
        self.changes += changes
        offset = self._out_path.stat().st_size
        marker = f"# simlab {next(self._markers)}"
        end = f"{marker}sim> ".encode()
        tail = bytearray()
        text = "".join(c + "\n" for c in commands) + marker + "\n"
        if max(map(len, text.splitlines())) > 126:
            raise SimError("ibsim reads lines of at most 126 characters")
        try:
            self.process.stdin.write(text.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            self._alive()
            raise

        def done():
            tail.extend(self._output(offset + len(tail)))
            return tail.find(end, -len(end)) >= 0 or not self._alive()

        poll_until(done, timeout, f"ibsim's answer to {commands[:1]}", every=0.002)
        if changes:
            self.done_at = self._out_path.stat().st_mtime
        return tail[:-len(end)].decode(errors="replace").replace("sim> ", "")

    def console(self, *commands, timeout=60, check=True):
        """Runs console commands one after another and returns what they printed.

        With `check` an error message of ibsim becomes a SimError.
        """
        text = self._run(commands, timeout)
        if check and self._FAILURE.search(text):
            raise SimError(f"ibsim: {text.strip()[:500]}")
        return text

    @staticmethod
    def _target(node, port):
        return f'"{node}"' if port is None else f'"{node}"[{port}]'

    def unlink(self, node, port=None):
        """Takes one link of a node down, or all of them."""
        self.console(f"Unlink {self._target(node, port)}")

    def relink(self, node, port=None):
        """Restores one link, or all that were taken down, by whatever call."""
        self.console(f"ReLink {self._target(node, port)}")

    def clear(self, node, port=None):
        """Unlinks and zeroes the ports' LIDs; forwarding tables stay.

        For OpenSMs with a wire a whole node has rebooted: it comes back without anything that was
        set.
        """
        self.console(f"Clear {self._target(node, port)}")
        if self.ports and port is None:
            self.ports.reboot(node)

    def flap(self, node, port=None, seconds=0.0):
        """Takes a link (or all of a node) down and up: both ends are in INIT, and their switches
        send traps. Returns the time (monotonic, s) just before it comes up."""
        self.unlink(node, port)
        time.sleep(seconds)
        back = time.monotonic()
        self.relink(node, port)
        return back

    def reboot(self, node):
        """A node loses all that was set and is back at once; clear() leaves it down."""
        self.clear(node)
        self.relink(node)

    def guid(self, node):
        """A node's GUID, as given by ibsim."""
        return int(re.search(r"nodeguid (\w+)", self.dump(node=node))[1], 16)

    def error(self, node, percent, port=None, attr=None):
        """Drops that percentage of the MADs a node receives (0: none).

        Directed SMPs are dropped by the port they arrive at, so leave `port` out to drop them all.
        attr is an attribute id, e.g. ATTR_LFT (default: every one). A dropped request is sent again
        after its time-out, like one that is lost on a wire.
        """
        attr_text = "" if attr is None else f" {attr}"
        self.console(f"Error {self._target(node, port)} {percent}{attr_text}")

    def dump(self, path=None, node=None, timeout=120):
        """Writes ibsim's Dump (forwarding tables included) to `path`, or returns it."""
        text = self.console(f'Dump "{node}"' if node else "Dump", timeout=timeout, check=False)
        if not re.search(r"^#  dumped \d+ nodes$", text[-200:], re.M):
            raise SimError(f"incomplete dump: {text[-200:]}")
        os.truncate(self._out_path, 0)
        if path is None:
            return text
        pathlib.Path(path).write_text(text, encoding="ascii")
        return None

    def clients(self):
        """The slots in use: {slot: pid}. There are 10, and killed clients keep theirs."""
        return {int(slot): int(pid) for slot, pid in
                re.findall(r"Client (\d+): pid (\d+)", self.console("Attached"))}

    def kill_client(self, process):
        """kill -9 for an opensm; its slots are freed."""
        process.kill()
        process.wait()
        self.detach(process.pid)

    def detach(self, pid):
        """Frees the slots of a killed client."""
        slots = [slot for slot, owner in self.clients().items() if owner == pid]
        if slots:
            self.console(*[f"X {slot}" for slot in slots])

    # ---- accounted failures

    def _links_of_target(self, target):
        """`glob` (all links of these nodes) or `node:port` (that link)."""
        name, colon, port = target.rpartition(":")
        if colon:
            return {self.netlist.link_at(name, int(port))}
        return set().union(*[self.netlist.links_of(n) for n in self.netlist.match(target)])

    def lose(self, target):
        """Takes down all links of the nodes matching a glob, or the link at node:port.

        Returns how many links went down: those already down for another reason do not.
        """
        links = self._links_of_target(target)
        going = {l for l in links if not self._reasons[l]}
        commands = self._commands("Unlink", going, lambda l: not self._reasons[l])
        for link in links:
            self._reasons[link].add(target)
        self._send(commands)
        return len(going)

    def back(self, target):
        """Undoes one lose(): links without another reason to be down come up.

        Returns how many came up.
        """
        links = self._links_of_target(target)
        if not any(target in self._reasons[l] for l in links):
            raise SimError(f"{target} was not lost")
        coming = {l for l in links if self._reasons[l] == {target}}
        commands = self._commands("ReLink", coming, lambda l: bool(self._reasons[l]))
        for link in links:
            self._reasons[link].discard(target)
        self._send(commands)
        return len(coming)

    def down(self):
        """The links that lose() holds down."""
        return {link for link, reasons in self._reasons.items() if reasons}

    isolate = lose
    restore = back

    def _send(self, commands):
        if commands:
            self.console(*commands)

    # Node commands where one would change exactly the wanted links (a burst of traps, as when power
    # fails), commands for single links elsewhere.
    def _commands(self, verb, links, would_touch):
        commands, left = [], set(links)
        names = {end[0] for link in links for end in link}
        for name in (n for n in self.netlist.nodes if n in names):
            touched = {l for l in self.netlist.links_of(name) if would_touch(l)}
            if len(touched) > 1 and touched <= links:
                if touched & left:
                    commands.append(f'{verb} "{name}"')
                left -= touched
        return commands + [f'{verb} "{n}"[{p}]' for n, p in sorted(min(l) for l in left)]

    def cut_off_by(self, target, root):
        """The nodes that `root` can no longer reach if target (None: none) fails as well."""
        down = {l for l, why in self._reasons.items() if why}
        if target is not None:
            down |= self._links_of_target(target)
        reached, frontier = {root}, [root]
        while frontier:
            name = frontier.pop()
            for port, (peer, _) in self.netlist.nodes[name].ports.items():
                if peer not in reached and self.netlist.link_at(name, port) not in down:
                    reached.add(peer)
                    frontier.append(peer)
        return set(self.netlist.nodes) - reached


# ---------------------------------------------------------------------- counters

ATTR_SWITCH_INFO = 0x12
ATTR_LFT = 0x19


class Counters(dict):
    """A snapshot of madcount's file; see madcount.h for the names.

    attr(id, method) gives the SMPs sent of one attribute. `a - b` is what was
    sent between b and a: counters are subtracted; last_lft_smp and first_lft_smp
    become SMP numbers since b (0 if no LFT Set was sent since), times and
    top_lft_block, the highest block that was ever Set, stay. echoes() gives (number of
    an LFT Set, ports of the way of the one like it before, ports of its own way).
    """

    NAMES = ("smps requests send_errors responses timeouts traps gmps discoveries lft_sets "
             "last_lft_smp first_lft_smp last_smp_ns last_lft_ns first_lft_ns "
             "last_trap_ns top_lft_block late lft_late lft_lost num_echoes hold_lft_ms "
             "delay_us").split()
    SLOTS, METHODS = 65, 3
    ECHOES, ECHO = 64, struct.Struct("@QQBB6x64s64s")
    LAYOUT = struct.Struct(f"@IIII{len(NAMES)}Q{SLOTS * METHODS}Q{ECHOES * ECHO.size}s")
    MAGIC, VERSION = 0x434D4D50, 4

    @classmethod
    def parse(cls, data):
        values = cls.LAYOUT.unpack(data)
        if values[0] and values[:4] != (cls.MAGIC, cls.VERSION, cls.SLOTS, cls.METHODS):
            raise SimError(f"not a madcount file of version {cls.VERSION}: {values[:4]}")
        counters = cls(zip(cls.NAMES, values[4:]))
        counters.table = values[4 + len(cls.NAMES):-1]
        counters.last_echoes = values[-1]
        return counters

    @classmethod
    def offset(cls, name):
        """Of a counter in the file."""
        return 16 + 8 * cls.NAMES.index(name)

    def echoes(self, since):
        """Of the last ECHOES those where both were sent since that time (monotonic, s)."""
        for i in range(max(0, self["num_echoes"] - self.ECHOES), self["num_echoes"]):
            number, ns, before, after, *paths = self.ECHO.unpack_from(
                self.last_echoes, i % self.ECHOES * self.ECHO.size)
            if ns >= since * 1e9:
                yield number, paths[0][1:before + 1], paths[1][1:after + 1]

    def attr(self, attr_id, method="get"):
        slot = attr_id if attr_id < self.SLOTS - 1 else self.SLOTS - 1
        return self.table[slot * self.METHODS + ("get", "set", "other").index(method)]

    @property
    def outstanding(self):
        """Requests without a received answer (or failure) yet.

        A request that was given up may be answered after all, and is counted as both.
        """
        return max(0, self["requests"] - self["send_errors"] - self["responses"]
                   - self["timeouts"])

    def __sub__(self, base):
        result = Counters()
        for name in self.NAMES:
            if name.endswith("_ns") or name in ("top_lft_block", "hold_lft_ms", "delay_us"):
                result[name] = self[name]
            elif name.endswith("_lft_smp"):
                result[name] = max(0, self[name] - base["smps"])
            else:
                result[name] = self[name] - base[name]
        result.table = tuple(a - b for a, b in zip(self.table, base.table))
        return result


class Mark:
    """A moment in an opensm's life: its counters, its log's length and the time."""

    def __init__(self, counters, log_offset):
        self.counters = counters
        self.log_offset = log_offset
        self.time = time.monotonic()


# ------------------------------------------------------------------------ opensm

# How a heavy sweep can end, as logged at the default level.
_UP = re.compile(r"-> SUBNET UP")  # not the box that verbose logs add
_NOT_UP = re.compile(r"Errors during initialization|SM port is down|"
                     r"No routing engine able|Entering STANDBY state", re.I)


class OpenSM(_Process):
    """An opensm process attached to a Fabric.

    engine       routing_engine, e.g. "updn" or "portmajor"; None: opensm's default
    host         node to attach to (default: the netlist's first host)
    conf         further opensm.conf lines: a dict, or a list of lines
    args         further arguments
    plugin_dir   put in front of LD_LIBRARY_PATH
    env          further environment variables, e.g. {"MADCOUNT_DELAY_US": "50"}
    cache_dir    OSM_CACHE_DIR, to keep guid2lid files across restarts (default: own folder)
    preload      libraries to preload before libmadcount, e.g. a sanitizer's
    wire         the wire.Wire below libmadcount (default: one of its own)
    wrapper      argv prefix, e.g. ["valgrind", "-q"]
    flush        False: opensm buffers its log, as it does for users
    """

    PREFIX = "simlab-opensm-"

    def __init__(self, fabric, engine=None, host=None, conf=(), args=(), plugin_dir=None,
                 env=None, sweep_interval=SWEEP_INTERVAL_S, cache_dir=None, preload=(),
                 wire=None, wrapper=(), flush=True):
        import wire as wires  # which imports this module
        self.fabric = fabric
        self.wire = wire or wires.Wire()
        self.engine = engine
        self.host = host or fabric.netlist.hosts[0]
        self.process = None
        self._extra_conf, self._args, self._wrapper = conf, list(args), list(wrapper)
        self._plugin_dir, self._env, self._preload = plugin_dir, env or {}, list(preload)
        self._sweep_interval, self._cache_dir = sweep_interval, cache_dir
        self._map = None
        self._flush = ["-d", "2"] if flush else []
        self._traps_read_to = 0  # log offset: traps before it have aged
        self._hups, self._settled = 0, None

    def _conf_lines(self):
        lines = [f"sweep_interval {self._sweep_interval}"]
        if self.engine:
            lines.append(f"routing_engine {self.engine}")
        extra = self._extra_conf
        return lines + ([f"{k} {v}" for k, v in extra.items()] if isinstance(extra, dict)
                        else list(extra))

    def _log_file(self):
        return self.path / "opensm.log"

    def _environment(self):
        env = dict(os.environ, IBSIM_SOCKNAME=self.fabric.sockname, SIM_HOST=self.host,
                   OSM_CACHE_DIR=str(self.cache_dir), OSM_TMP_DIR=str(self.path),
                   MADCOUNT_FILE=str(self.path / "madcount"))
        self.wire.fabric = self.wire.fabric or self.fabric
        libraries = self._preload + [find_madcount(), self.wire.library()]
        env.update(self.wire.environment())
        # ld.so takes a blank to end a path here, but not in LD_LIBRARY_PATH.
        folders = [os.path.dirname(path) for path in libraries if " " in path]
        env["LD_PRELOAD"] = " ".join([os.path.basename(path) if " " in path else path
                                      for path in libraries] + [UMAD2SIM])
        folders += [str(self._plugin_dir)] if self._plugin_dir else []
        if folders:
            old = env.get("LD_LIBRARY_PATH")
            env["LD_LIBRARY_PATH"] = ":".join(folders + ([old] if old else []))
        env.update(self._env)
        return env

    def _start(self):
        self.log_path = self._log_file()
        self.cache_dir = pathlib.Path(self._cache_dir or self.path)
        conf = self.path / "opensm.conf"
        conf.write_text("".join(line + "\n" for line in self._conf_lines()))
        with open(self.path / "madcount", "w+b") as counts:
            counts.truncate(Counters.LAYOUT.size)
            self._map = mmap.mmap(counts.fileno(), Counters.LAYOUT.size)
        self.start_mark = self.mark()  # before there are counters
        opensm = os.environ.get("SIMLAB_OPENSM", "opensm")
        argv = self._wrapper + [opensm, "-F", str(conf), "-f", str(self.log_path)]
        with open(self.path / "stdout", "wb") as out:
            self.process = start_process(argv + self._flush + self._args,
                                         stdin=subprocess.DEVNULL, stdout=out,
                                         stderr=subprocess.STDOUT, cwd=self.path,
                                         env=self._environment())

    def stop(self, timeout=10):
        """Ends opensm and frees its place in ibsim. Returns the exit status."""
        status = None
        if self.process:
            status = stop_process(self.process, timeout)
            if status != 0 and self.fabric.process.poll() is None:
                self.fabric.detach(self.process.pid)
            self.process = None
        self._folder.remove()
        return status

    def is_alive(self):
        """True; raises SimError if opensm has ended."""
        if self.process.poll() is not None:
            raise SimError(f"opensm ended with {self.process.returncode}: {self.stdout()[-500:]}")
        return True

    def hup(self):
        """SIGHUP: a heavy sweep, with files reread."""
        self._hups += 1
        self.process.send_signal(signal.SIGHUP)

    def stdout(self):
        return (self.path / "stdout").read_text(errors="replace")

    # ---- log

    def log_offset(self):
        return self.log_path.stat().st_size if self.log_path.exists() else 0

    def log(self, since=0):
        """The log's text from a byte offset on."""
        if not self.log_path.exists():
            return ""
        with open(self.log_path, "rb") as log:
            log.seek(since)
            return log.read().decode(errors="replace")

    def wait_log(self, regex, since=0, timeout=60):
        """Waits for a regular expression in the log after a byte offset; returns the match."""
        pattern = re.compile(regex, re.M)
        return poll_until(lambda: self.is_alive() and pattern.search(self.log(since)), timeout,
                          f"/{regex}/ in the log")

    def wait_subnet_up(self, since=0, timeout=300):
        return self.wait_log(_UP.pattern, since, timeout)

    def engines_used(self, since=0):
        """The engines that routed, one entry per heavy sweep: a fallback is visible here."""
        return re.findall(r"osm_ucast_mgr_process: (\S+) tables configured", self.log(since))

    # ---- counters

    def counters(self):
        return Counters.parse(self._map[:])

    def mark(self):
        """The present moment; settle() and delta() count from it."""
        mark = Mark(self.counters(), self.log_offset())
        self._store("first_lft_smp", 0)  # re-arms it
        return mark

    reset = mark

    def _store(self, name, value):
        offset = Counters.offset(name)
        self._map[offset:offset + 8] = struct.pack("@Q", value)

    def pace(self, microseconds):
        """From now on each SMP waits for this time before it is sent."""
        self._store("delay_us", microseconds)

    def hold_next_answer(self, milliseconds):
        """Delays the next answer to an LFT Set by this time."""
        self._store("hold_lft_ms", milliseconds)

    def delta(self, mark):
        """What was sent since the mark; beside the counters:

        lft_again  LFT Sets that repeat one, of the same block of the same switch with the
                   same contents, with a late answer, or none: so it should be
        done_at    when ibsim had done what it was told last, time of day in s
        """
        now = self.counters()
        delta = now - mark.counters
        delta["lft_again"] = len({number for number, before, after
                                  in now.echoes(mark.time)
                                  if self._leads_to(before) == self._leads_to(after)})
        delta["done_at"] = self.fabric.done_at
        return delta

    def _leads_to(self, ports):
        """The end of a directed route, by the netlist."""
        name = self.host
        for port in ports:
            name, _ = self.fabric.netlist.nodes[name].ports.get(port, (None, None))
            if not name:
                return ports  # cabled otherwise by now
        return name

    def wait_traps_aged(self):
        """Waits, if necessary, until opensm will heed the next trap of every switch."""
        def idle_s():
            return time.monotonic() - self.counters()["last_trap_ns"] / 1e9

        lids = collections.Counter(re.findall(r"Received Generic Notice .* from LID:(\d+)",
                                              self.log(self._traps_read_to)))
        if lids and max(lids.values()) >= TRAP_LIMIT:
            poll_until(lambda: idle_s() > TRAP_WINDOW_S, 4 * TRAP_WINDOW_S, "traps to age")
        if idle_s() > TRAP_WINDOW_S:
            self._traps_read_to = self.log_offset()

    # ---- end of an event

    def _state(self):
        """All that must stand still: SMPs, log and the CPU time of both processes."""
        return (self.counters()["smps"], self.log_offset(),
                cpu_ticks(self.process.pid), cpu_ticks(self.fabric.process.pid))

    @staticmethod
    def _moved(old, new):
        """A clock tick now and then is housekeeping; everything else is work."""
        return (old[:2] != new[:2] or new[2] - old[2] > 1 or new[3] - old[3] > 1)

    def sweep_waits(self):
        """Whether portmajor delays OpenSM's next sweep."""
        log = self.log()
        return log.rfind(": the next sweep waits ") > log.rfind("SUBNET UP")

    def _swept(self, mark):
        """The last sweep since the mark ended well (None: no sweep yet, False: failed)."""
        if self.counters()["discoveries"] == mark.counters["discoveries"]:
            return None
        log = self.log(mark.log_offset)
        ends = [(m.end(), good) for regex, good in ((_UP, True), (_NOT_UP, False))
                for m in regex.finditer(log)]
        return max(ends)[1] if ends else None

    def settle(self, mark=None, timeout=300, quiet=QUIET_S, sweep=True):
        """Waits until everything since `mark` (default: the start) has been dealt with.

        That is: a discovery has begun after the mark, the last sweep's end in the
        log is SUBNET UP, every request has been answered, and for `quiet` seconds
        neither SMPs nor the log nor the CPU time of opensm and ibsim have moved, and
        none of their threads waits for a processor.
        A heavy sweep still due would show in these: opensm starts it itself, at
        once, when the one before it is over, or portmajor has it wait; then it is asked
        for (hup). With sweep=False only the standstill
        is asked for (an event that opensm should not react to).
        """
        mark = mark or self.start_mark
        asked = False
        still = {"since": time.monotonic(), "state": None}

        def settled():
            nonlocal asked
            self.is_alive()
            state = self._state()
            if (still["state"] is None or self._moved(still["state"], state)
                    or self.counters().outstanding):
                still.update(since=time.monotonic(), state=state)
            if time.monotonic() - still["since"] < quiet:
                return False
            if sweep and not self._swept(mark):
                if not asked and self.sweep_waits():
                    asked = True
                    self.hup()
                return False
            if not is_running(self.process.pid) and not is_running(self.fabric.process.pid):
                return True
            still.update(since=time.monotonic())
            return False

        poll_until(settled, timeout, "opensm to settle", LOOK_S, self.describe)
        self._settled = self._happened()

    def wait_answered(self, timeout=60):
        """Waits until no request is out: opensm has been idle before, yet the plugin may be reading
        multicast tables, some time after a sweep."""
        poll_until(lambda: not self.counters().outstanding, timeout, "all answers", every=0.001,
                   state=self.describe)

    def describe(self):
        """The progress, for messages."""
        counters = self.counters()
        ends = [line for line in self.log().splitlines() if _UP.search(line)
                or _NOT_UP.search(line)]
        return (f"{counters['smps']} SMPs, {counters.outstanding} not answered, "
                f"{counters['timeouts']} failed, {counters['discoveries']} discoveries, "
                f"{counters['traps']} traps; last ends of sweeps: {ends[-3:]}")

    def _happened(self):
        """All actions on it and by it so far."""
        return (self._hups, self.fabric.changes, self.counters()["smps"], self.log_offset())

    def is_settled(self):
        """Whether nothing has happened since the last wait: then it stands still."""
        return self._happened() == self._settled and not self.counters().outstanding


def measure(fabric, osm, action, timeout=300, sweep=True):
    """Runs action() and waits until opensm has dealt with it.

    A heavy sweep is waited for unless sweep is False or action() returns 0, as
    lose() and back() do when they change no link.

    Returns what opensm sent from the action on:
    lft_sets      LFT Sets
    lft_again     of these, repeats of one without an answer in time (see OpenSM.delta)
    late          answers that were late, as they are on a busy machine; lft_late: to LFT
                  Sets; lft_lost: LFT Sets that went unanswered
    smps          all SMPs
    first_lft_smp, last_lft_smp   number of the first and last LFT Set among all SMPs
    seconds       from the action to the last SMP; lft_seconds: to the last LFT Set
    discoveries   discoveries begun (two or more with a burst of traps)
    sweeps        heavy sweeps that reached SUBNET UP
    light_sweeps  light sweeps that fell in: each adds one SMP per switch
    traps         traps received; each adds one SMP, a trap repress
    timeouts      requests that went unanswered
    engines       which routing engine served each heavy sweep
    done_at       see OpenSM.delta
    """
    if not osm.is_settled():
        osm.settle(osm.mark(), timeout, sweep=False)
    osm.wait_traps_aged()
    mark = osm.mark()
    changed = action()
    osm.settle(mark, timeout, sweep=sweep and changed != 0)
    d = osm.delta(mark)
    switch_rounds = round(d.attr(ATTR_SWITCH_INFO) / len(fabric.netlist.switches))

    def seconds(ns):
        return round(max(0.0, ns / 1e9 - mark.time), 3)

    return {
        "lft_sets": d["lft_sets"],
        "lft_again": d["lft_again"],
        "late": d["late"],
        "lft_late": d["lft_late"],
        "lft_lost": d["lft_lost"],
        "smps": d["smps"],
        "first_lft_smp": d["first_lft_smp"],
        "last_lft_smp": d["last_lft_smp"],
        "seconds": seconds(d["last_smp_ns"]),
        "lft_seconds": seconds(d["last_lft_ns"]) if d["lft_sets"] else 0.0,
        "discoveries": d["discoveries"],
        "sweeps": len(_UP.findall(osm.log(mark.log_offset))),
        "light_sweeps": max(0, switch_rounds - d["discoveries"]),
        "traps": d["traps"],
        "timeouts": d["timeouts"],
        "engines": osm.engines_used(mark.log_offset),
        "done_at": d["done_at"],
    }
