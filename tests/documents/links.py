# SPDX-License-Identifier: Apache-2.0
"""links.py ROOT: what the documents link to is there, and they read alike in the repository and as a site.

Files, images and anchors exist; docs/index.md lists every page, and the navigation of mkdocs.yml is that list; a link's
text says what a page is about instead of what its file is called. GitHub and MkDocs make anchors of headings, and
lists of lines, by rules of their own: what the two would read differently is refused.
"""
import os
import re
import sys

ROOT_PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
DEFINITION = re.compile(r"^\[([^\]]+)\]: +(\S+)$", re.M)
SOURCE = re.compile(r"<(?:img|a)\s[^>]*?(?:src|href)=\"([^\"]+)\"")
ITEM = re.compile(r"( *)(?:[-*+]|\d+\.) +")


def prose(text):
    """The lines without blocks of code, as (number, line)."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        marker = re.match(r"\s*(```+|~~~+)", line)
        if marker and (fence is None or line.strip() == fence):
            fence = marker.group(1) if fence is None else None
        elif fence is None:
            yield number, line


def without_code(text):
    """The text with blocks and spans of code blanked: as long as before."""
    shown = dict(prose(text))
    lines = [shown.get(number, " " * len(line)) for number, line in enumerate(text.split("\n"), 1)]
    span = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", re.S)
    return span.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), "\n".join(lines))


def heading_text(line):
    text = re.sub(r"^#+ +", "", line)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[`*]", "", text).strip()


def slug(text):
    """The anchor of a heading, by GitHub's rule, which mkdocs.yml has MkDocs follow."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


class Tree:
    def __init__(self, root):
        self.root, self.faults = root, []
        self.pages = {name for name in ROOT_PAGES if os.path.exists(os.path.join(root, name))}
        for top in "docs", "examples":
            for folder, _, names in os.walk(os.path.join(root, top)):
                below = os.path.relpath(folder, root)
                self.pages |= {os.path.join(below, name) for name in names if name.endswith(".md")}
        self.text = {page: self.read(page) for page in self.pages}
        self.anchors = {page: self.read_anchors(page) for page in self.pages}
        self.links = {page: set() for page in self.pages}

    def read(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8") as file:
            return file.read()

    def fault(self, page, number, text):
        self.faults.append(f"{page}:{number}: {text}")

    def read_anchors(self, page):
        anchors, title = set(), 0
        for number, line in prose(self.text[page]):
            if not re.match(r"#{1,6} ", line):
                continue
            title += line.startswith("# ")
            text = heading_text(line)
            if slug(text) in anchors:
                self.fault(page, number, f'there are two headings "{text}"')
            anchors.add(slug(text))
        if title != 1 or not self.text[page].startswith("# "):
            self.fault(page, 1, "a page starts with its title (#), and has one")
        return anchors

    def check_links(self, page):
        text = without_code(self.text[page])
        plain = self.text[page]
        found = [(link.start(), plain[link.start(1):link.end(1)], link.group(2)) for link in LINK.finditer(text)]
        found += [(link.start(), "", link.group(2)) for link in DEFINITION.finditer(text)]
        found += [(source.start(), "", source.group(1)) for source in SOURCE.finditer(text)]
        for start, words, target in found:
            number = text.count("\n", 0, start) + 1
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            name = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if re.search(r"\.md`?$", words) and not (page in ROOT_PAGES and words.strip("`") == path):
                self.fault(page, number, f'the text "{words}" is a file: say what the page is about')
            there = os.path.join(self.root, name)
            if not os.path.exists(there):
                self.fault(page, number, f"there is no {name}")
            elif page.startswith("docs/") and not (name.startswith("docs/") and os.path.isfile(there)):
                self.fault(page, number, f"{name} is no page of the site: write its path as code, without a link")
            elif anchor and anchor not in self.anchors.get(name, ()):
                self.fault(page, number, f"{name} has no heading with the anchor {anchor}")
            self.links[page].add(name)

    def check_blocks(self, page):
        """Python-Markdown wants four columns for an item of an item, blank lines above lists, code at the margin."""
        before = ""
        for number, line in enumerate(self.text[page].splitlines(), 1):
            if re.match(r" +(```|~~~)", line):
                self.fault(page, number, "a block of code begins at the margin")
        for number, line in prose(self.text[page]):
            item = ITEM.match(line)
            if item and len(item.group(1)) % 4:
                self.fault(page, number, f"an item of another has an indent of four columns, not {len(item.group(1))}")
            if item and not item.group(1) and before.strip() and not before.startswith(" ") and not ITEM.match(before):
                self.fault(page, number, "a list wants a blank line above it")
            if line.startswith("|") and before.strip() and not before.startswith("|"):
                self.fault(page, number, "a table wants a blank line above it")
            before = line

    def check_images(self):
        linked = set().union(*self.links.values())
        images = os.path.join(self.root, "docs", "images")
        for name in sorted(os.listdir(images)) if os.path.isdir(images) else []:
            if f"docs/images/{name}" not in linked:
                self.fault(f"docs/images/{name}", 1, "no page shows it")

    def check_navigation(self):
        """The navigation of the site is what docs/index.md lists, with its words and in its order."""
        wanted = re.findall(r"^- \[([^\]]*)\]\(([^)]*)\)", self.text["docs/index.md"], re.M)
        navigation = self.read("mkdocs.yml").partition("\nnav:\n")[2]
        listed = re.findall(r"^ +- (.*): ([\w./-]+\.md)$", navigation, re.M)
        if listed[:1] == [("Overview", "index.md")]:
            del listed[0]
        for had, want in zip(listed + [None], wanted + [None]):
            if had != want:
                self.fault("mkdocs.yml", 1, f"the navigation has {had} where docs/index.md has {want}")
                break
        for page in sorted(self.pages - {"docs/index.md"} - {"docs/" + target for _, target in wanted}):
            if page.startswith("docs/"):
                self.fault("docs/index.md", 1, f"{page} is not listed")

    def check(self):
        for page in sorted(self.pages):
            self.check_links(page)
            self.check_blocks(page)
        self.check_images()
        self.check_navigation()
        return self.faults


if __name__ == "__main__":
    faults = Tree(sys.argv[1]).check()
    print("\n".join(faults))
    sys.exit(1 if faults else 0)
