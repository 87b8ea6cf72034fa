"""Candidates that are used by name only, with weights that a user has on disk: TabICL and TabPFN."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from metricwise.estimators.selection.candidates.candidate import Candidate, Problem
from metricwise.estimators.selection.preprocessing import for_trees
from metricwise.estimators.selection.pretrained import PretrainedClassifier, find_weights


class Limits(NamedTuple):
    """The most samples, features and classes that a transformer was trained for."""

    n_samples: int
    n_features: int
    n_classes: int


LIMITS = {"tabicl": Limits(60_000, 500, 1000), "tabpfn": Limits(10_000, 500, 10)}


def make_pretrained(package: str, problem: Problem) -> Iterator[Candidate]:
    """Yield a transformer with its weights on disk.

    Raises
    ------
    ValueError
        If there are more samples, features or classes than it was trained for.
    AbsentPackageError
        If its package is not installed.
    FileNotFoundError
        If its weights are not on disk.
    """
    _refuse_beyond(LIMITS[package], package, problem)
    learner = PretrainedClassifier(
        package,
        find_weights(package),
        n_categorical=len(problem.profile.categorical),
        random_state=problem.seed,
    )
    yield Candidate(package, for_trees(problem.profile, learner), growth=1.5)


make_tabicl = partial(make_pretrained, "tabicl")
make_tabpfn = partial(make_pretrained, "tabpfn")


def _refuse_beyond(limits: Limits, package: str, problem: Problem) -> None:
    n_classes = problem.n_outputs if problem.is_multiclass else 2
    found = Limits(problem.profile.n_samples, problem.profile.n_features, n_classes)
    for kind, most, count in zip(("samples", "features", "classes"), limits, found, strict=True):
        if count > most:
            raise ValueError(
                f"candidate {package!r} is for up to {most:,} {kind}, but there are {count:,}: leave it out"
            )
