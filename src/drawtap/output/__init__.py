"""Show it: turn results into text, JSON and pages."""
