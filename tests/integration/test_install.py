#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
CMake names what is missing, installs and uninstalls; the configuration in packages is sound; our
scripts start no services.
"""

import fcntl
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

import labtest
import pmlab

PACKAGING = pmlab.ROOT / "packaging"
SERVICE = "/lib/systemd/system/opensm@.service"
DROP_IN = "opensm@.service.d/portmajor.conf"


def run(*argv, **kwargs):
    return subprocess.run([str(word) for word in argv], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=pmlab.TIMEOUT_S,
                          **kwargs)


def must(*argv, **kwargs):
    done = run(*argv, **kwargs)
    if done.returncode:
        raise AssertionError(f"{argv[0]}: {done.returncode}\n{done.stdout}{done.stderr}"[-3000:])
    return done.stdout


def exec_starts(text):
    """The commands that a unit file or drop-in starts; the last one is the service's."""
    return re.findall(r"(?m)^ExecStart=(.*)$", text)


def cmake_version():
    text = (pmlab.ROOT / "CMakeLists.txt").read_text(encoding="ascii")
    return re.search(r"project\(portmajor VERSION ([\d.]+)", text)[1]


class Configured(labtest.Folders):
    """By CMake, in folders of their own."""

    def configure(self, *options):
        folder = self.folder / self.id().rpartition(".")[2]
        return folder, run("cmake", "-S", pmlab.ROOT, "-B", folder, *options)

    def test_no_tests(self):
        """CMake looks neither for cmocka nor for Python, and makes no tests."""
        folder, done = self.configure("-DBUILD_TESTING=OFF")
        self.assertEqual(done.returncode, 0, done.stderr)
        cache = (folder / "CMakeCache.txt").read_text(encoding="utf-8")
        self.assertEqual(re.findall("(?im)^(cmocka|osmcomp|python).*", cache), [])
        targets = must("cmake", "--build", folder, "--target", "help")
        self.assertIn("portmajor_plugin", targets)
        self.assertEqual(re.findall(r"test_|madcount|\bwire", targets), [])

    def test_missing(self):
        """All missing packages are named at once, with a command to install them."""
        nothing = ["-DCMAKE_FIND_ROOT_PATH=/nowhere", "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY",
                   "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY"]
        _, done = self.configure(*nothing)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("apt-get install libjansson-dev libevent-dev libopensm-dev libibumad-dev libcmocka-dev\n",
                      done.stderr)
        shutil.rmtree(self.folder / "test_missing")
        _, done = self.configure(*nothing, "-DBUILD_TESTING=OFF")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("apt-get install libjansson-dev libevent-dev libopensm-dev libibumad-dev\n", done.stderr)


class Installed(labtest.Folders):
    def manifest(self):
        """install_manifest.txt is in the build folder: an earlier one is restored."""
        path = pmlab.BUILD / "install_manifest.txt"
        before = path.read_bytes() if path.exists() else None
        self.addCleanup(lambda: path.unlink(missing_ok=True) if before is None
                        else path.write_bytes(before))
        return path

    def test_and_uninstalled(self):
        """With a prefix all files are below it; uninstalled, only earlier files are left."""
        manifest = self.manifest()
        prefix = self.folder / "prefix"
        theirs = prefix / "share" / "portmajor" / "mine"
        theirs.parent.mkdir(parents=True)
        theirs.write_text("", encoding="ascii")
        must("cmake", "--install", pmlab.BUILD, "--prefix", prefix)
        for line in manifest.read_text(encoding="utf-8").splitlines():
            self.assertTrue(line.startswith(f"{prefix}/"), line)
        there = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
        self.assertEqual(sum(path.endswith("/libportmajor.so") for path in there), 1, there)
        self.assertLessEqual({"share/doc/portmajor/guide.md", "share/doc/portmajor-lab/lab.md",
                              "share/doc/portmajor-vlan/vlan.md", f"share/portmajor/{DROP_IN}"},
                             there)
        for name in ("portmajor", "portmajor-lab", "portmajor-vlan"):
            self.assertLessEqual({f"share/bash-completion/completions/{name}", f"bin/{name}"},
                                 there)
        if (pmlab.BUILD / "man").is_dir():
            self.assertLessEqual({"share/man/man1/portmajor.1.gz",
                                  "share/man/man1/portmajor-whatif.1.gz",
                                  "share/man/man1/portmajor-lab-job.1.gz",
                                  "share/man/man8/portmajor-vlan.8.gz",
                                  "share/man/man5/portmajor.conf.5.gz"}, there)
        shown = must(prefix / "bin" / "portmajor", "-V")
        self.assertIn(f"portmajor {cmake_version()}", shown)
        # With the recordings that are installed beside it.
        self.assertRegex(must(prefix / "bin" / "portmajor-lab", "job", "shift:1:4K",
                              "leaf-spine-144", "--fail", "spine0", "--compare", "ftree"),
                         "(?m)^ftree ")
        self.assertIn("usage: portmajor-report",
                      must(prefix / "bin" / "portmajor-report", "--help"))
        must("cmake", "--build", pmlab.BUILD, "--target", "uninstall")
        left = [path for path in prefix.rglob("*") if not path.is_dir()]
        self.assertEqual(left, [theirs])
        self.assertEqual([str(path) for path in prefix.rglob("portmajor*") if path.is_dir()],
                         [str(theirs.parent)])


class Configuration(labtest.Folders):
    """The plugin and OpenSM read the files in /etc/portmajor."""

    def test_keys(self):
        """All keys of config.c, and they are sound when uncommented."""
        text = (PACKAGING / "portmajor.conf").read_text(encoding="ascii")
        source = (pmlab.ROOT / "src" / "files" / "config.c").read_text(encoding="ascii")
        keys = re.findall(r'\{"(\w+)", set_', source)
        self.assertEqual(sorted(re.findall(r"(?m)^#(\w+) ", text)), sorted(keys))
        own = self.folder / "portmajor.conf"
        own.write_text(re.sub(r"(?m)^#(?=\w)", "", text), encoding="ascii")
        conf = self.folder / "opensm.conf"
        opensm = (PACKAGING / "opensm.conf").read_text(encoding="ascii")
        self.assertIn("\nevent_plugin_options /etc/portmajor/portmajor.conf\n", opensm)
        conf.write_text(opensm.replace("/etc/portmajor/portmajor.conf", str(own)),
                        encoding="ascii")
        done = run(pmlab.CLI, "preflight", "-F", conf, env={
            **os.environ, "OSM_CACHE_DIR": str(self.folder), "LD_LIBRARY_PATH": str(pmlab.BUILD)})
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_drop_in(self):
        """It starts the command of opensm's own service, with -F."""
        own = exec_starts(pathlib.Path(SERVICE).read_text(encoding="ascii"))
        dropped = exec_starts(
            (PACKAGING / DROP_IN).read_text(encoding="ascii"))
        self.assertEqual(dropped, ["", own[-1].replace(
            "opensm ", "opensm -F /etc/portmajor/opensm.conf ", 1)])

    def test_restart(self):
        """Killed, it starts again, however often: five starts in 10 s would be too many."""
        text = (PACKAGING / DROP_IN).read_text(encoding="ascii")
        self.assertIn("\nRestart=on-failure\n", text)
        self.assertGreaterEqual(int(re.search(r"(?m)^RestartSec=(\d+)$", text)[1]), 3)


@unittest.skipUnless(shutil.which("rsync"), "no rsync here")
class Removal(labtest.Folders):
    """prerm of the Debian package, with another cache folder."""

    def setUp(self):
        self.cache = self.folder / self.id().rpartition(".")[2]
        text = (PACKAGING / "prerm").read_text("ascii")
        self.assertEqual(text.count("/var/cache/opensm"), 1)
        self.script = self.folder / "prerm"
        self.script.write_text(text.replace("/var/cache/opensm", str(self.cache)))
        self.locks = []
        for number in (1, 2):
            folder = self.cache / f"portmajor.{number:016x}"
            folder.mkdir(parents=True)
            self.locks.append(self.enterContext(open(folder / "lock", "w", encoding="ascii")))

    def remove(self, how="remove", typed=None, **env):
        """(exit status, messages); typed: an answer on a terminal."""
        env = {"PATH": os.environ["PATH"], **env}
        if typed is None:
            done = run("sh", self.script, how, env=env)
            return done.returncode, done.stderr
        ours, theirs = os.openpty()
        with subprocess.Popen(["sh", str(self.script), how], stdin=theirs, text=True, env=env,
                              stderr=subprocess.PIPE) as done:
            os.write(ours, typed.encode())
            said = done.communicate(timeout=60)[1]
        for end in (ours, theirs):
            os.close(end)
        return done.returncode, said

    def test_not_running(self):
        for typed in (None, "n\n"):
            self.assertEqual(self.remove(typed=typed), (0, ""))

    def test_running(self):
        """It asks first, and refuses without a terminal; never in an upgrade."""
        fcntl.flock(self.locks[1], fcntl.LOCK_EX)
        for typed, env, wanted in ((None, {}, 1), (None, {"PORTMAJOR_REMOVE": "yes"}, 0),
                                   ("\n", {}, 1), ("n\n", {}, 1), ("y\n", {}, 0),
                                   ("y\n", {"DEBIAN_FRONTEND": "noninteractive"}, 1)):
            with self.subTest(typed=typed, **env):
                status, said = self.remove(typed=typed, **env)
                self.assertEqual(status, wanted, said)
                self.assertIn("OpenSM runs with portmajor, on port 0x0000000000000002.", said)
                self.assertEqual("Not removed" in said, wanted == 1)
        self.assertEqual(self.remove("upgrade"), (0, ""))
        fcntl.flock(self.locks[1], fcntl.LOCK_UN)
        self.assertEqual(self.remove(), (0, ""))


class PlanCopies(labtest.Folders):
    """The timer's service, with a folder in the other machine's place."""

    def setUp(self):
        self.here, self.there = self.folder / "here", self.folder / "there"
        text = (PACKAGING / "plans" / "portmajor-plans@.service").read_text(encoding="ascii")
        command, = exec_starts(text.replace("\\\n", ""))
        self.command = [word.replace("/var/cache/opensm/", f"{self.here}/").replace(
            f"%i:{self.here}", str(self.there)) for word in shlex.split(command)]

    def put(self, root, path, text, age_s):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="ascii")
        os.utime(place, (1e9 - age_s, 1e9 - age_s))

    def test_plans_alone_and_none_older(self):
        own, other = ("portmajor.0002c9030000000" + digit for digit in "12")
        for name in ("plan", "drifting", "state", "holds", "plan.bad-1"):
            self.put(self.here, f"{own}/{name}", name, 10)
        self.put(self.here, "guid2lid", "not ours", 10)
        self.put(self.here, f"{other}/plan", "older", 20)
        self.put(self.there, f"{other}/plan", "newer", 10)
        must(*self.command)
        self.assertEqual({str(path.relative_to(self.there)): path.read_text(encoding="ascii")
                          for path in self.there.rglob("*") if path.is_file()},
                         {f"{own}/plan": "plan", f"{own}/drifting": "drifting",
                          f"{other}/plan": "newer"})
        self.assertEqual((self.there / own / "plan").stat().st_mtime, 1e9 - 10)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze here")
    def test_units_are_sound(self):
        units = self.folder / "units"
        units.mkdir()
        for kind in ("service", "timer"):
            shutil.copy(PACKAGING / "plans" / f"portmajor-plans@.{kind}",
                        units / f"portmajor-plans@sm-2.{kind}")
        done = run("systemd-analyze", "verify", "--recursive-errors=no",
                   *sorted(units.iterdir()))
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class WithoutServices(labtest.Folders):
    """scripts/without-services, with a folder in /usr/sbin's place."""

    def setUp(self):
        self.policy = self.folder / self.id().rpartition(".")[2] / "policy-rc.d"
        self.policy.parent.mkdir()

    def run_it(self, command):
        return run(pmlab.ROOT / "scripts" / "without-services", "sh", "-c", command,
                   env={**os.environ, "POLICY_RC_D": str(self.policy)})

    def check(self, status=0):
        """Services are forbidden meanwhile; the status is the command's."""
        done = self.run_it(f"{self.policy} opensm start; echo $?; exit {status}")
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("101\n", "", status))
        return sorted(path.name for path in self.policy.parent.iterdir())

    def test_none_before(self):
        for status in (0, 100):
            self.assertEqual(self.check(status), [])

    def test_another_before(self):
        self.policy.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
        self.policy.chmod(0o700)
        for status in (0, 100):
            self.assertEqual(self.check(status), ["policy-rc.d"])
            self.assertEqual(self.policy.read_text(encoding="ascii"), "#!/bin/sh\nexit 0\n")
            self.assertEqual(self.policy.stat().st_mode & 0o777, 0o700)

    def test_a_link_before(self):
        self.policy.symlink_to("nowhere")
        self.assertEqual(self.check(), ["policy-rc.d"])
        self.assertEqual(os.readlink(self.policy), "nowhere")

    def test_ended(self):
        done = self.run_it("kill $PPID")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(list(self.policy.parent.iterdir()), [])

    def test_after_one_that_was_killed(self):
        self.policy.write_text("mine\n", encoding="ascii")
        done = self.run_it("kill -9 $PPID")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.check(), ["policy-rc.d"])
        self.assertEqual(self.policy.read_text(encoding="ascii"), "mine\n")


class Scripts(labtest.Folders):
    """Scripts that use scripts/lib.sh, with another cmake."""

    def environment(self, commands):
        """With a cmake that does this."""
        tools = self.folder / self.id().rpartition(".")[2]
        tools.mkdir()
        cmake = tools / "cmake"
        cmake.write_text(f"#!/bin/sh\n{commands}\n", encoding="ascii")
        cmake.chmod(0o700)
        return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}

    def test_from_another_folder(self):
        """Paths are those of the caller."""
        done = run(pmlab.ROOT / "scripts" / "reproduce-paper", "circuits", "--figures", "fi gures",
                   cwd=self.folder, env=self.environment("exit 0"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(list((self.folder / "fi gures").glob("*.csv")))

    def test_one_after_the_other(self):
        """Two scripts at once do not write the same files."""
        env = self.environment(f"mkdir '{self.folder}/one' || exit 1\nsleep 0.3\n"
                               f"rmdir '{self.folder}/one'")
        started = [subprocess.Popen(
            ["sh", "-c", '. "$(dirname "$0")/lib.sh"; build_release',
             pmlab.ROOT / "scripts" / "demo"], env=env, stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True) for _ in range(3)]
        for process in started:
            errors = process.communicate(timeout=pmlab.TIMEOUT_S)[1]
            self.assertEqual((process.returncode, errors), (0, "== building\n"))


if __name__ == "__main__":
    labtest.main()
