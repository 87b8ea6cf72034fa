"""Linear classifiers that learn from samples as they come."""
