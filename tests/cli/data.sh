# SPDX-License-Identifier: Apache-2.0
# What a run is made of, for those who repeat it elsewhere: initial weights, what is said of its schedule, its data.
. "$(dirname "$0")/support.sh"

# Initial weights; the run goes on as if it had never stopped.
# shellcheck disable=SC2086 # a list of words
{
    does 0 train index --position roper --seed 3 $tiny --steps 0 --out begun
    says "index, roper, seed 3, "
    says ": initial weights, no step"
    does 0 evaluate begun --json
    has evaluation.problems 4
    does 0 train index --resume --out begun --json
    has steps 0
    has loss null
    has evaluation null
    does 0 train index --resume --steps 4 --out begun --json
    has first_step 0
    does 0 train index --position roper --seed 3 $tiny --steps 4 --out whole
    for file in config.json model.safetensors optimizer.safetensors best.safetensors; do
        cmp "begun/$file" "whole/$file" || complain "a run begun with --steps 0 has another $file"
    done
    refuses 2 "steps is 0, wanted at least 1" compare index $tiny --set steps=0 --out none
    refuses 2 '--steps is "0"' compare index --steps 0
}

# A number of steps that makes something else of the schedule.
# shellcheck disable=SC2086
{
    does 0 train index $tiny --steps 2 --out usual
    ! grep '^rotary: ' err || complain "a constant rate is remarked upon"
    does 0 train index $tiny --set warmup_steps=3 --steps 2 --out warm
    grep -q '^rotary: the warm-up takes 3 steps and the run has 2: ' err || complain "a warm-up longer than the run is not said"
    does 0 train index $tiny --set schedule=linear --steps 2 --out linear
    grep -q '^rotary: the linear schedule is shortened: it ends at step 2 instead of step 600$' err ||
        complain "a schedule cut short is not said"
    does 0 compare index $tiny --vary schedule=linear,cosine,constant --steps 2 --runs 1 --out varied
    grep '^rotary: the [a-z]* schedule is shortened' err >said
    [ "$(wc -l <said)" = 2 ] && grep -q linear said && grep -q cosine said || complain "not both schedules are said"
    does 0 compare index $tiny --set warmup_steps=3 --steps 2 --runs 1 --out short
    [ "$(grep -c '^rotary: the warm-up takes 3 steps' err)" = 1 ] || complain "a comparison does not say once that its warm-up is long"
}
# More problems than the run's configuration has begin with the same ones.
does 0 evaluate whole --json --show 9
has evaluation.problems 4
has checkpoint '"last"'
has step 4
has data_seed 3
has evaluation.interval.low 0.0
has evaluation.interval.high 0.489890836454597
does 0 evaluate whole --show 4 --temperature 2
grep '?s=' out >few
does 0 evaluate whole --show 9 --temperature 2 --problems 9
says "index, roper, step 4: 0 of 9 correct (0.0%, 95% interval 0.0 to 29.9%), "
grep '?s=' out | head -n 4 | cmp - few || complain "the first problems or their answers depend on the number of problems"
[ "$(grep -c '?s=' out)" = 9 ] || complain "not nine problems"
does 0 evaluate whole --checkpoint best --problems 300 --seed 5 --json
has checkpoint '"best"'
has evaluation.problems 300
has seed 3
has data_seed 5

# shellcheck disable=SC2086
does 0 train prefix $tiny_prefix --set prefix_substring=8 --steps 1 --out prefix
does 0 evaluate prefix
for option in "--problems 5" "--show 1" "--temperature 1"; do
    # shellcheck disable=SC2086
    refuses 2 "${option% *}: task prefix has no problems" evaluate prefix $option
done

# Other lengths: the same problems after others. The model is tiny, so it solves none.
does 0 evaluate whole --evaluate-lengths 64,200 --evaluate-scaling none,linear --json
has lengths.0.length 64
has lengths.0.scaling '"none"'
has lengths.0.factor 1.0
has lengths.0.evaluation.problems 4
has lengths.3.length 200
has lengths.3.scaling '"linear"'
has lengths.3.factor 3.125
does 0 evaluate whole --evaluate-lengths 200 --evaluate-scaling linear,yarn
says "  tokens  scaling   factor   correct      95% interval    loss"
says "     200  yarn       3.125      0.0%    0.0 to   49.0%  "
# shellcheck disable=SC2086
does 0 train index --position learned $tiny --steps 1 --out learned
does 0 evaluate learned --evaluate-lengths 65
says "      65  none       1.016         -                 -       -"
does 0 evaluate learned --evaluate-lengths 64 --evaluate-scaling none,yarn --json
has lengths.1.evaluation null
does 0 evaluate prefix --evaluate-lengths 300
says "     300  none       4.688    "
for numbers in "" 12 64, 64,x 64,64 64-96 1048577 -64; do
    refuses 2 "--evaluate-lengths is \"$numbers\", wanted numbers of tokens" evaluate whole --evaluate-lengths "$numbers"
done
refuses 2 '--evaluate-scaling is "lineer", wanted none, linear, ntk, dynamic, yarn, llama3 or longrope, each once, separated by commas; did you mean "linear"?' \
    evaluate whole --evaluate-lengths 64 --evaluate-scaling lineer
refuses 2 '--evaluate-scaling is "yarn,yarn"' evaluate whole --evaluate-lengths 64 --evaluate-scaling yarn,yarn
refuses 2 "--evaluate-scaling is about --evaluate-lengths" evaluate whole --evaluate-scaling yarn
refuses 2 "--temperature with --evaluate-lengths" evaluate whole --evaluate-lengths 64 --temperature 1
refuses 2 "--evaluate-lengths: sequence_length 32 is too short for task index" evaluate whole --evaluate-lengths 32

# Label smoothing changes the gradient; a loss that is logged leaves it out.
# shellcheck disable=SC2086
{
    does 0 train index --seed 3 $tiny --set label_smoothing=0.4 --steps 2 --out smooth
    does 0 train index --seed 3 $tiny --steps 2 --out plain
    for folder in smooth plain; do
        sed -n 's/.*"step":1,"loss":\([0-9.]*\).*/\1/p' $folder/metrics.jsonl >$folder.first
        sed -n 's/.*"step":2,"loss":\([0-9.]*\).*/\1/p' $folder/metrics.jsonl >$folder.second
    done
    [ -s plain.first ] && cmp smooth.first plain.first || complain "the first loss depends on label smoothing"
    ! cmp -s smooth.second plain.second || complain "label smoothing changes nothing"
}

# The data of a run (test_data.c checks that they are those that training reads): as text,
# shellcheck disable=SC2086
{
    does 0 data index --seed 3 $tiny --step 2
    head -n 1 out | grep -qx 'index, seed 3, training step 2: 2 rows of 64 tokens' || complain "the data have no title"
    [ "$(grep -c '^row ' out)" = 2 ] || complain "not two rows"
    sed -n "s/^  tokens   .\(.*\)/\1/p" out >shifted
    sed -n "s/^  targets  \(.*\).\$/\1/p" out >targets
    [ -s targets ] && cmp shifted targets || complain "targets are not the next tokens"
    cp out second
    does 0 data index --run whole --step 2
    cmp out second || complain "--run does not have the data of the run's seed and configuration"
    does 0 data index --seed 3 $tiny --step 3
    ! cmp -s out second || complain "two steps have the same data"
    does 0 data index --seed 4 $tiny --step 2
    ! cmp -s out second || complain "two seeds have the same data"
    does 0 data index --seed 3 $tiny --set gradient_accumulation_steps=3 --step 2
    [ "$(grep -c '^row ' out)" = 6 ] || complain "not the rows of three micro-batches"
    head -n 7 out | tail -n +2 >begin
    head -n 7 second | tail -n +2 | cmp - begin || complain "the first micro-batch is another"
    does 0 data index --seed 3 $tiny --split validation
    [ "$(grep -c '^row ' out)" = 2 ] || complain "not two validation sequences"
    # problems, which are those that evaluate shows,
    does 0 data index --run whole --split problems --rows 2
    sed -n "2,\$ s/  '.*//p" out >prompts
    does 0 evaluate whole --show 2
    while read -r prompt; do
        grep -qF "$prompt" out || complain "evaluate does not show the problem $prompt"
    done <prompts
    [ "$(wc -l <prompts)" = 2 ] || complain "not two problems"
    does 0 data addition --set sequence_length=320 --split problems --rows 3 --json
    has shape.0 2
    # as JSON,
    does 0 data prefix $tiny_prefix --step 2 --rows 1 --json
    has shape '[3,1,64]'
    has step 2
    has arrays '["tokens","targets","mask"]'
    has mask.0.63 1
    # and as .npy.
    does 0 data index $tiny --output batch.npy
    says "batch.npy: int32 [3, 2, 64]: tokens, targets, mask of index, seed 1, training step 1"
    [ "$(wc -c <batch.npy)" = $((128 + 3 * 2 * 64 * 4)) ] || complain "the .npy has another size"
    does 0 data index $tiny --output batch.npy --json
    has output '"batch.npy"'
    refuses 2 "3 rows of a training step: wanted at most 2" data index $tiny --rows 3
    refuses 2 "task prefix has no test set: wanted training or validation data" data prefix $tiny_prefix --split test
    refuses 2 "task prefix has no problems" data prefix $tiny_prefix --split problems
    refuses 2 "--step with --split validation" data index --split validation --step 3
    refuses 2 '--step is "0"' data index --step 0
    refuses 2 "the configuration has task index, wanted prefix" data prefix --run whole
    refuses 1 "absent" data index --run absent
    ln -s ../whole/metrics.jsonl begun/link
    ln whole/best.safetensors hard
    for output in whole/config.json ./whole/../whole/metrics.jsonl begun/link hard; do
        refuses 2 "$output would replace whole/" data index --run whole --output $output
    done
    refuses 1 "absent/batch.npy" data index $tiny --output absent/batch.npy
}

# A corpus: what became of its lines, the source, and files that do not belong together.
made="--set translation_pairs=200 --set translation_held_out=20 --set average_checkpoints=0"
# shellcheck disable=SC2086
{
    does 0 data translation $made --rows 2
    says "training: 200 of 200 pairs used; 0 with an empty side and 0 too long, left out; tokens of source "
    says "test: 20 of 20 pairs used; "
    [ "$(grep -c '^  source   .*</s>$' out)" = 2 ] || complain "not two rows of source"
    does 0 data translation $made --rows 2 --json
    has shape.0 4
    has arrays.3 '"source"'
    has splits.training.used 200
    has splits.validation.pairs 20
    has source.0.47 -1
    mkdir pairs
    for split in train val test; do
        printf 'der Hund schl\303\244ft .\nder Hund\n\n' >pairs/$split.de
        printf 'the dog sleeps .\nthe dog\nempty\n' >pairs/$split.en
    done
    mine="--set translation_data=pairs --set translation_test=test --set translation_min_frequency=1 --set average_checkpoints=0"
    does 0 data translation $mine --rows 2
    says "training: 2 of 3 pairs used; 1 with an empty side and 0 too long, left out; "
    says "validation: 3 of 3 pairs used; 1 with an empty side and 0 too long, kept or cut; "
    does 0 data translation $mine --rows 2 --output pairs.npy
    says "pairs.npy: int32 [4, 2, 48]: tokens, targets, mask, source of translation, seed 1, training step 1"
    printf 'Hund der\n' >>pairs/test.de
    printf 'dog the\n' >>pairs/test.en
    does 0 data translation $mine --split test
    says "translation, seed 1, test: 4 rows of 48 tokens"
    says "  source   hund der </s>"
    says "  tokens   <s> dog the"
    says "  targets  dog the </s>"
    does 0 data translation $mine --split test --rows 4 --json
    has mask.3.2 1
    has mask.3.3 0
    refuses 2 "5 rows of test data: wanted at most 4, as many as task translation has" data translation $mine --split test --rows 5
    does 0 train translation $mine --set hidden_size=16 --set num_attention_heads=2 --set intermediate_size=16 --steps 1 --out told
    grep -q '^2 of 3 pairs to train on, .*; left out: 1 with an empty side, 0 too long$' err || complain "train does not say what it leaves out"
    printf 'one more\n' >>pairs/val.en
    refuses 1 "pairs/val.de has 3 lines and pairs/val.en 4" data translation $mine
    printf 'the\n\377\n\n' >pairs/train.en
    refuses 1 "pairs/train.en" data translation $mine
    grep -q 'line 2' err || complain "the line is not said"
    cp -r whole named
    echo '{}' >named/source.json
    refuses 2 "named/source.json would replace named/source.json" data index --run named --output named/source.json
    refuses 1 "there is no folder absent, which translation_data names" data translation --set translation_data=absent
    refuses 2 "translation_train is other, which does nothing with translation_data" train translation --set translation_train=other --out none
    refuses 2 "translation_target is fr" data translation --set translation_target=fr
}
finish
