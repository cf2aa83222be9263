#!/usr/bin/env python3
"""figure.py [DATA.csv]: draws docs/images/speed.svg, on standard output, from measurements in a file.

Each row of the data is a value with the ends of its range, and the page of the documentation that has it with the
command that measured it. tests/cli/docs_pages.py compares rows with pages, and the drawing with this program's output.
"""
import csv
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COLOURS = ["#1f77b4", "#a9cde8"]
WIDTH, HEIGHT, TOP, BOTTOM = 960, 420, 64, 380


def rows_of(path):
    with open(path, encoding="utf-8") as f:
        return list(csv.DictReader(f))


class Panel:
    """Horizontal bars, a group for each label and a bar for each series, on an axis that starts at 0."""

    def __init__(self, rows, left, width, axis, format_):
        self.rows, self.left, self.width, self.axis, self.format = rows, left, width, axis, format_
        self.most = max(float(r["high"]) for r in rows)
        self.out = []

    def x(self, value):
        return self.left + self.width * float(value) / self.most

    def text(self, x, y, text, anchor="start", size=12, extra=""):
        self.out.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{extra}>{text}</text>')

    def line(self, x1, y1, x2, y2, colour, width=1):
        self.out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
                        f'stroke-width="{width}"/>')

    def legend(self, title, series):
        self.text(self.left - 110, 24, title, size=14, extra=' font-weight="bold"')
        x = self.left - 110
        for colour, name in zip(COLOURS, series):
            self.out.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{colour}"/>')
            self.text(x + 17, 44, name)
            x += 40 + 7 * len(name)

    def draw(self, title):
        series = list(dict.fromkeys(r["series"] for r in self.rows))
        labels = list(dict.fromkeys(r["label"] for r in self.rows))
        self.legend(title, series)
        group = (BOTTOM - TOP) / len(labels)
        bar = min(22, group * 0.4)
        for at, label in enumerate(labels):
            y = TOP + group * at + (group - bar * len(series)) / 2
            self.text(self.left - 8, y + bar * len(series) / 2 + 4, label, "end")
            for name in series:
                for r in self.rows:
                    if (r["label"], r["series"]) == (label, name):
                        self.bar(r, y, bar, COLOURS[series.index(name)])
                y += bar
        for value in self.axis:
            self.line(self.x(value), BOTTOM, self.x(value), BOTTOM + 4, "#333")
            self.text(self.x(value), BOTTOM + 18, self.format(value), "middle", 11)
        self.line(self.left, TOP, self.left, BOTTOM, "#333")
        return self.out

    def bar(self, r, y, height, colour):
        self.out.append(f'<rect x="{self.left}" y="{y + 1:.1f}" width="{self.x(r["value"]) - self.left:.1f}" '
                        f'height="{height - 2:.1f}" fill="{colour}"/>')
        middle = y + height / 2
        self.line(self.x(r["low"]), middle, self.x(r["high"]), middle, "#333", 1.5)
        self.text(self.x(r["high"]) + 4, middle + 4, self.format(float(r["value"])), size=11)


def main():
    rows = rows_of(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "speed.csv"))
    workers = Panel([r for r in rows if r["panel"] == "workers"], 140, 260, [0, 1000, 2000], "{:,.0f}".format)
    core = Panel([r for r in rows if r["panel"] == "core"], 590, 300, [0, 0.5, 1, 1.5, 2], "{:.2f}".format)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" fill="#222">')
    print(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>')
    print("\n".join(workers.draw("fashion-cnn at batch 128: samples/s")))
    print("\n".join(core.draw("One core: times the speed of the peer")))
    core.out.clear()
    core.line(core.x(1), TOP, core.x(1), BOTTOM, "#c33", 1)
    print("\n".join(core.out))
    print("</svg>")


main()
