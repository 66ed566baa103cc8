"""Tasks written as prompts, in tokens of models that were never trained on them."""
