"""Convert boosters to the form in which model files hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import config_context

from metricwise.persistence.boosters.catboost_trees import extract_catboost
from metricwise.persistence.boosters.lightgbm_trees import extract_lightgbm
from metricwise.persistence.boosters.settings import get_settings
from metricwise.persistence.boosters.stored import BoostedTrees, StoredBooster
from metricwise.persistence.boosters.xgboost_trees import extract_xgboost

LEARNERS: dict[str, Callable[[Any], BoostedTrees]] = {
    "lightgbm.LGBMClassifier": extract_lightgbm,
    "xgboost.XGBClassifier": extract_xgboost,
    "xgboost.XGBRFClassifier": extract_xgboost,
    "catboost.CatBoostClassifier": extract_catboost,
}


def find_learner(thing: Any) -> str | None:
    """Return the name of the class of a booster that model files hold; None for other objects.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> find_learner(SVC()) is None
    True
    """
    cls = type(thing)
    name = f"{cls.__module__.partition('.')[0]}.{cls.__qualname__}"
    return name if name in LEARNERS else None


def make_stored_booster(model: Any, learner: str) -> StoredBooster:
    """Return the stored form of a booster, trained or not; ValueError if it has none.

    Parameters
    ----------
    model : estimator
        The booster.
    learner : str
        The name of its class, from `find_learner`.
    """
    stored = StoredBooster(learner, get_settings(model))
    if _is_fitted(model):
        for name, value in extract_attributes(model, learner).items():
            setattr(stored, name, value)
    _copy_request(model, stored)
    return stored


def extract_attributes(model: Any, learner: str) -> dict[str, Any]:
    """Return the attributes of the stored form of a trained booster; ValueError if it has none.

    Parameters
    ----------
    model : estimator
        The trained booster.
    learner : str
        The name of its class, from `find_learner`.
    """
    classes = np.asarray(model.classes_)
    if classes.size < 2:
        raise ValueError("it was trained with one class: give it samples of two")
    found = {
        "boosted_trees_": LEARNERS[learner](model),  # first: XGBoost 2.1 crashes on importances of what is refused here
        "classes_": classes,
        "n_features_in_": int(model.n_features_in_),
        "feature_importances_": np.asarray(model.feature_importances_),
    }
    names = _get_feature_names(model)
    return found if names is None else found | {"feature_names_in_": names}


def _is_fitted(model: Any) -> bool:
    return bool(model.is_fitted() if hasattr(model, "is_fitted") else model.__sklearn_is_fitted__())


def _get_feature_names(model: Any) -> Any:
    """Return the names of the features; None if the samples of training had none, so that the library made them up."""
    names = np.asarray(getattr(model, "feature_names_in_", getattr(model, "feature_names_", ())), dtype=object)
    made_up = ([f"Column_{k}" for k in range(names.size)], [str(k) for k in range(names.size)])
    return None if names.size == 0 or names.tolist() in made_up else names


def _copy_request(model: Any, stored: StoredBooster) -> None:
    """Repeat the request of weights; what else can be requested belongs to the training."""
    requested = vars(model).get("_metadata_request")
    asked = None if requested is None else requested.fit.requests.get("sample_weight")
    if asked is not None:
        with config_context(enable_metadata_routing=True):
            stored.set_fit_request(sample_weight=asked)
