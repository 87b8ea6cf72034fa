"""Histogram training on a cluster: neither scores nor labels leave the workers."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from metricwise import MultivariateSVC
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.labelled import ClusterData
from metricwise.designs.remote_design import RemoteDesign
from tests.cluster.chunked import make_csr_chunks, make_dense_chunks
from tests.contracts.cases import TOL, make_data

X, POSITIVE = make_data(n_samples=200)
NAMES = [f"feature {k}" for k in range(X.shape[1])]
CHUNKS = (50, 81, 1, 68)
DATA = make_dense_chunks(X, CHUNKS)
LABELS = da.from_array(POSITIVE, chunks=77)
FRAME = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(label=POSITIVE.astype(int)), npartitions=3)

SOURCES = {
    "dense": (DATA, LABELS),
    "CSR": (make_csr_chunks(X, CHUNKS), LABELS),
    "local labels": (DATA, POSITIVE),
    "frame": (FRAME[NAMES], FRAME["label"]),
}


def train(measure, data, labels, **settings):
    settings = {"C": 0.05, "threshold": "train", "score_bins": 100} | settings
    return MultivariateSVC(measure, **settings).fit(data, labels)


@pytest.mark.parametrize(
    ("measure", "kind"),
    [("f1", "dense"), ("f1", "CSR"), ("prbep", "frame"), ("roc_auc", "local labels"), ("two_way_partial_auc", "dense")],
)
def test_the_certificate_equals_that_in_memory(measure, kind, client):
    here, there = (train(measure, *samples) for samples in ((X, POSITIVE), SOURCES[kind]))
    exact = train(measure, X, POSITIVE, score_bins=None).result_.certificate
    found = there.result_.certificate
    assert there.result_.status.reached_tolerance
    assert found.upper == pytest.approx(here.result_.certificate.upper, rel=TOL)
    assert found.upper >= exact.lower * (1 - 1e-9)
    assert found.lower <= exact.upper * (1 + 1e-9)
    assert there.result_.bytes_moved > 0


def test_the_model_does_not_depend_on_the_placement_of_chunks(client):
    first = train("f1", DATA, LABELS)
    alone = da.from_array(X, chunks=(CHUNKS, -1)).persist(workers=[next(iter(client.ncores()))])
    second = train("f1", alone, LABELS)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.threshold_ == second.threshold_


def test_bytes_per_iteration_do_not_grow_with_n_samples(client):
    moved = {}
    for n_samples in (6_000, 24_000):
        samples = da.random.default_rng(0).normal(size=(n_samples, 10), chunks=(n_samples // 2, -1))
        labels = samples[:, 0] + samples[:, 1] > 1.5
        for bins in (64, None):
            few = {"score_bins": bins, "callback": lambda entry: entry.iteration == 5}
            history = train("f1", samples, labels, **few).result_.history
            moved[n_samples, bins] = float(np.mean(np.diff([entry.bytes_moved for entry in history])))
    assert moved[24_000, 64] < 1.3 * moved[6_000, 64]
    assert moved[24_000, None] > 3 * moved[6_000, None]
    assert moved[24_000, 64] < 0.5 * moved[24_000, None]


def test_scores_are_recomputed_where_chunks_have_moved(client):
    source = ClusterData(persist_blocks(DATA, client), DATA, LABELS, 1.0, 1)
    samples = RemoteDesign(source, 1)
    w = np.random.default_rng(0).normal(size=X.shape[1] + 1)
    scores, edges = samples.scores(w), (np.zeros(1), np.zeros(1))
    before = samples.histogram(scores, edges).classes
    source.pool.forget_workers()  # as after a lost worker: actors are restarted without scores
    after = samples.histogram(scores, edges).classes
    for old, new in zip(before, after, strict=True):
        for part, again in zip(old, new, strict=True):
            np.testing.assert_array_equal(part, again)
    sample, n_pos = samples.sample(60, seed=0)
    assert sample.shape == (60, X.shape[1] + 1)
    assert n_pos == round(60 * POSITIVE.mean())


def test_empty_partitions_are_skipped(client):
    selected = FRAME.map_partitions(lambda part: part[part.index >= 70])
    assert 0 in selected.map_partitions(len).compute().tolist()
    there = train("f1", selected[NAMES], selected["label"])
    here = train("f1", X[70:], POSITIVE[70:])
    assert there.result_.certificate.upper == pytest.approx(here.result_.certificate.upper, rel=TOL)


def drop_label(labels, number):
    return labels.astype(object).map_blocks(
        lambda block, block_info=None: np.where(
            (np.arange(len(block)) == 3) & (block_info[0]["chunk-location"][0] == number), None, block
        ),
        dtype=object,
    )


INVALID = {
    "fewer labels": (DATA, LABELS[:-1], "200 samples and y has 199 labels"),
    "fewer local labels": (DATA, POSITIVE[:-1], "200 samples and y has 199 labels"),
    "other partitions": (FRAME[NAMES], FRAME["label"].repartition(npartitions=2), "in 3 chunks and y in 2"),
    "other samples": (
        FRAME[NAMES],
        FRAME[FRAME["label"] == 1]["label"],
        "chunk 0 of X has 67 samples and chunk 0 of y",
    ),
    "one class": (DATA, da.ones(200, chunks=50), "only one class"),
    "numbers": (DATA, DATA[:, 0] + 0.5, "(?i)continuous"),
    "no labels": (DATA, None, "requires y"),
    "missing labels": (DATA, drop_label(LABELS.rechunk((CHUNKS,)), 1), "lacks a label in chunk 1, sample 3"),
    "two columns": (DATA, DATA[:, :2].rechunk((-1, -1)), "one label per sample"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_labels_raise(case, client):
    data, labels, message = INVALID[case]
    model = MultivariateSVC("f1", threshold=0.0, score_bins=32)
    with pytest.raises(ValueError, match=message):
        model.fit(data, labels)
    assert not hasattr(model, "n_features_in_")
