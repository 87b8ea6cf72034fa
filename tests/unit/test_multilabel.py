"""Binary relevance and classifier chains against enumeration over all label vectors."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, fbeta_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metricwise import BinaryRelevance, ProbabilisticClassifierChain
from metricwise.estimators.multilabel.learners import probability

RNG = np.random.default_rng(0)


def make_data(n=300, seed=0):
    """Return labels that depend on features and on each other; the fourth is nearly the opposite of the first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    Y = np.zeros((n, 4), dtype=int)
    Y[:, 0] = X[:, 0] + 0.7 * rng.normal(size=n) > 0.3
    Y[:, 1] = X[:, 1] + 1.5 * Y[:, 0] + rng.normal(size=n) > 1.0
    Y[:, 2] = X[:, 2] - Y[:, 1] + rng.normal(size=n) > 0.0
    Y[:, 3] = (rng.random(n) < 0.9) ^ (Y[:, 0] == 1)
    return X, Y


X, Y = make_data()
NEW, TRUTH = make_data(seed=1)
LOGISTIC = LogisticRegression()
MODELS = {
    "relevance": lambda **settings: BinaryRelevance(**{"estimator": LOGISTIC, **settings}),
    "chain": lambda **settings: ProbabilisticClassifierChain(**{"estimator": LOGISTIC, **settings}),
    "sampled": lambda **settings: ProbabilisticClassifierChain(**{"estimator": LOGISTIC, "n_samples": 3, **settings}),
    "forest": lambda **settings: ProbabilisticClassifierChain(
        **{"estimator": GaussianNB(), "order": "random", "n_chains": 2, **settings}
    ),
}
each_model = pytest.mark.parametrize("name", MODELS)
VECTORS = np.array(list(product([0, 1], repeat=4)))


def compute_joint(model, X_new):
    """Return the product of the chain's conditional probabilities, one vector and one classifier at a time."""
    total = np.zeros((len(X_new), len(VECTORS)))
    for chain in model.chains_:
        joint = np.ones_like(total)
        for column, vector in enumerate(VECTORS):
            for k, label in enumerate(chain.order):
                before = np.tile(vector[chain.order[:k]], (len(X_new), 1))
                p = probability(chain.models[k], np.hstack([X_new, before]))
                joint[:, column] *= p if vector[label] else 1.0 - p
        total += joint
    return total / len(model.chains_)


def compute_f1(prediction, vector):
    both = prediction.sum() + vector.sum()
    return 1.0 if both == 0 else 2.0 * (prediction * vector).sum() / both


@pytest.mark.parametrize("estimator", [LOGISTIC, GaussianNB()], ids=["logistic", "bayes"])
@pytest.mark.parametrize("order", ["given", "random", [2, 0, 3, 1]], ids=["given", "random", "listed"])
def test_the_joint_distribution_equals_the_product_of_the_chain(estimator, order):
    model = ProbabilisticClassifierChain(estimator, order).fit(X, Y)
    X_new = NEW[:8]
    expected = compute_joint(model, X_new)
    vectors, joint = model._joint(X_new)
    positions = [np.flatnonzero((vectors == vector).all(axis=1))[0] for vector in VECTORS]
    np.testing.assert_allclose(joint[:, positions], expected, rtol=1e-9)
    np.testing.assert_allclose(joint.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_proba(X_new), expected @ VECTORS, rtol=1e-9)
    np.testing.assert_array_equal(model.predict_joint_mode(X_new), VECTORS[expected.argmax(axis=1)])
    expected_f = np.array([[compute_f1(one, other) for other in VECTORS] for one in VECTORS]) @ expected.T
    chosen = model.predict(X_new)
    best = [expected_f[np.flatnonzero((labels == VECTORS).all(axis=1))[0], i] for i, labels in enumerate(chosen)]
    np.testing.assert_allclose(best, expected_f.max(axis=0), rtol=1e-9)


def test_ensembles_average_the_distributions_of_their_chains():
    model = ProbabilisticClassifierChain(LOGISTIC, "random", n_chains=3).fit(X, Y)
    assert len(model.chains_) == 3 and len({tuple(order) for order in model.orders_}) > 1
    np.testing.assert_allclose(model.predict_proba(NEW[:5]), compute_joint(model, NEW[:5]) @ VECTORS, rtol=1e-9)


@pytest.mark.parametrize("estimator", [LOGISTIC, GaussianNB()], ids=["compiled", "general"])
def test_samples_follow_the_distribution(estimator):
    model = ProbabilisticClassifierChain(estimator, [3, 1, 0, 2]).fit(X, Y)
    X_new = NEW[:3]
    samples = model.sample(X_new, n_samples=20_000)
    assert samples.shape == (3, 20_000, 4) and samples.dtype == np.int8
    expected = compute_joint(model, X_new)
    positions = samples @ [8, 4, 2, 1]
    for i in range(3):
        found = np.bincount(positions[i], minlength=16) / 20_000
        assert np.abs(found - expected[i]).max() < 0.015
    np.testing.assert_array_equal(model.sample(X_new, 50), model.sample(X_new, 50))
    assert not np.array_equal(model.sample(X_new, 50), model.sample(X_new, 50, random_state=7))
    assert not np.array_equal(samples[0, :50], samples[1, :50])


def test_samples_do_not_depend_on_blocks(monkeypatch):
    from metricwise.estimators.multilabel import classifier_chain

    wide = np.hstack([Y, Y[:, ::-1], Y])  # too many labels to be listed
    model = ProbabilisticClassifierChain(LOGISTIC, n_samples=20).fit(X, wide)
    assert not model._lists_all()
    whole = model.predict(NEW), model.predict_proba(NEW)
    monkeypatch.setattr(classifier_chain, "_ENTRIES_OF_A_BLOCK", 20 * 12 * 7)
    np.testing.assert_array_equal(model.predict(NEW), whole[0])
    np.testing.assert_allclose(model.predict_proba(NEW), whole[1])


def test_beam_search_finds_the_mode_of_sampled_chains():
    listed = ProbabilisticClassifierChain(LOGISTIC).fit(X, Y)
    beam = ProbabilisticClassifierChain(LOGISTIC, n_samples=3).fit(X, Y)
    assert listed._lists_all() and not beam._lists_all()
    agree = (beam.predict_joint_mode(NEW) == listed.predict_joint_mode(NEW)).all(axis=1)
    assert agree.mean() > 0.98


# ------------------------------------------------------------------------------------------------------------- rules


@each_model
def test_each_inference_rule_is_best_for_its_measure(name):
    """Each rule scores at least about as high as the others on its own measure."""
    truth = TRUTH
    averages = {"macro_f": "macro", "micro_f": "micro", "gfm": "samples", "meuf": "samples"}
    for rule, average in averages.items():
        if name == "relevance" and rule == "gfm":
            continue
        found = f1_score(truth, MODELS[name](inference=rule).fit(X, Y).predict(NEW), average=average, zero_division=1)
        plain = f1_score(
            truth, MODELS[name](inference="hamming").fit(X, Y).predict(NEW), average=average, zero_division=1
        )
        assert found > plain - 0.01, rule


def test_the_inference_rule_may_change_after_training():
    model = MODELS["chain"]().fit(X, Y)
    np.testing.assert_array_equal(
        model.set_params(inference="hamming").predict(NEW), MODELS["chain"](inference="hamming").fit(X, Y).predict(NEW)
    )
    with pytest.raises(ValueError, match="needs thresholds, which are chosen in training: fit again"):
        model.set_params(inference="macro_f").predict(NEW)
    with pytest.raises(ValueError, match="inference must be one of"):
        model.set_params(inference="nonsense").predict(NEW)
    thresholds = MODELS["relevance"](inference="macro_f").fit(X, Y).set_params(inference="meuf")
    np.testing.assert_array_equal(thresholds.predict(NEW), MODELS["relevance"]().fit(X, Y).predict(NEW))
    np.testing.assert_array_equal(
        thresholds.set_params(inference="micro_f").predict(NEW),
        MODELS["relevance"](inference="micro_f").fit(X, Y).predict(NEW),
    )


def test_a_larger_beta_predicts_more_labels():
    for name in ("relevance", "chain"):
        few, many = (MODELS[name](beta=beta).fit(X, Y).predict(NEW).sum() for beta in (0.3, 3.0))
        assert few < many


@each_model
def test_score_is_the_measure_of_the_inference_rule(name):
    model = MODELS[name]().fit(X, Y)
    assert model.score(NEW, TRUTH) == pytest.approx(
        f1_score(TRUTH, model.predict(NEW), average="samples", zero_division=1)
    )
    macro = MODELS[name](inference="macro_f").fit(X, Y)
    assert macro.score(NEW, TRUTH) == pytest.approx(f1_score(TRUTH, macro.predict(NEW), average="macro"))
    assert macro.threshold_.shape == (4,) and len(set(macro.threshold_)) > 1
    micro = MODELS[name](inference="micro_f").fit(X, Y)
    assert len(set(micro.threshold_)) == 1


@each_model
def test_decisions_hold_the_score_to_expect(name):
    model = MODELS[name](inference="macro_f").fit(X, Y)
    decision = model._decisions["macro_f"]
    low, high = decision.expected_interval
    assert low < decision.expected_score < high
    assert low - 0.05 < model.score(NEW, TRUTH) < high + 0.05
    np.testing.assert_array_equal(model.threshold_, expit(decision.threshold))
    assert MODELS[name]().fit(X, Y).threshold_ is None


@pytest.mark.parametrize(("rule", "average"), [("meuf", "samples"), ("macro_f", "macro"), ("micro_f", "micro")])
def test_score_counts_what_is_rightly_left_without_labels_as_one(rule, average):
    unused = np.column_stack([TRUTH, np.zeros(len(TRUTH))])
    model = BinaryRelevance(LOGISTIC, rule, beta=2.0).fit(X, np.column_stack([Y, np.zeros(len(Y))]))
    weights = RNG.integers(1, 4, len(NEW))
    expected = fbeta_score(
        unused, model.predict(NEW), beta=2.0, average=average, zero_division=1, sample_weight=weights
    )
    assert model.score(NEW, unused, sample_weight=weights) == pytest.approx(expected)


# -------------------------------------------------------------------------------------------------------------- data


@each_model
def test_sparse_samples_and_labels_are_accepted(name):
    dense = MODELS[name]().fit(X, Y)
    if name == "forest":  # naive Bayes accepts dense samples only
        return
    found = MODELS[name]().fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    labels = found.predict(sparse.csr_matrix(NEW))
    assert sparse.issparse(labels)
    assert (labels.toarray() == dense.predict(NEW)).mean() > 0.99
    np.testing.assert_allclose(found.predict_proba(sparse.csr_matrix(NEW)), dense.predict_proba(NEW), atol=1e-3)


@each_model
def test_constant_labels_are_predicted_as_constant(name):
    wide = np.column_stack([Y, np.zeros(len(Y)), np.ones(len(Y))])
    labels = MODELS[name]().fit(X, wide).predict(NEW)
    assert not labels[:, 4].any() and labels[:, 5].all()
    proba = MODELS[name]().fit(X, wide).predict_proba(NEW)
    np.testing.assert_allclose(proba[:, 4], 0.0)
    np.testing.assert_allclose(proba[:, 5], 1.0)


def test_rare_labels_get_the_default_classifier():
    rare = np.zeros((len(Y), 2), dtype=int)
    rare[:2, 0] = 1
    rare[::2, 1] = 1
    model = BinaryRelevance().fit(X, rare)
    assert model.estimators_[0].C == 1.0
    assert model.estimators_[1].C < 1.0  # this label is noise, which strong regularisation predicts best


def test_sorted_samples_do_not_bias_the_choice_of_c():
    """Each third of the samples has an informative feature; a shared feature is inverted in the last third.

    Without shuffling, each fold is one third, and the other two mislead the model about it.
    """
    sign = np.tile([-1, 1], 30)
    own = np.eye(3)[np.repeat(np.arange(3), 20)] * sign[:, None]
    X_new = np.column_stack([own, own @ [1, 1, -1]])
    labels = np.column_stack([sign > 0, sign < 0]).astype(int)
    assert [model.C for model in BinaryRelevance().fit(X_new, labels).estimators_] == [100.0, 100.0]
    search = GridSearchCV(LogisticRegression(), {"C": [0.01, 100.0]}, cv=3, scoring="neg_log_loss")
    assert search.fit(X_new, labels[:, 0]).best_params_["C"] == 0.01


def test_pipelines_grid_search_clone_and_pickle_work():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make_pipeline(StandardScaler(), ProbabilisticClassifierChain(LOGISTIC)).fit(frame, pd.DataFrame(Y))
    assert model.predict(frame).shape == Y.shape
    search = GridSearchCV(
        BinaryRelevance(LOGISTIC),
        {"estimator__C": [0.01, 1.0], "inference": ["meuf", "hamming"]},
        scoring="f1_samples",
        cv=3,
    ).fit(X, Y)
    assert search.best_params_["inference"] == "meuf"
    assert cross_val_score(ProbabilisticClassifierChain(LOGISTIC), X, Y, cv=3, scoring="f1_micro").min() > 0.5
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(copy.predict(NEW), search.best_estimator_.predict(NEW))
    assert clone(model[-1]).get_params()["order"] == "given"
    forest = ProbabilisticClassifierChain(RandomForestClassifier(5, random_state=0), n_jobs=2).fit(X, Y)
    assert forest.predict(NEW).shape == TRUTH.shape


def test_sample_weights_are_passed_to_the_estimators():
    weights = np.where(Y[:, 0] == 1, 5.0, 1.0)
    plain, heavy = (MODELS["chain"]().fit(X, Y, sample_weight=w) for w in (None, weights))
    assert heavy.predict_proba(NEW)[:, 0].mean() > plain.predict_proba(NEW)[:, 0].mean() + 0.05


# -------------------------------------------------------------------------------------------------------- bad input


@each_model
@pytest.mark.parametrize("method", ["predict", "predict_proba", "score"])
def test_untrained_models_raise(name, method):
    with pytest.raises(NotFittedError):
        getattr(MODELS[name](), method)(*((X, Y) if method == "score" else (X,)))


INVALID = {
    "one column of labels": (lambda m: m.fit(X, Y[:, 0]), r"shape \(300,\)"),
    "lists": (lambda m: m.fit(X, [["a"], ["b", "c"]] * 150), "convert lists of labels with MultiLabelBinarizer"),
    "lengths": (lambda m: m.fit(X, Y[:-1]), "X has 300 samples but y has 299"),
    "not 0 or 1": (lambda m: m.fit(X, 2 * Y), r"y\[\d+, \d+\] is 2: its entries must be 0 or 1"),
    "nan": (
        lambda m: m.fit(X, np.where(Y == 1, np.nan, 0.0)),
        r"y\[\d+, \d+\] is nan",
    ),
    "text": (lambda m: m.fit(X, np.full(Y.shape, "a")), "no number"),
    "no labels": (lambda m: m.fit(X, Y[:, :0]), "no columns"),
    "nan in X": (lambda m: m.fit(np.where(X > 1, np.nan, X), Y), "NaN"),
    "negative weights": (lambda m: m.fit(X, Y, 1.0 - 2.0 * Y[:, 0]), "Negative values"),
    "no weight": (lambda m: m.fit(X, Y, np.zeros(300)), "sample_weight is zero for every sample"),
    "rule": (lambda m: m.set_params(inference="best").fit(X, Y), "inference must be one of"),
    "beta": (lambda m: m.set_params(beta=0.0).fit(X, Y), "'beta' parameter"),
}


@each_model
@pytest.mark.parametrize("case", INVALID)
def test_invalid_input_raises(name, case):
    model = MODELS[name]()
    with pytest.raises(ValueError, match=INVALID[case][1]):
        INVALID[case][0](model)
    assert not hasattr(model, "n_labels_") and not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"order": [0, 1, 2]}, "every number from 0 to 3 once"),
        ({"order": [0, 1, 2, 2]}, "every number from 0 to 3 once"),
        ({"n_chains": 2}, "set order='random'"),
        ({"n_samples": 0}, "'n_samples' parameter"),
    ],
    ids=["short", "twice", "alike", "no samples"],
)
def test_invalid_chains_raise(settings, match):
    with pytest.raises(ValueError, match=match):
        ProbabilisticClassifierChain(LOGISTIC, **settings).fit(X, Y)
