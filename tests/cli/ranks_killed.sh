# SPDX-License-Identifier: Apache-2.0
# A rank that is killed at any moment, while it begins, computes, exchanges, evaluates or saves: the run goes on from its
# folder on another number of ranks, and ends with the bits of one that nobody disturbed.
tests=$(realpath "$(dirname "$0")")
. "$tests/support.sh"
. "$tests/ranks_support.sh"
sharded="$tiny $wide --set shards=4 --set batch_size=4 --set dropout=0.1 --set evaluate_every=3 --set checkpoint_every=2"
# shellcheck disable=SC2086 # a list of words
does 0 train index $sharded --steps 250 --out undisturbed
number=1
ends=0
# shellcheck disable=SC2086
for trial in 1 2 3; do
    number=$(((number * 1103 + 12345) % 65536))
    ranks=$((2 << number / 7 % 2))
    resume=
    [ ! -s killed/config.json ] || resume=--resume
    mpirun -n $ranks "$rotary" train index $sharded --steps 250 --out killed $resume >"$scratch/out" 2>"$scratch/err" </dev/null &
    mpirun=$!
    sleep $((number % 3)).$((number / 16 % 10))
    process=$(process_of $((number / 64 % ranks)))
    [ -z "$process" ] || kill -KILL "$process"
    wait $mpirun && ends=$((ends + 1))
done
[ $ends -lt 3 ] || complain "no rank was killed before the run had ended"
resume=
[ ! -s killed/config.json ] || resume=--resume
# shellcheck disable=SC2086
does 0 train index $sharded --steps 250 --out killed $resume
same_weights killed undisturbed
finish
