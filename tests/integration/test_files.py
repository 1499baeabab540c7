#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The plugin's files, and their fabric: several on one machine, another adapter, a standby beside it,
plans that differ, and holds over a restart.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import unittest

import labtest
import pmlab
import simlab
import wire
from test_handover import wait_polled, wait_state, wait_swept

TAKEN_OVER = "plan taken over from "
POLL = {"sminfo_polling_timeout": 500, "polling_retry_number": 2}


def in_cache(cache, *args):
    """A portmajor command about all files in a cache folder."""
    old = os.environ.get("OSM_CACHE_DIR")
    os.environ["OSM_CACHE_DIR"] = str(cache)
    try:
        return pmlab.run_cli(*args)
    finally:
        os.environ.pop("OSM_CACHE_DIR")
        if old is not None:
            os.environ["OSM_CACHE_DIR"] = old


def status(cache, *args):
    return in_cache(cache, "status", *args)


def folders(cache):
    """Those of the fabrics, by name."""
    return sorted(path for path in cache.glob("portmajor.*") if path.is_dir())


def set_aside(cache):
    return [path for path in cache.rglob("*") if ".bad-" in path.name or ".late-" in path.name]


class FileCase(labtest.Folders):
    GENERATE = ("two-level", 4, 2, 4, 1)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.netlist = simlab.Netlist(pmlab.generate(cls.folder / "fabric.net", *cls.GENERATE))

    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()

    def lab(self, fabric, host="h0-1", **kwargs):
        return pmlab.Lab(self.netlist, fabric=fabric, cache_dir=self.cache, host=host, **kwargs)

    def check(self, lab, event, lids=None, plan=True):
        """It routes, and no LID changed; as planned for the netlist alone. Returns the Dump."""
        self.assertEqual(set(lab.osm.engines_used()), {"portmajor"})
        self.assertEqual(event.lids_changed, 0)
        dump = pmlab.Dump(lab.dump())
        if lids is not None:
            self.assertEqual(dump.lids, lids)
        self.assertEqual(pmlab.walk_faults(lab.walk(), plan=plan), [])
        return dump


class Several(FileCase):
    """Two OpenSM on one machine, as Debian starts one for each port."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = simlab.Netlist(pmlab.generate(cls.folder / "other.net", "two-level",
                                                  3, 3, 3, 1))

    def two_labs(self, stack, fabrics, **kwargs):
        # ibsim gives both fabrics the same GUIDs: another host is another port, and LIDs in
        # guid2lid, which both write, may be the other fabric's.
        labs = [stack.enter_context(pmlab.Lab(netlist, fabric=fabric, cache_dir=self.cache,
                                              host=host, **kwargs))
                for netlist, fabric, host in zip((self.netlist, self.other), fabrics,
                                                 ("h0-1", "h1-2"))]
        return labs, [lab.bring_up() for lab in labs]

    def wait_states(self, number=1):
        """The states of both, as soon as both have a routing run."""
        def look():
            states = [json.loads(path.read_text()) for path in self.cache.glob("*/state")]
            return (len(states) == 2 and all(s["run"] and s["run"]["number"] >= number
                                             for s in states) and states)
        return simlab.poll_until(look, 60, "both states")

    def test_each_has_its_own(self):
        fabrics = [self.enterContext(pmlab.Fabric(n)) for n in (self.netlist, self.other)]
        with contextlib.ExitStack() as stack:
            labs, events = self.two_labs(stack, fabrics)
            lids = [self.check(lab, event, plan=False).lids for lab, event in zip(labs, events)]
            self.check_told()
        plans = {path: path.read_bytes() for path in self.cache.glob("*/plan")}
        self.assertEqual(len(plans), 2)
        # Both are started anew, at the same time.
        with contextlib.ExitStack() as stack:
            labs, events = self.two_labs(stack, fabrics)
            for lab, event, before in zip(labs, events, lids):
                self.check(lab, event, before, plan=False)
                self.assertEqual(event.runs[-1].assigned, 0)
                self.assertNotIn(TAKEN_OVER, lab.osm.log())
                self.assertNotIn("not used", lab.osm.log())
        self.assertEqual({p: p.read_bytes() for p in self.cache.glob("*/plan")}, plans)
        self.assertEqual(set_aside(self.cache), [])

    def check_told(self):
        """`status` has both, and so do the metrics, with different names."""
        states = self.wait_states()
        guids = {state["port_guid"] for state in states}
        self.assertEqual({f"portmajor.{guid[2:]}" for guid in guids},
                         {path.name for path in folders(self.cache)})
        done = status(self.cache)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(set(re.findall("^fabric +of port (0x[0-9a-f]{16})$", done.stdout, re.M)),
                         guids)
        decoder, text, shown = json.JSONDecoder(), status(self.cache, "--json").stdout, []
        while text.strip():
            document, end = decoder.raw_decode(text.strip())
            shown.append(document["state"]["port_guid"])
            text = text.strip()[end:]
        self.assertEqual(shown, sorted(guids))
        names = [{line.rpartition(" ")[0] for line in path.read_text().splitlines()
                  if not line.startswith("#")} for path in self.cache.glob("*/portmajor.prom")]
        self.assertEqual(len(names), 2)
        self.assertEqual(names[0] & names[1], set())

    def test_the_worst_counts(self):
        fabrics = [self.enterContext(pmlab.Fabric(n)) for n in (self.netlist, self.other)]
        with contextlib.ExitStack() as stack:
            labs, _ = self.two_labs(stack, fabrics)
            self.wait_states()
            labs[1].osm.stop()
            done = status(self.cache, "-q")
            self.assertEqual((done.returncode, done.stderr), (1, ""))
            ended = [s["port_guid"] for s in self.wait_states() if not s["running"]]
            self.assertEqual(done.stdout, f"fabric      of port {ended[0]}\n"
                                          "finding     OpenSM has ended\n")
        (folders(self.cache)[0] / "state").write_text("{")
        done = status(self.cache, "-q")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))

    def test_prometheus_in_one_folder(self):
        """The same portmajor.conf for both, which names a folder."""
        there = self.folder / "textfiles"
        there.mkdir()
        config = self.folder / "two.conf"
        config.write_text(f"prometheus {there}\n", encoding="ascii")
        fabrics = [self.enterContext(pmlab.Fabric(n)) for n in (self.netlist, self.other)]
        with contextlib.ExitStack() as stack:
            self.two_labs(stack, fabrics, conf={"event_plugin_options": config})
            self.wait_states()
            simlab.poll_until(lambda: len(list(there.glob("*.prom"))) == 2, 60, "the metrics")
            self.assertEqual(sorted(path.name for path in there.iterdir()),
                             [f"{path.name}.prom" for path in folders(self.cache)])

    def test_in_use(self):
        """A folder that another process has locked, such as a former OpenSM that hangs in a disk,
        is read and not written until it is free."""
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric) as lab:
                lids = self.check(lab, lab.bring_up()).lids
            folder, = folders(self.cache)
            files = {path: path.read_bytes() for path in folder.iterdir()}
            fabric.lose("leaf3")
            with open(folder / "lock", "rb+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                with self.lab(fabric) as lab:
                    lab.bring_up()
                    self.assertIn(f"{folder}/: another process uses it", lab.osm.log())
                    lab.event("lose", "spine1")
                    self.assertEqual({p: p.read_bytes() for p in folder.iterdir()}, files)
                    fcntl.flock(lock, fcntl.LOCK_UN)
                    lab.event("back", "spine1")
                    lab.osm.wait_log("saved again")
                    self.assertEqual((folder / "plan").read_bytes(), files[folder / "plan"])
                    lab.event("back", "leaf3")
                    self.check(lab, lab.measure("SIGHUP", lab.osm.hup), lids)
                    simlab.poll_until(lambda: (folder / "state").read_bytes()
                                      != files[folder / "state"], 60, "the state")
        self.assertEqual(set_aside(self.cache), [])


@unittest.skipIf(os.geteuid(), "only root can run a command as another user")
class Guarded(FileCase):
    """Another user cannot hold OpenSM up, and sees its state."""

    NOBODY = 65534
    # Not Python, which may be in a folder that only root may enter.
    HOLDER = ("if ( : <\"$0\" ) 2>/dev/null; then exec 9<\"$0\"; flock -s 9; echo held\n"
              "else echo refused; fi\n"
              "read -r end\n")

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)

    @contextlib.contextmanager
    def holder(self, lock, word):
        """A process of user nobody that holds the lock, if it can."""
        with subprocess.Popen(["sh", "-c", self.HOLDER, lock], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, user=self.NOBODY,
                              group=self.NOBODY, extra_groups=[]) as process:
            try:
                self.assertEqual(process.stdout.readline(), f"{word}\n")
                yield
            finally:
                process.kill()

    def check_restart(self, fabric, lids):
        """The plan of the whole fabric stays in force, although parts of it are absent."""
        folder, = folders(self.cache)
        before = (folder / "plan").read_bytes()
        for target in ("leaf3", "spine1"):
            fabric.lose(target)
        with self.lab(fabric) as lab:
            lab.bring_up()
            for target in ("leaf3", "spine1"):
                lab.event("back", target)
            self.check(lab, lab.measure("SIGHUP", lab.osm.hup), lids)
            self.assertNotIn("another process uses it", lab.osm.log())
            self.assertEqual((folder / "lock").stat().st_mode & 0o777, 0o600)
            self.assertEqual((folder / "plan").read_bytes(), before)
            self.assertEqual(status(self.cache).returncode, 0)
        self.assertEqual(set_aside(self.cache), [])

    def test_lock(self):
        """It cannot be held, nor does one that could be held before keep any process out."""
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric) as lab:
                lids = self.check(lab, lab.bring_up()).lids
            lock = folders(self.cache)[0] / "lock"
            with self.holder(lock, "refused"):
                self.check_restart(fabric, lids)
            lock.chmod(0o644)
            with self.holder(lock, "held"):
                self.check_restart(fabric, lids)

    def status_of_nobody(self, *prefix):
        program = shutil.copy(pmlab.CLI, self.folder)
        return subprocess.run([*prefix, "setpriv", f"--reuid={self.NOBODY}",
                               f"--regid={self.NOBODY}", "--clear-groups", program, "status"],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "OSM_CACHE_DIR": str(self.cache)})

    def test_status_of_nobody(self):
        """The status of an OpenSM that runs, that was killed, and whose number another process has.
        """
        with pmlab.Fabric(self.netlist) as fabric, self.lab(fabric) as lab:
            lab.bring_up()
            state = folders(self.cache)[0] / "state"
            simlab.poll_until(lambda: self.status_of_nobody().returncode == 0, 60, "the state")
            # In a container there is no such process, or another one has its number.
            done = self.status_of_nobody("unshare", "--pid", "--fork", "--mount-proc")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            lab.osm.process.kill()
            lab.osm.process.wait(30)
            done = self.status_of_nobody()
            self.assertEqual((done.returncode, done.stderr), (1, ""))
            self.assertIn("OpenSM was killed or has crashed", done.stdout)
            text = json.loads(state.read_text())
            text.update(pid=os.getpid())
            state.write_text(json.dumps(text))
            self.assertEqual(self.status_of_nobody().returncode, 0)
            text.update(time=text["time"] - 10**8)
            state.write_text(json.dumps(text))
            self.assertIn("OpenSM was killed or has crashed", self.status_of_nobody().stdout)

    def check_followed(self):
        """Drains and requests are followed, whatever the umask of their writers."""
        for args in (("drain", "--wait", "30", "spine1"), ("undrain", "--wait", "30", "--all"),
                     ("rebalance",)):
            done = in_cache(self.cache, *args)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        requests = folders(self.cache)[0] / "requests"
        self.assertEqual(requests.stat().st_mode & 0o777, 0o644)
        self.assertEqual((requests.parent / "control").stat().st_mode & 0o777, 0o600)
        simlab.poll_until(lambda: json.loads(requests.read_text())["rebalance"] is None, 60,
                          "the request is done")

    def test_umask(self):
        """Whatever it is, the plan is used again, and all users may read the files."""
        config = self.folder / "portmajor.conf"
        config.write_text("flap_limit 0\n", encoding="ascii")
        with pmlab.Fabric(self.netlist) as fabric:
            lids = None
            for mask in (0o077, 0o002, 0o000):
                before = os.umask(mask)
                try:
                    with self.lab(fabric, conf={"event_plugin_options": config}) as lab:
                        lids = self.check(lab, lab.bring_up(), lids).lids
                        lab.event("lose", "spine1")
                        lab.event("back", "spine1")
                        self.check_followed()
                        self.assertNotIn("not used", lab.osm.log())
                        self.assertNotIn("not followed", lab.osm.log())
                finally:
                    os.umask(before)
                folder, = folders(self.cache)
                self.assertEqual({path.name: oct(path.stat().st_mode & 0o777)
                                  for path in folder.iterdir()
                                  if path.stat().st_mode & 0o777 != 0o644}, {"lock": "0o600"})
                self.assertEqual(folder.stat().st_mode & 0o777, 0o755)
            self.assertEqual(set_aside(self.cache), [])


class Found(FileCase):
    """The plan of this fabric is found although OpenSM uses another port."""

    def test_new_adapter(self):
        """Absent parts return to their LIDs; no file of the adapter before is left."""
        away = ("h3-3", "leaf2")
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric) as lab:
                healthy = self.check(lab, lab.bring_up())
            before, = folders(self.cache)
            for target in away:
                fabric.lose(target)
            with self.lab(fabric, host="h1-1") as lab:
                event = lab.bring_up()
                self.assertEqual(event.lids_changed, 0)
                self.assertIn(f"{TAKEN_OVER}{before}/plan", lab.osm.log())
                for target in away:
                    lab.event("back", target)
                now = self.check(lab, lab.measure("SIGHUP", lab.osm.hup), healthy.lids)
                self.assertEqual(list(pmlab.changed_entries(healthy, now))[:5], [])
                self.assertEqual(len(folders(self.cache)), 1)
                self.assertNotEqual(folders(self.cache), [before])
                done = status(self.cache)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_later_plan(self):
        """Ours is older than one that another OpenSM left here, which is used."""
        kept = self.folder / "kept"
        with pmlab.Fabric(self.netlist) as fabric:
            fabric.lose("leaf2")
            with self.lab(fabric) as lab:
                lab.bring_up()
            ours, = folders(self.cache)
            shutil.copytree(ours, kept)
            with self.lab(fabric, host="h1-1") as lab:
                lab.bring_up()
                lab.event("back", "leaf2")
                expected = pmlab.Dump(lab.dump()).lids
            other, = folders(self.cache)
            shutil.copytree(kept, ours)  # keeps its time
            fabric.lose("leaf2")
            with self.lab(fabric) as lab:
                self.assertEqual(lab.bring_up().lids_changed, 0)
                self.assertIn(f"{TAKEN_OVER}{other}/plan", lab.osm.log())
                self.assertEqual((ours / "plan").read_bytes(), (other / "plan").read_bytes())
            # From now on ours is the later one.
            with self.lab(fabric) as lab:
                lab.bring_up()
                self.assertNotIn(TAKEN_OVER, lab.osm.log())
                lab.event("back", "leaf2")
                self.assertEqual(pmlab.Dump(lab.dump()).lids, expected)
            self.assertEqual(set_aside(self.cache), [])

    def test_standby_with_the_same_folder(self):
        """It has the plan of the one that died, with the parts that were absent then."""
        with pmlab.Fabric(self.netlist) as fabric, \
                self.lab(fabric, conf={**POLL, "sm_priority": 10}) as first:
            healthy = self.check(first, first.bring_up())
            first.lose("h3-3")
            # With time-outs, since the one that dies does not answer.
            with self.lab(fabric, host="h1-1", conf={**POLL, "sm_priority": 2},
                          wire=wire.Wire()) as second:
                wait_state(second.osm, "STANDBY")
                self.assertEqual(len(list(self.cache.glob("*/plan"))), 1)
                mark = second.osm.mark()
                wait_polled(second.osm)  # otherwise it may wait for an answer for ever
                first.osm.process.kill()
                first.osm.process.wait(30)
                event = wait_swept(second.osm, mark,
                                   wait_state(second.osm, "MASTER", mark.log_offset))
                self.assertEqual(event.lids_changed, 0)
                self.assertIn(TAKEN_OVER, second.osm.log())
                second.back("h3-3")
                now = pmlab.Dump(second.dump())
                self.assertEqual(now.lids, healthy.lids)
                self.assertEqual(list(pmlab.changed_entries(healthy, now))[:5], [])

    def test_of_another_fabric(self):
        """A plan that does not fit is neither used nor changed."""
        other = simlab.Netlist(pmlab.generate(self.folder / "larger.net", "two-level", 6, 3, 5, 1))
        with pmlab.Lab(other, cache_dir=self.cache, host="h1-2") as lab:
            lab.bring_up()
        theirs, = folders(self.cache)
        before = {path: path.read_bytes() for path in theirs.iterdir()}
        # It has the owners of LIDs; but ibsim gives the same GUIDs in all fabrics.
        (self.cache / "guid2lid").unlink()
        with self.lab(None) as lab:
            self.check(lab, lab.bring_up())
            self.assertNotIn(TAKEN_OVER, lab.osm.log())
        self.assertEqual({path: path.read_bytes() for path in theirs.iterdir()}, before)
        self.assertEqual(len(folders(self.cache)), 2)


class Drifting(FileCase):
    """Ports run with other LIDs than planned when another adapter takes the plans over."""

    def setUp(self):
        super().setUp()
        config = self.folder / "migrate.conf"
        config.write_text("migrate yes\n", "ascii")
        self.migrate = {"event_plugin_options": config}
        with pmlab.Fabric(self.netlist) as fabric:
            fabric.lose("spine1")
            with self.lab(fabric, conf=self.migrate) as lab:
                lab.bring_up()
                lab.event("back", "spine1")
        self.before, = folders(self.cache)
        self.planned, self.drifting = map(self.lids_of, ("plan", "drifting"))
        self.assertNotEqual(self.planned, self.drifting)
        (self.cache / "guid2lid").unlink()

    def lids_of(self, name):
        """{(switch, port): LID} of a plan file."""
        text = (self.before / name).read_text(encoding="ascii")
        switches = re.findall(r"^switch \S+ \S+ \d+ (\S+)$", text, re.M)
        return {(switches[int(sw)], int(port)): int(lid) for sw, port, lid in
                re.findall(r"^place (\d+) (\d+) (\d+) ", text, re.M)}

    def check_lids(self, lab, plan):
        lids = pmlab.Dump(lab.dump()).lids
        for (switch, port), lid in plan.items():
            name = f"h{switch[4:]}-{port}" if port else switch
            self.assertEqual(lids[name], lid, name)

    def test_migrating(self):
        """With migrate a fabric without LIDs gets those of the base at once."""
        with self.lab(None, host="h1-1", conf=self.migrate) as lab:
            event = lab.bring_up()
            self.assertEqual((event.lids_changed, event.runs[-1].out_of_plan), (0, 0))
            self.check_lids(lab, self.planned)

    def test_taken_over(self):
        """Without, it gets those of the plan in force; both files are in the new folder."""
        with self.lab(None, host="h1-1") as lab:
            event = lab.bring_up()
            self.assertEqual(event.lids_changed, 0)
            self.assertIn(f"{TAKEN_OVER}{self.before}/plan", lab.osm.log())
            self.check_lids(lab, self.drifting)
            self.assertGreater(event.runs[-1].out_of_plan, 0)
            simlab.poll_until(lambda: status(self.cache).returncode == 0, 60, "the state")
        now, = folders(self.cache)
        self.assertNotEqual(now, self.before)
        self.assertTrue((now / "plan").exists() and (now / "drifting").exists())


class Holds(FileCase):
    """A cable on hold is on hold after a restart, and until its hold ends."""

    CABLE = "leaf1:5"

    def setUp(self):
        super().setUp()
        self.config = self.folder / "holds.conf"
        self.config.write_text("flap_limit 1\nflap_window 600\nflap_hold 3600\n",
                               encoding="ascii")

    def lab(self, fabric, **kwargs):
        return super().lab(fabric, conf={"event_plugin_options": self.config}, **kwargs)

    def held(self):
        path = pmlab.kept(self.cache, "state")
        flaps = json.loads(path.read_text())["flapping"]
        return [(flap["state"], flap["downs"]) for flap in flaps]

    def test_kept(self):
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric) as lab:
                lab.bring_up()
                for _ in range(2):
                    lab.event("lose", self.CABLE)
                    lab.event("back", self.CABLE)
                simlab.poll_until(lambda: self.held() == [("on-hold", 2)], 60, "the hold")
                before = pmlab.Dump(lab.dump())
                lab.osm.process.kill()
                lab.osm.process.wait(30)
            with self.lab(fabric) as lab:
                lab.bring_up()
                simlab.poll_until(lambda: self.held() == [("on-hold", 2)], 60, "the hold")
                after = pmlab.Dump(lab.dump())
                # Entries that stay for LIDs without a path are not known anew.
                hosts = {after.lids[host] for host in after.hosts}
                self.assertEqual([(sw, lid) for sw, lid in pmlab.changed_entries(before, after)
                                  if lid in hosts and sw.startswith("leaf")], [])
                in_cache(self.cache, "release", "--wait", "60", "--all")
                lab.measure("SIGHUP", lab.osm.hup)
                self.assertEqual(pmlab.walk_faults(lab.walk()), [])
            with self.lab(fabric) as lab:
                lab.bring_up()
                self.assertEqual(self.held(), [])

    def test_damaged(self):
        """No link is on hold then, and the log has the reason."""
        with pmlab.Fabric(self.netlist) as fabric:
            with self.lab(fabric) as lab:
                lab.bring_up()
                lab.event("lose", self.CABLE)
            path = pmlab.kept(self.cache, "holds")
            path.write_bytes(path.read_bytes()[:-3])
            fabric.back(self.CABLE)
            with self.lab(fabric) as lab:
                self.check(lab, lab.bring_up())
                self.assertIn("holds not used and renamed to ", lab.osm.log())
            self.assertEqual([path.name[:10] for path in set_aside(self.cache)], ["holds.bad-"])


if __name__ == "__main__":
    unittest.main()
