"""Classifiers for several labels at once."""
