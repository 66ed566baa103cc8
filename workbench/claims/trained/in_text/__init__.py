"""How much distant context of a text lowers the loss of its last byte, and how such losses are compared."""
