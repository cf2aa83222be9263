#!/bin/bash
# The small calls between ranks (worker/comm/comm.h): when a rank does not come, the others end the world
# after their patience, and say what they waited for.
. tests/cli/lib.sh

# gives_up CALL SENTENCE
gives_up() {
    local status=0 said
    said=$(ranks 3 timeout -k 1 60 "$PACELINE_BUILD/tests/mpi/test_patience" "$1" 2>&1) || status=$?
    check "$1" "$said" "waited 1 s for $2"
    same "$1: the exit code" "$status" 1
}
gives_up broadcast "a broadcast of rank 2"
gives_up max "a number of all workers"
gives_up pass "a message of rank 2"
gives_up gather "values of all workers"
gives_up wall "a barrier of all workers"
verdict
