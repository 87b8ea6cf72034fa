"""Constraints by group: parsing, joint thresholds against brute force, exact tests of differences, guarantees."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.difference_test import difference_bound, difference_p_value
from metricwise.decisions.group_aim import GroupAim, GroupedSamples, count_tables
from metricwise.decisions.group_choice import SharedThresholds, ThresholdsByGroup
from metricwise.decisions.group_constraints import GroupConstraint, separate_constraints
from metricwise.decisions.group_guarantees import find_guaranteed_thresholds, refuse_small_groups
from metricwise.decisions.guarantees import UnreachableGuaranteeError, parse_constraints
from metricwise.decisions.joint_thresholds import GroupCurve, add_tables, choose_jointly
from metricwise.decisions.subgroups import GroupColumn, find_columns, read_column
from metricwise.measures import get_measure

RATIOS = ("f1", "f2", "accuracy", "jaccard")


# ------------------------------------------------------------------------------------------------------------- parsing


@pytest.mark.parametrize(
    ("given_constraint", "text"),
    [
        (("recall", ">=", 0.8, "by", "region"), "recall >= 0.8 by region"),
        ("recall>=0.8 by region", "recall >= 0.8 by region"),
        ("sensitivity >= 80% BY home country", "recall >= 0.8 by home country"),
        (("recall_difference", "<=", 0.05, "by", "sex"), "recall_difference <= 0.05 by sex"),
        ("false-positive-rate-difference<=.05 by sex", "false_positive_rate_difference <= 0.05 by sex"),
        ("precision>=0.5 by by the way", "precision >= 0.5 by by the way"),
    ],
)
def test_constraints_by_group_are_read(given_constraint, text):
    assert str(GroupConstraint.of(given_constraint)) == text
    assert str(GroupConstraint.of(text)) == text
    assert separate_constraints(given_constraint).by_group == [GroupConstraint.of(text)]
    assert separate_constraints([given_constraint, "precision>=0.3"]).pooled == ["precision>=0.3"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("recall>=0.8", "no constraint by group"),
        (("recall", ">=", 0.8, "by", 3), "names a column"),
        (("recall_difference", ">=", 0.1, "by", "sex"), "write '<='"),
        ("speed>=0.8 by sex", "a constraint is on one of"),
        (("recall", ">=", 80, "by", "sex"), "between 0 and 1"),
    ],
)
def test_wrong_constraints_by_group_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        GroupConstraint.of(wrong)


def test_constraints_without_groups_stay_as_they_are():
    assert separate_constraints(None).pooled == []
    assert separate_constraints(("precision", ">=", 0.9)).pooled == [("precision", ">=", 0.9)]
    five = ["precision>=0.9"] * 5
    assert separate_constraints(five).pooled == five


# -------------------------------------------------------------------------------------------------------------- columns


def test_columns_come_from_metadata_or_from_x():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": [1.0, 2.0], "region": ["s", "n"]})
    assert read_column("region", X, None, 2).tolist() == ["s", "n"]
    assert read_column("region", X, {"region": [3, 4]}, 2).tolist() == [3, 4]
    assert read_column("region", X, np.array([[5], [6]]), 2).tolist() == [5, 6]
    column = GroupColumn.of("region", np.array(["s", "n", "s"]))
    assert column.groups == ("n", "s")
    assert column.encode(np.array(["s", "w", "n"])).tolist() == [1, -1, 0]
    assert GroupColumn.of("k", np.array([2, 1])).encode(np.array([1.0, 3.0])).tolist() == [0, -1]


@pytest.mark.parametrize(
    ("X", "metadata", "message"),
    [
        (np.zeros((2, 1)), None, "X has no column names"),
        (np.zeros((2, 1)), {"sex": [1, 2]}, "no column 'region'"),
        (np.zeros((2, 1)), [1, 2, 3], "one entry of 'region' for each of the 2 samples"),
        (np.zeros((2, 1)), ["a", None], "missing for 1 samples, the first at position 1"),
        (np.zeros((2, 1)), ["a", "a"], "all samples have the same 'region'"),
    ],
)
def test_bad_columns_are_named(X, metadata, message):
    with pytest.raises(ValueError, match=message):
        find_columns(["region"], X, metadata, 2)


# ----------------------------------------------------------------------------------------------------- joint thresholds


def draw_group(random, n):
    weights = random.choice([1.0, 1.0, 2.0, 0.5], n)
    return ScoredSamples(random.random(n) < 0.5, random.integers(0, 6, n).astype(float), weights)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(RATIOS))
def test_joint_thresholds_equal_brute_force_for_ratios(seed, name):
    random = np.random.default_rng(seed)
    curves = [GroupCurve.of(draw_group(random, random.integers(2, 8))) for _ in range(random.integers(1, 4))]
    allowed = [random.random(curve.thresholds.size) < 0.8 for curve in curves]
    measure = get_measure(name)

    def value(tables):
        return np.asarray(measure.value(*tables), dtype=float)

    found = choose_jointly(value, curves, allowed)
    if not all(mask.any() for mask in allowed):
        assert found is None
        return
    combinations = product(*(np.flatnonzero(mask) for mask in allowed))
    best = max(float(value(add_tables(curves, np.array(one)))[0]) for one in combinations)
    assert found.value == pytest.approx(best, abs=1e-12)
    assert all(mask[one] for mask, one in zip(allowed, found.chosen, strict=True))


def make_aim(subject_to, n_groups, measure="f1"):
    separated = separate_constraints(subject_to)
    column = GroupColumn("g", tuple(range(n_groups)))
    pooled = tuple(parse_constraints(separated.pooled))
    return GroupAim(get_measure(measure), pooled, tuple(separated.by_group), (column,))


def draw_samples(seed, n, n_groups):
    random = np.random.default_rng(seed)
    codes = np.concatenate([np.repeat(np.arange(n_groups), 4), random.integers(0, n_groups, n - 4 * n_groups)])
    target = np.concatenate([np.tile([True, True, False, False], n_groups), random.random(n - 4 * n_groups) < 0.5])
    scores = np.round(random.normal(size=n) + target + 0.5 * codes, 1)
    return GroupedSamples(ScoredSamples(target, scores, np.ones(n)), codes[:, None])


def keeps(aim, samples, thresholds):
    """Return whether thresholds keep all constraints, from the definition of each."""
    target, scores, _ = samples.samples
    own = np.broadcast_to(thresholds, len(aim.columns[0].groups))[samples.codes[:, 0]]
    predicted = scores > own
    for one in (*aim.pooled, *aim.constraints):
        bare = getattr(one, "constraint", one)
        groups = (
            [samples.codes[:, 0] == k for k in range(len(aim.columns[0].groups))] if bare is not one else [own == own]
        )
        shares = []
        for mask in groups:
            of_kind, among = bare.share.outcomes(target[mask], predicted[mask])
            if not among.any():
                return False
            shares.append(of_kind.sum() / among.sum())
        if getattr(one, "is_difference", False):
            if max(shares) - min(shares) > bare.bound + 1e-12:
                return False
        elif not all(share >= bare.bound if bare.is_lower_bound else share <= bare.bound for share in shares):
            return False
    return True


def value_of(aim, samples, thresholds):
    target, scores, _ = samples.samples
    predicted = scores > np.broadcast_to(thresholds, len(aim.columns[0].groups))[samples.codes[:, 0]]
    cells = target & predicted, ~target & predicted, target & ~predicted, ~target & ~predicted
    return float(aim.table.value(*(float(cell.sum()) for cell in cells)))


CASES = [
    "recall>=0.7 by g",
    "recall_difference<=0.2 by g",
    ["precision>=0.4 by g", "recall_difference<=0.15 by g"],
    "positive_rate_difference<=0.1 by g",
    ["recall>=0.5 by g", "false_positive_rate<=0.5 by g"],
]


@pytest.mark.parametrize("subject_to", CASES)
@pytest.mark.parametrize("seed", range(6))
def test_thresholds_by_group_equal_brute_force(subject_to, seed):
    aim, samples = make_aim(subject_to, 2), draw_samples(seed, 24, 2)
    curves = [GroupCurve.of(samples.of_group(0, k)) for k in range(2)]
    allowed = [row for row in product(*(one.thresholds for one in curves)) if keeps(aim, samples, np.array(row))]
    found = ThresholdsByGroup(aim, samples).best()
    if not allowed:
        assert found is None
        return
    assert keeps(aim, samples, found[0])
    best = max(value_of(aim, samples, np.array(row)) for row in allowed)
    assert value_of(aim, samples, found[0]) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("subject_to", [*CASES, ["precision>=0.6", "recall>=0.5 by g"]])
@pytest.mark.parametrize("seed", range(4))
def test_shared_threshold_equals_brute_force(subject_to, seed):
    aim, samples = make_aim(subject_to, 3), draw_samples(seed, 40, 3)
    every = GroupCurve.of(samples.samples).thresholds
    allowed = [one for one in every if keeps(aim, samples, one)]
    found = SharedThresholds(aim, samples).best()
    if not allowed:
        assert found is None
        return
    assert keeps(aim, samples, found[0])
    assert value_of(aim, samples, found[0]) == pytest.approx(max(value_of(aim, samples, one) for one in allowed))


def test_thresholds_by_group_keep_constraints_on_all_samples():
    aim, samples = make_aim(["precision>=0.6", "recall>=0.4 by g"], 2), draw_samples(1, 60, 2)
    assert keeps(aim, samples, ThresholdsByGroup(aim, samples).best()[0])


def test_many_candidates_are_thinned_among_positives_and_negatives():
    random = np.random.default_rng(0)
    target = random.random(20_000) < 0.01
    samples = ScoredSamples(target, random.normal(size=20_000) + 2 * target, np.ones(20_000))
    curve = GroupCurve.of(samples, most=500)
    assert curve.thresholds.size <= 500
    assert np.max(np.diff(curve.tables[0])) <= 2.0  # hardly a positive is skipped
    np.testing.assert_array_equal(count_tables(samples, curve.thresholds), curve.tables)


# --------------------------------------------------------------------------------------------------- exact differences


@pytest.mark.parametrize(("n_first", "n_second", "bound"), [(9, 12, 0.2), (15, 7, 0.1), (10, 10, 0.5)])
def test_difference_test_keeps_its_level(n_first, n_second, bound):
    level = 0.2
    passes = np.array(
        [
            [difference_p_value((x, y), (n_first, n_second), bound, level) <= level for y in range(n_second + 1)]
            for x in range(n_first + 1)
        ]
    )
    assert passes.any()
    worst = 0.0
    for second in np.linspace(0.0, 1.0 - bound, 60):
        for first in {min(1.0, second + bound), 1.0}:
            pmf = [binom.pmf(np.arange(n + 1), n, p) for n, p in ((n_first, first), (n_second, second))]
            worst = max(worst, float(pmf[0] @ passes @ pmf[1]))
    assert worst <= level


def test_difference_p_values_order_the_evidence():
    p_values = [difference_p_value((k, 80), (100, 100), 0.1, 0.05) for k in (60, 75, 80, 85, 95)]
    assert p_values == sorted(p_values)
    assert p_values[-1] == 1.0  # observed beyond the bound
    assert difference_p_value((0, 0), (0, 10), 0.1, 0.05) == 1.0
    assert difference_p_value((400, 400), (500, 500), 0.1, 0.05) < difference_p_value((80, 80), (100, 100), 0.1, 0.05)


def test_difference_bound_is_the_least_that_passes():
    bound = difference_bound((82, 80), (100, 110), 0.05)
    assert difference_p_value((82, 80), (100, 110), bound, 0.05) <= 0.05
    assert difference_p_value((82, 80), (100, 110), bound - 0.002, 0.05) > 0.05


# ----------------------------------------------------------------------------------------------------------- guarantees


def draw_population(random, n, rates=(0.5, 0.3), shifts=(0.0, -0.8)):
    codes = random.integers(0, 2, n)
    target = random.random(n) < np.array(rates)[codes]
    scores = random.normal(size=n) + 1.5 * target + np.array(shifts)[codes]
    return GroupedSamples(ScoredSamples(target, scores, np.ones(n)), codes[:, None])


@pytest.mark.parametrize("choices", [SharedThresholds, ThresholdsByGroup])
@pytest.mark.parametrize("subject_to", ["recall>=0.8 by g", "recall_difference<=0.2 by g"])
def test_guarantees_hold_in_every_group(choices, subject_to):
    aim = make_aim(subject_to, 2)
    new, random = draw_population(np.random.default_rng(99), 60_000), np.random.default_rng(7)
    broken = refused = 0
    for _ in range(8):
        ordering, testing = draw_population(random, 500), draw_population(random, 500)
        try:
            known = find_guaranteed_thresholds(aim, 0.8, choices(aim, ordering), testing)
        except UnreachableGuaranteeError:
            refused += 1
            continue
        broken += not keeps(aim, new, known[-1])
    assert broken <= 5  # of 8 at confidence 0.8; more with probability below 0.002
    assert refused <= 3


def test_order_of_thresholds_goes_from_safe_to_good():
    aim, samples = make_aim("recall>=0.8 by g", 2), draw_population(np.random.default_rng(0), 800)
    for choices in (SharedThresholds(aim, samples), ThresholdsByGroup(aim, samples)):
        found = choices.order()
        values = [value_of(aim, samples, row) for row in found.thresholds]
        assert values == sorted(values)
        assert np.all(np.diff(found.margins) <= 0)
        assert len(values) > 5


def test_refusal_names_the_group_and_what_is_possible():
    random = np.random.default_rng(3)
    aim = make_aim("precision>=0.95 by g", 2)
    ordering, testing = draw_population(random, 2000, (0.5, 0.02)), draw_population(random, 2000, (0.5, 0.02))
    with pytest.raises(UnreachableGuaranteeError, match=r"can only guarantee .*precision >= 0\.\d+ by g in group 1 \("):
        find_guaranteed_thresholds(aim, 0.95, SharedThresholds(aim, ordering), testing)
    aim = make_aim("recall_difference<=0.01 by g", 2)
    with pytest.raises(UnreachableGuaranteeError, match=r"recall_difference <= 0\.\d+ by g in groups 0 \(.* and 1 \("):
        find_guaranteed_thresholds(
            aim, 0.95, ThresholdsByGroup(aim, ordering), draw_population(random, 600, (0.5, 0.4))
        )


@pytest.mark.parametrize(
    ("subject_to", "n_positive", "is_enough"),
    [
        ("recall>=0.8 by g", 13, False),
        ("recall>=0.8 by g", 14, True),  # 0.8 ** 14 < 0.05
        ("false_positive_rate<=0.2 by g", 1, True),
        ("recall_difference<=0.2 by g", 5, False),
    ],
)
def test_groups_too_small_for_any_guarantee_are_named(subject_to, n_positive, is_enough):
    codes = np.repeat([0, 1], [400, 100 + n_positive])
    target = np.concatenate([np.arange(400) < 200, np.arange(100 + n_positive) < n_positive])
    samples = GroupedSamples(ScoredSamples(target, np.zeros(codes.size), np.ones(codes.size)), codes[:, None])
    aim = make_aim(subject_to, 2)
    refuse_small_groups(aim, None, samples)
    if is_enough:
        refuse_small_groups(aim, 0.95, samples)
        return
    with pytest.raises(
        UnreachableGuaranteeError, match=rf"group 1 of 'g' is too small .* have {n_positive} of it .* and \d+"
    ):
        refuse_small_groups(aim, 0.95, samples)


def test_group_without_samples_that_count_is_named():
    samples = GroupedSamples(
        ScoredSamples(np.array([True, False, False]), np.zeros(3), np.ones(3)), np.array([[0], [0], [1]])
    )
    with pytest.raises(UnreachableGuaranteeError, match="group 1 of 'g' is too small"):
        refuse_small_groups(make_aim("recall>=0.8 by g", 2), None, samples)


def test_equal_groups_have_no_difference():
    aim = make_aim("recall_difference<=0.05 by g", 3)
    one = draw_population(np.random.default_rng(0), 300).samples
    columns = [np.tile(part, 3) for part in one]
    samples = GroupedSamples(ScoredSamples(*columns), np.repeat(np.arange(3), 300)[:, None])
    tables = aim.tables(samples, np.array([0.5, 1.0]))
    shares = tables[0][:, 0] / (tables[0][:, 0] + tables[0][:, 2])
    assert all(np.array_equal(shares[a], shares[b]) for a, b in permutations(range(3), 2))
    assert np.all(aim.margins(tables) > 0)
