"""The classes that a model file may name. Nothing else is ever looked up, and nothing here runs code from a file."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any

from metricwise._sklearn import HELD_CLASSES, HELD_LOSSES

_ESTIMATORS = "metricwise.estimators"

# By the module they are looked up in; of scikit-learn the public one where there is one, since private ones move.
_CLASSES: dict[str, str] = {
    f"{_ESTIMATORS}.adapted.adapter": "Adapter",
    f"{_ESTIMATORS}.adapted.classifier": "AdaptedSVC",
    f"{_ESTIMATORS}.amp": "AMPClassifier",
    f"{_ESTIMATORS}.auc_svc": "AUCSVC",
    f"{_ESTIMATORS}.cost_sensitive.classifier": "CostSensitiveClassifier",
    f"{_ESTIMATORS}.cost_sensitive.rounds": "Round",
    f"{_ESTIMATORS}.feature_selecting_svc": "FeatureSelectingSVC",
    f"{_ESTIMATORS}.front_door.classifier": "MetricClassifier",
    f"{_ESTIMATORS}.front_door.combining": "Averaging",
    f"{_ESTIMATORS}.front_door.learning_curve": "Carried",
    f"{_ESTIMATORS}.front_door.preparing": "Dense Prepared",
    f"{_ESTIMATORS}.front_door.tasks": "Calibration Decision SeveralClasses SeveralLabels TwoClasses",
    f"{_ESTIMATORS}.minibatch_svc": "MiniBatchSVC",
    f"{_ESTIMATORS}.multilabel.binary_relevance": "BinaryRelevance",
    f"{_ESTIMATORS}.multilabel.chain": "Chain",
    f"{_ESTIMATORS}.multilabel.classifier_chain": "ProbabilisticClassifierChain",
    f"{_ESTIMATORS}.multilabel.learners": "Constant",
    f"{_ESTIMATORS}.multivariate_svc": "MultivariateSVC",
    f"{_ESTIMATORS}.plug_in.binary": "Sigmoid",
    f"{_ESTIMATORS}.plug_in.classifier": "PlugInClassifier",
    f"{_ESTIMATORS}.smoothed_svc": "SmoothedSVC",
    f"{_ESTIMATORS}.spade": "SPADEClassifier",
    f"{_ESTIMATORS}.sparse_coding": "SparseCodingClassifier",
    f"{_ESTIMATORS}.stamp": "STAMPClassifier",
    f"{_ESTIMATORS}.streaming": "_Model",
    "metricwise.inference.batch_rule": "BatchRule",
    "metricwise.inference.promises": "Share",
    "metricwise.inference.score_evidence": "ScoreEvidence",
    "metricwise.inference.score_intervals": "TableEvidence",
    "metricwise.measures": (
        "Accuracy Averaged BalancedAccuracy CohenKappa FBeta GMean GowerLegendre HMean Jaccard MCC MinRate PRBEP "
        "PartialAuc PrecisionAtK PrecisionAtRecall QMean RecallAtK RecallAtPrecision RocAuc"
    ),
    "metricwise.results": "Certificate History HistoryEntry Result Status StreamEntry StreamResult Witness",
    "metricwise.solvers.amp": "AmpResult",
    "metricwise.solvers.amp_problem": "Prices",
    "metricwise.solvers.feature_selection": "SelectionResult",
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


CLASSES = _table(_CLASSES, HELD_CLASSES)
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
    return name_of(cls, CLASSES)


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
