# SPDX-License-Identifier: Apache-2.0
# What signals do: train and compare save and exit with 128 and the signal's number; a second signal ends them at once.
. "$(dirname "$0")/support.sh"

# begin METRICS ARGUMENTS...: starts rotary, and waits until its run is at step 4.
begin() {
    metrics=$1
    shift
    "$rotary" "$@" >out 2>err &
    process=$!
    wait_for grep -q '"step":4,' "$metrics"
}

# wait_for COMMAND...: until it succeeds, for half a minute at most.
wait_for() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || return 1
        sleep 0.05
    done
}

# ends STATUS WHAT: the process that began does, with that status.
ends() {
    wait $process
    got=$?
    [ $got = "$1" ] || complain "$2: exit status $got, wanted $1"
}

# A run is saved, a line says so, and it can be resumed.
endless="$tiny --steps 1000000 --set checkpoint_every=0"
for signal in INT TERM HUP; do
    case $signal in
    INT) wanted=130 ;;
    TERM) wanted=143 ;;
    HUP) wanted=129 ;;
    esac
    # shellcheck disable=SC2086 # a list of words
    begin long-$signal/metrics.jsonl train index $endless --out long-$signal --profile
    kill -$signal $process
    ends $wanted "a run interrupted by SIG$signal"
    grep -q "^rotary: stopped after step [0-9]* of 1000000 and saved; to resume: rotary train index --resume --out long-$signal\$" err ||
        complain "a run interrupted by SIG$signal does not say where it is"
    says "attention, backward"
    done=$(sed -n 's/^rotary: stopped after step \([0-9]*\) .*/\1/p' err)
    does 0 train index --resume --steps $((done + 2)) --out long-$signal --json
    has first_step "$done"
done

# A comparison likewise.
# shellcheck disable=SC2086
begin broken/rope-1/metrics.jsonl compare index $endless --runs 1 --jobs 1 --out broken
kill -HUP $process
ends 129 "a comparison interrupted by SIGHUP"
grep -q '^rotary: stopped in run 1 of 2 and saved in broken; the same command resumes it$' err ||
    complain "an interrupted comparison does not say how to resume"
[ -s broken/rope-1/model.safetensors ] || complain "an interrupted comparison saves nothing"
# Of runs side by side all are saved.
# shellcheck disable=SC2086
begin beside/rope-1/metrics.jsonl compare index $endless --runs 1 --jobs 2 --threads 2 --out beside
wait_for grep -q . beside/roper-1/metrics.jsonl || complain "two jobs do not train two runs"
kill -TERM $process
ends 143 "two jobs interrupted by SIGTERM"
grep -q '^rotary: stopped with 0 of 2 runs done, all saved in beside; the same command resumes them$' err ||
    complain "two jobs that are interrupted do not say how to resume"
for run in rope-1 roper-1; do
    [ -s beside/$run/model.safetensors ] || complain "of two jobs that are interrupted $run is not saved"
done

# A second signal, of the same kind or another, ends the program before it can save: here in a step of a minute.
for second in TERM INT; do
    # shellcheck disable=SC2086
    "$rotary" train index $tiny --set checkpoint_every=0 --steps 2 --out twice-$second --set gradient_accumulation_steps=100000 >out 2>err &
    process=$!
    # The file of metrics is opened last before the first step, which the pause lets begin.
    wait_for test -e twice-$second/metrics.jsonl || complain "a run does not begin"
    sleep 0.5
    kill -TERM $process
    sleep 0.3
    before=$(date +%s)
    kill -$second $process
    [ $second = TERM ] && wanted=143 || wanted=130
    ends $wanted "SIG$second after SIGTERM"
    [ $(($(date +%s) - before)) -lt 10 ] || complain "a second signal does not end a run at once"
    [ ! -s err ] || complain "a run that ends at once says that it saved"
done

# What ignores SIGHUP goes on.
trap '' HUP
# shellcheck disable=SC2086
begin ignored/metrics.jsonl train index $endless --out ignored
trap - HUP
kill -HUP $process
sleep 0.2
step=$(sed -n '$s/{"step":\([0-9]*\),.*/\1/p' ignored/metrics.jsonl)
wait_for grep -q "\"step\":$((${step:-0} + 3))," ignored/metrics.jsonl || complain "SIGHUP stops a program that ignores it"
kill -TERM $process
ends 143 "a run that ignored SIGHUP"

# A run that is suspended goes on as if nothing had been, and nobody else trains in its folder meanwhile.
short="$tiny --steps 400 --set checkpoint_every=50 --set evaluate_every=100"
# shellcheck disable=SC2086
{
    does 0 train index $short --out steady
    begin suspended/metrics.jsonl train index $short --out suspended
    for pause in 1 2 3; do
        kill -STOP $process 2>/dev/null
        sleep 0.2
        if [ $pause = 1 ] && "$rotary" train index --resume --out suspended >other.out 2>other.err; then
            complain "two processes train in a folder"
        fi
        kill -CONT $process 2>/dev/null
        sleep 0.1
    done
    ends 0 "a run that was suspended"
}
grep -q "another process is training in suspended" other.err || complain "no word on who trains in the folder: $(cat other.err)"
for file in model optimizer best; do
    cmp steady/$file.safetensors suspended/$file.safetensors || complain "a suspended run has another $file.safetensors"
done

# A command that has nothing to save ends at once.
# shellcheck disable=SC2086
"$rotary" bench train --task index $tiny --steps 10000 >out 2>err &
process=$!
sleep 0.5
kill -TERM $process
ends 143 "a benchmark, by SIGTERM"
# So is tokenising; what is done of it stays.
has_partial() {
    ls text/*.partial >/dev/null 2>&1
}
mkdir text
yes 'The man saw a small dog near the river, and the woman read a book.' | head -c 60000000 >text/train.txt
corpus="--set masked_data=text --set masked_boundary=line --set masked_validation= --set sequence_length=32"
# shellcheck disable=SC2086
"$rotary" train masked $corpus --out words --threads 1 >out 2>err &
process=$!
wait_for has_partial
kill -INT $process
ends 130 "tokenising that is interrupted"
grep -q '^rotary: tokenising text/train.txt was interrupted$' err || complain "interrupted tokenising does not say so"
has_partial || complain "nothing is left of interrupted tokenising"
[ ! -e words ] || complain "interrupted tokenising leaves a run"

finish
