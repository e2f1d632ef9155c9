"""Benchmarks: what recording and reading cost, beside apitrace where it does the same job."""
