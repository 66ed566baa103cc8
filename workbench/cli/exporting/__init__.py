"""What a run is exported as: a folder for a model hub, scalars for TensorBoard."""
