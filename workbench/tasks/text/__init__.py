"""Next-byte, next-token and next-symbol prediction in text."""
