"""L0: what every layer uses and that uses no layer."""
