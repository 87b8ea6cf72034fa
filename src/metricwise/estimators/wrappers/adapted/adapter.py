"""The machine that adapts outputs of classifiers to a measure, with the lines that convert them to one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from metricwise._state import stored_fields
from metricwise._typing import Floats, Mask
from metricwise.decisions.decision import ScoredSamples, Sigmoid
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
        machine.fit(beside(features, log_odds(lines, scores)), truth, weights)
        return cls(lines, machine)

    def scores(self, features: Any, scores: dict[str, Floats]) -> Floats:
        """Return the machine's scores of samples, given those of its inputs."""
        found: Floats = self.machine.decision_function(beside(features, log_odds(self.lines, scores)))
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


def log_odds(lines: dict[str, Sigmoid], scores: dict[str, Floats]) -> Floats:
    """Return the log-odds of the inputs, one per column."""
    return np.column_stack([line.log_odds(scores[name]) for name, line in lines.items()])


def beside(features: Any, columns: Floats) -> Any:
    """Return features with columns beside them, sparse if the features are; without features, the columns.

    Examples
    --------
    >>> import numpy as np
    >>> beside(np.array([[1.0, 2.0]]), np.array([[3.0]]))
    array([[1., 2., 3.]])
    """
    if features is None:
        return columns
    if sparse.issparse(features):
        return sparse.hstack([features, columns], format="csr")
    return np.hstack([features, columns])
