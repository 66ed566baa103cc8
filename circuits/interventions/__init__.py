"""What is lost without a component, or with attention replaced."""
