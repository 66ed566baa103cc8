"""What theory predicts for a task and an encoding, by which theorem, and where it is silent."""
