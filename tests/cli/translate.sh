# SPDX-License-Identifier: Apache-2.0
# rotary translate: lines stay in order, whatever is translated beside them; every option has its effect; unknown words are
# copied; lines come out before all are read; bad lines and a signal.
. "$(dirname "$0")/support.sh"

# A language whose words are translated one by one; half of its sentences end with a name that nobody knows.
mkdir data
awk 'BEGIN {
    for (i = 0; i < 400; i++) {
        de = en = ""
        for (j = 0; j < 2 + i % 3; j++) {
            word = (i * 7 + j * (3 + i % 5)) % 11
            de = de "wort" word " "
            en = en "word" word " "
        }
        name = i % 2 ? "Name" i : ""
        print de name >"data/train.de"
        print en name >"data/train.en"
    }
}'
for language in de en; do
    head -n 20 data/train.$language >data/val.$language
    head -n 20 data/train.$language >data/test.$language
done
tiny="--preset quick --set translation_data=data --set translation_test=test --set translation_tokenizer=words
    --set translation_min_frequency=2 --set translation_lowercase=false --set sequence_length=16 --set hidden_size=32
    --set num_hidden_layers=1 --set num_encoder_layers=1 --set intermediate_size=32 --set num_attention_heads=2
    --set dropout=0 --set evaluate_every=0 --set checkpoint_every=0 --set average_checkpoints=0"
# shellcheck disable=SC2086 # lists of words
does 0 train translation $tiny --steps 60 --out run || exit 1
refuses 1 "rotary translate, or the run of a decoder" generate run --prompt wort1
{ echo 'wort3 wort7 wort1 Ada'; echo; echo 'wort4 wort4 Grace'; echo '   '; echo 'wort1 wort2 wort8 wort9 wort5 Alan'; echo 'Edsger'; } >lines

# translates ARGUMENTS...: the lines through the run, into `out`.
translates() {
    "$rotary" translate run "$@" <lines >out 2>err || complain "translate $*: exit status $?"
    [ ! -s err ] || complain "translate $*: something on stderr"
}

# differ OPTIONS OTHERS: the translations do.
differ() {
    # shellcheck disable=SC2086
    translates $1
    cp out first
    # shellcheck disable=SC2086
    translates $2
    ! cmp -s first out || complain "translate: $1 gives what $2 gives"
}

# agree OPTIONS OTHERS: the translations do.
agree() {
    # shellcheck disable=SC2086
    translates $1
    cp out first
    # shellcheck disable=SC2086
    translates $2
    cmp -s first out || complain "translate: $1 does not give what $2 gives"
}

# ---- lines ----

translates
cp out wanted
[ "$(wc -l <wanted)" = 6 ] || complain "six lines became others"
[ -z "$(sed -n '2p;4p' wanted | tr -d '\n')" ] || complain "an empty line did not stay empty"
[ "$(grep -c . wanted)" = 4 ] || complain "a line was not translated"
: >single
while read -r line; do
    echo "$line" | "$rotary" translate run >>single
done <lines
cmp -s wanted single || complain "lines together are not what each is alone"
agree "--threads 1" "--threads 2 --batch-size 1"
agree "--beams 5 --length-penalty 1 --checkpoint last" "--batch-size 3"
: >none
"$rotary" translate run <none >out 2>err || complain "no lines: exit status $?"
[ ! -s out ] || complain "no lines became some"
printf 'wort4 wort4 Grace' | "$rotary" translate run >out
[ "$(cat out)" = "$(sed -n 3p wanted)" ] || complain "the last line without a line feed is another"

# ---- options ----

differ "--beams 1" "--beams 1 --max-length 2"
[ "$(awk 'NF > 2' out | wc -l)" = 0 ] || complain "--max-length 2: longer lines"
differ "--beams 4 --n-best 4" "--beams 4 --n-best 4 --length-penalty 3"
translates --beams 4 --n-best 3 --scores
[ "$(wc -l <out)" = 18 ] || complain "--n-best 3: not three lines for each"
awk -F '\t' 'NF != 2 || $1 > 0 || (NR % 3 != 1 && $1 > last) { exit 1 } { last = $1 }' out || complain "--scores: not in order"
cut -f 2 out | awk 'NR % 3 == 1' >best
translates --beams 4
cmp -s best out || complain "--n-best: the first is not the best"
differ "--beams 1" "--beams 6 --length-penalty 0"
differ "--beams 1" "--temperature 3"
agree "--temperature 3 --seed 5" "--temperature 3 --seed 5 --threads 1"
differ "--temperature 3 --seed 5" "--temperature 3 --seed 6"
differ "--temperature 3" "--temperature 3 --top-k 2"
agree "--beams 1" "--temperature 3 --top-k 1"
translates --temperature 3 --n-best 2
[ "$(wc -l <out)" = 12 ] || complain "--temperature with --n-best 2: not two lines for each"
agree "--isa scalar --precision f32 --beams 1" "--precision f32 --beams 1"
translates --checkpoint best

# ---- unknown words ----

! grep -q 'unk' wanted || complain "an unknown word without --copy-unknown"
translates --copy-unknown
! grep -q 'unk' out || complain "--copy-unknown: an unknown word is left"
grep -q 'Ada\|Grace\|Alan\|Edsger' out || complain "--copy-unknown: no name was copied"
paste -d '|' lines out | awk -F '|' '{
    count = split($2, words, " ")
    for (i = 1; i <= count; i++)
        if (words[i] !~ /^word[0-9]+$/ && index(" " $1 " ", " " words[i] " ") == 0)
            exit 1
}' || complain "--copy-unknown: a word of another line"

# ---- JSON ----

translates --json --n-best 2
has lines 6
has translations.4.line 5
has translations.0.translations.0.text "\"$(head -n 1 wanted)\""
has translations.1.translations.1.text '""'

# ---- bad lines ----

printf 'wort3 wort7 wort1 Ada\nwort1 \377\nwort2\n' >lines
"$rotary" translate run <lines >out 2>err
[ $? = 1 ] || complain "a line that is no UTF-8 is accepted"
cmp -s out - <<END || complain "the lines before a bad one do not come out"
$(head -n 1 wanted)
END
grep -q 'standard input, line 2: .*UTF-8' err || complain "no line number for what is no UTF-8"
{ echo; for i in 1 2 3 4 5 6 7 8; do printf 'wort1 wort2 wort3 '; done; echo; } | "$rotary" translate run >out 2>err ||
    complain "a long line: exit status $?"
[ "$(wc -l <out)" = 2 ] || complain "a long line is lost"
grep -q 'standard input, line 2: the last 9 tokens are left out, the model reads 15' err || complain "a long line is not reported"

# ---- as soon as possible, and signals ----

mkfifo to from
"$rotary" translate run <to >from 2>err &
process=$!
exec 3>to 4<from
echo 'wort3 wort7 wort1 Ada' >&3
read -r line <&4
[ "$line" = "$(head -n 1 wanted)" ] || complain "the first line does not come out before the second is there: \"$line\""
kill -INT $process
wait $process
[ $? = 130 ] || complain "interrupted while waiting: another exit status"
exec 3>&- 4<&-
grep -q 'stopping; the lines that are translated come out' err || complain "a signal: another message"

# JSON is valid however it ends.
"$rotary" translate run --json <to >out 2>err &
process=$!
exec 3>to
echo 'wort3 wort7 wort1 Ada' >&3
sleep 0.5
kill -INT $process
wait $process
[ $? = 130 ] || complain "JSON, interrupted while waiting: another exit status"
exec 3>&-
"$json_get" lines <out >/dev/null || complain "JSON is cut off when a signal ends it"
printf 'wort3 wort7 wort1 Ada\nwort1 \377\n' >lines
"$rotary" translate run --json <lines >out 2>err
has lines 1

# A result that cannot be written is one message.
if [ -c /dev/full ]; then
    echo 'wort3' | "$rotary" translate run >/dev/full 2>err
    [ $? = 1 ] || complain "a full device: exit status"
    [ "$(wc -l <err)" = 1 ] || complain "a full device: $(wc -l <err) messages"
    grep -q 'cannot write the result' err || complain "a full device: another message"
fi

# ---- refusals ----

refuses 2 "at most the beams, 2" translate run --beams 2 --n-best 3
refuses 2 "wanted one of them" translate run --beams 2 --temperature 1
refuses 2 "--top-k without --temperature" translate run --top-k 3
refuses 2 "--beams" translate run --beams 0
refuses 1 "the model has 16 positions" translate run --max-length 17
refuses 1 "absent" translate absent
does 0 train index --preset quick --set hidden_size=16 --set num_hidden_layers=1 --set num_attention_heads=1 --set intermediate_size=16 \
    --set evaluate_every=0 --steps 1 --out index
refuses 1 "a model of the task index, wanted one that translates" translate index

finish
