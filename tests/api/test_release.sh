#!/bin/bash
# Pods that no operator looks after any more: they keep our finalizer when they are deleted, until
# `paceline-operator --release-finalizers` has let them go. Finalizers of others stay.
# shellcheck source=tests/api/lib.sh
source "$(dirname "$0")/lib.sh"
api_start 4
release() { "$PACELINE_OPERATOR" --kubeconfig "$dir/operator.conf" --release-finalizers "$@" >"$dir/released" 2>&1; }
operator_start one
k create namespace team >/dev/null
apply <<JOB
$(job here)
    worker: {replicas: 3, template: $(pod)}
JOB
job there "" | sed 's/{name: there}/{name: there, namespace: team}/' >"$dir/there"
echo "    worker: {replicas: 1, template: $(pod)}" >>"$dir/there"
apply <"$dir/there"
await here Running
k wait tj/there -n team --for=condition=Running --timeout=60s >/dev/null || fail "the job of another namespace"
operator_stop one
k patch pod "$(pods_of here | head -n 1)" --type=json \
    -p '[{"op":"add","path":"/metadata/finalizers/-","value":"test.dev/other"}]' >/dev/null
k delete tj here --wait=false >/dev/null
ended() { [ "$(phases_of here | grep -c Failed)" = 3 ]; }
until_true ended
same "pods that nobody looks after" "$(count_pods here)" 3

release --namespace team || fail "one namespace: $(cat "$dir/released")"
check "one namespace" "$(cat "$dir/released")" "released pods=1 namespace=team"
same "pods of the other one" "$(count_pods here)" 3
release --all-namespaces || fail "all namespaces: $(cat "$dir/released")"
check "all namespaces" "$(cat "$dir/released")" "released pods=3 namespace=*"
one_is_left() { [ "$(count_pods here)" = 1 ]; }
until_true one_is_left
same "a finalizer of somebody else" "$(k get pods -l paceline.dev/job-name=here -o 'jsonpath={.items[*].metadata.finalizers}')" \
    '["test.dev/other"]'
release --all-namespaces || fail "nothing to do: $(cat "$dir/released")"
check "nothing to do" "$(cat "$dir/released")" "released pods=0 namespace=*"
k delete clusterrolebinding paceline-operator >/dev/null
refused() { ! release --all-namespaces; }
until_true refused # authorizers learn it a little later
check "without rights" "$(cat "$dir/released")" 'cannot list pods: code=403: pods is forbidden: User '
verdict
