"""The documentation: its links lead somewhere, in the repository and in the site that mkdocs makes of it."""

import re
import subprocess
import sys
import unittest
from html.parser import HTMLParser

import forged
from harness import BUILD, ROOT, Case, run

sys.path.append(str(ROOT / "tools" / "site"))
import records  # noqa: E402

LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


def anchors_of(path):
    """As GitHub and mkdocs make them of headings."""
    headings = re.findall(r"(?m)^#+ (.*)$", CODE.sub(lambda m: m[0].strip("`") if "\n" not in m[0] else "", path.read_text()))
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append((tag, value))
            if name in ("id", "name") and value:
                self.ids.add(value)


class Documents(Case):
    def test_links_in_the_repository(self):
        done = run(["git", "-C", ROOT, "ls-files", "*.md"], self.directory)
        files = [ROOT / name for name in done.stdout.splitlines()] or sorted(ROOT.glob("docs/*.md"))
        bad = []
        for file in files:
            for target in LINK.findall(CODE.sub("", file.read_text())):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                there = (file.parent / path).resolve() if path else file
                if not there.exists():
                    bad.append(f"{file.relative_to(ROOT)}: {target}")
                elif anchor and there.suffix == ".md" and anchor not in anchors_of(there):
                    bad.append(f"{file.relative_to(ROOT)}: no heading for {target}")
        self.assertEqual(bad, [])


class Manuals(Case):
    def test_no_text_is_taken_for_a_macro(self):
        """A line that begins with a full stop or an apostrophe is a macro, and is left out where there is none of that name."""
        macro = re.compile(r"\.(TH|SH|SS|TP|PP|IP|B|I|BR|RB|IR|RI|BI|IB|br|nf|fi)( |$)")
        for path in sorted((ROOT / "docs" / "man").glob("*.1")):
            found = re.findall(r"(?m)^[.'].*$", path.read_text())
            self.assertGreater(len(found), 50)
            self.assertEqual([line for line in found if not macro.match(line)], [], path.name)


class Records(Case):
    """The site's tables of records are those by which a real profile can be read."""

    def setUp(self):
        super().setUp()
        self.items = {name: [kind for _, kind, _ in fields] for name, number, fields in records.tables() if not number}
        self.records = {number: [kind for _, kind, _ in fields] for _, number, fields in records.tables() if number}

    def behind(self, kind, data, at):
        """Where the next field begins."""
        if kind == "string":
            size, at = forged.read_varint(data, at)
            return at + size
        if kind == "varint":
            return forged.read_varint(data, at)[1]
        item = self.items["ThreadAccount"] if kind == "list of accounts" else kind.removeprefix("list of ").rstrip("s").split(", ")
        count, at = forged.read_varint(data, at)
        for one in item * count:
            at = self.behind(one, data, at)
        return at

    def extended(self, payloads):
        """(kind, bytes) of the extended records of some blocks."""
        for payload in payloads:
            at = 0
            while at < len(payload):
                head, at = forged.read_varint(payload, at)
                if head & 7 == 5:
                    size, at = forged.read_varint(payload, at)
                    yield head >> 3, payload[at:at + size]
                    at += size
                for _ in range({0: 2, 1: 0, 2: 1, 3: 1, 4: 3, 5: 0}[head & 7]):
                    at = forged.read_varint(payload, at)[1]

    def test_profiles_are_read_by_the_tables(self):
        data = ROOT / "tests" / "data"
        payloads = [payload for path in sorted((data / "kinds").glob("*.fprobe")) for _, payload in forged.blocks(path.read_bytes())]
        payloads.append((data / "fuzz" / "profile" / "every-record").read_bytes()[1:])  # its first byte is the fuzzer's
        seen = set()
        for kind, fields in self.extended(payloads):
            if kind in self.records:
                seen.add(kind)
                at = forged.read_varint(fields, 0)[1] if kind == 10 else 0  # an event begins with its id
                for field in self.records[kind]:
                    at = self.behind(field, fields, at)
                self.assertEqual(at, len(fields), f"record {kind}")
        self.assertEqual(seen, set(self.records))

    def test_kinds_of_mapping_and_notes(self):
        kinds, notes = records.values_of("MappingKind"), records.values_of("Note")
        self.assertEqual([name for _, name, _ in kinds], ["unknown", "kernel", "note", "scope", "file", "vdso", "anonymous"])
        self.assertEqual((notes[0][:2], notes[-1][:2]), ((0, "truncated"), (4, "overflow")))
        self.assertIn(f"number {len(notes)} has its text", (ROOT / "docs" / "formats.md").read_text())

    def test_each_kind_is_described(self):
        text = (ROOT / "docs" / "formats.md").read_text()
        for name, number in records.numbers().items():
            self.assertTrue(number in self.records or f"| {number} | {name}" in text, name)


class Site(Case):
    def setUp(self):
        super().setUp()
        self.need("mkdocs")
        self.output = self.directory / "site"
        # Debian's mkdocs belongs to Debian's python.
        done = subprocess.run(["/usr/bin/python3", ROOT / "tools" / "site" / "make", BUILD / "tools" / "site" / "settings-table",
                               self.output], capture_output=True, text=True, check=False, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_link_leads_somewhere_here(self):
        pages = {path: Page(path.read_text()) for path in self.output.rglob("*.html")}
        self.assertGreater(len(pages), 15)
        bad = []
        for path, page in pages.items():
            for tag, target in page.links:
                if re.match(r"(https?:)?//", target):
                    if tag != "a":  # the page would load it
                        bad.append(f"{path.name}: loads {target}")
                    continue
                if re.match(r"[a-z]+:", target) or path.name == "404.html":
                    continue
                file, _, anchor = target.partition("#")
                there = (path.parent / file.split("?")[0]).resolve() if file else path
                if not there.exists():
                    bad.append(f"{path.name}: {target}")
                elif anchor and there in pages and anchor not in pages[there].ids:
                    bad.append(f"{path.name}: no heading for {target}")
        self.assertEqual(bad, [])

    def test_every_setting_is_in_the_reference_and_the_manual(self):
        page = (self.output / "settings.html").read_text()
        found = set(re.findall(r"FLAMEPROBE_[A-Z_]+", page))
        self.assertGreater(len(found), 15)
        manual = (ROOT / "docs" / "man" / "flameprobe.1").read_text()
        self.assertEqual({name for name in found if name not in manual}, set())


if __name__ == "__main__":
    unittest.main()
