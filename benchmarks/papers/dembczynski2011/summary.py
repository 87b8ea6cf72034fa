"""The numbers that remarks and tables read from a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.papers.dembczynski2011.judging import MEASURES
from benchmarks.papers.dembczynski2011.methods import METHODS
from benchmarks.papers.dembczynski2011.problems import COMPARABLE, TITLES
from benchmarks.papers.dembczynski2011.published import PUBLISHED, Cells

Record = dict[str, Any]

WANTED = 0.015  # the largest difference of F from the paper's
JUDGED = ("pcc_gfm", "pcc_meuf")  # of these methods
CHAIN_RULES = ("pcc_gfm", "pcc_gfm_t", "pcc_meuf_approx", "pcc_meuf")


class Pair(NamedTuple):
    """A number of ours and the paper's."""

    data: str
    method: str
    measure: str
    ours: float
    theirs: float

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours - self.theirs

    @property
    def name(self) -> str:
        """Data set and method, for a sentence."""
        return f"{TITLES[self.data]}, {METHOD_TITLES[self.method]}"


METHOD_TITLES = {
    "pcc_h": "PCC H",
    "pcc_gfm": "PCC GFM",
    "pcc_gfm_t": "PCC GFM-T",
    "pcc_meuf_approx": "PCC MEUF approx.",
    "pcc_meuf": "PCC MEUF",
    "br": "BR",
    "br_meuf_approx": "BR MEUF approx.",
    "br_meuf": "BR MEUF",
    "br_macro_f": "BR macro F",
    "br_micro_f": "BR micro F",
}


def pairs(found: Record, measure: str | None = None, methods: tuple[str, ...] = tuple(METHODS)) -> Iterator[Pair]:
    """Yield numbers beside the paper's, on the data sets that are the paper's."""
    for problem in comparable(found):
        for method in methods:
            for name in MEASURES if measure is None else (measure,):
                theirs = float(getattr(PUBLISHED[problem["name"]][method], name))
                yield Pair(problem["name"], method, name, problem["values"][method][name], theirs)


def comparable(found: Record) -> list[Record]:
    """Return the problems on which the paper's numbers were measured."""
    return [problem for problem in found["problems"] if problem["name"] in COMPARABLE]


def is_near(values: dict[str, float], theirs: dict[str, Cells]) -> bool:
    """Return whether F of both judged methods is near the paper's."""
    return all(abs(values[method] - theirs[method].f) <= WANTED for method in JUDGED)


def value(problem: Record, method: str, measure: str = "f") -> float:
    """Return a number of a problem."""
    return float(problem["values"][method][measure])


def title(problem: Record) -> str:
    """Return the title of a problem."""
    return TITLES[problem["name"]]
