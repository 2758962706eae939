#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# manual.sh ROTARY TEMPLATE >rotary.1: makes the manual page from docs/man/rotary.1.in and from the program's help, so
# that no command and no option can be missing from it.
set -eu
[ $# = 2 ] || { echo "usage: scripts/manual.sh ROTARY TEMPLATE >rotary.1" >&2; exit 2; }
rotary=$1 template=$2

# roff PART: reads what `rotary help TOPIC` prints, and prints one part of it as roff.
#   body     everything except the usage line, the list of commands below it, and the options of every command
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
    /^usage: / {
        if (part == "body")
            printf ".SS \"%s\"\n", escape(substr($0, 8))
        next
    }
    /^options:$/ { section = "options"; next }
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
            printf ".PP\nExample:\n.PP\n.RS\n.EX\n%s\n.EE\n.RE\n.PP\n", escape($0)
        else
            print escape($0)
        next
    }
    /^  [^ ]/ { entry($0); next }
    { sub(/^ +/, ""); print escape($0) }'
}

commands=$("$rotary" help | awk '/^  [a-z]+  / { print $1 }')
[ -n "$commands" ] || { echo "manual.sh: $rotary names no commands" >&2; exit 1; }
while IFS= read -r line; do
    case $line in
    @COMMANDS@)
        for command in $commands; do
            "$rotary" help "$command" | roff body
            # Its subcommands.
            for below in $("$rotary" help "$command" | awk '/^commands:$/ { on = 1 } /^$/ { on = 0 } on && /^  / { print $2 }'); do
                "$rotary" help "$command" "$below" | roff body
            done
        done
        ;;
    @COMMON@) "$rotary" help info | roff common ;;
    @SETTINGS@) "$rotary" help settings | roff settings ;;
    *@VERSION@*) printf '%s\n' "$line" | sed "s/@VERSION@/$("$rotary" --version | sed 's/.* //')/" ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$template"
