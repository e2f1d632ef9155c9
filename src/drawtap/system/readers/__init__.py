"""Formats of kernel traces, one file each: metadata in, a `KernelTrace` out."""
