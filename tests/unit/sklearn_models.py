"""Fitted estimators of every class of scikit-learn that model files hold, in settings that change what they store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import (
    calibration,
    compose,
    decomposition,
    discriminant_analysis,
    dummy,
    ensemble,
    feature_extraction,
    feature_selection,
    frozen,
    impute,
    isotonic,
    kernel_approximation,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.feature_extraction import text

X, y = make_classification(60, 5, n_informative=3, random_state=0)
THREE_X, THREE_Y = make_classification(60, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
LABELS_X, LABELS_Y = make_multilabel_classification(60, 5, n_classes=3, random_state=0)
COUNTS = np.abs(np.round(3 * X))
SPARSE = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
WORDS = np.array(["no", "yes"])[y]
GAPS = np.where(np.abs(X) < 0.2, np.nan, X)
COLOURS = np.array(["red", "green", "blue", "red", "red"], dtype=object)[COUNTS[:, :2].astype(int) % 5]
FRAME = pd.DataFrame({"a": X[:, 0], "b": GAPS[:, 1], "colour": COLOURS[:, 0], "c": COUNTS[:, 3].astype(int)})
TEXTS = [f"the {a} bird met {b} cats" for a, b in COLOURS]
RECORDS = [{"colour": a, "size": float(k % 7)} for k, (a, _) in enumerate(COLOURS)]

Fitted = tuple[Any, Any]


def _fit(model: Any, samples: Any = X, labels: Any = y) -> Fitted:
    return model.fit(samples, labels), samples


def _fit_three(model: Any) -> Fitted:
    return _fit(model, THREE_X, THREE_Y)


def _fit_labels(model: Any) -> Fitted:
    return _fit(model, LABELS_X, LABELS_Y)


def _columns(**settings: Any) -> Any:
    parts = [
        ("numbers", pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()), ["a", "b"]),
        ("words", preprocessing.OneHotEncoder(handle_unknown="ignore"), [2]),
    ]
    return compose.ColumnTransformer(parts, **settings)


def _fit_columns(**settings: Any) -> Fitted:
    model = pipeline.make_pipeline(_columns(**settings), linear_model.LogisticRegression())
    return _fit(model, FRAME)


def _two(combine: Any, **settings: Any) -> Any:
    return combine([("bayes", naive_bayes.GaussianNB()), ("line", linear_model.LogisticRegression())], **settings)


def _step(transformer: Any, samples: Any = X, labels: Any = y) -> Fitted:
    """Fit a transformer in front of a classifier."""
    return _fit(pipeline.make_pipeline(transformer, linear_model.LogisticRegression()), samples, labels)


def _keep_known(cls: Any, **settings: Any) -> dict[str, Any]:
    """Return the settings that a class has in the installed version of scikit-learn."""
    return {name: value for name, value in settings.items() if name in cls._get_param_names()}


linear, trees, p = linear_model, ensemble, preprocessing
_LEGACY, _NEW = (
    _keep_known(linear.LogisticRegressionCV, use_legacy_attributes=is_legacy) for is_legacy in (True, False)
)
_QUANTILES = _keep_known(p.KBinsDiscretizer, quantile_method="averaged_inverted_cdf")

MODELS: dict[str, Callable[[], Fitted]] = {
    "logistic": lambda: _fit(linear.LogisticRegression()),
    "logistic, classes": lambda: _fit_three(linear.LogisticRegression(class_weight="balanced", random_state=0)),
    "logistic, frame": lambda: _fit(linear.LogisticRegression(C=2), FRAME[["a", "c"]], WORDS),
    "logistic, sparsified": lambda: (linear.LogisticRegression().fit(X, y).sparsify(), X),
    "logistic CV": lambda: _fit(linear.LogisticRegressionCV(Cs=2, cv=2, scoring="f1", **_LEGACY)),
    "logistic CV, classes": lambda: _fit_three(linear.LogisticRegressionCV(Cs=2, cv=2, scoring="accuracy", **_NEW)),
    "perceptron": lambda: _fit(linear.Perceptron()),
    "ridge": lambda: _fit(linear.RidgeClassifier()),
    "ridge, classes": lambda: _fit_three(linear.RidgeClassifier()),
    "SGD": lambda: _fit(linear.SGDClassifier(average=True)),
    "SGD, log loss": lambda: _fit_three(linear.SGDClassifier(loss="log_loss", early_stopping=True)),
    "linear SVM": lambda: _fit(svm.LinearSVC()),
    "linear SVM, classes": lambda: _fit_three(svm.LinearSVC()),
    "calibrated": lambda: _fit(calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=2)),
    "calibrated, isotonic": lambda: _fit_three(
        calibration.CalibratedClassifierCV(svm.LinearSVC(), method="isotonic", cv=2, ensemble=False)
    ),
    "calibrated, frozen": lambda: _fit(
        calibration.CalibratedClassifierCV(frozen.FrozenEstimator(linear.LogisticRegression().fit(X, y)), cv=2)
    ),
    "threshold": lambda: _fit(
        model_selection.FixedThresholdClassifier(linear.LogisticRegression(), threshold=0.4, pos_label=1)
    ),
    "discriminant": lambda: _fit(discriminant_analysis.LinearDiscriminantAnalysis()),
    "discriminant, classes": lambda: _fit_three(
        discriminant_analysis.LinearDiscriminantAnalysis(store_covariance=True)
    ),
    "discriminant, least squares": lambda: _fit_three(discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr")),
    "discriminant, eigen": lambda: _fit_three(discriminant_analysis.LinearDiscriminantAnalysis(solver="eigen")),
    "quadratic discriminant": lambda: _fit_three(
        discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1, store_covariance=True)
    ),
    "dummy": lambda: _fit(dummy.DummyClassifier()),
    "dummy, words": lambda: _fit(dummy.DummyClassifier(strategy="constant", constant="no"), X, WORDS),
    "dummy, uniform": lambda: _fit_three(dummy.DummyClassifier(strategy="uniform", random_state=0)),
    "dummy, labels": lambda: _fit_labels(dummy.DummyClassifier()),
    "tree": lambda: _fit(tree.DecisionTreeClassifier(max_depth=3)),
    "tree, labels": lambda: _fit_labels(tree.ExtraTreeClassifier(max_depth=3)),
    "regression tree": lambda: _fit(tree.DecisionTreeRegressor(max_depth=3)),
    "forest": lambda: _fit(trees.RandomForestClassifier(3, max_depth=3, oob_score=True), X, WORDS),
    "forest, labels": lambda: _fit_labels(trees.ExtraTreesClassifier(3, max_depth=3)),
    "boosting": lambda: _fit(trees.GradientBoostingClassifier(n_estimators=3)),
    "boosting, classes": lambda: _fit_three(
        trees.GradientBoostingClassifier(n_estimators=3, subsample=0.5, n_iter_no_change=2)
    ),
    "boosting, exponential": lambda: _fit(
        trees.GradientBoostingClassifier(n_estimators=3, init="zero", loss="exponential")
    ),
    "histograms": lambda: _fit(trees.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5), GAPS, WORDS),
    "histograms, classes": lambda: _fit_three(
        trees.HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, early_stopping=True)
    ),
    "histograms, categories": lambda: _fit(
        trees.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, categorical_features=["colour"]),
        FRAME.astype({"colour": "category"}),
    ),
    "histograms, codes": lambda: _fit(
        trees.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, categorical_features=[0]), COUNTS
    ),
    "AdaBoost": lambda: _fit_three(trees.AdaBoostClassifier(n_estimators=3)),
    "bagging": lambda: _fit(trees.BaggingClassifier(n_estimators=3, max_features=0.5, oob_score=True)),
    "bagging of lines": lambda: _fit(trees.BaggingClassifier(linear.LogisticRegression(), n_estimators=3), X, WORDS),
    "stacking": lambda: _fit(_two(trees.StackingClassifier, cv=2, passthrough=True)),
    "stacking, labels": lambda: _fit_labels(
        trees.StackingClassifier(
            [("forest", trees.ExtraTreesClassifier(2, max_depth=2))], neighbors.KNeighborsClassifier(), cv=2
        )
    ),
    "voting": lambda: _fit(_two(trees.VotingClassifier, voting="soft"), X, WORDS),
    "voting, hard": lambda: _fit_three(_two(trees.VotingClassifier, weights=[1, 2])),
    "one vs one": lambda: _fit_three(multiclass.OneVsOneClassifier(svm.LinearSVC())),
    "one vs rest": lambda: _fit_three(multiclass.OneVsRestClassifier(linear.LogisticRegression())),
    "one vs rest, labels": lambda: _fit(
        multiclass.OneVsRestClassifier(linear.LogisticRegression()), LABELS_X, LABELS_Y * np.array([1, 0, 1])
    ),
    "chain": lambda: _fit_labels(multioutput.ClassifierChain(linear.LogisticRegression(), cv=2)),
    "chain, random": lambda: _fit_labels(multioutput.ClassifierChain(naive_bayes.GaussianNB(), order="random")),
    "outputs": lambda: _fit_labels(multioutput.MultiOutputClassifier(linear.LogisticRegression())),
    "Bernoulli": lambda: _fit(naive_bayes.BernoulliNB()),
    "categorical": lambda: _fit(naive_bayes.CategoricalNB(), COUNTS),
    "complement": lambda: _fit(naive_bayes.ComplementNB(), COUNTS),
    "Gaussian": lambda: _fit_three(naive_bayes.GaussianNB()),
    "multinomial": lambda: _fit(naive_bayes.MultinomialNB(), COUNTS, WORDS),
    "neighbours": lambda: _fit(neighbors.KNeighborsClassifier()),
    "neighbours, ball tree": lambda: _fit(
        neighbors.KNeighborsClassifier(algorithm="ball_tree", metric="manhattan", weights="distance"), X, WORDS
    ),
    "neighbours, sparse": lambda: _fit(neighbors.KNeighborsClassifier(), SPARSE),
    "neighbours, labels": lambda: _fit_labels(neighbors.KNeighborsClassifier(algorithm="brute")),
    "centroids": lambda: _fit_three(neighbors.NearestCentroid()),
    "centroids, shrunk": lambda: _fit(neighbors.NearestCentroid(metric="manhattan", shrink_threshold=0.1)),
    "network": lambda: _fit(neural_network.MLPClassifier((3,), max_iter=5)),
    "network, classes": lambda: _fit_three(
        neural_network.MLPClassifier((3, 2), max_iter=5, solver="sgd", early_stopping=True)
    ),
    "network, labels": lambda: _fit_labels(neural_network.MLPClassifier(3, max_iter=5, solver="lbfgs")),
    "machine": lambda: _fit(svm.SVC()),
    "machine, classes": lambda: _fit_three(svm.NuSVC(kernel="poly", decision_function_shape="ovo", nu=0.3)),
    "machine, sparse": lambda: _fit(svm.SVC(kernel="linear", class_weight={0: 1.0, 1: 2.0}), SPARSE),
    "machine, matrix": lambda: _fit(svm.SVC(kernel="precomputed"), X @ X.T),
    "machine, words": lambda: _fit(svm.SVC(kernel="sigmoid", gamma=0.1), X, WORDS),
    "isotonic": lambda: _fit(isotonic.IsotonicRegression(out_of_bounds="clip"), X[:, 0]),
    "columns": lambda: _fit_columns(),
    "columns, passed on": lambda: _fit_columns(remainder="passthrough", sparse_threshold=0.0),
    "columns, scaled": lambda: _fit(
        pipeline.make_pipeline(
            compose.ColumnTransformer(
                [("slice", "passthrough", slice(0, 2)), ("mask", p.StandardScaler(), np.arange(5) > 3)],
                remainder=p.MinMaxScaler(),
            ),
            linear.LogisticRegression(),
        )
    ),
    "columns, frames": lambda: _fit(
        pipeline.make_pipeline(
            _columns(remainder="drop", verbose_feature_names_out=False)
            .set_params(words=p.OneHotEncoder(sparse_output=False))
            .set_output(transform="pandas"),
            linear.LogisticRegression(),
        ),
        FRAME,
    ),
    "union": lambda: _step(pipeline.FeatureUnion([("pca", decomposition.PCA(2)), ("rest", "passthrough")])),
    "PCA": lambda: _step(decomposition.PCA(2, whiten=True)),
    "SVD": lambda: _step(decomposition.TruncatedSVD(2), SPARSE),
    "count": lambda: _step(text.CountVectorizer(ngram_range=(1, 2)), TEXTS),
    "count, characters": lambda: _step(text.CountVectorizer(analyzer="char_wb", ngram_range=(2, 3), min_df=2), TEXTS),
    "count, vocabulary": lambda: _step(text.CountVectorizer(vocabulary=["red", "blue"], stop_words=["met"]), TEXTS),
    "hashed texts": lambda: _step(text.HashingVectorizer(n_features=16), TEXTS),
    "TF-IDF": lambda: _step(text.TfidfVectorizer(stop_words="english"), TEXTS),
    "TF-IDF, no weights": lambda: _step(text.TfidfVectorizer(use_idf=False), TEXTS),
    "TF-IDF of counts": lambda: _step(text.TfidfTransformer(), COUNTS),
    "records": lambda: _step(feature_extraction.DictVectorizer(), RECORDS),
    "hashed records": lambda: _step(feature_extraction.FeatureHasher(16), RECORDS),
    "selected by model": lambda: _step(
        feature_selection.SelectFromModel(linear.LogisticRegression(), threshold="mean")
    ),
    "selected by forest": lambda: _step(
        feature_selection.SelectFromModel(trees.ExtraTreesClassifier(3), max_features=2, threshold=-np.inf)
    ),
    "k best": lambda: _step(feature_selection.SelectKBest(feature_selection.f_classif, k=2)),
    "k best, counts": lambda: _step(feature_selection.SelectKBest(feature_selection.chi2, k="all"), COUNTS),
    "percentile": lambda: _step(feature_selection.SelectPercentile(feature_selection.mutual_info_classif)),
    "variance": lambda: _step(feature_selection.VarianceThreshold(0.1)),
    "imputer": lambda: _step(impute.SimpleImputer(strategy="median", add_indicator=True), GAPS),
    "imputer, constant": lambda: _step(impute.SimpleImputer(strategy="constant", fill_value=0.5), GAPS),
    "imputer, most frequent": lambda: _step(impute.SimpleImputer(strategy="most_frequent"), FRAME[["a", "b"]]),
    "indicator": lambda: _step(impute.MissingIndicator(features="all"), GAPS),
    "Nystroem": lambda: _step(kernel_approximation.Nystroem(n_components=5, random_state=0)),
    "RBF sampler": lambda: _step(kernel_approximation.RBFSampler(n_components=5)),
    "binarizer": lambda: _step(p.Binarizer()),
    "function": lambda: _step(p.FunctionTransformer(np.tanh)),
    "function, names": lambda: _step(p.FunctionTransformer(None, feature_names_out="one-to-one"), FRAME[["a", "c"]]),
    "bins": lambda: _step(p.KBinsDiscretizer(3, **_QUANTILES)),
    "bins, ordinal": lambda: _step(p.KBinsDiscretizer(3, encode="ordinal", strategy="uniform")),
    "absolute scale": lambda: _step(p.MaxAbsScaler(), SPARSE),
    "range": lambda: _step(p.MinMaxScaler(clip=True)),
    "normalizer": lambda: _step(p.Normalizer()),
    "one-hot": lambda: _step(p.OneHotEncoder(drop="first", handle_unknown="infrequent_if_exist"), COLOURS),
    "one-hot, infrequent": lambda: _step(
        p.OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"), FRAME[["colour", "c"]]
    ),
    "one-hot, given": lambda: _step(p.OneHotEncoder(categories=[["red", "green", "blue"]] * 2), COLOURS),
    "one-hot, if binary": lambda: _step(p.OneHotEncoder(drop="if_binary", sparse_output=False), COUNTS > 1),
    "ordinal": lambda: _step(p.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), COLOURS),
    "ordinal, missing": lambda: _step(
        p.OrdinalEncoder(encoded_missing_value=-2, min_frequency=2), np.where(COUNTS > 4, np.nan, COUNTS)
    ),
    "polynomial": lambda: _step(p.PolynomialFeatures(2)),
    "power": lambda: _step(p.PowerTransformer()),
    "quantiles": lambda: _step(p.QuantileTransformer(n_quantiles=10, output_distribution="normal")),
    "robust": lambda: _step(p.RobustScaler()),
    "robust, partly": lambda: _step(p.RobustScaler(with_centering=False, unit_variance=True)),
    "standard": lambda: _step(p.StandardScaler()),
    "standard, sparse": lambda: _step(p.StandardScaler(with_mean=False), SPARSE),
    "target": lambda: _step(p.TargetEncoder(cv=2), COLOURS),
    "target, classes": lambda: _step(p.TargetEncoder(cv=2, smooth=1.0), COLOURS[:, :1], THREE_Y),
    "skipped": lambda: _fit(pipeline.Pipeline([("no", "passthrough"), ("line", linear.LogisticRegression())])),
}

_METHODS = calibration.CalibratedClassifierCV._parameter_constraints["method"][0].options
if "temperature" in _METHODS:  # since scikit-learn 1.8
    MODELS["calibrated, temperature"] = lambda: _fit_three(
        calibration.CalibratedClassifierCV(linear.LogisticRegression(), method="temperature", cv=2)
    )
