"""``metricwise compare``: compare algorithms and measures by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import click

from metricwise.cli import algorithms
from metricwise.cli.algorithms import AlgorithmName, Settings
from metricwise.cli.console import Console, Outcome, command, format_table, join_lines
from metricwise.cli.disk import disk_options, open_labelled_table
from metricwise.cli.options import (
    GROUPS_OF_FOLDS,
    DataOptions,
    MeasureText,
    Seconds,
    confidence_option,
    data_options,
    groups_option,
    on_error_option,
    pos_label_option,
)
from metricwise.cli.samples import describe_samples, format_samples

if TYPE_CHECKING:
    from metricwise._typing import Indices, Integers
    from metricwise.io import Table

_DEFAULT = ("multivariate-svm", "plug-in", "auto")
_DEFAULT_MULTILABEL = ("binary-relevance", "plug-in", "auto")
_DEFAULT_ON_DISK = ("multivariate-svm", "auto")

# Memory per sample beside that of a training: the parts of a fold, and the predictions of an algorithm.
_BYTES_OF_FOLDS = 20
_BYTES_OF_PREDICTIONS = 20


@click.command(short_help="Compare algorithms by cross-validation.")
@click.argument("data")
@click.option(
    "--measure",
    "measures",
    multiple=True,
    default=["f1"],
    type=MeasureText(),
    help="Measure to train for and to evaluate by; may be repeated.",
)
@click.option(
    "--algorithm", "names", multiple=True, type=AlgorithmName(), help="Algorithm to compare; may be repeated."
)
@click.option(
    "--learner",
    default="logistic",
    show_default=True,
    type=click.Choice(algorithms.LEARNERS),
    help="Base classifier of plug-in, cost-sensitive and the multilabel algorithms.",
)
@click.option("--folds", default=5, show_default=True, type=click.IntRange(min=2), help="Folds of cross-validation.")
@click.option("--time-budget", type=Seconds(), help="Time limit of each fit of auto, such as 30s.")
@confidence_option
@pos_label_option("1 of 0 and 1 or of -1 and 1, or true; others must be named, unless the measure treats both alike")
@click.option("--seed", default=0, show_default=True, help="Seeds folds and learners.")
@groups_option(GROUPS_OF_FOLDS)
@on_error_option("with --disk")
@disk_options
@data_options
@command
def compare(
    console: Console,
    data: str,
    measures: tuple[str, ...],
    names: tuple[str, ...],
    learner: str,
    folds: int,
    time_budget: float | None,
    confidence: float,
    pos_label: str | None,
    seed: int,
    groups: str | int | None,
    on_error: Literal["raise", "skip"],
    memory_limit: int | str | None,
    data_options: DataOptions,
) -> Outcome:
    """Compare algorithms on DATA: each is trained for each measure and evaluated by it in cross-validation.

    Values are means over folds. Intervals come from a bootstrap that draws the same samples for all algorithms, so that
    the differences are paired. Samples count by the weights that --weight names, in training and in evaluation; with
    --groups, folds and resamples consist of whole groups. With --disk, samples stay on disk in training and prediction.
    """
    import numpy as np

    from metricwise.decisions.targets import describe_positive_class

    disk = memory_limit is not None
    if disk and groups is not None:
        raise click.UsageError("--groups is for samples in memory: leave it out, or leave --disk out")
    if on_error == "skip" and not disk:
        raise click.UsageError("--on-error is for --disk: add it, or correct the file")
    with console.progress(f"reading {data}"):
        table = _read(data, data_options, groups, memory_limit, on_error)
    console.note(table.recognised)
    assert table.y is not None
    is_multilabel = table.y.ndim == 2
    classes = [] if is_multilabel else np.unique(table.y).tolist()
    positive = pos_label if is_multilabel else algorithms.parse_label(pos_label, classes)
    wanted = names or (_DEFAULT_ON_DISK if disk else _DEFAULT_MULTILABEL if is_multilabel else _DEFAULT)
    for name in wanted if disk else ():  # before the folds, for which all samples are read
        algorithms.check_usage(name, Settings(measures[0], learner), is_multilabel, stream=False, disk=True)
    job = _Comparison(table, folds, confidence, seed, len(wanted))
    found = {}
    for measure in measures:
        runs = []
        for name in wanted:
            settings = Settings(measure, learner, seed=seed, pos_label=positive, is_grouped=groups is not None)
            if name == "auto":
                settings = replace(settings, time_budget=time_budget)
            if algorithms.find_algorithm(name).ranks_queries:
                raise click.UsageError(f"compare is for classifiers, and {name} ranks queries: train and evaluate it")
            if algorithms.find_algorithm(name).sends_to_review:
                raise click.UsageError(
                    f"compare evaluates all on the same samples, and {name} leaves some open: train and evaluate it"
                )
            algorithms.check_usage(name, settings, is_multilabel, stream=False, disk=disk)
            with console.progress(f"{name} for {measure}") as progress:
                runs.append(job.run(name, settings, progress))
        found[measure] = _evaluate_runs(job, runs, measure, confidence)
    if not any(result["results"] for result in found.values()):
        raise ValueError("; ".join(next(iter(found.values()))["left_out"].values()))
    facts: dict[str, Any] = {
        "rows": table.n_rows,
        "folds": len(job.splits),
        "confidence": confidence,
        "measures": found,
        **describe_samples(job.weights, job.groups),
    }
    texts = [_format_comparison(measure, result, confidence) for measure, result in found.items()]
    heading = format_samples(facts)
    if len(classes) == 2:
        label = classes[1] if positive is None else positive
        facts |= {"positive": {"label": label, "share": float(np.average(job.y == label, weights=job.weights))}}
        heading.insert(0, describe_positive_class(**facts["positive"]))
    return Outcome("\n\n".join(["\n".join(heading), *texts] if heading else texts), facts)


def _read(
    data: str,
    options: DataOptions,
    groups: str | int | None,
    memory_limit: int | str | None,
    on_error: Literal["raise", "skip"],
) -> Table:
    """Return the samples in memory or, with a limit, on disk."""
    from metricwise.io import read_table

    if memory_limit is not None:
        return open_labelled_table(data, options, memory_limit, on_error=on_error)
    return read_table(
        data, target=options.target or None, weight=options.weight, groups=groups, **options.file_options()
    )


@dataclass
class _Run:
    """The out-of-fold predictions of one algorithm, or the reason why there are none."""

    name: str
    folds: list[Any] = field(default_factory=list)
    seconds: float = 0.0
    refusal: str | None = None


@dataclass(frozen=True)
class _Splits:
    """Training and test samples of folds, made one fold at a time: those of all folds may not fit into memory."""

    folds: Integers

    def __len__(self) -> int:
        return int(self.folds.max()) + 1

    def __iter__(self) -> Iterator[tuple[Indices, Indices]]:
        import numpy as np

        for fold in range(len(self)):
            yield np.flatnonzero(self.folds != fold), np.flatnonzero(self.folds == fold)


class _Comparison:
    """A table divided into folds, on which algorithms are trained and evaluated."""

    def __init__(self, table: Table, folds: int, confidence: float, seed: int, n_algorithms: int) -> None:
        import numpy as np

        from metricwise.decisions.out_of_fold import make_splits
        from metricwise.io import DiskData
        from metricwise.reporting.predictions import drop_weightless
        from metricwise.reporting.resampling import SampleGroups

        assert table.y is not None
        self.table, self.confidence, self.seed = table, confidence, seed
        self.is_on_disk, self.memory_limit = isinstance(table.X, DiskData), 0
        self.splits: Any
        if self.is_on_disk:
            self._divide_on_disk(folds)
            per_sample = _BYTES_OF_FOLDS + _BYTES_OF_PREDICTIONS * n_algorithms
            self.memory_limit = table.X.memory_limit - per_sample * table.n_rows
            return
        self.X, self.y, self.weights, groups = drop_weightless(table.X, table.y, table.sample_weight, table.groups)
        codes = np.unique(np.zeros(len(self.y)) if self.y.ndim == 2 else self.y, return_inverse=True)[1].ravel()
        self.groups = SampleGroups.of(groups, codes)
        self.splits = make_splits(folds, self.X, codes, seed, needed=True, groups=groups)
        if not self.splits:
            kind = "distinct samples" if self.groups is None else "groups"
            raise ValueError(f"the samples are too few for folds: give at least two {kind} of every class")

    def _divide_on_disk(self, folds: int) -> None:
        """Set the folds of samples on disk; those without weight are left out."""
        import numpy as np

        from metricwise.decisions.out_of_fold import assign_folds
        from metricwise.designs import make_design
        from metricwise.designs.disk_views import SelectedSamples

        assert self.table.y is not None
        self.X, self.y, self.weights, self.groups = self.table.X, self.table.y, self.table.sample_weight, None
        if self.weights is not None and not self.weights.all():
            kept = np.flatnonzero(self.weights > 0.0)
            self.X = SelectedSamples(self.X, kept)
            self.y, self.weights = self.y[kept], self.weights[kept]
        codes = np.searchsorted(np.unique(self.y), self.y)
        found = assign_folds(make_design(self.X), codes, folds, self.seed)
        if found is None:
            raise ValueError("the samples are too few for folds: give at least two distinct samples of every class")
        self.splits = _Splits(found.astype(np.int32))

    def _take(self, samples: Indices) -> Any:
        """Return some of the samples, where they are."""
        from metricwise._sklearn import take_samples
        from metricwise.designs.disk_views import SelectedSamples

        return SelectedSamples(self.X, samples, self.memory_limit) if self.is_on_disk else take_samples(self.X, samples)

    def _build(self, name: str, settings: Settings, samples: Any) -> Any:
        if not self.is_on_disk:
            return algorithms.build_estimator(name, settings, samples)
        if name != algorithms.AUTO:
            self.table.X.check_training_memory()
        return algorithms.build_learner(name, settings)

    def run(self, name: str, settings: Settings, progress: Any) -> _Run:
        """Train an algorithm once per fold; the run holds its predictions, or why it cannot take the measure."""
        from metricwise.reporting.predictions import collect_predictions

        run, started = _Run(name), time.perf_counter()
        names = list(self.table.target_names) if self.y.ndim == 2 else None
        given = {"sample_weight": self.weights, "groups": None if self.groups is None else self.groups.codes}
        for number, (train, test) in enumerate(self.splits):
            progress.fraction = number / len(self.splits)
            samples = self._take(train)
            of_fold = {name: values[train] for name, values in given.items() if values is not None}
            try:
                model = self._build(name, settings, samples).fit(samples, self.y[train], **of_fold)
            except TypeError as error:  # a measure that lacks what the algorithm needs
                run.refusal = join_lines(error)
                return run
            weights = None if self.weights is None else self.weights[test]
            found = collect_predictions(model, self._take(test), self.y[test], settings.pos_label, names, weights)
            # A fold may hold few groups; how far their weights vary follows from the groups of all folds.
            groups = None if self.groups is None else self.groups.take(test)
            run.folds.append(replace(found, groups=groups))
        run.seconds = time.perf_counter() - started
        return run


def _evaluate_runs(job: _Comparison, runs: list[_Run], text: str, confidence: float) -> dict[str, Any]:
    """Return values and paired differences of the trained algorithms, the best first."""
    import numpy as np

    from metricwise.measures import get_measure
    from metricwise.reporting.evaluation import Evaluation, evaluate, resolve_measure

    trained = [run for run in runs if run.refusal is None]
    folds = []
    for number in range(len(job.splits) if trained else 0):
        predictions = [run.folds[number] for run in trained]
        measure = resolve_measure(get_measure(text), predictions[0])
        folds.append(evaluate(predictions, measure, confidence, job.seed + number))
    means = {}
    for number, run in enumerate(trained):
        own = [fold[number] for fold in folds]
        draws = np.mean([one.draws[: min(len(other.draws) for other in own)] for one in own], axis=0)
        means[run.name] = (
            Evaluation(float(np.mean([one.value for one in own])), draws, confidence, own[0].is_cost),
            run.seconds,
        )
    order = sorted(means, key=lambda name: means[name][0].badness)
    results = []
    for name in order:
        mean, seconds = means[name]
        low, high = mean.interval
        results.append({"algorithm": name, "value": mean.value, "low": low, "high": high, "seconds": seconds})
    differences = []
    for better, other in combinations(order, 2):
        value, low, high = means[better][0].ahead_of(means[other][0])
        differences.append({"better": better, "other": other, "difference": value, "low": low, "high": high})
    refused = {run.name: run.refusal for run in runs if run.refusal is not None}
    return {"results": results, "differences": differences, "left_out": refused}


def _format_comparison(measure: str, found: dict[str, Any], confidence: float) -> str:
    best = found["results"][0]["algorithm"] if found["results"] else None
    behind_best = {pair["other"]: pair for pair in found["differences"] if pair["better"] == best}
    rows = []
    for result in found["results"]:
        pair = behind_best.get(result["algorithm"])
        behind = "" if pair is None else f"{-pair['difference']:+.4f} ({-pair['high']:+.4f} to {-pair['low']:+.4f})"
        interval = f"{result['low']:.4f} to {result['high']:.4f}"
        rows.append([result["algorithm"], f"{result['value']:.4f}", interval, behind, f"{result['seconds']:.1f}"])
    headings = [measure, "value", f"{100 * confidence:g} % interval", "behind the best", "seconds"]
    lines = [format_table(headings, rows)] if rows else [f"{measure}:"]
    lines += [f"{name} is left out: {reason}" for name, reason in found["left_out"].items()]
    return "\n".join(lines)
