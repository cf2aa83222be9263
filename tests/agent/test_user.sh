#!/bin/bash
# TIMEOUT: 300
# Pods as strict clusters run them: a user that no file knows, group 0, no capability, HOME unset, a
# root that is read-only. Two of them train to their end; Open MPI asks for the user's name and home.
. tests/agent/launch.sh
command -v setpriv >/dev/null || {
    echo "setpriv (util-linux) is not installed"
    exit 77
}
uid=1000660000
chmod 755 "$dir"
chmod 640 ours.key # as a Secret's volume: group 0 may read
cat >strict.sh <<'STRICT'
mount --make-rprivate /
mount -o remount,bind,ro /
if touch /tmp/x 2>/dev/null; then echo "the root can be written" >&2; exit 1; fi
unset HOME USER LOGNAME
exec setpriv --reuid "$1" --regid 0 --clear-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all "${@:2}"
STRICT
as=(bash "$dir/strict.sh" "$uid")
mkdir data
python3 "$repo/tests/cli/make_idx.py" data 640 64 || exit 1
for i in 0 1; do
    mkdir pod$i
    chown $uid:0 pod$i
    serve $i
done

begin 1 60 "done" 0 1
came "a user without a name"
check "it is done" "$(tail -n 1 "$said")" '"message":"trained to step 60"'
wait "${pods_holder[0]}" || fail "the chief's agent ended with $?"
same "who has written the weights" "$(stat -c %u:%g "$(last pod0/state)")" $uid:0
verdict
