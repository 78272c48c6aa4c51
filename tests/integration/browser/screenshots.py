#!/usr/bin/env python3
"""Makes the pictures of docs/images: screenshots.py BUILD DIRECTORY [NAME...]. Profiles real programs, and opens their pages in
Chromium. Needs redis-server, PostgreSQL and g++, and for tokio cargo, librust-tokio-dev and iperf3; takes some minutes. `meson test`
does not run it."""
import base64
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser import Browser

BUILD, OUT = map(os.path.abspath, sys.argv[1:3])
os.environ["FLAMEPROBE_BUILD"] = BUILD
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import programs  # noqa: E402
from programs import forwarder_built  # noqa: E402
WANTED = set(sys.argv[3:])
RENDER, FLAMEPROBE = f"{BUILD}/tools/render/flameprobe-render", f"{BUILD}/tools/flameprobe/flameprobe"
LIBRARY, MAKE_PICTURES = f"{BUILD}/preload/libflameprobe.so", f"{BUILD}/tests/integration/browser/make-pictures"
SECONDS = 8
PYTHON = """
import json, random, re, threading, zlib, time
end = time.time() + %d
def parse():
    while time.time() < end: json.loads(json.dumps([random.random() for _ in range(2000)]))
def match():
    while time.time() < end: re.findall(r"(\\w+)@(\\w+)", "name@host text " * 2000)
def pack():
    while time.time() < end: zlib.compress(bytes(random.getrandbits(8) for _ in range(20000)))
threads = [threading.Thread(target=one, name=one.__name__) for one in (parse, match, pack)]
for one in threads: one.start()
for one in threads: one.join()
""" % SECONDS


# Who waits for the lock, and what who holds it does meanwhile.
LOCK = """
#include <flameprobe/flameprobe.hpp>
#include <pthread.h>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
using namespace std::chrono_literals;
const auto end = std::chrono::steady_clock::now() + 6s;
class Inventory {
public:
    __attribute__((noinline)) int find(const std::string& name) {
        const std::lock_guard held(lock_);
        FlameProbe::Scope scope("holds the inventory");
        for (int i = 0; i < 400000; ++i) asm volatile("" ::: "memory");
        return stock_[name];
    }
    __attribute__((noinline)) void restock(const std::string& name) {
        const std::lock_guard held(lock_);
        FlameProbe::Scope scope("holds the inventory");
        ++stock_[name];
        write_journal();
    }
private:
    __attribute__((noinline)) void write_journal() { std::this_thread::sleep_for(4ms); asm volatile("" ::: "memory"); }
    std::mutex lock_;
    std::map<std::string, int> stock_;
};
Inventory inventory;
__attribute__((noinline)) void serve_order() { inventory.find("pencil"); asm volatile("" ::: "memory"); }
__attribute__((noinline)) void take_delivery() { inventory.restock("pencil"); std::this_thread::sleep_for(3ms); }
int main() {
    std::vector<std::thread> threads;
    const auto start = [&](const char* name, void (*work)()) {
        threads.emplace_back([=] { pthread_setname_np(pthread_self(), name); while (std::chrono::steady_clock::now() < end) work(); });
    };
    for (int i = 0; i < 3; ++i) start("orders", serve_order);
    start("deliveries", take_delivery);
    for (auto& thread : threads) thread.join();
}
"""


def environment(out, **settings):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("FLAMEPROBE_", "LD_"))}
    return env | {"LD_PRELOAD": LIBRARY, "FLAMEPROBE_FREQ": "999", "FLAMEPROBE_OUT": out, "FLAMEPROBE_FORMAT": "none"} | settings


WAITS = {"FLAMEPROBE_EVENT": "cpu,offcpu"}


def mutex_bound(directory, out):
    source, program = os.path.join(directory, "shop.cpp"), os.path.join(directory, "shop")
    Path(source).write_text(LOCK)
    subprocess.run(["g++", "-std=c++20", "-O2", "-g", "-I", str(Path(__file__).resolve().parents[3] / "include"), "-o", program, source, "-pthread"],
                   check=True)
    subprocess.run([program], env=environment(out, **WAITS), check=True)


def host(name, *arguments):
    return [f"{BUILD}/tests/hosts/host-{name}", *arguments]


def kept(out, *parts):
    """What a program has kept at its end."""
    preload = f"{LIBRARY}:{BUILD}/preload/alloc/libflameprobe-alloc.so"
    subprocess.run(host("allocations", *parts), env=environment(out, FLAMEPROBE_EVENT="heap", LD_PRELOAD=preload), check=True,
                   stdout=subprocess.DEVNULL)
    return out + ".fprobe"


def deadlock(out):
    subprocess.run([f"{BUILD}/tests/targets/holders", "2", "circle", "3"], env=environment(out, **WAITS), check=True, stdout=subprocess.DEVNULL)
    return out + ".fprobe"


REQUESTS = """
name = "redis"
repeat = 3
[[scenario]]
name = "set"
command = ["redis-server", "--port", "{port}", "--save", ""]
ready = { port = "{port}", within = "20s" }
load = ["redis-benchmark", "-p", "{port}", "-t", "set", "-n", "100000", "-r", "100000", "-d", "200", "-q"]
work = { pattern = "SET: ([0-9.]+) requests per second", unit = "requests", per = "second" }
stop = "TERM"
"""


def per_request(directory):
    """The report of a bench that asks for allocations."""
    path = Path(directory) / "requests.toml"
    path.write_text(REQUESTS)
    out = Path(directory) / "requests"
    subprocess.run([FLAMEPROBE, "bench", "-e", "alloc", "-o", out, path], check=True, stdout=subprocess.DEVNULL)
    return str(out / "report.html")


def one_run(directory, name, start, **settings):
    """All processes of a run in one profile."""
    place = Path(directory) / name
    (place / "server" / "run").mkdir(parents=True)
    os.chmod(directory, 0o755)  # PostgreSQL's server and nginx's workers are another user's
    place.chmod(0o777)
    start(place / "server" / "run", environment(str(place / name), **settings), SECONDS // 2)
    return str(place / f"{name}.fprobe")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def redis(out, commands, *options, requests=400000, **settings):
    """A server under load, and its profile when it has ended."""
    port = str(free_port())
    server = subprocess.Popen(["redis-server", "--port", port, "--save", "", *options], env=environment(out, **settings),
                              stdout=subprocess.DEVNULL, cwd=os.path.dirname(out))
    time.sleep(1)
    load = subprocess.Popen(["redis-benchmark", "-p", port, "-t", commands, "-n", str(requests), "-r", "100000", "-q"], stdout=subprocess.DEVNULL)
    try:
        yield server
        time.sleep(SECONDS)
    finally:
        load.kill()
        load.wait()
        server.terminate()
        server.wait()


def demo(out):
    """The server of tools/demo under its load."""
    # A path from the build's directory, since the picture shows it.
    server = subprocess.Popen(["tests/targets/demo/demo-server", "120"], env=environment(out), stdout=subprocess.PIPE, text=True, cwd=BUILD)
    try:
        subprocess.run([f"{BUILD}/tests/targets/demo/demo-load", server.stdout.readline().strip(), str(SECONDS)], check=True,
                       stdout=subprocess.DEVNULL)
    finally:
        server.terminate()
        server.wait()


USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"LD_PRELOAD={LIBRARY}"]


def tokio(out, *user, streams="4", **settings):
    """A forwarder of two workers between iperf3's two ends."""
    env = environment(out, **settings)
    if user:
        del env["LD_PRELOAD"]
        os.chmod(os.path.dirname(out), 0o777)
    target, port = str(free_port()), str(free_port())
    other_end = subprocess.Popen(["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", target], stdout=subprocess.DEVNULL)
    forwarder = subprocess.Popen([*user, forwarder_built(), port, target], env=env, stdout=subprocess.DEVNULL)
    try:
        time.sleep(2)
        subprocess.run(["iperf3", "-c", "127.0.0.1", "-p", port, "-P", streams, "-t", str(SECONDS)], check=True, stdout=subprocess.DEVNULL)
    finally:
        for process in (forwarder, other_end):
            process.terminate()
            process.wait()


def make(directory):
    """{name: (page, fragment)}, made as they are asked for."""
    path = lambda name: os.path.join(directory, name)
    made = {}

    def profile(name):
        if name not in made:
            if name == "mutex-waits":
                mutex_bound(directory, path(name))
            elif name.endswith("-waits"):
                with redis(path(name), "get,set", requests=100000 if name == "redis-waits" else 10000000, **WAITS):
                    pass
            elif name == "python":
                subprocess.run([sys.executable, "-c", PYTHON], env=environment(path(name)), check=True)
            elif name == "tokio":
                tokio(path(name))
            elif name.startswith("user-"):
                tokio(path(name), *USER, streams="8", FLAMEPROBE_FREQ="997", FLAMEPROBE_ENGINE="ring" if name == "user-ring" else "auto")
            else:
                with redis(path(name), "get,set", *(() if name == "redis" else ("--appendonly", "yes", "--dir", directory))):
                    pass
            made[name] = path(name + ".fprobe")
        return made[name]

    def page(name, *options):
        # Names without directories, as they show in the page.
        subprocess.run([RENDER, *(os.path.relpath(one, directory) if one.startswith("/") else one for one in options), "-o", name + ".html"], cwd=directory, check=True, stdout=subprocess.DEVNULL)
        return path(name + ".html")

    def large():
        subprocess.run([MAKE_PICTURES, directory, "--stacks", "1000000"], check=True)
        return path("stacks.html")

    return {
        "redis": lambda: page("redis", profile("redis")),
        "redis-table": lambda: page("redis", profile("redis")),
        "dark": lambda: page("redis", profile("redis")),
        "phone": lambda: page("redis", profile("redis")),
        "python": lambda: page("python", profile("python")),
        "tokio": lambda: page("tokio", profile("tokio")),
        "user-ring": lambda: page("user-ring", profile("user-ring")),
        "user-auto": lambda: page("user-auto", profile("user-auto")),
        "large": large,
        "redis-waits": lambda: page("redis-waits", "--event", "offcpu", profile("redis-waits")),
        "redis-busy-waits": lambda: page("redis-busy-waits", "--event", "offcpu", profile("redis-busy-waits")),
        "strips": lambda: page("strips", profile("mutex-waits")),
        "order": lambda: page("strips", profile("mutex-waits")),
        "mutex-waits": lambda: page("mutex-waits", "--event", "offcpu", profile("mutex-waits")),
        "nginx": lambda: page("nginx", one_run(directory, "nginx", programs.nginx)),
        "make": lambda: page("make", one_run(directory, "make", programs.compiler)),
        "postgres": lambda: page("postgres", one_run(directory, "postgres", programs.postgres)),
        "postgres-waits": lambda: page("postgres-waits", "--event", "offcpu", one_run(directory, "postgres-waits", programs.postgres, **WAITS)),
        "leak": lambda: page("leak", "--diff", "--event", "heap-end", kept(path("before"), "keep"), kept(path("after"), "keep", "leak")),
        "allocations": lambda: per_request(directory),
        "deadlock": lambda: page("deadlock", "--event", "offcpu", deadlock(path("deadlock"))),
        "diff": lambda: page("diff", "--diff", profile("redis"), profile("appendonly")),
        "diff-table": lambda: page("diff", "--diff", profile("redis"), profile("appendonly")),
    }


# name: (width, height, dark, fragment)
SHOTS = {
    "redis": (1440, 760, False, ""), "redis-table": (1200, 480, False, "#view=table"), "dark": (1440, 760, True, "#fold=1"), "phone": (390, 700, False, ""),
    "python": (1200, 640, False, "#fold=1"), "tokio": (1200, 640, False, "#fold=1"), "large": (1200, 480, False, ""), "diff": (1200, 560, False, ""), "diff-table": (1200, 480, False, "#view=table"),
    "live": (1200, 560, True, ""), "user-ring": (1200, 640, False, "#fold=1"), "user-auto": (1200, 640, False, "#fold=1"),
    "strips": (1200, 640, False, "#fold=1"), "order": (1440, 700, False, "#fold=1&y=1&few=0&time=300-400"),
    "redis-waits": (1200, 520, False, ""), "redis-busy-waits": (1200, 520, False, ""), "mutex-waits": (1200, 700, False, "#fold=1"),
    "nginx": (1440, 760, False, ""), "make": (1440, 760, False, ""), "postgres": (1440, 760, False, ""), "postgres-waits": (1200, 860, False, "#fold=1"),
    "leak": (1200, 420, False, ""), "allocations": (1200, 640, False, ""), "deadlock": (1200, 640, False, "#own=1"),
}


def shoot(page, name, address):
    width, height, dark, fragment = SHOTS[name]
    page.dark(dark)
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
    page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": width < 500})
    page.driver.get("about:blank")
    page.driver.get(address + fragment)
    WebDriverWait(page.driver, 120).until(lambda driver: not driver.find_elements(By.ID, "loading"))
    time.sleep(1)
    if name == "allocations":
        page.driver.execute_script(
            "[...document.querySelectorAll('h2, h3')].find(one => one.textContent.startsWith('Allocations')).scrollIntoView()")
    if page.errors():
        sys.exit(f"{name}: the page complains")
    # Lossy, but a third of a PNG's size, and sharp enough for text.
    shot = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 88})
    with open(os.path.join(OUT, name + ".webp"), "wb") as file:
        file.write(base64.b64decode(shot["data"]))
    if os.environ.get("PNG"):
        page.driver.save_screenshot(os.path.join(os.environ["PNG"], name + ".png"))
    print(name, os.path.getsize(os.path.join(OUT, name + ".webp")), "bytes")


def shoot_live(page, directory):
    with redis(os.path.join(directory, "live"), "get,set") as server:
        time.sleep(SECONDS / 2)
        served = subprocess.Popen([FLAMEPROBE, "live", str(server.pid)], stdout=subprocess.PIPE, text=True)
        try:
            shoot(page, "live", served.stdout.readline().strip())
        finally:
            served.terminate()
            served.wait()


def main():
    with tempfile.TemporaryDirectory(prefix="flameprobe-shots-") as directory, Browser() as page:
        if not WANTED or "demo" in WANTED:
            demo(os.path.join(directory, "demo"))
            subprocess.run([RENDER, "demo.fprobe", "-o", os.path.join(OUT, "demo.svg"), "--for", "readme"], cwd=directory, check=True)
            os.remove(os.path.join(OUT, "demo.txt"))  # its provenance
        for name, made in make(directory).items():
            if not WANTED or name in WANTED:
                shoot(page, name, "file://" + made())
        if not WANTED or "live" in WANTED:
            shoot_live(page, directory)


main()
