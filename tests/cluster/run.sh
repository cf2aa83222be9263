#!/bin/bash
# Runs tests on one real cluster, named CLUSTER ("test"); its images stay for the next time.
#   BUILD=build/gcc tests/cluster/run.sh tests/cluster/test_node.sh ...
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
export CLUSTER=${CLUSTER:-test}
end() { scripts/cluster.sh down --keep "$CLUSTER"; }
trap 'exit 130' INT TERM
if scripts/cluster.sh up "$CLUSTER" >/dev/null; then
    trap end EXIT
    tests/cluster/images.sh >/dev/null # what fails here, the tests say
fi
tests/run.sh "$@"
