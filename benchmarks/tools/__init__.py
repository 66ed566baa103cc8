"""How time, memory and drawing are measured and shown."""
