#!/bin/bash
# TIMEOUT: 120
# The model of a training that is done: kept until it was fetched, its time is over or SIGTERM comes;
# how it is written, and what is said when there is none.
. tests/agent/lib.sh
export PACELINE_KEEP_SECONDS=100000
engine=$PACELINE_WORKER
model() { "$agent" model --state "$dir/state" "$@"; }

# digest FILE: as digest_bytes has it.
digest() {
    python3 -c '
import sys
data = open(sys.argv[1], "rb").read()
mask = (1 << 64) - 1
def mix(h, word):
    h = ((h ^ word) * 0xD6E8FEB86659FD93) & mask
    return h ^ h >> 32
h = mix(0x9E3779B97F4A7C15, len(data))
for at in range(0, len(data) // 8 * 8 + 1, 8):
    h = mix(h, int.from_bytes(data[at:at + 8], "little"))
print("%016x" % h)' "$1"
}

# world_of GENERATION: of a job that this version can read.
world_of() {
    echo "{\"type\":\"world\",\"generation\":$1,\"hosts\":[{\"pod\":\"p-0\",\"host\":\"h-0\",\"address\":\"127.0.0.1\"}]," \
        '"job":{"apiVersion":"paceline.dev/v1","kind":"TrainingJob","metadata":{"name":"kept","uid":"u-1"},' \
        '"spec":{"model":{"name":"mlp"},"training":{"epochs":3}}}}' | tr -d '\n'
}

# absent NAME SENTENCE [ARGUMENT]: there is none.
absent() {
    model "${@:3}" >out 2>err
    same "$1" $? 3
    same "$1: nothing is written" "$(wc -c <out)" 0
    check "$1" "$(<err)" "$2"
}

# While it trains there is none, nor can it be let go.
absent "no folder" "no final model yet, and no checkpoint"
mode start wait
start_agent
talk "$(phase 1 training)" "$(world_of 1)" >/dev/null
mkdir state
absent "no checkpoint" "no final model yet, and no checkpoint"
touch state/checkpoint-00000007.safetensors state/checkpoint-00000012.safetensors state/checkpoint-13.tmp
absent "while it trains" "no final model yet: the newest checkpoint here is of step 12"
absent "while it trains" "no final model yet" --fetched
talk "$(phase 1 stopped)" "$(order stop 1)" >/dev/null
rm -r state

# Done: who hears it finds record and model; the agent stays, and takes no worlds.
mode start model
out=$(talk "$(phase 2 'done')" "$(world_of 2)")
record='{"uid":"u-1","generation":2,"step":20,"accuracy":0.8,"digest":"00ff"}'
check "the last word" "$out" "\"message\":\"trained to step 20\",\"record\":$record}"
same "the record" "$(<record)" "$record"
model >stream
same "the stream" $? 0
job_bytes=$(sed -n '1s/.*"jobBytes":\([0-9]*\).*/\1/p' stream)
header=$(head -n 1 stream)
tail -c 18 stream >weights
same "its header" "$header" "${record%\}},\"version\":1,\"job\":\"kept\",\"jobBytes\":$job_bytes,\"modelBytes\":18,\"modelDigest\":\"$(digest weights)\"}"
same "the model" "$(<weights)" "weights of step 20"
tail -c +$((${#header} + 2)) stream | head -c "$job_bytes" >job.json
same "nothing else" "$(wc -c <stream)" $((${#header} + 1 + job_bytes + 18))
echo 'apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: kept}
spec: {model: {name: mlp}, training: {epochs: 3}}' >kept.yaml
fake
FAKE_STEPS=1 "$PACELINE" run kept.yaml --out local >/dev/null 2>&1
cmp job.json local/job.json || fail "the job differs from that of paceline run"
check "a later operator" "$(talk "$(phase 2 'done')")" "\"record\":$record"
check "a later world" "$(talk '"type":"refused"' "$(world_of 3)")" '"message":"the training is done"'
model | head -c 10 >/dev/null
model >/dev/full 2>err
same "a full disk" $? 5
check "a full disk" "$(<err)" "standard output: No space left on device"
kill -0 "$agent_pid" || fail "the agent has gone before the model was fetched"

# `paceline get-model` has it, by a kubectl that runs the agent here. Twice is once.
mkdir bin
cat >bin/kubectl <<END
#!/bin/bash
if [ "\$1" = get ]; then
    echo '{"items":[{"metadata":{"name":"kept-worker-0-0"},"status":{"phase":"Running"}}]}'
else # exec POD -c trainer -- paceline-agent model...
    exec "$agent" "\${@:7}" --state "$dir/state"
fi
END
chmod +x bin/kubectl
out=$(PATH=$dir/bin:$PATH "$PACELINE" get-model kept -o got) || fail "get-model"
check "get-model" "$out" "got/model.safetensors: 18 B, step 20, test accuracy 80.00%, digest 00ff"
cmp got/model.safetensors weights || fail "the model that was fetched"
cmp got/job.json job.json || fail "the job that was fetched"
model --fetched
same "fetched" $? 0
ended 0

# SIGTERM ends the waiting, and so does time; without a model there is nothing to wait for.
for why in TERM time none; do
    rm -rf state
    if [ "$why" = time ]; then export PACELINE_KEEP_SECONDS=1; fi
    if [ "$why" = none ]; then
        export PACELINE_KEEP_SECONDS=100000
        mode start 'done'
    fi
    start_agent
    talk "$(phase 1 'done')" "$(world_of 1)" >/dev/null
    if [ "$why" = TERM ]; then
        test -e state/model.json || fail "done is said before the model is kept"
        kill -TERM "$agent_pid"
    fi
    ended 0
done
check "no model" "$(<agent.log)" "there is no model to keep: the engine named no checkpoint of its last step"
model --weather >out 2>err
same "an unknown word" $? 2
check "an unknown word" "$(<err)" "paceline-agent model: unknown option --weather; \`paceline-agent model --help\` says more"

# The job's volume: given to the engine where the pod has it.
export PACELINE_KEEP_SECONDS=0
mode args start model
with_volume() { world_of "$1" | sed 's/"spec":{/&"output":{"volume":{"nfs":{}}},/'; }
start_agent --output "$dir/output"
talk "$(phase 1 'done')" "$(with_volume 1)" >/dev/null
ended 0
same "a pod without the volume" "$(grep -c durable args)" 0
check "a pod without the volume" "$(<agent.log)" "this pod has no $dir/output"
mkdir output
for volume in with_volume world_of; do
    start_agent --output "$dir/output"
    talk "$(phase 1 'done')" "$($volume 1)" >/dev/null
    ended 0
    if [ $volume = world_of ]; then same "a job without one" "$(grep -c durable args)" 0; else
        check "a pod with it" "$(<args) " " --step-timeout 300 --time-transfer --durable $dir/output/kept "
    fi
done

# The engine itself: the model of the stream and of the volume is that of paceline run.
rm -rf state output data
mkdir output data
python3 "$repo/tests/cli/make_idx.py" data 270 40 || exit 1
real='{"apiVersion":"paceline.dev/v1","kind":"TrainingJob","metadata":{"name":"real","uid":"u-1"},"spec":{"model":{"name":"mlp","hidden":[20]},"dataset":{"name":"idx","path":"'$dir'/data"},"training":{"epochs":2,"batchSize":64,"threads":1},"output":{"volume":{"nfs":{}}}}}'
echo "$real" >real.json
start_agent --worker "$engine" --output "$dir/output"
talk "$(phase 1 'done')" \
    '{"type":"world","generation":1,"hosts":[{"pod":"p-0","host":"h-0","address":"127.0.0.1"}],"job":'"$real}" >/dev/null
ended 0
PACELINE_WORKER=$engine "$PACELINE" run real.json --out real >/dev/null 2>&1 || fail "paceline run"
model >stream || fail "the stream of a real model"
size=$(sed -n '1s/.*"modelBytes":\([0-9]*\).*/\1/p' stream)
tail -c "$size" stream >weights
check "the digest of a real model" "$(head -n 1 stream)" "\"modelDigest\":\"$(digest weights)\""
cmp weights real/checkpoint-00000010.safetensors || fail "the stream's model differs from that of paceline run"
cmp weights output/real/model.safetensors || fail "the volume's model differs from that of paceline run"
cmp real/job.json output/real/job.json || fail "the volume's job differs from that of paceline run"

# A file that has gone, or was damaged.
rm -r state
mkdir state
echo '{"file":"nothing.safetensors"}' >state/model.json
echo '{}' >state/job.json
model >out 2>err
same "a file that has gone" $? 5
check "a file that has gone" "$(<err)" "nothing.safetensors: No such file"
echo '{}' >state/model.json
model >out 2>err
same "no name" $? 5
verdict
