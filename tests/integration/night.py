#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A night of an operator, event by event: is what portmajor says true?

Plays the rows of a table (default: docs/evidence/night.md) on a fabric of 648 hosts, simulated by
ibsim, with OpenSM and the plugin as a user has them. What is true is read from ibsim's Dump, not
from OpenSM. In the table

    done     steps with `;` between, see class Player
    true     what the Dump has otherwise than the drawing, as text: see Truth
    exit     exit status of `portmajor status`
    status   what `portmajor status` has, each in backquotes; after `not` what it has not
    events   the same of `portmajor events` since the first of the steps
    metrics  `name value` in the file for Prometheus

`..` stands for any text of one line. All of a row has to hold at the same time, within --limit
seconds. Then the row is undone, and the next one begins when status has no finding.
"""

import argparse
import collections
import contextlib
import errno
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pmlab
import simlab
import test_status

TABLE = pmlab.ROOT / "docs" / "evidence" / "night.md"
COLUMNS = "event", "done", "true", "exit", "status", "events", "metrics"
SM, STANDBY, SPARE = "h0-1", "h30-1", "spare"
# With its 500 queries at a time ibsim's sockets are full, and nobody reads any more.
PERFMGR = {"perfmgr": "TRUE", "perfmgr_sweep_time_s": 5, "perfmgr_max_outstanding_queries": 4}


# ---------------------------------------------------------------------- the table

def read_table(path):
    """Rows as dicts of COLUMNS."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in path.read_text("utf-8").splitlines() if line.startswith("|")]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    return [row for row in rows if row["exit"].isdigit()]


def wanted(cell):
    """[(text, whether it is there)] of a cell."""
    found = []
    there = True
    for word, text in re.findall(r"\b(not)\b|`([^`]+)`", cell):
        if word:
            there = False
        else:
            found.append((text, there))
    return found


def has(text, fragment):
    return re.search(re.escape(fragment).replace(re.escape(".."), ".*"), text) is not None


# ---------------------------------------------------------------------- the truth

class Truth:
    """Which links a Dump of ibsim has, and which the drawing."""

    _NODE = re.compile(r'^(\S+) \d+ "([^"]+)"\s.*nodeguid (\w+)')
    _PORT = re.compile(r'^\w+\s+\[(\d+)\]\s+"([^"]+)"\[(\d+)\].*/LinkUp')

    def __init__(self, drawing, path):
        self.drawing = drawing
        self.links, self.guids, name = set(), {}, None
        for line in path.read_text("ascii", errors="replace").splitlines():
            node, port = self._NODE.match(line), self._PORT.match(line)
            if node:
                name, self.guids[node[2]] = node[2], int(node[3], 16)
            elif port and int(port[1]):
                self.links.add(frozenset(((name, int(port[1])), (port[2], int(port[3])))))

    def present(self):
        """The nodes that the subnet manager's host reaches."""
        near = collections.defaultdict(set)
        for link in self.links:
            (one, _), (other, _) = link
            near[one].add(other)
            near[other].add(one)
        found, todo = {SM}, [SM]
        while todo:
            for name in near[todo.pop()] - found:
                found.add(name)
                todo.append(name)
        return found

    @staticmethod
    def name(link):
        return "-".join(f"{name}[{port}]" for name, port in sorted(link))

    def text(self):
        """The differences; hosts and links behind a switch that is not there are counted."""
        drawn = {frozenset(((name, port), peer)) for name, node in self.drawing.nodes.items()
                 for port, peer in node.ports.items()}
        present, hosts = self.present(), set(self.drawing.hosts)
        switches = sorted(name for name in set(self.drawing.switches) - present
                          if self.drawing.nodes[name].ports)  # no spare one
        lost = sorted(hosts - present)
        cut = sorted(self.name(link) for link in drawn - self.links
                     if not {name for name, _ in link} & (set(switches) | hosts))
        new = sorted(self.name(link) for link in self.links - drawn)
        parts = [f"{what} ({len(found)}): {', '.join(found[:4])}{', ..' * (len(found) > 4)}"
                 for found, what in ((switches, "switches off"), (lost, "hosts off"),
                                     (cut, "cables off"), (new, "links elsewhere")) if found]
        return "; ".join(parts) or "as drawn"


# ---------------------------------------------------------------------- the player

class Player:
    """Steps: `VERB WORDS`; each has an undo. Ends are NODE:PORT, a host needs no port."""

    def __init__(self, netlist, folder, limit):
        self.netlist, self.folder, self.limit = netlist, pathlib.Path(folder), limit
        self.config, self.room = self.folder / "portmajor.conf", self.folder / "room"
        self.cache = self.fabric = self.osm = self.other = None
        self.undo, self.number = [], 0

    def __enter__(self):
        self.config.write_text("", "ascii")
        self.room.touch()
        self._begin(self.netlist)
        return self

    def __exit__(self, *exc):
        self._end_all()

    def _begin(self, netlist):
        """A fabric, and an OpenSM that knows nothing of it."""
        self.number += 1
        self.netlist = netlist
        self.cache = self.folder / f"cache{self.number}"
        self.cache.mkdir()
        self.fabric = pmlab.Fabric(netlist)
        self.fabric.__enter__()
        self._start()
        simlab.poll_until(lambda: pmlab.kept(self.cache, "state").exists(), self.limit, "a state")
        self.home = pmlab.kept(self.cache, "state").parent

    def _end_all(self):
        for process in (self.osm, self.other):
            if process:
                process.process.send_signal(signal.SIGCONT)
                process.__exit__(None, None, None)
        self.fabric.__exit__(None, None, None)
        self.osm = self.other = self.fabric = None

    def _open(self, host, **conf):
        osm = pmlab.open_sm(
            self.fabric, config=self.config, host=host, cache_dir=self.cache, sweep_interval=10,
            conf={**PERFMGR, **conf}, preload=[str(pmlab.BUILD / "libdiskfault.so")], env={
                "DISKFAULT_UNDER": str(self.cache), "DISKFAULT_NAME": "*", "DISKFAULT_AT": "1",
                "DISKFAULT_HOW": str(errno.ENOSPC), "DISKFAULT_ROOM": str(self.room),
                "DISKFAULT_LOG": str(self.folder / "calls")})
        osm.__enter__()
        return osm

    def _start(self):
        self.osm = self._open(SM, sm_priority=5)
        self.osm.settle(timeout=pmlab.TIMEOUT_S)

    def run(self, *args):
        return subprocess.run([str(pmlab.CLI), *args], capture_output=True, text=True,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)), check=False,
                              timeout=pmlab.TIMEOUT_S)

    # ---- steps

    def play(self, steps):
        for step in filter(None, (step.strip() for step in steps.strip("`").split(";"))):
            verb, *words = shlex.split(step)
            getattr(self, "do_" + verb.replace("-", "_"))(*words)

    def do_lose(self, *targets):
        for target in targets:
            self.fabric.lose(target)
            self.undo.append(lambda target=target: self.fabric.down()
                             and self._back(target))

    def _back(self, target):
        with contextlib.suppress(simlab.SimError):  # it was taken back
            self.fabric.back(target)

    def do_back(self, *targets):
        for target in targets:
            self.fabric.back(target)

    def do_flap(self, target, times, seconds="2"):
        for _ in range(int(times)):
            self.fabric.lose(target)
            time.sleep(float(seconds) / 2)  # what is played
            self.fabric.back(target)
            time.sleep(float(seconds) / 2)

    def do_reboot(self, target):
        self.fabric.reboot(target)

    def do_wait(self, seconds):
        time.sleep(float(seconds))  # what is played

    def do_until(self, *words):
        """Status has it."""
        text = " ".join(words)
        simlab.poll_until(lambda: has(self.run("status").stdout, text), self.limit, text,
                          state=lambda: self.run("status").stdout)

    # Cables

    def _end(self, text):
        name, _, port = text.partition(":")
        return name, int(port or 1)

    def _link(self, one, other):
        self.fabric.console(f'Link "{one[0]}"[{one[1]}] "{other[0]}"[{other[1]}]')

    def _cables(self, ends):
        """Their cables are pulled; they are put back at the end."""
        found = []
        for end in ends:
            peer = self.netlist.nodes[end[0]].ports.get(end[1])
            if peer:
                found.append((end, peer))
                self.fabric.unlink(*end)
        return found

    def _put_back(self, new, old):
        for end, _ in new:
            self.fabric.unlink(*end)
        for one, other in old:
            self._link(one, other)

    def do_swap(self, one, other):
        """Two cables, by an end each, exchange these ends."""
        old = self._cables([self._end(one), self._end(other)])
        new = [(old[0][0], old[1][1]), (old[1][0], old[0][1])]
        for link in new:
            self._link(*link)
        self.undo.append(lambda: self._put_back(new, old))

    def do_plug(self, end, place):
        """The cable at that end is plugged into another place, whose own cable is pulled."""
        end, place = self._end(end), self._end(place)
        old = self._cables([end, place])
        new = [(place, old[0][1])]
        self._link(*new[0])
        self.undo.append(lambda: self._put_back(new, old))

    def do_replace(self, name):
        """The spare switch takes its cables."""
        ports = self.netlist.nodes[name].ports
        self.fabric.unlink(name)
        for port, peer in ports.items():
            self._link((SPARE, port), peer)

        def restore():
            self.fabric.unlink(SPARE)
            for port, peer in ports.items():
                self._link((name, port), peer)
        self.undo.append(restore)

    def do_slow(self, *ends):
        """Another night, in which these links are 1x wide."""
        text, whole = self.netlist.path.read_text("ascii"), self.netlist
        for end in ends:
            name, port = self._end(end)
            for one, number in ((name, port), whole.nodes[name].ports[port]):
                text = re.sub(rf'(?ms)(^\w+\s+\d+ "{one}".*?^\[{number}\][^\n]*?) 4xQDR',
                              r"\1 1xQDR", text, count=1)
        path = self.folder / "slow.net"
        path.write_text(text, "ascii")
        self._end_all()
        self._begin(simlab.Netlist(path))
        self.undo.append(lambda: (self._end_all(), self._begin(whole)))

    def do_then_anew(self):
        """What was found stays a finding for an hour: the next row has a new night."""
        whole = self.netlist
        self.undo.insert(0, lambda: (self._end_all(), self._begin(whole)))

    def do_power(self):
        """All of the fabric loses its power, and has it again."""
        names = [name for name, node in self.netlist.nodes.items() if node.ports]
        for name in names:
            self.fabric.clear(name)
        self.fabric.console(*(f'ReLink "{name}"' for name in self.netlist.switches))

    # OpenSM

    def do_kill(self):
        self.fabric.kill_client(self.osm.process)
        self.osm.__exit__(None, None, None)
        self.osm = None
        self.undo.append(lambda: self.osm or self._start())

    def do_end(self):
        self.osm.__exit__(None, None, None)
        self.osm = None
        self.undo.append(lambda: self.osm or self._start())

    def do_start(self):
        self._start()

    def do_hang(self):
        self.osm.process.send_signal(signal.SIGSTOP)
        self.undo.append(lambda: self.osm.process.send_signal(signal.SIGCONT))

    def _open_other(self, **conf):
        self.other = self._open(STANDBY, **conf)

        def end():
            """It is removed by hand, as the guide has it."""
            self.other.__exit__(None, None, None)
            self.other = None
            for folder in self.cache.glob("portmajor.*"):
                if folder != self.home:
                    shutil.rmtree(folder)
        self.undo.append(end)

    def do_standby(self):
        self._open_other(sm_priority=1, sminfo_polling_timeout=1000)
        self.other.wait_log("Entering STANDBY", timeout=self.limit)

    def do_conf(self, *lines):
        """The configuration, read again by an OpenSM that runs."""
        self.config.write_text("".join(line + "\n" for line in lines), "ascii")
        if self.osm:
            self.osm.hup()

        def restore():
            self.config.write_text("", "ascii")
            if self.osm:
                self.osm.hup()
        self.undo.append(restore)

    def do_full(self):
        self.room.unlink()
        self.undo.append(self.room.touch)

    # Switches

    def do_deaf(self, name):
        self.fabric.error(name, 100, attr=simlab.ATTR_LFT)
        self.undo.append(lambda: self.fabric.error(name, 0, attr=simlab.ATTR_LFT))

    def do_errors(self, end, number):
        name, port = self._end(end)
        self.fabric.console(f'PerformanceSet "{name}"[{port}] '
                            f"PortCounters.SymbolErrorCounter={number}")

    # Commands

    def _undo_command(self, command, *_):
        back = {"drain": "undrain"}.get(command)
        if back:
            self.undo.append(lambda: self.run(back, "--all", "--wait", "30"))

    def do_run(self, status, *args):
        """A command that ends with this status."""
        done = self.run(*args)
        if done.returncode != int(status):
            raise simlab.SimError(f"{shlex.join(args)} ended with {done.returncode}: "
                                  f"{done.stdout}{done.stderr}")
        self._undo_command(*args)

    def do_both(self, *commands):
        """Commands at the same time."""
        started = [subprocess.Popen([str(pmlab.CLI), *command.split()], stdout=subprocess.PIPE,
                                    env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)))
                   for command in commands]
        for command, process in zip(commands, started):
            process.communicate(timeout=self.limit)
            if process.returncode:
                raise simlab.SimError(f"{command} ended with {process.returncode}")
            self._undo_command(*command.split())

    # ---- a row

    def faults(self, row, seen):
        """What does not hold of a row."""
        dump = self.folder / "dump"
        self.fabric.dump(dump)
        status, said = self.run("status"), []
        events = self.run("events").stdout[seen:]
        prom = self.home / "portmajor.prom"
        metrics = test_status.metrics_of(prom) if prom.exists() else {}
        truth = Truth(self.netlist, dump).text()
        if truth != row["true"].strip("`"):
            said.append(f"true is {truth}")
        if status.returncode != int(row["exit"]):
            said.append(f"exit status {status.returncode}")
        for column, text in (("status", status.stdout), ("events", events)):
            said += [f"{column}: {'no ' * there}{fragment}"
                     for fragment, there in wanted(row[column]) if has(text, fragment) != there]
        for metric, there in wanted(row["metrics"]):
            name, value = metric.split()
            if (metrics.get("portmajor_" + name) == float(value)) != there:
                said.append(f"metrics: {name} {metrics.get('portmajor_' + name)}")
        return said, status.stdout, events

    def judge(self, row):
        """Plays a row; what does not hold of it in the end, and what was said."""
        seen, result = len(self.run("events").stdout), None
        self.play(row["done"])

        def look():
            nonlocal result
            result = self.faults(row, seen)
            return not result[0]
        with contextlib.suppress(simlab.SimError):
            simlab.poll_until(look, self.limit, row["event"])
        return result

    def mend(self):
        """Undoes what was done; in the end there is no finding."""
        while self.undo:
            self.undo.pop()()
        simlab.poll_until(lambda: self.run("status").returncode == 0, self.limit, "no finding",
                          state=lambda: self.run("status").stdout)


def main():
    parser = argparse.ArgumentParser(prog="scripts/night", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=pathlib.Path, default=TABLE, help="default: %(default)s")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose event has it")
    parser.add_argument("--limit", type=float, default=90, help="seconds (default: %(default)s)")
    parser.add_argument("--verbose", action="store_true", help="prints what was said")
    options = parser.parse_args()
    rows = [row for row in read_table(options.table) if options.only in row["event"]]
    failed, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="portmajor-night-",
                                     dir=os.environ.get("SIMLAB_DIR")) as folder:
        path = pmlab.generate(pathlib.Path(folder) / "fabric.net", "director", 36)
        with open(path, "a", encoding="ascii") as net:
            net.write(f'\nSwitch\t36 "{SPARE}"\n')
        with Player(simlab.Netlist(path), folder, options.limit) as player:
            for row in rows:
                start = time.monotonic()
                faults, status, events = player.judge(row)
                print(f"{'FAILED' if faults else 'ok':6} {time.monotonic() - start:5.1f} s  "
                      f"{row['event']}", flush=True)
                if faults or options.verbose:
                    print("".join(f"    {fault}\n" for fault in faults) + status + events,
                          flush=True)
                failed += [row["event"]] if faults else []
                player.mend()
    print(f"{len(rows) - len(failed)} of {len(rows)} rows hold, "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
