#!/bin/sh
# study-texts.sh FILE...: the studies as C, for cli/study/study.h: their lines as strings, by the names of the files.
set -eu
echo '#include "cli/study/study.h"'
for file in "$@"; do
    printf 'static const char *const text_%s[] = {\n' "$(basename "$file" .yaml | tr - _)"
    sed 's/[\\"]/\\&/g; s/.*/    "&\\n",/' "$file"
    echo '    0};'
done
echo 'const struct study_text study_texts[] = {'
for file in "$@"; do
    name=$(basename "$file" .yaml)
    printf '    {"%s", text_%s},\n' "$name" "$(echo "$name" | tr - _)"
done
echo '};'
echo 'const size_t n_study_texts = sizeof study_texts / sizeof *study_texts;'
