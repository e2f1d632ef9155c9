"""One overlay a module: what a Khronos registry does not say about its API."""
