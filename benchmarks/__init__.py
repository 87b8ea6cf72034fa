"""Speed side by side with other programs: ``python -m benchmarks`` measures, prints and writes the report."""
