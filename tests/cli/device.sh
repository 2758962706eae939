# SPDX-License-Identifier: Apache-2.0
# --device: what computes, what it says where there is no such device, and a run that changes it. With the emulated device
# (cmake -DROTARY_CUDA=EMULATED) a model is trained on it.
. "$(dirname "$0")/support.sh"

for command in train compare evaluate generate translate fill classify "bench train" "bench generate" "bench attention" info; do
    # shellcheck disable=SC2086 # words
    does 0 help $command && says "--device NAME"
done
for command in attend apply permute frequencies data "tokenize encode" "bench rope" heatmap; do
    # shellcheck disable=SC2086
    refuses 2 "there is no option --device here, but rotary compare has it" $command --device cuda
done
refuses 2 '--device is "gpu", wanted cpu, cuda or auto' info --device gpu

small="$(echo "$tiny" | tr '\n' ' ') --precision f32 --set log_every=1 --set evaluate_every=0 --threads 1"
# The cpu is the default, and what auto takes where there is no device.
# shellcheck disable=SC2086
does 0 train index $small --steps 2 --out default --json
# shellcheck disable=SC2086
does 0 train index $small --steps 2 --out cpu --device cpu --json
cmp default/model.safetensors cpu/model.safetensors || complain "--device cpu is not the default"

does 0 info
says "CUDA device"
if grep -q 'CUDA device *none' "$scratch/out"; then
    # shellcheck disable=SC2086
    refuses 1 "use --device cpu" train index $small --steps 2 --out cuda --device cuda
    refuses 1 "use --device cpu" bench attention --device cuda
    [ ! -e cuda ] || complain "a run that is refused has a folder"
    # shellcheck disable=SC2086
    does 0 train index $small --steps 2 --out auto --device auto --json
    cmp default/model.safetensors auto/model.safetensors || complain "without a device, auto is not the cpu"
    finish
fi

export ROTARY_CUDA_EMULATED_ORDERS=1
does 0 info --device cuda --json
has backend '"cuda"'
# shellcheck disable=SC2086
does 0 train index $small --steps 3 --out first --device cuda --json
# shellcheck disable=SC2086
does 0 train index $small --steps 3 --out second --device cuda --json
cmp first/model.safetensors second/model.safetensors || complain "two runs on the device have other bits"
grep -q '"device"' first/config.json || complain "a run on the device does not say so"
# shellcheck disable=SC2086
does 0 train index --resume --steps 4 --out first --device cpu --json
grep -q "the run began on the device cuda and goes on with cpu" "$scratch/err" || complain "nothing is said of another device"
does 0 train index --resume --steps 3 --out default --device cuda --json
grep -q "the run began on the device cpu and goes on with cuda" "$scratch/err" || complain "nothing is said of another device"
does 0 evaluate second --device cuda --json
does 0 bench attention --device cuda --shape 1,2,24,32 --encodings roper --seconds 0 --json
has backend '"cuda"'
# shellcheck disable=SC2086
does 0 bench train --task index $small --steps 1 --device cuda
says ", f32 on cuda, 1 threads"
finish
