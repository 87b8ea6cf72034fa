"""Model selection on samples that do not fit into memory: on disk, or on the workers of a Dask cluster."""
