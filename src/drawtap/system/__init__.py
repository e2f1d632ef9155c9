"""The kernel's view: readers of kernel traces, the model of a GPU request, metrics over it. Returns data only."""
