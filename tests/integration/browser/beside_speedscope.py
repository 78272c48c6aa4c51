#!/usr/bin/env python3
"""The page beside speedscope, both with the same profiles in headless Chromium: size of what is opened, time until it is shown, and
memory. beside_speedscope.py BUILD SPEEDSCOPE [REPETITIONS]: SPEEDSCOPE is the directory of its release, with index.html (npm
install speedscope; below BUILD after `meson test formats`). Prints a Markdown table of medians. `meson test` does not run it."""
import base64
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from browser import Browser, cpu_seconds, private_memory

BUILD, SPEEDSCOPE = map(os.path.abspath, sys.argv[1:3])
REPETITIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
RENDER = f"{BUILD}/tools/render/flameprobe-render"
PAGE_SHOWN = "return document.getElementById('loading') === null && document.querySelector('canvas') !== null"
SPEEDSCOPE_SHOWN = "return document.title.endsWith(' - speedscope') && document.querySelectorAll('canvas').length > 1"
NEXT_FRAMES = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"


def folded(path, stacks):
    """A random walk over call trees of 3,000 functions, the same every time."""
    chance, stack = random.Random(1), []
    with open(path, "w", encoding="ascii") as file:
        for number in range(stacks):
            stack = stack[:4 + chance.randrange(max(1, len(stack) - 3))]
            while len(stack) < 13 or len(stack) < 25 and chance.random() < 0.5:
                stack.append(f"shop::module_{chance.randrange(97)}::method_{chance.randrange(3000)}")
            file.write(f"main;{';'.join(stack)};leaf_{number} {1 + chance.randrange(50)}\n")


def show(address, shown):
    """Seconds until it is painted, CPU seconds and MiB of the browser's renderer then."""
    with Browser() as page:
        page.driver.get("about:blank")
        mark = page.directory.name
        before, used, begin = private_memory(mark), cpu_seconds(mark), time.monotonic()
        page.driver.get(address)
        while not page.run(shown):
            time.sleep(0.01)
            if time.monotonic() - begin > 300:
                sys.exit(f"{address}: nothing is shown after five minutes")
        page.driver.execute_async_script(NEXT_FRAMES)
        return time.monotonic() - begin, cpu_seconds(mark) - used, private_memory(mark) - before


def rows(directory, stacks):
    path = lambda name: os.path.join(directory, name)
    folded(path("profile.folded"), stacks)
    for output in ("profile.html", "profile.speedscope.json"):
        subprocess.run([RENDER, path("profile.folded"), "-o", path(output)], check=True)
    # As its own command hands a file to its page.
    with open(path("profile.speedscope.json"), "rb") as file:
        data = base64.b64encode(file.read()).decode()
    with open(path("profile.js"), "w", encoding="ascii") as file:
        file.write(f"speedscope.loadFileFromBase64('profile.speedscope.json', '{data}')")
    tools = {"FlameProbe's page": ("file://" + path("profile.html"), PAGE_SHOWN, "profile.html"),
             "speedscope": (f"file://{SPEEDSCOPE}/index.html#localProfilePath={path('profile.js')}", SPEEDSCOPE_SHOWN, "profile.speedscope.json")}
    measured = {name: [] for name in tools}
    for _ in range(REPETITIONS):
        for name, (address, shown, _) in tools.items():
            measured[name].append(show(address, shown))
    for name, (_, _, file) in tools.items():
        seconds, used, memory = (statistics.median(values) for values in zip(*measured[name]))
        yield f"| {stacks:,} | {name} | {os.path.getsize(path(file)) / 2**20:.2f} MiB | {seconds:.2f} s | {used:.2f} s | {memory:.0f} MiB |"


print("| stacks | | file | shown after | CPU time | memory |\n|---|---|---|---|---|---|")
for size in (1_000, 100_000):
    with tempfile.TemporaryDirectory(prefix="flameprobe-beside-") as place:
        for row in rows(place, size):
            print(row, flush=True)
