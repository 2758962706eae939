# SPDX-License-Identifier: Apache-2.0
# Inputs that never end, are huge, or are no files: refused in one line that names them, in seconds and in little memory.
. "$(dirname "$0")/support.sh"

npy good.npy '(3, 8)' 96
npy table.npy '(3, 4)' 48
npy heads.npy '(3, 1, 8)' 96
echo '{"head_dim": 8, "rope_theta": 100.0, "num_attention_heads": 1}' >good.json
# shellcheck disable=SC2086 # a list of words
does 0 train index $tiny --steps 2 --set checkpoint_every=1 --out good

# limited ARGUMENTS...: the program, with little memory (addresses include the stacks of its threads) and time. A sanitizer
# takes more addresses than there is memory.
program=$rotary
(ulimit -v 1500000 && "$program" --version) >out 2>&1 && limit=1500000 || limit=unlimited
limited() {
    (
        ulimit -v $limit
        exec timeout 20 "$program" "$@"
    )
}
rotary=limited
does 0 evaluate good

# make KIND FILE: what is no file, or no valid one.
make() {
    rm -rf "$2"
    case $1 in
    zero) ln -s /dev/zero "$2" ;;
    random) ln -s /dev/urandom "$2" ;;
    sparse) truncate -s 3G "$2" ;;
    folder) mkdir "$2" ;;
    pipe) mkfifo "$2" ;;
    nowhere) ln -s /nowhere/at/all "$2" ;;
    loop) ln -s "$(basename "$2")" "$2" ;;
    long) yes '{"step":1,"loss":1' | tr -d '\n' | head -c 5000000 >"$2" ;;
    nested) yes '[' | head -c 5000000 | tr -d '\n' >"$2" ;;
    esac
}

# What gives numbers to commands. That nobody writes to a pipe takes a second to know, so few commands try it.
for kind in zero random sparse folder nowhere loop long nested pipe; do
    for file in bad.npy bad.safetensors bad.json; do
        make $kind $file
    done
    for command in "frequencies --config" "decay --config" \
        "apply --input good.npy --output out.npy --config" \
        "permute --input good.npy --output out.npy --to half --config" \
        "attend --query heads.npy --key heads.npy --value heads.npy --output out.npy --rope"; do
        # shellcheck disable=SC2086
        refuses 1 bad.json $command bad.json
        [ $kind != pipe ] || break
    done
    for bad in bad.npy bad.safetensors bad.safetensors:name; do
        for command in "apply --config good.json --output out.npy --input" \
            "apply --config good.json --input good.npy --output out.npy --positions" \
            "apply --input good.npy --output out.npy --sin table.npy --cos" \
            "apply --input good.npy --output out.npy --cos table.npy --sin" \
            "attend --key heads.npy --value heads.npy --output out.npy --query"; do
            # shellcheck disable=SC2086
            refuses 1 "${bad%:*}" $command $bad
            [ $kind != pipe ] || break
        done
    done
    refuses 1 bad.npy permute --config good.json --input bad.npy --output out.npy --to half
    refuses 1 bad.safetensors permute --config good.json --input bad.safetensors --output out.safetensors --to half
    refuses 1 bad.safetensors permute --config good.json --input bad.safetensors --detect
done

# Nothing is read of a device, even of one that ends.
make zero bad.json
refuses 1 "bad.json is a device, wanted a file" frequencies --config bad.json
refuses 1 "/dev/null is a device, wanted a file" frequencies --config /dev/null
refuses 1 "/dev/null is a device, wanted a file" apply --config good.json --input /dev/null --output out.npy

# The files of runs and comparisons.
for kind in zero sparse folder nowhere loop long pipe; do
    for file in config.json metrics.jsonl model.safetensors optimizer.safetensors best.safetensors; do
        rm -rf bad
        cp -r good bad
        make $kind bad/$file
        case $file in
        config.json | metrics.jsonl) refuses 1 bad/$file report bad ;;
        model.safetensors) refuses 1 bad/$file evaluate bad ;;
        best.safetensors) refuses 1 bad/$file generate bad --checkpoint best --prompt "?s='" ;;
        esac
        refuses 1 bad/$file train index --resume --steps 3 --out bad
    done
    rm -rf bad
    mkdir bad
    make $kind bad/compare.json
    refuses 1 bad/compare.json report bad
    # shellcheck disable=SC2086
    refuses 1 bad/compare.json compare index $tiny --steps 1 --runs 1 --out bad
done

# A shape that fits no command is refused, and one that fits no memory, before any number is read.
npy bad.npy '(268435456, 16, 2)' 34359738368
refuses 1 "bad.npy has shape [268435456, 16, 2], wanted [3] or [1, 3]" apply --config good.json --input good.npy \
    --output out.npy --positions bad.npy
refuses 1 "GiB of memory; this machine has" apply --config good.json --input bad.npy --output out.npy
npy short.npy '(268435456, 16, 2)' 96
refuses 1 "short.npy has 96 bytes of numbers, its shape and type want 34359738368" apply --config good.json \
    --input short.npy --output out.npy
refuses 1 "GiB of memory; this machine has" permute --config good.json --input bad.npy --output out.npy --to half
[ ! -e out.npy ] && [ ! -e out.safetensors ] || complain "an input that is refused has a result"

# A text that takes fifty times its bytes in memory is not parsed.
rm -rf bad.safetensors
(printf '\000\000\000\004\000\000\000\000{"a":['; yes '[],' | tr -d '\n' | head -c 67108856; printf '[]}') >bad.safetensors
refuses 1 "bad.safetensors: its header would have 67108864 bytes, wanted at most" apply --config good.json \
    --input bad.safetensors --output out.npy

# What is written to a pipe is read, up to the same bounds.
rm -rf bad.json bad.npy
mkfifo bad.json bad.npy
(cat /dev/zero >bad.json 2>/dev/null) &
refuses 1 bad.json frequencies --config bad.json
(cat /dev/zero >bad.npy 2>/dev/null) &
refuses 1 bad.npy apply --config good.json --input bad.npy --output out.npy
(cat good.npy /dev/zero >bad.npy 2>/dev/null) &
refuses 1 "bad.npy has more bytes of numbers, its shape and type want 96" apply --config good.json --input bad.npy --output out.npy
(head -c 162 good.npy >bad.npy) &
refuses 1 "bad.npy has 95 bytes of numbers, its shape and type want 96" apply --config good.json --input bad.npy --output out.npy
(sleep 0.2; cat good.npy >bad.npy) &
(head -c 10 good.json; sleep 0.2; tail -c +11 good.json) >bad.json &
does 0 apply --config bad.json --input bad.npy --output out.npy
does 0 apply --config good.json --input good.npy --output wanted.npy
cmp out.npy wanted.npy || complain "numbers from a pipe are others"
"$program" frequencies --config /dev/stdin <good.json >out 2>err || complain "a configuration from standard input is not read"
has head_dim 8

# A pipe is written to if somebody reads it.
mkfifo page.html
refuses 1 "page.html is a pipe that nobody reads" report good --out page.html
(sleep 0.2; cat page.html >read.html) &
does 0 report good --out page.html
wait
does 0 report good --out whole.html
cmp read.html whole.html || complain "a page in a pipe is another"

# A line that is written without an end is no line of metrics.
rm -rf bad
cp -r good bad
truncate -s 3G bad/metrics.jsonl
refuses 1 "bad/metrics.jsonl" report bad
finish
