#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# manual.sh ROTARY TEMPLATE FOLDER: makes the manual pages in FOLDER from docs/man/rotary.1.in and from the program's
# help, so that no command and no option can be missing: rotary.1, and a page for each command, rotary-compare.1.
set -eu
[ $# = 3 ] || { echo "usage: scripts/manual.sh ROTARY TEMPLATE FOLDER" >&2; exit 2; }
rotary=$1 template=$2 folder=$3

# roff PART: reads what `rotary help TOPIC` prints, and prints one part of it as roff.
#   body     everything except the usage line, the list of commands below it, and the options of every command
#   commands the list of commands, of the program or of a group
#   common   those options
#   settings the keys of a configuration
roff() {
    awk -v part="$1" '
    function escape(text)
    {
        gsub(/\\/, "\\e", text)
        gsub(/-/, "\\-", text)
        gsub(/\047/, "\\(aq", text)
        if (text ~ /^\./)
            text = "\\\\&" text
        return text
    }
    # "  left   right" begins an entry; its other lines are indented further.
    function entry(line)
    {
        sub(/^  /, "", line)
        if (match(line, /  +/))
            printf ".TP\n.B %s\n%s\n", escape(substr(line, 1, RSTART - 1)), escape(substr(line, RSTART + RLENGTH))
        else
            printf ".TP\n.B %s\n", escape(line)
    }
    /^usage: / { next }
    part == "commands" {
        if (/^  [a-z]+[a-z ]*  +[a-z]/) {
            name = $0
            sub(/^  /, "", name)
            match(name, /  +/)
            text = substr(name, RSTART + RLENGTH)
            name = substr(name, 1, RSTART - 1)
            sub(/^rotary /, "", name)
            gsub(/ /, "-", name)
            printf ".TP\n.BR rotary\\-%s (1)\n%s\n", escape(name), escape(text)
            listed = 1
        } else if (listed && /^    /) {
            sub(/^ +/, "")
            print escape($0)
        } else
            listed = 0
        next
    }
    /^options:$/ { section = "options"; if (part == "body") print ".SH OPTIONS"; next }
    /^options of every command:$/ { section = "common"; next }
    /^commands:$/ { section = "commands"; next }
    /^example:$/ { section = "example"; count = 0; next }
    part == "settings" && /^the |^training:$/ { sub(/:$/, ""); printf ".SS %s\n", toupper(substr($0, 1, 1)) substr($0, 2); section = "keys"; next }
    section == "common" && part == "body" || section != "common" && part == "common" { next }
    section == "commands" { next }
    /^$/ { if (section == "") blank = 1; next }
    section == "" {
        if (blank && said)
            print ".PP"
        blank = 0
        said = 1
        print escape($0)
        next
    }
    section == "example" {
        sub(/^  /, "")
        if (count++ == 0)
            printf ".SH EXAMPLE\n.RS\n.EX\n%s\n.EE\n.RE\n.PP\n", escape($0)
        else
            print escape($0)
        next
    }
    /^  [^ ]/ { entry($0); next }
    { sub(/^ +/, ""); print escape($0) }'
}

version=$("$rotary" --version | sed 's/.* //')

# page NAME TOPIC...: the page of a command.
page() {
    name=$1
    shift
    help=$("$rotary" help "$@")
    {
        printf '.TH "ROTARY\\-%s" 1 "" "rotary %s" "User Commands"\n.SH NAME\n' "$(echo "$name" | tr a-z- 'A-Z\-')" "$version"
        printf '%s\n' "$help" | awk -v name="$name" -v command="rotary $*" '
            NR > 2 && /^$/ { exit }
            NR > 2 { text = text (text == "" ? "" : " ") $0 }
            END {
                sub("^" command " ", "", text)
                sub(/\.$/, "", text)
                gsub(/-/, "\\-", name)
                gsub(/-/, "\\-", text)
                printf "rotary\\-%s \\- %s\n", name, text
            }'
        printf '%s\n' "$help" | sed -n '1s/^usage: \(.*\)/\1/p' | sed 's/-/\\-/g; s/^/.SH SYNOPSIS\n.B /; s/$/\n.SH DESCRIPTION/'
        printf '%s\n' "$help" | roff body
        case $help in
        *'
commands:'*)
            echo '.SH COMMANDS'
            printf '%s\n' "$help" | roff commands
            ;;
        *) printf '.PP\nOptions of every command are in\n.BR rotary (1).\n' ;;
        esac
        printf '.SH SEE ALSO\n.BR rotary (1)\n'
    } >"$folder/rotary-$name.1"
}

commands=$("$rotary" help | awk '/^  [a-z]+  / { print $1 }')
[ -n "$commands" ] || { echo "manual.sh: $rotary names no commands" >&2; exit 1; }
mkdir -p "$folder"
rm -f "$folder"/rotary*.1
for command in $commands; do
    page "$command" "$command"
    for below in $("$rotary" help "$command" | awk '/^commands:$/ { on = 1 } /^$/ { on = 0 } on && /^  [a-z]/ { print $2 }'); do
        page "$command-$below" "$command" "$below"
    done
done
while IFS= read -r line; do
    case $line in
    @COMMANDS@) "$rotary" help | roff commands ;;
    @COMMON@) "$rotary" help info | roff common ;;
    @SETTINGS@) "$rotary" help settings | roff settings ;;
    *@VERSION@*) printf '%s\n' "$line" | sed "s/@VERSION@/$version/" ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$template" >"$folder/rotary.1"
