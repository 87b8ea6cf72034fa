"""Sentences about the results, computed from the numbers, and compared with the paper's statements."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.papers.brefeld2005 import costs
from benchmarks.papers.brefeld2005.methods import AUC_1, AUC_2, CLUSTERS, HINGE, PLAIN, SQUARED
from benchmarks.papers.brefeld2005.summary import (
    Cell,
    Tally,
    at_edge,
    cells,
    cluster_points,
    curve,
    growth,
    point,
    sizes,
    tally,
)

Record = dict[str, Any]


def remarks(found: Record, titles: dict[str, str]) -> list[str]:
    """Return sentences about the record."""
    text, digits = cells(found, "text"), cells(found, "digits")
    sentences = []
    if text:
        sentences += [_against_plain(text), _against_others(text, titles), _by_size(text), _norms(text)]
        sentences += [
            _best_c(text),
            _plateau(text, found),
            _approximation(text, found),
            _times(found),
            _same_model(found),
        ]
    if digits:
        sentences.append(_digits(digits))
    return [sentence for sentence in sentences if sentence]


def describe(result: Tally) -> str:
    """Return a tally in words."""
    return f"significantly better in {result.won}, worse in {result.lost} and not different in {result.tied} cases"


def _sides(result: Tally) -> str:
    """Return whether the significant cases agree with a paper that finds the AUC-SVM better."""
    if result.won == result.lost:
        return "This neither confirms nor contradicts the paper"
    return _agrees(result.won > result.lost)


def _agrees(true: bool) -> str:
    return "This agrees with the paper" if true else "This does not agree with the paper"


def _against_plain(text: list[Cell]) -> str:
    result = tally(text, AUC_1, PLAIN)
    better = sum(cell.difference(AUC_1, PLAIN) > 0.0 for cell in text)
    return (
        f"**Reuters.** The 1-norm AUC-SVM has a higher average area than the plain SVM in {better} of {len(text)} "
        f"cases of topic and size, by {result.difference:+.4f} on average; it is {describe(result)}. {_sides(result)}, "
        "in which the AUC-SVM wins significantly in some cases and loses in one at most."
    )


def _against_others(text: list[Cell], titles: dict[str, str]) -> str:
    parts = []
    for theirs in (HINGE, SQUARED):
        result = tally(text, AUC_2, theirs)
        parts.append(f"{describe(result)} than {titles[theirs]} ({result.difference:+.4f} on average)")
    return f"Compared with methods that are not in the paper, the 2-norm AUC-SVM is {'; and '.join(parts)}."


def _by_size(text: list[Cell]) -> str:
    parts = []
    for n_samples in sizes(text):
        result = tally([cell for cell in text if cell.n_samples == n_samples], AUC_1, PLAIN)
        parts.append(f"{result.difference:+.4f} with {n_samples} samples ({result.won} won, {result.lost} lost)")
    return f"The average advantage of the 1-norm AUC-SVM over the plain SVM is {', '.join(parts)}."


def _norms(text: list[Cell]) -> str:
    result = tally(text, AUC_2, AUC_1)
    return f"Of the two norms, the 2-norm is {describe(result)}, by {result.difference:+.4f} on average."


def _best_c(text: list[Cell]) -> str:
    lower = [cell.best_of_paper() - cell.best(PLAIN) for cell in text]
    here = [cell.best(AUC_1) - cell.best(PLAIN) for cell in text]
    smaller = sum(difference < 0.0 for difference in lower)
    agrees = statistics.fmean(lower) < 0.0
    return (
        f"**C.** On the paper's scale, where every pair has the weight C, the best C of the 1-norm AUC-SVM is below "
        f"that of the plain SVM in {smaller} of {len(text)} cases, by a factor of {10 ** -statistics.fmean(lower):.0f} "
        f"on (geometric) average. {_agrees(agrees)}, which finds that the AUC-SVM needs a smaller C. On the scale of "
        f"this library the factor is {10 ** -statistics.fmean(here):.1f}; the two differ by the number of pairs per "
        "sample."
    )


def _plateau(text: list[Cell], found: Record) -> str:
    exponents = found["exponents"]
    parts = [f"{at_edge(text, method, exponents)} for the {name}" for method, name in _SEARCHED]
    spans = {method: statistics.fmean(_span(cell, method) for cell in text) for method, _ in _SEARCHED}
    return (
        f"Over all values of C tried, the area varies by {spans[AUC_1]:.4f} on average for the 1-norm AUC-SVM and by "
        f"{spans[PLAIN]:.4f} for the plain SVM. The best C is the largest or smallest tried in the following numbers "
        f"of {len(text)} cases: {', '.join(parts)}."
    )


_SEARCHED = ((AUC_1, "1-norm AUC-SVM"), (AUC_2, "2-norm AUC-SVM"), (PLAIN, "plain SVM"))


def _span(cell: Cell, method: str) -> float:
    return max(cell.search(method)) - min(cell.search(method))


def _approximation(text: list[Cell], found: Record) -> str:
    plain, exact = tally(text, CLUSTERS, PLAIN), tally(text, CLUSTERS, AUC_1)
    if not plain.cells:
        return ""
    agrees = plain.difference > 0.0
    sentence = (
        f"**Clusters.** Compared with the plain SVM, the AUC-SVM over clusters of pairs is {describe(plain)}, "
        f"{plain.difference:+.4f} on average. {_agrees(agrees)}, in which it is better than the plain SVM on average. "
        f"Compared with the AUC-SVM over all pairs it is {describe(exact)}, {exact.difference:+.4f} on average."
    )
    ratios = [
        value.seconds / point(record["exact"]).seconds
        for record in found["clusters"]
        for _, value in cluster_points(record)
    ]
    return sentence + (
        f" It takes {min(ratios):.0f} to {max(ratios):.0f} times as long as our exact solver, which never lists the "
        "pairs, so that it does not pay."
        if min(ratios) > 1.0
        else f" It takes {min(ratios):.2f} to {max(ratios):.0f} times as long as our exact solver."
    )


def _times(found: Record) -> str:
    slopes = {method: growth(curve(found, method)) for method in costs.TIMED}
    named = (
        (costs.EXACT, "ours, 1-norm"),
        (costs.EXACT_2, "ours, 2-norm"),
        (costs.KERNEL, "ours with a kernel"),
        (costs.LISTED, "all pairs listed"),
        (costs.CLUSTERED, "clusters of pairs"),
        (costs.PLAIN, "the plain SVM"),
        (costs.PLAIN_KERNEL, "the plain SVM with a kernel"),
    )
    parts = [f"{name} {slope:.1f}" for method, name in named if (slope := slopes[method]) is not None]
    largest = max(curve(found, costs.EXACT))
    ours, plain = curve(found, costs.EXACT)[largest].seconds, curve(found, costs.PLAIN)[largest].seconds
    side = "less" if ours < plain else "more"
    return (
        f"**Time** grows with the number of samples to the power (slope over all sizes): {', '.join(parts)}. With "
        f"{largest} samples our 1-norm AUC-SVM takes {ours:.3f} s, {side} than the {plain:.3f} s of ``SVC``. In the "
        "paper the AUC-SVM becomes slow on large samples, clusters make it quadratic, and the plain SVM is faster than "
        f"both: here the time of our solver {'grows' if _grows_faster(slopes) else 'does not grow'} faster than that "
        f"of ``SVC``, and clusters are {'slower' if _slower_clusters(found) else 'not slower'}."
    )


def _grows_faster(slopes: dict[str, float | None]) -> bool:
    ours, plain = slopes[costs.EXACT], slopes[costs.PLAIN]
    return ours is not None and plain is not None and ours > plain


def _slower_clusters(found: Record) -> bool:
    clustered, plain = curve(found, costs.CLUSTERED), curve(found, costs.PLAIN)
    return clustered[max(clustered)].seconds > plain[max(clustered)].seconds


def _same_model(found: Record) -> str:
    listed, exact = curve(found, costs.LISTED), curve(found, costs.EXACT)
    gap = max(abs(listed[n_samples].area - exact[n_samples].area) for n_samples in listed)
    slowest = max(listed)
    ratio = listed[slowest].seconds / exact[slowest].seconds
    return (
        f"An SVM over the list of all pairs, as in the paper, and our solver end with areas at most {gap:.5f} apart. "
        f"With {slowest} samples the list takes {ratio:.1f} times as long."
    )


def _digits(digits: list[Cell]) -> str:
    first, second = tally(digits, AUC_1, PLAIN), tally(digits, AUC_2, PLAIN)
    return (
        "**MNIST.** Compared with the plain SVM with the same polynomial kernel the 1-norm AUC-SVM is "
        f"{describe(first)} ({first.difference:+.5f} on average), the 2-norm AUC-SVM {describe(second)} "
        f"({second.difference:+.5f}). {_sides(first)}, in which the AUC-SVM appears to perform better."
    )
