"""Formats that kernel timelines are handed on in, one file each."""
