# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pictures for the report: SVG with colours of the page's style sheet, and pixels.

An SVG is as wide as a phone's screen, in CSS pixels, so that its text is as large there as
any; on wider ones several stand side by side. Series have the classes c0, c1, ...
"""

import base64
import math
import struct
import zlib

from markupsafe import Markup

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 336, 46, 12, 24, 38
SERIES = 6  # colours; then they come again, with other dashes
DASHES = ("", "6 3", "2 3", "8 3 2 3")


def series_class(i):
    return f"c{i % SERIES}"


def dash(i):
    pattern = DASHES[i // SERIES % len(DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def number(value):
    """A tick's text."""
    return f"{value:,.10g}"


class Axis:
    """From values to pixels: linear, log, or blocks (logarithmic, but has a 0)."""

    SCALES = {"linear": float, "log": math.log10, "blocks": lambda v: math.log10(1 + v)}

    def __init__(self, low, high, scale="linear"):
        self.low, self.high, self.name = low, high if high > low else low + 1, scale
        self.scale = self.SCALES[scale]
        self.start, self.end = 0.0, 1.0

    def over(self, start, end):
        """Gives it its pixels."""
        self.start, self.end = start, end
        return self

    def at(self, value):
        low, high = self.scale(self.low), self.scale(self.high)
        return self.start + (self.scale(value) - low) / (high - low) * (self.end - self.start)

    def ticks(self):
        if self.name == "blocks":
            powers = [10 ** n for n in range(0, 9)]
            return [0] + [power for power in powers if power <= self.high]
        if self.name == "log":
            return self.log_ticks()
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= next(m for m in (1, 2, 5, 10) if (self.high - self.low) / (m * step) <= 5)
        first = math.ceil(self.low / step)
        return [round(n * step, 10) for n in range(first, int(self.high / step + 1e-9) + 1)]

    def log_ticks(self):
        for of_decade in ((1, 2, 5), (1,)):
            ticks = [m * 10.0 ** n for n in range(-9, 12) for m in of_decade
                     if self.low <= m * 10.0 ** n <= self.high]
            if len(ticks) <= 7:
                break
        return ticks


def log_axis(values):
    """A logarithmic axis from the decade's part below to that above."""
    positive = [value for value in values if value > 0] or [1]
    return Axis(min(positive) / 1.3, max(positive) * 1.3, "log")


def draw(height, label, body):
    return Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
                  ).format(WIDTH, height, label, Markup("").join(body))


def text(x, y, words, anchor="start", extra=""):
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}">{}</text>').format(
        x, y, anchor, extra, words)


def grid_x(axis, top, bottom):
    for tick in axis.ticks():
        x = axis.at(tick)
        yield Markup(f'<path class="grid" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>')
        yield text(x, bottom + 15, number(tick), "middle")


def grid_y(axis, left, right):
    for tick in axis.ticks():
        y = axis.at(tick)
        yield Markup(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        yield text(left - 5, y + 4, number(tick), "end")


def path(points, i, extra=""):
    """A line through points in pixels."""
    if not points:
        return Markup("")
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return Markup(f'<polyline class="line {series_class(i)} {extra}" points="{told}"{dash(i)}/>')


def mark(x, y, i, hollow=False, size=3.0):
    return Markup(f'<circle class="{"hollow" if hollow else "dot"} {series_class(i)}" '
                  f'cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>')


def whisker(x, low, high, i):
    return Markup(f'<path class="line {series_class(i)}" d="M{x - 3:.1f} {low:.1f}h6m-3 0V'
                  f'{high:.1f}m-3 0h6"/>')


def plot(label, x_axis, y_axis, x_words, y_words, draw_body, height=230):
    """Axes, and what draw_body(x axis, y axis) yields within them."""
    x_axis.over(LEFT, WIDTH - RIGHT)
    y_axis.over(height - BOTTOM, TOP)
    body = [*grid_x(x_axis, TOP, height - BOTTOM), *grid_y(y_axis, LEFT, WIDTH - RIGHT),
            *draw_body(x_axis, y_axis), text(2, 12, y_words),
            text(WIDTH - RIGHT, height - 5, x_words, "end")]
    return draw(height, label, body)


def thin(points):
    """Drops points that no pixel tells apart."""
    kept = []
    for x, y in points:
        if len(kept) >= 2 and abs(kept[-2][0] - x) < 0.4 and abs(kept[-1][0] - x) < 0.4:
            kept[-1] = (x, y)
        elif not kept or abs(kept[-1][0] - x) + abs(kept[-1][1] - y) >= 0.1:
            kept.append((x, y))
    return kept


def steps(points):
    """A step after each point."""
    stairs = points[:1]
    for x, y in points[1:]:
        stairs += [(x, stairs[-1][1]), (x, y)]
    return stairs


# ------------------------------------------------------------------------- pixels

def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data +
            struct.pack(">I", zlib.crc32(kind + data)))


def pixels(rows, palette):
    """A data: URL of a PNG: rows of bytes, each the number of a colour (r, g, b, alpha)."""
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
           chunk(b"PLTE", b"".join(bytes(colour[:3]) for colour in palette)) +
           chunk(b"tRNS", bytes(colour[3] for colour in palette)) +
           chunk(b"IDAT", data) + chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


# --------------------------------------------------------------------------- rows

def draw_bars(label, groups, names):
    """For each (name, values) a bar for each value, with its number; None: no bar."""
    most = max((value or 0 for _, values in groups for value in values), default=0)
    axis = Axis(0, max(most, 1)).over(4, 280)  # a logarithm would belittle what is much
    body, y = [], 0
    for name, values in groups:
        y += 18
        body.append(text(4, y, name))
        y += 6
        for i, value in enumerate(values):
            width = max(axis.at(value or 0) - 4, 1)
            body.append(Markup(f'<rect class="{series_class(i)}" x="4" y="{y}" '
                               f'width="{width:.1f}" height="9"/>'))
            body.append(text(8 + width, y + 9, "-" if value is None else f"{value:,}",
                             extra="small"))
            y += 12
    assert len(names) <= SERIES
    return draw(y + 8, label, body)


def draw_strips(label, strips):
    """For each (name, [(value, share)] of several series) a row of marks, larger for more."""
    most = max((value for _, series in strips for values in series for value, _ in values),
               default=0)
    axis = Axis(0, 1.15 * max(most, 1), "blocks" if most > 100 else "linear")
    axis.over(10, WIDTH - 24)
    bottom = 46 * len(strips) + 6
    body = list(grid_x(axis, 4, bottom))
    for row, (name, series) in enumerate(strips):
        body.append(text(4, 46 * row + 16, name))
        for i, values in enumerate(series):
            body += [mark(axis.at(value), 46 * row + 27 + 10 * i, i, size=2.5 + 3 * share)
                     for value, share in values]
    return draw(bottom + 22, label, body)


def names_of(names):
    """A legend: (class, name)."""
    return [(series_class(i), name) for i, name in enumerate(names)]


def diagonal(start, end):
    return Markup(f'<path class="grid" d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} '
                  f'{end[1]:.1f}"/>')
