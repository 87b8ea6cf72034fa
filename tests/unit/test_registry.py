"""The registry of measures: names, aliases, parameters and hints."""

from __future__ import annotations

import pytest

from metricwise import measure_names
from metricwise.measures import (
    MCC,
    NDCG,
    Averaged,
    ConcaveInRates,
    FBeta,
    GainsByRank,
    GowerLegendre,
    HasMulticlassValue,
    Jaccard,
    PartialAuc,
    PrecisionAtK,
    PrecisionAtRecall,
    RanksPairs,
    RecallAtK,
    RecallAtPrecision,
    TwoWayPartialAuc,
    contingency_measure,
    get_measure,
    register,
    registered_names,
    registry,
)

NAMES = (
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "cohen_kappa",
    "f0.5",
    "f1",
    "f2",
    "g_mean",
    "gower_legendre",
    "h_mean",
    "jaccard",
    "matthews_corrcoef",
    "min_rate",
    "ndcg",
    "npv",
    "partial_roc_auc",
    "prbep",
    "precision",
    "precision_at_k",
    "precision_at_recall",
    "q_mean",
    "recall",
    "recall_at_k",
    "recall_at_precision",
    "reciprocal_rank",
    "roc_auc",
    "specificity",
    "two_way_partial_auc",
)


@pytest.fixture
def restored_registry(monkeypatch):
    """Undo the registrations of a test."""
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    monkeypatch.setattr(registry, "_NAMES", dict(registry._NAMES))


def test_names_are_sorted_and_complete():
    assert registered_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_is_found_by_its_name(name):
    assert get_measure(name).name == name
    assert get_measure(name) == get_measure(name)


def test_names_can_be_filtered_by_capability():
    assert registered_names(needs=RanksPairs) == ("partial_roc_auc", "roc_auc", "two_way_partial_auc")
    assert registered_names(GainsByRank) == ("average_precision", "ndcg", "reciprocal_rank")
    assert registered_names(ConcaveInRates) == ("balanced_accuracy", "g_mean", "h_mean", "min_rate", "q_mean")
    assert registered_names(HasMulticlassValue) == (
        *("accuracy", "balanced_accuracy", "cohen_kappa", "g_mean", "h_mean"),
        *("matthews_corrcoef", "min_rate", "q_mean"),
    )
    assert registered_names(Jaccard) == ("jaccard",)
    assert get_measure("NDCG@10") == NDCG(k=10)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("F1", "f1"),
        ("G-Mean", "g_mean"),
        ("gmean", "g_mean"),
        ("mcc", "matthews_corrcoef"),
        ("AUC", "roc_auc"),
        ("ROC AUC", "roc_auc"),
        ("kappa", "cohen_kappa"),
        ("partial_auc", "partial_roc_auc"),
        ("Two-way partial ROC AUC", "two_way_partial_auc"),
        ("F0.5", "f0.5"),
    ],
)
def test_spellings_and_aliases_are_recognised(spelling, name):
    assert get_measure(spelling).name == name


def test_a_measure_is_returned_unchanged():
    for measure in (FBeta(3.0), contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fn), "mine")):
        assert get_measure(measure) is measure


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("f11", "did you mean 'f1'"),
        ("jacard", "did you mean 'jaccard'"),
        ("mc", "did you mean 'matthews_corrcoef'"),
        ("balanced", "did you mean 'balanced_accuracy'"),
    ],
)
def test_unknown_names_raise_with_a_hint_and_the_list(name, hint):
    with pytest.raises(ValueError, match=hint) as caught:
        get_measure(name)
    assert all(known in str(caught.value) for known in NAMES)


def test_names_without_a_similar_one_raise_with_the_list_only():
    with pytest.raises(ValueError, match=r"There is no measure 'zzzzzz'\. The names are: accuracy, "):
        get_measure("zzzzzz")


def test_a_measure_class_raises():
    with pytest.raises(TypeError, match=r"call it to get a measure: FBeta\(\)"):
        get_measure(FBeta)


@pytest.mark.parametrize("thing", [None, 3, ["f1"], lambda tp, fp, fn, tn: tp])
def test_other_types_raise(thing):
    with pytest.raises(TypeError, match=r"name of a measure or a measure, got .*contingency_measure"):
        get_measure(thing)


@pytest.mark.usefixtures("restored_registry")
def test_registered_aliases_are_found():
    register("f3", lambda: FBeta(3.0), aliases=["f_three"])
    assert get_measure("F-Three") == get_measure("f3") == FBeta(3.0)
    assert "f3" in registered_names() and "f_three" not in registered_names()


@pytest.mark.usefixtures("restored_registry")
def test_registering_a_taken_name_raises():
    for name, aliases in (("f1", []), ("F-1", []), ("mcc", []), ("new", ["f1"])):
        with pytest.raises(ValueError, match="is taken by measure"):
            register(name, MCC, aliases)
    with pytest.raises(ValueError, match="'auc' is taken by measure 'roc_auc'"):
        register("new", MCC, ["auc"], overwrite=True)
    assert registered_names() == NAMES


@pytest.mark.usefixtures("restored_registry")
def test_registering_can_overwrite():
    register("f1", lambda: FBeta(3.0), overwrite=True)
    assert get_measure("f1") == FBeta(3.0)


@pytest.mark.parametrize("factory", [FBeta(), lambda: 3, lambda: FBeta])
def test_registering_requires_a_factory_of_measures(factory):
    with pytest.raises(TypeError, match="factory must be callable without arguments"):
        register("new", factory)


@pytest.mark.parametrize("name", ["", " - "])
def test_registering_requires_a_valid_name(name):
    with pytest.raises(ValueError, match="empty name"):
        register(name, FBeta)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f-beta:2", FBeta(2.0)),
        ("F_beta: 0.5", FBeta(0.5)),
        ("gower-legendre:0.5", GowerLegendre(0.5)),
        ("partial-auc:0.05", PartialAuc(max_fpr=0.05)),
        ("two-way-partial-auc: 0.3, 0.7", TwoWayPartialAuc(max_fpr=0.3, min_tpr=0.7)),
        ("precision@100", PrecisionAtK(100)),
        ("precision-at-k:100", PrecisionAtK(100)),
        ("recall@5%", RecallAtK(0.05, of="samples")),
        ("Recall@Precision:0.95", RecallAtPrecision(0.95)),
        ("precision@recall:0.7", PrecisionAtRecall(0.7)),
        ("f-beta:2-macro", Averaged(FBeta(2.0), "macro")),
        ("f-beta:2_samples", Averaged(FBeta(2.0), "samples")),
    ],
)
def test_parameters_are_parsed_from_text(text, expected):
    assert get_measure(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f-beta:two", "parameter 'two' of the measure 'f-beta:two'"),
        ("f-beta:-1", "above zero|positive"),
        ("precision@", "parameter ''"),
        ("precision@0.5", "parameter '0.5'"),
        ("recall@500%", "at most 1.0"),
        ("recall@0%", "positive"),
        ("f1:2", "no measure with a parameter 'f1:2'"),
        ("accuracy@5", "no measure with a parameter"),
        ("recall@precision:1.5", "does not fit"),
        ("two-way-partial-auc:0.3", "largest false positive and the smallest true positive rate, such as 0.3,0.7"),
        ("two-way-partial-auc:0.3,1", "min_tpr must be at least 0 and below 1"),
    ],
)
def test_invalid_parameters_raise(text, message):
    with pytest.raises(ValueError, match=message):
        get_measure(text)


def test_k_may_be_a_percentage_of_the_samples():
    measure = get_measure("recall@50%")
    assert measure.predicted_positives(1.0, 8.0) == 4.0
    y, scores = [1, 0, 1, 0, 1, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    assert measure.score(y, scores) == pytest.approx(2 / 3)  # two of three positives are among the first four samples
    assert measure != RecallAtK(0.5)


def test_measure_names_of_wrapping_estimators():
    shares = {"npv", "precision", "recall", "specificity"}  # for evaluation and constraints
    trained_for = tuple(name for name in measure_names() if name not in shares)
    assert measure_names("PlugInClassifier") == measure_names("MetricClassifier") == trained_for
    assert measure_names("AdaptedSVC") == measure_names("MultivariateSVC")
    cost_sensitive = measure_names("CostSensitiveClassifier")
    assert {"f1", "g_mean"} < set(cost_sensitive) and "roc_auc" not in cost_sensitive
