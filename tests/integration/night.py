#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A night of an operator, event by event: does portmajor tell the truth?

Plays the rows of a table (default: docs/evidence/night.md) on a fabric of 648 hosts, simulated by
ibsim, with OpenSM and the plugin as a user has them. The truth is read from ibsim's Dump, not from
OpenSM. In the table

    done     steps with `;` between, see night_steps.py
    true     what the Dump has otherwise than the drawing, as text: see Truth
    exit     exit status of `portmajor status`
    status   what `portmajor status` has, each in backquotes; after `not` what it has not
    events   the same of `portmajor events` since the first of the steps
    metrics  `name value` in the file for Prometheus

`..` stands for any text of one line. All of a row has to hold at the same time, within --limit
seconds. Then the row is undone, and the next one begins when nothing is a finding. Rows are played
in several lanes, each with a fabric of its own, as most of a row's time is waiting.
"""

import collections
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import sys
import tempfile
import time

import measuring
import night_steps
import pmlab
import simlab
import test_status

TABLE = pmlab.ROOT / "docs" / "evidence" / "night.md"
COLUMNS = "event", "done", "true", "exit", "status", "events", "metrics"
LANES, LIMIT_S, LOOK_S = 3, 90, 0.3


# ---------------------------------------------------------------------- the table

def read_table(path):
    """Rows as dicts of COLUMNS."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in path.read_text("utf-8").splitlines() if line.startswith("|")]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    return [row for row in rows if row["exit"].isdigit()]


def wanted(cell):
    """[(text, whether it must be there)] of a cell."""
    found = []
    there = True
    for word, text in re.findall(r"\b(not)\b|`([^`]+)`", cell):
        if word:
            there = False
        else:
            found.append((text, there))
    return found


# ---------------------------------------------------------------------- the truth

class Truth:
    """The links that a Dump of ibsim has, and those of the drawing."""

    _NODE = re.compile(r'^(\S+) \d+ "([^"]+)"\s.*nodeguid (\w+)')
    _PORT = re.compile(r'^\w+\s+\[(\d+)\]\s+"([^"]+)"\[(\d+)\].*/LinkUp')

    def __init__(self, drawing, path):
        self.drawing = drawing
        self.links, name = set(), None
        for line in path.read_text("ascii", errors="replace").splitlines():
            node, port = self._NODE.match(line), self._PORT.match(line)
            if node:
                name = node[2]
            elif port and int(port[1]):
                self.links.add(frozenset(((name, int(port[1])), (port[2], int(port[3])))))

    def present(self):
        """The nodes that the subnet manager's host reaches."""
        near = collections.defaultdict(set)
        for link in self.links:
            (one, _), (other, _) = link
            near[one].add(other)
            near[other].add(one)
        manager = self.drawing.hosts[0]
        found, todo = {manager}, [manager]
        while todo:
            for name in near[todo.pop()] - found:
                found.add(name)
                todo.append(name)
        return found

    @staticmethod
    def name(link):
        return "-".join(f"{name}[{port}]" for name, port in sorted(link))

    def text(self):
        """The differences; hosts and links behind an absent switch are counted."""
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


# ------------------------------------------------------------------------ a row

class Row:
    """A row of the table in a Night."""

    def __init__(self, row, night):
        self.row, self.night = row, night
        self.status = self.events = ""
        self.before = collections.Counter(self._all_events())

    def _all_events(self):
        """Lines, without the GUIDs that they have if two OpenSMs wrote some."""
        return [re.sub(r"^(\S+) 0x[0-9a-f]{16} ", r"\1 ", line)
                for line in self.night.run("events").stdout.splitlines(True)]

    def new_events(self):
        """Events since the row began."""
        left, new = self.before.copy(), []
        for line in self._all_events():
            if left[line]:
                left[line] -= 1
            else:
                new.append(line)
        return "".join(new)

    def faults(self):
        """The expectations that do not hold."""
        dump, row, night = self.night.folder / "dump", self.row, self.night
        night.fabric.dump(dump)
        done, prom = night.run("status"), night.home / "portmajor.prom"
        self.status, self.events = done.stdout, self.new_events()
        metrics = test_status.metrics_of(prom) if prom.exists() else {}
        truth, found = Truth(night.netlist, dump).text(), []
        if truth != row["true"].strip("`"):
            found.append(f"true is {truth}")
        if done.returncode != int(row["exit"]):
            found.append(f"exit status {done.returncode}")
        for column, text in (("status", self.status), ("events", self.events)):
            found += [f"{column}: {'no ' * there}{fragment}" for fragment, there
                      in wanted(row[column]) if night_steps.has(text, fragment) != there]
        for metric, there in wanted(row["metrics"]):
            name, value = metric.split()
            if (metrics.get("portmajor_" + name) == float(value)) != there:
                found.append(f"metrics: {name} {metrics.get('portmajor_' + name)}")
        return found

    def judge(self):
        """Plays the row; returns what does not hold in the end."""
        found = None
        try:
            self.night.play(self.row["done"])
        except simlab.SimError as error:
            return [f"not played: {error}"]

        def look():
            nonlocal found
            found = self.faults()
            return not found
        with contextlib.suppress(simlab.SimTimeout):
            simlab.poll_until(look, self.night.limit, self.row["event"], LOOK_S)
        return found

    def is_mended(self):
        done = self.night.run("status")
        return done.returncode == 0 and all(night_steps.has(done.stdout, text)
                                            for text in ("missing     nothing", "drained     0"))

    def mend(self):
        """Undoes the row's steps. Returns why that fails, if it does."""
        night = self.night
        try:
            night.undo_all()
            night.osm.hup()  # known changes wait no longer for a sweep
            simlab.poll_until(self.is_mended, night.limit, "nothing missing, no finding", LOOK_S,
                              lambda: night.run("status").stdout)
        except simlab.SimError as error:
            night.undo.clear()
            night.anew()
            return [f"not undone: {error}"]
        return []


# ------------------------------------------------------------------------ lanes

def play_lane(number, rows, taken, pipe, netlist, folder, limit):
    """Plays rows that no other lane has taken; sends (row, faults, seconds, messages)."""
    simlab.die_with_parent(multiprocessing.parent_process().pid)
    folder = folder / str(number)
    folder.mkdir()
    with night_steps.Night(simlab.Netlist(netlist), folder, limit) as night:
        while True:
            with taken.get_lock():
                index = taken.value
                taken.value += 1
            if index >= len(rows):
                return
            start = time.monotonic()
            row = Row(rows[index], night)
            faults = row.judge()
            said = row.status + row.events
            faults += row.mend()
            pipe.send((rows[index]["event"], faults, time.monotonic() - start, said))


def play(rows, lanes, limit):
    """Yields (event, faults, seconds, messages) of each row as it ends."""
    with tempfile.TemporaryDirectory(prefix="portmajor-night-",
                                     dir=os.environ.get("SIMLAB_DIR")) as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)  # for commands of user nobody
        netlist = pmlab.generate(folder / "fabric.net", "director", 36)
        with open(netlist, "a", encoding="ascii") as net:
            net.write(f'\nSwitch\t36 "{night_steps.SPARE}"\n')
        taken, pipes = multiprocessing.Value("i", 0), []
        for number in range(min(lanes, len(rows))):
            pipe, end = multiprocessing.Pipe(duplex=False)
            multiprocessing.Process(target=play_lane, args=(
                number, rows, taken, end, netlist, folder, limit), daemon=True).start()
            end.close()
            pipes.append(pipe)
        while pipes:
            for pipe in multiprocessing.connection.wait(pipes):
                try:
                    yield pipe.recv()
                except EOFError:
                    pipes.remove(pipe)


def report(rows, lanes, limit, verbose=False):
    """Plays and prints; the events of rows that did not hold, or were not played."""
    failed, begin = {row["event"] for row in rows}, time.monotonic()
    for event, faults, seconds, said in play(rows, lanes, limit):
        print(f"{'FAILED' if faults else 'ok':6} {seconds:5.1f} s  {event}", flush=True)
        if faults or verbose:
            print("".join(f"    {fault}\n" for fault in faults) + said, flush=True)
        if not faults:
            failed.discard(event)
    print(f"{len(rows) - len(failed)} of {len(rows)} rows hold, "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    return failed


def main():
    parser = measuring.make_parser(__doc__, "scripts/night")
    parser.add_argument("row", nargs="*", default=[""], metavar="ROW",
                        help="text of the rows' events (default: all rows)")
    parser.add_argument("--table", type=pathlib.Path, default=TABLE, help="default: %(default)s")
    parser.add_argument("--lanes", type=int, default=LANES, help="default: %(default)s")
    parser.add_argument("--limit", type=float, default=LIMIT_S,
                        help="seconds (default: %(default)s)")
    parser.add_argument("--verbose", action="store_true", help="print what was said")
    options = parser.parse_args()
    rows = [row for row in read_table(options.table)
            if any(text in row["event"] for text in options.row)]
    return bool(report(rows, options.lanes, options.limit, options.verbose) or not rows)


if __name__ == "__main__":
    sys.exit(main())
