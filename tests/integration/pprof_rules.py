"""A pprof file, decoded without a library, and the rules it has to keep: those of profile.proto, of Parca
(pkg/normalizer/validate.go) and of Pyroscope (pkg/validation/validate.go, with its default limits)."""

import gzip
import re
from collections import Counter
from dataclasses import dataclass, field

LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
TYPE_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
MOST_LABELS = 30          # of a series
MOST_SAMPLE_LABELS = 100
MOST_NAME, MOST_VALUE = 1024, 2048
MOST_SERIES = 5000        # of a tenant


def fields(data):
    """[(field number, value)] of one message: an int, or bytes."""
    found, at = [], 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            found.append((key >> 3, varint()))
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            found.append((key >> 3, int.from_bytes(data[at:at + size], "little")))
            at += size
        elif kind == 2:
            size = varint()
            if at + size > len(data):
                raise ValueError("a field that is longer than its message")
            found.append((key >> 3, bytes(data[at:at + size])))
            at += size
        else:
            raise ValueError(f"wire type {kind}")
    return found


def packed(value):
    if isinstance(value, int):
        return [value]
    return [v for _, v in fields(b"".join(b"\x08" + part for part in varints(value)))]


def varints(data):
    begin = 0
    for at, byte in enumerate(data):
        if byte < 128:
            yield data[begin:at + 1]
            begin = at + 1


def one(message, number, default=0):
    values = [v for n, v in fields(message) if n == number]
    return values[-1] if values else default


def every(message, number):
    return [v for n, v in fields(message) if n == number]


@dataclass
class Sample:
    locations: list
    values: list
    labels: list  # (key, text or number)


@dataclass
class Pprof:
    strings: list
    types: list          # (type, unit)
    period_type: tuple
    period: int
    time: int
    duration: int
    default_type: str
    samples: list
    mappings: list       # dicts
    locations: list
    functions: list
    comments: list = field(default_factory=list)

    def names(self, sample):
        """Of its frames, root first; code without a name is [FILE]."""
        names = []
        for location in reversed(sample.locations):
            location = self.locations[location - 1]
            lines = [self.functions[function - 1]["name"] for function, _ in reversed(location["lines"])]
            file = self.mappings[location["mapping"] - 1]["file"] if location["mapping"] else ""
            names += lines or [f"[{file.rsplit('/')[-1]}]"]
        return names

    def total(self, type):
        at = [name for name, _ in self.types].index(type)
        return sum(sample.values[at] for sample in self.samples)


def read(path):
    with gzip.open(path) as file:
        return decode(file.read())


def decode(data):
    strings = [v.decode() for v in every(data, 6)]
    value_type = lambda message: (strings[one(message, 1)], strings[one(message, 2)])
    samples = []
    for message in every(data, 2):
        labels = [(strings[one(label, 1)], strings[one(label, 2)] or one(label, 3)) for label in every(message, 3)]
        samples.append(Sample([i for v in every(message, 1) for i in packed(v)],
                              [i for v in every(message, 2) for i in packed(v)], labels))
    mappings = [{"id": one(m, 1), "start": one(m, 2), "limit": one(m, 3), "file": strings[one(m, 5)],
                 "build_id": strings[one(m, 6)], "has_functions": bool(one(m, 7))} for m in every(data, 3)]
    locations = [{"id": one(m, 1), "mapping": one(m, 2), "address": one(m, 3),
                  "lines": [(one(line, 1), one(line, 2)) for line in every(m, 4)]} for m in every(data, 4)]
    functions = [{"id": one(m, 1), "name": strings[one(m, 2)], "file": strings[one(m, 4)]} for m in every(data, 5)]
    return Pprof(strings, [value_type(m) for m in every(data, 1)], value_type(one(data, 11, b"")), one(data, 12),
                 one(data, 9), one(data, 10), strings[one(data, 14)], samples, mappings, locations, functions,
                 [strings[v] for v in every(data, 13)])


def problems(profile):
    """What is wrong with it, a sentence each; threads one by one (label tid) are what a user asked for."""
    found = [*table_problems(profile), *type_problems(profile), *sample_problems(profile), *label_problems(profile)]
    if profile.strings[:1] != [""]:
        found.append("the first string is not empty")
    if any("command: " in comment for comment in profile.comments):  # made from a run
        if not 1.5e18 < profile.time < 1e19:
            found.append(f"time_nanos {profile.time} is no time of a run")
    return found


def table_problems(profile):
    for name in ("mappings", "locations", "functions"):
        ids = [entry["id"] for entry in getattr(profile, name)]
        if ids != list(range(1, len(ids) + 1)):
            yield f"ids of {name} are not 1 to {len(ids)} in order: {ids[:20]}"
    unused = set(range(1, len(profile.locations) + 1)) - {i for s in profile.samples for i in s.locations}
    if unused:
        yield f"locations that no sample has: {sorted(unused)[:10]}"
    for location in profile.locations:
        if location["mapping"] > len(profile.mappings):
            yield f"location {location['id']} has mapping {location['mapping']} of {len(profile.mappings)}"
        if any(not 0 < function <= len(profile.functions) for function, _ in location["lines"]):
            yield f"location {location['id']} has a function that is not there"
        if location["lines"]:
            continue
        mapping = profile.mappings[location["mapping"] - 1] if location["mapping"] else None
        if mapping is None or location["address"] == 0:
            yield f"location {location['id']} has neither a name nor what a name could be found by"
        elif mapping["has_functions"]:
            yield f"{mapping['file']} has_functions, but location {location['id']} has none"
        elif not mapping["start"] <= location["address"] < mapping["limit"]:
            yield f"location {location['id']} is outside of {mapping['file']}"
    for function in profile.functions:
        if function["name"].startswith("[unknown in ") and any(
                m["file"].endswith("/" + function["name"][12:-1]) and m["start"] for m in profile.mappings):
            yield f"code without a name is a function: {function['name']}"


def type_problems(profile):
    if not profile.types:
        yield "there is no sample type"
    for type, unit in [*profile.types, profile.period_type]:
        if not TYPE_NAME.fullmatch(type) or not TYPE_NAME.fullmatch(unit):
            yield f"{type!r} in {unit!r} is no type that an engine takes"
    if profile.default_type not in [type for type, _ in profile.types]:
        yield f"the default type {profile.default_type!r} is none of {profile.types}"


def sample_problems(profile):
    seen = set()
    for number, sample in enumerate(profile.samples):
        if len(sample.values) != len(profile.types):
            yield f"sample {number} has {len(sample.values)} values for {len(profile.types)} types"
        # Time that is known without a sample, such as [lost], has a count of 0.
        if not any(sample.values) or any(not 0 <= value < 1 << 63 for value in sample.values):
            yield f"sample {number} has a value that is none: {sample.values}"
        if not sample.locations or any(not 0 < i <= len(profile.locations) for i in sample.locations):
            yield f"sample {number} has locations that are not there"
        key = (tuple(sample.locations), tuple(sample.labels))
        if key in seen:
            yield f"sample {number} is there twice"
        seen.add(key)


def label_problems(profile):
    for number, sample in enumerate(profile.samples):
        keys = [key for key, _ in sample.labels]
        if len(keys) > min(MOST_LABELS, MOST_SAMPLE_LABELS) or len(set(keys)) != len(keys):
            yield f"sample {number} has labels {keys}"
        for key, value in sample.labels:
            own = key in ("thread", "tid", "scope")
            if not LABEL_NAME.fullmatch(key) or len(key) > MOST_NAME or (key.startswith("__") or key == "service_name"):
                yield f"sample {number}: {key!r} is no label of ours" if not own else f"sample {number}: {key!r}"
            if isinstance(value, str) and len(value.encode()) > MOST_VALUE:
                yield f"sample {number}: the value of {key} has {len(value)} characters"
    sets = Counter(tuple(s.labels) for s in profile.samples)
    asked_for = any(key == "tid" for labels in sets for key, _ in labels)
    if len(sets) > MOST_SERIES // 10 and not asked_for:
        yield f"{len(sets)} time series from one process"
