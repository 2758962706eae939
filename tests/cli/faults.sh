# SPDX-License-Identifier: Apache-2.0
# sh faults.sh ROTARY JSON_GET FAULTY [SEED | all]: calls of the system that fail, one after the other, while a run is
# trained, compared, reported and exported. One line says what failed, nothing is half written, and the same command, or
# --resume, ends with the bytes of a run in which nothing failed. Some faults are drawn at random, or all are tried.
faulty=$(realpath "$3")
. "$(dirname "$0")/support.sh"
seed=${4:-1}
small=$(echo "$tiny_prefix" | tr '\n' ' ')
train="train prefix $small --threads 1 --steps 4 --set checkpoint_every=2 --set evaluate_every=2"
tried=0

# counts ARGUMENTS...: runs the command and writes how often each call is made to the file counts.
counts() {
    LD_PRELOAD=$faulty "$rotary" "$@" >out 2>err </dev/null || complain "rotary $*: fails where nothing does"
    sed -n 's/^fault //p' err >counts
}

# drawn CALL MOST: the numbers of the calls at which to fail: all, or so many of them.
drawn() {
    count=$(sed -n "s/^$1 //p" counts)
    if [ "$seed" = all ]; then
        seq 0 $((count - 1))
    else
        awk -v n="$count" -v most="$2" -v seed="$seed$count" 'BEGIN {
            srand(seed)
            for (i = 0; i < n; i++) if (rand() * (n - i) < most - taken) { print i; taken++ }
        }'
    fi
}

# with_fault FAULT ARGUMENTS...: runs the command. It ends as it should, or fails and says so in one line; $status.
with_fault() {
    fault=$1
    shift
    tried=$((tried + 1))
    FAULT=$fault LD_PRELOAD=$faulty "$rotary" "$@" >out 2>err </dev/null
    status=$?
    case "$status $fault" in
    "0 "* | "137 "*kill) ;;
    "1 "*)
        [ "$(grep -c '^rotary: ' err)" = 1 ] || complain "$fault: rotary $* says $(grep -c '^rotary: ' err) lines"
        [ ! -s out ] || complain "$fault: rotary $* fails, and prints results"
        ;;
    *) complain "$fault: rotary $* exits with $status" ;;
    esac
}

# is_whole RUN: the run has the files of the run in which nothing failed, and no others.
is_whole() {
    for file in model optimizer best; do
        cmp -s "$1/$file.safetensors" whole/$file.safetensors || complain "$fault: $1/$file.safetensors differs"
    done
    sed -E 's/"(seconds|tokens_per_second|checksum)":[^,}]*//g' "$1/metrics.jsonl" | cmp -s - metrics || complain "$fault: $1/metrics.jsonl differs"
    (cd "$1" && ls -A) | cmp -s - names || complain "$fault: $1 has other files: $(ls -A "$1" | tr '\n' ' ')"
}

# ---- training ----

# Without a word on what is left of it, a run that failed goes on to the same bits; so does one that is killed.
# shellcheck disable=SC2086 # lists of words
survives() {
    rm -rf run
    with_fault "$1" $train --out run
    again=$train
    [ ! -e run/config.json ] || again="train prefix --resume --threads 1"
    does 0 $again --out run || complain "after $1 (exit status $status) the run cannot be resumed"
    is_whole run
}
# shellcheck disable=SC2086
{
    does 0 $train --out whole
    sed -E 's/"(seconds|tokens_per_second|checksum)":[^,}]*//g' whole/metrics.jsonl >metrics
    (cd whole && ls -A) >names
    counts $train --out counted
}
no_space=28 input_output=5
for call in create open read write fsync rename mkdir close; do
    for number in $(drawn $call 6); do survives "$call $number $input_output"; done
done
for call in create write fsync rename; do
    for number in $(drawn $call 3); do survives "$call $number+ $no_space"; done
done
for call in create write fsync rename close; do
    for number in $(drawn $call 5); do survives "$call $number kill"; done
done
bytes=$(cat whole/* | wc -c)
for room in 0 1 1000 5000 20000 40000 $((bytes - 1)) $((2 * bytes)); do survives "bytes $room $no_space"; done
for how in "write 0+ half" "write 0+ again" "read 0+ half" "read 0+ again"; do
    survives "$how"
    [ $status = 0 ] || complain "$how: a run fails"
done

# A file system that is full for long: each attempt fails, and no attempt makes matters worse.
# shellcheck disable=SC2086
{
    rm -rf run
    for room in 3000 9000 20000 30000 60000; do
        again=$train
        [ ! -e run/config.json ] || again="train prefix --resume --threads 1"
        with_fault "bytes $room $no_space" $again --out run
    done
    again=$train
    [ ! -e run/config.json ] || again="train prefix --resume --threads 1"
    does 0 $again --out run
    is_whole run
}

# A disk that is full, and then is not.
stop_disk() {
    umount "$scratch/disk" 2>/dev/null
    rm -rf "$scratch"
}
mkdir disk
if mount -t tmpfs -o size=4k tmpfs disk 2>/dev/null; then
    trap stop_disk EXIT
    for size in 8k 16k 24k 32k 48k; do
        rm -rf disk/run
        mount -o remount,size=$size disk
        # shellcheck disable=SC2086
        with_fault "disk of $size" $train --out disk/run
        [ $status = 0 ] || grep -q "No space left on device" err || complain "$fault: no word on the full disk"
        mount -o remount,size=10m disk
        again=$train
        [ ! -e disk/run/config.json ] || again="train prefix --resume --threads 1"
        # shellcheck disable=SC2086
        does 0 $again --out disk/run
        is_whole disk/run
    done
else
    echo "no tmpfs can be mounted here: a full disk is one that the library makes"
fi

# ---- other commands ----

# keeps MADE CALLS ARGUMENTS...: when a call fails, the file that the command makes is as it was or is made, and the same
# command then makes it.
keeps() {
    made=$1 calls=$2
    shift 2
    rm -f "$made"
    counts "$@"
    cp "$made" made.whole
    for call in $calls; do
        for number in $(drawn "$call" 3); do
            for what in $no_space kill; do
                echo old >"$made"
                with_fault "$call $number $what" "$@"
                cmp -s "$made" made.whole || echo old | cmp -s - "$made" || complain "$fault: rotary $* leaves a part of $made"
                [ $status != 0 ] || cmp -s "$made" made.whole || complain "$fault: rotary $* succeeds without $made"
                does 0 "$@"
                cmp -s "$made" made.whole || complain "after $fault rotary $* makes another $made"
                [ "$(find . -name '*.partial' | wc -l)" = 0 ] || complain "after $fault rotary $* leaves $(find . -name '*.partial')"
            done
        done
    done
}
writing="create write fsync rename close"
echo '{"head_dim": 8, "rope_theta": 100.0, "num_attention_heads": 1}' >config.json
npy in.npy '(3, 8)' 96
keeps page.html "$writing open read" report whole --out page.html
keeps out.npy "$writing" apply --config config.json --input in.npy --output out.npy
documents text.txt 40
keeps words.json "$writing" tokenize train --input text.txt --type words --model words.json

# A comparison that is cut short goes on to the same runs.
# shellcheck disable=SC2086
{
    compare="compare prefix $small --threads 1 --steps 2 --runs 1 --jobs 1"
    does 0 $compare --out pair
    counts $compare --out counted-pair
    for call in $writing; do
        for number in $(drawn $call 3); do
            for what in $no_space kill; do
                rm -rf cut
                with_fault "$call $number $what" $compare --out cut
                does 0 $compare --out cut || complain "after $fault the comparison cannot be resumed"
                for run in rope-1 roper-1; do
                    cmp -s cut/$run/model.safetensors pair/$run/model.safetensors || complain "after $fault $run differs"
                done
            done
        done
    done
}
echo "$tried faults"
finish
