#!/bin/bash
# Every reason of a condition or an event that the operator can give has a heading in
# docs/tasks/troubleshooting*.md.
set -uo pipefail
export LC_ALL=C
pages="docs/tasks/troubleshooting.md docs/tasks/troubleshooting-running.md"
# What is written alike and is none: kinds of objects, values of fields, states.
other=' ConfigMap NetworkPolicy PodGroup Secret Service ExitCode Never AllReduce ParameterServer Pending Blocked '
missing=0 found=0
for word in $(grep -ohE '"[A-Z][a-z]+([A-Z][a-z]+)*"' operator/reconcile/*.[ch] operator/api/status.c | tr -d '"' | sort -u); do
    case $other in *" $word "*) continue ;; esac
    found=$((found + 1))
    cat $pages | grep -x "### $word" >/dev/null || {
        echo "$pages: no heading ### $word"
        missing=1
    }
done
if [ $found -lt 30 ]; then
    echo "only $found reasons were found"
    exit 1
fi
exit $missing
