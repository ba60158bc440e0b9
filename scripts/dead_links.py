"""Looks for dead links in a built site: files and places inside pages. Links to other hosts are counted, not opened."""
import pathlib
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.places.update(value for value in (attributes.get("id"), attributes.get("name")) if value)
        link = attributes.get("href") if tag in ("a", "link") else attributes.get("src")
        if link:
            self.links.append(link)


def main(root):
    pages = {path: Page(path.read_text()) for path in root.rglob("*.html")}
    checked, elsewhere, dead = 0, 0, []
    for path, page in pages.items():
        # The one that redirects to wherever the reader was wrong has the root as its base.
        if path.name in ("404.html", "print.html", "toc.html"):
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                elsewhere += parts.scheme != "data"
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                dead.append(f"{path.relative_to(root)}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                dead.append(f"{path.relative_to(root)}: {link} (no such place)")
    for line in sorted(set(dead)):
        print(line, file=sys.stderr)
    print(f"{len(pages)} pages, {checked} links, {elsewhere} to other hosts, {len(set(dead))} dead")
    return 1 if dead or not checked else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
