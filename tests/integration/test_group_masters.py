#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Multicast groups when subnet managers take over from each other.

Whatever entries another one has left in the switches, tables end as those of a fabric without
another one, and packets of the present groups neither loop nor come twice meanwhile.
"""

import shutil

import clients
import ibdmchk
import labtest
import mgroups
import pmlab
import simlab
import test_handover
import wire
from test_address import TOO_MUCH_FOR_FTREE
from test_groups import read_dump

ASKING = "h7-4"
ALL, KEPT = range(36), range(40, 44)  # two blocks of MLIDs, and one
BLOCKS = 32  # in the tables of ibsim's switches
CLEARED_S = 60


class MasterCase(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = simlab.Netlist(pmlab.generate(cls.folder / "fabric.net",
                                                    "two-level", 8, 4, 4, 1))
        with pmlab.Fabric(cls.netlist) as fabric, cls.lab(fabric) as lab:
            lab.bring_up()
            cls.join(lab, KEPT)
            cls.fresh = cls.read(fabric)

    @classmethod
    def lab(cls, fabric, **kwargs):
        return pmlab.Lab(cls.netlist, fabric=fabric, **kwargs)

    @staticmethod
    def read(fabric, asking=ASKING):
        return {key: ports for key, ports in clients.Multicast(fabric, asking).ports.items()
                if ports}

    @staticmethod
    def join(lab, numbers, hosts=3):
        """So many hosts join each group, other leaves for each; settled."""
        members = mgroups.Members(lab)
        for number in numbers:
            for turn in range(hosts):
                members.join(number, f"h{(number + 2 * turn) % 7}-{1 + turn}")
        lab.osm.settle(lab.osm.mark(), sweep=False)
        return members

    def fill(self, fabric, engine, **kwargs):
        """A manager with many groups, and its end."""
        with self.lab(fabric, engine=engine, **kwargs) as lab:
            lab.osm.settle()
            members = self.join(lab, ALL, 2)
            self.assertEqual(members.faults(ASKING)[:3], [])
            lab.osm.process.terminate()
            lab.osm.process.wait(30)
            if kwargs.get("conf"):
                shutil.copy(lab.osm.path / "opensm-sa.dump", self.folder / "sa")
        return members

    def wait_cleared(self, fabric, expected):
        simlab.poll_until(lambda: self.read(fabric) == expected, CLEARED_S,
                          "tables without what is stale")


class Restart(MasterCase):
    def take_over(self, engine):
        with pmlab.Fabric(self.netlist) as fabric:
            self.fill(fabric, engine)
            tables = clients.Multicast(fabric, ASKING)
            traced = wire.Wire(trace=True)
            with self.lab(fabric, wire=traced) as lab:
                lab.osm.settle()
                members = self.join(lab, KEPT)
                self.assertEqual([fault for fault in members.faults(ASKING)
                                  if "has entries" not in fault], [])
                self.wait_cleared(fabric, self.fresh)
                lab.osm.settle(lab.osm.mark(), sweep=False)
                sets, faults = members.follow_sets(tables, traced, strangers=True)
                self.assertGreater(sets, 0)
                self.assertEqual(faults[:5], [])
                # Each block of each switch was read, once.
                self.assertEqual(lab.osm.delta(lab.osm.start_mark).attr(mgroups.ATTR_MFT, "get"),
                                 BLOCKS * len(self.netlist.switches))

    def test_after_updn(self):
        self.take_over("updn")

    def test_after_portmajor(self):
        self.take_over("portmajor")

    def test_groups_stay(self):
        """OpenSM finds its groups in its own file: no Set is sent, as all tables are right."""
        with pmlab.Fabric(self.netlist) as fabric:
            members = self.fill(fabric, "portmajor", conf={"sa_db_dump": "TRUE"})
            with self.lab(fabric, conf={"sa_db_file": self.folder / "sa"}) as lab:
                lab.osm.settle()
                self.assertEqual(members.faults(ASKING)[:5], [])
                counters = lab.osm.delta(lab.osm.start_mark)
                self.assertEqual(counters.attr(mgroups.ATTR_MFT, "set"), 0)
                self.assertEqual(counters.attr(mgroups.ATTR_MFT, "get"),
                                 2 * len(self.netlist.switches))


class Handover(MasterCase):
    """A dies, B takes over, and A returns and is handed the groups of B."""

    POLL = {"sminfo_polling_timeout": 500, "polling_retry_number": 2}
    A, B = "h0-1", "h5-1"

    def manager(self, fabric, host, priority):
        """With time-outs, since one that dies does not answer."""
        return self.lab(fabric, host=host, wire=wire.Wire(),
                        conf={**self.POLL, "sm_priority": priority})

    def test_there_and_back(self):
        with pmlab.Fabric(self.netlist) as fabric:
            with self.manager(fabric, self.A, 10) as first, \
                    self.manager(fabric, self.B, 2) as second:
                first.osm.wait_subnet_up()
                second.osm.wait_log("Entering STANDBY state", timeout=pmlab.TIMEOUT_S)
                members = mgroups.Members(first)
                for number in ALL:
                    members.join(number, "h1-1")
                    members.join(number, "h6-2")
                test_handover.take_over(fabric, first.osm, second.osm)
                self.join(second, KEPT)
                self.wait_cleared(fabric, self.fresh)
                self.check_back(fabric, second)

    def check_back(self, fabric, second):
        """One more of B's groups is left to A."""
        mgroups.Members(second).join(0, "h1-1")
        mgroups.Members(second).join(0, "h6-2")
        mark = second.osm.mark()
        with test_handover.slow_smps("3000"):
            third = self.enterContext(self.manager(fabric, self.A, 10))
        entered = test_handover.wait_state(third.osm, "MASTER")
        test_handover.wait_state(second.osm, "STANDBY", mark.log_offset)
        test_handover.wait_swept(third.osm, third.osm.start_mark, entered)
        members = mgroups.Members(third)
        for number in KEPT:
            for turn in range(3):
                members.join(number, f"h{(number + 2 * turn) % 7}-{1 + turn}")
        self.wait_cleared(fabric, self.fresh)


class Chain(labtest.Folders):
    """Another engine takes over in a sweep and fails back, while groups end."""

    ASKING, AWAY, LOST = "h9-2", ("h3-2", "h8-3"), TOO_MUCH_FOR_FTREE
    MEMBERS = (("h0-1", "h7-2", "h20-1", "h35-18"), ("h2-2", "h17-18"), ("h4-1", "h5-5"))

    def check(self, lab, members, engine):
        """The engine is this one, and switches and OpenSM's records have its trees, no others."""
        mark = lab.osm.mark()
        lab.osm.hup()
        lab.osm.settle(mark)
        self.assertEqual(lab.osm.engines_used(mark.log_offset)[-1], engine)
        self.assertEqual(members.faults(self.ASKING)[:5], [])
        names = ibdmchk.Dumps.read(lab.osm.path).names
        told = {(names[guid], mlid): ports
                for (guid, mlid), ports in read_dump(lab).items() if ports}
        self.assertEqual(told, MasterCase.read(lab.fabric, self.ASKING))

    def end(self, lab, members, number):
        for host in self.MEMBERS[number]:
            members.leave(number, host)
        lab.osm.settle(lab.osm.mark(), sweep=False)

    def test_groups_that_end(self):
        netlist = pmlab.generate(self.folder / "fabric.net", "director", 36)
        with pmlab.Fabric(netlist) as fabric, \
                pmlab.Lab(netlist, fabric=fabric, engine="ftree,portmajor",
                          args=ibdmchk.OPENSM_ARGS) as lab:
            for host in self.AWAY:
                fabric.lose(host)
            lab.osm.settle()
            members = mgroups.Members(lab)
            for number, hosts in enumerate(self.MEMBERS):
                for host in hosts:
                    members.join(number, host)
            self.check(lab, members, "ftree")
            mark = lab.osm.mark()
            fabric.lose(self.LOST)
            lab.osm.settle(mark)
            self.check(lab, members, "portmajor")
            self.end(lab, members, 2)
            self.check(lab, members, "portmajor")
            mark = lab.osm.mark()
            fabric.back(self.LOST)
            lab.osm.settle(mark)
            self.check(lab, members, "ftree")
            self.end(lab, members, 1)
            self.check(lab, members, "ftree")


class NoMulticast(labtest.Folders):
    def test_shadow(self):
        """Multicast is left to OpenSM."""
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 2, 2, 1)
        config = self.folder / "shadow.conf"
        config.write_text("shadow yes\n")
        with pmlab.Lab(netlist, engine="portmajor,updn",
                       conf={"event_plugin_options": config}) as lab:
            lab.bring_up()
            members = mgroups.Members(lab)
            for host in ("h0-1", "h1-2", "h3-1"):
                members.join(0, host)
            lab.osm.settle(lab.osm.mark(), sweep=False)
            mark = lab.osm.mark()
            lab.osm.hup()
            lab.osm.settle(mark)
            counters = lab.osm.delta(mark)
            tables = clients.Multicast(lab.fabric, "h2-2")
            used = {switch for (switch, _), ports in tables.ports.items() if ports}
            self.assertEqual([counters.attr(mgroups.ATTR_MFT, method)
                              for method in ("set", "get")], [len(used), 0])
            self.assertGreater(len(used), 1)
            self.assertEqual(members.faults("h2-2"), [])
            self.assertNotIn("portmajor multicast", lab.osm.log())

    def test_disable_multicast(self):
        """No SMP is sent; OpenSM has no multicast either."""
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 4, 2, 2, 1)
        with pmlab.Lab(netlist, conf={"disable_multicast": "TRUE"}) as lab:
            lab.bring_up()
            mark = lab.osm.mark()
            lab.osm.hup()
            lab.osm.settle(mark)
            counters = lab.osm.delta(lab.osm.start_mark)
            self.assertEqual([counters.attr(mgroups.ATTR_MFT, method)
                              for method in ("set", "get")], [0, 0])
            self.assertEqual(lab.osm.log().count("multicast is left to OpenSM: "
                                                 "disable_multicast"), 1)


if __name__ == "__main__":
    labtest.main()
