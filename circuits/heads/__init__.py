"""What each head attends to, and what it says of the answer."""
