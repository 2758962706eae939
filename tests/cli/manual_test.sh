#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# manual_test.sh ROTARY PAGE: the manual page names every command, option and setting that the program's help does, and
# groff has nothing to say against it.
set -eu
rotary=$1 page=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

# Without roff's escapes: words are looked for.
sed 's/\\-/-/g; s/\\(aq/'\''/g' "$page" >"$scratch/plain"
"$rotary" help | awk '/^  [a-z]+  / { print $1 }' >"$scratch/commands"
while read -r command; do
    grep -q "^\.SS \"rotary $command[ \"]" "$scratch/plain" || { echo "the command $command is missing" >&2; status=1; }
    "$rotary" help "$command" | awk -v command="$command" '/^  --/ { print command, $1 }'
    # Those below it; a name of two words is written with a hyphen here.
    "$rotary" help "$command" | awk '/^commands:$/ { on = 1 } /^$/ { on = 0 } on && /^  / { print $2 }' >"$scratch/below"
    while read -r below; do
        grep -q "^\.SS \"rotary $command $below[ \"]" "$scratch/plain" ||
            { echo "the command $command $below is missing" >&2; status=1; }
        "$rotary" help "$command" "$below" | awk -v command="$command-$below" '/^  --/ { print command, $1 }'
    done <"$scratch/below"
done <"$scratch/commands" >"$scratch/options"
"$rotary" help settings | awk '/^  [a-z_]+ / { print "settings", $1 }' >>"$scratch/options"
[ "$(wc -l <"$scratch/options")" -gt 50 ] || { echo "help names hardly any options: is its form another now?"; status=1; }
while read -r command name; do
    # Within the section of the command, or among the options and settings that all commands share.
    awk -v command="$command" -v name="$name" '
    /^\.SS "rotary / { section = $3 ($4 ~ /^[a-z]/ ? "-" $4 : ""); gsub(/"/, "", section) }
    /^\.SH / { section = "all" }
    /^\.B / && $2 == name && (section == command || section == "all") { found = 1 }
    END { exit !found }' "$scratch/plain" || { echo "$command: $name is missing"; status=1; }
done <"$scratch/options"

if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww "$page" 2>"$scratch/said" >/dev/null || status=1
    [ ! -s "$scratch/said" ] || { cat "$scratch/said"; status=1; }
fi
exit $status
