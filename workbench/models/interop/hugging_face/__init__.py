"""Models of Hugging Face's transformers behind our protocol, from a local folder and without a network."""
