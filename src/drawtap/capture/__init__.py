"""Get a trace: start a program with the tap, and find out why there is none."""
