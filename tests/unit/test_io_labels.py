"""Labels of files: texts as arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metricwise.io import read_table, stream

pytest.importorskip("pyarrow")


def write_long_label(folder, suffix):
    labels = ["x"] * 2999 + ["z" * 12_000]
    path = folder / f"rows{suffix}"
    if suffix == ".parquet":
        pd.DataFrame({"a": np.arange(3000.0), "y": labels}).to_parquet(path)
    elif suffix == ".svm":
        path.write_text("".join(f"{label} 1:{row}\n" for row, label in enumerate(labels)))
    else:
        path.write_text("a,y\n" + "".join(f"{row},{label}\n" for row, label in enumerate(labels)))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".svm", ".parquet"])
def test_one_long_label_does_not_take_its_space_in_every_row(tmp_path, suffix):
    path = write_long_label(tmp_path, suffix)
    problem = r"row 3000: found a label of 12,000 characters, .* 144MB together: shorten it, or name another target"
    with pytest.raises(ValueError, match=problem):
        read_table(path)
    with pytest.raises(ValueError, match=problem):
        list(stream(path))
    assert [len(chunk.y) for chunk in stream(path, chunk_rows=500)] == [500] * 6
