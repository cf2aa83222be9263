#!/bin/bash
# report.html is well-formed, self-contained and shows the run.
. tests/cli/lib.sh
fake

"$PACELINE" run job.yaml --out run >/dev/null || fail "exit code $?"
python3 - run/report.html <<'PY' || fail "the page"
import html.parser, sys

class Page(html.parser.HTMLParser):
    void = {"meta"}

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text, self.bad = [], {}, [], []

    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        for key, value in attrs:
            if key in ("src", "href") or "url(" in (value or ""):
                self.bad.append(f"{tag} loads {value}")
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(f"</{tag}> closes another element")

    def handle_data(self, data):
        self.text.append(data)

page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
text = "".join(page.text)
bad = page.bad + [f"<{tag}> is left open" for tag in page.open]
bad += [f"<{tag}> is there" for tag in ("script", "link", "img") if tag in page.seen]
bad += [f"{word!r} is missing" for word in
        ("Accuracy", "Loss", "Throughput", "Learning rate", "Confusion", "Where the time went",
         "a CPU", "TrainingJob", "90.00%") if word not in text]
if page.seen.get("svg", 0) < 6:
    bad.append("fewer drawings than figures")
if "nan" in text.lower().split():
    bad.append("a number is no number")
if bad:
    print("\n".join(bad))
sys.exit(bool(bad))
PY
verdict
