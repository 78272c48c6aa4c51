#!/usr/bin/env python3
"""Turns text files into C++ string constants: embed.py OUTPUT TOKENS NAME=FILE[+FILE...]...

Whole-line comments, blank lines and indentation are left out: they are for the people who read the source.
In style sheets $light.ink is a value of TOKENS, and $light all of them as custom properties. light_ink and light_share are constants, too.
A constant page_policy allows the inline elements of page_css and page_js by their hashes.
"""
import base64
import hashlib
import json
import re
import sys


def with_tokens(text, tokens):
    def value(found):
        group, name = tokens[found[1]], found[2]
        return group[name] if name else "; ".join(f"--{one}: {of}" for one, of in group.items())
    return re.sub(r"\$(light|dark|fonts)(?:\.(\w+))?", value, text)


def shrink(path, text, tokens):
    if path.endswith(".js"):
        text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
        if "/shared/" in path:
            text = re.sub(r"^export |^import .*$", "", text, flags=re.M)
    if path.endswith(".css"):
        text = with_tokens(re.sub(r"/\*.*?\*/", "", text, flags=re.S), tokens)
    lines = (line.strip() for line in text.splitlines())
    return "".join(line + "\n" for line in lines if line)


def policy(css, js):
    """As the elements stand in page.html: behind a line break."""
    def digest(text):
        return "'sha256-" + base64.b64encode(hashlib.sha256(("\n" + text).encode()).digest()).decode() + "'"
    return f"default-src 'none'; style-src {digest(css)}; script-src {digest(js)}; base-uri 'none'; form-action 'none'"


def main():
    output, tokens_path, *items = sys.argv[1:]
    with open(tokens_path, encoding="utf-8") as file:
        tokens = json.load(file)
    # C++ only requires compilers to take literals of 65,536 characters; gcc and clang take any.
    parts = ["// Made by embed.py.\n#include \"render/assets.hpp\"\n\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\n"
             "namespace flameprobe::assets {\n"]
    texts = {}
    for item in items:
        name, paths = item.split("=", 1)
        text = ""
        for path in paths.split("+"):
            with open(path, encoding="utf-8") as file:
                piece = shrink(path, file.read(), tokens)
            if not path.endswith(".html") and ("]]>" in piece or "</script" in piece.lower()):
                sys.exit(f"{path}: contains the end of the element it will stand in")
            text += piece
        texts[name] = text
    texts["page_policy"] = policy(texts["page_css"], texts["page_js"])
    for side in ("light", "dark"):
        texts[side + "_ink"] = tokens[side]["ink"]
        texts[side + "_share"] = tokens[side]["share"]
    for name, text in texts.items():
        # A string literal may have 65,536 characters at least; shorter ones cost nothing.
        pieces = [text[at:at + 8000] for at in range(0, len(text), 8000)]
        body = "\n".join(f'R"~~~({piece})~~~"' for piece in pieces)
        parts.append(f"\nconst std::string_view {name} = {body};\n")
    parts.append("\n}  // namespace flameprobe::assets\n")
    with open(output, "w", encoding="utf-8") as file:
        file.write("".join(parts))


main()
