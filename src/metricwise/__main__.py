"""``python -m metricwise`` is the command ``metricwise``."""

from metricwise.cli import main

if __name__ == "__main__":
    main(prog_name="metricwise")
