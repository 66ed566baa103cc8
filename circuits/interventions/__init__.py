"""How accuracy changes without a component, or with attention replaced."""
