"""Run it again: the player, and what it can play on."""
