"""Find dead links within the built documentation: ``python docs/check_links.py docs/_build/html``.

Every page is parsed. A link is dead if its file or its anchor does not exist; so is a picture without a file. Links to
other sites are not followed, so that no network is needed. Templates of the theme are no pages. Listings of source code
are checked as targets only: Sphinx links every object in a module back by the name that documents the first of them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_NO_PAGES = {"_modules", "_static"}
_LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src", "iframe": "src"}


class PageParser(HTMLParser):
    """Collect the anchors and the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[tuple[int, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the anchors and the link of an element."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        target = given.get(_LINKS.get(tag, ""))
        if target is not None:
            self.links.append((self.getpos()[0], target))


@dataclass
class Site:
    """A folder of pages.

    Parameters
    ----------
    root : path
        The folder.
    """

    root: Path
    _parsed: dict[Path, PageParser] = field(default_factory=dict)

    @cached_property
    def pages(self) -> list[Path]:
        """All pages whose links are checked."""
        root = self.root.resolve()
        found = sorted(root.rglob("*.html"))
        return [page for page in found if page.relative_to(root).parts[0] not in _NO_PAGES]

    def parse(self, page: Path) -> PageParser:
        """Return a parsed page, which is read once."""
        if page not in self._parsed:
            parser = PageParser()
            parser.feed(page.read_text(encoding="utf-8"))
            self._parsed[page] = parser
        return self._parsed[page]

    def explain(self, page: Path, link: str) -> str | None:
        """Return what is wrong with a link of a page, or None."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return None
        folder = self.root.resolve() if parts.path.startswith("/") else page.parent
        target = (folder / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
        target = target / "index.html" if target.is_dir() else target
        if not target.is_file():
            return "no such file"
        if target.suffix == ".html" and unquote(parts.fragment) not in self.parse(target).anchors:
            return "no such anchor"
        return None

    def find_dead_links(self) -> list[str]:
        """Return one line for every dead link."""
        return [
            f"{page.relative_to(self.root.resolve())}:{line}: {link}: {problem}"
            for page in self.pages
            for line, link in self.parse(page).links
            if (problem := self.explain(page, link)) is not None
        ]


def main(folder: str) -> int:
    """Print the dead links of a site; return 1 if there are some."""
    site = Site(Path(folder))
    if not site.pages:
        sys.stderr.write(f"{folder} has no pages: build the documentation first\n")
        return 2
    dead = site.find_dead_links()
    sys.stdout.write("".join(f"{one}\n" for one in dead) + f"{len(site.pages)} pages, {len(dead)} dead links\n")
    return int(bool(dead))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
