"""Words of texts, and texts without one of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

_FEWEST_TEXTS = 2  # that a word must occur in: one text alone shows little of what a word is worth


def are_texts(X: Any) -> bool:
    """Return whether samples are texts: strings in a list, a series or an array of one dimension.

    Examples
    --------
    >>> are_texts(["good day", "bad day"]), are_texts(np.zeros((2, 3))), are_texts([[1.0], [2.0]])
    (True, False, False)
    """
    return len(np.shape(X)) <= 1 and all(isinstance(text, str) for text in X)


def find_words(texts: Any) -> tuple[list[str], sparse.csr_matrix]:
    """Return the words that occur in two texts or more, in lower case, and which texts hold them (sparse, one per row).

    Examples
    --------
    >>> words, held = find_words(["Good day", "good night", "bad"])
    >>> words, held.toarray().ravel().tolist()
    (['good'], [1, 1, 0])
    """
    try:
        vectoriser = CountVectorizer(binary=True, min_df=_FEWEST_TEXTS)
        held = vectoriser.fit_transform(texts)
    except ValueError:  # no text has a word, or none has a word of another
        return [], sparse.csr_matrix((len(texts), 0), dtype=np.int64)
    return [str(word) for word in vectoriser.get_feature_names_out()], held


def remove_word(texts: Any, word: str, positions: NDArray[np.intp]) -> Any:
    """Return a copy of texts, in a container of the same kind, without a word in the texts at the given positions.

    Examples
    --------
    >>> remove_word(["Good day", "a good, good night", "bad"], "good", np.array([0, 1]))
    [' day', 'a ,  night', 'bad']
    """
    pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    changed = list(texts)
    for position in positions:
        changed[position] = pattern.sub("", changed[position])
    if hasattr(texts, "iloc"):  # a series of pandas
        return type(texts)(changed, index=texts.index, name=texts.name)
    return np.array(changed, dtype=object) if isinstance(texts, np.ndarray) else changed
