"""Schemas of vectorizers of texts and records: none reads files, and none compiles an expression of a file."""

from __future__ import annotations

import codecs
from typing import Any

import numpy as np

from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check, Sizes
from metricwise.persistence.schemas.parts import number_type, require
from metricwise.persistence.schemas.schema import Schema

# Patterns of tokens that take time in proportion to the text; the first is the default.
TOKEN_PATTERNS = (
    r"(?u)\b\w\w+\b",
    r"(?u)\b\w+\b",
    r"\b\w\w+\b",
    r"\b\w+\b",
    r"\w+",
    r"(?u)\w+",
    r"\w\w+",
    r"\S+",
    r"(?u)\S+",
    r"[^\s]+",
    r"[a-z]+",
    r"[A-Za-z]+",
    r"[a-zA-Z]+",
    r"\b[a-zA-Z]+\b",
    r"(?u)\b[a-zA-Z]+\b",
    r"[a-zA-Z0-9]+",
    r"[A-Za-z0-9]+",
    r"(?u)[a-zA-Z]+",
)
_ENCODINGS = ("utf-8", "utf-8-sig", "iso8859-1", "iso8859-15", "ascii", "utf-16", "cp1252")  # as codecs name them
_LONGEST_GRAM = 50
_TERMS = "a vocabulary is damaged"


def _token_pattern(value: Any, sizes: Sizes) -> bool:
    if value is not None and value not in TOKEN_PATTERNS:
        raise ValueError(
            f"token_pattern={str(value)[:100]!r} is not among the patterns of model files: use one of "
            f"{', '.join(TOKEN_PATTERNS[:5])}, or split the texts before and use token_pattern={TOKEN_PATTERNS[7]!r}"
        )
    return True


def _content(value: Any, sizes: Sizes) -> bool:
    if value != "content":
        raise ValueError(
            f"input={str(value)[:50]!r} makes a model read files, which model files do not: read the texts before and "
            "use input='content'"
        )
    return True


def _encoding(value: Any, sizes: Sizes) -> bool:
    try:
        return isinstance(value, str) and codecs.lookup(value).name in _ENCODINGS
    except (LookupError, ValueError):
        return False


def _gram_range(value: Any, sizes: Sizes) -> bool:
    is_pair = type(value) in (tuple, list) and len(value) == 2 and all(map(k.is_whole, value))
    return is_pair and 1 <= value[0] <= value[1] <= _LONGEST_GRAM


def _is_vocabulary(value: Any) -> bool:
    """Return whether a value numbers different terms from zero, each number once."""
    if type(value) is not dict or not value:
        return False
    numbers = list(value.values())
    return all(map(k.is_whole, numbers)) and sorted(numbers) == list(range(len(numbers)))


def _vocabulary(value: Any, sizes: Sizes) -> bool:
    return _is_vocabulary(value) and all(isinstance(term, str) for term in value)


def _given_vocabulary(value: Any, sizes: Sizes) -> bool:
    if k.texts("*")(value, sizes):
        value = value.tolist()
    is_list = type(value) in (list, set, frozenset, tuple) and all(isinstance(term, str) for term in value)
    return value is None or _vocabulary(value, sizes) or (is_list and len(set(value)) == len(value) > 0)


_TEXTS: dict[str, Check] = {
    "input": _content,
    "encoding": _encoding,
    "strip_accents": k.either(k.none, k.text("ascii", "unicode")),
    "preprocessor": k.none,
    "tokenizer": k.none,
    "analyzer": k.text("word", "char", "char_wb"),
    "token_pattern": _token_pattern,
    "ngram_range": _gram_range,
    "stop_words": k.either(k.none, k.text("english"), k.list_of(k.any_text)),
    "dtype": number_type,
}
_TERMS_FITTED: dict[str, Check] = {"fixed_vocabulary_": k.boolean, "vocabulary_": _vocabulary}
_NOT_STORED = ("_stop_words_id", "stop_words_")


def _check_words(values: Values, sizes: Sizes) -> None:
    require(values["analyzer"] != "word" or values["token_pattern"] is not None, "a vectorizer of texts is damaged")


def _check_tfidf(values: Values, sizes: Sizes) -> None:
    _check_words(values, sizes)
    weights = values["_tfidf"]
    require(bool(weights.use_idf) == bool(values["use_idf"]), _TERMS)
    if values["use_idf"]:
        found = getattr(weights, "idf_", None)
        require(found is not None and np.shape(found) == (len(values["vocabulary_"]),), _TERMS)
    require(getattr(weights, "n_features_in_", len(values["vocabulary_"])) == len(values["vocabulary_"]), _TERMS)


def _check_records(values: Values, sizes: Sizes) -> None:
    names, numbers = values["feature_names_"], values["vocabulary_"]
    require(len(names) == len(numbers), _TERMS)
    require(all(numbers.get(name) == number for number, name in enumerate(names)), _TERMS)


SCHEMAS: dict[str, Schema] = {
    "sklearn.feature_extraction.DictVectorizer": Schema(
        {"feature_names_": k.list_of(k.plain), "vocabulary_": lambda value, sizes: _is_vocabulary(value)},
        parameters={"dtype": number_type},
        check_relations=_check_records,
    ),
    "sklearn.feature_extraction.FeatureHasher": Schema(
        parameters={"dtype": number_type, "n_features": k.whole(1, (1 << 31) - 1)}
    ),
    "sklearn.feature_extraction.text.CountVectorizer": Schema(
        _TERMS_FITTED,
        parameters=_TEXTS | {"vocabulary": _given_vocabulary},
        check_relations=_check_words,
        derived=_NOT_STORED,
    ),
    "sklearn.feature_extraction.text.HashingVectorizer": Schema(
        parameters=_TEXTS | {"n_features": k.whole(1, (1 << 31) - 1)}, derived=_NOT_STORED
    ),
    "sklearn.feature_extraction.text.TfidfTransformer": Schema(
        optional={**k.FEATURES, "idf_": k.array("float", "F")},
        derived=("_idf_diag",),
    ),
    "sklearn.feature_extraction.text.TfidfVectorizer": Schema(
        _TERMS_FITTED | {"_tfidf": k.of_class("TfidfTransformer")},
        parameters=_TEXTS | {"vocabulary": _given_vocabulary},
        check_relations=_check_tfidf,
        derived=_NOT_STORED,
    ),
}
