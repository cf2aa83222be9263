#!/bin/bash
# The CRD on a real API server: it refuses what `paceline validate` refuses, at the same path and, for
# rules in CEL, with the same sentence; it fills the same defaults; what may not change does not; explain,
# scale and the columns work.
# shellcheck source=tests/api/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_tools >"$dir/tools" || {
    status=$?
    tail -n 1 "$dir/tools"
    exit $status
}
"$PACELINE" crd >"$dir/crd.yaml" || fail "paceline crd"
cluster_manifests=("$dir/crd.yaml")
cluster_start "$dir/cluster" 1 || {
    echo "Kubernetes did not start"
    exit 1
}

# kubectl keeps what was applied in an annotation, as JSON; all annotations of an object have room for 262,144.
applied=$(k get crd trainingjobs.paceline.dev -o 'jsonpath={.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}' | wc -c)
echo "the annotation of kubectl apply: $applied bytes"
at_least "what kubectl apply stores" "$applied" 100000
at_most "what kubectl apply stores" "$applied" 150000

# The documented way, over an object that plain apply made.
k apply --server-side -f "$dir/crd.yaml" >"$dir/out" 2>&1 || fail "apply --server-side: $(cat "$dir/out")"

# Both give one verdict on random jobs, by the same rules.
mkdir "$dir/random"
python3 tests/api/random_specs.py "$PACELINE" 1 2500 "$dir/random" || fail "no random jobs"
k create --dry-run=server --validate=false -f "$dir/random/all.json" >"$dir/random/api.out" 2>&1
python3 tests/api/random_specs.py "$PACELINE" --compare "$dir/random" || fail "verdicts differ"

C='{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}'
MODEL='  model: {name: mlp}'
IMAGE="  replicas: {worker: {template: $C}}"

# write SPEC [NAME]: a job of this spec into $dir/job.yaml.
write() {
    printf 'apiVersion: paceline.dev/v1\nkind: TrainingJob\nmetadata: {name: %s}\nspec:\n%s\n' \
        "${2:-t}" "$1" >"$dir/job.yaml"
}
dry_run() { k apply --validate=strict --dry-run=server -f "$1" 2>&1; }

# bad KIND SPEC [NAME]: both refuse it, at the paths that validate prints. KIND cel: with the same
# sentence, which may end earlier where what is there instead stands in parentheses; found: with the same
# rule, and validate alone says which values broke it; schema: in the server's words; unknown: an unknown field.
bad() {
    local kind=$1 out line path sentence
    n_bad=$((n_bad + 1))
    write "$2" "${3:-t}"
    "$PACELINE" validate "$dir/job.yaml" >/dev/null 2>"$dir/problems" && fail "validate takes $2"
    out=$(dry_run "$dir/job.yaml") && fail "the API server takes $2"
    while IFS= read -r line; do
        line=${line#*: } # the file and its line
        path=${line%%: *}
        sentence=${line#*: }
        case $kind in
        cel) grep -F -- "$path: Invalid value: " <<<"$out" | grep -qF -- ": ${sentence% (* has *)}" ;;
        found) grep -F -- "$path: Invalid value: " <<<"$out" | grep -qF -- "; ${sentence#*; }" ;;
        schema) grep -qF -- "$path: " <<<"$out" ;;
        unknown) grep -qF -- "unknown field \"$path\"" <<<"$out" ;;
        esac || fail "$kind: validate says \"$line\", the API server \"$out\""
    done <"$dir/problems"
}
n_bad=0

# good SPEC: both take it.
good() {
    local out
    write "$1"
    out=$("$PACELINE" validate "$dir/job.yaml" 2>&1) || fail "validate refuses $1: $out"
    out=$(dry_run "$dir/job.yaml") || fail "the API server refuses $1: $out"
}

# only_offline SPEC: what no rule of the API server can see (docs/reference/trainingjob.md lists it).
only_offline() {
    local out
    write "$1"
    "$PACELINE" validate "$dir/job.yaml" >/dev/null 2>&1 && fail "validate takes $1"
    out=$(dry_run "$dir/job.yaml") || fail "the API server can refuse $1 by now: $out"
}

# Arrays, so that validate of jobs with them has nothing else to say.
python3 tests/cli/make_values.py "$dir/values" 40 20 || fail "no arrays"
for example in examples/*.yaml; do
    set=()
    case $example in */regression.yaml) set=(--set "dataset.path=$dir/values/numbers") ;; esac
    "$PACELINE" validate "$example" "${set[@]}" >/dev/null 2>&1 || fail "validate refuses $example"
    dry_run "$example" >"$dir/out" || fail "$example: $(cat "$dir/out")"
done
good "$MODEL"
good "$IMAGE"
good '  model: {layers: [{type: conv, filters: 3, kernel: [3, 5], stride: 1}, {type: maxpool},
    {type: flatten}, {type: dropout, rate: 0}, {type: dense, units: 10, bias: false}]}'
good "$MODEL
  strategy: {type: ParameterServer, mode: async}"
good "$MODEL
  training: {lanes: 16, optimizer: {name: rmsprop, rho: 0.5}, clipNorm: 5}
  strategy: {fusionBytes: 1Gi}"
good "$MODEL
  training: {epochs: 3, learningRateSchedule: {type: piecewise, boundaries: [1, 2.5], values: [1, 0.1, 0],
    warmupEpochs: 3}}"
good "$MODEL
  dataset: {path: /data, volume: {persistentVolumeClaim: {claimName: c, readOnly: true}}}
  output: {volume: {hostPath: {path: /models, type: Directory}}, subPath: a/b, keepSeconds: 0}"
good "  replicas: {worker: {replicas: 0}, chief: {replicas: 1, template: $C}, ps: {replicas: 2, template: $C}}"
good "  replicas: {worker: {replicas: 3, minReplicas: 3, maxReplicas: 3, template: $C}, ps: {replicas: 2, template: $C}}
  runPolicy: {schedulingPolicy: {gang: SchedulerPlugins, minAvailable: 5}}" # at each bound
good "$MODEL
  training: {batchSize: 32, epochs: 2, lanes: 32, learningRateSchedule: {warmupEpochs: 2}, lastBatch: drop}
  dataset: {limit: 40, validationSplit: 0.2}
  replicas: {worker: {replicas: 32}}"
good "$IMAGE
  runPolicy: {managedBy: kueue.x-k8s.io/multikueue, schedulingPolicy: {gang: Kueue, queue: q}}
  networkPolicy: {type: None, extraIngress: [{from: [{podSelector: {}}]}]}
  clusterSpec: {listEvaluator: false}"

WORKER='replicas: {worker: {template: {spec: {containers: [{name: c, image: i, command: [mpi], args: [a]}, {name: other, image: i}]}}}}'
good "  mpi: {}
  $WORKER"
good "  mpi: {ranksPerWorker: 65536}
  $WORKER"
bad cel "$MODEL
  mpi: {}"
bad cel "  mpi: {}
  replicas: {worker: {template: {spec: {containers: [{name: c, image: i, args: [a]}, {name: d, image: i, command: [b]}]}}}}"
bad cel "  mpi: {}
  replicas: {worker: {template: {spec: {containers: [{name: c, image: i, command: []}]}}}}"
bad cel "  mpi: {}
  runPolicy: {scalePolicy: Dynamic}
  $WORKER"
bad cel "  mpi: {}
  replicas: {worker: {replicas: 0, template: $C}, chief: {replicas: 1, template: $C}, evaluator: {replicas: 1, template: $C}}"
bad cel '  mpi: {}'
bad schema "  mpi: {ranksPerWorker: 0}
  $WORKER"

bad cel '  model: {}'
bad cel '  model: {name: mlp, layers: [{type: relu}]}'
bad cel '  model: {name: fashion-cnn, hidden: [3]}'
# What labels are, by the loss.
VALUES="  model: {name: mlp, loss: mse}
  dataset: {name: arrays, path: $dir/values/numbers, validationSplit: 0.2}"
good "$VALUES
  training: {earlyStopping: {monitor: r2, patience: 2}}"
good "  model: {name: mlp, loss: huber, huberDelta: 0.5}
  dataset: {name: arrays, path: $dir/values/numbers, distribution: {kind: iid}}
  strategy: {type: LocalSGD}
  replicas: {worker: {replicas: 2}}
  training: {earlyStopping: {monitor: mae, patience: 2}}"
good "  model: {name: mlp, loss: sigmoidCrossEntropy}
  dataset: {name: arrays, path: $dir/values/bits, validationSplit: 0.2}
  training: {earlyStopping: {monitor: binaryAccuracy, patience: 2}}"
good "$MODEL
  dataset: {validationSplit: 0.2}
  training: {earlyStopping: {monitor: f1, patience: 2}}"
bad cel "  model: {name: mlp, loss: mse}"
bad cel "  model: {name: mlp, loss: sigmoidCrossEntropy}
  dataset: {name: text, path: x}"
bad cel "  model: {name: mlp, loss: mse, huberDelta: 1}
  dataset: {name: arrays, path: $dir/values/numbers}"
bad cel "  model: {name: mlp, loss: mae}
  dataset: {name: arrays, path: $dir/values/numbers, distribution: {kind: byLabel}}"
bad cel "$VALUES
  training: {earlyStopping: {monitor: accuracy, patience: 2}}"
bad cel "$VALUES
  training: {earlyStopping: {monitor: f1, patience: 2}}"
bad cel "$MODEL
  training: {earlyStopping: {monitor: mae, patience: 2}}"
bad cel "$MODEL
  training: {earlyStopping: {monitor: binaryAccuracy, patience: 2}}"
bad cel "$MODEL
  training: {earlyStopping: {monitor: recall, patience: 2}}"
bad cel "  model: {name: mlp, loss: mse}
  dataset: {name: arrays, path: $dir/values/numbers}
  training: {earlyStopping: {monitor: r2, patience: 2}}"
bad cel '  model: {layers: [{type: dense}]}'
bad cel '  model: {layers: [{type: flatten}, {type: conv, kernel: 3}]}'
bad cel '  model: {layers: [{type: dense, units: 3, rate: 0.5}]}'
bad cel '  model: {layers: [{type: relu, bias: true}]}'
bad cel '  model: {layers: [{type: maxpool, filters: 1}]}'
bad cel "$MODEL
  dataset: {name: idx}"
bad cel "$MODEL
  dataset: {volume: {nfs: {}}}"
bad cel "$MODEL
  dataset: {path: data, volume: {nfs: {}}}"
bad cel "$MODEL
  dataset: {path: /, volume: {nfs: {}}}"
bad cel "$MODEL
  output: {subPath: a}"
bad cel "$MODEL
  dataset: {limit: 100}
  training: {lastBatch: drop}"
bad cel "$MODEL
  replicas: {ps: {replicas: 12}}"
bad cel "$MODEL
  strategy: {type: ParameterServer}
  training: {clipNorm: 0.5}"
bad cel "$MODEL
  strategy: {type: ParameterServer, wire: bf16}"
bad cel "$MODEL
  strategy: {placement: greedy}"
bad cel "$MODEL
  strategy: {type: ParameterServer, mode: async, groups: 1}"
bad cel "$MODEL
  strategy: {type: ParameterServer, staleness: 2}"
bad schema "$MODEL
  strategy: {type: ParameterServer, mode: bounded, staleness: -1}"
bad cel "$MODEL
  strategy: {type: LocalSGD}
  training: {accumulate: 2}"
bad cel "$MODEL
  strategy: {averageEvery: 2}"
bad cel "$MODEL
  strategy: {type: ParameterServer, batch: join, backupWorkers: 1}
  replicas: {worker: {replicas: 2}}"
bad cel "$MODEL
  strategy: {type: ParameterServer, batch: join, backupWorkers: 2}
  replicas: {worker: {replicas: 2}, ps: {replicas: 1}}"
good "$MODEL
  strategy: {type: ParameterServer, batch: join, backupWorkers: 1}
  replicas: {worker: {replicas: 2}, ps: {replicas: 1}}"
bad cel "$MODEL
  strategy: {type: ElasticAveraging, elasticForce: 0.3}
  replicas: {worker: {replicas: 4}}"
good "$MODEL
  strategy: {type: ElasticAveraging, elasticForce: 0.25}
  replicas: {worker: {replicas: 4}}"
good "$MODEL
  strategy: {type: LocalSGD, averageEvery: 2, localFrom: 1}
  replicas: {worker: {replicas: 2}}"
SPLIT="$MODEL
  replicas: {worker: {replicas: 2}}
  strategy: {type: ModelParallel"
good "$SPLIT, microBatches: 8, layerPlacement: [0, 0, 0, 1, 1, 1]}"
bad cel "$SPLIT, layerPlacement: [0, 1]}"
bad cel "$SPLIT, layerPlacement: [0, 0, 0, 1, 1, 2]}"
bad cel "$SPLIT, microBatches: 3}"
bad cel "$SPLIT, microBatches: 64}"
bad cel "$SPLIT, batch: join}"
bad cel "$SPLIT}
  training: {clipNorm: 1}"
bad cel "$MODEL
  replicas: {worker: {replicas: 12}}
  strategy: {type: ModelParallel}"
bad cel "$MODEL
  strategy: {microBatches: 2}"
good "  model: {name: mlp, hidden: [8, 8]}
  replicas: {worker: {replicas: 3}}
  training: {batchSize: 2}
  strategy: {type: ModelParallel, layerPlacement: [0, 0, 0, 1, 1, 2]}"
bad cel "  model: {name: mlp, hidden: [8]}
  strategy: {type: ModelParallel, layerPlacement: [0, 0, 0, 0, 0, 0]}"
bad cel "$MODEL
  strategy: {type: ParameterServer, transferSemaphore: true}"
bad cel "$MODEL
  strategy: {algorithm: mpi}
  debug: {bandwidth: 1Mi}"
bad cel "$MODEL
  strategy: {algorithm: mpi}
  debug: {latencySeconds: 0.5}"
good "$MODEL
  strategy: {algorithm: mpi}
  debug: {latencySeconds: 0, jitter: 1}"
good "$MODEL
  strategy: {algorithm: recursiveDoubling}
  debug: {bandwidth: 125000000, latencySeconds: 0.001}"
bad cel "$MODEL
  debug: {pushOrder: [0]}"
# switched FIELDS: after the fields of a strategy that switches.
switched() {
    echo "$MODEL
  strategy:
    type: StrategySwitch
    $1"
}
bad cel "$(switched 'placement: balanced')"
bad cel "$(switched 'switch: {when: epoch, epoch: 2}')"
bad schema "$(switched 'switch: {momentum: keep}')
  replicas: {ps: {replicas: 1}}"
for fields in "when: plateau" "when: fraction, epoch: 2" "when: epoch, epoch: 5" \
    "when: epoch, epoch: 2, momentum: scale" "when: epoch, epoch: 2, factor: 0.5"; do
    bad cel "$(switched "switch: {$fields}")
  replicas: {ps: {replicas: 1}}"
done
bad cel "$(switched 'switch: {when: epoch, epoch: 2}')
    mode: sync
  replicas: {ps: {replicas: 1}}"
bad cel "$(switched 'switch: {when: epoch, epoch: 2, momentum: reset}')
  training: {optimizer: {name: adam}}
  replicas: {ps: {replicas: 1}}"
bad cel "$MODEL
  strategy: {switch: {when: epoch, epoch: 2}}"
good "$(switched 'switch: {when: plateau, fraction: 0.9, momentum: ramp}')
    divideLearningRate: true
    waitSeconds: 60
  replicas: {ps: {replicas: 1}}"
bad cel "$MODEL
  strategy: {batch: join}
  replicas: {worker: {replicas: 3}}
  training: {accumulate: 2}"
bad cel "$MODEL
  replicas: {worker: {replicas: 2}}
  training: {accumulate: 2}"
good "$MODEL
  strategy: {type: ParameterServer, batch: join}
  replicas: {worker: {replicas: 3}}
  training: {accumulate: 3}"
good "$MODEL
  strategy: {type: ParameterServer}
  replicas: {ps: {replicas: 2}}"
for lanes in 3 12 999; do
    bad cel "$MODEL
  training: {lanes: $lanes, batchSize: 1024}"
done
bad cel "$MODEL
  training: {batchSize: 2, lanes: 4}
  replicas: {worker: {replicas: 3}}"
bad cel "$MODEL
  training: {batchSize: 3999, lanes: 1024}
  replicas: {worker: {replicas: 4000}}"
for batch in 1 7 8 15 16 31 32 63 64 127 128 255; do # the default rule of lanes
    lanes=$((batch / 4 > 0 ? batch / 4 : 1))
    bad cel "$MODEL
  training: {batchSize: $batch}
  replicas: {worker: {replicas: $((lanes + 1))}}"
done
bad cel "$MODEL
  replicas: {worker: {replicas: 33}}"
bad cel "$MODEL
  training: {batchSize: 1048576}
  replicas: {worker: {replicas: 65}}"
bad cel "$MODEL
  training: {optimizer: {nesterov: true, momentum: 0}}"
bad cel "$MODEL
  training: {optimizer: {nesterov: true, dampening: 0.5}}"
bad cel "$MODEL
  training: {optimizer: {beta1: 0.5}}"
bad cel "$MODEL
  training: {optimizer: {name: adam, momentum: 0.5, rho: 0.5, centered: true}}"
bad cel "$MODEL
  training: {learningRateSchedule: {type: piecewise}}"
bad cel "$MODEL
  training: {learningRateSchedule: {boundaries: [1]}}"
bad cel "$MODEL
  training: {learningRateSchedule: {type: piecewise, boundaries: [1, 2], values: [1, 2]}}"
for boundaries in '2, 2' '3, 2' '1, 5, 4'; do
    bad found "$MODEL
  training: {learningRateSchedule: {type: piecewise, boundaries: [$boundaries], values: [1, 2, 3]}}"
done
bad cel "$MODEL
  training: {epochs: 2, learningRateSchedule: {warmupEpochs: 2.5}}"
bad cel "$MODEL
  training: {learningRateSchedule: {warmupEpochs: 6}}"
bad cel "$MODEL
  replicas: {worker: {replicas: 0}, chief: {replicas: 1}, ps: {replicas: 1024}, evaluator: {replicas: 1}}"
bad cel "$MODEL
  replicas: {worker: {replicas: 3, minReplicas: 4, maxReplicas: 2}}"
bad cel "$IMAGE
  runPolicy: {schedulingPolicy: {gang: Volcano, minAvailable: 2}}"
bad cel "  replicas: {worker: {replicas: 2, template: $C}, ps: {replicas: 3, template: $C}}
  runPolicy: {schedulingPolicy: {gang: SchedulerPlugins, minAvailable: 6, queue: q}}"
bad cel "$IMAGE
  runPolicy: {schedulingPolicy: {minAvailable: 1}}"
bad cel "$IMAGE
  runPolicy: {scalePolicy: Dynamic, schedulingPolicy: {gang: Kueue}}"
bad cel '  runPolicy: {}'
bad cel '  dataset: {}
  training: {epochs: 2}
  checkpoint: {keep: 2}
  strategy: {}
  debug: {}'
bad cel "  replicas: {worker: {replicas: 4096, template: {spec: {}}}}"
bad cel "  replicas: {worker: {replicas: 0}, ps: {replicas: 2, template: $C}}"
bad cel "  replicas: {worker: {template: {spec: {containers: []}}}, chief: {replicas: 1}, evaluator: {replicas: 1, template: {}},
    ps: {replicas: 10}}"

for container in '{image: i}' '{name: c}' "{name: '', image: i}" "{name: c, image: ''}"; do
    bad cel "  replicas: {worker: {template: {spec: {containers: [{name: a, image: i}, $container]}}},
    chief: {replicas: 1, template: {spec: {containers: [$container]}}},
    ps: {template: {spec: {containers: [$container]}}}, evaluator: {template: {spec: {containers: [$container]}}}}"
done
# Init containers, sidecars among them; with spec.model, too, for nothing is filled in for these.
for container in '{name: b}' '{image: i}' "{name: '', image: i}" "{name: b, image: '', restartPolicy: Always}"; do
    init="{spec: {initContainers: [{name: a, image: i}, $container], containers: [{name: c, image: i}]}}"
    bad cel "  replicas: {worker: {template: $init}, chief: {replicas: 1, template: $init}, ps: {template: $init},
    evaluator: {template: $init}}"
    bad cel "$MODEL
  replicas: {worker: {template: $init}}"
done
good "$MODEL
  replicas: {worker: {template: {spec: {initContainers: [{name: a, image: i, restartPolicy: Always}],
    containers: [{resources: {limits: {cpu: 1}}}]}}}}"

bad schema '  model: {name: mpl}'
bad schema "$MODEL
  output: {volume: {}}"
bad schema "$MODEL
  dataset: {path: /d, volume: {nfs: {}, csi: {}}}"
bad schema "$MODEL
  output: {keepSeconds: -1}"
bad schema '  model: 3'
bad schema '  model: {layers: []}'
bad schema '  model: {layers: [{units: 3}]}'
bad schema '  model: {layers: [{type: denes}]}'
bad schema '  model: {layers: [{type: dense, units: 0}]}'
bad schema '  model: {layers: [{type: dropout, rate: 1}]}'
bad schema '  model: {layers: [{type: relu, name: 1a}]}'
for kernel in 0 4097 1.5 '[1]' '[1, 2, 3]' '[0, 1]' '[1, x]' x '""' '{}' '{a: 1}'; do
    bad schema "  model: {layers: [{type: maxpool, kernel: $kernel}]}"
done
bad schema '  model: {name: mlp, hidden: [1, 2, 3, 4, 5, 6, 7, 8, 9]}'
bad schema '  model: {name: mlp, hidden: [0]}'
bad schema "$MODEL
  training: {epochs: 0}"
bad schema "$MODEL
  training: {seed: 1.5}"
bad schema "$MODEL
  training: {l2: many}"
bad schema "$MODEL
  training: {optimizer: {momentum: 1}}"
bad schema "$MODEL
  dataset: {normalize: {std: 0}}"
bad schema "$MODEL
  dataset: {path: ''}"
bad schema "$MODEL
  strategy: {type: StrategySwitch, switch: {when: fraction, fraction: 1}}
  replicas: {ps: {replicas: 1}}"
for bytes in 1 1Ki 2Gi 1e9Ki 4096 -1 1.5 99999999999999999999Gi; do
    [ $bytes = 4096 ] && bytes='"4096"'
    bad schema "$MODEL
  strategy: {fusionBytes: $bytes}"
done
bad schema "$MODEL
  runPolicy: {suspend: 1}"
bad schema "$MODEL
  runPolicy: {activeDeadlineSeconds: 0}"
bad schema "$MODEL
  runPolicy: {managedBy: $(printf 'a%.0s' {1..64})}"
for manager in other Other.example/one other.example/ /one; do
    bad schema "$MODEL
  runPolicy: {managedBy: $manager}"
done
bad schema "$IMAGE
  clusterSpec: {domain: .local}"
bad schema "$MODEL
  runPolicy: {schedulingPolicy: {gang: Volcano, queue: 'a b'}}"
bad schema "$MODEL
  replicas: {worker: {replicas: 4097}}"
bad schema "$MODEL
  replicas: {worker: {restartPolicy: Sometimes}}"
bad schema "  replicas: {chief: {replicas: 2}, worker: {template: $C}}"
bad schema "$MODEL
  networkPolicy: {extraIngress: [1]}"
bad schema "$MODEL
  networkPolicy: {extraIngress: {}}"
bad schema "$MODEL" 1a
bad schema "$MODEL" "$(printf 'a%.0s' {1..51})"
bad schema "$MODEL" a-

bad unknown "$MODEL
  training: {batchSzie: 3}"
bad unknown "$MODEL
  optimiser: {}"
bad unknown '  model: {layers: [{type: relu, unit: 3}]}'
at_least "bad jobs" $n_bad 90

only_offline '  model: {layers: [{type: dense, units: 3, kernel: 3}]}'
only_offline '  model: {layers: [{type: conv, filters: 3}]}'
only_offline '  model: {layers: [{type: relu, stride: 1}]}'
only_offline '  model: {layers: [{type: maxpool, kernel: true}]}'
only_offline '  model: {layers: [{type: dense, units: 3}]}' # shapes that do not fit

only_offline "$MODEL
  training: {epochs: }"
only_offline "$MODEL
  training: {clipNorm: 1.0e+301}"

# The policy of docs/tasks/install.md against extraIngress.
sed -n '/^kind: ValidatingAdmissionPolicy$/,/^```$/p' docs/tasks/install.md | sed '/^```$/d' |
    { echo 'apiVersion: admissionregistration.k8s.io/v1' && cat; } >"$dir/policy.yaml"
cat >>"$dir/policy.yaml" <<'POLICY'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: paceline-no-extra-ingress}
spec: {policyName: paceline-no-extra-ingress, validationActions: [Deny]}
POLICY
k apply -f "$dir/policy.yaml" >"$dir/out" 2>&1 || fail "the policy of docs/tasks/install.md: $(cat "$dir/out")"
write "$IMAGE
  networkPolicy: {extraIngress: [{from: [{podSelector: {}}]}]}"
for _ in {1..100}; do # it holds a moment later
    out=$(dry_run "$dir/job.yaml") || break
    sleep 0.1
done
check "a cluster without extraIngress" "$out" "spec.networkPolicy.extraIngress is not allowed in this cluster"
good "$IMAGE
  networkPolicy: {type: Job}"
k delete -f "$dir/policy.yaml" >/dev/null || fail "the policy stays"
write "$IMAGE
  networkPolicy: {extraIngress: [{from: [{podSelector: {}}]}]}"
for _ in {1..100}; do
    out=$(dry_run "$dir/job.yaml") && break
    sleep 0.1
done

# Defaults: every value that the API server fills in is the one that validate fills in.
same_defaults() {
    write "$1" "$2"
    k apply -f "$dir/job.yaml" >"$dir/out" 2>&1 || fail "create $2: $(cat "$dir/out")"
    k get tj "$2" -o json >"$dir/server.json"
    "$PACELINE" validate "$dir/job.yaml" --json >"$dir/ours.json" 2>/dev/null
    python3 - "$dir/server.json" "$dir/ours.json" "$3" <<'PYTHON' || fail "defaults of $2"
import json, sys
server = json.load(open(sys.argv[1]))["spec"]
ours = json.load(open(sys.argv[2]))["job"]["spec"]
bad = n = 0
def compare(path, a, b):
    global bad, n
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a:
            compare(path + "." + key, a[key], b.get(key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, pair in enumerate(zip(a, b)):
            compare(f"{path}[{i}]", *pair)
    else:
        n += 1
        if a != b and a != {} and not path.endswith("kernel"):
            print(f"{path}: the API server has {a}, paceline {b}")
            bad = 1
compare("spec", server, ours)
if n < int(sys.argv[3]):
    print(f"only {n} values")
    bad = 1
sys.exit(bad)
PYTHON
}
same_defaults "$MODEL
  dataset: {}
  training: {optimizer: {}, learningRateSchedule: {}}
  checkpoint: {}
  strategy: {}
  debug: {}
  runPolicy: {schedulingPolicy: {}}
  clusterSpec: {}
  networkPolicy: {}" full 45
same_defaults '  model: {layers: [{type: flatten}, {type: dense, units: 10}]}' small 5
same_defaults "  replicas: {worker: {replicas: 3, template: $C}, chief: {}, ps: {}, evaluator: {}}
  runPolicy: {}" image 18
same "worker.replicas without replicas" "$(k get tj small -o jsonpath='{.spec.replicas.worker}')" \
    '{"replicas":1,"restartPolicy":"Never"}'

# What may not change, what may. refused JOB PATCH PATH [SENTENCE]
refused() {
    local out
    out=$(k patch tj "$1" --type=merge -p "$2" 2>&1) && fail "patch $2 of $1 was taken"
    check "patch $2" "$out" "$3: Invalid value: "
    check "patch $2" "$out" "${4:-may not change after creation: delete the job and create it anew}"
}
taken() {
    local out
    out=$(k patch tj "$1" --type=merge -p "$2" 2>&1) || fail "patch $2 of $1: $out"
}
refused full '{"spec": {"model": {"name": "mnist-cnn"}}}' spec.model
refused small '{"spec": {"model": {"layers": [{"type": "flatten"}, {"type": "dense", "units": 11}]}}}' spec.model
refused full '{"spec": {"dataset": {"limit": 7}}}' spec.dataset
refused full '{"spec": {"training": {"epochs": 7}}}' spec.training
refused full '{"spec": {"training": null}}' spec.training
refused small '{"spec": {"training": {"epochs": 7}}}' spec.training
refused full '{"spec": {"strategy": {"algorithm": "ring"}}}' spec.strategy
refused full '{"spec": {"checkpoint": {"keep": 7}}}' spec.checkpoint
refused full '{"spec": {"debug": null}}' spec.debug
refused small '{"spec": {"output": {"keepSeconds": 7}}}' spec.output
refused full '{"spec": {"clusterSpec": {"listEvaluator": false}}}' spec.clusterSpec
refused full '{"spec": {"networkPolicy": {"type": "None"}}}' spec.networkPolicy
refused full '{"spec": {"runPolicy": {"managedBy": "a/b"}}}' spec.runPolicy.managedBy
refused image '{"spec": {"runPolicy": {"scalePolicy": "Dynamic"}}}' spec.runPolicy.scalePolicy
paused="may change only while the job is suspended: set runPolicy.suspend first"
refused image '{"spec": {"runPolicy": {"schedulingPolicy": {"gang": "Kueue"}}}}' \
    spec.runPolicy.schedulingPolicy.gang "$paused"
for field in queue schedulerName priorityClass; do
    refused image "{\"spec\": {\"runPolicy\": {\"schedulingPolicy\": {\"$field\": \"q\"}}}}" \
        spec.runPolicy.schedulingPolicy.$field "$paused"
done
refused image '{"spec": {"runPolicy": {"suspend": true, "schedulingPolicy": {"queue": "q"}}}}' \
    spec.runPolicy.schedulingPolicy.queue "$paused"
taken image '{"spec": {"runPolicy": {"suspend": true}}}'
taken image '{"spec": {"runPolicy": {"schedulingPolicy": {"gang": "Kueue", "queue": "q"}}}}'
taken image '{"spec": {"runPolicy": {"suspend": false, "schedulingPolicy": {"gang": "Volcano", "queue": "r"}}}}'
refused image '{"spec": {"runPolicy": {"schedulingPolicy": {"queue": null}}}}' \
    spec.runPolicy.schedulingPolicy.queue "$paused"
taken image '{"spec": {"runPolicy": {"suspend": true}}}'
taken image '{"spec": {"runPolicy": {"schedulingPolicy": null}}}'
taken image '{"spec": {"runPolicy": {"suspend": false}}}'
refused full '{"spec": {"replicas": {"worker": {"restartPolicy": "Always"}}}}' spec.replicas.worker.restartPolicy
refused full '{"spec": {"replicas": {"worker": {"template": {}}}}}' spec.replicas.worker.template
refused image '{"spec": {"replicas": {"worker": {"template": {"spec": {"hostNetwork": true}}}}}}' \
    spec.replicas.worker.template
refused image '{"spec": {"replicas": {"worker": {"template": {"metadata": {"labels": {"a": "c"}}}}}}}' \
    spec.replicas.worker.template
refused image '{"spec": {"replicas": {"worker": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}}}}' \
    spec.replicas.worker.template
refused image '{"spec": {"replicas": {"ps": {"restartPolicy": "Always"}}}}' spec.replicas.ps.restartPolicy
refused image "{\"spec\": {\"replicas\": {\"chief\": {\"replicas\": 1, \"template\": {\"spec\": {\"containers\": [{}]}}}}}}" \
    spec.replicas.chief.replicas
refused image "{\"spec\": {\"replicas\": {\"ps\": {\"replicas\": 1}}}}" spec.replicas.ps.replicas \
    "may not change between 0 and more after creation"
refused image '{"spec": {"replicas": {"evaluator": {"template": {}}}}}' spec.replicas.evaluator.template
refused image '{"spec": {"model": {"name": "mlp"}}}' spec.model
# One field exchanged for another, which the API server's equality overlooks where it knows no names.
k patch tj image --type=merge -p '{"spec": {"runPolicy": null}}' >/dev/null
write "  replicas: {worker: {template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true,
    containers: [{name: c, image: i, args: [x]}], initContainers: [{name: c, image: i, args: [x]}]}}}}
  networkPolicy: {extraIngress: [{from: []}]}" exchange
k apply -f "$dir/job.yaml" >/dev/null || fail "create exchange"
refused exchange '{"spec": {"replicas": {"worker": {"template": {"spec": {"hostNetwork": null, "hostPID": true}}}}}}' \
    spec.replicas.worker.template
refused exchange '{"spec": {"replicas": {"worker": {"template": {"spec": {"hostNetwork": null, "future": true}}}}}}' \
    spec.replicas.worker.template
refused exchange '{"spec": {"replicas": {"worker": {"template": {"metadata": {"labels": null, "annotations": {"a": "b"}}}}}}}' \
    spec.replicas.worker.template
refused exchange '{"spec": {"replicas": {"worker": {"template": {"spec": {"containers": [{"name": "c", "image": "i", "tty": true}]}}}}}}' \
    spec.replicas.worker.template
refused exchange '{"spec": {"replicas": {"worker": {"template": {"spec": {"initContainers": [{"name": "c", "image": "i", "tty": true}]}}}}}}' \
    spec.replicas.worker.template
refused exchange '{"spec": {"replicas": {"worker": {"template": {"spec": {"initContainers": null}}}}}}' \
    spec.replicas.worker.template
refused exchange '{"spec": {"networkPolicy": {"extraIngress": [{"ports": []}]}}}' spec.networkPolicy
for object in pod.spec pod.spec.containers pod.spec.initContainers; do # a new Kubernetes may know more names
    for word in $(k explain $object --recursive=false | sed -n 's/^  \([a-zA-Z]*\)\t<.*/\1/p'); do
        k explain "trainingjob.spec.replicas.ps.template.${object#pod.}.$word" >/dev/null 2>&1 ||
            fail "the CRD does not know $object.$word"
        n_names=$((${n_names:-0} + 1))
    done
done
at_least "names of a pod" "${n_names:-0}" 85
taken full '{"spec": {"runPolicy": {"suspend": true, "backoffLimit": 9, "activeDeadlineSeconds": 60}}}'
taken full '{"spec": {"runPolicy": {"suspend": false, "activeDeadlineSeconds": null, "cleanPodPolicy": "All"}}}'
taken full '{"spec": {"replicas": {"worker": {"replicas": 4, "maxReplicas": 8, "minReplicas": 2}}}}'
taken full '{"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}'
taken image '{"spec": {"replicas": {"worker": {"replicas": 5}}}}'
refused full '{"spec": {"replicas": {"worker": {"replicas": 9}}}}' spec.replicas.worker.replicas \
    "found 9 with maxReplicas 8; allowed: at most maxReplicas"
out=$(k patch tj image --type=merge -p '{"spec": {"replicas": {"worker": {"template": {"spec": {"hostNetwork": null}}}}}}' 2>&1)
check "the template is kept whole" "$(k get tj image -o jsonpath='{.spec.replicas.worker.template}')" '"labels":{"a":"b"}'

# scale, also of a job that never named its workers
for job in full small image; do
    k scale "tj/$job" --replicas=3 >"$dir/out" 2>&1 || fail "scale $job: $(cat "$dir/out")"
    same "replicas of $job" "$(k get tj $job -o jsonpath='{.spec.replicas.worker.replicas}')" 3
done
k scale tj/full --replicas=1 >"$dir/out" 2>&1 && fail "scaled below minReplicas"
check "scaled below minReplicas" "$(cat "$dir/out")" "found 1 with minReplicas 2; allowed: at least minReplicas"
k scale tj/image --replicas=0 >"$dir/out" 2>&1 && fail "scaled to nobody"
check "scaled to nobody" "$(cat "$dir/out")" "found neither chief nor worker; needed: at least one of them"

# status: what the operator writes is kept, and shown
status='{"state": "Running", "observedGeneration": 3, "startTime": "2026-11-21T07:00:00Z", "restarts": 1,
"activeSince": "2026-11-21T07:00:00.123Z", "activeMilliseconds": 5, "selector": "a=b", "completionTime": null,
"conditions": [{"type": "Running", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2026-11-21T07:00:00Z"}],
"world": {"generation": 1, "incarnation": 2, "chief": 0, "worker": 3, "ps": 0, "evaluator": 0},
"replicaStatuses": {"worker": {"active": 3, "ready": 3, "succeeded": 1, "failed": 0, "restarts": 1, "completed": "0-3,7",
"lost": "9", "incarnations": "3:1,5-7:2"}, "chief": null},
"progress": {"epoch": 2, "epochs": 5, "step": 940, "loss": 0.31, "accuracy": 0.89, "samplesPerSecond": 10400.5, "speedup": 3.85,
"etaSeconds": 61}, "strategy": {"phase": "ParameterServer", "epoch": 3, "step": 1407, "reason": "plateau", "seconds": 0.031,
"since": "2026-11-21T07:00:00Z"}, "transferSeconds": 0.005, "scaling": [{"workers": 1, "samplesPerSecond": 2700, "speedup": 1.0,
"predicted": 1.0}]}'
k patch tj full --subresource=status --type=merge -p "{\"status\": $status}" >"$dir/out" 2>&1 || fail "status: $(cat "$dir/out")"
k get tj full -o json >"$dir/server.json"
STATUS=$status python3 - "$dir/server.json" <<'PYTHON' || fail "status was changed on its way"
import json, os, sys
def without_null(x):
    return {k: without_null(v) for k, v in x.items() if v is not None} if isinstance(x, dict) else x
want, got = without_null(json.loads(os.environ["STATUS"])), json.load(open(sys.argv[1]))["status"]
if want != got:
    print(got)
    sys.exit(1)
PYTHON
k patch tj full --subresource=status --type=merge -p '{"spec": {"runPolicy": {"suspend": true}}, "status": {"restarts": 2}}' >/dev/null
same "the spec by way of status" "$(k get tj full -o jsonpath='{.spec.runPolicy.suspend}{.status.restarts}')" false2
out=$(k get trainingjobs full)
same "columns" "$(head -1 <<<"$out" | tr -s ' ')" "NAME STATE WORKERS EPOCH ACCURACY SAMPLES/S SPEEDUP AGE"
check "a row" "$(tail -1 <<<"$out" | tr -s ' ')" "full Running 3 2 0.89 10400.5 3.85 "
same "active of scale" "$(k get --raw /apis/paceline.dev/v1/namespaces/default/trainingjobs/full/scale |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["status"])')" "{'replicas': 3, 'selector': 'a=b'}"
for category in all ai; do check "kubectl get $category" "$(k get $category -o name)" trainingjob.paceline.dev/full; done

# kubectl explain reads as documentation: every field has its sentence
k explain trainingjob.spec --recursive >"$dir/out" || fail "explain --recursive"
out=$(k explain tj.spec.runPolicy)
check explain "$out" "Life of the job on a cluster"
check explain "$out" "ttlSecondsAfterFinished"
check explain "$out" "Deletes the job so long after its end; absent: never."
check explain "$out" "enum: Running, None, All"
check "explain of a layer" "$(k explain tj.spec.model.layers.units)" "Outputs of a dense layer"
check "explain of status" "$(k explain tj.status.conditions)" "The name of the condition."
lacks "a field without a sentence" "$(k explain tj.spec; k explain tj.spec.replicas.worker; k explain tj.status)" "<no description>"
python3 - "$("$PACELINE" explain --json | python3 -c '
import json, sys
for f in json.load(sys.stdin):
    if f["path"].startswith("spec."): print(f["path"].replace("[]", ""))')" "$dir/out" <<'PYTHON' || fail "explain lacks fields"
import sys
shown = open(sys.argv[2]).read().split()
missing = [p for p in sys.argv[1].split() if p.split(".")[-1] not in shown]
print(*missing)
sys.exit(bool(missing))
PYTHON

verdict
