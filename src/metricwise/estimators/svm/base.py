"""What the classifiers that train on all samples at once share: parameters, `fit`, prediction by kernels, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, check_random_state

from metricwise._sklearn import Interval, Options, StrOptions
from metricwise._state import StoredState
from metricwise._typing import Floats, Labels
from metricwise.clusters import load_into_memory
from metricwise.decisions.decision import check_threshold
from metricwise.decisions.groups import validate_groups
from metricwise.decisions.targets import POSITIVE_CLASS, classes_of, count_classes, sample_weights_of
from metricwise.designs import Design, make_design
from metricwise.designs.finite import LARGEST
from metricwise.designs.kernel_function import PRECOMPUTED, KernelFunction
from metricwise.estimators.guarded_fit import guard_fit
from metricwise.estimators.inputs import (
    data_of_cluster,
    is_chunked,
    refuse_chunks,
    training_order,
    validate_samples,
)
from metricwise.estimators.linear import LinearClassifier
from metricwise.estimators.svm.fallback import describe_degenerate, plan_accuracy, train_weighted_accuracy
from metricwise.estimators.svm.kernel import Kernel, KernelSettings, KernelSpace, make_kernel_space, score_by_kernel
from metricwise.estimators.svm.training import BinaryFit, BinaryTarget, TrainingData, TrainingPlan, fit_binary_problems
from metricwise.estimators.svm.training_file import TrainingFile
from metricwise.estimators.training_identity import identify_training
from metricwise.io.on_disk import DiskData
from metricwise.measures import Measure, get_measure
from metricwise.measures.ranking_capabilities import Ranks
from metricwise.progress import show_progress
from metricwise.registry import check_trainable, trains_on
from metricwise.results import DegenerateOptimumWarning, Result, Status
from metricwise.solvers import CuttingPlane, Limits
from metricwise.solvers.loop import Callback
from metricwise.threads import available_threads

ABOVE_ZERO = Interval(Real, 0.0, None, closed="neither")
COST = Interval(Real, 1e-30, 1e30, closed="both")  # beyond, products with features and weights leave double precision
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")

_FINITE = Interval(Real, None, None, closed="neither")
REMEDIES = {
    Status.MAX_ITER: "increase max_iter",
    Status.MAX_SECONDS: "increase max_seconds",
    Status.COARSE: "increase score_bins",
    Status.STALLED: "scale the features to comparable size (StandardScaler) or lower C",
}
KERNEL_ATTRIBUTES = ("dual_coef_", "support_", "support_vectors_", "approximation_", "gamma_")


class BatchClassifier(LinearClassifier):
    """A classifier that a solver trains on all samples, to a duality gap where there is one.

    Subclasses have parameters among those below, and plan the training. Unless they change the plan, it is that of the
    multivariate support vector machine by cutting planes.
    """

    __stored_state__: ClassVar[StoredState] = LinearClassifier.__stored_state__.extend(
        "measure_", "classes_", "coef_", "intercept_", "threshold_", "n_iter_", "result_"
    )

    measure: str | Measure
    C: float
    threshold: str | float
    tol: float
    max_iter: int
    max_seconds: float | None
    fit_intercept: bool
    intercept_scaling: float
    class_weight: dict[Any, float] | str | None
    cv: Any
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    callback: Callback | None
    verbose: int | None
    checkpoint: str | Path | None = None
    kernel: Kernel = "linear"
    gamma: str | float
    degree: int
    coef0: float
    approximation: str
    n_basis: int | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": "no_validation",
        "C": [COST],
        "threshold": [StrOptions({"cv", "train"}), _FINITE],
        "tol": [ABOVE_ZERO],
        "max_iter": [AT_LEAST_ONE],
        "max_seconds": [ABOVE_ZERO, None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [COST],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "multi_class": [StrOptions({"ovr", "off"}), None],
        "pos_label": POSITIVE_CLASS,
        "cv": ["cv_object"],
        "n_jobs": [AT_LEAST_ONE, Options(Integral, {-1}), None],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "verbose": [Interval(Integral, 0, None, closed="left"), None],
        "checkpoint": [str, Path, None],
        "kernel": [StrOptions({"linear", "rbf", "poly", "sigmoid", PRECOMPUTED}), callable],
        "gamma": [StrOptions({"scale", "auto"}), ABOVE_ZERO],
        "degree": [AT_LEAST_ONE],
        "coef0": [_FINITE],
        "approximation": [StrOptions({"auto", "exact", "nystroem", "cpsp"})],
        "n_basis": [AT_LEAST_ONE, None],
    }

    # A client belongs to a call and to no pipeline: it is not routed.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"client": UNUSED, "groups": True}

    # What to do where no weights are better than w = 0; {measure!r} stands for the name of the measure.
    _degenerate_remedy: ClassVar[str]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        tags.input_tags.sparse = self.kernel != PRECOMPUTED
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, client: Any = None) -> Self:
        """Train on samples and their labels.

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
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry. With ``threshold="cv"``,
            folds keep whole groups, and a splitter given as ``cv`` gets them.
        client : distributed.Client, optional
            Of the cluster that a Dask collection is for; by default the one started last.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        measure = get_measure(self.measure)
        self._check_measure(measure)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            classes, plan, fits = self._train(measure, X, y, sample_weight, groups, client)
        # Only now, so that a failed fit leaves the model as it was.
        self.measure_, self.classes_ = measure, classes
        self._store(plan, fits)
        self._warn(fits)
        return self

    def _check_measure(self, measure: Measure) -> None:
        """Raise a TypeError unless the classifier can be trained for a measure."""
        check_trainable(measure, self)

    def _train(
        self, measure: Measure, X: Any, y: Any, sample_weight: Any, groups: Any, client: Any
    ) -> tuple[Labels, TrainingPlan, list[BinaryFit]]:
        """Return the classes, the plan, and the solution and threshold of every binary problem."""
        X, y, sample_weight = data_of_cluster(self, X, y, sample_weight, client)
        if isinstance(X, DiskData):
            X.check_training_memory()
        X, y = validate_samples(
            self, X, y, least=2, order=training_order(X), chunks=trains_on(self, "disk"), largest=LARGEST
        )
        weights = sample_weights_of(X, y, sample_weight, self.class_weight)
        classes = classes_of(y, weights)
        self._check_positive_class(measure, classes, count_classes(y, classes))
        groups = validate_groups(load_into_memory(groups), len(y))
        data = TrainingData(X, self._make_design(X), self._binary_targets(y, classes, weights), groups)
        plan = self._plan(measure, data)
        if self.checkpoint is not None:  # fingerprints read all samples
            content = data.design.shape, data.design.fingerprints(), y, weights
            plan = self._add_checkpoint(plan, self.checkpoint, *content, *([] if groups is None else [groups]))
        return classes, plan, self._fit_problems(plan, data, y, classes, weights)

    def _fit_problems(
        self, plan: TrainingPlan, data: TrainingData, y: Labels, classes: Labels, weights: Floats
    ) -> list[BinaryFit]:
        """Return the solutions and thresholds of all problems."""
        return fit_binary_problems(plan, data)

    def _make_design(self, X: Any) -> Design:
        return make_design(X, intercept=self.intercept_value, threads=self._n_threads)

    def _binary_targets(self, y: Labels, classes: Labels, weights: Floats) -> list[BinaryTarget]:
        """Return the positives and the weights of all samples for every binary problem."""
        return [BinaryTarget(positive, weights) for positive in self._positives(y, classes)]

    def _plan(self, measure: Measure, data: TrainingData) -> TrainingPlan:
        """Return everything that training needs beside the samples."""
        return self._plan_cutting_planes(measure, self.C)

    def _plan_cutting_planes(self, measure: Measure, C: float) -> TrainingPlan:
        """Return the plan of a linear multivariate support vector machine, from which others differ in some fields."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return TrainingPlan(
            measure,
            C,
            CuttingPlane(seed=seed),
            Limits(tol=self.tol, max_iter=self.max_iter, max_seconds=self.max_seconds),
            self.threshold,
            list(self.cv) if isinstance(self.cv, Iterator) else self.cv,  # several problems use it
            seed,
            self.intercept_value,
            self.callback,
            fall_back=None
            if isinstance(measure, Ranks)
            else partial(train_weighted_accuracy, type(self)._plan_accuracy),
        )

    @staticmethod
    def _plan_accuracy(plan: TrainingPlan, degenerate: Result) -> TrainingPlan:
        """Return the plan of the accuracy that is trained for where the surrogate of the measure is degenerate."""
        return plan_accuracy(plan, degenerate)

    def _add_checkpoint(self, plan: TrainingPlan, path: str | Path, *content: Any) -> TrainingPlan:
        """Return the plan with the file from which the training of these parameters and this content resumes."""
        if plan.kernel is not None:
            raise ValueError("checkpoint is for linear models: set kernel='linear', or checkpoint=None")
        training = identify_training(self, [*content, plan.seed], {"cv": plan.cv})
        return replace(plan, checkpoint=TrainingFile(path, training))

    def _make_kernel_space(self, data: TrainingData) -> KernelSpace | None:
        """Return the kernel on the training samples; None if scores are linear in the features."""
        if self.kernel == "linear":
            return None
        if is_chunked(data.X):
            refuse_chunks(f"kernel={self.kernel!r}")
        settings = KernelSettings(self.kernel, self.gamma, self.degree, self.coef0, self.approximation, self.n_basis)
        return make_kernel_space(settings, data.X, data.design, self.intercept_value)

    @property
    def intercept_value(self) -> float:
        """Size of the constant feature; 0 without one, as for ranking measures, which do not depend on it."""
        depends_on_it = not isinstance(get_measure(self.measure), Ranks)
        return float(self.intercept_scaling) if depends_on_it and self.fit_intercept else 0.0

    @property
    def _n_threads(self) -> int:
        return available_threads() if self.n_jobs is None or self.n_jobs == -1 else int(self.n_jobs)

    def _store(self, plan: TrainingPlan, fits: Sequence[BinaryFit]) -> None:
        """Set the fitted attributes."""
        for name in ("coef_", *KERNEL_ATTRIBUTES):  # the last fit may have had another kernel
            self.__dict__.pop(name, None)
        n_scores = np.size(fits[0].threshold) * len(fits)
        weights = self._sign * np.array([fit.result.weights for fit in fits]).reshape(n_scores, -1)
        if plan.kernel is None:
            self.coef_ = weights[:, :-1] if plan.intercept else weights
            self.intercept_ = plan.intercept * weights[:, -1] if plan.intercept else np.zeros(n_scores)
        else:
            source = plan.kernel.source
            self.support_: NDArray[Any] = np.flatnonzero(np.any(weights[:, :-1] != 0.0, axis=0))
            self.dual_coef_, self.intercept_ = weights[:, self.support_], weights[:, -1]
            self.support_vectors_ = None if source.is_precomputed else source.X[self.support_]
            self.approximation_, self.gamma_ = plan.kernel.approximation, source.function.gamma
        thresholds = self._sign * np.ravel([fit.threshold for fit in fits])
        self.threshold_ = float(thresholds[0]) if n_scores == 1 else thresholds
        self.n_iter_ = max(fit.result.n_iter for fit in fits)
        self.result_ = fits[0].result if len(fits) == 1 else [fit.result for fit in fits]

    @property
    def threshold_(self) -> float | Floats:
        """The threshold, which `decision_function` subtracts from the scores; assign another to predict with it."""
        if "threshold_" not in vars(self):  # where model files look for it
            raise AttributeError(f"{type(self).__name__} has no threshold_ before it is fitted")
        threshold: float | Floats = vars(self)["threshold_"]
        return threshold

    @threshold_.setter
    def threshold_(self, value: Any) -> None:
        check_is_fitted(self, "intercept_")
        n_problems = np.size(self.intercept_)
        self.__dict__["threshold_"] = check_threshold(value, 0.0 if n_problems == 1 else np.zeros(n_problems))

    def _raw_scores(self, X: Any) -> Floats:
        if self.kernel == "linear":
            return super()._raw_scores(X)
        X = validate_samples(self, X, reset=False)
        function = KernelFunction(self.kernel, self.gamma_, self.degree, self.coef0)
        return score_by_kernel(function, X, self.support_, self.support_vectors_, self.dual_coef_) + self.intercept_

    def _warn(self, fits: Sequence[BinaryFit]) -> None:
        """Warn once about each thing that a user should know of the training."""
        if any(fit.lacks_folds for fit in fits):
            warnings.warn(
                "threshold='cv' needs at least two distinct samples of each class in training and samples held out: "
                "the threshold was chosen on the training scores instead. Collect more samples of the minority class, "
                "or set threshold='train' or a number",
                UserWarning,
                stacklevel=3,
            )
        results = [fit.result for fit in fits]
        statuses = [result.status for result in results]
        for status, remedy in REMEDIES.items():
            if status in statuses:
                warnings.warn(
                    f"training stopped ({status.value}) {self._describe_gap(results)}: {remedy}, or accept that by a "
                    "larger tol",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        message = describe_degenerate(self.measure_.name, results, self._find_remedy())
        if message is not None:
            warnings.warn(message, DegenerateOptimumWarning, stacklevel=3)

    def _find_remedy(self) -> str:
        """Return what to do where no weights are better than w = 0 and there is no fallback."""
        if isinstance(self.threshold, str) or isinstance(self.measure_, Ranks):
            return self._degenerate_remedy
        return f"Set threshold='cv', which trains for a weighted accuracy instead. {self._degenerate_remedy}"

    def _describe_gap(self, results: Sequence[Result]) -> str:
        """Return how far from its end training was stopped."""
        worst = max(result.certificate.relative for result in results)
        return f"at a relative duality gap of {worst:.2g}, above tol={self.tol:g}"
