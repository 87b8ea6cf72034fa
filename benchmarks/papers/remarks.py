"""Sentences about the results, computed from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.papers.judging import MEASURES, TITLES, TUNED
from benchmarks.papers.published import PUBLISHED
from benchmarks.papers.summary import compare, improvement_by_bin

Record = dict[str, Any]


def remarks(records: list[Record]) -> list[str]:
    """Return sentences about the records."""
    by_name = {found["name"]: found for found in records}
    sentences = [_thresholds(found) for found in records]
    if "reuters" in by_name:
        sentences = [_largest_gain(by_name["reuters"]), _by_frequency(by_name["reuters"]), *sentences]
        sentences += _single_positives(by_name["reuters"])
    if {"covertype", "covertype_balanced"} <= by_name.keys():
        sentences.append(_which_covertype(by_name["covertype"], by_name["covertype_balanced"]))
    return sentences


def share_on_the_same_side(found: Record) -> tuple[int, int]:
    """Return how many differences have the sign of the paper's, and how many of the paper's are not zero."""
    same = of = 0
    for column, theirs in PUBLISHED[found["name"]].items():
        published = round(theirs.difference, 1)
        if published != 0.0:
            of += 1
            same += published * round(compare(found, column).difference, 1) > 0.0
    return same, of


def distance_to_published(found: Record) -> float:
    """Return the mean absolute difference from the averages of the paper, in percentage points."""
    distances = []
    for column, theirs in PUBLISHED[found["name"]].items():
        ours = compare(found, column)
        distances += [abs(ours.multivariate - theirs.multivariate), abs(ours.cost - theirs.cost)]
    return float(np.mean(distances))


def _largest_gain(found: Record) -> str:
    gains = {column: compare(found, column).difference for column in MEASURES}
    theirs = {column: PUBLISHED["reuters"][column].difference for column in MEASURES}
    best, published = max(gains, key=gains.__getitem__), max(theirs, key=theirs.__getitem__)
    return (
        f"On {found['title']} the multivariate SVM gains most on {TITLES[best]}, {gains[best]:+.1f} points; "
        f"in the paper on {TITLES[published]}, {theirs[published]:+.1f} points."
    )


def _by_frequency(found: Record) -> str:
    gains = improvement_by_bin(found, "f1")
    return (
        f"The improvement of F1 is {gains[0]:+.1f} points on the fifth of the classes with most positives and "
        f"{gains[-1]:+.1f} on the fifth with fewest."
    )


def _thresholds(found: Record) -> str:
    plain, tuned = compare(found, "f1"), compare(found, TUNED)
    return (
        f"{found['title']}: choosing the threshold on the holdout part changes F1 by "
        f"{tuned.multivariate - plain.multivariate:+.1f} points for the multivariate SVM and by "
        f"{tuned.cost - plain.cost:+.1f} for the SVM with costs."
    )


def _single_positives(found: Record) -> list[str]:
    count = sum(not entry["has_holdout"] for entry in found["classes"])
    return [f"Classes of {found['title']} with a single training positive: {count}."] if count else []


def _which_covertype(random: Record, balanced: Record) -> str:
    random_distance, balanced_distance = distance_to_published(random), distance_to_published(balanced)
    sentence = (
        f"Covertype: the averages are {random_distance:.1f} points away from the paper's, on average, with random "
        f"samples, and {balanced_distance:.1f} with balanced ones."
    )
    if balanced_distance < random_distance:
        sentence += " The paper does not report how it drew its samples; these numbers suggest the balanced part."
    return sentence
