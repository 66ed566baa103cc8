"""What answers are made with: the context of an app, workers, what theory says."""
