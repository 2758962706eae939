#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# names.sh ROOT: no two source files have one name, so that a name alone says which file is meant. The examples of
# docs/how-to/add-*.md have their own copies of lists, with one line more.
set -eu
cd "$1"
files=$(find bench examples include python src tests scripts \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.inc' -o -name '*.sh' -o -name '*.py' \) \
    ! -path 'tests/examples/*_list.h' 2>/dev/null || true)
[ -n "$files" ] || { echo "no source files found"; exit 1; }
twice=$(printf '%s\n' "$files" | sed 's|.*/||' | LC_ALL=C sort | uniq -d)
[ -z "$twice" ] || { printf 'there are several files called %s\n' $twice; exit 1; }
