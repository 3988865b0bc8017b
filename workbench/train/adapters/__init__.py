"""What a boundary must know of a family of layers, one file each."""
