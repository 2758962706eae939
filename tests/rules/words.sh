#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# words.sh ROOT: sources, tests and documents use the field's words (CONTRIBUTING.md, style), not a dialect. The list holds
# words that have no other use here; CHANGELOG.md may quote old names.
set -eu
cd "$1"
# word                                   instead of it
words='
\bturn(s|ed|ing)?\b                      rotate, rotated, rotation; inverse or transposed rotation
\b(most|least)_|_(most|least)\b          max, min
\blearners?\b                            trainer
\bjunctions?\b                           residual norm
\blikeliest\b                            argmax, greedy
\bheld.out.(loss|sequences)\b            validation loss, validation sequences
\bright.answers?\b                       correct, exact match
\bnats.a.token\b                         nats per token
\b(calm|wild)\b                          bounded, unbounded scores
\b(bend|bends|bent|bending)\b            softcap
\bweigh(s|ed|ing)?\b                     exp, softmax
\bsight\b                                visible range
\b(house|floors)\b                       module
\btiles.in.software\b                    AMX emulation
\bby.turns\b                             alternating, paired
'
files=$(find src include examples python tests docs scripts cmake bench presets README.md CONTRIBUTING.md CMakeLists.txt \
    CMakePresets.json check run -type f ! -path '*/words.sh' ! -path '*/images/*' ! -name '*_goldens.h' \
    ! -path '*/corpus/*' ! -name '*_lexicon.c' 2>/dev/null || true)
[ -n "$files" ] || { echo "no files found"; exit 1; }
status=0
while read -r word instead; do
    [ -n "$word" ] || continue
    # shellcheck disable=SC2086 # a list of files
    if grep -HniE -- "$word" $files; then
        echo "^ write: $instead"
        status=1
    fi
done <<END
$words
END

# Every line of a document ends by 120 columns, rows of tables too.
long=$(find README.md CONTRIBUTING.md CHANGELOG.md docs -name '*.md' 2>/dev/null | LC_ALL=C sort | while read -r file; do
    LC_ALL=C.UTF-8 grep -HnE '^.{121,}$' "$file" || true
done)
[ -z "$long" ] || { printf '%s\nlines of documents end by 120 columns\n' "$long"; status=1; }
exit $status
