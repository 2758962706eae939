# SPDX-License-Identifier: Apache-2.0
# sh damage.sh ROTARY JSON_GET [SEED [FLIPS]]: files of a run of which a bit is flipped, the end is cut off, a block is zero or
# something is added, at places drawn at random. Whatever reads them refuses in one line that names the file, or does as
# with the file as it was, because the damage is in nothing that it needs.
. "$(dirname "$0")/support.sh"
seed=${3:-1} flips=${4:-6}
small=$(echo "$tiny_prefix" | tr '\n' ' ')
tried=0

# number MOST: one that is drawn, below it.
number() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    number=$((seed / 8 % $1))
}

# damage HOW FILE: at a place that is drawn.
damage() {
    size=$(wc -c <"$2")
    number "$size"
    at=$number
    case $1 in
    flip)
        number 8
        byte=$(od -An -tu1 -j "$at" -N 1 "$2" | tr -d ' ')
        # shellcheck disable=SC2059 # an octal escape is made
        printf "\\$(printf %03o $((byte ^ (1 << number))))" | dd of="$2" bs=1 seek="$at" conv=notrunc 2>/dev/null
        ;;
    cut) truncate -s "$at" "$2" ;;
    zero) dd if=/dev/zero of="$2" bs=1 seek="$at" count=$((size - at < 64 ? size - at : 64)) conv=notrunc 2>/dev/null ;;
    add) printf 'added' >>"$2" ;;
    empty) : >"$2" ;;
    esac
}

# What a command says, without times.
said() {
    sed -E '/"(seconds|ratio|tokens_per_second)"/d' out | rounded
}
results() {
    (cd bad && sha256sum ./*.safetensors 2>/dev/null; sed -E 's/"(seconds|tokens_per_second|checksum)":[^,}]*//g' metrics.jsonl)
}

# tries HOW FILE: each command, on a copy of the run with the damage.
tries() {
    i=0
    for command in "train prefix --resume --steps 6 --threads 1 --out bad --json" "evaluate bad --json" "evaluate bad --checkpoint best --json" \
        "report bad --json --out page.html"; do
        i=$((i + 1))
        rm -rf bad
        cp -r damaged bad
        # shellcheck disable=SC2086
        "$rotary" $command >out 2>err </dev/null
        status=$?
        tried=$((tried + 1))
        case $status in
        0)
            # A run whose metrics end early is one that still trains.
            [ $i != 4 ] || ! grep -q '"unfinished": 1' out || continue
            said | cmp -s - "said$i" || complain "$1 at $at of $2: rotary $command has another result"
            [ $i != 1 ] || results | cmp -s - results || complain "$1 at $at of $2: rotary $command trains otherwise"
            ;;
        1)
            [ "$(grep -c '^rotary: ' err)" = 1 ] || complain "$1 at $at of $2: rotary $command does not say in one line what is wrong"
            # A configuration is found to be another than that of a checkpoint, which is named then.
            grep -qF "bad/$2" err || { [ "$2" = config.json ] && grep -q 'bad/[a-z]*.safetensors and' err; } || complain "$1 at $at of $2: rotary $command does not name the file"
            ;;
        *) complain "$1 at $at of $2: rotary $command exits with $status" ;;
        esac
    done
}

# shellcheck disable=SC2086
does 0 train prefix $small --threads 1 --steps 4 --set checkpoint_every=2 --set evaluate_every=2 --out run
cp -r run damaged
rm -f said* results
i=0
for command in "train prefix --resume --steps 6 --threads 1 --out bad --json" "evaluate bad --json" "evaluate bad --checkpoint best --json" \
    "report bad --json --out page.html"; do
    i=$((i + 1))
    rm -rf bad
    cp -r run bad
    # shellcheck disable=SC2086
    does 0 $command
    said >said$i
    [ $i != 1 ] || results >results
done
for file in config.json metrics.jsonl model.safetensors optimizer.safetensors best.safetensors; do
    for how in $(yes flip | head -n "$flips") cut cut zero add empty; do
        cp run/$file damaged/$file
        damage "$how" damaged/$file
        ! cmp -s run/$file damaged/$file || continue
        tries "$how" $file
    done
    cp run/$file damaged/$file
done
echo "$tried tries"
finish
