#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fails if ctest's log has a test that was skipped for a reason that is not allowed.

    skips.py LOG ALLOWED

ALLOWED has a reason in each line, and comments after #.
"""

import pathlib
import re
import sys


def main():
    log, allowed = (pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
                    for path in sys.argv[1:])
    reasons = {line.partition("#")[0].strip() for line in allowed.splitlines()}
    # unittest's line about one test, or ctest's about a whole one. The test's output may come in
    # between.
    skipped = re.findall(r"(?m)(?:^|\.\.\. )skipped (['\"])(.*)\1$", log)
    found = sorted({reason for _, reason in skipped} - reasons)
    found += re.findall(r"(?m)^Test (?:Skipped|Not Run)\b.*$", log)
    for reason in found:
        print(f"skipped: {reason}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
