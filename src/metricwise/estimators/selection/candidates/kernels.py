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

_EXACT_KERNEL_SAMPLES = 4000  # up to which a kernel machine of two classes stores the exact kernel matrix
_FEWEST_OF_MANY = 4000  # samples that an approximate kernel machine is trained on where there are many
_LANDMARKS, _LANDMARKS_OF_CLASSES = 300, 600


def make_rbf(problem: Problem) -> Iterator[Candidate]:
    """Yield kernel machines: exact ones for few samples of two classes, otherwise approximate ones."""
    profile = problem.profile
    if profile.is_wide:
        return
    if problem.is_binary and profile.n_samples <= _EXACT_KERNEL_SAMPLES:
        for settings in RBF:
            yield Candidate("rbf machine", for_numbers(profile, SVC(**settings)), settings, growth=2.0)
        return
    n_landmarks, C = (_LANDMARKS_OF_CLASSES, 30.0) if problem.is_multiclass else (_LANDMARKS, 10.0)
    features = Nystroem(gamma=1.0 / profile.n_features, n_components=n_landmarks, random_state=problem.seed)
    learner = make_pipeline(features, LogisticRegression(C=C, max_iter=1000))
    # The features, stored twice while they are made, take a third of the memory of all samples, unless these are few.
    most_samples = max(_FEWEST_OF_MANY, profile.n_values // (6 * n_landmarks)) if profile.is_large else None
    settings = {"landmarks": n_landmarks, "C": C}
    yield Candidate("rbf machine", for_numbers(profile, learner), settings, most_samples=most_samples)
