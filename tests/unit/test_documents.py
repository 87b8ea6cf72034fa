"""README and guide: numbers come from stored results, code runs, words are those of the field."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import overview, report
from benchmarks.papers import records
from benchmarks.papers.summary import compare
from benchmarks.quality.comparing import OURS
from benchmarks.quality.comparison_page import load_comparison
from benchmarks.quality.verdicts import peers_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = ROOT / "benchmarks" / "results"
PICTURES = [ROOT / "docs" / "_static" / f"readme_{name}.svg" for name in ("light", "dark")]
BUILT = {"_build", "generated", "gallery"}
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.rst")) if not BUILT & set(path.relative_to(ROOT).parts)]
EXAMPLES = [path for path in sorted((ROOT / "examples").rglob("*")) if path.suffix in (".py", ".rst")]
GUIDE = [path for path in PAGES if "guide" in path.relative_to(ROOT).parts]
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
GENERATED = re.compile(r"^\.\. measured: .*?^\.\. end of measurement$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w,]|\.\d)")
# What only a measurement can tell, in a sentence: a ratio, a share, a decimal.
MEASURED = re.compile(r"(?<![\w.])\d+(?:\.\d+)? (?:times (?:as|faster|slower|longer|the (?:time|memory))|minutes on)")
name_of = lambda path: str(path.relative_to(ROOT))
each_guide_page = pytest.mark.parametrize("path", GUIDE, ids=name_of)


def strip_prose(text):
    """Return a text without literals, roles, formulas and links, whose numbers are names."""
    text = re.sub(r"``.*?``|:\w+:`[^`]*`|`[^`]*`_*|https?://\S+", "", text, flags=re.DOTALL)
    return re.sub(r"(?m)^( +(?:>>>|\.\.\.).*|\s*\.\. [\w:-]+::.*)$", "", text)


def read_numbers(text):
    return [float(one.replace(",", "")) for one in NUMBER.findall(text)]


def shows(printed, values):
    """Return whether a number as printed is one of the values, or a share of them in percent, rounded."""
    digits = len(printed.partition(".")[2])
    near = np.concatenate([values, 100.0 * values])
    return bool(np.any(np.abs(near - float(printed.replace(",", ""))) <= 0.5000001 * 10.0**-digits))


# -------------------------------------------------------------------------------------------------------------- README


def test_the_readme_is_short_and_begins_with_the_two_commands():
    assert len(README.splitlines()) <= 150
    assert 0 < README.index("make demo") < README.index("make test") < README.index("pip install metricwise") < 2200


def test_readme_and_summary_are_written_from_the_results():
    assert overview.fill_readme(README) == README
    assert overview.make_page() == overview.PAGE.read_text(encoding="utf-8")


def test_a_readme_without_markers_is_refused():
    begin, end = "<!-- results: written by the benchmarks -->", "<!-- end of results -->"
    filled = overview.fill_readme(f"Before\n{begin}\nstale\n{end}\nafter")
    assert (
        filled.startswith(f"Before\n{begin}\n| measure")
        and filled.endswith(f"\n{end}\nafter")
        and "stale" not in filled
    )
    with pytest.raises(ValueError, match="README has no lines"):
        overview.fill_readme("nothing")


def test_the_readme_measures_nothing_by_hand():
    """Outside of the written block and of code, a decimal, a percentage or a ratio would be typed by hand."""
    prose = FENCE.sub("", overview.BLOCK.sub("", README)).replace("Python 3.11", "")
    found = re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])|\d+ ?%|\d+ times|`[^`]*`", prose)
    assert [one for one in found if not one.startswith("`")] == []


def test_the_readme_says_where_nothing_is_gained():
    """These sentences are typed by hand: they hold as long as the results say so."""
    texts = load_comparison(overview.QUALITY, "texts", "f1")
    best = peers_of(texts)[0]
    assert "On texts no difference to a tuned linear SVM is found" in README
    assert best == "linear SVM" and texts.pair(OURS, best).p_value > 0.1
    reuters = records.load("reuters", overview.PAPERS)
    tuned, area = compare(reuters, "f1_tuned"), compare(reuters, "roc_area")
    assert "gains nothing over one with class\ncosts once both thresholds are tuned" in README
    assert "for the ROC area it loses on more topics than it wins" in README
    assert tuned.p > 0.1 and area.lost > area.won


@pytest.mark.parametrize("path", PICTURES, ids=name_of)
def test_the_picture_of_the_readme_shows_the_results(path):
    picture = path.read_text(encoding="utf-8")
    found = load_comparison(overview.QUALITY, "tables", "f1")
    missing = [name for name in found.values if name in peers_of(found) and f">{found.mean(name):.3f}<" not in picture]
    assert missing == [] and f">{found.mean(OURS):.3f}<" in picture and name_of(path) in README
    assert path.stat().st_size < 200_000


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of learners, which the reader sees as well
def test_the_code_of_the_readme_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fences = FENCE.findall(README)
    code = [text for language, text in fences if language == "python"]
    shown = next(text for language, text in fences if not language and text.startswith("F1 to expect"))
    printed, names = io.StringIO(), {}
    with contextlib.redirect_stdout(printed):
        for block in code:
            exec(block, names)
    lines, expected = printed.getvalue().splitlines(), shown.splitlines()
    for line, wanted in zip(lines[:2], expected[:2], strict=True):
        assert NUMBER.sub("", line) == NUMBER.sub("", wanted)
        assert read_numbers(line) == pytest.approx(read_numbers(wanted), abs=0.02)
    assert sorted(re.findall(r"\w+", lines[2])) == sorted(re.findall(r"\w+", expected[2])) and len(lines) == 3
    assert (tmp_path / "report.html").stat().st_size > 10_000 and (tmp_path / "model.mw").is_file()


# --------------------------------------------------------------------------------------------------------------- guide


@each_guide_page
def test_measured_tables_of_the_guide_are_those_of_the_results(path):
    text = path.read_text(encoding="utf-8")
    assert report.fill(text, RESULTS) == text
    assert text.count("\n.. measured: ") == text.count("\n.. end of measurement")


def find_result_pages(paragraph, folder):
    """Return the pages of results that a paragraph links to."""
    pages = []
    for role, target in re.findall(r":(doc|ref):`(?:[^`<]*<)?([^`>]+)>?`", paragraph):
        if role == "doc" and re.search(r"(benchmarks|papers)/", target):
            found = ROOT / "docs" / target[1:] if target.startswith("/") else (folder / target).resolve()
            pages.append(found.with_suffix(".rst"))
        elif role == "ref" and target.startswith("benchmark_"):
            pages += [page for page in PAGES if f".. _{target}:" in page.read_text(encoding="utf-8")]
    return pages


@each_guide_page
def test_measured_numbers_of_the_guide_are_on_the_pages_they_link_to(path):
    """A number beside a link to a page of results is printed there; a ratio that was measured has such a link."""
    wrong = []
    for paragraph in re.split(r"\n\s*\n", GENERATED.sub("", path.read_text(encoding="utf-8"))):
        prose, pages = strip_prose(paragraph), find_result_pages(paragraph, path.parent)
        measured = [one for one in NUMBER.findall(prose) if "." in one]
        measured += re.findall(r"(?<![\w.,])(\d+(?:\.\d+)?) ?(?:%|times)", prose)
        if pages:
            values = np.array([x for page in pages for x in read_numbers(page.read_text(encoding="utf-8"))])
            wrong += [(one, " ".join(paragraph.split())[:90]) for one in measured if not shows(one, values)]
        elif MEASURED.search(prose):
            wrong.append((MEASURED.search(prose)[0], " ".join(paragraph.split())[:90]))
    assert wrong == []


# --------------------------------------------------------------------------------------------------------------- words

# What is said otherwise in the field, as far as words alone show it: "rows" of files and tables are rows.
PHRASES = re.compile(
    r"by heart|front door|\bthe race\b|\bheats?\b|\brunners?\b|\bcontenders?\b|\bcontest\b|knocking|called positive|"
    r"who takes part|whoever is behind|measures of scores|scores out of fold|\bcarried on\b|\bpromises?\b|\bendless|"
    r"(?:are|is) not finite|far rows|at the door|way of the numbers|price of (?:one|a) mistake|\bprices\b|a fit a fold|"
    r"against the rest|rows (?:are |is )?held[ -]out|held-out rows?|\bn_rows\b|rows? of the rarest|new rows|"
    r"training rows|test rows|\btold by\b|\btells\b|one row in",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES, ROOT / "README.md"], ids=name_of)
def test_documents_speak_in_the_words_of_the_field(path):
    text = path.read_text(encoding="utf-8")
    assert [(text.count("\n", 0, one.start()) + 1, one[0]) for one in PHRASES.finditer(text)] == []
