# SPDX-License-Identifier: Apache-2.0
"""Links of the site: every local target and every anchor exists, nothing is loaded from elsewhere,
the search index knows the pages and the reference every function of libwsc.h.

usage: site_check.py FOLDER
"""
import html.parser
import json
import os
import re
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """Links, loaded files and anchors of a page."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.links, self.loads, self.anchors = [], [], {"", "top"}
        with open(path, encoding="utf-8", errors="replace") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        self.anchors.update(names[key] for key in ("id", "name") if names.get(key))
        if tag == "a" and names.get("href"):
            self.links.append(names["href"])
        for key in ("src", "href") if tag != "a" else ():
            if names.get(key) and names.get("rel") != "canonical":
                self.loads.append(names[key])


def is_outside(link):
    return not link.startswith("javascript:") and (
        bool(urllib.parse.urlsplit(link).scheme) or link.startswith("//"))


def main():
    root = os.path.abspath(sys.argv[1])
    pages = {os.path.join(folder, name): None for folder, _, names in os.walk(root)
             for name in names if name.endswith(".html")}
    for path in pages:
        pages[path] = Page(path)
    bad, n_links = [], 0
    for path, page in pages.items():
        shown = os.path.relpath(path, root)
        bad += [f"{shown}: loads {link}" for link in page.loads if is_outside(link)]
        for link in page.links + page.loads:
            if is_outside(link) or link.startswith("javascript:"):
                continue
            n_links += 1
            parts = urllib.parse.urlsplit(link)
            to = os.path.normpath(os.path.join(os.path.dirname(path),
                                               urllib.parse.unquote(parts.path)))
            to = path if not parts.path else to
            if os.path.isdir(to) and os.path.exists(to + "/index.html"):
                to += "/index.html"
            if not os.path.exists(to):
                bad.append(f"{shown}: {link} does not exist")
            elif to in pages and parts.fragment and shown.find("search") < 0 and \
                    urllib.parse.unquote(parts.fragment) not in pages[to].anchors:
                bad.append(f"{shown}: {link} has no such anchor")
    with open(root + "/search/search_index.json", encoding="utf-8") as file:
        found = {entry["location"].split("#")[0] for entry in json.load(file)["docs"]}
    bad += [f"{name} is not in the search index"
            for name in ("index.html", "docs/RUNNING.html", "docs/INSTALL.html") if name not in found]
    with open("include/libwsc.h", encoding="utf-8") as file:
        functions = set(re.findall(r"(libwsc_[a-z_]+)\(", file.read()))
    with open(root + "/reference/libwsc/libwsc_8h.html", encoding="utf-8") as file:
        reference = file.read()
    bad += [f"{name} is not in the reference" for name in functions if name not in reference]
    print("\n".join(sorted(set(bad))[:40]))
    print(f"site: {len(pages)} pages, {n_links} links")
    print(f"site: {int(not bad)} passed, {int(bool(bad))} failed")
    return bool(bad)


sys.exit(main())
