#!/bin/bash
# Every object of the jobs in tests/objects is as recorded there. What the objects say is judged elsewhere: by
# TensorFlow (test_tf_config.sh) and by the API server (tests/api/test_objects.sh, test_golden.sh).
set -euo pipefail
cd "$(dirname "$0")/../.."
exec python3 tests/operator/objects.py "$PACELINE_BUILD/tests/operator/objects"
