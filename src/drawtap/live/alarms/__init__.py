"""Rules of alarms: one file each."""
