# SPDX-License-Identifier: Apache-2.0
# Help is what golden/ says. After a change that is meant: tests/cli/help.sh ROTARY JSON_GET golden writes it anew.
golden=$(cd "$(dirname "$0")" && pwd)/golden
renew=${3-}
. "$(dirname "$0")/support.sh"

for topic in '' compare train evaluate generate report frequencies apply attend decay permute bench \
    'bench train' 'bench generate' 'bench rope' 'bench attention' 'bench decode' info help; do
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
    # What a command shows for --help is the same.
    if [ -n "$topic" ]; then
        cp out shown
        # shellcheck disable=SC2086
        does 0 $topic --help
        cmp -s shown out || complain "$topic --help is not help $topic"
    fi
done
finish
