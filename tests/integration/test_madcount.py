#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The counter that all other tests trust, against OpenSM's own statistics."""

import dataclasses
import re
import socket
import unittest

import labtest
import pmlab
import simlab

ATTR_NODE_INFO, ATTR_PORT_INFO = 0x11, 0x15


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Console:
    """OpenSM's console on a loopback port (opensm --console loopback)."""

    PROMPT = b"OpenSM $ "

    def __init__(self, port):
        self.socket = simlab.poll_until(lambda: self._connect(port), 30, "OpenSM's console")
        self.socket.settimeout(30)
        self._read()

    @staticmethod
    def _connect(port):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        except ConnectionRefusedError:
            return None

    def _read(self):
        text = b""
        while not text.endswith(self.PROMPT):
            more = self.socket.recv(4096)
            if not more:
                raise simlab.SimError("OpenSM closed its console")
            text += more
        return text.decode()

    def statistics(self):
        """{name: number} of the `status` command's MAD stats."""
        self.socket.sendall(b"status\n")
        return {name.strip(): int(value) for name, value in
                re.findall(r"^\s*((?:QP0|SA) [^:]*?)\s*:\s*(\d+)\s*$", self._read(), re.M)}

    def close(self):
        self.socket.close()


class Madcount(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        netlist = pmlab.generate(cls.folder / "fabric.net", "director", 36)
        port = free_port()
        cls.lab = cls.stack.enter_context(
            pmlab.Lab(netlist, engine="updn", args=["--console", "loopback", "-C", str(port)]))
        cls.lab.bring_up()
        cls.console = Console(port)
        cls.addClassCleanup(cls.console.close)

    def compare(self):
        """Our numbers and OpenSM's, while no SMP is out."""
        self.lab.osm.settle(self.lab.osm.mark(), sweep=False)
        ours, theirs = self.lab.osm.counters(), self.console.statistics()
        self.assertEqual(theirs["QP0 MADs outstanding"], 0)
        self.assertEqual(ours["smps"], theirs["QP0 MADs sent"])
        self.assertEqual(ours["responses"] + ours["traps"], theirs["QP0 MADs rcvd"])
        return ours

    def test_bring_up(self):
        ours = self.compare()
        nodes = self.lab.netlist.nodes
        self.assertEqual(ours.outstanding, 0)
        self.assertEqual(ours["timeouts"] + ours["send_errors"], 0)
        self.assertGreaterEqual(ours.attr(ATTR_NODE_INFO), len(nodes))
        self.assertGreaterEqual(ours.attr(ATTR_PORT_INFO), len(nodes))
        # The first sweep writes each block of each table once.
        blocks = max(pmlab.Dump(self.lab.dump()).lids.values()) // 64 + 1
        self.assertEqual(ours["top_lft_block"], blocks - 1)
        self.assertEqual(ours["lft_sets"], ours.attr(simlab.ATTR_LFT, "set"))
        self.assertEqual(ours["lft_sets"], blocks * len(self.lab.netlist.switches))

    def test_events(self):
        for verb in ("lose", "back"):
            before = self.compare()
            measured = self.lab.event(verb, "s0-*").measured
            after = self.compare()
            self.assertGreaterEqual((after - before)["smps"], measured["smps"])
            self.assertGreater(measured["lft_sets"], 0)
            self.assertEqual((after - before)["lft_sets"], measured["lft_sets"])

    def test_sum_over_attributes(self):
        ours = self.compare()
        self.assertEqual(sum(ours.table), ours["smps"])
        self.assertEqual(sum(ours.attr(a, m) for a in range(ours.SLOTS) for m in ("get", "set")),
                         ours["requests"])

    def test_lft_blocks_acknowledged(self):
        """The plugin's count is independent of ours: it counts answers."""
        with pmlab.Lab(self.lab.netlist) as lab:
            start = lab.bring_up()
            self.assertEqual((start.wire, start.wire), (start.sent, start.acked))

    def test_dropped_blocks_are_seen(self):
        """A switch that answers no LFT Set: sent and acknowledged part, and it heals."""
        with pmlab.Lab(self.lab.netlist, sweep_interval=5) as lab:
            lab.bring_up()
            mark = lab.osm.mark()
            lab.fabric.error("leaf7", 100, attr=simlab.ATTR_LFT)
            lab.fabric.lose("s0-*")
            run = simlab.poll_until(lambda: pmlab.Run.find(lab.osm.log(mark.log_offset)), 60,
                                    "the plugin's run")[0]
            self.assertGreater(run.sent, run.acked)
            lab.fabric.error("leaf7", 0)
            lab.osm.settle(mark, timeout=180)
            self.assertGreater(lab.osm.delta(mark)["timeouts"], 0)
            self.assertEqual(pmlab.walk_faults(lab.walk()), [])


class LateAnswers(labtest.LabCase):
    """Blocks that are sent again, as no answer came, are counted apart."""

    GENERATE = ("two-level", 6, 3, 6, 2)
    CABLE = "leaf0:7"

    @classmethod
    def options(cls):
        return {**super().options(), "sweep_interval": 5}  # that a lost block is sent soon

    def lose_late(self, milliseconds):
        self.lab.osm.hold_next_answer(milliseconds)
        event = self.lose(self.CABLE)  # costs as predicted
        self.back(self.CABLE)
        self.assertEqual(self.lab.osm.counters()["hold_lft_ms"], 0)
        return event

    def test_paced(self):
        """SMPs leave one after another, at the intervals of the wire."""
        osm = self.lab.osm
        osm.pace(2000)
        mark = osm.mark()
        osm.hup()
        osm.settle(mark)
        osm.pace(0)
        sent = osm.delta(mark)
        self.assertGreater(sent["smps"], 0)
        self.assertGreaterEqual(sent["last_smp_ns"] / 1e9 - mark.time, sent["smps"] * 2e-3)

    def test_too_late(self):
        """A repair waits 180 ms for an answer."""
        event = self.lose_late(400)
        self.assertGreaterEqual(event.measured["lft_late"], 1)
        self.assertLess(event.acked, event.sent)
        self.check_healthy()

    def test_lost(self):
        """A block that a switch drops is sent again, which is no fault of the machine's."""
        def lose():
            self.lab.fabric.error("leaf0", 100, attr=simlab.ATTR_LFT)
            self.lab.fabric.lose(self.CABLE)
            simlab.poll_until(lambda: self.lab.osm.delta(mark)["lft_lost"], 60, "a lost block")
            self.lab.fabric.error("leaf0", 0)

        mark = self.lab.osm.mark()
        self.down.append(self.CABLE)
        event = self.lab.measure("lost", lose)
        self.assertEqual(event.wire, self.lab.whatif(self.CABLE).blocks)
        self.assertGreaterEqual(event.measured["lft_lost"], 1)
        self.assertEqual((event.sent, event.acked), (event.wire + event.again, event.wire))
        idle = dataclasses.replace(event, trap_gap_ms=0.0,
                                   measured={**event.measured, "lft_late": 0})
        self.assertRegex("".join(idle.miscounted), "unheard 0$")
        self.back(self.CABLE)
        self.check_healthy()

    def test_waited_for(self):
        event = self.lose_late(80)
        self.assertGreaterEqual(event.measured["lft_late"], 1)
        self.assertEqual(event.sent, event.acked)

    def test_in_time(self):
        """A Set that is answered at once and sent again counts twice."""
        mark = self.lab.osm.mark()
        lost = [self.lose(self.CABLE), self.back(self.CABLE), self.lose(self.CABLE)]
        delta = self.lab.osm.delta(mark)
        self.back(self.CABLE)
        self.assertEqual(delta["lft_sets"], sum(event.sent for event in lost))
        self.assertLessEqual(delta["lft_again"], delta["lft_late"])


if __name__ == "__main__":
    unittest.main()
