"""Measure: metrics of back-ends, in which passes they are taken, and what came of it as a table."""
