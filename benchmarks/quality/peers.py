"""Peers: the learners that a good practitioner would use, each with its regularisation and its threshold tuned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.quality.cached_fits import CachedFit
from benchmarks.quality.problems import Split
from metricwise.measures import Measure

Grid = Sequence[Mapping[str, Sequence[Any]]]

SEARCH_FOLDS, THRESHOLD_FOLDS = 3, 5
WIDE = 200  # features, above which trees that try all of them would take minutes
TREES, TREES_OF_SEARCH = 500, 100
LEAVES, LEAVES_OF_CLASSES = (15, 31), (31,)  # with several classes there is a tree per class, and time for fewer


@dataclass(frozen=True)
class Peer:
    """A learner with the settings among which cross-validation chooses.

    Parameters
    ----------
    name : str
        The name on the page.
    settings : str
        What the learner is given, as the page tells it.
    make : callable
        Returns the learner for a number of features and a seed.
    grid : callable
        Returns the settings to search, for a number of features; an empty list for the settings of `make`.
    final : mapping
        Settings of the learner after the search.
    """

    name: str
    settings: str
    make: Callable[[int, int], Any]
    grid: Callable[[int], Grid] = lambda n_features: []
    final: Mapping[str, Any] = field(default_factory=dict)


def _regression(solver: str, is_text: bool) -> Callable[[int, int], Any]:
    def make(n_features: int, seed: int) -> Any:
        learner = LogisticRegression(solver=solver, max_iter=1000, random_state=seed)
        return make_pipeline("passthrough" if is_text else StandardScaler(), learner)

    return make


def _svm(n_features: int, seed: int) -> Any:
    return make_pipeline("passthrough", LinearSVC(random_state=seed))


def _hist_boosting(weights: str | None = None) -> Callable[[int, int], Any]:
    return lambda n_features, seed: HistGradientBoostingClassifier(class_weight=weights, random_state=seed)


def _lightgbm(weights: str | None = None) -> Callable[[int, int], Any]:
    def make(n_features: int, seed: int) -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(class_weight=weights, n_jobs=1, random_state=seed, verbose=-1)

    return make


def _catboost(n_features: int, seed: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, random_seed=seed, verbose=0, allow_writing_files=False)


def _extra_trees(weights: str | None = None) -> Callable[[int, int], Any]:
    return lambda n_features, seed: ExtraTreesClassifier(TREES_OF_SEARCH, class_weight=weights, random_state=seed)


@dataclass(frozen=True)
class _Boosting:
    """A library of boosted trees: its learner, its names of the settings, and its number of trees if they learn slowly.

    A grid has fewer trees at a learning rate of 0.1, and more at 0.05.
    """

    name: str
    make: Callable[[str | None], Callable[[int, int], Any]]
    n_trees: str
    n_leaves: str
    slow_trees: int

    def grid(self, leaves: Sequence[int]) -> Grid:
        return [
            {self.n_trees: [100], "learning_rate": [0.1], self.n_leaves: leaves},
            {self.n_trees: [self.slow_trees], "learning_rate": [0.05], self.n_leaves: leaves},
        ]

    def peer(self, leaves: Sequence[int], title: str = "", weights: str | None = None) -> Peer:
        choice = " or ".join(map(str, leaves))
        settings = f"100 trees at a learning rate of 0.1 or {self.slow_trees} at 0.05, {choice} leaves"
        return Peer(f"{self.name}{title}", settings, self.make(weights), lambda n_features: self.grid(leaves))


def _tree_grid(n_features: int) -> Grid:
    return [{"min_samples_leaf": [1, 3, 5], "max_features": ["sqrt", None if n_features <= WIDE else 0.2]}]


def _regularisation(learner: str, lowest: int, highest: int) -> Callable[[int], Grid]:
    return lambda n_features: [{f"{learner}__C": list(np.logspace(lowest, highest, highest - lowest + 1))}]


def _regressions(is_text: bool) -> list[Peer]:
    grid = _regularisation("logisticregression", -4, 4)
    scaled = "" if is_text else "standardised features, "
    return [
        Peer(f"logistic regression, {solver}", f"{scaled}C from 1e-4 to 1e4", _regression(solver, is_text), grid)
        for solver in ("lbfgs", "liblinear")
    ]


def _trees(title: str = "", weights: str | None = None) -> Peer:
    settings = (
        f"{TREES} trees ({TREES_OF_SEARCH} in the search), leaves of at least 1, 3 or 5 samples, splits among the "
        f"square root of the features or all (a fifth of more than {WIDE})"
    )
    return Peer(f"{EXTRA_TREES}{title}", settings, _extra_trees(weights), _tree_grid, {"n_estimators": TREES})


HIST_BOOSTING, LIGHTGBM, CATBOOST = "HistGradientBoosting", "LightGBM", "CatBoost"
LIBLINEAR, EXTRA_TREES = "logistic regression, liblinear", "extra trees"
_BOOSTERS = (
    _Boosting(HIST_BOOSTING, _hist_boosting, "max_iter", "max_leaf_nodes", 200),
    _Boosting(LIGHTGBM, _lightgbm, "n_estimators", "num_leaves", 300),
)
TABLE_PEERS = [
    *_regressions(is_text=False),
    *(booster.peer(LEAVES) for booster in _BOOSTERS),
    Peer(CATBOOST, "depth 4 or 6, otherwise defaults", _catboost, lambda n_features: [{"depth": [4, 6]}]),
    Peer("CatBoost, default settings", "no search", _catboost),
    _trees(),
]
TEXT_PEERS = [
    *_regressions(is_text=True),
    Peer("linear SVM", "squared hinge loss, C from 1e-3 to 1e2", _svm, _regularisation("linearsvc", -3, 2)),
]
MULTICLASS_PEERS = [
    peer
    for title, weights in (("", None), (", balanced", "balanced"))
    for peer in (*(booster.peer(LEAVES_OF_CLASSES, title, weights) for booster in _BOOSTERS), _trees(title, weights))
]
MULTILABEL_PEERS = [peer for peer in TABLE_PEERS if peer.name in (LIBLINEAR, LIGHTGBM, EXTRA_TREES)]
PEERS = {
    "tables": TABLE_PEERS,
    "small": TABLE_PEERS,
    "texts": TEXT_PEERS,
    "multiclass": MULTICLASS_PEERS,
    "multilabel": MULTILABEL_PEERS,
}


@dataclass(frozen=True)
class LabelModels:
    """One model per label.

    Parameters
    ----------
    models : list of classifier
        In the order of the labels.
    """

    models: list[Any]

    def predict(self, X: Any) -> Any:
        """Return which labels every sample has, as 0 and 1."""
        return np.column_stack([model.predict(X) for model in self.models])


def train(peer: Peer, split: Split, measure: Any, seed: int) -> Any:
    """Return the trained peer: its settings chosen by a grid search, then its threshold for the measure.

    Settings of two classes are chosen by average precision (by ROC area for that measure), which needs no threshold;
    those of more classes by the measure. Ranking measures need no threshold. Multilabel peers are trained label by
    label, each for the measure that is averaged.

    Parameters
    ----------
    peer : Peer
        The learner.
    split : Split
        Training samples.
    measure : Measure
        What the threshold is tuned for.
    seed : int
        Seeds folds and learner.

    Returns
    -------
    classifier
    """
    if np.ndim(split.y) == 2:
        columns = (replace(split, y=column) for column in split.y.T)
        return LabelModels([train(peer, column, measure.base, seed) for column in columns])
    n_features = split.X.shape[1]
    learner: Any = CachedFit(peer.make(n_features, seed))
    grid = [{f"learner__{key}": values for key, values in one.items()} for one in peer.grid(n_features)]
    is_binary = len(np.unique(split.y)) == 2
    if grid:
        scoring = _search_scoring(measure) if is_binary else make_scorer(measure.score)
        search = GridSearchCV(learner, grid, scoring=scoring, cv=_folds(SEARCH_FOLDS, seed), refit=False)
        learner.set_params(**search.fit(split.X, split.y).best_params_)
    learner.learner.set_params(**peer.final)
    if is_binary and measure.response == "labels":
        scorer = make_scorer(measure.score)
        learner = TunedThresholdClassifierCV(learner, scoring=scorer, cv=_folds(THRESHOLD_FOLDS, seed + 1))
    return learner.fit(split.X, split.y)


def _search_scoring(measure: Measure) -> str:
    return "roc_auc" if measure.name == "roc_auc" else "average_precision"


def _folds(count: int, seed: int) -> StratifiedKFold:
    return StratifiedKFold(count, shuffle=True, random_state=seed)
