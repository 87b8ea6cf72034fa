"""What the figures say, in sentences that are computed from them, also where MetricClassifier loses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.quality.comparing import OURS, WITHOUT_BOOSTERS
from benchmarks.quality.peers import CATBOOST, HIST_BOOSTING, LIBLINEAR, LIGHTGBM
from benchmarks.quality.summary import Comparison, Pair, compare

ORACLE = (LIGHTGBM, CATBOOST, HIST_BOOSTING)
ORACLE_TITLE = "the best of LightGBM, CatBoost and HistGradientBoosting on each problem, by an oracle"
MEASURE_TITLES = {
    "f1": "F1",
    "f1_macro": "macro F1",
    "jaccard": "Jaccard",
    "g_mean": "G-mean",
    "prbep": "break-even point",
    "recall_at_precision": "recall at precision 0.9",
    "roc_auc": "ROC area",
    "average_precision": "average precision",
}
SUITE_TITLES = {
    "tables": "Tables",
    "small": "Small tables",
    "texts": "Texts",
    "multiclass": "Multiclass",
    "multilabel": "Multilabel",
}


def peers_of(comparison: Comparison) -> list[str]:
    """Return the names of the peers, the best first."""
    peers = [name for name in comparison.values if name not in (OURS, WITHOUT_BOOSTERS)]
    return sorted(peers, key=comparison.mean, reverse=True)


def timed_peer(comparison: Comparison) -> str | None:
    """Return the peer whose processor seconds are the unit: CatBoost, or the first of those that replace it."""
    return next((name for name in (CATBOOST, LIBLINEAR, LIGHTGBM) if name in comparison.values), None)


def describe_p(p_value: float) -> str:
    """Return a p-value with two digits.

    Examples
    --------
    >>> describe_p(0.0312), describe_p(1.2e-9)
    ('0.031', '1.2e-09')
    """
    return f"{p_value:.2g}"


def capitalise(text: str) -> str:
    """Return a text with a capital first letter; unlike str.capitalize, names inside keep theirs.

    Examples
    --------
    >>> capitalise("macro F1")
    'Macro F1'
    """
    return text[:1].upper() + text[1:]


def _beside(pair: Pair, value: float, other: float, name: str) -> str:
    """Return "0.71 against 0.70 of CatBoost (+0.01; better on 9 problems, worse on 3, p = 0.02)"."""
    return (
        f"{value:.4f} against {other:.4f} of {name} ({pair.difference:+.4f}; better on {pair.wins} problems, worse on "
        f"{pair.losses}, p = {describe_p(pair.p_value)})"
    )


def _beside_best(comparison: Comparison, method: str) -> str:
    best = peers_of(comparison)[0]
    return _beside(comparison.pair(method, best), comparison.mean(method), comparison.mean(best), best)


def judge(suite: str, measure: str, comparison: Comparison) -> list[str]:
    """Return the sentences on a suite, none if MetricClassifier or the peers were not run.

    Parameters
    ----------
    suite : str
        Name of the suite.
    measure : str
        Name of the measure.
    comparison : Comparison
        All methods of the suite.

    Returns
    -------
    list of str
    """
    if OURS not in comparison.values or not peers_of(comparison):
        return []
    title = f"{SUITE_TITLES[suite]}, {MEASURE_TITLES[measure]}, {comparison.counts}"
    found = [f"{title}: {OURS} reaches {_beside_best(comparison, OURS)}, the best single peer."]
    if WITHOUT_BOOSTERS in comparison.values:
        found.append(f"Without boosters it reaches {_beside_best(comparison, WITHOUT_BOOSTERS)}.")
    found += _judge_oracle(comparison)
    if suite == "texts" and LIBLINEAR in comparison.values and peers_of(comparison)[0] != LIBLINEAR:
        pair = comparison.pair(OURS, LIBLINEAR)
        beside = _beside(pair, comparison.mean(OURS), comparison.mean(LIBLINEAR), LIBLINEAR)
        found.append(f"Beside the peer with the solver that is known to suit texts: {beside}.")
    found += _judge_every_peer(comparison)
    timed = timed_peer(comparison)
    if timed is not None:
        ratio, median = comparison.seconds_ratio(OURS, timed), comparison.median_seconds_ratio(OURS, timed)
        found.append(
            f"{OURS} takes {ratio:.2f} times the processor seconds of tuned {timed} in all ({median:.2f} times on the "
            "median problem)."
        )
    return found


def _judge_oracle(comparison: Comparison) -> list[str]:
    if not set(ORACLE) <= comparison.values.keys():
        return []
    oracle = comparison.oracle(ORACLE)
    difference = compare(comparison.values[OURS], oracle).difference
    side = "above" if difference > 0 else "below"
    return [f"Beside {ORACLE_TITLE}, which reaches {np.mean(oracle):.4f}, {OURS} is {abs(difference):.4f} {side}."]


def _judge_every_peer(comparison: Comparison) -> list[str]:
    ahead = [name for name in peers_of(comparison) if comparison.mean(name) > comparison.mean(OURS)]
    if not ahead:
        return ["No peer has a higher mean."]
    return [f"Peers with a higher mean: {'; '.join(ahead)}."]


def _count_refusals(comparison: Comparison) -> str:
    count = comparison.refusals[OURS]
    return f"; {count} of {comparison.n_splits} splits refused count as 0" if count else ""


def judge_others(comparisons: Mapping[str, Comparison]) -> str:
    """Return one sentence on the other measures of a suite, by their names; empty if there are none."""
    parts = []
    for measure, comparison in comparisons.items():
        if OURS in comparison.values and peers_of(comparison):
            best = peers_of(comparison)[0]
            pair = comparison.pair(OURS, best)
            parts.append(
                f"{MEASURE_TITLES[measure]} {comparison.mean(OURS):.3f} against {comparison.mean(best):.3f} ({best}, "
                f"{pair.tally}{_count_refusals(comparison)})"
            )
    return f"Other measures, beside the best single peer of each: {'; '.join(parts)}." if parts else ""
