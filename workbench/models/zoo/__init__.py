"""The models that have a name, one file each."""
