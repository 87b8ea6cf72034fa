"""Averages over classes, labels and samples, compared with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, jaccard_score

from metricwise.measures import (
    MCC,
    Accuracy,
    Averaged,
    BalancedAccuracy,
    CohenKappa,
    CountsClassTables,
    FBeta,
    RocAuc,
    get_measure,
)
from metricwise.measures.averages import matrix_table

RNG = np.random.default_rng(0)
TRUTH, FOUND = RNG.integers(0, 4, 200), RNG.integers(0, 4, 200)
WEIGHT = RNG.random(200)
LABELS, GUESSED = RNG.random((50, 6)) < 0.4, RNG.random((50, 6)) < 0.4


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(("name", "score"), [("f1", f1_score), ("jaccard", jaccard_score)])
def test_multiclass_averages_equal_scikit_learn(average, weight, name, score):
    ours = get_measure(f"{name}_{average}").score(TRUTH, FOUND, weight)
    assert ours == pytest.approx(score(TRUTH, FOUND, average=average, sample_weight=weight))


@pytest.mark.parametrize("average", ["macro", "micro", "weighted", "samples"])
def test_multilabel_averages_equal_scikit_learn(average):
    ours = get_measure(f"f1_{average}").score(LABELS, GUESSED)
    assert ours == pytest.approx(f1_score(LABELS, GUESSED, average=average, zero_division=0.0))


@pytest.mark.parametrize("measure", [Accuracy(), BalancedAccuracy(), MCC(), CohenKappa()])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_multiclass_score_is_computed_from_the_tables_of_all_classes(measure, weight):
    assert isinstance(measure, CountsClassTables)
    classes = np.arange(4)
    table = matrix_table(
        TRUTH[:, None] == classes, FOUND[:, None] == classes, np.ones(200) if weight is None else weight
    )
    value = measure.of_tables(table.tp, table.fp, table.fn, table.tn)
    assert value == pytest.approx(measure.multiclass_score(TRUTH, FOUND, weight))


def test_averages_are_found_by_name():
    assert get_measure("F1-Macro") == Averaged(FBeta(), "macro")
    assert get_measure("mcc_macro").name == "matthews_corrcoef_macro"
    with pytest.raises(ValueError, match="There is no measure 'roc_auc_macro'"):
        get_measure("roc_auc_macro")


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_the_table_of_one_of_two_classes_has_the_averages_of_scikit_learn(average):
    truth, found = TRUTH > 1, FOUND > 0
    tables = matrix_table(np.column_stack([truth, truth]), np.column_stack([found, truth]), WEIGHT)
    values = Averaged(FBeta(), average).value(tables.tp, tables.fp, tables.fn, tables.tn)
    assert values == pytest.approx([f1_score(truth, found, average=average, sample_weight=WEIGHT), 1.0])


def test_measures_without_an_average_raise():
    with pytest.raises(TypeError, match="base must be a measure of the contingency table"):
        Averaged(RocAuc())
    with pytest.raises(ValueError, match="average must be one of macro, micro, weighted, samples, got 'mean'"):
        Averaged(FBeta(), "mean")
    with pytest.raises(ValueError, match="averages over samples of a multilabel target"):
        Averaged(FBeta(), "samples").score(TRUTH, FOUND)
    with pytest.raises(ValueError, match="averages over samples of a multilabel target"):
        Averaged(FBeta(), "samples").value(1.0, 1.0, 1.0, 1.0)
    with pytest.raises(TypeError, match="'f1_macro' is an average itself"):
        Averaged(Averaged(FBeta()))
    with pytest.raises(ValueError, match="must have the same shape, got"):
        Averaged(FBeta()).score(TRUTH, FOUND[:-1])
