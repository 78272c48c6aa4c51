"""Rounds: each task runs the program alone and under each profiler, in turn, and begins with another one each time (A B C, B C A,
...). Round after round until the time is used; what did not fit even once is told."""

import contextlib
import gzip
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import profilers
from profilers import NotHere

NO_RESULT = "no result"
LONG = 25  # seconds that one run of a profiler may take to be run again


@dataclass
class Task:
    rows: list
    run: Callable  # (what is run, directory) -> ([value of each row or None], stacks or None, what it says or None)
    figures: list = None  # for each row, what to make of a profiler's value and of the alone run's in this round; None: no such run
    of: dict = None  # what is run by name; None: every profiler that is here
    also: dict = field(default_factory=dict)  # what is run besides, for comparison
    rare: bool = False  # takes long: the first round of three only, beside others
    shown_alone: list = ()  # for each row, under which name the alone run's own value is shown, or None


class Rounds:
    def __init__(self, figures, here, alone, options):
        self.figures, self.here, self.alone, self.options = figures, here, alone, options
        self.tasks, self.took, self.left = [], {}, set()
        if not options.add:
            shutil.rmtree(profilers.OUTPUT / "raw", ignore_errors=True)

    def add(self, tasks):
        self.tasks += [task for task in tasks if any(wanted in row.name for row in task.rows
                                                        for wanted in self.options.rows or [""])]

    def until(self, deadline):
        """No task is begun that did not fit into the time that is left, judged by its last run."""
        all_rare = all(task.rare for task in self.tasks)
        for number in range(1 if self.options.small else 1000):
            begun = 0
            for nth, task in enumerate(self.tasks):
                if task.rare and not all_rare and number % 3 != 0:
                    continue
                if number > 0 and time.monotonic() + self.took.get(nth, 0) > deadline or number == 0 and time.monotonic() > deadline:
                    continue
                start = time.monotonic()
                self.one(task, number)
                self.took[nth] = time.monotonic() - start
                begun += 1
                print(f"round {number + 1}, {task.rows[0].name}: {self.took[nth]:.1f} s", file=sys.stderr)
            if begun == 0:
                break
        for nth, task in enumerate(self.tasks):
            if nth not in self.took:
                print(f"{task.rows[0].name}: no time was left", file=sys.stderr)

    def one(self, task, number):
        names = [*(["alone"] if task.figures else []), *(task.of or self.here), *task.also]
        first = number % len(names)
        values = {}
        for name in names[first:] + names[:first]:
            if (task.rows[0], name) in self.left:
                continue
            begun = time.monotonic()
            try:
                values[name] = self.under(task, name)
            except (NotHere, OSError, ValueError, LookupError) as why:
                self.left.add((task.rows[0], name))
                self.figures.note(task.rows[0], name, f"{NO_RESULT}: {'' if isinstance(why, NotHere) else type(why).__name__} {why}")
            if time.monotonic() - begun > LONG:
                self.left.add((task.rows[0], name))
                print(f"{task.rows[0].name}: {name} took {time.monotonic() - begun:.0f} s and is not run again", file=sys.stderr)
        alone = values.pop("alone", None)
        if task.figures and alone is None:
            return
        for nth, row in enumerate(task.rows):
            if task.shown_alone and task.shown_alone[nth]:
                self.figures.add(row, task.shown_alone[nth], alone[nth])
            for name, of_rows in values.items():
                if of_rows[nth] is not None:
                    self.figures.add(row, name, task.figures[nth](of_rows[nth], alone[nth]) if task.figures else of_rows[nth])

    def under(self, task, name):
        with tempfile.TemporaryDirectory(prefix="flameprobe-peers-") as place:
            directory = Path(place)
            directory.chmod(0o777)
            values, stacks, says = task.run({**(task.of or self.here), **task.also}.get(name, self.alone), directory)
            if says is not None:
                self.figures.note(task.rows[0], name, says)
            if stacks is not None:
                self.keep(task.rows[0], name, directory, stacks)
            return values

    def keep(self, row, name, directory, stacks):
        """The stacks as they were read, and each file of the profiler's that is not large."""
        kept = profilers.OUTPUT / "raw" / row.name.replace("/", "-") / name
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        with gzip.open(kept / "stacks.folded.gz", "wt") as file:
            file.writelines(f"{';'.join(frames)} {round(ns)}\n" for frames, ns in stacks)
        for path in directory.iterdir():
            with contextlib.suppress(OSError):
                if path.is_file() and path.stat().st_size < 1 << 20:
                    shutil.copy(path, kept)
