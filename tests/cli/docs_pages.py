#!/usr/bin/env python3
"""docs_pages.py REPOSITORY: the size of each page, the commits of the recipes, the figure, the numbers of README.

docs.py looks at commands, files, fields and links; this looks at what can be counted.
"""
import csv
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

REPO = sys.argv[1]
BIN = os.path.dirname(os.environ["PACELINE"])
WORDS, LINES = 1500, 200
MADE = ["docs/reference/trainingjob.md", "docs/reference/status.md", "docs/reference/options.md"]  # printed by a program
ROOT = ["README.md", "CONTRIBUTING.md"]   # pages at the root that obey the same bound
problems = []


def read(path):
    with open(os.path.join(REPO, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def found(*patterns):
    return sorted({os.path.relpath(p, REPO) for pattern in patterns
                   for p in glob.glob(os.path.join(REPO, pattern), recursive=True)})


def check_sizes():
    for path in found("docs/**/*.md") + ROOT:
        words = len(read(path).split())
        if path not in MADE and words > WORDS:
            problems.append(f"{path}: {words} words; a page has at most {WORDS}: split it by its questions")
    lines = read("ARCHITECTURE.md").count("\n")
    if lines > LINES:
        problems.append(f"ARCHITECTURE.md: {lines} lines; at most {LINES}: a decision is a file of docs/decisions")


def check_reached():
    """A page that no other page links to is not found by its readers."""
    pages = found("docs/**/*.md")
    targets = set()
    for path in pages + found("*.md"):
        for link in re.findall(r"\]\(([^)\s#]+)", read(path)):
            target = os.path.normpath(os.path.join(os.path.dirname(path), link))
            if target != path:
                targets.add(target)
    for path in pages:
        if path not in targets:
            problems.append(f"{path}: no page links to it; docs/README.md lists pages")


def check_decisions():
    """Files are numbered without gaps, each with its date and what was rejected, and the list has each."""
    listed = read("docs/decisions/README.md")
    paths = found("docs/decisions/[0-9]*.md")
    numbers = [int(os.path.basename(p)[:4]) for p in paths]
    if numbers != list(range(1, len(paths) + 1)):
        wrong = sorted(set(range(1, len(paths) + 1)) ^ set(numbers) | {n for n in numbers if numbers.count(n) > 1})
        problems.append(f"docs/decisions: numbers that are missing, double or too high: {wrong}")
    for number, path in zip(numbers, paths):
        name, text = os.path.basename(path), read(path)
        if not re.match(rf"# {number}\. .*\n\n\d{{4}}-\d\d-\d\d\n", text):
            problems.append(f"{path}: it has to begin with `# {number}. TITLE`, an empty line, and the date")
        if "\n## Rejected\n" not in text:
            problems.append(f"{path}: it does not say what was rejected")
        if f"]({name})" not in listed:
            problems.append(f"docs/decisions/README.md: it does not list {name}")


def git(*words):
    return subprocess.run(["git", "-C", REPO, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)


def check_recipes():
    """Each recipe of CONTRIBUTING names a commit of the history; a clone without history cannot tell."""
    rows = re.findall(r"^\| .* \| `([0-9a-f]{7,40})` \|$", read("CONTRIBUTING.md"), re.M)
    table = read("CONTRIBUTING.md").partition("\n## Recipes\n")[2].partition("\n## ")[0]
    rest = len(re.findall(r"^\| ", table, re.M)) - 1 - len(rows)  # less the head of the table
    if len(rows) < 10 or rest:
        problems.append(f"CONTRIBUTING.md: {len(rows)} recipes name a commit, {rest} do not")
    if not shutil.which("git") or git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        print("the commits of the recipes are not looked up: no git, or a shallow clone")
        return
    for commit in rows:
        if git("merge-base", "--is-ancestor", commit, "HEAD").returncode != 0:
            problems.append(f"CONTRIBUTING.md: a recipe names {commit}, which is no commit of this history")


def check_figure():
    """The drawing is what its program makes of the data, and a page has each row of the data."""
    drawn = subprocess.run([sys.executable, os.path.join(REPO, "bench/figure/figure.py")], stdout=subprocess.PIPE,
                           text=True, check=False).stdout
    if drawn != read("docs/images/speed.svg"):
        problems.append("docs/images/speed.svg is stale: bench/figure/figure.py >docs/images/speed.svg")
    with open(os.path.join(REPO, "bench/figure/speed.csv"), encoding="utf-8") as f:
        for row in csv.DictReader(f):
            if row["panel"] == "workers":
                told = f"{int(row['value']):,} ± {int(row['high']) - int(row['value'])}"
                right = 2 * int(row["value"]) == int(row["low"]) + int(row["high"])
            else:
                told, right = f"{row['value']} ({row['low']}-{row['high']})", True
            if told not in read(row["page"]) or not right:
                problems.append(f"bench/figure/speed.csv: {row['page']} does not have \"{told}\" of {row['label']}")


def operator_bytes():
    """Of the stripped program; None where a sanitizer is linked into it, or nothing can strip it."""
    program = os.path.join(BIN, "paceline-operator")
    with open(program, "rb") as f:
        if re.search(rb"__(asan|ubsan|tsan|gcov)_", f.read()):
            return None
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped")
        if not shutil.which("strip") or subprocess.run(["strip", "-o", stripped, program], check=False).returncode:
            return None
        return os.path.getsize(stripped)


def count_tests():
    return len([p for p in found("tests/**/test_*") if p.endswith((".c", ".sh"))])


def count_lines():
    return sum(read(p).count("\n") for folder in ("common", "include", "wire", "worker", "cli", "operator", "agent")
               for p in found(f"{folder}/**/*.[ch]"))


def near(what, path, pattern, real, share):
    """The number that a page tells is the real one, within a share of it."""
    if real is None:
        print(f"{what}: not looked at")
        return
    told = re.search(pattern, read(path))
    number = float(told.group(1).replace(",", "")) if told else None
    if number is None or abs(number - real) > share * real:
        problems.append(f"{path}: {what} is {number}, and really {real:,}")


def check_numbers():
    """Numbers of README are counted here, or measured and told by a page of docs/performance with the command."""
    near("lines of C", "README.md", r"[Aa]bout ([\d,]+) lines of C", count_lines(), 0.15)
    near("test programs", "README.md", r"([\d,]+) test programs", count_tests(), 0.15)
    size = operator_bytes()
    near("the operator's size in MB", "docs/performance/operator.md", r"binary, stripped \| \| ([\d.]+) MB",
         size and size / 1e6, 0.35)  # compilers differ
    if size and size >= 1e6:
        problems.append(f"README.md: the operator has {size:,} bytes, no less than a megabyte")
    check_claims()
    check_told()


def check_claims():
    """The comparisons of README follow from the data of its figure, and its output of a run is that of a page."""
    with open(os.path.join(REPO, "bench/figure/speed.csv"), encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    best = [float(r["value"]) for r in rows if r["series"] == "beside the best peer"]
    speed = {(r["label"].split()[0], r["series"]): float(r["value"]) for r in rows if r["panel"] == "workers"}
    gains = [speed[name, "2 workers"] / speed[name, "1 worker"] for name in ("Paceline", "PyTorch", "TensorFlow")]
    words = " ".join(read("README.md").split())
    claims = [f"{'eleven' if len(best) == 11 else len(best)} networks train {min(best):.2f} to {max(best):.2f} times",
              "Two workers train `fashion-cnn` {:.2f} times as fast as one; PyTorch reaches {:.2f} and TensorFlow {:.2f}"
              .format(*gains)]
    problems.extend(f"README.md: it has to say \"{claim}\"" for claim in claims if claim not in words)
    block = re.search(r"```\n( +trained .*?)```", read("README.md"), re.S)
    page = read("docs/performance/accuracy.md")
    for line in block.group(1).strip("\n").split("\n") if block else ["a block of what `make demo` prints"]:
        if line not in page:
            problems.append(f"README.md: docs/performance/accuracy.md does not have \"{line.strip()}\"")


def check_told():
    measured = "\n".join(map(read, found("docs/performance/*.md")))
    text = re.sub(r"```yaml.*?```|\]\([^)]*\)|<[^>]*>", "", read("README.md"), flags=re.S)
    told = re.findall(r"(?<![\w.-])\d[\d,]*\.\d+|(?<![\w.-])\d[\d,]*,\d{3}(?![\d,])", text)
    for number in told:
        counted = re.search(rf"{number} lines of C", text)
        if not counted and not re.search(rf"(?<![\d.,]){re.escape(number)}(?!\d)", measured):
            problems.append(f"README.md: no page of docs/performance has the number {number}")
    if len(told) < 8:
        problems.append(f"README.md: only {len(told)} numbers were found")


check_sizes()
check_reached()
check_decisions()
check_recipes()
check_figure()
check_numbers()
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
