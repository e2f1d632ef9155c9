"""A corpus: many recordings in one store, kept by content, asked in SQL and played. No HTTP, no page."""
