# SPDX-License-Identifier: Apache-2.0
# rotary train language --init: training that goes on from a Hugging Face decoder or from a run; what its folder is used for
# afterwards, what may be set beside it, and what is refused.
decoders=$(realpath "$(dirname "$0")/../huggingface/decoders")
. "$(dirname "$0")/support.sh"

# letter_lines NAME COUNT: lines of the letters a to p, mostly one that follows the last by a rule.
letter_lines() {
    awk -v n="$2" 'BEGIN {
        for (x = n; n > 0; n--) {
            for (i = 4 + n % 23; i > 0; i--) { x = (x * 1103 + 12345) % 65536; c = x % 7 ? (c * 5 + 3) % 16 : int(x / 64) % 16; printf "%c", 97 + c }
            print ""
        }
    }' >"$1"
}
mkdir text
letter_lines text/train.txt 60
letter_lines text/valid.txt 12
head -n 3 text/valid.txt | tail -n 1 | tr -d '\n' >line
letters=$(wc -c <line)

# decoder NAME PROCESSOR: a copy of the folder, with a tokenizer of 16 letters and a token before and behind a document.
template='{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
 "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [16], "tokens": ["<s>"]}}}'
decoder() {
    cp -r "$decoders/$1" "$1"
    vocabulary=$(awk 'BEGIN { for (i = 0; i < 16; i++) printf "\"%c\": %d, ", 97 + i, i }')
    added='"single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true'
    cat >"$1/tokenizer.json" <<JSON
{"version": "1.0", "normalizer": null, "post_processor": $2, "added_tokens": [{"id": 16, "content": "<s>", $added}, {"id": 17, "content": "</s>", $added}],
 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
 "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
 "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
  "fuse_unk": false, "byte_fallback": false, "vocab": {$vocabulary "<s>": 16, "</s>": 17}, "merges": []}}
JSON
    echo '{"bos_token": "<s>", "eos_token": "</s>"}' >"$1/tokenizer_config.json"
}
decoder llama-3 "$template"
decoder gemma2-raw "$template"
decoder gemma3-raw "$template"
decoder phi3-short-raw "$template"
decoder gpt-neox null
data="--set language_data=text --set language_boundary=line --set language_cache=tokens --set sequence_length=16"
# A step reads all of the text once.
does 0 data language --set language_data=text --set language_boundary=line --set sequence_length=16 --rows 1 --json
steps="--set batch_tokens=0 --set batch_size=$("$json_get" splits.training.sequences <out) --set schedule=constant --set minimum_learning_rate=0 --set warmup_steps=0 --set learning_rate=0.01
 --set log_every=1 --set checkpoint_every=5 --set evaluate_every=0 --precision f32 --threads 1"

# close A B BOUND: two numbers differ by at most BOUND.
close() {
    awk -v a="$1" -v b="$2" -v bound="$3" 'BEGIN { exit !(a - b <= bound && b - a <= bound) }'
}

# shellcheck disable=SC2086
for folder in llama-3 gemma2-raw gemma3-raw gpt-neox; do
    # The first run has the folder's weights and tokenizer: a text has the same probability, and so have the documents.
    begins=1
    [ $folder != gpt-neox ] || begins=0
    does 0 train language --init $folder $data $steps --steps 0 --out first-$folder
    does 0 evaluate $folder --text line --context 12 --precision f32 --json
    has tokens $((letters + begins))
    nats=$("$json_get" nats_per_token <out)
    does 0 evaluate first-$folder --text line --context 12 --json
    has tokens $((letters + begins))
    close "$("$json_get" nats_per_token <out)" "$nats" 1e-6 || complain "first-$folder: wanted the $nats nats per token of $folder"
    # The first token that is read is that before a text, or else that behind another.
    does 0 data language --run first-$folder --rows 1 --json
    has tokens.0.0 $((17 - begins))
    does 0 evaluate $folder $data --set language_validation=train.txt --precision f32 --json
    loss=$("$json_get" evaluation.loss <out)

    # Training begins at that loss, and reduces it; a run that was stopped ends with the same bits, without the folder.
    does 0 train language --init $folder $data $steps --steps 10 --out whole-$folder
    begun=$(sed -n '1s/.*"loss":\([0-9.]*\).*/\1/p' whole-$folder/metrics.jsonl)
    close "$begun" "$loss" 1e-5 || complain "$folder: the first loss is $begun, wanted $loss"
    ended=$(sed -n '10s/.*"loss":\([0-9.]*\).*/\1/p' whole-$folder/metrics.jsonl)
    awk -v a="$ended" -v b="$begun" 'BEGIN { exit !(a < b - 0.1) }' || complain "$folder: after ten steps the loss is $ended, and was $begun"
    does 0 train language --init $folder $data $steps --steps 5 --out part-$folder
    mv $folder elsewhere
    does 0 train language --resume --steps 10 --out part-$folder
    for file in model optimizer; do
        cmp -s part-$folder/$file.safetensors whole-$folder/$file.safetensors || complain "$folder: a resumed run has another $file"
    done
    mv elsewhere $folder

    # What was trained is written for transformers, and is a folder to begin with again.
    does 0 export whole-$folder --format huggingface --out out-$folder
    does 0 evaluate whole-$folder --text line --context 12 --json
    nats=$("$json_get" nats_per_token <out)
    does 0 generate whole-$folder --prompt abc --max-new-tokens 5 --json
    generated=$("$json_get" generated <out)
    does 0 evaluate out-$folder --text line --context 12 --precision f32 --json
    has tokens $((letters + begins))
    close "$("$json_get" nats_per_token <out)" "$nats" 1e-5 || complain "out-$folder: wanted $nats nats per token"
    does 0 generate out-$folder --prompt abc --max-new-tokens 5 --precision f32 --json
    has generated "$generated"

    # What the heads look at.
    does 0 heatmap $folder --text abcabc --output maps-$folder
    layers=$(sed -n 's/.*"num_hidden_layers": \([0-9]*\).*/\1/p' $folder/config.json)
    heads=$(sed -n 's/.*"num_attention_heads": \([0-9]*\).*/\1/p' $folder/config.json)
    grep -aq "'shape': ($layers, $heads, $((6 + begins)), $((6 + begins)))" maps-$folder/rope-text1-decoder.npy ||
        complain "heatmap $folder: the array has another shape"
done

# shellcheck disable=SC2086
{
    # RoPER has no parameters of its own: it goes on from a model that was trained without, at a higher loss.
    does 0 train language --init out-llama-3 $data $steps --steps 0 --out rope --json
    does 0 evaluate rope --json
    loss=$("$json_get" evaluation.loss <out)
    for begin in out-llama-3 whole-llama-3; do
        does 0 train language --init $begin --position roper $data $steps --steps 0 --out roper-$begin
        does 0 evaluate roper-$begin --json
        awk -v a="$("$json_get" evaluation.loss <out)" -v b="$loss" 'BEGIN { exit !(a > b + 0.01) }' ||
            complain "$begin: RoPER begins with another loss than one above $loss"
    done
    roper=$("$json_get" evaluation.loss <out)
    # A comparison whose arms all begin so, with the model of that run.
    does 0 compare language --set init=whole-llama-3 --positions rope,roper --runs 1 $data $steps --steps 2 --out switched
    for position in rope roper; do
        cmp -s "whole-llama-3/model.safetensors" "switched/$position-1/model.safetensors" && complain "compare: $position was not trained"
        for key in hidden_size num_hidden_layers num_key_value_heads; do
            [ "$(grep "\"$key\"" whole-llama-3/config.json)" = "$(grep "\"$key\"" "switched/$position-1/config.json")" ] ||
                complain "compare: $key of $position is not that of the run it begins with"
        done
    done
    does 0 evaluate roper-out-llama-3 --json
    close "$("$json_get" evaluation.loss <out)" "$roper" 1e-5 || complain "a run and its export begin with other losses"
    does 0 train language --init whole-llama-3 --position roper $data $steps --steps 3 --out roper
    refuses 1 'position is "roper", which no model of Hugging Face has' export roper --format huggingface --out none

    # Longer sequences with another scaling of the rotation: positions are as many, those of the folder at least.
    yarn='rope_scaling={"rope_type":"yarn","factor":2,"original_max_position_embeddings":64}'
    does 0 train language --init gpt-neox $data $steps --set "$yarn" --set sequence_length=128 --set dropout=0.1 --steps 1 --out yarn
    grep -q '"max_position_embeddings": 128,' yarn/config.json || complain "the model has other than 128 positions"
    grep -q '"rope_type": "yarn"' yarn/config.json || complain "the scaling of --set is lost"
    grep -q '"max_position_embeddings": 64,' first-gpt-neox/config.json || complain "the model has other positions than the folder"
    does 0 train language --init gpt-neox $data $steps --set sequence_length=128 --set dropout=0.1 --steps 1 --out plain
    ! cmp -s yarn/model.safetensors plain/model.safetensors || complain "the scaling changes nothing"
    does 0 train language --init gpt-neox $data $steps --set rope_theta=500 --steps 1 --out theta
    ! cmp -s theta/model.safetensors part-gpt-neox/model.safetensors || complain "the base changes nothing"

    # A scaling by length is that of the sequences, which are shorter than the positions.
    does 0 train language --init phi3-short-raw $data $steps --steps 0 --out phi3
    does 0 evaluate phi3-short-raw --text line --context 12 --precision f32 --json
    nats=$("$json_get" nats_per_token <out)
    does 0 evaluate phi3 --text line --context 12 --json
    close "$("$json_get" nats_per_token <out)" "$nats" 1e-6 || complain "phi3: wanted $nats nats per token"

    # Other lengths than that of training, which is the number of positions, whatever the data are cut to.
    windows="$data --set language_windows=consecutive --set language_validation=train.txt --precision f32"
    lengths="evaluate gpt-neox $windows --evaluate-lengths 64,128 --evaluate-scaling none,yarn"
    does 0 $lengths --json
    has lengths.0.factor 1.0
    has lengths.3.factor 2.0
    plain=$("$json_get" lengths.0.evaluation.loss <out)
    scaled=$("$json_get" lengths.3.evaluation.loss <out)
    ! close "$("$json_get" lengths.2.evaluation.loss <out)" "$scaled" 1e-4 || complain "gpt-neox: yarn changes nothing"
    does 0 evaluate gpt-neox $windows --set sequence_length=64 --json
    close "$("$json_get" evaluation.loss <out)" "$plain" 1e-5 || complain "gpt-neox: 64 tokens have another loss than $plain"
    # It is that of a model whose configuration has the scaling.
    cp -r gpt-neox yarned
    sed -i 's/"rope_type": "default"/"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 64/' yarned/config.json
    does 0 evaluate yarned $windows --evaluate-lengths 128 --json
    close "$("$json_get" lengths.0.evaluation.loss <out)" "$scaled" 1e-5 || complain "yarned: wanted the loss $scaled"
    # CSV by position: all bins together have that loss.
    does 0 $lengths --csv
    grep -q '^arm,seed,scaling,length,' out || complain "no table of lengths: $(cat out)"
    [ "$(grep -c '^rope,[0-9]*,\(none\|yarn\),\(64\|128\),,,' out)" = 4 ] || complain "not four lengths: $(cat out)"
    does 0 $lengths --csv --rows positions --picture positions.svg
    mean=$(awk -F, '$3 == "yarn" && $4 == 128 { sum += $6 * $7; n += $6 } END { print sum / n }' out)
    close "$mean" "$scaled" 1e-4 || complain "the mean over positions is $mean, wanted $scaled"
    [ "$(grep -c 'class="e[01] [^"]*curve line"' positions.svg)" = 2 ] || complain "the picture has not two curves"
    grep -q '^<svg xmlns=' positions.svg || complain "the picture does not stand alone"
    grep -q 'class="goal"' positions.svg || complain "the picture does not say where training ended"
    # Of positions without tokens nothing is known.
    does 0 evaluate gpt-neox $windows --set language_windows=documents --evaluate-lengths 128
    grep -q '^ *112 *-$' out || complain "a perplexity of no tokens: $(cat out)"
    ! grep -qi nan out || complain "a perplexity is no number: $(cat out)"
    for option in "--picture none.svg" --csv "--rows lengths"; do
        refuses 2 "${option%% *} is about --evaluate-lengths" evaluate gpt-neox $windows $option
        refuses 2 "${option%% *} with --text" evaluate gpt-neox --text line $option
    done
    refuses 2 "--rows needs --csv" $lengths --rows lengths
    refuses 2 "--csv and --json are both given" $lengths --csv --json
    refuses 2 "would replace gpt-neox/config.json" $lengths --picture gpt-neox/config.json

    # Scalings by length are for the sequences that are read, as in transformers: LongRoPE's short factors here.
    does 0 evaluate phi3 --json
    loss=$("$json_get" evaluation.loss <out)
    does 0 evaluate phi3-short-raw $data --precision f32 --evaluate-lengths 16,64 --json
    close "$("$json_get" evaluation.loss <out)" "$loss" 1e-5 || complain "phi3-short-raw: wanted the loss $loss of phi3"
    close "$("$json_get" lengths.0.evaluation.loss <out)" "$loss" 1e-5 || complain "phi3-short-raw at 16: wanted the loss $loss"
    long=$("$json_get" lengths.1.evaluation.loss <out)
    does 0 evaluate phi3-short-raw $data --precision f32 --set sequence_length=64 --json
    close "$("$json_get" evaluation.loss <out)" "$long" 1e-5 || complain "phi3-short-raw at 64: wanted the loss $long"

    # What the weights do not fit, by its name.
    begin="train language $data $steps --steps 1 --out none"
    for key in hidden_size=32 vocab_size=20 norm_epsilon=0.1 hidden_act=relu sliding_window=4 tie_word_embeddings=true; do
        refuses 2 "${key%=*} is " $begin --init gpt-neox --set $key
    done
    for key in tokenizer=words tokenizer=characters vocab_size=20; do
        refuses 2 "language_${key%=*} is set, and the vocabulary is that of llama-3: leave it out" $begin --init llama-3 --set language_$key
        refuses 2 "language_${key%=*} is set, and the vocabulary is that of llama-3: leave it out" compare language $data --runs 1 --out none \
            --vary init=llama-3,gemma2-raw --set language_$key
    done
    refuses 2 "norm_epsilon is 0.1, and 1e-6 in first-llama-3, whose weights are taken" $begin --init first-llama-3 --set norm_epsilon=0.1
    refuses 1 "has a parameter embedding.position.weight" ${begin%none}other --init llama-3 --position learned
    refuses 2 "text is not the folder of a run" $begin --init text
    rm gpt-neox/tokenizer.json
    refuses 1 "gpt-neox has no vocabulary" $begin --init gpt-neox
    sed -i 's/"gpt_neox"/"mamba"/' gpt-neox/config.json
    refuses 1 '"model_type" is "mamba", wanted bert or roformer, or that of a decoder: llama' $begin --init gpt-neox
    refuses 1 "which has no masks" fill llama-3
    [ ! -e none ] || complain "a refused run left something"
}
# Llama's class goes by "add_bos_token", whatever the template says; others do not look at it.
names='{"bos_token": "<s>", "eos_token": "</s>", "add_bos_token"'
for case in 'LlamaTokenizerFast false 0' 'LlamaTokenizer true 1' 'PreTrainedTokenizerFast false 1'; do
    # shellcheck disable=SC2086 # three words
    set -- $case
    echo "$names: $2, \"tokenizer_class\": \"$1\"}" >llama-3/tokenizer_config.json
    does 0 evaluate llama-3 --text line --context 12 --json
    has tokens $((letters + $3))
done
echo "$names: \"true\"}" >llama-3/tokenizer_config.json
refuses 1 '"add_bos_token" is no truth value' evaluate llama-3 --text line --context 12
finish
