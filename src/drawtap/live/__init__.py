"""Manage running programs: what they show, what holds them back, and why."""
