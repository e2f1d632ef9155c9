"""What can be measured, one file a back-end. Each has a C++ half of the same name in native/player/metrics/."""
