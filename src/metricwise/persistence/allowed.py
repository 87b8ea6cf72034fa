"""The classes that a model file may name. Nothing else is ever looked up, and nothing here runs code from a file."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any

from metricwise._sklearn import HELD_CLASSES, HELD_LOSSES
from metricwise.registry import entry_of

# By the module they are looked up in; of scikit-learn the public one where there is one, since private ones move.
_CLASSES: dict[str, str] = {
    "metricwise.decisions.batch_rule": "BatchRule",
    "metricwise.decisions.constant": "Constant",
    "metricwise.decisions.decision": "Calibration Decision Sigmoid",
    "metricwise.decisions.guarantees": "Share",
    "metricwise.decisions.intervals": "TablePosterior",
    "metricwise.decisions.ranking_posterior": "RankingPosterior",
    "metricwise.decisions.tasks": "Binary Multiclass Multilabel",
    "metricwise.estimators.multilabel.chain": "Chain",
    "metricwise.estimators.selection.ensemble": "AveragedModels",
    "metricwise.estimators.selection.learning_curve": "Extrapolation",
    "metricwise.estimators.selection.preprocessing": "Dense Prepared",
    "metricwise.estimators.streaming.training": "BinaryModel StreamModel",
    "metricwise.estimators.wrappers.adapted.adapter": "Adapter",
    "metricwise.estimators.wrappers.cost_sensitive.iterations": "Iteration",
    "metricwise.measures": (
        "Accuracy Averaged BalancedAccuracy CohenKappa FBeta GMean GowerLegendre HMean Jaccard MCC MinRate PRBEP "
        "PartialAuc PrecisionAtK PrecisionAtRecall QMean RecallAtK RecallAtPrecision RocAuc"
    ),
    "metricwise.results": "Certificate History HistoryEntry Result Status StreamEntry StreamResult Witness",
    "metricwise.solvers.amp": "AmpResult",
    "metricwise.solvers.amp_problem": "ClassCosts",
    "metricwise.solvers.feature_selection": "SelectionResult",
    "metricwise.solvers.newton": "SquaredPairsResult",
    "metricwise.solvers.smoothing": "SmoothedResult",
    "metricwise.solvers.sparse_coding": "SparseCodingResult",
    "metricwise.solvers.stream_state": "StreamState",
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.compose": "ColumnTransformer",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier",
    "sklearn.ensemble": (
        "AdaBoostClassifier BaggingClassifier ExtraTreesClassifier GradientBoostingClassifier "
        "HistGradientBoostingClassifier RandomForestClassifier StackingClassifier VotingClassifier"
    ),
    "sklearn.feature_extraction": "DictVectorizer FeatureHasher",
    "sklearn.feature_extraction.text": "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer",
    "sklearn.feature_selection": "SelectFromModel SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "AdditiveChi2Sampler Nystroem PolynomialCountSketch RBFSampler SkewedChi2Sampler",
    "sklearn.linear_model": (
        "LogisticRegression LogisticRegressionCV PassiveAggressiveClassifier Perceptron RidgeClassifier SGDClassifier"
    ),
    "sklearn.model_selection": (
        "FixedThresholdClassifier GroupKFold KFold RepeatedKFold RepeatedStratifiedKFold ShuffleSplit "
        "StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit"
    ),
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
    "sklearn.multioutput": "ClassifierChain MultiOutputClassifier",
    "sklearn.naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neighbors": "KNeighborsClassifier NearestCentroid",
    "sklearn.neural_network": "MLPClassifier",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": (
        "Binarizer FunctionTransformer KBinsDiscretizer KernelCenterer LabelBinarizer LabelEncoder MaxAbsScaler "
        "MinMaxScaler MultiLabelBinarizer Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer "
        "QuantileTransformer RobustScaler StandardScaler TargetEncoder"
    ),
    "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
    "sklearn.svm": "LinearSVC NuSVC SVC",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier",
    "sklearn.utils": "Bunch",
}

# Types and functions that are parameters of transformers; each is a function of arrays and nothing else.
_VALUES = {
    "builtins": "bool float int object str",
    "numpy": (
        "abs arcsinh bool_ cbrt exp expm1 float32 float64 int8 int16 int32 int64 log log10 log1p log2 object_ "
        "reciprocal sign sqrt square str_ tanh uint8 uint16 uint32 uint64"
    ),
    "sklearn.feature_selection": "chi2 f_classif mutual_info_classif",
    "sklearn.utils": "check_array",
}

Table = dict[str, frozenset[str]]


def _table(*parts: dict[str, str]) -> Table:
    modules = {module for part in parts for module in part}
    return {module: frozenset(" ".join(part.get(module, "") for part in parts).split()) for module in sorted(modules)}


CLASSES = _table(_CLASSES, HELD_CLASSES)  # beside the estimators of the registry
LOSSES = _table(HELD_LOSSES)
VALUES = _table(_VALUES)


def name_of(thing: Any, table: Table) -> str | None:
    """Return the name under which a table has a class or function; None if it does not.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> name_of(FBeta, CLASSES)
    'metricwise.measures.FBeta'
    """
    for module, names in table.items():
        home = sys.modules.get(module)  # whatever is to be named has been imported
        for name in names if home is not None else ():
            if getattr(home, name, None) is thing:
                return f"{module}.{name}"
    return None


@cache
def class_name(cls: type) -> str | None:
    """Return the name of a class that may be saved; None for others."""
    entry = entry_of(cls.__name__)
    if entry is not None and entry.home == cls.__module__:
        return f"{entry.home}.{entry.name}"
    return name_of(cls, CLASSES)


def class_named(name: Any) -> Any:
    """Return the class that a model file names: an estimator of the registry, or one of the table."""
    entry = entry_of(str(name).rpartition(".")[2])
    if entry is not None and name == f"{entry.home}.{entry.name}":
        return entry.load()
    return named(name, CLASSES)


def named(name: Any, table: Table) -> Any:
    """Return what a table has under a name.

    Raises
    ------
    ValueError
        If the table has no such name.
    """
    module, _, last = str(name).rpartition(".")
    if not isinstance(name, str) or last not in table.get(module, ()):
        raise ValueError(f"it asks for {str(name)[:100]!r}, which is not among the classes of model files")
    return getattr(import_module(module), last)
