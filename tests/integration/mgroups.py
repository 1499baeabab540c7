# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Multicast groups of a lab: their members, and their entries in switches."""

import collections
import struct

import clients
import pmlab
import simlab
import wire

ATTR_MFT = 0x1B
IBSIM_MLIDS = 1024
FIRST_GID = 0xFF12401BFFFF000000000000E0000100


def with_set(ports, switch, record):
    """Entries after a Set."""
    position = record.modifier >> 28
    of_position = set(range(16 * position, 16 * position + 16))
    masks = struct.unpack(">32H", bytes(record.data))
    return {**ports, **{
        (switch, mlid): ports.get((switch, mlid), set()) - of_position
        | {16 * position + bit for bit in range(16) if mask >> bit & 1}
        for mlid, mask in enumerate(masks, 0xC000 + 32 * (record.modifier & 0x1FF))}}


class Members:
    """{MLID: hosts} of a lab's groups, from the answers to hosts that joined."""

    def __init__(self, lab):
        self.fabric = lab.fabric
        self.manager_lid = pmlab.Dump(lab.dump()).lids[lab.osm.host]
        self.mlid, self.hosts = {}, {}

    def join(self, number, host, pkey=0xFFFF):
        status, mlid = clients.join(self.fabric, host, self.manager_lid, FIRST_GID + number, pkey)
        if status:
            raise simlab.SimError(f"{host} cannot join {number}: {status}")
        self.mlid[number] = mlid
        self.hosts.setdefault(mlid, []).append(host)

    def join_many(self, wanted):
        """The same for many: (number, host) of each. One of the hosts sends all requests."""
        ports = clients.read_ports(self.fabric)
        mlids = clients.join_many(self.fabric, wanted[0][1], self.manager_lid,
                                  [(FIRST_GID + number, ports[host, 1].guid)
                                   for number, host in wanted])
        for (number, host), mlid in zip(wanted, mlids):
            self.mlid[number] = mlid
            self.hosts.setdefault(mlid, []).append(host)

    def leave(self, number, host):
        status, _ = clients.leave(self.fabric, host, self.manager_lid, FIRST_GID + number)
        if status:
            raise simlab.SimError(f"{host} cannot leave {number}: {status}")
        self.hosts[self.mlid[number]].remove(host)

    def gone(self, host):
        """OpenSM forgets the memberships of hosts that it has dropped."""
        for hosts in self.hosts.values():
            if host in hosts:
                hosts.remove(host)

    def forget_lost(self):
        """The same for all hosts that are absent."""
        here = {host for host, _ in clients.read_ports(self.fabric)}
        for hosts in self.hosts.values():
            hosts[:] = [host for host in hosts if host in here]

    def write(self, path):
        """Writes the file that `portmajor whatif --groups` reads."""
        path.write_text("".join(f"{mlid:#x} {host}\n" for mlid, hosts in self.hosts.items()
                                for host in hosts), encoding="ascii")
        return path

    def faults(self, asking, most_senders=1000):
        """The faults of the switches' tables, read by a host that is in no group. Packets of at
        most so many members of a group are followed."""
        tables = clients.Multicast(self.fabric, asking)
        found = [f"{mlid:#x} {fault}" for mlid, hosts in self.hosts.items()
                 if len(hosts) > 1 for fault in tables.faults(mlid, hosts, hosts[:most_senders])]
        stray = {(switch, mlid) for switch, mlid in tables.ports
                 if tables.ports[switch, mlid] and len(self.hosts.get(mlid, ())) < 2}
        return found + [f"{mlid:#x} has entries at {switch}" for switch, mlid in sorted(stray)]

    def _follow(self, tables, block, strangers):
        """The faults of the groups of a block, but for lost packets: over dead cables, and at
        switches without an entry, where several copies may end."""
        for mlid, hosts in self.hosts.items():
            if (mlid - 0xC000) // 32 != block:
                continue
            deaf = [switch for switch in tables.switches if not tables.ports.get((switch, mlid))]
            for host in hosts:
                reached, faults = tables.send(mlid, host)
                lost = {f"{host}: comes to {switch} twice" for switch in deaf}
                yield from (fault for fault in faults
                            if fault not in lost and "leads nowhere" not in fault)
                yield from (f"{host} to {other}: {times} times, or no member"
                            for other, times in reached.items()
                            if times > 1 or not strangers and other not in hosts)

    def follow_sets(self, tables, traced, strangers=False):
        """Applies the recorded MFT Sets of a wire to tables, one by one, and follows packets of all
        groups after each, whichever of the Sets that are out, or have timed out, has not arrived.
        Returns their number, and the faults.

        strangers   others may get them, too, as where an MLID was another group's before
        """
        names = {traced.guid(name): name for name in tables.switches}
        answered, out, sets, found = tables.ports, {}, 0, []
        for record in traced.records():
            if (record.attr, record.method) != (ATTR_MFT, wire.SET):
                continue
            place = names[record.guid], record.modifier
            if record.event == "answered":
                answered = with_set(answered, place[0], record)
                out.pop(place)
            if record.event != "asked":
                continue
            out[place] = record
            sets += 1
            for late in [None, *out]:
                tables.ports = answered
                for other in out:
                    if other != late:
                        tables.ports = with_set(tables.ports, other[0], out[other])
                found += [f"Set {sets}, without {late}: {fault}"
                          for fault in self._follow(tables, record.modifier & 0x1FF, strangers)]
        return sets, found

    def join_usual(self, leaves):
        """Five groups with a member at each leaf, and 96 of two, in a director fabric."""
        for number in range(5):
            for leaf in range(leaves):
                self.join(number, f"h{leaf}-{2 + number}")
        for number in range(96):
            turn, leaf = divmod(number, leaves)
            self.join(5 + number, f"h{leaf}-{8 + turn}")
            self.join(5 + number, f"h{(leaf + 1 + 7 * turn) % leaves}-{11 + turn}")

    def join_ipoib(self, leaves, apart):
        """The five groups of IPoIB, with all hosts but those apart, and solicited-node groups of
        IPv6, each of a host and another one that has sent a query for it, as many as ibsim has
        MLIDs for. Returns the number of groups."""
        hosts = [f"h{leaf}-{slot}" for slot in range(1, 19) for leaf in range(leaves)]
        hosts = [host for host in hosts if host not in apart]
        self.join_many([(number, host) for number in range(5) for host in hosts])
        free = IBSIM_MLIDS - (max(self.hosts) - 0xC000 + 1)
        self.join_many([(5 + number, host) for number in range(min(free, len(hosts)))
                        for host in (hosts[number], hosts[(number * 7 + 1) % len(hosts)])])
        return len(self.hosts)

    def busiest(self, asking, leaf):
        """The uplink of a leaf that most groups use, and the chassis at its other end."""
        tables = clients.Multicast(self.fabric, asking)
        trees = collections.Counter(
            port for (switch, _), ports in tables.ports.items() if switch == leaf
            for port in ports if tables.cables[leaf, port].peer not in tables.hosts)
        port, _ = trees.most_common(1)[0]
        return f"{leaf}:{port}", tables.cables[leaf, port].peer.partition("-")[0]

    def loads(self, asking):
        """The number of trees on each link between switches with one: the most, and the mean."""
        tables = clients.Multicast(self.fabric, asking)
        trees = collections.Counter(
            (switch, port) for (switch, _), ports in tables.ports.items() for port in ports
            if port and tables.cables[switch, port].peer not in tables.hosts)
        links = sum(node not in tables.hosts and cable.peer not in tables.hosts
                    for (node, _), cable in tables.cables.items())
        return max(trees.values(), default=0), sum(trees.values()) / links
