"""The model of an API: registries and overlays make it, it is immutable, and everything else is made from it."""
