"""Linear and kernel classifiers that a solver trains to a certified gap."""
