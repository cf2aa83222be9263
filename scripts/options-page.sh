#!/bin/bash
# Prints docs/reference/options.md: the --help of each command of the program in PACELINE, without its examples.
set -euo pipefail
: "${PACELINE:?}"
echo "# The options of each command"
echo
echo "What \`paceline COMMAND --help\` prints, without the examples. This page is printed by \`scripts/options-page.sh\`."
# `data` has commands of its own.
"$PACELINE" --help | sed -n '/^examples:/q; s/^  \([a-z-]*\) .*/\1/p' | sed 's/^data$/data list\ndata fetch/' |
    while read -ra words; do
        printf '\n## paceline %s\n\n' "${words[*]}"
        "$PACELINE" "${words[@]}" --help | sed '/^examples:/,$d; s/^./    &/; s/ *$//'
    done
