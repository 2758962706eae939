# SPDX-License-Identifier: Apache-2.0
# Natural mistakes, each with what to type instead in its message.
. "$(dirname "$0")/support.sh"

tiny="--steps 1 --set warmup_steps=0 --set hidden_size=16 --set num_hidden_layers=1 --set num_attention_heads=1"
mkdir -p only
i=0
while [ $i -lt 200 ]; do
    printf 'line %d of the text\n\n' $i
    i=$((i + 1))
done >only/train.txt
# shellcheck disable=SC2086 # a list of words
{
    refuses 1 'there is no only/valid.txt: wanted the validation text of the task language, or --set language_validation= to hold' train language --set language_data=only
    does 0 train language --set language_data=only --set language_validation= $tiny --out held
    refuses 1 'language_data is only/train.txt, which is a file: wanted the folder that has it, and its name in language_train, or --text only/train.txt' train language --set language_data=only/train.txt
    refuses 1 'there is no folder data/english, which language_data names: texts do not come with the program, and docs/reference/data.md says where' compare language --preset small
    refuses 1 'there is no folder data/english, which masked_data names' train masked --preset small
    refuses 1 'there is no folder data/glue/MRPC, which classification_data names' compare classification --preset paper
    refuses 1 'there is no folder data/multi30k, which translation_data names' compare translation --preset paper

    does 0 compare prefix $tiny --runs 1 --out comparison
    refuses 1 'comparison is not the folder of a run, but has folders of runs: wanted one of them, such as comparison/rope-1' evaluate comparison
    refuses 1 "only/train.txt is a file, wanted a run's folder" evaluate only/train.txt
    refuses 1 'nowhere is not the folder of a run: there is no such folder' evaluate nowhere
    refuses 1 'comparison/rope-1 holds a run already: wanted --resume, which goes on with it, or another folder by --out' train prefix $tiny --out comparison/rope-1
    refuses 2 'comparison holds a comparison on the task prefix, wanted one on index: another folder by --out' compare index --out comparison

    does 0 train prefix $tiny --out comparison/rope-1 --resume --steps 3
    grep -q 'comparison/rope-1: resumed after step 1 of 3, 2 left' err || complain "resuming does not say what is left"
    does 0 compare prefix $tiny --steps 3 --runs 1 --out comparison

    # --dry-run says what is left and how long it takes, and writes nothing.
    does 0 compare prefix $tiny --steps 3 --runs 2 --out comparison --dry-run
    says "rope-1: finished"
    says "roper-2: 3 steps"
    grep -q '2 runs of 3 steps to train: about' err || complain "--dry-run does not say how long it takes"
    [ ! -e comparison/rope-2 ] || complain "--dry-run trains"
    does 0 compare prefix $tiny --runs 1 --out planned --dry-run --json --sweep learning_rate=1e-3,2e-3 --sweep-runs 3
    has runs.1.run '"roper-1"'
    has runs.1.steps_left 1
    has sweep_runs 12
    [ ! -e planned ] || complain "--dry-run writes a folder"

    # A preset of one's own is a file; its keys are checked as those of --set are.
    echo '{"task": "prefix", "steps": 1, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1}' >mine.json
    does 0 train prefix --preset mine.json
    grep -q '"hidden_size": *16' runs/prefix-mine-rope/config.json || complain "a preset of one's own is not applied"
    refuses 2 'the configuration has task prefix, wanted index' train index --preset mine.json
    echo '{"task": "prefix", "hiden_size": 16}' >wrong.json
    refuses 2 'wrong.json: there is no key "hiden_size"; did you mean "hidden_size"?' train prefix --preset wrong.json
    refuses 2 'there is no preset of task prefix named "quik", wanted paper or quick; did you mean "quick"?' train prefix --preset quik
    does 0 train prefix $tiny --threads 1000 --out many
    grep -q 'note: --threads 1000 is more than the' err || complain "too many threads are not said"
}
finish
