#!/bin/bash
# TIMEOUT: 900
# The cluster itself: pods run, find each other by name and are kept apart by NetworkPolicies; logs
# and exec; a kubelet that starts again keeps the pods; nothing is fetched from beyond.
# shellcheck source=tests/cluster/lib.sh
source "$(dirname "$0")/lib.sh"
cluster_test
cluster_debian

# peer NAME: a pod that says hello to whoever connects.
peer() {
    cat <<POD
---
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {app: hello, peer: $1}}
spec:
  hostname: $1
  subdomain: peers
  terminationGracePeriodSeconds: 0
  containers:
  - name: peer
    image: $cluster_image
    ports: [{name: hello, containerPort: 8080}]
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
    command:
    - perl
    - -MIO::Socket::INET
    - -e
    - |
      \$| = 1;
      my \$s = IO::Socket::INET->new(LocalPort => 8080, Listen => 16, ReuseAddr => 1) or die;
      print "listening\n";
      while (1) { my \$c = \$s->accept or next; print \$c "hello from $1\n"; close \$c; }
POD
}

{
    cat <<'SERVICES'
apiVersion: v1
kind: Service
metadata: {name: peers}
spec: {clusterIP: None, selector: {app: hello}, ports: [{port: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: first}
spec: {selector: {peer: one}, ports: [{port: 80, targetPort: hello}]}
SERVICES
    for pod in one two three; do peer $pod; done
} >"$dir/peers.yaml"
t apply -f "$dir/peers.yaml" >/dev/null || fail "pods cannot be made"
t wait --for=condition=Ready pod/one pod/two pod/three --timeout=60s >/dev/null ||
    fail "pods do not get ready: $(t describe pods | tail -n 20)"
if [ $failed -ne 0 ]; then verdict; fi
address=$(t get pod one -o jsonpath='{.status.podIP}')

# hello POD HOST PORT: what that address says to the pod; why not, otherwise.
hello() {
    t exec "$1" -- timeout 3 bash -c "exec 3<>/dev/tcp/$2/$3 && cat <&3" 2>&1 || echo refused
}

resolve() { t exec two -- getent hosts "$1" | cut -d' ' -f1; }
until_same "DNS of a headless Service" "$address" resolve one.peers
same "pod to pod by name" "$(hello two one.peers 8080)" "hello from one"
until_same "pod to Service" "hello from one" hello two first 80
same "pod to itself through its Service" "$(hello one first 80)" "hello from one"
same "this machine to pod" "$(timeout 3 bash -c "cat </dev/tcp/$address/8080")" "hello from one"
check logs "$(t logs one)" listening
same "exec with input" "$(echo through | t exec -i one -- cat)" through
t exec one -- bash -c 'exit 5' 2>/dev/null
same "exit code of exec" $? 5

policy() {
    t apply -f - >/dev/null <<POLICY
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: guard}
spec: {podSelector: {matchLabels: {peer: one}}, policyTypes: [Ingress], ingress: [$1]}
POLICY
}
refused() { [[ $(hello "$1" "$address" 8080) == *refused ]]; }
policy ""
until_true refused two
until_true refused three
same "others are not isolated" "$(hello one two.peers 8080)" "hello from two"
policy "{from: [{podSelector: {matchLabels: {peer: two}}}], ports: [{port: hello}]}"
until_same "the chosen pod passes" "hello from one" hello two "$address" 8080
same "also through the Service" "$(hello two first 80)" "hello from one"
until_true refused three
t delete networkpolicy guard >/dev/null
until_same "without a policy all pass" "hello from one" hello three "$address" 8080

# alive: what stays the same while a pod lives.
alive() {
    t get pod one -o jsonpath='{.metadata.uid} {.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].containerID}'
}
before=$(alive)
kubelet=$(cat "$cluster_dir/pid/kubelet")
cluster_signal kubelet KILL
restarted() { [ "$(cat "$cluster_dir/pid/kubelet")" != "$kubelet" ] && t exec one -- true; }
until_true restarted
same "a pod after the kubelet's restart" "$(alive)" "$before"

t run absent --image=absent:1 --image-pull-policy=Never --restart=Never >/dev/null
until_same "an image that was not imported" ErrImageNeverPull \
    t get pod absent -o 'jsonpath={.status.containerStatuses[0].state.waiting.reason}'
cluster_node ip route get 203.0.113.1 >/dev/null 2>&1 && fail "the node has a way out of this machine"

verdict
