"""One partitioner a file; each registers itself in ``PARTITIONERS``."""
