"""Modules that come with drawtap: instrumentation scripts, one file each, that also serve as examples."""
