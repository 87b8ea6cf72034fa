"""One call of `fit`: models, held-out scores, and what is chosen from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from metricwise._sklearn import count_samples, take_samples
from metricwise._typing import Floats, Indices, Labels
from metricwise.decisions.binary import Aim, Chosen, HeldOut, Probe, choose, described, shown, table_of
from metricwise.decisions.guarantees import promised_threshold
from metricwise.decisions.intervals import TableEvidence
from metricwise.decisions.multiclass import ChosenSet, choose_offsets, choose_thresholds
from metricwise.decisions.out_of_fold import (
    Scores,
    Splits,
    binary_scores,
    class_scores,
    draw_probe,
    fitted,
    fitted_label,
    gives_probabilities,
    make_splits,
    on_one_scale,
    score_out_of_fold,
)
from metricwise.decisions.ranking_posterior import ScoreEvidence
from metricwise.decisions.threshold_choice import ThresholdChoice

Evidence = TableEvidence | ScoreEvidence


class Binary(NamedTuple):
    """A model with its threshold."""

    model: Any
    chosen: Chosen
    held: Evidence | None


class Several(NamedTuple):
    """A model, or one a label, with offsets or thresholds."""

    model: Any
    chosen: ChosenSet


class OfLabel(NamedTuple):
    """The model of a label, scores of samples by models that have not seen them, and of samples that all have seen."""

    model: Any
    held: Scores
    probe: Probe


@dataclass
class Fitting:
    """The parameters and samples of one call of `fit`.

    Attributes
    ----------
    estimator : classifier
        To be trained, or trained already (``prefit``).
    X : samples
        Those that have weight.
    weights : array or None
        Their weights.
    cv, seed, n_jobs, prefit, strategy
        As in `PlugInClassifier`.
    """

    estimator: Any
    X: Any
    weights: Floats | None
    cv: Any
    seed: int
    n_jobs: int | None
    prefit: bool
    strategy: str

    @property
    def probabilities(self) -> bool:
        """Whether scores are log-odds."""
        return gives_probabilities(self.estimator)

    @property
    def sample_weights_of(self) -> Floats:
        """The weight of every sample."""
        return np.ones(count_samples(self.X)) if self.weights is None else self.weights

    # ----------------------------------------------------------------------------------------------------- two classes

    def binary(self, aim: Aim, y: Labels, positive: Any, confidence: float | None) -> Binary:
        """Train a classifier of two classes and choose its threshold."""
        gives_probabilities(self.estimator)
        if aim.constraints and confidence is not None:
            return self._promise(aim, y, positive, confidence)
        truth = y == positive
        score = partial(binary_scores, positive=positive)
        found, model = self._scores(y, truth, score, one_scale=aim.table is None)
        held = HeldOut(truth[found.rows], found.unseen, self.sample_weights_of[found.rows])
        chosen = choose(aim, self.strategy, held, self.probabilities, self.seed)
        evidence = _evidence(aim, chosen, held)
        if found.probe.size:
            chosen = chosen.for_whole(self.probe(found, truth, self.scored(model, found.probe, score)))
        return Binary(model, chosen, evidence)

    def probe(self, found: Scores, truth: Labels, by_whole: Floats) -> Probe:
        """Return scores of samples that models of folds and that of all samples have seen."""
        return Probe(found.seen, by_whole, self.sample_weights_of[found.probe], truth[found.probe])

    def scored(self, model: Any, rows: Indices, score: Callable[[Any, Any], Floats]) -> Floats:
        """Return a model's scores of some samples."""
        return score(model, self._rows(rows))

    def _rows(self, numbers: Indices) -> Any:
        return take_samples(self.X, numbers)

    def _scores(
        self,
        y: Labels,
        strata: Labels,
        score: Callable[[Any, Any], Floats],
        probed: bool = True,
        one_scale: bool = False,
    ) -> tuple[Scores, Any]:
        """Return out-of-fold scores, if there are folds, and the model of all samples."""
        everything, none = np.arange(len(y)), np.zeros(0, dtype=np.int64)
        if self.prefit:
            return Scores(everything, score(self.estimator, self.X), none, np.zeros(0)), self.estimator
        codes = np.unique(strata, return_inverse=True)[1]
        splits = make_splits(self.cv, self.X, codes, self.seed)
        model = fitted(self.estimator, self.X, y, self.weights)
        if not splits:
            return Scores(everything, score(model, self.X), none, np.zeros(0)), model
        probe = draw_probe(codes, self.seed) if probed else none
        found = score_out_of_fold(partial(self._score_fold, y, score), splits, probe, self.n_jobs)
        if one_scale:
            found = found._replace(unseen=on_one_scale(self.cv, splits, found.unseen, codes[found.rows]))
        return found, model

    def _score_fold(
        self, y: Labels, score: Callable[[Any, Any], Floats], train: Indices, test: Indices, seen: Indices
    ) -> tuple[Floats, Floats]:
        """Train a model of a fold; return its scores of held-out samples and of some that it has seen."""
        part = None if self.weights is None else self.weights[train]
        trained = fitted(self.estimator, self._rows(train), y[train], part)
        unseen = self.scored(trained, test, score)
        return unseen, self.scored(trained, seen, score) if seen.size else unseen[:0]

    def _promise(self, aim: Aim, y: Labels, positive: Any, confidence: float) -> Binary:
        """Train, and put thresholds in order, on one half of the samples; test them on the other half."""
        assert aim.table is not None
        weights = self.sample_weights_of
        if not np.all(weights == weights[0]):
            raise ValueError(
                "a promise counts samples, so that sample_weight must be the same for all of them (or zero): repeat "
                "samples, drop sample_weight, or set confidence=None to keep constraints on held-out samples without a "
                "promise"
            )
        if self.cv is not None and not isinstance(self.cv, Integral) and not hasattr(self.cv, "split"):
            raise ValueError(
                "a promise keeps half of the samples from training, so that given splits of all samples do not fit: "
                "set cv to a number or a splitter"
            )
        halves = make_splits(2, self.X, np.unique(y, return_inverse=True)[1], self.seed, needed=True)
        if not halves:
            raise ValueError(
                "a promise needs samples of both classes for training and for testing, but a class has fewer than two "
                "distinct samples: collect more samples"
            )
        first, second = halves[0]
        part = Fitting(
            self.estimator,
            take_samples(self.X, first),
            None,
            self.cv,
            self.seed,
            self.n_jobs,
            self.prefit,
            self.strategy,
        )
        found, model = part._scores(y[first], y[first] == positive, partial(binary_scores, positive=positive))
        ordering = y[first][found.rows] == positive, found.unseen
        testing = y[second] == positive, binary_scores(model, take_samples(self.X, second), positive)
        scale = partial(shown, probabilities=self.probabilities)
        promise = promised_threshold(aim.table, aim.constraints, confidence, ordering, testing, scale)
        held = HeldOut(*testing, np.ones(second.size))
        chosen = described(aim, ThresholdChoice(promise.threshold, promise.kept_by), held)
        return Binary(model, chosen, _evidence(aim, chosen, held))

    # --------------------------------------------------------------------------------------- several classes or labels

    def classes(self, measure: Any, y: Labels, classes: Labels) -> Several:
        """Train a classifier of several classes and choose offsets of their scores."""
        gives_probabilities(self.estimator)
        found, model = self._scores(y, y, partial(class_scores, classes=classes), probed=False)
        codes = np.searchsorted(classes, y[found.rows])
        weights = self.sample_weights_of[found.rows]
        return Several(model, choose_offsets(measure.of_tables, self.strategy, codes, found.unseen, weights, self.seed))

    def labels(self, measure: Any, labels: Labels) -> Several:
        """Train a classifier for each label and choose the labels' thresholds."""
        if self.prefit:
            raise ValueError(
                "prefit=True is for one classifier of two or more classes; for several labels a classifier is "
                "trained for each, so set prefit=False"
            )
        probabilities = gives_probabilities(self.estimator)
        codes = np.zeros(len(labels), dtype=np.int64)
        splits, probe = make_splits(self.cv, self.X, codes, self.seed), draw_probe(codes, self.seed)
        found = Parallel(n_jobs=self.n_jobs)(delayed(self._label)(column, splits, probe) for column in labels.T)
        rows = found[0].held.rows
        scores = np.column_stack([one.held.unseen for one in found])
        weights, truth = self.sample_weights_of[rows], labels[rows] == 1
        probes = [one.probe for one in found] if splits else None
        chosen = choose_thresholds(measure, self.strategy, truth, scores, weights, probabilities, self.seed, probes)
        return Several([one.model for one in found], chosen)

    def _label(self, column: Labels, splits: Splits, probe: Indices) -> OfLabel:
        """Train models of one label."""
        everything, none = np.arange(len(column)), np.zeros(0, dtype=np.int64)
        model = fitted_label(self.estimator, self.X, column, everything, self.weights)
        if not splits:
            held = Scores(everything, binary_scores(model, self.X, 1), none, np.zeros(0))
            return OfLabel(model, held, self.probe(held, column == 1, np.zeros(0)))

        def scored(train: Indices, test: Indices, seen: Indices) -> tuple[Floats, Floats]:
            trained = fitted_label(self.estimator, self.X, column, train, self.weights)
            return binary_scores(trained, self._rows(test), 1), binary_scores(trained, self._rows(seen), 1)

        held = score_out_of_fold(scored, splits, probe, None)
        by_whole = binary_scores(model, self._rows(held.probe), 1)
        return OfLabel(model, held, self.probe(held, column == 1, by_whole))


def _evidence(aim: Aim, chosen: Chosen, held: HeldOut) -> Evidence | None:
    return chosen.evidence if aim.table is None else TableEvidence(aim.table, (table_of(chosen.threshold, held),))
