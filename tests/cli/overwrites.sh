# SPDX-License-Identifier: Apache-2.0
# No result replaces what it is made from, by whatever name.
. "$(dirname "$0")/support.sh"

mkdir in
for name in query key value past_key past_value mask positions cos sin out.npy.partial config; do
    npy in/$name.npy '(3, 1, 8)' 96
done
mv in/out.npy.partial.npy in/out.npy.partial
npy in/positions.npy '(3,)' 12
npy in/cos.npy '(3, 4)' 48
npy in/sin.npy '(3, 4)' 48
npy in/mask.npy '(3, 6)' 72
npy in/past_key.npy '(3, 1, 8)' 96
echo '{"head_dim": 8, "rope_theta": 100.0, "num_attention_heads": 1}' >in/config.npy
fingerprint in >kept

# keeps NAME ARGUMENTS...: with OUTPUT in place of an output, the input in/NAME is not replaced under any name.
keeps() {
    name=$1
    shift
    rm -rf links
    mkdir links
    ln -s ../in/"$name" links/soft.npy
    ln in/"$name" links/hard.npy
    ln -s ../in links/folder
    for output in in/"$name" ./in//"$name" "$PWD/in/$name" links/soft.npy links/hard.npy links/folder/"$name"; do
        arguments=
        for argument in "$@"; do
            [ "$argument" != OUTPUT ] || argument=$output
            arguments="$arguments $argument"
        done
        # shellcheck disable=SC2086 # a list of words
        refuses 2 "$output would replace in/$name" $arguments
    done
    fingerprint in | cmp -s - kept || complain "$*: an input is changed"
}

apply="apply --config in/config.npy --input in/query.npy --positions in/positions.npy --output"
tables="apply --cos in/cos.npy --sin in/sin.npy --input in/query.npy --output"
attend="attend --query in/query.npy --key in/key.npy --value in/value.npy --past-key in/past_key.npy
 --past-value in/past_value.npy --mask in/mask.npy --rope in/config.npy"
# shellcheck disable=SC2086
{
    for name in query positions config; do
        keeps $name.npy $apply OUTPUT
    done
    keeps cos.npy $tables OUTPUT
    keeps sin.npy $tables OUTPUT
    for name in query key value past_key past_value mask config; do
        keeps $name.npy $attend --output OUTPUT
    done
    for output in --weights --scores --present-key --present-value; do
        keeps key.npy $attend --output out.npy $output OUTPUT
    done
    keeps query.npy permute --config in/config.npy --to half --input in/query.npy --output OUTPUT
    keeps config.npy permute --config in/config.npy --to half --input in/query.npy --output OUTPUT
    keeps config.npy decay --config in/config.npy --picture OUTPUT
    echo "a b a b" >in/text
    fingerprint in >kept
    keeps text tokenize train --type words --input in/config.npy --input in/text --model OUTPUT
    # A result is first written beside its place, under a name that is somebody's too.
    refuses 2 "in/out.npy would replace in/out.npy.partial" decay --config in/out.npy.partial --picture in/out.npy
    # Two results in one file, which is not there yet.
    refuses 2 "two results" $attend --output one.npy --weights ./one.npy
    does 0 $attend --output one.npy --weights two.npy
    # The name of an input in another folder is free.
    mkdir results
    does 0 $apply results/query.npy
}
fingerprint in | cmp -s - kept || complain "an input is changed"

# A page replaces no file of a run, whether that is there yet or not, nor of a comparison.
# shellcheck disable=SC2086
{
    does 0 train index $tiny --steps 1 --out run
    does 0 compare index $tiny --steps 1 --runs 1 --out both
}
rm run/best.safetensors
fingerprint run >kept
fingerprint both >kept-both
ln run/metrics.jsonl hard
for file in config.json metrics.jsonl model.safetensors optimizer.safetensors best.safetensors; do
    refuses 1 "run/$file would replace run/$file" report run --out run/$file
    refuses 1 "./both/rope-1/$file would replace both/rope-1/$file" report both --out ./both/rope-1/$file
done
refuses 1 "hard would replace run/metrics.jsonl" report run --out hard
refuses 1 "both/compare.json would replace both/compare.json" report both --out both/compare.json
fingerprint both | cmp -s - kept-both || complain "a comparison is changed by its page"
ln -sf rope-1/config.json both/report.html
refuses 1 "both/report.html is a symbolic link" report both
# shellcheck disable=SC2086
does 1 compare index $tiny --steps 1 --runs 1 --out both
grep -q "both/report.html is a symbolic link" err || complain "compare replaces a run's file"
refuses 1 "linked.html would replace both/rope-1/config.json" report both --out "$(ln -s both/rope-1/config.json linked.html
echo linked.html)"
# Nor a file of a run that it does not show, under whatever name.
ln -s run elsewhere
ln -sf ../run/config.json both/link.html
for output in elsewhere/metrics.jsonl both/link.html; do
    refuses 1 "would replace" report both --out $output
    refuses 2 "would replace" data index --output $output
    refuses 2 "would replace" tokenize train --type words --input in/text --model $output
done
fingerprint run | cmp -s - kept || complain "a run is changed by a page"
does 0 report run --out page.html
cp page.html before
does 0 report run --out page.html
cmp page.html before || complain "a page is not replaced by the same one"

# No file of a folder is written through a link, whatever lies behind it.
rm run/report.html
echo precious >victim
for name in report.html report.html.partial; do
    ln -s ../victim run/$name
    refuses 1 "run/$name is a symbolic link" report run
    rm run/$name
done
mv run/metrics.jsonl elsewhere.jsonl
ln -s ../elsewhere.jsonl run/metrics.jsonl
cp elsewhere.jsonl before
refuses 1 "run/metrics.jsonl is a symbolic link" train index --steps 2 --resume --out run
cmp elsewhere.jsonl before || complain "a run is continued through a link"
[ "$(cat victim)" = precious ] || complain "a page is written through a link"

# A link that leads nowhere, as a place for results.
ln -s nowhere.npy dangling.npy
# shellcheck disable=SC2086
refuses 1 "cannot follow the link dangling.npy" $apply dangling.npy
[ -L dangling.npy ] || complain "a link that leads nowhere is replaced"
finish
