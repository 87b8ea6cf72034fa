"""The experiments of the papers, repeated: ``python -m benchmarks.papers`` runs them and writes a page for each."""
