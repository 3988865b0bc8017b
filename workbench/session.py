"""L8: what a notebook calls: connect, launch, attach, doctor."""
