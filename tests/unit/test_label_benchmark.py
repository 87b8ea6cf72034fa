"""The benchmark of guarantees of labels counts what is kept, broken and refused."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.label_guarantees import COLUMNS, Population, Setting, _record


def test_records_count_what_all_labels_keep():
    truth = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=bool)
    setting = Setting(Population("small", np.zeros((4, 2)), truth), "recall", 0.6, [0, 1])
    half = truth.copy()
    half[0] = [True, False]  # the second label is found in one of two samples
    record = _record(setting, "method", [truth, half, None, np.ones_like(truth)])
    assert (record["trials"], record["refused"], record["kept"]) == (4, 0.25, 2 / 3)
    assert record["kept_or_refused"] == 0.75
    assert record["recall"] == pytest.approx((1.0 + 0.75 + 1.0) / 3)
    assert record["precision"] == pytest.approx((1.0 + 1.0 + 0.5) / 3)
    assert {column.key for column in COLUMNS} <= set(record)
    assert _record(setting, "method", [None])["kept"] is None
    assert setting.wanted == "recall >= 0.6 of each of 2 labels"
