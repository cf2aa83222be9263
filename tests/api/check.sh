# shellcheck shell=bash
# Checks for the tests with a Kubernetes; needs tests/api/cluster.sh. `failed` is 1 after the first
# that did not hold. Sourced by tests/api/lib.sh and tests/cluster/lib.sh, which set `name`.
export failed=0

# shellcheck disable=SC2154 # the sourcing file has the name
fail() {
    echo "$name: $*"
    failed=1
}

# check NAME TEXT PART: PART is in TEXT. lacks: it is not.
check() {
    case $2 in
    *"$3"*) ;;
    *) fail "$1: \"$2\" lacks \"$3\"" ;;
    esac
}
lacks() {
    case $2 in
    *"$3"*) fail "$1: \"$2\" has \"$3\"" ;;
    esac
}

# same NAME GOT WANT
same() {
    if [ "$2" != "$3" ]; then fail "$1: got \"$2\", want \"$3\""; fi
}

# at_most NAME GOT LIMIT, at_least NAME GOT LIMIT
at_most() {
    if ! [ "$2" -le "$3" ]; then fail "$1: $2, at most $3 are allowed"; fi
}
at_least() {
    if ! [ "$2" -ge "$3" ]; then fail "$1: $2, at least $3 are needed"; fi
}

# until_true COMMAND...: waits for it; a test must end, so it gives up after a minute.
until_true() {
    cluster_wait "${patience:-60}" "$@" && return
    fail "gave up waiting for: $*"
    return 1
}

# until_same NAME WANT COMMAND...: until its output is WANT.
until_same() {
    local what=$1 want=$2
    shift 2
    prints() { [ "$("$@" 2>/dev/null)" = "$want" ]; }
    cluster_wait "${patience:-60}" prints "$@" || fail "$what: \"$("$@" 2>&1)\", not \"$want\""
}
