# SPDX-License-Identifier: Apache-2.0
# Help is as in golden/. After an intended change `tests/cli/help.sh ROTARY JSON_GET golden` writes golden/ anew.
golden=$(cd "$(dirname "$0")" && pwd)/golden
root=$(cd "$(dirname "$0")/../.." && pwd)
renew=${3-}
. "$(dirname "$0")/support.sh"

for topic in '' compare train data evaluate fill classify generate translate bleu report heatmap frequencies apply attend decay permute export bench \
    'bench train' 'bench generate' 'bench translate' 'bench rope' 'bench attention' 'bench decode' \
    tokenize 'tokenize train' 'tokenize encode' 'tokenize decode' info help presets learning_rate completions; do
    name=help${topic:+-$(echo "$topic" | tr ' ' -)}.txt
    # shellcheck disable=SC2086 # no topic is no argument, some are two
    does 0 help $topic || continue
    [ ! -s err ] || complain "help $topic: something on stderr"
    if [ "$renew" = golden ]; then
        cp out "$golden/$name"
    elif ! diff -u "$golden/$name" out; then
        complain "help $topic is not golden/$name"
    fi
    awk -v topic="$topic" 'length($0) > 100 { print "help " topic ": line " NR " is too wide"; bad = 1 } END { exit bad }' out ||
        complain "help $topic: too wide"
    # What a command shows for --help is the same; presets and keys are none.
    if [ -n "$topic" ] && grep -q '^usage: ' out; then
        cp out shown
        # shellcheck disable=SC2086
        does 0 $topic --help
        cmp -s shown out || complain "$topic --help is not help $topic"
    fi
done

# The options that README.md and docs/ name exist: those after the name of a command, and the oracle's alone.
# exists OPTION COMMAND WHERE: the help in `out` has the option that WHERE names.
exists() {
    grep -q "^  $1\( \|\$\)" "$scratch/out" || complain "$2 has no $1, which $3 names"
}
grep -oh 'rotary [a-z][^`]* --[^`]*' "$root"/README.md "$root"/docs/*/*.md >typed
[ "$(wc -l <typed)" -gt 10 ] || complain "README.md and docs/ name hardly any commands: has their form changed?"
while read -r _ command second rest; do
    case $command in bench | tokenize) command="$command $second" ;; esac
    # shellcheck disable=SC2086 # one word or two
    does 0 help $command || continue
    for option in $(echo "$second $rest" | grep -o -- '--[a-z-]*'); do
        exists "$option" "rotary $command" "README.md or docs/"
    done
done <typed
for command in frequencies apply attend decay permute; do
    "$rotary" help $command
done >out
for option in $(grep -o -- '`--[a-z-]*' "$root/docs/how-to/check-your-rope.md" | tr -d '`' | sort -u); do
    exists "$option" "the oracle" "docs/how-to/check-your-rope.md"
done
finish
