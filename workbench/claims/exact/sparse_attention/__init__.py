"""Evidence on sparse functional attention: exact losses, the inequalities of the theorem, and coupled position ids."""
