#!/bin/bash
# Builds the images of this tree and imports them, so that no test spends its time limit on it.
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
cluster_test
paceline_images
