#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# example.sh PROGRAM EXPECTED: the example succeeds and prints what it should, with every instruction set there is.
set -eu
program=$1 expected=$2
for isa in scalar avx2 avx512 avx512bf16 amx; do
    printed=$(ROTARY_ISA=$isa "$program") || { echo "$isa: it fails, and prints: $printed"; exit 1; }
    printf '%s\n' "$printed" | diff -u "$expected" - || { echo "$isa: it does not print what it should"; exit 1; }
done
