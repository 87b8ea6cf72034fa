"""Training from a plan and data alone, without an estimator."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from sklearn.datasets import make_classification

from metricwise import MultivariateSVC
from metricwise.designs import make_design
from metricwise.designs.cluster.connection import SchedulerLostError
from metricwise.estimators.svm.training import BinaryTarget, TrainingData, TrainingPlan, fit_binary_problems
from metricwise.estimators.svm.training_file import TrainingFile
from metricwise.measures import FBeta
from metricwise.solvers import CuttingPlane, Limits

X, Y = make_classification(120, 4, weights=[0.8], random_state=0)
SEED = int(np.random.RandomState(0).randint(2**31 - 1))


def make_plan(threshold):
    return TrainingPlan(FBeta(), 0.5, CuttingPlane(seed=SEED), Limits(), threshold, None, SEED, 1.0)


def make_data(positive, weights=None):
    target = BinaryTarget(positive, np.ones(len(positive)) if weights is None else weights)
    return TrainingData(X[: len(positive)], make_design(X[: len(positive)], intercept=1.0), [target])


@pytest.mark.parametrize("threshold", ["cv", "train", 0.25])
def test_a_plan_gives_the_model_of_the_estimator(threshold):
    (fit,) = fit_binary_problems(make_plan(threshold), make_data(Y == 1))
    model = MultivariateSVC("f1", C=0.5, threshold=threshold).fit(X, Y)
    np.testing.assert_array_equal(fit.result.weights, np.append(model.coef_[0], model.intercept_[0]))
    assert fit.threshold == model.threshold_ and not fit.lacks_folds


def test_a_fit_reports_that_samples_are_too_few_for_folds():
    positive = np.zeros(30, dtype=bool)
    positive[0] = True
    (fit,) = fit_binary_problems(make_plan("cv"), make_data(positive))
    (on_training_scores,) = fit_binary_problems(make_plan("train"), make_data(positive))
    assert fit.lacks_folds and not on_training_scores.lacks_folds
    assert fit.threshold == on_training_scores.threshold


def test_a_plan_is_frozen():
    with pytest.raises(FrozenInstanceError):
        make_plan("cv").C = 2.0


class LosingCuttingPlane(CuttingPlane):
    """Loses the cluster in its third step."""

    def step(self, problem, state, limits):
        if state.iteration == 2:
            raise SchedulerLostError.caused_by(OSError("connection reset"))
        super().step(problem, state, limits)


def test_a_lost_scheduler_is_reported_once_with_the_file(tmp_path):
    plan = replace(
        make_plan("train"), solver=LosingCuttingPlane(), checkpoint=TrainingFile(tmp_path / "run.npz", {"C": "1"})
    )
    with pytest.raises(SchedulerLostError) as lost:
        fit_binary_problems(plan, make_data(Y == 1))
    message = str(lost.value)
    assert message.startswith("the scheduler of the Dask cluster was lost (OSError: connection reset)")
    assert message.count("was lost") == 1 and "Training so far is kept in" in message and "run.npz'" in message
    assert (tmp_path / "run.npz").exists()
