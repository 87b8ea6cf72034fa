"""The cost model for large data recovers its constants, and the guide shows the measured values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.projection import NETWORK, Fitted, crossing, fit, most_workers, project
from benchmarks.report import Column, Section, Table, fill, save

TRUE = Fitted(
    product=2e-10,
    speed=5e8,
    call=1e-3,
    bytes_per_sample=9.0,
    sorting=3e-9,
    held=120.0,
    counting=4e-9,
    entry=180.0,
    questions=8.0,
    binning=2e-5,
)
ROOT = Path(__file__).resolve().parents[2]


def make_measurement(n_samples):
    moved = TRUE.bytes_per_sample * n_samples + 8 * 100 * 2
    return {
        "n_samples": n_samples,
        "work": TRUE.product * n_samples * 100 / 2,
        "overhead": 0.004 + moved / TRUE.speed,
        "moved": moved,
        "sorting": TRUE.sorting * n_samples * np.log2(n_samples),
        "held": 5e6 + TRUE.held * n_samples,
        "binned_work": (TRUE.product * 100 + TRUE.counting) * n_samples / 2,
        "binned_moved": TRUE.entry * 2 * 256 * 2 + 8 * 100 * (2 + 8),
        "binned_questions": TRUE.questions,
        "binned_own": TRUE.binning * 256,
    }


def test_fitting_recovers_the_constants():
    sizes = {"n_features": 100, "n_workers": 2, "n_chunks": 8, "n_bins": 256}
    found = fit([make_measurement(n_samples) for n_samples in (10_000, 100_000, 1_000_000)], **sizes, call=1e-3)
    for name, value in vars(TRUE).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-6), name


def test_a_projection_equals_the_sum_of_its_parts():
    exact = project(TRUE, 10**9, 100, 100)
    assert exact["products"] == pytest.approx(2e-10 * 1e9)
    assert exact["transfer"] == pytest.approx((9e9 + 800 * (100 + 4000)) / 5e8)
    assert exact["coordinator"] == pytest.approx(3.0 * np.log2(1e9))
    assert exact["iteration"] == pytest.approx(sum(exact[k] for k in ("products", "transfer", "calls", "coordinator")))
    assert (exact["held"], exact["worker_gigabytes"]) == (pytest.approx(120.0), pytest.approx(4.0))
    faster = project(Fitted(**vars(TRUE) | {"speed": np.inf}), 10**9, 100, 100)
    assert faster["transfer"] == pytest.approx(exact["transfer"] * 5e8 / NETWORK)
    few, many = (project(TRUE, n_samples, 100, 100, bins=1024) for n_samples in (10**8, 10**9))
    vectors = 800 * (100 + 4000)
    assert many["gigabytes"] == pytest.approx((2 * 180 * 1024 * 100 + vectors) / 1e9)
    assert few["coordinator"] == many["coordinator"] < 1e-3 * exact["coordinator"]
    assert many["products"] == pytest.approx((2e-8 + 4e-9) * 1e9 / 100)
    assert many["calls"] == pytest.approx(4 * exact["calls"])


def test_at_most_workers_products_take_as_long_as_the_coordinator():
    workers = most_workers(TRUE, 10**9, 100)
    plan = project(TRUE, 10**9, 100, 1)
    vectors = 800 * 4001 / 5e8
    assert plan["products"] / workers == pytest.approx(plan["transfer"] - vectors + plan["coordinator"])


@pytest.mark.parametrize(
    ("ratios", "expected"), [([0.9, 0.8, 0.7], 10), ([3.0, 1.0, 1.0], 10**1.75), ([3.0, 1.0, 2.0], None)]
)
def test_break_even_points_hold_for_all_larger_sizes(ratios, expected):
    assert crossing([10, 100, 1000], ratios, 1.5) == (None if expected is None else pytest.approx(expected))


def test_pages_are_filled_between_their_markers(tmp_path):
    table = Table("Speed", [Column("n_samples", "samples", "{:,}")], [{"n_samples": 5000}])
    save(Section("trial", "A trial", [], tables=[table], environment={"cores": "2"}), tmp_path)
    page = "Before\n\n.. measured: trial: Speed\n\nold\n\n.. end of measurement\n\n.. measured: trial: environment\n\n"
    page += ".. end of measurement\n\n.. measured: other: Speed\n\nkept\n\n.. end of measurement\n\nAfter\n"
    found = fill(page, tmp_path)
    assert "5,000" in found and "cores 2" in found and "kept" in found and "old" not in found
    assert found.startswith("Before\n") and found.endswith("After\n") and fill(found, tmp_path) == found
    with pytest.raises(ValueError, match="has no 'Weight', only Speed, environment"):
        fill(page.replace("trial: Speed", "trial: Weight"), tmp_path)


@pytest.mark.parametrize("page", ["data_location", "billion_samples"])
def test_the_guide_shows_the_measured_values(page):
    text = (ROOT / "docs" / "guide" / f"{page}.rst").read_text(encoding="utf-8")
    assert text.count(".. measured: data_location: ") == text.count(".. end of measurement") >= 3
    assert fill(text, ROOT / "benchmarks" / "results") == text
