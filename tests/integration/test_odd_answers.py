#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whatever one port answers, portmajor sends no more Sets for it than updn does.

One field of the answers of a host, or of one or all ports of a switch, has another value
in a sweep, and the right one in the next. Fields and values are drawn (PM_SEED,
PM_ROUNDS), the same for both engines.
"""

import dataclasses
import os
import random
import re
import struct
import time

import bad_switch
import labtest
import pmlab
import simlab
from bad_switch import NODE_INFO, PORT_INFO, SWITCH_INFO

HOST, LEAF, SPINE = "h3-1", "leaf5", "spine2"
# (node, port): None stands for all ports.
PLACES = ((HOST, None), (LEAF, 0), (LEAF, None), (LEAF, 2), (LEAF, 5), (SPINE, 0), (SPINE, None),
          (SPINE, 3))
CABLE = {LEAF: 4, SPINE: 1}  # a port of one
PORTS = {LEAF: 11, SPINE: 12}  # the simulator ends when other ones are queried

# (attribute, field): its offset and its bits. Fields with values that crash OpenSM itself are left
# out.
FIELDS = {
    (NODE_INFO, "BaseVersion"): (0, b"\xff"),
    (NODE_INFO, "ClassVersion"): (1, b"\xff"),
    (NODE_INFO, "NumPorts"): (3, b"\xff"),
    (NODE_INFO, "SystemImageGUID"): (4, b"\xff" * 8),
    (NODE_INFO, "PartitionCap"): (28, b"\xff\xff"),
    (NODE_INFO, "DeviceID"): (30, b"\xff\xff"),
    (NODE_INFO, "LocalPortNum"): (36, b"\xff"),
    (NODE_INFO, "VendorID"): (37, b"\xff" * 3),
    (SWITCH_INFO, "LinearFDBCap"): (0, b"\xff\xff"),
    (SWITCH_INFO, "RandomFDBCap"): (2, b"\xff\xff"),
    (SWITCH_INFO, "MulticastFDBCap"): (4, b"\xff\xff"),
    (SWITCH_INFO, "LinearFDBTop"): (6, b"\xff\xff"),
    (SWITCH_INFO, "DefaultPorts"): (8, b"\xff" * 3),
    (SWITCH_INFO, "LifeTimeValue"): (11, b"\xff"),
    (SWITCH_INFO, "LIDsPerPort"): (12, b"\xff\xff"),
    (SWITCH_INFO, "PartitionEnforcementCap"): (14, b"\xff\xff"),
    (SWITCH_INFO, "capabilities"): (16, b"\xff"),
    (SWITCH_INFO, "MulticastFDBTop"): (18, b"\xff\xff"),
    (PORT_INFO, "M_Key"): (0, b"\xff" * 8),
    (PORT_INFO, "GidPrefix"): (8, b"\xff" * 8),
    (PORT_INFO, "LID"): (16, b"\xff\xff"),
    (PORT_INFO, "MasterSMLID"): (18, b"\xff\xff"),
    # Not IsMulticastFDBTopSupported: a switch that keeps no MulticastFDBTop, as the simulator's,
    # gets a Set each time that groups are routed.
    (PORT_INFO, "CapabilityMask"): (20, b"\xbf\xff\xff\xff"),
    (PORT_INFO, "M_KeyLeasePeriod"): (26, b"\xff\xff"),
    (PORT_INFO, "LocalPortNum"): (28, b"\xff"),
    (PORT_INFO, "LinkWidths"): (29, b"\xff" * 3),
    (PORT_INFO, "LinkSpeedSupported"): (32, b"\xf0"),
    (PORT_INFO, "PortState"): (32, b"\x0f"),
    (PORT_INFO, "physical state"): (33, b"\xff"),
    (PORT_INFO, "M_KeyProtectBits, LMC"): (34, b"\xff"),
    (PORT_INFO, "LinkSpeeds"): (35, b"\xff"),
    (PORT_INFO, "NeighborMTU, MasterSMSL"): (36, b"\xff"),
    (PORT_INFO, "VLCap, InitType"): (37, b"\xff"),
    (PORT_INFO, "VLArbitrationCap"): (38, b"\xff" * 3),
    (PORT_INFO, "MTUCap"): (41, b"\xff"),
    (PORT_INFO, "HOQLife"): (42, b"\xff"),
    (PORT_INFO, "OperationalVLs"): (43, b"\xff"),
    (PORT_INFO, "violations"): (44, b"\xff" * 6),
    (PORT_INFO, "GUIDCap"): (50, b"\xff"),
    (PORT_INFO, "time-outs"): (51, b"\xff\xff"),
    (PORT_INFO, "LinkSpeedExt"): (62, b"\xff\xff"),
}

# Each has LIDs further above the plan than the one before, as OpenSM's tables only grow.
FAR_ABOVE = {
    "a host, LMC 7": (HOST, None, "M_KeyProtectBits, LMC", b"\x07"),
    "a host, LID 16000": (HOST, None, "LID", struct.pack(">H", 16000)),
    "a leaf, LID 32000": (LEAF, 0, "LID", struct.pack(">H", 32000)),
    "a leaf, LID 47000, LMC 7": (LEAF, 0, "LID", struct.pack(">H", 47000)),
    "a host, LID 0xbfff": (HOST, None, "LID", b"\xbf\xff"),
}


@dataclasses.dataclass
class Draw:
    node: str
    port: int
    attr: int
    field: str
    value: bytes

    def rules(self, wires, _):
        offset, mask = FIELDS[self.attr, self.field]
        return [wires.alter("answer", offset, self.value, mask, node=self.node, attr=self.attr,
                            modifier=self.port)]

    @property
    def caps(self):
        """The table size in a switch's answer, as for Tables.pairs()."""
        return ({self.node: int.from_bytes(self.value, "big")} if self.field == "LinearFDBCap"
                else {})

    @property
    def has_other_ends(self):
        """Whether a switch's links lead to other ports than its own answers have: the cables that
        OpenSM drops differ from discovery to discovery."""
        return self.field == "LocalPortNum" and self.attr == NODE_INFO and self.node != HOST

    def is_failure(self, top):
        """Whether the answer means that a link or a switch is useless."""
        if self.field == "PortState":
            return not 2 <= self.value[0] & 15 <= 4
        return self.field == "LinearFDBCap" and int.from_bytes(self.value, "big") <= top


def draw_value(dice, width):
    """Often a value at the end of a range, one bit, or a small number."""
    most = (1 << 8 * width) - 1
    return dice.choice((0, 1, most, 1 << dice.randrange(8 * width), dice.randrange(100),
                        dice.randint(0, most))).to_bytes(width, "big")


def draw(dice):
    while True:
        node, port = dice.choice(PLACES)
        attr, field = dice.choice(list(FIELDS))
        value = draw_value(dice, len(FIELDS[attr, field][1]))
        if attr == SWITCH_INFO and node == HOST or field == "LinearFDBCap" and value == b"\0\0":
            continue
        if field == "NumPorts":
            value = bytes([value[0] % (1 + PORTS.get(node, 255))])
        return Draw(node, port if attr == PORT_INFO else None, attr, field, value)


@dataclasses.dataclass
class Outcome:
    """The result of a value, or of the right one again."""
    state: bad_switch.State
    lft: int
    switch_info: int

    @property
    def runs(self):
        return self.state.log.count("tables configured on all switches")


class OddAnswers(labtest.Folders):
    """Sets for another value of one field."""

    APART = True
    ROUNDS = int(os.environ.get("PM_ROUNDS", 8))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = pmlab.generate(cls.folder / "fabric.net", "two-level", 6, 4, 3, 2)
        cls.hosts = 18

    def lab(self, engine):
        folder = self.enterContext(pmlab.Folder())
        lab = self.enterContext(bad_switch.Attempt(folder, engine, netlist=self.netlist))
        return lab, lab.start()

    @staticmethod
    def sweep(lab):
        before = lab.osm.counters()
        state = lab.sweep()
        sent = lab.osm.counters() - before
        return Outcome(state, sent.attr(simlab.ATTR_LFT, "set"), sent.attr(SWITCH_INFO, "set"))

    def try_all(self, engine, draws):
        """The tables at first, and the results of each value and of the right one; none any more
        once OpenSM has ended."""
        lab, start = self.lab(engine)
        outcomes = []
        for one in draws:
            lab.turn(one.rules)
            bad = self.sweep(lab)
            lab.turn(lambda *_: [])
            well = self.sweep(lab) if bad.state.ended is None else bad
            if well.state.ended is not None:
                break
            outcomes.append((bad, well))
        return start.tables, outcomes

    def loss_by_updn(self, node, port):
        """The LFT Sets of updn when a link or a whole switch fails, and when it returns."""
        lab, _ = self.lab("updn")
        sets = []
        for event in (lab.fabric.unlink, lab.fabric.relink):
            mark = lab.osm.mark()
            event(node, port)
            lab.wait(mark)
            sets.append((lab.osm.counters() - mark.counters).attr(simlab.ATTR_LFT, "set"))
        return sets

    def check(self, draws):
        _, stock = self.try_all("updn", draws)
        draws = draws[:len(stock)]
        tables, ours = self.try_all("portmajor", draws)
        self.assertEqual(len(ours), len(draws), f"OpenSM ended: {draws[len(ours):][:1]}")
        self.infos = self.most_infos = 0
        for one, theirs, results in zip(draws, stock, ours):
            with self.subTest(one):
                self.check_sets(one, theirs, results, tables)
                self.check_tables(one, theirs, results, tables)
        return stock, ours

    def check_sets(self, one, theirs, results, tables):
        """No more than updn's; than updn's for a failure, if portmajor takes it for one. Then it
        also sets a LinearFDBTop that fits. Where OpenSM drops another cable in each discovery, each
        run may cost what the failure of one and the return of another do. A lower LinearFDBTop than
        was set costs the switch's own table, of one block here. Each sweep after a trap sets
        SwitchInfo: updn's are all at first, in an earlier draw, say, until OpenSM drops the eleventh
        equal trap, whatever it reports. So they are summed."""
        limits = [(outcome.lft, outcome.switch_info) for outcome in theirs]
        if one.field == "LinearFDBTop":
            limits = [(max(lft, 1), infos) for lft, infos in limits]
        if one.is_failure(max(tables.top.values())):
            losses = self.loss_by_updn(one.node, one.port or None)
            limits = [(max(lft, loss), max(infos, 1))
                      for (lft, infos), loss in zip(limits, losses)]
        if one.has_other_ends:
            each = sum(self.loss_by_updn(one.node, CABLE[one.node]))
            limits = [(max(lft, each * result.runs), max(infos, 2 * result.runs))
                      for (lft, infos), result in zip(limits, results)]
        for result, (lft, infos) in zip(results, limits):
            self.assertLessEqual(result.lft, lft)
            self.infos += result.switch_info
            self.most_infos += infos
            self.assertLessEqual(self.infos, self.most_infos)

    def check_tables(self, one, theirs, results, tables):
        """As many pairs are joined as by updn, and in the end the tables are as at first."""
        bad, well = (outcome.state for outcome in results)
        self.assertEqual(set(bad.engines + well.engines), {"portmajor"})
        self.assertGreaterEqual(len(bad.tables.pairs(None, one.caps)),
                                len(theirs[0].state.tables.pairs(None, one.caps)))
        if theirs[1].state.up:
            self.assertEqual(len(well.tables.pairs()), self.hosts * (self.hosts - 1))
            self.assertEqual(list(pmlab.changed_entries(tables, well.tables)), [])

    def test_far_above(self):
        """LIDs above the plan cost nothing, where updn sets each LinearFDBTop, and with portmajor's
        engine that was more than 700 blocks for each switch."""
        stock, ours = self.check([Draw(*row[:2], PORT_INFO, *row[2:])
                                  for row in FAR_ABOVE.values()])
        self.assertEqual(len(ours), len(FAR_ABOVE))
        for name, theirs, results in zip(FAR_ABOVE, stock, ours):
            with self.subTest(name):
                self.assertEqual((results[0].lft, results[0].switch_info), (0, 0))
                self.assertEqual(theirs[0].switch_info, 10)

    def test_ends_disagree(self):
        """OpenSM drops a cable in each discovery, and has its ports trained again. portmajor leaves
        it to OpenSM, too, as its return would last until the next sweep."""
        _, ours = self.check([Draw(LEAF, None, NODE_INFO, "LocalPortNum", b"\x01")] * 2)
        # While OpenSM discovers, its record may still have the cable: rare.
        repaired = [int(sets) for bad, _ in ours
                    for sets in re.findall(r"repair \d+: .* blocks sent (\d+)", bad.state.log)]
        self.assertLessEqual(sum(repaired), 2)

    def test_reads_pause(self):
        """A switch with such a cable is never as it is known: after some tries reading its ports
        waits for a sweep."""
        folder = self.enterContext(pmlab.Folder())
        lab = self.enterContext(bad_switch.Attempt(folder, "portmajor", netlist=self.netlist))
        lab.start(sweep_interval=300)
        lab.turn(Draw(LEAF, None, NODE_INFO, "LocalPortNum", b"\x01").rules)
        lab.sweep()
        reads = []
        for _ in range(8):
            before = lab.osm.counters()
            lab.fabric.flap("h5-1", 1, .2)
            time.sleep(2)  # the time of many rounds without a pause
            reads.append((lab.osm.counters() - before).attr(PORT_INFO, "get"))
        self.assertLess(sum(reads[4:]), 1200, reads)

    def check_drawn(self, number):
        seed = int(os.environ.get("PM_SEED", random.getrandbits(32)))
        dice = random.Random(f"{seed} {number}")
        draws = [draw(dice) for _ in range(self.ROUNDS)]
        print(f"PM_SEED={seed}", *draws, sep="\n", flush=True)
        self.check(draws)

    def test_drawn_1(self):
        self.check_drawn(1)

    def test_drawn_2(self):
        self.check_drawn(2)


if __name__ == "__main__":
    labtest.main()
