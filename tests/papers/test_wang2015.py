"""The data, the bookkeeping and the page behind the comparison of Yang et al. (2015)."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.context import SkippedError
from benchmarks.papers.wang2015 import actions, page, profiles, vehicles
from benchmarks.papers.wang2015.experiment import NAME, Effort, Trials
from benchmarks.papers.wang2015.methods import JSCHP, MEASURES, METHODS, PLUG_IN
from benchmarks.papers.wang2015.problems import ACTIONS, NAMES, PROFILES, TITLES, VEHICLES, problem
from benchmarks.papers.wang2015.protocol import best_value, choose, folds, trial
from benchmarks.papers.wang2015.remarks import remarks
from benchmarks.papers.wang2015.sensitivity import PARAMETERS, settings
from benchmarks.papers.wang2015.summary import cases, curve, mean_ranks, signed_rank_p, tally


def compute_area(X, y):
    """Return the ROC area of a logistic regression on test samples."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return roc_auc_score(y, cross_val_predict(model, X, y, cv=5, method="decision_function"))


# ------------------------------------------------------------------------------------------------------------ profiles


@pytest.fixture(scope="module")
def rated():
    return profiles.simulate(200, 60, seed=3)


def test_profiles_have_the_requested_number_and_quality(rated):
    given = rated.ratings[~np.isnan(rated.ratings)]
    assert rated.ratings.shape == (260, 400)
    assert rated.attack.sum() == 60 and rated.average.sum() == 30 and not np.any(rated.average & ~rated.attack)
    assert set(np.unique(given)) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert (~np.isnan(rated.ratings)).sum(axis=1).min() >= 10


def test_attackers_push_few_rarely_rated_items(rated):
    genuine, attackers = rated.ratings[~rated.attack], rated.ratings[rated.attack]
    counts = (~np.isnan(genuine)).sum(axis=0)
    excess = (attackers == 5.0).mean(axis=0) - (genuine == 5.0).mean(axis=0)
    order = np.argsort(-excess)
    # A fifth of the attackers pushes each target.
    assert excess[order[profiles.TARGETS - 1]] > 0.15 > excess[order[profiles.TARGETS]]
    assert (counts[order[: profiles.TARGETS]] <= np.quantile(counts, 0.75)).all()
    assert (attackers[:, order[: profiles.TARGETS]] == 5.0).any(axis=1).all()


def test_average_attacks_follow_the_means_of_the_items_and_random_ones_do_not(rated):
    agreement = profiles.features(rated.ratings)[:, profiles.FEATURES.index("correlation with the items' means")]
    random = rated.attack & ~rated.average
    assert agreement[rated.average].mean() > agreement[random].mean() + 0.1


def test_features_of_a_profile_equal_their_definitions(rated):
    X = profiles.features(rated.ratings)
    user = 7
    items = [item for item in range(400) if not math.isnan(rated.ratings[user, item])]
    everything = rated.ratings[~np.isnan(rated.ratings)].mean()
    deviations = {}
    for item in items:
        column = [value for value in rated.ratings[:, item] if not math.isnan(value)]
        mean = (sum(column) + 2.0 * everything) / (len(column) + 2.0)
        deviations[item] = (rated.ratings[user, item] - mean, len(column))
    rdma = sum(abs(apart) / count for apart, count in deviations.values()) / len(items)
    best = [deviations[item][0] for item in items if rated.ratings[user, item] == 5.0]
    others = [deviations[item][0] for item in items if rated.ratings[user, item] != 5.0]
    assert X[user, 0] == pytest.approx(rdma)
    assert X[user, 5] == pytest.approx(math.log(len(items)))
    assert X[user, 7] == pytest.approx(sum(best) / len(best) - sum(others) / len(others))
    assert X[user, 11] == pytest.approx(len(best) / len(items))


# ------------------------------------------------------------------------------------------------------------ vehicles


@pytest.fixture(scope="module")
def traffic():
    return vehicles.simulate(300, 0.4, seed=3)


def test_vehicles_have_the_requested_number(traffic):
    assert traffic.misbehaving.shape == (300,) and traffic.misbehaving.sum() == 120
    assert traffic.along.shape == traffic.speed.shape == (300, vehicles.BEACONS)
    assert traffic.speed.min() >= 0.0 and 0.0 <= traffic.passed.min() <= traffic.passed.max() <= 1.0


def test_honest_vehicles_are_consistent(traffic):
    X = vehicles.features(traffic)
    honest = ~traffic.misbehaving
    unlike = X[:, vehicles.FEATURES.index("root mean square of speed claimed minus speed of the positions claimed")]
    steps = np.diff(traffic.along, axis=1) / vehicles.INTERVAL
    assert unlike[0] == pytest.approx(np.sqrt(np.mean((traffic.speed[0, :-1] - steps[0]) ** 2)))
    assert np.median(unlike[honest]) < 0.7 * np.median(unlike[~honest])
    # Signal strength falls with the distance that honest vehicles report.
    assert np.median(X[honest, 6]) < -0.2


def test_features_contain_no_labels(traffic):
    np.testing.assert_array_equal(
        vehicles.features(traffic), vehicles.features(traffic._replace(misbehaving=~traffic.misbehaving))
    )


# -------------------------------------------------------------------------------------------------------- all data sets


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", [PROFILES, VEHICLES])
def test_simulated_samples_are_neither_hopeless_nor_trivial(kind, seed):
    if kind == PROFILES:
        rated = profiles.simulate(300, 90, seed=seed)
        X, y, names = profiles.features(rated.ratings), rated.attack, profiles.FEATURES
    else:
        traffic = vehicles.simulate(400, seed=seed)
        X, y, names = vehicles.features(traffic), traffic.misbehaving, vehicles.FEATURES
    assert X.shape == (len(y), len(names)) and np.isfinite(X).all() and (X.std(axis=0) > 0.0).all()
    assert 0.75 < compute_area(X, y) < 0.985


@pytest.mark.parametrize("kind", [PROFILES, VEHICLES])
def test_the_same_seed_gives_the_same_samples(kind):
    made = {
        PROFILES: lambda seed: profiles.simulate(40, 10, seed=seed),
        VEHICLES: lambda seed: vehicles.simulate(50, seed=seed),
    }
    first, again, other = (made[kind](seed)[0] for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other, equal_nan=True)


@pytest.mark.parametrize(("name", "share"), [(PROFILES, 300 / 1300), (VEHICLES, 558 / 1395)])
def test_problems_have_the_class_proportions_of_the_paper(name, share):
    data = problem(name, 130)
    (target,) = data.targets
    assert len(data.X) == 130
    assert data.positives(target).mean() == pytest.approx(share, abs=0.01)


# ------------------------------------------------------------------------------------------------------------- actions


def test_histograms_do_not_depend_on_position_and_direction():
    body = np.random.default_rng(0).normal(size=(9, 20, 3))
    turn = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6]])
    histograms = actions.histograms(body)
    np.testing.assert_allclose(actions.histograms(body @ turn + [1.0, 2.0, 3.0]), histograms, atol=1e-12)
    assert histograms.size == actions.AZIMUTHS * actions.ELEVATIONS * actions.PARTS and histograms.min() >= 0.0
    np.testing.assert_allclose(histograms.reshape(actions.PARTS, -1).sum(axis=1), 1.0)


def test_histograms_distinguish_a_sequence_from_its_reverse():
    body = np.random.default_rng(0).normal(size=(8, 20, 3))
    forth, back = actions.histograms(body), actions.histograms(body[::-1])
    np.testing.assert_allclose(back, np.roll(forth, forth.size // 2))
    assert not np.allclose(forth, back)


@pytest.mark.data
def test_actions_are_read_and_separable():
    try:
        data = problem(ACTIONS, 0)
    except SkippedError as reason:
        pytest.skip(str(reason))
    assert data.X.shape == (199, 48) and np.isfinite(data.X).all()
    assert list(data.targets)[:3] == ["walk", "sit down", "stand up"]
    assert {int(data.positives(target).sum()) for target in data.targets} == {19, 20}
    assert 0.85 < compute_area(data.X, data.positives("throw")) < 1.0


# ------------------------------------------------------------------------------------------------- protocol and runs


def test_folds_are_disjoint_and_test_every_sample_once():
    data = problem(VEHICLES, 90)
    held = [fold.test for fold in folds(data, 10)]
    assert np.array_equal(np.sort(np.concatenate(held)), np.arange(90))
    assert all(not np.intersect1d(fold.train, fold.test).size for fold in folds(data, 10))


def test_every_method_has_the_same_number_of_settings():
    assert {len(method.settings) for method in METHODS.values()} == {4}
    assert [name for name, method in METHODS.items() if "f1" not in method.measures] == ["mpms"]


def test_f1_of_scores_is_taken_at_the_best_threshold():
    truth = np.array([True, False, True, False, False])
    scores = [3.0, 2.0, 1.0, 0.0, -1.0]
    assert best_value("f1", truth, scores) == pytest.approx(0.8)
    assert best_value("prbep", truth, scores) == 0.5
    assert best_value("roc_auc", truth, scores) == pytest.approx(5 / 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [JSCHP, PLUG_IN])
def test_a_setting_is_selected_and_evaluated(name):
    data = problem(VEHICLES, 150)
    fold = next(folds(data, 3))
    chosen = choose(data, fold, "f1", name)
    assert chosen["setting"] in METHODS[name].settings
    found = trial(data, fold, "misbehaving", "f1", name, chosen["setting"])
    # Predicting all positive gives 4 / 7.
    assert 0.55 < found["value"] <= 1.0
    assert found["seconds"] > 0.0


def test_an_interrupted_run_resumes(tmp_path):
    path, performed = tmp_path / "trials.jsonl", []

    def perform(value):
        performed.append(value)
        return {"value": value}

    Trials(path, {"code": "a"}).once({"fold": 0}, lambda: perform(0.5))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"of": {"fold": 1}, "fou')  # an incomplete line of a killed process
    trials = Trials(path, {"code": "a"})
    assert trials.once({"fold": 0}, lambda: perform(0.6)) == {"fold": 0, "value": 0.5}
    assert trials.once({"fold": 1}, lambda: perform(0.7)) == {"fold": 1, "value": 0.7}
    assert performed == [0.5, 0.7]
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][2]["found"] == {"value": 0.7}
    assert not Trials(path, {"code": "b"}).done  # results of other code are not reused


# ------------------------------------------------------------------------------------------------------------ the page


def make_record(levels):
    """Return a record whose methods have the given values, slightly increasing over folds."""
    effort = Effort(n_folds=8, values=(0.1, 1.0, 10.0), n_sensitivity_folds=2)
    targets = {name: ["walk", "throw"] if name == ACTIONS else ["attack"] for name in NAMES}
    trials = []
    for name in NAMES:
        for fold in range(effort.n_folds):
            for measure in MEASURES:
                for method in [key for key, value in METHODS.items() if measure in value.measures]:
                    of = {"problem": name, "fold": fold, "measure": measure, "method": method}
                    value = levels.get((name, measure, method), 0.5) + 0.002 * fold
                    seconds = 0.1 + 0.1 * (method == JSCHP)
                    found = {"setting": METHODS[method].settings[1], "searching": 1.0}
                    found |= {"values": [value] * len(targets[name]), "seconds": [seconds] * len(targets[name])}
                    trials.append(of | found)
    varied = [
        {
            "problem": name,
            "fold": 0,
            "setting": setting,
            "used": [0.25],
            "values": [0.5 + 0.1 * math.log10(setting["C1"])],
        }
        for name in NAMES
        for setting in settings(effort.values)
    ]
    problems = [
        {
            "name": name,
            "title": TITLES[name],
            "n_samples": 99,
            "features": 5,
            "positives": dict.fromkeys(targets[name], 9),
        }
        for name in NAMES
    ]
    found = {"name": NAME, "seed": 0, "effort": json.loads(json.dumps(asdict(effort))), "skipped": [], "seconds": 60.0}
    found |= {"problems": problems, "trials": trials, "sensitivity": varied, "earlier": 0}
    return found


def test_remarks_state_where_joint_coding_is_better():
    wins = {(name, "prbep", JSCHP): 0.7 for name in NAMES}
    losses = {(VEHICLES, "f1", "cpsp"): 0.6, (ACTIONS, "roc_auc", "plug_in"): 0.9}
    found = make_record(wins | losses)
    text = " ".join(remarks(found))
    assert "JSCHP alone has the best average in 3 of 9 cases" in text and "and shares it in 4. Other methods" in text
    assert "Other methods alone have it: CPSP in 1, plug-in in 1. This does not agree with the paper, in which" in text
    assert f"{TITLES[VEHICLES]}, F1: CPSP (0.607, JSCHP 0.507)" in text
    assert f"{TITLES[ACTIONS]}, AUC: plug-in (0.907, JSCHP 0.507)" in text
    assert f"{TITLES[PROFILES]}, F1: " not in text
    assert "CPSP is the last of the paper's four other methods in 0 of 9 cases" in text
    assert "F1 with one growing parameter" in text and f"C1: {TITLES[VEHICLES]} rises (from 0.400 to 0.600" in text
    assert "This does not agree with the paper, in which JSCHP is the fastest" in text


def test_only_differences_in_all_folds_are_significant():
    some = cases(make_record({(VEHICLES, "f1", "cpsp"): 0.6, (PROFILES, "f1", JSCHP): 0.6}))
    assert tally(some, "cpsp")[:3] == (1, 7, 1)
    assert tally(some, "mpms")[:3] == (0, 6, 0)
    first = some[0]
    assert first.best == ["cpsp"] and first.p(JSCHP, "cpsp") == pytest.approx(2 / 2**8)
    assert first.ranks()["cpsp"] == 1.0 and first.ranks()[JSCHP] == 4.0  # shares 2 to 6 with four others
    assert "mpms" not in mean_ranks(some)


def compute_signed_ranks(differences, axis=-1):
    return np.sum(np.sign(differences) * stats.rankdata(np.abs(differences), axis=axis), axis=axis)


@pytest.mark.parametrize("differences", [[0.3, -0.1, 0.5, 0.2, -0.4, 0.7], [0.1, 0.1, 0.0, -0.1, 0.3, 0.4, 0.4]])
def test_the_significance_test_equals_scipy(differences):
    given = np.array(differences)
    # `stats.wilcoxon` is exact where there are ties or zeros since SciPy 1.13 only.
    signs = stats.permutation_test(
        (given[given != 0],), compute_signed_ranks, permutation_type="samples", n_resamples=np.inf
    )
    assert signed_rank_p(given) == pytest.approx(signs.pvalue)
    assert signed_rank_p(np.zeros(4)) == 1.0


def test_curves_vary_one_cost_and_fix_the_others_at_the_middle():
    found = make_record({})
    line = curve(found, ACTIONS, "C1", 1.0)
    assert line.grid == [0.1, 1.0, 10.0] and line.values == pytest.approx([0.4, 0.5, 0.6])
    assert line.trend == pytest.approx(1.0)
    assert all(curve(found, ACTIONS, name, 1.0).trend == 0.0 for name in PARAMETERS[1:])


def test_the_page_is_made_from_a_record(tmp_path):
    found = make_record({(PROFILES, "f1", JSCHP): 0.8})
    path = page.write(found, tmp_path)
    text = path.read_text(encoding="utf-8")
    assert path.name == "wang2015.rst"
    assert "**0.807**" in text and "0.507 −" in text
    figures = [line.split(":: ")[1] for line in text.splitlines() if line.startswith(".. figure::")]
    assert len(figures) == 5
    assert all((tmp_path / figure).stat().st_size < 150_000 for figure in figures)
    assert "vehicles" in page.plain(found)
