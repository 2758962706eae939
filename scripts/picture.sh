#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# picture.sh REPORT.html >PICTURE.svg: writes the first drawing of a report to a file, with the page's colours. The
# README's pictures are made with it:
#     rotary report results/index-quick.tar.gz --out report.html
#     scripts/picture.sh report.html >docs/images/index-quick.svg
set -eu
[ $# = 1 ] || { echo "usage: scripts/picture.sh REPORT.html >PICTURE.svg" >&2; exit 2; }
awk '
/^<style>$/ { in_style = 1; next }
/^<\/style>$/ { in_style = 0 }
in_style && /^(:root|@media\(prefers|svg |\.e0|\.e4)/ { style = style $0 "\n" }
!drawn && /^<svg / {
    split($0, part, "\"")
    split(part[2], box, " ") # 0 0 width height
    sub(part[2], sprintf("-14 -8 %d %d", box[3] + 28, box[4] + 16))
    sub(/<svg /, "<svg xmlns=\"http://www.w3.org/2000/svg\" ")
    print
    printf "<style>\n%ssvg{font-family:system-ui,sans-serif}\n</style>\n", style
    print "<rect x=\"-14\" y=\"-8\" width=\"100%\" height=\"100%\" rx=\"8\" style=\"fill:var(--card)\"/>"
    drawing = drawn = 1
    next
}
drawing { print }
drawing && /^<\/svg>$/ && !nested { exit }
drawing && /^<svg / { nested = 1 }
drawing && /^<\/svg>$/ { nested = 0 }
END { exit !drawn }
' "$1"
