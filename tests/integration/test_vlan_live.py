#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Planes as VLANs on Open vSwitch: frames with the files of `portmajor-vlan plan` and with
portmajor-vlan, also while planes fail. test_vlan_speed.py has rates.
"""

import collections
import contextlib
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import ethlab
import labtest
import pmlab
import simlab
import vlan_live
from ethlab import BROADCAST, pair_vlan

ROCE = 0x8915


def setUpModule():
    reason = ethlab.missing()
    if reason:
        raise unittest.SkipTest(reason)


class EthCase(unittest.TestCase):
    """A folder, and queries to labs."""

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vlan-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, netlist, **how):
        return self.stack.enter_context(ethlab.Lab(netlist, **how))

    def open(self, what):
        return self.stack.enter_context(contextlib.closing(what))


def path_between(tree, one, other):
    """The (switch, port) at which each switch on the path receives, in a tree of cables."""
    come = {one: []}
    border = [one]
    for switch in border:
        for cable in tree:
            for (name, _), (peer, port) in itertools.permutations(cable):
                if name == switch and peer not in come:
                    come[peer] = come[name] + [(peer, port)]
                    border.append(peer)
    return come[other]


class Small(EthCase):
    """Three leaves below two top switches, two cables each: four VLANs; and a cable between two
    ports of a leaf that is in no netlist, in which no frame may loop."""

    PLAIN = ()  # hosts without the program
    STRAY = [(("leaf0", 7), ("leaf0", 8))]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="vlan-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        netlist = pmlab.generate(folder / "net", "two-level", 3, 2, 2, 2)
        text = netlist.read_text(encoding="ascii")
        netlist.write_text(re.sub(r'(Switch\s+)6(\s+"leaf0")', r"\g<1>8\2", text),
                           encoding="ascii")
        cls.plan = ethlab.plan(netlist, folder / "plan", plain=cls.PLAIN)
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.lab = stack.enter_context(ethlab.Lab(netlist, plan=cls.plan, plain=cls.PLAIN,
                                                 stray=cls.STRAY))
        cls.lab.load()
        cls.hosts = list(cls.lab.hosts.values())
        cls.table = ethlab.read_hosts(cls.plan / "hosts")
        cls.broadcasts = cls.table[BROADCAST].vlan
        cls.trees = cls.lab.trees()

    def leaf(self, host):
        return self.lab.netlist.nodes[host.name].ports[1]

    def check_broadcasts(self):
        """A broadcast of each host reaches each other one once."""
        ends = {host.mac: self.open(host.raw()) for host in self.hosts}
        come = {mac: [] for mac in ends}

        def has_come(text):
            for mac, end in ends.items():
                come[mac] += ethlab.texts(end)
            return all((host.mac, text) in come[mac] for host in self.hosts
                       for mac in ends if mac != host.mac)

        # The last ones come behind all frames that still loop.
        for text in ("first", "second", "last"):
            for host in self.hosts:
                host.send(BROADCAST, text)
            simlab.poll_until(lambda: has_come(text), 10, f"broadcasts: {text}")
        for mac, found in come.items():
            self.assertEqual(len(found), len(set(found)), mac)
            self.assertEqual(len(found), 3 * (len(self.hosts) - 1), mac)

    def talk(self):
        """Each host sends UDP to each other one, after ARP, and gets an answer, once each."""
        ends = {host.ip: self.open(host.udp()) for host in self.hosts}
        asked = [(one, to) for one in ends for to in ends if one != to]
        come = []

        def take():
            for ip, end in ends.items():
                with contextlib.suppress(BlockingIOError):
                    while True:
                        text, (peer, _) = end.recvfrom(100)
                        come.append((peer, ip, text))
                        if text == b"ask":
                            end.sendto(b"answer", (peer, 5000))
            return len(come) >= 2 * len(asked)

        for one, to in asked:
            ends[one].sendto(b"ask", (to, 5000))
        simlab.poll_until(take, 20, "answers", state=lambda: f"{len(come)} of {2 * len(asked)}")
        self.assertEqual(sorted(come), sorted(
            [(one, to, text) for one, to in asked for text in (b"ask", b"answer")]))

    def check_loss(self, *lost):
        """Cables fail, as with `--fail`, and return."""
        old = self.plan / "hosts"
        plan = ethlab.plan(self.lab.netlist.path, self.folder / "lost", plain=self.PLAIN,
                           lose=lost, old=old)
        cables = ethlab.lost_cables(self.lab, lost)
        self.lab.set_cables(cables, "down")
        self.lab.update("update", plan / "hosts.diff")
        self.check_broadcasts()
        self.talk()
        self.lab.set_cables(cables, "up")
        self.lab.update("replace", old)
        self.check_broadcasts()


class Frames(Small):
    """No frame is lost; h2-2 has no program, as with some gateways."""

    PLAIN = ("h2-2",)

    def test_each_vlan_is_a_tree(self):
        leaves = {self.leaf(host)[0] for host in self.hosts}
        self.assertEqual(set().union(*self.trees.values()), self.lab.cables())
        self.assertEqual(len(self.trees), 4)
        for vlan, tree in self.trees.items():
            switches = {switch for cable in tree for switch, _ in cable}
            self.assertEqual(len(tree), len(switches) - 1, vlan)
            self.assertLessEqual(leaves, switches, vlan)
            for one, other in itertools.permutations(leaves, 2):
                self.assertTrue(path_between(tree, one, other))

    def test_broadcasts(self):
        self.check_broadcasts()
        tap = self.open(ethlab.Tap(self.lab))
        for host in self.hosts:
            host.send(BROADCAST, host.name)
        tree = self.trees[self.broadcasts]
        expected = []
        for host in self.hosts:
            tag = None if host.name in self.PLAIN else self.broadcasts
            expected.append(ethlab.Seen(*self.leaf(host), tag, host.name))
            for cable in tree:  # once over each, away from the host
                expected += [ethlab.Seen(*end, self.broadcasts, host.name) for end in cable
                             if end in path_between(tree, self.leaf(host)[0], end[0])]
        simlab.poll_until(lambda: len(tap.seen()) >= len(expected), 10, "broadcasts on cables")
        self.check_broadcasts()
        seen = [frame for frame in tap.seen() if frame.text in self.lab.hosts]
        self.assertEqual(sorted(seen, key=str), sorted(expected, key=str))

    def test_everybody_talks_and_switches_learn(self):
        self.talk()
        learnt = {switch: self.lab.learnt(switch) for switch in self.lab.netlist.switches}
        used = {host.mac: {self.broadcasts} for host in self.hosts}
        for one, other in itertools.permutations(self.hosts, 2):
            vlan = pair_vlan(self.table, one.mac, other.mac)
            used[one.mac].add(vlan)
            for switch, port in [self.leaf(one)] + path_between(
                    self.trees[vlan], self.leaf(one)[0], self.leaf(other)[0]):
                self.assertEqual(learnt[switch].get((vlan, one.mac)),
                                 self.lab.devices[switch, port],
                                 f"{one.name} to {other.name} at {switch}")
        for switch, table in learnt.items():
            for vlan, mac in table:
                self.assertIn(vlan, used[mac], f"{mac} at {switch}")

    def test_unicast_is_seen_on_its_path_alone(self):
        self.talk()
        self.lab.appctl("revalidator/wait")  # flows that flooded are gone
        ends = {host.mac: self.open(host.raw()) for host in self.hosts}
        tap, come, expected = self.open(ethlab.Tap(self.lab)), [], []
        for one, other in itertools.permutations(self.hosts, 2):
            text = f"{one.name} {other.name}"
            one.send(other.mac, text)
            vlan = pair_vlan(self.table, one.mac, other.mac)
            tag = None if one.name in self.PLAIN else vlan
            expected.append(ethlab.Seen(*self.leaf(one), tag, text))
            expected += [ethlab.Seen(*end, vlan, text) for end in path_between(
                self.trees[vlan], self.leaf(one)[0], self.leaf(other)[0])]

        def have_come():
            for mac, end in ends.items():
                come.extend((mac, text) for _, text in ethlab.texts(end))
            return len(come) >= len(self.hosts) * (len(self.hosts) - 1)
        simlab.poll_until(have_come, 10, "frames")
        self.assertEqual(sorted(come), sorted(
            (other.mac, f"{one.name} {other.name}")
            for one, other in itertools.permutations(self.hosts, 2)))
        self.assertEqual(sorted(tap.seen(), key=str), sorted(expected, key=str))

    def test_frames_that_pass_by_the_program(self):
        """RDMA of an adapter never comes through tc: in the access VLAN it arrives all the
        same. RoCE in software does, whatever its EtherType, and has its pair's VLAN."""
        one, other = self.lab.hosts["h0-1"], self.lab.hosts["h1-1"]
        tap, end = self.open(ethlab.Tap(self.lab)), self.open(other.raw())
        one.send(other.mac, "past", bypass=True)
        simlab.poll_until(lambda: (one.mac, "past") in ethlab.texts(end), 10, "the frame")
        tags = {frame.switch: frame.vlan for frame in tap.seen()}
        self.assertEqual(tags.pop(self.leaf(one)[0]), None)
        self.assertEqual(set(tags.values()), {self.broadcasts})
        roce = self.open(other.raw(ROCE))
        one.send(other.mac, "through", kind=ROCE)
        simlab.poll_until(lambda: (one.mac, "through") in ethlab.texts(roce), 10, "RoCE")


class Losses(Small):
    """After each, broadcasts and ARP reach all hosts; switches are left as they are."""

    def test_one_top_switch(self):
        self.check_loss("spine0")

    def test_the_other_one(self):
        self.check_loss("spine1")

    def test_two_cables_in_different_vlans(self):
        self.check_loss(*(min(f"{name}[{port}]" for cable in self.trees[vlan]
                              for name, port in cable if name.startswith("leaf"))
                          for vlan in sorted(self.trees)[:2]))


class Gateway(Small):
    """h2-2 has no program and stays reachable, as long as the access VLAN is whole."""

    PLAIN = ("h2-2",)

    def test_another_top_switch(self):
        used = {switch for cable in self.trees[self.broadcasts] for switch, _ in cable}
        lost, = {"spine0", "spine1"} - used
        self.check_loss(lost)


class Uplinks(EthCase):
    """Figure 6 of the paper by counts, independent of the machine: with n uplinks each has as even
    a part as possible of the traffic of four hosts to four. test_vlan_speed.py has rates."""

    FRAMES = 5

    def count(self, tops):
        """Frames that each top switch receives."""
        netlist, plan = vlan_live.two_leaves(self.folder, tops)
        with ethlab.Lab(netlist, plan=plan) as lab, contextlib.ExitStack() as stack:
            lab.load()
            pairs = [(lab.hosts[f"h0-{i}"], lab.hosts[f"h1-{i}"])
                     for i in range(1, vlan_live.HOSTS + 1)]
            ends = [stack.enter_context(contextlib.closing(to.raw())) for _, to in pairs]
            tap, come = stack.enter_context(contextlib.closing(ethlab.Tap(lab))), []
            for one, to in pairs:
                for number in range(self.FRAMES):
                    one.send(to.mac, f"{one.name} {number}")

            def have_come():
                for end, (one, _) in zip(ends, pairs):
                    come.extend(text for mac, text in ethlab.texts(end) if mac == one.mac)
                return len(come) >= len(pairs) * self.FRAMES
            simlab.poll_until(have_come, 20, "frames")
            return sorted(collections.Counter(
                frame.switch for frame in tap.seen()
                if frame.switch.startswith("spine")).values())

    def test_even_parts(self):
        for tops, parts in {1: [4], 2: [2, 2], 3: [1, 1, 2], 4: [1, 1, 1, 1]}.items():
            self.assertEqual(self.count(tops), [part * self.FRAMES for part in parts])


class Running(EthCase):
    """iperf3 while planes fail."""

    def received(self, host):
        with host.inside():
            text = pathlib.Path("/proc/thread-self/net/dev").read_text(encoding="ascii")
        return int(re.search(r"e0: *(\d+)", text)[1])

    def wait_bytes(self, hosts, more=200_000):
        """Waits until each has received so many bytes more."""
        goals = {host: self.received(host) + more for host in hosts}
        simlab.poll_until(lambda: all(self.received(host) >= goal
                                      for host, goal in goals.items()), 30, "bytes")

    def start_iperf3(self, pairs):
        clients = []
        for one, to in pairs:
            vlan_live.serve(self.stack, to)
            clients.append(one.start(["iperf3", "-c", to.ip, "-t", 300], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL))
            self.stack.callback(simlab.stop_process, clients[-1])
        return clients

    def test_a_plane_is_lost_and_comes_back(self):
        netlist, plan = vlan_live.two_leaves(self.folder, 4)
        lab = self.start(netlist, plan=plan, rate=f"{vlan_live.RATE_MBIT}mbit")
        lab.load()
        pairs = [(lab.hosts[f"h0-{i}"], lab.hosts[f"h1-{i}"]) for i in range(1, 5)]
        receivers = [to for _, to in pairs]
        clients = self.start_iperf3(pairs)
        self.wait_bytes(receivers)
        table = ethlab.read_hosts(plan / "hosts")
        vlans = [pair_vlan(table, one.mac, to.mac) for one, to in pairs]
        top, = {switch for cable in lab.trees()[vlans[0]] for switch, _ in cable
                if switch.startswith("spine")}
        hit = [to for (_, to), vlan in zip(pairs, vlans) if vlan == vlans[0]]
        others = [to for to in receivers if to not in hit]
        cables = ethlab.lost_cables(lab, [top])
        lost = ethlab.plan(netlist, self.folder / "lost", lose=[top], old=plan / "hosts")

        lab.set_cables(cables, "down")
        self.wait_bytes(others)
        before = self.received(hit[0])
        self.wait_bytes(others)  # users of another plane do not notice
        self.assertLess(self.received(hit[0]) - before, 3000, "it used another plane")
        lab.update("update", lost / "hosts.diff")
        self.wait_bytes(receivers)
        lab.set_cables(cables, "up")
        lab.update("replace", plan / "hosts")
        self.wait_bytes(receivers)
        self.assertEqual([client.poll() for client in clients], [None] * len(clients))


# Starts a lab, prints its processes, and waits to be killed.
LEFT_ALONE = """
import sys, ethlab
with ethlab.Lab(sys.argv[1]) as lab:
    print(*(int((lab.folder / f"{name}.pid").read_text())
            for name in ("ovsdb-server", "ovs-vswitchd")), flush=True)
    sys.stdin.read()
"""


class Killed(EthCase):
    def test_nothing_is_left(self):
        """A killed test leaves no processes; namespaces and veths end with them."""
        netlist = vlan_live.flat(self.folder)
        with subprocess.Popen([sys.executable, "-c", LEFT_ALONE, netlist], text=True,
                              cwd=pathlib.Path(__file__).parent, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE,
                              env=dict(os.environ, SIMLAB_DIR=str(self.folder))) as left:
            pids = left.stdout.readline().split()
            left.kill()
        self.assertEqual(len(pids), 2)
        simlab.poll_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists()
                                          for pid in pids), 20, "the end of its processes")


if __name__ == "__main__":
    labtest.main()
