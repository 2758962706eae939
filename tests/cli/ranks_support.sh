# SPDX-License-Identifier: Apache-2.0
# Read by the tests of several ranks, after support.sh: skips them where there is no mpirun, or no MPI in the program.
command -v mpirun >/dev/null || { echo "skipped: there is no mpirun"; exit 77; }
does 0 info --json
case $("$json_get" libraries.MPI <"$scratch/out" 2>&1) in
*"Open MPI"*) ;;
*) echo "skipped: the program has no Open MPI" && exit 77 ;;
esac
# A model of more blocks than ranks (src/train/rank_update.h), so that each rank updates a part.
wide="--set hidden_size=64 --set intermediate_size=160 --set num_hidden_layers=2"
# More ranks than processors; as root, as CI is; and without a way to copy memory that containers forbid.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=true OMPI_MCA_btl_vader_single_copy_mechanism=none

# on RANKS STATUS ARGUMENTS...: mpirun ends with STATUS; what rank 0 prints is in the files out and err.
on() {
    ranks=$1 wanted=$2
    shift 2
    mpirun -n "$ranks" "$rotary" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    [ $got = "$wanted" ] || complain "on $ranks ranks, rotary $*: exit status $got, wanted $wanted"
}

# refuses_on RANKS STATUS TEXT ARGUMENTS...: one line of all ranks says why, with TEXT.
refuses_on() {
    ranks=$1 status=$2 text=$3
    shift 3
    on "$ranks" "$status" "$@"
    grep -qF -- "$text" "$scratch/err" || complain "on $ranks ranks, rotary $*: does not say \"$text\""
    [ "$(grep -c '^rotary: ' "$scratch/err")" = 1 ] || complain "on $ranks ranks, rotary $*: complains more than once"
}

# begin_on RANKS METRICS ARGUMENTS...: starts them, and waits until the run is at step 4. $mpirun is the process of
# mpirun, and rank N of them `process_of N`.
begin_on() {
    ranks=$1 metrics=$2
    shift 2
    mpirun -n "$ranks" "$rotary" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null &
    mpirun=$!
    tries=0
    until grep -qs '"step":4,' "$metrics"; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || { complain "on $ranks ranks, rotary $*: does not begin" && return 1; }
        sleep 0.05
    done
}

process_of() {
    for child in $(cat /proc/"$mpirun"/task/*/children); do
        tr '\0' '\n' </proc/"$child"/environ 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$child"
    done
}

# same_weights FOLDER REFERENCE: both have the same bits, of model and optimizer.
same_weights() {
    for file in model.safetensors optimizer.safetensors; do
        cmp -s "$1/$file" "$2/$file" || complain "$1/$file is not that of $2"
    done
}
