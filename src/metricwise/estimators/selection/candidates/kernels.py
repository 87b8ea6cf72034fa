"""Candidates with an rbf kernel."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from metricwise.estimators.selection.candidates.candidate import Candidate, Problem, Settings
from metricwise.estimators.selection.preprocessing import for_numbers

# Settings in the order of their expected value.
RBF: tuple[Settings, ...] = ({"C": 3.0}, {"C": 1.0, "class_weight": "balanced"})

_EXACT_KERNEL_SAMPLES = 4000  # up to which a kernel machine stores the exact kernel matrix
_LANDMARKS = 300


def make_rbf(problem: Problem) -> Iterator[Candidate]:
    """Yield kernel machines: exact ones for few samples, approximate ones for many."""
    profile = problem.profile
    if profile.is_wide:
        return
    if profile.n_samples <= _EXACT_KERNEL_SAMPLES:
        for settings in RBF:
            yield Candidate("rbf machine", for_numbers(profile, SVC(**settings)), settings, growth=2.0)
        return
    features = Nystroem(gamma=1.0 / profile.n_features, n_components=_LANDMARKS, random_state=problem.seed)
    learner = make_pipeline(features, LogisticRegression(C=10.0, max_iter=1000))
    yield Candidate("rbf machine", for_numbers(profile, learner), {"landmarks": _LANDMARKS})
