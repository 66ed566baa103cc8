"""Does the model use what a probe reads? Erasing it linearly."""
