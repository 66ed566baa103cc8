"""What far context of a text is worth: losses of its last byte, text by text, and relations of them."""
