"""The tables of docs/performance.md, between two markers. Where a peer is better than FlameProbe by more than the spread of
both, its figure is bold."""

import datetime
import platform
from pathlib import Path

from figures_of_runs import ahead, spread
from profilers import machine
from rounds import NO_RESULT

BEGIN, END = "<!-- tests/bench/peers: begin -->", "<!-- tests/bench/peers: end -->"
HEADINGS = {
    "truth": "Truth: total variation distance to the known shares, per cent (0: true; 100: nothing is right)",
    "rooted": "CPU time on stacks that reach the thread's start, per cent of what the program uses alone",
    "cost": "Cost: beyond the program alone",
    "time": "Time to the picture, size, rendering",
    "waits": "Waiting",
    "memory": "Memory: bytes by where they were allocated",
}
OURS = "FlameProbe"
NOT_PEERS = (OURS, "FlameProbe, page", "by chance", "the interrupt alone")
AT_THE_END = NOT_PEERS[2:]


def cell(row, profiler, figures):
    values = figures.values[row].get(profiler)
    if not values:
        return "–"
    if row.unit != "%" and spread(values)[0] < 0:
        return "below the noise"  # nothing takes less than no time or room
    middle, low, high = map(row.shown, spread(values))
    text = middle if len(values) == 1 else f"{middle} ({low}–{high})"
    return f"**{text}**" if profiler not in NOT_PEERS and ahead(row, values, figures.values[row].get(OURS)) else text


def table(name, figures, columns):
    rows = figures.rows(name)
    others = [column for row in rows for column in figures.values[row] if column not in (*columns, *AT_THE_END)]
    columns = [column for column in dict.fromkeys([*columns, *others, *AT_THE_END]) if any(column in figures.values[row] for row in rows)]
    if not rows or not columns:
        return []
    runs = sorted({len(values) for row in rows for values in figures.values[row].values()})
    lines = [f"### {HEADINGS[name]}", "", f"| | {' | '.join(columns)} |", "|-" * (len(columns) + 1) + "|"]
    for row in rows:
        unit = "" if row.unit == "%" else f", {row.unit}"
        lines.append(f"| {row.name}{unit} | {' | '.join(cell(row, column, figures) for column in columns)} |")
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    return [*lines, "", f"{count} run{'' if count == '1' else 's'} of each.", ""]


def ahead_of_us(figures):
    """Every row in which a peer is better, in words."""
    lines = []
    for row, of_profiler in figures.values.items():
        best = [(profiler, values) for profiler, values in of_profiler.items()
                if profiler not in NOT_PEERS and ahead(row, values, of_profiler.get(OURS))]
        for profiler, values in best:
            lines.append(f"- {profiler}, {row.name} ({row.table}): {row.shown(spread(values)[0])} {row.unit}, "
                         f"FlameProbe {row.shown(spread(of_profiler[OURS])[0])}")
    return ["### Where a peer is ahead by more than the spread", "", *(lines or ["Nowhere in this run."]), ""]


def what_they_say(figures):
    """Of each profiler in how many programs it says something of what it missed, and the longest; and where it failed."""
    rows = list(figures.notes)
    lines = ["### What each says of what it missed", ""]
    for profiler in dict.fromkeys(name for row in rows for name in figures.notes[row]):
        told = {row: figures.notes[row].get(profiler) for row in rows if profiler in figures.notes[row]}
        failed = {row.name: text for row, text in told.items() if text.startswith(NO_RESULT)}
        asked = [row for row in told if row.name not in failed]
        says = {row.name: told[row] for row in asked if told[row]}
        example = max(says.items(), key=lambda item: len(item[1]), default=("", ""))
        lines.append(f"- {profiler}: " + (f"in {len(says)} of {len(asked)} programs, such as ({example[0]}) `{example[1][:160]}`" if says else "nothing")
                     + "".join(f"; {name}: {text[:120]}" for name, text in failed.items()))
    return [*lines, ""] if len(lines) > 2 else []


def today():
    return datetime.date.today().isoformat()


def whole(figures, columns, versions, absent, command):
    load = Path("/proc/loadavg").read_text().split()[0]
    lines = [f"{today()}, {machine()}, {platform.freedesktop_os_release().get('PRETTY_NAME', '')}, "
             f"load {load} at the end; `{command}`. Median and quartiles (of fewer than four runs: least and most); every "
             "round runs each profiler once, in turn, beside the program alone.", "",
             "Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".", ""]
    if absent:
        lines += ["Not here: " + "; ".join(f"{name} ({why})" for name, why in absent.items()) + ".", ""]
    for name in HEADINGS:
        lines += table(name, figures, columns)
    return "\n".join([*lines, *ahead_of_us(figures), *what_they_say(figures)])


def put_into(path, text):
    """Between the markers of a document; False where it has none."""
    old = path.read_text()
    if BEGIN not in old or END not in old:
        return False
    path.write_text(old[:old.index(BEGIN) + len(BEGIN)] + "\n" + text.rstrip() + "\n" + old[old.index(END):])
    return True
