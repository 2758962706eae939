#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# manual_test.sh ROTARY FOLDER: every command has a manual page, which names its options as the program's help does, the
# first page has the commands and the settings, and groff has nothing to say against any of them.
set -eu
rotary=$1 folder=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

# Without roff's escapes: words are looked for.
for page in "$folder"/*.1; do
    sed 's/\\-/-/g; s/\\(aq/'\''/g' "$page" >"$scratch/$(basename "$page")"
done
# names COMMAND...: the lines "page option" of a command's help.
names() {
    page=rotary-$(echo "$*" | tr ' ' -).1
    [ -s "$scratch/$page" ] || { echo "there is no $page" >&2; return; }
    "$rotary" help "$@" | awk -v page="$page" '/^options of every command/ { exit } /^  --/ { print page, $1 }'
}
"$rotary" help | awk '/^  [a-z]+  / { print $1 }' >"$scratch/commands"
while read -r command; do
    echo "rotary.1 rotary-$command"
    echo "rotary-$command.1 .TH"
    names "$command"
    # Those below it; a name of two words is written with a hyphen here.
    "$rotary" help "$command" | awk '/^commands:$/ { on = 1 } /^$/ { on = 0 } on && /^  [a-z]/ { print $2 }' >"$scratch/below"
    while read -r below; do
        echo "rotary-$command.1 rotary-$command-$below"
        echo "rotary-$command-$below.1 .TH"
        names "$command" "$below"
    done <"$scratch/below"
done <"$scratch/commands" >"$scratch/wanted"
"$rotary" help info | awk '/^options of every command/ { on = 1 } on && /^  --/ { print "rotary.1", $1 }' >>"$scratch/wanted"
"$rotary" help settings | awk '/^  [a-z_]+ / { print "rotary.1", $1 }' >>"$scratch/wanted"
[ "$(wc -l <"$scratch/wanted")" -gt 300 ] || { echo "help names hardly any options: is its form another now?"; status=1; }
while read -r page name; do
    [ -s "$scratch/$page" ] && awk -v name="$name" '
        /^\.B / && $2 == name || /^\.BR / && $2 == name || $1 == name { found = 1 }
        END { exit !found }' "$scratch/$page" || { echo "$page: $name is missing"; status=1; }
done <"$scratch/wanted"

if command -v groff >/dev/null; then
    for page in "$folder"/*.1; do
        groff -man -Tutf8 -ww "$page" 2>"$scratch/said" >/dev/null || status=1
        [ ! -s "$scratch/said" ] || { cat "$scratch/said"; status=1; }
    done
fi
exit $status
