#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page_browser.py CHROMIUM DIR PICTURES: uses the pages of make_pages in DIR as a reader would: legend, values, axes, tables,
figures to take away, print. What a page says of a value must be what its CSV has."""
import csv
import importlib.util
import io
import math
import os
import re
import struct
import sys
import time
import xml.etree.ElementTree

from browser import Browser

PAGES = ("quick", "many", "lengths", "unfinished", "single", "varied", "translated", "hostile", "empty", "fourteen")
failures = compared = 0


def check(holds, about):
    global failures, compared
    compared += 1
    if not holds:
        failures += 1
        print("FAILED: " + about)


def address(folder, name):
    return "file://" + os.path.join(folder, name + ".html")


# ---- how it looks ----

MEASURE = """(() => {
const seen = e => e.getClientRects().length > 0, figures = [...document.querySelectorAll('figure')].filter(seen);
const texts = figures.flatMap(figure => [...figure.querySelectorAll('text')].filter(seen).map(text => [figure, text]));
return {width: document.documentElement.scrollWidth, texts: texts.length,
    outside: texts.filter(([figure, text]) => {
        const box = figure.getBoundingClientRect(), place = text.getBoundingClientRect();
        return place.left < box.left || place.right > box.right || place.top < box.top || place.bottom > box.bottom;
    }).map(([, text]) => text.textContent),
    small: texts.filter(([, text]) => text.getBoundingClientRect().height < 11).map(([, text]) => text.textContent),
    // Of texts that are not to be typed: a minus sign is U+2212.
    ascii: (() => {
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
        for (let node = walk.nextNode(); node; node = walk.nextNode())
            if (!node.parentElement.closest('pre,code,.settings,script,template') && /(^|[\\s(\\[])-\\d/.test(node.data)) found.push(node.data);
        return found;
    })(),
    // Texts of an axis that touch.
    touching: figures.flatMap(figure => [...figure.querySelectorAll('svg')].filter(seen)).flatMap(svg => {
        const ticks = [...svg.querySelectorAll('.tick[text-anchor=middle]')].map(t => t.getBoundingClientRect());
        return ticks.filter((box, i) => ticks.some((other, j) => j < i && Math.abs(box.top - other.top) < 3 &&
            box.left < other.right && other.left < box.right)).map(() => svg.getAttribute('aria-label'));
    }),
    broken: [...document.querySelectorAll('table *')].filter(e => getComputedStyle(e).overflowWrap === 'anywhere').length +
        [...document.querySelectorAll('.answer b, .sortable td')].filter(seen).filter(e => e.textContent &&
            (() => { const range = document.createRange(); range.selectNodeContents(e); return range.getClientRects().length > 1; })()).length,
    unreachable: [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0).length};
})()"""

# The contrast of every text of a drawing with its card, and of every line and mark.
CONTRASTS = """(() => {
const parse = text => text.match(/[\\d.]+/g).map(Number);
const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const card = parse(getComputedStyle(document.querySelector('.card')).backgroundColor);
const over = (colour, opacity) => colour.slice(0, 3).map((v, i) => v * opacity + card[i] * (1 - opacity));
const rows = (selector, key) => [...document.querySelectorAll(selector)].filter(e => e.getClientRects().length).map(e => {
    const style = getComputedStyle(e);
    return [ratio(over(parse(style[key]), +style.opacity), card), e.getAttribute('class') + ' ' + e.textContent];
});
return {text: rows('figure svg text', 'fill'), lines: [...rows('figure svg .curve', 'stroke'), ...rows('figure svg .interval', 'stroke'),
    ...rows('figure svg .mean', 'stroke'), ...rows('figure svg .goal', 'stroke'), ...rows('figure svg .dot', 'fill')]};
})()"""


def check_sizes(browser, folder, pictures):
    for name in PAGES:
        for width in (390, 1280):
            browser.window(width, 900)
            browser.open(address(folder, name))
            about = "%s at %d pixels" % (name, width)
            said = browser.evaluate(MEASURE)
            check(said["width"] <= width, "%s is %s wide" % (about, said["width"]))
            check(said["texts"] > 5 or name == "empty", "%s has %d texts" % (about, said["texts"]))
            for what in ("outside", "small", "ascii", "touching", "broken", "unreachable"):
                check(not said[what], "%s: %s: %s" % (about, what, said[what]))
            check(browser.requests == [address(folder, name)], "%s loads %s" % (about, browser.requests))
            for dark in (False, True) if pictures else ():
                browser.window(width, browser.evaluate("document.documentElement.scrollHeight"), dark)
                browser.screenshot(os.path.join(pictures, "%s-%d-%s.png" % (name, width, "dark" if dark else "light")))


def check_contrasts(browser, folder):
    for name in ("quick", "fourteen"):
        for dark in (False, True):
            browser.window(1280, 900, dark)
            browser.open(address(folder, name))
            found = browser.evaluate(CONTRASTS)
            for kind, least in (("text", 4.5), ("lines", 3)):
                check(len(found[kind]) > 20, "%s has %d %s" % (name, len(found[kind]), kind))
                low = [row for row in found[kind] if not row[0] >= least]
                check(not low, "%s, dark %s: contrasts below %g: %s" % (name, dark, least, low[:4]))


def axe_text():
    """axe.min.js, or None."""
    path = os.environ.get("AXE")
    if not path:
        found = importlib.util.find_spec("axe_core_python")
        path = found and os.path.join(found.submodule_search_locations[0], "axe.min.js")
    if not path or not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_axe(browser, folder):
    axe = axe_text()
    if axe is None:
        print("axe was not asked: AXE names no axe.min.js, and there is no Python package axe-core-python")
        return
    for name in PAGES:
        for width, dark in ((1280, False), (390, True)):
            browser.window(width, 900, dark)
            browser.open(address(folder, name))
            browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            browser.evaluate(axe + ";0")
            said = browser.evaluate("axe.run().then(r => ({passes: r.passes.length, violations: r.violations.map(v => v.id + "
                                    "': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | '))}))")
            check(said["passes"] > 10, "axe passed %d rules of %s" % (said["passes"], name))
            check(not said["violations"], "axe, %s at %d pixels: %s" % (name, width, said["violations"]))


# ---- what it does ----

FIGURE = "document.getElementById('%s')"


def values_of(browser, figure):
    """The CSV of a figure, as rows."""
    return list(csv.reader(io.StringIO(browser.evaluate(FIGURE % figure + ".querySelector('.csv').textContent"))))


def shown(browser, figure):
    return FIGURE % figure + ".querySelector(':scope>svg')"


def rounded(value):
    """As the page writes a value: five digits."""
    return float("%.5g" % value)


def check_reading(browser, figure, row, about):
    """The reading has the means of that row of the CSV, each beside its arm."""
    head, lines = values_of(browser, figure)[0], browser.evaluate(
        "[...(%s).querySelectorAll('.values>*')].map(e => e.textContent)" % (FIGURE % figure))
    said = dict(line.rsplit(": ", 1) for line in lines[1:])
    check(lines[:1] == ["%s %s" % (head[0], row[0])], "%s: reads %s" % (about, lines))
    wanted = {name[:-len(", mean")]: rounded(float(value)) for name, value in zip(head, row) if name.endswith(", mean")}
    got = {name: float(value.replace("\u2212", "-")) for name, value in said.items()}
    check(len(wanted) > 1 and got == wanted, "%s: reads %s, wanted %s" % (about, got, wanted))


def check_legend(browser, folder):
    browser.window(1280, 900)
    browser.open(address(folder, "fourteen"))
    buttons = "document.querySelectorAll('ul.legend button')"
    pressed = "[...%s].map((b, i) => b.getAttribute('aria-pressed') === 'true' ? i : -1).filter(i => i >= 0)" % buttons
    # The arms of elements that are dim, and of those that are not.
    arms = ("(() => { const found = {dim: new Set(), bright: new Set()}; for (const e of document.querySelectorAll("
            "'figure.arms svg [class]')) { const arm = /(?:^| )e(\\d+)/.exec(e.getAttribute('class')); if (arm) "
            "found[+getComputedStyle(e).opacity < 0.2 ? 'dim' : 'bright'].add(+arm[1]); } "
            "return [[...found.dim].sort((a, b) => a - b), [...found.bright].sort((a, b) => a - b)]; })()")
    check(browser.evaluate(buttons + ".length") == 14, "the legend has no fourteen buttons")
    check(browser.evaluate(arms) == [[], list(range(14))], "arms are dim at first")
    browser.click(buttons + "[3]")
    check(browser.evaluate(pressed) == [3], "a click presses %s" % browser.evaluate(pressed))
    check(browser.evaluate(arms) == [[i for i in range(14) if i != 3], [3]], "a click leaves bright %s" % browser.evaluate(arms))
    browser.evaluate(buttons + "[5].focus()")
    browser.key("Enter")
    check(browser.evaluate(arms)[1] == [3, 5], "the keyboard leaves bright %s" % browser.evaluate(arms))
    browser.click(buttons + "[3]")
    browser.click(buttons + "[5]")
    check(browser.evaluate(arms) == [[], list(range(14))], "arms stay dim")
    # Fourteen arms differ in colour or dash, and in their marks.
    looks = browser.evaluate("[...document.querySelectorAll('.swatch')].map(s => { const c = getComputedStyle(s.querySelector("
                             "'.curve')); return c.stroke + ' ' + c.strokeDasharray + ' ' + s.querySelector('.dot').getAttribute('d'); })")
    check(len(set(look.split(" M")[0] for look in looks)) == 14, "colours and dashes repeat: %s" % looks)
    check(len(set(look.split(" M")[1] for look in looks)) == 9, "there are no nine shapes")


def check_values(browser, folder):
    for name, figure in (("quick", "validation-loss"), ("fourteen", "training-loss")):
        browser.window(1280, 900)
        browser.open(address(folder, name))
        rows = values_of(browser, figure)[1:]
        svg = shown(browser, figure)
        browser.evaluate(svg + ".scrollIntoView({block: 'center'})")
        box = browser.evaluate("(() => { const b = (%s).getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()" % svg)
        left, right, top, bottom = map(float, browser.evaluate(svg + ".dataset.frame").split(" "))
        first, last = map(float, browser.evaluate(svg + ".dataset.x").split(" "))
        scale = box[2] / browser.evaluate(svg + ".viewBox.baseVal.width")
        for row in (rows[len(rows) // 2], rows[-1]):
            x = left + (float(row[0]) - first) / (last - first) * (right - left)
            browser.mouse("mouseMoved", box[0] + x * scale, box[1] + (top + bottom) / 2 * scale)
            check_reading(browser, figure, row, "%s of %s under the mouse" % (figure, name))
        browser.mouse("mouseMoved", 3, 3)
        check(browser.evaluate(FIGURE % figure + ".querySelector('.values').textContent") == "", "a reading stays")
        browser.evaluate(svg + ".focus()")
        for keys, row in ((("ArrowRight",), 0), (("ArrowRight", "ArrowRight"), 2), (("ArrowLeft",), 1)):
            for key in keys:
                browser.key(key)
            check_reading(browser, figure, rows[row], "%s of %s by keys" % (figure, name))
        check(browser.evaluate(FIGURE % figure + ".querySelector('.values').getAttribute('aria-live')") == "polite",
              "the reading is not said")
        browser.key("Escape")
        check(browser.evaluate(FIGURE % figure + ".querySelector('.values').textContent") == "", "Escape leaves a reading")
    # Marks are read too: the first pair, and one by one those after it.
    browser.evaluate(shown(browser, "paired-differences") + ".focus()")
    titles = browser.evaluate("[...(%s).querySelectorAll('.dot title')].map(t => t.textContent)" % shown(browser, "paired-differences"))
    for title in titles[:3]:
        browser.key("ArrowRight")
        got = browser.evaluate(FIGURE % "paired-differences" + ".querySelector('.values').textContent")
        check(got == title, "a mark is read as %s, wanted %s" % (got, title))


def check_log(browser, folder):
    browser.window(1280, 900)
    browser.open(address(folder, "quick"))
    check(browser.evaluate("document.querySelectorAll('#exact-match .tools button').length") == 3, "exact match has a log axis")
    figure, button = "validation-loss", "document.querySelector('#validation-loss .tools button')"
    rows = values_of(browser, figure)
    for is_log in (False, True, False):
        svg = shown(browser, figure)
        said = browser.evaluate(svg + ".dataset.y").split(" ")
        low, high = float(said[0]), float(said[1])
        check((said[2:] == ["log"]) == is_log, "the axis is %s" % said)
        check(browser.evaluate(button + ".getAttribute('aria-pressed')") == str(is_log).lower(), "the switch is not pressed")
        top, bottom = map(float, browser.evaluate(svg + ".dataset.frame").split(" ")[2:])
        for column in range(1, len(rows[0])):
            path = browser.evaluate("(%s).querySelector('[data-column=\"%d\"]').getAttribute('d')" % (svg, column))
            points = [tuple(map(float, point.split(" "))) for point in re.split("[ML]", path)[1:]]
            values = [float(row[column]) for row in rows[1:] if row[column]]
            check(len(points) == len(values), "a curve has %d points of %d" % (len(points), len(values)))
            for (_, y), value in zip(points, values):
                share = math.log(value / low) / math.log(high / low) if is_log else (value - low) / (high - low)
                check(abs(bottom + share * (top - bottom) - y) < 0.06, "log %s: %g is at %g" % (is_log, value, y))
        if is_log:
            browser.evaluate(svg + ".focus()")
            browser.key("ArrowRight")
            check_reading(browser, figure, rows[1], "on the logarithmic axis")
        browser.click(button)


def column_of(browser, table, column):
    return browser.evaluate("[...document.querySelectorAll('table')][%d].tBodies[0].rows.length && "
                            "[...[...document.querySelectorAll('table')][%d].tBodies[0].rows].filter(r => r.className !== 'part')"
                            ".map(r => r.cells[%d].textContent)" % (table, table, column))


def number_of(text):
    return float(re.match(r"(?:> )?([+-]?[\d,.]+)", text.replace("\u2212", "-")).group(1).replace(",", ""))


def check_tables(browser, folder):
    browser.window(1280, 900)
    browser.open(address(folder, "fourteen"))
    titles = browser.evaluate("[...document.querySelectorAll('table')].map(t => t.caption ? t.caption.textContent : '')")
    verdicts, scores = (next(i for i, title in enumerate(titles) if title.startswith(start)) for start in ("Verdicts", "Exact match"))
    head = "document.querySelectorAll('table')[%d].tHead.rows[0].cells[%d]"
    check(len(column_of(browser, verdicts, 0)) == 13, "fourteen arms have %d verdicts" % len(column_of(browser, verdicts, 0)))
    for table, column in ((verdicts, 2), (scores, 2), (scores, 4)):
        before = column_of(browser, table, column)
        for order in ("ascending", "descending"):
            browser.click(head % (table, column) + ".querySelector('button')")
            after = column_of(browser, table, column)
            check(browser.evaluate(head % (table, column) + ".getAttribute('aria-sort')") == order, "aria-sort is not " + order)
            check(sorted(after) == sorted(before), "sorting changes cells")
            wanted = sorted(map(number_of, before), reverse=order == "descending")
            check(list(map(number_of, after)) == wanted and len(set(wanted)) > 2, "%s order: %s" % (order, after))
    browser.evaluate(head % (scores, 0) + ".querySelector('button').focus()")
    browser.key("Enter")
    names = column_of(browser, scores, 0)
    check(names == sorted(names) and len(names) == 14, "names are in the order %s" % names)
    check(browser.evaluate("document.querySelectorAll('table')[%d].querySelectorAll('[aria-sort]').length" % scores) == 1,
          "a table is sorted by several columns")


# ---- to take away ----

def download(browser, folder, name, button):
    """What a button saves. A browser that is short of time may lose one click or download; a page that saves nothing loses
    all three."""
    path = os.path.join(folder, name)
    for _ in range(3):
        browser.click(button)
        last = time.monotonic() + 10
        while time.monotonic() < last:
            if os.path.exists(path) and os.path.getsize(path) > 0:
                with open(path, "rb") as file:
                    return file.read()
            time.sleep(0.05)
        x, y = browser.middle(button)
        print("%s is not there 10 seconds after a click on %s" % (
            name, browser.evaluate("document.elementFromPoint(%s, %s).outerHTML" % (x, y))))
    raise RuntimeError("%s was not saved" % name)


def check_taking(browser, folder):
    taken = os.path.join(folder, "taken")
    os.mkdir(taken)
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=taken)
    browser.window(1280, 900, dark=True)
    browser.open(address(folder, "quick"))
    figures = browser.evaluate("[...document.querySelectorAll('figure')].map(f => f.id)")
    check(len(figures) == 7 and all(figures), "the figures are %s" % figures)
    for figure in figures:
        button = FIGURE % figure + ".querySelector('.tools [aria-label^=%s]')"
        text = download(browser, taken, figure + ".csv", button % "CSV").decode()
        check(text == browser.evaluate(FIGURE % figure + ".querySelector('.csv').textContent") and len(text.split("\n")) > 3,
              "%s.csv is another" % figure)
        check("\u2212" not in text, "%s.csv has a minus sign that is not ASCII" % figure)
        svg = download(browser, taken, figure + ".svg", button % "SVG").decode()
        root = xml.etree.ElementTree.fromstring(svg)
        check(root.tag == "{http://www.w3.org/2000/svg}svg" and "var(" not in svg and "#0065a0" in svg and "#56b4e9" not in svg,
              "%s.svg does not stand alone, in light" % figure)
        with open(os.path.join(folder, "figures", figure + ".svg"), encoding="utf-8") as file:
            written = xml.etree.ElementTree.parse(file).getroot()
        marks = [[path.get("d") for path in drawing.iter("{http://www.w3.org/2000/svg}path")] for drawing in (root, written)]
        check(marks[0] == marks[1] and marks[0], "%s.svg differs from that of the program" % figure)
        picture = download(browser, taken, figure + ".png", button % "PNG")
        size = struct.unpack(">II", picture[16:24])
        check(picture[:8] == b"\x89PNG\r\n\x1a\n" and size == (3 * int(written.get("width")), 3 * int(written.get("height"))),
              "%s.png is %s" % (figure, size))
        colour = browser.evaluate(
            "new Promise(done => { const i = new Image(); i.onload = () => { const c = document.createElement('canvas'), x = "
            "c.getContext('2d'); c.width = i.width; c.height = i.height; x.drawImage(i, 0, 0); done([[...x.getImageData(2, 2, 1, 1)"
            ".data], new Set(new Uint32Array(x.getImageData(0, 0, c.width, c.height).data.buffer)).size]); }; "
            "i.src = 'file://%s'.replace('file://', 'data:image/png;base64,') })" % __import__("base64").b64encode(picture).decode())
        check(colour[0] == [255, 255, 255, 255] and colour[1] > 8, "%s.png has %s" % (figure, colour))
    check(browser.problems == [], "problems: %s" % browser.problems)


def check_print(browser, folder, pictures):
    for name, most in (("quick", 4), ("fourteen", 8)):
        browser.window(1280, 900, dark=True)
        browser.open(address(folder, name))
        pdf = browser.print()
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        check(0 < pages <= most, "%s has %d printed pages, at most %d are wanted" % (name, pages, most))
        sizes = set(re.findall(rb"/MediaBox\s*\[([^]]*)\]", pdf))
        check(len(sizes) == 1 and [round(float(part)) for part in sizes.pop().split()] == [0, 0, 595, 842], "the paper is no A4")
        if pictures:
            with open(os.path.join(pictures, name + ".pdf"), "wb") as file:
                file.write(pdf)
        browser.window(700, 900, dark=True, media="print")
        said = browser.evaluate("({paper: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color, "
                                "buttons: [...document.querySelectorAll('.tools')].filter(e => e.getClientRects().length).length, "
                                "cut: [...document.querySelectorAll('figure')].filter(f => getComputedStyle(f).breakInside !== 'avoid').length})")
        check(said == {"paper": "rgb(255, 255, 255)", "ink": "rgb(27, 29, 34)", "buttons": 0, "cut": 0}, "print is %s" % said)


def check_without_script(browser, folder):
    """The page shows the same without its script, but for buttons."""
    count = ("[document.querySelectorAll('figure>svg').length, document.querySelectorAll('td').length, "
             "document.querySelectorAll('ul.legend li').length, document.querySelectorAll('button').length]")
    browser.window(1280, 900)
    browser.open(address(folder, "fourteen"))
    with_script = browser.evaluate(count)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(address(folder, "fourteen"))
    without = browser.evaluate(count)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    check(with_script[:3] == without[:3] and without[0] > 5 and with_script[3] > 50 and without[3] == 0,
          "with script %s, without %s" % (with_script, without))


def main(chromium, folder, pictures):
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    browser = Browser(chromium)
    try:
        check_sizes(browser, folder, pictures)
        check_contrasts(browser, folder)
        check_axe(browser, folder)
        check_legend(browser, folder)
        check_values(browser, folder)
        check_log(browser, folder)
        check_tables(browser, folder)
        check_taking(browser, folder)
        check_print(browser, folder, pictures)
        check_without_script(browser, folder)
        check(browser.problems == [], "problems: %s" % browser.problems)
    finally:
        browser.close()
    print("%d compared, %d failed" % (compared, failures))
    return 1 if failures or compared < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
