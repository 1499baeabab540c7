# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fabrics built by hand: a small director, and odd ones: uneven trees, end nodes in odd places,
no trees at all.

    net = uneven_two_levels()
    net.write(path)                        # an ibsim netlist
    net.apart()(("spine0", None), ("spine1", None))   # True: no path up and down

The level of each switch is given by the function that builds the fabric, so the pairs that a path
up and then down joins are known here without the code under test.
"""

import collections
import itertools


class Net:
    """A fabric under construction.

    levels   {switch: level}, 0 for leaves
    cables   [((node, port), (node, port))]
    """

    def __init__(self):
        self.levels = {}
        self.cables = []
        self._nodes = {}  # name -> (kind, number of ports, the rest of its line)
        self._used = collections.defaultdict(int)

    def switch(self, name, ports, level=0, port0=None):
        """port0: "enhanced" or "base"."""
        self.levels[name] = level
        self._nodes[name] = ("Switch", ports, f'\t# "{name}" {port0} port 0' if port0 else "")

    def host(self, name, *switches, kind="Hca", ports=None):
        """An end node with a port on each of the switches, and maybe unused ports."""
        self._nodes[name] = (kind, ports or len(switches), "")
        for switch in switches:
            self.cable(name, switch)

    def hosts(self, switch, count):
        """`count` hosts of one port, named after the switch: leaf3-h1, .."""
        for number in range(1, count + 1):
            self.host(f"{switch}-h{number}", switch)

    def go_on_at(self, name, port):
        """Has the next cable at a node use this port."""
        self._used[name] = port - 1

    def cable(self, a, b, count=1):
        """`count` cables between the next free ports of two nodes."""
        for _ in range(count):
            ends = []
            for name in (a, b):
                self._used[name] += 1
                if self._used[name] > self._nodes[name][1]:
                    raise ValueError(f"{name} has no free port")
                ends.append((name, self._used[name]))
            self.cables.append(tuple(ends))

    def text(self):
        """The netlist, nodes in the order in which they were named."""
        lines = collections.defaultdict(list)
        for a, b in self.cables:
            for (name, port), (peer, peer_port) in ((a, b), (b, a)):
                lines[name].append((port, f'[{port}]\t"{peer}"[{peer_port}]'))
        # ibsim's own first GUID of a router is all ones, and the next one 0.
        records = ["rtguid=0x300000"]
        for name, (kind, ports, comment) in self._nodes.items():
            records.append("\n".join([f'{kind}\t{ports} "{name}"{comment}']
                                     + [line for _, line in sorted(lines[name])]))
        return "\n\n".join(records) + "\n\n"

    def write(self, path):
        path.write_text(self.text(), encoding="ascii")
        return path

    # ---- pairs that paths up and then down join

    def _neighbours(self, down):
        """{switch: (those above, those below)} over the cables that are up."""
        joined = {name: (set(), set()) for name in self.levels}
        for a, b in self.cables:
            x, y = a[0], b[0]
            if x not in self.levels or y not in self.levels or frozenset([a, b]) in down:
                continue
            if self.levels[x] + 1 == self.levels[y]:
                joined[x][0].add(y)
                joined[y][1].add(x)
            elif self.levels[y] + 1 == self.levels[x]:
                joined[y][0].add(x)
                joined[x][1].add(y)
        return joined

    def joined(self, down=frozenset()):
        """{switch: set of switches that a path up and then down leads to}."""
        neighbours = self._neighbours(down)
        result = {}
        for start in self.levels:
            above, frontier = {start}, [start]
            while frontier:
                frontier = [y for x in frontier for y in neighbours[x][0] - above]
                above.update(frontier)
            there, frontier = set(above), list(above)
            while frontier:
                frontier = [y for x in frontier for y in neighbours[x][1] - there]
                there.update(frontier)
            result[start] = there
        return result

    def apart(self, down=frozenset()):
        """A function that says of two (node, port) whether no such path joins them.

        The port counts for end nodes; a switch's is None.
        """
        joined = self.joined(down)
        at = {(name, None): name for name in self.levels}
        for cable in self.cables:
            for end, (far, _) in (cable, cable[::-1]):
                if end[0] not in self.levels and frozenset(cable) not in down:
                    at[end] = far
        return lambda a, b: at[b] not in joined[at[a]]


# ------------------------------------------------------------------ fat trees

def small_director():
    """A part of `portmajor generate director 36` with its names and, but for fabric switches, its
    ports: 16 leaves of 4 hosts below 8 chassis of 2 lines, each with 3 cables to its fabric switch.

    OpenSM discovers it with a seventh of the SMPs: for tests that do not need the size.
    """
    net = Net()
    leaves = (*range(12), *range(18, 22))  # of the first line of each chassis, and of the second
    for leaf in leaves:
        net.switch(f"leaf{leaf}", 26)
        for number in range(1, 5):
            net.host(f"h{leaf}-{number}", f"leaf{leaf}")
        net.go_on_at(f"leaf{leaf}", 19)
    for chassis in range(8):
        lines = [f"s{chassis}-line{number}" for number in range(2)]
        for line in lines:
            net.switch(line, 21, level=1)
        net.switch(f"s{chassis}-fab0", 6, level=2)
        for leaf in leaves:
            number, place = divmod(leaf, 18)
            net.go_on_at(lines[number], place + 1)
            net.cable(f"leaf{leaf}", lines[number])
        for line in lines:
            net.go_on_at(line, 19)
            net.cable(line, f"s{chassis}-fab0", 3)
    return net


def single_switch():
    """One level: no uplink anywhere. One host has two ports on it."""
    net = Net()
    net.switch("leaf0", 12)
    net.hosts("leaf0", 6)
    net.host("twin", "leaf0", "leaf0")
    return net


def uneven_two_levels():
    """Leaves and spines of several sizes, 3 to 8 uplinks, single and parallel.

    leaf3 has no host, leaf4 more hosts than uplinks; leaf2 and leaf4 have only two spines in
    common.
    """
    net = Net()
    for name, ports in (("leaf0", 36), ("leaf1", 24), ("leaf2", 8), ("leaf3", 36),
                        ("leaf4", 18)):
        net.switch(name, ports)
    for number, ports in enumerate((36, 16, 12, 8)):
        net.switch(f"spine{number}", ports, level=1)
    for name, hosts in (("leaf0", 10), ("leaf1", 6), ("leaf2", 3), ("leaf4", 12)):
        net.hosts(name, hosts)
    for name, spines in (("leaf0", {0: 3, 1: 2, 2: 2, 3: 1}), ("leaf1", {0: 1, 1: 1, 2: 1, 3: 1}),
                         ("leaf2", {0: 2, 1: 1, 2: 1}), ("leaf3", {0: 2, 1: 2, 2: 2, 3: 2}),
                         ("leaf4", {1: 1, 2: 1, 3: 1})):
        for spine, count in spines.items():
            net.cable(name, f"spine{spine}", count)
    return net


def uneven_three_levels():
    """Pods of 3, 2 and 1 leaves under 2, 2 and 1 switches of several sizes."""
    net = Net()
    for name, ports, hosts in (("a0", 24, 6), ("a1", 12, 4), ("a2", 8, 3), ("b0", 36, 8),
                               ("b1", 8, 2), ("c0", 18, 5)):
        net.switch(name, ports)
        net.hosts(name, hosts)
    for name, ports in (("ma0", 12), ("ma1", 8), ("mb0", 16), ("mb1", 8), ("mc0", 8)):
        net.switch(name, ports, level=1)
    for name in ("t0", "t1", "t2"):
        net.switch(name, 8, level=2)
    for leaf in ("a0", "a1", "a2"):
        net.cable(leaf, "ma0")
        net.cable(leaf, "ma1")
    net.cable("a0", "ma0", 2)
    for leaf in ("b0", "b1"):
        net.cable(leaf, "mb0", 2)
        net.cable(leaf, "mb1")
    net.cable("c0", "mc0", 3)
    for mid, tops in (("ma0", "t0 t1 t2"), ("ma1", "t0 t1 t2"), ("mb0", "t0 t0 t1"),
                      ("mb1", "t1 t2"), ("mc0", "t0 t1 t2")):
        for top in tops.split():
            net.cable(mid, top)
    return net


def uneven_four_levels():
    """Two unequal halves, joined by two switches at the top."""
    net = Net()
    for name, ports, hosts in (("x0-0", 12, 4), ("x0-1", 8, 3), ("x0-2", 18, 6),
                               ("y0-0", 8, 2), ("y0-1", 8, 4), ("y0-2", 12, 5)):
        net.switch(name, ports)
        net.hosts(name, hosts)
    for level, names in ((1, "x1-0 x1-1 x1-2 y1-0 y1-1"), (2, "x2-0 x2-1 y2-0"), (3, "t0 t1")):
        for name in names.split():
            net.switch(name, 8, level)
    for low, high, count in (
            ("x0-0", "x1-0", 1), ("x0-0", "x1-1", 1), ("x0-1", "x1-0", 1), ("x0-1", "x1-1", 2),
            ("x0-2", "x1-2", 3), ("y0-0", "y1-0", 1), ("y0-1", "y1-0", 2), ("y0-2", "y1-1", 2),
            ("x1-0", "x2-0", 1), ("x1-0", "x2-1", 1), ("x1-1", "x2-0", 1), ("x1-1", "x2-1", 1),
            ("x1-2", "x2-0", 2), ("x1-2", "x2-1", 1), ("y1-0", "y2-0", 1), ("y1-1", "y2-0", 2),
            ("x2-0", "t0", 1), ("x2-0", "t1", 1), ("x2-1", "t0", 1), ("x2-1", "t1", 1),
            ("y2-0", "t0", 2), ("y2-0", "t1", 1)):
        net.cable(low, high, count)
    return net


def plain_two_levels(leaves=4, spines=3, hosts=4, port0=None):
    """An even one to add to."""
    net = Net()
    for leaf in range(leaves):
        net.switch(f"leaf{leaf}", 16, port0=port0 and port0(leaf))
        net.hosts(f"leaf{leaf}", hosts)
    for spine in range(spines):
        net.switch(f"spine{spine}", 12, level=1, port0=port0 and port0(spine))
        for leaf in range(leaves):
            net.cable(f"leaf{leaf}", f"spine{spine}")
    return net


def end_nodes_on_spines():
    """The manager's host and a gateway on one spine, a gateway on two others."""
    net = plain_two_levels()
    net.host("manager", "spine0")
    net.host("gate0", "spine0")
    net.host("gate1", "spine1", "spine2")
    return net


def several_ports():
    """Hosts with ports on one leaf, on two, on three, and with an unused one."""
    net = plain_two_levels(hosts=3)
    net.host("same", "leaf0", "leaf0")
    net.host("both", "leaf0", "leaf1")
    net.host("many", "leaf0", "leaf1", "leaf2", "leaf2")
    net.host("half", "leaf3", ports=2)
    return net


def two_trees(second=True):
    """Trees joined by hosts only, and the same without the second tree.

    Nodes of the first tree and hosts of both come first: their GUIDs are the same
    in both.
    """
    net = Net()
    trees = "ab" if second else "a"
    for tree in trees:
        for number in range(3):
            net.switch(f"{tree}-leaf{number}", 12)
        for number in range(2):
            net.switch(f"{tree}-spine{number}", 8, level=1)
            for leaf in range(3):
                net.cable(f"{tree}-leaf{leaf}", f"{tree}-spine{number}", 2)
    net.hosts("a-leaf0", 2)
    for number in range(3):
        for leaf in range(3):
            net.host(f"dual{number}-{leaf}", *[f"{tree}-leaf{leaf}" for tree in trees], ports=2)
    if second:
        net.hosts("b-leaf0", 2)
    return net


def routers():
    """A router on a leaf, and one with ports on two leaves."""
    net = plain_two_levels(hosts=3)
    net.host("router0", "leaf2", kind="Rt")
    net.host("router1", "leaf0", "leaf1", kind="Rt")
    return net


def switch_port0():
    """Switches with a base and with an enhanced port 0 by turns."""
    return plain_two_levels(port0=lambda number: ("base", "enhanced")[number % 2])


def cables_beside_the_tree():
    """Three levels with a cable between two leaves, two tops, two of the middle, and
    one from a leaf to the top."""
    net = Net()
    for pod in range(3):
        for leaf in range(2):
            net.switch(f"leaf{pod}-{leaf}", 12)
            net.hosts(f"leaf{pod}-{leaf}", 4)
        for mid in range(2):
            net.switch(f"mid{pod}-{mid}", 10, level=1)
            for leaf in range(2):
                net.cable(f"leaf{pod}-{leaf}", f"mid{pod}-{mid}")
    for top in range(2):
        net.switch(f"top{top}", 12, level=2)
        for pod in range(3):
            net.cable(f"mid{pod}-{top}", f"top{top}", 2)
    for a, b in BESIDE:
        net.cable(a, b)
    return net


BESIDE = (("leaf0-0", "leaf1-0"), ("top0", "top1"), ("mid0-0", "mid0-1"), ("leaf2-0", "top0"))


def leaves_apart():
    """leaf0 and leaf2 have no spine in common: only paths down and up again join them."""
    net = Net()
    for leaf, spines in enumerate(("spine0", "spine0 spine1", "spine1")):
        net.switch(f"leaf{leaf}", 12)
        net.hosts(f"leaf{leaf}", 3)
    for spine, leaves in (("spine0", (0, 1)), ("spine1", (1, 2))):
        net.switch(spine, 8, level=1)
        for leaf in leaves:
            net.cable(f"leaf{leaf}", spine, 2)
    return net


def ring_below_spines(leaves=6, spines=2, hosts=2):
    """A tree with leaves that are a ring as well: without the spines only the ring is left."""
    net = Net()
    for leaf in range(leaves):
        net.switch(f"leaf{leaf}", hosts + spines + 2)
        net.hosts(f"leaf{leaf}", hosts)
    for spine in range(spines):
        net.switch(f"spine{spine}", leaves, level=1)
        for leaf in range(leaves):
            net.cable(f"leaf{leaf}", f"spine{spine}")
    for leaf in range(leaves):
        net.cable(f"leaf{leaf}", f"leaf{(leaf + 1) % leaves}")
    return net


# -------------------------------------------------------------- not fat trees

def full_mesh(leaves=5):
    """A cable between any two leaves."""
    net = Net()
    for leaf in range(leaves):
        net.switch(f"leaf{leaf}", 12)
        net.hosts(f"leaf{leaf}", 3)
    for a, b in itertools.combinations(range(leaves), 2):
        net.cable(f"leaf{a}", f"leaf{b}")
    return net


def ring(size=6):
    """A ring of leaves."""
    net = Net()
    for number in range(size):
        net.switch(f"ring{number}", 8)
        net.hosts(f"ring{number}", 2)
    for number in range(size):
        net.cable(f"ring{number}", f"ring{(number + 1) % size}")
    return net
