# SPDX-License-Identifier: Apache-2.0
"""site_links.py SITE: links and anchors of the pages lead somewhere in the site; nothing is loaded from other hosts."""
import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values.get("id"), values.get("name") if tag == "a" else None}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("img", "script", "source", "iframe", "link") and (values.get("src") or values.get("href")):
            self.loaded.append(values.get("src") or values["href"])


site = os.path.abspath(sys.argv[1])
pages = {}
for folder, _, names in os.walk(site):
    paths = [os.path.join(folder, name) for name in names if name.endswith(".html")]
    pages.update({path: Page(path) for path in paths})
faults = []
for path, page in sorted(pages.items()):
    at = os.path.relpath(path, site)
    for target in page.links + page.loaded:
        url = urllib.parse.urlsplit(target)
        if url.scheme == "data":
            continue
        if url.scheme or url.netloc:
            if target in page.loaded:
                faults.append(f"{at} loads {target}")
            continue
        relative = urllib.parse.unquote(url.path)
        name = os.path.normpath(os.path.join(site if relative.startswith("/") else os.path.dirname(path),
                                             relative.lstrip("/"))) if relative else path
        if os.path.isdir(name):
            name = os.path.join(name, "index.html")
        if not os.path.exists(name):
            faults.append(f"{at} links to {target}, which is not there")
        elif url.fragment and name in pages and url.fragment not in pages[name].anchors:
            faults.append(f"{at} links to {target}, which has no such anchor")
if len(pages) < 10:
    faults.append(f"{site} has {len(pages)} pages")
print("\n".join(faults))
sys.exit(1 if faults else 0)
