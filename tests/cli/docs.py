#!/usr/bin/env python3
"""docs.py REPOSITORY: whether the commands, files, fields and names in README and docs are there.

Runs in a folder of its own that test_docs.sh has prepared. Each command is run, with the replacements that
docs_rules.py has, or its words are compared with what there is; a block of YAML goes through `paceline validate`.
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys

import docs_rules as rules

REPO = sys.argv[1]
PACELINE = os.environ["PACELINE"]
BIN = os.path.dirname(PACELINE)
HEAD = "apiVersion: paceline.dev/v1\nkind: TrainingJob\nmetadata: {name: fragment}\nspec:\n"
problems, counts = [], {}


def count(what):
    counts[what] = counts.get(what, 0) + 1


def output(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, timeout=120, check=False)


def cached(function):
    known = {}

    def call(*key):
        if key not in known:
            known[key] = function(*key)
        return known[key]
    return call


@cached
def whole_help(program, *words):
    return output(os.path.join(BIN, program), *words, "--help").stdout


def help_of(program, *words):
    """Without its examples, which are to be compared with the rest."""
    return whole_help(program, *words).split("\nexamples:\n")[0]


@cached
def tree():
    """Every file and folder of the repository but for what is built, as paths from its root."""
    found = set()
    for at, folders, files in os.walk(REPO):
        folders[:] = [f for f in folders if f not in (".git", "build", "runs")]
        found.update(os.path.relpath(os.path.join(at, f), REPO) for f in files + folders)
    return found


@cached
def crd():
    return output(PACELINE, "crd").stdout


@cached
def sources():
    text = []
    for path in tree():
        if re.search(r"\.(c|h|py|sh|yaml|tpl)$|Makefile$", path) and not path.startswith("docs/"):
            with open(os.path.join(REPO, path), encoding="utf-8", errors="replace") as f:
                text.append(f.read())
    return "\n".join(text)


@cached
def fields():
    return {f["path"].replace("[]", ""): f for f in json.loads(output(PACELINE, "explain", "--json").stdout)}


class Document:
    """A Markdown file as blocks of lines, and prose: (line, text) each."""

    def __init__(self, path):
        self.path, self.blocks, self.prose, self.anchors = path, [], [], set()
        with open(os.path.join(REPO, path), encoding="utf-8") as f:
            lines = f.read().split("\n")
        block, fence, prose, before = None, False, [], ""
        for number, line in enumerate(lines, 1):
            indented = line.startswith("    ") and (block is not None or not before.strip())
            numbered = re.match(r"\d+\. ", self.paragraph(lines, number))
            if line.lstrip().startswith("```"):
                fence = not fence
                block = self.begin(number, line.strip("` ")) if fence else None
            elif fence:
                block[2].append(line)
            elif indented and not numbered:
                if block is None:
                    block = self.begin(number - 1, "")
                block[2].append(line[4:])
            elif block is not None and not line.strip() and "".join(lines[number:number + 1]).startswith("    "):
                block[2].append("")
            else:
                block = None
                prose.append((number, line))
            before = line
            if line.startswith("#") and not fence:
                title = re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).strip()
                self.anchors.add(title.replace(" ", "-"))
        self.split_prose(prose)

    @staticmethod
    def paragraph(lines, number):
        """The first line of the list item that an indented line may go on."""
        at = number - 1
        while at > 0 and (lines[at].startswith("    ") or not lines[at].strip()):
            at -= 1
        return lines[at]

    def begin(self, number, language):
        self.blocks.append((number + 1, language, []))
        return self.blocks[-1]

    def split_prose(self, lines):
        """Paragraphs, each with its first line, so that a span of code may go over the end of a line."""
        last = -1
        for number, line in lines:
            if self.prose and number == last + 1 and line.strip() and not line.startswith("|"):
                first, text = self.prose.pop()
                self.prose.append((first, text + "\n" + line))
            else:
                self.prose.append((number, line))
            last = number if line.strip() else -1


class Checker:
    def __init__(self, path, line):
        self.path, self.line = path, line

    def wrong(self, message):
        problems.append(f"{self.path}:{self.line}: {message}")

    def known_options(self, words, help_text, command):
        """Each option is one of the help's; false after a problem."""
        right = True
        for word in words:
            option = word.split("=")[0]
            if option != "--help" and re.match(r"-{1,2}[a-zA-Z]", option) and not re.search(
                    rf"(^|[\s,\[|]){re.escape(option)}(?![\w-])", help_text):
                self.wrong(f"`{command}` has no option {option}")
                right = False
        return right

    def known_sets(self, words):
        for at, word in enumerate(words):
            if word == "--set" and at + 1 < len(words):
                self.field(words[at + 1].split("=")[0], "--set")

    def field(self, path, what):
        """A field of the job, or of its status, which the CRD has."""
        path = re.sub(r"\[\d*\]", "", path.rstrip(".*"))
        if path in rules.REJECTED:
            return None
        if path.startswith("status."):
            name = path.split(".")[-1]
            if not re.search(rf"\b{name}:", crd()):
                self.wrong(f"{what}: a status has no {path}")
            return None
        for prefix in ("", "spec."):
            if prefix + path in fields():
                return fields()[prefix + path]
        for known, field in fields().items():  # below what is handed on as it is: a template
            if path.startswith((known + ".", known[5:] + ".")) and field["type"] == "object" and \
                    field["allowed"] != "an object":
                return None
        above = [f for f in fields() if path.startswith((f + ".", f[len("spec."):] + ".")) and
                 not any(g.startswith(f + ".") for g in fields())]
        if not above and not chart_has(path):
            self.wrong(f"{what}: there is no field {path}; `paceline explain` lists them")
        return None

    def paceline(self, words, text, run):
        for word, real in rules.STAND_FOR.items():
            words = [re.sub(rf"^{word}(?=/|$)", real, w) for w in words]
        if len(words) == 1 or words[1].startswith("-"):
            self.known_options(words[1:], help_of("paceline"), "paceline")
            return
        name = words[1]
        if name not in rules.PACELINE or not re.search(rf"^  {name} ", help_of("paceline"), re.M):
            self.wrong(f"there is no command `paceline {name}` (or PACELINE in tests/cli/docs_rules.py lacks it)")
            return
        parts = [name] + ([words[2]] if name == "data" and len(words) > 2 else [])
        if not self.known_options(words[2:], help_of("paceline", *parts), " ".join(["paceline", *parts])):
            return
        self.known_sets(words)
        added = rules.PACELINE[name]
        if added is None or "--on" in words or "--help" in words or not run:
            count("compared")
            return
        words = words[1:]
        if name == "estimate" and "--calibrate" in words:
            added = rules.SMALL
        if len(words) == 1 and added == ["--check"]:
            added = []
        result = run_once(*words, *added)
        if result.returncode != 0:
            self.wrong(f"`{text}` ends with exit code {result.returncode} (run as `paceline "
                       f"{shlex.join([*words, *added])}`): {result.stdout.strip()[-400:]}")

    def make(self, words):
        help_text = make_help()
        for word in words[1:]:
            if "=" in word:
                name = word.split("=")[0]
                if not re.search(rf"\$[({{](if )?[^)]*\b{name}\b|\b{name}\b *[?:]?=", makefile() + sources()):
                    self.wrong(f"make knows no variable {name}")
            elif not re.match("-", word) and not re.search(rf"^{word} ", help_text, re.M):
                self.wrong(f"there is no target `make {word}`; `make help` lists them")

    def kubectl(self, words, text):
        rest = [w for w in words[1:]]
        while rest and rest[0].startswith("-"):
            rest = rest[2:]
        if not rest or rest[0] == "paceline":
            if rest:
                self.paceline(rest, text, False)
            return
        if rest[0] not in rules.KUBECTL_VERBS:
            self.wrong(f"kubectl {rest[0]}: not among KUBECTL_VERBS of tests/cli/docs_rules.py")
        for at, word in enumerate(rest):
            if word == "-f" and at + 1 < len(rest) and rest[at + 1] != "-":
                self.file(rest[at + 1], text)
        if rest[0] == "explain" and len(rest) > 1:
            self.field(rest[1].split(".", 1)[1], text)
        elif rest[0] in ("get", "describe", "scale", "patch") and len(rest) > 1 and \
                rest[1].split("/")[0] not in rules.KUBECTL_KINDS:
            self.wrong(f"{text}: {rest[1]} is not among KUBECTL_KINDS of tests/cli/docs_rules.py")

    def helm(self, words, text):
        for at, word in enumerate(words):
            if word.startswith("helm/"):
                self.file(word, text)
            if word == "--set":
                for pair in words[at + 1].split(","):
                    if not chart_has(pair.split("=")[0]):
                        self.wrong(f"the chart has no value {pair.split('=')[0]}")

    def command(self, text, run):
        """One command line; with run also carried out, where that is possible here."""
        text = re.split(r"\s{2,}|\s#", text.strip())[0].rstrip("\\ ")
        plain = text.replace("[", "").replace("]", "") if " [-" in text else text
        try:
            words = [w for w in shlex.split(re.split(r"[|>]", plain)[0]) if w != "..."]
        except ValueError as error:
            self.wrong(f"`{text}` is no command line: {error}")
            return
        count("commands")
        for pattern, _ in rules.NOT_RUN:
            if re.match(pattern, text):
                self.compared(words, text)
                return
        program = words[0]
        if program == "paceline":
            self.paceline(words, text, run)
        elif program == "make":
            self.make(words)
        elif program == "kubectl":
            self.kubectl(words, text)
        elif program == "helm":
            self.helm(words, text)
        elif "/" in program:
            self.file(program, text)
            path = os.path.join(REPO, program)
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as f:
                    self.known_options(words[1:], f.read(), program)
        else:
            self.wrong(f"`{text}`: nothing is known of it; add it to NOT_RUN of tests/cli/docs_rules.py, with why")

    def compared(self, words, text):
        for program in ("paceline-operator", "paceline-agent", "paceline-worker"):
            if program in words:
                self.known_options(words[words.index(program) + 1:], help_of(program), program)
        for image in re.findall(r"paceline-(?:operator|worker):(\S+)", text):
            if image != version():
                self.wrong(f"`{text}` names version {image}; `make images` makes {version()}")

    def file(self, name, text):
        path = name.rstrip("/")
        if not glob.glob(os.path.join(REPO, path)) and not os.path.exists(path):
            self.wrong(f"{text}: there is no {name}")

    def block(self, language, lines):
        text = "\n".join(lines).strip("\n")
        text = re.sub(r"^" + re.match(r" *", text).group(0), "", text, flags=re.M)
        first = re.split(r"\s", text, maxsplit=1)[0]
        if is_command(first) or re.match(r"[A-Z]+=|for ", text):
            for line in re.sub(r"\\\n\s*", "", text).split("\n"):
                line = line.strip()
                if is_command(line.split(" ")[0]):
                    self.command(re.split(r" && ", line)[0], True)
                elif line and not re.match(r"[A-Z]+=|for |done", line):
                    self.wrong(f"`{line}` is no command of PROGRAMS in tests/cli/docs_rules.py")
                self.line += 1
            return
        for pattern, kind in rules.BLOCKS:
            if re.match(pattern, text):
                self.yaml(kind, text)
                return
        self.wrong(f"a block that begins with \"{text.splitlines()[0][:60]}\": say in BLOCKS of "
                   "tests/cli/docs_rules.py what it is")

    def yaml(self, kind, text):
        if kind.startswith("-"):
            return
        count("jobs")
        if kind == "study":
            result = output(PACELINE, "study", "mine.yaml", "--check")
        else:
            text = re.sub(r"^ *(- )?\.\.\.\n?", "", text, flags=re.M)
            if kind == "layers":
                text = layers_section(text)
            if kind != "job":
                body = text.split("\n", 1)[1] if text.startswith("spec:") else re.sub("^", "  ", text, flags=re.M)
                text = HEAD + ("" if "model:" in text else "  model: {name: mlp}\n") + \
                    ("" if "dataset:" in text else "  dataset: {name: fashion-mnist}\n") + body
            with open("fragment.yaml", "w", encoding="utf-8") as f:
                f.write(text)
            result = output(PACELINE, "validate", "fragment.yaml")
        absent = re.compile(r".*: (No such file or directory|not found, with or without \.gz); ")
        if result.returncode != 0 and not all(map(absent.match, result.stdout.strip().split("\n"))):
            self.wrong(f"this block is refused: {result.stdout.strip()[:400]}")

    def span(self, text):
        text = " ".join(text.replace("\\|", "|").split())
        first = text.split(" ")[0]
        is_name = re.match(r"[\w.*<>/-]+$", text) and re.search(
            r"[\w.]/|\.(c|h|py|sh|yaml|md|case|html|jsonl?|safetensors|npy|txt|bin|key)$", text)
        if is_command(first) and " " in text:
            self.command(text, bool(re.match(r"\S+ \S+ [^-\s]", text)))
        elif is_name:
            self.name(text)
        elif re.match(r"PACELINE_[A-Z_]+$|paceline_[a-z_]+$", text):
            count("names")
            if not re.search(rf"\b{text}\b", sources()) and text[:9] + '" "' + text[9:] not in sources():
                self.wrong(f"`{text}` is nowhere in the sources")
        elif re.match(r"(spec|status|model|dataset|training|strategy|checkpoint|output|replicas|runPolicy|debug|"
                      r"clusterSpec|networkPolicy)(\.[A-Za-z\[\]\d]+)+(: .*)?$", text):
            self.key_value(text)
        elif re.match(r"[A-Za-z]+: [^ ]+$", text):
            self.key_value(text)

    def key_value(self, text):
        count("fields")
        key, _, value = text.partition(": ")
        if "." in key:
            field = self.field(key, f"`{text}`")
            found = [field] if field else []
        else:
            found = [f for p, f in fields().items() if p.split(".")[-1] == key]
            if not found and key not in rules.KEYS:
                self.wrong(f"`{text}`: no field has this name (or KEYS of tests/cli/docs_rules.py lacks it)")
        words = [f["allowed"][len("one of "):].split(", ") for f in found if f["allowed"].startswith("one of ")]
        if value and re.match(r"[A-Za-z]\w*$", value) and words and len(words) == len(found) and \
                not any(value in w for w in words):
            self.wrong(f"`{text}`: allowed is one of {', '.join(words[0])}")

    def name(self, text):
        count("files")
        path = text.rstrip("/")
        pattern = re.compile("(.*/)?" + re.escape(path).replace(r"\*", "[^/]*") + "$")
        if any(pattern.match(known) for known in tree()) or made(path):
            return
        if not any(re.match(p, text) for p, _ in rules.NAMES):
            self.wrong(f"`{text}`: there is no such file; where it is none of the tree, NAMES of "
                       "tests/cli/docs_rules.py wants a line that says what it is")

    def link(self, target):
        path, _, anchor = target.partition("#")
        if re.match("[a-z]+:", target):
            return
        count("links")
        whole = os.path.normpath(os.path.join(os.path.dirname(self.path), path)) if path else self.path
        if not os.path.exists(os.path.join(REPO, whole)):
            self.wrong(f"the link {target} leads nowhere")
        elif anchor and whole.endswith(".md") and anchor not in document(whole).anchors:
            self.wrong(f"the link {target} names no heading of {whole}")


def layers_section(text):
    """model and dataset around a list of layers: data that have what the layers take, and scores at the end."""
    data = next(d for pattern, d in rules.LAYER_DATA if re.search(pattern, text))
    if not re.search(r"type: dense[^\n]*$", text):
        text += "\n- {type: flatten}\n- {type: dense, units: 80}"
    return f"dataset: {data}\nmodel:\n  layers:\n" + re.sub("^", "  ", text, flags=re.M)


@cached
def document(path):
    return Document(path)


@cached
def chart_has(path):
    """Whether helm/paceline/values.yaml has a value of this path, of one or two keys."""
    first, _, second = path.partition(".")
    with open(os.path.join(REPO, "helm/paceline/values.yaml"), encoding="utf-8") as f:
        below = re.search(rf"^{first}:(.*\n(?:[ #].*\n|\n)*)", f.read(), re.M)
    return bool(below and (not second or re.search(rf"^  {second}:", below.group(1), re.M)))


@cached
def version():
    return re.search(r'#define PACELINE_VERSION "([\d.]+)"', sources()).group(1)


@cached
def make_help():
    return output("make", "-s", "-C", REPO, "help").stdout


@cached
def makefile():
    with open(os.path.join(REPO, "Makefile"), encoding="utf-8") as f:
        return f.read()


@cached
def run_once(*words):
    count("run")
    return output(PACELINE, *words)


@cached
def made(path):
    """Whether the run that test_docs.sh made has a file of this name."""
    return any(os.path.exists(os.path.join(at, path)) for at in (".", "runs/fashion-cnn"))


def is_command(word):
    return any(word == p or (p.endswith("/") and word.startswith(p)) for p in rules.PROGRAMS)


def write_studies(paths):
    """The study that the docs show is mine.yaml of all commands."""
    for path in paths:
        for _, _, lines in document(path).blocks:
            if "kind: Study" in lines:
                with open("mine.yaml", "w", encoding="utf-8") as f:
                    f.write("\n".join(lines))


def check_document(path):
    doc = document(path)
    for line, language, lines in doc.blocks:
        if language != "c" and "\n".join(lines).strip():
            Checker(path, line).block(language, lines)
    for first, text in doc.prose:
        for match in re.finditer(r"`([^`]+)`", text):
            Checker(path, first + text.count("\n", 0, match.start())).span(match.group(1))
        for match in re.finditer(r"\]\(([^)\s]+)\)", text):
            Checker(path, first + text.count("\n", 0, match.start())).link(match.group(1))


def check_help():
    """Every --help has examples, and they are tried like those of the docs."""
    names = re.findall(r"^  ([a-z-]+) ", help_of("paceline"), re.M)
    asked = [("paceline",), ("paceline", "data", "fetch"), ("paceline-worker",), ("paceline-agent",),
             ("paceline-operator",)] + [("paceline", name) for name in names]
    for words in asked:
        checker = Checker(f"`{' '.join(words)} --help`", 0)
        lines = re.findall(r"^  (.*)", whole_help(*words).partition("\nexamples:\n")[2], re.M)
        if not lines:
            checker.wrong("it has no examples")
        for checker.line, line in enumerate(lines, 1):
            for command in re.split(" && ", line):
                checker.command(command, True)


def check_images():
    """What manifests and chart start, `make images` makes."""
    names = {f"paceline-{t}:{version()}" for t in ("operator", "worker")}
    with open(os.path.join(REPO, "manifests/operator.yaml"), encoding="utf-8") as f:
        for image in re.findall(r"\bimage: (\S+)", f.read()):
            if image not in names:
                problems.append(f"manifests/operator.yaml: it starts {image}; `make images` makes "
                                f"{', '.join(sorted(names))}")


def check_words():
    """Where a field's description explains words ("idx: any folder; ..."), some field allows each of them."""
    words = {w for f in fields().values() for w in re.sub("^one of ", "", f["allowed"]).split(", ")}
    for path, field in fields().items():
        if field["allowed"].startswith("one of "):
            told = re.findall(r"(?:^|[;,] )([A-Za-z][\w-]*)(?=(?:, [\w-]+)*: )", field["description"])
            wrong = [w for w in told if w not in words]
            if wrong:
                problems.append(f"{path}: it explains {', '.join(wrong)}; allowed is {field['allowed']}")


def main():
    paths = sorted({os.path.relpath(p, REPO) for pattern in rules.DOCUMENTS
                    for p in glob.glob(os.path.join(REPO, pattern), recursive=True)})
    write_studies(paths)
    for path in paths:
        check_document(path)
    check_help()
    check_images()
    check_words()
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    for problem in problems:
        print(problem)
    wanted = {"commands": 80, "files": 150, "fields": 100, "jobs": 15, "links": 60, "run": 25}
    few = [w for w, n in wanted.items() if counts.get(w, 0) < n]
    if few:
        print(f"too few were found of: {', '.join(few)}; docs.py no longer reads the docs as they are written")
    return 1 if problems or few else 0


sys.exit(main())
