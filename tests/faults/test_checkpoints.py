"""Interrupted training resumes to the same bits; checkpoints of other training and damaged ones raise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from metricwise import MiniBatchSVC, MultivariateSVC, SPADEClassifier, STAMPClassifier, contingency_measure
from metricwise.estimators.checkpoints import Checkpoint
from metricwise.estimators.streaming.chunks import Chunk, hash_chunk
from metricwise.io import chunk_reader

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(900, 5)), 3)
Y = (X @ [1.0, -1.0, 0.5, 0.0, 0.2] + 0.5 * RNG.normal(size=900) > 0.6).astype(int)
NAMES = np.array(["no", "yes"])[Y]
CHUNKS = [(X[start : start + 100], Y[start : start + 100]) for start in range(0, 900, 100)]
MODELS = {
    "spade": SPADEClassifier("g_mean", tol=-1.0, n_passes=4),
    "stamp": STAMPClassifier("f1", tol=-1.0, n_passes=4),
    "batches": MiniBatchSVC("f1", batch_size=70, tol=-1.0, n_passes=4),
}
each_model = pytest.mark.parametrize("name", MODELS)


def make_model(name, **settings):
    return type(MODELS[name])(**{**MODELS[name].get_params(deep=False), **settings})


class Interruption:
    """A callback that interrupts training at its n-th call, as Ctrl-C would."""

    def __init__(self, calls):
        self.calls_left = calls

    def __call__(self, entry):
        self.calls_left -= 1
        if self.calls_left == 0:
            raise KeyboardInterrupt


TRAININGS = {
    "fit": lambda m: m.fit(X, Y),
    "fit sparse": lambda m: m.fit(sparse.csr_matrix(X), Y, sample_weight=1.0 + Y),
    "fit classes": lambda m: m.fit(X, np.where(X[:, 3] > 1.0, "other", NAMES)),
    "one pass": lambda m: m.fit_stream(CHUNKS),
    "three passes": lambda m: m.fit_stream(CHUNKS, n_passes=3),
    "sparse chunks": lambda m: m.fit_stream([(sparse.csr_array(samples), y) for samples, y in CHUNKS], n_passes=2),
    "generator": lambda m: m.fit_stream(chunk for chunk in CHUNKS),
    "words": lambda m: m.set_params(pos_label="yes").fit_stream([(X, NAMES)] * 3),
    "words as objects": lambda m: m.set_params(pos_label="no").fit_stream(
        [(X[:450], NAMES[:450].astype(object)), (X, NAMES.astype(object))] * 2
    ),
    "frames": lambda m: m.fit_stream([(pd.DataFrame(samples, columns=list("abcde")), y) for samples, y in CHUNKS]),
}


def expect_equal(left, right):
    np.testing.assert_array_equal(left.coef_, right.coef_)
    np.testing.assert_array_equal(left.intercept_, right.intercept_)
    np.testing.assert_array_equal(left.threshold_, right.threshold_)
    np.testing.assert_array_equal(left.classes_, right.classes_)
    assert left.classes_.dtype == right.classes_.dtype
    assert (left.n_iter_, left.result_.status, left.result_.n_samples) == (
        right.n_iter_,
        right.result_.status,
        right.result_.n_samples,
    )
    assert [entry.n_samples for entry in left.result_.history] == [entry.n_samples for entry in right.result_.history]
    duals = [[entry.duals for entry in one.result_.history] for one in (left, right)]
    assert duals[0] == duals[1]


@each_model
@pytest.mark.parametrize("training", TRAININGS)
def test_interrupted_training_ends_with_the_same_bits(tmp_path, name, training):
    expected = TRAININGS[training](make_model(name))
    path = tmp_path / "run"
    interruptions = 0
    for calls in (2, 3):
        model = make_model(name, checkpoint=path, every=60, callback=Interruption(calls))
        try:
            TRAININGS[training](model)
        except KeyboardInterrupt:
            interruptions += 1
            assert [file.name for file in tmp_path.iterdir()] == ["run"]
            with pytest.raises(NotFittedError):
                model.predict(X)
    assert interruptions >= 1
    resumed = TRAININGS[training](make_model(name, checkpoint=str(path), every=1000))
    expect_equal(resumed, expected)
    assert getattr(resumed, "feature_names_in_", None) is None or training == "frames"
    assert hasattr(resumed, "feature_names_in_") == hasattr(expected, "feature_names_in_")
    assert list(tmp_path.iterdir()) == []


def interrupt_training(path, training="fit", name="stamp", calls=2, **settings):
    """Interrupt training after its checkpoint is written; return the bytes of the file."""
    with pytest.raises(KeyboardInterrupt):
        TRAININGS[training](make_model(name, checkpoint=path, every=60, callback=Interruption(calls), **settings))
    assert path.exists()
    return path.read_bytes()


# ---------------------------------------------------------------------------------------- checkpoints of other training

OTHER_TRAININGS = {
    "settings": lambda m: m.set_params(eta0=0.5).fit(X, Y),
    "measure": lambda m: m.set_params(measure="jaccard").fit(X, Y),
    "one entry": lambda m: m.fit(np.where(np.arange(X.size).reshape(X.shape) == 1117, 9.0, X), Y),
    "labels": lambda m: m.fit(X, np.roll(Y, 1)),
    "weights": lambda m: m.fit(X, Y, sample_weight=1.0 + Y),
    "fewer samples": lambda m: m.fit(X[:-1], Y[:-1]),
    "sparse": lambda m: m.fit(sparse.csr_matrix(X), Y),
    "single precision": lambda m: m.fit(X.astype(np.float32), Y),
    "chunks": lambda m: m.fit_stream(CHUNKS),
    "seed": lambda m: m.set_params(random_state=1).fit(X, Y),
}
OTHER_CHUNKS = {
    "passes": lambda m: m.fit_stream(CHUNKS, n_passes=2),
    "samples": lambda m: m.fit_stream([(X[:100] + 1.0, Y[:100]), *CHUNKS[1:]], n_passes=3),
    "cut": lambda m: m.fit_stream([(X[:300], Y[:300]), (X[300:], Y[300:])], n_passes=3),
    "classes": lambda m: m.fit_stream(CHUNKS, n_passes=3, classes=[0, 1, 2]),
    "memory": lambda m: m.fit(X, Y),
}
CASES = [("fit", case) for case in OTHER_TRAININGS] + [("three passes", case) for case in OTHER_CHUNKS]


@pytest.mark.parametrize(("training", "case"), CASES, ids=[f"{training}, other {case}" for training, case in CASES])
def test_checkpoints_of_other_training_raise(tmp_path, training, case):
    path = tmp_path / "run"
    before = interrupt_training(path, training)
    model = make_model("stamp", checkpoint=path)
    with pytest.raises(ValueError, match=r"run' belongs to another training \(.* differs?\): remove the file"):
        (OTHER_TRAININGS if training == "fit" else OTHER_CHUNKS)[case](model)
    assert not hasattr(model, "classes_")
    assert path.read_bytes() == before  # the training that it belongs to can still resume
    expect_equal(TRAININGS[training](make_model("stamp", checkpoint=path)), TRAININGS[training](make_model("stamp")))


@pytest.mark.parametrize(
    "change",
    [{"n_jobs": 1}, {"every": 7}, {"max_seconds": 1e6}, {"callback": Interruption(10**9)}],
    ids=["n_jobs", "every", "max_seconds", "callback"],
)
def test_training_resumes_if_only_settings_of_the_run_change(tmp_path, change):
    path = tmp_path / "run"
    interrupt_training(path)
    expect_equal(make_model("stamp", checkpoint=path, **change).fit(X, Y), make_model("stamp").fit(X, Y))


def write_file(folder, kind):
    path = folder / f"rows.{kind}"
    delimiter = "," if kind == "csv" else " "
    lines = [
        delimiter.join([*map(str, x), str(label)])
        if kind == "csv"
        else delimiter.join([str(label), *(f"{j + 1}:{value}" for j, value in enumerate(x))])
        for x, label in zip(X, Y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "svm"])
def test_checkpoints_depend_on_the_content_of_a_file(tmp_path, kind):
    """A file may be moved, but neither its samples nor the size of the chunks may change."""
    path, run = write_file(tmp_path, kind), tmp_path / "run"
    expected = make_model("spade").fit_stream(path, chunk_rows=100, n_passes=2)
    with pytest.raises(KeyboardInterrupt):
        make_model("spade", checkpoint=run, every=100, callback=Interruption(3)).fit_stream(
            path, chunk_rows=100, n_passes=2
        )
    model = make_model("spade", checkpoint=run)
    with pytest.raises(ValueError, match="belongs to another training"):
        model.fit_stream(path, chunk_rows=90, n_passes=2)
    content = path.read_text()
    path.write_text(content + content.splitlines()[-1] + "\n")
    with pytest.raises(ValueError, match="belongs to another training"):
        model.fit_stream(path, chunk_rows=100, n_passes=2)
    moved = tmp_path / f"moved.{kind}"
    moved.write_text(content)
    expect_equal(model.fit_stream(moved, chunk_rows=100, n_passes=2), expected)


def interrupt_in_pass(number, path, source, **options):
    """Interrupt a training on 900 samples, of which nine tenths are learnt from, in the middle of a pass."""

    def interrupt(entry):
        if entry.n_samples > 810 * (number - 0.5):
            raise KeyboardInterrupt

    model = make_model("stamp", checkpoint=path, every=60, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(source, n_passes=3, **options)
    return clone(model).set_params(callback=None)


def change_chunk(number):
    return [(-x if k == number else x, 1 - y if k == number else y) for k, (x, y) in enumerate(CHUNKS)]


OTHER_STREAMS = {
    "a chunk learnt from": (change_chunk(2), "chunk 2 is another"),
    "a chunk to come": (change_chunk(8), "chunk 8 is another"),
    "labels": ([*CHUNKS[:2], (CHUNKS[2][0], 1 - CHUNKS[2][1]), *CHUNKS[3:]], "chunk 2 is another"),
    "fewer": (CHUNKS[:1], "it has 1 chunks, and the first pass had at least"),
    "fewer at the end": (CHUNKS[:-1], "it has 8 chunks, and the first pass had at least 9"),
    "more": ([*CHUNKS, CHUNKS[0]], "it has more than the 9 chunks of the first pass"),
}
STREAM_CASES = [(2, case) for case in OTHER_STREAMS] + [
    (1, case) for case in ("a chunk learnt from", "labels", "fewer")
]


@pytest.mark.parametrize(("number", "case"), STREAM_CASES)
def test_chunks_other_than_those_of_the_first_pass_raise(tmp_path, number, case):
    path, (source, message) = tmp_path / "run", OTHER_STREAMS[case]
    model = interrupt_in_pass(number, path, CHUNKS)
    with pytest.raises(ValueError, match=rf"run' belongs to a training with other data than list: {message}.* remove"):
        model.fit_stream(source, n_passes=3)
    assert path.exists() and not hasattr(model, "classes_")


def test_files_changed_in_the_middle_raise(tmp_path, monkeypatch):
    """The size, the first chunk and the end are the same."""
    monkeypatch.setattr(chunk_reader, "_BYTES_AT_THE_END", 100)
    path, run = write_file(tmp_path, "csv"), tmp_path / "run"
    model = interrupt_in_pass(2, run, path, chunk_rows=100)
    lines = path.read_text().splitlines()
    flipped = [line[:-1] + str(1 - int(line[-1])) if k // 100 == 2 else line for k, line in enumerate(lines)]
    path.write_text("\n".join(flipped) + "\n")
    with pytest.raises(ValueError, match=r"run' belongs to a training with other data than .*: chunk 2 is another"):
        model.fit_stream(path, n_passes=3, chunk_rows=100)
    path.write_text("\n".join(lines) + "\n")  # modified later than the checkpoint knows, with the same content
    expected = make_model("stamp").fit_stream(path, n_passes=3, chunk_rows=100)
    expect_equal(model.fit_stream(path, n_passes=3, chunk_rows=100), expected)


def test_large_chunks_are_recognised_by_a_part_of_them():
    """Every part of labels and weights counts."""
    values = np.random.default_rng(0).normal(size=(2000, 50))
    positive, weights = values[:, 0] > 0.0, np.ones(2000)
    reference = hash_chunk(Chunk(values, [positive], weights))
    others = [
        Chunk(-values, [positive], weights),
        Chunk(values.astype(np.float32), [positive], weights),
        Chunk(sparse.csr_matrix(values), [positive], weights),
        Chunk(values, [np.where(np.arange(2000) == 777, ~positive, positive)], weights),
        Chunk(values, [positive], np.where(np.arange(2000) == 777, 2.0, weights)),
        Chunk(np.where(np.arange(2000)[:, None] // 100 == 11, 0.0, values), [positive], weights),
    ]
    assert reference == hash_chunk(Chunk(values.copy(), [positive], weights))
    assert reference not in map(hash_chunk, others)


def test_checkpoints_are_written_in_short_passes(tmp_path):
    """Samples are counted across passes, which have 900 samples here."""
    path = tmp_path / "run"

    def interrupt_later(entry):
        if entry.n_samples > 2200:  # nine tenths of the samples are learnt from, so more than 2400 were read
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_model("spade", checkpoint=path, every=2000, callback=interrupt_later).fit_stream(CHUNKS, n_passes=9)
    assert path.exists()


# ------------------------------------------------------------------------------------------- damaged and other files


def test_damaged_checkpoints_raise_with_the_remedy(tmp_path):
    """Any wrong byte raises with the remedy, unless training does not depend on it."""
    path = tmp_path / "run"
    good = interrupt_training(path)
    expected = make_model("stamp").fit(X, Y)
    rng = np.random.default_rng(0)
    damaged = [b"", b"not a checkpoint", good[:-1], good[: len(good) // 2], good[:100], good + good[:50]]
    for _ in range(60):
        position = int(rng.choice([rng.integers(len(good)), rng.integers(400), len(good) - rng.integers(1, 3000)]))
        damaged.append(good[:position] + bytes([good[position] ^ int(rng.integers(1, 256))]) + good[position + 1 :])
    n_errors = 0
    for content in damaged:
        path.write_bytes(content)
        model = make_model("stamp", checkpoint=path)
        try:
            model.fit(X, Y)
        except ValueError as error:
            n_errors += 1
            assert "run' cannot be read" in str(error) or "run' is damaged" in str(error)
            assert "remove the file to start anew" in str(error)
            assert not hasattr(model, "classes_")
        else:
            expect_equal(model, expected)
    assert n_errors > len(damaged) // 2


@pytest.mark.parametrize("save", [np.save, np.savez], ids=["array", "archive"])
def test_files_that_are_not_checkpoints_raise_and_stay(tmp_path, save):
    path = tmp_path / "run.npz"
    with path.open("wb") as file:
        save(file, np.arange(3))
    with pytest.raises(ValueError, match="cannot be read"):
        make_model("stamp", checkpoint=path).fit(X, Y)
    assert path.exists()


@pytest.mark.parametrize("training", ["fit", "one pass"])
def test_paths_that_cannot_be_written_raise(tmp_path, training):
    """The error is raised before any training."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing" / "run", tmp_path, tmp_path / "file" / "run", Path("/proc/run")):
        model = make_model("spade", checkpoint=path, every=10**9, callback=pytest.fail)
        with pytest.raises(OSError, match=r"checkpoint .* cannot be written .*: give the path of a file in a folder"):
            TRAININGS[training](model)
        assert not hasattr(model, "classes_")


def test_partial_files_of_killed_training_are_removed(tmp_path):
    """Files with similar names stay."""
    path = tmp_path / "r[u]n*"
    partial = tmp_path / ".r[u]n*.0123456789abcdef.partial"
    others = [tmp_path / ".run.abc.partial", tmp_path / "r[u]n*.partial", tmp_path / ".r[u]n*x.partial"]
    for file in (partial, *others):
        file.touch()
    make_model("stamp", checkpoint=path, every=60).fit(X, Y)
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_a_failed_save_keeps_the_last_checkpoint(tmp_path):
    path = tmp_path / "run"
    checkpoint = Checkpoint(path, {"C": "1"})
    checkpoint.save([{"a": np.arange(3)}])
    good = path.read_bytes()
    with pytest.raises(TypeError):
        Checkpoint(path, {"C": object()}).save([{"a": np.arange(4)}])
    with pytest.raises(AttributeError):
        checkpoint.save([{"a": NoArray()}])
    assert path.read_bytes() == good and list(tmp_path.iterdir()) == [path]


class NoArray:
    def __array__(self, *_, **__):
        raise AttributeError("no array")


def test_checkpoints_of_another_version_raise(tmp_path):
    path = tmp_path / "run"
    interrupt_training(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays["header"].tobytes())
    del header["version"]  # as the first ones were
    with path.open("wb") as file:
        np.savez(file, **arrays | {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})
    with pytest.raises(ValueError, match=r"run' was written by another version of metricwise.* remove the file"):
        make_model("stamp", checkpoint=path).fit(X, Y)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "a" * 256], ids=["null", "no encoding", "long"])
@pytest.mark.parametrize(
    "model", [MultivariateSVC("f1", threshold=0.0), STAMPClassifier("f1")], ids=["batch", "stream"]
)
def test_names_that_no_file_can_have_raise(tmp_path, model, name):
    with pytest.raises(OSError, match=r"checkpoint .* cannot be written .*: give the path of a file in a folder"):
        clone(model).set_params(checkpoint=str(tmp_path / name), callback=pytest.fail).fit(X, Y)


def test_the_longest_names_are_written(tmp_path):
    path = tmp_path / ("a" * 255)
    interrupt_training(path)
    expect_equal(make_model("stamp", checkpoint=path).fit(X, Y), make_model("stamp").fit(X, Y))


# ------------------------------------------------------------------------------------------ functions of other content


def make_own_measure(alarm):
    return contingency_measure(lambda tp, fp, fn, tn: (tp + 1e-9) / (tp + 1e-9 + alarm * fp + 0.5 * fn), name="own")


OTHER_SETTINGS = {
    "function": {"measure": make_own_measure(0.5)},
    "cost": {"C": 2.0},
    "class weights": {"class_weight": {0: 1.0, 1: 3.0}},
}


@pytest.mark.parametrize("kind", OTHER_SETTINGS)
def test_batch_training_with_other_settings_does_not_resume(tmp_path, kind):
    """The cuts of another function of the same name would give a lower bound above the optimum."""
    path = tmp_path / "run"

    def fail_later(entry):
        if entry.iteration == 3:
            raise RuntimeError("interrupted")

    model = MultivariateSVC(make_own_measure(2.0), threshold=0.0, tol=1e-6, checkpoint=path, callback=fail_later)
    with pytest.raises(RuntimeError, match="interrupted"):
        model.fit(X, Y)
    (name,) = OTHER_SETTINGS[kind]
    other = clone(model).set_params(callback=None, **OTHER_SETTINGS[kind])
    with pytest.raises(ValueError, match=rf"run' belongs to another training \({name}[^)]* differs?\): remove"):
        other.fit(X, Y)
    resumed = clone(model).set_params(callback=None, measure=make_own_measure(2.0)).fit(X, Y)
    assert resumed.result_.certificate.relative <= 1e-6


# ------------------------------------------------------------------------------------------------- another process

SCRIPT = """
import sys
from tests.faults.test_checkpoints import fit_with_custom_measure
fit_with_custom_measure(sys.argv[1], n_calls=2)
"""


def kulczynski(tp, fp, fn, tn):
    return tp / (tp + 0.5 * fp + 0.5 * fn)


def kulczynski_ratio(theta):
    return 0.0, 1.0, 0.0, 0.5 + 0.5 * theta, 0.5, -0.5 * theta


CUSTOM_MEASURE = contingency_measure(kulczynski, "own", ratio=kulczynski_ratio)


def fit_with_custom_measure(path, n_calls):
    """Train, or resume the training of another process; interrupt it at the given call of the callback, if any."""
    settings = {"every": 60, "tol": -1.0, "n_passes": 4, "random_state": np.random.RandomState(3)}
    STAMPClassifier(CUSTOM_MEASURE, checkpoint=path, callback=Interruption(n_calls), **settings).fit(X, Y)


def test_training_with_custom_measures_and_random_states_resumes(tmp_path):
    """The repr of both contains addresses in memory, which differ between processes."""
    path = tmp_path / "run"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-c", SCRIPT, str(path)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode in (-2, 130), run.stderr
    assert path.exists()
    fit_with_custom_measure(path, n_calls=0)
    assert not path.exists()


def test_changed_numbers_are_refused(tmp_path):
    """Planes of cuts in another order are as valid as before, but would give a lower bound above the optimum."""
    path = tmp_path / "run"

    def fail_later(entry):
        if entry.iteration == 3:
            raise RuntimeError("interrupted")

    model = MultivariateSVC("f1", threshold=0.0, tol=1e-6, checkpoint=path, callback=fail_later)
    with pytest.raises(RuntimeError, match="interrupted"):
        model.fit(X, Y)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["0/planes_data"] = arrays["0/planes_data"][::-1]
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match=r"is damaged \(its checksum is wrong\): remove the file to start anew"):
        model.set_params(callback=None).fit(X, Y)
    assert path.exists()
