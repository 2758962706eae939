#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# can_fail.sh COMPILER: every rule of this folder accepts a good tree and refuses a bad one.
set -eu
rules=$(cd "$(dirname "$0")" && pwd)
compiler=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
status=0

# A small tree that keeps every rule.
good() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/include/rotary" "$tree/src/base" "$tree/src/kernel" "$tree/src/backend" "$tree/src/cuda" "$tree/src/layer" "$tree/src/task" \
        "$tree/src/study" "$tree/src/report" "$tree/tests"
    printf '#include <stdint.h>\nint32_t rotary_one(void);\n' >"$tree/include/rotary/one.h"
    printf 'int base_one(void);\n' >"$tree/src/base/one.h"
    printf '#include "base/one.h"\n' >"$tree/src/kernel/one.c"
    printf '#include "kernel/one.h"\n#include <dnnl.h>\n' >"$tree/src/backend/product.c"
    printf '#include "backend/one.h"\n' >"$tree/src/layer/one.c"
    printf '#include "backend/one.h"\n#include <cuda_runtime.h>\n' >"$tree/src/cuda/kernels.cu"
    printf '#include "base/one.h"\n#include <jansson.h>\n' >"$tree/src/task/one.c"
    printf '#include "records/records.h"\n' >"$tree/src/report/one.c"
    printf '#include <sentencepiece_processor.h>\n' >"$tree/src/task/pieces.cc"
}

expect() {
    wanted=$1 about=$2
    shift 2
    got=good
    sh "$@" >"$tree/said" 2>&1 || got=bad
    if [ $got != "$wanted" ]; then
        echo "$about: the rule finds this $got"
        cat "$tree/said"
        status=1
    fi
}

# breaks RULE ABOUT FILE TEXT: the good tree with TEXT added to FILE is refused.
breaks() {
    good
    printf '%b' "$4" >>"$tree/$3"
    expect bad "$2" "$rules/$1" "$tree"
}

good
expect good "layers of a good tree" "$rules/modules.sh" "$tree"
breaks modules.sh "an arrow upwards" src/base/one.h '#include "task/task.h"\n'
breaks modules.sh "an arrow upwards, spaced" src/kernel/one.c '  #  include "backend/backend.h"\n'
breaks modules.sh "a layer with threads of its own" src/layer/one.c '#include "base/threads.h"\n'
breaks modules.sh "a layer that calls kernels" src/layer/one.c '#include "kernel/one.h"\n'
breaks modules.sh "a page that can train" src/report/one.c '#include "study/comparison_run.h"\n'
breaks modules.sh "a module nobody knows" src/one.c '#include <stdio.h>\n'
breaks modules.sh "a header without a module" src/task/one.c '#include "one.h"\n'
breaks modules.sh "a module below the program that prints" src/study/one.c 'void f(void) { fputs("", stdout); }\n'
breaks modules.sh "two files that include oneDNN" src/task/one.c '#include <dnnl.h>\n'
breaks modules.sh "two files that include SentencePiece" src/task/one.cc '#include <sentencepiece_trainer.h>\n'
breaks modules.sh "zlib in the library" src/base/one.h '#include <zlib.h>\n'
breaks modules.sh "CUDA outside its folder" src/backend/product.c '#include <cuda_runtime.h>\n'
breaks modules.sh "CUDA outside its folder, in a kernel" src/task/one.cu '#include <cublasLt.h>\n'
breaks modules.sh "an arrow upwards from a kernel for CUDA" src/cuda/one.cu '#include "layer/one.h"\n'
breaks modules.sh "MPI in the library" src/base/one.h '#include <mpi.h>\n'
breaks modules.sh "JSON in the library" src/base/one.h '#include <jansson.h>\n'
breaks modules.sh "JSON in a public header" include/rotary/one.h '#include <jansson.h>\n'
breaks modules.sh "an inner header in a public one" include/rotary/one.h '#include "base/one.h"\n'

good
expect good "sizes of a good tree" "$rules/sizes.sh" "$tree"
good
yes 'int x;' | head -n 701 >"$tree/src/task/one.c"
expect bad "701 lines" "$rules/sizes.sh" "$tree"
good
yes 'int x;' | head -n 701 >"$tree/src/cuda/kernels.cu"
expect bad "701 lines for CUDA" "$rules/sizes.sh" "$tree"

rm -rf "${tree:?}"/*
mkdir -p "$tree/src/base" "$tree/src/task"
touch "$tree/src/base/one.c" "$tree/src/base/one.h" "$tree/src/task/two.c"
expect good "names of a good tree" "$rules/names.sh" "$tree"
touch "$tree/src/task/one.c"
expect bad "two files of one name" "$rules/names.sh" "$tree"

good
echo 'A good document.' >"$tree/README.md"
expect good "words of a good tree" "$rules/words.sh" "$tree"
printf '/* The keys are t%s. */\n' urned >"$tree/src/study/words.c"
expect bad "a word that is not the field's" "$rules/words.sh" "$tree"
rm "$tree/src/study/words.c"
printf '%0121d\n' 0 >"$tree/README.md"
expect bad "a document with a line of 121 columns" "$rules/words.sh" "$tree"
rm "$tree/README.md"

good
expect good "headers of a good tree" "$rules/headers.sh" "$tree" c "$compiler"
printf 'int64_t base_two(void);\n' >>"$tree/src/base/one.h"
expect bad "a header that needs another" "$rules/headers.sh" "$tree" c "$compiler"
if command -v c++ >/dev/null; then
    good
    expect good "headers of a good tree, C++" "$rules/headers.sh" "$tree" c++ c++
    printf 'void rotary_two(int new);\n' >>"$tree/include/rotary/one.h"
    expect bad "a word of C++ in a public header" "$rules/headers.sh" "$tree" c++ c++
fi

# library TEXT...: a shared library of the given C.
library() {
    printf '%b' "$1" | "$compiler" -w -shared -fPIC -x c - -o "$tree/library.so"
}
echo rotary_one >"$tree/list"
calls='int strlen(char *); int rotary_one(char *s) { return strlen(s); }\n'
library "$calls"
expect good "symbols of a good library" "$rules/symbols.sh" "$tree/library.so" "$tree/list"
library "$calls int rotary_two;"
expect bad "an export that is not listed" "$rules/symbols.sh" "$tree/library.so" "$tree/list"
library "$calls int one;"
echo one >>"$tree/list"
expect bad "an export without the prefix" "$rules/symbols.sh" "$tree/library.so" "$tree/list"
echo rotary_one >"$tree/list"
echo rotary_two >>"$tree/list"
library "$calls"
expect bad "a listed symbol that is not there" "$rules/symbols.sh" "$tree/library.so" "$tree/list"
echo rotary_one >"$tree/list"
for function in abort exit printf puts vprintf putchar perror __assert_fail; do
    library "extern void call(void) __asm__(\"$function\"); void rotary_one(void) { call(); }"
    expect bad "a library that calls $function" "$rules/symbols.sh" "$tree/library.so" "$tree/list"
done

good
mkdir -p "$tree/docs/reference" "$tree/tests/rules" "$tree/tests/mutants"
echo rotary_one >"$tree/tests/rules/symbols.txt"
echo '`rotary_one(x)` does it.' >"$tree/docs/reference/library.md"
expect good "a reference of all there is" "$rules/reference.sh" "$tree"
echo '`rotary_two(x)` does not.' >>"$tree/docs/reference/library.md"
expect bad "a reference of what is not there" "$rules/reference.sh" "$tree"
echo rotary_two >>"$tree/tests/rules/symbols.txt"
expect good "a reference of both" "$rules/reference.sh" "$tree"
echo rotary_three >>"$tree/tests/rules/symbols.txt"
expect bad "a reference with a hole" "$rules/reference.sh" "$tree"

# mutants WANTED ABOUT: what the rule says of the list of one mutant: good (0), stale (77) or bad.
mutants() {
    said=good
    sh "$rules/mutant_list.sh" "$tree" "$rules/../../scripts" >"$tree/said" 2>&1 || said=$?
    case $said in 77) said=stale ;; good) ;; *) said=bad ;; esac
    [ $said = "$1" ] || { echo "$2: the rule finds this $said"; cat "$tree/said"; status=1; }
}
if command -v python3 >/dev/null; then
    echo '    int x = y(1);' >"$tree/src/base/x.c"
    printf 'mutant: one\nfile: src/base/x.c\n- int x = y(1);\n+ int x = y(2);\ntests: base\n' >"$tree/tests/mutants/base.txt"
    mutants good "a mutant of a line that is there"
    printf 'int\n    x = y(\n    1);\n' >"$tree/src/task/z.c"
    rm "$tree/src/base/x.c"
    mutants good "a mutant of a line that moved and was formatted anew"
    cp "$tree/src/task/z.c" "$tree/src/study/zz.c"
    mutants stale "a mutant of a line that is there twice"
    rm "$tree/src/task/z.c" "$tree/src/study/zz.c"
    mutants stale "a mutant of a line that is gone"
    echo 'tests:' >"$tree/tests/mutants/base.txt"
    mutants bad "a list that is none"
fi

if command -v valgrind >/dev/null; then
    printf '#include <stdlib.h>\nint main(void) { char *volatile p = malloc(4); int c = p[4]; free(p); return c & 0; }\n' |
        "$compiler" -w -x c - -o "$tree/program"
    expect bad "a read past the end" "$rules/valgrind.sh" "$tree/program"
    printf 'int main(void) { return 0; }\n' | "$compiler" -x c - -o "$tree/program"
    expect good "a program without fault" "$rules/valgrind.sh" "$tree/program"
fi
[ $status != 0 ] || echo "every rule accepts the good and refuses the bad"
exit $status
