"""The protocol behind the page on Joachims (2005), on small data."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from benchmarks.papers import page, records, running
from benchmarks.papers.datasets import available, collection
from benchmarks.papers.judging import COLUMNS, MEASURES, TUNED
from benchmarks.papers.protocol import Plan, holdout, study
from benchmarks.papers.published import PUBLISHED
from benchmarks.papers.settings import Grid, Setting, best_setting, most_frequent
from benchmarks.papers.summary import compare, p_value, stars
from metricwise.designs import make_design
from metricwise.measures import Accuracy
from metricwise.solvers import CuttingPlane, Limits, make_problem, run

TOPICS = ("crude", "coffee")


@pytest.fixture(scope="module")
def found():
    """Return the results of the protocol on two topics with three values of C and two cost factors."""
    if not available("reuters"):
        pytest.skip("METRICWISE_DATA does not name a folder with reuters21578.npz")
    data = collection("reuters")
    topics = [data.classes.index(topic) for topic in TOPICS]
    return running.record(data, study(data, topics, Plan(step=6, n_widenings=0), running.run_serially(data)), 1.0, 1)


@pytest.mark.data
@pytest.mark.slow
def test_both_methods_learn_two_topics(found):
    assert [entry["name"] for entry in found["classes"]] == list(TOPICS)
    for entry in found["classes"]:
        for method in ("multivariate", "cost"):
            values = entry["values"][method]
            assert set(values) == set(COLUMNS)
            assert 0.6 < values["f1"] <= 1.0
            assert 0.6 < values[TUNED] <= 1.0
            assert 0.6 < values["prbep"] <= values["rec_2p"] <= 1.0
            assert 0.97 < values["roc_area"] <= 1.0


@pytest.mark.data
@pytest.mark.slow
def test_every_model_of_the_grids_was_trained_to_its_tolerance(found):
    # Per topic four measures at three values of C, and three by two settings; then at most one model per column.
    grids = len(TOPICS) * (4 * 3), len(TOPICS) * (3 * 2)
    for method, fits in zip(("multivariate", "cost"), grids, strict=True):
        effort = found["efforts"][method]
        assert fits < effort["fits"] <= fits + len(TOPICS) * len(COLUMNS)
        assert effort["unfinished"] == 0


@pytest.mark.data
@pytest.mark.slow
def test_the_page_is_made_from_saved_records(found, tmp_path):
    records.save(found, tmp_path, running.LISTS)
    again = records.load("reuters", tmp_path)
    path = page.write([again], tmp_path)
    text = path.read_text(encoding="utf-8")
    assert f"{compare(found, 'f1').multivariate:.1f}" in text
    assert (tmp_path / page.FIGURE).is_file()


def test_training_for_accuracy_gives_the_ordinary_svm():
    """By Theorem 3, the multivariate SVM for accuracy has the optimum of the SVM with hinge loss."""
    X, y = make_classification(n_samples=200, n_features=10, class_sep=0.7, random_state=0)
    C = 0.5
    problem = make_problem(make_design(X, intercept=1.0), y == 1, Accuracy(), C)
    result, _ = run(CuttingPlane(), problem, Limits(tol=1e-6))
    svm = LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=1_000_000, random_state=0).fit(X, y)
    w = np.append(svm.coef_, svm.intercept_)
    hinge = np.maximum(0.0, 1.0 - (2 * y - 1) * svm.decision_function(X))
    assert result.certificate.upper == pytest.approx(0.5 * w @ w + C * hinge.sum(), rel=1e-4)
    np.testing.assert_allclose(result.weights, w, atol=1e-2)


@pytest.mark.parametrize("n_pos", [2, 3, 10])
def test_holdout_has_positives_in_both_parts(n_pos):
    positive = np.arange(60) < n_pos
    held = holdout(positive, seed=0)
    assert 1 <= np.count_nonzero(held & positive) < n_pos
    assert np.count_nonzero(held) == pytest.approx(20, abs=1)


def test_a_single_positive_cannot_be_split():
    assert holdout(np.arange(60) < 1, seed=0) is None


def test_grids_are_widened_at_the_boundary():
    grid = Grid(c=(-6, 6), j=(0, 7))
    assert grid.widen(Setting(0, 3)) == grid
    assert grid.widen(Setting(-6, 3)) == Grid(c=(-10, 6), j=(0, 7))
    assert grid.widen(Setting(6, 7)) == Grid(c=(-6, 10), j=(0, 9))
    assert Grid().widen(Setting(0, 0)) == Grid()


def test_ties_select_the_most_central_setting():
    assert best_setting({Setting(c): float(c >= 0) for c in range(-6, 7)}) == Setting(3)
    assert most_frequent([Setting(1), Setting(1), Setting(5), Setting(9), Setting(9)]) == Setting(1)


def test_published_differences_add_up():
    """The paper counts eleven improvements and four declines; three and one are on a collection not used here."""
    lines = [PUBLISHED[name][column] for name in ("reuters", "optdigits", "covertype") for column in MEASURES]
    signs = [np.sign(round(line.difference, 1)) for line in lines]
    assert (signs.count(1.0), signs.count(-1.0), signs.count(0.0)) == (8, 3, 1)
    assert all(line.won + line.lost <= 90 for line in lines)


def test_p_values_and_stars():
    assert p_value(np.zeros(5)) == 1.0
    assert p_value(np.arange(1.0, 8.0)) == pytest.approx(2 / 2**7)
    assert [stars(p) for p in (0.04, 0.07, 0.2)] == ["**", "*", ""]
