"""One trained model of every kind that model files hold, each with the samples to predict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

import metricwise as mw

X, y = make_classification(160, 8, weights=[0.7], random_state=0)
THREE_X, THREE_Y = make_classification(160, 8, n_informative=5, n_classes=3, random_state=0)
LABELS_X, LABELS_Y = make_multilabel_classification(100, 8, n_classes=3, random_state=0)
SPARSE = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
WORDS = np.array(["no", "yes"])[y]
PAIRS = np.arange(160) // 2
RARE_Y = (np.arange(400) % 40 == 0).astype(int)
RARE_X = np.random.default_rng(0).normal(size=(400, 5)) + 0.5 * RARE_Y[:, None]
FRAME = pd.DataFrame(X.copy(), columns=[f"column {k}" for k in range(8)])
FRAME["colour"] = pd.Categorical(np.where(X[:, 0] > 0.0, "red", np.where(X[:, 1] > 0.0, "green", "blue")))
FRAME.loc[::17, "column 2"] = np.nan
MONEY = pd.DataFrame(X, columns=list("abcdefgh")).assign(amount=np.exp(X[:, 0]), region=np.arange(160.0) % 2)
NOTES = [f"seen {word} at gate {k}" for k, word in enumerate(WORDS)]
DATED = FRAME.assign(day=pd.date_range("2024-01-01", periods=160, freq="7h"), note=NOTES)


def _fit_plug_in(learner: Any) -> Any:
    return mw.PlugInClassifier(learner, cv=2).fit(X, y)


def _fit_column_pipeline() -> Any:
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), slice(0, 8)),
            ("words", OneHotEncoder(handle_unknown="ignore", dtype=np.float32), ["colour"]),
        ]
    )
    return make_pipeline(columns, mw.MultivariateSVC("f1")).fit(FRAME, y)


def _fit_feature_pipeline() -> Any:
    union = FeatureUnion(
        [("pca", PCA(3)), ("bins", KBinsDiscretizer(3, encode="onehot-dense")), ("poly", PolynomialFeatures())]
    )
    return make_pipeline(
        FunctionTransformer(np.tanh),
        QuantileTransformer(n_quantiles=10),
        union,
        SelectKBest(f_classif, k=6),
        mw.AMPClassifier("f1"),
    ).fit(X, y)


def _fit_on_categories() -> Any:
    codes = OrdinalEncoder().fit_transform(FRAME[["colour"]])
    samples = np.hstack([X, codes])
    boosting = HistGradientBoostingClassifier(max_iter=5, categorical_features=[8], random_state=0)
    return mw.PlugInClassifier(boosting, cv=2).fit(samples, y), samples


def _make_hashed() -> tuple[Any, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        FRAME.assign(y=y).to_csv(path, index=False)
        return mw.STAMPClassifier("f1").fit_stream(path, texts=["colour"], hash_features=16), FRAME


def _make_stack() -> Any:
    trees = RandomForestClassifier(5, random_state=0)
    return StackingClassifier([("trees", trees), ("line", LogisticRegression())], LogisticRegression(), cv=2)


def _make_voting() -> Any:
    return VotingClassifier([("bayes", GaussianNB()), ("discriminant", LinearDiscriminantAnalysis())], voting="soft")


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "multivariate SVM": lambda: (mw.MultivariateSVC("f1", random_state=np.random.RandomState(3)).fit(X, y), X),
    "multivariate SVM, words": lambda: (mw.MultivariateSVC(mw.FBeta(2.0), pos_label="no").fit(X, WORDS), X),
    "multivariate SVM, sparse": lambda: (mw.MultivariateSVC("f1", warm_start=True).fit(SPARSE, y), SPARSE),
    "multivariate SVM, classes": lambda: (mw.MultivariateSVC("f1", multi_class="ovr").fit(THREE_X, THREE_Y), THREE_X),
    "multivariate SVM, kernel": lambda: (mw.MultivariateSVC("f1", kernel="rbf").fit(X, y), X),
    "multivariate SVM, sparse kernel": lambda: (mw.MultivariateSVC("f1", kernel="poly").fit(SPARSE, y), SPARSE),
    "multivariate SVM, matrix": lambda: (mw.MultivariateSVC("f1", kernel="precomputed").fit(X @ X.T, y), X @ X.T),
    "multivariate SVM, pursuit": lambda: (
        mw.MultivariateSVC("f1", kernel="rbf", approximation="cpsp", n_basis=6).fit(X, y),
        X,
    ),
    "multivariate SVM, fallback": lambda: (mw.MultivariateSVC("f1").fit(RARE_X, RARE_Y), RARE_X),
    "multivariate SVM, top": lambda: (mw.MultivariateSVC(mw.PrecisionAtK(20)).fit(X, y), X),
    "smoothed SVM": lambda: (mw.SmoothedSVC("prbep", threshold="train", pos_label="yes").fit(SPARSE, WORDS), SPARSE),
    "selecting SVM": lambda: (mw.FeatureSelectingSVC("f1", 3).fit(SPARSE, y), SPARSE),
    "selecting SVM, fallback": lambda: (mw.FeatureSelectingSVC("f1", 2, cv=2).fit(RARE_X, RARE_Y), RARE_X),
    "SPADE": lambda: (mw.SPADEClassifier("g_mean", n_passes=3).fit(X, y), X),
    "online": lambda: (mw.OnlineMetricClassifier(half_life=50).fit(X, y), X),
    "online, window": lambda: (mw.OnlineMetricClassifier(GaussianNB(), window=60).fit(X, y), X),
    "online, classes": lambda: (mw.OnlineMetricClassifier(measure="f1_macro").fit(THREE_X, THREE_Y), THREE_X),
    "online, labels": lambda: (mw.OnlineMetricClassifier(measure="f1_micro").fit(LABELS_X, LABELS_Y), LABELS_X),
    "SPADE, stream": lambda: (mw.SPADEClassifier("g_mean").partial_fit(X, y, classes=[0, 1]), X),
    "STAMP": lambda: (mw.STAMPClassifier("f1").fit(SPARSE, y), SPARSE),
    "STAMP, hashed": _make_hashed,
    "mini-batches": lambda: (mw.MiniBatchSVC("f1").partial_fit(X, y, classes=[0, 1]), X),
    "mini-batches, sparse": lambda: (mw.MiniBatchSVC("f1").partial_fit(SPARSE, y, classes=[0, 1]), SPARSE),
    "AMP": lambda: (mw.AMPClassifier("f1").fit(X, y), X),
    "sparse coding": lambda: (mw.SparseCodingClassifier("f1", 12, max_iter=3, cv=2, pos_label="yes").fit(X, WORDS), X),
    "sparse coding, sparse": lambda: (mw.SparseCodingClassifier("f1", 5, variant="fixed").fit(SPARSE, y), SPARSE),
    "sparse coding, classes": lambda: (
        mw.SparseCodingClassifier("f1", 5, max_iter=3, threshold=0.0).fit(THREE_X, THREE_Y),
        THREE_X,
    ),
    "AUC SVM": lambda: (mw.AUCSVC().fit(X, y), X),
    "AUC SVM, squares": lambda: (mw.AUCSVC(norm=2, kernel="rbf").fit(X, y), X),
    "ranking SVM": lambda: (mw.RankingSVC(mw.NDCG(gain="exponential")).fit(X, y, groups=np.arange(len(y)) % 5), X),
    "labels": lambda: (mw.BinaryRelevance(inference="meuf").fit(LABELS_X, LABELS_Y), LABELS_X),
    "labels, sparse": lambda: (
        mw.BinaryRelevance(LogisticRegression(), inference="macro_f").fit(LABELS_X, sparse.csr_matrix(LABELS_Y)),
        LABELS_X,
    ),
    "labels, constant": lambda: (
        mw.BinaryRelevance(LogisticRegression()).fit(LABELS_X, LABELS_Y * np.array([1, 0, 1])),
        LABELS_X,
    ),
    "labels, chain": lambda: (mw.ProbabilisticClassifierChain().fit(LABELS_X, LABELS_Y), LABELS_X),
    "labels, chain of trees": lambda: (
        mw.ProbabilisticClassifierChain(ExtraTreesClassifier(5, random_state=0)).fit(LABELS_X, LABELS_Y),
        LABELS_X,
    ),
    "plug-in": lambda: (
        mw.PlugInClassifier(LogisticRegression(), cv=StratifiedKFold(3), pos_label="yes").fit(X, WORDS),
        X,
    ),
    "plug-in, adapted": lambda: (
        mw.adapt_prior(mw.PlugInClassifier(LogisticRegression(), cv=2).fit(X, y), prior=0.3),
        X,
    ),
    "plug-in, classes": lambda: (
        mw.PlugInClassifier(RandomForestClassifier(5, random_state=0), "f1_macro").fit(THREE_X, THREE_Y),
        THREE_X,
    ),
    "plug-in, labels": lambda: (
        mw.PlugInClassifier(LogisticRegression(), "f1_macro").fit(LABELS_X, LABELS_Y),
        LABELS_X,
    ),
    "plug-in, groups": lambda: (
        mw.PlugInClassifier(LogisticRegression(), "roc_auc").fit(X, y, groups=np.arange(160) // 4),
        X,
    ),
    "plug-in, batch": lambda: (mw.PlugInClassifier(LinearSVC(), threshold="batch").fit(X, y), X),
    "plug-in, guarantee": lambda: (
        mw.PlugInClassifier(GaussianNB(), subject_to=[("recall", ">=", 0.5)]).fit(X, y),
        X,
    ),
    "plug-in, recall at precision": lambda: (
        mw.PlugInClassifier(LogisticRegression(), mw.RecallAtPrecision(0.6), confidence=None).fit(X, y),
        X,
    ),
    "plug-in, by group": lambda: (
        mw.PlugInClassifier(
            LogisticRegression(), subject_to="recall>=0.3 by region", confidence=None, group_thresholds=True
        ).fit(MONEY, y),
        MONEY,
    ),
    "plug-in, profit": lambda: (
        mw.PlugInClassifier(LogisticRegression(), mw.Profit(tp="amount", fp=-1, fn="-2*amount"), cv=2).fit(MONEY, y),
        MONEY,
    ),
    "plug-in, gains": lambda: (
        mw.PlugInClassifier(LogisticRegression(), "g_mean", threshold="gains", cv=2).fit(THREE_X, THREE_Y),
        THREE_X,
    ),
    "plug-in, costs": lambda: (
        mw.PlugInClassifier(LogisticRegression(), mw.CostMatrix([[0, 1, 2], [3, 0, 1], [5, 1, 0]])).fit(
            THREE_X, THREE_Y
        ),
        THREE_X,
    ),
    "triage": lambda: (
        mw.TriageClassifier(LogisticRegression(), capacity=0.2, cv=3, pos_label="yes").fit(X, WORDS, groups=PAIRS),
        X,
    ),
    "triage, guarantee": lambda: (
        mw.TriageClassifier(GaussianNB(), subject_to="npv>=0.6", cv=3).fit(X, y),
        X,
    ),
    "class weights": lambda: (mw.CostSensitiveClassifier(LogisticRegression()).fit(X, y), X),
    "adapted": lambda: (
        mw.AdaptedSVC("f1", [("bayes", GaussianNB()), ("line", LogisticRegression())], cv=3, pos_label="no").fit(
            X, WORDS
        ),
        X,
    ),
    "adapted, sparse": lambda: (
        mw.AdaptedSVC("roc_auc", [("constant", DummyClassifier())], cv=3, feature_scaling=1.0).fit(SPARSE, y),
        SPARSE,
    ),
    "adapted, default": lambda: (mw.AdaptedSVC("f1", cv=3, tol=1e-2).fit(FRAME, y), FRAME),
    "model selection": lambda: (
        mw.MetricClassifier("f1", candidates=["extra_trees", "multivariate_svm"]).fit(X, y),
        X,
    ),
    "model selection, frame": lambda: (
        mw.MetricClassifier("f1", candidates=["boosted_trees"], pos_label="yes").fit(FRAME, WORDS),
        FRAME,
    ),
    "model selection, frame of numbers": lambda: (
        mw.MetricClassifier("f1", candidates=["logistic"]).fit(FRAME, y),
        FRAME,
    ),
    "model selection, dates and texts": lambda: (
        mw.MetricClassifier("f1", candidates=["logistic"], cv=3).fit(DATED, y),
        DATED,
    ),
    "model selection, mixture": lambda: (
        mw.MetricClassifier(
            "roc_auc", candidates={"a": LogisticRegression(), "b": GaussianNB(), "c": mw.AUCSVC(), "d": SVC()}
        ).fit(X, y),
        X,
    ),
    "model selection, sparse": lambda: (
        mw.MetricClassifier("f1", candidates=["boosted_trees"]).fit(SPARSE, y),
        SPARSE,
    ),
    "model selection, classes": lambda: (
        mw.MetricClassifier("f1_macro", candidates=["logistic"]).fit(THREE_X, THREE_Y),
        THREE_X,
    ),
    "model selection, labels": lambda: (
        mw.MetricClassifier("f1_macro", candidates=["logistic"]).fit(LABELS_X, LABELS_Y),
        LABELS_X,
    ),
    "pipeline of columns": lambda: (_fit_column_pipeline(), FRAME),
    "pipeline of features": lambda: (_fit_feature_pipeline(), X),
    "pipeline of a kernel": lambda: (
        make_pipeline(MaxAbsScaler(), Nystroem(n_components=20), mw.AUCSVC()).fit(X, y),
        X,
    ),
    "boosted trees": lambda: (_fit_plug_in(GradientBoostingClassifier(n_estimators=4)), X),
    "boosted categories": _fit_on_categories,
    "boosted stumps": lambda: (_fit_plug_in(AdaBoostClassifier(n_estimators=4)), X),
    "bags": lambda: (_fit_plug_in(BaggingClassifier(n_estimators=3)), X),
    "stack": lambda: (_fit_plug_in(_make_stack()), X),
    "votes": lambda: (_fit_plug_in(_make_voting()), X),
    "network": lambda: (_fit_plug_in(MLPClassifier((4,), max_iter=20)), X),
    "gradient steps": lambda: (_fit_plug_in(SGDClassifier()), X),
    "neighbours": lambda: (_fit_plug_in(KNeighborsClassifier()), X),
    "kernel machine": lambda: (_fit_plug_in(SVC()), X),
    "sparse kernel machine": lambda: (mw.PlugInClassifier(SVC()).fit(SPARSE, y), SPARSE),
    "kernel machine of classes": lambda: (mw.PlugInClassifier(SVC(), "f1_macro").fit(THREE_X, THREE_Y), THREE_X),
    "calibrated": lambda: (_fit_plug_in(CalibratedClassifierCV(LinearSVC(), cv=2)), X),
    "calibrated, isotonic": lambda: (_fit_plug_in(CalibratedClassifierCV(LinearSVC(), method="isotonic", cv=2)), X),
}


def predict_all(model: Any, samples: Any) -> dict[str, np.ndarray]:
    """Return all predictions of a model for samples, by method."""
    found = {}
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            values = getattr(model, method)(samples)
            found[method] = values.toarray() if sparse.issparse(values) else np.asarray(values)
    return found
