"""The methods, each with as many settings to choose from as the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from metricwise import (
    AdaptedSVC,
    FeatureSelectingSVC,
    MultivariateSVC,
    PlugInClassifier,
    SmoothedSVC,
    SparseCodingClassifier,
    measure_names,
)

MEASURES = ("f1", "prbep", "roc_auc")
N_ATOMS = 40
FOLDS = 3  # of thresholds and of adapted classifiers
SEARCH_TOLERANCE, TOLERANCE = 1e-2, 1e-3
C_VALUES = (0.01, 0.1, 1.0, 10.0)

JSCHP, CPSP, MPMS, FSMPM, CAMPM, LINEAR, PLUG_IN = "jschp", "cpsp", "mpms", "fsmpm", "campm", "linear", "plug_in"

Setting = dict[str, Any]


@dataclass(frozen=True)
class Method:
    """A method.

    Parameters
    ----------
    title : str
        Its name on the page.
    settings : tuple of dict
        The settings to choose from.
    make : callable
        Makes an estimator from measure, number of features, setting and common parameters.
    search : callable, optional
        The same for choosing a setting, where only the order of the scores matters; ``make`` by default.
    measures : tuple of str
        The measures it can be trained for.
    """

    title: str
    settings: tuple[Setting, ...]
    make: Callable[[str, int, Setting, dict[str, Any]], Any]
    search: Callable[[str, int, Setting, dict[str, Any]], Any] | None = None
    measures: tuple[str, ...] = MEASURES

    def searching(self, measure: str, n_features: int, setting: Setting) -> Any:
        """Return an estimator for the search, whose threshold is not used."""
        make = self.search or self.make
        return make(measure, n_features, setting, {"tol": SEARCH_TOLERANCE, "threshold": 0.0, "n_jobs": 1})

    def final(self, measure: str, n_features: int, setting: Setting) -> Any:
        """Return an estimator to be judged, with a threshold from out-of-fold scores where the measure needs one."""
        threshold = "cv" if measure == "f1" else 0.0
        common = {"tol": TOLERANCE, "threshold": threshold, "cv": FOLDS, "n_jobs": 1}
        return self.make(measure, n_features, setting, common)


def _grid(**values: tuple[float, ...]) -> tuple[Setting, ...]:
    grid: list[Setting] = [{}]
    for name, options in values.items():
        grid = [setting | {name: value} for setting in grid for value in options]
    return tuple(grid)


def sparse_coding(measure: str, n_features: int, setting: Setting, common: dict[str, Any]) -> Any:
    """Return joint sparse coding; it stops when an iteration gains less than a thousandth."""
    return SparseCodingClassifier(measure, N_ATOMS, **setting, **common | {"tol": 1e-3})


def _subspace(measure: str, n_features: int, setting: Setting, common: dict[str, Any]) -> Any:
    gamma = setting["width"] / n_features
    return MultivariateSVC(measure, setting["C"], kernel="rbf", gamma=gamma, approximation="cpsp", **common)


def _selecting(measure: str, n_features: int, setting: Setting, common: dict[str, Any]) -> Any:
    most = max(round(setting["share"] * n_features), 1)
    return FeatureSelectingSVC(measure, most, setting["C"], **common)


def _adapted(measure: str, n_features: int, setting: Setting, common: dict[str, Any]) -> Any:
    inputs = [("kernel", SVC()), ("line", LogisticRegression(max_iter=1000))]
    return AdaptedSVC(measure, inputs, **setting, tol=common["tol"], cv=FOLDS)


def _plug_in(measure: str, n_features: int, setting: Setting, common: dict[str, Any]) -> Any:
    return PlugInClassifier(_regression(measure, n_features, setting, common), measure, cv=FOLDS)


def _regression(measure: str, n_features: int, setting: Setting, common: dict[str, Any]) -> Any:
    return LogisticRegression(max_iter=1000, **setting)


METHODS = {
    JSCHP: Method("JSCHP", _grid(C1=(0.1, 0.5), C3=(0.3, 3.0)), sparse_coding),
    CPSP: Method("CPSP", _grid(C=(1.0, 10.0), width=(0.25, 1.0)), _subspace),
    MPMS: Method(
        "MPMS",
        _grid(C=C_VALUES),
        lambda measure, _, setting, common: SmoothedSVC(measure, **setting, **common),
        measures=tuple(measure for measure in MEASURES if measure in measure_names("SmoothedSVC")),
    ),
    FSMPM: Method("FSMPM", _grid(C=(0.1, 1.0), share=(0.25, 0.5)), _selecting),
    CAMPM: Method("CAMPM", _grid(C=C_VALUES), _adapted),
    LINEAR: Method(
        "multivariate SVM",
        _grid(C=C_VALUES),
        lambda measure, _, setting, common: MultivariateSVC(measure, **setting, **common),
    ),
    PLUG_IN: Method("plug-in", _grid(C=C_VALUES), _plug_in, _regression),
}
TITLES = {name: method.title for name, method in METHODS.items()}
