"""The tasks, one file each."""
