# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ibutils' ibdmchk as a judge that knows nothing of this project.

    with pmlab.Lab(netlist, args=ibdmchk.OPENSM_ARGS) as lab:
        lab.bring_up()
        print(ibdmchk.faults(lab))        # empty if all is well

OpenSM writes its view of the fabric (opensm-subnet.lst, opensm.fdbs, opensm.mcfdbs) into
OSM_TMP_DIR at the end of each heavy sweep without errors, just before it logs SUBNET UP, if log
flag 0x40 is set. So when a lab has settled, the files are those of its last sweep. faults()
verifies that: it compares tables and cables in the files with ibsim's, so that the tables in the
switches are judged.

ibdmchk judges every path between end nodes, and with -a those from and to switches as well. With
-M, it includes multicast in its search for credit loops. After a missing path it does not search
for credit loops. Two kinds of paths may be missing, as paths go up and then down: between spines
without a common switch above them, and between hosts of these; the caller names the pairs in
`apart`. If an end node is among these pairs, the search for credit loops leaves it out.

ibdmchk always crashes at exit, so only its text counts. With switches of 65 ports it writes behind
an array and crashes before it prints anything; heaproom.c leaves room for that. It writes a file at
a fixed place, so a lock makes a second one on this machine wait.
"""

import collections
import contextlib
import fcntl
import functools
import os
import pathlib
import re
import subprocess
import tempfile

import pmlab
import simlab

OPENSM_ARGS = ["-D", "0x43"]
FILES = ("opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs")
TIMEOUT_S = 300

HEAP_ROOM = pmlab.BUILD / "libheaproom.so"

CLEAN = "no credit loops found"
_MISSING = re.compile(r"^-E- Fail to find a path from:S([0-9a-f]{16})/U1/(\d+)"
                      r" to:S([0-9a-f]{16})/U1/(\d+)")
# Lines that follow each missing path, and their sums.
_WITH_MISSING = re.compile(r"^-E- (Unassigned LFT for lid:|Dead end at:|Found \d+ missing paths|"
                           r"Some Point to Point Traversals Failed)")
_COMPLAINT = re.compile(r"^-[EW]-|credit loop (on|through)|loop through")


@contextlib.contextmanager
def _only_one():
    with open(pathlib.Path(tempfile.gettempdir()) / "ibdmchk.lock", "a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(folder, *options):
    """The output of ibdmchk about the dumps in a folder."""
    subnet, fdbs, mcfdbs = (str(pathlib.Path(folder) / name) for name in FILES)
    with _only_one():
        done = subprocess.run(["ibdmchk", "-s", subnet, "-f", fdbs, "-m", mcfdbs, "-M", *options],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=TIMEOUT_S, errors="replace",
                              env={**os.environ, "LD_PRELOAD": str(HEAP_ROOM)})
    return done.stdout + done.stderr


# ------------------------------------------------------------------- the dumps

class Dumps:
    """OpenSM's dumps.

    names    {node GUID: name}
    is_end   {name: whether it is no switch}
    cables   {frozenset of its two (name, port) ends}
    tables   {switch: {LID: port}}, for LIDs that some port has
    """

    _END = re.compile(r"\{ (\w+)(?:-SM)? Ports:\w+ SystemGUID:\w+ NodeGUID:(\w+) .*?"
                      r"\{([^{}]*)\} LID:(\w+) PN:(\w+) \}")
    _SWITCH = re.compile(r"dump_ucast_routes: Switch 0x(\w+)")
    _ENTRY = re.compile(r"^0x(\w+) : (\d+) ", re.M)

    def __init__(self, subnet, fdbs):
        """Parses the text of the first two FILES."""
        self.names, self.is_end, self.cables, self.tables = {}, {}, set(), {}
        for line in subnet.splitlines():
            ends = self._END.findall(line)
            if len(ends) != 2:
                raise simlab.SimError(f"{FILES[0]}: {line}")
            for kind, guid, name, _, _ in ends:
                self.names[guid] = name
                self.is_end[name] = kind != "SW"
            self.cables.add(frozenset((name, int(port, 16)) for _, _, name, _, port in ends))
        _, *parts = self._SWITCH.split(fdbs)
        for guid, table in zip(parts[::2], parts[1::2]):
            self.tables.setdefault(self.names[guid], {}).update(
                (int(lid, 16), int(port)) for lid, port in self._ENTRY.findall(table))

    @classmethod
    def read(cls, folder):
        """From OpenSM's folder; files that were read before are not read again."""
        return _read_dumps(*[(pathlib.Path(folder) / name).read_text(errors="replace")
                             for name in FILES[:2]])


_read_dumps = functools.lru_cache(maxsize=2)(Dumps)


def _simulated_cables(text):
    """The cables that are up in an ibsim Dump."""
    cables = set()
    _, *parts = re.split(r'^\S+ \d+ "([^"]+)"\s.*nodeguid', text, flags=re.M)
    for name, ports in zip(parts[::2], parts[1::2]):
        for port, peer, peer_port in re.findall(r'^[0-9a-f]+\t\[(\d+)\]\t"([^"]+)"\[(\d+)\]',
                                                ports, re.M):
            if int(port):
                cables.add(frozenset([(name, int(port)), (peer, int(peer_port))]))
    return cables


def stale(dump, dumps, unseen=()):
    """The differences between OpenSM's dumps and the simulated fabric's, a file; empty if they are
    the last sweep's.

    unseen   switches and hosts that OpenSM cannot find from where it is
    """
    simulated, unseen = pmlab.Dump(dump), set(unseen)
    faults = []
    cables = {c for c in _simulated_cables(pathlib.Path(dump).read_text(errors="replace"))
              if not unseen & {name for name, _ in c}}
    ends = {name for cable in cables for name, _ in cable}
    if cables != dumps.cables:
        faults.append(f"cables differ: {sorted(map(sorted, cables ^ dumps.cables))[:5]}")
    for switch in ends & set(simulated.tables) | set(dumps.tables):
        real = simulated.table(switch)
        dumped = dumps.tables.get(switch, {})
        if dumped.items() <= real.items() and dumped:
            continue
        differ = {lid for lid, port in dumped.items() if real.get(lid) != port}
        faults.append(f"{switch}: entries for LIDs {sorted(differ)[:5]} "
                      f"of {len(dumped)} differ")
    return faults


# ------------------------------------------------------------------ the verdict

Verdict = collections.namedtuple("Verdict", "missing complaints clean text")


def verdict(text, names):
    """The report of ibdmchk.

    missing      {((name, port), (name, port))} without a path
    complaints   all its other errors and warnings, and the loops that it found
    clean        whether it looked for credit loops and found none
    """
    missing, complaints = set(), []
    text = re.sub(r"S(?:0x)?([0-9a-fA-F]{16})", lambda m: f"S{m[1].lower()}", text)
    for line in text.splitlines():
        match = _MISSING.match(line)
        if match:
            missing.add(((names[match[1]], int(match[2])), (names[match[3]], int(match[4]))))
        elif _COMPLAINT.search(line) and not _WITH_MISSING.match(line):
            complaints.append(re.sub(r"S([0-9a-f]{16})",
                                     lambda m: names.get(m[1], m[0]), line.strip()))
    return Verdict(missing, complaints, CLEAN in text, text)


def _texts(folder, leave_out, add):
    """The dumps as ibdmchk can read them: it knows no routers, so they become adapters.

    leave_out   end nodes with lines left out
    add         is added to LIDs of end nodes: with an LMC, ibdmchk wants all nodes to
                have several LIDs, and switches have one, so it is shown one at a time
    """
    def end_node(match):
        return f"{{ CA{match[1]}{int(match[2], 16) + add:04X}"

    subnet, *tables = ((folder / name).read_text(errors="replace") for name in FILES)
    if leave_out or add or "{ Rt" in subnet:
        subnet = "".join(
            re.sub(r"\{ (?:CA|Rt)((?:-SM)? Ports:.*?\} LID:)(\w+)", end_node, line)
            for line in subnet.splitlines(keepends=True)
            if not any(f"{{{name}}}" in line for name in leave_out))
    return (subnet, *tables)


@functools.lru_cache(maxsize=8)
def _run_on(texts, options):
    """The output about dumps with these texts, from a cache."""
    with pmlab.Folder() as folder:
        for name, text in zip(FILES, texts):
            (folder / name).write_text(text)
        return run(folder, *options)


def _leave_out(pairs):
    """Few end nodes that are together part of all the pairs."""
    left, out = set(pairs), set()
    while left:
        counts = collections.Counter(end[0] for pair in left for end in pair)
        out.add(max(sorted(counts), key=counts.get))
        left = {(a, b) for a, b in left if not {a[0], b[0]} & out}
    return out


def _faults(dumps, judge, apart):
    """Faults of one LID per node; judge(options, end nodes to leave out) is a Verdict."""
    def end(name, port):
        return (name, port if dumps.is_end[name] else None)

    everything = judge(["-a"], ())
    found = [f"no path from {a} to {b}" for a, b in sorted(everything.missing)
             if not apart(end(*a), end(*b))][:5]
    found += everything.complaints[:5]
    if everything.clean:
        return found
    ends = {(a, b) for a, b in everything.missing if dumps.is_end[a[0]] and dumps.is_end[b[0]]}
    final = judge([], _leave_out(ends))
    found += [line for line in final.complaints if line not in everything.complaints][:5]
    if final.missing or not final.clean:
        found.append("credit loops not ruled out: " + final.text[-300:])
    return found


def _judge(lab, dumps, options, leave_out=(), add=0):
    return verdict(_run_on(_texts(lab.osm.path, leave_out, add), tuple(options)), dumps.names)


def host_faults(lab, unseen=(), dump=None):
    """As faults(), for paths between end nodes alone, all of which must exist.

    dump   what lab.dump() wrote, if that is how the fabric is still
    """
    dumps = Dumps.read(lab.osm.path)
    judged = _judge(lab, dumps, [])
    found = stale(dump or lab.dump("judged.dump"), dumps, unseen) + judged.complaints[:5]
    found += [f"no path from {a} to {b}" for a, b in sorted(judged.missing)][:5]
    return found if found or judged.clean else [judged.text[-300:]]


def faults(lab, lmc=0, apart=None, unseen=()):
    """Complaints of ibdmchk about a lab's fabric as it is now; empty if there is none.

    apart    says of two (node, port) whether no path up and then down joins them
             (default: none does so); port is None for a switch
    unseen   see stale()
    """
    dumps = Dumps.read(lab.osm.path)
    found = stale(lab.dump("judged.dump"), dumps, unseen)
    for add in range(1 << lmc):
        def judge(options, leave_out, add=add):
            return _judge(lab, dumps, options, leave_out, add)

        found += _faults(dumps, judge, apart or (lambda a, b: False))
    return found
