#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every command of README.md and docs/guide.md runs, in its order, on a simulated fabric.

Blocks marked `sh` run line by line in bash, in folders that stand for those of the guide; blocks
marked `conf` are put into the file that their first line names. Lines with systemctl and kill are
done here, and so is the operator's manual work (`# pull`). Each command must end with status 0.
"""

import os
import re
import subprocess
import textwrap
import unittest

import labtest
import pmlab
import simlab

GUIDE = pmlab.ROOT / "docs" / "guide.md"
README = pmlab.ROOT / "README.md"
ACCEPTANCE = "Acceptance on real hardware"
CONF = "/etc/opensm/opensm.conf"


def sections(path):
    """{heading: text} of a document."""
    parts = re.split(r"^## (.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def blocks(text):
    """(kind, lines) of the fenced blocks."""
    for match in re.finditer(r"^( *)```(\w+)\n(.*?)^ *```$", text, re.M | re.S):
        yield match[2], textwrap.dedent(match[3]).splitlines()


class Sm(simlab.OpenSM):
    """OpenSM with the opensm.conf of a folder that stands for /."""

    def __init__(self, fabric, root, **kwargs):
        super().__init__(fabric, plugin_dir=pmlab.BUILD, preload=pmlab.preload(),
                         env=pmlab.sanitizer_env(),
                         cache_dir=root / "var/cache/opensm", **kwargs)
        self.root = root

    def _conf_lines(self):
        return (self.root / CONF[1:]).read_text(encoding="ascii").splitlines()

    def _log_file(self):
        return self.root / "var/log/opensm.0x0002c90300000001.log"

    def _start(self):
        self._log_file().unlink(missing_ok=True)
        super()._start()


class Commands(labtest.Folders):
    """Folders that stand for / and for the operator's working directory, and a fabric."""

    def setUp(self):
        self.root, self.home = self.folder / "root", self.folder / "home"
        for path in ("etc/opensm", "var/cache/opensm", "var/log",
                     "var/lib/prometheus/node-exporter"):
            (self.root / path).mkdir(parents=True)
            (self.root / "sm2" / path).mkdir(parents=True)
        self.home.mkdir()
        for name in ("monitoring", "scripts", "tests"):
            (self.home / name).symlink_to(pmlab.ROOT / name)
        (self.root / CONF[1:]).write_text(f"sweep_interval {simlab.SWEEP_INTERVAL_S}\n"
                                          "routing_engine minhop\n", encoding="ascii")
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 6, 4, 4, 1)
        self.fabric = self.enterContext(pmlab.Fabric(netlist))
        self.osm, self.restarts = None, []
        self.printed = []  # (line, its output) of each command
        self.addCleanup(self.stop)
        self.restart()

    def stop(self):
        if self.osm:
            self.osm.__exit__(None, None, None)
            self.osm = None

    def restart(self):
        self.stop()
        self.osm = Sm(self.fabric, self.root)
        self.osm.__enter__()
        self.osm.settle()
        self.restarts.append(self.osm.log())

    def configure(self, lines):
        """Puts `key value` lines into the file named by the block's comment."""
        path = self.root / lines[0].removeprefix("# /")
        old = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        keys = {line.split()[0] for line in lines[1:]}
        kept = [line for line in old if line.split()[0] not in keys]
        new = [re.sub(r" /(etc|var)/", rf" {self.root}/\1/", line) for line in lines[1:]]
        path.write_text("".join(f"{line}\n" for line in kept + new), encoding="ascii")

    def by_hand(self, what, target):
        """The operator's work at a cable's end or a node, until OpenSM has seen it."""
        mark = self.osm.mark()
        (self.fabric.lose if what in ("pull", "power off") else self.fabric.back)(target)
        self.osm.settle(mark)

    def run_line(self, line):
        if line == "systemctl restart opensm":
            return self.restart()
        if line == "systemctl kill -s KILL opensm":
            self.osm.process.kill()
            return self.osm.process.wait(30)
        if line == "kill -HUP $(pidof opensm)":
            mark = self.osm.mark()
            self.osm.hup()
            return self.osm.settle(mark)
        hand = re.fullmatch(r"# (pull|plug|power off|power on) (\S+)", line)
        if hand:
            return self.by_hand(*hand.groups())
        return self.printed.append((line, self.shell(self.stand_in(line))))

    def stand_in(self, line):
        """The command for these folders."""
        line = re.sub(r"(?<![\w.])/(etc|var)/", rf"{self.root}/\1/", line)
        # The script itself would build first.
        line = line.replace("scripts/record-sets ",
                            f"python3 {pmlab.ROOT}/tests/integration/record_sets.py ")
        line = re.sub("^portmajor-report ", "scripts/portmajor-report ", line)
        line = line.replace("portmajor preflight",
                            f"portmajor preflight -F {self.root}{CONF}")
        line = line.replace("scp ", "cp ").replace(f"sm2:{self.root}/", f"{self.root}/sm2/")
        if re.match(r"ib|sm|saquery|dump_fts", line):
            line = f"export LD_PRELOAD={simlab.UMAD2SIM}; {line}"
        return line

    def shell(self, line):
        env = {**os.environ, "SIM_HOST": "h1-1", "IBSIM_SOCKNAME": self.fabric.sockname,
               "OSM_CACHE_DIR": str(self.root / "var/cache/opensm"), "DESTDIR": str(self.root),
               "LD_LIBRARY_PATH": str(pmlab.BUILD),
               "PATH": f"{pmlab.BUILD}:{os.environ['PATH']}:/usr/sbin:/sbin"}
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], cwd=self.home, env=env,
                              capture_output=True, text=True, check=False, timeout=120,
                              errors="replace", stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return done.stdout

    def run_blocks(self, text):
        for kind, lines in blocks(text):
            if kind == "conf":
                self.configure(lines)
            elif kind == "sh":
                for line in lines:
                    with self.subTest(line):
                        self.run_line(line)

    def runs(self):
        """The output of lines with `run` of the log, in their order."""
        return [run for line, text in self.printed if "portmajor run" in line
                for run in pmlab.Run.find(text)]


class Guide(Commands):
    def test_every_command(self):
        for heading, text in sections(GUIDE).items():
            if heading != ACCEPTANCE:
                self.run_blocks(text)
        self.assertGreater(len(self.printed), 30)
        first, shadow, taken, migrate, moved, after, _, back = self.restarts
        self.assertEqual(pmlab.Run.find(shadow), [])
        self.assertNotIn("portmajor", first)
        outs = [pmlab.Run.find(log)[-1] for log in (taken, migrate, moved, after)]
        self.assertEqual([run.lids_changed for run in outs[:2]], [0, 0])
        self.assertGreater(outs[0].out_of_plan, 0)
        self.assertEqual(outs[1].out_of_plan, outs[0].out_of_plan)
        self.assertGreater(outs[2].lids_changed, 0)
        self.assertEqual((outs[3].lids_changed, outs[3].out_of_plan), (0, 0))
        self.assertNotIn("portmajor", back)


class Acceptance(Commands):
    """The guide's checklist ends as described."""

    def test_every_step(self):
        self.run_blocks(sections(GUIDE)[ACCEPTANCE])
        self.assertNotIn("portmajor", self.restarts[-1])
        printed = dict(self.printed)
        shadow, = (text for line, text in self.printed if "portmajor shadow" in line)
        self.assertIn("leaf0[5]", shadow)
        self.assertRegex(shadow, r"LFT blocks \d+ for this, \d+ to take over")
        runs = self.runs()
        self.assertGreaterEqual(len(runs), 6)
        self.assertEqual({run.lids_changed for run in runs}, {0})
        for run in runs:
            self.assertEqual(run.sent, run.acked)
        first = [run for run in runs if run.change == "first sweep as master: all tables written"]
        self.assertEqual(len(first), 3)  # taken over, restarted, killed
        self.assertEqual({(run.number, run.sent) for run in first}, {(1, run.full_load)})
        host, = (pmlab.Run.find(text) for line, text in self.printed
                 if re.search(r"^grep -h 'portmajor run' .* tail -n 2$", line))
        self.assertEqual([run.sent for run in host], [0, 0])
        self.assertIn("0 switches differ in 0 entries",
                      printed["portmajor diff running.fts restarted.fts"])
        self.assertIn("portmajor drain --wait 60 spine1", printed)
        repairs = [text for line, text in self.printed if "portmajor repair" in line]
        for text in repairs:
            self.assertRegex(text, "portmajor repair .* unanswered 0, ")


class Readme(Commands):
    """Its commands for operators, from building to the state before."""

    def stand_in(self, line):
        if line.startswith("apt-get install "):
            packages = line.removeprefix("apt-get install --no-install-recommends ")
            line = f"dpkg-query -W {packages}"
        elif line in ("scripts/demo", "scripts/test"):
            line = f"test -x {line}"  # one runs this, all tests run the other
        elif line.startswith("cmake --preset release"):
            line = f"cmake {pmlab.ROOT} --list-presets | grep -w release"
        elif line == "ldconfig":
            line = f"ldconfig -n {self.root}/usr/local/lib"
        return super().stand_in(line.replace("build/release", str(pmlab.BUILD)))

    def test_every_command(self):
        text = README.read_text(encoding="utf-8")
        self.run_blocks(text)
        self.assertGreater(len(self.printed), 15)
        taken, back = self.restarts[1:]
        self.assertEqual([run.lids_changed for run in pmlab.Run.find(taken)], [0])
        self.assertNotIn("portmajor", back)
        # No installed file remains.
        left = [path for path in self.root.rglob("*portmajor*")
                if not path.is_relative_to(self.root / "var")]
        self.assertEqual(left, [])


class Alarm(unittest.TestCase):
    def test_every_alert_has_a_row(self):
        text = sections(GUIDE)["Alarm at three: do 1, 2, 3"]
        alerts = (pmlab.ROOT / "monitoring" / "alerts.yml").read_text(encoding="ascii")
        rows = " ".join(re.findall(r"(?m)^\| (Portmajor[^|]*)\|", text))
        self.assertEqual(sorted(re.findall(r"Portmajor\w+", rows)),
                         sorted(re.findall(r"alert: (\w+)", alerts)))

    def test_findings_are_those_of_status(self):
        """A quote in a row stands in the command's source."""
        text = sections(GUIDE)["Alarm at three: do 1, 2, 3"]
        source = "".join((pmlab.ROOT / "src" / "cli" / "cmd" / name).read_text(encoding="ascii")
                         for name in ("state_findings.c", "missing_output.c", "unset_output.c",
                                      "check_now.c"))
        source += (pmlab.ROOT / "plugins/opensm/engine/engine_check.c").read_text(encoding="ascii")
        source = re.sub(r'"\s*(?:JSON_INTEGER_FORMAT\s*)?"', "", source)
        for row in re.findall(r"(?m)^\| Portmajor[^|]*\|([^|]*)\|", text):
            for finding in re.findall(r"`([^`]+)`", row):
                said = finding.split(" updn")[0].split(": leaf9")[0]
                for part in said.replace("its neighbours", "%s neighbours").split(".."):
                    self.assertIn(part.strip(), source)


class Length(unittest.TestCase):
    def test_readme(self):
        """Two to three screens of 50 lines."""
        self.assertLessEqual(len(README.read_text(encoding="utf-8").splitlines()), 150)


if __name__ == "__main__":
    unittest.main()
