"""A trace as a database, as calls and as text."""
