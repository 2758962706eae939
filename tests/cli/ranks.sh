# SPDX-License-Identifier: Apache-2.0
# Several ranks by mpirun: one run has the bits of one process, whatever their number; what stops one of them stops all,
# and what was saved goes on. A comparison is shared among them.
tests=$(realpath "$(dirname "$0")")
. "$tests/support.sh"

# A program started with others that it cannot talk to does not train beside them.
for variable in OMPI_COMM_WORLD_SIZE PMI_SIZE; do
    env $variable=2 "$rotary" train index --steps 1 --out beside >"$scratch/out" 2>"$scratch/err"
    [ $? = 1 ] || complain "a process of two that are no ranks trains alone"
    grep -q '^rotary: 2 processes were started together, but ' "$scratch/err" || complain "it does not say why not"
done
[ ! -e beside ] || complain "it makes a folder"

. "$tests/ranks_support.sh"
sharded="$tiny $wide --set shards=4 --set batch_size=4 --set dropout=0.1 --set evaluate_every=0"
# shellcheck disable=SC2086 # a list of words
one_run() {
    does 0 train index $sharded --steps 6 --out one
    on 2 0 train index $sharded --steps 6 --out two
    same_weights two one
    on 4 0 train index $sharded --steps 2 --out moved
    does 0 train index --resume --steps 4 --out moved
    on 2 0 train index --resume --steps 6 --out moved
    same_weights moved one
    refuses_on 3 1 "3 ranks were started: wanted a power of two" train index $sharded --steps 2 --out no
    refuses_on 2 1 "shards is 1, but 2 ranks were started" train index $tiny --steps 2 --out no
    refuses_on 2 1 "two holds a run already" train index $sharded --steps 6 --out two
    [ ! -e no ] || complain "a run that is refused has a folder"
}
one_run

# A signal to any rank is one to all, and mpirun passes on its own.
endless="$sharded --steps 1000000 --set checkpoint_every=0"
for rank in 0 1; do
    # shellcheck disable=SC2086
    begin_on 2 "stopped-$rank/metrics.jsonl" train index $endless --out stopped-$rank
    kill -TERM "$(process_of $rank)"
    wait $mpirun
    [ $? = 143 ] || complain "ranks of which rank $rank had SIGTERM do not end by it"
    grep -q "^rotary: stopped after step [0-9]* of 1000000 and saved; " "$scratch/err" || complain "they do not say so"
    [ -s stopped-$rank/optimizer.safetensors ] || complain "they save nothing"
done

# A rank that is killed ends the others, and the folder goes on from its checkpoint, on another number of ranks.
# shellcheck disable=SC2086
begin_on 4 killed/metrics.jsonl train index $sharded --steps 1000000 --set checkpoint_every=2 --out killed
kill -KILL "$(process_of 3)"
wait $mpirun && complain "ranks go on without one that was killed"
saved=$(grep -c . killed/metrics.jsonl)
does 0 train index --resume --steps $((saved + 2)) --out killed
# shellcheck disable=SC2086
does 0 train index $sharded --steps $((saved + 2)) --set checkpoint_every=2 --out undisturbed
same_weights killed undisturbed

# A comparison.
compared="$tiny --steps 4 --runs 2"
# shellcheck disable=SC2086
does 0 compare index $compared --jobs 1 --out alone
# shellcheck disable=SC2086
on 3 0 compare index $compared --out shared
for run in rope-1 roper-1 rope-2 roper-2; do
    same_weights shared/$run alone/$run
done
# shellcheck disable=SC2086
refuses_on 2 2 "--jobs is for one process, and 2 ranks train a run each" compare index $compared --jobs 2 --out no
# A rank that is killed ends it, SIGUSR1 to mpirun saves it, and the same command finishes it, on any number of ranks.
for signal in KILL USR1; do
    # shellcheck disable=SC2086
    begin_on 2 $signal/roper-1/metrics.jsonl compare index $tiny --steps 1000000 --runs 1 --set checkpoint_every=2 --out $signal
    case $signal in
    KILL) kill -KILL "$(process_of 1)" ;;
    USR1) kill -USR1 $mpirun ;;
    esac
    wait $mpirun && complain "a comparison goes on after SIG$signal"
done
grep -q '^rotary: stopped with 0 of 2 runs done, all saved in USR1; ' "$scratch/err" || complain "it does not say so"
[ -s USR1/roper-1/optimizer.safetensors ] || complain "it saves nothing"
finish
