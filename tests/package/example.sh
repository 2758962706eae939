#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# example.sh EXPECTED COMMAND...: with every instruction set the example succeeds and prints the expected text.
set -eu
expected=$1
shift
for isa in scalar avx2 avx512 avx512bf16 amx; do
    printed=$(ROTARY_ISA=$isa "$@") || { echo "$isa: it fails, and prints: $printed"; exit 1; }
    printf '%s\n' "$printed" | diff -u "$expected" - || { echo "$isa: the output is not the expected one"; exit 1; }
done
