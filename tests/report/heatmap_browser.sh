#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# heatmap_browser.sh MAKE_HEATMAPS [DIR]: opens pages of heatmaps in headless Chromium and clicks through them. With DIR,
# leaves screenshots there, light and dark.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: there is no Chromium"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work"
timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
    --dump-dom about:blank >/dev/null 2>&1 || { echo "skipped: Chromium does not start"; exit 77; }
# Every picture becomes a PNG file.
sh "$here/../../scripts/heatmap-png" "$work/single" 1
pictures=$(ls "$work"/single/*.svg | wc -l)
[ "$(ls "$work"/single/*.png | wc -l)" = "$pictures" ] || { echo "FAILED: not every picture became a PNG file"; exit 1; }
PYTHONDONTWRITEBYTECODE=1 python3 "$here/heatmap_browser.py" "$chromium" "$work" "${2-}"
