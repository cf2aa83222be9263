#!/bin/bash
# Data comes from a claim and the model goes to one: all pods are lost at once and the training goes on
# from the volume; so does one that was suspended. What is not there is said.
# TIMEOUT: 600
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
patience=120
cluster_test
paceline_images
paceline_install

# volume NAME MODE: a folder of the node as a persistent volume, and a claim for it.
volume() {
    mkdir -p "$dir/$1" && chmod 777 "$dir/$1"
    cat <<VOLUME
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: $name-$1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [$2]
  storageClassName: ""
  persistentVolumeReclaimPolicy: Retain
  claimRef: {namespace: $name, name: $1}
  hostPath: {path: $dir/$1, type: Directory}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1}
spec:
  storageClassName: ""
  accessModes: [$2]
  resources: {requests: {storage: 1Gi}}
VOLUME
}
claim() { echo "volume: {persistentVolumeClaim: {claimName: $1}}"; }
# stored NAME WORKERS EPOCHS: `train` with data from one claim, the model to the other.
stored() {
    train "$@" | sed "s|dataset: .*|dataset: {name: idx, path: /data, $(claim data)}|
        s|output: .*|output: {$(claim models), subPath: team}|"
}
k delete pv "$name-data" "$name-models" --ignore-not-found >/dev/null
{ volume data ReadOnlyMany && volume models ReadWriteOnce; } | apply
python3 tests/cli/make_idx.py "$dir/data" 6400 640 || fail "no data"
chmod -R a+rX "$dir"

lose_all() {
    local before
    before=$(generation_of stored)
    t delete pods -l paceline.dev/job-name=stored --grace-period=0 --force >/dev/null 2>&1
    until_relaunched stored "$before"
}
# resumes REASON: an event with that reason says from which step it goes on.
resumes() {
    t get events --field-selector "reason=$1,involvedObject.name=stored" \
        -o 'jsonpath={.items[*].message}' | grep -q "from step"
}
suspended() { [ "$(of tj/stored '{.status.conditions[?(@.type=="Suspended")].status}')" = True ]; }
apply <<<"$(stored stored 2 60)"
until_step stored 500
same "durable" "$(of tj/stored '{.status.conditions[?(@.type=="Durable")].status}')" True
lose_all
until_true resumes Recovered
before=$(generation_of stored)
t patch tj stored --type=merge -p '{"spec":{"runPolicy":{"suspend":true}}}' >/dev/null
until_true suspended
t patch tj stored --type=merge -p '{"spec":{"runPolicy":{"suspend":false}}}' >/dev/null
until_relaunched stored "$before"
until_true resumes Resumed
await stored Succeeded

# `paceline run` of the same data; the model on the volume has its bytes.
stored stored 2 60 | sed "s|path: /data, volume: .*|path: $dir/data}|; /output:/d" >"$dir/here.yaml"
"$PACELINE" run "$dir/here.yaml" --out "$dir/here" >/dev/null 2>"$dir/here.log" || fail "here: $(cat "$dir/here.log")"
cmp "$dir/models/team/stored/model.safetensors" \
    "$(checkpoint_in "$dir/here")" || fail "the model is another one"
verdict
