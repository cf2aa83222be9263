#!/bin/bash
# TIMEOUT: 120
# What TensorFlow makes of the TF_CONFIG in the pods of tests/objects.
set -euo pipefail
cd "$(dirname "$0")/../.."

export TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=
for python in .venv-tensorflow/bin/python python3; do
    if "$python" -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("tensorflow"))' 2>/dev/null; then
        exec "$python" tests/operator/tf_config.py "$PACELINE_BUILD/tests/operator/objects"
    fi
done
echo "TensorFlow is not installed: bench/peers/install.sh makes .venv-tensorflow"
exit 77
