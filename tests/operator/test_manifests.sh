#!/bin/bash
# manifests/crd.yaml, docs/reference/trainingjob.md and status.md are what the tables of fields give, options.md what the
# tables of options give; the CRD is small enough for plain `kubectl apply`; the other manifests give the operator its
# rights and no more.
set -uo pipefail
export LC_ALL=C
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "test_manifests: $*"
    failed=1
}

# stale FILE COMMAND...: FILE is not what the command prints.
stale() {
    local file=$1
    shift
    "$@" >"$dir/new" || fail "$* failed"
    diff -u "$file" "$dir/new" | head -40
    cmp -s "$file" "$dir/new" || fail "$file is stale: $* >$file"
}
stale manifests/crd.yaml "${PACELINE:?}" crd
stale docs/reference/trainingjob.md "$PACELINE" explain --markdown
stale docs/reference/status.md "$PACELINE" explain status --markdown
export PACELINE
stale docs/reference/options.md scripts/options-page.sh

bytes=$(wc -c <manifests/crd.yaml)
if [ "$bytes" -gt 150000 ]; then fail "manifests/crd.yaml has $bytes bytes, more than 150,000"; fi
echo "manifests/crd.yaml: $bytes bytes, $(grep -c ' - {rule:' manifests/crd.yaml) rules"

# The API server's own estimate for each rule; only where Go and the modules of the Kubernetes tools are.
tool() {
    (cd tests/tools/kubernetes && GOTOOLCHAIN=local GOPROXY=off GOWORK=off CGO_ENABLED=0 \
        GOFLAGS=-buildvcs=false go "$@")
}
if tool list -deps ./crd-cost >"$dir/list" 2>&1; then
    tool run -trimpath ./crd-cost "$PWD/manifests/crd.yaml" || fail "the API server would refuse the rules"
else
    echo "the costs of its rules are not printed: $(tail -1 "$dir/list")"
fi

grep -nE 'image: [^/]*\.[^/]*/' manifests/operator.yaml && fail "an image of a named registry"
for word in runAsNonRoot:\ true readOnlyRootFilesystem:\ true allowPrivilegeEscalation:\ false drop:\ \[ALL\] \
    RuntimeDefault path:\ /healthz path:\ /readyz; do
    grep -qF "$word" manifests/operator.yaml || fail "manifests/operator.yaml lacks $word"
done
# No wildcard; secrets are read by name alone.
grep -n "'\*'\|\"\*\"\|\[\*\]" manifests/rbac.yaml && fail "a wildcard in manifests/rbac.yaml"
awk '/^- apiGroups/ { rule = "" } { rule = rule $0 } /verbs:/ && rule ~ /secrets/ && $0 ~ /get|list|watch/ &&
    rule !~ /resourceNames: \[paceline-operator-key\]/ { print; bad = 1 } END { exit bad }' manifests/rbac.yaml ||
    fail "the operator may read secrets of others"

# What SECURITY.md promises is shown by tests that are there.
shown=$(grep -o '`tests/[^`]*`' SECURITY.md | tr -d '`' | sort -u)
[ "$(wc -l <<<"$shown")" -ge 20 ] || fail "SECURITY.md names few tests: $shown"
for file in $shown; do
    if [ ! -f "$file" ]; then fail "SECURITY.md names $file, which is not there"; fi
done

if [ $failed -eq 0 ]; then echo "PASS test_manifests"; fi
exit $failed
