"""Ask it: state, dependencies, rules and statistics over one recording. Returns data; never prints, never formats."""
