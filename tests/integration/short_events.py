#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A few events in a small fabric, reported in JSON: for scripts/compatibility.

The counts are compared with each other and every pair is walked, as in scripts/demo. Then there are
multicast groups, and a link that carries them fails: "groups lost" and "groups back" have MFT Sets
instead of LFT Sets. With --refused the plugin in $PORTMAJOR_BUILD was built for another OpenSM than
$SIMLAB_OPENSM: prints its log, and the engine that routed. Exit status 1, with the reason on
stderr, if there is no result.
"""

import contextlib
import json
import os
import pathlib
import re
import sys
import tempfile

import demo
import mgroups
import pmlab
import simlab

# 18 switches, 143 hosts and a router. OpenSM runs on leaf0.
FABRIC = ("two-level", 12, 6, 12, 1)
ROUTER = "h9-2"
TARGETS = (
    ("cable", "leaf5:14", False),
    ("switch", "spine3", False),
    ("host", "h7-3", True),
    ("router", ROUTER, True),
)
UP_S = 30  # for --refused; otherwise it takes less than one

OPENSM = re.compile(r"-> OpenSM (\S+)$", re.M)
LOADED = re.compile(r"portmajor \S+: lid_order .*; portmajor built for OpenSM (\S+)$", re.M)
REFUSED = re.compile(r"(?:Error loading plugin 'portmajor': |portmajor: not loaded: )(.*)$", re.M)


def make_netlist(folder):
    path = pmlab.generate(folder / "fabric.net", *FABRIC)
    text, count = re.subn(rf'^\w+(?=\s+1\s+"{ROUTER}")', "rtguid=0x900000\nRt",
                          path.read_text(encoding="ascii"), flags=re.M)
    if count != 1:
        raise simlab.SimError(f"{ROUTER} is {count} times in the netlist")
    path.write_text(text, encoding="ascii")
    return path


def find(regex, log):
    """The match of a pattern in the log, or None."""
    line = regex.search(log)
    return line and line[1]


class Groups:
    """Multicast groups, tables read back and followed after each event."""

    ASKING, LEAVES = "h11-12", 11

    def __init__(self, lab):
        self.lab, self.rows = lab, []
        self.members = mgroups.Members(lab)
        for leaf in range(self.LEAVES):
            self.members.join(0, f"h{leaf}-1")
            self.members.join(1 + leaf, f"h{leaf}-4")
            self.members.join(1 + leaf, f"h{(leaf + 3) % self.LEAVES}-3")
        lab.osm.settle(lab.osm.mark(), sweep=False)

    def measure(self, name, action):
        """MFT Sets; a row of the results."""
        osm = self.lab.osm
        osm.wait_traps_aged()
        mark = osm.mark()
        action()
        osm.settle(mark)
        faults = self.members.faults(self.ASKING)[:1]
        if re.search(r"osm_mcast\w*: ERR|to be tried again", osm.log(mark.log_offset)):
            faults.append("the log has an error")
        self.rows.append({"name": name, "wire": osm.delta(mark).attr(mgroups.ATTR_MFT, "set"),
                          "whatif": 0, "faults": faults})
        return self.rows[-1]

    def run(self, folder):
        row = self.measure("sweep", self.lab.osm.hup)
        if row["wire"]:
            row["faults"].append(f"{row['wire']} MFT Sets where nothing has changed")
        link, _ = self.members.busiest(self.ASKING, "leaf5")
        foretold = json.loads(pmlab.run_cli(
            "whatif", "--json", "--no-loads", "-s", self.lab.osm.host, "--groups",
            self.members.write(folder / "groups"), self.lab.netlist.path, "--fail",
            link).stdout)["multicast"]["sets"]
        row = self.measure("groups lost", lambda: self.lab.fabric.lose(link))
        row["whatif"] = foretold
        if row["wire"] != foretold or not foretold:
            row["faults"].append(f"{row['wire']} MFT Sets, foretold {foretold}")
        self.measure("groups back", lambda: self.lab.fabric.back(link))
        return self.rows


def run_groups(folder, netlist):
    with pmlab.Lab(netlist) as lab:
        lab.bring_up()
        return Groups(lab).run(folder)


def run_events(folder):
    netlist = make_netlist(folder)
    rows = demo.run_portmajor(demo.Scene(netlist, TARGETS), lambda text: None)
    log = "".join(path.read_text(errors="replace") for path in folder.glob("*/opensm.log"))
    return {"opensm": find(OPENSM, log), "loaded": find(LOADED, log),
            "events": [{"name": row.name, "wire": row.event.wire,
                        "whatif": row.predicted and row.predicted.blocks,
                        "pairs": row.walked.get("delivered"), "faults": row.faults}
                       for row in rows] + run_groups(folder, netlist)}


def run_refused(folder):
    with pmlab.Fabric(make_netlist(folder)) as fabric, pmlab.open_sm(fabric) as osm:
        with contextlib.suppress(simlab.SimError):  # it may hang, or end
            osm.wait_subnet_up(timeout=UP_S)
        log = osm.log()
        return {"opensm": find(OPENSM, log), "loaded": find(LOADED, log),
                "refused": find(REFUSED, log + osm.stdout()), "engines": osm.engines_used()}


def main():
    run = run_refused if sys.argv[1:] == ["--refused"] else run_events
    with tempfile.TemporaryDirectory(prefix="portmajor-events-") as folder:
        os.environ.update(SIMLAB_DIR=folder, SIMLAB_KEEP="1")
        try:
            print(json.dumps(run(pathlib.Path(folder))))
        except (simlab.SimError, OSError) as error:
            sys.exit(f"short_events: {error}")


if __name__ == "__main__":
    main()
