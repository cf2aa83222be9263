#!/bin/bash
# However the engine ends, there is one sentence and the documented exit code.
. tests/cli/lib.sh
real_worker=$PACELINE_WORKER
fake

while IFS='|' read -r mode code sentence; do
    for workers in 1 2; do
        errors=$(FAKE=$mode "$PACELINE" run job.yaml --workers $workers --out "$mode-$workers" \
            2>&1 >/dev/null)
        same "$mode, $workers workers, exit code" $? "$code"
        check "$mode, $workers workers" "$errors" "paceline run: $sentence"
        # A run that has not begun leaves nothing, so there is nothing more to say.
        case $mode in vanish | no-reason) begun=no ;; *) begun=yes ;; esac
        if [ $begun = no ] && [ -e "$mode-$workers" ]; then fail "$mode, $workers: a folder is left"; fi
        same "$mode, $workers workers, sentences" "$(grep -c '' <<<"$errors")" \
            "$(if [ -e "$mode-$workers" ]; then echo 2; else echo 1; fi)"
    done
done <<'END'
vanish|1|the worker ended before it was done and gave no reason
no-reason|7|the worker ended with exit code 7 and gave no reason
killed|1|a worker was killed by signal 9 (Killed)
error|4|the loss is nan at step 3, layer dense2
garbage|1|the worker printed a line that is no event: "?? {not json"
flood|1|the engine floods its output: a line is longer than 65536 bytes
fail-late|5|the worker ended with exit code 5 and gave no reason
END

errors=$(FAKE=killed "$PACELINE" run job.yaml --out kept 2>&1 >/dev/null)
check "what remains" "$errors" "the checkpoint kept/step-100.safetensors remains; continue with: paceline run kept/job.json --out kept --resume"

# The report is larger than a file may be: an error like a full disk, and nothing half-written is left.
errors=$(
    ulimit -f 10
    "$PACELINE" run job.yaml --out limited 2>&1 >/dev/null
)
same "a file that may not grow, exit code" $? 5
check "a file that may not grow" "$errors" "limited/report.html: could not be written: File too large"
same "a file that may not grow, files" "$(cd limited && echo ./*)" "./events.jsonl ./job.json ./step-100.safetensors"

errors=$(FAKE=unknown-event "$PACELINE" run job.yaml --out unknown 2>&1 >/dev/null)
same "unknown events are ignored, exit code" $? 0
same "unknown events are ignored" "$errors" ""

errors=$(FAKE=log "$PACELINE" run job.yaml --out log 2>&1 >/dev/null)
same "the worker's log goes to standard error" "$errors" "worker log line"

dashes=$(printf -- '-%.0s' {1..74})
errors=$(FAKE=notices "$PACELINE" run job.yaml --out notices 2>&1 >/dev/null)
same "only what mpirun says of itself is shown" "$errors" \
    "$dashes"$'\n'"There are not enough slots available in the system"$'\n'"$dashes"

errors=$(PACELINE_WORKER=/nonexistent/worker "$PACELINE" run job.yaml --out none 2>&1 >/dev/null)
same "no worker, exit code" $? 1
check "no worker" "$errors" "cannot start the engine: /nonexistent/worker"

mkdir bin
errors=$(PATH=$dir/bin "$PACELINE" run job.yaml --workers 2 --out none 2>&1 >/dev/null)
same "no mpirun, exit code" $? 1
check "no mpirun" "$errors" "install Open MPI"

errors=$("$PACELINE" run absent.yaml 2>&1 >/dev/null)
same "no job file, exit code" $? 3
check "no job file" "$errors" "absent.yaml"

# Each option that the worker's usage names is one that it has.
for option in $("$real_worker" --help | grep -o -e '--[a-z-]*' | sort -u); do
    case $option in --version | --help) continue ;; esac
    errors=$("$real_worker" run "$option" 2>&1 >/dev/null)
    case $errors in *"unknown option"*) fail "the worker's usage names $option, which it does not have" ;; esac
done
# What the worker is given is checked before MPI starts.
while IFS='|' read -r arguments sentence; do
    # shellcheck disable=SC2086
    errors=$("$real_worker" $arguments 2>&1 >/dev/null)
    same "worker $arguments, exit code" $? 2
    same "worker $arguments" "$errors" "paceline-worker: $sentence; \`paceline-worker --help\` says more"
done <<'END'
|the command is missing
train --spec job.yaml|unknown command "train"
run --out runs|--spec JOB is missing
run --spec job.yaml --resume-if|unknown option --resume-if; did you mean --resume?
run --spec job.yaml --workers 2x|--workers is "2x"; it takes a whole number from 0 to 2147483647
run --spec job.yaml --workers=-1|--workers is "-1"; it takes a whole number from 0 to 2147483647
run --spec job.yaml picture.png|one argument too many: picture.png
predict --spec job.yaml|INPUT is missing
END
check "the worker's usage" "$("$real_worker" --help)" "predict --spec JOB --checkpoint FILE [--limit N] [--top N] INPUT..."

while IFS='|' read -r arguments sentence; do
    # shellcheck disable=SC2086
    errors=$("$PACELINE" $arguments 2>&1 >/dev/null)
    same "$arguments, exit code" $? 2
    check "$arguments" "$errors" "$sentence"
done <<'END'
run|JOB.yaml is missing
run job.yaml other.yaml|one argument too many: other.yaml
run job.yaml --speed 3|unknown option --speed
run job.yaml --resume=yes|--resume takes no value
run job.yaml --out|--out needs a value
run job.yaml --workers many|replicas
run job.yaml --set training.epochs=0|epochs
speedup job.yaml|--workers is missing
speedup job.yaml --workers 1,x|--workers is "1,x"
speedup job.yaml --workers 1,2 --steps 0|--steps is "0"; it takes a whole number from 1
predict x.safetensors|INPUT is missing
END
verdict
