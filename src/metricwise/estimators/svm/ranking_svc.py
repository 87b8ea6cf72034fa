"""Learning to rank: the multivariate support vector machine for measures of the rankings of queries."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, check_random_state

from metricwise._state import StoredState
from metricwise._typing import Floats
from metricwise.designs import make_design
from metricwise.designs.finite import LARGEST
from metricwise.estimators.guarded_fit import guard_fit
from metricwise.estimators.inputs import training_order, validate_samples
from metricwise.estimators.parameters import NumericParameters
from metricwise.estimators.summary import ShowsSummary
from metricwise.estimators.svm.base import REMEDIES, BatchClassifier
from metricwise.estimators.svm.fallback import describe_degenerate
from metricwise.estimators.svm.queries import Queries, read_queries
from metricwise.estimators.svm.training_file import TrainingFile
from metricwise.estimators.training_identity import identify_training
from metricwise.measures import Measure, get_measure, score_queries
from metricwise.progress import show_progress
from metricwise.registry import check_trainable
from metricwise.results import DegenerateOptimumWarning, Result
from metricwise.solvers import CuttingPlane, Limits, run
from metricwise.solvers.loop import Callback
from metricwise.solvers.query_problem import make_query_problem
from metricwise.threads import available_threads

_QUERIES_WORTH_SAMPLING = 200  # fewer differ too much for a start from an eighth of them
_DEGENERATE_REMEDY = "If C is very small, raise it; more features also help"
_PARAMETERS = ("measure", "C", "tol", "max_iter", "max_seconds", "n_jobs", "random_state", "callback", "checkpoint")


class RankingSVC(ShowsSummary, NumericParameters):
    """Linear ranker trained for a measure of the rankings of queries, such as NDCG (Yue et al. 2007).

    Minimises ``1/2 |w|^2 + C u R(w)``, where R is the mean over queries of convex upper bounds of their losses
    1 - measure, each the maximum over all rankings of the query, found exactly. u is the sum over queries of
    ``measure.mistakes_per_loss``, the number of samples: C is the cost of one mistake. There is no constant term: a
    ranking does not see it.

    More than two grades of relevance are trained for by "ndcg": its loss is a mean of losses of two grades, one per
    level, and so is its bound. Queries whose samples are all equally relevant have the same loss in any order: they
    are left out.

    Parameters
    ----------
    measure : str or Measure, default="ndcg"
        What to rank for: "ndcg", "average_precision" or "reciprocal_rank", ``NDCG(gain="exponential")``, or a measure
        of your own with a method ``rank_gain``. "ndcg" takes grades that are not negative, the others relevances 0
        and 1, -1 and 1, or booleans.
    C : float, default=1.0
        Cost of one mistake; smaller values regularise more.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_iter : int, default=10000
        Most iterations.
    max_seconds : float, optional
        About how long `fit` may take.
    n_jobs : int, optional
        Threads for the products with the data. None and -1 mean all cores this process may use. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=0
        Seeds the sample of queries that large problems start from.
    callback : callable, optional
        Called with a `HistoryEntry` after every iteration; a true answer stops training.
    checkpoint : str or Path, optional
        File to which the state of training is written every half minute and if it fails; with the same parameters and
        data, `fit` goes on from it. Removed when training is finished.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        Weights of the features.
    intercept_ : array of shape (1,)
        Zero.
    measure_ : Measure
        What the model was trained for.
    n_queries_ : int
        Number of queries that were trained on; those left out are not counted.
    n_iter_ : int
        Iterations.
    result_ : Result
        Certificate, history, status.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`.

    See Also
    --------
    metricwise.score_queries : Means of ranking measures over queries.
    AUCSVC, MultivariateSVC : The same measures for one ranking of all samples.
    metricwise.certify : Recomputes the certificate from data and model.

    Notes
    -----
    Scores compare samples of one query. The certificate bounds the objective of training, and ``loss_bound`` the mean
    loss of the training queries.

    References
    ----------
    .. [1] Y. Yue, T. Finley, F. Radlinski and T. Joachims (2007). A support vector method for optimizing average
       precision. *Proceedings of the 30th Annual International ACM SIGIR Conference on Research and Development in
       Information Retrieval*, 271-278.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise import RankingSVC
    >>> rng = np.random.default_rng(0)
    >>> X, queries = rng.normal(size=(400, 5)), np.repeat(np.arange(40), 10)
    >>> relevance = np.clip(np.round(X @ [1.0, 0.5, 0.0, 0.0, -1.0] + rng.normal(size=400)), 0, 3)
    >>> model = RankingSVC("ndcg", C=0.1).fit(X, relevance, groups=queries)
    >>> model.score(X, relevance, groups=queries) > 0.9
    True
    >>> model.result_.status.value, model.n_queries_
    ('optimal', 40)
    """

    __stored_state__: ClassVar[StoredState] = StoredState(
        version=1,
        attributes=(
            "n_features_in_",
            "feature_names_in_",
            "measure_",
            "coef_",
            "intercept_",
            "n_queries_",
            "n_iter_",
            "result_",
        ),
        training_parameters=("callback", "checkpoint", "verbose"),
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: BatchClassifier._parameter_constraints[name] for name in (*_PARAMETERS, "verbose")
    }
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"groups": True}

    measure_: Measure
    coef_: Floats
    intercept_: Floats

    def __init__(
        self,
        measure: str | Measure = "ndcg",
        C: float = 1.0,
        *,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        callback: Callback | None = None,
        checkpoint: str | Path | None = None,
        verbose: int | None = None,
    ) -> None:
        self.measure = measure
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.checkpoint = checkpoint
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Train on the samples of queries and their relevance.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Dense and CSR input is used as it is, in single or double precision, and never copied.
        y : array of shape (n_samples,)
            Relevance: 0 and 1, -1 and 1, or booleans; for "ndcg" any numbers that are not negative, such as the grades
            0 to 4.
        sample_weight : array of shape (n_samples,), optional
            Weights of the queries, equal for all samples of a query: one of weight 2 counts as two such queries, one
            of weight 0 as absent.
        groups : array of shape (n_samples,), optional
            The query of every sample, in any order; without it all samples are one query, with a warning.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        _warn_without_groups(groups)
        measure = get_measure(self.measure)
        check_trainable(measure, self)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            X, y = validate_samples(self, X, y, least=2, order=training_order(X), largest=LARGEST)
            queries = read_queries(measure, X, y, groups, sample_weight)
            n_queries, result = self._solve(measure, X, queries)
        # Only now, so that a failed fit leaves the model as it was.
        self.measure_, self.n_queries_, self.result_, self.n_iter_ = measure, n_queries, result, result.n_iter
        self.coef_, self.intercept_ = result.weights[None, :], np.zeros(1)
        self._warn(result)
        return self

    def _solve(self, measure: Measure, X: Any, queries: Queries) -> tuple[int, Result]:
        """Return the number of queries that training depends on, and the solution."""
        threads = available_threads() if self.n_jobs is None or self.n_jobs == -1 else int(self.n_jobs)
        design, seed = make_design(X, threads=threads), int(check_random_state(self.random_state).randint(2**31 - 1))
        problem = make_query_problem(design, queries.relevance, queries.codes, measure, self.C, queries.weights)
        solver = CuttingPlane(seed=seed)
        if problem.lists.n_queries < _QUERIES_WORTH_SAMPLING:
            solver = CuttingPlane(sample_factor=0)
        limits = Limits(tol=self.tol, max_iter=self.max_iter, max_seconds=self.max_seconds)
        if self.checkpoint is None:
            return problem.lists.n_queries, run(solver, problem, limits, callback=self.callback)[0]
        # Fingerprints read all samples.
        content = design.shape, design.fingerprints(), queries.relevance, queries.codes, queries.weights, seed
        file = TrainingFile(self.checkpoint, identify_training(self, content))
        result, _ = file.run(solver, problem, limits, None, self.callback)
        file.finish()
        return problem.lists.n_queries, result

    def _warn(self, result: Result) -> None:
        """Warn if training has not reached its tolerance, or no weights are better than none."""
        if result.status in REMEDIES:
            warnings.warn(
                f"training stopped ({result.status.value}) at a relative duality gap of "
                f"{result.certificate.relative:.2g}, above tol={self.tol:g}: {REMEDIES[result.status]}, or accept that "
                "by a larger tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        message = describe_degenerate(self.measure_.name, [result], _DEGENERATE_REMEDY)
        if message is not None:
            warnings.warn(message, DegenerateOptimumWarning, stacklevel=3)

    def decision_function(self, X: Any) -> Floats:
        """Return scores, the greatest first in the ranking of a query.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples,)
            Scores of samples of different queries are not comparable.
        """
        check_is_fitted(self, "result_")
        design = make_design(validate_samples(self, X, reset=False, adds_repeated=True), threads=available_threads())
        return np.asarray(design.scores(self.coef_[0]), dtype=np.float64)

    def predict(self, X: Any) -> Floats:
        """Return scores, as the rankers of LightGBM and XGBoost do: those of `decision_function`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples,)
            To rank a query, sort its samples by falling scores: ``np.argsort(-model.predict(X_of_query))``.
        """
        return self.decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> float:
        """Return the mean over queries of the measure that the model was trained for.

        Queries without relevant samples count as 0, as in `sklearn.metrics.ndcg_score`; `metricwise.score_queries` has
        the other conventions, other measures and the values of single queries.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Their relevance.
        sample_weight : array of shape (n_samples,), optional
            Weights of the queries in the mean, equal for all samples of a query.
        groups : array of shape (n_samples,), optional
            The query of every sample; without it all samples are one query, with a warning.

        Returns
        -------
        float
            The mean; 1 at best.
        """
        _warn_without_groups(groups)
        scores = self.predict(X)
        return score_queries(self.measure_, y, scores, groups, sample_weight=sample_weight)


def _warn_without_groups(groups: Any) -> None:
    """Warn that all samples are one query, as where a pipeline or a cross-validation keeps the groups to itself."""
    if groups is None:
        warnings.warn(
            "groups is None, so that all samples are ranked as one query. Pass the query of every sample as groups; a "
            "pipeline or a cross-validation passes it on after sklearn.set_config(enable_metadata_routing=True). If "
            "there is only one query, pass groups=numpy.zeros(n_samples)",
            UserWarning,
            stacklevel=3,
        )
