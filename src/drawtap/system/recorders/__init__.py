"""Recorders of kernel events, one file each."""
