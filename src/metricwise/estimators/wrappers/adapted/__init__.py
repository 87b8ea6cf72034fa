"""Trained classifiers adapted to a measure."""
