"""What each head attends to, and what it contributes to the answer."""
