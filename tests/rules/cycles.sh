#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cycles.sh BUILD COMPILER: no objects of the libraries in the folder BUILD call each other in a circle. What an object
# needs is read from its symbols, so that a declaration in some third header hides nothing. Libraries have no objects of
# files that are gone, which a folder may still have, as it may libraries that src/*/CMakeLists.txt no longer name.
set -eu
build=$1 compiler=$2
command -v nm >/dev/null || { echo "skipped: there is no nm"; exit 77; }
export LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# circles FOLDER FILE...: names the objects of the files in the folder that are in circles; exit status 1 if there are any,
# 2 if there is nothing to look at.
circles() {
    folder=$1
    shift
    nm -A "$@" | awk -v folder="$folder/" '
    {
        object = substr($1, length(folder) + 1)
        sub(/:[0-9a-f]*$/, "", object)
        gsub(/CMakeFiles\/[^\/]*\//, "", object)
        count += !(object in objects)
        objects[object] = 1
    }
    $2 == "U" { wants[object, $3] = 1 }
    $2 ~ /^[TDBRVWC]$/ { owner[$3] = object }
    END {
        for (pair in wants) {
            split(pair, part, SUBSEP)
            other = owner[part[2]]
            if (other != "" && other != part[1]) {
                needs[part[1], other] = needs[part[1], other] " " part[2]
                calls++
            }
        }
        if (count < 2 || calls == 0) {
            print "no objects that call each other in " folder
            exit 2
        }
        for (pair in needs) {
            split(pair, part, SUBSEP)
            below[part[1]] = below[part[1]] " " part[2]
            above[part[2]] = above[part[2]] " " part[1]
        }
        # What needs nothing else is taken away, and so is what nothing else needs, until only circles are left, and
        # what lies between two of them.
        do {
            taken = 0
            for (object in objects)
                if (!left(below[object]) || !left(above[object])) {
                    delete objects[object]
                    taken = 1
                }
        } while (taken)
        for (pair in needs) {
            split(pair, part, SUBSEP)
            if (part[1] in objects && part[2] in objects) {
                print part[1] " needs " part[2] ":" needs[pair]
                found = 1
            }
        }
        exit found
    }
    function left(list,    i, count, names) {
        count = split(list, names, " ")
        for (i = 1; i <= count; i++)
            if (names[i] in objects)
                return 1
        return 0
    }' | sort
}

# The rule itself must be able to fail: three objects in a circle, and one above them.
mkdir "$scratch/circle"
for pair in a:b b:c c:a top:a; do
    printf 'int %s(void);\nint %s(void);\nint %s(void) { return %s(); }\n' \
        "${pair#*:}" "${pair%:*}" "${pair%:*}" "${pair#*:}" >"$scratch/source.c"
    "$compiler" -c "$scratch/source.c" -o "$scratch/circle/${pair%:*}.o"
done
told=$(circles "$scratch/circle" "$scratch"/circle/*.o)
wanted='a.o needs b.o: b
b.o needs c.o: c
c.o needs a.o: a'
[ "$told" = "$wanted" ] || { printf 'of a circle of three it says:\n%s\n' "$told"; exit 1; }

names=$(sed -n 's/^add_library(\(rotary_[a-z_]*\) STATIC.*/lib\1.a/p' "$(dirname "$0")"/../../src/*/CMakeLists.txt)
libraries=$(for name in librotary.a $names; do find "$build" -name "$name"; done | sort)
told=$(circles "$build" $libraries)
[ -z "$told" ] || { printf 'in circles, or between two:\n%s\n' "$told"; exit 1; }
