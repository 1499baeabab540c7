# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Numbers and names in the report's form, and tables of them."""

import collections
import re

DIGITS = re.compile(r"^(.*?)(\d+)(\D*)$", re.DOTALL)
LABEL = re.compile(r".* \(0x[0-9a-f]{16}\)", re.DOTALL)


def label_of(thing):
    """The text for a named part: with its GUID, if others have the same name."""
    return thing.get("label", thing["name"])


def visible(text):
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))


def count(number):
    return "-" if number is None else f"{number:,}"


def plural(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def decimal(number, places=1):
    return "-" if number is None else f"{number:,.{places}f}"


def table(name, heads, rows, words=(), first=True):
    """For the template: `words` are the columns of text; `first`: the first one names a row.

    Any cell that is not a string is a number.
    """
    return {"name": name, "heads": heads, "words": {0, *words} if first else set(words),
            "rows": [[cell if isinstance(cell, str) else count(cell) for cell in row]
                     for row in rows]}


def shorten(names):
    """Names in Slurm's form: h0-[1-18], h3-7."""
    stems = collections.defaultdict(list)
    for name in names:
        match = None if LABEL.fullmatch(name) else DIGITS.match(name)
        if match:
            stem, digits, end = match.groups()
            padded = len(digits) if digits.startswith("0") else 0
            stems[stem, end, padded].append(int(digits))
        else:
            stems[name, "", None].append(None)
    return ", ".join(shorten_stem(*key, numbers) for key, numbers in stems.items())


def shorten_stem(stem, end, padded, numbers):
    if padded is None:
        return stem
    runs = []
    for n in sorted(set(numbers)):
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    told = ",".join(f"{low:0{padded}}" if low == high else f"{low:0{padded}}-{high:0{padded}}"
                    for low, high in runs)
    return f"{stem}[{told}]{end}" if len(runs) > 1 or runs[0][0] != runs[0][1] else \
        f"{stem}{told}{end}"
