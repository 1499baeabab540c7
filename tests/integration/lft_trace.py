# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Applies recorded LFT blocks to tables one by one, and judges each.

    replay = Replay(netlist, pmlab.Dump(before), joined)
    replay.run(wire.records(applied=True, states=True), changes)
    print(replay.loops, replay.undone, replay.cuts, replay.inactive)

A block is applied when the switch had it: in the order of the answers, before they could have
effects (WIRE_APPLIED of wire.h).
"""

import collections
import dataclasses

import simlab
import walker
import wire

BLOCK = 64
NO_PORT = 255
ATTR_NODE_INFO, ATTR_PORT_INFO = 0x11, 0x15
MOST_HOPS = 16
DOWN, ACTIVE = 1, 4
MOST_QUEUED = 20  # of a repair, in OpenSM's queue and on the wire, beside a sweep


@dataclasses.dataclass
class Change:
    """Links that went down, or came up; times of the monotonic clock, in ns.

    Links that fail in a row with the same name are parts of one object: a chassis with switches
    that die one after another.
    """
    begin: int  # before the first of them
    end: int  # after the last
    down_before: set
    down: set  # all links that are down from then on
    is_failure: bool
    name: str
    reset: set = dataclasses.field(default_factory=set)  # nodes that have lost their tables


@dataclasses.dataclass
class Cut:
    """Pairs of hosts that a failure cut off, although the remaining links joined them."""
    name: str
    pairs: int
    smps: int  # that OpenSM sent from its first trap on until all pairs were reached again
    unanswered: int  # transmissions of these without an answer in time
    mended: bool


def is_request(record, attr, method):
    return (record.event, record.attr, record.method) == ("asked", attr, method)


class Topology:
    """Switches, their links, and the pairs of switches that a path up and then down joins."""

    def __init__(self, netlist):
        self._net = netlist
        self.host_switch = {}  # host: (switch, its port there)
        for name in netlist.hosts:
            ports = netlist.nodes[name].ports
            if len(ports) == 1:
                self.host_switch[name] = next(iter(ports.values()))
        self.hosts = [h for h in self.host_switch if walker.kind(h) == "H"]
        self.level = self._find_levels()

    def _find_levels(self):
        """Distances from the nearest switch with hosts; aggregation nodes do not count."""
        level = {self.host_switch[host][0]: 0 for host in self.hosts}
        queue = collections.deque(level)
        while queue:
            name = queue.popleft()
            for peer, _ in self._net.nodes[name].ports.values():
                if self._net.nodes[peer].is_switch and peer not in level:
                    level[peer] = level[name] + 1
                    queue.append(peer)
        return level

    def chassis(self):
        """Groups of switches that stay connected without those of level 0, as of a director."""
        left = {name for name, level in self.level.items() if level}
        groups = []
        while left:
            queue, group = [min(left)], []
            left.discard(queue[0])
            while queue:
                group.append(queue.pop())
                near = {p for p, _ in self._net.nodes[group[-1]].ports.values()} & left
                left -= near
                queue += near
            groups.append(sorted(group))
        return groups

    def peers(self, down):
        """{(switch, port): (peer, its port)} of links that are up."""
        dead = {end for link in down for end in link}
        return {(name, port): peer for name in self.level
                for port, peer in self._net.nodes[name].ports.items()
                if (name, port) not in dead}

    def peer(self, name, port):
        return self._net.nodes[name].ports[port]

    def joined(self, peers):
        """{switch: switches that a path up and then down leads to}."""
        below = {name: {name} for name in self.level}
        above = collections.defaultdict(set)
        for (name, _), (peer, _) in peers.items():
            if self.level.get(peer, -1) > self.level[name]:
                above[name].add(peer)
        order = sorted(self.level, key=self.level.get)
        for name in order:
            for peer in above[name]:
                below[peer] |= below[name]
        both = {}
        for name in reversed(order):
            both[name] = below[name].union(*(both[peer] for peer in above[name]))
        return both


class Replay:
    """The tables of all switches while Sets arrive.

    loops      (Set's number, switch, LID): its entry made packets loop. A link that comes up
               passes no packet but SMPs before OpenSM sets its ports' states, from INIT on
    undone     (Set's number, switch, LID): it restored an entry that another Set of that sweep
               changed after the last failure, although packets arrived over the new entry then
               and still did. Not counted are:
               - entries that OpenSM had queued when a part failed, and has to restore later: the
                 transaction was numbered before
               - Sets from a return on until the next sweep, as its failure may still be in
                 repair, and from a failure on that no trap reported before the next one, as it
                 is found at some later time
               - all with `doubtful`: answers are lost, so that links seem to fail
               - tables at the end, if the sweep routes over returned links: a repair in it was
                 without these, and balanced otherwise
    inactive   (Set's number, switch, LID): since then packets of a pair of hosts that arrived
               before go onto a returned link that is not ACTIVE at both ends yet: its ports drop
               them. Sets that were queued when a part failed do not count. OpenSM does so
               itself, as it writes tables before it sets states
    own        numbers of the plugin's Sets
    lost       (Set's number, switch, LID) of these: packets of hosts arrived before, and do not
               now. Sets that were queued when a part failed do not count
    cuts       a Cut for each failure that cut pairs of hosts off, and for each Set that led them
               over a dead link; of several parts, from the last one on. Links of a failure that
               no trap reports, as no end of them was active, count as up: a sweep finds it, and
               the walk in the end checks that
    """

    def __init__(self, topology, dump, doubtful=False):
        self._topology, self._doubtful = topology, doubtful
        self._names = {guid: name for name, guid in dump.guids.items()}
        self._tables = {name: dump.table(name) for name in dump.tables}
        self._goal = {dump.lids[host]: topology.host_switch[host] for host in topology.hosts
                      if host in dump.lids}
        self._leaves = {topology.host_switch[host][0] for host in topology.hosts}
        self.loops, self.undone, self.cuts, self.inactive = [], [], [], []
        self.own, self._own_tids, self._wiped, self.lost = set(), set(), set(), []
        self._turned = []  # undone, while a part returned, with the port set
        self.sets = 0
        self._peers = self._certain = None
        self._told = True  # a trap has come since the last failure
        self._failing = None  # its name; None: a part returned since
        self._untold = False  # none came in time, in this sweep
        self._newest = self._queued = 0  # transactions: sent by now, made before a failure
        self._passive = set()  # ends of links in INIT
        self._idle = set()  # ends of links that are back, until they are ACTIVE
        self._dead = {}  # {end of a failed link: whether a trap has reported it}
        self._untraced = {}  # {end of a failed link that no trap reports: the other end}
        self._traps = []  # (ns, switch's name), of the whole trace
        self._returning = 0  # sweeps to begin until none routes over links that returned last
        self._cut, self._smps, self._unanswered = set(), 0, 0
        self._since, self._opened = None, ("", 0)
        self._forget_values()

    # ---- all of a trace

    def run(self, records, changes, down=frozenset()):
        """down   links that are down before the first change"""
        self._peers = self._certain = self._topology.peers(down)
        moments = [(r.ns, 0, r) for r in records]
        for change in changes:
            moments += [(change.begin, 1, change), (change.end, 2, change)]
        self._traps = [(r.ns, self._names.get(r.guid)) for r in records
                       if r.event == "trapped"]
        for _, kind, what in sorted(moments, key=lambda m: m[:2]):
            (self._note_record, self._begin, self._end)[kind](what)
        if self._cut:
            self.cuts.append(Cut(*self._opened, self._smps, self._unanswered, False))
        self.undone += [(number, name, lid) for number, name, lid, port in self._turned
                        if self._tables[name].get(lid, NO_PORT) != port]

    def _begin(self, change):
        """The state of links is uncertain until _end(): links count as up if they are up in both.
        """
        self._peers = self._topology.peers(change.down)
        self._certain = self._topology.peers(change.down | change.down_before)
        back = {end for link in change.down_before - change.down for end in link}
        self._passive |= back
        self._idle |= back
        self._forget_values(change.is_failure)
        self._note_failure(change)
        self._move_cut(change)

    def _end(self, change):
        for name in change.reset & self._tables.keys():
            self._tables[name] = {}
            self._wiped.add(name)
        self._certain = self._topology.peers(change.down)
        self._forget_values(change.is_failure)
        if change.is_failure:
            self._queued = self._newest + MOST_QUEUED

    def _note_failure(self, change):
        """A search for one part finds the others: it does not matter which of them a trap reports.
        """
        name = change.name if change.is_failure else None
        self._untold |= not self._told and (name is None or name != self._failing)
        self._failing = name
        if change.is_failure:
            self._told = False
            ends = {end for link in change.down - change.down_before for end in link}
            self._dead.update({end: False for end in ends})
            if not self._is_told(change):
                self._untraced.update({end: self._topology.peer(*end) for end in ends})
        else:
            for link in change.down_before - change.down:
                for end in link:
                    self._dead.pop(end, None)
                    self._untraced.pop(end, None)
            self._returning = 2  # the sweep under way and the next one

    def _note_record(self, record):
        if record.event == "asked":
            self._smps += self._since is not None
            self._newest = max(self._newest, record.tid)
            if record.plugin and record.attr == simlab.ATTR_LFT:
                self._own_tids.add(record.tid)
            self._note_phase(record)
            self._note_state(record)
        elif record.event in ("answered", "timed_out"):
            self._unanswered += record.transmissions - (record.event == "answered")
        elif record.event == "trapped":
            self._told = True
            self._note_told(self._names.get(record.guid))
            if self._cut and self._since is None:
                self._since, self._smps, self._unanswered = record.ns, 0, 0
        elif record.event == "state":
            self._note_activity((self._names.get(record.guid), record.modifier), record.status)
        elif record.event == "applied" and not record.status:
            self._apply(record)

    def _note_told(self, sender):
        """A trap of a switch reports its links."""
        for name, port in self._dead:
            if sender in (name, self._topology.peer(name, port)[0]):
                self._dead[name, port] = True

    def _note_phase(self, record):
        """The begin of a sweep; a discovery begun anew belongs to its sweep."""
        if is_request(record, ATTR_PORT_INFO, wire.SET):
            self._linked = True
        if is_request(record, ATTR_NODE_INFO, wire.GET) and record.hops == 0 and (
                self._linked):
            self._forget_values()
            self._untold, self._told = False, True
            self._returning = max(0, self._returning - 1)

    def _note_state(self, record):
        """A port's first Set is early for packets: its state may come with the next one."""
        end = self._names.get(record.guid), record.modifier
        if is_request(record, ATTR_PORT_INFO, wire.SET) and end in self._passive:
            self._passive -= {end, self._topology.peer(*end)}

    def _note_activity(self, end, state):
        """A port that is set down comes back at once, in INIT, as does its peer."""
        if state == ACTIVE:
            self._idle.discard(end)
        elif state == DOWN:
            self._idle |= {end, self._topology.peer(*end)}

    def _forget_values(self, noted=True):
        self._values, self._linked, self._noted = {}, False, noted and not self._doubtful

    # ---- a block

    def _apply(self, record):
        if record.guid not in self._names:
            raise simlab.SimError(f"LFT block of an unknown switch: {record}")
        name, first = self._names[record.guid], record.modifier * BLOCK
        table = self._tables[name]
        changed = [(lid, port) for lid, port in enumerate(bytes(record.data), first)
                   if table.get(lid, NO_PORT) != port]
        late = record.tid > self._queued  # it was not queued when a part failed
        noted = self._noted and not self._untold and late
        self.sets += bool(changed)
        if record.tid in self._own_tids:
            self.own.add(self.sets)
        carried = [lid for lid, _ in changed
                   if late and self._idle and self._is_carried(name, lid)]
        users = self._find_users(name, [lid for lid, _ in changed
                                        if record.tid in self._own_tids and lid in self._goal
                                        and late])
        for lid, port in changed:
            if noted:
                self._check_undone(name, lid, table.get(lid, NO_PORT), port)
            table[lid] = port
        for lid, _ in changed:
            if noted:
                self._note_good(name, lid)
            else:
                self._values.pop((name, lid), None)
            if self._goes_round(name, lid):
                self.loops.append((self.sets, name, lid))
        self.inactive += [(self.sets, name, lid) for lid in carried
                          if self._goes_idle(name, lid)]
        self.lost += [(self.sets, name, lid) for lid, leaves in users
                      if not all(self._arrives(leaf, lid) for leaf in leaves)]
        self._cut_by_set(record, name, changed)
        self._mend({lid for lid, _ in changed})

    def _check_undone(self, name, lid, old, new):
        """Before an entry changes: the old one must not come back if it was good."""
        before, was_good = self._values.get((name, lid), ([], False))
        if new in before and was_good and self._ends_well(name, lid):
            if self._returning:
                self._turned.append((self.sets, name, lid, new))
            else:
                self.undone.append((self.sets, name, lid))
        self._values[name, lid] = (before or [old]) + [new], False

    def _note_good(self, name, lid):
        """After it has changed."""
        before, _ = self._values[name, lid]
        self._values[name, lid] = before, self._ends_well(name, lid)

    def _goes_round(self, start, lid):
        at = start
        for _ in range(len(self._tables)):
            port = self._tables[at].get(lid, NO_PORT)
            if not port or (at, port) in self._passive:
                return False
            at, _ = self._certain.get((at, port), (None, 0))
            if at == start:
                return True
            if at not in self._tables:
                return False
        return False  # a loop that does not lead through here, and existed before

    def _ends_well(self, at, lid):
        """Whether packets to a LID arrive from there; also for a LID that is no host's."""
        for _ in range(MOST_HOPS):
            port = self._tables[at].get(lid, NO_PORT)
            if port == 0:
                return True
            at, _ = self._peers.get((at, port), (None, 0))
            if at is None or at not in self._tables:
                return at is not None
        return False

    # ---- links that are not ACTIVE

    def _path(self, at, lid):
        """[(switch, port)] of packets to a LID, up to the port where they leave or end."""
        path = []
        while at in self._tables and len(path) < MOST_HOPS:
            path.append((at, self._tables[at].get(lid, NO_PORT)))
            at, _ = self._peers.get(path[-1], (None, 0))
        return path

    def _goes_idle(self, at, lid):
        return any(end in self._idle or self._topology.peer(*end) in self._idle
                   for end in self._path(at, lid) if end in self._peers)

    def _is_carried(self, by, lid):
        """Whether packets of a host to a host's LID arrive through a switch."""
        return (lid in self._goal and self._arrives(by, lid) and not self._goes_idle(by, lid)
                and any(by in dict(self._path(leaf, lid)) and not self._goes_idle(leaf, lid)
                        for leaf in self._leaves))

    def _find_users(self, by, lids):
        """(LID, leaves whose packets arrive through a switch)."""
        return [(lid, [leaf for leaf in self._leaves if self._arrives(leaf, lid)
                       and not self._goes_idle(leaf, lid) and by in dict(self._path(leaf, lid))])
                for lid in lids if self._arrives(by, lid)]

    # ---- pairs that are cut off

    def _arrives(self, at, lid):
        goal = self._goal[lid]
        for _ in range(MOST_HOPS):
            port = self._tables[at].get(lid, NO_PORT)
            if (at, port) == goal:
                return (at, port) in self._peers
            at, _ = self._peers.get((at, port)) or self._untraced.get((at, port), (None, 0))
            if at not in self._tables:
                return False
        return False

    def _alive_with(self, down):
        """Pairs that were reached when these links were down."""
        peers, self._peers = self._peers, self._topology.peers(down)
        alive = {(leaf, lid) for leaf in self._leaves for lid in self._goal
                 if self._arrives(leaf, lid)}
        self._peers = peers
        return alive

    def _is_told(self, change):
        """Whether a switch at the failed links sent a trap afterwards."""
        ends = {name for link in change.down - change.down_before for name, _ in link}
        return any(ns >= change.begin and name in ends for ns, name in self._traps)

    def _move_cut(self, change):
        """Links differ from now on. Pairs that are still cut off are counted from here."""
        affected = set(self._cut)
        if change.is_failure and self._is_told(change):
            affected |= self._alive_with(change.down_before)
            self._since, self._smps, self._unanswered = None, 0, 0
        joined = self._topology.joined(self._peers)
        self._cut = {(leaf, lid) for leaf, lid in affected
                     if self._goal[lid] in self._peers and self._goal[lid][0] in joined[leaf]
                     and not self._arrives(leaf, lid)}
        if change.is_failure and self._is_told(change):
            self._opened = change.name, len(self._cut)

    def _cut_by_set(self, record, name, changed):
        """Entries that lead over a dead link cut pairs off as its failure did."""
        led = [(lid, port) for lid, port in changed if (name, port) in self._dead]
        if not led:
            return
        joined = self._topology.joined(self._peers)
        cut = {(leaf, lid) for lid, _ in led if self._goal.get(lid) in self._peers
               for leaf in self._leaves
               if self._goal[lid][0] in joined[leaf] and not self._arrives(leaf, lid)}
        if cut and not self._cut:
            told = all(self._dead[name, port] for _, port in led)
            self._opened = f"Set {self.sets} at {name}", len(cut)
            self._since = record.ns if told else None
            self._smps = self._unanswered = 0
        self._cut |= cut

    def _mend(self, lids):
        if not self._cut:
            return
        self._cut = {(leaf, lid) for leaf, lid in self._cut
                     if lid not in lids or not self._arrives(leaf, lid)}
        if not self._cut:
            self.cuts.append(Cut(*self._opened, self._smps, self._unanswered, True))
            self._since = None

    # ---- the end

    def wiped(self):
        """Switches that have lost their tables and are cut off now."""
        return self._wiped - {name for name, _ in self._peers}

    def differences(self, dump):
        """(switch, LID) where tables that were read back differ from the replayed ones; but not at
        switches of wiped(), see Ports.reboot()."""
        return [(name, lid) for name, table in self._tables.items()
                if name not in self.wiped()
                for now in [dump.table(name)] for lid in sorted(table.keys() | now.keys())
                if table.get(lid, NO_PORT) != now.get(lid, NO_PORT)]
