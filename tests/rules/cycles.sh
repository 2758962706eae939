#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cycles.sh ROOT: no two files of src/ need each other. A .c file and its .h are one unit, which needs the units whose
# headers they include; a header without a .c file belongs to those that include it.
set -eu
cd "$1"
find src -name '*.[ch]' -o -name '*.cc' | LC_ALL=C sort | xargs awk '
function unit_of(path) { sub(/\.[ch]$/, "", path); return path }
# What `unit` needs by including `header`.
function follow(unit, header, seen,    count, i, list) {
    if (index(seen, " " header " "))
        return
    if (unit_of(header) in units) {
        if (unit_of(header) != unit)
            needs[unit, unit_of(header)] = 1
        return
    }
    count = split(includes[header], list, " ")
    for (i = 1; i <= count; i++)
        follow(unit, list[i], seen header " ")
}
FNR == 1 {
    file = substr(FILENAME, 5)
    if (file ~ /\.c$/)
        units[unit_of(file)] = 1
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    header = $0
    sub(/^[^"]*"/, "", header)
    sub(/".*$/, "", header)
    includes[file] = includes[file] " " header
}
END {
    for (unit in units) {
        count = split(includes[unit ".c"] " " includes[unit ".h"], list, " ")
        for (i = 1; i <= count; i++)
            follow(unit, list[i], " ")
    }
    # Units that need no other are taken away until none is left, or only cycles and what leads to them.
    do {
        taken = 0
        for (unit in units) {
            waits = 0
            for (other in units)
                if ((unit, other) in needs)
                    waits = 1
            if (!waits) {
                delete units[unit]
                taken = 1
            }
        }
    } while (taken)
    for (unit in units) {
        left = left " " unit
        for (other in units)
            if (unit < other && ((unit, other) in needs) && ((other, unit) in needs)) {
                print unit " and " other " need each other"
                pairs++
            }
    }
    if (left != "" && !pairs)
        print "in cycles of includes, or above one:" left
    exit left != ""
}'
