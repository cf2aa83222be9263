#!/bin/bash
# Memory, files, sockets, processes: each call of ours that may fail fails once, in the tests of what the operator and
# the agent are made of. Nothing crashes, hangs, or signals processes that are not ours. A spread of the calls;
# TORTURE_MOST=1000000 takes each of them (half an hour).
# TIMEOUT: 300
set -uo pipefail
build=${PACELINE_BUILD:?}
case $build in
*-address | *-thread | *-fuzzer)
    echo "sanitizers have an allocator of their own"
    exit 77
    ;;
esac
tests=(agent_report api_meta api_pod api_trainingjob cache channel controller controller_lease controller_owned
    controller_watch frame json agent_conns masterkey metrics objects objects_keys options
    pod_events reconcile run_report spec workqueue yaml)
shopt -s nullglob
programs=()
for test in "${tests[@]}"; do
    found=("$build"/tests/unit/*/test_"$test" "$build"/tests/unit/*/*/test_"$test")
    if [ ${#found[@]} -ne 1 ]; then
        echo "FAIL test_torture: ${#found[@]} programs named test_$test"
        exit 1
    fi
    programs+=("${found[0]}")
done
# A process id of its own for everybody, where root may: what goes wrong stays inside.
inside=()
if unshare --pid --fork --mount-proc true 2>/dev/null; then inside=(unshare --pid --fork --mount-proc); fi
"${inside[@]}" python3 tests/torture/run.py --library "$build/tests/torture/fail_nth.so" \
    --most "${TORTURE_MOST:-24}" "${programs[@]}" || {
    echo "FAIL test_torture"
    exit 1
}
echo "PASS test_torture"
