"""What answers are made with: the context of an app, workers, predictions of theory."""
