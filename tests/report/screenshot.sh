#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# screenshot.sh MAKE_PAGES [DIR]: opens pages in headless Chromium, at 390 and 1280 pixels, and fails if a page is wider than
# its window, or a chart's text lies outside its card. With DIR, leaves screenshots there, light and dark.
set -eu
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: there is no Chromium"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work"
pictures=${2-}

browse() {
    timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$work/profile" "$@" 2>/dev/null
}
browse --dump-dom about:blank >/dev/null || { echo "skipped: Chromium does not start"; exit 77; }

# The page stands in a frame, because a window is never as narrow as a phone. It tells its frame what it measured.
cat >"$work/measure" <<'SCRIPT'
<script>addEventListener('load',()=>{
const outside=[...document.querySelectorAll('figure')].flatMap(figure=>{
const box=figure.getBoundingClientRect();
return [...figure.querySelectorAll('text')].filter(text=>{
const place=text.getBoundingClientRect();
return place.left<box.left||place.right>box.right||place.top<box.top||place.bottom>box.bottom;
}).map(text=>text.textContent);});
const small=[...document.querySelectorAll('figure text')].filter(text=>text.getBoundingClientRect().height<11).length;
parent.postMessage('width '+document.documentElement.scrollWidth+' outside '+outside.length+' small '+small
+' figures '+document.querySelectorAll('figure').length+' '+outside.join(' | '),'*');});</script>
SCRIPT

status=0
for page in quick many unfinished single varied translated hostile empty; do
    cat "$work/$page.html" "$work/measure" >"$work/$page.measured.html"
    for width in 390 1280; do
        cat >"$work/frame.html" <<FRAME
<!DOCTYPE html><body style="margin:0"><p id="said"></p>
<script>addEventListener('message',event=>{document.getElementById('said').textContent=event.data})</script>
<iframe src="$page.measured.html" style="width:${width}px;height:3000px;border:0"></iframe>
FRAME
        said=$(browse --virtual-time-budget=5000 --window-size=1400,3000 --dump-dom "file://$work/frame.html" |
            sed -n 's|.*<p id="said">\([^<]*\)</p>.*|\1|p')
        case $said in
        "width $width outside 0 small 0 "*) ;;
        *)
            echo "$page.html at $width pixels: ${said:-nothing measured}"
            status=1
            ;;
        esac
        [ -n "$pictures" ] || continue
        mkdir -p "$pictures"
        for scheme in 0 1; do # dark, light
            browse --blink-settings=preferredColorScheme=$scheme --window-size="$((width < 500 ? 500 : width)),3000" \
                --screenshot="$pictures/$page-$width-$scheme.png" "file://$work/frame.html" >/dev/null
        done
    done
done
[ $status != 0 ] || echo "eight pages fit, at 390 and 1280 pixels"
exit $status
