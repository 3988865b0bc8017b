"""The boundaries, one file each."""
