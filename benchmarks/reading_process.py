"""Run the command with the given arguments, and write its JSON with the peak memory in MB added."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout

from benchmarks.growth_process import peak_memory
from metricwise.cli import main

if __name__ == "__main__":
    written = io.StringIO()
    with redirect_stdout(written):
        main(sys.argv[1:], standalone_mode=False)
    peak = peak_memory()
    found = json.loads(written.getvalue()) | {"peak": None if peak is None else peak / 2**20}
    sys.stdout.write(json.dumps(found))
