#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor-vlan on cards that filter VLANs and have offloads, and in kernels with and without
tcx: two virtual machines, between which Open vSwitch has the VLANs of a plan."""

import contextlib
import itertools
import pathlib
import re
import shutil
import tempfile
import unittest

import ethlab
import guests
import pmlab
import simlab

# {a guest's device: the card, and the number of its host at the leaf, hence its VLAN}: in 101, the
# switch's access VLAN, a card sees no tag.
CARDS = {"e0": ("virtio-net-pci", 1), "e1": ("vmxnet3", 2)}
VLANS = {"e0": 102, "e1": 103}
KERNELS = (guests.OLD, guests.NEW)  # without tcx, and with it
PINGS = 3
OFFLOADS = ("tx-vlan-offload", "rx-vlan-offload", "generic-receive-offload",
            "tcp-segmentation-offload")
HAS = {"e0": list(OFFLOADS[2:]), "e1": list(OFFLOADS)}  # those of QEMU's cards
TCP_BYTES = 1 << 20
NOTE = "portmajor-vlan: {}: rx-vlan-filter cannot be switched off: promiscuous mode\n"


def setUpModule():
    reason = ethlab.missing() or guests.missing()
    if reason:
        raise unittest.SkipTest(reason)


class Cards(unittest.TestCase):
    """Two guests on two leaves, for all tests; each leaves devices down and without a program."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="vlan-guests-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        netlist = pmlab.generate(folder / "fabric.net", "two-level", 2, 3, 3, 1)
        plan = ethlab.plan(netlist, folder / "vlans")
        table = ethlab.read_hosts(plan / "hosts")
        lab = stack.enter_context(ethlab.Lab(netlist, plan=plan))
        hosts = list(lab.hosts.values())
        cls.guests = []
        for kernel, leaf in zip(KERNELS, (hosts[:3], hosts[3:])):
            cards = {name: (model, leaf[i]) for name, (model, i) in CARDS.items()}
            cls.guests.append(stack.enter_context(guests.Guest(kernel, cards, {
                "hosts": plan / "hosts", "bin/portmajor-vlan": ethlab.loader(),
                "bin/tcx_program": pmlab.BUILD / "tcx_program"})))
        for device, (_, i) in CARDS.items():
            assert ethlab.pair_vlan(table, hosts[i].mac, hosts[3 + i].mac) == VLANS[device]
        for guest in cls.guests:
            guest.boot()
        cls.guests[1].must("iperf3 -s -D")

    def each(self, line):
        """The output of a command on each guest, on all at the same time."""
        return guests.must_each(self.guests, line)

    @contextlib.contextmanager
    def up(self, device, card=None):
        """Sets its addresses, and each other's: ARP, in the access VLAN, plays no part."""
        for one, other in itertools.permutations(self.guests):
            peer = other.cards[card or device][1]
            one.must(f"ip addr add {one.cards[card or device][1].ip}/16 dev {device}; "
                     f"ip link set {device} up")
            one.must(f"ip neigh replace {peer.ip} lladdr {peer.mac} dev {device}")
        try:
            yield
        finally:
            self.each(f"portmajor-vlan remove {device} 2>/dev/null; "
                      f"ip addr flush dev {device}; ip link set {device} promisc off down")

    def ip(self, card):
        """Of the second guest."""
        return self.guests[1].cards[card][1].ip

    def pings(self, card, wait_s=60):
        """The number of PINGS that are answered."""
        return int(self.guests[0].must(
            f"n=0; for i in {' '.join(map(str, range(PINGS)))}; do ping -n -c 1 -W {wait_s} "
            f"{self.ip(card)} >/dev/null && n=$((n + 1)); done; echo $n"))

    def check_lost(self, card):
        """They reach the card, with tags, and are not answered."""
        goal = self.tagged(card) + PINGS
        self.assertEqual(self.pings(card, wait_s=1), 0)
        simlab.poll_until(lambda: self.tagged(card) >= goal, 20, "frames at the card")

    def tagged(self, card, guest=1):
        """The number of frames with the tag of its VLAN that were given to a guest's card."""
        return self.guests[guest].wires[card].to_card[VLANS[card]]

    def filters(self, device):
        """The filters in the output of `show`, of both guests."""
        return [re.findall(r"(?m)^rx-filter +(.*)$", text)
                for text in self.each(f"portmajor-vlan show {device}")]

    def are_promiscuous(self, device):
        return ["PROMISC" in text for text in self.each(f"ip link show {device}")]


    # ---- filters of VLANs

    def check_filter(self, card):
        self.assertEqual(self.pings(card), PINGS)
        self.assertEqual(self.each(f"portmajor-vlan load {card} /hosts"), [NOTE.format(card)] * 2)
        self.assertEqual(self.filters(card), [[f"{card}: on, bypassed in promiscuous mode"]] * 2)
        before = self.tagged(card)
        self.assertEqual(self.pings(card), PINGS)
        self.assertEqual(self.tagged(card), before + PINGS)
        # load has let them in.
        self.each(f"ip link set {card} promisc off")
        self.assertEqual(self.filters(card),
                         [[f"{card}: on: frames with tags are not received"]] * 2)
        self.check_lost(card)
        self.each(f"ip link set {card} promisc on")
        self.assertEqual(self.pings(card), PINGS)
        self.each(f"portmajor-vlan remove {card}")
        self.assertEqual(self.are_promiscuous(card), [False] * 2)
        self.assertEqual(self.pings(card), PINGS)
        self.assertEqual(self.tagged(card), before + 3 * PINGS)

    def test_filter(self):
        """load has a card receive frames with a tag; without it, the card receives none of them."""
        for card in CARDS:
            with self.subTest(card=CARDS[card][0]), self.up(card):
                self.check_filter(card)

    # ---- bonds and teams

    def check_leader(self, leader, *others):
        """A bond or team that filters, which can be switched off, as `others` above e0 can, and e0,
        which cannot: it follows the leader's promiscuous mode."""
        mode = f"promiscuous mode of {leader}"
        notes = {f"portmajor-vlan: {name}: rx-vlan-filter switched off"
                 for name in (leader, *others)}
        notes.add(f"portmajor-vlan: e0: rx-vlan-filter cannot be switched off: {mode}")
        for told in self.each(f"portmajor-vlan load {leader} /hosts"):
            self.assertEqual(set(told.splitlines()), notes)
        self.assertEqual([sorted(one) for one in self.filters(leader)], [sorted(
            [*(f"{name}: off" for name in (leader, *others)), f"e0: on, bypassed in {mode}"])] * 2)
        before = self.tagged("e0")
        self.assertEqual(self.pings("e0"), PINGS)
        self.assertEqual(self.tagged("e0"), before + PINGS)
        self.each(f"ip link set {leader} promisc off")
        self.check_lost("e0")
        self.each(f"ip link set {leader} promisc on")
        self.assertEqual(self.pings("e0"), PINGS)

    def check_restored(self, leader, *others):
        self.each(f"portmajor-vlan remove {leader}")
        self.assertEqual(self.promiscuity("e0", leader), [0] * 4)
        for name in (leader, *others):
            for text in self.each(f"ethtool -k {name}"):
                self.assertIn("rx-vlan-filter: on\n", text)
        self.assertEqual(self.pings("e0"), PINGS)

    def promiscuity(self, *devices):
        """The kernel's count of reasons for it, on the first guest and on the second."""
        return [int(re.search(r"promiscuity (\d+)", text)[1]) for device in devices
                for text in self.each(f"ip -d link show {device}")]

    def test_bond(self):
        """Two bonds: each can be switched, and the card of the lower one cannot."""
        self.each("ip link add bond0 type bond; ip link add bond1 type bond; "
                  "ip link set e0 master bond1; ip link set bond1 master bond0")
        self.addCleanup(self.each, "ip link del bond0; ip link del bond1")
        with self.up("bond0", "e0"):
            self.check_leader("bond0", "bond1")
            self.check_restored("bond0", "bond1")

    def test_team(self):
        mac = "$(cat /sys/class/net/e0/address)"
        self.each(f"ip link add team0 address {mac} type team; "
                  "teamnl team0 setoption mode broadcast; ip link set e0 master team0")
        self.addCleanup(self.each, "ip link del team0")
        with self.up("team0", "e0"):
            self.check_leader("team0")
            self.check_restored("team0")
            self.each("portmajor-vlan load team0 /hosts; ip link set e0 nomaster")
            self.assertEqual(self.promiscuity("e0"), [0, 0])

    def test_members_of_a_bond(self):
        """Another card comes, takes over from the first, and receives; none is left in promiscuous
        mode when it leaves, or when the bond is removed."""
        self.each("ip link add bond0 type bond mode active-backup; ip link set e0 master bond0")
        self.addCleanup(self.each, "ip link del bond0")
        with self.up("bond0", "e0"):
            self.each("portmajor-vlan load bond0 /hosts; ip link set e1 master bond0")
            mode = "on, bypassed in promiscuous mode of bond0"
            self.assertEqual([sorted(one) for one in self.filters("bond0")],
                             [["bond0: off", f"e0: {mode}", f"e1: {mode}"]] * 2)
            one = self.guests[0]
            one.must("ip link set bond0 type bond active_slave e1")
            before = one.wires["e1"].to_card[VLANS["e0"]]
            self.assertEqual(self.pings("e0"), PINGS)
            self.assertEqual(one.wires["e1"].to_card[VLANS["e0"]], before + PINGS)
            self.assertEqual(self.promiscuity("e0", "e1"), [0, 1, 1, 0])
            one.must("ip link set e0 nomaster; ip link set e1 nomaster")
            self.guests[1].must("ip link del bond0; ip link add bond0 type bond")
            self.assertEqual(self.promiscuity("e0", "e1"), [0] * 4)

    def test_filters_of_members(self):
        """Bonds as members with filters that can be switched: of one that comes later by `replace`,
        and back when it has left, or when the bond is removed."""
        def is_on():
            return ["rx-vlan-filter: on\n" in text for text in self.each("ethtool -k bond1")]

        mac = "$(cat /sys/class/net/e0/address)"
        self.each(f"ip link add bond0 address {mac} type bond; ip link add bond1 type bond; "
                  "portmajor-vlan load bond0 /hosts; ip link set bond1 master bond0")
        self.addCleanup(self.each, "ip link del bond0 2>/dev/null; ip link del bond1")
        self.assertEqual([sorted(one) for one in self.filters("bond0")], [
            ["bond0: off", "bond1: on: frames with tags are not received"]] * 2)
        for told in self.each("portmajor-vlan replace bond0 /hosts"):
            self.assertEqual(told, "portmajor-vlan: bond1: rx-vlan-filter switched off\n")
        self.assertEqual(is_on(), [False] * 2)
        # Without members a bond has another address.
        self.each(f"ip link set bond1 nomaster; ip link set bond0 address {mac}; "
                  "portmajor-vlan replace bond0 /hosts")
        self.assertEqual(is_on(), [True] * 2)
        self.each("ip link set bond1 master bond0; portmajor-vlan replace bond0 /hosts")
        self.assertEqual(is_on(), [False] * 2)
        self.each("ip link del bond0; portmajor-vlan remove bond0 2>/dev/null || true")
        self.assertEqual(is_on(), [True] * 2)
        self.assertEqual(self.each("cat /run/portmajor-vlan/* | wc -c"), ["0\n"] * 2)

    # ---- other programs

    def check_ahead(self, *ahead):
        """The output of `show` on each guest, and whether a guest's frames have no tag then."""
        self.assertEqual([re.findall(r"(?m)^ahead +(.*)$", text)
                          for text in self.each("portmajor-vlan show e0")],
                         [[text] if text else [] for text in ahead])
        before = [self.tagged("e0", guest) for guest in (1, 0)]
        self.assertEqual(self.pings("e0"), PINGS)
        self.assertEqual([self.tagged("e0", guest) for guest in (1, 0)],
                         [count + (0 if text else PINGS) for text, count in zip(ahead, before)])

    def test_ahead(self):
        """A tc filter that comes later takes frames from ours in the kernel without tcx; in the
        other one only a program that tcx puts ahead does."""
        late, tcx = "egress: a tc filter, preference 1, bpf", "egress: a tcx program, other"
        with self.up("e0"):
            self.each("portmajor-vlan load e0 /hosts")
            self.check_ahead(None, None)
            self.each("tc qdisc add dev e0 clsact 2>/dev/null; tc filter add dev e0 egress pref 1 "
                      "bpf da bytecode '1,6 0 0 0,'")  # TC_ACT_OK
            self.check_ahead(late, None)
            self.assertEqual([guest.run("tcx_program after e0 egress").status
                              for guest in self.guests], [77, 0])
            self.check_ahead(late, None)
            self.guests[1].must("tcx_program before e0 egress")
            self.check_ahead(late, tcx)
            self.guests[1].must("tcx_program detach e0 egress")
            self.check_ahead(late, None)
            self.each("portmajor-vlan remove e0; tc qdisc del dev e0 clsact")
            self.assertEqual(self.guests[1].must("tcx_program list e0"), "egress other\n")
            self.guests[1].must("tcx_program detach e0 egress")

    def test_half_way(self):
        """A load that fails at the second hook, which others have filled, undoes everything: its
        part at the first one, and its settings at cards."""
        guest = self.guests[1]
        state = ("tcx_program list e0; tc qdisc show dev e0; ip -d link show e0; ethtool -k e0; "
                 "cat /run/portmajor-vlan/* 2>/dev/null | wc -c")
        guest.must("tcx_program after e0 ingress; tcx_program fill e0 egress")
        before = guest.must(state)
        self.assertIn("egress other\n", before)
        self.assertEqual(guest.run("portmajor-vlan load e0 /hosts"), (
            1, "portmajor-vlan: e0: cannot attach the program at egress: Numerical result out of "
               "range\n"))
        self.assertEqual(guest.must(state), before)
        guest.must("tcx_program detach e0 egress")
        self.assertEqual(guest.must("portmajor-vlan load e0 /hosts"), NOTE.format("e0"))
        self.assertEqual(guest.must("tcx_program list e0").splitlines()[:2],
                         ["ingress pm_vlan_ingress", "ingress other"])
        guest.must("portmajor-vlan remove e0; tcx_program detach e0 ingress")
        guest.must("while tcx_program detach e0 egress 2>/dev/null; do :; done")

    # ---- offloads

    def offloads(self, card):
        """Those of OFFLOADS that can be switched, where all are on."""
        texts = self.each(f"ethtool -k {card}")
        return [name for name in OFFLOADS if all(f"{name}: on\n" in text for text in texts)]

    def switch(self, card, names, state):
        for name in names:
            for text in self.each(f"ethtool -K {card} {name} {state}; ethtool -k {card}"):
                self.assertIn(f"{name}: {state}\n", text)

    def large(self, card, guest):
        """The number of frames with the tag of its VLAN that it has left to others to segment."""
        return self.guests[guest].wires[card].large[VLANS[card]]

    def check_traffic(self, card, cuts):
        """Pings, and TCP both ways, all with tags; whether `cuts`, segmentation, is offloaded."""
        self.assertEqual(self.pings(card), PINGS)
        for receiver, way in ((1, ""), (0, "-R")):
            before, large = self.tagged(card, receiver), self.large(card, 1 - receiver)
            self.guests[0].must(f"timeout 180 iperf3 -c {self.ip(card)} -n {TCP_BYTES} {way}")
            # A part of it may be on its way when iperf3 ends; segments are counted at the receiver.
            self.assertGreater(self.tagged(card, receiver), before + TCP_BYTES // 4 // 1448)
            self.assertEqual(self.large(card, 1 - receiver) > large, cuts)
        for text in self.each(f"portmajor-vlan show {card}"):
            self.assertRegex(text, r"(?m)^errors +0$")
            self.assertRegex(text, r"(?m)^foreign +0$")

    def test_offloads(self):
        """All on, each one off, all off."""
        for card in CARDS:
            with self.up(card):
                self.each(f"portmajor-vlan load {card} /hosts")
                names = self.offloads(card)
                self.assertEqual(names, HAS[card])
                for off in dict.fromkeys([(), *((name,) for name in names), tuple(names)]):
                    with self.subTest(card=CARDS[card][0], off=off):
                        self.switch(card, off, "off")
                        self.check_traffic(card, cuts="tcp-segmentation-offload" not in off)
                        self.switch(card, off, "on")


if __name__ == "__main__":
    unittest.main()
