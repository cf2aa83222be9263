#!/bin/bash
# TIMEOUT: 300
# tests/fuzz.sh: what a run finds the next one begins with; it is bounded, reduced, and can be brought
# into the seeds; a run that fails keeps nothing. On a target of its own, whose code is four letters deep.
# LANE: waiting
. tests/cli/lib.sh
fuzz=$OLDPWD/tests/fuzz.sh
for tool in clang flock; do
    command -v "$tool" >/dev/null || { echo "no $tool"; exit 77; }
done

cat >target.c <<'C'
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static volatile int depth;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == 'f') {
        depth = 1;
        if (size > 1 && data[1] == 'u') {
            depth = 2;
            if (size > 2 && data[2] == 'z') {
                depth = 3;
                if (getenv("CRASH"))
                    abort();
            }
        }
    }
    return 0;
}
C
clang -g -fsanitize=fuzzer target.c -o fuzz_deep 2>log || { echo "clang has no libFuzzer"; exit 77; }
export FUZZ_KEPT=$PWD/kept FUZZ_FOUND=$PWD/found FUZZ_CORPUS=$PWD/corpus FUZZ_SECONDS=2
mkdir -p corpus/deep
printf f >corpus/deep/seed
files() { find "$1" -type f | wc -l; }

# A find of a former run, with much that is of no use: reduced, and not twice what a seed reaches.
mkdir -p kept/deep
printf fuz >kept/deep/old
for i in $(seq 50); do printf 'x%s' "$i" >"kept/deep/no-$i"; done
"$fuzz" "$PWD/fuzz_deep" >said || fail "a run: $(cat said)"
check "a run" "$(cat said)" "ok    fuzz deep: Done "
check "it began with what was kept" "$(cat found/deep.log)" "files found in $PWD/found/deep.kept"
grep -qr '^fuz' kept/deep || fail "the find is lost"
if [ "$(files kept/deep)" -gt 10 ]; then fail "$(files kept/deep) files of a target with three branches"; fi
[ ! -e kept/deep/seed ] || fail "the seeds are kept, too"
same "no copy stays" "$(find kept -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs)" "deep deep.lock"

# Bounds: the smallest stay.
cp -r kept/deep before
FUZZ_KEPT_FILES=1 "$fuzz" "$PWD/fuzz_deep" >said || fail "one file: $(cat said)"
same "one file" "$(files kept/deep)" 1
FUZZ_KEPT_BYTES=0 "$fuzz" "$PWD/fuzz_deep" >said || fail "no bytes: $(cat said)"
same "no bytes" "$(find kept/deep -type f -size +0 | wc -l)" 0

# Another run has the folder: nothing changes. A run that fails keeps nothing, and leaves the input.
rm -rf kept/deep
printf x >before/of-no-use
cp -r before kept/deep
flock kept/deep.lock "$fuzz" "$PWD/fuzz_deep" >said || fail "locked out: $(cat said)"
diff -r before kept/deep || fail "it was changed beside another run"
same "a crash" "$(CRASH=1 "$fuzz" "$PWD/fuzz_deep" >said; echo $?)" 1
check "a crash" "$(cat said)" "FAIL  fuzz deep"
same "its input" "$(find found -maxdepth 1 -name 'deep-crash-*' | wc -l)" 1
diff -r before kept/deep || fail "a run that failed has changed what is kept"

# Seeds: what reaches more than they do, once.
"$fuzz" --bring "$PWD/fuzz_deep" >said || fail "bring: $(cat said)"
grep -qr '^fuz' corpus/deep || fail "the find is no seed"
[ -e corpus/deep/seed ] || fail "a seed is gone"
n=$(files corpus/deep)
"$fuzz" --bring "$PWD/fuzz_deep" >said
same "brought twice" "$(cat said) $(files corpus/deep)" "deep: 0 new seeds in $PWD/corpus/deep $n"
verdict
