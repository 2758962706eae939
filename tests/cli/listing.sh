# SPDX-License-Identifier: Apache-2.0
# The commands that `rotary compare --list` prints train the same runs as `rotary compare`, side by side by GNU parallel or
# xargs, stage by stage, and it takes them over.
array=$(realpath "$(dirname "$0")/../../examples/cluster/array.sbatch")
. "$(dirname "$0")/support.sh"
small=$(echo "$tiny_prefix" | tr '\n' ' ')

# side_by_side FILE: runs the commands of a file, two at a time.
if parallel --version 2>/dev/null | grep -q GNU; then
    side_by_side() { parallel --jobs 2 '{} --threads 1' <"$1" >out 2>err; }
else
    # Quotes within the lines are for a shell, and xargs has its own.
    side_by_side() { tr '\n' '\0' <"$1" | xargs -0 -P 2 -I '{}' sh -c '{} --threads 1' >out 2>err; }
fi

# lists STATUS ARGUMENTS...: writes the commands of a comparison to the file lines.
lists() {
    does "$@" --list && cp out lines
}
trains() {
    side_by_side lines || complain "a command of the list fails"
}

# same_runs FOLDER OTHER: the runs have the same configuration, weights and metrics, but for times, and for who trained them.
same_runs() {
    (cd "$2" && find . -name config.json | sort) >wanted
    (cd "$1" && find . -name config.json | sort) | cmp -s - wanted || complain "$1 and $2 have other runs"
    while read -r config; do
        run=$(dirname "$config")
        for file in model optimizer best; do
            cmp -s "$1/$run/$file.safetensors" "$2/$run/$file.safetensors" || complain "$run/$file.safetensors differs"
        done
        for folder in "$1" "$2"; do
            sed -E 's/"(seconds|tokens_per_second|checksum)":[^,}]*//g' "$folder/$run/metrics.jsonl" >metrics
            grep -v '"threads": \|"checksum": ' "$folder/$run/config.json" | cat - metrics >"said-$(basename "$folder" | tr -d " '")"
        done
        cmp -s said-* || complain "config.json or metrics.jsonl of $run differ"
        rm -f said-*
    done <wanted
}

# One stage: nothing is trained by the list, and all of it by its commands.
# shellcheck disable=SC2086 # lists of words
{
    plain="compare prefix $small --steps 3 --runs 2"
    does 0 $plain --out whole
    lists 0 $plain --out "it's listed"
    [ "$(wc -l <lines)" = 4 ] || complain "not one line a run"
    [ "$(head -n 1 lines)" = "$rotary train prefix --resume --out 'it'\''s listed/rope-1'" ] || complain "another line"
    grep -qx "4 runs are left; when done, this command without --list shows the results" err || complain "no word on what follows"
    [ ! -e "it's listed/rope-1/metrics.jsonl" ] || complain "--list trains"
    does 0 report "it's listed" # has no results yet
    sed -n 1p lines >first
    side_by_side first || complain "the first command fails"
    lists 0 $plain --out "it's listed" # only what is left
    [ "$(wc -l <lines)" = 3 ] || complain "a finished run is listed"
    trains
    lists 0 $plain --out "it's listed"
    [ ! -s lines ] || complain "finished runs are listed"
    grep -q "^no run is left" err || complain "no word that none is left"
    ! grep -q '"looks"' "it's listed/compare.json" || complain "results count as seen that were only listed"
    does 0 $plain --out "it's listed"
    [ "$(grep -c "finished before" err)" = 4 ] || complain "compare does not take the runs over"
    same_runs "it's listed" whole
    "$json_get" looks.0.seeds.1 <"it's listed/compare.json" | grep -qx 2 || complain "the results are not recorded as seen"
}

# More steps and another interval change the commands of runs that are there, and the options of all go with them.
# shellcheck disable=SC2086
{
    more="compare prefix $small --set log_every=2 --steps 5 --runs 3"
    does 0 $more --out whole
    lists 0 $more --out "it's listed"
    grep -qFx "$rotary train prefix --resume --set steps=5 --set log_every=2 --out 'it'\''s listed/roper-2'" lines ||
        complain "a run that is there has another command: $(cat lines)"
    grep -qFx "$rotary train prefix --resume --out 'it'\''s listed/roper-3'" lines || complain "a new run has another command: $(cat lines)"
    trains
    does 0 $more --out "it's listed"
    same_runs "it's listed" whole
    lists 0 compare prefix $small --runs 1 --threads 1 --isa scalar --tensorboard --out scalar
    [ "$(head -n 1 lines)" = "$rotary train prefix --resume --threads 1 --isa scalar --tensorboard --out scalar/rope-1" ] ||
        complain "options of the comparison are no options of its runs"
}

# The array script of examples/cluster saves its runs when it is told to, and the same lines resume them.
mkdir bin
printf '#!/bin/sh\necho "scontrol $*"\n' >bin/scontrol
chmod +x bin/scontrol
# shellcheck disable=SC2086
{
    long="compare prefix $small --set hidden_size=64 --set intermediate_size=128 --set evaluate_every=100 --steps 400 --runs 1"
    does 0 $long --out long
    lists 0 $long --out stopped
    PATH="$PWD/bin:$PATH" SLURM_ARRAY_TASK_ID=1 SLURM_CPUS_PER_TASK=2 SLURM_JOB_ID=7 bash "$array" lines 2 2 >out 2>err &
    for _ in $(seq 200); do
        [ ! -s stopped/rope-1/metrics.jsonl ] || [ ! -s stopped/roper-1/metrics.jsonl ] || break
        sleep 0.05
    done
    does 1 train prefix --resume --out stopped/rope-1 # another process is training there
    kill -TERM $!
    wait $! || complain "the array script fails when it is stopped"
    grep -qx "scontrol requeue 7" out || complain "the array script does not go back to the queue"
    lists 0 $long --out stopped
    [ "$(wc -l <lines)" = 2 ] || complain "a run that was stopped is not listed"
    trains
    same_runs stopped long
}

# A sweep comes first, and what is compared follows from it.
# shellcheck disable=SC2086
{
    swept="compare prefix $small --steps 3 --runs 2 --sweep learning_rate=1e-9,1e-2 --sweep-runs 1"
    does 0 $swept --out swept
    lists 0 $swept --out stages --json
    has stage '"sweep"'
    has runs.3.run '"roper,learning_rate=0.01-1000001"'
    has runs.3.steps_left 3
    has runs.3.command "\"$rotary train prefix --resume --out stages/sweep/roper,learning_rate=0.01-1000001\""
    [ ! -e stages/compare.json ] || complain "a comparison is described before its sweep is done"
    lists 0 $swept --out stages
    grep -q "^4 runs are left of the sweep; when done, this command again" err || complain "no word on the next stage"
    trains
    lists 0 $swept --out stages
    [ "$(grep -c " --out stages/r[a-z]*-[12]$" lines)" = 4 ] || complain "not the runs that follow from the sweep: $(cat lines)"
    trains
    does 0 $swept --out stages
    same_runs stages swept
}

# Seeds follow one another until there is a verdict.
# shellcheck disable=SC2086
{
    does 0 train prefix $small --steps 1 --out begun
    until="compare prefix $small --set init=begun --steps 6 --vary learning_rate=1e-9,1.0000001e-9,1e-2 --until 8"
    does 0 $until --out until
    rounds=0
    while lists 0 $until --out rounds && [ -s lines ] && [ $rounds -lt 12 ]; do
        rounds=$((rounds + 1))
        trains
    done
    [ $rounds -gt 1 ] || complain "there is no round after the first seeds"
    does 0 $until --out rounds
    same_runs rounds until
}

# What is planned and nobody has begun is left out when the plan changes, and refused where it would be another.
# shellcheck disable=SC2086
{
    lists 0 compare prefix $small --steps 3 --positions rope,roper,none --runs 3 --out planned
    sed -n 1p lines | sh >out 2>err
    lists 0 compare prefix $small --steps 3 --positions rope,roper --runs 1 --out planned
    [ "$(wc -l <lines)" = 1 ] || complain "a plan that nobody began is kept"
    refuses 1 "value_fraction is 1.0 in" compare prefix $small --steps 3 --set value_fraction=0.5 --runs 1 --out planned --list
    refuses 2 "--list and --dry-run are given" compare prefix --list --dry-run --out planned
    mkdir -p leftover/rope-1
    touch leftover/rope-1/model.safetensors
    refuses 1 "leftover/rope-1 holds files of a run but no config.json" compare prefix $small --runs 1 --out leftover --list
}
finish
