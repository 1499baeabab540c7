#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the measuring programs share: tables, their place in a document, and folders."""

import contextlib
import io
import os
import unittest
import unittest.mock

import labtest
import measuring
import simlab

ROWS = [["lost", "Sets"], ["cable", 1234], ["a host", "-"]]


class Measuring(labtest.Folders):
    def test_tables(self):
        self.assertEqual(measuring.plain_table(ROWS, (0,)),
                         "lost     Sets\ncable   1,234\na host      -")
        self.assertEqual(measuring.markdown_table(ROWS, (0,)),
                         "| lost   |  Sets |\n| ------ | ----: |\n"
                         "| cable  | 1,234 |\n| a host |     - |\n")
        self.assertEqual(measuring.markdown_table([["", "n"], ["a", "10"]], (0,), aligned=False),
                         "|  | n |\n| --- | ---: |\n| a | 10 |\n")

    def test_update(self):
        path = self.folder / "document.md"
        text = "one\n<!-- x: begin -->\n{}<!-- x: end -->\ntwo\n"
        path.write_text(text.format("old\n"), encoding="ascii")
        measuring.update("x", "| new |\n", path)
        self.assertEqual(path.read_text(encoding="ascii"), text.format("\n| new |\n\n"))
        with self.assertRaises(SystemExit):
            measuring.update("y", "| new |\n", path)
        self.assertIn("new", path.read_text(encoding="ascii"))

    def test_folder(self):
        """It stays if a measurement fails."""
        with unittest.mock.patch.dict(os.environ, {"TMPDIR": str(self.folder)}), \
                unittest.mock.patch("tempfile.tempdir", None):
            with measuring.folder_of("test") as folder:
                self.assertEqual(folder.parent, self.folder)
            self.assertFalse(folder.exists())
            with self.assertRaisesRegex(SystemExit, "^test: slow\ntest: FAILED; .* kept in /"), \
                    measuring.folder_of("test") as folder:
                raise simlab.SimError("slow")
            self.assertTrue(folder.exists())

    def test_options(self):
        parser = measuring.make_parser("about\n  it", "scripts/x")
        self.assertIn("about\n  it", parser.format_help())
        parser.add_argument("--update", action="store_true")
        told = io.StringIO()
        with unittest.mock.patch("sys.argv", ["x", "--update", "--only", "y"]), \
                contextlib.redirect_stderr(told), self.assertRaises(SystemExit):
            measuring.parse_rows(parser)
        self.assertIn("--update wants all rows", told.getvalue())


if __name__ == "__main__":
    labtest.main()
