#!/bin/bash
# Every program says its version in the same form, and nothing else: "NAME X.Y.Z". It needs no arguments, no cluster
# and no MPI for that.
version=$(sed -n 's/^#define PACELINE_VERSION "\(.*\)"/\1/p' include/paceline/version.h)
. tests/cli/lib.sh

[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "the version is \"$version\""
programs=$(find "$PACELINE_BUILD/bin" -maxdepth 1 -type f -name 'paceline*' ! -name '*-portable' -printf '%f\n' | sort | xargs)
same "the programs" "$programs" "paceline paceline-agent paceline-operator paceline-worker"
for program in $programs; do
    said=$(env -i HOME=/nonexistent PATH=/nonexistent "$PACELINE_BUILD/bin/$program" --version 2>&1)
    same "$program, exit code" $? 0
    same "$program" "$said" "$program $version"
done
same "as a plugin of kubectl" "$("$PACELINE_BUILD/bin/kubectl-paceline" --version)" "paceline $version"

verdict
