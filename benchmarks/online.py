"""Decisions of streams: the measure against samples seen, beside fixed thresholds and the batch optimum; the cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import plots
from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.online_cost import COLUMNS as COST_COLUMNS
from benchmarks.online_cost import FIRST, MOST_COST, SIZES, find_failures, list_cases, measure_cost
from benchmarks.online_data import (
    CHECKPOINTS,
    N_LABELS,
    N_STREAM,
    N_TEST,
    N_TUNING,
    PHASE,
    SHARES,
    SKIPPED,
    TEXTS_STREAM,
    TEXTS_TUNING,
    Part,
    Stream,
    evaluate,
    load_covtype,
    load_drifting,
    load_streams,
    load_texts,
)
from benchmarks.online_methods import (
    ALPHAS,
    CS,
    FIXED,
    LINEAR,
    OURS,
    RATES,
    TREE,
    Trace,
    follow_learner,
    follow_ours,
    list_river_learners,
    make_own_learner,
    make_sgd,
    run_river,
    score_batch_optimum,
    tune,
)
from benchmarks.quality.running import append, read, report
from benchmarks.report import Column, Figure, Record, Section, Table

PYTHON = "RIVER_PYTHON"
TRIALS = ROOT / "benchmarks" / "results" / "online.jsonl"
ORDERS = 3
BATCH = "PlugInClassifier, all samples at once"
HALF_LIVES = (500.0, 1000.0, 2000.0, 4000.0)
CONSTANT = {"average": False, "learning_rate": "constant"}
STEPS = (0.001, 0.003, 0.01, 0.03)  # constant ones, of SGDClassifier on the drifting stream

VALUES = (
    Column("stream", "stream"),
    Column("measure", "measure"),
    Column("method", "method"),
    *(Column(f"at_{n_seen}", f"{n_seen:,}", "{:.3f}") for n_seen in CHECKPOINTS),
    Column("n_samples", "samples given", "{:,}"),
    Column("end", "at the last of them", "{:.3f}"),
    Column("spread", "range over orders", "{:.3f}"),
    Column("test", "test samples", "{:.3f}"),
    Column("settings", "settings"),
)
DRIFT = (
    Column("method", "method"),
    *(Column(f"phase_{k}", f"phase {k + 1}: {share:.0%}", "{:.3f}") for k, share in enumerate(SHARES)),
    Column("phases", "mean of the phases", "{:.3f}"),
    Column("whole", "all samples together", "{:.3f}"),
    Column("settings", "settings"),
)
TEXT = [
    f"Streams of {N_STREAM:,} samples of covtype and {TEXTS_STREAM:,} of rcv1sub1 ({N_LABELS} most frequent labels), "
    f"in {ORDERS} random orders. Every method predicts each sample before it learns from it; values under a number are "
    f"the measure of all predictions up to there, mean over the orders, without the first {SKIPPED} samples, by which "
    f"nothing can be predicted. Test samples ({N_TEST:,} and {6000 - TEXTS_TUNING - TEXTS_STREAM:,} others) are "
    "predicted after the last sample given. "
    f"Settings are chosen for each method and measure on {N_TUNING:,} and {TEXTS_TUNING:,} samples that are in neither "
    "part. Macro F1 is the mean over classes or labels, the G-mean that of the recalls of all classes, computed by "
    "scikit-learn.",
    f"``SGDClassifier`` (logistic loss, averaged, alpha of {ALPHAS[0]:g} to {ALPHAS[-1]:g}) learns the same batches "
    "from features scaled by the samples that settings are chosen on, with the most probable class or a threshold of "
    "0.5, and inside ``OnlineMetricClassifier``; on covtype also with constant steps (eta0 as river's rates, no "
    "average). STAMP and SPADE (eta0 of 0.1, 1 or 10) train linear scores for the "
    f"measure. River's learners, in an environment of their own (environment variable {PYTHON}), learn from one "
    "sample at a time: ``StandardScaler | LogisticRegression`` or ``SoftmaxRegression`` (without scaler for texts; "
    f"learning rate of {', '.join(map(str, RATES[False]))}, for texts {', '.join(map(str, RATES[True]))}), one per "
    "label, on the first 20,000 samples of each order, or one order of the texts; "
    "``HoeffdingAdaptiveTreeClassifier`` with its defaults or grace_period 100, delta 1e-5, on the first 10,000 of one "
    "order, and ``ARFClassifier`` of ten trees on the first 5,000 with seven classes, as they take long. Trees for "
    "tens of thousands of words were not tried. Rows of river "
    '"decided online" put the probabilities that it gave through the decisions of ``OnlineMetricClassifier``, sample '
    "by sample. The batch optimum is ``PlugInClassifier`` around scikit-learn's ``LogisticRegression`` "
    f"(C of {', '.join(f'{C:g}' for C in CS)} for texts), which has the whole stream in memory; it predicts test "
    "samples only.",
    f"The drifting stream is covtype, class 2 vs the rest: four phases of {PHASE:,} samples, in which "
    f"{', '.join(f'{share:.0%}' for share in SHARES)} are positive. F1 is that of the predictions of each phase. "
    "Settings, the half-life among them, are chosen on phases half as long, of other samples.",
    "Cost is processor time per sample, one thread, of ``OnlineMetricClassifier.partial_fit`` and of its learner "
    "(``SGDClassifier``, which is cheap) on the same batches, in turns, from the first sample on; the learner's own is "
    "that of ``predict_proba`` and ``partial_fit``. Samples are repeated where there are fewer. At the start of a "
    "stream, decisions are renewed often, which costs some milliseconds once: the ratio is shown for the first "
    f"{FIRST:,} samples, too. More than {MOST_COST} times the learner's own in total is a failure.",
]


def measure(context: Context) -> Section:
    """Measure streams, a drifting stream, and the cost."""
    section = Section("online", "Decisions of streams", list(TEXT))
    interpreter = os.environ.get(PYTHON)
    if interpreter is None:
        section.skip("river", f"the environment variable {PYTHON} names no interpreter")
    records: list[Record] = []
    path = context.figures / TRIALS.name if context.quick else TRIALS
    n_orders = 1 if context.quick else ORDERS
    try:
        costs = _measure_once(path, "cost", partial(_measure_costs, context.quick))
        for stream in load_streams(context.quick):
            records += _measure_once(path, stream.name, partial(_measure_stream, stream, interpreter, n_orders))
            if not stream.is_text:
                steps = partial(_measure_steps, stream, n_orders)
                records += _measure_once(path, f"{stream.name}, constant steps", steps)
        drift = partial(_measure_drift, context.quick, interpreter)
        drifting = _measure_once(path, "drift", drift)
    except SkippedError as reason:
        section.skip("covtype and rcv1sub1", reason)
        return section
    section.text.append(compare(records))
    section.tables.append(Table("Measure against samples seen", VALUES, records))
    section.tables.append(Table("F1 while the share of positives changes", DRIFT, drifting))
    section.tables.append(Table("Cost per sample", COST_COLUMNS, costs))
    section.figures.append(_draw(records, context))
    section.failures += find_failures(costs)
    return section


def _measure_once(path: Path, part: str, run: Callable[[], list[Record]]) -> list[Record]:
    """Return the stored records of a part, or measure and store them."""
    stored = [one["record"] for one in read(path) if one["part"] == part]
    if not stored:
        stored = run()
        append(path, [{"part": part, "record": one} for one in stored])
    return stored


# ------------------------------------------------------------------------------------------------- stationary streams


def _measure_stream(stream: Stream, interpreter: str | None, n_orders: int) -> list[Record]:
    parts = [stream.ordered(seed) for seed in range(n_orders)]
    records = []
    for measured in stream.measures:
        for name, follow, candidates in _list_learners(stream, measured):
            chosen = tune(candidates, partial(follow, stream.tuning), measured, stream.tuning)
            traces = [follow(part, chosen) for part in parts]
            records.append(_summarise(stream, measured, name, parts, traces, chosen))
            report(f"{stream.name}, {measured}, {name}: {records[-1]['end']:.3f}")
        value, chosen = score_batch_optimum(stream, measured)
        about = {"stream": stream.name, "measure": measured, "method": BATCH}
        records.append(about | {"test": value, "settings": _show(chosen)})
        report(f"{stream.name}, {measured}, {BATCH}: {value:.3f}")
    if interpreter is not None:
        records += _measure_river(stream, interpreter, parts)
    return records


def _measure_steps(stream: Stream, n_orders: int) -> list[Record]:
    """Measure the same learner with steps of one length, as river's have."""
    parts, records = [stream.ordered(seed) for seed in range(n_orders)], []
    candidates = [CONSTANT | {"eta0": rate} for rate in RATES[stream.is_text]]
    for measured in stream.measures:
        for name, follow, _ in _list_learners(stream, measured)[:2]:
            chosen = tune(candidates, partial(follow, stream.tuning), measured, stream.tuning)
            traces = [follow(part, chosen) for part in parts]
            records.append(_summarise(stream, measured, f"{name}, constant steps", parts, traces, chosen))
            report(f"{stream.name}, {measured}, {name}, constant steps: {records[-1]['end']:.3f}")
    return records


def _list_learners(stream: Stream, measured: str) -> list[tuple[str, Callable[[Part, Any], Trace], Sequence[Any]]]:
    """Return methods, how each follows a part of a stream with its settings, and the settings to choose from."""
    alphas = [{"alpha": alpha} for alpha in ALPHAS]
    found: list[tuple[str, Callable[[Part, Any], Trace], Sequence[Any]]] = [
        (OURS, lambda part, own: follow_ours(stream, part, measured, own), alphas),
        (FIXED, lambda part, own: follow_learner(lambda: make_sgd(own), stream, part), alphas),
    ]
    linear = make_own_learner(measured)
    if linear is not None and stream.classes == [0, 1]:
        name, make, candidates = linear
        found.append((name, lambda part, own: follow_learner(lambda: make(own), stream, part), candidates))
    return found


def _measure_river(stream: Stream, interpreter: str, parts: Sequence[Part]) -> list[Record]:
    is_multiclass = stream.classes is not None and len(stream.classes) > 2
    records, nothing = [], stream.test.take(slice(1))
    for learner, most, n_orders, candidates in list_river_learners(stream):
        tried = [run_river(interpreter, stream, stream.tuning, learner, one, nothing) for one in candidates]
        own_parts = [part.take(slice(most)) for part in parts[:n_orders]]
        known: dict[int, Any] = {}
        for measured in stream.measures:
            for name, decide in (
                (f"river, {learner}", lambda found, _, __: found.decide_fixed(is_multiclass)),
                (f"river, {learner}, decided online", lambda found, y, measured: found.decide_online(y, measured)),
            ):
                y = stream.tuning.y
                values = [decide(one, y, measured).value_at(measured, y, len(y)) for one in tried]
                best = int(np.argmax(values))
                if best not in known:
                    known[best] = [
                        run_river(interpreter, stream, part, learner, candidates[best], stream.test)
                        for part in own_parts
                    ]
                traces = [decide(one, part.y, measured) for one, part in zip(known[best], own_parts, strict=True)]
                records.append(_summarise(stream, measured, name, own_parts, traces, candidates[best]))
                records[-1]["seconds"] = float(np.mean([one.seconds for one in known[best]]))
                report(f"{stream.name}, {measured}, {name}: {records[-1]['end']:.3f}")
    return records


def _summarise(
    stream: Stream, measured: str, name: str, parts: Sequence[Part], traces: Sequence[Trace], settings: Any
) -> Record:
    """Return the means over orders of a measure at all checkpoints, at the end and on test samples."""
    n_samples, pairs = len(parts[0].y), list(zip(parts, traces, strict=True))
    values = {
        n_seen: [trace.value_at(measured, part.y, n_seen) for part, trace in pairs]
        for n_seen in (*(one for one in CHECKPOINTS if one < n_samples), n_samples)
    }
    last = values[n_samples]
    tested = [evaluate(measured, stream.test.y, trace.tested) for trace in traces]
    return {
        "stream": stream.name,
        "measure": measured,
        "method": name,
        **{f"at_{n_seen}": float(np.mean(one)) for n_seen, one in values.items()},
        "n_samples": n_samples,
        "end": float(np.mean(last)),
        "spread": max(last) - min(last) if len(last) > 1 else None,
        "test": float(np.mean(tested)),
        "settings": _show(settings),
    }


def _show(settings: Any) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in settings.items() if key not in CONSTANT)


def compare(records: Sequence[Record]) -> str:
    """Say, in words computed from the records, where the decisions help and where they do not."""
    parts = []
    for stream, measured in dict.fromkeys((one["stream"], one["measure"]) for one in records):
        own = {one["method"]: one for one in records if (one["stream"], one["measure"]) == (stream, measured)}
        ours = own[OURS]
        others = [one for one in own.values() if "end" in one and one["method"] != OURS]
        same = [one for one in others if f"at_{one['n_samples']}" in ours]
        best = max(same, key=lambda one: one["end"] - ours[f"at_{one['n_samples']}"])
        ours_then = ours[f"at_{best['n_samples']}"]
        parts.append(
            f"{stream}, {measured}: {ours['end']:.3f} against {own[FIXED]['end']:.3f} with the fixed threshold, on "
            f"test samples {ours['test']:.3f}, {own[FIXED]['test']:.3f} and {own[BATCH]['test']:.3f} at the batch "
            f"optimum; the best other method has {best['end']:.3f} after {best['n_samples']:,} samples "
            f"({best['method']}), where OnlineMetricClassifier has {ours_then:.3f}"
        )
    return f"{'; '.join(parts)}."


def _draw(records: Sequence[Record], context: Context) -> Figure:
    panels: dict[str, dict[str, Any]] = {}
    for one in records:
        curves = panels.setdefault(f"{one['stream']}: {one['measure']}", {})
        if one["method"] == BATCH:
            curves[BATCH] = one["test"]
        elif not one["method"].endswith(("online", "constant steps")):  # the table has them
            sizes = [size for size in (*CHECKPOINTS, one["n_samples"]) if f"at_{size}" in one]
            sizes = sorted(set(sizes))
            curves[one["method"]] = (sizes, [one[f"at_{size}"] for size in sizes])
    plots.learning(context.figures / "online.png", panels)
    return Figure(
        "online.png",
        "The measure of all predictions so far against samples seen. Dashed: the batch optimum, on test samples.",
    )


# ----------------------------------------------------------------------------------------------------- drifting stream


def _measure_drift(is_quick: bool, interpreter: str | None) -> list[Record]:
    stream = load_drifting(is_quick)
    alphas = [{"alpha": alpha} for alpha in ALPHAS]
    steps = [CONSTANT | {"eta0": eta0} for eta0 in STEPS]
    methods: list[tuple[str, Callable[[Part, Any], Trace], Sequence[Any]]] = []
    for name, learners in (("averaged steps", alphas), ("constant steps", steps)):
        both = [one | {"half_life": half_life} for one in learners for half_life in HALF_LIVES]
        methods += [
            (f"{FIXED}, {name}", lambda part, own: follow_learner(lambda: make_sgd(own), stream, part), learners),
            (f"OnlineMetricClassifier, {name}", partial(_follow_drift, stream), learners),
            (f"OnlineMetricClassifier, {name}, half_life", partial(_follow_drift, stream), both),
        ]
    records = []
    for name, follow, candidates in methods:
        tuned = [_rate_phases(stream.tuning.y, follow(stream.tuning, one).predicted) for one in candidates]
        best = int(np.argmax([float(np.mean(one)) for one in tuned]))
        found = follow(stream.stream, candidates[best])
        records.append(_summarise_drift(name, stream, found, candidates[best]))
        report(f"{stream.name}, {name}: {records[-1]['phases']:.3f}")
    if interpreter is not None:
        records += _measure_river_drift(stream, interpreter)
    return records


def _follow_drift(stream: Stream, part: Part, settings: Any) -> Trace:
    own = {key: value for key, value in settings.items() if key != "half_life"}
    return follow_ours(stream, part, "f1", own, half_life=settings.get("half_life"))


def _measure_river_drift(stream: Stream, interpreter: str) -> list[Record]:
    records, nothing = [], stream.test.take(slice(1))
    for learner, _, _, candidates in list_river_learners(stream):
        if learner not in (LINEAR, TREE):
            continue
        y = stream.tuning.y
        tried = [run_river(interpreter, stream, stream.tuning, learner, one, nothing) for one in candidates]
        kept: dict[int, Any] = {}
        for name, choices in (
            (f"river, {learner}", [(k, None) for k in range(len(tried))]),
            (f"river, {learner}, decided online, half_life", [(k, h) for k in range(len(tried)) for h in HALF_LIVES]),
        ):
            tuned = [
                float(np.mean(_rate_phases(y, _decide_drift(tried[k], y, half_life).predicted)))
                for k, half_life in choices
            ]
            k, half_life = choices[int(np.argmax(tuned))]
            if k not in kept:
                kept[k] = run_river(interpreter, stream, stream.stream, learner, candidates[k], nothing)
            settings = candidates[k] | ({} if half_life is None else {"half_life": half_life})
            found = _decide_drift(kept[k], stream.stream.y, half_life)
            records.append(_summarise_drift(name, stream, found, settings))
            report(f"{stream.name}, {name}: {records[-1]['phases']:.3f}")
    return records


def _decide_drift(found: Any, y: Any, half_life: float | None) -> Trace:
    return found.decide_fixed(False) if half_life is None else found.decide_online(y, "f1", half_life)


def _rate_phases(y: Any, predicted: Any) -> list[float]:
    ends = np.linspace(0, len(y), len(SHARES) + 1).astype(int)
    return [evaluate("f1", y[a:b], predicted[a:b]) for a, b in pairwise(ends)]


def _summarise_drift(name: str, stream: Stream, found: Trace, settings: Any) -> Record:
    phases = _rate_phases(stream.stream.y, found.predicted)
    return {
        "method": name,
        **{f"phase_{k}": value for k, value in enumerate(phases)},
        "phases": float(np.mean(phases)),
        "whole": evaluate("f1", stream.stream.y, found.predicted),
        "settings": _show(settings),
    }


def _measure_costs(is_quick: bool) -> list[Record]:
    streams = {"covtype": load_covtype(is_quick), "texts": load_texts(is_quick)}
    records = []
    for case in list_cases(streams):
        is_large = case.y.ndim == 2 and not isinstance(case.X, np.ndarray)  # a learner per label, of many features
        for batch, most in SIZES.items():
            records.append(measure_cost(case, batch, most[is_large]))
            report(f"cost, {case.task}, batches of {batch}: {records[-1]['ratio']:.2f}")
    return records
