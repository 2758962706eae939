#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headers.sh ROOT LANGUAGE COMPILER [GENERATED]: every header compiles when nothing stands before it: all of them in
# C11, the public ones in C++11 too (c++), those of kernels for CUDA in C++17, on the emulated device (cuda). GENERATED is the folder of the headers that a build generates.
set -eu
cd "$1"
language=$2 compiler=$3 generated=${4:-include}
command -v "$compiler" >/dev/null || { echo "skipped: there is no $compiler"; exit 77; }
emulated=tests/support/cuda_emulated
if [ "$language" = cuda ]; then
    language=c++
    set -- -std=c++17 src/cuda $emulated
elif [ "$language" = c ]; then
    set -- -std=c11 include src
else
    set -- -std=c++11 include
fi
standard=$1
shift
# A list (*_list.h) may be a macro alone, and ISO C forbids a file without declarations.
headers=$(find "$@" -name '*.h' ! -name '*_list.h' 2>/dev/null | LC_ALL=C sort)
pedantic="-Wpedantic -I$emulated"
# Of src/cuda what kernels include is C++, and GNU's, since it includes headers of C.
kernels=$(grep -l -e template -e __device__ -e cuda_launch -r src/cuda --include='*.h' 2>/dev/null | LC_ALL=C sort || true)
case $standard in
-std=c11) headers=$(printf '%s\n' "$headers" | grep -vxF "${kernels:-none}") ;;
-std=c++17)
    headers=$(printf '%s\n' "$kernels"; find $emulated -name '*.h')
    pedantic="-Wno-unknown-pragmas -I$emulated" ;;
esac
[ -n "$headers" ] || { echo "no headers found"; exit 1; }
# Kernels of x86 alone include intrinsics that no compiler for others has, and some the widest vectors.
vectors="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512bf16"
if ! echo '#include <immintrin.h>' | "$compiler" -E -x c - >/dev/null 2>&1; then
    vectors=
    headers=$(printf '%s\n' "$headers" | grep -v '/\(amx\|bf16\)[^/]*\.h$')
fi
# A header of macros alone is an empty translation unit without this declaration.
declaration=$(mktemp)
trap 'rm -f "$declaration"' EXIT
echo 'extern int not_empty;' >"$declaration"
# shellcheck disable=SC2086 # lists of words
"$compiler" "$standard" -fsyntax-only -Wall -Wextra $pedantic -Wno-psabi -Werror \
    -D_GNU_SOURCE -DROTARY_VARIANT=scalar -include "$declaration" $vectors -Iinclude -Isrc -I"$generated" -x "$language" $headers
