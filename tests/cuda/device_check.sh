#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# device_check.sh ROOT BUILD: scripts/device-check packs the program and the tests of a build, and the folder is rehearsed
# from end to end. With the emulated device (cmake --preset cuda-emulated) every stage finishes; without one those that need
# a device fail, which is recorded, and the next ones run.
set -eu
root=$1 build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

complain() {
    echo "$*"
    failed=1
}

# What is too big is refused.
if MAX_PACK_KIB=1000 "$root/scripts/device-check" --pack "$scratch/big" --build "$build" >/dev/null 2>"$scratch/said"; then
    complain "a folder of any size is packed"
fi
grep -q 'KiB, wanted at most 1000$' "$scratch/said" || complain "nothing is said of the size: $(cat "$scratch/said")"

# This build may have oneDNN, which the program for a device is built without.
pack=$scratch/pack
MAX_PACK_KIB=1000000 "$root/scripts/device-check" --pack "$pack" --build "$build" >/dev/null
onednn=$(find "$pack/lib" -name 'libdnnl*' -exec du -k {} + | awk '{ sum += $1 } END { print sum + 0 }')
size=$(($(du -sk "$pack" | cut -f 1) - onednn))
[ $size -le 61440 ] || complain "the folder has $size KiB beside oneDNN's $onednn, wanted at most 61440"
for file in device-check bin/rotary bin/tests_cuda bin/tests_cuda_attention bin/test_ptx bench/torch_step.py bench/torch_flash.py \
    bench/torch_timing.py presets/prefix/paper.json presets/addition/paper.json presets/index/paper.json; do
    [ -s "$pack/$file" ] || complain "the folder has no $file"
done
[ -n "$(find "$pack/lib" -name 'libjansson.so*')" ] || complain "the folder has no library: $(ls "$pack/lib")"
others=$(find "$pack/lib" -name 'libc.so*' -o -name 'libm.so*' -o -name 'libcu*')
[ -z "$others" ] || complain "these are the other machine's own: $others"

out=$scratch/out status=0
ROTARY_CUDA_EMULATED_ORDERS=1 "$pack/device-check" --rehearse --out "$out" >/dev/null 2>&1 || status=$?
cat "$out/summary.txt"
[ "$(find "$out" -type f | wc -l)" -le 8 ] || complain "too many files: $(ls "$out")"
[ -z "$(find "$out" -type f -size +15M)" ] || complain "these are too large: $(find "$out" -size +15M)"
device=$("$pack/bin/rotary" info | sed -n 's/^CUDA device *//p')
for line in 'test_ptx: ' 'tests_cuda test_mean_rows: ' 'tests_cuda_attention test_attention_shift: '; do
    wanted="${line}passed"
    case $device in "none: no CUDA"*) wanted=$(echo "$line" | sed 's/ test_.*: /: /')skipped ;; esac # tests of the real device
    grep -q "^$wanted" "$out/tests.txt" || complain "not in tests.txt: $wanted: $(cat "$out/tests.txt")"
done
grep -q '^tests: finished' "$out/summary.txt" || complain "the tests did not finish"
grep -q '^all: [0-9]* s of 570$' "$out/summary.txt" || complain "nothing says how long it took"

if [ "${device#none}" != "$device" ]; then
    [ $status = 1 ] || complain "exit status $status where stages failed, wanted 1"
    for stage in device attention steps training; do
        grep -q "^$stage: failed" "$out/summary.txt" || complain "$stage does not fail without a device"
    done
    grep -q '"what": "attention 1,2,64,32", "status": 1' "$out/benchmarks.jsonl" || complain "a failure is not recorded"
    exit $failed
fi

[ $status = 0 ] || complain "exit status $status: $(tail -n 20 "$out/log.txt")"
for stage in device tests sanitizer attention steps training; do
    grep -q "^$stage: finished" "$out/summary.txt" || complain "$stage did not finish"
done
for task in prefix addition index; do
    grep -q "^  $task/paper: 1 seeds" "$out/summary.txt" || complain "no seed of $task"
    (cd "$scratch" && "$pack/bin/rotary" report "$out/$task.tar.gz" --json --out page.html) >"$scratch/json" ||
        complain "the archive of $task cannot be read"
    grep -q '"roper"' "$scratch/json" || complain "the archive of $task has no run of RoPER"
done
for what in 'attention 1,2,64,32' 'step of prefix/paper' 'step of addition/paper'; do
    grep -q "\"what\": \"$what\", \"result\": {" "$out/benchmarks.jsonl" || complain "no benchmark: $what"
done
grep -q 'RoPER / RoPE, forward: [0-9]' "$out/summary.txt" || complain "no ratio of RoPER to RoPE"
grep -q 'prefix/paper: RoPE [0-9.]* s, RoPER [0-9.]* s; a matmul alone [0-9]' "$out/summary.txt" || complain "no time of a step"
exit $failed
