"""Every sentence of the documents, man pages and public headers has 25 words at most: sentences.py SOURCE-DIRECTORY. A code span,
and what a man page sets in bold, is one word. A cell of a table, an item of a list and a paragraph end a sentence too."""

import re
import sys
from pathlib import Path

LIMIT = 25
ROOT = Path(sys.argv[1])
# Not written as sentences: what a release brings, and reports that the bench wrote.
LEFT_OUT = ["CHANGELOG.md", *(f"docs/site/workflows/{name}.md" for name in ("engine", "forwarder", "http", "insert", "key-server"))]


class Pieces:
    """(line, text) of each paragraph, item and cell."""

    def __init__(self):
        self.all, self.begun, self.lines = [], 0, []

    def add(self, number, text):
        self.begun = self.begun if self.lines else number
        self.lines.append(text)

    def end(self):
        if self.lines:
            self.all.append((self.begun, " ".join(self.lines)))
        self.lines = []


def of_markdown(text):
    pieces, code = Pieces(), False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+(.*)", line)
        if code or item or not line.strip() or line.startswith(("#", "<!--", "|", "```")):
            pieces.end()
        if code or not line.strip() or line.startswith(("#", "<!--", "```")):
            continue
        for cell in re.split(r"(?<!\\)\|", line)[1:-1] if line.startswith("|") else [item[1] if item else line.strip()]:
            pieces.add(number, cell.strip())
            if line.startswith("|"):
                pieces.end()
    pieces.end()
    for number, piece in pieces.all:
        piece = re.sub(r"``.*?``|`[^`]*`", "code", re.sub(r"!\[[^\]]*\]\([^)]*\)", "", piece))
        piece = re.sub(r"\bcode(,? (?:and |or )?code\b)+", "code", piece)  # a list of names
        yield number, re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", piece).replace("**", "")


def of_man_page(text):
    pieces, code = Pieces(), False
    for number, line in enumerate(text.splitlines(), 1):
        macro = re.match(r"\.(\w+)\s*(.*)", line)
        if macro and macro[1] in ("nf", "fi"):
            code = macro[1] == "nf"
        if code or (macro and not re.fullmatch(r"[BIR]{1,2}", macro[1])):
            pieces.end()
        elif macro:
            word = re.sub(r'[\s"]|\\f.', "", macro[2])
            pieces.add(number, word)
        else:
            pieces.add(number, re.sub(r"\\f.", "", line))
    pieces.end()
    return pieces.all


def of_header(text):
    pieces = Pieces()
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.match(r"\s*(?://+|/\*+|\*(?!/))\s?(.*?)(\*/)?\s*$", line)
        if not comment or comment[2] is None and not comment[1]:
            pieces.end()
        else:
            pieces.add(number, re.sub(r"`[^`]*`", "code", comment[1]))
            if comment[2]:
                pieces.end()
    pieces.end()
    return pieces.all


def main():
    found = [(path, of_markdown) for folder in (".", "docs", "docs/decisions", "docs/site", "examples/ci", "tools/cargo")
             for path in (ROOT / folder).glob("*.md") if str(path.relative_to(ROOT)) not in LEFT_OUT]
    found += [(path, of_man_page) for path in (ROOT / "docs/man").glob("*.1")]
    found += [(path, of_header) for path in (ROOT / "include/flameprobe").glob("*.h*")]
    long, seen = [], 0
    for path, pieces_of in sorted(found):
        for number, piece in pieces_of(path.read_text()):
            for sentence in re.split(r"(?<=[.!?])[\"')\]]*\s+", piece):
                seen += 1
                words = sum(bool(re.search(r"\w", word)) for word in sentence.split())
                if words > LIMIT:
                    long.append(f"{path.relative_to(ROOT)}:{number}: {words} words: {sentence}")
    print("\n".join(long) or f"{seen} sentences")
    return 1 if long or seen < 2000 else 0


if __name__ == "__main__":
    sys.exit(main())
