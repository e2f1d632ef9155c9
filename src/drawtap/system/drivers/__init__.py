"""The meaning of kernel drivers' events: one file a driver, found by the registry of `drawtap.system.driver`."""
