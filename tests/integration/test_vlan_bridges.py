#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Linux bridges that filter VLANs, with the files of `portmajor-vlan plan`: no frame loops.

They are in a virtual machine, as the tests' own kernel may lack them."""

import collections
import json
import shutil
import unittest

import ethlab
import guests
import labtest
import patchpanel
import pmlab
import simlab

OUTER = (patchpanel.C_TAG,)  # bridges forward the content behind a tag of the other type, too
STRANGER = ("leaf0", 13)  # a port that the netlist lacks


def setUpModule():
    reason = ethlab.missing() or guests.missing()
    if not shutil.which("bridge"):
        reason = "bridge is not installed"
    if reason:
        raise unittest.SkipTest(reason)


class Panel(patchpanel.Panel):
    """Bridges as switches in a guest, set up as in docs/vlan.md."""

    def __init__(self, guest, plan):
        super().__init__(plan)
        self.guest = guest
        guest.must("echo 100000 >/proc/sys/net/core/netdev_max_backlog")  # no frame is dropped
        self.switches[STRANGER[0]][STRANGER[1]] = patchpanel.Port(None, frozenset())
        self.ends.append(STRANGER)
        lines = [f"link add {switch} type bridge vlan_filtering 1 vlan_default_pvid 0 "
                 "mcast_snooping 0" for switch in self.switches]
        for end in self.ends:
            device, far = ethlab.device_name(*end), patchpanel.panel_device(end)
            lines += [f"link add {device} type veth peer name {far}",
                      f"link set {device} master {end[0]}", f"link set {far} up"]
        self.ip(lines)

    def ip(self, lines):
        for i in range(0, len(lines), 20):  # a line of a terminal is limited
            self.guest.must("printf '%s\\n' " + " ".join(f"'{line}'" for line in lines[i:i + 20])
                            + " | ip -batch -")

    def received(self):
        return ethlab.received(self.guest.must("cat /proc/net/dev"))

    def configure(self, name):
        """The files of a plan."""
        for switch in self.switches:
            self.guest.must(f"bridge -force -batch /{name}/{switch}.bridge")

    def set_up(self):
        self.ip([f"link set {device} up" for device in
                 [*self.switches, *(ethlab.device_name(*end) for end in self.ends)]])

    def vlans_there(self):
        """{switch: {port: Port}} of the bridges."""
        found = {switch: {} for switch in self.switches}
        names = {ethlab.device_name(*end): end for end in self.ends}
        there = {row["ifname"]: row["vlans"]
                 for row in json.loads(self.guest.must("bridge -j vlan show"))}
        for name, (switch, port) in names.items():
            vlans, plain = set(), None
            for row in there.get(name, ()):
                run = set(range(row["vlan"], row.get("vlanEnd", row["vlan"]) + 1))
                if "PVID" in row.get("flags", ()):
                    assert row["flags"] == ["PVID", "Egress Untagged"] and plain is None, row
                    plain, = run
                else:
                    assert not row.get("flags"), row
                    vlans |= run
            found[switch][port] = patchpanel.Port(plain, frozenset(vlans))
        return found


class Bridges(labtest.Folders):
    KERNEL = guests.OLD

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        netlist, plan = patchpanel.make_plan(cls.folder)
        before = cls.folder / "before"
        pmlab.run_vlan("plan", "--macs", plan.with_suffix(".macs"), "--port-names",
                       ethlab.PORT_NAME, "--first-vlan", 1, netlist, before)
        panel = patchpanel.Panel(plan)
        cls.frames = patchpanel.every_tag(panel.vlans)
        packed = cls.folder / "frames"
        packed.write_bytes(b"".join(bytes([len(one)]) + one for one in
                                    (patchpanel.frame(*words) for words in cls.frames)))
        files = {f"{folder.name}/{path.name}": path for folder in (plan, before)
                 for path in folder.glob("*.bridge")}
        guest = cls.stack.enter_context(guests.Guest(cls.KERNEL, {}, {
            **files, "frames": packed, "bin/bridge": shutil.which("bridge"),
            "bin/send_frames": pmlab.BUILD / "send_frames"}))
        guest.boot()
        cls.before = patchpanel.read_switches(before / "switches.json")
        cls.panel = Panel(guest, plan)

    def check_vlans(self, switches):
        there = self.panel.vlans_there()
        self.assertEqual(there[STRANGER[0]].pop(STRANGER[1]), patchpanel.Port(None, frozenset()))
        self.assertEqual(there, switches)

    def test_every_tag(self):
        """After another plan, whose VLANs are gone; before any there are none."""
        self.check_vlans({switch: dict.fromkeys(ports, patchpanel.Port(None, frozenset()))
                          for switch, ports in self.before.items()})
        self.panel.configure("before")
        self.check_vlans(self.before)
        self.panel.configure("plan")
        planned = {switch: {port: vlans for port, vlans in ports.items()
                            if (switch, port) != STRANGER}
                   for switch, ports in self.panel.switches.items()}
        self.check_vlans(planned)
        self.panel.set_up()
        for end in [*patchpanel.PLACES, STRANGER]:
            with self.subTest(end=end):
                self.panel.connect(patchpanel.RIGHT + patchpanel.UNPLANNED)
                self.send(end)

    def send(self, end):
        expected = collections.Counter()
        for tags, _ in self.frames:
            expected += self.panel.expected(end, tags, OUTER)
        before = self.panel.counts()
        last = None

        def is_still():
            nonlocal last
            last, former = self.panel.counts(), last
            return last == former or (last - before).total() > expected.total()

        self.panel.guest.must(f"send_frames {patchpanel.panel_device(end)} /frames")
        simlab.poll_until(is_still, 60, "the last frame")
        found = last - before
        if found != expected:
            self.panel.cut()
        self.assertEqual(found, expected)


class NewKernel(Bridges):
    KERNEL = guests.NEW


if __name__ == "__main__":
    labtest.main()
