"""Actions of alarms: one file each."""
