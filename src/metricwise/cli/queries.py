"""What commands do with rankers: find the queries of a file, and evaluate rankings of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from metricwise.cli.console import Console, Outcome, format_table
from metricwise.cli.models import get_table_info, read_like_training, spool_input
from metricwise.cli.options import ColumnKey, DataOptions
from metricwise.registry import entry_of

if TYPE_CHECKING:
    from metricwise._typing import Floats
    from metricwise.io import Table

_MEASURES = ("ndcg", "ndcg@5", "ndcg@10", "average_precision", "reciprocal_rank")
_N_RESAMPLES = 2000


def ranks_queries(model: Any) -> bool:
    """Return whether a model ranks the samples of queries, so that it has no classes."""
    from metricwise.reporting.models import layers

    found = (entry_of(layer) for layer in layers(model))
    return any(entry is not None and entry.ranks_queries for entry in found)


def refuse_ranker(model: Any, command: str) -> None:
    """Raise a usage error if a command that is for classifiers gets a ranker."""
    if ranks_queries(model):
        raise click.UsageError(
            f"{command} describes classifiers, and the model ranks the samples of queries: metricwise evaluate takes it"
        )


def find_query_column(
    path: str, options: DataOptions, named: ColumnKey | None, of_training: ColumnKey | None = None
) -> ColumnKey:
    """Return the column of the queries: the one that is named, that of training, or ``qid:`` of an svmlight file.

    Parameters
    ----------
    path : str
        The file, which must be readable repeatedly.
    options : DataOptions
        How to read it.
    named, of_training : column or None
        The column that the user names, and that of the file of training.
    """
    from metricwise.io.spec import QUERIES, describe_file

    found = describe_file(path, ("csv", "svmlight", "arff", "parquet"), **options.file_options()).format
    if named is not None:
        return named
    if found == "svmlight":
        return QUERIES
    if of_training is None or of_training == QUERIES:
        raise click.UsageError(
            "name the column of the queries by --groups, whose samples are ranked with each other; auc-svm trains for "
            "one ranking of all samples"
        )
    return of_training


def read_queries_like_training(
    console: Console,
    model: Any,
    data: str,
    options: DataOptions,
    memory_limit: int | str | None,
    groups: ColumnKey | None = None,
    *,
    weighted: bool = False,
) -> Table:
    """Return a labelled table with the columns of a ranker and its queries as groups.

    Parameters
    ----------
    console : Console
        Notes how the file was read.
    model : fitted ranker
        The model.
    data : str
        The file.
    options : DataOptions
        How to read it.
    memory_limit : int, str or None
        Must be None: rankers read all samples into memory.
    groups : column, optional
        Column of the queries; by default that of training.
    weighted : bool
        Whether weights are by default in the column of training.
    """
    if memory_limit is not None:
        raise click.UsageError("--disk is for classifiers, and the model ranks queries in memory: leave it out")
    with spool_input(data) as path:
        column = find_query_column(path, options, groups, get_table_info(model).get("queries"))
        return read_like_training(console, model, path, options, labelled=True, weighted=weighted, groups=column)


def evaluate_ranker(
    console: Console, model: Any, table: Table, measures: tuple[str, ...], own: str | None, confidence: float, seed: int
) -> Outcome:
    """Return the means of ranking measures over the queries of a table, with intervals for new queries."""
    import numpy as np

    from metricwise.measures.queries import encode_queries, score_queries, weigh_queries

    assert table.y is not None
    queries, codes = encode_queries(table.groups, table.n_rows)
    given = np.ones(table.n_rows) if table.sample_weight is None else table.sample_weight
    weights = dict(zip(queries, weigh_queries(queries, codes, given), strict=True))
    scores, records = model.predict(table.X), []
    for text in dict.fromkeys(measures or (*([own] if own else []), *_MEASURES)):
        try:
            values = score_queries(text, table.y, scores, table.groups, sample_weight=given, per_query=True)
        except ValueError as error:
            if measures:
                raise
            console.note(f"{text} does not apply: {error}")
            continue
        own_weights = np.array([weights[query] for query in values])
        low, high = _bootstrap_mean(np.array(list(values.values())), own_weights, confidence, seed)
        mean = float(np.average(list(values.values()), weights=own_weights))
        records.append({"measure": text, "value": mean, "low": low, "high": high})
    facts = {"rows": table.n_rows, "queries": len(queries), "confidence": confidence, "measures": records}
    rows = [[str(one["measure"]), f"{one['value']:.4f}", f"{one['low']:.4f} to {one['high']:.4f}"] for one in records]
    heading = f"means over {len(queries):,} queries; one without relevant samples counts as 0"
    values_table = format_table(["measure", "value", f"{100 * confidence:g} % interval"], rows)
    return Outcome(f"{heading}, and intervals are for new queries\n{values_table}", facts)


def _bootstrap_mean(values: Floats, weights: Floats, confidence: float, seed: int) -> tuple[float, float]:
    """Return the interval of the weighted mean of values, by a Bayesian bootstrap."""
    import numpy as np

    random, drawn = np.random.default_rng(seed), np.empty(_N_RESAMPLES)
    for number in range(_N_RESAMPLES):
        resampled = weights * random.standard_exponential(values.size)
        drawn[number] = resampled @ values / resampled.sum()
    low, high = np.quantile(drawn, [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence])
    return float(low), float(high)
