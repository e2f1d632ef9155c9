"""Built-in hook sets, one file each."""
