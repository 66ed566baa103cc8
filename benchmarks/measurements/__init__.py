"""Speed and memory of measurements."""
