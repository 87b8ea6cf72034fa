"""Metadata routing: what estimators request of sample weights and groups, and to whom they pass them on.

As in scikit-learn's own meta-estimators, an estimator that uses sample weights or groups itself requests them, and
passes them on to its classifiers and its splitter if these request them. Groups are requested by default, since they
mean one thing only, as the splitters of scikit-learn request them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from sklearn import config_context, get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing


def pass_to_own_learners(are_own: bool = True) -> AbstractContextManager[Any]:
    """Return a context in which our own learners get all metadata that they take; users cannot request it for them.

    Parameters
    ----------
    are_own : bool
        Whether the learners are ours; those of users get what they request.
    """
    return config_context(enable_metadata_routing=False) if are_own else nullcontext()


class RoutesGroups:
    """An estimator whose ``fit`` takes sample weights and groups; it may have classifiers and a splitter."""

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which parts of the estimator get which metadata.

        Returns
        -------
        MetadataRouter
            Routing of ``fit``: the estimator's own requests, those of its classifiers, and those of ``cv``.
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        for name, part in self._routed_parts():
            router.add(**{name: part}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router.add(
            splitter=vars(self).get("cv"), method_mapping=MethodMapping().add(caller="fit", callee="split")
        )

    def _routed_parts(self) -> Iterable[tuple[str, Any]]:
        """Return the user's own classifiers by name."""
        return ()

    def _check_routing(self, **metadata: Any) -> None:
        """Raise as scikit-learn does if a part neither requests nor refuses the metadata that are given."""
        given = {name: value for name, value in metadata.items() if value is not None}
        if given and get_config()["enable_metadata_routing"]:
            process_routing(self, "fit", **given)
