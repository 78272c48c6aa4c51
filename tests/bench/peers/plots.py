"""The page of figures: index.html with a bar for each profiler in each row and the tables, and plots.png of the same bars."""

import html
import re
import shutil
import subprocess

from figures_of_runs import ahead, spread
from tables import HEADINGS, NOT_PEERS, OURS

WIDTH, COLUMNS, NAME, VALUE, BAR = 1400, 3, 150, 46, 13
COLUMN = WIDTH // COLUMNS
SCALE = COLUMN - NAME - VALUE - 30
OURS_COLOUR, PEER_COLOUR, AHEAD_COLOUR, CHANCE_COLOUR = "#d9622b", "#8899aa", "#2b6fd9", "#cccccc"
STYLE = "body{font:14px sans-serif;max-width:1400px;margin:24px auto;color:#222}table{border-collapse:collapse;margin:8px 0}" \
        "td,th{padding:2px 8px;border-bottom:1px solid #ddd;text-align:left}svg{max-width:100%}"


def text(x, y, words, **attributes):
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x}" y="{y}"{more}>{html.escape(words)}</text>'


def colour(row, name, of_profiler):
    if name == OURS:
        return OURS_COLOUR
    if name in NOT_PEERS:
        return CHANCE_COLOUR
    return AHEAD_COLOUR if ahead(row, of_profiler[name], of_profiler.get(OURS)) else PEER_COLOUR


def block(row, of_profiler, x, y):
    """(SVG, height) of a row: a bar to each median from nothing, and a line from quartile to quartile."""
    unit = "" if row.unit == "%" else f", {row.unit}"
    parts = [text(x, y + 12, row.name + (unit or ", %"), font_weight="bold")]
    ordered = sorted(filter(of_profiler.get, of_profiler), key=lambda name: (name != OURS, name in NOT_PEERS))
    spreads = {name: [max(0, value) for value in spread(of_profiler[name])] for name in ordered}
    most = max([high for _, _, high in spreads.values()] + [1e-12])
    for nth, (name, (middle, low, high)) in enumerate(spreads.items()):
        top = y + 18 + nth * BAR
        start, ends = x + NAME, [round(value / most * SCALE, 1) for value in (middle, low, high)]
        parts += [text(start - 6, top + 10, name[:24], text_anchor="end"),
                  f'<rect x="{start}" y="{top + 1}" width="{ends[0]}" height="{BAR - 4}" fill="{colour(row, name, of_profiler)}"/>',
                  f'<line x1="{start + ends[1]}" x2="{start + ends[2]}" y1="{top + 5.5}" y2="{top + 5.5}" stroke="#222"/>',
                  text(start + SCALE + 6, top + 10, row.shown(spread(of_profiler[name])[0]))]
    return "".join(parts), 26 + len(spreads) * BAR


def drawn(figures, title):
    """All rows, heading by heading, each block into the column that is shortest so far."""
    parts, y = [text(10, 24, title, font_size="15")], 36
    key = ((OURS_COLOUR, "FlameProbe"), (PEER_COLOUR, "a peer"), (AHEAD_COLOUR, "a peer that is ahead beyond the spread"),
           (CHANCE_COLOUR, "for comparison"))
    for nth, (fill, words) in enumerate(key):
        parts += [f'<rect x="{10 + nth * 240}" y="{y}" width="10" height="10" fill="{fill}"/>', text(25 + nth * 240, y + 9, words)]
    y += 20
    for name, heading in HEADINGS.items():
        rows = [row for row in figures.rows(name) if any(figures.values.get(row, {}).values())]
        if not rows:
            continue
        parts.append(text(10, y + 22, heading, font_size="15"))
        ends = [y + 32] * COLUMNS
        for row in rows:
            column = ends.index(min(ends))
            svg, height = block(row, figures.values[row], 10 + column * COLUMN, ends[column])
            parts.append(svg)
            ends[column] += height
        y = max(ends)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 10}" viewBox="0 0 {WIDTH} {y + 10}" '
            f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>')


def as_html(markdown):
    """What tables.py writes: headings, tables, lists, paragraphs, bold and code."""
    def inline(words):
        return re.sub(r"`(.+?)`", r"<code>\1</code>", re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(words, quote=False)))
    lines, in_table = [], False
    for line in markdown.splitlines():
        if in_table and not line.startswith("|"):
            lines.append("</table>")
        if line.startswith("|") and not in_table:
            lines.append("<table>")
        in_table = line.startswith("|")
        if in_table and not line.startswith("|-"):
            lines.append("<tr>" + "".join(f"<td>{inline(cell.strip())}</td>" for cell in line[1:-1].split("|")) + "</tr>")
        elif line.startswith("### "):
            lines.append(f"<h3>{inline(line[4:])}</h3>")
        elif line and not in_table:
            lines.append(f"<p>{inline(line)}</p>")
    return "\n".join(lines)


def write(figures, markdown, title, directory):
    svg = drawn(figures, title)
    (directory / "plots.svg").write_text(svg)
    (directory / "index.html").write_text(f'<!doctype html><meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
                                          f"<h2>FlameProbe beside other profilers</h2>{svg}{as_html(markdown)}")
    if converter := shutil.which("rsvg-convert"):
        subprocess.run([converter, directory / "plots.svg", "-o", directory / "plots.png"], check=True)
