"""Training: the settings of a run, the trainer, and resuming an interrupted run bit-identically."""
