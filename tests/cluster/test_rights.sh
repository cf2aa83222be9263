#!/bin/bash
# The operator's rights are those it uses: what it asked the API server for, from its start on and
# through what jobs go through, against manifests/rbac.yaml, both ways.
# TIMEOUT: 600
source tests/cluster/lib.sh
source tests/cluster/paceline.sh
cluster_test
cluster_debian
paceline_images
k apply -f tests/api/podgroups.yaml >/dev/null
# As at its first start; its key stays, for the jobs that it has.
k -n paceline-system delete deployment/paceline-operator --cascade=foreground --ignore-not-found \
    >/dev/null 2>&1
k -n paceline-system delete lease/paceline-operator --ignore-not-found >/dev/null 2>&1
since=$(cat "$cluster_dir/log/audit" 2>/dev/null | wc -l)
paceline_install

# gang NAME KIND [POLICY]: two pods that live until they are ended.
gang() {
    cat <<JOB
---
apiVersion: paceline.dev/v1
kind: TrainingJob
metadata: {name: $1}
spec:
  replicas:
    worker:
      replicas: 2
      restartPolicy: ExitCode
      template:
        spec:
          securityContext: {runAsUser: 1000}
          terminationGracePeriodSeconds: 0
          containers:
          - {name: any, image: "$cluster_image", command: [sleep, "${4:-1000}"], resources: {requests: {cpu: 10m}}}
  runPolicy: {${3:-} schedulingPolicy: {gang: $2, schedulerName: default-scheduler}}
JOB
}
apply <<JOBS
$(train built 2 3 'ttlSecondsAfterFinished: 0')
$(gang volcano Volcano 'backoffLimit: 100,')
$(gang plugins SchedulerPlugins 'ttlSecondsAfterFinished: 1,' 1)
$(train stuck 1 1 | sed 's/^  dataset: .*/  dataset: {name: idx, path: \/data, volume: {hostPath: {path: \/nowhere, type: Directory}}}/')
JOBS
running() { [ "$(of "tj/$1" '{.status.replicaStatuses.worker.active}')" = "$2" ]; }
gone() { ! t get "$1" >/dev/null 2>&1; }
until_true running volcano 2
t delete pod volcano-worker-1-0 >/dev/null
until_true running volcano 2
t scale tj/volcano --replicas=3 >/dev/null
until_true running volcano 3
t delete service volcano >/dev/null
until_true t get service volcano
t patch tj/volcano --type=merge -p '{"spec":{"runPolicy":{"suspend":true}}}' >/dev/null
until_true running volcano 0
t patch tj/volcano --type=merge -p '{"spec":{"runPolicy":{"suspend":false}}}' >/dev/null
until_true running volcano 3
# A new leader tells again what is news.
operator_killed
k -n paceline-system rollout status deployment/paceline-operator --timeout=60s >/dev/null
until_true gone tj/plugins
until_true gone tj/built
says() { [[ $(of tj/stuck '{.status.conditions[?(@.type=="Running")].message}') == *FailedMount* ]]; }
until_true says
t delete tj/volcano >/dev/null
until_true gone pod/volcano-worker-0-0

tail -n "+$((since + 1))" "$cluster_dir/log/audit" >"$dir/audit"
k create --dry-run=client --validate=false -o json -f manifests/rbac.yaml >"$dir/rbac.json"
python3 - "$dir/audit" "$dir/rbac.json" <<'PYTHON' || failed=1
import json, sys

USER = "system:serviceaccount:paceline-system:paceline-operator"
# Rights that nobody sees used here, and why they are there.
LOST = "the answer to its creation was lost, or somebody else has made it"
UNSEEN = {
    ("", "pods", "get"): LOST,
    ("", "services", "get"): LOST,
    ("", "configmaps", "get"): LOST,
    ("networking.k8s.io", "networkpolicies", "get"): LOST,
    ("scheduling.volcano.sh", "podgroups", "get"): LOST,
    ("scheduling.x-k8s.io", "podgroups", "get"): LOST,
    ("scheduling.x-k8s.io", "podgroups", "delete"): "as Volcano's; only that job is scaled here",
    ("paceline.dev", "trainingjobs/finalizers", "update"):
        "an API server with OwnerReferencesPermissionEnforcement asks for it",
}
asked, refused = {}, set()
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["user"]["username"] != USER or "objectRef" not in e:
        continue
    o = e["objectRef"]
    resource = o["resource"] + ("/" + o["subresource"] if "subresource" in o else "")
    key = (o.get("apiGroup", ""), resource, e["verb"])
    asked.setdefault(key, set()).add((o.get("namespace", ""), o.get("name", "")))
    if e["responseStatus"]["code"] == 403 and "cannot" in e["responseStatus"].get("message", ""):
        refused.add(key)

text, granted, decoder = open(sys.argv[2]).read(), {}, json.JSONDecoder()
while text.strip():
    o, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    for o in o["items"] if o["kind"] == "List" else [o]:
        if o["kind"] in ("Role", "ClusterRole") and o["metadata"]["name"] == "paceline-operator":
            for rule in o["rules"]:
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        for verb in rule["verbs"]:
                            granted.setdefault((group, resource, verb), []).append(
                                (o["kind"], rule.get("resourceNames")))
bad = False
def say(text):
    global bad
    bad = True
    print("test_rights:", text)
for key in sorted(refused):
    say(f"it asked for what it may not: {key}, {sorted(asked[key])[:3]}")
for key in sorted(asked.keys() - granted.keys() - refused):
    say(f"it may do what manifests/rbac.yaml does not say: {key}")
for key in sorted(granted.keys() - asked.keys() - UNSEEN.keys()):
    say(f"a right that it does not use: {key}")
for key in sorted(UNSEEN.keys() - granted.keys()):
    say(f"no right of the operator: {key}")
print(f"  {sum(map(len, asked.values()))} objects, {len(asked)} kinds of requests, {len(granted)} rights")
for key, objects in sorted(asked.items()):
    print("   ", *key)
sys.exit(bad)
PYTHON
verdict
