"""The tables of docs/site/performance.md and docs/site/figures.md, between markers: what keeps FlameProbe from being best, and all rows.
Where a peer is better than FlameProbe by more than the spread of both, its figure is bold."""

import datetime
import platform
from pathlib import Path

from causes import CAUSES, cause_of
from figures_of_runs import ahead, spread
from rounds import NO_RESULT

MARKERS = {part: (f"<!-- tests/bench/peers: {part} -->", f"<!-- tests/bench/peers: end of {part} -->") for part in ("summary", "tables", "few")}
HEADINGS = {
    "truth": "Truth: total variation distance to the known shares, per cent (0: true; 100: nothing is right)",
    "rooted": "CPU time on stacks that reach the thread's start, per cent of what the program uses alone",
    "cost": "Cost: beyond the program alone",
    "time": "Time to the picture, size, rendering",
    "waits": "Waiting",
    "memory": "Memory: bytes by where they were allocated",
}
OURS = "FlameProbe"
NOT_PEERS = (OURS, "FlameProbe, page", "FlameProbe, no picture", "by chance", "the interrupt alone")
AT_THE_END = NOT_PEERS[1:]


def shown(row, values):
    """The median as it is written in a cell."""
    if row.unit != "%" and spread(values)[0] < 0:
        return "below the noise"  # nothing takes less than no time or room
    return row.shown(spread(values)[0])


def cell(row, profiler, figures):
    values = figures.of(row, profiler)
    if not values:
        return "–"
    text = shown(row, values)
    if len(values) > 1 and text[-1].isdigit():
        text = "{} ({}–{})".format(*map(row.shown, spread(values)))
    return f"**{text}**" if profiler not in NOT_PEERS and ahead(row, values, figures.of(row, OURS)) else text


def counted(numbers, what):
    low, high = min(numbers), max(numbers)
    return f"{low if low == high else f'{low} to {high}'} {what}{'' if high == 1 else 's'} of each"


def when(call):
    return call.begun + (f" to {call.ended.split()[-1]}" if call.ended else "") + (f", load {call.load}" if call.load else "")


def measured(rows, figures):
    """When, and how often; of the calls that gave fewer rows by name."""
    calls = {}
    for row in rows:
        calls.setdefault(figures.call_of[row], []).append(row)
    usual, *others = sorted(calls, key=lambda call: -len(calls[call]))
    runs = [len(values) for row in rows for values in figures.values.get(row, {}).values()]
    text = f"{counted(runs, 'run')}; {when(usual)}."
    for call in others:
        text += f" Measured {when(call)}: {' '.join(f'{row.name}.' for row in calls[call])}"
    return text


def table(name, figures, columns):
    rows = [row for row in figures.rows(name) if row in figures.values]
    others = [column for row in rows for column in figures.values[row] if column not in (*columns, *AT_THE_END)]
    columns = [column for column in dict.fromkeys([*columns, *others, *AT_THE_END]) if any(figures.of(row, column) for row in rows)]
    if not rows or not columns:
        return []
    lines = [f"### {HEADINGS[name]}", "", f"| | {' | '.join(columns)} |", "|-" * (len(columns) + 1) + "|"]
    for row in rows:
        unit = "" if row.unit == "%" else f", {row.unit}"
        lines.append(f"| {row.name}{unit} | {' | '.join(cell(row, column, figures) for column in columns)} |")
    return [*lines, "", measured(rows, figures), ""]


def letter(cause):
    return chr(ord("A") + CAUSES.index(cause)) if cause else "not explained"


def peers_ahead(figures):
    """{row: [peer that is better beyond the spread]}"""
    found = {}
    for name in HEADINGS:
        for row in figures.rows(name):
            best = [peer for peer, values in figures.values.get(row, {}).items() if peer not in NOT_PEERS
                    and ahead(row, values, figures.of(row, OURS))]
            if best:
                found[row] = best
    return found


def what_keeps_us(figures):
    """Each cause that applies, with the peers and the number of rows."""
    lines = []
    found = [(cause_of(row, peer), row, peer) for row, peers in peers_ahead(figures).items() for peer in peers]
    for cause in CAUSES:
        of = [(row, peer) for which, row, peer in found if which is cause]
        if of:
            rows = len({row for row, _ in of})
            peers = ", ".join(dict.fromkeys(peer for _, peer in of))
            lines.append(f"- {letter(cause)}: **{cause.what}** ({peers}; {rows} row{'' if rows == 1 else 's'}). {cause.why}")
    unknown = dict.fromkeys(f"{peer}, {row.name}" for which, row, peer in found if which is None)
    return [*lines, *(f"- Not explained: {what}." for what in unknown)] or ["Nowhere in these runs."]


def ahead_of_us(figures):
    """Every row in which a peer is better, with the letter of the cause."""
    found = peers_ahead(figures)
    if not found:
        return []
    lines = ["### Where a peer is ahead by more than the spread", "", "| | ahead | FlameProbe | cause in [performance.md](performance.md) |", "|-|-|-|-|"]
    for row, peers in found.items():
        ours, unit = shown(row, figures.of(row, OURS)), "" if row.unit == "%" else f", {row.unit}"
        causes = dict.fromkeys(cause_of(row, peer) for peer in peers)
        letters = ", ".join(map(letter, causes))
        lines.append(f"| {row.name}{unit} | {', '.join(f'{peer} {shown(row, figures.of(row, peer))}' for peer in peers)} | {ours} | {letters} |")
    return [*lines, ""]


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
        lines.append(f"- {profiler}: " + (f"in {len(says)} of {len(asked)} programs, such as ({example[0]}) `{example[1][:160]}`." if says else "nothing.")
                     + "".join(f" {name}: `{text[:120]}`." for name, text in failed.items()))
    return [*lines, ""] if len(lines) > 2 else []


def how(figures):
    """The machine, each call, and of each profiler the version and the command."""
    used = [call for call in figures.calls if call in figures.call_of.values()]
    profilers, absent = {}, {}
    for call in used:
        profilers |= call.profilers
        absent = {name: why for name, why in {**absent, **call.absent}.items() if name not in call.profilers}
    lines = ["### Versions, commands", "", "| | version | run as |", "|-|-|-|"]
    lines += [f"| {name} | {version} | `{command}` |" for name, (version, command) in profilers.items()]
    lines += [f"| {name} | not here | `{why}` |" for name, why in absent.items()]
    return [*lines, "", *(f"- {when(call)}: `{call.command}`" for call in used if call.command), ""]


def now():
    return datetime.datetime.now().strftime("%Y-%m-%d %H:%M")


def load():
    return Path("/proc/loadavg").read_text().split()[0]


def machines(figures):
    """Of all calls that gave a row."""
    of_calls = dict.fromkeys(call.machine for call in figures.call_of.values() if call.machine)
    return "; ".join(of_calls) + ", " + platform.freedesktop_os_release().get("PRETTY_NAME", "")


def whole(figures, columns):
    lines = ["Median and quartiles; of fewer than four runs the least and the most. "
             "Every round runs each profiler once, in turn, beside the program alone.", ""]
    for name in HEADINGS:
        lines += table(name, figures, columns)
    return "\n".join([*lines, *ahead_of_us(figures), *what_they_say(figures), *how(figures)])


def put_into(path, texts):
    """Each between its markers of a document; False where it has none."""
    page = path.read_text()
    for part, text in texts.items():
        begin, end = MARKERS[part]
        if begin not in page or end not in page:
            return False
        page = page[:page.index(begin) + len(begin)] + "\n" + text.rstrip() + "\n" + page[page.index(end):]
    path.write_text(page)
    return True
