"""Repeated samples and natural copies: which are which, and that guarantees count repeated samples once."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from metricwise import PlugInClassifier, TriageClassifier, UnreachableGuaranteeError
from metricwise.decisions.copies import identify_samples
from metricwise.designs import make_design

RANDOM = np.random.default_rng(0)


def are_repeated(X, y):
    """Return whether copies were recognised as repeated samples; they are natural if all samples differ."""
    numbers = identify_samples(make_design(X), y, seed=0)
    return np.unique(numbers).size < len(y)


@pytest.mark.parametrize("n_distinct", [[600, 60], [600, 60, 60], [600, 100, 25]])
def test_classes_balanced_by_repetition_are_repeated(n_distinct):
    """The repeated class is then as large as the majority, or one of several that are repeated."""
    X = np.vstack([np.repeat(RANDOM.normal(size=(n, 2)), 600 // n, axis=0) for n in n_distinct])
    assert are_repeated(X, np.repeat(np.arange(len(n_distinct)), 600))


def test_copies_with_other_labels_are_natural():
    number = RANDOM.integers(0, 300, 900)
    y = RANDOM.random(900) < 0.2 + 0.6 * (number % 2)
    X = RANDOM.normal(size=(300, 2))[number]
    assert not are_repeated(X, y)
    assert are_repeated(X, number % 3 == 0)  # copies agree, as those of a bootstrap sample do


@pytest.mark.parametrize("wrapper", [PlugInClassifier, TriageClassifier])
def test_guarantees_are_tested_on_each_repeated_sample_once(wrapper):
    """Ten copies are no ten observations: tests that counted them broke 11 of 100 guarantees."""
    X = np.vstack([np.repeat(RANDOM.normal(1.0, 1.0, size=(60, 2)), 10, axis=0), RANDOM.normal(size=(600, 2))])
    model = wrapper(LogisticRegression(), subject_to="precision>=0.99", confidence=0.9)
    with pytest.raises(UnreachableGuaranteeError, match=r"the 330 samples \(30 positive\)"):
        model.fit(X, np.repeat([1, 0], 600))
