"""The binary trainings of a multivariate support vector machine that sees its scores through histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from metricwise._typing import Floats
from metricwise.clusters import is_dask, running_client
from metricwise.decisions.targets import classes_of
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.labelled import ClusterData
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.remote_design import LabelledData, LocalData, RemoteDesign
from metricwise.designs.remote_scores import RemoteScores
from metricwise.estimators.checkpoints import digest, settings_of
from metricwise.estimators.dask_inputs import data_of_cluster
from metricwise.estimators.inputs import validate_samples
from metricwise.estimators.svm.training import Training, portable
from metricwise.estimators.svm.training_file import TrainingFile
from metricwise.inference import threshold_for
from metricwise.measures import Measure
from metricwise.measures.base import RestrictsLabellings
from metricwise.oracles.histogram import ClassScores, refine_edges
from metricwise.results import Result
from metricwise.solvers.binned_cutting_plane import BinnedCuttingPlane
from metricwise.solvers.binned_problem import BinnedProblem, make_binned_problem

if TYPE_CHECKING:
    from metricwise.estimators.svm.multivariate_svc import MultivariateSVC


_FINER_THRESHOLDS = 2  # times that bins are made finer around the best threshold


def check_for_bins(model: MultivariateSVC, sample_weight: Any) -> None:
    """Raise a ValueError if the parameters of a model need scores that histograms do not tell."""
    if model.kernel != "linear":
        raise ValueError("score_bins is for linear models: set kernel='linear', or score_bins=None")
    if model.threshold == "cv":
        raise ValueError(
            "threshold='cv' needs the scores of all samples in one place, which score_bins avoids: set "
            "threshold='train' or a number, or score_bins=None"
        )
    if sample_weight is not None or model.class_weight is not None:
        raise ValueError(
            "score_bins counts samples, and takes no weights: leave out sample_weight and class_weight, or set "
            "score_bins=None"
        )
    if model.warm_start:
        raise ValueError(
            "warm_start needs the scores of the last fit, which score_bins keeps with the samples: set one"
        )


def labelled_rows(model: MultivariateSVC, X: Any, y: Any, client: Any) -> tuple[LabelledData, NDArray[Any]]:
    """Return the samples with their labels, where they are, and the classes."""
    if not is_dask(X):
        X, y, _ = data_of_cluster(model, X, y, None, client)
        X, y = validate_samples(model, X, y, least=2, chunks=True)
        classes = classes_of(y, np.ones(len(y)))
        return LocalData(model._design(X), np.searchsorted(classes, y)), classes
    blocks = persist_blocks(X, running_client(client))
    data = ClusterData(blocks, X, y, model.intercept_value, model.threads)
    validate_samples(model, DaskSource(blocks), chunks=True)
    check_classification_targets(data.classes)
    return data, classes_of(data.classes, np.ones(data.classes.size))


class BinnedTraining(Training):
    """Trainings on samples that stay where they are.

    Parameters
    ----------
    model : MultivariateSVC
        Whose parameters count.
    measure : Measure
        What is trained for.
    places : LabelledData
        Where the samples are.
    seed : int
        Of the sample to start from.
    n_problems : int
        Binary problems among which the time is divided.
    """

    def __init__(
        self, model: MultivariateSVC, measure: Measure, places: LabelledData, seed: int, n_problems: int
    ) -> None:
        solver = BinnedCuttingPlane(seed=seed)
        settings: dict[str, Any] = {"solver": solver, "make_problem": make_binned_problem}
        nothing: Any = None  # neither samples nor scores are here
        super().__init__(model, measure, nothing, nothing, seed=seed, n_problems=n_problems, **settings)
        self.n_bins, self.places = int(model.score_bins or 0), places
        if model.checkpoint is not None:
            content = places.n_samples, places.n_weights, RemoteDesign(places, 0).fingerprint(), seed
            self.file = TrainingFile(model.checkpoint, digest(settings_of(model), *content))

    def fit_label(self, positive: int) -> tuple[Result, float]:
        """Solve the problem of one label against all others, and choose its threshold."""
        rows = RemoteDesign(self.places, positive)
        problem = make_binned_problem(rows, self.measure, self.n_bins, self.model.C, self.model.tol)
        result, state = self._run(problem, self._limits(n_runs=1), None, self.model.callback)
        threshold = self.model.threshold
        chosen = float(threshold) if not isinstance(threshold, str) else self._on_edges(problem, state.scores)
        rows.drop_scores()
        return portable(result, rows), chosen  # type: ignore[arg-type]

    def _on_edges(self, problem: BinnedProblem, scores: RemoteScores) -> float:
        """Return the best threshold between bins of the training scores, which are made finer around it."""
        edges = np.union1d(*problem.oracle.violate(scores).histogram.edges)
        for _ in range(_FINER_THRESHOLDS):
            threshold, bins, change = self._between_bins(problem.design, scores, edges)
            # The threshold is an edge again, so that it can only be replaced by a better one.
            edges = np.union1d(refine_edges(bins, change, self.n_bins), np.nextafter(threshold, np.inf))
        return self._between_bins(problem.design, scores, edges)[0]

    def _between_bins(
        self, rows: RemoteDesign, scores: RemoteScores, edges: Floats
    ) -> tuple[float, ClassScores, Floats]:
        """Return the best threshold between bins, the bins of all samples, and behind which of them labels change."""
        pos, neg = rows.histogram(scores, (edges, edges)).classes
        both = pos.merge(neg)
        filled = np.flatnonzero(both.counts)
        counts = np.concatenate([pos.counts[filled], neg.counts[filled]]).astype(np.float64)
        truth = np.repeat([True, False], filled.size)
        order = np.tile(np.arange(filled.size, dtype=np.float64), 2)
        fraction = None
        if isinstance(self.measure, RestrictsLabellings):
            total = float(rows.shape[0])
            fraction = self.measure.predicted_positives(float(rows.n_pos), total) / total
        kept = counts > 0.0
        between = threshold_for(self.measure, truth[kept], order[kept], counts[kept], fraction)
        first = int(np.floor(between)) + 1
        change = np.zeros(edges.size)
        if 0 < first < filled.size:
            change[filled[first - 1]] = 1.0
        bins = ClassScores(both.counts.astype(np.float64), both.low, both.low, both.high)
        return _score_between(first, both.low[filled], both.high[filled]), bins, change


def _score_between(first: int, low: Floats, high: Floats) -> float:
    """Return a score below bin ``first`` and above, or as large as any of, the bins before it.

    Examples
    --------
    >>> low, high = np.array([0.0, 2.0]), np.array([1.0, 5.0])
    >>> _score_between(1, low, high)
    1.5
    >>> _score_between(0, low, high) < 0.0, _score_between(2, low, high) >= 5.0
    (True, True)
    """
    if first <= 0:
        return float(np.nextafter(low[0], -np.inf))
    if first >= low.size:
        return float(high[-1])
    middle = 0.5 * float(high[first - 1]) + 0.5 * float(low[first])
    return middle if high[first - 1] <= middle < low[first] else float(high[first - 1])
