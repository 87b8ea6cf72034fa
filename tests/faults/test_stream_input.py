"""What is wrong with a chunk or a file is said clearly, and the model stays as it was."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from metricwise import MiniBatchSVC, PrecisionAtK, SPADEClassifier, STAMPClassifier
from metricwise.io import MalformedLineError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X[:, 0] > 0.5).astype(int)
ESTIMATORS = [SPADEClassifier("g_mean"), STAMPClassifier("f1"), MiniBatchSVC("prbep", batch_rows=50)]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=[type(one).__name__ for one in ESTIMATORS])


def numbers_of(model):
    return [model.coef_.copy(), model.intercept_.copy(), model.threshold_, model.result_.n_rows, model.n_features_in_]


def with_nan(rows):
    rows = rows.copy()
    rows[3, 2] = np.nan
    return rows


BAD_CHUNKS = {
    "unknown label": (X[:5], np.array([0, 1, 7, 0, 1]), {}, r"y\[2\] is 7, a label not among classes=\[0, 1\]"),
    "features": (X[:5, :3], Y[:5], {}, "X has 3 features.*expecting 4 features"),
    "nan": (with_nan(X[:5]), Y[:5], {}, "Input X contains NaN"),
    "infinity": (np.full((2, 4), np.inf), Y[:2], {}, "Input X contains infinity"),
    "empty": (X[:0], Y[:0], {}, r"0 sample\(s\)"),
    "sparse": (sparse.csr_matrix(X[:5]), Y[:5], {}, "rows learnt from before were dense.*convert X"),
    "lengths": (X[:5], Y[:4], {}, "inconsistent numbers of samples"),
    "negative weight": (X[:2], Y[:2], {"sample_weight": [1.0, -1.0]}, "Negative values"),
    "other classes": (X[:5], Y[:5], {"classes": [0, 1, 2]}, "not the same as on last call"),
    "one dimension": (X[0], Y[:1], {}, "Expected 2D array"),
}


@each_estimator
@pytest.mark.parametrize("case", list(BAD_CHUNKS))
def test_a_bad_chunk_leaves_the_model_as_it_was(estimator, case):
    rows, labels, options, message = BAD_CHUNKS[case]
    model = type(estimator)(**estimator.get_params()).partial_fit(X, Y, classes=[0, 1])
    before = numbers_of(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(rows, labels, **options)
    for was, now in zip(before, numbers_of(model), strict=True):
        np.testing.assert_array_equal(was, now)


@each_estimator
def test_a_bad_first_chunk_leaves_no_model(estimator):
    model = type(estimator)(**estimator.get_params())
    with pytest.raises(ValueError, match=r"classes must be given in the first call"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"classes has 1 label\(s\)"):
        model.partial_fit(X, Y, classes=[1])
    with pytest.raises(ValueError, match=r"Input X contains NaN"):
        model.partial_fit(with_nan(X), Y, classes=[0, 1])
    assert not hasattr(model, "coef_") and not hasattr(model, "classes_")


def test_one_row_and_one_class_are_no_mistake():
    model = STAMPClassifier().partial_fit(X[Y == 1], Y[Y == 1], classes=[0, 1])
    model.partial_fit(X[:1], Y[:1])
    assert np.isfinite(model.coef_).all()


def test_other_names_of_features():
    model = STAMPClassifier().partial_fit(pd.DataFrame(X, columns=list("abcd")), Y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"feature names should match"):
        model.partial_fit(pd.DataFrame(X, columns=list("abdc")), Y)


def test_measures_that_do_not_fit_name_what_does():
    with pytest.raises(TypeError, match=r"SPADEClassifier needs.*STAMPClassifier"):
        SPADEClassifier("f1").fit(X, Y)
    with pytest.raises(TypeError, match=r"STAMPClassifier needs.*SPADEClassifier"):
        STAMPClassifier("g_mean").fit(X, Y)
    with pytest.raises(ValueError, match=r"give k as a share of the positives"):
        MiniBatchSVC(PrecisionAtK(10)).fit(X, Y)


def write(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


def good_lines():
    return [",".join(f"{value:.4g}" for value in (*row, label)) for row, label in zip(X, Y, strict=True)]


def test_malformed_lines_stop_or_are_skipped_and_counted(tmp_path):
    lines = good_lines()
    lines[41] = lines[41].replace(",", ",oops", 1)
    path = write(tmp_path / "rows.csv", lines)
    model = STAMPClassifier().fit(X, Y)
    before = numbers_of(model)
    with pytest.raises(MalformedLineError, match=r"rows\.csv.*42") as caught:
        model.fit_stream(path, chunk_rows=10)
    assert (caught.value.line, caught.value.column > 0) == (42, True)
    for was, now in zip(before, numbers_of(model), strict=True):
        np.testing.assert_array_equal(was, now)
    with pytest.warns(UserWarning, match=r"1 .*rows\.csv"):
        model.fit_stream(path, on_error="skip")
    assert model.result_.n_rows == 299


def test_sources_that_cannot_be_read(tmp_path):
    model = STAMPClassifier()
    with pytest.raises(ValueError, match=r"read once only.*n_passes=1"):
        model.fit_stream(iter([(X, Y)]), n_passes=2)
    with pytest.raises(TypeError, match=r"chunk 0 of source"):
        model.fit_stream([X])
    with pytest.raises(TypeError, match=r"source must be a path"):
        model.fit_stream(3)
    with pytest.raises(OSError, match=r"missing"):
        model.fit_stream(tmp_path / "missing.csv")
    with pytest.raises(ValueError, match=r"one class only.*classes="):
        model.fit_stream([(X[Y == 1], Y[Y == 1])])
    with pytest.raises(ValueError, match=r"no rows"):
        model.fit_stream([])
    assert not hasattr(model, "coef_")


def test_checkpoints_that_cannot_be_used(tmp_path):
    with pytest.raises(OSError, match=r"cannot be written.*folder that exists"):
        STAMPClassifier(checkpoint=tmp_path / "nowhere" / "run").fit(X, Y)
    corrupt = tmp_path / "corrupt"
    corrupt.write_bytes(b"PK not a checkpoint")
    with pytest.raises(ValueError, match=r"cannot be read.*remove the file"):
        STAMPClassifier(checkpoint=corrupt).fit(X, Y)


def interrupted(path, **settings):
    """A training that leaves a checkpoint behind, since it was stopped by an error."""

    def fail(_):
        raise KeyboardInterrupt

    model = STAMPClassifier(checkpoint=path, every=100, tol=-1.0, callback=fail, **settings)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X.repeat(10, axis=0), Y.repeat(10))
    return path


def test_a_checkpoint_belongs_to_its_data_and_settings(tmp_path):
    path = interrupted(tmp_path / "run")
    assert path.exists()
    rows, labels = X.repeat(10, axis=0), Y.repeat(10)
    for model, data in ((STAMPClassifier(eta0=2.0, tol=-1.0), rows), (STAMPClassifier(tol=-1.0), rows + 1.0)):
        with pytest.raises(ValueError, match=r"other settings or other data.*remove the file"):
            model.set_params(checkpoint=path).fit(data, labels)
    resumed = STAMPClassifier(checkpoint=path, tol=-1.0).fit(rows, labels)
    np.testing.assert_array_equal(resumed.coef_, STAMPClassifier(tol=-1.0).fit(rows, labels).coef_)
    assert not path.exists()
