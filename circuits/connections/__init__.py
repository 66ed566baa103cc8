"""The connections between components of a model, and what is lost when each is cut."""
