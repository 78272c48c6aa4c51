"""The data of an HTML page or of a live one, read as its script reads it (src/render/assets/page/data.js)."""

import base64
import json
import re
import zlib
from collections import Counter
from itertools import accumulate

NO_ROWS = (5, 6)  # threads, and what is no frame


def numbers(column):
    """Of seven bits a byte, the lowest first."""
    value = shift = 0
    for byte in column:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


class PageData:
    """packed: the texts of the page's data. hits and weight: of all counts; threads: {"name (tid)": weight}; functions: {name:
    [own weight, total]}, where a function that calls itself counts once."""

    def __init__(self, packed_facts, packed_columns):
        inflate = lambda text: zlib.decompress(base64.b64decode(text))
        self.facts, packed, at, parts = json.loads(inflate(packed_facts)), inflate(packed_columns), 0, {}
        for name, length in self.facts["parts"]:
            parts[name] = list(numbers(packed[at:at + length]))
            at += length
        self.weight, self.hits = sum(parts["weight"]), sum(parts.get("hits", parts["weight"]))
        names, (own, total) = self.facts["functions"]["name"], (Counter(), Counter())
        paths = [(self.facts["all"],)]  # of each box, the functions from the root on
        for levels, function in zip(parts["up"], parts["fn"]):
            paths.append((*paths[-1][:len(paths[-1]) - levels], function))
        self.threads, box = Counter(), 0
        for step, thread, weight in zip(parts["box"], parts["thread"], parts["weight"]):
            box += step
            if self.facts["threads"]:  # folded text has none
                tid, name = self.facts["threads"][thread][:2]
                self.threads[f"{name} ({tid})"] += weight
            own[names[paths[box][-1]]] += weight
            total.update(dict.fromkeys({names[of] for of in paths[box]}, weight))
        self.functions = {name: [own[name], total[name]] for name in total}
        self.rows = self.table(parts, paths)

    def table(self, parts, paths):
        """The rows of the table of functions, as the folded picture's page has them: {name: [own weight, total]} of names that only
        one row has."""
        facts, own, total = self.facts, Counter(), Counter()
        numbers = parts.get("row", [0] * (len(paths) - 1))
        rows = [[facts["all"]]]  # of each box's path
        for levels, function, row in zip(parts["up"], parts["fn"], numbers):
            rows.append([*rows[-1][:len(rows[-1]) - levels], facts["rows"][row - 1] if row else function])
        for box, weight in zip(accumulate(parts["box"]), parts["weight"]):
            own[rows[box][-1]] += weight
            total.update(dict.fromkeys(rows[box], weight))
        names, kinds = facts["functions"]["name"], facts["functions"]["kind"]
        of = {row: [own[row], own[row] if row in facts["leads"] else total[row]] for row in total if kinds[row] not in NO_ROWS}
        alike = Counter(names[row] for row in of)
        return {names[row]: sums for row, sums in of.items() if alike[names[row]] == 1 and sums[1] > 0}

    @staticmethod
    def of_page(html):
        part = lambda name: re.search(f'<script id="{name}" type="text/plain">([^<]*)</script>', html)[1]
        return PageData(part("profile"), part("columns"))
