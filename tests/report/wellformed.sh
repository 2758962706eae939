#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wellformed.sh MAKE_PAGES: parses the pages that MAKE_PAGES makes, strictly.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$1" "$pages"
python3 "$here/wellformed.py" "$pages"/*.html
# The README's picture, too, is XML.
sh "$here/../../scripts/picture.sh" "$pages/quick.html" >"$pages/picture.svg"
python3 -c 'import sys, xml.etree.ElementTree as tree; assert len(list(tree.parse(sys.argv[1]).getroot().iter())) > 20' \
    "$pages/picture.svg"
# The checker must be able to find fault.
printf '<!DOCTYPE html>\n<p><b>crossed</p></b>\n<img src="x">\n' >"$pages/bad.html"
! python3 "$here/wellformed.py" "$pages/bad.html" >/dev/null
