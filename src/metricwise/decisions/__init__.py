"""From scores to decisions: thresholds, offsets, intervals, guarantees, once for every estimator."""
