"""The lowest layer: every package may import it. It needs neither torch nor pandas."""
