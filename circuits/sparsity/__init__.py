"""The number of tokens on which an answer depends."""
