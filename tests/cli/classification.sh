# SPDX-License-Identifier: Apache-2.0
# Classification from the command line: its data and baselines, training, evaluation and predictions, a regression, pairs,
# and what does not fit.
. "$(dirname "$0")/support.sh"

# texts COUNT HEADER: sentences whose label is the word before the last, and a number.
texts() {
    awk -v n="$1" 'BEGIN {
        print "label\tscore\tfirst\tsecond"
        split("good bad", labels, " "); split("the a this film book story plot cast end music", words, " ")
        for (x = n; n > 0; n--) {
            text = ""
            for (i = 0; i < 4; i++) { x = (x * 1103 + 12345) % 65536; text = text words[1 + int(x / 64) % 10] " " }
            label = labels[1 + int(x / 64) % 2]
            print label "\t" (label == "good") + (x % 7) / 10 "\t" text "was " label " here\t" text "again"
        }
    }'
}
mkdir text
texts 120 >text/train.tsv
texts 31 >text/dev.tsv
texts 17 >text/test.tsv
model="--set hidden_size=16 --set num_attention_heads=2 --set num_hidden_layers=1 --set batch_tokens=160 --set warmup_steps=2
 --set checkpoint_every=10 --set evaluate_every=10 --set epochs=0"
files="--set classification_data=text --set classification_text=first --set classification_min_frequency=1"
small="$model $files --set sequence_length=16"

# shellcheck disable=SC2086
{
    # Rows have a label each; the splits say what leaks.
    does 0 data classification $small --set classification_test=test.tsv --rows 3 --baselines
    says "training: 120 texts: "
    says "validation: 31 texts: "
    says "test: 17 texts: "
    says "baselines on 31 validation examples"
    says "  bag of words    accuracy 100.00"
    [ "$(grep -cE '^  targets  (good|bad)$' out)" = 3 ] || complain "not three rows with a label"
    does 0 data classification $small --rows 3 --baselines --json
    has splits.training.examples 120
    has baselines.validation.bag_of_words.accuracy 1.0
    refuses 2 "task index has no labels" data index --baselines
    refuses 1 "there is no column \"third\"" data classification $small --set classification_pair=third
    refuses 2 "classification_header is false, which does nothing" train classification $model --set classification_header=false --out none
    printf '{"label": "good", "first": "a film"}\n{"label": "bad", "first": "a book"}\n' >text/records.jsonl
    records="$small --set classification_train=records.jsonl --set classification_validation=records.jsonl"
    for key in header=false quoting=double; do
        refuses 2 "classification_${key%=*} is ${key#*=}, which does nothing with classification_train records.jsonl: wanted a table of tsv or csv, or no" \
            train classification $records --set classification_$key --out none
    done
    printf '{"label": "", "first": "a play"}\n' >>text/records.jsonl
    refuses 1 "text/records.jsonl, line 3, \"label\": the label is \"\", wanted the name of a class" data classification $records
    refuses 2 "num_labels is 3, but the task classification has other labels: wanted 2" train classification $small --set num_labels=3 --out none
    refuses 2 "wanted 2, a type for each" train classification $small --set classification_pair=second --out none

    # A run, the same one on other threads and killed in between; it learns the word that decides.
    does 0 train classification $small --steps 100 --set learning_rate=0.02 --set classification_test=test.tsv --threads 1 --out run --json
    has steps 100
    has evaluation.labels.examples 31
    awk -v got="$("$json_get" evaluation.labels.accuracy <out)" 'BEGIN { exit !(got > 0.9) }' || complain "it did not learn"
    has evaluation.test.labels.examples 17
    does 0 train classification $small --steps 100 --set learning_rate=0.02 --set classification_test=test.tsv --threads 2 --out threads
    cmp run/model.safetensors threads/model.safetensors || complain "two threads make another model"
    does 0 train classification $small --set schedule=constant --steps 10 --out part
    does 0 train classification --resume --steps 30 --out part
    does 0 train classification $small --set schedule=constant --steps 30 --out whole
    cmp part/model.safetensors whole/model.safetensors || complain "a resumed run is another one"
    [ "$(wc -l <run/predictions.tsv)" = 18 ] || complain "not a prediction for each test example"
    [ "$(wc -l <part/predictions.tsv)" = 32 ] || complain "not a prediction for each validation example"

    does 0 evaluate run --split test
    grep -q 'test examples, test loss' out || complain "the split that is evaluated has another name"
    does 0 evaluate run --predictions file --split test --json
    has evaluation.labels.examples 17
    [ "$(wc -l <file)" = 18 ] || complain "not a prediction for each test example"
    head -1 file | grep -q "^index	label	prediction	probability of bad	probability of good$" || complain "no header"
    awk -F'\t' 'NR > 1 && ($4 + $5 < 0.9999 || $4 + $5 > 1.0001 || ($4 > $5) != ($3 == "bad")) { exit 1 }' file ||
        complain "probabilities do not fit"
    refuses 2 "task classification has no problems" evaluate run --show 2

    # Pairs, numbers, and sentences that are made up.
    does 0 train classification $small --set classification_pair=second --set type_vocab_size=2 --steps 40 --set learning_rate=0.02 --out pairs --json
    has evaluation.labels.examples 31
    does 0 train classification $small --set classification_label=score --set classification_regression=true --steps 60 --out numbers --json
    has evaluation.labels.score '"spearman"'

    # A filter: the labels of predictions.tsv, from the run's folder alone.
    awk -F'\t' 'NR > 1 { print $3 }' text/dev.tsv >lines
    awk -F'\t' 'NR > 1 { print $3 "\t" $4 }' text/dev.tsv >paired
    awk -F'\t' 'NR > 1 { print $3 }' text/test.tsv >tested # whose predictions `run` has
    mv text away
    for run in run pairs numbers; do
        lines=lines
        [ $run = run ] && lines=tested
        [ $run = pairs ] && lines=paired
        "$rotary" classify $run --top-k 1 <$lines >out 2>err
        [ $run = numbers ] && "$rotary" classify $run <$lines >out 2>err
        awk -F'\t' 'NR > 1' $run/predictions.tsv | paste - out >both
        [ "$(wc -l <both)" = "$(wc -l <$lines)" ] && [ "$(wc -l <out)" = "$(wc -l <$lines)" ] || complain "classify $run: not a line for each: $(cat err)"
        awk -F'\t' -v run=$run 'function near(a, b) { return a - b < 0.001 && b - a < 0.001 }
            run == "numbers" ? !near($3, $4) : $6 != $3 || !near($7, $4 > $5 ? $4 : $5) { exit 1 }' both ||
            complain "classify $run says otherwise than predictions.tsv: $(head -2 both)"
    done
    "$rotary" classify run --top-k 5 <lines >out 2>err
    awk -F'\t' 'NF != 4 || $1 == $3 || $2 < $4 || $2 + $4 < 0.9998 || $2 + $4 > 1.0002 { exit 1 }' out ||
        complain "classify --top-k: $(head -1 out)"
    "$rotary" classify run --top-k 2 --checkpoint best --json <lines >out 2>err || complain "classify --json: exit status $?"
    has lines 31
    # line RUN TEXT MESSAGE: the run refuses a line.
    line() {
        printf '%s\n' "$2" | "$rotary" classify "$1" >out 2>err && complain "classify $1 takes \"$2\""
        grep -qF "standard input, line 1: $3" err || complain "classify $1 does not say \"$3\""
    }
    line run "one	two" "there is a tab: wanted a single text"
    line pairs "one" "there is no tab: wanted two texts with a tab between them"
    line pairs "one	two	three" "there is more than one tab"
    mv away text
    cp -r run other
    echo '{"labels": ["good", "bad"], "pairs": false, "score": "accuracy"}' >other/labels.json
    refuses 1 "the labels of its model are other ones than those of text/train.tsv" evaluate other
    echo '{"labels": ["good", "good"], "pairs": false, "score": "accuracy"}' >other/labels.json
    refuses 1 "\"labels\" is no list of 2 to 1024 different texts" classify other
    echo '{"labels": ["bad", "good"], "pairs": 1, "score": "accuracy"}' >other/labels.json
    refuses 1 "\"pairs\" is not true or false" classify other
    echo '{"labels": ["bad", "good"], "pairs": false, "score": "spearman"}' >other/labels.json
    refuses 1 "\"score\" is no score of such labels" classify other
    refuses 1 "whose model predicts a number: leave it out" classify numbers --top-k 2
    does 0 train classification $model --set classification_examples=200 --set classification_held_out=20 --set sequence_length=48 --steps 5 --out made --json
    has evaluation.labels.examples 20

    # Choices, of which the first is right: what it learns is "here". One text is longer than two of training.
    choices="$model $files --set classification_text=score --set classification_choices=first,second --set classification_label= \
        --set type_vocab_size=2 --set sequence_length=20"
    sed '5s/was/was was was was was was was/' text/dev.tsv >text/long.tsv
    does 0 data classification $choices --rows 2 --baselines
    says "training: 120 texts with choices: "
    says "  TF-IDF          accuracy "
    [ "$(grep -cE '^  targets  [12]$' out)" = 2 ] || complain "not two rows with a choice"
    does 0 train classification $choices --steps 60 --set learning_rate=0.02 --set batch_tokens=0 --set batch_size=1 \
        --set gradient_accumulation_steps=4 --set classification_validation=long.tsv --out choices --json
    has evaluation.labels.examples 31
    awk -v got="$("$json_get" evaluation.labels.accuracy <out)" 'BEGIN { exit !(got > 0.9) }' || complain "it did not learn to choose"
    head -1 choices/predictions.tsv | grep -q "^index	label	prediction	probability of 1	probability of 2$" || complain "no header"
    [ "$(cut -f2 choices/predictions.tsv | sort | uniq -c | wc -l)" = 3 ] || complain "one choice is always right"
    printf '0.5\tthe film was good here\tthe film again\n0.5\tthe film again\tthe film was good here\n' >given
    "$rotary" classify choices <given >out 2>err || complain "classify choices: $(cat err)"
    [ "$(cut -f1 out | tr '\n' ' ')" = "1 2 " ] || complain "other choices"
    line choices '0.5	one' "there are 2 texts: wanted a text and its 2 choices with tabs between them"
    refuses 2 "classification_pair" train classification $choices --set classification_pair=second --out none
    refuses 2 "num_labels is 2, but the task classification has other labels: wanted 1" train classification $choices --set num_labels=2 --out none

    # The weights and the vocabulary of a masked model.
    cut -f3 text/train.tsv >text/train.txt
    does 0 train masked $model --set masked_data=text --set masked_boundary=line --set masked_min_frequency=1 --set sequence_length=16 \
        --set masked_validation= --steps 4 --out masked
    begun="$model --set classification_data=text --set classification_text=first --set sequence_length=16"
    does 0 train classification --init masked $begun --steps 10 --out tuned --json
    has evaluation.labels.examples 31
    refuses 2 "classification_min_frequency is set, and the vocabulary is that of masked: leave it out" train classification --init masked $small --out none
    refuses 1 "masked is a run of the task masked, which has no labels" classify masked
}
finish
