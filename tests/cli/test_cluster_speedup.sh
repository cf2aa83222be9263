#!/bin/bash
# paceline speedup --on cluster, against a kubectl that answers from files: the jobs that it makes, the
# table, what it says when a job does not start, and that it leaves nothing behind.
# shellcheck disable=SC2154 # lib.sh has repo
. tests/cli/lib.sh
# shellcheck source=tests/cli/kubectl.sh
. "$repo/tests/cli/kubectl.sh"
sweep() { "$PACELINE" speedup job.yaml --on cluster --out out "$@" >output 2>errors; }
field() { called create stdin | python3 -c 'import json, sys
at = json.load(sys.stdin)
for key in sys.argv[1].split("."): at = at.get(key, "absent")
print(at)' "$1"; }

# Two worker counts: the second waits, trains, ends.
answers
echo kind-lab >fake/config
tj get-tj.1 Succeeded True finished 40 1000
tj get-tj.2 Running False "1 of 2 pods run; worker 1 waits: Unschedulable: 0/3 nodes are available"
tj get-tj.3 Running True "trains on 2 workers" 10 1700
tj get-tj.4 Succeeded True finished 40 1900.5
sweep --workers 1,2 --steps 40 --threads 3 --json || fail "a sweep: $(cat errors)"
same "the result" "$(python3 -c 'import json
for row in json.load(open("output"))["rows"]: print(row["workers"], row["samplesPerSecond"], row["speedup"])')" \
    "1 1000 1
2 1900.5 1.9005"
check "how it is measured" "$(cat errors)" \
    "mlp, batch 64, on cluster kind-lab; samples/s: the engine's mean over 40 steps, without the start and evaluation"
check "what it waits for" "$(cat errors)" "small-speedup-2: 1 of 2 pods run; worker 1 waits: Unschedulable: 0/3"
check "that it trains" "$(cat errors)" "small-speedup-2: trains"
same "the calls" "$(calls)" "config current-context
create -f -
get trainingjobs.paceline.dev small-speedup-1 -o json
delete trainingjobs.paceline.dev small-speedup-1 --ignore-not-found --cascade=foreground --timeout=60s
create -f -
get trainingjobs.paceline.dev small-speedup-2 -o json
get trainingjobs.paceline.dev small-speedup-2 -o json
get trainingjobs.paceline.dev small-speedup-2 -o json
delete trainingjobs.paceline.dev small-speedup-2 --ignore-not-found --cascade=foreground --timeout=60s"
while read -r path want; do
    same "$path of the job" "$(field "$path")" "$want"
done <<'END'
metadata.name small-speedup-2
metadata.namespace absent
spec.training.steps 40
spec.training.threads 3
spec.checkpoint.everySeconds 31536000
spec.checkpoint.everyEpochs 0
spec.replicas.worker.replicas 2
spec.replicas.worker.minReplicas 2
spec.runPolicy.cleanPodPolicy All
spec.runPolicy.ttlSecondsAfterFinished 3600
spec.output.keepSeconds 0
END
[ -s out/report.html ] || fail "no report"
check "the report" "$(cat out/report.html)" "on cluster kind-lab"
called create stdin >made.json
"$PACELINE" validate made.json >/dev/null 2>errors || fail "the job that was made: $(cat errors)"

# With the time of a transfer there is a prediction: 64 samples in 64 / 2 ms on 2 workers, and a transfer.
same "no prediction" "$(grep -o '"predicted":null' output | wc -l)" 2
answers
tj get-tj.1 Succeeded True finished 40 1000
tj get-tj.2 Succeeded True finished 40 1900.5
sweep --workers 1,2 --t-comm 0.001 --json || fail "a sweep with a prediction"
same "the prediction" "$(python3 -c 'import json
for row in json.load(open("output"))["rows"]: print(round(row["predicted"], 6))')" "1
1.939394"
answers
tj get-tj Succeeded True finished 40 1600
sweep --workers 2 --t-grad 0.064 --t-comm 0.008 --json || fail "a sweep of given times"
check "a line in the report" "$(cat out/report.html)" "</i>predicted"
same "of given times" "$(grep -o '"predicted":[0-9.]*' output)" '"predicted":2' # 64 samples in 0.032 + 0.008 s
answers
tj get-tj Succeeded True finished 40 1000
sweep --workers 1 || fail "a sweep without a prediction"
check "its column" "$(sed -n 1p output)" "speedup  predicted  efficiency"
check "in the report's table" "$(cat out/report.html)" "<th>predicted</th>"
same "no line without a prediction" "$(grep -c "</i>predicted" out/report.html)" 0

# Where: an option wins over the file, the file over the context; jobs that are kept.
answers
tj get-tj Succeeded True finished 100 10
sed 's/{name: small}/{name: small, namespace: default}/' job.yaml >there.yaml
"$PACELINE" speedup there.yaml --on cluster --out out --workers 1 --keep --context lab >output 2>errors ||
    fail "a job of the file's namespace"
same "the file's namespace" "$(calls)" \
    "--context lab --namespace default create -f -
--context lab --namespace default get trainingjobs.paceline.dev small-speedup-1 -o json"
same "TTL of a job that stays" "$(field spec.runPolicy.ttlSecondsAfterFinished)" absent
check "the table" "$(cat output)" "lanes ceiling"
answers
tj get-tj Succeeded True finished 100 10
"$PACELINE" speedup there.yaml --on cluster --out out --workers 1 -n team >/dev/null 2>&1
check "the option's namespace" "$(calls)" "--namespace team create"

# refused NAME CODE SENTENCE: the sweep ends so, and the job is gone if it was made.
refused() {
    sweep --workers 1 --patience 1
    same "$1, exit code" $? "$2"
    check "$1" "$(tail -n 1 errors)" "$3"
    same "$1, output" "$(cat output)" ""
    same "$1, the job is removed" "$(calls | grep -c '^delete')" "$(("$(calls | grep -c '^get t')" > 0))"
}
answers
tj get-tj PodsBlocked True "exceeded quota: team"
cat >fake/get-events <<'END'
{"items":[
 {"involvedObject":{"name":"small-speedup-1-worker-0-0"},"reason":"Old","message":"old","lastTimestamp":"2026-01-01T00:00:00Z"},
 {"involvedObject":{"name":"small-speedup-1-worker-0-0"},"reason":"FailedMount","message":"no such claim","lastTimestamp":"2026-01-02T00:00:00Z"},
 {"involvedObject":{"name":"other-worker-0-0"},"reason":"Other","message":"other","lastTimestamp":"2026-01-03T00:00:00Z"}]}
END
refused "a job that does not start" 1 "job small-speedup-1 has not trained for 1 s: exceeded quota: team; small-speedup-1-worker-0-0: FailedMount: no such claim"
answers
echo '{"spec":{}}' >fake/get-tj
refused "no operator" 1 "no operator has looked at it yet: is paceline-operator running?"
answers
tj get-tj Failed True "the loss is nan at step 3"
refused "a job that fails" 1 "job small-speedup-1 has failed: the loss is nan at step 3"
answers
tj get-tj Succeeded True finished 100 0
refused "a job without throughput" 3 "its status has no throughput"
answers
printf '1\nError from server (AlreadyExists): error when creating "STDIN": trainingjobs.paceline.dev "x" already exists\n' >fake/create.err
refused "a job that is there" 1 "there is a job small-speedup-1 already; remove it with \`kubectl delete tj small-speedup-1\`"
answers
printf '1\nE1121 memcache.go:265] connect\nThe connection to the server localhost:8080 was refused - did you specify the right host or port?\n' >fake/create.err
refused "no cluster" 1 "job small-speedup-1: The connection to the server localhost:8080 was refused"
answers
printf '1\nThe TrainingJob "small-speedup-1" is invalid: \n* spec.model: Invalid value: "object": needed: exactly one\n' >fake/create.err
refused "an invalid job" 2 "* spec.model: Invalid value"

# A launch that failed on the way is said; a job that cannot be removed, too.
answers
generation=3 tj get-tj Succeeded True finished 100 10
printf '1\nerror: no route to host\n' >fake/delete-tj.err
sweep --workers 1 || fail "a job that cannot be removed ends the sweep"
check "launches" "$(cat errors)" "job small-speedup-1 was launched 3 times; what is measured is the last launch"
check "left behind" "$(cat errors)" "job small-speedup-1 is left behind: no route to host; remove it with"

# Ctrl-C removes the job that is there.
for moment in create get-tj; do
    answers
    touch fake/$moment.hang
    "$PACELINE" speedup job.yaml --on cluster --out out --workers 1,2 >output 2>errors &
    pid=$!
    waits() { [ -s fake/calls.jsonl ] && calls | grep -q "^${moment%-tj}"; }
    until_true waits
    kill -INT $pid
    wait $pid
    same "interrupted in $moment, exit code" $? 130
    same "interrupted in $moment, the job" "$(calls | tail -n 1)" \
        "delete trainingjobs.paceline.dev small-speedup-1 --ignore-not-found --wait=false"
done

while IFS='|' read -r arguments sentence; do
    # shellcheck disable=SC2086
    "$PACELINE" speedup job.yaml --workers 1 $arguments 2>errors
    same "$arguments, exit code" $? 2
    check "$arguments" "$(cat errors)" "$sentence"
done <<'END'
--on moon|--on is "moon"; it takes cluster
--t-comm soon|--t-comm is "soon"; it takes seconds, more than 0
--keep|--namespace, --context, --patience and --keep need --on cluster
-n team|need --on cluster
END
answers
PATH=/nowhere "$PACELINE" speedup job.yaml --workers 1 --on cluster --out out 2>errors
check "no kubectl" "$(cat errors)" "cannot start kubectl: No such file or directory; install kubectl"
verdict
