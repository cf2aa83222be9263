"""Deliberate bugs in the operator (tests/sim/mutants.txt): changes of a function, wherever it is and however laid out.

    python3 tests/sim/mutate.py            checks that each can be made in exactly one place
    python3 tests/sim/mutate.py NAME DIR   makes one in the tree DIR and prints the files that it changed
"""

import glob
import os
import re
import sys

TOKENS = re.compile(r"/\*.*?\*/|[A-Za-z_]\w*|\d\w*|\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'|\S", re.S)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def mutants():
    """By name: its edits, (function, old, new) each."""
    found, name = {}, None
    for number, line in enumerate(read("tests/sim/mutants.txt").split("\n"), 1):
        if not line or line[0] == "#":
            continue
        head = re.fullmatch(r"([\w-]+):", line)
        if head:
            name = head[1]
            assert name not in found, f"two mutants {name}"
            found[name] = []
        elif line.startswith("in "):
            found[name].append((line[3:], [], []))
        else:
            assert line[0] in "-+", f"mutants.txt:{number}: neither a change nor a name: {line}"
            found[name][-1]["-+".index(line[0]) + 1].append(line[1:])
    return {name: [(where, "\n".join(a), "\n".join(b)) for where, a, b in edits] for name, edits in found.items()}


def definitions(text, name):
    """Where the function, or the macro, of this name is defined: (begin, end) each. Relies on clang-format."""
    pattern = rf"^(?:#define {name}\b(?:.*\\\n)*.*|\w[^;{{}}=#]*\b{name}\([^;{{}}]*\{{(?:.*\}}$|(?:.*\n)+?\}}))"
    return [m.span() for m in re.finditer(pattern, text, re.M)]


def tokens(text, *span):
    return [t for t in TOKENS.finditer(text, *span) if not t[0].startswith("/*")]


def places(text, span, old):
    """Of each place between these offsets with the tokens of the old text: where it begins and ends."""
    body, wanted = tokens(text, *span), [t[0] for t in tokens(old)]
    for i in range(len(body) - len(wanted) + 1):
        if [t[0] for t in body[i : i + len(wanted)]] == wanted:
            yield body[i].start(), body[i + len(wanted) - 1].end()


def edit(root, where, old, new):
    """The file to change, and its new text."""
    found = []
    for path in sorted(glob.glob(os.path.join(root, "operator/*/*.c"))):
        text = read(path)
        if where in text:
            spans = [p for span in definitions(text, where) for p in places(text, span, old)]
            found += [(path, text[:begin] + new.strip() + text[end:]) for begin, end in spans]
    if len(found) != 1:
        sys.exit(f"{where} has {len(found)} places with: {old}")
    return found[0]


def main(name=None, root="."):
    for each, edits in mutants().items():
        if name and each != name:
            continue
        assert edits, f"{each} changes nothing"
        for where, old, new in edits:
            assert old and old != new, f"{each} changes nothing"
            path, text = edit(root, where, old, new)
            if name:
                print(os.path.relpath(path, root))
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
