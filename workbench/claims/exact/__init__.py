"""The computations of exact claims: closed forms, enumerations, handmade models, and training that takes a minute."""
