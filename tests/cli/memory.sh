# SPDX-License-Identifier: Apache-2.0
# Memory that is refused, at any one place: one line that says so, or the whole result, never a part of it.
failing=$(realpath "$3")
. "$(dirname "$0")/support.sh"
echo '{"head_dim": 8, "rope_theta": 100.0, "num_attention_heads": 1}' >config.json
header='{"a.q_proj.weight":{"dtype":"U8","shape":[8,1],"data_offsets":[0,8]}}'
# shellcheck disable=SC2059 # an octal escape is made
printf "\\$(printf %03o ${#header})\\0\\0\\0\\0\\0\\0\\0${header}abcdefgh" >model.safetensors

mkdir run
echo '{"format": 2, "task": "prefix", "position": "rope", "seed": 1, "steps": 1}' >run/config.json
echo '{"step":1,"evaluation":{"correct":0,"problems":0,"loss":2,"accuracy":0,"seconds":1}}' >run/metrics.jsonl

# holds_out ARGUMENTS...: whichever allocation fails, the command fails or does what it does. $made is the file it
# writes.
holds_out() {
    LD_PRELOAD=$failing "$rotary" "$@" >whole 2>err || complain "rotary $*: fails"
    [ ! -e $made ] || mv $made whole.made
    allocations=$(sed -n 's/ allocations$//p' err)
    [ "${allocations:-0}" -gt 20 ] || complain "rotary $*: ${allocations:-no} allocations are counted"
    which=0
    while [ $which -lt "${allocations:-0}" ]; do
        FAILING_ALLOCATION=$which LD_PRELOAD=$failing "$rotary" "$@" >out 2>err
        case $? in
        0)
            cmp -s out whole || complain "rotary $*: another result without allocation $which"
            [ ! -e $made ] || cmp -s $made whole.made ||
                complain "rotary $*: another file without allocation $which"
            ;;
        1)
            [ "$(grep -c '^rotary: ' err)" = 1 ] ||
                complain "rotary $*: fails without allocation $which, and does not say why"
            ;;
        *) complain "rotary $*: ends otherwise without allocation $which" ;;
        esac
        rm -f $made
        which=$((which + 1))
    done
}
printf 'A man, in 1-2 hats.\nTwo dogs ("big") run\n' >ref.txt
printf 'a man in 1-2 HATS.\nTwo dogs (small) run\n' >one.txt
made=none
holds_out bleu ref.txt one.txt --metrics bleu,chrf --lowercase --confidence --confidence-n 9 --threads 1 --json
holds_out frequencies --config config.json --json
made=made.safetensors
holds_out permute --config config.json --input model.safetensors --to half --output $made
holds_out decay --config config.json --distance 20 --json
made=made.svg
holds_out decay --position alibi --heads 2 --distance 20 --json --picture $made
made=made.html
holds_out report run --out $made
echo '{"format": 2, "position": "rope", "step": 1, "checkpoint": "last", "seed": 1, "sequences": 2, "length": 0, "scaling": "none",
 "kinds": [{"kind": "decoder", "distance": [0, 1], "pairs": [[4, 2]], "score": [[[1, 2]]], "weight": [[[1, 2]]], "bias": [[[1, 2]]],
 "query": [0, 1], "queries": [[2, 2]], "entropy": [[[0, 0.5]]], "output_norm": [[[1, 2]]]}]}' \
    >run/decay.json
holds_out report run --out $made

# A training has thousands of allocations, of which some are drawn. Whichever fails, the run can be resumed.
seed=${4:-1} most=${5:-24}
small=$(echo "$tiny_prefix" | tr '\n' ' ')
train="train prefix $small --threads 1 --steps 4 --set checkpoint_every=2 --set evaluate_every=2"
# shellcheck disable=SC2086 # lists of words
{
    LD_PRELOAD=$failing "$rotary" $train --out trained >out 2>err || complain "a training fails where nothing does"
    allocations=$(sed -n 's/ allocations$//p' err)
    for which in $(awk -v n="${allocations:-0}" -v most="$most" -v seed="$seed" 'BEGIN { srand(seed); while (most--) print int(rand() * n) }'); do
        rm -rf again
        FAILING_ALLOCATION=$which LD_PRELOAD=$failing "$rotary" $train --out again >out 2>err
        got=$?
        [ $got -le 1 ] && [ "$(grep -c '^rotary: ' err)" = $got ] || complain "a training without allocation $which ends with $got"
        resume=$train
        [ ! -e again/config.json ] || resume="train prefix --resume --threads 1"
        does 0 $resume --out again
        for file in model optimizer best; do
            cmp -s again/$file.safetensors trained/$file.safetensors || complain "without allocation $which $file.safetensors differs"
        done
    done
}
finish
