#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Checks includes against the order of the folders: `include_order.py ROOT FOLDER...`, the folders of
src/ in their order. A file of one may include headers of itself and of its predecessors; the engine
and its command may include neither VLANs nor the laboratory. No two files of the tree may have the
same name.
"""
import collections
import pathlib
import re
import sys

from cycles import reach

LOCAL = re.compile(r'^\s*#\s*include\s*"(\w+)\.h"', re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*<portmajor/(?:(\w+)/)?(\w+\.h)>', re.M)


# What is no folder of the core, and the last one of those that it sees.
OTHERS = {"src/json": "fabric", "include/portmajor/json": "fabric", "src/cli": "memory",
          "plugins/opensm": "files", "plugins/vlan": "vlan"}
COMMANDS = ("src/cli", "src/lab/cli", "src/vlan/cli")
# Where JSON is spoken: the plugin and the commands.
SPEAKS_JSON = re.compile(r"^(src/(\w+/)?cli|src/json|plugins/opensm)/")


def check_order(root, folders):
    """Lines for includes of a later folder, or of an unknown one."""
    places = [(f"{top}/{folder}", folder) for folder in folders
              for top in ("src", "include/portmajor")]
    for place, last in (*places, *OTHERS.items()):
        seen = folders[:folders.index(last) + 1]
        for path in sorted((root / place).rglob("*.[ch]")):
            name = path.relative_to(root).as_posix()
            may = {*seen, "json"} if SPEAKS_JSON.match(name) else seen
            for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
                if match[1] not in may:
                    yield f"{name} includes {match[1]}/{match[2]}"


def check_names(root):
    """Lines for repeated names; a source and its header count as one."""
    places = collections.defaultdict(set)
    for top in ("src", "plugins", "include"):
        for path in (root / top).rglob("*.[ch]"):
            places[path.name].add(str(path.relative_to(root)))
    for name, paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"{name} stands several times: {', '.join(sorted(paths))}"


def check_circles(root):
    """Lines for the sources that include, over other files, a header that includes theirs."""
    for folder in COMMANDS:
        uses = collections.defaultdict(set)
        files = sorted(path for path in (root / folder).rglob("*.[ch]"))
        for path in files:
            uses[path.stem] |= {*LOCAL.findall(path.read_text(encoding="utf-8"))} - {path.stem}
        circle = [name for name in sorted(uses) if name in reach(name, uses)]
        if circle:
            yield f"{folder}: {', '.join(circle)} include each other in a circle"


def main():
    root, folders = pathlib.Path(sys.argv[1]), sys.argv[2:]
    wrong = [*check_order(root, folders), *check_names(root), *check_circles(root)]
    print("\n".join(wrong) or f"{len(folders)} folders in order")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
