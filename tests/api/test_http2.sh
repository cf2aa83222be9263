#!/bin/bash
# The operator speaks HTTP/2 with a real API server: all its watches, and the creations of a hundred
# pods, go over one connection, or a second one that was opened while the first was not up yet.
# TIMEOUT: 300
source tests/api/lib.sh
api_start
operator_start one
# connections: of the operator to the API server, by the kernel's table.
connections() {
    python3 - "${cluster_pids[operator-one]}" "${cluster_url##*:}" <<'PYTHON'
import os, re, sys
pid, port = sys.argv[1], int(sys.argv[2])
own = set()
for fd in os.listdir(f"/proc/{pid}/fd"):
    try:
        own.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")))
    except OSError:
        pass  # closed meanwhile
n = 0
for table in ("tcp", "tcp6"):
    for line in open(f"/proc/{pid}/net/{table}").readlines()[1:]:
        field = line.split()
        n += field[3] == "01" and int(field[2].split(":")[1], 16) == port and field[9] in own
print(n)
PYTHON
}
until_same "the leader's Lease is renewed" 1 metric one paceline_leader
at_least "connections, with its watches open" "$(connections)" 1
at_most "connections, with its watches open" "$(connections)" 2

apply <<JOB
$(job wide)
    worker: {replicas: 100, template: $(pod)}
JOB
most=0
created() {
    local n
    n=$(connections)
    if [ "$n" -gt "$most" ]; then most=$n; fi
    [ "$(count_pods wide)" = 100 ]
}
until_true created
at_most "connections, while it makes 100 pods" $most 2
# The web thread shows them a moment later.
posted() { [ "$(metric one 'paceline_api_requests_total{verb="POST",code="2xx"}')" -ge 100 ]; }
until_true posted
echo "  at most $most connections"
operator_stop one
verdict
