"""Adapt a trained model to other class priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from metricwise._sklearn import count_samples
from metricwise._typing import Floats, Labels
from metricwise.clusters import is_dask
from metricwise.decisions.adaptation import adapt_decision, estimate_prior, make_estimate
from metricwise.decisions.adaptation_data import AdaptationData
from metricwise.decisions.binary import ThresholdRule, wants_guarantee
from metricwise.decisions.prior_shift import PriorEstimate
from metricwise.decisions.task import Task
from metricwise.estimators.selection.classifier import MetricClassifier
from metricwise.estimators.wrappers.plug_in import PlugInClassifier
from metricwise.measures.checks import as_real, shorten

_ROUNDING = 1e-6


def adapt_prior(model: Any, X_new: Any = None, prior: Any = None) -> Any:
    """Return a copy of a trained model for other class priors (prior shift).

    The class priors differ between training and use: after subsampling, in another season, or in
    another clinic. If samples of each class look the same as before, the model needs no new labels. The prior is given,
    or estimated from unlabelled samples by expectation maximisation [1]_. Probabilities are calibrated out of fold and
    multiplied by the ratio of the new prior to that of training; thresholds are chosen again for the measure.

    Parameters
    ----------
    model : PlugInClassifier, CostSensitiveClassifier or MetricClassifier
        The trained model, of two or more classes. It stays as it is.
    X_new : samples, optional
        Unlabelled samples with the new prior, of the kind that the model was trained on. Give these or ``prior``.
    prior : float, array of shape (n_classes,) or dict, optional
        The new prior: of two classes the share of the positive one, or else a share for each of ``classes_``, or for
        each class by its label. Shares are above zero and sum to one.

    Returns
    -------
    model
        A copy that shares the learners of the given model. ``prior_`` has the new prior with an interval of 90 %
        (``estimate``, ``interval``) and that of training. `predict_proba` is calibrated for the new prior, and
        ``threshold_`` is such a probability; a threshold that was assigned stays the same probability.
        ``expected_score_`` is for the new prior, and its interval allows for that of the prior and, if the model was
        trained with ``groups``, for new groups. The interval of the prior takes ``X_new`` as independent samples.

    Raises
    ------
    UndeterminedPriorError
        If the samples do not determine the prior: they are too few, or the learner does not separate the classes.
    ValueError
        If the threshold has a guarantee, which was tested for the prior of training.

    Warns
    -----
    UserWarning
        If the scores of the new samples are not those of a mixture of the classes of training, so that more has changed
        than the prior.

    References
    ----------
    .. [1] M. Saerens, P. Latinne and C. Decaestecker (2002). Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure. *Neural Computation* 14, 21-41.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise import PlugInClassifier, adapt_prior
    >>> random = np.random.default_rng(0)
    >>> y = random.random(4000) < 0.1
    >>> X = random.normal(size=(4000, 1)) + 2.0 * y[:, None]
    >>> model = PlugInClassifier(LogisticRegression()).fit(X, y)
    >>> X_new = random.normal(size=(2000, 1)) + 2.0 * (random.random((2000, 1)) < 0.4)
    >>> adapted = adapt_prior(model, X_new)
    >>> low, high = adapted.prior_.interval
    >>> low < 0.4 < high < 0.5
    True
    >>> adapt_prior(model, prior=0.4).prior_.estimate
    0.4
    """
    data = _find_data(model)
    if (X_new is None) == (prior is None):
        raise ValueError(
            "adapt_prior needs either X_new, unlabelled samples to estimate the prior from, or the prior itself; got "
            + ("neither" if prior is None else "both")
        )
    task = model._task
    if prior is not None:
        shares = _read_prior(task, prior)
        found = make_estimate(task, shares, (shares, shares), data.prior)
    else:
        found = _estimate(model, data, X_new)
    return model._copy_with(adapt_decision(task, model._decision, _get_rule(model), found))


def _find_data(model: Any) -> AdaptationData:
    """Return the stored out-of-fold samples of a model; raise if it cannot be adapted."""
    if not isinstance(model, PlugInClassifier | MetricClassifier):
        raise TypeError(
            "adapt_prior is for a trained PlugInClassifier, CostSensitiveClassifier or MetricClassifier, got "
            f"{type(model).__name__}: wrap its learner, as in PlugInClassifier(LogisticRegression()), and train that"
        )
    check_is_fitted(model, "measure_")
    if model._task.is_multilabel:
        raise ValueError("adapt_prior is for classes, and the model is multilabel: train one model per label")
    if not model._task.adapts_to_priors:
        raise ValueError(
            "adapt_prior chooses a threshold again, and the model decides by what each sample earns or costs: train "
            "it with sample_weight that gives the classes their new prior"
        )
    if not model._decision.adapts_to_priors:
        raise ValueError(
            "adapt_prior chooses offsets again, and the model decides by a matrix of gains, chosen for the prior of "
            "training: train it with threshold='auto', or with sample_weight that gives the classes their new prior"
        )
    if getattr(model, "_group_rule", None) is not None:
        raise ValueError(
            "adapt_prior is for one prior, and the constraints of the model are by group, each of which has its own: "
            "train without them, or on samples with the new prior"
        )
    if wants_guarantee(model._task.aim(_get_rule(model)), getattr(model, "confidence", None)):
        raise ValueError(
            "the constraints of the model are guaranteed for the prior that they were tested with, and for no other: "
            "test them on labelled samples with the new prior (prefit=True), or train with confidence=None"
        )
    data: AdaptationData | None = model._decision.adaptation
    if data is None:
        raise ValueError(
            "the model holds no out-of-fold samples of every class to be adapted by: it was trained by an earlier "
            "version of metricwise, or its folds leave out a class; train it again"
        )
    return data


def _get_rule(model: Any) -> ThresholdRule:
    strategy = model._strategy() if isinstance(model, PlugInClassifier) else "auto"
    return ThresholdRule(strategy, getattr(model, "subject_to", None))


def _estimate(model: Any, data: AdaptationData, X_new: Any) -> PriorEstimate:
    if is_dask(X_new):
        raise TypeError("X_new is a Dask collection, and the prior is estimated in memory: pass X_new.compute()")
    if count_samples(X_new) == 0:
        raise ValueError("X_new has no samples to estimate the prior from: pass some, or give prior=")
    return estimate_prior(model._task, data, model._scores(X_new))


def _read_prior(task: Task, given: Any) -> Floats:
    """Return the class priors, the negative and the positive one of two; ValueError if they are none."""
    classes = task.classes
    if isinstance(given, Mapping):
        values = _read_mapping(given, classes)
    else:
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"prior must be a number, or a share for each class, got {shorten(given)}") from error
    if values.ndim == 0:
        if not task.is_binary:
            raise ValueError(
                f"prior must have a share for each of the {classes.size} classes {classes.tolist()}, got {given!r}"
            )
        return _check_shares(np.array([1.0 - values, values]), given)
    if values.shape != (classes.size,):
        raise ValueError(f"prior must have a share for each of the classes {classes.tolist()}, got {given!r}")
    shares = _check_shares(values, given)
    return shares[:: 1 if task.points_up else -1] if task.is_binary else shares  # type: ignore[attr-defined]


def _read_mapping(given: Mapping[Any, Any], classes: Labels) -> Floats:
    known = classes.tolist()
    missing, unknown = [one for one in known if one not in given], [one for one in given if one not in known]
    if missing or unknown:
        problem = f"lacks {missing}" if missing else f"has {unknown}, which are no classes of the model"
        raise ValueError(f"prior must have a share for each of the classes {known}; it {problem}")
    return np.array([as_real(given[one], f"prior of {one!r}") for one in known])


def _check_shares(shares: Floats, given: Any) -> Floats:
    if not np.all((shares > 0.0) & (shares < 1.0)):
        raise ValueError(f"prior must lie between 0 and 1, both excluded, got {given!r}; write 10 percent as 0.1")
    if abs(shares.sum() - 1.0) > _ROUNDING:
        raise ValueError(f"the shares of prior must sum to 1, got {given!r}, which sums to {shares.sum():.6g}")
    return np.asarray(shares / shares.sum())
