#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# alone.sh ROOT COMPILER: with ROTARY_TRAINER=OFF the library is built without the program, and needs neither oneDNN
# nor jansson nor libunistring.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# In plain C, as on a processor without other kernels, and a build type that has no flags, which takes a tenth of the time.
# ./check arm builds the library alone with warnings as errors.
cmake -S "$1" -B "$scratch/build" -G Ninja -DCMAKE_C_COMPILER="$2" -DCMAKE_BUILD_TYPE=Plain -DROTARY_TRAINER=OFF -DROTARY_PLAIN_C=ON \
    >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
if grep -i -e jansson -e dnnl -e unistring "$scratch/build/build.ninja" ||
    grep -e ROTARY_JANSSON -e ROTARY_DNNL "$scratch/build/CMakeCache.txt"; then
    echo "the library alone needs these"
    exit 1
fi
cmake --build "$scratch/build" -j2 --target rotary_shared rotary_static >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cmake --install "$scratch/build" --prefix "$scratch/prefix" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
[ ! -e "$scratch/prefix/bin" ] || { echo "a program was installed"; exit 1; }
sh "$1/tests/rules/symbols.sh" "$scratch/build/librotary.so" "$1/tests/rules/symbols.txt"
