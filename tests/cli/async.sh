# shellcheck shell=bash
# Sourced after lib.sh by the tests of asynchronous servers: the job, its options, what a run reports.
conv_job async

# servers WORKERS SERVERS: the options, in the array `s`.
servers() {
    # shellcheck disable=SC2034 # it is the test's
    s=(--workers "$1" --set replicas.ps.replicas="$2" --set strategy.type=ParameterServer
        --set strategy.mode="${mode:-async}")
}
# of NAME KEY: what the last event says.
of() { tail -1 "$1/events.jsonl" | grep -o "\"$2\":\(\[[^]]*\]\|[0-9]*\)" | cut -d: -f2; }
total() { of "$1" "$2" | tr -d '[]' | tr , '\n' | awk '{ n += $1 } END { print n }'; }
refused() { check "$1" "$("$PACELINE" validate job.yaml "${@:3}" 2>&1)" "$2"; }
