# SPDX-License-Identifier: Apache-2.0
# rotary heatmap: its files and numbers, two sides of runs and of a comparison, and what it refuses.
. "$(dirname "$0")/support.sh"

# shellcheck disable=SC2086 # lists of words
{
    does 0 train index $tiny --steps 2 --position rope --out rope
    does 0 train index $tiny --steps 2 --position roper --out roper
    does 0 train prefix $tiny_prefix --steps 2 --out prefix
    does 0 compare index $tiny --steps 2 --positions rope,none --runs 3 --out both
    does 0 compare index $tiny --steps 2 --positions rope,roper,none --runs 2 --out three
}
printf "?s='abc\n?s='def\n" >texts

# One run: a page, a picture of each layer and an array of each text.
does 0 heatmap rope --input texts
for file in heatmap.html heatmap.json rope-text1-decoder-layer1.svg rope-text1-decoder.npy rope-text2-decoder-layer1.svg rope-text2-decoder.npy; do
    [ -s rope/heatmap/$file ] || complain "there is no $file"
done
[ "$(ls rope/heatmap | wc -l)" = 6 ] || complain "there are other files"
grep -aq "'shape': (1, 2, 7, 7)" rope/heatmap/rope-text1-decoder.npy || complain "the array has another shape"
says "rope/heatmap/heatmap.html and 5 other files"
does 0 heatmap rope --input texts --output other --shown 1 --json
has texts 2
has units '"texts"'
has sides.0.name '"rope"'
has sides.0.runs.0.folder '"rope"'
has sides.0.runs.0.seed 1
has sides.0.heads.1.head 2
has sides.0.heads.1.entropy.count 2
has sides.0.layers.1.layer '"deeper half"'
has files.0 '"other/heatmap.html"'
[ "$(ls other | wc -l)" = 4 ] || complain "--shown 1 writes files of other texts"
"$json_get" sides.0.heads.1.entropy.mean <other/heatmap.json >kept
"$json_get" sides.0.heads.1.entropy.mean <out | cmp -s - kept || complain "heatmap.json has other numbers than --json"
# What an earlier heatmap left is removed, with the PNG files of its pictures; nothing else is.
does 0 heatmap rope --input texts --output stale
touch stale/rope-text2-decoder-layer1.png stale/rope-text1-decoder-layer1.png stale/mine-text1-decoder.npy stale/mine.png
mkdir stale/rope-text9-decoder.npy
printf "?s='abc\n" >single
does 0 heatmap rope --input single --output stale
[ "$(cd stale && echo *)" = "heatmap.html heatmap.json mine-text1-decoder.npy mine.png rope-text1-decoder-layer1.svg rope-text1-decoder.npy rope-text9-decoder.npy" ] ||
    complain "the folder has $(cd stale && echo *)"
# A list is not believed: names that lead elsewhere, and names that heatmap does not give.
printf x >victim-text1-decoder.npy
printf x >stale/notes
printf '{"files":["../victim-text1-decoder.npy","notes","mine.png",7,"-text","x-text1-decoder-layer.svg"]}' >stale/heatmap.json
does 0 heatmap rope --input single --output stale
[ -e victim-text1-decoder.npy ] && [ -e stale/notes ] && [ -e stale/mine.png ] || complain "a foreign file was removed"
printf 'no JSON' >stale/heatmap.json
does 0 heatmap rope --input single --output stale
# A text on the command line, and its continuation.
does 0 heatmap rope --text "?s='abc" --output one --max-new-tokens 3 --json
has texts 1
has sides.0.heads.0.entropy.low null
length=$(grep -ao "'shape': ([^)]*)" one/rope-text1-decoder.npy)
case $length in
*"(1, 2, 8, 8)"* | *"(1, 2, 9, 9)"* | *"(1, 2, 10, 10)"*) ;;
*) complain "no continuation: $length" ;;
esac

# Two runs: texts are the units.
does 0 heatmap rope roper --input texts --output two --json
has units '"texts"'
has sides.1.name '"roper"'
has differences.0.entropy.count 2
[ -s two/roper-text2-decoder.npy ] || complain "no array of the second side"
# Two runs of one encoding are named by their folders.
mkdir -p again/b && cp -r rope again/b/ && cp -r rope again/c
does 0 heatmap rope again/c/ --input texts --output same --json
has sides.0.name '"rope (rope)"'
has sides.1.name '"rope (c)"'
[ -s same/rope_c-text1-decoder.npy ] || complain "no array of the second side: $(echo same/*)"
does 0 heatmap again/b/rope rope --input texts --output same --json
has sides.0.name '"rope (b/rope)"'
# The same run twice: no difference, and names that tell them apart.
does 0 heatmap rope rope --input texts --output twice --json
has sides.1.name '"rope 2"'
has differences.0.entropy.mean 0.0
[ -s twice/rope_2-text1-decoder.npy ] || complain "no array of the second side"

# A comparison: runs are the units, paired by seed.
does 0 heatmap both --input texts --output runs --json
has units '"runs"'
has sides.0.name '"rope"'
has sides.1.name '"none"'
has sides.1.runs.2.seed 3
has differences.0.entropy.count 3
does 0 heatmap three --arms none,roper --input texts --output arms --json
has sides.0.name '"none"'
has sides.1.name '"roper"'
has differences.0.normalised_entropy.count 2
grep -q "of 2 runs" arms/heatmap.html || complain "the page does not say how many runs there are"
# All arms, each against the first.
does 0 heatmap three --input texts --output all --json
has sides.2.name '"none"'
has differences.0.side '"roper"'
has differences.0.baseline '"rope"'
has differences.2.side '"none"'
has differences.2.entropy.count 2
difference=$("$json_get" differences.2.entropy.mean <out)
expected=$(awk "BEGIN { print $("$json_get" sides.2.layers.0.entropy.mean <out) - $("$json_get" sides.0.layers.0.entropy.mean <out) }")
[ "$(awk "BEGIN { d = $difference - $expected; print d * d < 1e-8 }")" = 1 ] || complain "the difference is $difference, not $expected"
[ "$("$json_get" sides.0.layers.0.entropy.mean <out)" != "$("$json_get" sides.2.layers.0.entropy.mean <out)" ] || complain "arms do not differ"
for name in rope roper none; do [ -s all/$name-text1-decoder.npy ] || complain "no array of $name"; done
grep -q "none − rope" all/heatmap.html || complain "the page has no difference of the third side"
does 0 heatmap three --input texts --output all
says "self-attention, entropy in nats with 95% intervals over 2 runs, differences paired by seed"
[ "$(grep -c "  difference " out)" = 4 ] || complain "there are not two differences of each of two lines"

# An encoder–decoder: three kinds of attention, with targets and with its own translations.
printf 'der Hund ruft\ndie Katze ruft\n' | tee in.de train.de val.de >test.de
printf 'the dog calls\nthe cat calls\n' | tee in.en train.en val.en >test.en
# shellcheck disable=SC2086
does 0 train translation --set translation_data=. --set translation_test=test --set translation_min_frequency=1 --set epochs=0 \
    --set average_checkpoints=0 --steps 2 --set hidden_size=16 --set num_attention_heads=2 --set intermediate_size=32 \
    --set sequence_length=16 --set num_hidden_layers=1 --set num_encoder_layers=1 --set warmup_steps=1 --out pairs
does 0 heatmap pairs --input in.de --target in.en --output pair --json
has sides.0.heads.0.kind '"encoder"'
has sides.0.heads.4.kind '"cross"'
for shape in "encoder (1, 2, 4, 4)" "decoder (1, 2, 4, 4)" "cross (1, 2, 4, 4)"; do
    name=$(ls pair/*-text2-${shape%% *}.npy)
    grep -aq "'shape': ${shape#* }" "$name" || complain "$name has another shape than $shape"
done
cp out targets
does 0 heatmap pairs --input in.de --output pair --json
! cmp -s out targets || complain "a translation is read as the target was"
refuses 1 "--input has 2 lines and --target-text 1, wanted as many" heatmap pairs --input in.de --target-text "the dog"
does 0 heatmap pairs --text "der Hund ruft" --target-text "the dog calls" --output given --json
has texts 1
refuses 1 "--max-new-tokens: the model has an encoder" heatmap pairs --input in.de --max-new-tokens 3

# What is wrong.
refuses 1 '--arms is "rope,ropre", wanted arms of the comparison, such as "rope,roper"' heatmap three --arms rope,ropre --input texts
refuses 1 '--arms names rope twice' heatmap three --arms rope,rope --input texts
refuses 1 '--arms: rope is a run, wanted a comparison' heatmap rope --arms rope,none --input texts
refuses 1 'wanted one comparison, or two runs' heatmap rope both --input texts
refuses 1 'prefix has task prefix, wanted index' heatmap rope prefix --input texts
refuses 1 "cannot open absent/config.json" heatmap absent --input texts
refuses 1 "--target: the model is a decoder alone" heatmap rope --text abc --target-text abc
refuses 1 "--text: '!' at position 3" heatmap rope --text "ab!"
refuses 1 "--input: there is no file captions.de; a text is given with --text" heatmap rope --input captions.de
refuses 1 "--target: there is no file captions.en; a text is given with --target-text" heatmap rope --input texts --target captions.en
refuses 2 "heatmap wants --input FILE or --text TEXT" heatmap rope
refuses 2 "--input and --text are both given: wanted one" heatmap rope --input texts --text abc
refuses 2 "--target and --target-text are both given: wanted one" heatmap rope --text abc --target texts --target-text abc
printf 'abc\nab!\n' >bad
refuses 1 "bad:2: '!' at position 3" heatmap rope --input bad
printf 'abc\n\n' >bad
refuses 1 "bad:2: the text has no tokens, wanted at least one" heatmap rope --input bad
printf 'abc\nab\377\n' >bad
refuses 1 "bad" heatmap rope --input bad
: >bad
refuses 1 "bad has 0 lines, wanted 1 to 10000" heatmap rope --input bad
awk 'BEGIN { while (i++ < 65) printf "a" }' >bad
refuses 1 "bad:1: the text has 65 tokens, wanted at most 64" heatmap rope --input bad
refuses 1 "rope is a folder, wanted a file" heatmap rope --input rope
# No input is replaced, and no file of a run.
cp texts two/heatmap.html
refuses 1 "would replace two/heatmap.html" heatmap rope --input two/heatmap.html --output two
ln -sf ../rope/config.json other/rope-text1-decoder.npy
fingerprint rope >kept
refuses 1 "other/rope-text1-decoder.npy is a symbolic link" heatmap rope --input texts --output other
fingerprint rope | cmp -s - kept || complain "a run is changed by its heatmap"
finish
