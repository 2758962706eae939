# SPDX-License-Identifier: Apache-2.0
# Language modelling from the command line: its data, training with the position encodings, evaluation, generation, runs that go on
# after having been stopped, and what does not fit.
. "$(dirname "$0")/support.sh"

# documents NAME COUNT: paragraphs of a few lines of words that follow one another by a rule.
documents() {
    awk -v n="$2" 'BEGIN {
        split("the cat dog sees old red tree by a river and sleeps", words, " ")
        for (x = n; n > 0; n--) {
            for (line = n % 4; line >= 0; line--) {
                for (i = 0; i < 6; i++) { x = (x * 1103 + 12345) % 65536; printf "%s ", words[1 + int(x / 64) % 12] }
                print "."
            }
            print ""
        }
    }' >"$1"
}
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
    refuses 1 "absent/train.txt" data language --set language_data=absent
    refuses 2 "language_train is other.txt, which does nothing with language_data" train language --set language_train=other.txt --out none
    refuses 2 "architecture is encoder, but the task language" train language $small --set architecture=encoder --out none

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
    does 0 evaluate run --evaluate-lengths 32,96
    says "sequences of so many tokens, 32 in training"
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
    for other in learned roper; do
        ! cmp -s all/rope-1/model.safetensors all/$other-1/model.safetensors || complain "$other is rope"
    done
    [ "$(grep -c '^"wpe\|position' all/learned-1/config.json)" != 0 ] || complain "learned has no position"
}
finish
