"""Train a candidate on all stored samples, if it is one of those that can."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import clone

from metricwise._typing import Labels
from metricwise.decisions.chunk_learners import refuse_kernels
from metricwise.decisions.dask_learners import fit_on_dask, refuse_class_names, trains_on_dask
from metricwise.decisions.weighting import weight_setting
from metricwise.estimators.selection.beyond_memory.boosters import (
    Offer,
    count_that_fit,
    fit_on_cluster,
    fit_on_disk,
    make_counterpart,
)
from metricwise.estimators.selection.beyond_memory.linear_models import fit_smooth, is_smooth
from metricwise.estimators.selection.beyond_memory.stored import BlockStream, StoredSamples, Targets, transform_by
from metricwise.estimators.selection.booster import BoosterClassifier
from metricwise.estimators.selection.preprocessing import Prepared
from metricwise.registry import entries, join_names, trains_on

Location = Literal["disk", "cluster"]
# Measured: memory per sample that training takes on disk, beside the labels.
_BYTES_OF_SMOOTH = 70
_BYTES_OF_MACHINE = 200
_PASSES = 5  # of streaming learners over blocks, at most
_BOOSTERS_OF_DASK = ("lightgbm", "xgboost")


@dataclass(frozen=True)
class FullTraining:
    """Trains candidates on all stored samples.

    Attributes
    ----------
    stored : StoredSamples
        The samples.
    targets : Targets
        Their labels and weights.
    classes : array
        All labels.
    n_samples : int
        Number of samples that count.
    room : float
        Bytes of memory that a training on disk may take.
    seed : int
        Seeds the order of blocks.
    """

    stored: StoredSamples
    targets: Targets
    classes: Labels
    n_samples: int
    room: float
    seed: int

    def can_train(self, estimator: Any) -> bool:
        """Return whether a candidate can be trained on all samples."""
        learner = _learner_of(estimator)
        if is_smooth(learner):
            return self.classes.size == 2
        return can_train_there(estimator, self.stored.location)

    def is_booster(self, estimator: Any) -> bool:
        """Return whether a candidate is a booster without preprocessing that can be trained on all samples."""
        return isinstance(estimator, BoosterClassifier) and self.can_train(estimator)

    def count_missing_bytes(self, estimator: Any) -> float:
        """Return how many bytes of memory training a candidate on disk takes beyond those that there are, or zero.

        LightGBM takes as many samples as fit.
        """
        learner = _learner_of(estimator)
        if self.stored.location != "disk" or isinstance(learner, BoosterClassifier):
            return 0.0
        per_sample = 0
        if is_smooth(learner):
            per_sample = _BYTES_OF_SMOOTH
        elif trains_on(learner, "disk"):
            per_sample = _BYTES_OF_MACHINE
        return max(0.0, per_sample * self.n_samples - self.room)

    def plans_its_time(self, estimator: Any) -> bool:
        """Return whether a candidate learns from as many samples as there is time for: LightGBM on disk."""
        return self.stored.location == "disk" and isinstance(_learner_of(estimator), BoosterClassifier)

    def fit(self, estimator: Any, trained: Any, fewest: int = 0, seconds: float = math.inf) -> tuple[Any, int] | None:
        """Return the candidate, trained on all samples or as many as fit, and how many; None if there is no time.

        Parameters
        ----------
        estimator : classifier
            The candidate.
        trained : classifier
            The same, trained on some of the samples; its preprocessing is used.
        fewest : int
            Number of samples that is not worth a training, for a candidate that plans its time.
        seconds : float
            Time for such a candidate.
        """
        offer = Offer(count_that_fit(self.stored.data.shape[1], self.room), fewest, seconds, self.seed)
        if not isinstance(estimator, Prepared):
            return self._fit(estimator, self.stored, trained, offer)
        model: Any = clone(estimator)
        model.transformer_ = trained.transformer_
        stored = self.stored.transform(transform_by(trained.transformer_))
        found = self._fit(estimator.learner, stored, trained.learner_, offer)
        if found is None:
            return None
        model.learner_, n_samples = found
        model.classes_ = model.learner_.classes_
        return model, n_samples

    def _fit(self, learner: Any, stored: StoredSamples, trained: Any, offer: Offer) -> tuple[Any, int] | None:
        if self.plans_its_time(learner):
            return fit_on_disk(learner, stored.data, *self.targets, offer)
        return self._fit_to_all(learner, stored, trained), self.n_samples

    def _fit_to_all(self, learner: Any, stored: StoredSamples, trained: Any) -> Any:
        y, weights = self.targets
        if is_smooth(learner):
            return fit_smooth(learner, stored.data, y, weights, trained)
        if isinstance(learner, BoosterClassifier):
            return fit_on_cluster(learner, stored.data, y, weights)
        if stored.location == "cluster" and (package := _booster_package(learner)) is not None:
            learner = make_counterpart(package, _list_set(learner))
        if stored.location == "cluster" and trains_on_dask(learner):
            return fit_on_dask(learner, stored.data, y, weights)
        if trains_on(learner, stored.location):
            return clone(learner).fit(stored.data, y, **weight_setting(learner, weights))
        if trains_on(learner, "stream"):
            blocks = BlockStream(stored.data, self.targets, self.seed)
            return clone(learner).fit_stream(blocks, classes=self.classes, n_passes=_PASSES)
        return stored.learn(clone(learner), self.targets, self.classes, self.seed)


def can_train_there(estimator: Any, location: Location) -> bool:
    """Return whether a classifier can be trained on all samples at a location.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> can_train_there(SGDClassifier(), "disk"), can_train_there(DecisionTreeClassifier(), "disk")
    (True, False)
    """
    learner = _learner_of(estimator)
    if is_smooth(learner) or trains_on(learner, location) or hasattr(learner, "partial_fit"):
        return True
    if location == "disk":
        return isinstance(learner, BoosterClassifier) and learner.package == "lightgbm" and not learner.n_categorical
    if isinstance(learner, BoosterClassifier):
        return learner.package in _BOOSTERS_OF_DASK
    return trains_on_dask(learner) or _booster_package(learner) is not None


def refuse_own_candidates(candidates: dict[str, Any], location: Location) -> None:
    """Raise a ValueError that names the candidates of a user that cannot be trained on samples at a location."""
    where = "on disk" if location == "disk" else "on a cluster"
    made_for_dask = [name for name, one in candidates.items() if _is_dask_booster(one)]
    if made_for_dask:
        raise ValueError(
            f"candidates are compared in memory first, where {_join(made_for_dask)} cannot train: give LGBMClassifier "
            "or XGBClassifier, which is then trained on a cluster by its counterpart for Dask"
        )
    for learner in candidates.values():
        if trains_on(learner, location):
            refuse_kernels(learner)
    absent = [name for name, one in candidates.items() if not can_train_there(one, location)]
    if absent:
        of_dask = "" if location == "disk" else ", LGBMClassifier, XGBClassifier, a classifier of dask-ml"
        raise ValueError(
            f"the samples are {where}, and {_join(absent)} of candidates cannot be trained there: give classifiers "
            f"with partial_fit, LogisticRegression, LinearSVC{of_dask}, "
            f"{join_names(entries('svm', 'streaming', trains_on=location))}; or load the samples if they fit into "
            "memory"
        )


def refuse_own_labels(candidates: dict[str, Any], y: Labels) -> None:
    """Raise a ValueError if a candidate of a user is trained on a cluster by a package that takes other labels."""
    for learner in candidates.values():
        if trains_on_dask(learner) or _booster_package(learner) is not None:
            refuse_class_names(learner, y)


def _join(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _learner_of(estimator: Any) -> Any:
    return estimator.learner if isinstance(estimator, Prepared) else estimator


def _is_dask_booster(learner: Any) -> bool:
    return trains_on_dask(learner) and (hasattr(learner, "to_local") or hasattr(learner, "get_booster"))


def _booster_package(learner: Any) -> str | None:
    """Return the package of a classifier that has a counterpart for Dask; None for others."""
    package = type(learner).__module__.partition(".")[0]
    return package if package in _BOOSTERS_OF_DASK and not trains_on_dask(learner) else None


def _list_set(learner: Any) -> dict[str, Any]:
    """Return the parameters that are set."""
    return {name: value for name, value in learner.get_params().items() if value is not None}
