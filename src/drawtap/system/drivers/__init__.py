"""What the events of kernel drivers mean: one file a driver, found by the registry of `drawtap.system.driver`."""
