"""What was observed: a trace as a database, as calls and as text."""
