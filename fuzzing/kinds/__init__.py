"""The kinds of cases, one module each."""
