#!/bin/bash
# README and docs: every command is tried or compared with --help, every file, field and link looked for.
# What is new in the docs and no rule knows fails with a line that names the table of docs_rules.py for it.
# LANE: waiting
. tests/cli/lib.sh

idx_data
cp -r "$repo/examples" .
gzip -c data/t10k-images-idx3-ubyte >images-idx3-ubyte.gz
cp data/t10k-images-idx3-ubyte images-idx3-ubyte
# The job that README shows is job.yaml of all its commands.
awk '/^```yaml/ {show = 1; next} /^```/ {show = 0} show' "$repo/README.md" >job.yaml
"$PACELINE" run job.yaml --set dataset.name=idx --set dataset.path=data --set training.steps=3 >log 2>&1 ||
    fail "README's job: $(cat log)"
cp runs/fashion-cnn/best.safetensors a.safetensors
cp a.safetensors b.safetensors
cp a.safetensors model.safetensors
cp runs/fashion-cnn/job.json .

PYTHONDONTWRITEBYTECODE=1 python3 "$repo/tests/cli/docs.py" "$repo" >found 2>&1 || fail "$(cat found)"
head -1 found
# The size of each page, the commits of the recipes, the figure, and the numbers of README.
python3 "$repo/tests/cli/docs_pages.py" "$repo" >pages 2>&1 || fail "$(cat pages)"
cat pages
verdict
