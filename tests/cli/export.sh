# SPDX-License-Identifier: Apache-2.0
# rotary export: what it writes, what its options change, what it refuses.
. "$(dirname "$0")/support.sh"

llama="--set norm=rms_norm --set hidden_act=swiglu --set bias=false --precision f32"
# A run whose rate rises until it diverges, so that its best model is not the last.
# shellcheck disable=SC2086 # lists of words
{
    does 0 train index $tiny $llama --steps 9 --set evaluate_every=1 --set learning_rate=1 --set warmup_steps=9 --out run
    does 0 train index $tiny $llama --steps 1 --position roper --out roper
    does 0 train index $tiny $llama --steps 1 --set norm=layer_norm --out norm
}
cp -r run kept

# ---- folders ----

does 0 export run --format huggingface --out folder --json
has model_type '"llama"'
has format '"huggingface"'
has dtype '"f32"'
has output '"folder"'
has tensors 12
[ "$(ls folder | tr '\n' ' ')" = "config.json generation_config.json model.safetensors tokenizer.json tokenizer_config.json " ] ||
    complain "the folder has $(ls folder | tr '\n' ' ')"
cp folder/config.json out
has architectures.0 '"LlamaForCausalLM"'
has hidden_size 16
has num_key_value_heads 2
has rope_parameters.rope_type '"default"'
does 0 export run/ --format huggingface --out same
says "same: a model of type llama, 12 tensors of "
[ "$(fingerprint folder)" = "$(fingerprint same)" ] || complain "two exports of a run are not the same"
does 0 export run --format huggingface --out best --checkpoint best
cmp -s folder/model.safetensors best/model.safetensors && complain "--checkpoint best is the last"
does 0 export run --format huggingface --out half --dtype bf16
does 0 export run --format huggingface --out f16-run --dtype f16
[ "$(wc -c <half/model.safetensors)" -lt "$(wc -c <folder/model.safetensors)" ] || complain "--dtype bf16 is not smaller"
cmp -s half/model.safetensors f16-run/model.safetensors && complain "--dtype f16 is bf16"
mkdir empty
does 0 export run --format huggingface --out empty
[ "$(fingerprint folder)" = "$(fingerprint empty)" ] || complain "an empty folder is not taken"
refuses 1 "folder is there already: wanted a name for a folder that is not" export run --format huggingface --out folder
does 0 export run --format huggingface --out with/its/parents/
[ "$(fingerprint folder)" = "$(fingerprint with/its/parents)" ] || complain "another path is another model"
[ "$(find . -name '*.next')" = "" ] || complain "there is a folder that is not complete"

# An exported folder is a Hugging Face decoder, which is exported again without a change.
does 0 export folder --format huggingface --out second
[ "$(fingerprint folder)" = "$(fingerprint second)" ] || complain "a folder that is exported again is another"

# Layers with a window have a rotation of their own, where earlier versions of transformers look for it too.
gemma="--set norm_position=both --set scale_embedding=true --set query_key_norm=head --set sliding_window=5 --set rope_theta=90000"
# shellcheck disable=SC2086
does 0 train index $tiny $llama --set num_hidden_layers=2 $gemma --set hidden_act=geglu_tanh --set rope_local_base_freq=500 \
    --set 'layer_types=["full_attention","sliding_attention"]' --set 'rope_scaling={"rope_type":"linear","factor":8}' --steps 1 --out gemma
does 0 export gemma --format huggingface --out gemma-hf --json
has model_type '"gemma3_text"'
cp gemma-hf/config.json out
has rope_parameters.full_attention.factor 8.0
has rope_parameters.full_attention.rope_theta 90000.0
has rope_parameters.sliding_attention.rope_type '"default"'
has rope_parameters.sliding_attention.rope_theta 500.0
has rope_theta 90000.0
has rope_local_base_freq 500.0
has rope_scaling.factor 8.0
does 0 export gemma-hf --format huggingface --out gemma-again
[ "$(fingerprint gemma-hf)" = "$(fingerprint gemma-again)" ] || complain "a Gemma 3 that is exported again is another"
refuses 1 "gemma: a model of type gemma3_text is not exported to llama.cpp" export gemma --format gguf --out x

# And it generates what the run does.
does 0 generate run --prompt "?s='" --max-new-tokens 8 --json
generated=$("$json_get" generated <out)
does 0 generate folder --prompt "?s='" --max-new-tokens 8 --json
has generated "$generated"

# ---- how fast a folder's model generates ----

# A token reads every matrix once, of f32 in a run and as they are in a folder, and embeddings only where they are the output's too.
# shellcheck disable=SC2086
does 0 train index $tiny $llama --steps 1 --set tie_word_embeddings=true --out tied
does 0 export tied --format huggingface --out f16-tied --dtype f16
for name in run tied; do
    does 0 bench generate $name --batch-size 2 --prompt-tokens 8 --max-new-tokens 5 --profile --json
    has folder "\"$name\""
    has task '"index"'
    has mapped_weights false
    has prompt_tokens 8
    # Of the tokens that are generated, and of no prompt.
    has profile.0.calls 5
    bytes=$("$json_get" weight_bytes <out)
    does 0 bench generate f16-$name --batch-size 1 --prompt-tokens 8 --max-new-tokens 5 --json
    has task null
    has mapped_weights true
    has weight_bytes "$(awk -v bytes="$bytes" 'BEGIN { printf "%.1f", bytes / 2 }')"
done
does 0 bench generate f16-run --batch-size 1 --prompt-tokens 8 --max-new-tokens 5
says "f16-run, rope, "
says " parameters in mapped files, 1 prompts"
for option in --task=index --position=rope --preset=quick --set=hidden_size=8; do
    refuses 2 "${option%%=*} with a folder" bench generate run "${option%%=*}" "${option#*=}"
done
refuses 1 "at least one for each prompt" bench generate run --batch-size 100000 --max-new-tokens 5
refuses 1 "positions" bench generate run --max-new-tokens 64
refuses 1 "absent" bench generate absent

# ---- files ----

does 0 export run --format gguf --out model.gguf
says "model.gguf: a model of type llama"
grep -q "tokenizer.ggml.token_type" model.gguf || complain "model.gguf has no tokens"
[ "$(head -c 4 model.gguf)" = GGUF ] || complain "model.gguf is no file of GGUF"
does 0 export run --format gguf --out again.gguf
cmp model.gguf again.gguf || complain "two files of a run are not the same"
does 0 export folder --format gguf --out folder.gguf
[ "$(tail -c 4096 folder.gguf | cksum)" = "$(tail -c 4096 again.gguf | cksum)" ] || complain "a folder has other weights in GGUF"
[ ! -s err ] && ! grep -q no_vocab folder.gguf again.gguf || complain "a file of GGUF has no tokenizer: $(cat err)"
# A tokenizer that llama.cpp has not is said, in the file too.
cp -r folder lower
sed -i 's/"normalizer": *null/"normalizer": {"type": "Lowercase"}/' lower/tokenizer.json
does 0 export lower --format gguf --out lower.gguf --json
has no_vocab '"its normalizer (Lowercase) changes text, which llama.cpp does not do for BPE"'
grep -q "^rotary: lower.gguf has no tokenizer .* its normalizer (Lowercase) changes text" err || complain "no reason on stderr"
grep -q no_vocab lower.gguf || complain "lower.gguf has a tokenizer"
does 0 export run --format gguf --out model.gguf --dtype f16
cmp -s model.gguf again.gguf && complain "--dtype f16 changes nothing"

# ---- what is refused ----

refuses 2 "export wants --format huggingface or gguf, and --out PATH" export run --out x
refuses 2 "export wants --format huggingface or gguf, and --out PATH" export run --format gguf
refuses 2 '--format is "onnx", wanted huggingface or gguf' export run --format onnx --out x
refuses 2 "would replace" export run --format gguf --out run/model.safetensors
refuses 1 'roper: position is "roper", which no model of Hugging Face has' export roper --format huggingface --out x
refuses 1 'roper: position is "roper", which no model of llama.cpp has' export roper --format gguf --out x
refuses 1 'norm: norm is "layer_norm", which no model of Hugging Face has: wanted "rms_norm"' export norm --format huggingface --out x
refuses 1 "absent" export absent --format gguf --out x
refuses 1 "absent/x" export run --format gguf --out absent/x
escape=$(printf '\033[1m')
does 0 export run --format gguf --out "o$escape.gguf"
grep -qF "$escape" "$scratch/out" "$scratch/err" && complain "an export prints control characters of a name"
[ ! -e x ] || complain "a refused export left something"
[ "$(fingerprint run)" = "$(fingerprint kept)" ] || complain "an export changed its run"
finish
