#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wellformed.py PAGE...: every element is closed where it should be, every drawing is XML, nothing is loaded, and nothing is run
but the page's own script."""
import html.parser
import os
import re
import sys
import xml.etree.ElementTree

VOID = {"meta", "link", "wbr"}
ELEMENTS = VOID | {
    "html", "head", "title", "style", "body", "main", "p", "h1", "h2", "h3", "div", "section", "span", "small", "b",
    "code", "pre", "figure", "figcaption", "svg", "g", "path", "line", "text", "table", "caption", "thead", "tbody", "tr",
    "th", "td", "details", "summary", "ul", "li", "footer", "a", "script", "template", "wbr",
}
ATTRIBUTES = {
    "lang", "charset", "name", "content", "rel", "href", "class", "role", "aria-label", "scope", "viewbox", "d", "x", "y",
    "x1", "x2", "y1", "y2", "width", "height", "transform", "text-anchor", "colspan", "open", "id", "hidden", "tabindex",
    "title", "aria-hidden", "data-arm", "data-column", "data-frame", "data-of", "data-x", "data-y",
}
HEATMAP_ELEMENTS = ELEMENTS | {"form", "label", "select", "option", "button", "output", "canvas", "noscript"}
HEATMAP_ATTRIBUTES = ATTRIBUTES | {"type", "value", "data-side", "data-kind", "data-layer", "data-head"}


class Page(html.parser.HTMLParser):
    def __init__(self, name):
        super().__init__(convert_charrefs=True)
        self.name, self.stack, self.count, self.faults = name, [], 0, []
        self.heatmap = os.path.basename(name) == "heatmap.html"
        self.elements = HEATMAP_ELEMENTS if self.heatmap else ELEMENTS
        self.attributes = HEATMAP_ATTRIBUTES if self.heatmap else ATTRIBUTES

    def fault(self, text):
        self.faults.append("%s, line %d: %s" % (self.name, self.getpos()[0], text))

    def handle_starttag(self, tag, attributes):
        self.count += 1
        if tag not in self.elements:
            self.fault("<%s> has no place here" % tag)
        for key, value in attributes:
            if key not in self.attributes:
                self.fault("<%s %s=...> has no place here" % (tag, key))
            if key == "href" and value != "data:," and (tag, value) != ("a", "heatmap/heatmap.html"):
                self.fault("a link to %s" % value)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1] != tag:
            self.fault("</%s> where %s is open" % (tag, self.stack[-1:] or "nothing"))
        else:
            self.stack.pop()


def faults_of(name):
    with open(name, encoding="utf-8") as file:
        text = file.read()
    page = Page(name)
    page.feed(text)
    page.close()
    if page.stack:
        page.fault("not closed: %s" % page.stack)
    if page.count < 20:
        page.fault("only %d elements" % page.count)
    drawings = re.findall(r"(?s)(?:</h3>|<template>)\n(<svg .*?)(?:<figcaption|</template>)", text)
    if not page.heatmap and len(drawings) != text.count("<figure") + text.count("<template>"):
        page.fault("%d figures with %d drawings" % (text.count("<figure"), len(drawings)))
    for drawing in drawings:
        try:
            xml.etree.ElementTree.fromstring("<figure>%s</figure>" % drawing)
        except xml.etree.ElementTree.ParseError as error:
            page.fault("a drawing is no XML: %s" % error)
    shown = re.sub("(?s)<script.*?</script>", "", text)
    if not page.heatmap and text.count("<script") != 1:
        page.fault("%d scripts" % text.count("<script"))
    for word in ("http", "url(", "@import", "nan", "inf "):
        if word in shown:
            page.fault("holds %r" % word)
    control = re.search("[\x00-\x08\x0b-\x1f\x7f]", text)
    if control:
        page.fault("a control character, %r" % control.group())
    return page.faults


faults = [fault for name in sys.argv[1:] for fault in faults_of(name)]
print("\n".join(faults) or "%d pages are well-formed" % (len(sys.argv) - 1))
sys.exit(1 if faults or len(sys.argv) < 2 else 0)
