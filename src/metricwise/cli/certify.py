"""``metricwise certify``: recompute the bounds of a model's training objective from its data."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import click

from metricwise.cli.algorithms import algorithm_names
from metricwise.cli.console import Console, Outcome, command, format_table
from metricwise.cli.disk import disk_options
from metricwise.cli.models import is_read_once, load_model, read_like_training
from metricwise.cli.options import DataOptions, data_options
from metricwise.cli.queries import ranks_queries, read_queries_like_training
from metricwise.registry import entries, entry_of

if TYPE_CHECKING:
    from metricwise.io import Table


@click.command(short_help="Recompute the certificate of a model.")
@click.argument("model")
@click.argument("data")
@disk_options
@data_options
@command
def certify(
    console: Console, model: str, data: str, memory_limit: int | str | None, data_options: DataOptions
) -> Outcome:
    """Recompute the bounds of MODEL's training objective from the model and the DATA it was trained on."""
    from metricwise.certifying import certify as recompute
    from metricwise.reporting.optimality import name_objective

    trained = load_model(model)
    if ranks_queries(trained):
        table = read_queries_like_training(console, trained, data, data_options, memory_limit, weighted=True)
    else:
        table = read_like_training(
            console, trained, data, data_options, labelled=True, weighted=True, memory_limit=memory_limit
        )
        _refuse_other_labels(data, trained, table)
    _warn_about_other_data(console, model, data)
    learner, X = _find_learner_and_samples(trained, table.X)
    with console.progress("certifying"):
        found = recompute(learner, X, table.y, table.sample_weight, groups=table.groups)
    bounds = found if isinstance(found, list) else [found]
    names = _name_problems(learner, len(bounds))
    results = learner.result_ if isinstance(learner.result_, list) else [learner.result_]
    records = [
        {
            "class": name,
            "objective": name_objective(result, learner.measure_.name),
            "upper": one.upper,
            "lower": one.lower,
            "gap": one.relative,
            "claimed": getattr(result.certificate, "relative", None),
        }
        for name, one, result in zip(names, bounds, results, strict=True)
    ]
    return Outcome(_format_bounds(records), {"rows": table.n_rows, "certificates": records})


def _name_problems(learner: Any, n_problems: int) -> list[str]:
    """Return a name for each binary problem: its class, or its two classes in one-vs-one training."""
    if n_problems == 1:
        return ["all"]
    labels = [str(label) for label in learner.classes_]
    if learner.multi_class != "ovo":
        return labels
    return [f"{first} vs {second}" for first, second in combinations(labels, 2)]


def _refuse_other_labels(data: str, trained: Any, table: Table) -> None:
    """Raise if the samples that count have a label that the model does not know: it was trained on others."""
    import numpy as np

    y = np.asarray(table.y)
    known = np.asarray(trained.classes_)
    if y.ndim != 1 or known.ndim != 1:  # multilabel, which no model with a certificate is
        return
    if y.dtype.kind == "U":
        known = known.astype(np.str_)
    counts = np.ones(len(y), dtype=np.bool_) if table.sample_weight is None else table.sample_weight > 0.0
    other = np.flatnonzero(counts & ~np.isin(y, known))
    if other.size:
        raise ValueError(
            f"{data} has the label {y[other[0]].item()!r} (first in row {int(other[0]) + 1}), and the model was "
            f"trained on {', '.join(map(repr, known[:10].tolist()))}{', ...' * (len(known) > 10)}: certify needs the "
            "file of training, or name the column of its labels by --target"
        )


def _warn_about_other_data(console: Console, model: str, data: str) -> None:
    from pathlib import Path

    from metricwise.persistence import describe, fingerprint

    trained_on = describe(model).data
    if is_read_once(data) or trained_on is None:
        return
    if trained_on.get("sha256") != fingerprint(Path(data)).get("sha256"):
        console.note(f"Warning: {data} is not the file that {model} was trained on: their fingerprints differ")


def _find_learner_and_samples(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the part of a model that has a certificate, and the samples as that part was fitted on them."""
    for name in ("best_estimator_", "estimator_"):
        model = getattr(model, name, model)
    if isinstance(model, list):
        raise ValueError(
            "the model averages the scores of an ensemble, which has no certificate: certify one of its members"
        )
    if hasattr(model, "transformer_"):
        model, X = model.learner_, model.transformer_.transform(X)
    entry = entry_of(model)
    if entry is None or not entry.has_certificate:
        names = algorithm_names(one for one in entries() if one.has_certificate)
        raise ValueError(f"{type(model).__name__} has no certificate; models of {', '.join(names)} have one")
    return model, X


def _format_bounds(records: list[dict[str, Any]]) -> str:
    rows = [
        [
            record["class"],
            record["objective"],
            f"{record['upper']:.6g}",
            f"{record['lower']:.6g}",
            f"{100 * record['gap']:.3g} %",
            "" if record["claimed"] is None else f"{100 * record['claimed']:.3g} %",
        ]
        for record in records
    ]
    return format_table(["class", "objective", "upper bound", "lower bound", "gap", "gap of training"], rows)
