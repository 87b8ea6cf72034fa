"""One call of `fit`: outputs of the inputs, the machine that adapts them, and which of them all is kept.

N. Li, I. W. Tsang, Z.-H. Zhou, *Efficient optimization of performance measures by classifier adaptation*, IEEE
Transactions on Pattern Analysis and Machine Intelligence 35, 2013. The score is

    s(x) = w'x + sum_k b_k f_k(x),

with f_k the outputs of the inputs; w and b minimise 1/2 (|w|^2 + |b|^2) + C u R, the objective of the multivariate
support vector machine.

Order of steps (`Contest.run`):

1. score every sample by copies of the inputs that have not seen it (trained classifiers are taken as they are);
2. for every fold, train a machine on the others, and score the samples of the fold;
3. choose the threshold of the machine, and of each input, on the scores of held-out samples;
4. keep the machine if these make it likely that it is better than the best input, otherwise that input.

The machine of a fold learns from outputs of models that have not seen this fold either: each input is trained without
every pair of folds, too. Outputs of models that have seen the fold would give away its labels: such a model leans
against the labels of the samples that it was trained without, which a machine that also has their features finds out.
On a problem on which nothing reaches an F1 of 0.21, machines that were judged so seemed to reach 0.53.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from metricwise._sklearn import take_samples
from metricwise._typing import Floats, Indices, Mask
from metricwise.decisions.binary import Aim, Chosen, HeldOut, Probe, choose
from metricwise.decisions.intervals import resampled_interval
from metricwise.decisions.out_of_fold import (
    Scores,
    Splits,
    binary_scores,
    collected,
    draw_probe,
    fitted,
    gives_probabilities,
    make_splits,
    on_one_scale,
    with_probe,
)
from metricwise.estimators.svm.multivariate_svc import MultivariateSVC
from metricwise.estimators.wrappers.adapted.adapter import Adapter
from metricwise.estimators.wrappers.adapted.inputs import ADAPTED, Inputs
from metricwise.estimators.wrappers.cost_sensitive.rounds import CONFIDENCE, least_gain
from metricwise.measures.base import CountsTopSamples
from metricwise.results import DegenerateOptimumWarning, Status

_FEWEST_FOLDS = 3  # where inputs are trained without two of them


class Output(NamedTuple):
    """What an input says of the samples.

    Attributes
    ----------
    model : classifier
        The input, trained on all samples (or before).
    unseen : array
        Scores of all samples by models that have not seen them.
    without_fold : list of array
        For each split, scores of its training samples by models that have seen neither them nor its held-out samples.
    seen : list of array
        For each split, scores by its model of the samples of the probe that it was trained with.
    by_whole : array
        Scores of the samples of the probe by ``model``.
    """

    model: Any
    unseen: Floats
    without_fold: list[Floats]
    seen: list[Floats]
    by_whole: Floats


class Contender(NamedTuple):
    """The machine or an input, with its held-out scores and the threshold that they suggest.

    ``scores`` are those of samples held out and seen; ``by_whole`` of the latter by the model of all samples.
    """

    name: str
    held: HeldOut
    chosen: Chosen
    scores: Scores
    by_whole: Floats


class Outcome(NamedTuple):
    """What came out: inputs and machine of all samples, all contenders, and the name and threshold of the one kept."""

    models: Inputs
    adapter: Adapter
    contenders: list[Contender]
    kept: str
    chosen: Chosen


@dataclass
class Contest:
    """The parameters and samples of one call of `fit`.

    Attributes
    ----------
    inputs : dict
        Classifiers by name, to be trained or trained already (``prefit``).
    X, features : samples
        As the inputs take them, and as the machine does; None if it has no features but the inputs.
    y, positive, weights
        Labels, the positive one, and weights of the samples or None.
    machine : MultivariateSVC
        To be trained, with a threshold of zero.
    aim : Aim
        What thresholds are chosen for.
    cv, seed, n_jobs, prefit
        As in `AdaptedSVC`.
    """

    inputs: Inputs
    X: Any
    features: Any
    y: NDArray[Any]
    positive: Any
    weights: Floats | None
    machine: MultivariateSVC
    aim: Aim
    cv: Any
    seed: int
    n_jobs: int | None
    prefit: bool

    def __post_init__(self) -> None:
        self.truth: Mask = self.y == self.positive
        self.codes = self.truth.astype(np.int64)
        self.sample_weights_of: Floats = np.ones(self.y.size) if self.weights is None else self.weights
        self.splits = self._checked_splits()
        n_folds = len(self.splits)
        self.pairs = list(combinations(range(n_folds), 2)) if n_folds >= _FEWEST_FOLDS else []
        self.probe = draw_probe(self.codes, self.seed)
        self.shown: list[Indices] = [seen for *_, seen in with_probe(self.splits, self.probe)]

    def _checked_splits(self) -> Splits:
        splits = make_splits(self.cv, self.X, self.codes, self.seed, needed=True)
        if len(splits) < 2:
            raise ValueError(
                f"AdaptedSVC needs folds with samples of both classes to hold out, but there are {len(splits)}: set cv "
                f"to {_FEWEST_FOLDS} or more, and collect more samples of a class that has fewer than two distinct ones"
            )
        if not np.array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(self.y.size)):
            raise ValueError(
                "cv must hold out every sample exactly once, as KFold does: each needs a score out of fold"
            )
        return splits

    def run(self) -> Outcome:
        """Train, compare, and keep the best."""
        outputs = self._outputs()
        contenders = [self._input(name, one) for name, one in outputs.items()]
        everything = {name: one.unseen for name, one in outputs.items()}
        adapter = self._adapter(np.arange(self.y.size), everything, of_fold=False)
        kept = best = max(contenders, key=lambda one: one.chosen.expected)
        if self.prefit or self.pairs:
            adapted = self._adapted(adapter, outputs)
            contenders.insert(0, adapted)
            if adapter.result.status is not Status.DEGENERATE and self._is_better(best, adapted):
                kept = adapted
        else:
            _warn_of_few_folds(best.name)
        probe = Probe(kept.scores.seen, kept.by_whole, self.sample_weights_of[self.probe], self.truth[self.probe])
        models = {name: one.model for name, one in outputs.items()}
        return Outcome(models, adapter, contenders, kept.name, kept.chosen.for_whole(probe))

    # ---------------------------------------------------------------------------------------------------------- inputs

    def _outputs(self) -> dict[str, Output]:
        if self.prefit:
            return {name: self._as_it_is(model) for name, model in self.inputs.items()}
        trainings = list(self._trainings())
        jobs = [(name, training) for name in self.inputs for training in trainings]
        done = Parallel(n_jobs=self.n_jobs)(delayed(self._trained)(name, *training) for name, training in jobs)
        each = len(trainings)
        return {name: self._output(done[k * each : (k + 1) * each]) for k, name in enumerate(self.inputs)}

    def _as_it_is(self, model: Any) -> Output:
        """Return the output of a classifier that has seen none of the samples."""
        scores = binary_scores(model, self.X, self.positive)
        others = [scores[train] for train, _ in self.splits]
        return Output(model, scores, others, [scores[rows] for rows in self.shown], scores[self.probe])

    def _trainings(self) -> Iterator[tuple[Indices, list[Indices]]]:
        """Yield training samples of an input with those to score: all samples, all but one fold, all but two folds."""
        yield np.arange(self.y.size), [self.probe]
        for (train, test), shown in zip(self.splits, self.shown, strict=True):
            yield train, [test, shown]
        for one, other in self.pairs:
            (train, first), (others, second) = self.splits[one], self.splits[other]
            yield np.intersect1d(train, others), [first, second]

    def _trained(self, name: str, train: Indices, asked: list[Indices]) -> tuple[Any, list[Floats]]:
        """Return an input trained on some samples, if that is all of them, and its scores of the given samples."""
        part = None if self.weights is None else self.weights[train]
        model = fitted(self.inputs[name], take_samples(self.X, train), self.y[train], part)
        scores = [binary_scores(model, take_samples(self.X, rows), self.positive) for rows in asked]
        return model if train.size == self.y.size else None, scores

    def _output(self, done: list[tuple[Any, list[Floats]]]) -> Output:
        """Put together what the models of one input say, in the order of `_trainings`."""
        n_folds = len(self.splits)
        (model, (by_whole,)), of_folds, of_pairs = done[0], done[1 : n_folds + 1], done[n_folds + 1 :]
        unseen = np.empty(self.y.size)
        without = np.full((n_folds, self.y.size), np.nan)
        for (_, test), (_, (scores, _)) in zip(self.splits, of_folds, strict=True):
            unseen[test] = scores
        for (one, other), (_, (first, second)) in zip(self.pairs, of_pairs, strict=True):
            without[other, self.splits[one][1]] = first
            without[one, self.splits[other][1]] = second
        others = [without[k, train] for k, (train, _) in enumerate(self.splits)]
        return Output(model, unseen, others, [seen for _, (_, seen) in of_folds], by_whole)

    def _input(self, name: str, one: Output) -> Contender:
        pairs = [(one.unseen[test], seen) for (_, test), seen in zip(self.splits, one.seen, strict=True)]
        return self._contender(name, pairs, one.by_whole, gives_probabilities(one.model))

    # --------------------------------------------------------------------------------------------------------- machine

    def _adapted(self, adapter: Adapter, outputs: dict[str, Output]) -> Contender:
        """Return the machine of all samples with what machines of folds say of the samples that they have not seen."""
        pairs = []
        for k, (train, test) in enumerate(self.splits):
            part = self._adapter(train, {name: one.without_fold[k] for name, one in outputs.items()}, of_fold=True)
            unseen = part.scores(self._features(test), {name: one.unseen[test] for name, one in outputs.items()})
            shown = part.scores(self._features(self.shown[k]), {name: one.seen[k] for name, one in outputs.items()})
            pairs.append((unseen, shown))
        by_whole = adapter.scores(self._features(self.probe), {name: one.by_whole for name, one in outputs.items()})
        return self._contender(ADAPTED, pairs, by_whole, False)

    def _features(self, rows: Indices) -> Any:
        return None if self.features is None else self.features[rows]

    def _adapter(self, rows: Indices, scores: dict[str, Floats], of_fold: bool) -> Adapter:
        """Return a machine trained on some samples, whose scores by the inputs are given."""
        machine = clone(self.machine)
        measure = self.aim.measure
        if of_fold and isinstance(measure, CountsTopSamples):  # a fold has fewer samples to choose the top k from
            machine.set_params(measure=measure.relative_to(float(self.sample_weights_of[self.truth].sum())))
        with warnings.catch_warnings():
            # A degenerate machine is not kept; of slow convergence the machine of all samples tells.
            warnings.simplefilter("ignore", DegenerateOptimumWarning)
            if of_fold:
                warnings.simplefilter("ignore", ConvergenceWarning)
            return Adapter.trained(
                machine, self._features(rows), scores, self.truth[rows], self.sample_weights_of[rows]
            )

    # ---------------------------------------------------------------------------------------------------------- choice

    def _contender(
        self, name: str, pairs: list[tuple[Floats, Floats]], by_whole: Floats, probabilities: bool
    ) -> Contender:
        found = collected(self.splits, self.probe, pairs)
        if self.aim.table is None:
            moved = on_one_scale(self.cv, self.splits, found.unseen, self.codes[found.rows])
            found = found._replace(unseen=moved)
        held = HeldOut(self.truth[found.rows], found.unseen, self.sample_weights_of[found.rows])
        return Contender(name, held, choose(self.aim, "auto", held, probabilities, self.seed), found, by_whole)

    def _is_better(self, best: Contender, other: Contender) -> bool:
        """Whether another is better than the best input on held-out samples, and these make it likely on new ones."""
        if other.chosen.expected <= best.chosen.expected:
            return False
        if self.aim.table is not None:
            return least_gain(self.aim.table, best, other) > 0.0
        measure, truth = self.aim.measure, best.held.positive

        def gain(weights: Floats) -> float:
            values = [float(measure.score(truth, one.held.scores, weights)) for one in (best, other)]
            return values[1] - values[0]

        return resampled_interval(gain, best.held.weights, CONFIDENCE, self.seed)[0] > 0.0


def _warn_of_few_folds(kept: str) -> None:
    warnings.warn(
        "two folds are too few to judge the adapted machine on samples of which its inputs know nothing: the best "
        f"input, {kept!r}, is kept. Set cv to {_FEWEST_FOLDS} or more, and collect more samples of a class that has "
        "fewer",
        UserWarning,
        stacklevel=4,
    )
