#!/bin/bash
# Every wrong flag gives one sentence that names it and what is allowed, and exit code 2, before
# anything is started or asked.
set -uo pipefail
export LC_ALL=C
operator=${PACELINE_OPERATOR:?}
unset PACELINE_MASTER_KEY_FILE KUBECONFIG KUBERNETES_SERVICE_HOST
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME=$dir
failed=0

fail() {
    echo "test_options: $*"
    failed=1
}

# ends STATUS PART ARGS...: exit code, and PART in what it says.
ends() {
    local status=$1 part=$2 out got
    shift 2
    out=$("$operator" "$@" 2>&1)
    got=$?
    if [ $got -ne "$status" ]; then fail "$*: exit $got, want $status: $out"; fi
    case $out in
    *"$part"*) ;;
    *) fail "$*: \"$out\" lacks \"$part\"" ;;
    esac
}

# refused PART ARGS...: one sentence on standard error, nothing on standard output.
refused() {
    local part=$1
    shift
    ends 2 "$part" "$@"
    if [ -n "$("$operator" "$@" 2>/dev/null)" ]; then fail "$*: writes to standard output"; fi
    if [ "$("$operator" "$@" 2>&1 | wc -l)" -ne 1 ]; then fail "$*: not one line"; fi
}

ends 0 "--lease-duration TIME" --help
ends 0 "usage: paceline-operator" -h
ends 0 "paceline-operator " --version

refused "unknown option --frobnicate" --frobnicate
refused "did you mean --lease-duration?" --lease-durration 15s
refused 'one argument too many: x' x
refused 'unknown option -v' -v
refused 'one argument too many: --help' -- --help
refused "--namespace needs a value" --namespace
refused '--cluster-domain is "Corp.example"; it takes a name' --cluster-domain Corp.example
refused "--all-namespaces takes no value" --all-namespaces=true
refused "exclude each other" --namespace a --all-namespaces

for name in namespace operator-namespace lease-name; do
    for value in '' A a_b -a a- .a a/b 'a b' '*' "$(printf 'a%.0s' {1..254})"; do
        refused "--$name is \"$value\"" "--$name=$value"
    done
done
for name in kubeconfig context identity worker-image master-key-file web-address; do
    refused "--$name is empty" "--$name="
done

for value in '' 0s 15 15x s 1s1m 1s1s -1s ' 1s' 1.5s 1e3s 99999999999s 18446744073709552s 25h 1sm 0h0m; do
    refused "--request-timeout is \"$value\"; it takes a time" "--request-timeout=$value"
done
refused "whole seconds" --lease-duration 1500ms --renew-deadline 1s --retry-period 500ms
refused "--renew-deadline must be shorter than --lease-duration" --renew-deadline 15s
refused "--renew-deadline must be shorter than --lease-duration" --lease-duration 8s
refused "--retry-period must be shorter than --renew-deadline" --retry-period 10s

for value in '' 0 -1 1.5 1x 1025 99999999999999999999; do
    refused "--max-writes is \"$value\"; it takes a whole number from 1 to 1024" "--max-writes=$value"
done
refused "--page-size is \"10001\"" --page-size 10001
for value in '' -1 x 1x nan inf 1e7; do
    refused "--qps is \"$value\"; it takes a number from 0" "--qps=$value"
done
refused "--burst must be at least 1" --qps 5 --burst 0.5

for value in 8080 localhost:8080 127.0.0.1 127.0.0.1: 127.0.0.1:65536 ::1:80 '[::1]' 1.2.3:80 127.0.0.1:80x; do
    refused "\"$value\" is no address and port" --web-address "$value"
done
refused '--web is "all"; it takes none' --web all
refused '--log-level is "loud"; it takes debug, info, warn or error' --log-level loud

# What is right gets as far as looking for credentials. Both forms of a value, and the last counts.
good=(--namespace=team-a --operator-namespace sys --lease-name=l.x --lease-duration 1m30s
    --renew-deadline=1m --retry-period 500ms --max-writes 1024 --page-size=10000 --qps 0.5 --burst 1
    --request-timeout 24h --web none --log-level warn --identity me --worker-image example/worker:1)
ends 3 "no way to a Kubernetes API" "${good[@]}"
ends 3 "no way to a Kubernetes API" --all-namespaces --no-leader-election --web-address none
refused "--max-writes is \"x\"" "${good[@]}" --max-writes x
ends 3 "$dir/absent" --kubeconfig "$dir/absent"

if [ $failed -eq 0 ]; then echo "PASS test_options"; fi
exit $failed
