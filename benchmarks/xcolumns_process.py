"""Maximise macro F1 by xCOLUMNs' Frank-Wolfe: GIVEN FOUND.

Runs in an environment of its own, without metricwise. GIVEN has labels (y, a 0/1 matrix) and probabilities of the
samples that the classifier is chosen on, and probabilities of test samples; FOUND gets the labels of these.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from xcolumns.frank_wolfe import find_classifier_using_fw, macro_f1_score_on_conf_matrix


def main(given: str, found: str) -> None:
    """Choose a classifier of one label per sample, and predict."""
    part = np.load(given)
    start = time.perf_counter()
    # The function for macro F1 itself passes on a measure of other arguments (0.0.2), and fails.
    classifier = find_classifier_using_fw(part["y"], part["found"], macro_f1_score_on_conf_matrix, k=1, seed=0)
    seconds = time.perf_counter() - start
    predicted = np.asarray(classifier.predict(part["chances"], seed=0))
    np.savez(found, labels=np.argmax(predicted, axis=1), seconds=seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
