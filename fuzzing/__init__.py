"""Fuzzing: random cases of many kinds, each in a process with limits of time and memory (`python -m fuzzing`)."""

import os

# Before numpy is imported: workers share the cores, and threads of OpenMP do not survive a fork.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
