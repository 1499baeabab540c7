# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Times on a real wire, computed from the record of a wire.Wire, without any sleep.

ibsim answers in microseconds, unlike switches. The order of a recorded run is true: OpenSM's SMPs,
the times of answers, the number that was out. virtual() gives that order the times of a wire:

 - a question that was answered takes `set_us` and twice `hop_us` for each hop, and for
   each transmission that was lost before it a timeout; one that was given up took
   `dead_ms`;
 - as many are out at a time as OpenSM had out (max_wire_smps, 4 by default); a question
   is asked as soon as as many have come back as had before it in the record, whichever
   these are;
 - OpenSM computes in no time, or (cpu=True) in the CPU time that the process used
   between two records, by all threads one after another: never less than it took;
 - where nothing was out and OpenSM asked later all the same, it waited: for a timer, for
   traps, for the machine. That time, beyond its CPU time, is kept.

SET_US is the mean of a Set of an LFT block on a 36-port switch as measured by Nakashima
et al., "Fast FDB update", Voltaire Grid Director 4036. Other questions are taken to last
as long: the paper gives no number for these. HOP_US is assumed, not measured; at 5 hops
it is less than a hundredth of a question.
"""

import heapq

import simlab

SET_US = 265
HOP_US = 0.2
TIMEOUT_MS = 200
DEAD_MS = 800


class Stamp:
    """A record and its virtual time, in seconds from the first record on."""

    def __init__(self, record, seconds):
        self.record, self.seconds = record, seconds


def virtual(records, cpu=False, set_us=SET_US, hop_us=HOP_US, timeout_ms=TIMEOUT_MS,
            dead_ms=DEAD_MS):
    """A Stamp for each record; answers get the moment at which they come back."""
    ends = last_of(records)

    def takes(question):
        end = ends.get(id(question))
        if not end or end.event == "timed_out":
            return dead_ms * 1e-3
        hops = 0 if question.hops == 255 else question.hops
        return (set_us + 2 * hop_us * hops) * 1e-6 + (end.transmissions - 1) * timeout_ms * 1e-3

    stamps, out, now, last = [], [], 0.0, None
    for number, record in enumerate(records):
        busy = (record.cpu_ns - last.cpu_ns) / 1e9 if last else 0.0
        if last and not out:  # only its own answer, or a trap, is awaited
            now += max(0.0, (record.ns - last.ns) / 1e9 - busy)
        now += busy if cpu else 0.0
        if record.event == "asked":
            heapq.heappush(out, (now + takes(record), number, ends.get(id(record))))
            stamps.append(Stamp(record, now))
        elif record.event == "trapped":
            stamps.append(Stamp(record, now))
        elif out:
            end, _, answer = heapq.heappop(out)
            now = max(now, end)
            stamps.append(Stamp(answer or record, now))
        last = record
    return stamps


def last_of(records):
    """{id of a question's record: the record of its end}."""
    asked, ends = {}, {}
    for record in records:
        if record.event == "asked":
            asked[record.tid] = record
        elif record.event in ("answered", "timed_out") and record.tid in asked:
            ends[id(asked.pop(record.tid))] = record
    return ends


def lft_answers(stamps):
    """The stamps of LFT Sets that were acknowledged."""
    return [s for s in stamps if s.record.event == "answered" and s.record.method == 2
            and s.record.attr == simlab.ATTR_LFT and not s.record.status]


class Reach:
    """The pairs of hosts that have a path, while LFT blocks are written.

    fabric  a simlab.Fabric with its losses; links that it holds down carry nothing
    dump    a pmlab.Dump from before
    guids   {GUID: name}
    """

    def __init__(self, fabric, dump, guids):
        self._guids = guids
        net = fabric.netlist
        self._tables = {switch: dump.table(switch) for switch in dump.tables}
        up = {end for link in set().union(*map(net.links_of, net.nodes)) - fabric.down()
              for end in link}
        self._peer = {(n, p): peer for n in net.nodes for p, (peer, _) in
                      net.nodes[n].ports.items() if (n, p) in up}
        # A host without a cable does not count.
        self._hosts = {dump.lids[h]: h for h in net.hosts if h in dump.lids
                       and any((h, p) in up for p in net.nodes[h].ports)}
        self._sources = {}  # leaf: hosts on it
        for (name, _), peer in self._peer.items():
            if net.nodes[peer].is_switch and not net.nodes[name].is_switch:
                self._sources[peer] = self._sources.get(peer, 0) + 1
        self._cut = {lid: self._count(lid) for lid in self._hosts}

    def _arrives(self, name, lid, goal):
        for _ in range(16):
            name = self._peer.get((name, self._tables[name].get(lid)))
            if name == goal:
                return True
            if name not in self._tables:
                return False
        return False

    def _count(self, lid):
        """The number of hosts that do not reach that LID."""
        return sum(hosts for leaf, hosts in self._sources.items()
                   if not self._arrives(leaf, lid, self._hosts[lid]))

    @property
    def cut(self):
        """Ordered pairs of hosts that are cut off."""
        return sum(self._cut.values())

    def write(self, record):
        """A block is in its switch now."""
        table = self._tables[self._guids[record.guid]]
        for lid, port in enumerate(record.data, record.modifier * 64):
            if table.get(lid) != port:
                table[lid] = port
                if lid in self._hosts:
                    self._cut[lid] = self._count(lid)


def pair_seconds(reach, stamps, start=0.0):
    """Pairs of hosts cut off times seconds, from `start` to the last block; and the pairs that stay
    cut."""
    total, before = 0.0, start
    for stamp in stamps:
        total += reach.cut * max(0.0, stamp.seconds - before)
        before = max(before, stamp.seconds)
        reach.write(stamp.record)
    return total, reach.cut
