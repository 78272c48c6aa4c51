"""docs/site/performance.md: the few rows by which a profiler is chosen, and why a peer is ahead where it is. Fewer are in the README."""

import statistics

from figures_of_runs import ahead
from tables import NOT_PEERS, OURS, machines, shown, what_keeps_us

NEAR = 0.05  # how much further from the truth than by chance is right all the same
MOST = 0.95  # of the CPU time on whole stacks
# What is measured in a way of its own stands in the column of the profiler.
COLUMN_OF = {"perf, sched_switch": "perf dwarf", "async-profiler, wall": "async-profiler dwarf", "gperftools, real time": "gperftools"}
# Of rows that the quick form has in another size whichever is there.
ROWS = (("cost", "C++ engine, 99 Hz, by its clock", "a C++ engine slowed at 99 Hz, %"),
        ("cost", "C++ engine, 997 Hz, by its clock", "a C++ engine slowed at 997 Hz, %"),
        ("cost", "C++ engine, 99 Hz, CPU time of all", "all CPU time added there at 99 Hz, with what is written at the end, %"),
        ("cost", "redis, 99 Hz, by its requests a second", "redis slowed at 99 Hz, %"),
        ("cost", "redis, 997 Hz, by its requests a second", "redis slowed at 997 Hz, %"),
        ("cost", "2,000 threads, 99 Hz, by their clock", "2,000 threads born at once slowed at 99 Hz, %"),
        ("cost", "start and end of `true`, with what it writes", "a run of `true`, added, ms"),
        ("cost", "C++ engine, 997 Hz, memory at most", "memory added, MB"),
        ("time", "a run of 20,000 samples: start, end and picture", "20,000 samples: start, end and picture, s"),
        ("waits", "distance to the known waits", "waiting time told wrong, %"))

# The README's columns, and how many of ROWS.
FEW_COLUMNS = {OURS: OURS, "perf dwarf": "perf", "samply": "samply", "async-profiler dwarf": "async-profiler", "gperftools": "gperftools"}
FEW = {name for _, name, _ in (ROWS[1], ROWS[2], ROWS[5], ROWS[6], ROWS[7])}

# What is counted, of how many programs, and whether more of them is better.
COUNTS = (("programs whose shares it tells right", True), ("programs whose stacks are whole", True),
          ("programs whose stacks are not whole, without a word of it", False))


def counts(figures, profiler):
    """For each of COUNTS in how many programs, of how many that have a figure."""
    asked = [row for row in figures.rows("truth") if figures.of(row, profiler)]
    rooted = {row: figures.of(of, profiler) for row in asked for of in figures.rows("rooted") if of.name == row.name}
    rooted = {row: statistics.median(values) for row, values in rooted.items() if values}

    def near(row):
        return statistics.median(figures.of(row, profiler)) <= statistics.median(figures.of(row, "by chance") or [0]) + NEAR

    def silent(row):
        return rooted[row] < MOST and not figures.notes.get(row, {}).get(profiler)
    return (sum(map(near, asked)), len(asked)), (sum(share >= MOST for share in rooted.values()), len(rooted)), \
        (sum(map(silent, rooted)), len(rooted))


def count_rows(figures, columns):
    of = {column: counts(figures, column) for column in columns}
    most = max((asked for found in of.values() for _, asked in found), default=0)
    if most == 0:
        return []
    lines = []
    for nth, (name, more_is_better) in enumerate(COUNTS):
        ours, cells = of[OURS][nth][0], []
        for found, asked in (counted[nth] for counted in of.values()):
            best = asked == most and (found > ours if more_is_better else found < ours)
            text = f"{found}" if asked == most else f"{found} of {asked}"
            cells.append("–" if asked == 0 else f"**{text}**" if best else text)
        lines.append(f"| {name}, of {most} | {' | '.join(cells)} |")
    return lines


def median(row, profiler, figures):
    values = figures.of(row, profiler)
    if not values:
        return "–"
    text = "≤ 0" if row.unit == "%" and statistics.median(values) < 0 else shown(row, values)
    return f"**{text}**" if profiler not in NOT_PEERS and ahead(row, values, figures.of(row, OURS)) else text


def cost_rows(figures, columns, only=None):
    lines = []
    for table, name, words in ROWS:
        if only and name not in only:
            continue
        row = next((row for row in figures.rows(table) if row.name == name and figures.of(row, OURS)), None)
        if row is None:
            continue
        cells = {column: "–" for column in columns}
        for profiler in figures.values[row]:
            cells[COLUMN_OF.get(profiler, profiler)] = median(row, profiler, figures)
        lines.append(f"| {words} | {' | '.join(cells[column] for column in columns)} |")
    return lines


def allocations(figures):
    """A table of its own: those who count allocations are other programs."""
    rows = figures.rows("memory")
    if not rows:
        return []
    columns = list(figures.values[rows[0]])
    lines = [f"| a program that only allocates | {' | '.join(columns)} |", "|-" * (len(columns) + 1) + "|"]
    for row in rows:
        lines.append(f"| {row.name}, % | {' | '.join(median(row, column, figures) for column in columns)} |")
    return [*lines, ""]


def few(figures):
    """The README's table."""
    lines = [f"| measured | {' | '.join(FEW_COLUMNS.values())} |", "|-" * (len(FEW_COLUMNS) + 1) + "|"]
    return "\n".join([*lines, *count_rows(figures, FEW_COLUMNS), *cost_rows(figures, FEW_COLUMNS, FEW)])


def days(figures):
    return " and ".join(sorted({call.begun.split()[0] for call in figures.call_of.values() if call.machine})) or "an earlier day"


def first_screen(figures, columns):
    lines = [f"Medians of {days(figures)}, {machines(figures)}. Bold: better than FlameProbe beyond the spread.", "",
             f"| | {' | '.join(columns)} |", "|-" * (len(columns) + 1) + "|"]
    lines += [*count_rows(figures, columns), *cost_rows(figures, columns), "", *allocations(figures),
              "### Where a peer is ahead, and what keeps FlameProbe from it", ""]
    return "\n".join([*lines, *what_keeps_us(figures)])
