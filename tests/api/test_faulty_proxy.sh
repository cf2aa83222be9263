#!/bin/bash
# The same jobs end in the same state whichever request the API server spoils: faulty_run.py.
# EVERY=1 tries all faults at all requests, FAULT=429 PERIOD=7 one of them.
# TIMEOUT: 400
source tests/api/lib.sh
api_start 8
token=$(k create token paceline-operator -n "$operator_namespace" --duration=2h)
python3 tests/api/faulty_run.py --operator "$PACELINE_OPERATOR" --server "$cluster_url" \
    --pki "$dir/cluster/pki" --token "$token" || fail "see above"
verdict
