# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the measuring programs share: options, folders, progress, tables and their place in a
document."""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
import time

import pmlab
import real_fabrics
import simlab

STOCK_ENGINES = ("ftree", "updn", "minhop")
LEAVES = {648: 36, 5832: 324, 11664: 648}  # of a director fabric, by its hosts
DOCUMENT = pmlab.ROOT / "docs" / "fabrics.md"


# ---------------------------------------------------------------------- options

def make_parser(about, program=None):
    """A parser with the program's text as it is."""
    return argparse.ArgumentParser(prog=program, description=about,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def parse_rows(parser, only="fabrics with it in their name in the table"):
    """The options of a program with --update, and --only for some rows of its table."""
    parser.add_argument("--only", metavar="TEXT", default="", help=only)
    options = parser.parse_args()
    if options.only and options.update:
        parser.error("--update wants all rows of the table")
    return options


# ---------------------------------------------------------------------- running

def tell(text):
    """Reports the progress on stderr."""
    print(text, file=sys.stderr, flush=True)


class Progress:
    """The same with the time."""

    def __init__(self):
        self.start = time.monotonic()

    def __call__(self, text):
        tell(f"[{time.monotonic() - self.start:6.1f} s] {text}")


@contextlib.contextmanager
def folder_of(program, remove=True):
    """A folder for all that a program writes, and that OpenSM logs; it stays if something fails,
    or if it is not to be removed."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"portmajor-{program}-"))
    os.environ.update(SIMLAB_DIR=str(folder), SIMLAB_KEEP="1")
    try:
        yield folder
    except simlab.SimError as error:
        sys.exit(f"{program}: {error}\n{program}: FAILED; everything is kept in {folder}")
    if remove:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def director(hosts):
    """The netlist of a director fabric, in a folder of its own."""
    with pmlab.Folder() as folder:
        yield simlab.Netlist(pmlab.generate(folder / "fabric.net", "director", LEAVES[hosts]))


def write_netlist(source, path):
    """Writes what a source describes: arguments of `portmajor generate`, a function of
    odd_netlists, or one of real_fabrics."""
    if callable(source):
        source().write(path)
    elif isinstance(source, real_fabrics.Real):
        real_fabrics.write(source, path)
    else:
        pmlab.generate(path, *source)
    return path


def side_by_side(work, kinds, jobs=2):
    """[work(kind)] of each kind. Most of the time is spent in waiting until OpenSM is idle."""
    # Processes: simlab's children end with the thread that started them.
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, kind) for kind in kinds]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


# ----------------------------------------------------------------------- tables

def number(value, digits=None):
    return "-" if value is None else f"{value:,}" if digits is None else f"{value:,.{digits}f}"


def align(rows, texts, least=0):
    """The cells, as wide as the widest of their column; columns in `texts` to the left."""
    cells = [[number(cell) if isinstance(cell, int) else cell for cell in row] for row in rows]
    widths = [max(least, *map(len, column)) for column in zip(*cells)]
    return [[cell.ljust(width) if i in texts else cell.rjust(width)
             for i, (cell, width) in enumerate(zip(row, widths))] for row in cells]


def plain_table(rows, texts):
    return "\n".join("  ".join(row).rstrip() for row in align(rows, texts))


def markdown_table(rows, texts, aligned=True):
    """A table in Markdown, of its header and other rows."""
    header, *rows = align(rows, texts, 3) if aligned else rows
    widths = [len(cell) if aligned else 3 + (i not in texts) for i, cell in enumerate(header)]
    rule = ["-" * width if i in texts else "-" * (width - 1) + ":"
            for i, width in enumerate(widths)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, rule, *rows))


def update(mark, table, path=DOCUMENT):
    """Replaces the text between the lines with a mark."""
    begin, end = (f"<!-- {mark}: {word} -->\n" for word in ("begin", "end"))
    before, begun, rest = path.read_text(encoding="ascii").partition(begin)
    _, ended, after = rest.partition(end)
    if not begun or not ended:
        sys.exit(f"{path} has no lines with the mark {mark}")
    path.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="ascii")
