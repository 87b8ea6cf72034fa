"""The classes that a model file may name. Nothing else is ever looked up, and nothing here runs code from a file.

Classes of metricwise are named without their module, ``metricwise.FBeta``, so that files outlive moves of code: the
estimators of the registry, and the classes of the objects that they hold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from metricwise._sklearn import HELD_CLASSES, HELD_LOSSES
from metricwise.registry import entry_of

# By the module of lookup: the public one if there is one, since private modules move.
_CLASSES: dict[str, str] = {
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


def _make_table(*parts: dict[str, str]) -> Table:
    modules = {module for part in parts for module in part}
    return {module: frozenset(" ".join(part.get(module, "") for part in parts).split()) for module in sorted(modules)}


CLASSES = _make_table(_CLASSES, HELD_CLASSES)
LOSSES = _make_table(HELD_LOSSES)
VALUES = _make_table(_VALUES)
_OWN = "metricwise."


def get_name(thing: Any, table: Table) -> str | None:
    """Return the name under which a table has a class or function; None if it does not.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> get_name(SVC, CLASSES)
    'sklearn.svm.SVC'
    """
    for module, names in table.items():
        home = sys.modules.get(module)  # whatever is to be named has been imported
        for name in names if home is not None else ():
            if getattr(home, name, None) is thing:
                return f"{module}.{name}"
    return None


def find_value(name: Any, table: Table) -> Any:
    """Return the class or function with a name in a table; ValueError if there is none."""
    module, _, last = str(name).rpartition(".")
    if not isinstance(name, str) or last not in table.get(module, ()):
        raise _refuse(name)
    return getattr(import_module(module), last)


def is_own(name: str) -> bool:
    """Return whether the name of a class in files is one of metricwise, which declares its stored state."""
    return name.startswith(_OWN)


def get_class_name(cls: type) -> str | None:
    """Return the name of a class in files; None if its objects cannot be saved.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> get_class_name(FBeta)
    'metricwise.FBeta'
    """
    if (name := _get_sklearn_name(cls)) is not None:
        return name
    return f"{_OWN}{cls.__name__}" if _find_own_class(cls.__name__) is cls else None


def find_class(name: Any) -> Any:
    """Return the class that a model file names; ValueError if files must not name it."""
    if not isinstance(name, str) or not is_own(name):
        return find_value(name, CLASSES)
    cls = _find_own_class(name.removeprefix(_OWN))
    if cls is None:
        raise _refuse(name)
    return cls


def _find_own_class(name: str) -> type | None:
    entry = entry_of(name)
    if entry is not None:
        cls: type = entry.load()
        return cls
    for group in GROUPS:
        if name in (classes := _by_name(group)):
            return classes[name]
    return None


@cache
def _by_name(group: Callable[[], tuple[type, ...]]) -> dict[str, type]:
    return {cls.__name__: cls for cls in group()}


@cache
def _get_sklearn_name(cls: type) -> str | None:
    return get_name(cls, CLASSES)


def _refuse(name: Any) -> ValueError:
    return ValueError(f"it asks for {str(name)[:100]!r}, which is not among the classes of model files")


# ------------------------------------------------------------------------------------- what estimators of ours hold
# Imported group by group, when a name is not found in the groups before: a linear model is loaded without the code of
# model selection.


def _import_measures() -> tuple[type, ...]:
    from metricwise import measures as m

    tables = (m.FBeta, m.Jaccard, m.GowerLegendre, m.MCC, m.CohenKappa, m.Accuracy, m.BalancedAccuracy)
    rates = (m.GMean, m.HMean, m.QMean, m.MinRate)
    restricted = (m.PRBEP, m.PrecisionAtK, m.RecallAtK, m.RecallAtPrecision, m.PrecisionAtRecall)
    functions = (m.ContingencyMeasure, m.RatioContingencyMeasure, m.MissingFunction)
    costs = (m.ContingencyCost, m.RatioContingencyCost, m.LinearContingencyCost)
    return (*tables, *rates, *restricted, m.RocAuc, m.PartialAuc, m.Share, m.Averaged, *functions, *costs)


def _import_results() -> tuple[type, ...]:
    from metricwise.results import (
        Certificate,
        Fallback,
        History,
        HistoryEntry,
        Result,
        Status,
        StreamEntry,
        Witness,
    )

    return Certificate, Fallback, History, HistoryEntry, Result, Status, StreamEntry, Witness


def _import_decisions() -> tuple[type, ...]:
    from metricwise.decisions.batch_rule import BatchRule
    from metricwise.decisions.confusion_posterior import ConfusionPosterior
    from metricwise.decisions.constant import Constant
    from metricwise.decisions.decision import Calibration, Decision, Sigmoid
    from metricwise.decisions.design_effect import GroupedPosterior
    from metricwise.decisions.intervals import TablePosterior
    from metricwise.decisions.label_posterior import LabelPosterior
    from metricwise.decisions.learning_curve import Extrapolation, FinalPosterior
    from metricwise.decisions.ranking_posterior import RankingPosterior
    from metricwise.decisions.tasks import Binary, Multiclass, Multilabel

    tasks = (Binary, Multiclass, Multilabel)
    expected = (
        ConfusionPosterior,
        Extrapolation,
        FinalPosterior,
        GroupedPosterior,
        LabelPosterior,
        RankingPosterior,
        TablePosterior,
    )
    return (*tasks, *expected, BatchRule, Calibration, Constant, Decision, Sigmoid)


def _import_solvers() -> tuple[type, ...]:
    from metricwise.solvers.amp import AmpResult
    from metricwise.solvers.amp_problem import ClassCosts
    from metricwise.solvers.feature_selection import SelectionResult
    from metricwise.solvers.newton import SquaredPairsResult
    from metricwise.solvers.smoothing import SmoothedResult
    from metricwise.solvers.sparse_coding import SparseCodingResult
    from metricwise.solvers.stream_state import StreamState

    results = (AmpResult, SelectionResult, SmoothedResult, SparseCodingResult, SquaredPairsResult)
    return (*results, ClassCosts, StreamState)


def _import_streaming() -> tuple[type, ...]:
    from metricwise.estimators.streaming.training import BinaryModel, StreamModel

    return BinaryModel, StreamModel


def _import_multilabel() -> tuple[type, ...]:
    from metricwise.estimators.multilabel.chain import Chain

    return (Chain,)


def _import_wrappers() -> tuple[type, ...]:
    from metricwise.estimators.wrappers.adapted.adapter import Adapter
    from metricwise.estimators.wrappers.cost_sensitive.iterations import Iteration

    return Adapter, Iteration


def _import_selection() -> tuple[type, ...]:
    from metricwise.estimators.selection.booster import BoosterClassifier
    from metricwise.estimators.selection.ensemble import AveragedModels
    from metricwise.estimators.selection.preprocessing import Categories, Dense, FilledColumns, Prepared
    from metricwise.estimators.selection.texts import TextEncoder
    from metricwise.estimators.selection.times import Part, TimeEncoder

    columns = (Categories, Dense, FilledColumns, Part, TextEncoder, TimeEncoder)
    return AveragedModels, BoosterClassifier, Prepared, *columns


def _import_boosters() -> tuple[type, ...]:
    from metricwise.persistence.boosters.samples import CatBoostSamples, LightGBMSamples, XGBoostSamples
    from metricwise.persistence.boosters.stored import BoostedTrees, StoredBooster
    from metricwise.persistence.boosters.trees import NodeTrees, ObliviousTrees

    samples = (CatBoostSamples, LightGBMSamples, XGBoostSamples)
    return (*samples, BoostedTrees, NodeTrees, ObliviousTrees, StoredBooster)


GROUPS = (
    _import_measures,
    _import_results,
    _import_decisions,
    _import_solvers,
    _import_streaming,
    _import_multilabel,
    _import_wrappers,
    _import_selection,
    _import_boosters,
)
