"""Multilabel classifiers."""
