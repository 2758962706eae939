# SPDX-License-Identifier: Apache-2.0
# Masked language modelling from the command line: its data, training, evaluation, a comparison, a stage that begins with the
# weights of another, and what does not fit.
. "$(dirname "$0")/support.sh"

mkdir text
documents text/train.txt 90
documents text/valid.txt 12
documents text/test.txt 7
model="--set hidden_size=16 --set num_attention_heads=2 --set num_hidden_layers=1 --set batch_tokens=160 --set warmup_steps=2
 --set checkpoint_every=10 --set evaluate_every=10 --set epochs=0"
files="--set masked_data=text --set masked_cache=tokens"
begun="$model $files --set sequence_length=24"
small="$begun --set masked_min_frequency=1"

# shellcheck disable=SC2086
{
    # Rows have masks, and targets for some places alone.
    does 0 data masked $files --set masked_test=test.txt --set masked_min_frequency=1 --set sequence_length=24 --rows 3
    says "training: 90 documents, "
    says "test: 7 documents, "
    says "vocabulary: 18 tokens"
    says "masked, seed 1, training step 1: 3 rows of 24 tokens"
    [ "$(grep -c '^  tokens   <s> .*</s>$' out)" = 3 ] || complain "not three rows between begin and end"
    grep -q '^  tokens .*<mask>' out || complain "no row has a mask"
    [ "$(grep -c '^  targets   [0-9]*:' out)" = 3 ] || complain "targets without places"
    cp out first
    does 0 data masked $files --set masked_min_frequency=1 --set sequence_length=24 --rows 3 --step 2
    ! cmp -s out first || complain "the second step has the rows of the first"
    does 0 data masked $files --set masked_min_frequency=1 --set sequence_length=24 --split validation --json --rows 12
    has splits.validation.documents 12
    has splits.training.documents 90
    has mask.0.0 0
    cp out first
    does 0 data masked $files --set masked_min_frequency=1 --set sequence_length=24 --split validation --json --rows 12 --seed 5
    "$json_get" targets <out >targets
    "$json_get" targets <first >second
    cmp -s targets second || complain "another seed masks other tokens of validation"
    ls tokens/*.tokens >out || complain "no cache in masked_cache"
    refuses 2 "task masked has no test set" data masked $files --split test
    refuses 1 "there is no folder absent, which" data masked --set masked_data=absent
    refuses 2 "masked_train is other.txt, which does nothing with masked_data" train masked --set masked_train=other.txt --out none
    refuses 2 "architecture is decoder, but the task masked" train masked $small --set architecture=decoder --out none
    refuses 2 "masked_field is body, which does nothing with masked_train train.txt" train masked $small --set masked_field=body --out none
    printf '{"text": "the cat"}\n{"text": "the cat"}\n' >text/records.jsonl
    records="$small --set masked_train=records.jsonl --set masked_validation=records.jsonl"
    refuses 2 "masked_boundary is file, which does nothing with masked_train records.jsonl" train masked $records --set masked_boundary=file --out none

    # A run, the same one on other threads and killed in between, and its evaluation.
    does 0 train masked $small --steps 30 --set masked_test=test.txt --threads 1 --out run --json
    has steps 30
    loss=$("$json_get" evaluation.loss <out)
    accuracy=$("$json_get" evaluation.accuracy <out)
    grep -q '^90 documents to train on' err || complain "train does not say what it reads"
    does 0 train masked $small --steps 30 --set masked_test=test.txt --threads 2 --out threads
    cmp -s run/model.safetensors threads/model.safetensors || complain "two threads train another model"
    does 0 train masked $small --set schedule=constant --steps 10 --out part
    does 0 train masked --resume --steps 30 --out part
    does 0 train masked $small --set schedule=constant --steps 30 --out whole
    cmp -s part/model.safetensors whole/model.safetensors || complain "a resumed run has another model"
    does 0 evaluate run --json
    [ "$("$json_get" evaluation.loss <out | cut -c 1-8)" = "$(echo "$loss" | cut -c 1-8)" ] || complain "evaluate finds another loss than $loss"
    [ "$("$json_get" evaluation.accuracy <out | cut -c 1-8)" = "$(echo "$accuracy" | cut -c 1-8)" ] || complain "another accuracy than $accuracy"
    does 0 evaluate run --split test --json
    [ "$("$json_get" evaluation.loss <out | cut -c 1-8)" != "$(echo "$loss" | cut -c 1-8)" ] || complain "the test set has the loss of validation"
    refuses 2 "task masked has no problems" evaluate run --show 2
    # The same text cut to sequences of another length.
    does 0 evaluate run --evaluate-lengths 24,48 --json
    has lengths.0.evaluation.positions.1.begin 1
    has lengths.1.evaluation.positions.1.begin 2
    [ "$("$json_get" lengths.0.evaluation.loss <out)" = "$("$json_get" evaluation.loss <out)" ] || complain "another loss at the length of training"
    # Other data than the run's, which its corpus must be; masks that its text does not depend on.
    does 0 evaluate run --json --set masked_probability=0.5
    [ "$("$json_get" evaluation.loss <out | cut -c 1-8)" != "$(echo "$loss" | cut -c 1-8)" ] || complain "--set changes nothing"
    refuses 1 "text of the task masked has the hash" evaluate run --set masked_validation=test.txt
    refuses 1 "masked_documents is 5, which does nothing with masked_data" evaluate run --set masked_documents=5
    refuses 1 "hidden_size" evaluate run --set hidden_size=5
    printf 'another text\n\n' >>text/train.txt
    refuses 1 "the training text of the task masked has the hash" train masked --resume --steps 40 --out whole
    documents text/train.txt 90

    # Masks are filled: probabilities of all tokens are 1 together, the most probable comes first, and a line does not depend on
    # those before it.
    printf 'the <mask> sees a <mask> .\n<mask> red\n' >lines
    "$rotary" fill run --top-k 18 --json <lines >out 2>err || complain "fill: exit status $?"
    has lines 2
    has masks.0.1.0.token "$("$json_get" masks.0.1.0.token <out)"
    [ "$(grep -o '"probability":[0-9.e-]*' out | cut -d : -f 2 | awk '{
        if (NR % 18 != 1 && $1 > last) wrong = 1
        last = $1; sum += $1
    } END { print NR, wrong + 0, (sum > 2.9999 && sum < 3.0001) }')" = "54 0 1" ] || complain "probabilities of three masks"
    "$rotary" fill run --top-k 2 <lines >both 2>err || complain "fill: exit status $?"
    tail -n 1 lines | "$rotary" fill run --top-k 2 >one 2>err
    [ "$(tail -n 1 both)" = "$(cat one)" ] || complain "a line is filled otherwise after another"
    [ "$(head -n 1 both | tr '\t' '\n' | wc -l)" = 2 ] || complain "not two masks in a line"
    "$rotary" fill run --checkpoint best --top-k 2 <lines >out 2>err || complain "fill --checkpoint best: exit status $?"
    echo "no mask here" | "$rotary" fill run >out 2>err && complain "a line without a mask is filled"
    grep -q 'line 1: there is no <mask>' err || complain "a line without a mask: $(cat err)"
    awk 'BEGIN { for (i = 0; i < 30; i++) printf "cat "; print "<mask>" }' | "$rotary" fill run >out 2>err &&
        complain "a long line is filled"
    grep -q '33 tokens with begin and end, wanted at most 24' err || complain "a long line: $(cat err)"

    # The next stage: its weights and vocabulary are those of the run, its sequences are longer.
    does 0 train masked --init run $files --steps 0 --set sequence_length=48 --set batch_tokens=160 --out next
    cmp -s run/vocabulary.json next/vocabulary.json || complain "the next stage has another vocabulary"
    does 0 evaluate run --json
    cp out first
    does 0 train masked --init run $begun --steps 0 --out same
    does 0 evaluate same --json
    [ "$("$json_get" evaluation.loss <out)" = "$("$json_get" evaluation.loss <first)" ] || complain "the weights of --init are others"
    does 0 train masked --init run $begun --steps 5 --out further
    grep -q '"init": *"run"' further/config.json || complain "config.json does not say where the weights are from"
    refuses 2 "init is none, which is not the folder of a run" train masked $small --set init=none --out other
    refuses 2 "hidden_size is 32, and 16 in run, whose weights are taken" train masked --init run $begun --set hidden_size=32 --steps 2 --out other

    # Its vocabulary is made: keys that say how do nothing, whatever their value.
    for key in tokenizer=characters tokenizer=words tokenizer=file vocabulary=none min_frequency=2 model_type=unigram vocab_size=99; do
        refuses 2 "masked_${key%=*} is set, and the vocabulary is that of run: leave it out" train masked --init run $begun --set masked_$key --out other
        refuses 2 "masked_${key%=*} is set, and the vocabulary is that of run: leave it out" data masked --run run --set masked_$key
        refuses 1 "masked_${key%=*} is set, and the vocabulary is that of run: leave it out" evaluate run --set masked_$key
    done

    # Position encodings are compared by the validation loss.
    does 0 compare masked $small --set steps=8 --positions learned,rope,roper --runs 2 --out all --json
    has primary_measure '"validation_loss"'
    has arms.2.name '"roper"'
}
finish
