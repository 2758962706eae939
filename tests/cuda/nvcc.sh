#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvcc.sh ROOT [LAUNCHER]: where nvcc is installed, it builds every kernel for sm_80, sm_90 and as PTX for later devices,
# without a warning; no kernel spills registers, none uses more than its bound, and the host's part reads CUDA's own
# headers. Prints what each kernel uses, the largest first. By the launcher (ccache) a kernel that did not change is not
# built again; what ptxas said of it is kept too.
set -eu
root=$1 launcher=${2:-}
nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
[ -x "$nvcc" ] || { echo "skipped: there is no nvcc"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$root"
status=0

# Registers of a thread: 65,536 of a multiprocessor leave four blocks of 256 threads with 64, and two of 128 with 255.
bound=64 attention_bound=255

for file in src/cuda/*.cu src/cuda/attention/*.cu; do
    name=$(basename "$file" .cu)
    ${launcher:+"$launcher"} "$nvcc" -std=c++17 -O3 -fmad=false -Werror=all-warnings -Xptxas -v -Xcompiler -Wall,-Wextra \
        -gencode arch=compute_80,code=sm_80 -gencode 'arch=compute_90,code=[sm_90,compute_90]' \
        -D_GNU_SOURCE -Isrc -Iinclude -c "$file" -o "$scratch/$name.o" 2>"$scratch/$name.log" || {
        echo "nvcc refuses $file:"
        grep -v '^ptxas info' "$scratch/$name.log" || true
        status=1
    }
    awk -v file="$name" '
    /Compiling entry function/ {
        kernel = $0
        sub(/^[^\047]*\047/, "", kernel)
        sub(/\047.*/, "", kernel)
        arch = $0
        sub(/.*for \047/, "", arch)
        sub(/\047.*/, "", arch)
    }
    /spill stores/ {
        for (i = 2; i <= NF; i++)
            if ($i == "spill") spilled += $(i - 2)
    }
    /Used [0-9]+ registers/ {
        for (i = 1; i < NF; i++)
            if ($i == "Used") registers = $(i + 1)
        print registers, spilled + 0, arch, file, kernel
        spilled = 0
    }' "$scratch/$name.log" >>"$scratch/kernels"
done
[ -s "$scratch/kernels" ] || { echo "nvcc lists no kernel"; exit 1; }
echo "registers, bytes spilled, device, file, kernel:"
sort -rn "$scratch/kernels" | { c++filt -p 2>/dev/null || cat; }
awk -v bound=$bound -v attention=$attention_bound '
{
    most = $4 ~ /^attention/ ? attention : bound
    if ($1 > most || $2 > 0) {
        print "too many: " $0 "; wanted at most " most " registers and nothing spilled"
        failed = 1
    }
}
END { exit failed }' "$scratch/kernels" || status=1

# The host's part in C, by the headers that come with nvcc.
include=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include
for file in $(grep -l '<cu\|cuda/cuda\.h\|cuda/products\.h\|cuda/steps\.h\|cuda/staged\.h' src/cuda/*.c src/cuda/attention/*.c); do
    cc -std=c11 -fsyntax-only -Wall -Wextra -Werror -D_GNU_SOURCE -isystem "$include" -Isrc -Iinclude "$file" || status=1
done
exit $status
