#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# help_pages.sh ROOT ROTARY: the pages of the reference that are made from the program's help are those it has now.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sh "$1/scripts/help-pages.sh" "$2" "$scratch"
status=0
for page in commands settings presets; do
    diff -u "$1/docs/reference/$page.md" "$scratch/$page.md" || status=1
done
[ $status = 0 ] || echo "what the program says has changed: scripts/help-pages.sh $2 writes the pages anew"
# A part of the help that the script does not know would be missing in all of them.
for topic in compare settings presets "tokenize train"; do
    # shellcheck disable=SC2086 # a command of two words
    names=$("$2" help $topic | grep -oE '^  (--)?[a-z][a-z_-]*(  |$| [A-Z])' | sed 's/^ *//; s/  *[A-Z]*$//')
    for name in $names; do
        grep -qF -- "- \`$name" "$scratch/commands.md" "$scratch/settings.md" "$scratch/presets.md" ||
            { echo "rotary help $topic has $name, the pages have not" && status=1; }
    done
done
exit $status
