#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# modules_picture.sh ROOT BUILD COMPILER: docs/images/modules.svg is what scripts/modules-picture draws of the libraries in
# the folder BUILD, in which no modules call each other in a circle.
set -eu
root=$1 build=$2 compiler=$3
for tool in python3 nm ar; do
    command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Two modules that call each other have no picture.
mkdir -p "$scratch/scripts" "$scratch/src/base" "$scratch/build"
cp "$root/scripts/modules-picture" "$scratch/scripts"
module() {
    mkdir -p "$scratch/src/$1" "$scratch/build/src/$1"
    echo "add_library($1 STATIC $1.c)" >"$scratch/src/$1/CMakeLists.txt"
    printf 'int %s(void);\nint %s(void);\nint %s(void) { return %s(); }\n' "$2" "$1" "$1" "$2" >"$scratch/src/$1/$1.c"
    "$compiler" -c "$scratch/src/$1/$1.c" -o "$scratch/$1.c.o"
    ar rc "$scratch/build/src/$1/lib$1.a" "$scratch/$1.c.o"
}
echo 'int base(void) { return 1; }' >"$scratch/src/base/base.c"
"$compiler" -w -c "$scratch/src/base/base.c" -o "$scratch/base.c.o"
ar rc "$scratch/build/librotary.a" "$scratch/base.c.o"
module one base
module two one
python3 "$scratch/scripts/modules-picture" "$scratch/build" >"$scratch/picture.svg"
grep -q '>two<' "$scratch/picture.svg" || { echo "a picture lacks a module"; exit 1; }
module one two
! told=$(python3 "$scratch/scripts/modules-picture" "$scratch/build" 2>&1) || { echo "a circle has a picture"; exit 1; }
[ "$told" = "in a circle, or above one: one two" ] || { echo "of a circle of two it says: $told"; exit 1; }

python3 "$root/scripts/modules-picture" "$build" >"$scratch/picture.svg"
cmp -s "$scratch/picture.svg" "$root/docs/images/modules.svg" || {
    diff -u "$root/docs/images/modules.svg" "$scratch/picture.svg" || true
    echo "the modules are other than in docs/images/modules.svg: if they are to be, scripts/modules-picture draws it anew"
    exit 1
}
