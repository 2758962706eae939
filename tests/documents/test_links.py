# SPDX-License-Identifier: Apache-2.0
"""links.py finds no fault in a good tree, and each fault that a person could make."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from links import Tree  # noqa: E402

GOOD = {
    "README.md": "# It\n\n[Documents](docs/index.md), [CONTRIBUTING.md](CONTRIBUTING.md), `[code](nowhere.md)`\n",
    "CONTRIBUTING.md": "# Contributing\n\n[docs/index.md](docs/index.md)\n",
    "docs/index.md": "# Documents\n\n- [One](how-to/one.md): the first.\n",
    "docs/how-to/one.md": "# One\n\n## Its `end`: x & y\n\n```\n[block](nowhere.md)\n```\n\n"
    '[here](#a-part), [there](#its-end-x--y), [home](../index.md)\n\n'
    '<p><img src="../images/a.svg" alt="A"></p>\n\n## A part\n\n- an item\n',
    "docs/images/a.svg": "<svg/>\n",
    "mkdocs.yml": "site_name: it\nnav:\n  - Overview: index.md\n  - How-to:\n      - One: how-to/one.md\n",
}
ONE = "docs/how-to/one.md"
FAULTS = [  # what, the file, its new text or what is added to it, what is said of it
    ("a file that is not there", ONE, "+[two](two.md)\n", "there is no docs/how-to/two.md"),
    ("a link that goes over two lines", ONE, "+[two\nwords](two.md)\n", "there is no docs/how-to/two.md"),
    ("an image that is not there", ONE, "+![B](../images/b.svg)\n", "there is no docs/images/b.svg"),
    ("an image in HTML that is not there", ONE, '+<img width="9" src="b.svg">\n', "there is no docs/how-to/b.svg"),
    ("an anchor that is not there", "docs/index.md", "+[x](how-to/one.md#an-end)\n", "anchor an-end"),
    ("an anchor of the same page", ONE, "+[x](#two)\n", "anchor two"),
    ("an anchor by another rule", ONE, "+[x](#its-end-x-y)\n", "anchor its-end-x-y"),
    ("a definition of a link", ONE, "+\n[x]: #two\n", "anchor two"),
    ("a page beside examples", "examples/README.md", "# It\n\n[x](../docs/two.md)\n", "there is no docs/two.md"),
    ("a file outside the site", ONE, "+[x](../../README.md)\n", "no page of the site"),
    ("a folder", ONE, "+[x](../images)\n", "no page of the site"),
    ("a file for a text", ONE, "+[one.md](one.md)\n", "say what the page is about"),
    ("another file for a text", "README.md", "+[docs/one.md](docs/index.md)\n", "say what the page is about"),
    ("a file in code for a text", ONE, "+[`one.md`](one.md)\n", "say what the page is about"),
    ("a page that is not listed", "docs/how-to/two.md", "# Two\n", "docs/how-to/two.md is not listed"),
    ("a page that is missing in the navigation", "mkdocs.yml", "nav:\n", "the navigation has None"),
    ("other words in the navigation", "mkdocs.yml", "\nnav:\n  - A:\n      - Two: how-to/one.md\n", "('Two', "),
    ("an image that no page shows", "docs/images/b.svg", "<svg/>\n", "no page shows it"),
    ("two headings of one name", ONE, "+\n## A part\n", "two headings"),
    ("two titles", ONE, "+\n# Two\n", "has one"),
    ("text before the title", ONE, "Two\n\n# Two\n", "has one"),
    ("an item inside another", ONE, "+   - inside\n", "indent of four"),
    ("a list below a paragraph", ONE, "+\nText\n- an item\n", "a list wants"),
    ("a table below a paragraph", ONE, "+\nText\n| a |\n", "a table wants"),
    ("code inside an item", ONE, "+\n  ```\n  x\n  ```\n", "at the margin"),
]


def faults_of(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        return Tree(root).check()


failed = 0
if found := faults_of(GOOD):
    print("in a good tree:", *found, sep="\n")
    failed += 1
for what, name, text, said in FAULTS:
    changed = GOOD.get(name, "") + text[1:] if text.startswith("+") else text
    found = faults_of({**GOOD, name: changed})
    if not any(said in fault for fault in found):
        print(f"{what}: wanted a fault with \"{said}\", got {found}")
        failed += 1
sys.exit(1 if failed else 0)
