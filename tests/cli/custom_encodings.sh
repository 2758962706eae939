# SPDX-License-Identifier: Apache-2.0
# Encodings that a file describes: the example of docs/reference/encodings.md in a comparison, then without the file; what is wrong in
# files.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/support.sh"

awk '/^## Your own/ { own = 1 } /^```$/ { if (inside) exit } inside { print } own && /^```json/ { inside = 1 }' \
    "$root/docs/reference/encodings.md" >mine.json
[ -s mine.json ] || complain "docs/reference/encodings.md has no example"
# shellcheck disable=SC2086 # lists of words
{
    does 0 compare index --positions rope,mine.json,alibi $tiny --steps 2 --runs 2 --out compared --json
    has arms.1.name '"mine"'
    grep -q '<th[^>]*>mine' compared/report.html || complain "the page has no row of mine"
    [ -s compared/mine-2/model.safetensors ] || complain "the runs of mine are not in folders of that name"

    # The comparison goes on without the file, as does a run, bit by bit.
    does 0 train index --position mine.json $tiny --steps 4 --out four
    does 0 train index --position mine.json $tiny --steps 2 --out two
    mv mine.json kept.json
    does 0 compare index $tiny --steps 3 --runs 2 --out compared --json
    has arms.1.name '"mine"'
    does 0 train index --steps 4 --resume --out two --json
    has position '"mine"'
}
cmp four/model.safetensors two/model.safetensors || complain "a resumed run with its custom encoding has other weights"
grep -q '"position.scale"' two/model.safetensors || complain "the checkpoint has no learned number"
grep -q '"position":"mine"' two/model.safetensors || complain "the checkpoint does not name its encoding"
does 0 evaluate two --json
has position '"mine"'
does 0 evaluate two
says "index, mine, step 4"
does 0 generate two --prompt '?s='
does 0 heatmap two --text '?s=' --output maps
does 0 report compared
says "mine - rope"

# The initial value is used: another one, another model. And the bias has an effect.
# shellcheck disable=SC2086
for scale in 1 2; do
    sed "s/\"-1 - head\"/$scale/" kept.json >scale.json
    does 0 train index --position scale.json $tiny --steps 1 --out scale$scale
done
cmp -s scale1/best.safetensors scale2/best.safetensors && complain "the initial value changes nothing"
does 0 bench train --position rope,kept.json --preset quick --task index --steps 1 --set num_hidden_layers=1 --json
has results.1.position '"kept"'

# Frequencies of its own, and vectors, have an effect, and the base has none.
# paced NAME FREQUENCIES: trains NAME with these.
paced() {
    echo "{\"name\": \"paced\", \"rotate\": [\"query\", \"key\"], \"frequencies\": $2}" >paced.json
    # shellcheck disable=SC2086
    does 0 train index --position paced.json $tiny --steps 1 --out "$1" --json
    "$json_get" evaluation.loss <out >"$1.loss"
}
paced formula '"1/(pair+1)"'
paced same '[1, 0.5, 0.3333333333333333, 0.25]'
paced other '[1, 0.5, 0.3, 0.25]'
cmp formula.loss same.loss || complain "a formula and its numbers as frequencies have different losses"
cmp -s same.loss other.loss && complain "frequencies change nothing"
# shellcheck disable=SC2086
refuses 2 'rope_theta' train index --position paced.json $tiny --set rope_theta=5 --steps 1 --out paced
echo '{"vectors": {"of": ["value"], "clip": 2}}' >vectors.json
# shellcheck disable=SC2086
does 0 train index --position vectors.json $tiny --steps 1 --out vectors
grep -q 'relative' vectors/model.safetensors || complain "there are no vectors"
# shellcheck disable=SC2086
does 0 train index --position paced.json $tiny --steps 1 --out paced
# They are scaled by no length.
does 0 evaluate paced --evaluate-lengths 64,96 --evaluate-scaling none,linear
[ "$(grep -c '^ *[0-9]* *linear .* -  ' out)" = 2 ] || complain "frequencies of its own are scaled"
refuses 1 'frequencies of its own' frequencies --config paced/config.json

# A file that comes with the program is known by its name.
# shellcheck disable=SC2086
does 0 compare index --positions p-rope,rope-kerple $tiny --steps 1 --runs 1 --out shipped --json
has arms.0.name '"p-rope"'
has arms.1.name '"rope-kerple"'

# So is a file in an assignment, and in a list of values.
# shellcheck disable=SC2086
{
    does 0 train index --set position=kept.json $tiny --steps 1 --out assigned --json
    has position '"kept"'
    does 0 compare index --vary position=kept.json,p-rope $tiny --steps 1 --runs 1 --out listed --json
    has arms.0.name '"kept"'
    has arms.1.name '"p-rope"'
}

# What is wrong.
wrong() {
    echo "$1" >wrong.json
    refuses 1 "wrong.json$2" train index --position wrong.json --steps 1 --out wrong
}
wrong '{"bias": "-slope * abs(dist)", "learned": {"slope": 1}}' ': "bias", column 14: there is no name "dist", wanted one of distance, head'
wrong '{"rotate": ["query"]}' ': "rotate" is ["query"], wanted'
wrong '{"rotat": []}' ': there is no key "rotat", wanted name, embedding, rotate'
wrong '{"bias": "1", "bias": "2"}' ', line 1, column'
wrong '[]' ' holds no JSON object'
echo '{"bias": "1/distance"}' >infinite.json
refuses 2 'position infinite: "bias" is inf at distance 0 in head 0' train index --position infinite.json --steps 1 --out wrong
refuses 1 'none.json' compare index --positions rope,none.json --out wrong
refuses 2 '--positions names kept.json twice' compare index --positions kept.json,kept.json --out wrong
refuses 2 '"position" is "alibis"' compare index --positions alibis --out wrong
finish
