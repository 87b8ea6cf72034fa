"""Every program of the gallery runs, asserts what its text says, and draws pictures that can be read."""

from __future__ import annotations

import itertools
import re
import runpy
import warnings
from collections.abc import Iterator
from contextvars import Context
from pathlib import Path
from typing import Any

import matplotlib
import pytest

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "examples" / "gallery"
PROGRAMS = sorted(GALLERY.rglob("plot_*.py"))
MOST_LETTERS = 520  # of the introduction
each_program = pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def pyplot() -> Iterator[Any]:
    """Draw without a screen, and leave no figures or settings behind."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(), warnings.catch_warnings():
        # What sphinx-gallery leaves out, too.
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        yield pyplot
        pyplot.close("all")


def list_texts(figure: Any) -> list[Any]:
    """Return the texts that are drawn: of axes, their ticks within view, and legends."""
    texts = list(figure.texts)
    for axes in figure.axes:
        legend = axes.get_legend()
        texts += [*axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label]
        texts += [] if legend is None else legend.get_texts()
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def find_flaws(figure: Any) -> list[str]:
    """Return which texts of a figure are cut off, lie upon each other or are too small, and which axes have no name."""
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    drawn = [(text, text.get_window_extent()) for text in list_texts(figure)]
    flaws = [f"{text.get_text()!r} is cut off" for text, box in drawn if not is_inside(box, width, height)]
    flaws += [f"{text.get_text()!r} is small" for text, _ in drawn if text.get_fontsize() * 600 / width < 6.0]
    for (text, box), (other, other_box) in itertools.combinations(drawn, 2):
        if overlap(box, other_box):
            flaws.append(f"{text.get_text()!r} and {other.get_text()!r} overlap")
    return flaws + ["axes have no name" for axes in figure.axes if not axes.get_xlabel() and not axes.get_ylabel()]


def is_inside(box: Any, width: int, height: int) -> bool:
    return bool(box.x0 > -1 and box.y0 > -1 and box.x1 < width + 1 and box.y1 < height + 1)


def overlap(first: Any, second: Any) -> bool:
    """Return whether two boxes overlap by more than the room for descenders, which they have whether there are any."""
    across = min(first.x1, second.x1) - max(first.x0, second.x0)
    down = min(first.y1, second.y1) - max(first.y0, second.y0)
    return bool(across > 1 and down > 0.35 * min(first.height, second.height))


@each_program
def test_a_program_runs_and_its_pictures_can_be_read(path: Path, pyplot: Any) -> None:
    Context().run(runpy.run_path, str(path))  # clients of Dask that other tests have entered are not current there
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert 1 <= len(figures) <= 2
    assert [flaw for figure in figures for flaw in find_flaws(figure)] == []


@each_program
def test_a_program_has_title_text_assertions_and_links_to_the_guide(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    title, line, introduction = source.split('"""')[1].strip().split("\n", maxsplit=2)
    assert len(line) >= len(title) and set(line) == {"="}
    assert len(introduction) <= MOST_LETTERS and source.count("\n# %%\n") >= 3
    assert re.search(r"^ *assert ", source, re.MULTILINE)
    guide = re.findall(r":doc:`/(guide/[\w/]+)`", source)
    assert guide and [name for name in guide if not (ROOT / "docs" / f"{name}.rst").is_file()] == []


def test_every_folder_of_the_gallery_has_a_header_and_programs() -> None:
    folders = {path.parent for path in PROGRAMS}
    assert len(PROGRAMS) >= 15 and GALLERY not in folders
    assert all((folder / "README.rst").is_file() for folder in {*folders, GALLERY})


def test_flaws_of_pictures_are_found(pyplot: Any) -> None:
    figure, axes = pyplot.subplots(figsize=(4, 3))
    axes.text(0.4, 0.5, "first")
    axes.text(0.45, 0.5, "second")
    axes.text(0.9, 0.9, "longer than the figure is wide", fontsize=30)
    axes.text(0.1, 0.1, "tiny", fontsize=3)
    found = " ".join(find_flaws(figure))
    for flaw in ("'first' and 'second' overlap", "is wide' is cut off", "'tiny' is small", "axes have no name"):
        assert flaw in found
