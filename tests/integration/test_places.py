#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Cables, hosts and switches at other places than before: the statements of `status`, metrics and
events agree with ibsim's Dump, until the change is undone or acknowledged.
"""

import itertools
import json
import re

import pmlab
import simlab
import test_missing
import test_status

HOST, OTHER = "h7-4", "h8-3"  # at leaf7[4] and leaf8[3]


class PlacesCase(test_missing.MissingCase):
    def setUp(self):
        super().setUp()
        self.wait_for((0, 0, 0, 0))

    def peer(self, name, port):
        """`s2-line0[8]`, of the netlist."""
        return "{}[{}]".format(*self.lab.netlist.nodes[name].ports[port])

    def cables(self):
        """{frozenset of both ends of each cable}, as ibsim has them now."""
        found, name = set(), None
        for line in self.fabric.dump().splitlines():
            if node := re.match(r'(?:Switch|Ca|Rt) \d+ "([^"]+)"', line):
                name = node[1]
            elif link := re.match(r'\w+\s+\[([1-9]\d*)\]\s+"([^"]+)"\[(\d+)\].*Up$', line):
                found.add(frozenset((f"{name}[{link[1]}]", f"{link[2]}[{link[3]}]")))
        return found

    def change(self, *commands):
        """Console commands between two sweeps, and the commands that they need."""
        self.lab.measure(commands[0], lambda: self.lab.fabric.console(*commands))

    def judge(self):
        """(exit status, findings without their times and nodes)"""
        status, found = super().judge()
        return status, [re.sub(r", since \d{4}[-\d]+ [:\d]+(, the last since \d{4}[-\d]+ [:\d]+)?"
                               r"| \(`portmajor acknowledge` if by intent\)", "", text)
                        for text in found]

    def wait_judged(self, *wanted):
        simlab.poll_until(lambda: self.judge() == (bool(wanted), list(wanted)),
                          pmlab.TIMEOUT_S, str(wanted), state=self.judge)
        gauges = test_status.metrics_of(pmlab.kept(self.cache, "portmajor.prom"))
        places = [text for text in wanted if not text.startswith("missing")]
        self.assertEqual(int(gauges["portmajor_parts_changed"]),
                         sum(text.count(";") + 1 for text in places))

    def events(self, *kinds):
        """[(kind, text)] since the last call."""
        said = re.findall(r"^\S+ \w+ +(\w+) +(.*)$", self.run_it("events").stdout, re.M)
        said, self.said = said[getattr(self, "said", 0):], len(said)
        return [(kind, text) for kind, text in said if kind in kinds]

    def places(self):
        return self.events("missing", "returned", "recabled", "moved", "replaced", "undone",
                           "adopted")

    def check_closed(self, told):
        """Parts that were missing, if any, are missing no more."""
        opened = [text for kind, text in told if kind == "missing"]
        closed = [text.removeprefix("missing no more: ") for _, text in told
                  if text.startswith("missing no more: ")]
        self.assertEqual(sorted(", ".join(closed).split(", ")),
                         sorted(", ".join(opened).split(", ")))

    def acknowledge(self, *args):
        done = self.run_it("acknowledge", "--wait", 60, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout


class Recabled(PlacesCase):
    def test_uplink_in_a_hosts_port(self):
        """The cable is elsewhere, and the host has none; no part has returned."""
        up = self.peer("leaf7", 21)
        name, port = self.lab.netlist.nodes["leaf7"].ports[21]
        said = (f"missing: host {HOST} at leaf7[4]",
                f"recabled: leaf7[4] leads to {up}, was {HOST}")
        self.change('Unlink "leaf7"[21]', 'Unlink "leaf7"[4]')
        self.wait_judged(f"missing: leaf7[21]-{up}, host {HOST} at leaf7[4]; nodes {HOST}")
        self.places()
        self.change(f'Link "leaf7"[4] "{name}"[{port}]')
        self.wait_judged(*said)
        self.assertIn(frozenset(("leaf7[4]", up)), self.cables())
        self.assertEqual(self.numbers(), (0, 0, 1, 0))
        told = self.events("missing", "returned", "recabled", "return")
        self.assertEqual([text for kind, text in told if kind == "recabled"],
                         [said[1].partition(": ")[2], f"missing no more: leaf7[21]-{up}"])
        left = [text for kind, text in told if kind == "return"]
        self.assertLessEqual(len(left), 1, left)
        self.assertEqual({kind for kind, _ in told} - {"return"}, {"recabled"})

        # A restart knows it as well.
        self.lab.close()
        self.start()
        self.wait_judged(*said)
        self.assertEqual(self.places(), [])

        # As before: now both are back.
        self.change('Unlink "leaf7"[4]')
        self.wait_judged(f"missing: leaf7[21]-{up}, host {HOST} at leaf7[4]; nodes {HOST}")
        self.change(f'Link "leaf7"[21] "{name}"[{port}]', f'Link "leaf7"[4] "{HOST}"[1]')
        self.wait_judged()
        told = [(kind, text) for kind, text in self.places() if kind != "missing"]
        undone = ("undone", said[1].partition(": ")[2])
        self.assertIn(told, [[undone, ("returned", f"{a}, {b}")] for a, b in
                             itertools.permutations((f"host {HOST} at leaf7[4]",
                                                     f"leaf7[21]-{up}"))])

    def test_two_cables_swapped(self):
        a, b = self.peer("leaf8", 19), self.peer("leaf8", 20)
        (x, p), (y, q) = (self.lab.netlist.nodes["leaf8"].ports[port] for port in (19, 20))
        self.places()
        self.change('Unlink "leaf8"[19]', 'Unlink "leaf8"[20]', f'Link "leaf8"[19] "{y}"[{q}]',
                    f'Link "leaf8"[20] "{x}"[{p}]')
        returns = self.said
        said = f"leaf8[19] leads to {b}, was {a}; leaf8[20] leads to {a}, was {b}"
        self.wait_judged("recabled: " + said)
        self.assertLessEqual({frozenset(("leaf8[19]", b)), frozenset(("leaf8[20]", a))},
                             self.cables())
        told = self.places()
        self.assertEqual([text for kind, text in told if kind == "returned"], [])
        self.assertIn(("recabled", said), told)
        self.check_closed(told)
        self.said = returns
        self.assertRegex(" ".join(text for _, text in self.events("run")),
                         r"recabled: 2 cables \(leaf8\[19\]-\S+, leaf8\[20\]-\S+\)")
        self.said = returns
        left = self.events("return")
        self.assertLessEqual(len(left), 1, left)
        self.assertRegex(self.run_it("acknowledge").stdout,
                         r"^recabled     leaf8\[19\] leads to \S+, was \S+, since ")

        # By intent: they belong there.
        self.acknowledge("leaf8:*")
        self.wait_judged()
        self.assertEqual([kind for kind, _ in self.places()], ["adopted"])
        self.change('Unlink "leaf8"[19]')
        self.wait_judged(f"missing: leaf8[19]-{b}")
        self.change(f'Link "leaf8"[19] "{y}"[{q}]')
        self.wait_judged()
        self.assertEqual(self.places(), [("missing", f"leaf8[19]-{b}"),
                                         ("returned", f"leaf8[19]-{b}")])

        # Swapped back, which one of them acknowledges for both.
        self.change('Unlink "leaf8"[19]', 'Unlink "leaf8"[20]', f'Link "leaf8"[19] "{x}"[{p}]',
                    f'Link "leaf8"[20] "{y}"[{q}]')
        said = f"leaf8[19] leads to {a}, was {b}; leaf8[20] leads to {b}, was {a}"
        self.wait_judged("recabled: " + said)
        self.places()
        self.acknowledge("leaf8:20")
        self.wait_judged()
        self.assertEqual([(kind, sorted(text.split("; "))) for kind, text in self.places()],
                         [("adopted", said.split("; "))])


class Moved(PlacesCase):
    def test_host_in_the_port_of_another(self):
        """The one that moved runs; the other one is missing."""
        said = (f"missing: host {OTHER} at leaf8[3]",
                f"moved: {HOST} from leaf7[4] to leaf8[3]")
        self.places()
        self.change('Unlink "leaf7"[4]', 'Unlink "leaf8"[3]', f'Link "leaf8"[3] "{HOST}"[1]')
        self.wait_judged(*said)
        self.assertEqual(self.numbers(), (0, 0, 1, 0))
        self.assertEqual(json.loads(self.run_it("status", "--json").stdout)["missing_nodes"],
                         OTHER)
        told = self.places()
        self.assertEqual([text for kind, text in told if kind == "returned"], [])
        self.assertIn(("moved", said[1].partition(": ")[2]), told)

        # It stays; the other one is still missing, wherever it may return.
        self.acknowledge(HOST)
        self.wait_judged(f"missing: host {OTHER}")
        self.assertEqual(self.places(), [("adopted", said[1].partition(": ")[2])])
        self.lab.close()
        self.start()
        self.wait_judged(f"missing: host {OTHER}")
        self.change(f'Link "leaf7"[4] "{OTHER}"[1]')
        self.wait_judged()
        (kind, text), = self.places()
        self.assertEqual(kind, "returned")
        self.assertRegex(text, rf"^host {OTHER}( at leaf7\[4\])?$")


class NotThere(PlacesCase):
    """A failure of parts that are missing or elsewhere now is refused, in the words of status."""

    def refused(self, *args):
        """The message of each command."""
        folder = pmlab.kept(self.cache, "state").parent
        failed = [f"--fail={part}" for part in args]
        told = []
        for command in ("whatif", "--now"), ("table", "--now", folder):
            done = self.run_it(*command, *failed)
            self.assertEqual((done.returncode, done.stdout), (2, ""), command)
            told.append(done.stderr)
        self.assertEqual(told[0], told[1])
        return told[0].strip().removeprefix("portmajor: ")

    def missing(self, text, name):
        self.assertRegex(self.refused(text), r'^--fail: "%s" is missing already: %s, since '
                         r"\d{4}[-\d]+ [:\d]+$" % (re.escape(text), re.escape(name)))

    def runs(self):
        return json.loads(pmlab.kept(self.cache, "state").read_text("utf-8"))["run"]["number"]

    def test_parts(self):
        up = self.peer("leaf7", 21)
        swept = self.runs()
        links = len(self.lab.netlist.nodes["s1-fab0"].ports)
        self.fabric.lose("s1-fab0")
        self.wait_for((1, links, 0, 0))
        if self.runs() == swept:  # it is discovered still
            self.missing("s1-fab0", "s1-fab0")
        simlab.poll_until(lambda: self.runs() > swept, pmlab.TIMEOUT_S, "the sweep")
        for text in "s1-fab0", "s1-fab*", f"{self.fabric.guid('s1-fab0'):#x}", "s1-fab0:1":
            self.missing(text, "s1-fab0")
        self.change('Unlink "leaf7"[4]', 'Unlink "leaf7"[21]')
        self.wait_for((1, links + 1, 1, 0))
        self.missing(HOST, f"host {HOST} at leaf7[4]")
        self.missing("leaf7:4", f"host {HOST} at leaf7[4]")
        for text in "leaf7:21", f"leaf7[21]-{up}", f"{up}":
            self.missing(text, f"leaf7[21]-{up}")
        # Present parts fail as before, beside absent ones.
        self.assertEqual(self.run_it("whatif", "-q", "--now", "--fail", "s1-*").returncode, 0)
        self.assertIn("missing already", self.refused("s1-*", HOST))
        self.assertIn('no node is named "nobody"', self.refused("nobody"))

        # The uplink is in the host's port.
        name, port = self.lab.netlist.nodes["leaf7"].ports[21]
        self.change(f'Link "leaf7"[4] "{name}"[{port}]')
        said = f"leaf7[4] leads to {up}, was {HOST}"
        simlab.poll_until(lambda: f"recabled: {said}" in self.judge()[1], pmlab.TIMEOUT_S, said)
        self.assertEqual(self.refused(f"leaf7[21]-{up}"),
                         f'--fail: "leaf7[21]-{up}" is not there: {said}')


class OnceInAll(PlacesCase):
    """A host that was moved to a free port is one host with all parts, too."""

    def count(self, *args):
        """Of the table with all parts, or before a failure: hosts, names, and flows of a leaf."""
        table = json.loads(self.run_it("table", "--now", "--json", *args).stdout)
        leaf = next(switch for switch in table["switches"] if switch["name"] == "leaf7")
        return (sum(len(switch["hosts"]) for switch in table["switches"]),
                sum(name is not None for switch in table["switches"]
                    for name in switch["host_names"]),
                sum(port["before"] for port in leaf["ports"] if port["direction"] == "up"))

    def test_host(self):
        hosts, leaf, fail = len(self.lab.netlist.hosts), 4, ("--fail", "s2-fab0")
        flows = leaf * (hosts - leaf)
        self.assertEqual([self.count(), self.count(*fail)], [(hosts, hosts, flows)] * 2)
        said = f"moved: {HOST} from leaf7[4] to leaf8[9]"
        self.change('Unlink "leaf7"[4]', f'Link "leaf8"[9] "{HOST}"[1]')
        self.wait_judged(said)
        leaf -= 1
        flows = leaf * (hosts - leaf)
        self.assertEqual([self.count(), self.count(*fail)], [(hosts, hosts, flows)] * 2)

        # It stays there; then one is missing, which is a host of the fabric with all parts.
        self.acknowledge(HOST)
        self.wait_judged()
        self.assertEqual([self.count(), self.count(*fail)], [(hosts, hosts, flows)] * 2)
        self.change('Unlink "leaf9"[1]')
        self.wait_for((0, 0, 1, 0))
        self.assertEqual(self.count(), (hosts, hosts - 1, flows))


class Replaced(PlacesCase):
    OLD = "s1-fab0"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        ports = re.search(rf'Switch\s+(\d+) "{cls.OLD}"', cls.net.read_text("ascii"))[1]
        with open(cls.net, "a", encoding="ascii") as net:
            net.write(f'Switch\t{ports} "spare"\n\n')

    def test_switch(self):
        """Another switch is in its place, with the same cables."""
        ports = self.lab.netlist.nodes[self.OLD].ports
        old, new = self.fabric.guid(self.OLD), self.fabric.guid("spare")
        self.change(f'Unlink "{self.OLD}"')
        self.wait_judged(f"missing: {self.OLD}, {len(ports)} links")
        self.places()
        self.change(*(f'Link "spare"[{port}] "{peer}"[{far}]'
                      for port, (peer, far) in ports.items()))
        said = f"{self.OLD} (GUID {old:#018x}) by spare (GUID {new:#018x})"
        self.wait_judged(f"replaced: {said}")
        self.assertEqual(self.numbers(), (0, 0, 0, 0))
        self.assertEqual(self.places(), [("replaced", said),
                                         ("replaced", f"missing no more: {self.OLD}")])
        self.acknowledge("spare")
        self.wait_judged()
        self.assertEqual(self.places(), [("adopted", said)])


class Flapping(PlacesCase):
    LIMIT, TIMES = 3, 5

    def start(self):
        config = self.folder / "portmajor.conf"
        config.write_text(f"flap_limit {self.LIMIT}\nflap_window 600\n", "ascii")
        self.lab = self.enterContext(pmlab.Lab(self.net, fabric=self.fabric, cache_dir=self.cache,
                                               conf={"event_plugin_options": config}))
        self.lab.bring_up()

    def flaps(self):
        text = " ".join(self.judge()[1])
        found = re.search(rf"1 host's link goes down again and again: host {HOST} at leaf7\[4\] "
                          r"\((\d+) times in \d+ s\)", text)
        return int(found[1]) if found else 0

    def test_host(self):
        """It is named, with the number of flaps of its link; it is not excluded."""
        self.places()
        for number in range(1, self.TIMES + 1):
            self.change('Unlink "leaf7"[4]')
            self.change('ReLink "leaf7"[4]')
            wanted = number if number > self.LIMIT else 0
            simlab.poll_until(lambda: self.flaps() == wanted, pmlab.TIMEOUT_S, f"{wanted} times",
                              state=self.judge)
        (kind, text), = self.events("flapping", "held", "released", "errors")
        self.assertEqual(kind, "flapping")
        self.assertRegex(text, rf"^host {HOST} at leaf7\[4\], down {self.LIMIT + 1} times in \d+ s$")
        gauges = test_status.metrics_of(pmlab.kept(self.cache, "portmajor.prom"))
        self.assertEqual(int(gauges["portmajor_flapping_hosts"]), 1)
        self.lab.close()  # another process has no counts: it must not say that the link is steady
        self.start()
        simlab.poll_until(lambda: self.judge() == (0, []), pmlab.TIMEOUT_S, "the state",
                          state=self.judge)
        self.assertEqual(self.events("flapping", "steady"), [])


if __name__ == "__main__":
    import unittest
    unittest.main()
