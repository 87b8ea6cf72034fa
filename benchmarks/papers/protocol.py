"""The protocol of the comparison: settings by holdout for every class, then training on the whole training part.

Order of steps (`study`):

1. for every class, train both methods on two thirds of the training part at all settings of their grids, and judge
   the models on the other third (`search`);
2. choose a setting for every class, method and column; while the most frequent choice of a method and column lies on
   the boundary of its grid, widen that grid and search the new settings;
3. train at the chosen settings on the whole training part and judge on the test part (`conclude`).

Classes with a single training positive have no holdout part: they take the most frequent choice of the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.datasets import Collection
from benchmarks.papers.judging import COLUMNS, Judged, judge, judge_on_holdout
from benchmarks.papers.methods import METHODS
from benchmarks.papers.settings import Grid, Setting, best_setting, most_frequent

Mask = NDArray[np.bool_]
Cell = tuple[str, str]  # a method and a column


@dataclass(frozen=True)
class Plan:
    """The extent of the search.

    Parameters
    ----------
    step : int
        Distance of neighbouring settings, in powers of two.
    n_widenings : int
        Maximum number of times that a grid is widen.
    seed : int
        Seed of the holdout parts.
    """

    step: int = 1
    n_widenings: int = 3
    seed: int = 0


class Job(NamedTuple):
    """The models to train for one class: settings of cells, and for the final training the thresholds of cells."""

    topic: int
    wanted: dict[Cell, list[Setting]]
    seed: int = 0
    thresholds: Mapping[Cell, float] = {}


@dataclass(frozen=True)
class Effort:
    """The cost of a method's models: processor seconds, their number, and how many did not converge."""

    seconds: float = 0.0
    fits: int = 0
    unfinished: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.seconds + other.seconds, self.fits + other.fits, self.unfinished + other.unfinished)


@dataclass
class Outcome:
    """The results of the models of one class, and the effort of every method."""

    topic: int
    judged: dict[Cell, dict[Setting, Judged]] = field(default_factory=dict)
    efforts: dict[str, Effort] = field(default_factory=dict)


Work = Callable[[Collection, Job], Outcome]
Apply = Callable[[Work, list[Job]], Iterable[Outcome]]


def holdout(positive: Mask, seed: int) -> Mask | None:
    """Return which samples are held out: a random third of either class, leaving a positive on both sides.

    None if there is a single positive.
    """
    random = np.random.default_rng(seed)
    held = np.zeros(positive.size, dtype=np.bool_)
    if np.count_nonzero(positive) < 2:
        return None
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        held[random.permutation(members)[: max(1, round(members.size / 3))]] = True
    return held


def search(collection: Collection, job: Job) -> Outcome:
    """Judge the settings wanted for a class on its holdout part; the outcome is empty if it has none."""
    positive = collection.labels[:, job.topic]
    held = holdout(positive, job.seed + job.topic)
    if held is None:
        return Outcome(job.topic)

    def judged(cell: Cell, scores: Any) -> Judged:
        return judge_on_holdout(cell[1], positive[held], scores)

    return _train(job, collection.X[~held], positive[~held], collection.X[held], judged, final=False)


def conclude(collection: Collection, job: Job) -> Outcome:
    """Judge the settings chosen for a class on the test part."""
    truth = collection.test_labels[:, job.topic]

    def judged(cell: Cell, scores: Any) -> Judged:
        return judge(cell[1], truth, scores, job.thresholds.get(cell, 0.0))

    positive = collection.labels[:, job.topic]
    return _train(job, collection.X, positive, collection.X_test, judged, final=True)


def _train(job: Job, X: Any, positive: Mask, X_new: Any, judged: Callable[[Cell, Any], Judged], final: bool) -> Outcome:
    outcome = Outcome(job.topic)
    for method in METHODS:
        started = time.process_time()
        wanted = {column: settings for (name, column), settings in job.wanted.items() if name == method.name}
        fits = unfinished = 0
        for fitted in method.fit(X, positive, wanted, final):
            scores = fitted.scores(X_new)
            for cell in [(method.name, column) for column in fitted.columns]:
                outcome.judged.setdefault(cell, {})[fitted.setting] = judged(cell, scores)
            fits, unfinished = fits + 1, unfinished + (not fitted.finished)
        outcome.efforts[method.name] = Effort(time.process_time() - started, fits, unfinished)
    return outcome


@dataclass
class Study:
    """All results of a collection."""

    topics: list[int]
    grids: dict[Cell, Grid]
    searched: dict[int, dict[Cell, dict[Setting, Judged]]]
    frequent: dict[Cell, Setting] = field(default_factory=dict)
    chosen: dict[int, dict[Cell, Setting]] = field(default_factory=dict)
    tested: dict[int, dict[Cell, Judged]] = field(default_factory=dict)
    efforts: dict[str, Effort] = field(default_factory=dict)

    def note(self, outcome: Outcome) -> None:
        """Add the effort of an outcome."""
        for method, effort in outcome.efforts.items():
            self.efforts[method] = self.efforts.get(method, Effort()) + effort


def study(collection: Collection, topics: list[int], plan: Plan, apply: Apply) -> Study:
    """Run the protocol; ``apply`` runs the jobs, in this process or in others."""
    cells = [(method.name, column) for method in METHODS for column in COLUMNS]
    grids = {(method.name, column): method.grid(plan.step) for method in METHODS for column in COLUMNS}
    found = Study(topics, grids, {topic: {} for topic in topics})
    wanted = {cell: grids[cell].settings() for cell in cells}
    for widening in range(plan.n_widenings + 1):
        _search_all(found, wanted, plan, apply)
        _choose(found)
        wider = {cell: found.grids[cell].widen(found.frequent[cell]) for cell in cells}
        if widening == plan.n_widenings or wider == found.grids:
            break
        wanted = {cell: sorted(set(wider[cell].settings()) - set(found.grids[cell].settings())) for cell in cells}
        found.grids = wider
    _conclude_all(found, apply)
    return found


def _search_all(found: Study, wanted: dict[Cell, list[Setting]], plan: Plan, apply: Apply) -> None:
    for outcome in apply(search, [Job(topic, wanted, plan.seed) for topic in found.topics]):
        found.note(outcome)
        for cell, judged in outcome.judged.items():
            found.searched[outcome.topic].setdefault(cell, {}).update(judged)


def _choose(found: Study) -> None:
    """Choose a setting for every class with a holdout part, and find the most frequent choices."""
    for topic, searched in found.searched.items():
        found.chosen[topic] = {
            cell: best_setting({setting: judged.value for setting, judged in results.items()})
            for cell, results in searched.items()
        }
    for cell in found.grids:
        found.frequent[cell] = most_frequent([choice[cell] for choice in found.chosen.values() if cell in choice])


def _conclude_all(found: Study, apply: Apply) -> None:
    jobs = []
    for topic, chosen in found.chosen.items():
        thresholds = {cell: found.searched[topic][cell][setting].threshold for cell, setting in chosen.items()}
        found.chosen[topic] = found.frequent | chosen
        wanted = {cell: [setting] for cell, setting in found.chosen[topic].items()}
        jobs.append(Job(topic, wanted, thresholds=thresholds))
    for outcome in apply(conclude, jobs):
        found.note(outcome)
        chosen = found.chosen[outcome.topic]
        found.tested[outcome.topic] = {cell: judged[chosen[cell]] for cell, judged in outcome.judged.items()}
