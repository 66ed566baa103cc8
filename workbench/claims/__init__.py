"""Claims of the field's papers as experiments that run by name: ``lengthlens reproduce``."""
