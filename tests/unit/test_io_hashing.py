"""Words, categories and missing numbers in streams: hashed as by hand, whatever the chunks."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

import metricwise
from metricwise import STAMPClassifier
from metricwise.io import MalformedLineError, read_table, stream
from metricwise.io.hashing import HashedColumns

N_HASHED = 64
OPTIONS = {"target": "y", "categories": ["zip"], "texts": ["note"], "hash_features": N_HASHED}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    lines = ["age,job,zip,note,pay,y"]
    for _ in range(300):
        is_positive = rng.random() < 0.3
        age = "" if rng.random() < 0.2 else f"{rng.normal(40 + 10 * is_positive, 5):.2f}"
        job = rng.choice(["cook", "clerk", "NA", ""] if is_positive else ["smith", "clerk", "?"])
        note = rng.choice(["Good food; good wine", "", '"fine, really fine"'] if is_positive else ["poor food", "NA"])
        pay = rng.choice(["0", "1.5", "-2e1", "NA"])
        lines.append(f"{age},{job},{rng.choice(['01', '02'])},{note},{pay},{int(is_positive)}")
    found = tmp_path_factory.mktemp("hashing") / "people.csv"
    found.write_text("\n".join(lines) + "\n")
    return found


def hash_by_hand(path):
    """Return the features of the whole table by pandas and FeatureHasher alone."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    gaps = frame.isin(["", "NA", "?"])
    samples = []
    for row, is_missing in zip(frame.to_dict("records"), gaps.to_dict("records"), strict=True):
        pairs = [(f"{name}=", 1) for name in ("age", "pay") if is_missing[name]]
        pairs += [(f"{name}={'' if is_missing[name] else row[name]}", 1) for name in ("job", "zip")]
        words = [] if is_missing["note"] else row["note"].lower().replace(",", " ").replace(";", " ").split()
        samples.append(pairs + [(f"note:{word}", 1) for word in words])
    numbers = frame[["age", "pay"]].mask(gaps, "0").astype(float)
    hashed = FeatureHasher(N_HASHED, input_type="pair").transform(samples)
    return sparse.hstack([sparse.csr_matrix(numbers.to_numpy()), hashed]).toarray()


def test_features_equal_those_hashed_by_hand(path):
    rows = stream(path, **OPTIONS)
    assert rows.hashed_columns.kinds == ("number", "category", "category", "text", "number")
    assert rows.n_features == N_HASHED + 2
    (chunk,) = rows
    assert sparse.issparse(chunk.X)
    np.testing.assert_array_equal(chunk.X.toarray(), hash_by_hand(path))


def test_a_table_in_memory_has_the_features_of_the_stream(path):
    rows = stream(path, **OPTIONS)
    table = read_table(path, target="y", columns=rows.hashed_columns.file_kinds)
    np.testing.assert_array_equal(rows.hashed_columns.transform(table.X).toarray(), hash_by_hand(path))


@pytest.mark.parametrize("chunk_rows", [1, 7, 299])
def test_features_and_models_do_not_depend_on_the_chunks(path, chunk_rows):
    chunks = list(stream(path, chunk_rows=chunk_rows, **OPTIONS))
    np.testing.assert_array_equal(sparse.vstack([chunk.X for chunk in chunks]).toarray(), hash_by_hand(path))
    whole = STAMPClassifier().fit_stream(path, **OPTIONS)
    parts = STAMPClassifier().fit_stream(path, classes=[0, 1], chunk_rows=chunk_rows, **OPTIONS)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert parts.threshold_ == whole.threshold_


def test_later_chunks_start_where_earlier_ones_end(path):
    rows = stream(path, chunk_rows=100, **OPTIONS)
    every = list(rows)
    np.testing.assert_array_equal(next(rows.chunks(2)).X.toarray(), every[2].X.toarray())


def test_model_predicts_raw_tables_also_after_loading(path, tmp_path):
    model = STAMPClassifier().fit_stream(path, **OPTIONS)
    table = read_table(path, target="y", columns=model.hashed_columns_.file_kinds)
    expected = model.decision_function(sparse.csr_matrix(hash_by_hand(path)))
    assert model.score(table.X, table.y) > 0.8
    metricwise.save(model, tmp_path / "model.mw")
    loaded = metricwise.load(tmp_path / "model.mw")
    assert loaded.hashed_columns_ == model.hashed_columns_
    np.testing.assert_array_equal(loaded.decision_function(table.X), expected)
    shuffled = table.X[table.X.columns[::-1]].assign(unused=1)
    np.testing.assert_array_equal(loaded.decision_function(shuffled), expected)


def test_values_that_training_has_not_seen_are_predicted(path):
    model = STAMPClassifier().fit_stream(path, **OPTIONS)
    new = pd.DataFrame({"age": [np.nan], "job": ["pilot"], "zip": [None], "note": ["unheard words"], "pay": [None]})
    assert model.predict(new)[0] in (0, 1)
    with pytest.raises(ValueError, match="X lacks 1 of the columns of training: 'zip'"):
        model.predict(new.drop(columns="zip"))
    with pytest.raises(ValueError, match="column 'age' of X held numbers in training"):
        model.predict(new.assign(age="old"))
    with pytest.raises(ValueError, match="column 'age' of X holds infinity"):
        model.predict(new.assign(age=np.inf))


def test_more_rows_are_learnt_from_and_another_fit_forgets_the_rule(path):
    model = STAMPClassifier().fit_stream(path, **OPTIONS)
    table = read_table(path, target="y", columns=model.hashed_columns_.file_kinds)
    seen = model.result_.n_samples
    assert model.partial_fit(table.X, table.y).result_.n_samples == 2 * seen
    model.fit(table.X[["pay"]].fillna(0.0), table.y)
    assert not hasattr(model, "hashed_columns_")


def test_training_resumes_and_refuses_another_rule(path, tmp_path):
    whole = STAMPClassifier().fit_stream(path, chunk_rows=50, **OPTIONS)
    settings = {"checkpoint": tmp_path / "state", "every": 50}

    def interrupt(entry):
        if entry.n_samples >= 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        STAMPClassifier(callback=interrupt, **settings).fit_stream(path, chunk_rows=50, **OPTIONS)
    other = {**OPTIONS, "texts": [], "categories": ["zip", "note"]}
    with pytest.raises(ValueError, match="belongs to another training"):
        STAMPClassifier(**settings).fit_stream(path, chunk_rows=50, **other)
    resumed = STAMPClassifier(**settings).fit_stream(path, chunk_rows=50, **OPTIONS)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)


def test_parquet_has_the_features_of_csv(path, tmp_path):
    pytest.importorskip("pyarrow")
    rule = stream(path, **OPTIONS).hashed_columns
    table = read_table(path, target="y", columns=rule.file_kinds)
    table.X.assign(y=table.y).to_parquet(tmp_path / "people.parquet")
    rows = stream(tmp_path / "people.parquet", chunk_rows=70, **OPTIONS)
    assert rows.hashed_columns == rule
    found = sparse.vstack([chunk.X for chunk in rows]).toarray()
    np.testing.assert_array_equal(found, hash_by_hand(path))
    with pytest.raises(ValueError, match=r"column 'pay' is named as a category, and is of type double"):
        stream(tmp_path / "people.parquet", target="y", categories=["pay"])
    with pytest.raises(ValueError, match=r"or hash it by metricwise.io.stream with categories=\['job'\]"):
        stream(tmp_path / "people.parquet", target="y")


def test_codes_of_categories_are_the_same_in_csv_parquet_and_data_frames(tmp_path):
    pytest.importorskip("pyarrow")
    codes = pd.array([7, None, 12, 7] * 10, dtype="Int64")
    frame = pd.DataFrame({"size": np.arange(40.0), "zip": codes, "y": [0, 1] * 20})
    frame.to_csv(tmp_path / "codes.csv", index=False)
    frame.to_parquet(tmp_path / "codes.parquet", row_group_size=12)
    options = {"target": "y", "categories": ["zip"], "hash_features": N_HASHED}
    rows, typed = (stream(tmp_path / f"codes.{kind}", chunk_rows=9, **options) for kind in ("csv", "parquet"))
    expected = sparse.vstack([chunk.X for chunk in rows]).toarray()
    np.testing.assert_array_equal(sparse.vstack([chunk.X for chunk in typed]).toarray(), expected)
    rule = rows.hashed_columns
    assert typed.hashed_columns == rule
    np.testing.assert_array_equal(rule.transform(frame).toarray(), expected)
    for kind in ("csv", "parquet"):  # the tables that a model is evaluated on
        table = read_table(tmp_path / f"codes.{kind}", target="y", columns=rule.file_kinds)
        np.testing.assert_array_equal(rule.transform(table.X).toarray(), expected)
    # pandas reads whole numbers with gaps as floats, whose texts are others.
    with pytest.raises(ValueError, match=r"column 'zip' of X holds floats.*X.astype\({'zip': 'Int64'}\)"):
        rule.transform(pd.read_csv(tmp_path / "codes.csv"))
    np.testing.assert_array_equal(
        rule.transform(pd.read_csv(tmp_path / "codes.csv").astype({"zip": "Int64"})).toarray(), expected
    )


def test_text_among_numbers_is_an_error_with_its_place(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "1,red,0\n2,blue,1\n" * 6000 + "old,red,1\n")
    with pytest.raises(
        MalformedLineError, match=r"line 12002, column 1: found 'old' in column 'a'.*write NA"
    ) as caught:
        list(stream(path, hash_features=N_HASHED))
    assert "categories=['a']" in str(caught.value)
    rows = stream(path, hash_features=N_HASHED, on_error="skip")
    with pytest.warns(UserWarning, match="1 malformed line was left out"):
        assert sum(len(chunk.y) for chunk in rows) == 12000
    assert stream(path, categories=["a"]).n_features == 2**18


def test_a_rare_text_among_the_first_numbers_is_a_mistake(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "1,red,0\n2,blue,1\n" * 30 + "oops,red,1\n")
    with pytest.raises(MalformedLineError, match="line 62, column 1: found 'oops'"):
        list(stream(path, hash_features=N_HASHED))


def test_numbers_with_decimal_commas_and_quoted_marks(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a;b;y\n1,5;"NA";0\n;red;1\n1.234,5;NA;0\n')
    (chunk,) = stream(path, hash_features=N_HASHED)
    assert chunk.X[:, 0].toarray().ravel().tolist() == [1.5, 0.0, 1234.5]
    pairs = [[("b=NA", 1)], [("a=", 1), ("b=red", 1)], [("b=", 1)]]
    expected = FeatureHasher(N_HASHED, input_type="pair").transform(pairs).toarray()
    np.testing.assert_array_equal(chunk.X[:, 1:].toarray(), expected)


def test_gaps_without_hashing_name_the_remedy(path):
    with pytest.raises(MalformedLineError, match="hash_features, which marks missing numbers"):
        list(stream(path, target="y", columns=["age"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hash_features": 0}, "hash_features must be a whole number from 1"),
        ({"categories": "job"}, r"categories must be a list of columns, got 'job': write \['job'\]"),
        ({"categories": ["jbo"]}, "no column 'jbo' for categories: did you mean 'job'"),
        ({"categories": ["job"], "texts": ["job"]}, "named in categories and in texts"),
        ({"categories": ["y"]}, "'y' is named in categories or texts, and is no feature"),
    ],
)
def test_wrong_options_are_refused(path, options, message):
    with pytest.raises(ValueError, match=message):
        list(stream(path, target="y", **options))


def test_svmlight_files_have_nothing_to_hash(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:2\n0 1:3\n")
    with pytest.raises(ValueError, match="features of an svmlight file are numbers"):
        stream(tmp_path / "rows.svm", hash_features=8)


def test_a_rule_must_fit_together():
    with pytest.raises(ValueError, match="do not fit together"):
        HashedColumns(("a", "a"), ("number", "text"), 8)
