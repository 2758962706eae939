#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mutants.sh [-n COUNT] [WORD]: makes each mistake of tests/mutants/list.txt whose name has WORD in it (COUNT of them, if
# -n is given) in a copy of the tree, and requires that one of its tests fails. Prints a table; exits 1 if a mistake goes
# unnoticed. The copy and its build stay in build/mutants, so that another run builds only what differs. Where there is no
# AMX but AVX512_BF16, the copy's tiles are software; a mistake in NEON is built and run as cmake/arm.cmake does.
set -eu
cd "$(dirname "$0")/.."
most=1000
if [ "${1-}" = -n ]; then
    most=$2
    shift 2
fi
word=${1-}
root=$(pwd)
work=${MUTANTS_FOLDER:-$root/build/mutants}
tree=$work/tree build=$work/build
list=$root/tests/mutants/list.txt
mkdir -p "$tree"

# The copy becomes as the tree is, files that did not change keep their times.
refresh() {
    find CMakeLists.txt cmake include src bench presets tests examples docs/man scripts -type f | LC_ALL=C sort >"$work/files"
    while read -r file; do
        cmp -s "$file" "$tree/$file" || { mkdir -p "$tree/$(dirname "$file")" && cp "$file" "$tree/$file"; }
    done <"$work/files"
    (cd "$tree" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) | comm -13 "$work/files" - |
        while read -r file; do rm "$tree/$file"; done
}

# Number `index` of the list, by field: name, file, tests.
field() {
    awk -v index_="$1" -v key="$2: " '/^mutant: /{ count++ } count == index_ && index($0, key) == 1 { print substr($0, length(key) + 1) }' "$list"
}

# The file of mutant number $1 with its lines replaced, to stdout.
mutated() {
    awk -v index_="$1" '
    function trim(text) { sub(/^[ \t]+/, "", text); return text }
    FNR == 1 { file++ }
    file == 1 {
        if (/^mutant: /) count++
        if (count == index_ && /^- /) from[++lines] = trim(substr($0, 3))
        if (count == index_ && /^\+ /) to[lines] = trim(substr($0, 3))
        next
    }
    {
        for (i = 1; i <= lines; i++)
            if (trim($0) == from[i]) { print to[i]; done++; next }
        print
    }
    END { exit done != lines || lines == 0 }' "$list" "$root/$(field "$1" file)"
}

# Says what came of the mutant whose change is in the tree, by the tests $1 of the build $2.
verdict() {
    targets=
    for test in $1; do
        case $test in cli_*) targets="$targets rotary json_get" ;; *) targets="$targets test_$test" ;; esac
    done
    # shellcheck disable=SC2086 # a list of words
    cmake --build "$2" -j "${JOBS:-2}" --target $targets >"$work/log" 2>&1 || { echo "does not build"; return; }
    for test in $1; do
        ctest --test-dir "$2" --no-tests=error -R "^$test\$" >"$work/log" 2>&1 || { echo "caught by $test"; return; }
    done
    echo SURVIVED
}

refresh
emulate=OFF
if ! grep -qw amx_tile /proc/cpuinfo 2>/dev/null && grep -qw avx512_bf16 /proc/cpuinfo 2>/dev/null; then
    emulate=ON
fi
cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Dev -DROTARY_EMULATE_TILES=$emulate >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
total=$(grep -c '^mutant: ' "$list")
index=0 tried=0 bad=0
while [ $index -lt "$total" ] && [ $tried -lt "$most" ]; do
    index=$((index + 1))
    name=$(field $index mutant) file=$(field $index file) tests=$(field $index tests)
    case $name in *"$word"*) ;; *) continue ;; esac
    case $name in *AMX*)
        grep -qw 'amx_tile\|avx512_bf16' /proc/cpuinfo 2>/dev/null ||
            { printf '%-66s %s\n' "$name" "not tried: neither AMX nor AVX512_BF16 here" && continue; }
        ;;
    esac
    folder=$build
    case $name in *NEON*)
        folder=$build-arm
        { command -v qemu-aarch64 || command -v qemu-aarch64-static; } >"$work/log" && cmake -S "$tree" -B "$folder" -G Ninja \
            -DCMAKE_TOOLCHAIN_FILE="$tree/cmake/arm.cmake" -DCMAKE_BUILD_TYPE=Dev -DROTARY_TRAINER=OFF >"$work/log" 2>&1 ||
            { printf '%-66s %s\n' "$name" "not tried: nothing here builds and runs it" && continue; }
        ;;
    esac
    tried=$((tried + 1))
    if mutated $index >"$work/mutated"; then
        cp "$work/mutated" "$tree/$file"
        said=$(verdict "$tests" "$folder")
        cp "$root/$file" "$tree/$file"
    else
        said="is not to be found in $file"
    fi
    case $said in caught*) ;; *) bad=$((bad + 1)) ;; esac
    printf '%-66s %s\n' "$name" "$said"
done
[ $tried -gt 0 ] || { echo "no mutant is called like \"$word\""; exit 1; }
printf '%d mutants, %d caught\n' $tried $((tried - bad))
[ $bad = 0 ]
