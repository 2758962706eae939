#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# parity.sh ROTARY: examples/pytorch_parity.py repeats runs of small models, all encodings and what else its model
# has; 77 where there is no PyTorch. PYTHON is a Python that has it.
set -u
script=$(cd "$(dirname "$0")/../.." && pwd)/examples/pytorch_parity.py
for python in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] && "$python" -c 'import numpy, torch' 2>/dev/null && break
    python=
done
[ -n "$python" ] || { echo "skipped: there is no Python with PyTorch and NumPy"; exit 77; }
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive PYTHONDONTWRITEBYTECODE=1
rotary=$1 failures=0

# repeats TASK KEY=VALUE...: the losses agree, in twenty steps.
repeats() {
    task=$1
    shift
    settings=
    for setting in hidden_size=32 num_attention_heads=4 num_hidden_layers=2 sequence_length=96 batch_size=4 warmup_steps=5 \
        validation_sequences=1 "$@"; do
        settings="$settings --set $setting"
    done
    # shellcheck disable=SC2086 # a list of words
    "$python" "$script" "$rotary" "$task" $settings >losses || { cat losses; failures=1; return; }
    tail -n 1 losses
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
rotary=$(realpath "$rotary")
cd "$scratch" || exit 1
repeats prefix position=roper norm_position=post norm=rms_norm hidden_act=swiglu num_key_value_heads=2 \
    tie_word_embeddings=true optimizer=adamw weight_decay=0.3 schedule=noam learning_rate=0.05 value_fraction=0.5
repeats index position=rope gradient_accumulation_steps=3 schedule=cosine minimum_learning_rate=1e-4 label_smoothing=0.1 \
    weight_decay=0.1 partial_rotary_factor=0.5
# The comparison can fail.
"$python" "$script" "$rotary" index --steps 2 --set hidden_size=16 --set num_attention_heads=2 --set sequence_length=64 \
    --set batch_size=2 --set validation_sequences=1 --set problems=1 --bound 1e-12 >losses && { cat losses; failures=1; }
repeats addition sequence_length=384 position=learned hidden_act=gelu norm_position=both schedule=linear scale_embedding=true
repeats index position=sinusoidal norm_position=output bias=false
repeats index position=none initialisation=normal max_grad_norm=0.1
exit $failures
