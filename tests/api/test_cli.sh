#!/bin/bash
# paceline speedup --on cluster and get-model against a real API server, by the real kubectl: the jobs
# of a sweep are taken and removed, and each reason why nothing comes is one sentence. (Fake nodes run
# no agents, so nothing trains; tests/cluster/test_cli.sh has the rest.)
# shellcheck disable=SC2054,SC2154
# shellcheck source=tests/api/lib.sh
source "$(dirname "$0")/lib.sh"
PACELINE=$(realpath "${PACELINE:?}")
api_start 4
KUBECONFIG=$dir/cluster/admin.conf
export KUBECONFIG
cat >"$dir/job.yaml" <<'JOB'
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: small}
spec:
  model: {name: mlp}
  dataset: {name: fashion-mnist}
  output: {volume: {persistentVolumeClaim: {claimName: models}}}
  replicas:
    worker:
      replicas: 3
      minReplicas: 3
      template: {spec: {containers: [{resources: {limits: {cpu: "1", memory: 1Gi}}}]}}
JOB
k create namespace team >/dev/null

# says NAME CODE SENTENCE COMMAND...
says() {
    local what=$1 code=$2 sentence=$3 out
    shift 3
    out=$("$PACELINE" "$@" 2>&1 >/dev/null)
    same "$what, exit code" $? "$code"
    check "$what" "$(tail -n 1 <<<"$out")" "$sentence"
}
sweep=(speedup "$dir/job.yaml" --on cluster -n team --out "$dir/out" --workers 1,2 --patience 2)

# Nobody looks at it: made, given up, removed.
says "no operator" 1 "job small-speedup-1 has not trained for 2 s: no operator has looked at it yet" "${sweep[@]}"
same "jobs that are left" "$(k get tj -A -o name)" ""
says "no job" 3 "there is no job small in namespace team" get-model small -n team
says "no namespace" 3 "namespaces \"nowhere\" not found" "${sweep[@]}" -n nowhere

operator_start one
says "no agents" 1 "job small-speedup-1 has not trained for 2 s: " "${sweep[@]}"
gone_all() { gone tj -A && gone pods -n team; }
until_true gone_all
"$PACELINE" "${sweep[@]}" --keep >/dev/null 2>&1
same "a job that is kept" "$(k get tj -n team -o name)" trainingjob.paceline.dev/small-speedup-1
says "a job that is there" 1 "there is a job small-speedup-1 already" "${sweep[@]}"
k delete tj small-speedup-1 -n team >/dev/null

# A quota: the condition's sentence.
k create quota none -n team --hard=pods=0 >/dev/null
enforced() { [ -n "$(k get quota none -n team -o 'jsonpath={.status.hard.pods}')" ]; }
until_true enforced
says "a quota" 1 "exceeded quota" "${sweep[@]}" --patience 5
k delete quota none -n team >/dev/null

# get-model: before there is a pod, from a node that is none, by somebody who may look but not exec.
sed /output:/d "$dir/job.yaml" | k apply -n team -f - >/dev/null
k wait tj/small -n team --for=condition=Created --timeout=30s >/dev/null || fail "the job"
has_chief() { k get pods -n team -l paceline.dev/job-name=small,paceline.dev/index=0 | grep -q Running; }
until_true has_chief
says "a node that does not answer" 1 "pod small-worker-0-0: Internal error occurred" get-model small -n team -o "$dir/got"
k create serviceaccount reader -n team >/dev/null
k create rolebinding reader -n team --clusterrole=view --serviceaccount=team:reader >/dev/null
cluster_kubeconfig "$dir/reader.conf" "token: $(k create token reader -n team)"
export KUBECONFIG=$dir/reader.conf
says "no right to exec" 1 'and you may not `create pods/exec` there: ' get-model small -n team -o "$dir/got"
says "no right to create" 1 'cannot create resource "trainingjobs"' "${sweep[@]}"
cluster_kubeconfig "$dir/nobody.conf" "token: $(k create token default -n team)"
export KUBECONFIG=$dir/nobody.conf
says "no right to look" 1 'cannot list resource "pods"' get-model small -n team -o "$dir/got"
export KUBECONFIG=/dev/null
says "no cluster" 1 "" get-model small -o "$dir/got"
[ -e "$dir/got" ] && fail "a folder without a model"
export KUBECONFIG=$dir/cluster/admin.conf
k delete crd trainingjobs.paceline.dev >/dev/null
says "no CRD" 2 "this cluster knows no TrainingJobs" get-model other -n team
verdict
