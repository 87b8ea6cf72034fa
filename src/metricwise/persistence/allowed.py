"""The classes that a model file may name. Nothing else is ever looked up, and nothing here runs code from a file.

Classes of metricwise are named without their module, ``metricwise.FBeta``, so that files outlive moves of code; they
are the estimators of the registry and what `metricwise.persistence.inner_classes` lists.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any

from metricwise._sklearn import HELD_CLASSES, HELD_LOSSES
from metricwise.persistence.inner_classes import find_inner_class
from metricwise.registry import entry_of

# By the module they are looked up in: the public one where there is one, since private ones move.
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
    """Return what a table has under a name; ValueError if it has no such name."""
    module, _, last = str(name).rpartition(".")
    if not isinstance(name, str) or last not in table.get(module, ()):
        raise _refuse(name)
    return getattr(import_module(module), last)


def is_own(name: str) -> bool:
    """Whether a class is one of metricwise, which declares what is stored of it, by its name in files."""
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
    return find_inner_class(name) if entry is None else entry.load()


@cache
def _get_sklearn_name(cls: type) -> str | None:
    return get_name(cls, CLASSES)


def _refuse(name: Any) -> ValueError:
    return ValueError(f"it asks for {str(name)[:100]!r}, which is not among the classes of model files")
