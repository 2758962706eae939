# SPDX-License-Identifier: Apache-2.0
# sh owners.sh ROTARY JSON_GET FAULTY: two hosts share a folder, on a file system whose locks hold on each of them alone. One
# trains in it, the other is refused, until the first is gone for long.
faulty=$(realpath "$3")
. "$(dirname "$0")/support.sh"
small=$(echo "$tiny_prefix" | tr '\n' ' ')
echo aaaa-aaaa >machine-a
echo bbbb-bbbb >machine-b

# on HOST ARGUMENTS...: runs the program on that host. It is exec, for the process to be the program.
on() {
    host=$1
    shift
    exec env FAULT=flock FAULTY_HOST="host-$host" FAULTY_MACHINE="$scratch/machine-$host" LD_PRELOAD="$faulty" "$program" "$@"
}
program=$rotary
on_b() {
    (on b "$@")
}
# begin OUT: starts a run on host a, and waits for its first lines.
begin() {
    # shellcheck disable=SC2086 # a list of words
    (on a train prefix $small --steps 1000000 --threads 1 --set checkpoint_every=0 --set evaluate_every=0 --out "$1") >begin.out 2>begin.err &
    process=$!
    for _ in $(seq 300); do
        ! grep -qs '"step":4,' "$1/metrics.jsonl" || return 0
        sleep 0.05
    done
    complain "a run does not begin"
}

begin run
rotary=on_b
refuses 1 "run is trained in by process $process on host-a, which was there" train prefix --resume --out run
grep -q "wait until 300 seconds have passed" err || complain "no word on how long to wait"
kill -TERM $process
wait $process
[ ! -h run/.owner ] || complain "a run that ended is still owned"
steps=$(sed -n 's/.*stopped after step \([0-9]*\) of.*/\1/p' begin.err)
does 0 train prefix --resume --steps $((steps + 2)) --out run

# A process that is killed leaves its name. On its own host, whose lock says so, it is gone; on others after a while.
begin killed
kill -KILL $process
wait $process 2>/dev/null
[ -h killed/.owner ] || complain "a run that is killed leaves no owner"
refuses 1 "killed is trained in by process" train prefix --resume --steps 9 --out killed
touch -h -d '200 seconds ago' killed/.owner
refuses 1 "killed is trained in by process" train prefix --resume --steps 9 --out killed
touch -h -d '400 seconds ago' killed/.owner
does 0 train prefix --resume --steps 9 --out killed
begin again
kill -KILL $process
wait $process 2>/dev/null
(on a train prefix --resume --steps 9 --out again) >out 2>err || complain "a host does not go on with its own run"

# One that was suspended for so long finds that another has taken over, or has been there, and writes nothing more.
for meanwhile in 20 1000000; do
    begin suspended-$meanwhile
    kill -STOP $process
    touch -h -d '400 seconds ago' suspended-$meanwhile/.owner
    (on b train prefix --resume --steps $meanwhile --out suspended-$meanwhile) >out 2>err &
    other=$!
    sleep 2.5 # as long as an owner does not look
    fingerprint suspended-20 >kept
    kill -CONT $process
    wait $process
    status=$?
    [ $status = 1 ] || complain "a run that another took over exits with $status"
    case $meanwhile in
    20) said="suspended-20/.owner was removed, and another process may have trained in this folder: nothing more is written" ;;
    *) said="suspended-$meanwhile/.owner says that process $other on host-b trains in this folder now: nothing more is written" ;;
    esac
    grep -qFx "rotary: $said" begin.err || complain "a run that another took over says: $(tail -n 1 begin.err)"
    fingerprint suspended-20 | cmp -s - kept || complain "a run that another took over writes"
    kill -TERM $other 2>/dev/null
    wait $other
done
[ $? = 143 ] || complain "who took a run over does not go on"
finish
