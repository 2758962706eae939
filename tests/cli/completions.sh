#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# completions.sh ROTARY: what a shell offers. bash is asked as readline asks it; zsh and fish, where they are installed,
# at least read their scripts, and fish answers too.
set -eu
rotary=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
for shell in bash zsh fish; do
    "$rotary" completions "$shell" >"$scratch/$shell"
done

# offers "WORDS" WANTED...: after these words, of which the last is being typed, bash offers all that is wanted.
cat >"$scratch/ask" <<'END'
. "$1"
read -r -a COMP_WORDS <<<"$2"
[ "${2% }" = "$2" ] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_rotary
echo " ${COMPREPLY[*]} "
END
compared=0
offers() {
    words=$1
    shift
    offered=$(bash "$scratch/ask" "$scratch/bash" "$words")
    for wanted in "$@"; do
        compared=$((compared + 1))
        case $offered in *" $wanted "*) ;; *) echo "after \"$words\" bash offers$offered, not $wanted"; status=1 ;; esac
    done
}
if command -v bash >/dev/null; then
    offers 'rotary ' compare train bench help completions
    offers 'rotary com' compare completions
    offers 'rotary compare ' prefix language --preset --json
    offers 'rotary compare prefix --ev' --evaluate-lengths
    offers 'rotary bench ' train rope
    offers 'rotary bench tr' train translate
    offers 'rotary bench train --st' --steps
    offers 'rotary export x --format ' huggingface gguf
    [ "$compared" -ge 16 ] || { echo "only $compared offers were looked at"; status=1; }
fi
! command -v zsh >/dev/null || zsh -n "$scratch/zsh" || status=1
if command -v fish >/dev/null; then
    fish -n "$scratch/fish" || status=1
    fish -c "source $scratch/fish; complete -C 'rotary export --format '" | grep -q '^gguf' || { echo "fish offers no gguf"; status=1; }
fi
# Every option of the help is in every script.
"$rotary" help compare | sed -n 's/^  --\([a-z-]*\).*/\1/p' | while read -r option; do
    for shell in bash zsh; do
        grep -q -e "--$option[ =\[]" "$scratch/$shell" || { echo "$shell: --$option is missing"; exit 1; }
    done
    grep -q -e "-l $option " "$scratch/fish" || { echo "fish: --$option is missing"; exit 1; }
done || status=1
exit $status
