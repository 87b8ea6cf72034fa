"""One estimator that tries what fits the measure and the data, and keeps the best."""
