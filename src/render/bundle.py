#!/usr/bin/env python3
"""Makes one script of modules, and of what they import from libraries: bundle.py ESBUILD LIBRARIES ENTRY OUTPUT DEPFILE.

LIBRARIES holds a folder for each library, as Debian's node-* packages install them. The licences of those that are taken
from stand at the script's beginning; one without a licence that can be found is an error.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

OPTIONS = ["--bundle", "--minify", "--format=iife", "--target=es2022", "--charset=utf8", "--log-level=warning"]


def paragraphs(text):
    """Of a copyright file as Debian's policy describes it: [{field: value}]."""
    for paragraph in re.split(r"\n\s*\n", text):
        fields = re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", paragraph, re.M)
        yield {name: "\n".join("" if line.strip() == "." else line.strip() for line in value.split("\n")) for name, value in fields}


def debian_licence(path):
    with open(path, encoding="utf-8") as file:
        all_of_it = list(paragraphs(file.read()))
    whole = next(one for one in all_of_it if one.get("Files") == "*")
    name = whole["License"].split("\n")[0]
    text = next(one["License"] for one in [whole] + all_of_it if one.get("License", "").startswith(name + "\n"))
    return f"Copyright {whole['Copyright']}\n{text}"


def licence(libraries, name):
    folder = os.path.join(libraries, name)
    with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
        version = json.load(file)["version"]
    own = [entry for entry in os.listdir(folder) if re.match(r"licen[cs]e", entry, re.I)]
    if own:
        with open(os.path.join(folder, own[0]), encoding="utf-8") as file:
            text = file.read().strip()
    else:
        text = debian_licence(os.path.join(os.path.dirname(libraries), "doc", "node-" + name, "copyright"))
    if "*/" in text:
        sys.exit(f"{name}: its licence cannot stand in a comment")
    return f"/*! {name} {version}\n{text}\n*/"


def main():
    esbuild, libraries, entry, output, depfile = sys.argv[1:]
    libraries = os.path.realpath(libraries)
    with tempfile.TemporaryDirectory() as directory:
        facts, script = os.path.join(directory, "facts.json"), os.path.join(directory, "script.js")
        subprocess.run([esbuild, entry, *OPTIONS, "--metafile=" + facts, "--outfile=" + script], check=True,
                       env=os.environ | {"NODE_PATH": libraries})
        with open(facts, encoding="utf-8") as file:
            made = json.load(file)
        with open(script, encoding="utf-8") as file:
            text = file.read()
    inputs = [os.path.realpath(path) for path in made["inputs"]]
    # Of a library's files most are only looked at: what counts is what the script holds.
    [held] = [one["inputs"] for one in made["outputs"].values()]
    used = {os.path.relpath(os.path.realpath(path), libraries).split(os.sep)[0]
            for path, part in held.items() if part["bytesInOutput"] > 0 and os.path.realpath(path).startswith(libraries + os.sep)}
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join([*(licence(libraries, name) for name in sorted(used)), text]))
    with open(depfile, "w", encoding="utf-8") as file:
        file.write(f"{output}: {' '.join(path.replace(' ', chr(92) + ' ') for path in inputs)}\n")


try:
    main()
except (OSError, StopIteration, subprocess.CalledProcessError) as error:
    sys.exit(f"bundle.py: {error or 'the licence of a library has an unknown form'}")
