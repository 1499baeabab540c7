#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every command of docs/guide.md is run, in its order, on a simulated fabric.

Blocks marked `sh` are run line by line in bash, in folders that stand for those of the
guide; blocks marked `conf` are put into the file that their first line names. Lines with
systemctl and kill are done here. Each command must end with status 0.
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
CONF = "/etc/opensm/opensm.conf"


def blocks():
    """(kind, lines) of the fenced blocks of the guide."""
    text = GUIDE.read_text(encoding="utf-8")
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
        lines = (self.root / CONF[1:]).read_text(encoding="ascii").splitlines()
        return [line.replace(" /etc/", f" {self.root}/etc/") for line in lines]

    def _log_file(self):
        return self.root / "var/log/opensm.log"

    def _start(self):
        self._log_file().unlink(missing_ok=True)
        super()._start()


class Guide(labtest.Folders):
    def setUp(self):
        self.root, self.home = self.folder / "root", self.folder / "home"
        for path in ("etc/opensm", "var/cache/opensm", "var/log"):
            (self.root / path).mkdir(parents=True)
            (self.root / "sm2" / path).mkdir(parents=True)
        self.home.mkdir()
        (self.home / "scripts").symlink_to(pmlab.ROOT / "scripts")
        (self.root / CONF[1:]).write_text(f"sweep_interval {simlab.SWEEP_INTERVAL_S}\n"
                                          "routing_engine minhop\n", encoding="ascii")
        netlist = pmlab.generate(self.folder / "fabric.net", "two-level", 6, 4, 4, 1)
        self.fabric = self.enterContext(pmlab.Fabric(netlist))
        self.osm, self.ran, self.restarts = None, 0, []
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
        path.write_text("".join(f"{line}\n" for line in kept + lines[1:]), encoding="ascii")

    def run_line(self, line):
        if line == "systemctl restart opensm":
            return self.restart()
        if line == "kill -HUP $(pidof opensm)":
            mark = self.osm.mark()
            self.osm.hup()
            return self.osm.settle(mark)
        here = re.sub(r"(?<![\w.])/(etc|var)/", rf"{self.root}/\1/", line)
        # The script itself would build first.
        here = here.replace("scripts/record-sets ",
                            f"python3 {pmlab.ROOT}/tests/integration/record_sets.py ")
        here = here.replace("scp ", "cp ").replace(f"sm2:{self.root}/", f"{self.root}/sm2/")
        env = {**os.environ, "SIM_HOST": "h1-1", "IBSIM_SOCKNAME": self.fabric.sockname,
               "OSM_CACHE_DIR": str(self.root / "var/cache/opensm"),
               "PATH": f"{pmlab.BUILD}:{os.environ['PATH']}:/usr/sbin:/sbin"}
        if re.match(r"ib|sm|saquery", line):
            here = f"export LD_PRELOAD={simlab.UMAD2SIM}; {here}"
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {here}"], cwd=self.home, env=env,
                              capture_output=True, text=True, check=False, timeout=120,
                              errors="replace", stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return None

    def test_every_command(self):
        for kind, lines in blocks():
            if kind == "conf":
                self.configure(lines)
            elif kind == "sh":
                for line in lines:
                    with self.subTest(line):
                        self.run_line(line)
                        self.ran += 1
        self.assertGreater(self.ran, 30)
        first, shadow, taken, migrate, moved, after, back = self.restarts
        self.assertEqual(pmlab.Run.find(shadow), [])
        self.assertNotIn("portmajor", first)
        outs = [pmlab.Run.find(log)[-1] for log in (taken, migrate, moved, after)]
        self.assertEqual([run.moved for run in outs[:2]], [0, 0])
        self.assertGreater(outs[2].moved, 0)
        self.assertEqual((outs[3].moved, outs[3].out_of_plan), (0, 0))
        self.assertNotIn("portmajor", back)


if __name__ == "__main__":
    unittest.main()
