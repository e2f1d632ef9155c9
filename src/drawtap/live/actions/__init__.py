"""What alarms do: one file each."""
