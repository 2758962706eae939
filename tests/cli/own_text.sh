# SPDX-License-Identifier: Apache-2.0
# A text of one's own: one file, nine tenths of which are trained on and the last tenth is held out.
. "$(dirname "$0")/support.sh"

mkdir texts
# 2,000 lines of 16 characters: 1,800 are "training", 200 "held out", by their letters.
awk 'BEGIN { for (i = 0; i < 2000; i++) printf "%s%04d\n", i < 1800 ? "abcdefghijk" : "ABCDEFGHIJK", i }' >texts/book.txt
tiny="--steps 3 --set hidden_size=16 --set num_hidden_layers=1 --set num_attention_heads=1 --set sequence_length=64 --set batch_size=2"
# shellcheck disable=SC2086 # a list of words
{
    does 0 data language --text texts/book.txt --set sequence_length=64 --split validation --rows 20
    grep -q 'the last tenth is held out' err || complain "it is not said what is held out"
    says ABCDEFGHIJK
    ! grep -q abcdefghijk out || complain "what is trained on is validated on"
    does 0 data language --text texts/book.txt --set sequence_length=64 --split training --rows 16
    says abcdefghijk
    ! grep -q ABCDEFGHIJK out || complain "what is held out is trained on"
    # Both commands that train take it, into folders of its name, and the same as its settings do.
    does 0 train language --text texts/book.txt $tiny
    [ -s runs/language-book-rope/model.safetensors ] || complain "the run's folder has not the name of the text"
    does 0 train language $tiny --out given --set language_data=texts --set language_train=book.txt --set language_validation= \
        --set language_test= --set language_windows=random
    cmp -s runs/language-book-rope/model.safetensors given/model.safetensors || complain "--text is not what its settings are"
    does 0 compare language --text texts/book.txt $tiny --positions rope,roper --runs 1
    [ -s runs/language-book/report.html ] || complain "the comparison's folder has not the name of the text"
    # A key that is given changes what --text stands for, and is recorded.
    does 0 train language --text texts/book.txt $tiny --out documents --set language_windows=consecutive
    grep -q '"language_windows": *"consecutive"' documents/config.json || complain "--set beside --text is lost"
    head -n 500 texts/book.txt >texts/other.txt
    does 0 data language --text texts/book.txt --set language_train=other.txt --set sequence_length=64
    ! grep -q 'nine tenths' err || complain "it is said that a text is trained on beside which another one is"
    refuses 2 '--text is read by the task language, not by prefix: wanted language --text texts/book.txt' compare prefix --text texts/book.txt
    refuses 2 '--text texts is a folder, wanted one file; for the train.txt and valid.txt of a folder: --set language_data=texts' train language --text texts
    refuses 1 '--text missing.txt: there is no such file' train language --text missing.txt
    cp texts/book.txt 'texts/a,b.txt'
    refuses 2 'wanted a name without commas' train language --text 'texts/a,b.txt'
}
finish
