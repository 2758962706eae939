# SPDX-License-Identifier: Apache-2.0
# rotary tokenize: trained models, filters that keep every line, what is refused, and what is said about it.
. "$(dirname "$0")/support.sh"

# Lines of made-up words, with an accent, a tab and an empty line.
awk 'BEGIN {
    split("ba lo mi \303\274t ne schr en ti ka \303\266l", syllable, " ")
    x = 7
    for (i = 0; i < 300; i++) {
        line = ""
        for (w = 0; w < 6; w++) {
            x = (x * 25173 + 13849) % 65536
            line = line (w ? " " : "") syllable[1 + int(x / 7) % 10] syllable[1 + int(x / 70) % 4] syllable[1 + int(x / 700) % 4]
        }
        print line "."
        if (i == 7) print ""
    }
}' >text
head -n 20 text >few

# filter STATUS ARGUMENTS... <INPUT: as `does`, but with an input.
filter() {
    wanted=$1
    shift
    "$rotary" tokenize "$@" >out 2>err
    got=$?
    [ $got = "$wanted" ] || complain "rotary tokenize $*: exit status $got, wanted $wanted"
}
# back MODEL: what is decoded again is the text that was encoded; an empty line is one.
back() {
    filter 0 encode "$1" <few
    [ "$(wc -l <out)" = 20 ] || complain "$1: 20 lines become $(wc -l <out)"
    [ "$(sed -n 9p out)" = "" ] || complain "$1: an empty line has tokens"
    cp out ids
    filter 0 decode "$1" <ids
    cmp out few || complain "$1: encoded and decoded, the text is another"
}

kinds=words
if "$rotary" info | grep -q 'SentencePiece *not in this program'; then
    refuses 1 "without SentencePiece" tokenize train --input text --model a.model --vocab-size 60
    [ ! -e a.model ] || complain "a model is written without SentencePiece"
else
    kinds="unigram bpe words"
fi
for kind in $kinds; do
    size="--vocab-size 60"
    [ $kind != words ] || size="--min-frequency 1"
    # shellcheck disable=SC2086
    does 0 tokenize train --input text --type $kind $size --model $kind.model
    says "$kind.model: "
    [ ! -s err ] || complain "training says something where there is no terminal"
    # shellcheck disable=SC2086
    does 0 tokenize train --input text --type $kind $size --model again.model --json
    cmp $kind.model again.model || complain "$kind: two trainings differ"
    has lines 301
    has type "\"$kind\""
    # shellcheck disable=SC2086
    filter 0 train --type $kind $size --model again.model <text
    cmp $kind.model again.model || complain "$kind: the text of a pipe gives another model"
    head -n 150 text >first && tail -n +151 text >second
    # shellcheck disable=SC2086
    does 0 tokenize train --input first --input second --type $kind $size --model again.model
    cmp $kind.model again.model || complain "$kind: two files give another model than one"
    back $kind.model
    # Numbers, their texts, and both as JSON agree.
    filter 0 encode $kind.model --json <few
    has lines 20
    tokens=$("$json_get" tokens <out)
    [ "$tokens" = "$(wc -w <ids | tr -d ' ')" ] || complain "$kind: $tokens tokens in JSON"
    has ids.0.0 "$(head -n 1 ids | cut -d ' ' -f 1)"
    filter 0 encode $kind.model --pieces <few
    [ "$(awk '{ n += NF } END { print n }' out)" = "$(wc -w <ids)" ] || complain "$kind: as many pieces as tokens"
    sed 's/ //g; s/\xe2\x96\x81/ /g; s/^ //' out >joined
    [ $kind = words ] || cmp joined few || complain "$kind: the pieces are not the text"
    filter 0 decode $kind.model --json <ids
    has lines 20
    has texts.0 "\"$(head -n 1 few)\""
    # Begin and end are tokens without text.
    filter 0 encode $kind.model --begin --end <few
    cp out framed
    filter 0 decode $kind.model <framed
    cmp out few || complain "$kind: begin and end have a text"
    [ "$(wc -w <framed)" = $(($(wc -w <ids) + 40)) ] || complain "$kind: begin and end are not there"
done
model=$(echo "$kinds" | cut -d ' ' -f 1).model

# A line of thousands of tokens is one.
tr '\n' ' ' <text >wide
filter 0 encode $model <wide
[ "$(wc -l <out)" = 1 ] || complain "a wide line becomes others"
cp out ids
filter 0 decode $model <ids
[ "$(tr -s ' ' '\n' <out | grep -c .)" = 1800 ] || complain "1800 words become others"

# Threads take parts of the lines, which are printed in their order, up to the first that fails.
for part in 1 2 3 4 5 6 7 8; do sed "s/^/$part/" text; done >many
filter 0 encode $model --threads 1 --json <many
cp out alone
filter 0 encode $model --threads 3 --json <many
cmp out alone || complain "three threads make other tokens than one"
awk 'BEGIN { for (line = 1; line <= 2000; line++) print (line > 1234 ? "5 99999999" : "5 6") }' >tokens
filter 1 decode $model --threads 3 <tokens
[ "$(wc -l <out)" = 1234 ] || complain "of 1234 lines before a failure $(wc -l <out) are printed"
grep -q "standard input, line 1235: \"99999999\" is no token" err || complain "another line fails: $(cat err)"

# A filter answers a line before the next one is written.
mkfifo to from
"$rotary" tokenize encode $model <to >from &
exec 3>to 4<from
echo "ba" >&3
read -r answer <&4
[ "$answer" = "$(echo ba | "$rotary" tokenize encode $model)" ] || complain "an answer waits for the next line"
exec 3>&- 4<&-
wait

# One that is interrupted while it waits, or reads a bad line, leaves valid JSON.
"$rotary" tokenize encode $model --json <to >out 2>err &
process=$!
exec 3>to
echo "ba" >&3
sleep 0.5
kill -INT $process
wait $process
[ $? = 130 ] || complain "interrupted while waiting: another exit status"
exec 3>&-
has lines 1
grep -q 'stopping after a whole line' err || complain "a signal: another message"
printf 'ba\nmi \377\n' >wrong
filter 1 encode $model --json <wrong
has lines 1

# A reader that wants no more ends it.
yes balo | "$rotary" tokenize encode $model 2>err | head -n 3 >out
[ "$(wc -l <out)" = 3 ] || complain "three lines are not three"

# ---- what is refused ----

printf 'ba lo\nmi \377\n' >wrong
refuses 1 "wrong, line 2: byte 0xff at position 4 is not UTF-8 text" tokenize train --input wrong --type words --model no.json
filter 1 encode $model <wrong
grep -q "standard input, line 2: byte 0xff at position 4 is not UTF-8 text" err || complain "no file, line and byte"
[ "$(wc -l <out)" = 1 ] || complain "the line before is not encoded"
head -c 1048577 /dev/zero | tr '\0' x >long
refuses 1 "long, line 1: it has more than 1048576 bytes" tokenize train --input long --type words --model no.json
filter 1 encode $model <long
grep -q "standard input, line 1: it has more than 1048576 bytes" err || complain "no line that is too long"
for line in 9999 -1 x 1.5 99999999999999999999; do
    echo "5 $line" >tokens
    filter 1 decode $model <tokens
    grep -q "standard input, line 1: \"$line\" is no token, wanted a number from 0 to" err || complain "$line is a token"
done
refuses 1 nothing tokenize train --input nothing --model no.json --type words
# A vocabulary without a word would make everything unknown.
printf 'one\ntwo\n' >once
refuses 1 "no word occurs at least 2 times in 2 lines: wanted one that does, or --min-frequency 1" \
    tokenize train --input once --model no.json --type words
[ ! -e no.json ] || complain "a vocabulary without a word is written"
: >none
refuses 1 "no word occurs at least 1 time in 0 lines: wanted one that does" \
    tokenize train --input none --model no.json --type words --mask --min-frequency 1
refuses 1 "cannot open nothing" tokenize encode nothing
refuses 1 "text, line 1, column" tokenize encode text
: >none.json
refuses 1 "none.json is empty, wanted a JSON object" tokenize encode none.json
echo '{"format": 2, "task": "prefix"}' >config.json
refuses 1 "config.json is no tokenizer: wanted a tokenizer.json, a vocab.json with its merges.txt" tokenize encode config.json
echo '{"hidden_size": 16, "vocab_size": 20}' >config.json
refuses 1 "config.json is no tokenizer: wanted a tokenizer.json, or a vocab.json with its merges.txt beside it" tokenize encode config.json
refuses 1 no-folder tokenize train --input text --type words --model no-folder/a.json
# Files are looked at before a text is read: the first one here has a line that is too long.
mkdir folder
refuses 1 "cannot open nothing" tokenize train --input long --input nothing --model no.json --type words
refuses 1 "folder is a folder, wanted a file" tokenize train --input long --input folder --model no.json --type words
refuses 1 "folder is a folder, wanted a file" tokenize train --input long --type words --model folder
refuses 1 "cannot write to the folder no-folder" tokenize train --input long --type words --model no-folder/a.json
[ ! -e no.json ] || complain "a tokenizer is written of a text that is refused"
printf '{"format": 1, "tokenizer": "bytes"}' >bytes.json
printf '{"format": 1, "tokenizer": "characters", "bytes": [97, 32]}' >characters.json
printf 'a \303\251\n' >line
filter 0 encode bytes.json --pieces <line
[ "$(cat out)" = 'a \x20 \xc3 \xa9' ] || complain "bytes are printed otherwise"
filter 0 encode bytes.json --pieces --json <line
grep -qF '["a"," ","\u00c3","\u00a9"]' out || complain "bytes are printed otherwise in JSON"
filter 1 encode characters.json <line
grep -q 'standard input, line 1: byte 0xc3 at position 3 of the text is not in the alphabet' err || complain "no place of a character"
filter 1 encode characters.json --begin <line
grep -q 'characters.json has no begin token' err || complain "a begin token that is not there"
filter 1 encode characters.json --end <line
grep -q 'characters.json has no end token' err || complain "an end token that is not there"
echo "97 10 98" >tokens
filter 1 decode bytes.json <tokens
grep -q 'standard input, line 1: the text of these tokens has a line feed' err || complain "two lines of one"
# Tokens that end within a character are U+FFFD, as Python decodes them; --json is UTF-8 too.
printf '97 228 98\n240 144 228 184\n228 184 173\n' >tokens
filter 0 decode bytes.json <tokens
printf 'a\357\277\275b\n\357\277\275\357\277\275\n\344\270\255\n' | cmp -s - out || complain "a part of a character is no U+FFFD"
filter 0 decode bytes.json --json <tokens
grep -qF "$(printf '"a\357\277\275b"')" out || complain "a part of a character is no U+FFFD in JSON"
refuses 2 'tokenize train wants --model FILE' tokenize train --input text
refuses 2 '--min-frequency with --type unigram' tokenize train --input text --model a.model --min-frequency 3
for option in "--vocab-size 9" "--character-coverage 1" --byte-fallback "--max-line-bytes 99"; do
    # shellcheck disable=SC2086
    refuses 2 "${option%% *} with --type words" tokenize train --type words --input text --model a.model $option
done
refuses 2 'text would replace text' tokenize train --type words --input few --input text --model ./text

# ---- WordPiece ----

mkdir bert
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nunaff\n##able\n,\ncafe\ncaf\303\251\n\344\270\255\n' >bert/vocab.txt
printf 'Unaffable, CAF\303\211 \344\270\255caf\303\251 xyz\n\n' >difficult
filter 0 encode bert/vocab.txt --begin --end <difficult
[ "$(head -n 1 out)" = "2 5 6 7 8 10 8 1 3" ] || complain "WordPiece: other tokens"
[ "$(tail -n 1 out)" = "2 3" ] || complain "WordPiece: an empty line has other tokens"
filter 0 encode bert/vocab.txt --pieces <difficult
[ "$(head -n 1 out)" = "unaff ##able , cafe $(printf '\344\270\255') cafe [UNK]" ] || complain "WordPiece: other pieces"
echo "2 5 6 7 8 4 1 3 0" >tokens
filter 0 decode bert/vocab.txt <tokens
[ "$(cat out)" = "unaffable , cafe [UNK]" ] || complain "WordPiece: another text"
echo '{"do_lower_case": false}' >bert/tokenizer_config.json
filter 0 encode bert/vocab.txt <difficult
[ "$(head -n 1 out)" = "1 7 1 10 9 1" ] || complain "WordPiece: case is not kept"
echo '{"do_lower_case": 7}' >bert/tokenizer_config.json
refuses 1 'tokenizer_config.json: "do_lower_case" is 7.0, wanted true or false' tokenize encode bert/vocab.txt

if [ "$kinds" != words ]; then
    refuses 1 "Vocabulary size too high (5000)" tokenize train --input text --model no.model --vocab-size 5000
    : >empty
    refuses 1 "there is no line to train SentencePiece on" tokenize train --input empty --model no.model
    [ ! -e no.model ] || complain "a model is written that could not be trained"
    # Lines that are left out are counted, and the first long one has a place.
    { cat text; head -c 5000 long; echo; printf 'ba \342\226\205\n'; } >mixed
    does 0 tokenize train --input few --input mixed --type bpe --vocab-size 60 --model a.model
    says "left out, for being empty: 2"
    says "left out, for their length: 1, the first of them line 302 of mixed"
    says "left out, for the character U+2585: 1"
    does 0 tokenize train --input few --input mixed --type bpe --vocab-size 60 --model a.model --json
    has left_out.empty 2
    has left_out.too_long 1
    has left_out.reserved 1
    # A damaged model.
    for bytes in 2 9 100 10000; do
        head -c $bytes bpe.model >cut.model
        refuses 1 "cut.model is no SentencePiece model" tokenize encode cut.model
    done
fi
finish
