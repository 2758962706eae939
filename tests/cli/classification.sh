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
    says "  bag of words  accuracy 100.00"
    [ "$(grep -cE '^  targets  (good|bad)$' out)" = 3 ] || complain "not three rows with a label"
    does 0 data classification $small --rows 3 --baselines --json
    has splits.training.examples 120
    has baselines.validation.bag_of_words.accuracy 1.0
    refuses 2 "task index has no labels" data index --baselines
    refuses 1 "there is no column \"third\"" data classification $small --set classification_pair=third
    refuses 2 "classification_header is false, which does nothing" train classification $model --set classification_header=false --out none
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
    [ "$(wc -l <run/predictions.tsv)" = 32 ] || complain "not a prediction for each example"

    does 0 evaluate run --predictions file --split test --json
    has evaluation.labels.examples 17
    [ "$(wc -l <file)" = 18 ] || complain "not a prediction for each test example"
    head -1 file | grep -q "^index	label	prediction	probability of bad	probability of good$" || complain "no header"
    awk -F'\t' 'NR > 1 && ($4 + $5 < 0.9999 || $4 + $5 > 1.0001 || ($4 > $5) != ($3 == "bad")) { exit 1 }' file ||
        complain "probabilities do not fit"
    refuses 2 "task classification has no problems" evaluate run --show 2

    # Pairs, numbers, and sentences that are made up.
    does 0 train classification $small --set classification_pair=second --set type_vocab_size=2 --steps 5 --out pairs --json
    has evaluation.labels.examples 31
    does 0 train classification $small --set classification_label=score --set classification_regression=true --steps 60 --out numbers --json
    has evaluation.labels.score '"spearman"'
    does 0 train classification $model --set classification_examples=200 --set classification_held_out=20 --set sequence_length=48 --steps 5 --out made --json
    has evaluation.labels.examples 20

    # The weights and the vocabulary of a masked model.
    cut -f3 text/train.tsv >text/train.txt
    does 0 train masked $model --set masked_data=text --set masked_boundary=line --set masked_min_frequency=1 --set sequence_length=16 \
        --set masked_validation= --steps 4 --out masked
    does 0 train classification --init masked $small --steps 10 --out tuned --json
    has evaluation.labels.examples 31
}
finish
