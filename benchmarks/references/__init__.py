"""The same work written the usual way: what the workbench's kernels are compared with."""
