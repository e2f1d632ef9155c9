"""Back-ends of metrics, one file each. Each has a C++ half of the same name in native/player/metrics/."""
