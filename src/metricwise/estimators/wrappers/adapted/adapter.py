"""The machine that adapts outputs of classifiers to a measure, with the lines that convert them to one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Mask
from metricwise.decisions.decision import ScoredSamples, Sigmoid
from metricwise.designs.matrix import append_columns
from metricwise.estimators.svm.multivariate_svc import MultivariateSVC
from metricwise.results import Result


@stored_fields(version=1)
@dataclass(frozen=True)
class Adapter:
    """A trained machine whose features are those of the samples, if it has any, and the log-odds of the inputs.

    Attributes
    ----------
    lines : dict of str to Sigmoid
        Convert the scores of each input to log-odds.
    machine : MultivariateSVC
        The machine, with a threshold of zero.
    """

    lines: dict[str, Sigmoid]
    machine: MultivariateSVC

    @classmethod
    def fit(
        cls, machine: MultivariateSVC, features: Any, scores: dict[str, Floats], truth: Mask, weights: Floats
    ) -> Self:
        """Train a machine on samples whose features and out-of-fold scores are given."""
        lines = {name: Sigmoid.fit(ScoredSamples(truth, values, weights)) for name, values in scores.items()}
        machine.fit(make_features(lines, features, scores), truth, weights)
        return cls(lines, machine)

    def scores(self, features: Any, scores: dict[str, Floats]) -> Floats:
        """Return the machine's scores of samples, given those of its inputs."""
        found: Floats = self.machine.decision_function(make_features(self.lines, features, scores))
        return found

    @property
    def input_weights(self) -> dict[str, float]:
        """Weights of the log-odds of each input."""
        of_inputs = self.machine.coef_[0, -len(self.lines) :]
        return dict(zip(self.lines, of_inputs.tolist(), strict=True))

    @property
    def result(self) -> Result:
        """The result of the training."""
        assert isinstance(self.machine.result_, Result)  # there is one for two classes
        return self.machine.result_


def make_features(lines: dict[str, Sigmoid], features: Any, scores: dict[str, Floats]) -> Any:
    """Return the features of samples, if there are any, with the log-odds of the inputs as further columns."""
    columns = np.column_stack([line.log_odds(scores[name]) for name, line in lines.items()])
    return columns if features is None else append_columns(features, columns)
