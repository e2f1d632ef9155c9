"""The rules of the checklist, one file each."""
