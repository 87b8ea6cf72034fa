"""Options that name columns and kinds, checked before a file is read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metricwise.io import read_table, stream
from metricwise.io.options import check_columns, check_targets
from metricwise.io.roles import RoleOptions, assign_roles
from metricwise.io.tables import read_texts


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n1,2,0\n3,4,1\n5,6,1\n")
    return path


NO_COLUMN = "must be the name or the position of a column, got"
NO_LIST = "must be a list of columns, got"
WRONG = [
    ({"target": 1.5}, f"target {NO_COLUMN} 1.5"),
    ({"target": True}, f"target {NO_COLUMN} True"),
    ({"target": [0.0]}, f"target {NO_COLUMN} 0.0"),
    ({"target": [[0]]}, rf"target {NO_COLUMN} \[0\]"),
    ({"weight": 1.5}, f"weight {NO_COLUMN} 1.5"),
    ({"weight": ["a"]}, rf"weight {NO_COLUMN} \['a'\]"),
    ({"drop": "ab"}, rf"drop {NO_LIST} 'ab': write \['ab'\]"),
    ({"drop": 3}, f"drop {NO_LIST} 3"),
    ({"drop": [None]}, f"drop {NO_COLUMN} None"),
    ({"drop": [1.0]}, f"drop {NO_COLUMN} 1.0"),
    ({"columns": "ab"}, rf"columns {NO_LIST} 'ab': write \['ab'\]"),
    ({"columns": 5}, f"columns {NO_LIST} 5"),
    ({"columns": [0]}, "columns must be names of columns, got 0 among them"),
    ({"columns": ["a", "a"]}, "columns names 'a' twice: name each column once"),
    ({"columns": {"a": "float"}}, "columns gives 'a' the kind 'float': write 'number' or 'text'"),
    ({"labelled": "no"}, "labelled must be True or False, got 'no'"),
    ({"zero_based": "x"}, "zero_based must be True or False, got 'x'"),
    ({"has_header": "no"}, "has_header must be True or False, got 'no'"),
    ({"delimiter": 5}, "delimiter must be a single ASCII character"),
    ({"delimiter": b","}, "delimiter must be a single ASCII character"),
]


@pytest.mark.parametrize(("options", "message"), [*WRONG, ({"groups": 1.0}, f"groups {NO_COLUMN} 1.0")], ids=str)
def test_whole_files_refuse_wrong_options(path, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(path, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *WRONG,
        ({"categories": 5}, f"categories {NO_LIST} 5"),
        ({"categories": [1.5]}, f"categories {NO_COLUMN} 1.5"),
        ({"texts": [None]}, f"texts {NO_COLUMN} None"),
        ({"dtype": "foo"}, "dtype must be float64 or float32, got 'foo'"),
    ],
    ids=str,
)
def test_streams_refuse_wrong_options(path, options, message):
    with pytest.raises(ValueError, match=message):
        stream(path, **options)


def test_keys_are_named_in_a_list(path):
    with pytest.raises(ValueError, match=rf"columns {NO_LIST} 'ab': write \['ab'\]"):
        read_texts(path, "ab")
    assert read_texts(path, ["a", 1]) == {"a": ["1", "3", "5"], "b": ["2", "4", "6"]}


def test_columns_may_be_named_by_arrays_and_indices(path):
    frame = pd.read_csv(path)
    table = read_table(path, target=np.int64(2), columns=frame.columns[:1], drop=np.array([1]))
    assert table.feature_names == ("a",) and table.y.tolist() == [0, 1, 1]


class CountingName(str):
    """A name that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other):
        CountingName.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_finding_columns_compares_each_name_a_few_times(monkeypatch):
    monkeypatch.setattr(CountingName, "comparisons", 0)
    names = [CountingName(f"c{number}") for number in range(1000)]
    options = RoleOptions(target=("c999",), drop=tuple(str(name) for name in names[:-2]))
    assert assign_roles("rows.csv", names, len(names), options).feature_names == ("c998",)
    assert 0 < CountingName.comparisons < 20 * len(names)


def test_an_array_without_dimensions_is_one_column():
    with pytest.raises(ValueError, match=r"target must be the name or the position of a column, got array\(2\)"):
        check_targets(np.array(2))
    with pytest.raises(ValueError, match=r"drop must be a list of columns, got array\(2\)"):
        check_columns("drop", np.array(2))
