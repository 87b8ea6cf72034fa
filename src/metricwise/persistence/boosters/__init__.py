"""Classifiers of LightGBM, XGBoost and CatBoost in model files: their trees as arrays, their settings as plain values.

A file holds no dump of these libraries, whose readers trust what they read. A loaded model scores by our own code, so
that it needs none of the libraries.
"""
