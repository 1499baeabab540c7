#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""No frame loops: Open vSwitch with the files of `portmajor-vlan plan`, and wrong cables.

Each frame is sent once, and each switch must receive it as often as patchpanel.walk() predicts.
Cables are set down as soon as there are more."""

import collections
import contextlib
import re
import unittest

import ethlab
import labtest
import netns
import patchpanel
import simlab

BATCH = 128  # frames, for which a socket of Open vSwitch has room
OUTER = (patchpanel.C_TAG, patchpanel.S_TAG)  # the tags that Open vSwitch looks at
MORE = 1000  # frames, after which a frame circles
def setUpModule():
    reason = ethlab.missing()
    if reason:
        raise unittest.SkipTest(reason)


def at_switches(counts):
    """The number of frames of patchpanel.walk() that switches receive."""
    return sum(count for name, count in counts.items() if not name.startswith(patchpanel.PANEL))


class Panel(patchpanel.Panel):
    """The switches of a plan in a Lab."""

    def __init__(self, stack, netlist, plan):
        super().__init__(plan)
        bare = plan / "bare.net"
        heads = re.findall(r"(?m)^Switch.*$", netlist.read_text(encoding="ascii"))
        bare.write_text("\n\n".join(heads), encoding="ascii")
        self.lab = stack.enter_context(ethlab.Lab(bare, plan=plan, stray=[
            (end, (patchpanel.PANEL + end[0], end[1])) for end in self.ends]))
        self._stack = stack

    def ip(self, lines):
        self.lab.net.run("ip", "-batch", "-", input="\n".join(lines))

    def received(self):
        return self.lab.received()

    def open(self, end):
        with self.lab.net.inside():
            port = netns.Port(patchpanel.panel_device(end))
        return self._stack.enter_context(contextlib.closing(port))


class Loops(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.panel = Panel(cls.stack, *patchpanel.make_plan(cls.folder))

    def tearDown(self):
        self.panel.connect([])

    def send(self, end, frames):
        """Sends each of [(tags, destination)] to a port, and checks where they are received."""
        panel, port = self.panel, self.panel.open(end)
        taken, before = panel.lab.taken(), panel.counts()
        expected = collections.Counter()
        for i in range(0, len(frames), BATCH):
            for tags, to in frames[i:i + BATCH]:
                expected += panel.expected(end, tags, OUTER)
                port.send(patchpanel.frame(tags, to))
            simlab.poll_until(lambda: panel.lab.taken() - taken >= at_switches(expected), 20,
                              f"frames of {end}", every=0.001)
            self.check(before, expected, f"at {end}, from {frames[i]} on")
        panel.lab.appctl("revalidator/purge")  # makes room, and takes long enough for a loop
        self.check(before, expected, f"at {end}")

    def check(self, before, expected, text):
        found = self.panel.counts() - before
        if found != expected:
            self.panel.cut()
            self.fail(f"{text}: {found}, not {expected}")

    def test_every_tag(self):
        frames = patchpanel.every_tag(self.panel.vlans)
        for end in patchpanel.PLACES:
            with self.subTest(end=end):
                self.panel.connect(patchpanel.RIGHT + patchpanel.UNPLANNED)
                self.send(end, frames)

    def test_tag_4095_of_a_switch_itself(self):
        """Its own port has all VLANs: other switches get the frame, and do not pass it on."""
        panel = self.panel
        panel.connect(patchpanel.RIGHT + patchpanel.UNPLANNED)
        panel.ip(["link set leaf0 up"])
        with panel.lab.net.inside():
            port = self.stack.enter_context(contextlib.closing(netns.Port("leaf0")))
        before, taken = panel.counts(), panel.lab.taken()
        sent = [("leaf0", number) for number, vlans in panel.switches["leaf0"].items()
                if vlans == patchpanel.Port(None, frozenset())]
        expected = collections.Counter(map(patchpanel.panel_device, sent))
        expected += collections.Counter(
            ethlab.device_name(*far) for cable in patchpanel.UNPLANNED
            for end in cable & set(sent) for far in cable if far != end)
        port.send(patchpanel.frame([(patchpanel.C_TAG, 4095)]))
        simlab.poll_until(lambda: panel.lab.taken() - taken > at_switches(expected), 20, "frames")
        panel.lab.appctl("revalidator/purge")
        self.check(before, expected, "from leaf0")

    def see_circle(self, end, tags):
        """One frame for a port comes to ports again and again, until the cables go down."""
        before = self.panel.counts()
        self.panel.open(end).send(patchpanel.frame(tags))
        try:
            simlab.poll_until(lambda: max((self.panel.counts() - before).values()) > MORE, 20,
                              f"a circle by {end}")
        finally:
            self.panel.cut()
            simlab.poll_until(self.is_still, 20, "the end of the circle")

    def is_still(self):
        before = self.panel.counts()
        self.panel.lab.taken()
        return self.panel.counts() == before

    def test_wrong_cables(self):
        """Between ports with VLANs: docs/vlan.md has the harmless ones."""
        for name, (gone, come, vlans) in patchpanel.WRONG.items():
            cables = [cable for cable in patchpanel.RIGHT if cable not in gone] + come
            self.panel.connect(cables)
            where = self.panel.circling(OUTER)
            self.assertEqual(set(where), vlans, name)
            for vlan in self.panel.vlans:
                with self.subTest(name, vlan=vlan):
                    self.panel.connect(cables)
                    end = where.get(vlan, ("leaf0", 1))
                    tags = self.panel.tags(end, vlan)
                    if vlan in vlans:
                        self.see_circle(end, tags)
                    else:
                        self.send(end, [(tags, patchpanel.BROADCAST)])


if __name__ == "__main__":
    labtest.main()
