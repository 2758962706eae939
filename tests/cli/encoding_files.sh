# SPDX-License-Identifier: Apache-2.0
# Every file of an encoding, those that come with the program and those that the fuzzer starts from, through every command
# that takes one: it does its work, or refuses with one line. Of biases that are tables decay prints the numbers.
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/support.sh"

# The fuzzer's tables have three rows, and its lists a number for each of three pairs.
three="--set hidden_size=18 --set num_attention_heads=3 --set num_key_value_heads=3"
cp "$root"/presets/encodings/*.json "$root"/tests/fuzz/corpus/encoding/*.json .
npy some.npy "(3,)" 12
npy x.npy "(4, 3, 6)" $((4 * 3 * 6 * 4))
all=
for file in *.json; do
    all=$all,$file
    case $file in
    p-rope.json | frequencies.json | kerple.json | rope-kerple.json)
        does 0 decay --position "$file" --channels 6 --distance 5
        says "5 " ;;
    row.json | sandwich.json)
        does 0 decay --position "$file" --heads 3 --distance 5 --json
        has distance.5 5 ;;
    table.json)
        refuses 1 'learned' decay --position "$file" --heads 3
        refuses 1 'wanted' decay --position "$file" --heads 2 ;;
    alibi-learned.json | condition.json)
        refuses 1 'learned' decay --position "$file" ;;
    array.json | list.json | plain.json)
        refuses 1 'nothing in the scores' decay --position "$file" ;;
    *) complain "no case for $file" ;;
    esac
    refuses 2 "$file" attend --position "$file" --query x.npy --key x.npy --value x.npy --output y.npy
    # shellcheck disable=SC2086 # lists of words
    does 0 train index --position "$file" $tiny $three --steps 1 --out "run-${file%.json}"
done
# shellcheck disable=SC2086
does 0 compare index --positions "${all#,}" $tiny $three --steps 1 --runs 1 --out compared --json
has arms.0.name '"alibi-learned"'

# prints LINES ARGUMENTS...: decay prints exactly these.
prints() {
    lines=$1
    shift
    does 0 decay "$@"
    # shellcheck disable=SC2059 # of lines
    printf "$lines" | cmp -s - out || complain "decay $*: other numbers than $lines"
}
echo '{"bias": [0, -0.5, -1], "learned": false}' >whole.json
prints '0 0\n1 -0.5\n2 -1\n3 -1\n' --position whole.json --heads 1 --distance 3
echo '{"bias": [[0, -0.5], [3, 2.25]]}' >heads.json
prints '0 0 3\n1 -0.5 2.25\n2 -0.5 2.25\n' --position heads.json --heads 2 --distance 2
refuses 1 '"bias" has 2 rows' decay --position heads.json --heads 3
finish
