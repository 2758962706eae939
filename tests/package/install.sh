#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh BUILD COMPILER_C COMPILER_CXX: installs the build into a scratch folder, moves that folder, and builds and
# runs programs with it: with find_package and with pkg-config, in C and in C++, shared and static.
set -eu
export CMAKE_GENERATOR=Ninja
build=$1 cc=$2 cxx=$3
consumer=$(cd "$(dirname "$0")/consumer" && pwd)
for tool in "$cxx" pkg-config readelf; do
    command -v "$tool" >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "$*"
    exit 1
}

# No installed file may depend on the folder it was installed to.
cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix
if grep -rlF -e "$scratch/first" -e "$build" --include='*.cmake' --include='*.pc' --include='*.h' "$prefix"; then
    fail "these files name the build folder, or the folder they were installed to"
fi
files="rotary.h version.h librotary.a librotary.so rotary.pc rotary-config.cmake"
[ ! -e "$build/rotary" ] || files="$files rotary.1 rotary"
for file in $files; do
    find "$prefix" -name "$file" ! -type d | grep -q . || fail "$file is not installed"
done
shared=$(find "$prefix" -name librotary.so)
name=$(readelf -d "$shared" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ -e "$(dirname "$shared")/$name" ] || fail "the file of the soname, $name, is missing"
case $name in librotary.so.[0-9]*) ;; *) fail "the soname is \"$name\"" ;; esac
needed=$(readelf -d "$shared" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -Ev '^(lib(c|m|pthread)\.so|ld-linux)' || true)
[ -z "$needed" ] || fail "librotary needs more than libm and POSIX threads: $needed"

cmake -S "$consumer" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "find_package does not find it"; }
cmake --build "$scratch/cmake" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "building with find_package"; }
for program in c_shared c_static cpp_shared cpp_static; do
    "$scratch/cmake/$program" || fail "$program, built with find_package, fails"
done
cmake -S "$consumer" -B "$scratch/cpp_alone" -DLANGUAGES=CXX -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
    >"$scratch/log" 2>&1 && cmake --build "$scratch/cpp_alone" >>"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; fail "find_package in a project of C++ alone"; }
"$scratch/cpp_alone/cpp_static" || fail "cpp_static of a project of C++ alone fails"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name rotary.pc)")
export PKG_CONFIG_PATH
pkg-config --exists rotary || fail "pkg-config does not find it"
# shellcheck disable=SC2046 # flags are words
{
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror "$consumer/consumer.c" -o "$scratch/c" \
        $(pkg-config --cflags --libs rotary)
    "$cxx" -std=c++11 -Wall -Wextra -Wpedantic -Werror "$consumer/consumer.cpp" -o "$scratch/cpp" \
        $(pkg-config --cflags --libs rotary)
    # A folder with the static library alone, which the linker finds first.
    mkdir "$scratch/static"
    cp "$(dirname "$shared")/librotary.a" "$scratch/static"
    "$cc" -std=c11 "$consumer/consumer.c" -o "$scratch/c_static" $(pkg-config --cflags rotary) -L"$scratch/static" \
        $(pkg-config --static --libs rotary)
    ! readelf -d "$scratch/c_static" | grep -q librotary || fail "c_static links the shared library"
}
LD_LIBRARY_PATH=$(dirname "$shared")
export LD_LIBRARY_PATH
for program in c cpp c_static; do
    "$scratch/$program" || fail "$program, built with pkg-config, fails"
done
if [ -e "$prefix/bin/rotary" ]; then
    "$prefix/bin/rotary" --version
fi

cmake -S "$(dirname "$0")/../../examples" -B "$scratch/examples" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" >"$scratch/log" 2>&1 && cmake --build "$scratch/examples" >>"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; fail "building the examples by themselves"; }
"$scratch/examples/example_engine"
