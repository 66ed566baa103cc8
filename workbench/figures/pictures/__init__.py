"""Pictures of a run that combine several kinds of evidence."""
