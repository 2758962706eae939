#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# help-pages.sh ROTARY [FOLDER]: writes the pages of the reference that are what the program's help says, so that no
# command, no option, no key and no preset can be missing: commands.md, settings.md and presets.md in FOLDER (default:
# docs/reference).
set -eu
[ $# = 1 ] || [ $# = 2 ] || { echo "usage: scripts/help-pages.sh ROTARY [FOLDER]" >&2; exit 2; }
rotary=$1 folder=${2-$(dirname "$0")/../docs/reference}

# markdown PART [COMMAND]: reads what `rotary help TOPIC` prints, and prints one part of it as Markdown.
#   body     everything except the list of commands and the options of every command
#   common   those options
#   entries  groups of entries, each under a heading: keys of a configuration, presets
#   links    the list of commands, of the program or of a group, each with a link to its section
markdown() {
    awk -v part="$1" -v command="${2-}" '
    function escape(text)
    {
        gsub(/[*<>]/, "\\\\&", text)
        return text
    }
    function wrap(text, indent,    words, count, i, line)
    {
        count = split(text, words, " ")
        line = ""
        for (i = 1; i <= count; i++) {
            if (words[i] !~ /`/)
                sub(/--[a-z-]+[a-z]/, "`&`", words[i])
            if (line != "" && length(line " " words[i]) > 118) {
                print line
                line = indent words[i]
            } else
                line = line == "" ? words[i] : line " " words[i]
        }
        if (line != "")
            print line
    }
    function sentence(text)
    {
        sub("^" command " ", "", text)
        return toupper(substr(text, 1, 1)) substr(text, 2) (text ~ /\.$/ ? "" : ".")
    }
    # Prints the paragraph, the entry or the example that was read so far.
    function flush(    text, range)
    {
        text = escape(read)
        if (name != "" && part == "links") {
            anchor = "rotary-" name
            gsub(/ /, "-", anchor)
            wrap("- [`" name "`](#" anchor "): " text, "  ")
        } else if (name != "") {
            if (part == "entries" && match(text, / \[[^\]]*\] \(default: [^()]*\)$/)) {
                range = substr(text, RSTART + 2, RLENGTH - 3)
                text = substr(text, 1, RSTART - 1)
                split(range, halves, /\] \(default: /)
                text = text " (" halves[1] "; default " (halves[2] == "" ? "empty" : "`" halves[2] "`") ")"
            }
            wrap("- `" name "`: " text, "  ")
        } else if (read != "") {
            print ""
            wrap(section == "example" || part == "body" && !paragraphs++ ? sentence(text) : text, "")
        }
        read = name = ""
    }
    /^options of every command:$/ { flush(); section = "common"; next }
    /^options:$/ { flush(); section = "options"; if (part == "body") print ""; next }
    /^commands:$/ { flush(); section = "commands"; next }
    /^example:$/ { flush(); section = "example"; count = 0; next }
    /^usage: / { if (part == "body") printf "```\n%s\n```\n", substr($0, 8); next }
    part == "entries" && /^[^ ].*:$/ {
        flush()
        sub(/:$/, "")
        printf "\n## %s\n\n", toupper(substr($0, 1, 1)) substr($0, 2)
        next
    }
    part == "links" && section != "commands" && !/^  [a-z]/ && !listed { next }
    part == "common" && section != "common" || part == "body" && (section == "common" || section == "commands") { next }
    part == "links" && section == "example" { next }
    /^$/ { flush(); if (part == "links" && listed) exit; next }
    part == "body" && section == "example" {
        sub(/^  /, "")
        if (count++ == 0)
            printf "\n```sh\n%s\n```\n", $0
        else
            read = read (read == "" ? "" : " ") $0
        next
    }
    /^  [^ ]/ {
        flush()
        listed = 1
        sub(/^  /, "")
        if (match($0, /  +/)) {
            name = substr($0, 1, RSTART - 1)
            read = substr($0, RSTART + RLENGTH)
        } else
            name = $0
        if (part == "links")
            sub(/^rotary /, "", name)
        next
    }
    {
        sub(/^ +/, "")
        read = read (read == "" ? "" : " ") $0
    }
    END { flush() }'
}

# section HEADING TOPIC...: a command, or one below another.
section() {
    heading=$1
    shift
    printf '\n%s rotary %s\n\n' "$heading" "$*"
    help=$("$rotary" help "$@")
    printf '%s\n' "$help" | markdown body "rotary $*"
    below=$(printf '%s\n' "$help" | awk '/^commands:$/ { on = 1 } /^$/ { on = 0 } on && /^  [a-z]/ { print $2 }')
    [ "$below" = "" ] || { echo && printf '%s\n' "$help" | markdown links; }
    for name in $below; do
        section '###' "$1" "$name"
    done
}

# introduce TITLE, and its introduction from standard input.
introduce() {
    printf '# %s\n\nThis page is made from the help of the program by `scripts/help-pages.sh`: it is not edited.\n' "$1"
    cat
}

commands=$("$rotary" help | awk '/^  [a-z]+  / { print $1 }')
[ -n "$commands" ] || { echo "help-pages.sh: $rotary names no commands" >&2; exit 1; }
{
    introduce Commands <<'END'
`rotary help COMMAND` prints a section of it, and `man rotary-COMMAND` where the program is installed.

END
    "$rotary" help | markdown links
    printf '\n## Options of every command\n\n'
    "$rotary" help info | markdown common
    for command in $commands; do
        section '##' "$command"
    done
} >"$folder/commands.md"
{
    introduce Settings <<'END'
`rotary help KEY` prints a key with its value in every preset.
END
    "$rotary" help settings | markdown entries
} >"$folder/settings.md"
{
    introduce Presets <<'END'
`presets/` has their files. [The experiments](../explanation/experiments.md#the-presets) says what they are for.
END
    "$rotary" help presets | markdown entries
} >"$folder/presets.md"
