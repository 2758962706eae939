#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mutant_list.sh ROOT: every line that tests/mutants/list.txt wants to change stands in its file, once.
set -eu
cd "$1"
awk '
function trim(text) { sub(/^[ \t]+/, "", text); return text }
/^mutant: / { name = substr($0, 9); mutants++; next }
/^file: / { file = substr($0, 7); next }
/^tests: / { tests++; next }
/^- / {
    wanted = trim(substr($0, 3))
    found = 0
    while ((getline line < file) > 0)
        found += trim(line) == wanted
    close(file)
    if (found != 1) {
        printf "\"%s\": %s has its line %d times: %s\n", name, file, found, wanted
        failed = 1
    }
}
END {
    if (mutants < 20 || tests != mutants) {
        printf "%d mutants with %d lists of tests\n", mutants, tests
        failed = 1
    }
    exit failed
}' tests/mutants/list.txt
