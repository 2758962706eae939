# SPDX-License-Identifier: Apache-2.0
# sentencepiece_corpora.sh ROTARY ROOT: real models give the ids, texts and pieces that the library's own program gave for
# whole corpora. They lie in ../shared beside the checkout; without it the test is skipped.
set -u
rotary=$1
data=${ROTARY_SHARED:-$2/../shared}/data
models=$data/sentencepiece
[ -d "$models" ] || { echo "skipped: there is no $models"; exit 77; }
if "$rotary" info | grep -q 'SentencePiece *not in this program'; then
    echo "skipped: this program was built without SentencePiece"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0 compared=0

# same FILE COMMAND...: the command prints what the file holds.
same() {
    wanted=$1
    shift
    "$rotary" "$@" >"$scratch/got" || failures=$((failures + 1))
    compared=$((compared + $(wc -l <"$wanted")))
    cmp "$scratch/got" "$wanted" || { echo "FAILED: rotary $*"; failures=$((failures + 1)); }
}

for model in test_model test_sentencepiece_with_bytefallback; do
    file=$models/$model.model
    same "$models/$model.botchan.ids" tokenize encode "$file" <"$data/english/botchan/botchan.txt"
    same "$models/$model.multi30k_val.de.ids" tokenize encode "$file" <"$data/multi30k/val.de"
    same "$models/$model.multi30k_val.en.ids" tokenize encode "$file" <"$data/multi30k/val.en"
    same "$models/$model.edge_cases.ids" tokenize encode "$file" <"$models/edge_cases.txt"
    same "$models/$model.edge_cases.decoded" tokenize decode "$file" <"$models/$model.edge_cases.ids"
    # A token is decoded to what it is named, once U+2581 is a space.
    cut -f 1 "$models/$model.pieces.tsv" >"$scratch/ids"
    awk -F '\t' 'substr($4, 1, 2) == "00" && substr($4, 4) != "1"' "$models/$model.pieces.tsv" >"$scratch/normal"
    cut -f 2 "$scratch/normal" | sed 's/\xe2\x96\x81/ /g; s/^ //' >"$scratch/texts"
    cut -f 1 "$scratch/normal" >"$scratch/ids"
    same "$scratch/texts" tokenize decode "$file" <"$scratch/ids"
done
echo "$compared lines compared"
[ $failures = 0 ] && [ $compared -gt 12000 ]
