#!/bin/bash
# paceline get-model and its name as a plugin, against a kubectl that answers from files: whole and
# verified or nothing, the pod is let go, and a sentence for every reason why there is no model.
# shellcheck disable=SC2154 # lib.sh has repo
# LANE: waiting
. tests/cli/lib.sh
# shellcheck source=tests/cli/kubectl.sh
. "$repo/tests/cli/kubectl.sh"
"$PACELINE" run job.yaml --out here --set training.epochs=1 >/dev/null 2>errors || fail "$(cat errors)"
model=$(ls here/checkpoint-*.safetensors)

# stream [FIELD=VALUE...]: what the pod sends.
stream() { "$repo/tests/cli/model_stream.py" here/job.json "$model" "$@"; }
pods() {
    cat <<'END'
{"items":[
 {"metadata":{"name":"small-worker-0-0","creationTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Running"}},
 {"metadata":{"name":"small-worker-0-2","creationTimestamp":"2026-01-01T00:00:02Z"},"spec":{"containers":[{"name":"engine"},{"name":"sidecar"}]},"status":{"phase":"Running"}},
 {"metadata":{"name":"small-worker-0-3","creationTimestamp":"2026-01-01T00:00:03Z"},"status":{"phase":"Failed"}}]}
END
}
ready() {
    answers
    pods >fake/get-pods
    stream >fake/exec
    : >fake/exec-fetched
}

ready
"$PACELINE" get-model small -o got -n team >output 2>errors || fail "get-model: $(cat errors)"
cmp got/model.safetensors "$model" || fail "the model is another one"
cmp got/job.json here/job.json || fail "the job is another one"
check "what it says" "$(cat output)" "got/model.safetensors: "
check "what it says" "$(cat output)" "step 64, test accuracy 50.00%, digest 00112233aabbccdd"
same "the calls" "$(calls)" \
    "--namespace team get pods -l paceline.dev/job-name=small,paceline.dev/role=worker,paceline.dev/index=0 -o json
--namespace team exec small-worker-0-2 -c engine -- paceline-agent model
--namespace team exec small-worker-0-2 -c engine -- paceline-agent model --fetched"
out=$("$PACELINE" evaluate got/model.safetensors --json) || fail "the model cannot be evaluated"
check "evaluate" "$out" '"accuracy"'

# As a plugin, into the folder of the job's name, over what is there.
ready
mkdir small && echo old >small/model.safetensors
plugin=$(dirname "$PACELINE")/kubectl-paceline
[ -x "$plugin" ] || fail "there is no $plugin"
"$plugin" get-model small >output 2>errors || fail "the plugin: $(cat errors)"
cmp small/model.safetensors "$model" || fail "the plugin's model is another one"
same "files" "$(ls -A small)" "job.json
model.safetensors"
check "no context, no namespace" "$(calls)" "get pods -l"

# nothing NAME CODE SENTENCE [ARGUMENT...]: no file, one sentence, and the pod keeps its model.
nothing() {
    local what=$1 code=$2 sentence=$3
    shift 3
    rm -rf got
    "$PACELINE" get-model small -o got "$@" >output 2>errors
    same "$what, exit code" $? "$code"
    same "$what" "$(cat errors)" "paceline get-model: $sentence"
    same "$what, output" "$(cat output)" ""
    same "$what, files" "$(ls got 2>&1)" "ls: cannot access 'got': No such file or directory"
    same "$what, let go" "$(calls | grep -c fetched)" 0
}
bytes=$(stat -c %s "$model")
job_bytes=$(stat -c %s here/job.json)
ready
head -c 3000 <(stream) >fake/exec
nothing "a truncated stream" 1 "the stream was cut: $((3000 - $(stream | head -n 1 | wc -c))) of $((bytes + job_bytes)) bytes came; try again"
(stream && echo) >fake/exec
nothing "a longer stream" 1 "the stream was cut: $((bytes + job_bytes + 1)) of $((bytes + job_bytes)) bytes came; try again"
good=$(stream | head -n 1 | sed 's/.*"modelDigest": "\([0-9a-f]*\)".*/\1/')
stream >fake/exec
printf X | dd of=fake/exec bs=1 seek=$(($(stat -c %s fake/exec) - 5)) conv=notrunc status=none
"$PACELINE" get-model small -o got 2>errors && fail "a damaged model was taken"
check "a damaged model" "$(cat errors)" "the model was damaged on its way: its digest is "
check "a damaged model" "$(cat errors)" ", it was sent with $good; try again"
stream version=2 >fake/exec
nothing "a later version" 2 "the pod sends version 2 of the stream, this program knows 1; use that of the worker's image"
stream modelBytes=-1 >fake/exec
nothing "no length" 3 "the pod does not say how long its model is"
echo "hello" >fake/exec
nothing "no stream" 3 "what came is not the stream of \`paceline-agent model\`"
: >fake/exec
nothing "an empty stream" 3 "what came is not the stream of \`paceline-agent model\`"

# Reasons, by the job. The agent's own sentence counts where the job knows nothing better.
no_model='3
no final model yet: the newest checkpoint here is of step 940
command terminated with exit code 3
'
ready
printf '%s' "$no_model" >fake/exec.err
tj get-tj Running True "trains on 2 workers" 940 4412
nothing "still training" 1 "job small is still training: step 940, epoch 1 of 5, 4,412 samples/s, ETA 1:05"
tj get-tj Running False "0 of 2 pods run"
nothing "not yet training" 1 "job small has not trained yet: 0 of 2 pods run"
tj get-tj Failed True "the loss is nan at step 3"
nothing "failed" 1 "job small has failed and left no model: the loss is nan at step 3"
tj get-tj Succeeded True finished
nothing "the agent knows" 1 "no final model yet: the newest checkpoint here is of step 940"
rm fake/get-tj
printf '1\nerror: none of your business\n' >fake/get-tj.err
nothing "the job is not known" 1 "no final model yet: the newest checkpoint here is of step 940"

ready
echo '{"items":[]}' >fake/get-pods
tj get-tj Succeeded True finished
nothing "the pod is gone" 1 "job small has succeeded, but the pod of its worker 0 is gone and the model with it; spec.output.volume keeps models beyond their pods"
spec='"output":{"volume":{"persistentVolumeClaim":{"claimName":"models"}},"subPath":"lab"}' tj get-tj Succeeded True finished
nothing "the volume has it" 1 'job small has succeeded and the pod of its worker 0 is gone; the model is in the folder lab/small of its volume {"persistentVolumeClaim":{"claimName":"models"}}'
echo '{"spec":{}}' >fake/get-tj
nothing "any image" 2 "job small has no spec.model: its own program knows where its model is"
printf '1\nError from server (NotFound): trainingjobs.paceline.dev "small" not found\n' >fake/get-tj.err
nothing "no such job" 3 "there is no job small in namespace team" -n team
nothing "no such job here" 3 "there is no job small in the context's namespace; -n names another"
printf "1\nerror: the server doesn't have a resource type \"trainingjobs\"\n" >fake/get-tj.err
nothing "no CRD" 2 "this cluster knows no TrainingJobs: Paceline's chart or manifests are not installed there"
printf '1\nError from server (Forbidden): pods is forbidden: User "me" cannot list resource "pods"\n' >fake/get-pods.err
nothing "no right to list" 1 'Error from server (Forbidden): pods is forbidden: User "me" cannot list resource "pods"'
ready
printf '1\nError from server (Forbidden): pods "small-worker-0-2" is forbidden: User "me" cannot create resource "pods/exec"\n' >fake/exec.err
nothing "no right to exec" 1 'the model is in the memory of a pod, and you may not `create pods/exec` there: Error from server (Forbidden): pods "small-worker-0-2" is forbidden: User "me" cannot create resource "pods/exec"'
ready
printf '1\nerror: unable to upgrade connection: timeout\n' >fake/exec.err
nothing "no connection" 1 "pod small-worker-0-2: unable to upgrade connection: timeout"
PATH=/nowhere "$PACELINE" get-model small 2>errors
check "no kubectl" "$(cat errors)" "paceline get-model: cannot start kubectl: No such file or directory; install kubectl, which knows how to reach your cluster"

# The model is here though the pod cannot be told so.
ready
printf '1\nerror: timed out\n' >fake/exec-fetched.err
"$PACELINE" get-model small -o got >output 2>errors || fail "a pod that cannot be told"
check "a pod that cannot be told" "$(cat errors)" "pod small-worker-0-2 stays until its spec.output.keepSeconds are over"
cmp got/model.safetensors "$model" || fail "the model of a pod that cannot be told"

# Ctrl-C leaves nothing.
ready
touch fake/exec.hang
rm -rf got
"$PACELINE" get-model small -o got 2>errors &
pid=$!
waits() { [ -s fake/calls.jsonl ] && calls | grep -q exec; }
until_true waits
kill -INT $pid
wait $pid
same "interrupted, exit code" $? 130
[ -e got ] && fail "interrupted, but there is a folder"

"$PACELINE" get-model 2>errors
check "no name" "$(cat errors)" "JOB is missing"
"$PACELINE" get-model a/b 2>errors
check "a path" "$(cat errors)" '"a/b" is no job'\''s name'
verdict
