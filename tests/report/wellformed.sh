#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wellformed.sh MAKE_PAGES MAKE_HEATMAPS: parses the pages and pictures that these make, strictly.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$1" "$pages"
python3 "$here/wellformed.py" "$pages"/*.html
# So are the pages of heatmaps.
"$2" "$pages" >/dev/null
python3 "$here/wellformed.py" "$pages"/*/heatmap.html
# Figures alone, and pictures of heatmaps, are XML.
python3 -c 'import sys, xml.etree.ElementTree as tree
for name in sys.argv[1:]: assert len(list(tree.parse(name).getroot().iter())) > 20, name' "$pages"/*/*.svg
# The checker must be able to find fault.
printf '<!DOCTYPE html>\n<p><b>crossed</p></b>\n<img src="x">\n' >"$pages/bad.html"
! python3 "$here/wellformed.py" "$pages/bad.html" >/dev/null
