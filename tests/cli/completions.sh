#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# completions.sh ROTARY: what bash, zsh and fish offer, each where it is installed: bash is asked as readline asks it, zsh by
# a Tab in a terminal of its own, and fish by `complete -C`.
set -eu
rotary=$1
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
status=0
mkdir shells
for shell in bash zsh fish; do
    "$rotary" completions "$shell" >"shells/$shell"
done
mkdir zsh && cp shells/zsh zsh/_rotary
# A placeholder is filled in in the help.
! grep -n '{[a-z]*}.*{encodings}' shells/* || { echo "names are missing in a help"; status=1; }

cat >ask_bash <<'END'
. "$1"
read -r -a COMP_WORDS <<<"$2"
[ "${2% }" = "$2" ] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_rotary
echo "${COMPREPLY[*]}"
END
ask() {
    case $1 in
    bash) bash ask_bash shells/bash "$2" ;;
    zsh) # after the line that is typed, and before the cursor goes back up to it
        zsh -f "$here/completions_zsh.zsh" zsh "$2" | tr -d '\r' |
            sed '1d; /\x1b\[A/{s/\x1b\[A.*//; s/\x1b\[[0-9;?]*[A-Za-z]//g; q}; s/\x1b\[[0-9;?]*[A-Za-z]//g' ;;
    fish) fish -c "source shells/fish; complete -C '$2'" ;;
    esac 2>&1 | tr '\n\t' '  '
}

compared=0
# offers "WORDS" "WANTED..." "UNWANTED...": after these words, of which the last is being typed.
offers() {
    offered=" $(ask "$shell" "$1") "
    for wanted in $2; do
        compared=$((compared + 1))
        case $offered in *" $wanted "*) ;; *) echo "after \"$1\" $shell offers$offered, not $wanted"; status=1 ;; esac
    done
    for other in $3; do
        case $offered in *" $other "*) echo "after \"$1\" $shell offers$offered, also $other"; status=1 ;; esac
    done
}
for shell in bash zsh fish; do
    command -v "$shell" >/dev/null || { echo "$shell is skipped, as it is not installed"; continue; }
    "$shell" -n "shells/$shell" || status=1
    offers 'rotary ' 'compare train bench help completions' 'rope --steps'
    offers 'rotary com' 'compare completions' 'train'
    offers 'rotary compare ' 'prefix language' 'compare rope'
    offers 'rotary compare prefix --ev' '--evaluate-lengths --evaluate-scaling' '--position --steps'
    offers 'rotary compare prefix --preset ' 'quick paper' 'prefix --steps'
    offers 'rotary train prefix --position ' 'rope roper alibi' 'prefix --steps'
    offers 'rotary train prefix --precision ' 'f32 bf16' 'prefix --steps'
    offers 'rotary bench ' 'train rope' 'compare prefix'
    offers 'rotary bench tr' 'train translate' 'rope'
    offers 'rotary bench train --st' '--steps' '--stop'
    offers 'rotary tokenize train --in' '--input' '--init'
    offers 'rotary export x --format ' 'huggingface gguf' 'prefix'
    offers 'rotary completions ' 'bash zsh fish' 'prefix'
    offers 'rotary help ' 'settings presets compare' 'prefix'
done
[ "$compared" -ge 28 ] || { echo "only $compared offers were looked at"; status=1; }
# Every option of the help is in every script.
"$rotary" help compare | sed -n 's/^  --\([a-z-]*\).*/\1/p' | while read -r option; do
    for shell in bash zsh; do
        grep -q -e "--${option}[ =\[]" "shells/$shell" || { echo "$shell: --$option is missing"; exit 1; }
    done
    grep -q -e "-l $option " shells/fish || { echo "fish: --$option is missing"; exit 1; }
done || status=1
exit $status
