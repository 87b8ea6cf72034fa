"""The report: one HTML file that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from metricwise._sklearn import count_samples
from metricwise.io.atomic import atomic_file
from metricwise.measures import Accuracy, Measure, get_measure
from metricwise.measures.titles import title_of
from metricwise.reporting import overview, reviews, sections, watching
from metricwise.reporting.evaluation import evaluate, evaluate_constant, resolve_measure, threshold_measure
from metricwise.reporting.explorer import ExplorerProblem, explorer_data
from metricwise.reporting.group_tables import drop_weightless_groups, find_columns_by, groups_section
from metricwise.reporting.importance import ImportanceSettings, compute_importance
from metricwise.reporting.model_card import CardSource, card_section, make_card, validate_card
from metricwise.reporting.models import measure_of, name_of
from metricwise.reporting.money import describe_earnings, evaluate_earnings, has_amounts_per_sample
from metricwise.reporting.page_document import make_document
from metricwise.reporting.predictions import Predictions, collect_predictions, drop_weightless
from metricwise.reporting.steps import MOST_STEPS, make_steps

_MOST_PROBLEMS = 12  # that the explorer includes
_FEWEST_STEPS = 150


@dataclass(frozen=True)
class Report:
    """A report as one self-contained HTML page.

    Parameters
    ----------
    html : str
        The page.
    value : float
        The measure on the samples given.
    interval : pair of float
        Its interval.
    card : dict
        The model card: what the page's last section shows, as data that JSON can hold.

    Examples
    --------
    >>> from metricwise import Report
    >>> Report("<!doctype html>", value=0.8, interval=(0.7, 0.9), card={})
    Report(value=0.8, interval=(0.7, 0.9))
    """

    html: str = field(repr=False)
    value: float
    interval: tuple[float, float]
    card: dict[str, Any] = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : path
            Path of the file, in an existing folder.

        Returns
        -------
        Path
            Of the file.
        """
        target = Path(path)
        try:
            with atomic_file(target, sequential=True) as file:
                file.write(self.html.encode())
        except OSError as error:
            raise OSError(
                f"report {str(target)!r} cannot be written ({error}): give a file in a folder that exists"
            ) from error
        return target

    def _repr_html_(self) -> str:
        """Show the page in a notebook, isolated from the notebook's style."""
        return f'<iframe title="report" srcdoc="{escape(self.html)}" style="width:100%;height:48rem;border:0"></iframe>'


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    measure: str | Measure | None = None,
    samples: str = "the given samples",
    compare: Mapping[str, Any] | None = None,
    feature_names: Any = None,
    label_names: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    by: Any = None,
    confidence: float = 0.9,
    card: Mapping[str, Any] | None = None,
    importance_seconds: float = 5.0,
    random_state: int = 0,
) -> Report:
    """Report what a model does, on one self-contained HTML page with an explorer of its threshold.

    Parameters
    ----------
    model : fitted classifier
        With ``predict_proba`` or ``decision_function``: of this library, of scikit-learn, a pipeline or a search.
    X : samples
        Samples that the model is evaluated on; for an honest estimate, samples that it has not seen.
    y : array of shape (n_samples,) or (n_samples, n_labels)
        Their classes, or a matrix of zeros and ones for multilabel targets.
    path : path, optional
        File to write the page to.
    title : str, optional
        Title of the page.
    measure : str or Measure, optional
        The measure; by default the one that the model was trained for, or F1 if it declares none.
    samples : str, default="the given samples"
        Description of the samples for the reader, such as "held-out samples of 2025".
    compare : dict of fitted classifiers, optional
        Other models by name, evaluated on the same samples.
    feature_names : list of str, optional
        Names of the columns of X; by default those of a data frame.
    label_names : list of str, optional
        Names of the labels of multilabel targets.
    pos_label : label, optional
        The positive class of two; by default that of the model, or 1 of 0 and 1, -1 and 1, or booleans. Of other
        classes it has to be named, unless the model has one or the measure does not depend on it.
    sample_weight : array of shape (n_samples,), optional
        Weights of the samples, which all counts, values and curves of the page sum. An interval counts a sample once,
        whatever its weight: copies of it add no information.
    groups : array of shape (n_samples,), optional
        Samples that belong together, such as those of one patient, have the same entry. Intervals are then for samples
        of new groups; counts and values stay the same.
    by : str, list of str, data frame or dict, optional
        Columns whose groups have a table of their own, for two classes: names of columns of X, or columns of values by
        name. By default those that the constraints of the model are by, as far as X has them.
    confidence : float, default=0.9
        Confidence level of the intervals.
    card : dict, optional
        What only you know of the model, for the model card: "intended_use", "data_origin" (texts) and "limits" (a text
        or a list of them). Measures, numbers of samples and the limits that follow from them are added.
    importance_seconds : float, default=5.0
        Time limit, approximately, for shuffling columns to estimate their importance.
    random_state : int, default=0
        Seeds resamples and shuffles.

    Returns
    -------
    Report
        With ``html``, ``save(path)``, ``value``, ``interval`` and ``card``; notebooks show the page.

    Raises
    ------
    ValueError
        If ``confidence`` is not between 0 and 1, or the samples do not fit the model.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise import PlugInClassifier, report
    >>> X, y = make_classification(600, weights=[0.9], random_state=0)
    >>> model = PlugInClassifier(LogisticRegression(), "f1").fit(X[:400], y[:400])
    >>> page = report(model, X[400:], y[400:], samples="samples that training has not seen")
    >>> low, high = page.interval
    >>> bool(low < page.value < high), page.html.startswith("<!DOCTYPE html>")
    (True, True)
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    given_card = validate_card(card)
    columns, given_weight = find_columns_by(model, X, by, count_samples(X)), sample_weight
    X, y, sample_weight, groups = drop_weightless(X, y, sample_weight, groups)
    X, y, sample_weight, groups, reviewed = reviews.set_reviews_aside(model, X, y, sample_weight, groups)
    _refuse_reviews(compare or {})
    found = collect_predictions(model, X, y, pos_label, label_names, sample_weight, groups)
    given, is_declared = measure_of(model, found.kind != "binary") if measure is None else (get_measure(measure), True)
    earnings = evaluate_earnings(model, X, y, sample_weight, confidence, groups)
    # No contingency table determines a profit with amounts per sample: curves and importance are those of the accuracy.
    criterion = resolve_measure(Accuracy() if has_amounts_per_sample(given) else given, found)
    if found.kind == "binary":
        pos_label = found.problems[0].label  # other models are evaluated for the same class
    others = {
        str(name): collect_predictions(other, X, y, pos_label, label_names, sample_weight)
        for name, other in (compare or {}).items()
    }
    evaluated = evaluate([found, *others.values()], criterion, confidence, random_state)
    explored = _select_problems(found, criterion)
    settings = ImportanceSettings(feature_names, importance_seconds, confidence, random_state)
    importance = None
    if reviewed is None:  # shuffled samples would be sent to review
        importance = compute_importance(model, X, y, criterion, pos_label, sample_weight, settings, found.groups)
    named = title or f"{name_of(model)}: {title_of(criterion)}"
    n_features = int(np.shape(X)[1]) if len(np.shape(X)) == 2 else None
    compared, own = tuple(columns or ()), evaluated[0]
    source = CardSource(given_card, model, n_features, found, samples, criterion, is_declared, own, reviewed, compared)
    written = make_card(source, random_state)
    parts = [
        overview.headline(named, criterion, evaluated[0], found, samples, is_declared),
        describe_earnings(earnings, confidence),
        overview.training(model, criterion, is_declared),
        overview.class_tables(found) if found.kind != "binary" else None,
        reviews.review_section(reviewed, criterion),
        watching.guarantees(model, found),
        groups_section(model, drop_weightless_groups(columns, given_weight), found, confidence, random_state),
        sections.curves(explored, found, criterion, confidence, random_state),
        _comparison(name_of(model), others, evaluated, criterion, found),
        sections.features(importance, criterion, confidence) if reviewed is None else None,
        sections.calibration(found.problems[0], confidence, found.groups) if found.kind == "binary" else None,
        sections.convergence(model, criterion, evaluated[0].value, evaluate_constant(found, criterion)),
        sections.leaderboard(model, criterion),
        card_section(written),
    ]
    page = Report(
        make_document(named, parts, explorer_data(explored, threshold_measure(criterion))),
        own.value,
        own.interval,
        written,
    )
    if path is not None:
        page.save(path)
    return page


def _refuse_reviews(others: Mapping[str, Any]) -> None:
    """Raise if another model does not decide all samples, so that it cannot be compared on them."""
    for name, other in others.items():
        if reviews.find_review_label(other) is not None:
            raise ValueError(
                f"model {name!r} sends samples to review, and is compared with none: give it a page of its own"
            )


def _select_problems(found: Predictions, criterion: Measure) -> list[ExplorerProblem]:
    """Return the problems of the explorer, the most frequent ones if there are many."""
    order = np.argsort([-float(problem.weights @ problem.truth) for problem in found.problems], kind="stable")
    chosen = np.sort(order[:_MOST_PROBLEMS])
    most = max(MOST_STEPS // chosen.size, _FEWEST_STEPS)
    problems, measure = [found.problems[k] for k in chosen], threshold_measure(criterion)
    return [ExplorerProblem(problem, make_steps(problem, measure, most, found.groups)) for problem in problems]


def _comparison(
    own: str, others: Mapping[str, Predictions], evaluated: Any, measure: Measure, found: Predictions
) -> Any:
    if not others:
        return None
    return overview.comparison([f"{own} (this model)", *others], evaluated, measure, [found, *others.values()])
