"""Sentences made from rows, each with the rows it cites."""
