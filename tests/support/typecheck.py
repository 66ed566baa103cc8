"""The type checker that jaxtyping applies to annotated functions while tests run: shapes are checked for real."""

from beartype import BeartypeConf, beartype

# An int is a float here, as type checkers hold (PEP 484).
checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
