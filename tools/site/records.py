#!/usr/bin/env python3
"""tools/site/records.py: the extended records of the `.fprobe`, and the kinds of mapping and note, as Markdown, from the code.

The order of fields is that of list_fields() in src/profile/record_fields.hpp. Types and meanings are those of the members and
their comments in src/profile (model.hpp, request_records.hpp) and src/base/regular_file.hpp. A field without a type or a record without a number is
an error: KeyError."""

import re
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"
FIELDS = SOURCES / "profile" / "record_fields.hpp"
STRUCTS = (SOURCES / "profile" / "model.hpp", SOURCES / "profile" / "request_records.hpp", SOURCES / "base" / "regular_file.hpp")
NUMBERS = SOURCES / "profile" / "format.hpp"
# The record of a structure that has a number; of others, where their fields stand.
RECORD_OF = {"RunInfo": "run", "Mapping": "mapping", "Summary": "summary", "Death": "death", "WorkCount": "count", "EventInfo": "event",
             "RequestTimes": "requests", "Passing": "passing"}
PART_OF = {"RunFact": "item of the lists `facts` and `labels` of a run", "ThreadAccount": "item of a summary's list `threads`",
           "ArchivedSymbol": "item of record 6, symbols"}
TYPES = {"std::string": "string", "bool": "varint", "MappingKind": "varint", "std::vector<std::uint64_t>": "list of varints",
         "std::vector<RunFact>": "list of string, string", "std::vector<ThreadAccount>": "list of accounts",
         "std::map<std::string, std::uint64_t>": "list of string, varint"}
MEMBER = re.compile(r"^    ((?:std::|[A-Z])[\w:<>, ]*|bool) (\w+)(?: = [^;]*)?;\s*(?://+ *(.*))?$")


def type_of(name):
    return TYPES.get(name) or ("varint" if name == "ThreadId" or re.fullmatch(r"std::uint\d+_t", name) else "")


def members_of(text):
    """{structure: {member: (type, meaning)}} of all structures of a header."""
    found = {}
    for name, body in re.findall(r"(?ms)^struct (\w+) \{$(.*?)^\};", text):
        before, last, members = [], None, found.setdefault(name, {})
        for line in body.splitlines():
            if above := re.match(r"    /// ?(.*)", line):
                before.append(above[1])
            elif member := MEMBER.match(line):
                last = member[2]
                members[last] = (member[1], " ".join([*before, member[3] or ""]).strip())
                before = []
            elif (more := re.match(r" +// ?(.*)", line)) and last:
                members[last] = (members[last][0], f"{members[last][1]} {more[1].strip()}")
            else:
                before, last = [], None
    return found


def order():
    """{structure: [field]}, a field of a member as `member.field`."""
    text = FIELDS.read_text()
    found = re.findall(r"(?ms)FieldsOf<(\w+)> Record>\nvoid list_fields\(Codec& field, Record& (\w+)\) \{(.*?)^\}", text)
    return {structure: [name.removeprefix(f"{record}.") for name in re.findall(r"field\(([\w.]+)\)", body)]
            for structure, record, body in found}


def numbers():
    """{record: its number}"""
    body = re.search(r"(?s)enum class ExtendedKind.*?\{(.*?)\};", NUMBERS.read_text())[1]
    return {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", body)}


def values_of(name):
    """[(number, name, meaning)] of an enumeration of model.hpp that counts from 0."""
    body = re.search(rf"(?ms)^enum class {name} .*?\{{$(.*?)^\}};", STRUCTS[0].read_text())[1]
    return [(number, *found) for number, found in enumerate(re.findall(r"^    (\w+),\s*// (.*)$", body, re.M))]


def rows(structure, fields, structures):
    for field in fields:
        name, _, part = field.partition(".")
        if name == "in_nanoseconds":  # a constant, no member
            yield name, "varint", re.search(r"in_nanoseconds = 1;  // (.*)", FIELDS.read_text())[1] + ": 1"
            continue
        kind, meaning = structures[structure][name]
        if part:
            inner, meaning = structures[kind][part]
            kind = inner
        if not type_of(kind):
            raise KeyError(f"{structure}.{field}: no type for {kind}")
        yield field, type_of(kind), meaning


def tables():
    """[(structure, its record's number or 0, [(field, type, meaning)])], records first."""
    structures, number_of = {}, numbers()
    for path in STRUCTS:
        structures |= members_of(path.read_text())
    found = [(structure, number_of[RECORD_OF[structure]] if structure in RECORD_OF else 0, [*rows(structure, fields, structures)])
             for structure, fields in order().items()]
    return sorted(found, key=lambda table: (table[1] == 0, table[1]))


def page():
    lines = ["# Records of the `.fprobe`", "",
             "The fields of extended records, and the kinds of mapping and note, made by `tools/site/records.py` of the code. "
             "How a record is written, and those that begin with an id: [formats](formats.md#extended-records).", ""]
    for structure, number, fields in tables():
        lines += [f"## {number}: {RECORD_OF[structure]}", ""] if number else [f"## {structure}", "", f"An {PART_OF[structure]}.", ""]
        lines += ["| field | type | meaning |", "|---|---|---|"]
        lines += ["| `{}` | {} | {} |".format(name, kind, meaning.replace("|", "\\|")) for name, kind, meaning in fields]
        lines.append("")
    for name, heading in (("MappingKind", "Kinds of mapping"), ("Note", "Notes")):
        lines += [f"## {heading}", "", "| number | name | meaning |", "|---|---|---|"]
        lines += [f"| {number} | {value} | {meaning.replace('Location::address', 'the location')} |" for number, value, meaning in values_of(name)]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page())
