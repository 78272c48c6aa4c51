"""A real OpenTelemetry Collector: built once from Go modules into the user's cache, and run on loopback."""

import fcntl
import hashlib
import json
import os
import re
import subprocess
import time
import urllib.request
from pathlib import Path

from programs import free_port

HERE = Path(__file__).resolve().parent
PROCESS_START = time.time()
BUILD_SECONDS = 400  # of the 700 that a test has
CONFIG = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters:
  file: {{path: "{file}", format: json, rotation: {{max_megabytes: 100}}}}
  file/metrics: {{path: "{metrics_file}", format: json, rotation: {{max_megabytes: 100}}}}
service:
  pipelines:
    profiles: {{receivers: [otlp], exporters: [file]}}
    metrics: {{receivers: [otlp], exporters: [file/metrics]}}
  telemetry: {{metrics: {{level: none}}, logs: {{level: warn}}}}
"""


class Missing(Exception):
    """The Collector cannot be had here, and why."""


def version_of(go):
    """(1, 25, 0) of a go command; (0,) where it does not run."""
    try:
        told = subprocess.run([go, "env", "GOVERSION"], cwd="/", env=dict(os.environ, GOTOOLCHAIN="local"), capture_output=True,
                              text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    return tuple(int(number) for number in re.findall(r"\d+", told)) or (0,)


def newest_go(needed):
    """Debian's own go comes first in the PATH and may be too old while a newer one is installed beside it."""
    places = os.environ.get("PATH", "").split(":") + ["/usr/local/go/bin", "/usr/lib/go/bin", "/usr/local/bin"]
    commands = {Path(place, "go") for place in places if place and Path(place, "go").exists()}
    version, go = max(((version_of(command), command) for command in commands), default=((0,), None))
    if version < needed:
        found = ".".join(map(str, version)) if go else "none"
        raise Missing(f"the Collector needs go {'.'.join(map(str, needed))} or newer, and there is {found}")
    return go


def build(source, built):
    needed = re.search(r"(?m)^go ([\d.]+)$", (source / "go.mod").read_text())[1]
    go = newest_go(tuple(int(number) for number in needed.split(".")))
    new = built.with_suffix(f".{os.getpid()}")
    env = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-mod=readonly", CGO_ENABLED="0")
    try:
        ran = subprocess.run([go, "build", "-trimpath", "-ldflags=-s -w", "-o", new, "."], cwd=source, env=env,
                             capture_output=True, text=True, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise Missing(f"building the Collector took more than {BUILD_SECONDS} s") from None
    if ran.returncode != 0:
        raise Missing(f"the Collector cannot be built: {ran.stderr.strip()[-300:]}")
    new.rename(built)


def build_once(source, built, lock):
    """Tests run side by side: one builds, and what it fails for is the answer to those that waited for it, and to those
    that come after them in the same process."""
    with open(lock, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        failure = file.read()
        if failure and os.fstat(file.fileno()).st_mtime >= PROCESS_START:
            raise Missing(failure)
        file.truncate(0)
        if built.exists():
            return
        try:
            build(source, built)
        except Missing as missing:
            file.write(str(missing))
            raise


def program():
    """Its path; built where it is not in the cache yet, which takes minutes and needs the Go module proxy."""
    source = HERE / "collector"
    name = hashlib.sha256(b"".join((source / f).read_bytes() for f in ("main.go", "go.mod", "go.sum"))).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flameprobe-tests"
    built = cache / f"otelcol-{name}"
    if not built.exists():
        cache.mkdir(parents=True, exist_ok=True)
        build_once(source, built, cache / "otelcol.lock")
    return built


def needed_by(case):
    """Skips a unittest where there can be no Collector."""
    try:
        program()
    except Missing as missing:
        case.skipTest(str(missing))


class Collector:
    """Runs until the end of the block; profiles() is what its file exporter wrote."""

    def __init__(self, directory):
        self.directory, self.port, self.process = Path(directory), free_port(), None
        self.file = self.directory / "profiles.json"
        self.config = self.directory / "config.yaml"
        self.metrics_file = self.directory / "metrics.json"
        self.config.write_text(CONFIG.format(port=self.port, file=self.file, metrics_file=self.metrics_file))
        self.url = f"http://127.0.0.1:{self.port}/v1development/profiles"

    def start(self):
        with open(self.directory / "collector.log", "a") as log:
            self.process = subprocess.Popen(
                [program(), "--config", self.config, "--feature-gates=service.profilesSupport"], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=2)
            except urllib.error.HTTPError:
                return  # it answers
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise AssertionError(f"the Collector does not start: {(self.directory / 'collector.log').read_text()[-2000:]}")

    def stop(self, hard=False):
        if self.process is None:
            return
        self.process.kill() if hard else self.process.terminate()
        self.process.wait(timeout=60)
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop(hard=True)

    def profiles(self):
        """Of every request that it wrote: (resource attributes, profile, dictionary)."""
        found = []
        for line in self.file.read_text().splitlines() if self.file.exists() else []:
            data = json.loads(line)
            for resource in data.get("resourceProfiles", []):
                attributes = dict(key_value(a, data["dictionary"])
                                  for a in resource.get("resource", {}).get("attributes", []))
                for scope in resource.get("scopeProfiles", []):
                    found += [(attributes, profile, data["dictionary"]) for profile in scope["profiles"]]
        return found

    def metrics(self):
        """Of every request that it wrote: (resource attributes, {name: metric})."""
        found = []
        for line in self.metrics_file.read_text().splitlines():
            for resource in json.loads(line)["resourceMetrics"]:
                attributes = {a["key"]: a["value"]["stringValue"] for a in resource["resource"]["attributes"]}
                found += [(attributes, {m["name"]: m for m in scope["metrics"]}) for scope in resource["scopeMetrics"]]
        return found


def value_of(value, strings):
    name, content = next(iter(value.items()), ("", None))
    return strings[content] if name.endswith("Strindex") else content


def key_value(pair, dictionary):
    """The Collector moves attributes' texts into the table of strings."""
    strings = dictionary["stringTable"]
    return pair.get("key") or strings[pair["keyStrindex"]], value_of(pair["value"], strings)


def stacks(profile, dictionary):
    """[(names root first, value, {attribute: value})] of a profile."""
    strings, functions = dictionary["stringTable"], dictionary["functionTable"]
    attributes = [(strings[a.get("keyStrindex", 0)], value_of(a.get("value", {}), strings))
                  for a in dictionary["attributeTable"]]
    found = []
    for sample in profile["samples"]:
        names = []
        for index in dictionary["stackTable"][sample.get("stackIndex", 0)]["locationIndices"]:
            location = dictionary["locationTable"][index]
            names += [strings[functions[line["functionIndex"]]["nameStrindex"]] for line in location.get("lines", [])] or ["?"]
        found.append((names[::-1], sum(int(v) for v in sample["values"]),
                      dict(attributes[i] for i in sample.get("attributeIndices", []))))
    return found
