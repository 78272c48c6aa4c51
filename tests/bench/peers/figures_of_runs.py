"""What was measured: every single value is kept, in OUTPUT/figures.jsonl, and rows are made of them. A call adds its rows to those of
earlier calls, each with the call's date; a row that is measured anew takes the place of the earlier one."""

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    table: str
    name: str
    unit: str  # "%": of 1; "ms", "us", "MB", "s": of seconds and bytes; "times"
    better: str = "less"  # or "more"; None: neither, the figure only tells

    def shown(self, value):
        factor, digits = {"%": (100, 1), "s": (1, 2), "ms": (1e3, 2), "us": (1e6, 1), "MB": (1e-6, 1), "kB/s": (1e-3, 1)}[self.unit]
        return f"{value * factor:.{digits}f}"


@dataclass(eq=False)
class Call:
    """One call of the command, of which all values of a row are."""

    begun: str = "on an earlier day"
    ended: str = ""
    load: str = ""
    command: str = ""
    machine: str = ""
    profilers: dict = field(default_factory=dict)  # name -> [version, how it is started]
    absent: dict = field(default_factory=dict)  # name -> why it is not here


class Figures:
    def __init__(self, path, call, earlier=False):
        """With `earlier` those of the file are kept."""
        self.values = defaultdict(lambda: defaultdict(list))  # row -> profiler -> values
        self.notes = defaultdict(dict)  # row -> profiler -> why there is no value, or what it says
        self.call_of, self.calls, self.listed, self.file = {}, [Call()], [], None
        for line in map(json.loads, path.read_text().splitlines() if earlier and path.exists() else []):
            self.read(line)
        self.calls.append(call)
        self.file = open(path, "a" if earlier else "w", encoding="utf-8")
        self.keep(call=vars(call))

    def read(self, line):
        if "call" in line:
            self.calls.append(Call(**line["call"]))
        elif "ended" in line:
            self.end(**line)
        else:
            row = Row(line["table"], line["row"], line["unit"], line["better"])
            self.add(row, line["profiler"], line["value"]) if "value" in line else self.note(row, line["profiler"], line["note"])

    def end(self, ended, load):
        self.calls[-1].ended, self.calls[-1].load = ended, load
        self.keep(ended=ended, load=load)

    def begins(self, row):
        """Whatever an earlier call said of the row is forgotten."""
        if self.call_of.get(row) is not self.calls[-1]:
            self.values.pop(row, None)
            self.notes.pop(row, None)
            self.call_of[row] = self.calls[-1]

    def add(self, row, profiler, value):
        self.begins(row)
        self.values[row][profiler].append(value)
        self.keep(row, profiler, value=value)

    def note(self, row, profiler, text):
        self.begins(row)
        self.notes[row][profiler] = text = " ".join(text.split())
        self.keep(row, profiler, note=text)

    def keep(self, row=None, profiler=None, **what):
        of = {} if row is None else {"table": row.table, "row": row.name, "unit": row.unit, "better": row.better, "profiler": profiler}
        if self.file is not None:
            print(json.dumps({**of, **what}, ensure_ascii=False), file=self.file, flush=True)

    def rows(self, table):
        """As the command lists them, whatever was measured first."""
        ordered = dict.fromkeys([*self.listed, *self.call_of])
        return [row for row in ordered if row.table == table and (self.values.get(row) or self.notes.get(row))]

    def profilers(self):
        return {name for of_row in self.values.values() for name in of_row}

    def of(self, row, profiler):
        return self.values[row].get(profiler, []) if row in self.values else []


def spread(values):
    """(median, lower quartile, upper quartile); of fewer than four values the least and the most."""
    middle = statistics.median(values)
    if len(values) < 4:
        return middle, min(values), max(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def ahead(row, theirs, ours):
    """Whether a peer is better than FlameProbe by more than the spread of both, which three runs at least have. Nothing costs less than
    nothing: that is noise of the machine. Shares of a profile that differ by a point more than that are the same picture."""
    if row.better is None or len(theirs or ()) < 3 or len(ours or ()) < 3:
        return False
    (_, low, high), (_, our_low, our_high) = (map(lambda value: max(0, value), spread(values)) for values in (theirs, ours))
    margin = 0.01 if row.table in ("truth", "rooted") else 0
    return high + margin < our_low if row.better == "less" else low - margin > our_high
