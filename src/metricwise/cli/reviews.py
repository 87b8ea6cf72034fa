"""Options and results of models that send samples to review."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from metricwise.cli.options import Number
from metricwise.registry import EstimatorEntry, entry_of

if TYPE_CHECKING:
    from metricwise.cli.algorithms import Settings


def review_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --review-share and --abstain to the command that trains."""
    share = click.option(
        "--review-share",
        type=Number(0, 1, max_open=True),
        help="Share of samples to send to review, such as 0.1: the least certain, with the best measure of the others.",
    )
    abstain = click.option(
        "--abstain",
        is_flag=True,
        help='Send samples to review that --subject-to leaves open: guarantees "precision>=0.9", "npv>=0.98" or both.',
    )
    return share(abstain(function))


def check_usage(entry: EstimatorEntry, settings: Settings, is_multilabel: bool, is_remote: bool) -> None:
    """Raise a usage error if options of reviews contradict others."""
    is_wanted = settings.wants_reviews or entry.sends_to_review
    if not is_wanted:
        return
    if settings.review_share is not None and (settings.subject_to or settings.abstain):
        raise click.UsageError(
            "with guarantees, the share of reviews follows from them: leave --review-share out, or --subject-to and "
            "--abstain"
        )
    if settings.abstain and not settings.subject_to:
        raise click.UsageError(
            '--abstain is for guarantees: add --subject-to "precision>=0.9", --subject-to "npv>=0.98" or both, or give '
            "--review-share"
        )
    if is_multilabel or entry.family == "multilabel":
        raise click.UsageError("reviews are for one --target of two classes: train a model for each")
    if entry.ranks_queries:
        raise click.UsageError(
            f"reviews are for classifiers, and {entry.command_name} ranks by relevance: leave --review-share and "
            "--abstain out"
        )
    if is_remote:
        raise click.UsageError("reviews need all samples at once: leave --stream and --disk out")
    if settings.checkpoint is not None:
        raise click.UsageError("--checkpoint stores one fit, and reviews need one fit per fold: leave one out")


def wrap(learner: Any, settings: Settings, parameters: dict[str, Any]) -> Any:
    """Return a classifier that sends the unsure samples of another to review."""
    from metricwise.estimators.wrappers.triage import TriageClassifier

    return TriageClassifier(learner, settings.measure, capacity=settings.review_share, **parameters)


def sends_to_review(model: Any) -> bool:
    """Return whether a fitted model leaves samples undecided."""
    entry = entry_of(model)
    return entry is not None and entry.sends_to_review


def collect_facts(model: Any) -> dict[str, Any]:
    """Return what is known about the reviews of a model; nothing if it decides all samples."""
    if not sends_to_review(model):
        return {}
    low, high = model.review_share_interval_
    return {
        "review": {
            "share": model.review_share_,
            "low": low,
            "high": high,
            "label": model.review_label_,
            "thresholds": list(model.thresholds_),
            "guarantees": model.guarantees_,
        }
    }


def describe(facts: dict[str, Any]) -> list[str]:
    """Return lines about the reviews of a model for the summary of its training."""
    if "review" not in facts:
        return []
    found = facts["review"]
    share, low, high = (f"{100 * found[name]:.3g}" for name in ("share", "low", "high"))
    lower, upper = found["thresholds"]
    lines = [
        f"sent to review, labelled {found['label']!r}: {share} % of new samples (90 %: {low} to {high} %), those "
        f"between the thresholds {lower:.4g} and {upper:.4g}; the measure is that of the others"
    ]
    return lines + ([f"guaranteed: {', '.join(found['guarantees'])}"] if found["guarantees"] else [])
