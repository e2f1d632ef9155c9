"""Rules about contention: one file a rule, found by the registry of `drawtap.system.rule`."""
