#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ports on the wire of the tests behave like real ones, where ibsim's do not."""

import re
import time

import clients
import labtest
import lft_trace
import pmlab
import simlab
import smps
import wire
from smps import ACTIVE, ARMED, DOWN, INIT, INVALID_VALUE

FABRIC = pmlab.TOPOLOGIES / "two-level-48.net"
LEAF, PORT, HOST = "leaf0", 1, "h0-1"  # a link: the leaf's port, the host
UP, SPINE, SPINE_PORT = 7, "spine0", 1  # another link of the leaf's
CLIENT = "h7-6"

CAN_REREGISTER = 1 << 25
KEY, WRONG = 0x1122334455667788, 0x99


class SmpCase(labtest.Folders):
    """A fabric of its own for each test, where every link is in INIT, and no OpenSM."""

    PACKETS = 0

    def setUp(self):
        self.fabric = self.enterContext(simlab.Fabric(FABRIC))
        self.wire = wire.Wire(packets=self.PACKETS, trace=True)
        self.smps = self.enterContext(smps.Smps(self.fabric, CLIENT, self.wire))
        self.ports = self.fabric.ports

    def state(self, node, port=0):
        return self.smps.port_info(node, port).state

    def wait_states(self, *wanted):
        """Of (node, port..., state): a packet's effects come a little later."""
        simlab.poll_until(lambda: all(self.state(*end) == state for *end, state in wanted), 20,
                          f"these states: {wanted}")

    def put(self, *where, state):
        """Sets a state; (status, state) of the answer."""
        answer = self.smps.set_port_info(*where, state=state)
        return answer.status, answer.state

    def put_active(self, *ends):
        for state in (ARMED, ACTIVE):
            for end in ends:
                self.assertEqual(self.put(*end, state=state), (0, state))

    def seen_by_ibsim(self, node, port):
        """A link's state in ibsim, which carries packets by LID if both ends are Active."""
        return re.search(rf'^\w+\s+\[{port}\].*?(Down|Init|Armed|Active)/',
                         self.fabric.dump(node=node), re.M)[1]


class Values(SmpCase):
    """Values of a PortInfo Set are in its answer and stay."""

    COMMON = {"down_default": 1, "stall": 3, "hoq": 9, "oper_vls": 3, "mtu": 3, "high_limit": 7,
              "local_errors": 5, "overruns": 6, "sm_sl": 2}
    OF = {(HOST, 0): {"timeout": 11, "lease": 60, "protect": 1, **COMMON},
          (LEAF, UP): {"enforce": 0xC, **COMMON},
          (LEAF, 0): {"timeout": 11, "lease": 60, "sm_sl": 2}}

    def test_values_stay(self):
        for where, values in self.OF.items():
            with self.subTest(where):
                before = self.smps.port_info(*where).fields(values)
                self.assertEqual({n for n in values if values[n] == before[n]}, set())
                answer = self.smps.set_port_info(*where, **values)
                self.assertEqual((answer.status, answer.fields(values)), (0, values))
                self.assertEqual(self.smps.port_info(*where).fields(values), values)
        # Neither the other end nor another port of the node has it.
        for where in ((SPINE, SPINE_PORT), (LEAF, UP + 1)):
            self.assertNotEqual(self.smps.port_info(*where).high_limit, 7)

    def test_zero_is_no_change(self):
        for name, value in {"down_default": 1, "oper_vls": 3, "mtu": 3,
                            "width_enabled": 2}.items():
            with self.subTest(name):
                self.smps.set_port_info(LEAF, UP, **{name: value})
                self.assertEqual(getattr(self.smps.set_port_info(LEAF, UP, **{name: 0}), name),
                                 value)

    def test_all_that_is_supported_is_enabled(self):
        """No link changes by it before it trains again."""
        before = self.smps.port_info(HOST)
        answer = self.smps.set_port_info(HOST, width_enabled=0xFF)
        self.assertEqual(answer.width_enabled, before.width_supported)
        self.smps.set_port_info(HOST, of=answer)
        self.assertEqual(self.smps.port_info(HOST).width, before.width)

    def test_shared_by_all_wires(self):
        self.smps.set_port_info(LEAF, UP, high_limit=7)
        with smps.Smps(self.fabric, "h3-1", wire.Wire()) as other:
            self.assertEqual(other.port_info(LEAF, UP).high_limit, 7)

    def test_without(self):
        """A wire may leave ports as ibsim has them, which forgets values at once."""
        bare = wire.Wire(truth=False)
        with smps.Smps(self.fabric, "h3-1", bare) as other:
            self.assertNotEqual(other.set_port_info(HOST, local_errors=5).local_errors, 5)
            answer = other.set_port_info(LEAF, PORT, physical_state=5, state=ARMED)
            self.assertEqual((answer.status, answer.state), (0, ARMED))
        self.assertEqual(self.ports.invalid_values, 0)

    def test_p_keys_stay(self):
        table = bytes.fromhex("ffff8123").ljust(64, b"\0")
        for node, modifier in ((HOST, 0), (LEAF, PORT << 16)):
            self.assertEqual(self.smps.set(node, smps.P_KEYS, modifier, table).status, 0)
            self.assertEqual(self.smps.get(node, smps.P_KEYS, modifier).data, table)

    def test_physical_state(self):
        """One that was copied from a Get is refused, and the Set changes nothing."""
        self.smps.set_port_info(LEAF, PORT, high_limit=6)
        for state, status, limit, is_in in ((5, INVALID_VALUE, 6, INIT),
                                            (4, INVALID_VALUE, 6, INIT), (0, 0, 9, ARMED)):
            with self.subTest(state):
                answer = self.smps.set_port_info(LEAF, PORT, physical_state=state, high_limit=9,
                                                 state=ARMED)
                self.assertEqual(answer.status, status)
                self.assertEqual(answer.fields(["physical_state", "high_limit", "state"]),
                                 {"physical_state": 5, "high_limit": limit, "state": is_in})
        self.assertEqual(self.ports.invalid_values, 2)


class States(SmpCase):
    def test_what_is_refused(self):
        self.assertEqual(self.put(LEAF, PORT, state=ACTIVE), (INVALID_VALUE, INIT))
        self.assertEqual(self.put(LEAF, PORT, state=INIT), (INVALID_VALUE, INIT))
        self.put_active((LEAF, PORT), (HOST,))
        for where in ((LEAF, PORT), (HOST,)):
            self.assertEqual(self.put(*where, state=ARMED), (INVALID_VALUE, ACTIVE))
            self.assertEqual(self.put(*where, state=ACTIVE), (INVALID_VALUE, ACTIVE))
            self.assertEqual(self.state(*where), ACTIVE)
        self.fabric.unlink(HOST)
        self.assertEqual(self.put(LEAF, PORT, state=ARMED), (INVALID_VALUE, DOWN))

    def test_active_and_the_peer_in_init(self):
        """It is accepted; the link carries packets as soon as the other end follows."""
        for ends in (((LEAF, PORT), (HOST,)), ((LEAF, UP), (SPINE, SPINE_PORT)),
                     (("h1-1",), ("leaf1", 1))):
            with self.subTest(ends):
                one, other = ends
                self.put_active(one)
                self.assertEqual((self.state(*one), self.state(*other)), (ACTIVE, INIT))
                self.assertEqual(self.put(*one, state=ARMED), (INVALID_VALUE, ACTIVE))
                self.put_active(other)
                self.wait_states((*one, ACTIVE), (*other, ACTIVE))
        self.assertEqual(self.ports.woken, 0)
        for end in ((LEAF, UP), (SPINE, SPINE_PORT), ("leaf1", 1)):
            self.assertEqual(self.seen_by_ibsim(*end), "Active")

    def test_active_alone_ends_with_the_link(self):
        for again in (self.relink, lambda: self.put(HOST, state=DOWN)):
            self.put_active((LEAF, PORT))
            again()
            self.assertEqual((self.state(LEAF, PORT), self.state(HOST)), (INIT, INIT))

    def relink(self):
        self.fabric.unlink(HOST)
        self.fabric.relink(HOST)

    def changes(self, node):
        """Whether PortStateChange is set; it is cleared."""
        info = bytearray(self.smps.get(node, smps.SWITCH_INFO).data)
        self.smps.set(node, smps.SWITCH_INFO, 0, bytes(info))
        return bool(info[11] & 4)

    def test_port_state_change(self):
        """Neither ARMED nor ACTIVE sets it; DOWN does, at the other end."""
        for node in (LEAF, SPINE):
            self.changes(node)
        self.put_active((LEAF, UP), (SPINE, SPINE_PORT))
        self.assertEqual((self.changes(LEAF), self.changes(SPINE)), (False, False))
        self.assertEqual(self.put(LEAF, UP, state=DOWN), (0, INIT))
        self.assertEqual((self.changes(LEAF), self.changes(SPINE)), (False, True))
        self.assertEqual((self.state(LEAF, UP), self.state(SPINE, SPINE_PORT)), (INIT, INIT))


class Packets(SmpCase):
    """The other end turns ACTIVE by the first packet, if it is in ARMED."""

    PACKETS = 1

    def test_armed_turns_active(self):
        for ends in (((LEAF, PORT), (HOST,)), ((HOST.replace("1", "2"),), (LEAF, 2)),
                     ((LEAF, UP), (SPINE, SPINE_PORT))):
            with self.subTest(ends):
                one, other = ends
                for end in ends:
                    self.put(*end, state=ARMED)
                self.assertEqual((self.state(*one), self.state(*other)), (ARMED, ARMED))
                self.assertEqual(self.put(*one, state=ACTIVE), (0, ACTIVE))
                self.wait_states((*one, ACTIVE), (*other, ACTIVE))
                self.assertEqual(self.put(*other, state=ACTIVE), (INVALID_VALUE, ACTIVE))
        self.assertEqual(self.ports.woken, 3)
        self.assertEqual(self.seen_by_ibsim(LEAF, PORT), "Active")
        woken = [r for r in self.wire.records(states=True) if r.event == "state"
                 and not r.method]
        self.assertEqual([(r.guid, r.modifier, r.status) for r in woken],
                         [(self.wire.guid(HOST), 1, ACTIVE), (self.wire.guid(LEAF), 2, ACTIVE),
                          (self.wire.guid(SPINE), SPINE_PORT, ACTIVE)])

    def test_in_init_it_does_not(self):
        self.put_active((LEAF, PORT))
        self.assertEqual(self.state(HOST), INIT)
        self.assertEqual(self.put(HOST, state=ARMED), (0, ARMED))
        self.wait_states((LEAF, PORT, ACTIVE), (HOST, ACTIVE))
        self.assertEqual(self.ports.woken, 1)

    def test_share(self):
        self.ports.packets = 0.5
        hosts = [h for h in self.fabric.netlist.hosts if h != CLIENT]
        for host in hosts:
            (leaf, port), = self.fabric.netlist.nodes[host].ports.values()
            for end in ((leaf, port), (host,)):
                self.put(*end, state=ARMED)
            self.put(leaf, port, state=ACTIVE)
        for host in hosts:
            self.state(host)  # all SMPs for the last one were answered
        active = sum(self.state(host) == ACTIVE for host in hosts)
        self.assertEqual(self.ports.woken, active)
        self.assertGreater(active, len(hosts) / 5)
        self.assertLess(active, len(hosts) * 4 / 5)


class Keys(SmpCase):
    """The destination of an SMP checks the M_Key."""

    def set_key(self, node, **fields):
        answer = self.smps.set_port_info(node, key=KEY, of=self.with_key(node), **fields)
        self.assertEqual(answer.status, 0)

    def with_key(self, node):
        """The node's PortInfo, its M_Key replaced."""
        info = self.smps.port_info(node, 0, KEY)
        return smps.Answer(0, KEY.to_bytes(8, "big") + info.data[8:])

    def dropped(self, node, key):
        """Whether a Get and a Set with that key are dropped."""
        of = self.with_key(node)
        return (self.smps.port_info(node, 0, key) is None,
                self.smps.set_port_info(node, key=key, of=of) is None)

    def test_protection(self):
        dropped = 0
        for node, port in ((HOST, 1), (LEAF, 0)):
            for protect, get_dropped in ((0, False), (1, False), (2, True), (3, True)):
                with self.subTest(node=node, protect=protect):
                    self.set_key(node, protect=protect)
                    self.assertEqual(self.dropped(node, KEY), (False, False))
                    self.assertEqual(self.dropped(node, WRONG), (get_dropped, True))
                    dropped += 1 + get_dropped
                    self.assertEqual(self.ports.wrong_m_keys, dropped)
                    if not get_dropped:
                        told = self.smps.port_info(node, 0, WRONG).m_key
                        self.assertEqual(told, 0 if protect else KEY)
            self.assertEqual(self.ports(node, port).refused, 6)

    def test_violations_are_counted(self):
        """In the port, until they are set to 0."""
        self.set_key(HOST, protect=2, m_key_violations=0)
        self.dropped(HOST, WRONG)
        self.assertEqual(self.smps.port_info(HOST, 0, KEY).m_key_violations, 2)
        self.set_key(HOST, m_key_violations=0)
        self.assertEqual(self.smps.port_info(HOST, 0, KEY).m_key_violations, 0)

    def test_all_attributes(self):
        self.smps.walk(LEAF)
        self.set_key(LEAF, protect=2)
        for attr, modifier in ((smps.NODE_INFO, 0), (smps.SWITCH_INFO, 0), (smps.LFT, 0),
                               (smps.PORT_INFO, UP), (smps.P_KEYS, PORT << 16)):
            self.assertIsNone(self.smps.get(LEAF, attr, modifier, WRONG))
            self.assertEqual(self.smps.get(LEAF, attr, modifier, KEY).status, 0)
        self.assertIsNone(self.smps.set(LEAF, smps.LFT, 0, bytes(64), WRONG))
        self.assertEqual(self.smps.get(LEAF, smps.LFT, 0, KEY).data, b"\xff" * 64)
        # Nodes on the way do not check it.
        self.assertEqual(self.smps.port_info(HOST).status, 0)

    def test_lease(self):
        """It runs from a wrong key on, unless a right one comes; then protection ends."""
        self.set_key(HOST, protect=2, lease=3)
        self.assertIsNone(self.smps.port_info(HOST, 0, WRONG))
        self.assertGreater(self.ports(HOST).lease_ends, 0)
        self.assertEqual(self.smps.port_info(HOST, 0, KEY).protect, 2)
        self.assertEqual(self.ports(HOST).lease_ends, 0)
        simlab.poll_until(lambda: self.smps.port_info(HOST, 0, WRONG), 30, "the lease's end")
        self.assertEqual(self.smps.port_info(HOST, 0, WRONG).protect, 0)


class Reboots(SmpCase):
    """A node returns without anything that was set, and its links are in INIT at both ends."""

    def test_switch(self):
        lft, mft = bytes(range(64)), b"\x12\x34" * 32
        self.smps.set(LEAF, smps.LFT, 3, lft)
        self.smps.set(LEAF, smps.MFT, 2, mft)
        self.smps.set(LEAF, smps.P_KEYS, PORT << 16, b"\x81\x23" * 32)
        self.smps.set(LEAF, smps.SWITCH_INFO, 0, bytes(6) + b"\0\xc8".ljust(58, b"\0"))
        self.smps.set_port_info(LEAF, 0, lid=77, sm_lid=5, m_key=KEY)
        self.smps.set_port_info(LEAF, UP, key=KEY, oper_vls=1, enforce=0xC, hoq=9)
        self.put(HOST, state=ARMED)
        self.put(SPINE, SPINE_PORT, state=ARMED)
        self.smps.set_port_info(SPINE, SPINE_PORT, high_limit=9)
        self.smps.set(SPINE, smps.SWITCH_INFO)
        before = self.smps.get(LEAF, smps.LFT, 3, KEY).data, self.smps.get(
            LEAF, smps.MFT, 2, KEY).data
        self.assertEqual(before, (lft, mft))
        self.fabric.clear(LEAF)
        self.fabric.relink(LEAF)
        self.assertEqual(self.smps.get(LEAF, smps.LFT, 3).data, b"\xff" * 64)
        self.assertEqual(self.smps.get(LEAF, smps.MFT, 2).data, bytes(64))
        self.assertEqual(self.smps.get(LEAF, smps.P_KEYS, PORT << 16).data,
                         b"\xff\xff".ljust(64, b"\0"))
        switch = self.smps.get(LEAF, smps.SWITCH_INFO).data
        self.assertEqual((switch[6:8], switch[11] & 4), (b"\0\0", 4))
        self.assertEqual(self.smps.port_info(LEAF, 0).fields(["lid", "sm_lid", "m_key"]),
                         {"lid": 0, "sm_lid": 0, "m_key": 0})
        link = self.smps.port_info(LEAF, UP)
        self.assertEqual(link.fields(["state", "oper_vls", "enforce", "hoq"]),
                         {"state": INIT, "oper_vls": link.vl_cap, "enforce": 0, "hoq": 0})
        # Its neighbours have lost only the link.
        peer = self.smps.port_info(SPINE, SPINE_PORT)
        self.assertEqual((peer.state, peer.high_limit), (INIT, 9))
        self.assertEqual(self.smps.get(SPINE, smps.SWITCH_INFO).data[11] & 4, 4)
        self.assertEqual(self.state(HOST), INIT)
        self.assertEqual(self.ports.wiped, 1)
        # Values that are set from then on stay.
        self.smps.set(LEAF, smps.LFT, 3, lft)
        self.assertEqual(self.smps.get(LEAF, smps.LFT, 3).data, lft)

    def test_host(self):
        self.smps.set(HOST, smps.P_KEYS, 1, b"\x81\x23" * 32)
        self.smps.set_port_info(HOST, lid=78, sm_lid=5, oper_vls=1, m_key=KEY, protect=2)
        self.fabric.clear(HOST)
        self.fabric.relink(HOST)
        self.assertEqual(self.smps.get(HOST, smps.P_KEYS, 1).data, bytes(64))
        port = self.smps.port_info(HOST)
        self.assertEqual(port.fields(["state", "lid", "sm_lid", "oper_vls", "m_key", "protect"]),
                         {"state": INIT, "lid": 0, "sm_lid": 0, "oper_vls": port.vl_cap,
                          "m_key": 0, "protect": 0})

    def test_a_flap_loses_nothing(self):
        self.smps.set(LEAF, smps.LFT, 0, bytes(range(64)))
        self.smps.set_port_info(LEAF, UP, high_limit=9)
        self.fabric.unlink(LEAF)
        self.fabric.relink(LEAF)
        self.assertEqual(self.smps.get(LEAF, smps.LFT, 0).data, bytes(range(64)))
        self.assertEqual(self.smps.port_info(LEAF, UP).high_limit, 9)


class WithOpenSM(labtest.Folders):
    """OpenSM's behaviour, with its own routing, with such ports."""

    CONF = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wire = wire.Wire(trace=True, packets=1)
        cls.lab = cls.stack.enter_context(pmlab.Lab(FABRIC, engine="updn", wire=cls.wire,
                                                    conf=cls.CONF))
        cls.osm, cls.fabric = cls.lab.osm, cls.lab.fabric
        cls.osm.settle()
        cls.start = cls.wire.records()
        cls.hosts = cls.fabric.netlist.hosts

    def setUp(self):
        self.osm.wait_traps_aged()
        self.wire.records()

    def port_sets(self, records):
        return [r for r in records if r.event == "answered" and r.method == wire.SET
                and r.attr == smps.PORT_INFO]

    def sweep(self, act=None):
        """The SMPs of a sweep, and the states that ports took."""
        mark = self.osm.mark()
        (act or self.osm.hup)()
        self.osm.settle(mark, timeout=120)
        return self.wire.records(applied=True, states=True)


class Swept(WithOpenSM):
    def test_a_quiet_sweep_sets_nothing(self):
        self.assertEqual([r for r in self.sweep() if r.method == wire.SET], [])

    def test_active_by_a_packet_is_no_failure(self):
        """OpenSM takes the status for success, and there is a path."""
        told = self.port_sets(self.start)
        refused = [r for r in told if r.status]
        self.assertEqual({r.status for r in refused}, {INVALID_VALUE})
        self.assertEqual({smps.Answer(0, bytes(r.data)).state for r in refused}, {ACTIVE})
        self.assertEqual(len(refused), self.wire.ports.woken)
        links = {link for name in self.fabric.netlist.nodes
                 for link in self.fabric.netlist.links_of(name)}
        # Some Sets are on their way already when the packet comes.
        self.assertGreater(len(refused), len(links) * 3 / 4)
        self.assertIn("SUBNET UP", self.osm.log())
        self.assertGreater(len(clients.saquery(self.fabric, CLIENT, "-s")), 0)

    # The part that flaps, both ends, the switch whose trap has a path (the leaf's may have led over
    # it).
    FLAPS = (("h4-2", None, {("h4-2", 1), ("leaf4", 2)}, "leaf4"),
             ("leaf2", UP, {("leaf2", UP), (SPINE, 5)}, SPINE))

    def test_flap(self):
        """Both ends are in INIT, and their switches report it."""
        for node, port, ends, sender in self.FLAPS:
            with self.subTest(node):
                back = []
                found = self.sweep(lambda: back.append(self.fabric.flap(node, port)))
                took = [r for r in found if r.event == "state"]
                ends = {(self.wire.guid(name), number) for name, number in ends}
                self.assertEqual({(r.guid, r.modifier, r.status) for r in took},
                                 {(*end, state) for end in ends for state in (ARMED, ACTIVE)})
                self.assertGreater(min(r.ns for r in took), back[0] * 1e9)
                self.assertEqual({r.method for r in took if r.status == ARMED}, {wire.SET})
                traps = {r.guid for r in found if r.event == "trapped"}
                self.assertEqual(traps - {self.wire.guid(node)}, {self.wire.guid(sender)})
                self.osm.wait_traps_aged()

    def test_cable_back(self):
        """OpenSM moves entries onto a link that is still in INIT, and packets are lost."""
        net, end = self.fabric.netlist, ("leaf2", UP)
        down = {net.link_at(*end)}
        self.sweep(lambda: self.fabric.unlink(*end))
        self.osm.wait_traps_aged()
        before = pmlab.Dump(self.lab.dump())
        begin = time.monotonic_ns()
        found = self.sweep(lambda: self.fabric.relink(*end))
        back = lft_trace.Change(begin, begin, down, set(), False, "back")
        replay = lft_trace.Replay(lft_trace.Topology(net), before)
        replay.run(found, [back], down)
        self.assertGreater(len(replay.inactive), 0)
        self.assertEqual(replay.differences(pmlab.Dump(self.lab.dump())), [])

    def test_traps_twice(self):
        with self.wire.twice("trap") as twice:
            found = self.sweep(lambda: self.fabric.flap(LEAF, UP))
        self.assertEqual(sum(r.event == "trapped" for r in found), 2 * twice.acted)
        self.assertGreaterEqual(twice.acted, 2)

    def test_reboot(self):
        """A host that is back at once gets its LID and is told to reregister."""
        before = self.wire.ports("h6-1").reregistered
        found = self.sweep(lambda: self.fabric.reboot("h6-1"))
        told = [smps.Answer(0, bytes(r.data)) for r in self.port_sets(found)
                if r.guid == self.wire.guid("h6-1")]
        self.assertGreater(min(t.lid for t in told), 0)
        self.assertEqual(self.wire.ports("h6-1").reregistered, before + 1)

    def reregistered(self):
        return {host: port.reregistered for host in self.hosts
                if (port := self.wire.ports(host))}

    def test_reregistration(self):
        """Hosts are told at first, and after an absence: once each."""
        told = [smps.Answer(0, bytes(r.data)) for r in self.port_sets(self.start)]
        self.assertEqual(sum(t.reregister for t in told), len(self.hosts))
        before = self.reregistered()
        self.assertEqual(set(before), set(self.hosts))
        self.sweep()
        self.assertEqual(self.reregistered(), before)
        self.sweep(lambda: self.fabric.unlink("h2-3"))
        self.osm.wait_traps_aged()
        found = self.sweep(lambda: self.fabric.relink("h2-3"))
        self.assertEqual({h: n - before[h] for h, n in self.reregistered().items()
                          if n != before[h]}, {"h2-3": 1})
        gets = [smps.Answer(0, bytes(r.data)) for r in found if r.event == "answered"
                and r.method == wire.GET and r.attr == smps.PORT_INFO
                and r.guid == self.wire.guid("h2-3")]
        self.assertGreater(len(gets), 0)
        self.assertEqual({(g.reregister, g.capabilities & CAN_REREGISTER) for g in gets},
                         {(0, CAN_REREGISTER)})

    def test_trap_of_new_capabilities(self):
        """It has the bit as well: OpenSM takes the mask from it."""
        with simlab.OpenSM(self.fabric, engine="minhop", host="h5-1", wire=wire.Wire()):
            traps = []

            def come():
                traps.extend(bytes(r.data) for r in self.wire.records() if r.event == "trapped"
                             and r.data[5] == 144)
                return traps

            simlab.poll_until(come, 60, "a trap 144")
        self.assertEqual({trap[16] & CAN_REREGISTER >> 24 for trap in traps},
                         {CAN_REREGISTER >> 24})

    def test_rebooted_leaf(self):
        """It reports nothing itself; OpenSM writes its whole table."""
        before = self.tables()
        down = self.sweep(lambda: self.fabric.clear("leaf3"))
        self.osm.wait_traps_aged()
        wiped = self.wire.ports.wiped
        back = self.sweep(lambda: self.fabric.relink("leaf3"))
        self.assertEqual(self.wire.ports.wiped, wiped + 1)
        for records in (down, back):
            self.assertEqual({r.guid for r in records if r.event == "trapped"},
                             {self.wire.guid(f"spine{i}") for i in range(4)})
        guid = self.wire.guid("leaf3")
        top = next(r for r in back if r.event == "answered" and r.guid == guid
                   and r.attr == smps.SWITCH_INFO)
        self.assertEqual(bytes(top.data[6:8]), b"\0\0")
        self.assertGreater(sum(r.event == "answered" and r.guid == guid and r.attr == smps.LFT
                               for r in back), 0)
        self.assertEqual(self.tables()["leaf3"].keys(), before["leaf3"].keys())

    def tables(self):
        path = self.folder / "dump"
        self.fabric.dump(path)
        dump = pmlab.Dump(path)
        return {name: dump.entries(name, 0) for name in self.fabric.netlist.switches}

    def test_down_tells_the_neighbour(self):
        """The trap comes from the other end's switch."""
        noise = self.wire.alter("answer", 53, b"\x11", node="h3-1", method="get",
                                attr=smps.PORT_INFO, times=1)  # makes OpenSM set it
        down = self.wire.alter("request", 32, b"\x01", b"\x0f", node="h3-1", method="set",
                               attr=smps.PORT_INFO, times=1)
        with noise, down:
            found = self.sweep()
        self.assertEqual(down.acted, 1)
        self.assertEqual({r.guid for r in found if r.event == "trapped"},
                         {self.wire.guid("leaf3")})


class Senders(labtest.Folders):
    def test_plugin(self):
        """The SMPs of the plugin, and those of OpenSM."""
        traced = wire.Wire(trace=True)
        with pmlab.Lab(FABRIC, wire=traced) as lab:
            lab.bring_up()
            start = [r for r in traced.records() if r.event == "asked"]
            lost = lab.measure("cable", lambda: lab.fabric.lose(f"{LEAF}:{UP}"))
        # Without its Gets of the SM's own port.
        own = [r for r in traced.records() if r.event == "asked" and r.plugin and r.hops]
        self.assertEqual([r for r in start if r.plugin and r.hops], [])
        self.assertGreater(lost.wire, 0)
        self.assertEqual(sum(r.method == wire.SET for r in own),
                         sum(line.sent for line in lost.repairs))
        self.assertEqual({r.attr for r in own}, {smps.PORT_INFO, smps.LFT})


class WithKeys(WithOpenSM):
    CONF = {"m_key": f"{KEY:#x}", "m_key_protection_level": 2, "m_key_lease_period": 0}

    def test_master_has_the_key(self):
        self.assertEqual(self.wire.ports.wrong_m_keys, 0)
        self.assertEqual(self.wire.timed_out, 0)
        self.assertEqual([r for r in self.sweep() if r.method == wire.SET], [])
        with smps.Smps(self.fabric, CLIENT, wire.Wire()) as other:
            path = other.walk("leaf7", key=KEY)
            self.assertIsNone(other.ask(smps.GET, path, smps.NODE_INFO, key=WRONG))
            self.assertEqual(other.ask(smps.GET, path, smps.NODE_INFO, key=KEY).status, 0)


if __name__ == "__main__":
    labtest.main()
