"""Tasks as they are put to models that were never trained on them, in tokens of these."""
