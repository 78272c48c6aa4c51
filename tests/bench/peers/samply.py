"""samply's profile is raw addresses for a viewer in the browser, which asks `samply load` for their names; so do we."""

import contextlib
import json
import re
import subprocess
import urllib.parse
import urllib.request


@contextlib.contextmanager
def viewer(program, path):
    """The address of its symbol server."""
    with subprocess.Popen([program, "load", "--no-open", "-P", "4100+", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True) as process:
        try:
            for line in process.stdout:
                if found := re.search(r"symbolServer=(\S+)", line):
                    yield urllib.parse.unquote(found[1])
                    return
            raise ValueError("samply load told no address")
        finally:
            process.kill()


def names_of(program, path, libraries, wanted):
    """{(library, address): the functions there, outermost first}"""
    wanted = sorted(wanted)
    job = {"memoryMap": [[library["debugName"], library["breakpadId"]] for library in libraries], "stacks": [wanted]}
    with viewer(program, path) as address:
        request = urllib.request.Request(f"{address}/symbolicate/v5", json.dumps({"jobs": [job]}).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            frames = json.load(answer)["results"][0]["stacks"][0]
    found = {}
    for key, frame in zip(wanted, frames):
        inlined = [part.get("function") or "[unknown]" for part in frame.get("inlines") or []]
        found[key] = [frame.get("function") or f"{frame['module']}+{frame['module_offset']}", *inlined[::-1]]
    return found


class Thread:
    def __init__(self, thread):
        self.thread, self.table, self.frames, self.functions = thread, thread["stackTable"], thread["frameTable"], thread["funcTable"]

    def key(self, frame):
        """(library, address), or None where the frame has a name of its own, such as the kernel's and JIT code."""
        resource = self.functions["resource"][self.frames["func"][frame]]
        library = self.thread["resourceTable"]["lib"][resource] if resource not in (None, -1) else None
        return None if library is None else (library, self.frames["address"][frame])

    def stack(self, at, names):
        shown = []
        while at is not None:
            frame = self.table["frame"][at]
            own = self.thread["stringArray"][self.functions["name"][self.frames["func"][frame]]]
            shown.append(names.get(self.key(frame)) or [own])
            at = self.table["prefix"][at]
        return [self.thread["name"], *(name for part in reversed(shown) for name in part)]

    def weights(self):
        found, samples = {}, self.thread["samples"]
        for at, weight in zip(samples["stack"], samples.get("weight") or [1] * samples["length"]):
            if at is not None:
                found[at] = found.get(at, 0) + weight
        return found


def stacks(program, path, ns):
    """[(frames from the root, nanoseconds)], where a sample stands for `ns`."""
    profile = json.loads(path.read_text())
    threads = [Thread(thread) for thread in profile["threads"]]
    wanted = {thread.key(frame) for thread in threads for frame in range(thread.frames["length"])} - {None}
    names = names_of(program, path, profile["libs"], wanted)
    return [(thread.stack(at, names), weight * ns) for thread in threads for at, weight in thread.weights().items()]
