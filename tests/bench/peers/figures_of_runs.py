"""What was measured: every single value is kept, in OUTPUT/figures.jsonl, and rows are made of them."""

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    table: str
    name: str
    unit: str  # "%": of 1; "ms", "us", "MB", "s": of seconds and bytes; "times"
    better: str = "less"  # or "more"; None: neither, the figure only tells

    def shown(self, value):
        factor, digits = {"%": (100, 1), "s": (1, 2), "ms": (1e3, 2), "us": (1e6, 1), "MB": (1e-6, 1), "kB/s": (1e-3, 1)}[self.unit]
        return f"{value * factor:.{digits}f}"


class Figures:
    def __init__(self, path, earlier=False):
        """With `earlier` those of the file are kept."""
        self.values = defaultdict(lambda: defaultdict(list))  # row -> profiler -> values
        self.notes = defaultdict(dict)  # row -> profiler -> why there is no value, or what it says
        lines = path.read_text().splitlines() if earlier and path.exists() else []
        self.file = open(path, "w", encoding="utf-8")
        for line in map(json.loads, lines):
            row = Row(line["table"], line["row"], line["unit"], line["better"])
            self.add(row, line["profiler"], line["value"]) if "value" in line else self.note(row, line["profiler"], line["note"])

    def add(self, row, profiler, value):
        self.values[row][profiler].append(value)
        self.keep(row, profiler, value=value)

    def note(self, row, profiler, text):
        self.notes[row][profiler] = text = " ".join(text.split())
        self.keep(row, profiler, note=text)

    def keep(self, row, profiler, **what):
        print(json.dumps({"table": row.table, "row": row.name, "unit": row.unit, "better": row.better, "profiler": profiler, **what}, ensure_ascii=False),
              file=self.file, flush=True)

    def rows(self, table):
        return [row for row in dict.fromkeys([*self.values, *self.notes]) if row.table == table]


def spread(values):
    """(median, lower quartile, upper quartile); of fewer than four values the least and the most."""
    middle = statistics.median(values)
    if len(values) < 4:
        return middle, min(values), max(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def ahead(row, theirs, ours):
    """Whether a peer is better than FlameProbe by more than the spread of both, which three runs at least have."""
    if row.better is None or len(theirs or ()) < 3 or len(ours or ()) < 3:
        return False
    (_, low, high), (_, our_low, our_high) = spread(theirs), spread(ours)
    return high < our_low if row.better == "less" else low > our_high
