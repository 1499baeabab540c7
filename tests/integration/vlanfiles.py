# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The files of `portmajor-vlan plan`, read and walked like by hosts and switches."""

import collections
import functools
import json
import pathlib
import re

GROUP = "ff:ff:ff:ff:ff:ff"
ALL = (1 << 4095) - 2  # a bit for each VLAN
NOWHERE = 4095
LINE = re.compile(r"([0-9a-f]{2}(?::[0-9a-f]{2}){5}) (\d+) (\d+) # (.*)")


def read_netlist(path):
    """{(node, port): (node, port)} and {switch: its number of ports}."""
    cables, switches, node = {}, {}, None
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        if head := re.match(r'(Switch|Hca|Ca)\s+(\d+)\s+"([^"]+)"', line):
            node = head[3]
            if head[1] == "Switch":
                switches[node] = int(head[2])
        elif port := re.match(r'\[(\d+)\]\s+"([^"]+)"\[(\d+)\]', line):
            cables[node, int(port[1])] = (port[2], int(port[3]))
    return cables, switches


def write_macs(netlist, path, first=1):
    """Addresses for all hosts; {host: MAC}."""
    cables, switches = read_netlist(netlist)
    hosts = list(dict.fromkeys(node for node, _ in cables if node not in switches))
    macs = {}
    for i, host in enumerate(hosts, first):
        macs[host] = f"02:00:00:{i >> 16:02x}:{i >> 8 & 255:02x}:{i & 255:02x}"
    pathlib.Path(path).write_text("".join(f"{h} {m}\n" for h, m in macs.items()),
                                  encoding="ascii")
    return macs


@functools.lru_cache(maxsize=None)
def bits(text):
    """VLANs of "101-103,105", as bits."""
    found = 0
    for run in filter(None, text.split(",")):
        first, _, last = run.partition("-")
        assert not last or int(first) < int(last), text  # bridge accepts no other range
        found |= (2 << int(last or first)) - (1 << int(first))
    return found


@functools.lru_cache(maxsize=None)
def numbers(found):
    """VLANs of bits."""
    return frozenset(i for i in range(found.bit_length()) if found >> i & 1)


def read_table(path):
    """{MAC: (VLAN, priority)} and {MAC: name}; priorities differ, MACs too."""
    table, names = {}, {}
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        mac, vlan, priority, name = LINE.fullmatch(line).groups()
        assert mac not in table, line
        table[mac], names[mac] = (int(vlan), int(priority)), name
    assert len({priority for _, priority in table.values()}) == len(table)
    return table, names


def read_changes(path):
    """(lines that are new or differ, as a table; MACs that are gone)."""
    text = pathlib.Path(path).read_text(encoding="ascii")
    gone = re.findall(r"^- (\S+)$", text, re.M)
    table = {m[1]: (int(m[2]), int(m[3])) for m in map(LINE.fullmatch, text.splitlines()) if m}
    assert len(table) + len(gone) == sum(not line.startswith("#") for line in text.splitlines())
    return table, gone


def read_ovs(path):
    """{port's name: (VLAN without tags or None, VLANs with tags)}."""
    ports = {}
    text = pathlib.Path(path).read_text(encoding="ascii")
    for words in re.split(r"-- (?:--if-exists )?set port ", text)[1:]:
        name, *columns = words.replace("\\", "").replace("'", "").split()
        columns = dict(column.split("=", 1) for column in columns)
        tag = None if columns["tag"] == "[]" else int(columns["tag"])
        mode = columns["vlan_mode"]
        assert {"trunk": tag is None, "access": tag is not None,
                "native-untagged": tag is not None}[mode], words
        trunks = 0 if columns["trunks"] == "[]" else bits(columns["trunks"])
        assert (columns["protected"] == "true") == (tag is None and trunks == 1 << NOWHERE), words
        # with access no list counts, and an empty list would be all VLANs
        assert (mode == "access") != bool(trunks), words
        ports[name] = (tag, numbers(trunks & ~(1 << NOWHERE)))
    return ports


def bridge_steps(path, ports):
    """The effect of each line of a file on {port's name: (untagged, bits of tagged)} of a bridge.
    """
    for line in pathlib.Path(path).read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        verb, port, run, flags = re.fullmatch(r"vlan (add|del) dev (\S+) vid (\S+)(.*)",
                                              line).groups()
        untagged, tagged = ports.get(port, (None, ALL))
        run = bits(run)
        if verb == "del" or flags:
            tagged &= ~run
        else:
            tagged |= run
        if untagged and run >> untagged & 1:
            untagged = None
        if flags:
            assert flags == " pvid untagged"
            untagged, = numbers(run)
        ports[port] = (untagged, tagged)
        yield verb, port, run


def read_bridge(path):
    """The same, for a bridge that had all VLANs before; a VLAN that stays may not be removed."""
    ports, deleted = {}, collections.Counter()
    for verb, port, run in bridge_steps(path, ports):
        deleted[port] |= run if verb == "del" else 0
    for port, (untagged, tagged) in ports.items():
        assert not deleted[port] & (tagged | 1 << (untagged or 0)), port
    return {port: (untagged, numbers(tagged)) for port, (untagged, tagged) in ports.items()}


def between(old, new):
    """Whether a bridge, from one of its files to the other, has at all times VLANs of only one."""
    def bit_sets(ports):
        return {name: tagged | (1 << untagged if untagged else 0)
                for name, (untagged, tagged) in ports.items()}

    ends, ports = [], {}
    for path in old, new:
        for _ in bridge_steps(path, ports):
            pass
        ends.append(bit_sets(ports))
    for _ in bridge_steps(old, ports := {}):
        pass
    return all(any(all(not now & ~end[name] for name, now in bit_sets(ports).items())
                   for end in ends) for _ in bridge_steps(new, ports))


class Files:
    """A folder with the netlist of its files."""

    def __init__(self, netlist, folder, pattern="swp{port}"):
        self.folder = pathlib.Path(folder)
        self.cables, self.switches = read_netlist(netlist)
        listed = json.loads((self.folder / "switches.json").read_text(encoding="ascii"))
        self.access = listed["access"]
        self.tops = {one["vlan"]: one["top"] for one in listed["vlans"]}
        self.ports = {}  # (switch, port): (untagged, tagged)
        for switch in listed["switches"]:
            ovs = read_ovs(self.folder / f"{switch['name']}.ovs")
            bridge = read_bridge(self.folder / f"{switch['name']}.bridge")
            named = {}
            for port in switch["ports"]:
                ours = (port["untagged"], numbers(bits(port["tagged"])))
                here = (switch["name"], port["port"])
                assert port["name"] == pattern.format(port=port["port"], switch=switch["name"])
                named[port["name"]] = ours
                if here in self.cables:
                    assert (port["peer"], port["peer_port"]) == self.cables[here]
                    self.ports[here] = ours
                else:
                    assert port["peer"] is port["peer_guid"] is port["peer_port"] is None
                    assert ours == (None, frozenset()), here
            assert named == ovs == bridge, switch["name"]
            assert len(named) == self.switches[switch["name"]], switch["name"]
        assert set(self.ports) == {end for end in self.cables if end[0] in self.switches}
        self.site = {far[0]: end[0] for end, far in self.cables.items()
                     if end[0] in self.switches and far[0] not in self.switches}
        self.read_hosts()

    def read_hosts(self):
        self.table, names = read_table(self.folder / "hosts")
        self.group = self.table.pop(GROUP)
        self.lines = {names[mac]: line for mac, line in self.table.items()}

    def carried(self):
        """{VLAN: [(switch, port)]}: one end of each cable between switches that both pass it."""
        found = collections.defaultdict(list)
        for end, (untagged, tagged) in self.ports.items():
            far = self.cables[end]
            if far in self.ports:
                assert untagged is None and self.ports[far] == (None, tagged), end
                if end < far:
                    for vlan in tagged:
                        found[vlan].append(end)
        return found

    def parts(self, lost=frozenset()):
        """{VLAN: {switch: its part}}, and the VLANs in which a cable closes a loop."""
        found, loops = {}, set()
        for vlan, ends in self.carried().items():
            part = {}

            def root(switch, part=part):
                while part.setdefault(switch, switch) != switch:
                    switch = part[switch]
                return switch

            for end in ends:
                far = self.cables[end]
                if end in lost or far in lost:
                    root(end[0]), root(far[0])
                    continue
                a, b = root(end[0]), root(far[0])
                if a == b:
                    loops.add(vlan)
                part[a] = b
            found[vlan] = {switch: root(switch) for switch in part}
        return found, loops

    def apart(self, lost=frozenset()):
        """The number of hosts that decide for a pair that their VLAN does not join."""
        parts, loops = self.parts(lost)
        assert not loops, loops
        ends = {far[0]: end for end, far in self.cables.items() if end in self.ports}
        faults, below = 0, set()
        for host, (vlan, _) in sorted(self.lines.items(), key=lambda item: item[1][1]):
            if ends[host] in lost or self.cables[ends[host]] in lost:
                continue
            site, part = self.site[host], parts.get(vlan, {})
            faults += any(other != site and (site not in part or part[site] != part.get(other))
                          for other in below)
            below.add(site)
        return faults

    def without_broadcast(self, lost=frozenset()):
        """Hosts outside the largest part of the broadcasts' VLAN."""
        part = self.parts(lost)[0][self.group[0]]
        there = [host for end, (host, _) in self.cables.items()
                 if host in self.lines and end in self.ports and end not in lost]
        heard = collections.Counter(part[self.site[host]] for host in there
                                    if self.site[host] in part)
        return len(there) - max(heard.values())

    def spread(self):
        """The largest difference, over leaves, between the numbers of hosts on cables up."""
        dealt = collections.Counter((self.site[host], vlan)
                                    for host, (vlan, _) in self.lines.items())
        worst = 0
        for leaf in set(self.site.values()):
            loads = [sum(dealt[leaf, vlan] for vlan in tagged)
                     for end, (_, tagged) in self.ports.items()
                     if end[0] == leaf and self.cables[end] in self.ports]
            worst = max(worst, max(loads) - min(loads)) if loads else worst
        return worst

    def unused(self):
        """Cables between switches in no VLAN."""
        return sum(not tagged for end, (_, tagged) in self.ports.items()
                   if self.cables[end] in self.ports) // 2
