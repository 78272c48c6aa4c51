"""Every number that appears twice is the same number: samples, weights and CPU time in folded text, JSON, SVG, pprof, the other
formats, the provenance, footers, --info, --top and what `run` says, of the whole and of each function; and each thread's row adds up to its CPU clock. At a frequency above the kernel's tick a
timer's sample stands for several periods, so that samples and weights cannot be mistaken for each other."""

import html as html_module
import json
import re
import sys
import unittest
from collections import Counter

import pprof_rules
from harness import COMMAND, ENGINES, Case, host, ordinary_user, profiled, render, run, stolen_ns, stolen_seconds, target
from page_data import PageData

FORMATS = "folded,svg,pprof,json,speedscope,firefox"
NOTES = {"[lost]": "lost_ns", "[kernel, not permitted]": "not_permitted_ns", "[throttled]": "throttled_ns"}
TOO_BRIEF = "[not sampled]"


def number(text):
    return int(text.replace(",", ""))


def plain(name):
    return re.sub(r"_\[[kiw]\]$", "", name)


def duration(ns):
    """As src/render/text.cpp writes it, below two minutes."""
    if ns == 0:
        return "0 s"
    for unit, factor, digits in (("µs", 1e6, 1), ("ms", 1e3, 1), ("s", 1, 2)):
        if ns / 1e9 * factor < 1e3 or unit == "s":
            text = f"{ns / 1e9 * factor:.{digits}f}"
            return f"{text.rstrip('0').rstrip('.')} {unit}"


def percent(part, whole):
    share = 100 * part / whole
    return "<0.01 %" if 0 < share < 0.005 else ">99.99 %" if 99.995 <= share < 100 else f"{share:.2f} %"


def labelled(text):
    """The lines `label: value` of --info, and of the provenance."""
    lines = [line.partition(":") for line in text.splitlines()]
    return {label: value.strip() for label, _, value in lines}


def svg_footer(svg):
    """{label: text} of the lines below the frames."""
    rows = re.findall(r'<text class="key"[^>]*>([^<]*)</text>\n<text class="fact"[^>]*>(.*?)</text>', svg)
    return {label: html_module.unescape(" ".join(re.findall(r"<tspan[^>]*>([^<]*)</tspan>", text))) for label, text in rows}


def page_footer(html):
    return {label: html_module.unescape(text) for label, text in re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", html)}


def speedscope_functions(file):
    """{function: (own, total) nanoseconds}; a function that calls itself counts once."""
    own, total, names = Counter(), Counter(), [plain(frame["name"]) for frame in file["shared"]["frames"]]
    for profile in file["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"]):
            own[names[stack[-1]]] += weight
            total.update(dict.fromkeys({names[frame] for frame in stack}, weight))
    return {name: (own[name], total[name]) for name in total}


def firefox_functions(file):
    """{function: (own, total) nanoseconds, to a microsecond}."""
    shared, own, total = file["shared"], Counter(), Counter()
    stacks, names, functions = shared["stackTable"], shared["stringArray"], shared["funcTable"]["name"]
    for thread in file["threads"]:
        for at, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            stack = []
            while at is not None:
                stack.append(plain(names[functions[shared["frameTable"]["func"][stacks["frame"][at]]]]))
                at = at - stacks["prefixOffset"][at] if stacks["prefixOffset"][at] else None
            own[stack[0]] += weight
            total.update(dict.fromkeys(stack, weight))
    return {name: (own[name] * 1e6, total[name] * 1e6) for name in total}


def otlp_functions(file):
    """The same of OTLP's JSON, to the nanosecond."""
    words, own, total = file["dictionary"], Counter(), Counter()
    name = lambda of: plain(words["stringTable"][words["functionTable"][of["functionIndex"]]["nameStrindex"]])
    frames = lambda at: list(map(name, words["locationTable"][at].get("lines", []))) or [None]  # an address alone
    profile = file["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]
    for sample in profile["samples"]:
        stack = [frame for at in words["stackTable"][sample["stackIndex"]]["locationIndices"] for frame in frames(at)]
        value = sum(map(int, sample["values"]))
        own[stack[0]] += value
        total.update(dict.fromkeys(stack, value))
    return {one: (own[one], total[one]) for one in total}


class Totals(Case):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.stolen = stolen_seconds()

    def check_totals(self, result):
        told = json.loads(result.path("json").read_text())
        samples, period = told["samples"], told["sampling"]["period_ns"]
        weight = told["stack_ns"]
        # Folded text counts periods.
        self.assertLessEqual(abs(sum(count for _, count in result.stacks()) * period - weight), (period + 1) // 2)
        notes = Counter({row["name"]: row["self_ns"] for row in told["functions"]})
        # Sampled and unsampled time add up to all CPU time.
        sampled = told["cpu_time"]["sampled_ns"]
        self.assertEqual(sampled + sum(notes[name] for name in (*NOTES, TOO_BRIEF)), weight)
        self.assertEqual(samples["rooted_ns"] + samples["truncated_ns"], sampled)
        self.assertEqual(samples["rooted"] + samples["truncated"], samples["taken"])
        self.assertEqual(samples["lost_ns"], notes["[lost]"])
        self.assertEqual(samples["lost"], (notes["[lost]"] + period // 2) // period)
        self.assertEqual(told["stack_samples"], samples["taken"])
        self.assertEqual(sum(t["samples"] for t in told["threads"]), samples["taken"])
        self.assertEqual(sum(t["sampled_ns"] for t in told["threads"]), sampled)
        for note, member in NOTES.items():
            self.assertEqual(sum(t[member] for t in told["threads"]), notes[note], note)

        svg = result.path("svg").read_text()
        self.assertIn(f"<title>all\n{duration(weight)} (100.00 %), {samples['taken']:,} samples</title>", svg)
        self.assertRegex(svg, rf">{re.escape(duration(weight))} of CPU time in [^<]*, {samples['taken']:,} samples<")

        pprof = pprof_rules.read(result.path("pb.gz"))
        self.assertEqual(pprof.total("samples"), samples["taken"])
        self.assertEqual(pprof.total("cpu"), weight)

        speedscope = json.loads(result.path("speedscope.json").read_text())
        self.assertEqual(sum(sum(p["weights"]) for p in speedscope["profiles"]), weight)
        firefox = json.loads(result.path("firefox.json").read_text())
        self.assertEqual({t["samples"]["weightType"] for t in firefox["threads"]}, {"tracing-ms"})
        self.assertAlmostEqual(sum(sum(t["samples"]["weight"]) for t in firefox["threads"]) * 1e6, weight, delta=1000)

        facts = labelled(result.path("txt").read_text())
        self.assertEqual(int(facts["samples"]), samples["taken"])
        self.assertEqual(int(facts["rooted"]) + int(facts["truncated"]), samples["taken"])
        self.assertEqual((int(facts["rooted"]), int(facts["truncated"])), (samples["rooted"], samples["truncated"]))
        self.assertNotIn("period", "".join(facts))
        self.assertEqual(int(facts["lost"]), samples["lost"])
        info = labelled(render(result.path("fprobe"), "--info").stdout)
        self.assertRegex(info["Samples"], rf"^{samples['taken']:,}; rooted {samples['rooted']:,} \(.* truncated {samples['truncated']:,} \(")
        self.assertNotIn("period", info["Samples"] + info["Weight"] + info["Coverage"])
        self.assertTrue(info["Weight"].startswith(f"{duration(weight)}, {samples['taken']:,} samples in "), info["Weight"])
        html = render(result.path("fprobe"), "-f", "html", "-o", "-").stdout
        self.assertRegex(html, rf">{re.escape(duration(weight))} of CPU time in [^<]*, {samples['taken']:,} samples<")
        page = PageData.of_page(html)
        self.check_page(page, result, told)
        # Footers.
        of_sampled = lambda name: f"{samples[name]:,} ({percent(samples[name + '_ns'], sampled)})"
        self.assertTrue(info["Samples"].startswith(f"{samples['taken']:,}; rooted {of_sampled('rooted')}, truncated {of_sampled('truncated')}, lost {samples['lost']:,}"),
                        (info["Samples"], samples))
        self.assertTrue(info["Coverage"].startswith(f"sampled {duration(sampled)} of the process's "), info["Coverage"])
        for footer in (svg_footer(svg), page_footer(html)):
            self.assertEqual({label: footer[label] for label in ("Samples", "Coverage")}, {label: info[label] for label in ("Samples", "Coverage")})
        # The table of a page without scripts, which has short names.
        functions = page.facts["functions"]
        short_of = {name: short or name for short, name in zip(functions["short"], functions["name"], strict=True)}
        shorts = Counter(short or name for short, name in zip(functions["short"], functions["name"], strict=True))
        rows = re.findall(r"<tr><td>([^<]* %)</td><td>([^<]* %)</td><td>([^<]*)</td></tr>", html)
        text = lambda part: f"{duration(part)} {percent(part, weight)}"
        shares = {(short_of[name], text(own), text(total)) for name, (own, total) in page.rows.items()}
        listed = {tuple(map(html_module.unescape, (name, own, total))) for own, total, name in rows}
        listed = {row for row in listed if shorts[row[0]] == 1}
        self.assertGreater(len(listed), 3)
        self.assertLessEqual(listed, shares)
        self.check_functions(result, told)
        self.check_table(result.path("fprobe"), page)
        self.check_other_tables(result, told)
        return told

    def check_table(self, file, page):
        """The table of the terminal is the page's: each row and its numbers."""
        lines = render(file, "--top", "100000", "--long-names").stdout.splitlines()
        row = re.compile(r" *\S+(?: \S+)? +([\d.<>]+ ?%) +\S+(?: \S+)? +([\d.<>]+ ?%)  (.*?)(?:  \([^ ]*\))?$")
        told = [row.match(line).groups() for line in lines[[line.endswith("  function") for line in lines].index(True) + 1:]]
        alike = Counter(plain(name) for *_, name in told)
        share = lambda part: f"{100 * part / page.weight:.2f}%"
        both = {plain(name): (own, total) for own, total, name in told if alike[plain(name)] == 1 and plain(name) in page.rows}
        self.assertGreater(len(both), 3)
        self.assertEqual(sum(not name.startswith("[") for name in page.rows), sum(not name.startswith("[") for name in both))
        wrong = {name: (shares, page.rows[name]) for name, shares in both.items() if shares != tuple(map(share, page.rows[name]))}
        self.assertEqual(wrong, {})

    def check_other_tables(self, result, told):
        """Firefox's and OTLP's functions, a table of scopes, a picture for a README, and comparisons of the profile with itself."""
        whole, file = told["stack_ns"], result.path("fprobe")
        names = Counter(plain(row["name"]) for row in told["functions"])
        rows = {plain(row["name"]): row for row in told["functions"]
                if names[plain(row["name"])] == 1 and not row["name"].startswith("[")}
        firefox = firefox_functions(json.loads(result.path("firefox.json").read_text()))
        otlp = otlp_functions(json.loads(render(file, "-f", "otlp-json", "-o", "-").stdout))
        shared = rows.keys() & firefox.keys() & otlp.keys()
        self.assertGreater(len(shared), 1)
        for name in shared:
            of = (rows[name]["self_ns"], rows[name]["total_ns"])
            self.assertEqual(otlp[name], of, name)
            for told_there, here in zip(firefox[name], of):
                self.assertAlmostEqual(told_there, here, delta=1000, msg=name)
        scopes = render(file, "--by-scope").stdout.splitlines()
        self.assertRegex(scopes[0], rf"^{re.escape(duration(whole))} of CPU time in .*, {told['samples']['taken']:,} samples$")
        self.assertRegex(scopes[2], rf"^ *{re.escape(duration(whole))} +100.00 % +{re.escape(duration(whole))} +100.00 %  not in any scope: ")
        brief = render(file, "-f", "svg", "--for", "readme", "-o", "-").stdout
        self.assertEqual(svg_footer(brief)["Samples"], svg_footer(result.path("svg").read_text())["Samples"])
        self.assertRegex(brief, rf">{re.escape(duration(whole))} of CPU time in [^<]*, {told['samples']['taken']:,} samples<")
        # Comparisons leave out what was lost.
        if any(row["name"] == "[lost]" for row in told["functions"]):
            return
        share = lambda part: f"{100 * part / whole:.2f}%"
        same = render("--diff", file, file, "--top", "1000", "--long-names").stdout.splitlines()
        self.assertTrue(same[0].startswith("Nothing changed by more than "), same[0])
        self.assertTrue(any(line.startswith(f"{told['samples']['taken']:,} samples before, {told['samples']['taken']:,} after;") for line in same), same[:4])
        compared = {}
        rows_told = [line for line in same if re.match(r" +[\d.]+% ", line)]
        for line in rows_told:
            *figures, name = re.match(r" *(\S+) +(\S+) +\+0.00% +(\S+) +(\S+) +\+0.00%  noise (.*)$", line).groups()
            compared[plain(name)] = figures
        both = compared.keys() & rows.keys()
        wanted = {name: [share(rows[name]["self_ns"])] * 2 + [share(rows[name]["total_ns"])] * 2 for name in both}
        self.assertEqual({name: (compared[name], wanted[name]) for name in both if compared[name] != wanted[name]}, {})
        self.assertGreater(len(both), 1)
        run([COMMAND, "compare", file, file, "-o", self.directory / "same.json", "--min-share", "0"], self.directory)
        same = json.loads((self.directory / "same.json").read_text())
        self.assertEqual(same["of"], "shares of CPU time")
        for change in same["changes"]:
            if plain(change["name"]) in rows:
                row = rows[plain(change["name"])]
                self.assertAlmostEqual(change["before"], row["self_share"], places=9)
                self.assertEqual((change["before"], change["difference"]), (change["after"], 0))

    def check_page(self, page, result, told):
        """Time and samples of all, of each function and of each thread, which a page's table and its list of threads are made of."""
        self.assertEqual((page.hits, page.weight), (told["samples"]["taken"], told["stack_ns"]))
        names, threads = Counter(plain(row["name"]) for row in told["functions"]), Counter()
        rows = {plain(row["name"]): [row["self_ns"], row["total_ns"]] for row in told["functions"]}
        self.assertEqual({name: page.functions[name] for name in rows if names[name] == 1}, {name: rows[name] for name in rows if names[name] == 1})
        for thread, weight in page.threads.items():
            threads[thread.rpartition(" (")[0]] += weight
        self.assertEqual(sum(threads.values()), told["stack_ns"])
        for name, weight in threads.most_common(2):
            top = render(result.path("fprobe"), "--thread", name, "--top", "1").stdout
            self.assertTrue(top.startswith(duration(weight) + " of CPU time in "), (name, weight, top))

    def check_functions(self, result, told):
        """Of each function samples are what JSON, pprof and the tooltips say; time and share what JSON, --top and the tooltips say."""
        whole = told["stack_ns"]
        for row in told["functions"]:
            self.assertEqual((round(row["self_share"] * whole), round(row["total_share"] * whole)), (row["self_ns"], row["total_ns"]))
        top = render(result.path("fprobe"), "--unfold", "--top", str(len(told["functions"]))).stdout.splitlines()
        self.assertEqual(top[1], told["answers"][0]["sentence"])
        self.assertRegex(top[0], rf"^{re.escape(duration(whole))} of CPU time in .*, {told['samples']['taken']:,} samples$")
        rows = [re.match(r" *(\S+ \S+) +([\d.]+)% +(\S+ \S+) +([\d.]+)%  ", line).groups() for line in top[3:]]
        share = lambda part: f"{100 * part / whole:.2f}"
        self.assertEqual(rows, [(duration(row["self_ns"]), share(row["self_ns"]), duration(row["total_ns"]), share(row["total_ns"]))
                                for row in told["functions"]])

        names = Counter(plain(row["name"]) for row in told["functions"])
        wanted = {plain(row["name"]): (row["self"], row["total"]) for row in told["functions"]}
        wanted = {name: hits for name, hits in wanted.items() if names[name] == 1 and not name.startswith("[")}
        self.assertGreater(len(wanted), 1)
        pprof, own, total = pprof_rules.read(result.path("pb.gz")), Counter(), Counter()
        at = [name for name, _ in pprof.types].index("samples")
        for sample in pprof.samples:
            stack = pprof.names(sample)
            own[stack[-1]] += sample.values[at]
            total.update(dict.fromkeys(stack, sample.values[at]))
        self.assertEqual({name: (own[name], total[name]) for name in wanted if name in total},
                         {name: hits for name, hits in wanted.items() if name in total})
        self.assertGreater(len(wanted.keys() & total.keys()), 1)
        functions = speedscope_functions(json.loads(result.path("speedscope.json").read_text()))
        self.assertEqual({name: functions[name] for name in wanted if name in functions},
                         {plain(row["name"]): (row["self_ns"], row["total_ns"]) for row in told["functions"] if plain(row["name"]) in wanted.keys() & functions.keys()})
        self.assertGreater(len(wanted.keys() & functions.keys()), 1)
        boxes = self.tooltips(result)
        self.assertEqual({name: hits for name, (_, hits) in wanted.items()}, {name: hits for name, (hits, _) in boxes.items() if name in wanted})
        of = {plain(row["name"]): row for row in told["functions"]}
        alone = {name: texts[0] for name, (_, texts) in boxes.items() if name in wanted and len(texts) == 1}
        self.assertGreater(len(alone), 1)
        part = lambda ns: f"{duration(ns)} ({percent(ns, whole)})"
        self.assertEqual(alone, {name: part(of[name]["total_ns"]) + ", self " + (part(of[name]["self_ns"]) if of[name]["self_ns"] else "0") for name in alone})

    def tooltips(self, result):
        """{function: (samples, [what each of its boxes says of time])}, where a function that calls itself counts once."""
        svg = render(result.path("fprobe"), "-f", "svg", "--min-width", "0", "--each-thread", "-o", "-").stdout
        boxes = re.findall(r'<g class="\w+"[^>]*><title>([^<]*?)\n([^<\n]*), ([\d,]+) samples?[^<]*</title><rect x="[^"]*" y="(\d+)"', svg)
        total, path, root, texts = Counter(), [], int(boxes[0][3]), {}
        for name, text, hits, top in boxes:
            del path[(root - int(top)) // 18:]
            name = html_module.unescape(name)
            if name not in path:
                total[name] += number(hits)
            texts.setdefault(name, []).append(html_module.unescape(text))
            path.append(name)
        return {name: (hits, texts[name]) for name, hits in total.items()}

    def check_threads(self, told, least=400):
        """A thread's samples, what is noted of it, and what is left unsampled are its CPU clock."""
        period = told["sampling"]["period_ns"]
        ticks_ns = self.ticks_ns(told)
        checked = 0
        for thread in told["threads"]:
            known = sum(thread[member] for member in ("sampled_ns", *NOTES.values()))
            if thread["tid"] == 0 or known < least * period:
                continue
            checked += 1
            told_ns = known + thread["unsampled_ns"]
            self.assertGreaterEqual(told_ns, 0.99 * thread["cpu_ns"], thread)
            self.assertLessEqual(told_ns, 1.01 * thread["cpu_ns"] + ticks_ns + stolen_ns(self.stolen), thread)
        self.assertGreater(checked, 0)

    def ticks_ns(self, told):
        """A thread may be hit by a few ticks more than its clock shows (src/capture/handler/tick_weight.hpp)."""
        return 5 * 4_000_000 if told["sampling"]["engine"] == "timer" else 0

    def test_engines(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = run([host("ends"), "return", "700"], self.fresh_directory(engine),
                          profiled(ENGINE=engine, FREQ=3989, FORMAT=FORMATS))
                told = self.check_totals(ran.result())
                self.check_threads(told)
                if engine == "timer":
                    self.assertGreater(told["cpu_time"]["sampled_ns"], 2 * told["samples"]["taken"] * told["sampling"]["period_ns"])

    def test_what_run_says_is_in_the_tables(self):
        """The answer is the same in every output, its share is its function's in the table; then come the paths."""
        ran = run([COMMAND, "run", "-F", "3989", "-o", "x", "--", host("ends"), "return", "700"], self.directory)
        *_, where, page, picture = [line.removeprefix("flameprobe: ") for line in ran.stderr.splitlines() if "better: " not in line]
        self.assertEqual([page, picture], ["x.html", "x.svg"])
        told = json.loads(render(self.directory / "x.fprobe", "-f", "json", "-o", "-").stdout)
        self.assertEqual(told["answers"], [{"event": "cpu", "sentence": where}])
        self.assertLessEqual(len("flameprobe: " + where), 100)
        self.assertIn(f"\nanswer: {where}\n", (self.directory / "x.txt").read_text())
        for picture in ("x.html", "x.svg"):
            self.assertIn(f">{html_module.escape(where, quote=False)}<", (self.directory / picture).read_text(), picture)
        self.assertEqual(PageData.of_page((self.directory / "x.html").read_text()).facts["answer"], where)
        share, name = re.match(r"(\d+) % in ([^,:( ]+)", where).groups()
        self.assertEqual({round(100 * row["total_ns"] / told["stack_ns"]) for row in told["functions"] if row["name"] == name}, {int(share)}, where)

    def test_ordinary_user(self):
        user = ordinary_user(self)
        self.directory.chmod(0o777)
        env = profiled(FREQ=997, FORMAT=FORMATS)
        preload = env.pop("LD_PRELOAD")
        ran = run([*user, "env", f"LD_PRELOAD={preload}", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=2000000"],
                  self.directory, env)
        self.check_threads(self.check_totals(ran.result("dd")))

    def test_processes_of_a_run(self):
        """Of a run of several processes the same; and each process's time, share and samples are those of its box, in every table."""
        ends = str(host("ends"))
        script = f"import subprocess, sys\nfor ms in (300, 500, 400): subprocess.run([{ends!r}, 'return', str(ms)], stdout=subprocess.DEVNULL)"
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.directory = self.fresh_directory(engine)
                # JSON lists a thousand functions; at 3989 Hz it left out some that have another's name.
                ran = run([sys.executable, "-c", script], self.directory, profiled(ENGINE=engine, FREQ=997, FORMAT=FORMATS))
                result = ran.result()
                told = self.check_totals(result)
                self.assertEqual(told["function_count"], len(told["functions"]))
                # The runs of --pid add up to the whole, each of them with its own times.
                rows = [re.match(r" *(\S+ \S+) +([\d,]+) +(\S+) %   (.+)$", line) for line in
                        render(result.path("fprobe"), "--tree", "--top", "1").stdout.splitlines()]
                table = {row[4]: (row[1], row[3] + " %", number(row[2])) for row in rows if row}
                self.assertEqual(len(table), 4, table)
                self.assertEqual(sum(hits for _, _, hits in table.values()), told["samples"]["taken"])
                boxes = {name: (re.match(r"(.*?) \((.*?)\)", texts[0]).groups(), hits) for name, (hits, texts) in self.tooltips(result).items() if name in table}
                self.assertEqual(boxes, {name: ((time, share), hits) for name, (time, share, hits) in table.items()})
                html = render(result.path("fprobe"), "-f", "html", "-o", "-").stdout
                page = re.findall(r"<tr><td>([^<]* \d+)</td><td>([^<]*)</td><td>([\d,]+)</td><td>([^<]*)</td></tr>", html)
                self.assertEqual({name: (time, share, number(hits)) for name, time, hits, share in page}, table)

    def test_waiting_time_and_both(self):
        """Of waiting time, and of running and waiting, each function has the same time and share in JSON, the table, the page and the tooltips."""
        script = ("import hashlib, threading, time\n"
                  "def nap():\n"
                  "  for _ in range(20): time.sleep(0.01); hashlib.sha256(bytes(1 << 20)).digest()\n"
                  "threads = [threading.Thread(target=nap) for _ in range(3)]\n"
                  "for t in threads: t.start()\n"
                  "for t in threads: t.join()\n")
        file = run([sys.executable, "-c", script], self.directory, profiled(EVENT="cpu,offcpu", FREQ=997, FORMAT="none")).result().path("fprobe")
        for event, what in (("offcpu", "waiting"), ("wall", "running and waiting")):
            with self.subTest(event=event):
                drawn = lambda *options: render("--event", event, file, *options, "-o", "-").stdout
                told, html, svg = json.loads(drawn("-f", "json")), drawn("-f", "html"), drawn("-f", "svg", "--min-width", "0")
                whole, rows = told["stack_ns"], {plain(row["name"]): row for row in told["functions"]}
                names = Counter(plain(row["name"]) for row in told["functions"])
                once = {name for name in rows if names[name] == 1}
                for text in (html, svg):
                    self.assertRegex(text, rf">{re.escape(duration(whole))} of {what} in [^<]*<")
                page = PageData.of_page(html)
                self.assertEqual(page.weight, whole)
                self.assertEqual({name: page.functions[name] for name in once}, {name: [rows[name]["self_ns"], rows[name]["total_ns"]] for name in once})
                top = render("--event", event, file, "--unfold", "--top", "1000").stdout.splitlines()
                self.assertTrue(top[0].startswith(f"{duration(whole)} of {what} in "), top[0])
                share = lambda part: f"{100 * part / whole:.2f}%"
                # What was waited for is a list of sentences, the same everywhere.
                waits = [[one["share"], duration(one["ns"]), one["sentence"]] for one in told["waits"]]
                self.assertIn("slept", [sentence.partition(" in ")[0] for _, _, sentence in waits])
                self.assertEqual([re.fullmatch(r" *(\S+ %) +(\S+ \S+)  (.*)", line).groups() for line in top[2:2 + len(waits)]], [tuple(one) for one in waits])
                listed = re.search(r'<details class="facts waits".*?</details>', html, re.DOTALL).group()
                self.assertEqual([re.findall("<td>(.*?)</td>", row) for row in listed.split("<tr>")[2:]], waits)
                self.assertEqual([re.match(r" *(\S+ \S+) +(\S+%) +(\S+ \S+) +(\S+%)  ", line).groups() for line in top[3 + len(waits):]],
                                 [(duration(row["self_ns"]), share(row["self_ns"]), duration(row["total_ns"]), share(row["total_ns"])) for row in told["functions"]])
                boxes = re.findall(r"<g class=[^>]*><title>([^<\n]*)\n([^<\n]*)", svg)
                drawn_once = Counter(html_module.unescape(name) for name, _ in boxes)
                part = lambda ns: f"{duration(ns)} ({percent(ns, whole)})"
                checked = {html_module.unescape(name): html_module.unescape(text) for name, text in boxes
                           if drawn_once[html_module.unescape(name)] == 1 and html_module.unescape(name) in once}
                self.assertGreater(len(checked), 5)
                self.assertEqual(checked, {name: part(rows[name]["total_ns"]) + ", self " + (part(rows[name]["self_ns"]) if rows[name]["self_ns"] else "0") for name in checked})

    def test_locks(self):
        """Of each lock the time, number and length of its waits are the same in the JSON, the facts and the page's table; who
        waited for it is in the list of waits, whose first is the answer's."""
        file = run([target("holders"), "2"], self.directory,
                   profiled(EVENT="cpu,offcpu", OFFCPU_FREQ=499, FORMAT="none")).result("holders").path("fprobe")
        drawn = lambda *options: render("--event", "offcpu", file, *options, "-o", "-").stdout
        told, html = json.loads(drawn("-f", "json")), drawn("-f", "html")
        self.assertGreater(len(told["locks"]), 4)
        counted = lambda row: ("" if row["waits"] is None else f"{row['waits']:,}", "" if row["longest_ns"] is None else duration(row["longest_ns"]))
        listed = re.search(r'<details class="facts locks".*?</details>', html, re.DOTALL).group()
        cells = [tuple(re.findall("<td>(.*?)</td>", row)[1:4]) for row in listed.split("<tr>")[2:]]
        self.assertEqual(cells, [(duration(row["waited_ns"]), *counted(row)) for row in told["locks"]][:len(cells)])
        facts = [line.removeprefix("Lock:").strip() for line in render("--event", "offcpu", file, "--info").stdout.splitlines() if line.startswith("Lock:") and not line.endswith(" more")]
        self.assertGreater(len(facts), 4)
        for row, fact in zip(told["locks"], facts):
            self.assertIn(f" {duration(row['waited_ns'])}", fact.partition(";")[0])
            for text in counted(row):
                self.assertIn(text, fact.partition(";")[0])
        # Waits for locks with one holder in one function, of which none is left out as too small.
        reasons = {}
        for one in told["waits"]:
            if lock := re.match("waited for lock (.*?)(?:, held by|$)", one["sentence"]):
                reasons.setdefault(lock[1], []).append(one["ns"])
        waited = {row["lock"]: row["waited_ns"] for row in told["locks"]}
        both = reasons.keys() & waited.keys()
        self.assertGreater(len(both), 2, (reasons, waited))
        for name in both:
            self.assertLessEqual(sum(reasons[name]), waited[name], name)
            self.assertGreaterEqual(sum(reasons[name]), 0.8 * waited[name], name)
        first, answer = told["waits"][0], told["answers"][0]["sentence"]
        self.assertIn(f"; {first['share']} {first['sentence'].partition(' in ')[0].partition(', ')[0]}", answer)

    def test_threads_of_any_age(self):
        """Threads that end long before the program does, and too soon for their clocks to be looked at often."""
        script = ("import hashlib, threading, time\n"
                  "def busy(ms):\n"
                  "  while time.thread_time() < ms / 1000: hashlib.sha256(bytes(1 << 16)).digest()\n"
                  "for ms in (600, 3, 40, 1, 600, 8):\n"
                  "  t = threading.Thread(target=busy, args=(ms,)); t.start(); t.join()\n")
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = run([sys.executable, "-c", script], self.fresh_directory(engine),
                          profiled(ENGINE=engine, FREQ=997, FORMAT=FORMATS))
                told = self.check_totals(ran.result())
                self.check_threads(told)
                period = told["sampling"]["period_ns"]
                for thread in told["threads"]:
                    # A piece shorter than a period has a whole one by chance, at either end of a thread.
                    if thread["cpu_ns"] > 0 and thread["tid"] != 0:
                        self.assertLessEqual(thread["sampled_ns"], 1.01 * thread["cpu_ns"] + 2 * period + self.ticks_ns(told) + stolen_ns(self.stolen),
                                             thread)
                    if thread["tid"] == 0 and engine == "ring":
                        self.assertLessEqual(thread["sampled_ns"] + thread["lost_ns"], 0.02 * told["cpu_time"]["sampled_ns"], thread)


if __name__ == "__main__":
    unittest.main()
