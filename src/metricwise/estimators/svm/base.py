"""What the linear classifiers that train on all samples at once share: validation, thresholds out of fold, warnings."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_random_state

from metricwise._sklearn import Interval, Options, StrOptions
from metricwise._typing import Floats, Mask
from metricwise.decisions.targets import classes_of, sample_weights_of
from metricwise.designs import Design, make_design
from metricwise.estimators.checkpoints import digest, settings_of
from metricwise.estimators.dask_inputs import data_of_cluster
from metricwise.estimators.inputs import restore_on_error, validate_samples
from metricwise.estimators.linear import LinearClassifier
from metricwise.estimators.svm.training import Training
from metricwise.estimators.svm.training_file import TrainingFile
from metricwise.measures import Measure, get_measure
from metricwise.measures.base import RanksPairs
from metricwise.registry import check_trainable, trains_on
from metricwise.results import DegenerateOptimumWarning, Result, Status
from metricwise.threads import available_threads

_REMEDIES = {
    Status.MAX_ITER: "increase max_iter",
    Status.MAX_SECONDS: "increase max_seconds",
    Status.COARSE: "increase score_bins",
    Status.STALLED: "scale the features to comparable size (StandardScaler) or lower C",
}


class BatchClassifier(LinearClassifier):
    """A linear classifier that a solver trains to a duality gap on all samples.

    Subclasses have the parameters below, and give the trainings of a call of `fit`.
    """

    measure: str | Measure
    C: float
    threshold: str | float
    tol: float
    max_iter: int
    max_seconds: float | None
    fit_intercept: bool
    intercept_scaling: float
    class_weight: Any
    cv: Any
    n_jobs: int | None
    random_state: Any
    callback: Any
    checkpoint: str | Path | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": "no_validation",
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "threshold": [StrOptions({"cv", "train"}), Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_seconds": [Interval(Real, 0.0, None, closed="neither"), None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "multi_class": [StrOptions({"ovr", "off"}), None],
        "pos_label": "no_validation",
        "cv": ["cv_object"],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "checkpoint": [str, Path, None],
    }

    # A client belongs to a call and to no pipeline: it is not routed.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"client": UNUSED}

    # What to do where no weights are better than w = 0; {measure!r} stands for the name of the measure.
    _way_out: ClassVar[str]

    @abstractmethod
    def _training(self, measure: Measure, X: Any, design: Design, seed: int, n_problems: int) -> Training:
        """Return the trainings of a call of `fit`."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array, data frame, sparse matrix or chunks of shape (n_samples, n_features)
            Dense and CSR input is used as it is, in single or double precision, and never copied. Samples larger than
            memory are opened by `metricwise.io.open`; those of a Dask array (dense or CSR chunks) or Dask data frame
            stay with the workers of its cluster.
        y : array of shape (n_samples,)
            Labels. May be left out if X are chunks that know them.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as two such samples, one of weight 0 as absent.
        client : distributed.Client, optional
            Of the cluster that a Dask collection is for; by default the one started last.

        Returns
        -------
        self
        """
        self._validate_params()
        measure = get_measure(self.measure)
        check_trainable(measure, self)
        with restore_on_error(self):
            classes, training, fits = self._trained(measure, X, y, sample_weight, client)
            if training.file is not None:
                training.file.finish()
        # Only now, so that a failed fit leaves the model as it was.
        self.measure_, self.classes_ = measure, classes
        self._store(training, fits)
        self._warn([result for result, _ in fits], training.too_few_for_folds)
        return self

    def _trained(
        self, measure: Measure, X: Any, y: Any, sample_weight: Any, client: Any
    ) -> tuple[NDArray[Any], Training, list[tuple[Result, float]]]:
        """Return the classes, the trainings, and of each its result and threshold."""
        X, y, sample_weight = data_of_cluster(self, X, y, sample_weight, client)
        X, y = validate_samples(self, X, y, least=2, chunks=trains_on(self, "disk"))
        weights = sample_weights_of(X, y, sample_weight, self.class_weight)
        classes = classes_of(y, weights)
        problems = self._problems(y, classes, weights)
        seed = self._seed()
        training = self._training(measure, X, self._design(X), seed, len(problems))
        training.file = self._training_file(training, y, weights)
        return classes, training, [training.fit(k, *problem) for k, problem in enumerate(problems)]

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _problems(self, y: NDArray[Any], classes: NDArray[Any], weights: Floats) -> list[tuple[Mask, Floats]]:
        """Return the positives and the weights of all samples for each binary problem."""
        return [(positive, weights) for positive in self._positives(y, classes)]

    @property
    def intercept_value(self) -> float:
        """Size of the constant feature; 0 if there is none, as for ROC areas, which do not see it."""
        sees_it = not isinstance(get_measure(self.measure), RanksPairs)
        return float(self.intercept_scaling) if self.fit_intercept and sees_it else 0.0

    @property
    def threads(self) -> int:
        """How many threads may work on the samples."""
        return available_threads() if self.n_jobs in (None, -1) else int(self.n_jobs)

    def _design(self, X: Any) -> Design:
        return make_design(X, intercept=self.intercept_value, threads=self.threads)

    def _training_file(self, training: Training, y: NDArray[Any], weights: Floats) -> TrainingFile | None:
        """Return the file from which this training goes on after an interruption; None if there is to be none."""
        if self.checkpoint is None:
            return None
        if training.space is not None:
            raise ValueError("checkpoint is for linear models: set kernel='linear', or checkpoint=None")
        design = training.design
        content = design.shape, design.fingerprints(), y, weights, training.seed
        return TrainingFile(self.checkpoint, digest(settings_of(self), *content))

    def _store(self, training: Training, fits: Sequence[tuple[Result, float]]) -> None:
        """Keep what training found."""
        self._store_results(fits)
        weights = self._sign * np.array([result.weights for result, _ in fits])
        constant = self.intercept_value
        self.coef_ = weights[:, :-1] if constant else weights
        self.intercept_ = constant * weights[:, -1] if constant else np.zeros(len(fits))

    def _store_results(self, fits: Sequence[tuple[Result, float]]) -> None:
        thresholds = self._sign * np.array([threshold for _, threshold in fits])
        self.threshold_ = float(thresholds[0]) if len(fits) == 1 else thresholds
        self.n_iter_ = max(result.n_iter for result, _ in fits)
        self.result_ = fits[0][0] if len(fits) == 1 else [result for result, _ in fits]

    def _warn(self, results: list[Result], too_few_for_folds: bool) -> None:
        """Say once what a user should know of the training."""
        if too_few_for_folds:
            warnings.warn(
                "threshold='cv' needs at least two distinct samples of each class in training and samples held out: "
                "the threshold was chosen on the training scores instead. Collect more samples of the rare class, or "
                "set threshold='train' or a number",
                UserWarning,
                stacklevel=3,
            )
        statuses = [result.status for result in results]
        for status, remedy in _REMEDIES.items():
            if status in statuses:
                warnings.warn(
                    f"training stopped ({status.value}) {self._distance(results)}: {remedy}, or accept that by a "
                    "larger tol",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        if Status.DEGENERATE in statuses:
            warnings.warn(
                f"the surrogate of {self.measure_.name!r} is degenerate on these data: no weights are better than "
                f"w = 0, so the scores carry little information. {self._way_out.format(measure=self.measure_.name)}",
                DegenerateOptimumWarning,
                stacklevel=3,
            )

    def _distance(self, results: list[Result]) -> str:
        """Say how far from its end a training was stopped."""
        worst = max(result.certificate.relative for result in results)
        return f"at a relative duality gap of {worst:.2g}, above tol={self.tol:g}"
