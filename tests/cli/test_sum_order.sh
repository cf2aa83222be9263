#!/bin/bash
# TIMEOUT: 400
# One sum order: the same job writes the same checkpoint on 1 to 4 ranks, 1 and 2 threads, every
# instruction set, either schedule, with the last batch partial or smaller than the lanes, and
# when it is interrupted and resumed.
. tests/cli/lib.sh

idx_data
cat >job.yaml <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: order}
spec:
  model:
    layers:
      - {type: conv, filters: 20, kernel: 5, padding: same}
      - {type: relu}
      - {type: maxpool, kernel: 2, stride: 2}
      - {type: conv, filters: 33, kernel: 3, stride: 1, padding: same}
      - {type: relu}
      - {type: maxpool, kernel: 2, stride: 2}
      - {type: flatten}
      - {type: dense, units: 70}
      - {type: relu}
      - {type: dropout, rate: 0.4}
      - {type: dense, units: 4}
  dataset: {name: idx, path: data}
  training: {epochs: 2, batchSize: 64, lanes: 16, threads: 1}
  checkpoint: {best: false}
JOB


one_order
same "2 ranks of 2 threads" "$(result both --workers 2 --set training.threads=2)" "$want"
same "schedule end" "$(result end --workers 2 --set strategy.schedule=end)" "$want"
same "a communication thread" \
    "$(result thread --workers 2 --set strategy.communicationThread=true)" "$want"

# The same tree on other schedules.
same "recursiveDoubling, 4 ranks" \
    "$(result doubling4 --workers 4 --set strategy.algorithm=recursiveDoubling)" "$want"
same "naive, 3 ranks" "$(result naive3 --workers 3 --set strategy.algorithm=naive)" "$want"

# Three ranks share four lanes: one of them has two threads, and hands its gradients over in other
# ranges than the others.
uneven=$(result uneven --set training.lanes=4)
same "ranks of one and of two threads" "$(result uneven3 --workers 3 --set training.lanes=4 \
    --set training.threads=2 --set strategy.fusionBytes=4096)" "$uneven"

# 270 = 4 * 64 + 14: 14 samples on 16 lanes leave lanes and, at 4 ranks, blocks empty already;
# three samples leave whole ranks without any.
few=$(result few --set dataset.limit=67)
same "a last batch of 3 on 4 ranks" "$(result few4 --workers 4 --set dataset.limit=67)" "$few"
same "a last batch of 3 on 3 ranks, recursiveDoubling" "$(result doubling3 --workers 3 \
    --set strategy.algorithm=recursiveDoubling --set dataset.limit=67)" "$few"
same "a last batch of 3 on 3 ranks, 2 threads" \
    "$(result few3 --workers 3 --set training.threads=2 --set dataset.limit=67)" "$few"
if [ "$few" = "$want" ]; then fail "other data gave the same weights"; fi

# Clipping waits for the norm of the whole gradient.
clip=$(result clip --set training.clipNorm=0.5)
same "clipping on 3 ranks" "$(result clip3 --workers 3 --set training.clipNorm=0.5)" "$clip"
if [ "$clip" = "$want" ]; then fail "clipping changed nothing"; fi

# Every optimiser keeps its state: stopped in the middle of an epoch, resumed on other ranks.
for optimizer in sgd adam adadelta rmsprop adagrad adamw; do
    whole=$(result "whole-$optimizer" --set training.optimizer="{name: $optimizer}")
    result "parts-$optimizer" --set training.optimizer="{name: $optimizer}" \
        --set training.steps=3 >/dev/null
    same "$optimizer, resumed" "$(result "parts-$optimizer" --resume --workers 2 \
        --set training.optimizer="{name: $optimizer}")" "$whole"
done

# Ring and MPI promise less: the same bytes on every run, and equal replicas.
for algorithm in ring mpi; do
    one=$(result "$algorithm-1" --workers 3 --set strategy.algorithm=$algorithm)
    check "$algorithm" "$one" "  -"
    if [ $algorithm = ring ]; then
        same "ring again" "$(result ring-2 --workers 3 --set strategy.algorithm=ring)" "$one"
    fi
    check "$algorithm, bf16" "$(result "$algorithm-bf16" --workers 3 \
        --set strategy.algorithm=$algorithm --set strategy.wire=bf16)" "  -"
done
verdict
