#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The control socket: requests of many clients at once, of bad ones, over a kill, on a bad disk, in
standby; all that was answered is in force, and no client harms another one.
"""

import concurrent.futures
import errno
import json
import os
import random
import shutil
import socket
import signal
import stat
import subprocess
import threading
import time
import unittest
import unittest.mock

import control
import labtest
import pmlab
import simlab
from control import Client, part

LIBRARY = pmlab.BUILD / "libdiskfault.so"
CLIENTS, EACH = 100, 100


class ControlCase(labtest.Folders):
    APART = True
    GENERATE = ("two-level", 9, 6, 8, 1)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.net = pmlab.generate(cls.folder / "fabric.net", *cls.GENERATE)

    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        self.cache.mkdir()
        self.fabric = self.enterContext(pmlab.Fabric(self.net))

    def start(self, cache=None, **kwargs):
        lab = self.enterContext(pmlab.Lab(self.net, fabric=self.fabric,
                                          cache_dir=cache or self.cache, **kwargs))
        lab.bring_up()
        self.guids = pmlab.Dump(lab.dump()).guids
        return lab

    def run_cli(self, *args, cache=None):
        return subprocess.run([str(pmlab.CLI), *map(str, args)], capture_output=True, text=True,
                              env=dict(os.environ, OSM_CACHE_DIR=str(cache or self.cache)),
                              check=False, timeout=pmlab.TIMEOUT_S)

    def run_it(self, *args, status=0, cache=None):
        done = self.run_cli(*args, cache=cache)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def cable(self, number):
        """A cable of a spine to a leaf."""
        return part(self.guids[f"spine{number // 9}"], 1 + number % 9)

    def kill(self, lab):
        lab.osm.process.kill()
        lab.osm.process.wait(30)
        lab.close()

    def sweeps_on(self, lab):
        self.assertEqual(lab.measure("SIGHUP", lab.osm.hup).wire, 0)


def name(thing):
    return thing["guid"], thing["port"]


class Many(ControlCase):
    def hammer(self, number, answers):
        """Drains and undrains a cable of its own, and one of all others, and acknowledges a missing
        switch; returns the answers, in their order."""
        mine, all_the_same = self.cable(number), part(self.guids["spine5"], 9)
        with Client(self.cache, 120) as client:
            for i in range(EACH):
                if i % 10 == 9:
                    done = client.ask("acknowledge", parts=[part(self.gone)])
                    self.assertEqual(done["state"], "done")
                elif i % 10 == 8:
                    kind = ("drain", "undrain")[i // 10 % 2]
                    done = client.ask(kind, parts=[all_the_same])
                    answers.append((kind, name(all_the_same), done))
                else:
                    kind = ("drain", "undrain")[i % 2]
                    done = client.ask(kind, parts=[mine], by=f"client{number}")
                    answers.append((kind, name(mine), done))

    def test_hundred(self):
        """None is lost: replayed by their numbers, the answers make the final list, and no two
        requests have the same number."""
        lab = self.start()
        self.gone = self.guids["leaf8"]
        lab.event("lose", "leaf8")
        answers = [[] for _ in range(CLIENTS)]
        # Spines 0 to 4 have a cable for each of the first 45 clients, and two share the rest.
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            for done in [pool.submit(self.hammer, i % 45, answers[i]) for i in range(CLIENTS)]:
                done.result()
        self.assertEqual(sum(map(len, answers)), CLIENTS * EACH * 9 // 10)
        for each in answers:  # those of one client take effect in its order
            numbers = [a["number"] for _, _, a in each if a["state"] != "refused"]
            self.assertEqual(numbers, sorted(numbers))
        changes, drained = {}, set()
        for kind, thing, answer in sum(answers, []):
            self.assertIn(answer["state"], ("done", "pending", "refused"))
            if answer["state"] == "refused":
                self.assertEqual((kind, answer["reason"].endswith(" is not drained")),
                                 ("undrain", True))
            else:
                changes.setdefault(answer["number"], []).append((kind, thing))
        for number in sorted(changes):
            (kind, thing), = set(changes[number]) if len(set(changes[number])) == 1 else (
                self.one_that_changed(changes[number], drained))
            (drained.add if kind == "drain" else drained.discard)(thing)
        self.assertEqual({name(d) for d in control.requests_of(self.cache)["drains"]}, drained)
        self.assertEqual([name(a) for a in control.requests_of(self.cache)["acknowledged"]],
                         [name(part(self.gone))])
        self.run_it("undrain", "--all", "--wait", 60)
        self.sweeps_on(lab)

    @staticmethod
    def one_that_changed(changes, drained):
        """A request that changes nothing has the number of the last change."""
        return [(kind, thing) for kind, thing in sorted(set(changes))
                if (thing in drained) == (kind == "undrain")][:1]

    def test_side_by_side(self):
        """Commands at once, as from operators and scripts."""
        lab = self.start()
        for leaf in range(4):
            lab.event("lose", f"leaf{leaf}:9")
        commands = [("drain", f"spine{i}:{i + 5}") for i in range(4)] + [
            ("acknowledge", f"leaf{i}:9") for i in range(4)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(self.run_it, *command) for command in commands]:
                done.result()
        self.assertEqual({(port, label) for _, port, label in control.drained(self.cache)},
                         {(i + 5, f"spine{i}") for i in range(4)})
        self.assertEqual(len(control.requests_of(self.cache)["acknowledged"]), 4)
        shown = self.run_it("acknowledge")
        self.assertEqual(shown.count("acknowledged "), 4)
        self.run_it("drain", "--wait", 60)
        events = self.run_it("events")
        self.assertEqual(events.count(" request "), 8)
        self.assertRegex(events, r" request  +drain spine2:7 by \S+ \(uid \d+, pid \d+\)\n")

    def test_limit(self):
        """Drains at once, each of which may be, leave a leaf half of its uplinks."""
        self.start()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            done = list(pool.map(lambda i: self.run_cli("drain", f"leaf0:{i}"), range(9, 15)))
        drained = control.drained(self.cache)
        self.assertIn(len(drained), range(1, 4))
        self.assertEqual([one.returncode for one in done].count(0), len(drained))
        for one in done:
            self.assertEqual("refused, as" in one.stderr, one.returncode == 1, one.stderr)


class Released(ControlCase):
    def test_three(self):
        """Three in a row, and three clients at once: no link stays on hold."""
        config = self.folder / "portmajor.conf"
        config.write_text("flap_limit 1\nflap_window 3600\nflap_hold 3600\n", "ascii")
        lab = self.start(conf={"event_plugin_options": config})
        cables = [f"leaf{i}:{p}" for i in (0, 1) for p in (9, 10, 11)]
        for verb in ("lose", "back") * 2:
            for cable in cables:
                lab.event(verb, cable)
        lab.osm.wait_log("flapping: 6 links kept out")
        for cable in cables[:3]:
            self.run_it("release", cable)
        ends = [part(self.guids["leaf1"], port) for port in (9, 10, 11)]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            done = [pool.submit(control.ask, self.cache, "release", parts=[end], wait=60)
                    for end in ends]
            self.assertEqual([one.result()["state"] for one in done], ["done"] * 3)
        simlab.poll_until(lambda: not self.held(), 60, "no link on hold")
        simlab.poll_until(lambda: not control.requests_of(self.cache)["releases"], 60,
                          "no release that waits")
        self.assertEqual(pmlab.walk_faults(lab.walk()), [])
        self.assertIn("no link on hold", control.ask(self.cache, "release", parts=[ends[0]])["reason"])

    def held(self):
        state = json.loads(pmlab.kept(self.cache, "state").read_text("utf-8"))
        return [f for f in state["flapping"] if f["state"] in ("on-hold", "needed")]


class Bad(ControlCase):
    """Clients that hang, or send invalid requests."""

    def others(self):
        """Another client is answered meanwhile."""
        start = time.monotonic()
        with Client(self.cache) as client:
            self.assertEqual(client.ask("drain")["drained"], [])
        return time.monotonic() - start

    def test_hang(self):
        lab = self.start()
        silent, half, deaf = (Client(self.cache) for _ in range(3))
        for client in (silent, half, deaf):
            self.addCleanup(client.close)
        half.send(b'{"request": "dra')
        for _ in range(50):
            try:
                deaf.socket.setblocking(False)
                deaf.send(b'{"request": "acknowledge"}\n' * 1000)
            except BlockingIOError:
                break
        deaf.socket.settimeout(60)
        self.others()
        self.sweeps_on(lab)
        for client in (silent, half):  # after 10 s
            self.assertIn("no whole request", client.answer()["reason"])
            self.assertIsNone(client.answer())
        self.others()

    def test_garbage(self):
        lab = self.start()
        for sent, reason in ((b"\n", "not a JSON object"), (b"hello\n", "not a JSON object"),
                             (b"[1]\n", "not a JSON object"), (b"\0\xff\n", "not a JSON object"),
                             (b"[" * 200000 + b"\n", "not a JSON object"),
                             (b"{}\n", "not a request"), (b'{"request": 7}\n', "not a request"),
                             (b'{"request": "drain", "parts": 7}\n', "a list of parts"),
                             (b'{"request": "drain", "all": true}\n', "have to be named"),
                             (b'{"request": "drain", "parts": [{"guid": "0x17", "port": 0}]}\n',
                              "0x0000000000000017 is not in the plan of this fabric"),
                             (b'{"request": "drain", "parts": [{"guid": "17", "port": 0}]}\n',
                              "no GUID and port"),
                             (b'{"request": "rebalance", "all": true, "rate": -1}\n',
                              "not a rate")):
            with self.subTest(sent[:60]), Client(self.cache) as client:
                client.send(sent)
                answer = client.answer()
                self.assertEqual(answer["state"], "refused")
                self.assertIn(reason, answer["reason"])
        self.others()
        self.assertEqual(control.requests_of(self.cache)["number"], 0)
        self.sweeps_on(lab)

    def test_long(self):
        """10 MB without an end; and 200 KB in a request are fine."""
        lab = self.start()
        with Client(self.cache) as client:
            with self.assertRaises(ConnectionError):
                for _ in range(10):
                    client.send(b"x" * (1 << 20))
            answer = client.answer()
            self.assertIn("longer than 256 KiB", answer["reason"] if answer else "longer than 256 KiB")
        with Client(self.cache) as client:
            self.assertEqual(client.ask("drain", reason="x" * 200000)["state"], "done")
        self.others()
        self.sweeps_on(lab)

    def test_many_connections(self):
        """Above 256 at once an error; the others go on, and their places become free again."""
        self.start()
        clients = [Client(self.cache) for _ in range(256)]
        with Client(self.cache) as one_more:
            self.assertEqual(one_more.answer()["reason"], "too many connections")
        for client in clients:
            self.assertEqual(client.ask("undrain")["state"], "done")
            client.close()
        self.others()

    def test_gone(self):
        """A client that does not wait for its answer: its request is followed."""
        self.start()
        with Client(self.cache) as client:
            client.send({"request": "drain", "parts": [self.cable(0)], "wait": 60})
        simlab.poll_until(lambda: control.requests_of(self.cache)["drains"], 60, "the drain")
        with Client(self.cache) as client:  # several lines, and no more after these
            client.send(b'{"request": "drain"}\n' * 3)
            client.socket.shutdown(socket.SHUT_WR)
            for _ in range(3):
                self.assertEqual(len(client.answer()["drained"]), 1)
            self.assertIsNone(client.answer())


class Killed(ControlCase):
    """OpenSM is killed at drawn moments in a stream of requests."""

    TIMES, STREAMS, CABLES = 4, 6, 7

    def stream(self, number, answered):
        """Drains, and later undrains, cables of its own in turn; {cable: its expected state, or
        None: its request was not answered}."""
        cables = [self.cable(number * self.CABLES + i) for i in range(self.CABLES)]
        try:
            with Client(self.cache) as client:
                for i in range(10**6):
                    cable = cables[i % self.CABLES]
                    drained = i // self.CABLES % 2 == 0
                    answered[name(cable)] = None
                    if client.ask("drain" if drained else "undrain", parts=[cable]) is None:
                        return
                    answered[name(cable)] = drained
        except OSError:
            pass

    def test_kill(self):
        seed = random.SystemRandom().randrange(10**6)
        print(f"seed {seed}", flush=True)
        draw = random.Random(seed)
        for _ in range(self.TIMES):
            lab = self.start()
            self.run_it("undrain", "--all")
            streams = [{} for _ in range(self.STREAMS)]
            threads = [threading.Thread(target=self.stream, args=(i, stream))
                       for i, stream in enumerate(streams)]
            for thread in threads:
                thread.start()
            time.sleep(draw.uniform(0.02, 1))
            lab.osm.process.kill()
            lab.osm.process.wait(30)
            for thread in threads:
                thread.join(60)
            there = {name(d) for d in control.requests_of(self.cache)["drains"]}
            for stream in streams:
                self.assertLessEqual(list(stream.values()).count(None), 1)
                self.assertEqual({cable: drained for cable, drained in stream.items()
                                  if drained not in (None, cable in there)}, {}, seed)
            lab.close()
            lab = self.start()
            drained, = simlab.poll_until(self.followed, 60, "what is drained to be followed")
            self.assertEqual({name(d) for d in drained}, there, seed)
            self.kill(lab)

    def followed(self):
        drained = control.ask(self.cache, "drain", wait=30)["drained"]
        return (drained,) if all(d["state"] != "pending" for d in drained) else None


@unittest.skipIf(os.geteuid(), "only root can be others")
class Others(ControlCase):
    def test_refused(self):
        """By the socket's mode another user is refused, and also if the socket were open to all."""
        lab = self.start()
        path = control.path_of(self.cache)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        for folder in (self.cache, self.folder, *self.folder.parents):
            if not folder.stat().st_mode & 0o001:
                folder.chmod(folder.stat().st_mode | 0o011)
        ask = ("import socket; s = socket.socket(socket.AF_UNIX); s.connect('control'); "
               "print(s.recv(4096).decode())")

        def as_nobody():
            return subprocess.run(["python3", "-c", ask], cwd=path.parent, user=65534, group=65534,
                                  extra_groups=[], capture_output=True, text=True, check=False)

        self.assertIn("PermissionError", as_nobody().stderr)
        path.chmod(0o666)
        self.assertEqual(json.loads(as_nobody().stdout)["reason"],
                         "only root and the user of OpenSM may ask")
        path.chmod(0o600)
        command = self.folder / "portmajor"  # others may not enter the build folder of root
        shutil.copy(pmlab.CLI, command)
        done = subprocess.run([str(command), "undrain", "--all"], user=65534, group=65534,
                              extra_groups=[], capture_output=True, text=True, check=False,
                              env=dict(os.environ, OSM_CACHE_DIR=str(self.cache)))
        self.assertEqual(done.returncode, 3)
        self.assertIn("only root and the user of OpenSM may ask", done.stderr)
        self.sweeps_on(lab)

    def test_open_folder(self):
        """In a folder that others may write there is no socket, until it is mended."""
        lab = self.start()
        folder = control.path_of(self.cache).parent
        self.run_it("drain", "spine0:1")
        folder.chmod(0o777)
        lab.osm.wait_log("not saved: .*others may write it")
        simlab.poll_until(self.is_deaf, 60, "no socket")
        folder.chmod(0o755)
        simlab.poll_until(lambda: not self.is_deaf(), 60, "a socket")
        self.run_it("drain", "--wait", 60, "spine1:1")
        self.assertEqual(len(control.drained(self.cache)), 2)

    def test_socket_removed(self):
        """Removed by hand: there is another one after a HUP."""
        lab = self.start()
        control.path_of(self.cache).unlink()
        lab.osm.hup()
        simlab.poll_until(lambda: not self.is_deaf(), 60, "a socket")
        self.run_it("drain", "--wait", 60, "spine0:1")

    def is_deaf(self):
        try:
            Client(self.cache).close()
        except OSError as error:
            self.assertIn(error.errno, (errno.ECONNREFUSED, errno.ENOENT))
            return True
        return False


class Several(ControlCase):
    """Two OpenSMs on a machine, or none."""

    def test_two(self):
        """A master and a standby of a fabric: both get a drain, which the standby follows when
        it becomes the master."""
        lab = self.start()
        host = lab.netlist.hosts[-1]
        self.enterContext(pmlab.open_sm(
            self.fabric, host=host, cache_dir=self.cache, sweep_interval=2, conf={
                "sminfo_polling_timeout": 500, "polling_retry_number": 2}))
        folders = simlab.poll_until(lambda: len(list(self.cache.glob("*/control"))) == 2 and
                                    sorted(self.cache.glob("portmajor.*")), 60, "two sockets")
        simlab.poll_until(lambda: sorted(self.sm_state(f) for f in folders)
                          == ["master", "standby"], 60, "a standby")
        shown = self.run_it("drain", "-n", self.net, "--wait", 60, "spine0:1")
        self.assertEqual(shown.count("out      spine0:1"), 1)
        lists = [json.loads((folder / "requests").read_text())["drains"] for folder in folders]
        self.assertEqual([[(d["name"], d["port"]) for d in one] for one in lists],
                         [[("spine0", 1)]] * 2)
        lab.event("lose", "leaf3:9")
        self.run_it("acknowledge", "--all")  # the standby, which has none, gets no request
        passive, = [f for f in folders if self.sm_state(f) == "standby"]
        with unittest.mock.patch.object(control, "path_of", lambda _: passive / "control"):
            answer = control.ask(self.cache, "drain", parts=[part(self.guids["spine1"], 1)])
            self.assertEqual((answer["state"], answer["cause"]), (
                "pending", "OpenSM is not the master (standby): it follows as the master"))
            for kind in ("release", "rebalance"):
                answer = control.ask(self.cache, kind, all=True)
                self.assertEqual((answer["state"], answer["reason"]),
                                 ("refused", "OpenSM is not the master (standby)"))
            answer = control.ask(self.cache, "acknowledge", all=True)
            self.assertEqual((answer["state"], answer["reason"]),
                             ("refused", "OpenSM does not know what is missing"))
            lab.close()
            answer = control.ask(self.cache, "drain", parts=[part(self.guids["spine1"], 1)], wait=60)
            self.assertEqual([d["state"] for d in answer["drained"]], ["out", "out"])

    @staticmethod
    def sm_state(folder):
        path = folder / "state"
        return json.loads(path.read_text("utf-8"))["sm_state"] if path.exists() else ""

    def test_none(self):
        """Drains and acknowledgements can be given all the same, four at a time."""
        lab = self.start()
        lab.event("lose", "leaf3:9")
        self.kill(lab)
        self.assertTrue(stat.S_ISSOCK(control.path_of(self.cache).lstat().st_mode))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = [pool.submit(self.run_it, "drain", f"spine{i}:{i + 5}") for i in range(4)]
            for one in done:
                self.assertIn("OpenSM does not run: it follows when it starts", one.result())
        self.run_it("acknowledge", "leaf3:9")
        self.assertIn("no running OpenSM", self.run_it("rebalance", status=1))
        for operands in (), ("--all",), ("leaf0:5",):
            self.assertIn("no running OpenSM", self.run_it("release", *operands, status=1))
        self.assertEqual(len(control.drained(self.cache)), 4)
        self.start()
        self.assertEqual(self.run_it("drain", "--wait", 60).count("out "), 4)
        self.run_it("acknowledge", "--wait", 60)
        self.run_it("undrain", "--all", "--wait", 60)
        self.assertEqual(self.run_it("drain"), "none\n")


class Hangs(ControlCase):
    """An OpenSM that does not respond."""

    def test_no_answer(self):
        lab = self.start()
        lab.osm.process.send_signal(signal.SIGSTOP)
        try:
            said = self.run_it("release", "--wait", 1, "--all", status=3)
        finally:
            lab.osm.process.send_signal(signal.SIGCONT)
        self.assertRegex(said, r"control: no answer in 11 s, as OpenSM hangs or its disk does not "
                               r"answer: the request may be followed later$")


class Stopped(labtest.Folders):
    APART = True

    def test_foreign_file(self):
        """Without OpenSM, a file that others may have written is neither listed nor made trusted.
        """
        file = control.write(self.folder, drains=[control.drain(1, 1, "a")]) / "requests"
        target = file.with_name("target")
        content = file.read_bytes()

        def check(reason):
            for args in (("drain",), ("undrain", "--all")):
                done = subprocess.run([str(pmlab.CLI), *args], capture_output=True, text=True,
                                      env=dict(os.environ, OSM_CACHE_DIR=str(self.folder)),
                                      check=False, timeout=120)
                self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                self.assertIn(reason, done.stderr)
            self.assertEqual(file.read_bytes(), content)

        file.chmod(0o666)
        check("others may write it (mode 0666; chmod go-w it)")
        file.chmod(0o644)
        file.rename(target)
        file.symlink_to(target)
        check("a symbolic link, which is not followed")
        file.unlink()
        target.rename(file)
        for folder in (file.parent, self.folder):  # in which they can replace it
            mode = folder.stat().st_mode
            folder.chmod(0o777)
            check("others may write it (mode 0777")
            folder.chmod(mode)
        if os.geteuid():
            return
        os.chown(file, 65534, -1)
        check("it belongs to user 65534")
        os.chown(file.parent, 65534, -1)  # in a folder of root's: the user of OpenSM
        os.chown(self.folder, 0, -1)
        self.assertIn("a:1", subprocess.run([str(pmlab.CLI), "drain"], capture_output=True, text=True,
                                            env=dict(os.environ, OSM_CACHE_DIR=str(self.folder)),
                                            check=False, timeout=120).stdout)

    def test_killed(self):
        """OpenSM is killed while a command waits: it does not hang."""
        folder = control.write(self.folder)
        with socket.create_server(str(folder / "control"), family=socket.AF_UNIX) as server, \
                subprocess.Popen([str(pmlab.CLI), "drain"], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env=dict(os.environ, OSM_CACHE_DIR=str(self.folder))) as asked:
            with server.accept()[0] as connection:
                connection.recv(4096)
            said = asked.communicate(timeout=60)[0]
        self.assertEqual((asked.returncode, said), (
            3, f"portmajor: {folder}/control: OpenSM has ended without an answer: see portmajor "
               "status and its log\n"))

    def test_strange_state(self):
        """A state that is a FIFO, or has no end, does not delay a command."""
        file = control.write(self.folder, drains=[]) / "state"

        def check(reason):
            for args in (("drain",), ("undrain", "--all"), ("acknowledge",), ("release",),
                         ("rebalance",), ("status",)):
                done = subprocess.run(["sh", "-c", "ulimit -v 4000000; exec \"$0\" \"$@\"",
                                       str(pmlab.CLI), *args], capture_output=True, text=True,
                                      env=dict(os.environ, OSM_CACHE_DIR=str(self.folder)),
                                      check=False, timeout=60)
                self.assertNotIn("out of memory", done.stderr)
            self.assertIn(reason, done.stderr)

        os.mkfifo(file)
        check("a FIFO, not a file")
        file.unlink()
        with open(file, "w", encoding="ascii") as state:
            state.write('{"schema": "')
            state.truncate(30 << 30)
        check("longer than 256 MiB")


class Disk(ControlCase):
    """A full disk, and one that takes seconds: no refused request is in force, and all that was
    answered is on disk."""

    def faulty(self, **fault):
        self.room, self.calls = self.cache / "room", self.cache / "calls"
        return {"DISKFAULT_UNDER": str(self.cache), "DISKFAULT_NAME": "requests",
                "DISKFAULT_ROOM": str(self.room), "DISKFAULT_LOG": str(self.calls), **fault}

    def test_full(self):
        lab = self.start(preload=[str(LIBRARY)], env=self.faulty(
            DISKFAULT_AT="1", DISKFAULT_HOW=str(errno.ENOSPC)))
        with Client(self.cache) as client:
            answer = client.ask("drain", parts=[self.cable(0)])
            self.assertEqual(answer["state"], "refused")
            self.assertIn("No space left on device", answer["reason"])
            self.assertEqual(answer["drained"], [])
            self.assertFalse(pmlab.kept(self.cache, "requests").exists())
            self.room.touch()
            self.assertEqual(client.ask("drain", parts=[self.cable(1)], wait=60)["state"], "done")
        self.assertEqual(len(control.drained(self.cache)), 1)
        self.sweeps_on(lab)


if __name__ == "__main__":
    labtest.main()
