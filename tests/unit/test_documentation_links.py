"""The script that finds dead links in the built documentation, on a small site."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "check_links.py"


@pytest.fixture
def site(tmp_path):
    (tmp_path / "guide").mkdir()
    (tmp_path / "a picture.svg").write_text("<svg/>", encoding="utf-8")
    (tmp_path / "index.html").write_text('<a href="guide/#top">guide</a><p id="here">', encoding="utf-8")
    links = '<a id="top" href="../index.html#here"></a><img src="../a%20picture.svg"><a href="/index.html"></a>'
    elsewhere = (
        '<a href="https://example.org/nothing"></a><a href="#top"></a><a href="mailto:somebody@example.org"></a>'
    )
    (tmp_path / "guide" / "index.html").write_text(links + elsewhere, encoding="utf-8")
    return tmp_path


def run(folder):
    return subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)


def test_a_site_without_dead_links_passes(site):
    found = run(site)
    assert found.returncode == 0 and found.stdout == "2 pages, 0 dead links\n"


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ('<a href="gone.html">', "no such file"),
        ('<a href="#gone">', "no such anchor"),
        ('<a href="guide/index.html#gone">', "no such anchor"),
        ('<img src="gone.svg">', "no such file"),
        ('<script src="/gone.js">', "no such file"),
    ],
)
def test_a_dead_link_is_named_with_its_page_and_line(site, link, problem):
    page = site / "index.html"
    page.write_text(page.read_text(encoding="utf-8") + f"\n{link}", encoding="utf-8")
    found = run(site)
    assert found.returncode == 1 and f"index.html:2: {link.split(chr(34))[1]}: {problem}\n" in found.stdout
    assert found.stdout.endswith("2 pages, 1 dead links\n")


def test_templates_of_the_theme_and_links_of_listings_are_left_out(site):
    for folder in ("_static", "_modules"):
        (site / folder).mkdir()
        (site / folder / "page.html").write_text('<a href="gone.html">', encoding="utf-8")
    assert run(site).stdout == "2 pages, 0 dead links\n"


def test_a_folder_without_pages_is_an_error(tmp_path):
    found = run(tmp_path)
    assert found.returncode == 2 and "build the documentation first" in found.stderr
