"""The numbers of Table 1 of Joachims (2005), for the collections that can be repeated."""

from __future__ import annotations

from benchmarks.papers.summary import Line

_COVERTYPE = {
    "f1": Line(73.8, 73.9, 3, 4, ""),
    "prbep": Line(72.1, 71.0, 5, 2, ""),
    "rec_2p": Line(93.1, 94.7, 2, 5, ""),
    "roc_area": Line(94.6, 94.1, 4, 3, ""),
}

PUBLISHED: dict[str, dict[str, Line]] = {
    "reuters": {
        "f1": Line(62.0, 56.1, 51, 20, "**"),
        "prbep": Line(68.2, 65.7, 16, 8, "**"),
        "rec_2p": Line(78.3, 77.2, 14, 8, ""),
        "roc_area": Line(99.1, 98.6, 43, 33, "*"),
    },
    "optdigits": {
        "f1": Line(92.5, 91.5, 8, 2, "*"),
        "prbep": Line(92.7, 91.5, 5, 1, "*"),
        "rec_2p": Line(98.4, 98.7, 1, 5, ""),
        "roc_area": Line(99.4, 99.4, 6, 4, ""),
    },
    "covertype": _COVERTYPE,
    "covertype_balanced": _COVERTYPE,
}
