"""Sources of signals: one file each."""
