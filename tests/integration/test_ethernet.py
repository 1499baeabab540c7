#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The walk-through of docs/vlan.md runs as it is written.

Blocks marked `sh` run in one bash, in namespaces of their own with an Open vSwitch; a block marked
`text` is the output of the one before it. Each command must end with status 0.
"""

import os
import re
import shutil
import subprocess
import unittest

import ethlab
import labtest
import pmlab

DOCUMENT = pmlab.ROOT / "docs" / "vlan.md"
HEADING = "A walk through, on one machine"
MARK = "==== block "

# /run is empty, and /proc and /sys are those of the namespaces; all of them end with the shell.
START = f"""set -e
mount -t tmpfs none /run
mount -t sysfs none /sys
ip link set lo up
mkdir -p "$OVS_RUNDIR"
ovsdb-tool create "$OVS_DBDIR/conf.db" {ethlab.SCHEMA}
ovsdb-server --remote=punix:"$OVS_RUNDIR/db.sock" --detach --pidfile --log-file
ovs-vsctl --no-wait init
ovs-vswitchd --disable-system --detach --pidfile --log-file
exec 2>&1
"""


def blocks():
    """(kind, text) of the blocks of the walk through."""
    text = DOCUMENT.read_text(encoding="utf-8")
    section = text[text.index(f"## {HEADING}\n"):].partition("\n## ")[0]
    return [(match[1], match[2])
            for match in re.finditer(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S)]


@unittest.skipUnless(shutil.which("ping"), "ping is not installed")
@unittest.skipIf(ethlab.missing(), str(ethlab.missing()))
class Walk(labtest.Folders):
    def test_commands(self):
        found = blocks()
        script = START + "".join(f"echo '{MARK}{number}'\n{text}" for number, (kind, text)
                                 in enumerate(found) if kind == "sh")
        folder = str(self.folder)
        environment = dict(os.environ, OVS_RUNDIR=f"{folder}/ovs", OVS_DBDIR=folder,
                           OVS_LOGDIR=folder, OVS_SYSCONFDIR=folder,
                           PATH=f"{pmlab.CLI.parent}:{os.environ['PATH']}")
        done = subprocess.run(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
             "bash"], input=script, capture_output=True, text=True, check=False, timeout=300,
            cwd=folder, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        printed = dict(part.split("\n", 1) for part in done.stdout.split(MARK)[1:])
        shown = {str(number - 1): text for number, (kind, text) in enumerate(found)
                 if kind == "text"}
        self.assertEqual(len(shown), 2)
        self.assertEqual({number: printed[number] for number in shown}, shown)
        self.check_frames(done.stdout)

    def check_frames(self, printed):
        """Each ping was in the VLAN that the text says."""
        counts = {name: int(number) for name, number in
                  re.findall(r"^(own|partner|group|popped|errors) +(\d+)$", printed, re.M)}
        for name in ("own", "partner", "popped"):
            self.assertGreaterEqual(counts[name], 3, name)
        self.assertGreaterEqual(counts["group"], 1)
        self.assertEqual(counts["errors"], 0)


if __name__ == "__main__":
    unittest.main()
