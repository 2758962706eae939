#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# page_browser.sh MAKE_PAGES [DIR]: opens pages of comparisons in headless Chromium, uses them as a reader would, and has axe look
# at them, which is axe.min.js in $AXE or in the package axe-core-python of $PYTHON. With DIR, leaves screenshots there, light and
# dark, and prints.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: there is no Chromium"; exit 77; }
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "skipped: there is no $python"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work"
timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
    --dump-dom about:blank >/dev/null 2>&1 || { echo "skipped: Chromium does not start"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/page_browser.py" "$chromium" "$work" "${2-}"
