# SPDX-License-Identifier: Apache-2.0
# What is wrong outside the command line: exit status 1, one line that names it, and a run that is there stays as it is,
# byte for byte.
. "$(dirname "$0")/support.sh"

# A run to be damaged in every way, and a copy of it to compare with.
# shellcheck disable=SC2086 # a list of words
does 0 train index $tiny --steps 4 --set checkpoint_every=2 --out good
fingerprint good >kept

# resumes_not TEXT: resuming the run in `bad` is refused, and leaves it as it is.
resumes_not() {
    fingerprint bad >before
    # shellcheck disable=SC2086
    refuses 1 "$1" train index $tiny --steps 6 --set checkpoint_every=2 --out bad --resume
    fingerprint bad | cmp -s - before || complain "a run that is not resumed is changed: $1"
}

# cannot_use TEXT: nothing can be done with the model in `bad`.
cannot_use() {
    refuses 1 "$1" evaluate bad
    refuses 1 "$1" generate bad --prompt "?s='"
}

fresh() {
    rm -rf bad
    cp -r good bad
}

# A checkpoint cut off, at several places.
for file in model optimizer; do
    size=$(wc -c <good/$file.safetensors)
    for length in 0 7 100 $((size / 2)) $((size - 1)); do
        fresh
        head -c "$length" good/$file.safetensors >bad/$file.safetensors
        resumes_not "bad/$file.safetensors"
        [ $file = optimizer ] || cannot_use "bad/$file.safetensors"
    done
    # A checkpoint with one byte that is another, in the header and in the numbers.
    for at in 3 60 200 $((size / 2)) $((size - 1)); do
        fresh
        old=$(od -An -tu1 -j "$at" -N 1 good/$file.safetensors | tr -d ' ')
        # shellcheck disable=SC2059 # an octal escape is made
        printf "\\$(printf '%03o' $((old ^ 1)))" | dd of=bad/$file.safetensors bs=1 seek="$at" conv=notrunc 2>/dev/null
        cmp -s good/$file.safetensors bad/$file.safetensors && complain "nothing was damaged"
        resumes_not "bad/$file.safetensors"
        [ $file = optimizer ] || cannot_use "bad/$file.safetensors"
    done
done

# Half a checkpoint.
fresh
rm bad/model.safetensors
resumes_not "model.safetensors"
cannot_use "model.safetensors"

# A configuration that is damaged, of another version, of something else, of another run.
fresh
head -c 40 good/config.json >bad/config.json
resumes_not "bad/config.json"
cannot_use "bad/config.json"
fresh
sed 's/"format": 2/"format": 1/' good/config.json >bad/config.json
cmp -s good/config.json bad/config.json && complain "the version was not changed"
resumes_not "another version"
cannot_use "another version"
fresh
sed '/"format"/d' good/config.json >bad/config.json
resumes_not "format"
fresh
sed 's/"hidden_size": 16/"hidden_size": "wide"/' good/config.json >bad/config.json
cannot_use '"hidden_size" is "wide"'
fresh
sed 's/"hidden_size": 16/"hidden_sise": 16/' good/config.json >bad/config.json
cannot_use 'did you mean "hidden_size"?'
fresh
sed 's/"hidden_size": 16/"hidden_size": 32/' good/config.json >bad/config.json
cannot_use "bad"
# Weights that fit in shape, and were trained otherwise.
fresh
sed 's/"position": "rope"/"position": "roper"/' good/config.json >bad/config.json
cannot_use 'position is "rope" in bad/model.safetensors and "roper" now'
fresh
rm bad/config.json
resumes_not "config.json"
cannot_use "config.json"
fresh
sed 's/"loss"/loss/' good/metrics.jsonl >bad/metrics.jsonl
refuses 1 "bad/metrics.jsonl" report bad

# No run at all.
refuses 1 "absent" evaluate absent
# shellcheck disable=SC2086
refuses 1 "there is no run in absent to resume" train index $tiny --steps 2 --out absent --resume
[ ! -e absent ] || complain "a run that is not there is begun, not resumed"
refuses 1 "absent" generate absent --prompt x
refuses 1 "absent holds neither a run nor a comparison" report absent
mkdir empty
refuses 1 "empty" evaluate empty
refuses 1 "empty" report empty
echo text >file
refuses 1 "file" evaluate file
refuses 1 "file" report file

# A folder that holds a run is not overwritten; a run is not continued as another.
# shellcheck disable=SC2086
{
    refuses 1 "good" train index $tiny --steps 4 --out good
    refuses 1 "good" train index $tiny --steps 4 --set hidden_size=32 --out good --resume
    refuses 1 "good" train index $tiny --steps 2 --out good --resume
    refuses 1 "good" compare index $tiny --steps 4 --runs 1 --out good
}

# A folder that cannot be made or written to. Permissions do not stop root, these do.
# shellcheck disable=SC2086
{
    refuses 1 "file/run" train index $tiny --out file/run
    refuses 1 "file" train index $tiny --out file
    refuses 1 "/proc/run" train index $tiny --out /proc/run
    refuses 1 "file/run" compare index $tiny --runs 1 --out file/run
    refuses 1 "/proc/run" compare index $tiny --runs 1 --out /proc/run
}
refuses 1 "file/page.html" report good --out file/page.html

# A disk that is full: a limit on the size of files fails in the same place, and needs no rights.
(
    ulimit -f 8
    # shellcheck disable=SC2086
    refuses 1 "full" train index $tiny --steps 4 --set hidden_size=64 --out full
    # shellcheck disable=SC2086
    refuses 1 "full" train index $tiny --steps 4 --set hidden_size=64 --out full --resume
    [ $failures = 0 ]
) || failures=$((failures + 1))
[ -z "$(find full -name '*.safetensors*')" ] || complain "half a checkpoint is left behind: $(ls full)"
fresh
(
    ulimit -f 8
    fingerprint bad/model.safetensors >before 2>/dev/null
    # shellcheck disable=SC2086
    refuses 1 "bad" train index $tiny --steps 400 --set checkpoint_every=2 --out bad --resume
    [ $failures = 0 ]
) || failures=$((failures + 1))
# The run that was there can still be used.
does 0 evaluate bad
if [ "$(id -u)" = 0 ] && mkdir disk && mount -t tmpfs -o size=64k none disk 2>/dev/null; then
    # shellcheck disable=SC2086
    refuses 1 "No space left" train index $tiny --set hidden_size=64 --steps 4 --out disk/run
    [ -z "$(find disk -name '*.safetensors*')" ] || complain "half a checkpoint is left on a full disk"
    rm -r disk/run
    # Room for the parameters, not for what the optimizer keeps of them.
    mount -o remount,size=192k disk
    # shellcheck disable=SC2086
    refuses 1 "No space left" train index $tiny --set hidden_size=64 --steps 4 --out disk/run
    [ -z "$(find disk -name '*.safetensors*')" ] || complain "half a checkpoint is left: $(ls -la disk/run)"
    dd if=/dev/zero of=disk/fill 2>/dev/null
    refuses 1 "No space left" report good --out disk/page.html
    [ ! -e disk/page.html ] || complain "half a page is left on a full disk"
    umount disk
fi
if [ -c /dev/full ]; then
    "$rotary" info >/dev/full 2>err
    [ $? = 1 ] || complain "results on a full disk are no failure"
    grep -q "^rotary: cannot write the result: No space left" err || complain "results on a full disk are not missed"
fi

# More memory than there is: how much, and how much there is, before any is taken.
huge="--set hidden_size=131072 --set num_hidden_layers=100 --set num_attention_heads=128 --set num_key_value_heads=128
 --set intermediate_size=524288"
# shellcheck disable=SC2086
{
    refuses 1 "GiB of memory; this machine has" train index $huge --out large
    refuses 1 "GiB of memory; this machine has" compare index $huge --runs 1 --out larger
}
find large larger -name '*.safetensors' 2>/dev/null | grep -q . && complain "a model too large leaves a checkpoint"

# Translations and references that are no text, do not belong together, or are not there.
printf 'one\ntwo\nthree\n' >three.txt
printf 'one\ntwo' >two.txt
printf 'one\ntwo\nthr\351e\n' >latin.txt
printf 'one\ntwo\n\355\240\200\n' >surrogate.txt
printf 'one\000\ntwo\nthree\n' >zero.txt
: >nothing.txt
refuses 1 'three.txt has 3 lines and two.txt 2, wanted as many in both' bleu three.txt two.txt
refuses 1 'two.txt has 2 lines and three.txt 3' bleu two.txt two.txt three.txt
refuses 1 'three.txt has 3 lines and two.txt 2' bleu three.txt --input three.txt --input two.txt
refuses 1 'latin.txt, line 3: byte 0xe9 at position 4 is not UTF-8 text' bleu three.txt latin.txt
refuses 1 'surrogate.txt, line 3: byte 0xed at position 1 is not UTF-8 text' bleu surrogate.txt three.txt
refuses 1 'zero.txt, line 1: byte 0x00' bleu three.txt zero.txt
refuses 1 'nothing.txt has no lines' bleu three.txt nothing.txt
refuses 1 'nothing.txt has no lines' bleu nothing.txt nothing.txt
refuses 1 'standard input has no lines' bleu three.txt -
refuses 1 'cannot open absent.txt' bleu three.txt absent.txt
refuses 1 'good is a folder' bleu three.txt good

# A name that no JSON can hold.
name=$(printf 'bad\377')
cp -r good "$name"
refuses 1 "a name that is not UTF-8" evaluate "$name" --json
does 0 evaluate "$name"
# shellcheck disable=SC2086
refuses 1 "a command line that is not UTF-8" compare index $tiny --steps 1 --runs 1 --out "$name-two"

# An instruction set that nobody has, and one this machine does not have.
export ROTARY_ISA=AVX2
refuses 2 'ROTARY_ISA: unknown instruction set "AVX2"' info
export ROTARY_ISA=
does 0 info
unset ROTARY_ISA
case $(uname -m) in
x86_64) refuses 1 "cannot run neon" info --isa neon ;;
*) refuses 1 "cannot run avx2" info --isa avx2 ;;
esac

fingerprint good | cmp -s - kept || complain "the good run is no longer what it was"
finish
