#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heatmap_browser.py CHROMIUM DIR PICTURES: clicks through the pages of make_heatmaps in DIR. What the pages say of a cell
must be what the .npy files have."""
import ast
import base64
import math
import os
import struct
import sys

from browser import Browser

LAYERS, HEADS = 2, 3
failures = compared = 0


def check(holds, about):
    global failures, compared
    compared += 1
    if not holds:
        failures += 1
        print("FAILED: " + about)


def read_npy(path):
    """A function from (layer, head, query, key) to a weight, and the shape."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    shape = header["shape"]
    assert header["descr"] == "<f4" and len(data) == 10 + length + 4 * math.prod(shape)
    numbers = struct.unpack("<%df" % math.prod(shape), data[10 + length:])
    return shape, lambda layer, head, query, key: numbers[((layer * shape[1] + head) * shape[2] + query) * shape[3] + key]


def address(folder, place=""):
    return "file://" + os.path.join(folder, "heatmap.html") + place


def reading(browser, side):
    return browser.evaluate("document.querySelectorAll('.map .reading')[%d].textContent" % side)


def hover(browser, side, query, key, shape):
    """Moves the mouse over a cell."""
    box = browser.evaluate("(() => { const c = document.querySelectorAll('.map')[%d].querySelector('.plot canvas');"
                           "c.closest('.window').scrollIntoView({block: 'nearest'}); const b = c.getBoundingClientRect();"
                           "return [b.x, b.y, b.width, b.height]; })()" % side)
    browser.mouse("mouseMoved", box[0] + (key + 0.5) * box[2] / shape[3], box[1] + (query + 0.5) * box[3] / shape[2])


def check_cell(browser, side, place, weights, about):
    layer, head, query, key = place
    said = reading(browser, side)
    row, column, weight = said.split(" ")[0], said.split(" looks at ")[-1].split(" ")[0], float(said.split(": ")[-1])
    names = {"encoder": ("s", "s"), "decoder": ("t", "t"), "cross": ("t", "s")}[about]
    check((row, column) == (names[0] + str(query), names[1] + str(key)), "%s %s: says %s" % (about, place, said))
    check(abs(weight - weights(layer, head, query, key)) <= 0.5 / 65535 + 0.5e-4 + 1e-9,
          "%s %s: says %s, the array has %g" % (about, place, said, weights(layer, head, query, key)))


def choose(browser, name, value):
    browser.evaluate("(() => { const s = document.getElementById('%s'); s.value = '%s';"
                     "s.dispatchEvent(new Event('change', {bubbles: true})); })()" % (name, value))


def state(browser):
    return browser.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")


def click_through(browser, folder):
    names = ("sinusoidal", "rope")
    browser.window(1280, 1000)
    browser.open(address(folder))
    for text in (0, 1):
        choose(browser, "text", text)
        for kind in ("encoder", "decoder", "cross"):
            choose(browser, "kind", kind)
            arrays = [read_npy(os.path.join(folder, "%s-text%d-%s.npy" % (name, text + 1, kind))) for name in names]
            shape = arrays[0][0]
            check(shape == (LAYERS, HEADS, 12 + text + (5 if kind == "encoder" else 0),
                            12 + text + (0 if kind == "decoder" else 5)), "%s has shape %s" % (kind, shape))
            for layer, head, side, query, key in ((0, 0, 0, 0, 0), (1, 2, 1, 7, 3), (0, 1, 0, 11, 10), (1, 0, 1, 4, 4)):
                # One by the lists, the next by a click on its picture, the next by its row of the table.
                if side == 0:
                    choose(browser, "layer", layer)
                    choose(browser, "head", head)
                elif head == 2:
                    browser.click("document.querySelectorAll('.map .overview')[%d].children[%d]" % (side, layer * HEADS + head))
                else:
                    browser.click("document.querySelectorAll('.heads')[%d].querySelector('tr[data-kind=%s][data-layer=\"%d\"]"
                                  "[data-head=\"%d\"] button')" % (side, kind, layer, head))
                said = state(browser)
                check((said.get("layer"), said.get("head"), said.get("kind")) == (str(layer), str(head), kind),
                      "chose %s, got %s" % ((layer, head, kind), said))
                hover(browser, side, query, key, shape)
                for other in (0, 1):  # the same cell is read on both sides
                    check_cell(browser, other, (layer, head, query, key), arrays[other][1], kind)
    check(browser.evaluate("[...document.querySelectorAll('.map')].every(m => m.querySelectorAll('.left .on, .top .on').length"
                           " === 2 && !m.querySelector('.cursor').hidden)"), "the cell's labels are not marked")
    visible = browser.evaluate("[...document.querySelectorAll('.heads')].map(t => [...t.querySelectorAll('tbody tr')]"
                               ".filter(r => !r.hidden).map(r => r.dataset.kind))")
    check(visible == [["cross"] * LAYERS * HEADS] * 2, "the tables show %s" % visible)
    # Keys move the cell, and stay within the map.
    browser.click("document.querySelector('.map h3')")
    browser.evaluate("document.querySelectorAll('.window')[1].focus()")
    for name in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowLeft"):
        browser.key(name)
    check(reading(browser, 1).startswith("t0 (0) looks at s0 (0): "), "the keys lead to %s" % reading(browser, 1))


def pixel(browser, side, query, key):
    return browser.evaluate("[...document.querySelectorAll('.map .plot canvas')[%d].getContext('2d')"
                            ".getImageData(%d, %d, 1, 1).data]" % (side, key, query))


def check_colours(browser, folder):
    weights = read_npy(os.path.join(folder, "rope-text1-decoder.npy"))[1]
    for dark in (False, True):
        browser.window(1280, 1000, dark)
        browser.open(address(folder, "#kind=decoder&layer=1&head=1&query=3&key=2"))
        check(reading(browser, 1).startswith("t3 (3) looks at t2 (2)"), "the address leads to %s" % reading(browser, 1))
        scale = browser.evaluate("JSON.parse(document.getElementById('data').textContent).%s" % ("dark" if dark else "light"))
        card = browser.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")
        card = [int(part) for part in card[4:-1].split(",")]
        for query, key in ((0, 0), (3, 2), (8, 5), (2, 9)):
            for root in (False, True):
                choose(browser, "scale", "root" if root else "linear")
                weight = weights(1, 1, query, key)
                shown = scale[round(255 * (math.sqrt(weight) if root else weight))]
                wanted = [int(shown[i:i + 2], 16) for i in (1, 3, 5)] + [255]
                got = pixel(browser, 1, query, key)
                check(all(abs(a - b) <= 4 for a, b in zip(wanted, got)), "colour of %g: %s, wanted %s" % (weight, got, wanted))
        # No weight looks like the card, on which the map stands.
        check(all(abs(a - b) <= 6 for a, b in zip(pixel(browser, 1, 2, 9), card)), "no weight is not the card's colour")


def check_sizes(browser, folder, name, pictures):
    for width in (390, 1280):
        for dark in (False, True):
            browser.window(width, 1400, dark)
            browser.open(address(os.path.join(folder, name)))
            wide = browser.evaluate("document.documentElement.scrollWidth")
            check(wide <= width, "%s at %d pixels is %s wide" % (name, width, wide))
            check([url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
                  and len([url for url in browser.requests if url.startswith("file:")]) == 1,
                  "%s loads %s" % (name, browser.requests))
            if pictures:
                browser.screenshot(os.path.join(pictures, "%s-%d-%s.png" % (name, width, "dark" if dark else "light")))


def check_long(browser, folder):
    browser.window(1280, 900)
    browser.open(address(folder))
    scrolls = browser.evaluate("[...document.querySelectorAll('.window')].map(w => w.scrollWidth > w.clientWidth && "
                               "w.scrollHeight > w.clientHeight)")
    check(scrolls == [True, True], "long texts do not scroll: %s" % scrolls)
    stays = browser.evaluate("(() => { const w = document.querySelector('.window'); w.scrollTo(400, 400);"
                             "const b = w.getBoundingClientRect(), l = w.querySelector('.left').getBoundingClientRect(),"
                             "t = w.querySelector('.top').getBoundingClientRect(); return [l.x - b.x, t.y - b.y]; })()")
    check(all(abs(distance) < 2 for distance in stays), "labels scroll away: %s" % stays)


def check_hostile(browser, folder):
    browser.window(1280, 1000)
    browser.open(address(folder, "#kind=cross&query=1&key=0"))
    check(browser.evaluate("document.querySelectorAll('b, i').length") == 0, "labels became elements")
    check(browser.evaluate("document.querySelectorAll('.left span')[0].textContent") == "</script><b>t0", "a label is another")
    check(reading(browser, 0).startswith("\"&'<t1 (1) looks at </script><b>s0 (0): "), "says %s" % reading(browser, 0))
    check(browser.evaluate("document.querySelector('h1').textContent") == "<i>a&b</i> and rope=\"0.5\"", "a name is another")


def check_picture(browser, folder):
    """The button's PNG file has the map's size and its colours."""
    browser.window(1280, 1000)
    browser.open(address(folder, "#layer=1&head=2"))
    browser.evaluate("HTMLAnchorElement.prototype.click = function() { window.saved = [this.download, this.href]; }")
    browser.click("document.querySelector('.save')")
    name, href = browser.evaluate("window.saved")
    data = base64.b64decode(href.split(",")[1])
    width, height = struct.unpack(">II", data[16:24])
    check(name == "sinusoidal-text1-decoder-layer2-head3.png", "the file is called %s" % name)
    check(data[:8] == b"\x89PNG\r\n\x1a\n" and width > 2 * 9 * 20 and height > 2 * 9 * 20, "a picture of %d × %d" % (width, height))


def main():
    program, folder, pictures = sys.argv[1:]
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    browser = Browser(program)
    try:
        click_through(browser, os.path.join(folder, "pair"))
        check_colours(browser, os.path.join(folder, "pair"))
        check_long(browser, os.path.join(folder, "long"))
        check_hostile(browser, os.path.join(folder, "hostile"))
        check_picture(browser, os.path.join(folder, "single"))
        for name in ("single", "pair", "hostile", "long"):
            check_sizes(browser, folder, name, pictures)
        check(browser.problems == [], "exceptions: %s" % browser.problems)
    finally:
        browser.close()
    print("%d compared, %d failed" % (compared, failures))
    return failures > 0


sys.exit(main())
