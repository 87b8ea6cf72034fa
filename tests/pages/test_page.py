"""The whole page in a browser: self-contained, responsive, with a dark theme, accessible and safe."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from metricwise import MetricClassifier, MultivariateSVC, report

ATTACKS = (
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "\"><svg onload=document.title='owned'>",
    "<!--<script>",
)
CONTRAST = """
const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const luminance = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(channel);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (!/, 0\\)$/.test(c)) return c; } return "rgb(255, 255, 255)"; };
const found = [];
for (const e of document.querySelectorAll("main *, footer *")) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
  const style = getComputedStyle(e), svg = e.namespaceURI.endsWith("svg");
  const [a, b] = [luminance(svg ? style.fill : style.color), luminance(behind(e))].sort((x, y) => y - x);
  found.push([(a + 0.05) / (b + 0.05), e.textContent.slice(0, 40)]);
}
return found;
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page with every section, whose names all attempt an injection."""
    X, y = make_classification(500, 4, n_redundant=0, weights=[0.85], random_state=0)
    labels = np.where(y == 1, ATTACKS[1], ATTACKS[0])
    first, second = labels[:250], labels[250:]
    model = MetricClassifier("f1", candidates={ATTACKS[2]: LogisticRegression()}, pos_label=ATTACKS[1]).fit(
        X[:250], first
    )
    svc = MultivariateSVC("f1", pos_label=ATTACKS[1]).fit(X[:250], first)
    path = tmp_path_factory.mktemp("page") / "report.html"
    named = {"title": ATTACKS[0], "samples": ATTACKS[1], "feature_names": ATTACKS}
    report(svc, X[250:], second, path, compare={ATTACKS[3]: model}, **named)
    report(model, X[250:], second, path.with_name("race.html"), compare={ATTACKS[1]: svc}, **named)
    return path


def test_nothing_is_loaded_and_nothing_is_injected(browser: Any, page: Path) -> None:
    for path in (page, page.with_name("race.html")):
        browser.open(path)
        browser.set("#explorer-step", 3)
        assert browser.run("return document.title") == ATTACKS[0]
        assert browser.text("h1") == ATTACKS[0]
        assert browser.run("return document.querySelectorAll('img, [onerror], [onload]').length") == 0
        assert browser.run("return document.scripts.length") == 2
        shown = {cell.text for cell in browser.driver.find_elements("css selector", "#features tbody th")}
        assert shown == set(ATTACKS)
        assert browser.errors() == []
        assert all(url.startswith(("file:", "data:")) for url in browser.requests())
    assert ATTACKS[2] in browser.text("#leaderboard")


def test_all_sections_are_present(browser: Any, page: Path) -> None:
    browser.open(page)
    sections = browser.run("return [...document.querySelectorAll('section')].map(e => e.id)")
    assert sections == ["model", "explorer", "comparison", "features", "training", "card"]
    browser.open(page.with_name("race.html"))
    sections = browser.run("return [...document.querySelectorAll('section')].map(e => e.id)")
    assert {"calibration", "leaderboard"} < set(sections)


@pytest.mark.parametrize("width", [320, 360, 768, 1400])
def test_nothing_overflows_the_window(browser: Any, page: Path, width: int) -> None:
    for path in (page, page.with_name("race.html")):
        browser.open(path, width)
        assert browser.run("return document.documentElement.scrollWidth") == width
        smallest = browser.run(
            "return Math.min(...[...document.querySelectorAll('button, input, select')].map(e => e.clientHeight))"
        )
        assert smallest >= 24  # touch targets


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_enough_contrast_in_both_themes(browser: Any, page: Path, dark: bool) -> None:
    browser.open(page, dark=dark)
    background = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background.strip("rgb()").split(","))) < 150) == dark
    contrasts = browser.run(CONTRAST)
    assert len(contrasts) > 100
    assert [found for found in contrasts if found[0] < 4.5] == []


def test_the_page_is_accessible_to_screen_readers(browser: Any, page: Path) -> None:
    browser.open(page)
    unlabelled = "return [...document.querySelectorAll('input, select')].filter(e => !e.labels.length).length"
    assert browser.run(unlabelled) == 0
    assert browser.run("return [...document.querySelectorAll('button')].every(e => e.textContent.trim())")
    unnamed = (
        "return [...document.querySelectorAll('svg')].filter(e => e.getAttribute('role') !== 'img' || "
        "!e.querySelector('title').textContent || !e.querySelector('desc').textContent).length"
    )
    assert browser.run(unnamed) == 0
    tables = (
        "return [...document.querySelectorAll('table')].filter(e => !e.caption.textContent || "
        "![...e.querySelectorAll('th')].every(h => h.scope)).length"
    )
    assert browser.run(tables) == 0
    levels = browser.run("return [...document.querySelectorAll('h1, h2, h3')].map(e => Number(e.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = browser.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert browser.run("return document.documentElement.lang") == "en"
    assert browser.find("#explorer-said").get_attribute("aria-live") == "polite"


def test_focus_is_visible(browser: Any, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(page)
    for _ in range(12):  # from the top of the page, by keyboard
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        if browser.run("return document.activeElement.id") == "explorer-step":
            break
    assert browser.run("return document.activeElement.id") == "explorer-step"
    assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_printing_hides_the_controls(browser: Any, page: Path) -> None:
    browser.open(page.with_name("race.html"), width=720, dark=True)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        for control in (".slider", ".controls"):
            assert not browser.find(control).is_displayed()
        assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.find("#explorer-confusion").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
