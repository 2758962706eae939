# SPDX-License-Identifier: Apache-2.0
# A letter changed in a vocabulary, or in the names of labels: every command that uses the weights refuses them. And a run
# that goes on with another instruction set than it began with says so.
. "$(dirname "$0")/support.sh"

small="--set hidden_size=16 --set num_attention_heads=2 --set num_key_value_heads=2 --set num_hidden_layers=1
 --set intermediate_size=32 --set sequence_length=32 --set batch_tokens=100 --set schedule=constant --set warmup_steps=1
 --set log_every=1 --set precision=f32 --steps 2 --threads 1"
mkdir text
documents text/train.txt 30
documents text/valid.txt 5
# shellcheck disable=SC2086
{
    does 0 train classification $small --set classification_examples=40 --set classification_held_out=8 --out labels
    does 0 train translation $small --set translation_pairs=40 --set translation_held_out=8 --set average_checkpoints=0 --out pairs
    does 0 train masked $small --set masked_documents=40 --set masked_held_out=4 --out masks
    does 0 train language $small --set language_data=text --set language_cache=tokens --set language_min_frequency=1 --out letters
}

begun="--set warmup_steps=1 --set schedule=constant --set average_checkpoints=0"
# refuses_all FOLDER FILE TASK COMMAND...: with one letter changed in the file, each command, a word a line, refuses.
refuses_all() {
    folder=$1 file=$2 task=$3
    rm -rf bad
    cp -r "$folder" bad
    if [ "$file" = labels.json ]; then
        sed 's/reversed/inverted/' labels/labels.json >bad/labels.json
    else
        sed -z 's/[a-z]"\n  ]/Z"\n  ]/' "$folder/$file" >bad/"$file" # the last letter of the last token
    fi
    cmp -s "$folder/$file" bad/"$file" && complain "$folder/$file has no letter to change"
    refuses 1 "bad/$file is not the file with which" train "$task" --resume --steps 3 --out bad
    # shellcheck disable=SC2086
    refuses 1 "bad/$file is not the file with which" train "$task" --init bad $begun \
        --steps 1 --out further
    [ ! -e further/config.json ] || complain "a run begins with weights beside another $file"
    shift 3
    for command in "$@"; do
        # shellcheck disable=SC2086
        refuses 1 "bad/$file is not the file with which" $command
    done
}

# evaluates TASK: what reads the held-out text, too.
evaluates() {
    for command in "evaluate bad" "evaluate bad --checkpoint best" "data $1 --run bad --step 1 --output batch.npy"; do
        # shellcheck disable=SC2086
        refuses 1 "bad/vocabulary.json is not the file with which" $command
    done
}

echo "a hat" >lines
refuses_all labels vocabulary.json classification "classify bad" "heatmap bad --input lines"
evaluates classification
refuses_all labels labels.json classification "classify bad" "heatmap bad --input lines"
refuses_all pairs source.json translation "translate bad" "heatmap bad --input lines"
refuses_all pairs target.json translation "translate bad" "heatmap bad --input lines"
refuses_all masks vocabulary.json masked "fill bad" "heatmap bad --input lines"
evaluates masked
refuses_all letters vocabulary.json language "generate bad --prompt a" "export bad --format gguf --out out" "decay bad"
evaluates language

# The hash of a run's vocabularies is that of both sides.
hash_of() { sed -n 's/.*"vocabulary_hash": "\([0-9a-f]*\)".*/\1/p' "$1/config.json"; }
mkdir pairs_text
for name in train val; do
    printf 'a hat\nthe hat\na dog\nthe dog\n' | tee pairs_text/$name.en >pairs_text/$name.de
done
files="--set translation_data=pairs_text --set translation_test=val --set translation_min_frequency=1 --set average_checkpoints=0"
# shellcheck disable=SC2086
does 0 train translation $small $files --out first
for name in train val; do
    sed 's/hat/bat/' pairs_text/$name.en >pairs_text/$name.de
done
# shellcheck disable=SC2086
does 0 train translation $small $files --out second
[ -n "$(hash_of first)" ] && [ "$(hash_of first)" != "$(hash_of second)" ] ||
    complain "with other sources the vocabularies are $(hash_of first) and $(hash_of second)"

# Models of SentencePiece are files of a run too.
if ! "$rotary" info | grep -q 'SentencePiece *not in this program'; then
    # shellcheck disable=SC2086
    does 0 train translation $small --set translation_pairs=400 --set translation_held_out=8 --set average_checkpoints=0 \
        --set translation_tokenizer=sentencepiece --set translation_vocab_size=100 --out models
    # shellcheck disable=SC2086
    does 0 train language $small --set language_documents=200 --set language_tokenizer=sentencepiece \
        --set language_vocab_size=400 --out model
    # changed_model FOLDER FILE COMMAND: with another letter in the first piece that has these.
    changed_model() {
        rm -rf bad
        cp -r $1 bad
        LC_ALL=C sed 's/er/eq/' $1/$2 >bad/$2
        # shellcheck disable=SC2086
        refuses 1 "bad/$2 is not the file with which" $3
    }
    changed_model models source.model "translate bad"
    changed_model models target.model "translate bad"
    changed_model model vocabulary.model "generate bad --prompt a"
fi

# A line of metrics, the configuration.
rm -rf bad
cp -r letters bad
sed '1s/"loss":[0-9]/"loss":9/' letters/metrics.jsonl >bad/metrics.jsonl
refuses 1 "bad/metrics.jsonl, line 1: it does not match its checksum" train language --resume --steps 3 --out bad
refuses 1 "bad/metrics.jsonl, line 1: it does not match its checksum" report bad
sed 's/,"checksum":"[0-9a-f]*"//' letters/metrics.jsonl >bad/metrics.jsonl
refuses 1 "bad/metrics.jsonl, line 1: it has no checksum" train language --resume --steps 3 --out bad
does 0 report bad
cp letters/metrics.jsonl bad
sed 's/"log_every": 1,/"log_every": 2,/' letters/config.json >bad/config.json
refuses 1 'bad/config.json does not match its "checksum"' train language --resume --steps 3 --out bad
refuses 1 'bad/config.json does not match its "checksum"' report bad
refuses 1 'bad/config.json does not match its "checksum"' data language --run bad --step 1 --output batch.npy
sed 's/"log_every": 1,/"log_every": 2,/; /"checksum"/d; s/^  "corpus".*/&/' letters/config.json |
    sed -z 's/,\n}/\n}/' >bad/config.json
does 0 report bad

# An instruction set is named by its first run.
cp -r letters other
isa=$("$rotary" info --json | sed -n 's/.*"isa": "\([a-z0-9]*\)".*/\1/p' | head -n 1)
if [ -n "$isa" ] && [ "$isa" != scalar ]; then
    does 0 train language --resume --steps 3 --isa scalar --out other
    grep -q "the run began with the instruction set $isa and goes on with scalar" err || complain "another instruction set is used in silence"
fi
does 0 train language --resume --steps 3 --out letters
grep -q "the run began with" err && complain "the same instruction set is said to be another"
finish
