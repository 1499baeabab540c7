# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The steps of night.py: the events of a night, and the operator's actions.

A step is `VERB WORDS`, method do_VERB of Night; most have an undo. Parts are NODE:PORT, or for
`lose`, `back`, `flap` and `reboot` names and patterns, too; a host needs no port. A range of
numbers is `leaf[0-8]`.
"""

import contextlib
import errno
import itertools
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time

import pmlab
import simlab
import walker

LOOK_S = 0.1
STANDBY, SPARE = "h30-1", "spare"
# With its 500 queries at a time ibsim's sockets are full, and no process reads any more.
PERFMGR = {"perfmgr": "TRUE", "perfmgr_sweep_time_s": 5, "perfmgr_max_outstanding_queries": 4}
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


def has(text, fragment):
    """Whether a line has the text, with any text for `..`."""
    return re.search(re.escape(fragment).replace(re.escape(".."), ".*"), text) is not None


def expand(words):
    """Each word once for each number of its ranges: `leaf[0-8]`."""
    for word in words:
        parts = re.split(r"\[(\d+)-(\d+)\]", word)
        ranges = [map(str, range(int(a), int(b) + 1)) for a, b in zip(parts[1::3], parts[2::3])]
        for numbers in itertools.product(*ranges):
            yield "".join(a + b for a, b in zip(parts[::3], [*numbers, ""]))


def split_end(text):
    """(node, port) of NODE:PORT."""
    name, _, port = text.partition(":")
    return name, int(port or 1)


class Night:
    """A fabric and an OpenSM in a folder; undo_all() undoes all steps."""

    def __init__(self, netlist, folder, limit):
        self.whole, self.folder, self.limit = netlist, pathlib.Path(folder), limit
        self.config, self.room = self.folder / "portmajor.conf", self.folder / "room"
        self.clock = self.folder / "clock"
        self.cache = self.fabric = self.osm = self.other = self.home = None
        self.netlist = self.disk_errno = self.environment = self.said = None
        self.undo, self.number, self.log_start = [], 0, 0

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, *exc):
        self.end()

    sm = property(lambda self: self.netlist.hosts[0])

    def begin(self, netlist=None, disk_errno=errno.ENOSPC, clock=False):
        """Starts a fabric, and an OpenSM that knows nothing of it.

        disk_errno  how its disk fails when it does (do_full)
        clock       whether it has one that do_clock sets
        """
        self.number += 1
        self.netlist, self.disk_errno = netlist or self.whole, disk_errno
        self._remove_config()
        self.config.write_text("", "ascii")
        self.room.touch()
        self.clock.write_text("+0", "ascii")
        self.environment = {
            "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "FAKETIME_CACHE_DURATION": "1"} if clock else {}
        self.cache = self.folder / f"cache{self.number}"
        self.cache.mkdir()
        self.fabric = pmlab.Fabric(self.netlist)
        self.fabric.__enter__()
        self._start()
        simlab.poll_until(lambda: pmlab.kept(self.cache, "state").exists(), self.limit, "a state")
        self.home = pmlab.kept(self.cache, "state").parent

    def end(self):
        for process in (self.osm, self.other):
            if process:
                process.process.send_signal(signal.SIGCONT)
                process.__exit__(None, None, None)
        if self.fabric:
            self.fabric.__exit__(None, None, None)
        self.osm = self.other = self.fabric = None

    def anew(self, *args, **kwargs):
        """Ends this night; see begin()."""
        self.end()
        self.begin(*args, **kwargs)

    def undo_all(self):
        while self.undo:
            self.undo.pop()()

    def _open(self, host, **conf):
        clock = [self.environment["LD_PRELOAD"]] if self.environment else []
        osm = pmlab.open_sm(
            self.fabric, config=self.config, host=host, cache_dir=self.cache, sweep_interval=10,
            conf={**PERFMGR, **conf}, preload=[str(pmlab.BUILD / "libdiskfault.so"), *clock], env={
                "DISKFAULT_UNDER": str(self.cache), "DISKFAULT_NAME": "*", "DISKFAULT_AT": "1",
                "DISKFAULT_HOW": str(self.disk_errno), "DISKFAULT_ROOM": str(self.room),
                "DISKFAULT_LOG": str(self.folder / "calls"),
                **{key: value for key, value in self.environment.items() if key != "LD_PRELOAD"}})
        osm.__enter__()
        return osm

    def _start(self):
        self.osm = self._open(self.sm, sm_priority=5)
        self.osm.settle(timeout=pmlab.TIMEOUT_S)

    def _command_environment(self):
        return dict(os.environ, OSM_CACHE_DIR=str(self.cache), **self.environment)

    def run(self, *args, **kwargs):
        """A command of portmajor; a CompletedProcess."""
        return subprocess.run([str(pmlab.CLI), *args], capture_output=True, text=True,
                              env=self._command_environment(), check=False,
                              timeout=pmlab.TIMEOUT_S, **kwargs)

    def play(self, steps):
        self.log_start = self.osm.log_offset()
        for step in filter(None, (step.strip() for step in steps.strip("`").split(";"))):
            verb, *words = shlex.split(step)
            getattr(self, "do_" + verb.replace("-", "_"))(*words)

    # ---- failures and returns

    def do_lose(self, *targets):
        for target in expand(targets):
            self.fabric.lose(target)
            self.undo.append(lambda target=target: self.fabric.down() and self._back(target))

    def _back(self, target):
        with contextlib.suppress(simlab.SimError):  # it was taken back
            self.fabric.back(target)

    def do_back(self, *targets):
        for target in expand(targets):
            self.fabric.back(target)

    def do_flap(self, times, seconds, *targets):
        """Down and up so many times; the seconds of each, and between them."""
        for _ in range(int(times)):
            for change in self.fabric.lose, self.fabric.back:
                for target in targets:
                    change(target)
                time.sleep(float(seconds))  # part of the scenario

    def do_reboot(self, *targets):
        """All of them lose what was set, and return."""
        names = [name for target in expand(targets) for name in self.netlist.match(target)]
        for name in names:
            self.fabric.clear(name)
        for name in names:
            self.fabric.relink(name)

    def do_power(self):
        """All of the fabric loses its power, and gets it again."""
        names = [name for name, node in self.netlist.nodes.items() if node.ports]
        for name in names:
            self.fabric.clear(name)
        self.fabric.console(*(f'ReLink "{name}"' for name in self.netlist.switches))

    def do_errors(self, number, *ends):
        """Counters of symbol errors."""
        for name, port in map(split_end, ends):
            self.fabric.console(f'PerformanceSet "{name}"[{port}] '
                                f"PortCounters.SymbolErrorCounter={number}")

    def do_deaf(self, name):
        """The node does not answer LFT Sets."""
        self.fabric.error(name, 100, attr=simlab.ATTR_LFT)
        self.undo.append(lambda: self.fabric.error(name, 0, attr=simlab.ATTR_LFT))

    # ---- cables

    def _link(self, one, other):
        self.fabric.console(f'Link "{one[0]}"[{one[1]}] "{other[0]}"[{other[1]}]')

    def _pull(self, ends):
        """[(end, its peer)] of cables, which are pulled."""
        found = [(end, self.netlist.nodes[end[0]].ports[end[1]]) for end in ends
                 if end[1] in self.netlist.nodes[end[0]].ports]
        for end, _ in found:
            self.fabric.unlink(*end)
        return found

    def _recable(self, old, new):
        """Links between ends; undone, it is the old ones again."""
        for link in new:
            self._link(*link)

        def restore():
            for end, _ in new:
                self.fabric.unlink(*end)
            for link in old:
                self._link(*link)
        self.undo.append(restore)

    def do_swap(self, one, other):
        """Two cables, by an end each, exchange these ends."""
        old = self._pull([split_end(one), split_end(other)])
        self._recable(old, [(old[0][0], old[1][1]), (old[1][0], old[0][1])])

    def do_plug(self, end, place):
        """The cable at that end is plugged into another port, whose own cable is pulled."""
        old = self._pull([split_end(end), split_end(place)])
        self._recable(old, [(split_end(place), old[0][1])])

    def do_replace(self, name):
        """The spare switch takes its cables."""
        old = [((name, port), peer) for port, peer in self.netlist.nodes[name].ports.items()]
        self.fabric.unlink(name)
        self._recable(old, [((SPARE, port), peer) for (_, port), peer in old])

    # ---- other nights

    def _undo_night(self):
        self.undo.insert(0, self.anew)

    def do_then_anew(self):
        """Findings stay for an hour: the next row has a new night."""
        self._undo_night()

    def do_fabric(self, name):
        """A night of another fabric, of sim-topologies/real."""
        self.anew(simlab.Netlist(pmlab.TOPOLOGIES / "real" / f"{name}.net"))
        self._undo_night()

    def do_slow(self, *ends):
        """Another night, in which these links are 1x wide."""
        text = self.netlist.path.read_text("ascii")
        for end in map(split_end, ends):
            for one, number in (end, self.netlist.nodes[end[0]].ports[end[1]]):
                text = re.sub(rf'(?ms)(^\w+\s+\d+ "{one}".*?^\[{number}\][^\n]*?) 4xQDR',
                              r"\1 1xQDR", text, count=1)
        path = self.folder / "slow.net"
        path.write_text(text, "ascii")
        self.anew(simlab.Netlist(path))
        self._undo_night()

    def do_read_only(self):
        """Another night, in which the disk becomes read-only."""
        self.anew(disk_errno=errno.EROFS)
        self._undo_night()
        self.do_full()

    def do_clock(self, offset):
        """Another night, in which the clock is set by so many seconds."""
        self.anew(clock=True)
        self._undo_night()
        self.clock.write_text(offset, "ascii")

    def do_plan_of(self, *generate):
        """A plan file of another fabric, beside an OpenSM that has ended."""
        net = pmlab.generate(self.folder / "other.net", *generate)
        with pmlab.Lab(net) as lab:
            lab.bring_up()
            shutil.copy(pmlab.kept(lab.osm.cache_dir, "plan"), self.home / "plan")
        self._undo_night()

    # ---- OpenSM

    def do_kill(self):
        self.fabric.kill_client(self.osm.process)
        self._ended()

    def do_end(self):
        self._ended()

    def _ended(self):
        self.osm.__exit__(None, None, None)
        self.osm = None
        self.undo.append(lambda: self.osm or self._start())

    def do_start(self):
        self._start()

    def do_sweep(self):
        self.osm.hup()

    def do_hang(self):
        self.osm.process.send_signal(signal.SIGSTOP)
        self.undo.append(lambda: self.osm.process.send_signal(signal.SIGCONT))

    def do_standby(self):
        self.other = self._open(STANDBY, sm_priority=1, sminfo_polling_timeout=1000)

        def end():
            """Removed by hand, as the guide tells."""
            self.other.__exit__(None, None, None)
            self.other = None
            for folder in self.cache.glob("portmajor.*"):
                if folder != self.home:
                    shutil.rmtree(folder)
        self.undo.append(end)
        self.other.wait_log("Entering STANDBY", timeout=self.limit)

    def do_rotate(self):
        """As logrotate does."""
        self.osm.log_path.rename(self.osm.log_path.with_suffix(".1"))
        self.log_start = 0
        self.osm.process.send_signal(signal.SIGUSR1)
        simlab.poll_until(self.osm.log_path.exists, self.limit, "a new log")

    # ---- files

    def _remove_config(self):
        if self.config.is_dir():
            self.config.rmdir()
        else:
            self.config.unlink(missing_ok=True)

    def _reread(self):
        if self.osm:
            self.osm.hup()

    def _restore_config(self):
        def restore():
            self._remove_config()
            self.config.write_text("", "ascii")
            self._reread()
        self.undo.append(restore)

    def do_conf(self, *lines):
        """The configuration, read again by an OpenSM that runs."""
        self._remove_config()
        self.config.write_text("".join(line + "\n" for line in lines), "ascii")
        self._reread()
        self._restore_config()

    def do_conf_away(self):
        self._remove_config()
        self._reread()
        self._restore_config()

    def do_conf_folder(self):
        self._remove_config()
        self.config.mkdir()
        self._reread()
        self._restore_config()

    def do_full(self):
        self.room.unlink()
        self.undo.append(self.room.touch)

    def do_room(self):
        self.room.touch()

    # ---- commands, and waiting

    def do_wait(self, seconds):
        time.sleep(float(seconds))  # part of the scenario

    def do_until(self, *words):
        """Waits until status has the text."""
        text = " ".join(words)
        simlab.poll_until(lambda: has(self.run("status").stdout, text), self.limit, text, LOOK_S,
                          lambda: self.run("status").stdout)

    def do_log(self, *words):
        """Waits until OpenSM's log has it, since the row's begin or its rotation."""
        text = " ".join(words)
        simlab.poll_until(lambda: has(self.osm.log(self.log_start), text), self.limit, text)

    def do_walk(self, number):
        """For so many ordered pairs of hosts that are up the switches' tables have no path."""
        path = self.folder / "walk"

        def apart():
            self.fabric.dump(path)
            return walker.walk(path, {}).apart("H>H")
        simlab.poll_until(lambda: apart() == int(number), self.limit, f"{number} pairs", every=1,
                          state=apart)

    def _note(self, command, done, status):
        self.said = done.stdout + done.stderr
        if done.returncode != int(status):
            raise simlab.SimError(f"{command} ended with {done.returncode}: {self.said}")

    def _undo_command(self, command, *_):
        if command == "drain":
            self.undo.append(lambda: self.run("undrain", "--all", "--wait", "30"))

    def do_run(self, status, *args):
        """A command that ends with this status."""
        self._note(shlex.join(args), self.run(*args), status)
        self._undo_command(*args)

    def do_nobody(self, status, *args):
        """A command of a user without rights that ends with this status."""
        self._note(shlex.join(args), self.run(*args, user="nobody", group="nogroup",
                                              extra_groups=[]), status)

    def do_printed(self, *words):
        """The last command printed the text."""
        if not has(self.said, " ".join(words)):
            raise simlab.SimError(f"the last command printed {self.said}")

    def do_both(self, *commands):
        """Commands at the same time."""
        started = [subprocess.Popen([str(pmlab.CLI), *shlex.split(command)],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True, env=self._command_environment())
                   for command in commands]
        for command, process in zip(commands, started):
            said, _ = process.communicate(timeout=self.limit)
            if process.returncode:
                raise simlab.SimError(f"{command} ended with {process.returncode}: {said}")
            self._undo_command(*shlex.split(command))

    def do_script(self, status, name, *args):
        """Runs a script of the package, on these folders; it ends with this status."""
        script = (pmlab.ROOT / "packaging" / name).read_text("ascii")
        script = script.replace("/var/cache/opensm", str(self.cache)).replace(
            "/var/lib/prometheus/node-exporter", str(self.folder))
        self._note(name, subprocess.run(
            ["sh", "-c", script, name, *args], capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=self.limit), status)
