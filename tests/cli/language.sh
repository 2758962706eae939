# SPDX-License-Identifier: Apache-2.0
# Language modelling from the command line: its data, training with the position encodings, evaluation, generation, runs that go on
# after having been stopped, and what does not fit.
. "$(dirname "$0")/support.sh"

mkdir text
documents text/train.txt 60
documents text/valid.txt 12
documents text/test.txt 7
files="--set language_data=text --set language_cache=tokens"
model="--set hidden_size=16 --set num_attention_heads=2 --set num_hidden_layers=1 --set intermediate_size=32 --set batch_tokens=256
 --set warmup_steps=2 --set checkpoint_every=10 --set evaluate_every=10"
small="$model $files --set sequence_length=32 --set language_min_frequency=1"

# shellcheck disable=SC2086
{
    # What became of the text, and rows of it: targets are a token later.
    does 0 data language $files --set language_test=test.txt --set sequence_length=32 --rows 2 --json
    has splits.training.documents 60
    has splits.test.documents 7
    bytes=$(awk 'NF { bytes += length($0) + 1; open = 1 } !NF && open { bytes--; open = 0 } END { print bytes }' text/valid.txt)
    has splits.validation.bytes "$bytes"
    has splits.validation.tokens $((bytes + 12)) # each character, and the end of each document
    for i in 0 9 30; do
        has targets.1.$i "$("$json_get" tokens.1.$((i + 1)) <out)"
    done
    does 0 data language $files --set language_windows=random --set sequence_length=32 --rows 2
    says "training: 60 documents"
    says "bytes of text"
    says "language, seed 1, training step 1: 2 rows of 32 tokens"
    cp out first
    does 0 data language $files --set language_windows=random --set sequence_length=32 --rows 2 --seed 2
    ! cmp -s out first || complain "another seed has the same windows"
    refuses 2 "task language has no test set" data language $files --split test
    refuses 1 "there is no folder absent, which" data language --set language_data=absent
    refuses 2 "language_train is other.txt, which does nothing with language_data" train language --set language_train=other.txt --out none
    refuses 2 "architecture is encoder, but the task language" train language $small --set architecture=encoder --out none

    # Records of JSON: each is a document, and a blank line is none. Keys of the other kind of text do nothing.
    refuses 2 "language_field is body, which does nothing with language_train train.txt: wanted a file of records (.jsonl), or no language_field" \
        train language $small --set language_field=body --out none
    records="$small --set language_train=records.jsonl --set language_validation=records.jsonl"
    printf '{"text": "the cat\\n\\nsees a dog"}\n\n{"text": "a dog"}\n{"text": " "}\n' >text/records.jsonl
    does 0 data language $records --rows 1 --json
    has splits.training.documents 3
    refuses 2 "language_boundary is line, which does nothing with language_train records.jsonl: wanted a file of plain text, or no language_boundary" \
        train language $records --set language_boundary=line --out none
    refuses 1 "text/records.jsonl, line 4: the document that begins here has no token" data language $records --set language_tokenizer=words
    printf '{"text": "a dog"}\n\n{"text": ""}\n' >text/records.jsonl
    refuses 1 "text/records.jsonl, line 3: the text \"text\" is empty, wanted a document with a token" data language $records

    # A run, its evaluation in nats, perplexity and bits per byte, and what it writes.
    does 0 train language $small --steps 30 --set language_test=test.txt --threads 1 --out run --json
    has steps 30
    does 0 evaluate run --json
    loss=$("$json_get" evaluation.loss <out)
    for pair in "perplexity exp(loss)" "bits_per_byte loss*($bytes+12)/$bytes/log(2)"; do
        key=${pair%% *} formula=${pair#* }
        awk -v loss="$loss" -v got="$("$json_get" "evaluation.$key" <out)" \
            "BEGIN { wanted = $formula; exit !(got > wanted * 0.999999 && got < wanted * 1.000001) }" ||
            complain "evaluate: $key is not $formula of $loss"
    done
    grep -q '"bits_per_byte":' run/metrics.jsonl || complain "metrics.jsonl has no bits per byte"
    grep -q '"frequency_loss":' run/metrics.jsonl || complain "metrics.jsonl has no loss of frequencies"
    does 0 evaluate run
    says "perplexity"
    says "bits per byte"
    does 0 evaluate run --split test --json
    [ "$("$json_get" evaluation.loss <out)" != "$loss" ] || complain "the test set has the loss of validation"
    does 0 generate run --prompt "the cat" --max-new-tokens 20
    says "the cat"
    # Documents begin with a token in training, and so does a prompt.
    does 0 generate run --prompt "the cat" --max-new-tokens 2 --json
    has prompt_tokens 8
    [ -f run/vocabulary.json ] || complain "the run has no tokenizer"
    refuses 2 "task language has no problems" evaluate run --show 2

    # The text in sequences of other lengths, with the rotation scaled for longer ones.
    does 0 evaluate run --evaluate-lengths 32,96 --evaluate-scaling none,linear,yarn --json
    has lengths.0.length 32
    has lengths.5.scaling '"yarn"'
    for i in 0 1 2; do
        [ "$("$json_get" lengths.$i.evaluation.loss <out)" = "$loss" ] || complain "a scaling of factor 1 has another loss than $loss"
    done
    for i in 4 5; do
        [ "$("$json_get" lengths.$i.evaluation.loss <out)" != "$("$json_get" lengths.3.evaluation.loss <out)" ] || complain "scaling $i changes nothing"
    done
    [ "$("$json_get" lengths.3.evaluation.loss <out)" != "$loss" ] || complain "longer sequences have the same loss"
    # All bins of positions together are all tokens, and their loss is that of the text.
    has lengths.3.evaluation.positions.1.begin 3
    "$json_get" lengths.3.evaluation.positions <out | tr -d ' \n' | tr '{' '\n' >bins
    awk -F '[:,}]' -v loss="$("$json_get" lengths.3.evaluation.loss <out)" -v all=$((bytes + 12)) \
        '/begin/ { tokens += $4; if ($4 > 0) sum += $4 * $6; bins++ } END { m = sum / tokens; exit !(bins == 32 && tokens == all && m > loss - 1e-5 && m < loss + 1e-5) }' bins ||
        complain "the loss of the bins of positions is not that of the text"
    does 0 evaluate run --evaluate-lengths 32,96 --evaluate-scaling none,yarn
    says "sequences of so many tokens, 32 in training"
    says "  tokens  scaling   factor      loss  perplexity  bits/byte"
    says "perplexity by position in sequences of 96 tokens"
    says "    from        none        yarn"
    [ "$(grep -c '^  *84  ' out)" = 1 ] || complain "no last eighth of the positions"
    # LongRoPE's factors come from a file, one for each pair of channels.
    echo '{"rope_scaling": {"short_factor": [1, 1, 1, 1], "long_factor": [1, 1.5, 2, 3]}}' >factors.json
    does 0 evaluate run --evaluate-lengths 96 --evaluate-scaling none,longrope --evaluate-factors factors.json --json
    cp out scaled
    echo '{"short_factor": [1, 1, 1, 1], "long_factor": [1, 1.5, 2, 4]}' >others.json
    does 0 evaluate run --evaluate-lengths 96 --evaluate-scaling none,longrope --evaluate-factors others.json --json
    for i in 0 1; do
        "$json_get" lengths.$i.evaluation.loss <out >loss
        "$json_get" lengths.$i.evaluation.loss <scaled | cmp -s - loss && echo $i
    done >same
    [ "$(cat same)" = 0 ] || complain "factors change the rotation that is not scaled, or not the scaled one"
    refuses 2 "--evaluate-scaling longrope has factors that are searched for each model, which --evaluate-factors names: give both" \
        evaluate run --evaluate-lengths 96 --evaluate-scaling longrope
    refuses 2 "--evaluate-factors is about --evaluate-scaling longrope: give both" evaluate run --evaluate-lengths 96 --evaluate-factors others.json
    refuses 2 "--evaluate-factors is about --evaluate-lengths: give both" evaluate run --evaluate-factors others.json
    echo '{"short_factor": [1, 1], "long_factor": [1, 1.5]}' >few.json
    refuses 2 'short_factor" has 2' evaluate run --evaluate-lengths 96 --evaluate-scaling longrope --evaluate-factors few.json
    refuses 1 'run/config.json has no lists "short_factor" and "long_factor"' evaluate run --evaluate-lengths 96 --evaluate-scaling longrope --evaluate-factors run/config.json
    printf 'another text\n\n' >>text/valid.txt
    refuses 1 "text of the task language has the hash" evaluate run
    documents text/valid.txt 12

    # The same bits with other threads, and after an interruption; random windows follow from the seed and the step.
    does 0 train language $small --steps 30 --set language_test=test.txt --threads 2 --out threads
    cmp -s run/model.safetensors threads/model.safetensors || complain "two threads train another model"
    for windows in documents random; do
        set_windows="--set schedule=constant --set minimum_learning_rate=0 --set language_windows=$windows"
        does 0 train language $small $set_windows --steps 10 --out part-$windows
        does 0 train language --resume --steps 20 --out part-$windows
        does 0 train language $small $set_windows --steps 20 --out whole-$windows
        cmp -s part-$windows/model.safetensors whole-$windows/model.safetensors || complain "$windows: a resumed run has another model"
    done
    ! cmp -s whole-documents/model.safetensors whole-random/model.safetensors || complain "windows change nothing"

    # Each encoding of positions trains a model of its own on the same sequences.
    does 0 compare language $small --set steps=8 --positions learned,rope,roper --runs 1 --out all --evaluate-lengths 64 --evaluate-scaling none,dynamic --json
    has primary_measure '"validation_loss"'
    has arms.2.name '"roper"'
    grep -q '"scaling": *"dynamic"' all/roper-1/lengths.json || complain "compare did not score longer sequences"
    has arms.1.lengths.1.positions.31.begin 62
    grep -q "Perplexity by position, roper" all/report.html || complain "the page has no perplexity by position"
    does 0 report all
    says "text     perplexity  bits per byte"
    says "other lengths, mean perplexity"
    says "other lengths, mean bits per byte"
    does 0 report all --csv --rows positions
    [ "$(grep -c '^rope,1,dynamic,64,' out)" = 32 ] || complain "not a row for each bin of positions"
    does 0 report all --csv --rows lengths
    [ "$(grep -c '^roper,1,[a-z]*,64,,,[0-9]' out)" = 2 ] || complain "not a row for each scaling"
    # Other factors give longrope another score, where other scalings keep theirs.
    rescore="compare language $small --set steps=8 --positions learned,rope,roper --runs 1 --out all --evaluate-lengths 64 --evaluate-scaling dynamic,longrope"
    does 0 $rescore --evaluate-factors factors.json
    cp all/rope-1/lengths.json kept
    does 0 $rescore --evaluate-factors others.json
    ! cmp -s all/rope-1/lengths.json kept || complain "other factors of longrope keep the score"
    does 0 $rescore --evaluate-factors factors.json
    cmp -s all/rope-1/lengths.json kept || complain "the same factors give another score"
    for other in learned roper; do
        ! cmp -s all/rope-1/model.safetensors all/$other-1/model.safetensors || complain "$other is rope"
    done
    [ "$(grep -c '^"wpe\|position' all/learned-1/config.json)" != 0 ] || complain "learned has no position"
}
finish
