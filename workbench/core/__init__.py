"""The ground floor: what every room may import. Needs neither torch nor pandas."""
