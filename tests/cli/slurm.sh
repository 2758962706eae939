# SPDX-License-Identifier: Apache-2.0
# examples/cluster/array.sbatch on a controller and a node of Slurm that this test starts.
# A time limit interrupts two runs, which go back to the queue and end with the weights of runs that nothing interrupted.
array=$(realpath "$(dirname "$0")/../../examples/cluster/array.sbatch")
for program in munged slurmctld slurmd sbatch squeue scontrol bash; do
    command -v $program >/dev/null || { echo "skipped: $program is missing"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: slurmd wants to be root"; exit 77; }
. "$(dirname "$0")/support.sh"
small=$(echo "$tiny_prefix" | tr '\n' ' ')

# within SECONDS COMMAND...: whether the command succeeds by then.
within() {
    tries=$(($1 * 2))
    shift
    while [ $tries -gt 0 ]; do
        ! "$@" >/dev/null 2>&1 || return 0
        tries=$((tries - 1))
        sleep 0.5
    done
    return 1
}

# ---- a cluster of one node on the loopback ----

stop_cluster() {
    for daemon in slurmd slurmctld munged; do
        [ -s $daemon.pid ] || continue
        pid=$(cat $daemon.pid)
        kill "$pid" && within 20 test ! -e "/proc/$pid"
    done
    rm -rf "$scratch"
}
trap stop_cluster EXIT
host=$(hostname -s)
port=$((20000 + $$ % 20000))
mkdir state spool
dd if=/dev/urandom of=munge.key bs=1024 count=1 2>/dev/null
chmod 400 munge.key
chmod 755 "$scratch" # munged wants its socket to be reached
munged --key-file="$scratch/munge.key" --socket="$scratch/munge.socket" --pid-file="$scratch/munged.pid" \
    --log-file="$scratch/munged.log" --seed-file="$scratch/munge.seed" || { echo "skipped: munged does not start"; exit 77; }
# A job that goes back to the queue waits for as long as credentials last, two minutes if nothing is said.
cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$scratch/slurm.conf"
slurmctld -f "$SLURM_CONF" >slurmctld.out 2>&1
slurmd -f "$SLURM_CONF" >slurmd.out 2>&1

is_idle() { sinfo -h -o %T | grep -qx idle; }
is_empty() { [ -z "$(squeue -h)" ]; }
within 20 is_idle || { echo "skipped: Slurm does not start here"; tail -n 3 slurmctld.log slurmd.log; exit 77; }

# ---- an array ----

# Slurm looks at limits every half minute, and with 50 seconds to save of a minute it interrupts when it looks first. The
# runs take more than that. Once interrupted they get the time that they need.
# shellcheck disable=SC2086 # a list of words
{
    work="$small --set log_every=1000 --set evaluate_every=0 --set hidden_size=64 --set intermediate_size=128"
    timeout -s TERM 4 "$rotary" train prefix $work --steps 4000000 --threads 1 --out speed >out 2>err
    taken=$(sed -n 's/.*stopped after step \([0-9]*\) of .*/\1/p' err)
    [ "${taken:-0}" -gt 0 ] || complain "no measure of speed"
    compare="compare prefix $work --steps $((${taken:-1000} * 10)) --runs 1"
    does 0 $compare --out limited --list && cp out lines
    sbatch --time=1 --signal=B:TERM@50 --cpus-per-task="$(nproc)" --array=1-1 --output=task.out "$array" lines 2 2 >job ||
        complain "sbatch refuses the array"
    within 60 grep -q "back to the queue" task.out || complain "nothing was interrupted: $(cat task.out)"
    scontrol update JobId="$(tr -cd 0-9 <job)_1" TimeLimit=10 || complain "the time limit stays"
    grep -q "stopped after step" task.out || complain "the runs were not saved"
    "$rotary" $compare --jobs 2 --out whole >out 2>err || complain "the runs without an interruption fail"
    within 120 is_empty || complain "the array does not end: $(squeue)"
    [ "$(grep -c ": resumed after step " task.out)" -ge 2 ] || complain "the runs were not resumed: $(cat task.out)"
    does 0 $compare --out limited --list
    [ ! -s out ] || complain "runs are left"
    for file in rope-1/model rope-1/optimizer roper-1/model roper-1/optimizer; do
        cmp "limited/$file.safetensors" "whole/$file.safetensors" || complain "$file differs"
    done
}

# A bundle has so many lines, the last has the rest, and a run that fails does not end the others.
# shellcheck disable=SC2086
{
    does 0 compare prefix $small --steps 2 --positions rope,roper,none --runs 1 --out bundles --list && cp out lines
    sed -i '1s/rope-1/nowhere/' lines
    sbatch --time=1 --cpus-per-task=1 --array=1-2 --output=bundle-%a.out "$array" lines 2 >job || complain "sbatch refuses the array"
    within 60 is_empty || complain "the array does not end: $(squeue)"
    grep -q "there is no run in bundles/nowhere" bundle-1.out || complain "the first line is not in the first task"
    [ -s bundles/roper-1/model.safetensors ] || complain "a run that fails ends the others"
    [ -s bundles/none-1/model.safetensors ] || complain "the last line is not trained"
    [ "$(scontrol show job -o | grep -c "JobState=FAILED")" = 1 ] || complain "a task whose run fails is no failure"
}
finish
