"""Candidates that are used by name only, with weights that a user has on disk: TabICL and TabPFN."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from metricwise.estimators.selection.candidates.candidate import Candidate, Problem
from metricwise.estimators.selection.preprocessing import for_trees
from metricwise.estimators.selection.pretrained import Limits, PretrainedClassifier, find_weights, read_limits


def make_pretrained(package: str, problem: Problem) -> Iterator[Candidate]:
    """Yield a transformer with its weights on disk.

    Raises
    ------
    ValueError
        If there are more samples, features or classes than it is for.
    AbsentPackageError
        If its package is not installed.
    FileNotFoundError
        If its weights are not on disk.
    """
    weights = find_weights(package)
    _refuse_beyond(read_limits(package, weights), package, problem)
    learner = PretrainedClassifier(
        package,
        weights,
        n_categorical=len(problem.profile.categorical),
        random_state=problem.seed,
    )
    yield Candidate(package, for_trees(problem.profile, learner), growth=1.5)


make_tabicl = partial(make_pretrained, "tabicl")
make_tabpfn = partial(make_pretrained, "tabpfn")


def _refuse_beyond(limits: Limits, package: str, problem: Problem) -> None:
    n_classes = problem.n_outputs if problem.is_multiclass else 2
    n_samples, without_gpu = problem.profile.n_samples, limits.n_samples_without_gpu
    counts = {
        "samples": (limits.n_samples, n_samples),
        "features": (limits.n_features, problem.profile.n_features),
        "classes": (limits.n_classes, n_classes),
    }
    for kind, (most, count) in counts.items():
        if count > most:
            raise ValueError(
                f"candidate {package!r} is for up to {most:,} {kind}, but there are {count:,}: leave it out"
            )
    if without_gpu is not None and n_samples > without_gpu:
        raise ValueError(
            f"candidate {package!r} is for up to {without_gpu:,} samples without a GPU, but there are {n_samples:,}: "
            "leave it out, or set TABPFN_ALLOW_CPU_LARGE_DATASET=1 before Python starts"
        )
