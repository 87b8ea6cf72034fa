"""Sentences about a record, computed from its numbers."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from benchmarks.papers.dembczynski2011.judging import MEASURES
from benchmarks.papers.dembczynski2011.methods import METHODS
from benchmarks.papers.dembczynski2011.published import PUBLISHED
from benchmarks.papers.dembczynski2011.settings import SHOWN
from benchmarks.papers.dembczynski2011.summary import (
    CHAIN_RULES,
    JUDGED,
    METHOD_TITLES,
    WANTED,
    comparable,
    is_near,
    pairs,
    title,
    value,
)
from benchmarks.papers.dembczynski2011.synthetic import DEPENDENT, INDEPENDENT, RULES, SHIFTED

Record = dict[str, Any]

MEASURE_TITLES = {"hamming": "Hamming loss", "macro_f": "macro F", "micro_f": "micro F", "f": "F"}
MODEL_TITLES = {
    INDEPENDENT: "independent labels",
    DEPENDENT: "dependent labels",
    SHIFTED: "dependent labels, lower odds",
}
NEAR = 0.99  # of the best expected F


def remarks(found: Record, setting_titles: dict[str, str]) -> list[str]:
    """Return sentences about the record."""
    sentences: list[str] = []
    if comparable(found):
        sentences += [_near(found), _all_numbers(found), _redraws(found)]
    if found["settings"]:
        sentences.append(_settings(found, setting_titles))
    if found["problems"]:
        sentences += [
            _tailored(found),
            _winner(found),
            _hamming(found),
            _variants(found),
            _inference(found),
            _averages(found),
        ]
    by_model = {entry["model"]: entry for entry in found["synthetic"]}
    sentences += [_independent(by_model[INDEPENDENT])]
    sentences += [_dependent(by_model[model], MODEL_TITLES[model]) for model in (DEPENDENT, SHIFTED)]
    return [*sentences, _growth(found["times"])]


def _listed(some: Iterable[str]) -> str:
    return "; ".join(some) or "none"


def _range(values: Iterable[float], form: str = "+.4f") -> str:
    every = sorted(values)
    return f"{every[0]:{form}} to {every[-1]:{form}}" if len(every) > 1 else f"{every[0]:{form}}"


def _near(found: Record) -> str:
    every = list(pairs(found, "f", JUDGED))
    missed = [f"{pair.name} ({pair.difference:+.4f})" for pair in every if abs(pair.difference) > WANTED]
    near = [f"{pair.name} ({pair.difference:+.4f})" for pair in every if abs(pair.difference) <= WANTED]
    return (
        f"F of PCC GFM and PCC MEUF is within {WANTED:g} of the paper's in {len(near)} of {len(every)} cases: "
        f"{_listed(near)}. It is not on: {_listed(missed)}."
    )


def _all_numbers(found: Record) -> str:
    parts = []
    for measure in MEASURES:
        every = list(pairs(found, measure))
        median = statistics.median(abs(pair.difference) for pair in every)
        worst = max(every, key=lambda pair: abs(pair.difference))
        parts.append(f"{MEASURE_TITLES[measure]}: {median:.4f}, at most {worst.difference:+.4f} ({worst.name})")
    return f"Over all methods, differences from the paper's numbers are in the median: {'; '.join(parts)}."


def _redraws(found: Record) -> str:
    parts = [
        f"{title(problem)}, {METHOD_TITLES[method]}: {_range(values, '.4f')}"
        for problem in comparable(found)
        for method, values in problem["redraws"].items()
    ]
    count = len(comparable(found)[0]["redraws"]["pcc_gfm"])
    return (
        f"With {count} other draws of {found['samples']} samples from the same chains, F is {'; '.join(parts)}. (The "
        "table's own numbers on few labels come from all label vectors, not from samples.)"
    )


def _settings(found: Record, titles: dict[str, str]) -> str:
    parts = []
    for problem in comparable(found):
        mine = {entry["setting"]: entry["f"] for entry in found["settings"] if entry["data"] == problem["name"]}
        if not mine:
            continue
        theirs = PUBLISHED[problem["name"]]
        near = [titles[name] for name, values in mine.items() if is_near(values, theirs)]
        best = min(mine, key=lambda name: _distance(mine[name], theirs))
        usual = _distance({method: value(problem, method) for method in SHOWN}, theirs)
        parts.append(
            f"{title(problem)}: F of PCC GFM is {_range((values['pcc_gfm'] for values in mine.values()), '.4f')} (the "
            f"paper's: {theirs['pcc_gfm'].f:.4f}), that of PCC MEUF "
            f"{_range((values['pcc_meuf'] for values in mine.values()), '.4f')} (the paper's: "
            f"{theirs['pcc_meuf'].f:.4f}), both within {WANTED:g} for {len(near)} of {len(mine)} settings "
            f"({_listed(near)}); nearest to the paper over {len(SHOWN)} methods is *{titles[best]}*, with a mean "
            f"difference of {_distance(mine[best], theirs):.4f} (setting of the table: {usual:.4f})"
        )
    return f"Over other settings. {'. '.join(parts)}."


def _distance(values: dict[str, float], theirs: Any) -> float:
    return float(statistics.mean(abs(values[method] - theirs[method].f) for method in SHOWN))


def _tailored(found: Record) -> str:
    gains = {title(problem): value(problem, "pcc_gfm") - value(problem, "pcc_h") for problem in found["problems"]}
    of_relevance = [value(problem, "br_meuf") - value(problem, "br") for problem in found["problems"]]
    lower = [
        f"{title(problem)}, {METHOD_TITLES[method]}"
        for problem in found["problems"]
        for method in METHODS
        if method not in ("pcc_h", "br") and value(problem, method) <= value(problem, METHODS_OF_MODEL[method])
    ]
    return (
        f"Rules for F have a higher F than the rule for the Hamming loss: GFM by {_range(gains.values())} with "
        f"chains, MEUF by {_range(of_relevance)} with binary relevance. Exceptions: {_listed(lower)}."
    )


METHODS_OF_MODEL = {name: "pcc_h" if name.startswith("pcc") else "br" for name in METHODS}


def _winner(found: Record) -> str:
    best = []
    for problem in found["problems"]:
        top = max(value(problem, method) for method in METHODS)
        names = [METHOD_TITLES[method] for method in METHODS if value(problem, method) == top]
        best.append(f"{title(problem)}: {' and '.join(names)} ({top:.4f})")
    differences = [
        f"{title(problem)} {value(problem, 'pcc_gfm') - value(problem, 'pcc_meuf'):+.4f}"
        for problem in found["problems"]
    ]
    return f"The highest F is that of: {'; '.join(best)}. PCC GFM minus PCC MEUF is: {', '.join(differences)}."


def _hamming(found: Record) -> str:
    wins = sum(
        min(value(problem, method, "hamming") for method in ("pcc_h", "br"))
        <= min(value(problem, method, "hamming") for method in METHODS)
        for problem in found["problems"]
    )
    return (
        f"A rule for the Hamming loss (PCC H or BR) has the lowest Hamming loss on {wins} of {len(found['problems'])} "
        "data sets."
    )


def _variants(found: Record) -> str:
    ordered = [abs(value(problem, "pcc_gfm_t") - value(problem, "pcc_gfm")) for problem in found["problems"]]
    coarse = [
        abs(value(problem, f"{model}_meuf_approx") - value(problem, f"{model}_meuf"))
        for problem in found["problems"]
        for model in ("pcc", "br")
    ]
    return (
        f"GFM-T differs from GFM by at most {max(ordered):.4f} in F, the approximate MEUF from the exact one by at "
        f"most {max(coarse):.4f}."
    )


def _inference(found: Record) -> str:
    parts = []
    for problem in found["problems"]:
        theirs = PUBLISHED[problem["name"]]
        paper = f"{theirs['pcc_meuf'].seconds / theirs['pcc_gfm'].seconds:.1f}" if "pcc_meuf" in theirs else "days"
        ratio = value(problem, "pcc_meuf", "seconds") / value(problem, "pcc_gfm", "seconds")
        parts.append(f"{title(problem)}: {ratio:.2f} (the paper's: {paper})")
    slowest = max(value(problem, method, "seconds") for problem in found["problems"] for method in CHAIN_RULES)
    return (
        f"The time of PCC MEUF divided by that of PCC GFM, sampling included, is: {'; '.join(parts)}. The longest "
        f"inference of all took {slowest:.2f} s."
    )


# The rule of binary relevance for each measure.
_RULE_OF_MEASURE = {"hamming": "br", "macro_f": "br_macro_f", "micro_f": "br_micro_f", "f": "br_meuf"}


def _averages(found: Record) -> str:
    """Summarise how often the rule for a measure is best, and its difference from the best other rule."""
    parts = []
    for measure, rule_of_measure in _RULE_OF_MEASURE.items():
        sign = -1.0 if measure == "hamming" else 1.0
        leads = [
            sign * value(problem, rule_of_measure, measure)
            - max(sign * value(problem, rule, measure) for rule in _RULE_OF_MEASURE.values() if rule != rule_of_measure)
            for problem in found["problems"]
        ]
        parts.append(
            f"{MEASURE_TITLES[measure]}: {METHOD_TITLES[rule_of_measure]}, best on {sum(lead > 0.0 for lead in leads)} "
            f"of {len(leads)} data sets, ahead of the best other by {_range(leads)}"
        )
    return f"Among {len(_RULE_OF_MEASURE)} rules of binary relevance, the one for each measure: {'; '.join(parts)}."


def _independent(entry: Record) -> str:
    sizes, means, errors = entry["sizes"], entry["means"], entry["errors"]
    gaps = [exact - general for exact, general in zip(means["meuf"], means["gfm"], strict=True)]
    return (
        f"Independent labels: MEUF has a higher expected F than GFM for {sum(gap > 0.0 for gap in gaps)} of "
        f"{len(sizes)} numbers of samples. MEUF minus GFM is {gaps[0]:+.4f} with {sizes[0]} samples and "
        f"{gaps[-1]:+.4f} with {sizes[-1]}, where MEUF has {means['meuf'][-1]:.4f} and GFM {means['gfm'][-1]:.4f}. "
        f"The best possible is {entry['best']:.4f}; standard errors of GFM's means are {min(errors['gfm']):.4f} to "
        f"{max(errors['gfm']):.4f}."
    )


def _dependent(entry: Record, name: str) -> str:
    sizes, means, best, limit = entry["sizes"], entry["means"], entry["best"], entry["meuf_limit"]
    near = [size for size, mean in zip(sizes, means["gfm"], strict=True) if mean >= NEAR * best]
    reached = f"from {near[0]} samples on" if near else "with none of the numbers of samples"
    spread = max(
        max(abs(a - b) for a, b in zip(means[first], means[second], strict=True))
        for first, second in (("gfm", "gfm_t"), ("meuf", "meuf_approx"))
    )
    verdict = (
        "so that this model does not show MEUF to be poor, as the paper's figure does"
        if limit >= NEAR * best
        else f"{best - limit:.4f} less than is possible, however many samples"
    )
    return (
        f"{name[0].upper()}{name[1:]}: GFM is within 1 % of the best possible expected F ({best:.4f}) {reached}; with "
        f"{sizes[-1]} samples GFM has {means['gfm'][-1]:.4f} and MEUF {means['meuf'][-1]:.4f}. With the exact marginal "
        f"probabilities MEUF has {limit:.4f}, {verdict}. GFM-T and the approximate MEUF are within {spread:.4f} of GFM "
        "and MEUF."
    )


def _growth(times: Record) -> str:
    labels, taken = times["labels"], times["milliseconds"]
    shown = labels.index(50) if 50 in labels else len(labels) - 1
    parts = [f"{RULE_TITLES[rule]} {taken[rule][shown]:.3f}" for rule in RULES]
    growth = [f"{RULE_TITLES[rule]} {taken[rule][-1] / taken[rule][0]:.1f}" for rule in RULES]
    return (
        f"Milliseconds per instance with {labels[shown]} labels and {times['samples']} samples: {', '.join(parts)}. "
        f"From {labels[0]} to {labels[-1]} labels, {labels[-1] / labels[0]:g} times as many, they grow by the factors: "
        f"{', '.join(growth)}."
    )


RULE_TITLES = {"gfm": "GFM", "gfm_t": "GFM-T", "meuf": "MEUF", "meuf_approx": "MEUF approx."}
