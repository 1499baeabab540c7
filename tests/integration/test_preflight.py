#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""portmajor preflight: each fault is found and named, and OpenSM agrees."""

import json
import os
import re
import shutil
import subprocess
import unittest

import labtest
import odd_netlists
import pmlab

PLUGIN = pmlab.BUILD / "libportmajor.so"
GOOD = {"event_plugin_name": "portmajor", "routing_engine": "portmajor,updn"}
CHECKS = ["opensm", "keys", "event_plugin_name", "routing_engine", "lmc", "values",
          "configuration", "service", "library", "version", "plan file"]


class Preflight(labtest.Folders):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = pmlab.generate(cls.folder / "fabric.net", "two-level", 4, 2, 4, 1)
        cls.opensm = shutil.which("opensm", path="/usr/sbin:/usr/bin:/usr/local/sbin:/sbin")

    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()

    def conf(self, text="", **options):
        """An opensm.conf: the good one with other options (None: without that one)."""
        path = self.cache / "opensm.conf"
        lines = [f"{k} {v}\n" for k, v in {**GOOD, **options}.items() if v is not None]
        path.write_text("".join(lines) + text, encoding="latin-1")
        return path

    def run_it(self, conf, *args, libraries=pmlab.BUILD):
        env = dict(os.environ, OSM_CACHE_DIR=str(self.cache), LD_LIBRARY_PATH=str(libraries))
        return subprocess.run([str(pmlab.CLI), "preflight", "-F", str(conf), *map(str, args)],
                              env=env, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=pmlab.TIMEOUT_S)

    def checks(self, conf, *args, **kwargs):
        """[(check, ok, text)], after the checks that must always hold."""
        done = self.run_it(conf, "--json", *args, **kwargs)
        self.assertEqual(done.stderr, "")
        found = json.loads(done.stdout)
        result = [(c["check"], c["ok"], c["text"]) for c in found["checks"]]
        faults = sum(not ok for _, ok, _ in result)
        self.assertEqual((found["schema"], found["findings"], done.returncode),
                         ("portmajor-preflight", faults, 1 if faults else 0))
        lines = self.run_it(conf, *args, **kwargs).stdout.splitlines()
        self.assertEqual([line[:28].split(None, 1)[1].rstrip() for line in lines],
                         [check for check, _, _ in result])
        self.assertEqual([line[:2] == "ok" for line in lines], [ok for _, ok, _ in result])
        return result

    def faults(self, *args, **kwargs):
        return [(check, text) for check, ok, text in self.checks(*args, **kwargs) if not ok]

    def only(self, check, word, conf, *args, **kwargs):
        """There is only this fault."""
        found = self.faults(conf, *args, **kwargs)
        self.assertEqual([name for name, _ in found], [check], found)
        self.assertIn(word, found[0][1])

    def test_good(self):
        self.assertEqual([c for c, _, _ in self.checks(self.conf())], CHECKS)
        self.assertEqual(self.faults(self.conf()), [])
        self.assertEqual(self.run_it(self.conf(), "-q").stdout, "")
        self.assertEqual(self.faults(self.conf(), "-n", self.net), [])

    def test_written_by_opensm(self):
        """All keys of the file that OpenSM writes are known."""
        path = self.cache / "written.conf"
        subprocess.run([self.opensm, "-c", str(path)], check=True, stdout=subprocess.DEVNULL)
        with open(path, "a", encoding="ascii") as more:
            more.writelines(f"{k} {v}\n" for k, v in GOOD.items())
        self.assertEqual(self.faults(path), [])

    def test_conf(self):
        for check, word, options in (
                ("event_plugin_name", "add the line", {"event_plugin_name": None}),
                ("event_plugin_name", "add the line", {"event_plugin_name": "(null)"}),
                ("event_plugin_name", "`event_plugin_name x portmajor`",
                 {"event_plugin_name": "x"}),
                ("event_plugin_name", "by blanks", {"event_plugin_name": "x,portmajor"}),
                ("event_plugin_name", "by blanks", {"event_plugin_name": "portmajor, x"}),
                ("routing_engine", "does not name", {"routing_engine": None}),
                ("event_plugin_name", '"portmajr": did you mean portmajor?',
                 {"event_plugin_name": "x portmajr"}),
                ("routing_engine", "does not name", {"routing_engine": "updn"}),
                ("routing_engine", 'no engine "portmajors": did you mean portmajor?',
                 {"routing_engine": "portmajors"}),
                ("routing_engine", 'no engine "updm": did you mean updn?',
                 {"routing_engine": "portmajor,updm"}),
                ("routing_engine", "first", {"routing_engine": "updn,portmajor"}),
                ("routing_engine", "none comes behind", {"routing_engine": "portmajor"}),
                ("routing_engine", "none comes behind",
                 {"routing_engine": "portmajor,no_fallback"}),
                ("values", ':3: sweep_interval must be a number, not "10s"',
                 {"sweep_interval": "10s"}),
                ("values", ':3: qos must be TRUE or FALSE; OpenSM takes "yes" for FALSE',
                 {"qos": "yes"}),
                ("reassign_lids", "once `out of plan` is 0", {"reassign_lids": "TRUE"}),
                ("use_ucast_cache", "set it to FALSE", {"use_ucast_cache": "TRUE"}),
                ("files", "root_guid_file /nowhere/x: No such file",
                 {"root_guid_file": "/nowhere/x"}),
                ("files", "partition_config_file /nowhere/x",
                 {"partition_config_file": "/nowhere/x"}),
                ("lmc", "0 to 3", {"lmc": "4"}), ("lmc", "0 to 3", {"lmc": "x"}),
                ("lmc", "lmc_esp0", {"lmc": "1", "lmc_esp0": "TRUE"}),
                ("configuration", "No such file", {"event_plugin_options": "/nowhere/x"}),
                ("keys", ':3: OpenSM knows no key "routing_engin"', {"routing_engin": "x"})):
            with self.subTest(str(options)):
                self.only(check, word, self.conf(**options))
        for options in ({"event_plugin_name": "other portmajor"}, {"lmc": "3"},
                        {"routing_engine": "portmajor updn"}, {"lmc_esp0": "TRUE"},
                        {"event_plugin_name": '"portmajor"'}):
            with self.subTest(str(options)):
                self.assertEqual(self.faults(self.conf(**options)), [])

    def test_shadow(self):
        """It is reported, and another engine must be there to route."""
        config = self.cache / "portmajor.conf"
        config.write_text("shadow yes\n")
        found = self.checks(self.conf(event_plugin_options=config))
        self.assertEqual([text for check, ok, text in found if check == "configuration"],
                         [f"{config}: shadow mode, the next engine routes"])
        for engines in ("portmajor", "portmajor,no_fallback"):
            found = dict(self.faults(self.conf(event_plugin_options=config,
                                               routing_engine=engines)))
            self.assertEqual(list(found), ["routing_engine", "configuration"])
            self.assertIn("no other engine to route", found["configuration"])

    def test_prometheus(self):
        """A file or a folder; the folder must be there."""
        config = self.cache / "portmajor.conf"
        for path, text in ((self.cache, None), (self.cache / "file.prom", None),
                           ("/nowhere/file.prom", "/nowhere/file.prom: no folder /nowhere")):
            with self.subTest(str(path)):
                config.write_text(f"prometheus {path}\n")
                self.assertEqual(self.faults(self.conf(event_plugin_options=config)),
                                 [("prometheus", text)] if text else [])

    def service(self, ports, *args, **units):
        """The checks of the service on a machine with these files: [(ok, text)]."""
        etc = self.cache / "etc"
        (etc / "default").mkdir(parents=True, exist_ok=True)
        (etc / "default/opensm").write_text(f"# PORTS=NONE\nPORTS={ports}\n")
        for name, text in units.items():
            folder = etc / "systemd/system/opensm@.service.d"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.conf").write_text(text)
        done = subprocess.run(
            ["unshare", "--mount", "--map-root-user", "sh", "-ec",
             'mount --bind "$0" /etc; shift; exec "$@"', str(etc), "", str(pmlab.CLI),
             "preflight", "--json", *map(str, args)], capture_output=True, text=True,
            env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)), check=False)
        return [(c["ok"], c["text"]) for c in json.loads(done.stdout)["checks"]
                if c["check"] in ("service", "log")]

    def test_rotation(self):
        """Debian's calls killall, which is in another package."""
        rotation = self.cache / "etc/logrotate.d/opensm"
        rotation.parent.mkdir(parents=True)
        for line, fine in (("/usr/bin/env true", True), (f"{pmlab.ROOT}/no/killall -SIGUSR1 x", False),
                           (f"{self.cache}/killall -SIGUSR1 x 2> /dev/null || true", True)):
            (self.cache / "killall").touch(0o755)
            rotation.write_text(f"postrotate\n\t{line}\nendscript\n")
            told = self.service("ALL")[1:]
            self.assertEqual(told == [], fine, told)
            self.assertTrue(fine or f"needs {pmlab.ROOT}/no/killall, which is not there: install "
                            "psmisc" in told[0][1], told)

    def test_service(self):
        """The file in use is named, and PORTS=NONE when portmajor is to route."""
        conf = self.conf()
        self.assertEqual(self.service("ALL"), [(True, "reads /etc/opensm/opensm.conf")])
        self.assertEqual(self.service("ALL", "-F", conf),
                         [(True, f"reads /etc/opensm/opensm.conf, not {conf}")])
        told = (True, f"reads {conf}, as named in "
                "/etc/systemd/system/opensm@.service.d/b.conf")
        units = {"a": "ExecStart=/sbin/opensm -F /nowhere\n",
                 "b": f"ExecStart=\nExecStart=/sbin/opensm -F {conf} --guid %I\n"}
        self.assertEqual(self.service("ALL", **units), [told])
        told, none = self.service("NONE", **units)
        self.assertIn("set it back to ALL", none[1])
        self.assertFalse(none[0])
        shadow = self.cache / "portmajor.conf"
        shadow.write_text("shadow yes\n")
        self.conf(event_plugin_options=shadow)
        self.assertEqual(self.service("NONE", **units), [told])

    def test_key_that_opensm_does_not_write(self):
        """It knows this one all the same."""
        self.assertEqual(self.faults(self.conf(dimn_ports_file="/dev/null")), [])
        self.only("keys", '"dimn_port_file"', self.conf(dimn_port_file="/nowhere/x"))

    def test_values_do_not_reach_the_terminal(self):
        done = self.run_it(self.conf(event_plugin_name="\x1b[31mx\x07,portmajor"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("?[31mx?,portmajor", done.stdout)
        self.assertNotRegex(done.stdout, "[\x00-\x09\x0b-\x1f\x7f]")

    def test_many_unknown_keys(self):
        found = self.faults(self.conf("".join(f"key{i} 1\n" for i in range(9))))
        self.assertEqual(len(found), 5)
        self.assertIn("5 more", found[4][1])

    def test_conf_that_cannot_be_read(self):
        for name, path in (("none", self.cache / "none"), ("folder", self.cache),
                           ("binary", self.conf("\0\x01\xff")),):
            with self.subTest(name):
                self.only("opensm.conf", str(path), path)
        self.only("opensm.conf", ":3: longer", self.conf("x " + "y" * 2000))

    def test_own_configuration(self):
        own = self.cache / "portmajor.conf"
        own.write_text("lid_order grouped\nflap_limits 3\n", encoding="ascii")
        self.only("configuration", f'{own}:2: unknown key "flap_limits"',
                  self.conf(event_plugin_options=own))
        self.only("configuration", "portmajor would decline to route",
                  self.conf(event_plugin_options=own))
        own.write_text("lid_order port-major\n", encoding="ascii")
        own.chmod(0o664)
        self.only("configuration", f"{own}: others may write it",
                  self.conf(event_plugin_options=own))
        own.chmod(0o644)
        self.assertEqual(self.faults(self.conf(event_plugin_options=own)), [])

    # ---- the library

    def library(self, change):
        """A folder with a changed copy of the library."""
        folder = self.cache / "lib"
        folder.mkdir(exist_ok=True)
        (folder / PLUGIN.name).write_bytes(change(PLUGIN.read_bytes()))
        return folder

    @staticmethod
    def replaced(old, new):
        assert len(old) == len(new)
        def change(data):
            assert old in data
            return data.replace(old, new)
        return change

    def test_library_not_there(self):
        empty = self.cache / "empty"
        empty.mkdir()
        self.only("library", "cannot open shared object", self.conf(), libraries=empty)

    def test_library_is_none(self):
        found = dict(self.faults(self.conf(), libraries=self.library(lambda _: b"text\n")))
        self.assertEqual(list(found), ["library"])

    def test_library_needs_another(self):
        folder = self.library(self.replaced(b"libjansson.so", b"libjanssox.so"))
        self.only("library", "needs libjanssox.so", self.conf(), libraries=folder)

    def test_symbol_that_opensm_does_not_have(self):
        folder = self.library(self.replaced(b"osm_req_set\0", b"osm_req_sex\0"))
        self.only("library", "needs osm_req_sex", self.conf(), libraries=folder)

    def test_built_for_another_opensm(self):
        folder = self.library(self.replaced(b"OpenSM 3.3.23", b"OpenSM 3.3.22"))
        self.only("version", "built for OpenSM 3.3.22, but installed is OpenSM 3.3.23",
                  self.conf(), libraries=folder)

    # ---- another opensm

    def test_no_opensm(self):
        found = dict(self.faults(self.conf(), "--opensm", self.cache / "opensm"))
        self.assertEqual(list(found), ["opensm"])
        self.assertIn("cannot be run", found["opensm"])

    def test_program_that_is_no_opensm(self):
        self.only("opensm", "does not print", self.conf(), "--opensm", "/bin/true")

    def test_another_opensm(self):
        fake = self.cache / "opensm"
        fake.write_text("#!/bin/sh\n[ $1 = -c ] && exec " + self.opensm + ' "$@"\n'
                        "echo OpenSM 3.4.0\n", encoding="ascii")
        fake.chmod(0o755)
        found = dict(self.faults(self.conf(), "--opensm", fake))
        self.assertEqual(list(found), ["library", "version"])  # sh has no symbol of OpenSM
        self.assertIn("does not have", found["library"])
        self.assertIn("but installed is OpenSM 3.4.0", found["version"])

    # ---- plan and fabric

    def test_plan_file(self):
        with pmlab.Lab(self.net) as lab:
            lab.bring_up()
            plan = pmlab.kept(lab.osm.cache_dir, "plan").read_text(encoding="ascii")
        path = pmlab.kept(self.cache, "plan")
        path.parent.mkdir()
        path.write_text(plan, encoding="ascii")
        self.assertEqual(self.faults(self.conf(), "-n", self.net), [])
        self.only("plan file", "made for LMC 0, not 1", self.conf(lmc=1))
        other = pmlab.generate(self.cache / "other.net", "director", 36)
        self.only("plan and fabric", "another fabric's", self.conf(), "-n", other)
        # One that cannot be routed at all is another one, too.
        self.assertEqual([check for check, _ in self.faults(
            self.conf(), "-n", pmlab.TOPOLOGIES / "ring-12.net")], ["fabric", "plan and fabric"])
        path.write_text(plan.replace("order grouped", "order port-major"), encoding="ascii")
        self.only("plan file", str(path), self.conf())
        path.write_text(plan[:200], encoding="ascii")
        self.only("plan file", str(path), self.conf())

    def test_plan_files(self):
        """Those of several fabrics: each has its line."""
        other = pmlab.generate(self.cache / "other.net", "director", 36)
        places = [self.cache / f"portmajor.{guid:016x}" / "plan" for guid in (1, 2)]
        for net, path in zip((other, self.net), places):
            with pmlab.Lab(net) as lab:
                lab.bring_up()
                path.parent.mkdir()
                shutil.copy(pmlab.kept(lab.osm.cache_dir, "plan"), path)
        found = self.checks(self.conf(), "-n", self.net)
        self.assertEqual([text.partition(":")[0] for check, _, text in found
                          if check == "plan file"], [str(path) for path in places])
        self.assertEqual([(ok, text) for check, ok, text in found if check == "plan and fabric"],
                         [(True, f"{places[1]} is one for this fabric")])
        third = pmlab.generate(self.cache / "third.net", "two-level", 3, 3, 3, 1)
        self.only("plan and fabric", "all plan files: another fabric's", self.conf(), "-n", third)

    def test_fabric(self):
        ring = pmlab.TOPOLOGIES / "ring-12.net"
        self.only("fabric", "not a fat tree", self.conf(), "-n", ring)
        self.assertEqual(self.run_it(self.conf(), "-n", self.cache / "none").returncode, 3)

    def test_paths(self):
        """`plan` and `preflight -n` name the end ports that lack a path, and end with 1.

        In a chain of leaves, one hub joins one pair that has no spine in common; without
        root_guid_file the tree is another one, and joins all.
        """
        net = odd_netlists.Net()
        for leaf in range(4):
            net.switch(f"leaf{leaf}", 8)
            net.hosts(f"leaf{leaf}", 2)
        for spine in range(3):
            net.switch(f"spine{spine}", 8, level=1)
            for leaf in (spine, spine + 1):
                net.cable(f"leaf{leaf}", f"spine{spine}")
        path = net.write(self.cache / "chain.net")
        guids = {f"spine{spine}": f"0x{0x3000 + spine:x}" for spine in range(3)}
        path.write_text(re.sub(r'^Switch.*"(spine.)"', lambda m: f"switchguid={guids[m[1]]}\n{m[0]}",
                               path.read_text(), flags=re.M))
        roots = self.cache / "roots"
        roots.write_text("".join(f"{guid}\n" for guid in guids.values()))
        cut = "no up-then-down path joins 2 of 6 pairs of switches with end ports: "
        over = "; paths of 1 of 6 pairs of switches with end ports turn up again at leaf1"
        done = pmlab.run_cli("plan", "--root_guid_file", roots, path)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, f"(?m)^note: {cut}leaf0 and leaf3, leaf1 and leaf3{over}$")
        self.only("paths", cut, self.conf(root_guid_file=roots), "-n", path)
        self.assertEqual(pmlab.run_cli("plan", "-q", "--root_guid_file", roots, path).returncode, 1)
        self.assertEqual(pmlab.run_cli("plan", path).returncode, 0)
        self.assertEqual(self.faults(self.conf(), "-n", path), [])

    def test_parts(self):
        """Hosts of parts that no cable joins are a finding, but not if all have ports in both."""
        for apart in (True, False):
            net = odd_netlists.Net()
            for part in "ab":
                net.switch(f"leaf-{part}", 8)
                net.switch(f"spine-{part}", 8, level=1)
                net.cable(f"leaf-{part}", f"spine-{part}")
                if apart:
                    net.hosts(f"leaf-{part}", 2)
            for host in range(0 if apart else 3):
                net.host(f"h{host}", "leaf-a", "leaf-b")
            path = net.write(self.cache / "parts.net")
            text = r"no cables join 4 of 6 pairs of hosts, such as \S+ and \S+"
            done = pmlab.run_cli("plan", path)
            self.assertEqual(done.returncode, int(apart), done.stdout)
            if apart:
                self.assertRegex(done.stdout, f"(?m)^note: {text}$")
                done = pmlab.run_cli("plan", "-q", "--lfts", self.cache / "lfts", path)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, f"(?m)^portmajor: {text}$")
                self.assertGreater((self.cache / "lfts").stat().st_size, 0)
            else:
                self.assertNotIn("no cables", done.stdout)
            done = self.run_it(self.conf(), "-n", path)
            self.assertEqual(done.returncode, int(apart), done.stdout)
            self.assertEqual("no cables join 4 of 6 pairs" in done.stdout, apart)

    def test_paths_after_failure(self):
        """`plan --fail` names the remaining end ports without a path, and ends with 1."""
        net = pmlab.generate(self.cache / "whole.net", "two-level", 3, 2, 2, 1)
        lfts = ("--lfts", self.cache / "lfts")
        for failed, status, note in (
                (("spine0",), 0, ""),
                (("leaf0",), 0, ""),  # its hosts fail with it
                (("leaf0:3", "leaf0:4"), 1, "no cables join 8 of 15 pairs of hosts, such as "
                 "h0-1 and h1-1"),
                (("leaf0:3", "leaf1:4"), 0, "paths of 1 of 3 pairs of switches with end ports "
                 "turn up again at leaf2")):
            with self.subTest(str(failed)):
                args = [arg for part in failed for arg in ("-F", part)]
                done = pmlab.run_cli("plan", "--json", *lfts, *args, net)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(json.loads(done.stdout)["notes"],
                                 [f"after the failure: {note}"] if note else [])
                done = pmlab.run_cli("plan", "-q", *lfts, *args, net)
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertEqual(f"after the failure: {note}" in done.stderr, bool(status))

    def test_fabric_as_configured(self):
        """Planned with the LMC, the lid_order and the files of OpenSM's configuration."""
        own = self.cache / "portmajor.conf"
        own.write_text("lid_order port-major\n", encoding="ascii")
        for options, args in (({}, ()), ({"lmc": 2}, ("-m", 2)),
                              ({"event_plugin_options": own}, ("-o", "port-major"))):
            with self.subTest(str(options)):
                plan = json.loads(pmlab.run_cli("plan", "--json", *args, self.net).stdout)
                text = {check: text for check, _, text in
                        self.checks(self.conf(**options), "-n", self.net)}["fabric"]
                self.assertEqual(text, "switches 6, leaves 4, levels 0 to 1, LIDs up to "
                                 f"{plan['top_lid']}")
        for key in ("root_guid_file", "cn_guid_file", "io_guid_file"):
            done = self.run_it(self.conf(**{key: "/nowhere/x"}), "-n", self.net)
            self.assertEqual(done.returncode, 3, key)
            self.assertIn("/nowhere/x", done.stderr)

    def test_usage(self):
        for args in (("more",), ("-x",), ("-n",)):
            done = self.run_it(self.conf(), *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
        done = self.run_it(self.conf(), "-h")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("usage: portmajor preflight"))

    # ---- OpenSM's reaction to the same

    def opensm_log(self, **conf):
        """OpenSM's log up to its first sweep's end, with these lines of opensm.conf."""
        with pmlab.Fabric(self.net) as fabric, pmlab.open_sm(
                fabric, "portmajor,minhop", conf=conf) as osm:
            osm.wait_subnet_up()
            return osm.log()

    def test_commas(self):
        """The second comma is a fault to OpenSM, too."""
        log = self.opensm_log(event_plugin_name="x y,portmajor")
        self.assertIn("cannot load plugin 'y,portmajor'", log)
        self.assertFalse(re.search("portmajor run 1:", log))


if __name__ == "__main__":
    unittest.main()
